"""Routes through a kept scatter, Moments or a Triangle, and the way to a more exact one."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import EPS, one_blas_thread
from princomp.fitted import prepared
from princomp.fitting.components import Count
from princomp.fitting.job import Job, Solved, share_found
from princomp.parameters import Request
from princomp.planning import Choice
from princomp.scaling import divisors
from princomp.solvers import dense
from princomp.solvers.device import solve_on_device
from princomp.solvers.growing import FEWEST_COLUMNS, solve_share
from princomp.solvers.null_space import completed
from princomp.solvers.scatter_search import solve_few
from princomp.spectrum import Spectrum
from princomp.summaries import Moments, Triangle

__all__ = ["refined", "solve_summary", "unresolved"]

# A covariance is given up for a more exact route when a wanted variance is within this
# factor of what it can resolve: one digit.
_RESOLVED = 16.0


def solve_summary(job: Job, summary: Any, choice: Choice, passes: int) -> Solved:
    """Solve Moments or a Triangle."""
    request = job.request
    scale = divisors(request.scale, summary, job.extremes, job.names)
    ready = prepared(summary, scale, request.center)
    count = Count(job, summary, ready, scale)

    def rule(known: Spectrum) -> int:
        k = count(known)
        assert k is not None  # all variances are known
        return k

    whole = count.whole
    told: tuple[str, ...] = ()
    few = choice.solver == "lanczos"
    there = solve_on_device(ready, rule if whole is None else whole, few=few, tol=request.tol)
    if there is not None:
        spectrum = there
    elif isinstance(summary, Triangle):
        spectrum = dense.solve_triangle(ready, rule if whole is None else whole)
    elif (found := _few(ready, whole, choice, request)) is not None:
        spectrum = found
    elif (searched := _searched(ready, count.wanted, request.solver)) is not None:
        spectrum, choice = searched, choice._replace(solver="lanczos")
        told = (share_found(spectrum.k, ready.p),)
    else:
        if few and whole is not None:
            choice = choice._replace(solver="eigh")
            told = (f"no few directions stand out: all {ready.p:,} variances are quicker",)
        spectrum = dense.solve_moments(ready, rule if whole is None else whole)
    k = rule(spectrum)
    return Solved(
        completed(spectrum, k),
        k,
        summary,
        scale,
        choice,
        passes,
        fallbacks=told,
        decision=count.decision,
    )


def _few(moments: Moments, k: int | None, choice: Choice, request: Request) -> Spectrum | None:
    """The components of a search, where the plan says so and it does not take too long."""
    if choice.solver != "lanczos" or k is None:
        return None
    auto = request.solver == "auto" and not request.tol
    with one_blas_thread():
        return solve_few(moments, k, tol=request.tol, patient=not auto)


def _searched(moments: Moments, wanted: Any, solver: str) -> Spectrum | None:
    """The components of a fraction where few of many make it up, and nobody asked for all."""
    if solver != "auto" or not isinstance(wanted, float) or moments.p < FEWEST_COLUMNS:
        return None
    with one_blas_thread():
        return solve_share(moments, wanted)


def refined(job: Job, solved: Solved) -> Solved:
    """Take a more exact route while a wanted variance is below what this one resolves.

    float32 products are redone in float64, which resolves all that float32 data hold;
    float64 products give way to the triangle, which squares nothing.
    """
    while solved.choice.summary == "moments" and unresolved(
        solved.spectrum, solved.k, solved.summary
    ):
        coarse = solved.summary.unit > EPS
        told = "float32 products" if coarse else "squaring"
        route = "products in float64" if coarse else "the triangle of a QR factorisation"
        limit = solved.spectrum.resolution / solved.spectrum.largest
        why = f"a wanted variance is below what {told} can resolve ({limit:.0e} of the first): "
        if not getattr(job.data, "repeatable", True):
            why += "the rows cannot be read again"
            return solved._replace(fallbacks=(*solved.fallbacks, why))
        name = "moments" if coarse else "triangle"
        summary = job.fold(Moments if coarse else Triangle, name, precise=True).summary
        choice = solved.choice
        if not coarse:
            choice = choice._replace(summary="triangle", solver="svd")
        again = solve_summary(job, summary, choice, solved.passes + 1)
        solved = again._replace(fallbacks=(*solved.fallbacks, f"{why}{route} instead"))
    return solved


def unresolved(spectrum: Spectrum, k: int, summary: Moments) -> bool:
    """Whether the last component, or the mean of those left out, is near the resolution."""
    needed = _RESOLVED * spectrum.resolution
    if needed == 0.0 or not k:
        return False
    if k < len(spectrum.variances) and spectrum.variances.item(k) > needed * (summary.p - k):
        return False  # as most often
    limit, columns, variances = summary.rank_limit, summary.p, spectrum.variances
    last = variances[min(k, limit) - 1]
    if last > needed and k >= limit:
        return False
    noise = needed * (columns - k)
    # The first variance left out is less than all of them, and most often enough.
    noise_resolved = (k < min(limit, len(variances)) and variances[k] > noise) or (
        spectrum.left_out(k, limit) > noise
    )
    if last > needed and noise_resolved:
        return False
    # Columns without spread have their zeros by right: no route resolves them better.
    rank = min(limit, int(np.count_nonzero(summary.column_scatter)))
    return bool(variances[min(k, rank) - 1] <= needed) or (k < rank and not noise_resolved)
