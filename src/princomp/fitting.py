"""From rows to a finished fit: plan, fold, solve, and a fallback where precision asks for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing import for_fraction, minka_mle
from princomp.engines.local import complete, fold
from princomp.errors import ConstantColumnError, NotAvailableError, ParameterError, ShapeError
from princomp.fitted import Fitted, prepared
from princomp.planning import Choice, Facts, choose
from princomp.solvers import dense, lanczos, randomized, row_gram
from princomp.solvers.null_space import completed
from princomp.solvers.operator import CentredRows
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes, Moments, Triangle
from princomp.summaries.blocks import Weights, is_sparse

__all__ = ["Request", "fit_rows", "fit_summary", "truncated_to"]

# A covariance is given up for a more exact route when a wanted variance is within this
# factor of what it can resolve: one digit.
_RESOLVED = 16.0
_SUMMARIES: dict[str, Any] = {"moments": Moments, "triangle": Triangle, "columns": Columns}


class Request(NamedTuple):
    """What a person asked for: the parameters of the estimator that shape a fit."""

    n_components: int | float | str | None = None
    scale: str | FloatArray | None = None
    center: bool = True
    solver: str = "auto"
    tol: float = 0.0
    iterated_power: int | str = "auto"
    n_oversamples: int = 10
    power_iteration_normalizer: str = "auto"
    random_state: Any = None
    drop: bool = False


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
    n, p = data.shape
    by_range = isinstance(request.scale, str) and request.scale == "range"
    sparse = is_sparse(data)
    facts = Facts(
        n,
        p,
        request.n_components,
        data.dtype.name,
        data.nnz if sparse else None,
        request.solver,
        by_range,
    )
    choice = choose(facts)
    nbytes = _nbytes(data) if sparse else data.nbytes
    dropped = 0
    if request.drop and choice.summary == "columns":
        # The rows are multiplied directly, so the incomplete ones must go first.
        data, weights, dropped = complete(data, weights)
    extremes = None
    if by_range:
        extremes, _ = fold(Extremes, data, weights, drop=request.drop)
    summary, missing = fold(_SUMMARIES[choice.summary], data, weights, drop=request.drop)
    dropped += missing
    check_rows(summary, n, dropped)
    names = _Names(columns)
    passes = 1 + by_range
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
    solved = _solve_summary(summary, request, choice, extremes, _Names(columns), 0)
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
    names: _Names,
    passes: int,
) -> Solved:
    """Solve Moments or a Triangle, both of which know every variance."""
    scale = scale_of(request.scale, summary, extremes, names)
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
    k = _resolve(wanted, spectrum, summary.rows, most)
    assert k is not None
    return Solved(completed(spectrum, k), k, summary, scale, passes)


def _refined(
    solved: Solved,
    data: Any,
    weights: Weights,
    request: Request,
    choice: Choice,
    extremes: Extremes | None,
    names: _Names,
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
    names: _Names,
) -> Solved:
    """Solve from products with the rows: row Gram, Lanczos or randomized."""
    scale = scale_of(request.scale, columns, extremes, names)
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
        k = _resolve(wanted, spectrum, columns.rows, most)
        assert k is not None
        return Solved(completed(spectrum, k), k, columns, scale, first_passes + 5)
    # A truncated solver knows the total but not the rest: it grows until the rule is met.
    size = wanted if isinstance(wanted, int) else min(most, 16)
    passes = first_passes
    while True:
        spectrum, used = _truncated(rows, ready, size, request, choice)
        passes += used
        k = _resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
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


# ---- how many components, and which scale ---------------------------------------------


def most_components(summary: Any) -> int:
    """Most components that may be asked for: min(⌊Σw⌋, p), which is min(n, p) without weights."""
    return min(math.floor(summary.rows + 1e-9), summary.p)


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


def check_wanted(wanted: int | float | str | None, summary: Any, solver: str) -> int | float | str:
    """The number of components asked for, or the rule that will tell it.

    Raises
    ------
    ShapeError
        With the lawful range.
    """
    most = most_components(summary)
    truncated = solver in ("arpack", "randomized")
    if isinstance(wanted, str):
        if truncated:
            raise ParameterError(
                f"n_components={wanted!r} cannot be a string with svd_solver={solver!r}",
                place={"parameter": "n_components"},
                hint="Minka's rule needs all variances: svd_solver='auto' or 'full'",
            )
        if summary.rows < summary.p:
            raise ShapeError(
                "n_components='mle' is only supported if n_samples >= n_features, "
                f"got {summary.rows:g} rows of {summary.p} columns",
                hint="ask for a fraction of the variance instead",
            )
        return wanted
    if wanted is None:
        return most - 1 if solver == "arpack" else most
    if isinstance(wanted, float):
        return wanted
    lowest = 1 if truncated else 0
    if solver == "arpack" and wanted == most:
        raise ShapeError(
            f"n_components={wanted} must be strictly less than min(n_samples, n_features)={most} "
            "with svd_solver='arpack'",
            place={"parameter": "n_components"},
            hint="svd_solver='full' finds all",
        )
    if not lowest <= wanted <= most:
        route = "full" if solver == "auto" else solver
        raise ShapeError(
            f"n_components={wanted} must be between {lowest} and "
            f"min(n_samples, n_features)={most} with svd_solver={route!r}",
            place={"parameter": "n_components"},
            hint=f"ask for {lowest} to {most} components",
        )
    return wanted


def _resolve(
    wanted: int | float | str,
    spectrum: Spectrum,
    rows: float,
    most: int,
    *,
    complete: bool = True,
) -> int | None:
    """Number of components by the rule, or None when more variances are needed to tell."""
    if isinstance(wanted, int):
        return wanted
    if isinstance(wanted, str):
        return minka_mle(spectrum.variances, rows)
    needed = for_fraction(spectrum.rates, wanted)
    if needed is None and complete:
        return min(len(spectrum.variances), most)
    return needed if needed is None else min(needed, most)


def scale_of(
    scale: str | FloatArray | None,
    summary: Any,
    extremes: Extremes | None = None,
    names: _Names | None = None,
) -> FloatArray | None:
    """What the columns are divided by (p,), or None.

    Raises
    ------
    ConstantColumnError
        Naming the columns without spread.
    NotAvailableError
        For a range that was not kept.
    """
    if scale is None:
        return None
    names = names or _Names(None)
    if isinstance(scale, str):
        deviation = np.sqrt(summary.column_scatter / (summary.rows - 1.0))
        if scale == "unit":
            divisor = deviation
        elif scale == "pareto":
            divisor = np.sqrt(deviation)
        elif extremes is None:
            raise NotAvailableError(
                "the range of the columns was not kept by this fit",
                hint="fit with scale='range', or give the ranges as an array",
            )
        else:
            divisor = extremes.spread
        constant = np.flatnonzero(divisor == 0)
        if constant.size:
            listed = ", ".join(names.of(c) for c in constant[:5])
            more = "" if constant.size <= 5 else f" and {constant.size - 5} more"
            raise ConstantColumnError(
                f"scale={scale!r} cannot divide by the spread of a constant column: {listed}{more}",
                place={"column": names.plain(constant[0])},
                hint="leave out the constant columns, or give scale an array of divisors",
            )
        return divisor
    return _given_scale(scale, summary.p, names)


def _given_scale(scale: Any, p: int, names: _Names) -> FloatArray:
    divisor = np.asarray(scale, dtype=np.float64)
    if divisor.shape != (p,):
        raise ShapeError(
            f"scale has shape {divisor.shape}, and there are {p} columns",
            place={"parameter": "scale"},
            hint=f"give one divisor a column: an array of shape ({p},)",
        )
    wrong = np.flatnonzero(~(np.isfinite(divisor) & (divisor > 0)))
    if wrong.size:
        raise ParameterError(
            f"scale must be positive and finite, got {divisor[wrong[0]]!r} "
            f"for {names.of(wrong[0])}",
            place={"parameter": "scale", "column": names.plain(wrong[0])},
            hint="a column that is not to be scaled has divisor 1",
        )
    return divisor.copy()


class _Names:
    """Column names for messages; numbers where there are none."""

    def __init__(self, columns: tuple[str, ...] | None) -> None:
        self._columns = columns

    def plain(self, column: Any) -> str | int:
        return int(column) if self._columns is None else self._columns[int(column)]

    def of(self, column: Any) -> str:
        return f"column {self.plain(column)!r}"


def _nbytes(data: Any) -> int:
    return int(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)


def truncated_to(fitted: Fitted, k: int) -> Fitted:
    """The same fit with fewer components."""
    return replace(fitted, k=k, spectrum=fitted.spectrum.first(k))
