"""Routes through a scatter: one pass over the rows, then its eigenpairs.

All of them by a decomposition, or a few by a search that gives way to the decomposition.
"""

from __future__ import annotations

import numpy as np

from princomp.core.component_count import ComponentCount
from princomp.core.context import FitContext, rows_in_flight
from princomp.core.problem import Problem
from princomp.core.routes.base import Abandoned, Cost, Solution
from princomp.kernels import chunk_bytes, name_in_use, packed_bytes
from princomp.linalg import EPS, one_blas_thread
from princomp.solvers import (
    FEWEST_COLUMNS,
    Spectrum,
    completed,
    dense,
    search_scatter,
    search_share,
    solve_on_device,
)
from princomp.summaries import DeviceMoments, Moments, block_rows, handful, panel_rows

# LANCZOS_COLUMNS, LANCZOS_SHARE: on a scatter in memory, block Lanczos takes 0.08 of the time of
# eigh at p = 2,000 and k = 10 where variances fall as 1/i, 0.3 at k = 40, and 0.5 on the noise of
# 20,000 rows; at p = 1,000 it is no quicker. It gives k variances where eigh gives all p, and
# gives way to it where nothing stands out.
LANCZOS_COLUMNS, LANCZOS_SHARE = 1_500, 0.02
# SCATTER_COLUMNS: a 10,000² scatter is 800 MB; past it rows are multiplied instead.
SCATTER_COLUMNS = 10_000
# SPARSE_SCATTER: at 20,000 rows, 1% stored, k = 10, the scatter takes 0.28, 0.61 and
# 0.93 of the time of Lanczos for 300, 1,000 and 2,000 columns.
SPARSE_SCATTER = 2_000
# ENGINE_COLUMNS: the same where it is an engine's tasks that hold scatters, several in a process:
# 4,000² are 128 MB, of which a Spark task holds four, and as many tasks as it has processors.
# Beyond, products with the rows are quicker than a scatter in tiles where they converge: 7
# passes over 20,000 × 6,000 with 20 strong directions take a quarter of its time, for k = 10.
ENGINE_COLUMNS = {"Spark": 4_000}
# SEARCH_COLUMNS, SEARCH_SHARE: from so many columns a search by products with the rows is
# quicker than a scatter, as long as so small a share of the components is wanted. On 20,000 ×
# 2,000 float32 it takes 92, 134 and 208 ms for k = 10 where directions stand out, where variances
# fall as 1/i² and as 1/i, 495 for k = 40 of the last; the scatter takes 750 to 850. The 86
# components of a fraction take 246 ms by products and 541 by the scatter, in float64 596 and 1,000.
SEARCH_COLUMNS, SEARCH_SHARE = 1_500, 0.04
# Scatters held at once while a block is added to one and it is solved.
_SCATTERS = 8
# A covariance is given up for a more exact route when a wanted variance is within this
# factor of what it can resolve: one digit.
_RESOLVED = 16.0


class MomentsRoute:
    """All eigenpairs of the scatter, or those that make up a fraction of its trace."""

    summary, solver = "moments", "eigh"

    def applies(self, problem: Problem) -> str:
        """Where rows are at least as many as columns, and few columns where rows are sparse."""
        if not problem.held:
            few = _few_of_many(problem)
            return "" if few else "one pass over the rows, block by block"
        p, wanted = problem.columns, problem.wanted
        if problem.stored is not None:
            if isinstance(wanted, str) and p <= min(problem.rows, SCATTER_COLUMNS):
                return f"the rule {wanted!r} may ask for all variances"
            if p <= SPARSE_SCATTER and problem.rows >= p:
                return "sparse with few columns: one pass, implicit centring"
            return ""
        if not is_tall(problem) or _few_of_many(problem) or why_search(problem):
            return ""
        return "n ≥ p: one pass over the rows and a p × p scatter"

    def cost(self, problem: Problem) -> Cost:
        """Blocks of rows, the scatters of threads, and what the decomposition takes."""
        n, p = problem.rows, problem.columns
        step = block_rows(p)
        rows, threads, queued = rows_in_flight(problem, step)
        # Each thread holds a block that it read and copies of a panel, or the kernel's chunk;
        # blocks that were read wait for a thread, and sums for their turn.
        held = 2 * 8 * min(rows, panel_rows(p)) * p
        if name_in_use() != "numpy":
            held = chunk_bytes(rows, p)
        blocks = threads * held + queued * problem.itemsize * rows * p
        waiting = (threads + 2) * handful(step, p) if not n or n > step else 1
        if Moments.adds_in_place(p, sparse=problem.stored is not None):
            # All threads work on one block instead, and the next one is read meanwhile.
            blocks = packed_bytes(rows, p) + min(queued, 2) * problem.itemsize * rows * p
            waiting = 1
        return Cost(problem.reader + blocks + (waiting + 4) * p * p * 8)

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """One pass and a decomposition, unless it does not resolve a wanted variance."""
        moments = fit.summarise(Moments, "moments")
        scale, ready, count = fit.analyse(moments)
        spectrum, notes, solver = _decomposed(ready, count, fit)
        k = count.of_all(spectrum)
        solution = Solution(
            completed(spectrum, k), k, moments, scale, notes, count.decision, solver
        )
        return self._if_exact_enough(fit, solution)

    def _if_exact_enough(self, fit: FitContext, found: Solution) -> Solution | Abandoned:
        """The solution, unless a wanted variance is below what the products of the rows resolve.

        float32 products are redone in float64, which resolves all that float32 data hold;
        float64 products give way to the triangle, which squares nothing.
        """
        moments, spectrum = found.summary, found.spectrum
        assert isinstance(moments, Moments)
        final = fit.request.solver != "auto" or fit.rows is None
        if final or not unresolved(spectrum, found.k, moments):
            return found
        coarse = moments.unit > EPS
        cause = "float32 products" if coarse else "squaring"
        limit = spectrum.resolution / spectrum.largest
        why = f"a wanted variance is below what {cause} can resolve ({limit:.0e} of the first): "
        if not fit.problem.repeatable:
            return found._replace(notes=(*found.notes, f"{why}the rows cannot be read again"))
        if coarse:
            successor, instead = (self.summary, self.solver), "products in float64"
        else:
            successor, instead = ("triangle", "svd"), "the triangle of a QR factorisation"
        return Abandoned((*found.notes, f"{why}{instead} instead"), successor, precise=True)


