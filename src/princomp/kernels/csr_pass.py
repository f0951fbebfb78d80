"""One pass of a compiled kernel over CSR rows, shared among threads.

The columns of the block are divided among threads in whole cache lines. One thread sums each
column, in the order of the entries, so the bits do not depend on the number of threads. If there is
only one line, the rows are divided into two halves instead, for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.kernels import native
from princomp.kernels.entries import Entries
from princomp.linalg import (
    CACHE_LINE,
    FloatArray,
    aligned,
    default_threads,
    for_each,
    scratch,
    slices,
)

# Number of products (entries times vectors) from which on several threads are quicker than one.
_THREADS_PAY = 2**19
# Average entries per column from which on two sums over half the rows are quicker than one sum.
_HALVES_PAY = 8
# Average entries per column that are summed in float32 before the sum is added in float64: the
# error of pure float32 sums is 8e-7 for 100,000 rows, and the additions take little of a pass.
_ENTRIES_PER_COLUMN = 64


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """A pass over rows.

    Parameters
    ----------
    kernel : callable or None
        None if NumPy does the work.
    rows : Entries of shape (n, p)
    dtype : dtype
        Precision of the products.
    share, factor : ndarray of shape (n,), optional
        In float64.
    """

    kernel: native.Kernel | None
    rows: Entries
    dtype: np.dtype[Any]
    share: FloatArray | None
    factor: FloatArray | None

    def forward(
        self, right: FloatArray, shift: FloatArray | None, threads: int | None
    ) -> FloatArray:
        """Compute F (X Q − c tᵀ), with the rows divided among threads."""
        n, _ = self.rows.shape
        packed = self._packed("right", right)
        width = packed.shape[1]
        product = aligned((n, width), self.dtype)
        offset = None if shift is None else self._packed("shift", shift[None])

        def work(rows: slice) -> None:
            self._run(rows, packed, offset, product)

        threads = self._threads(threads, width)
        # Rows are independent: any division gives the same bits.
        step = max(1, -(-n // (4 * threads))) if threads > 1 else max(n, 1)
        for_each(work, slices(n, step), threads)
        return product[:, : right.shape[1]]

    def gather(
        self,
        vectors: FloatArray,
        shift: FloatArray | None,
        threads: int | None,
        *,
        is_left: bool = False,
    ) -> tuple[FloatArray, FloatArray]:
        """Compute Z and s from vectors Q, or from ``is_left`` ones in place of the first product.

        Each thread has its columns in separate memory. Processors fetch cache lines in pairs, so
        threads that write to neighbouring lines would slow each other down (false sharing).
        """
        (n, p), (height, width) = self.rows.shape, vectors.shape
        per_line = CACHE_LINE // self.dtype.itemsize
        lines = max(-(-width // per_line), 1)
        # One line can occupy only one thread, so the rows are halved, for any number of threads.
        halves = 2 if lines == 1 and len(self.rows.values) >= _HALVES_PAY * p else 1
        threads = min(self._threads(threads, lines * per_line), lines * halves)
        parts = min(threads, lines)
        cuts = [lines * i // parts * per_line for i in range(parts + 1)]
        row_ends = [n * i // halves for i in range(halves + 1)]
        blocks = scratch("csr given", (height * cuts[-1],), self.dtype)
        sums = scratch("csr made", (halves, p * cuts[-1]), self.dtype)
        out = scratch("csr into", (halves, p, width), np.float64)
        totals = np.zeros((halves, cuts[-1]))
        offset = np.zeros(cuts[-1], self.dtype)
        if shift is not None:
            offset[:width] = shift
        step = rows_of_a_sum(self.rows, self.dtype)
        shared_block = _filled(blocks, vectors, 0, cuts[-1]) if halves > 1 else None

        def work(piece: tuple[int, int]) -> None:
            half, part = piece
            first, last = cuts[part], cuts[part + 1]
            used = min(last, width) - first
            block = _filled(blocks, vectors, first, last) if shared_block is None else shared_block
            part_sums = sums[half, p * first : p * last].reshape(p, last - first)
            right, middle = (None, block) if is_left else (block, None)
            for start in range(row_ends[half], max(row_ends[half + 1], row_ends[half] + 1), step):
                rows = slice(start, min(start + step, row_ends[half + 1]))
                part_sums.fill(0.0)
                self._run(rows, right, offset[first:], middle, part_sums, totals[half, first:])
                if start == row_ends[half]:
                    out[half, :, first:last] = part_sums[:, :used]
                else:
                    out[half, :, first:last] += part_sums[:, :used]

        pieces = [(half, part) for half in range(halves) for part in range(parts)]
        for_each(work, pieces, threads)
        if halves > 1:
            out[0] += out[1]
        return out[0], totals.sum(axis=0)[:width]

    def _run(
        self,
        part: slice,
        right: FloatArray | None,
        shift: FloatArray | None,
        middle: FloatArray | None,
        into: FloatArray | None = None,
        total: FloatArray | None = None,
    ) -> None:
        """Call the kernel for some rows; ``middle`` and ``share`` contain all rows."""
        block = middle if right is None else right
        assert block is not None
        assert self.kernel is not None
        rows, width = self.rows, block.shape[1]
        share, factor, middle = (
            None if each is None else each[part.start :]
            for each in (self.share, self.factor, middle)
        )
        self.kernel(
            *(rows.values, rows.columns, rows.ends[part.start :], part.stop - part.start),
            *(share, factor, right, shift, middle, into, total),
            *(width, width * block.itemsize // CACHE_LINE),
        )

    def _packed(self, name: str, block: FloatArray) -> FloatArray:
        """Return the block with rows padded to whole cache lines, uncopied if they are already."""
        height, width = block.shape
        per_line = CACHE_LINE // self.dtype.itemsize
        padded_width = -(-width // per_line) * per_line
        ready = block.dtype == self.dtype and block.flags.c_contiguous and width == padded_width
        if ready and block.ctypes.data % CACHE_LINE == 0:
            return block
        packed = scratch(f"csr {name}", (height, padded_width), self.dtype)
        packed[:, :width] = block
        packed[:, width:] = 0.0
        return packed

    def _threads(self, threads: int | None, width: int) -> int:
        pays = len(self.rows.values) * width >= _THREADS_PAY
        return (threads or default_threads()) if pays else 1


def rows_of_a_sum(rows: Entries, dtype: np.dtype[Any]) -> int:
    """Number of rows to sum in the precision of the products before adding in float64."""
    n, p = rows.shape
    if dtype == np.float64 or not n:
        return max(n, 1)
    return max(1, min(n, _ENTRIES_PER_COLUMN * p * n // max(len(rows.values), 1)))


def _filled(memory: FloatArray, vectors: FloatArray, first: int, last: int) -> FloatArray:
    """Copy some columns of a block to their part of the memory, padded with zero columns."""
    height, width = vectors.shape
    block = memory[height * first : height * last].reshape(height, last - first)
    used = min(last, width) - first
    block[:, :used] = vectors[:, first:last]
    block[:, used:] = 0.0
    return block
