"""From rows to a finished fit: plan, fold, solve, and a fallback where precision asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing import check_wanted, most_components, resolve
from princomp.engines.local import complete, fold
from princomp.errors import NotAvailableError, ShapeError
from princomp.fitted import Fitted, prepared
from princomp.parameters import Request
from princomp.planning import Choice, Facts, choose
from princomp.scaling import Names, divisors
from princomp.solvers import dense, lanczos, randomized, row_gram
from princomp.solvers.null_space import completed
from princomp.solvers.operator import CentredRows
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes, Moments, Triangle
from princomp.summaries.blocks import Weights, stored_bytes

__all__ = ["fit_rows", "fit_summary", "truncated_to"]

# A covariance is given up for a more exact route when a wanted variance is within this
# factor of what it can resolve: one digit.
_RESOLVED = 16.0
_SUMMARIES: dict[str, Any] = {"moments": Moments, "triangle": Triangle, "columns": Columns}


class Solved(NamedTuple):
    """A spectrum, the summary it stands on, and what it took."""

    spectrum: Spectrum
    k: int
    summary: Any
    scale: FloatArray | None
    passes: int


def fit_rows(
    data: Any,
    weights: Weights,
    request: Request,
    columns: tuple[str, ...] | None = None,
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
    n = data.shape[0]
    facts = request.facts(data)
    choice = choose(facts)
    nbytes = stored_bytes(data)
    dropped = 0
    if request.drop and choice.summary == "columns":
        # The rows are multiplied directly, so the incomplete ones must go first.
        data, weights, dropped = complete(data, weights)
    extremes = None
    if request.by_range:
        extremes, _ = fold(Extremes, data, weights, drop=request.drop)
    summary, missing = fold(_SUMMARIES[choice.summary], data, weights, drop=request.drop)
    dropped += missing
    check_rows(summary, n, dropped)
    names = columns
    passes = 1 + request.by_range
    fallbacks: tuple[str, ...] = ()
    if choice.summary != "columns":
        solved = _solve_summary(summary, request, choice, extremes, names, passes)
        if request.solver == "auto":
            solved, choice, fallbacks = _refined(
                solved, data, weights, request, choice, extremes, names
            )
    else:
        solved = _solve_rows(data, weights, summary, request, choice, extremes, names)
    return Fitted(
        solved.summary,
        solved.spectrum,
        solved.k,
        solved.scale,
        request.center,
        data.dtype,
        n - dropped,
        facts,
        choice,
        fallbacks,
        solved.passes,
        solved.passes * nbytes,
        dropped,
        extremes,
    )


def fit_summary(
    summary: Any,
    request: Request,
    *,
    facts: Facts | None = None,
    n_samples: int | None = None,
    extremes: Extremes | None = None,
    columns: tuple[str, ...] | None = None,
    dtype: Any = np.float64,
    mean_known: bool = True,
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
    kind = "moments" if isinstance(summary, Moments) else "triangle"
    if facts is None:
        facts = Facts(summary.count, summary.p, request.n_components)
    choice = Choice(kind, "eigh" if kind == "moments" else "svd", "solved from a kept summary")
    solved = _solve_summary(summary, request, choice, extremes, columns, 0)
    return Fitted(
        summary,
        solved.spectrum,
        solved.k,
        solved.scale,
        request.center,
        np.dtype(dtype),
        n_samples,
        facts._replace(wanted=request.n_components),
        choice,
        (),
        0,
        0,
        0,
        extremes,
        mean_known,
    )


# ---- routes ---------------------------------------------------------------------------


def _solve_summary(
    summary: Any,
    request: Request,
    choice: Choice,
    extremes: Extremes | None,
    names: Names,
    passes: int,
) -> Solved:
    """Solve Moments or a Triangle, both of which know every variance."""
    scale = divisors(request.scale, summary, extremes, names)
    ready = prepared(summary, scale, request.center)
    most = most_components(summary)
    wanted = check_wanted(request.n_components, summary, request.solver)
    if isinstance(summary, Triangle):
        spectrum = dense.solve_triangle(ready)
    elif choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        assert isinstance(wanted, int)
        spectrum = lanczos.solve_moments(ready, wanted, tol=request.tol, rng=rng)
    else:
        spectrum = dense.solve_moments(ready, wanted if isinstance(wanted, int) else None)
    k = resolve(wanted, spectrum, summary.rows, most)
    assert k is not None
    return Solved(completed(spectrum, k), k, summary, scale, passes)


def _refined(
    solved: Solved,
    data: Any,
    weights: Weights,
    request: Request,
    choice: Choice,
    extremes: Extremes | None,
    names: Names,
) -> tuple[Solved, Choice, tuple[str, ...]]:
    """Take a more exact route while a wanted variance is below what this one resolves.

    float32 products are redone in float64, which resolves all that float32 data hold;
    float64 products give way to the triangle, which squares nothing.
    """
    fallbacks: list[str] = []
    while choice.summary == "moments" and _unresolved(solved):
        summary = solved.summary
        precise = summary.unit > np.finfo(np.float64).eps
        kind: Any = Moments if precise else Triangle
        told = "float32 products" if precise else "squaring"
        route = "products in float64" if precise else "the triangle of a QR factorisation"
        limit = solved.spectrum.resolution / solved.spectrum.largest
        fallbacks.append(
            f"a wanted variance is below what {told} can resolve ({limit:.0e} of the first): "
            f"{route} instead"
        )
        summary, _ = fold(kind, data, weights, drop=request.drop, precise=True)
        if not precise:
            choice = Choice("triangle", "svd", choice.reason)
        solved = _solve_summary(summary, request, choice, extremes, names, solved.passes + 1)
    return solved, choice, tuple(fallbacks)


def _unresolved(solved: Solved) -> bool:
    spectrum = solved.spectrum
    ready_limit = min(solved.k, len(spectrum.variances), solved.summary.rank_limit)
    if not ready_limit or spectrum.largest == 0.0:
        return False
    return bool(spectrum.variances[ready_limit - 1] <= _RESOLVED * spectrum.resolution)


def _solve_rows(
    data: Any,
    weights: Weights,
    columns: Columns,
    request: Request,
    choice: Choice,
    extremes: Extremes | None,
    names: Names,
) -> Solved:
    """Solve from products with the rows: row Gram, Lanczos or randomized."""
    scale = divisors(request.scale, columns, extremes, names)
    ready = prepared(columns, scale, request.center)
    mean = columns.mean if request.center else np.zeros(columns.p)
    low = columns.mean_low if request.center else mean
    variances = columns.column_scatter / (columns.rows - 1.0)
    rows = CentredRows.of(data, mean, low, variances, scale, weights)
    most = most_components(columns)
    wanted = check_wanted(request.n_components, columns, request.solver)
    first_passes = 1 + (extremes is not None)
    if choice.solver == "row_gram":
        spectrum = row_gram.solve_rows(rows, ready, wanted if isinstance(wanted, int) else None)
        k = resolve(wanted, spectrum, columns.rows, most)
        assert k is not None
        return Solved(completed(spectrum, k), k, columns, scale, first_passes + 5)
    # A truncated solver knows the total but not the rest: it grows until the rule is met.
    size = max(wanted, 1) if isinstance(wanted, int) else min(most, 16)
    passes = first_passes
    while True:
        spectrum, used = _truncated(rows, ready, size, request, choice)
        passes += used
        k = resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
        if k is not None:
            return Solved(completed(spectrum, k), k, columns, scale, passes)
        size = min(most, 2 * size)


def _truncated(
    rows: CentredRows, columns: Columns, size: int, request: Request, choice: Choice
) -> tuple[Spectrum, int]:
    if choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        return lanczos.solve_rows(rows, columns, min(size, *rows.shape), tol=request.tol, rng=rng)
    return randomized.solve_rows(
        rows,
        columns,
        min(size, *rows.shape),
        n_oversamples=request.n_oversamples,
        iterated_power=request.iterated_power,
        power_iteration_normalizer=request.power_iteration_normalizer,
        random_state=request.random_state,
    )


def truncated_to(fitted: Fitted, k: int) -> Fitted:
    """The same fit with fewer components."""
    return replace(fitted, k=k, spectrum=fitted.spectrum.first(k))


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
        else f"a variance needs a sum of weights above 1, got {summary.rows:g} over {n} rows",
        hint="give more rows",
    )
