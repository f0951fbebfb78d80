"""Blocks of consecutive rows: their sizes and weights, and checks for NaN and infinity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from princomp.errors import NotFiniteError, NotNumericError, ParameterError, ShapeError
from princomp.linalg import FloatArray, Weights as Weights, as_floats, two_sum, unmasked

if TYPE_CHECKING:
    from princomp.summaries.centred import Centred
    from princomp.summaries.extremes import Extremes

# SciPy ships no types: a CSR array or matrix.
CSR: TypeAlias = sp.csr_array
Block: TypeAlias = FloatArray | CSR
# Weights as users pass them: one number per row, or the name of a column of an engine's table.
SampleWeight: TypeAlias = ArrayLike | str | None
# The place of a fault in the weights.
WEIGHTS = {"parameter": "sample_weight"}
# Relative weights that were divided by their sum in float32 sum to 1 up to a few 1e-7.
_SUM_ABOVE_ONE = 1.0 + 1e-5

# A panel holds about 2 MB of doubles, so it stays in a core's cache while it is shifted, summed
# and multiplied. Wide rows need panels of up to 2p rows, so that the work per panel on p × p
# numbers stays small compared with the panel's product: it is 5% at 2,048 rows.
NUMBERS_PER_PANEL, _MAX_PANEL_ROWS = 2**18, 2048
# A block is several panels, to reduce the work per block. This work, mostly in Python, took two
# fifths of the time for 15,000,000 × 100 float32 with one panel per block, a sixth with two, and a
# tenth with four. For wider rows it is moving, mirroring and merging a scatter: a quarter of the
# time for 100,000 × 500 float32 with blocks of 2**20 numbers, and a tenth with 2**21. Larger blocks
# gain little and keep more rows waiting: rows of online fits until there are blocks for all
# threads, and rows of a stream until a thread is free.
NUMBERS_PER_BLOCK, _WIDE_COLUMNS = 2**20, 400
# Numbers that a thread takes at once, in one or more blocks: handing one block to a thread costs a
# tenth of the time to sum it.
_TASK_NUMBERS = 2**21


def block_rows(columns: int, *, sparse: bool = False) -> int:
    """Number of rows in a block, which depends only on the number of columns.

    Blocks begin at multiples of this number, counted from the first row of the table, so neither
    the reader's chunks nor the number of threads changes the result.
    """
    return _rows_of(NUMBERS_PER_BLOCK * (2 if columns >= _WIDE_COLUMNS else 1), columns)


def panel_rows(columns: int, *, sparse: bool = False) -> int:
    """Number of rows in a panel: the part of a block that is multiplied at a time."""
    return _rows_of(NUMBERS_PER_PANEL, columns)


def _rows_of(numbers: int, columns: int) -> int:
    """Number of rows with about ``numbers`` entries in all, or more if rows are wide."""
    return power_of_two(max(numbers // max(columns, 1), min(2 * columns, _MAX_PANEL_ROWS), 256))


def is_added_in_place(kind: object, columns: int, *, sparse: bool) -> bool:
    """Whether blocks are added to a summary of this kind in place instead of merged into it.

    They are if it has ``add``, unless its method ``adds_in_place`` says otherwise.
    """
    if hasattr(kind, "adds_in_place"):
        return bool(kind.adds_in_place(columns, sparse=sparse))
    return hasattr(kind, "add")


def blocks_per_task(rows: int, columns: int) -> int:
    """Number of blocks of ``rows`` × ``columns`` that a thread takes at once."""
    return max(1, _TASK_NUMBERS // (rows * max(columns, 1)))


def power_of_two(limit: int) -> int:
    """The largest power of two up to ``limit``, which is at least 1."""
    return 1 << (limit.bit_length() - 1)


def is_sparse(block: object) -> TypeGuard[CSR]:
    """Whether the block is a SciPy sparse array or matrix."""
    return not isinstance(block, np.ndarray) and sp.issparse(block)


def as_dense(block: Block) -> FloatArray:
    """Return the rows as an ordinary array; only sparse ones are copied."""
    return block.toarray() if is_sparse(block) else block


def stored_values(block: Block) -> FloatArray:
    """Return the numbers that the rows store, without a copy: of sparse ones, their entries."""
    return block.data if is_sparse(block) else block


def rows_without_nan(block: Block) -> NDArray[np.bool_]:
    """Return which rows (m,) have no NaN."""
    if not is_sparse(block):
        return np.asarray(~np.isnan(block).any(axis=1))
    row_of = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    missing = np.bincount(row_of[np.isnan(block.data)], minlength=block.shape[0])
    return missing == 0


def stored_bytes(data: Block) -> int:
    """Bytes that the rows take in memory."""
    if is_sparse(data):
        return int(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)
    return int(data.nbytes)


def checked_block(block: Block, weights: Weights) -> tuple[Block, Weights]:
    """Return a block as float32 or float64, without rows of weight zero.

    Sparse rows of any format become CSR, and masked values NaN.

    Raises
    ------
    ShapeError
        If the block has no columns, or there is not one weight per row.
    NotNumericError
        If the block is complex or text.
    ParameterError
        If a weight is negative or NaN.
    """
    block = block.tocsr() if is_sparse(block) else np.asarray(unmasked(block))
    if block.ndim != 2 or not block.shape[1]:
        what = "have no columns" if block.ndim == 2 else "are not two-dimensional"
        raise ShapeError(
            f"the rows {what}: their shape is {block.shape}",
            hint="pass a table: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row",
        )
    if block.dtype.char not in "fd":
        if block.dtype.kind not in "fiubO":
            raise NotNumericError(
                f"rows of dtype {block.dtype} are not real numbers",
                hint="give real numbers; for complex ones, the real and the imaginary parts as "
                "separate columns",
            )
        block = block.astype(np.float64)
    if weights is None:
        return block, None
    weights = as_floats(weights, "sample_weight")
    check_weights(weights, block.shape[0])
    check_frequencies(weights)
    kept = weights > 0
    return (block, weights) if kept.all() else (block[kept], weights[kept])


def check_frequencies(weights: FloatArray, first: int | None = None) -> None:
    """Refuse weights that are negative or not finite.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    first : int, optional
        For a part of a table, the number of the first of these rows in the part. The message then
        gives no number, because rows of the table have other numbers.

    Raises
    ------
    ParameterError
    """
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        row = (first or 0) + int(wrong[0])
        which = f"sample_weight[{row}]" if first is None else "one"
        raise ParameterError(
            f"Negative values, NaN or infinity in sample_weight: {which} is {weights[wrong[0]]:g}",
            place={**WEIGHTS, "row": row},
            hint="weights are frequencies: finite and not negative",
        )


def in_range(factors: FloatArray | None, dtype: np.dtype[Any]) -> bool:
    """Whether nonnegative factors can be cast to ``dtype`` without overflow or underflow."""
    if factors is None:
        return True
    limits = np.finfo(dtype)
    smallest = factors.min(initial=np.inf, where=factors > 0.0)
    return bool(smallest >= limits.tiny and factors.max(initial=0.0) <= limits.max)


def slice_weights(weights: Weights, start: int, stop: int) -> Weights:
    """The weights of the rows ``start`` to ``stop``.

    Raises
    ------
    ShapeError
        If there are fewer weights than rows.
    """
    if weights is None:
        return None
    if stop > len(weights):
        raise _wrong_number_of_weights(weights, "more")
    return weights[start:stop]


def check_weights(weights: Weights, rows: int) -> None:
    """Check that there is one weight per row.

    Raises
    ------
    ShapeError
        If there are more or fewer.
    """
    if weights is not None and weights.shape != (rows,):
        raise _wrong_number_of_weights(weights, rows)


def gives_variance(total: float) -> bool:
    """Whether a sum of weights is large enough to compute a variance.

    A sum that differs from 1 by rounding, of float32 weights too, is too small: the divisor, which
    is the sum minus 1, would be a rounding error.
    """
    return total > _SUM_ABOVE_ONE


def _wrong_number_of_weights(weights: FloatArray, rows: int | str) -> ShapeError:
    found = f"{len(weights)} weights" if weights.ndim == 1 else f"shape {weights.shape}"
    return ShapeError(
        f"sample_weight has {found}, and there are {rows} rows",
        place={"parameter": "sample_weight"},
        hint="pass one weight per row",
    )


def check_finite(sums: FloatArray, block: Block) -> None:
    """Check that a block is finite: reads its values only if their ``sums`` are not finite.

    Raises
    ------
    NotFiniteError
        With the position in the block; the caller adds the position of the block.
    """
    if math.isfinite(np.add.reduce(sums)):
        return
    if not np.isfinite(stored_values(block)).all():
        raise first_not_finite(block)
    if not np.isfinite(sums).all():
        raise sum_overflow()


def sum_overflow() -> NotFiniteError:
    """The error for finite values whose sum is not finite."""
    return NotFiniteError(
        "a sum of the values overflows float64", hint="divide the columns by a power of ten"
    )


def squares_overflow(sums: FloatArray, squares: FloatArray) -> NotFiniteError:
    """The error for finite rows whose sums or sums of squares (p,) are not finite."""
    if not np.isfinite(sums).all():
        return sum_overflow()
    return column_overflow(int(np.argmax(~np.isfinite(squares))))


def column_overflow(column: str | int) -> NotFiniteError:
    """The error for a column, given by its name or number, whose sum of squares is not finite."""
    return NotFiniteError(
        f"the squares of column {column!r} overflow float64",
        place={"column": column},
        hint="divide the column by a power of ten",
    )


def first_not_finite(block: Block) -> NotFiniteError:
    """The error for a block with a NaN or an infinity, with the position of the first."""
    if is_sparse(block):
        position = int(np.flatnonzero(~np.isfinite(block.data))[0])
        row = int(np.searchsorted(block.indptr, position, side="right") - 1)
        column, value = int(block.indices[position]), float(block.data[position])
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
        value = float(block[row, column])
    error = NotFiniteError("a value is not finite", place={"row": row, "column": column})
    error.value = value
    return error


def check_columns(one: Centred | Extremes, other: Centred | Extremes) -> None:
    """Check that two summaries have the same number of columns.

    Raises
    ------
    ShapeError
        If they do not.
    """
    if one.p != other.p:
        raise ShapeError(
            f"a summary of {one.p} columns cannot be merged with one of {other.p} columns",
            hint="summarise the same columns in the same order",
        )


def check_mergeable(one: Centred, other: Centred) -> None:
    """Check that two summaries have the same number of columns and the same centre.

    Raises
    ------
    ShapeError
        If they do not.
    """
    check_columns(one, other)
    if one.centred != other.centred and one.rows and other.rows:
        raise ShapeError(
            "a summary about the origin cannot be merged with one about the mean",
            hint="merge first, then take about_origin()",
        )


def merged_mean(
    mean: FloatArray, low: FloatArray, delta: FloatArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """Move a mean, stored as a high and a low part, by ``share · delta``.

    Means are stored in two doubles: a single double resolves a mean of 2³⁰ only to 1e-7, which
    would be visible in the scores of integer data.
    """
    high, error = two_sum(mean, share * delta)
    low = low + error
    final = high + low
    return final, low - (final - high)
