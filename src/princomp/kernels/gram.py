"""Mean and scatter of a dense block, in one read of its rows.

A large mean would cause cancellation, so a block is shifted close to its own mean before anything
is multiplied. The shift is one row plus the mean difference from it over 64 rows, one from each
of 64 equal parts of the block, so a constant column becomes exactly zero. If the mean turns out
to lie further from the shift than the rows lie from the mean, the block is summed again about
the mean, which is known by then. See ``is_shift_far`` in gram.cpp for why one repetition is enough.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp import linalg
from princomp.kernels import native
from princomp.kernels.signatures import SIZES
from princomp.linalg import FloatArray, Weights, column_sums, empty, part_of, scratch, slices

_SAMPLE = 64
# 2³² over the golden ratio: its multiples, modulo 2³², spread evenly and without a period.
_GOLDEN = np.uint64(2654435769)
# The twin's panels have about _PANEL_NUMBERS numbers, and at least _PANEL_ROWS rows: about 2 MB of
# doubles stay in a core's cache while they are shifted, summed and multiplied.
_PANEL_NUMBERS, _PANEL_ROWS = 2**18, 512
# Rows of a chunk, here and in gram.cpp. Their products are added one by one. Those of equal rows
# all round in the same direction, so the error grows with this number.
CHUNK_ROWS = 256
# A float32 product below this may have lost digits to underflow.
_FLOAT32_TINY = 2.0**-96


class BlockMoments(NamedTuple):
    """Mean and scatter of a block, or why they could not be computed.

    Parameters
    ----------
    status : int
        ``native.DONE``; ``LEFT_RANGE`` if float32 products of nonzero numbers underflowed;
        ``NOT_FINITE`` if a sum or a square is NaN or infinite.
    mean, mean_low : ndarray of shape (p,)
        Column means as a sum of two doubles. If not finite, ``mean`` contains the sums of
        the shifted rows.
    scatter : ndarray of shape (p, p)
        About the mean. If not finite, about the shift, and only the diagonal is valid.
    """

    status: int
    mean: FloatArray
    mean_low: FloatArray
    scatter: FloatArray


def moments(block: FloatArray, weights: Weights = None, *, precise: bool = False) -> BlockMoments:
    """Compute the mean and scatter of a block of at least one row.

    Parameters
    ----------
    block : ndarray of shape (m, p)
        float32 or float64, any strides.
    weights : ndarray of shape (m,), optional
        Positive frequencies.
    precise : bool
        Whether to multiply float32 rows in float64.
    """
    name = "f64" if block.dtype.char == "d" else "f32_precise" if precise else "f32"
    kernel = native.function(f"moments_{name}")
    if kernel is None:
        return moments_twin(block, weights, precise=precise)
    m, p = block.shape
    block = native.as_kernel_rows(block)
    out = empty(p * p + 2 * p)
    weights = native.as_kernel_vector(weights, m)
    status = kernel(block, m, p, block.strides[0] // block.itemsize, weights, out)
    if status == native.NO_MEMORY:
        raise MemoryError("no memory for a packed chunk of rows")
    return BlockMoments(status, out[:p], out[p : 2 * p], out[2 * p :].reshape(p, p))


# Number of columns from which on chunks are longer, and the most rows that they have then.
LONG_CHUNK_COLUMNS, LONG_CHUNK_ROWS = SIZES["gram_long_columns"], SIZES["gram_long_rows"]


def chunk_bytes(rows: int, columns: int) -> int:
    """Upper bound on the bytes that the kernel keeps per thread for a packed chunk of rows."""
    long_bytes = LONG_CHUNK_ROWS * 8 * columns
    most = SIZES["gram_chunk_bytes"] if columns < LONG_CHUNK_COLUMNS else long_bytes
    return min(most, 8 * rows * (columns + 16)) + 2**16


def moments_twin(
    block: FloatArray, weights: Weights = None, *, precise: bool = False
) -> BlockMoments:
    """NumPy implementation of :func:`moments`, which multiplies panels in their own precision."""
    block = np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("="))
    m, p = block.shape
    dtype = np.dtype(np.float64) if precise else block.dtype
    step = max(_PANEL_NUMBERS // p // CHUNK_ROWS * CHUNK_ROWS, _PANEL_ROWS)
    with np.errstate(all="ignore"):  # overflow here shows in the status
        shift = shift_of(block, weights)
        rows = float(m) if weights is None else float(weights.sum())
        sums, scatter = _panels(block, weights, shift, dtype, step)
        if is_shift_far(sums, scatter.diagonal(), rows):
            shift = (shift + sums / rows).astype(block.dtype)
            sums, scatter = _panels(block, weights, shift, dtype, step)
        status = status_of(block, shift, sums, scatter.diagonal(), -(-m // step), dtype)
        if status != native.DONE:
            return BlockMoments(status, sums, sums, scatter)
        np.fill_diagonal(scatter, linalg.restore_underflowed(scatter.diagonal(), sums))
        offset = sums / rows
        linalg.add_outer(scatter, -rows, offset)
        mean, low = linalg.two_sum(shift.astype(np.float64, copy=False), offset)
    return BlockMoments(native.DONE, mean, low, scatter)


def status_of(
    block: FloatArray,
    shift: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    chunks: int,
    dtype: np.dtype[Any],
) -> int:
    """Return the ``status`` for a block from the sums (p,) of its shifted rows and their squares.

    ``dtype`` is the precision of the products, and ``chunks`` the number of chunks of rows whose
    products are added in float64.
    """
    if not np.isfinite(np.add.reduce(squares) + np.add.reduce(sums)):
        return native.NOT_FINITE
    if dtype != np.float64:
        tiny = squares < _FLOAT32_TINY * chunks
        if tiny.any() and (block[:, tiny] != shift[tiny]).any():
            return native.LEFT_RANGE
    return native.DONE


def is_shift_far(sums: FloatArray, squares: FloatArray, rows: float) -> bool:
    """Whether some column's mean is further from the shift than the rows are from the mean.

    Parameters
    ----------
    sums, squares : ndarray of shape (p,)
        Column sums of the shifted rows, and of their squares.
    rows : float
        Sum of the weights.
    """
    return bool((2.0 * sums * (sums / rows) > squares).any())


def _panels(
    block: FloatArray, weights: Weights, shift: FloatArray, dtype: np.dtype[Any], step: int
) -> tuple[FloatArray, FloatArray]:
    """Sums and products of all shifted rows, in float64."""
    first, *others = slices(len(block), step)
    sums, scatter = _panel(block, weights, shift, dtype, first)
    for part in others:
        more, product = _panel(block, weights, shift, dtype, part)
        sums = sums + more
        scatter += product
    return sums, scatter


def _panel(
    block: FloatArray, weights: Weights, shift: FloatArray, dtype: np.dtype[Any], part: slice
) -> tuple[FloatArray, FloatArray]:
    """Sums and products of some shifted rows."""
    rows = block[part]
    shifted = np.subtract(rows, shift, out=scratch("shifted", rows.shape, dtype), dtype=dtype)
    share = part_of(weights, part)
    # Both factors are multiplied by the root, so that the product is exactly symmetric.
    rooted = shifted if share is None else shifted * np.sqrt(share).astype(dtype)[:, None]
    return column_sums(shifted, share), products(rooted)


def products(rows: FloatArray) -> FloatArray:
    """``rowsᵀ rows``: chunks of rows multiplied in their precision, and added in float64."""
    m, p = rows.shape
    whole = m // CHUNK_ROWS * CHUNK_ROWS
    chunks = rows[:whole].reshape(-1, CHUNK_ROWS, p)
    product: FloatArray = (chunks.transpose(0, 2, 1) @ chunks).sum(axis=0, dtype=np.float64)
    if whole < m:
        product += rows[whole:].T @ rows[whole:]
    return product


def shift_of(block: FloatArray, weights: Weights = None) -> FloatArray:
    """Return a row near the mean, exact for constant columns, in the block's precision."""
    if weights is not None:
        # A row of large weight may lie anywhere, so only the weighted mean is near enough for sure.
        # Distances are measured from the row of largest weight: measured from an outlier of small
        # weight, they would lose their digits.
        base, share = block[weights.argmax()], weights / weights.sum()
        distance = np.zeros(len(base))
        for part in slices(len(block), _PANEL_ROWS):
            distance += share[part] @ np.subtract(block[part], base, dtype=np.float64)
        return (base + distance).astype(block.dtype)
    first = block[0]
    sample = block[sampled_rows(len(block))]
    offset = column_sums(np.subtract(sample, first, dtype=np.float64)) / len(sample)
    return (first + offset).astype(block.dtype, copy=False)


@lru_cache(maxsize=64)
def sampled_rows(m: int, count: int = _SAMPLE) -> NDArray[np.intp]:
    """Indices of one row from each of ``count`` equal parts of ``m`` rows; of all if m ≤ count.

    The place in each part follows the golden ratio: a fixed stride could match a period of the
    rows, and then all sampled rows could be special.
    """
    count = min(m, count)
    part = np.arange(count, dtype=np.uint64)
    begin, end = part * m // count, (part + 1) * m // count
    place = part * _GOLDEN % 2**32 * (end - begin) >> np.uint64(32)
    return linalg.frozen((begin + place).astype(np.intp))
