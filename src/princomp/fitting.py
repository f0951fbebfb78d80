"""From rows to a finished fit: plan, fold, solve, and a fallback where precision asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import EPS, FloatArray, one_blas_thread
from princomp.choosing import check_wanted, most_components, resolve
from princomp.engines.local import complete, fold
from princomp.errors import NotAvailableError, ShapeError
from princomp.fitted import Fitted, prepared
from princomp.parameters import Request
from princomp.planning import Choice, Facts, choose
from princomp.scaling import Names, divisors
from princomp.solvers import dense, lanczos, randomized, row_gram
from princomp.solvers.null_space import completed
from princomp.solvers.operator import CentredRows, safe_exponent
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes, Moments, Triangle
from princomp.summaries.blocks import Weights, stored_bytes

__all__ = ["check_shape", "fit_rows", "fit_summary", "truncated_to"]

# A covariance is given up for a more exact route when a wanted variance is within this
# factor of what it can resolve: one digit.
_RESOLVED = 16.0
# Components that a truncated solver starts with when a fraction is wanted.
_FIRST_GUESS = 16
_SUMMARIES: dict[str, Any] = {"moments": Moments, "triangle": Triangle, "columns": Columns}


class _Job(NamedTuple):
    """Rows (none where only a summary is solved) and what is asked of them."""

    data: Any
    weights: Weights
    request: Request
    names: Names
    extremes: Extremes | None

    def fold(self, kind: Any, *, precise: bool = False) -> tuple[Any, int]:
        """One pass over the rows, and how many were left out."""
        drop = self.request.drop
        return fold(kind, self.data, self.weights, drop=drop, precise=precise)


class _Solved(NamedTuple):
    """A spectrum, the summary it stands on, and how it came about."""

    spectrum: Spectrum
    k: int
    summary: Any
    scale: FloatArray | None
    choice: Choice
    passes: int
    fallbacks: tuple[str, ...] = ()


def fit_rows(
    data: Any,
    weights: Weights,
    request: Request,
    columns: Names = None,
) -> Fitted:
    """Fit rows in memory.

    Parameters
    ----------
    data : ndarray or CSR array of shape (n, p)
    weights : ndarray of shape (n,), optional
    request : Request
    columns : tuple of str, optional
        Names for messages.

    Raises
    ------
    NotFiniteError, ShapeError, ConstantColumnError, ParameterError
    """
    n, nbytes = data.shape[0], stored_bytes(data)
    facts = request.facts(data)
    choice = choose(facts)
    dropped = 0
    if request.drop and choice.summary == "columns":
        # The rows are multiplied directly, so the incomplete ones must go first.
        data, weights, dropped = complete(data, weights)
    job = _Job(data, weights, request, columns, None)
    if request.by_range:
        job = job._replace(extremes=job.fold(Extremes)[0])
    summary, missing = job.fold(_SUMMARIES[choice.summary])
    dropped += missing
    check_rows(summary, n, dropped)
    passes = 1 + request.by_range
    if choice.summary == "columns":
        with one_blas_thread():
            solved = _solve_rows(job, summary, choice, passes)
    else:
        solved = _solve_summary(job, summary, choice, passes)
        if request.solver == "auto":
            solved = _refined(job, solved)
    return Fitted(
        summary=solved.summary,
        spectrum=solved.spectrum,
        k=solved.k,
        scale=solved.scale,
        centred=request.center,
        dtype=data.dtype,
        n_samples=n - dropped,
        facts=facts,
        choice=solved.choice,
        fallbacks=solved.fallbacks,
        passes=solved.passes,
        bytes_read=solved.passes * nbytes,
        dropped=dropped,
        extremes=job.extremes,
    )


def fit_summary(
    summary: Any,
    request: Request,
    *,
    facts: Facts | None = None,
    n_samples: int | None = None,
    extremes: Extremes | None = None,
    columns: Names = None,
    dtype: Any = np.float64,
    mean_known: bool = True,
    dropped: int = 0,
) -> Fitted:
    """Fit a summary: no row is read.

    Raises
    ------
    NotAvailableError
        When the summary keeps only columns, or extremes are asked for that were not kept.
    """
    if isinstance(summary, Columns):
        raise NotAvailableError(
            "this fit kept no scatter of its columns, so another scale or more components "
            "need the data",
            hint="fit with svd_solver='covariance_eigh' or 'full', which keep one",
        )
    check_rows(summary, summary.count, 0)
    if facts is None:
        facts = Facts(n_samples or 0, summary.p, request.n_components)
    kind = "moments" if isinstance(summary, Moments) else "triangle"
    choice = Choice(kind, "eigh" if kind == "moments" else "svd", "solved from a kept summary")
    solved = _solve_summary(_Job(None, None, request, columns, extremes), summary, choice, 0)
    return Fitted(
        summary=summary,
        spectrum=solved.spectrum,
        k=solved.k,
        scale=solved.scale,
        centred=request.center,
        dtype=np.dtype(dtype),
        n_samples=n_samples,
        facts=facts._replace(wanted=request.n_components),
        choice=choice,
        passes=0,
        dropped=dropped,
        extremes=extremes,
        mean_known=mean_known,
    )


# ---- routes ---------------------------------------------------------------------------


def _solve_summary(job: _Job, summary: Any, choice: Choice, passes: int) -> _Solved:
    """Solve Moments or a Triangle."""
    request = job.request
    scale = divisors(request.scale, summary, job.extremes, job.names)
    ready = prepared(summary, scale, request.center)
    wanted = check_wanted(request.n_components, summary, request.solver)
    if isinstance(summary, Triangle):
        spectrum = dense.solve_triangle(ready)
    elif choice.solver == "lanczos" and isinstance(wanted, int):
        rng = np.random.default_rng(0)
        with one_blas_thread():
            spectrum = lanczos.solve_moments(ready, wanted, tol=request.tol, rng=rng)
    else:
        spectrum = dense.solve_moments(ready, wanted if isinstance(wanted, int) else None)
    k = resolve(wanted, spectrum, summary.rows, most_components(summary))
    assert k is not None  # all variances are known
    return _Solved(completed(spectrum, k), k, summary, scale, choice, passes)


def _refined(job: _Job, solved: _Solved) -> _Solved:
    """Take a more exact route while a wanted variance is below what this one resolves.

    float32 products are redone in float64, which resolves all that float32 data hold;
    float64 products give way to the triangle, which squares nothing.
    """
    while solved.choice.summary == "moments" and _unresolved(solved):
        coarse = solved.summary.unit > EPS
        told = "float32 products" if coarse else "squaring"
        route = "products in float64" if coarse else "the triangle of a QR factorisation"
        limit = solved.spectrum.resolution / solved.spectrum.largest
        why = (
            f"a wanted variance is below what {told} can resolve ({limit:.0e} of the first): "
            f"{route} instead"
        )
        summary, _ = job.fold(Moments if coarse else Triangle, precise=True)
        choice = solved.choice
        if not coarse:
            choice = choice._replace(summary="triangle", solver="svd")
        again = _solve_summary(job, summary, choice, solved.passes + 1)
        solved = again._replace(fallbacks=(*solved.fallbacks, why))
    return solved


def _unresolved(solved: _Solved) -> bool:
    """Whether the last component, or the mean of those left out, is near the resolution."""
    spectrum, k = solved.spectrum, solved.k
    needed = _RESOLVED * spectrum.resolution
    if needed == 0.0 or not k:
        return False
    limit, columns = solved.summary.rank_limit, solved.summary.p
    noise_resolved = spectrum.left_out(k, limit) > needed * (columns - k)
    if spectrum.variances[min(k, limit) - 1] > needed and (k >= limit or noise_resolved):
        return False
    # Columns without spread have their zeros by right: no route resolves them better.
    rank = min(limit, np.count_nonzero(solved.summary.column_scatter))
    return bool(spectrum.variances[min(k, rank) - 1] <= needed) or (k < rank and not noise_resolved)


def _solve_rows(job: _Job, columns: Columns, choice: Choice, passes: int) -> _Solved:
    """Solve from products with the rows: row Gram, Lanczos or randomized."""
    request = job.request
    scale = divisors(request.scale, columns, job.extremes, job.names)
    ready = prepared(columns, scale, request.center)
    exponent = safe_exponent(ready.column_scatter, job.data.dtype)
    divisor = scale
    if exponent:
        power = np.full(columns.p, 2.0**exponent)
        divisor = power if scale is None else scale * power
        ready = ready.scaled(power)
    mean = columns.mean if request.center else np.zeros(columns.p)
    low = columns.mean_low if request.center else mean
    variances = columns.column_scatter / (columns.rows - 1.0)
    rows = CentredRows.of(job.data, mean, low, variances, divisor, job.weights)
    most = most_components(columns)
    wanted = check_wanted(request.n_components, columns, request.solver)
    if choice.solver == "row_gram":
        spectrum = row_gram.solve_rows(rows, ready, wanted if isinstance(wanted, int) else None)
        k = resolve(wanted, spectrum, columns.rows, most)
        assert k is not None  # all variances are known
        spectrum = completed(spectrum, k).times_power(2 * exponent)
        return _Solved(spectrum, k, columns, scale, choice, passes + 5)
    # A truncated solver knows the total but not the rest: it grows until the rule is met.
    size = max(wanted, 1) if isinstance(wanted, int) else min(most, _FIRST_GUESS)
    while True:
        spectrum, used = _truncated(rows, ready, size, request, choice)
        passes += used
        k = resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
        if k is not None:
            spectrum = completed(spectrum, k).times_power(2 * exponent)
            return _Solved(spectrum, k, columns, scale, choice, passes)
        size = min(most, 2 * size)


def _truncated(
    rows: CentredRows, columns: Columns, size: int, request: Request, choice: Choice
) -> tuple[Spectrum, int]:
    size = min(size, *rows.shape)  # with weights, more may be wanted than there are rows
    if choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        return lanczos.solve_rows(rows, columns, size, tol=request.tol, rng=rng)
    return randomized.solve_rows(
        rows,
        columns,
        size,
        n_oversamples=request.n_oversamples,
        iterated_power=request.iterated_power,
        power_iteration_normalizer=request.power_iteration_normalizer,
        random_state=request.random_state,
    )


def truncated_to(fitted: Fitted, k: int) -> Fitted:
    """The same fit with fewer components."""
    return replace(fitted, k=k, spectrum=fitted.spectrum.first(k))


def check_shape(facts: Facts) -> None:
    """Refuse, by their shape alone, rows that a fit would refuse.

    Raises
    ------
    ShapeError, ParameterError
    """
    none = np.zeros(facts.columns)
    shape = Columns(float(facts.rows), facts.rows, none, none, none)
    check_rows(shape, facts.rows, 0)
    check_wanted(facts.wanted, shape, facts.solver)


def check_rows(summary: Any, n: int, dropped: int) -> None:
    """Refuse too few rows to see a variance.

    Raises
    ------
    ShapeError
    """
    if summary.rows > 1.0:
        return
    if dropped:
        raise ShapeError(
            f"{n - dropped} of {n} rows are left after dropping those with missing values; "
            "a variance needs at least 2",
            hint="fill the missing values, or leave out the columns that hold them",
        )
    raise ShapeError(
        f"a variance needs at least 2 rows, and there is 1 sample (n_samples = {n})"
        if n == 1
        else f"a variance needs a sum of weights above 1, got {summary.rows:g} over {n} rows"
        + ("" if summary.rows else ": every weight is zero"),
        hint="give more rows" if n == 1 else "weights are frequencies: give more, or larger ones",
    )
