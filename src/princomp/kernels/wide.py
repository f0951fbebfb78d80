"""A block of wide rows added to a scatter in place, by several threads at once.

A large scatter takes too long to write, mirror and merge for each block and each thread. Here all
threads work on the same scatter: they pack chunks of rows, and then each thread adds to groups of
the scatter's rows. For any number of threads, each entry of the scatter is the same sum in the same
order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from princomp import linalg
from princomp.kernels import native
from princomp.kernels.gram import is_shift_far, shift_of, status_of
from princomp.kernels.signatures import SIZES
from princomp.linalg import CACHE_LINE, FloatArray, Weights, aligned, empty, part_of, slices

# Number of columns from which on adding in place is faster. Its time divided by that of one scatter
# per block, for many rows: 1.4 at 500 columns, where a scatter stays in the cache; 1.02 at 800;
# 0.96 (float32) and 0.94 (float64) at 900; 0.9 and 0.95 at 1,000.
MIN_COLUMNS = 896
# Rows of a chunk, by item size. Float32 products are summed in float32 within a chunk, which is
# therefore shorter.
_CHUNK_ROWS = {8: SIZES["wide_chunk_rows"], 4: SIZES["wide_chunk_rows"] // 2}
# Rows of the scatter that a thread works on at a time (a group), by item size: the matching columns
# of a chunk stay in the L2 cache while the others are read. With float64 groups of 48, 96, 144 and
# 240 rows, 1,200 columns are multiplied at 145, 157, 145 and 122 Gflop/s (AVX-512, two threads).
# Groups are smaller if there would be fewer than _GROUPS_PER_THREAD per thread. Their sizes are
# multiples of _PANEL rows, so that each begins with a panel of wide.cpp, whose width divides
# _PANEL.
_GROUP, _GROUPS_PER_THREAD = {8: 96, 4: 144}, 3
_PANEL = SIZES["wide_group_rows"]
# Rows of the scatter that are mirrored at a time.
_MIRRORED = 4 * SIZES["wide_mirrored_rows"]
# Maximum numbers of a SIMD vector: columns are padded to whole vectors.
_VECTOR = CACHE_LINE // 4


class Packed(NamedTuple):
    """A block, shifted near its mean and packed, ready to be added to a scatter.

    Parameters
    ----------
    status : int
        ``native.DONE``, ``LEFT_RANGE`` or ``NOT_FINITE``, as in
        :class:`~princomp.kernels.gram.BlockMoments`. Only a block that is DONE can be added.
    rows : float
        Sum of the weights.
    shift : ndarray of shape (p,)
        The row that was subtracted from each row, in the precision of the block.
    sums, squares : ndarray of shape (p,)
        Weighted column sums of the shifted rows, and of their squares.
    memory : ndarray
        The packed numbers, until it is passed on as ``memory`` of the next block.
    shape : tuple of int
        Rows and columns.
    chunk : int
        Rows of a chunk, or 0 without compiled kernels: the numbers are then stored row by row.
    """

    status: int
    rows: float
    shift: FloatArray
    sums: FloatArray
    squares: FloatArray
    memory: FloatArray
    shape: tuple[int, int]
    chunk: int


def packed(
    block: FloatArray,
    weights: Weights = None,
    *,
    precise: bool = False,
    memory: FloatArray | None = None,
    threads: int | None = None,
) -> Packed:
    """Pack a block of at least one row, and check that its sums and squares are in range.

    Parameters
    ----------
    block, weights, precise
        As for :func:`~princomp.kernels.gram.moments`.
    memory : ndarray, optional
        ``memory`` of an earlier packed block, to be reused.
    threads : int, optional
        All processors by default.
    """
    m, p = block.shape
    block = native.as_kernel_rows(block)
    dtype = np.dtype(np.float64) if precise else block.dtype
    name = f"wide_pack_f{8 * block.itemsize}" + "_precise" * (dtype != block.dtype)
    kernel = native.function(name)
    weights = native.as_kernel_vector(weights, m)
    size = dtype.itemsize
    chunk_rows = _CHUNK_ROWS[size]
    parts = slices(m, chunk_rows)
    chunk = 0 if kernel is None else chunk_rows
    numbers = _packed_numbers(m, p, chunk_rows)
    if memory is None or memory.dtype != dtype or memory.size < numbers:
        memory = aligned((numbers,), dtype)
    else:
        linalg.mark_unwritten(memory)
    with np.errstate(all="ignore"):  # overflow here shows in the status
        shift = shift_of(block, weights)
        filled = np.zeros(p + _VECTOR, dtype)

        def pack_chunk(part: slice) -> FloatArray:
            rows, share = block[part], part_of(weights, part)
            if kernel is None:
                out = memory[part.start * p : part.stop * p].reshape(rows.shape)
                return _pack_twin(rows, share, filled[:p], out)
            sums, step = empty((2, p)), block.strides[0] // block.itemsize
            out = memory[part.start // chunk_rows * _chunk_numbers(chunk_rows, p) :]
            kernel(rows, len(rows), p, step, filled, share, out, sums)
            return sums

        rows = float(m) if weights is None else float(weights.sum())
        for again in (False, True):
            filled[:p] = shift
            sums, squares = sum(
                linalg.map_in_order(pack_chunk, parts, threads), start=np.zeros((2, p))
            )
            if again or not is_shift_far(sums, squares, rows):
                break
            shift = (shift + sums / rows).astype(block.dtype)
        # Where the squares overflow the products' precision, the sum over a chunk may too.
        checked_squares = np.where(squares > np.finfo(dtype).max, np.inf, squares)
        status = status_of(block, shift, sums, checked_squares, len(parts), dtype)
    return Packed(status, rows, shift, sums, squares, memory, (m, p), chunk)


def _chunk_numbers(rows: int, columns: int) -> int:
    """Distance between the starts of two chunks, in numbers, for SIMD vectors of any length."""
    return (rows + rows % 2) * (-(-columns // _VECTOR) * _VECTOR) + _VECTOR


def _packed_numbers(rows: int, columns: int, chunk_rows: int) -> int:
    whole, rest = divmod(rows, chunk_rows)
    return whole * _chunk_numbers(chunk_rows, columns) + _chunk_numbers(rest, columns)


def packed_bytes(rows: int, columns: int) -> int:
    """Upper bound on the bytes of a packed block."""
    return 8 * _packed_numbers(rows, columns, _CHUNK_ROWS[4])


@np.errstate(all="ignore")  # each thread has its own setting; overflow shows in the sums
def _pack_twin(
    rows: FloatArray, weights: Weights, shift: FloatArray, out: FloatArray
) -> FloatArray:
    """NumPy implementation of packing: shifted rows, times the square roots of their weights."""
    np.subtract(rows, shift, out=out, dtype=out.dtype)
    sums = empty((2, len(shift)))
    if weights is None:
        out.sum(axis=0, dtype=np.float64, out=sums[0])
    else:
        np.matmul(weights, out, out=sums[0])
        out *= np.sqrt(weights).astype(out.dtype)[:, None]
    np.einsum("ij,ij->j", out, out, out=sums[1], dtype=np.float64)
    return sums


def add(
    block: Packed,
    scatter: FloatArray,
    delta_weight: float,
    delta: FloatArray,
    *,
    threads: int | None = None,
) -> None:
    """Add the block's scatter about its mean, and ``delta_weight · delta deltaᵀ``, in place.

    Parameters
    ----------
    block : Packed
        Its ``status`` must be ``native.DONE``.
    scatter : ndarray of shape (p, p)
        In C order. The entries below its diagonal are valid only after :func:`mirror`.
    delta_weight : float
        Factor of the outer product of ``delta``.
    delta : ndarray of shape (p,)
        Difference between the means of the block and of the earlier rows.
    threads : int, optional
        All processors by default.
    """
    m, p = block.shape
    if block.status != native.DONE:
        raise ValueError("a block whose sums are out of range cannot be added")
    _check_scatter(scatter, p)
    if delta.shape != (p,):
        raise ValueError(f"delta has the shape {delta.shape}, but the block has {p} columns")
    size = block.memory.itemsize
    delta = np.ascontiguousarray(delta, dtype=np.float64)
    mean_offset = block.sums / block.rows
    threads = threads or linalg.default_threads()
    group, kernel = _GROUP[size], None
    if block.chunk:
        kernel = native.function(f"wide_add_f{8 * size}")
        # Smaller groups: in the kernel, unlike in BLAS, the grouping does not change any bits.
        group = min(group, -(-p // (_GROUPS_PER_THREAD * threads * _PANEL)) * _PANEL)

    def add_to_group(some: slice) -> None:
        begin = some.start
        if kernel is not None:
            chunks = (block.memory, _chunk_numbers(block.chunk, p), m, block.chunk, p)
            means = (mean_offset, block.sums, delta_weight, delta)
            kernel(*chunks, begin, some.stop, *means, scatter)
            return
        rows, out = block.memory[: m * p].reshape(m, p), scatter[some, begin:]
        for part in slices(m, _CHUNK_ROWS[size]):
            out += rows[part, some].T @ rows[part, begin:]
        out -= mean_offset[some, None] * block.sums[begin:]
        out += delta_weight * delta[some, None] * delta[begin:]

    linalg.for_each(add_to_group, slices(p, group), threads)


def mirror(scatter: FloatArray, *, threads: int | None = None) -> None:
    """Copy the entries above the diagonal of a scatter (p, p) below it, in place."""
    p = len(scatter)
    _check_scatter(scatter, p)
    kernel = native.function("wide_mirror")

    def mirror_rows(some: slice) -> None:
        if kernel is not None:
            kernel(scatter, p, some.start, some.stop)
            return
        square = scatter[some, some]
        square[:] = np.triu(square) + np.triu(square, 1).T
        scatter[some.stop :, some] = scatter[some, some.stop :].T

    linalg.for_each(mirror_rows, slices(p, _MIRRORED), threads)


def _check_scatter(scatter: FloatArray, p: int) -> None:
    """Refuse arrays whose memory the kernels would misinterpret."""
    if scatter.shape != (p, p) or not scatter.flags.c_contiguous or scatter.dtype != np.float64:
        raise ValueError(f"a C-ordered float64 scatter of {p} columns is needed")
