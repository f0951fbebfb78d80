"""Filling the missing cells of a table, and the record of what was filled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.core.missing.methods import Convergence, fill_by_em, fill_by_nipals
from princomp.core.weights import check_total_weight
from princomp.engines import DistributedRows
from princomp.errors import (
    DataError,
    MemoryLimitError,
    ParameterError,
    ShapeError,
    counted,
    warn,
)
from princomp.io import RowData, Source, listed, read_whole
from princomp.linalg import (
    FloatArray,
    format_bytes,
    memory_limit,
    one_blas_thread,
    restore_underflowed,
    slices,
)
from princomp.summaries import (
    Columns,
    Extremes,
    Names,
    Weights,
    check_weights,
    column_name,
    divisors,
    first_not_finite,
    is_sparse,
)

if TYPE_CHECKING:
    from princomp.core.request import Request

FILL_METHODS = ("em", "nipals")
# Arrays of the size of the table in memory: a float64 copy, a centred copy, a mask and products.
_COPIES = 4
# If the largest absolute value is outside this range, squares lose digits.
_SAFE_RANGE = (1e-130, 1e130)
# Largest value times the root of the sum of weights, so that weighted sums of squares are finite.
_MAX_ROOTED = 1e150
# For fewer numbers the free memory of the system is not checked.
_LARGE_TABLE = 2**23
# Numbers that are checked together.
_CHUNK_SIZE = 2**20


@dataclass(frozen=True)
class Filled:
    """The missing cells of a fit, and how they were filled.

    Attributes
    ----------
    method : str
        ``"em"`` or ``"nipals"``.
    cells : int
        Missing cells in rows of positive weight: all of them were filled.
    share : float
        Share of all cells of these rows.
    rows : int
        Rows that had a missing cell.
    iterations : int
        For ``"nipals"`` the sum over all components.
    converged : bool
        Whether the last change, and the expected further ones, are below ``1e-8``.
    change : float
        The last change: of a filled cell relative to the root mean square of the table, both
        in the units of the analysis (``"em"``), of the scores relative to their length
        (``"nipals"``).
    objective : float
        Weighted sum of squared residuals of the known cells, in the units of the analysis.
    """

    method: str
    cells: int
    share: float
    rows: int
    iterations: int
    converged: bool
    change: float
    objective: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.cells:
            return f"missing={self.method!r}: no cell is missing"
        end = "; NOT CONVERGED: use fewer components, or leave out columns with many missing cells"
        return (
            f"missing={self.method!r}: {counted(self.cells, 'cell')} ({self.share:.2%}) of "
            f"{counted(self.rows, 'row')} filled in {self.iterations:,} iterations, "
            f"last change {self.change:.0e}{'' if self.converged else end}"
        )


def fill_table(
    data: RowData, weights: Weights, request: Request, names: Names = None
) -> tuple[Any, Weights, Filled, int]:
    """Fill every missing cell, in a copy if there are any; rows without any cell are left out.

    Return the rows, their weights, what was filled, and the number of rows that were left out.

    Parameters
    ----------
    data : ndarray of shape (n, p), or a Source of rows that fit in memory
    weights : ndarray of shape (n,), optional
    request : Request
        ``fill`` is the method. ``n_components`` is a whole number of components that fill the
        cells; 0 fills them with means. With ``"em"`` the divisors for ``scale`` are computed from
        the *filled* table in each iteration; with ``"nipals"`` once, from the known cells.
    names : tuple of str, optional
        Names of the columns, for messages.

    Raises
    ------
    ParameterError
        For sparse rows with a missing cell, sparse rows in a file, and rows on an engine.
    MemoryLimitError
    NotFiniteError
        For an infinite value.
    ShapeError
        For k beyond min(n, p), or weights whose sum is at most 1, or not one for each row.
    DataError
        If a column has too few cells, no row has any, or squares of the values are out of range.
    """
    method = request.fill
    assert method is not None
    nothing_filled = Filled(method, 0, 0.0, 0, 0, True, 0.0, 0.0)
    if is_sparse(data) and not np.isnan(data.data).any():
        return data, weights, nothing_filled, 0
    data = _in_memory(data, method, request.memory)
    assert isinstance(request.n_components, int)  # the request was checked
    _check_n_components(request.n_components, data.shape, weights, method)
    missing = _missing_cells(data, weights, names)
    empty = missing.all(axis=1)  # nothing can be estimated from such rows
    if weights is not None:
        empty &= weights > 0
    if left_out := int(np.count_nonzero(empty)):
        data, missing = data[~empty], missing[~empty]
        weights = None if weights is None else weights[~empty]
    used = slice(None) if weights is None else weights > 0
    missing_used, used_weights = missing[used], None if weights is None else weights[used]
    cells = int(np.count_nonzero(missing_used))
    if not cells:
        return data, weights, nothing_filled, left_out
    if used_weights is not None:
        check_total_weight(float(used_weights.sum()), len(used_weights))
    table = data[used].astype(np.float64)
    convergence = _fill_cells(table, missing_used, used_weights, request, names)
    rows = int(np.count_nonzero(missing_used.any(axis=1)))
    filled = Filled(method, cells, cells / missing_used.size, rows, *convergence)
    if not convergence.converged:
        from sklearn.exceptions import ConvergenceWarning

        warn(str(filled), ConvergenceWarning)
    out = data.copy()
    out[used] = table.astype(data.dtype)
    out[np.isnan(out)] = 0.0  # rows of weight zero, which do not count
    return out, weights, filled, left_out


def _fill_cells(
    table: FloatArray, missing: NDArray[np.bool_], weights: Weights, request: Request, names: Names
) -> Convergence:
    """Fill the missing cells of a float64 table in place; every weight is positive."""
    method, k = request.fill, request.n_components
    assert method is not None
    assert isinstance(k, int)  # the request was checked
    k = min(k, *table.shape)  # rows of weight zero, or without known cells, were left out
    _refuse_extreme_values(table, missing, weights, method)
    known = _known_columns(table, missing, weights)
    mean = np.asarray(known.mean) if request.center else np.zeros(table.shape[1])
    # Constant columns are filled with their mean: rounding would make them vary, and scaling would
    # magnify it. Without centring and scaling, only columns of zeros are constant.
    constant: NDArray[np.bool_] = known.column_scatter == 0
    if not isinstance(request.scale, str):
        constant &= known.mean == mean
    holes = missing & ~constant
    np.copyto(table, known.mean, where=missing)
    if method == "nipals":
        divisor = _divisors(table, weights, request, names, known)
        with one_blas_thread():
            return fill_by_nipals(table, holes, weights, k, mean=mean, divisor=divisor)
    np.copyto(table, mean, where=holes)
    rows: FloatArray = table
    dropped = request.dropped_columns(known)
    if dropped.size:  # they do not count in the estimate of the noise either
        counted = np.delete(np.arange(table.shape[1]), dropped)
        names = tuple(str(column_name(names, column)) for column in counted)
        rows, holes, k = table[:, counted], holes[:, counted], min(k, len(counted))
    divisor_of = partial(_divisors, weights=weights, request=request, names=names)
    with one_blas_thread():
        found = fill_by_em(rows, holes, weights, k, divisor_of=divisor_of, centred=request.center)
    if dropped.size:
        table[:, counted] = rows
    return found


def _missing_cells(rows: FloatArray, weights: Weights, names: Names) -> NDArray[np.bool_]:
    """Find the cells (n, p) that are NaN.

    Raises
    ------
    NotFiniteError
        For an infinite value.
    DataError
        For a column with fewer than two known cells; rows of weight zero are not checked.
    ShapeError
        If there is not one weight for each row.
    """
    check_weights(weights, len(rows))
    missing = np.isnan(rows)
    # In pieces, so that no second mask of a large table is made.
    step = max(1, _CHUNK_SIZE // rows.shape[1])
    for part in slices(len(rows), step):
        infinite = np.isinf(rows[part])
        if weights is not None:
            infinite[weights[part] == 0] = False
        if infinite.any():
            error = first_not_finite(np.where(infinite, rows[part], 0.0))
            error.place["row"] += part.start
            raise error
    used = slice(None) if weights is None else weights > 0
    n_known = np.count_nonzero(~missing[used], axis=0)
    too_few = np.flatnonzero(n_known < 2)
    # Without missing cells there is nothing to estimate: a table of one row is refused by the fit.
    if too_few.size and missing[used].any():
        shown = (f"column {column_name(names, column)!r} ({n_known[column]})" for column in too_few)
        raise DataError(
            f"columns with fewer than two known cells of {len(missing[used]):,}: "
            f"{listed(shown, limit=5)}",
            place={"columns": [column_name(names, column) for column in too_few]},
            hint="leave the columns out (error.place['columns'] lists all): their other cells "
            "cannot be estimated",
        )
    return missing


def _check_n_components(k: int, shape: tuple[int, ...], weights: Weights, method: str) -> None:
    """Refuse more components than a table has, where a row of weight 2 counts twice."""
    n, p = shape
    rows = n if weights is None else max(n, np.floor(weights.sum() + 1e-9))
    max_k = int(min(rows, p))
    if k > max_k:
        raise ShapeError(
            f"n_components={k} must be between 0 and min(n_samples, n_features)={max_k} with "
            f"svd_solver='full' and missing={method!r}",
            place={"parameter": "n_components"},
            hint=f"set n_components from 0 to {max_k}",
        )


def _refuse_extreme_values(
    table: FloatArray, missing: NDArray[np.bool_], weights: Weights, method: str
) -> None:
    """Refuse numbers whose squares, or sums of squares, leave the range of float64."""
    largest = float(np.abs(table, where=~missing, out=np.zeros_like(table)).max())
    if largest and not _SAFE_RANGE[0] <= largest <= _SAFE_RANGE[1]:
        why = f"squares the values, and the largest is {largest:.0e}"
    elif weights is not None and largest * np.sqrt(weights.sum()) > _MAX_ROOTED:
        why = (
            f"sums weighted squares, which overflow: the largest value is {largest:.0e}, and the "
            f"weights sum to {weights.sum():.0e}"
        )
    else:
        return
    raise DataError(
        f"missing={method!r} {why}",
        hint="multiply all columns by a power of ten: only the unit of the components changes",
    )


def memory_to_fill(n: int, p: int) -> int:
    """Compute the bytes needed to fill the cells of rows (n, p)."""
    return _COPIES * 8 * n * p


def _in_memory(data: RowData, method: str, memory: int | None) -> FloatArray:
    """Return the rows as one dense array."""
    if isinstance(data, DistributedRows):
        raise ParameterError(
            f"missing={method!r} needs all rows in memory, and these are on {data.engine}",
            place={"parameter": "missing"},
            hint="missing='drop' works there; or pass the rows as an array",
        )
    if is_sparse(data) or getattr(data, "stored", None) is not None:
        raise ParameterError(
            f"missing={method!r} takes dense rows: filled cells are rarely zero",
            place={"parameter": "missing"},
            hint="use X.toarray() if it fits in memory, or missing='drop'",
        )
    n, p = data.shape
    if isinstance(data, Source) or data.size > _LARGE_TABLE:
        limit = memory_limit(memory)
        needed = memory_to_fill(n or 0, p)
        if needed > limit:
            raise MemoryLimitError(
                f"missing={method!r} holds all rows in memory: {n:,} × {p:,} numbers need "
                f"{format_bytes(needed)}, and the limit is {format_bytes(limit)}",
                place={"parameter": "memory_limit", "limit": limit, "needed": needed},
                hint=f"allow {format_bytes(1.05 * needed)} (memory_limit), fit a sample of "
                "the rows, or use missing='drop', which reads block by block",
            )
        if isinstance(data, Source):
            return read_whole(data, limit // _COPIES)
    return np.asarray(data)


def _known_columns(table: FloatArray, missing: NDArray[np.bool_], weights: Weights) -> Columns:
    """Compute means and scatter of the known cells, scaled to the number of all rows."""
    cell_weights = np.where(missing, 0.0, 1.0 if weights is None else weights[:, None])
    total_weights = cell_weights.sum(axis=0)
    rows = float(len(table) if weights is None else weights.sum())
    known = np.where(missing, 0.0, table)
    mean = (cell_weights * known).sum(axis=0) / total_weights
    # The mean of a constant column is its value: a quotient of sums would round it.
    low = table.min(axis=0, where=~missing, initial=np.inf)
    high = table.max(axis=0, where=~missing, initial=-np.inf)
    mean = np.where(low == high, low, mean)
    centred = known - mean
    # Σ w (x − mean)² over the known cells of a column, scaled to all rows.
    scatter = (
        (cell_weights * centred * centred).sum(axis=0)
        / np.maximum(total_weights - 1.0, 0.5)
        * (rows - 1.0)
    )
    scatter = restore_underflowed(scatter, high - low)
    return Columns(rows, len(table), mean, np.zeros_like(mean), scatter)


def _divisors(
    table: FloatArray,
    weights: Weights,
    request: Request,
    names: Names,
    known: Columns | None = None,
) -> FloatArray:
    """Compute the divisors of the columns of a filled table, from ``known`` cells if given."""
    if request.scale is None:
        return np.ones(table.shape[1])
    columns = Columns.of(table, weights) if known is None else known
    extremes = None
    if request.by_range:
        extremes = Extremes(float(len(table)), table.min(axis=0), table.max(axis=0))
    return divisors(request.scale, columns, extremes, names, request.constant)
