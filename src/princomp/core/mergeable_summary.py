"""Summaries of rows over time: the kind that rows are added to, and one for all rows of a fit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.core.context import prepared
from princomp.core.request import Request
from princomp.core.routes.moments import SCATTER_COLUMNS
from princomp.core.routes.sketch import exact_stream_advice, whole_number_needed
from princomp.errors import ColumnError, MemoryLimitError, NotAvailableError, ParameterError
from princomp.linalg import FloatArray, eigh, format_bytes, memory_limit
from princomp.solvers import sketch_width, unit_for_error
from princomp.summaries import Columns, Extremes, Moments, Pair, PairOf, Sketch, SketchOf, Triangle

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted
    from princomp.core.routes.base import Summary

# For at most this many columns, the memory limit is not checked.
_FEW_COLUMNS = 1000
# Number of scatters in memory while rows are added to one and it is solved.
_SCATTER_COPIES = 8


def main_summary(summary: Summary | Pair) -> Any:
    """Return the summary to solve: the first one of a pair."""
    return summary.first if isinstance(summary, Pair) else summary


def rows_key(summary: Any) -> tuple[float, bytes, bytes] | None:
    """Number of rows, means and column scatters to the bit, which fits to the same rows share.

    The order of the columns does not matter. None for rows that are all equal: other rows may well
    be so, too.
    """
    main = main_summary(summary)
    squares = main.column_scatter
    if not squares.any():
        return None
    order = np.lexsort((squares, main.mean))
    return main.rows, main.mean[order].tobytes(), squares[order].tobytes()


def reordered(summary: Any, order: NDArray[np.intp]) -> Any:
    """Return a summary with its columns in another order, on the host.

    Raises
    ------
    ColumnError
        For a sketch, whose directions were drawn for its order.
    """
    if isinstance(summary, Pair):
        return Pair(*(reordered(part, order) for part in summary))
    if isinstance(summary, Sketch):
        raise ColumnError(
            "the columns of the two fits differ: their order",
            hint="fit the same columns in the same order (columns=): the columns of a sketch "
            "cannot be reordered",
        )
    if not isinstance(summary, Extremes):
        summary = summary.to_host()
    values = {field.name: getattr(summary, field.name) for field in fields(summary)}
    arrays = {
        name: np.take(array, order, axis=-1)
        for name, array in values.items()
        if isinstance(array, np.ndarray)
    }
    if isinstance(summary, Moments):
        arrays["scatter"] = np.take(arrays["scatter"], order, axis=0)
    return replace(summary, **arrays)


def _memory_to_add(p: int) -> int:
    """Bytes needed to add rows of ``p`` columns to a scatter and to solve it."""
    return _SCATTER_COPIES * 8 * p * p


def check_memory_to_add(request: Request, p: int) -> None:
    """Refuse a scatter that does not fit in the memory limit.

    Raises
    ------
    MemoryLimitError
    """
    if p <= _FEW_COLUMNS:
        return
    needed, limit = _memory_to_add(p), memory_limit(request.memory)
    if needed > limit:
        raise MemoryLimitError(
            f"a scatter of {p:,} columns takes about {format_bytes(needed)} to add to, and the fit "
            f"may take {format_bytes(limit)}",
            place={"parameter": "memory_limit"},
            hint="allow more, or use svd_solver='sketch' with a whole number of components",
        )


def scatter_fits(request: Request, p: int) -> bool:
    """Whether rows in batches are added to a scatter by default, rather than to a sketch."""
    with suppress(MemoryLimitError):
        check_memory_to_add(request, p)
        return p <= SCATTER_COLUMNS
    return False


def kind_of(summary: Summary | Pair) -> Any:
    """Return the kind of a summary, which makes others of that kind."""
    if isinstance(summary, Pair):
        return PairOf(kind_of(summary.first), Extremes)
    if isinstance(summary, Sketch):
        return SketchOf(summary.width, summary.seed)
    return type(summary)


def kind_for(request: Request, p: int) -> Any:
    """Return the kind of summary that a solver needs for ``p`` columns.

    Raises
    ------
    MemoryLimitError, ParameterError
    """
    solver = request.solver
    if solver == "full":
        return Triangle
    by_default = solver == "auto" and p <= SCATTER_COLUMNS
    if by_default and isinstance(request.n_components, int):
        by_default = scatter_fits(request, p)
    if solver == "covariance_eigh" or by_default:
        check_memory_to_add(request, p)
        return Moments
    if solver not in ("auto", "sketch"):
        raise ParameterError(
            f"svd_solver={solver!r} needs all rows at once",
            place={"parameter": "svd_solver"},
            hint="partial_fit works with 'auto', 'covariance_eigh', 'full' and 'sketch'",
        )
    if not isinstance(request.n_components, int):
        exact = f"; {exact_stream_advice(request)}" if solver == "auto" else ""
        raise whole_number_needed("a sketch", request.n_components, exact)
    return SketchOf(sketch_width(request.n_components, p))


def mergeable_summary(fitted: Fitted, name: str = "this fit") -> Moments | Triangle | Sketch:
    """Return a summary that represents all rows, to be rescaled or merged with others.

    A fit that kept only a summary of columns has one if it kept all components. Messages call the
    fit by ``name``.

    Raises
    ------
    NotAvailableError
        If only some of the components were kept; the hint says which fit keeps more.
    """
    if not isinstance(fitted.summary, Columns):
        return fitted.summary
    if not stands_for_rows(fitted):
        k, rank = fitted.spectrum.k, _largest_rank(fitted)
        raise NotAvailableError(
            f"{name} kept no scatter and only {k:,} of {rank:,} components: it cannot be merged, "
            "rescaled or extended",
            hint=_hint_for_mergeable(fitted, rank),
        )
    return _from_all_components(fitted, fitted.summary)


def stands_for_rows(fitted: Fitted) -> bool:
    """Whether a fit kept a summary that represents all rows, or all of its components."""
    return not isinstance(fitted.summary, Columns) or fitted.spectrum.k >= _largest_rank(fitted)


def _largest_rank(fitted: Fitted) -> int:
    """Upper bound of the number of components with a variance: constant columns add none."""
    # A scatter that is not known is NaN, which counts.
    varying = np.count_nonzero(fitted.analysed.column_scatter)
    return min(fitted.analysed.rank_limit, int(varying))


def _hint_for_mergeable(fitted: Fitted, rank: int) -> str:
    """Hint at a fit within the memory limit whose summary represents all rows."""
    p, limit = fitted.p, fitted.problem.memory_limit
    available = memory_limit(None) if limit is None else limit
    components_fit = rank < p and 3 * 8 * rank * p <= available
    # Weights below 1 leave fewer components than rows.
    if components_fit and fitted.summary.rows >= rank:
        size = format_bytes(8 * rank * p)  # less than a scatter
        return (
            f"use a fit with n_components=None: all {rank:,} components, of {size}, stand for "
            "the rows (call truncated(k) afterwards)"
        )
    if _memory_to_add(p) <= available:
        scatter = format_bytes(8 * p * p)
        return f"fit with svd_solver='covariance_eigh', which keeps a scatter of {scatter}"
    if components_fit:
        return "fit with svd_solver='full', which keeps a triangle"
    return (
        "fit with svd_solver='sketch' and a whole number of components: a sketch can be "
        "merged, and its error is estimated"
    )


def _from_all_components(fitted: Fitted, columns: Columns) -> Triangle:
    """Make a triangle of all components, with the error of the spectrum."""
    spectrum, rows, scale = fitted.spectrum, columns.rows, fitted.scale
    singular_values = np.sqrt(spectrum.variances[: spectrum.k] * (rows - 1.0))
    largest = spectrum.largest * (rows - 1.0)
    factor = spectrum.axes * singular_values[:, None]
    error = spectrum.roundoff
    if spectrum.residuals is not None:
        error = max(error, float(spectrum.residuals.max(initial=0.0)))
    if not fitted.centred:
        # The error stays that of products about the origin, even if the scatter about the mean
        # is much smaller.
        offset = np.sqrt(rows) * prepared(columns, scale, True).mean
        factor = _about_mean(spectrum.axes, singular_values, offset)
    # The error of the products, the same in all directions.
    lost = np.full(columns.p, unit_for_error(error) * largest)
    if scale is not None:
        factor, lost = factor * scale, lost * scale * scale
    factor[:, columns.column_scatter == 0.0] = 0.0
    factor = np.asarray(factor, dtype=np.float64)
    mean, mean_low = columns.mean, columns.mean_low
    return Triangle(rows, columns.count, mean, mean_low, factor, columns.centred, lost=lost)


def _about_mean(axes: FloatArray, singular_values: FloatArray, offset: FloatArray) -> FloatArray:
    """A factor of the scatter about the mean, from axes (k, p) of rows about the origin.

    ``singular_values`` (k,) are their singular values, ``offset`` (p,) is √n times the mean. The
    scatter about the mean is Aᵀ(diag(singular_values²) − bbᵀ)A, where b are the coordinates of
    ``offset``. Coordinates along axes of noise are included, since they may be as large as the
    noise. So is the part of ``offset`` outside the space of the axes, since axes with small
    variances have few correct digits.
    """
    once = offset - (axes @ offset) @ axes
    outside = once - (axes @ once) @ axes
    length = float(np.linalg.norm(outside))
    # If the second projection removes most of what the first has left, the rest is rounding
    # error, which need not be orthogonal to the axes (Parlett 1998, "twice is enough").
    if length > 0.5 * float(np.linalg.norm(once)):
        axes = np.vstack([axes, outside / length])
        singular_values = np.append(singular_values, 0.0)
    coordinates = axes @ offset
    squares, rotation = eigh(
        np.diag(singular_values**2) - np.multiply.outer(coordinates, coordinates)
    )
    return (np.sqrt(np.maximum(squares, 0.0))[:, None] * rotation) @ axes