class ScatterSearch(MomentsRoute):
    """A search for a few eigenpairs of a large scatter, given up where none stand out."""

    summary, solver = "moments", "lanczos"

    def applies(self, problem: Problem) -> str:
        """Where few components of many columns are wanted."""
        if not _few_of_many(problem):
            return ""
        if not problem.held:
            return "one pass over the rows, block by block"
        if problem.stored is not None or not is_tall(problem) or why_search(problem):
            return ""
        return f"n ≥ p, one pass; k is far below p = {problem.columns:,}"

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """One pass and a search in the scatter."""
        request, moments = fit.request, fit.summarise(Moments, "moments")
        scale, ready, count = fit.analyse(moments)
        k = count.exact
        assert k is not None
        spectrum: Spectrum | None
        if isinstance(ready, DeviceMoments):
            spectrum = solve_on_device(ready, k, few=True, tol=request.tol)
        else:
            auto = request.solver == "auto" and not request.tol
            with one_blas_thread():
                spectrum = search_scatter(ready, k, tol=request.tol, patient=not auto)
        if spectrum is None:
            why = f"no few components dominate: all {ready.p:,} variances are faster"
            return Abandoned((why,), (MOMENTS.summary, MOMENTS.solver), moments)
        return self._if_exact_enough(fit, Solution(completed(spectrum, k), k, moments, scale))


def _decomposed(
    ready: Moments, count: ComponentCount, fit: FitContext
) -> tuple[Spectrum, tuple[str, ...], str | None]:
    """All variances and the wanted axes; for a fraction of many columns, those that make it up.

    Also a note for the plan and the name of the solver, where it was a search.
    """
    wanted = count.of_all if count.exact is None else count.exact
    if isinstance(ready, DeviceMoments):
        return solve_on_device(ready, wanted, few=False, tol=fit.request.tol), (), None
    share = count.share if fit.request.solver == "auto" else None
    if share is not None and ready.p >= FEWEST_COLUMNS:
        with one_blas_thread():
            spectrum = search_share(ready, share)
        if spectrum is not None:
            return spectrum, (share_found(spectrum.k, ready.p),), "lanczos"
    return dense.solve_moments(ready, wanted), (), None


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
    # The zeros of columns without spread are exact: no route resolves them better.
    rank = min(limit, int(np.count_nonzero(summary.column_scatter)))
    return bool(variances[min(k, rank) - 1] <= needed) or (k < rank and not noise_resolved)


def is_tall(problem: Problem) -> bool:
    """Whether a scatter is smaller than the rows, or needed all the same."""
    n, p = problem.rows, problem.columns
    return n >= p or (problem.wanted == "mle" and p <= SCATTER_COLUMNS)


def why_search(problem: Problem) -> str:
    """Why products with tall dense rows are quicker than summing their scatter, if they are."""
    p = problem.columns
    if p < SEARCH_COLUMNS:
        return ""
    if problem.wants_few(p if p > SCATTER_COLUMNS else SEARCH_SHARE * p):
        return f"few components: a search is faster than p² = {p:,}² products"
    # What takes over from the search for a share must fit.
    if shares_by_search(problem) and MOMENTS.cost(problem).fits(problem):
        return f"few components may have the share: a search is faster than p² = {p:,}² products"
    return ""


def shares_by_search(problem: Problem) -> bool:
    """Whether products with the rows may find the few components of a fraction.

    Where those are many, the search shows it and gives way to a scatter.
    """
    return (
        problem.solver == "auto"
        and problem.held
        and problem.stored is None
        and isinstance(problem.wanted, float)
        and problem.rows >= problem.columns >= SEARCH_COLUMNS
    )


def scatter_route(problem: Problem) -> MomentsRoute:
    """The route through a scatter: a search in it where few components of many are wanted."""
    return SCATTER_SEARCH if _few_of_many(problem) else MOMENTS


def _few_of_many(problem: Problem) -> bool:
    p = problem.columns
    return p >= LANCZOS_COLUMNS and problem.wants_few(LANCZOS_SHARE * p)


def share_found(k: int, p: int) -> str:
    """What a plan says of a fraction that a search found."""
    return f"{k} of {p:,} components have the share that was asked for"


def memory_to_add(p: int) -> int:
    """Bytes that it takes to add rows of ``p`` columns to a scatter, and to solve it."""
    return _SCATTERS * 8 * p * p


MOMENTS, SCATTER_SEARCH = MomentsRoute(), ScatterSearch()
