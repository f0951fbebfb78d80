"""The way from a table with holes to one without."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from princomp.arrays import FloatArray, one_blas_thread
from princomp.engines.distributed import Distributed
from princomp.errors import DataError, MemoryLimitError, ParameterError, ShapeError
from princomp.memory import in_words, memory_limit
from princomp.missing.cells import missing_cells
from princomp.missing.em import Ended, fill_by_em
from princomp.missing.filled import Filled
from princomp.missing.nipals import fill_by_nipals
from princomp.scaling import Names, divisors
from princomp.sources.holding import whole
from princomp.sources.source import Source
from princomp.summaries import Columns, Extremes
from princomp.summaries.blocks import Weights, is_sparse

__all__ = ["METHODS", "completed", "room_to_fill"]

METHODS = ("em", "nipals")
# The table in float64, a copy of it centred, its mask, and what it is multiplied into.
_COPIES = 4
# Largest values between which squares keep their digits.
_RANGE = (1e-130, 1e130)
# Below so many numbers nobody asks the system how much memory is free.
_LARGE = 2**23


def completed(
    data: Any,
    weights: Weights,
    method: str,
    k: int,
    *,
    scale: Any = None,
    centred: bool = True,
    names: Names = None,
    memory: int | None = None,
) -> tuple[Any, Filled]:
    """The rows with every missing cell filled, in a copy where there was one.

    Parameters
    ----------
    data : ndarray of shape (n, p), or a Source of rows that fit in memory
    weights : ndarray of shape (n,), optional
    method : {"em", "nipals"}
    k : int
        Components that fill the cells; 0 fills them with means.
    scale : as for :class:`~princomp.PCA`
        With ``"em"`` the columns of the *filled* table are measured, anew in each iteration;
        with ``"nipals"`` the cells that are there, once.

    Raises
    ------
    ParameterError
        For sparse rows with a missing cell, and rows on another engine.
    MemoryLimitError
    ShapeError
        For k beyond min(n, p).
    DataError
        Where a row or column has too few cells.
    """
    untouched = Filled(method, 0, 0.0, 0, 0, True, 0.0, 0.0)
    if is_sparse(data) and not np.isnan(data.data).any():
        return data, untouched
    data = _in_memory(data, method, memory)
    _check_count(k, data.shape, method)
    holes = missing_cells(data, weights, names)
    used = slice(None) if weights is None else weights > 0
    inside, share = holes[used], None if weights is None else weights[used]
    cells = int(np.count_nonzero(inside))
    if not cells:
        return data, untouched
    table = data[used].astype(np.float64)
    _refuse_extremes(table, inside, method)
    fill = _fill_by_em if method == "em" else _fill_by_nipals
    ended = fill(table, inside, share, k, scale, centred, names)
    rows = int(np.count_nonzero(inside.any(axis=1)))
    filled = Filled(method, cells, cells / inside.size, rows, *ended)
    if not ended.converged:
        warnings.warn(
            f"{filled}. Fewer components, or columns without so many holes, would help.",
            ConvergenceWarning,
            stacklevel=2,
        )
    out = data.copy()
    out[used] = table.astype(data.dtype)
    out[np.isnan(out)] = 0.0  # rows of weight zero, which count nowhere
    return out, filled


def _check_count(k: int, shape: tuple[int, ...], method: str) -> None:
    """Refuse more components than a table can have."""
    most = min(shape)
    if not 0 <= k <= most:
        raise ShapeError(
            f"n_components={k} must be between 0 and min(n_samples, n_features)={most} with "
            f"svd_solver='full' and missing={method!r}",
            place={"parameter": "n_components"},
            hint=f"ask for 0 to {most} components",
        )


def _fill_by_em(
    table: FloatArray,
    holes: NDArray[np.bool_],
    weights: Weights,
    k: int,
    scale: Any,
    centred: bool,
    names: Names,
) -> Ended:
    """Fill the holes in place, beginning with means; columns are measured in each iteration."""

    def divisor_of(now: FloatArray) -> FloatArray | None:
        return None if scale is None else _divisors(scale, now, Columns.of(now, weights), names)

    mean = _seen(table, holes, weights).mean if centred else np.zeros(table.shape[1])
    table[holes] = np.broadcast_to(mean, table.shape)[holes]
    with one_blas_thread():
        return fill_by_em(table, holes, weights, k, divisor_of=divisor_of, centred=centred)


def _fill_by_nipals(
    table: FloatArray,
    holes: NDArray[np.bool_],
    weights: Weights,
    k: int,
    scale: Any,
    centred: bool,
    names: Names,
) -> Ended:
    """Fill the holes in place; columns are measured once, by the cells that are there."""
    p = table.shape[1]
    seen = _seen(table, holes, weights)
    mean = np.asarray(seen.mean) if centred else np.zeros(p)
    divisor = _divisors(scale, table, seen, names)
    divisor = np.ones(p) if divisor is None else divisor
    with one_blas_thread():
        return fill_by_nipals(table, holes, weights, k, mean=mean, divisor=divisor)


def _refuse_extremes(table: FloatArray, holes: NDArray[np.bool_], method: str) -> None:
    """Refuse numbers whose squares, or the sums of them, leave the range of float64."""
    largest = float(np.abs(table, where=~holes, out=np.zeros_like(table)).max())
    if largest and not _RANGE[0] <= largest <= _RANGE[1]:
        raise DataError(
            f"missing={method!r} squares the values, and the largest is {largest:.0e}",
            hint="multiply all columns by one power of ten: components only change their unit",
        )


def room_to_fill(n: int, p: int) -> int:
    """Bytes that it takes to fill the cells of rows (n, p)."""
    return _COPIES * 8 * n * p


def _in_memory(data: Any, method: str, memory: int | None) -> FloatArray:
    """The rows as one dense array."""
    if isinstance(data, Distributed):
        raise ParameterError(
            f"missing={method!r} needs all rows in memory, and these are elsewhere",
            place={"parameter": "missing"},
            hint="missing='drop' works there; or bring the rows here, as an array",
        )
    if is_sparse(data) or getattr(data, "stored", None) is not None:
        raise ParameterError(
            f"missing={method!r} takes dense rows: a cell that is filled is seldom zero",
            place={"parameter": "missing"},
            hint="X.toarray() where it fits in memory, or missing='drop'",
        )
    n, p = data.shape
    if isinstance(data, Source) or n * p > _LARGE:
        limit = memory_limit(memory)
        needed = room_to_fill(n or 0, p)
        if needed > limit:
            raise MemoryLimitError(
                f"missing={method!r} holds all rows in memory: {n:,} × {p:,} numbers take "
                f"{in_words(needed)} where {in_words(limit)} may be taken",
                place={"parameter": "memory_limit", "limit": limit, "needed": needed},
                hint=f"allow {in_words(1.05 * needed)} (memory_limit, --memory), fit a sample of "
                "the rows, or use missing='drop', which reads block by block",
            )
        if isinstance(data, Source):
            rows: FloatArray = whole(data, limit // _COPIES)
            return rows
    return np.asarray(data)


def _seen(table: FloatArray, holes: NDArray[np.bool_], weights: Weights) -> Columns:
    """Means and scatter of the cells that are there, as if their number were that of all."""
    share = np.where(holes, 0.0, 1.0 if weights is None else weights[:, None])
    totals = share.sum(axis=0)
    rows = float(len(table) if weights is None else weights.sum())
    known = np.where(holes, 0.0, table)
    mean = (share * known).sum(axis=0) / totals
    away = np.where(holes, 0.0, table - mean)
    # Σ w (x − mean)² over a column's own cells, its divisor that of all rows.
    scatter = (share * away * away).sum(axis=0) / np.maximum(totals - 1.0, 0.5) * (rows - 1.0)
    return Columns(rows, len(table), mean, np.zeros(table.shape[1]), scatter)


def _divisors(scale: Any, table: FloatArray, columns: Columns, names: Names) -> FloatArray | None:
    """What the columns of a table are divided by; NaN in it is passed over."""
    extremes = _extremes(table) if isinstance(scale, str) and scale == "range" else None
    return divisors(scale, columns, extremes, names)


def _extremes(table: FloatArray) -> Extremes:
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    return Extremes(float(len(table)), low.astype(np.float64), high.astype(np.float64))
