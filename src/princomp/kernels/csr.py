"""Products of CSR rows with a block of vectors, from one side or both, and scatters of the rows.

For each row x, with its share c and factor f, one pass computes all or part of

    y = f (Σ x_j Q_j − c t),   Z_j += x_j y,   s += c y

where Q_j and Z_j are the rows of Q and Z. With c = 1 and t = μᵀQ the rows are centred between the
two products, so a large mean causes no more cancellation than in two separate products.

The columns of the block are divided among threads in whole cache lines. One thread sums each
column, in the order of the entries, so the bits do not depend on the number of threads. If there is
only one line of columns with many entries each, the rows are halved instead, for any number of
threads.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp import linalg
from princomp.kernels import native
from princomp.kernels.dense import fill
from princomp.kernels.entries import Entries
from princomp.kernels.wide import mirror
from princomp.linalg import CACHE_LINE, FloatArray, Weights, aligned, part_of, scratch, slices

# Number of products (entries times vectors) from which on several threads are quicker than one.
MIN_PRODUCTS_FOR_THREADS = 2**19
# Average entries per column from which on two sums over half the rows are quicker than one sum.
_HALVES_PAY = 8
# Average entries per column that are summed in float32 before the sum is added in float64: the
# error of pure float32 sums is 8e-7 for 100,000 rows, and the additions take little of a pass.
_ENTRIES_PER_COLUMN = 64
# Rows that are summed at a time in float64, and rows per column if that is more: equal products
# that are added one by one to a large sum all round in the same direction.
_ROWS, _ROWS_PER_COLUMN = 1024, 16
# Rows that SciPy adds one by one: equal rows all round in the same direction, so the error grows
# with their number.
_TWIN_ROWS = 1024
# For at most _GROUPED columns (as GROUPED in csr.cpp), it adds groups of _GROUP rows instead.
_GROUPED, _GROUP = 256, 256


def images(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute Z = Xᵀ F (X Q − c tᵀ) and s = cᵀ F (X Q − c tᵀ), in one pass over the entries.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        X.
    right : ndarray of shape (p, m)
        Q. If Q and X are both float32, products and their sums over some rows are float32 too.
    shift : ndarray of shape (m,), optional
        t; zero by default.
    share, factor : ndarray of shape (n,), optional
        c and the diagonal of F; ones by default.

    Returns
    -------
    ndarray of shape (p, m)
        Z, in float64.
    ndarray of shape (m,)
        s, in float64.
    """
    csr_pass = _Pass(rows, right, rows.shape[1], share, factor)
    if csr_pass.kernel is None:
        middle = forward(rows, right, shift=shift, share=share, factor=factor)
        return backward(rows, middle, share=share)
    return csr_pass.gather(right, shift)


def backward(
    rows: Entries,
    left: FloatArray,
    *,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute Z = Xᵀ F Y and s = cᵀ F Y for Y = ``left`` (n, m); see :func:`images`."""
    n, _ = rows.shape
    csr_pass = _Pass(rows, left, n, share, factor)
    if csr_pass.kernel is None:
        dtype = csr_pass.dtype
        scaled = left if csr_pass.factor is None else left * csr_pass.factor[:, None].astype(dtype)
        total = linalg.column_sums(scaled.astype(np.float64, copy=False), csr_pass.share)
        return _backward_twin(rows, scaled.astype(dtype, copy=False)), total
    return csr_pass.gather(left, None, is_left=True)


def forward(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
) -> FloatArray:
    """Compute F (X Q − c tᵀ), of shape (n, m), on ``threads``; see :func:`images`."""
    n, p = rows.shape
    csr_pass = _Pass(rows, right, p, share, factor)
    if csr_pass.kernel is None:
        product: FloatArray = rows.matrix() @ right.astype(csr_pass.dtype, copy=False)
        if shift is not None:
            shares = np.ones(n) if csr_pass.share is None else csr_pass.share
            product -= np.multiply.outer(shares, shift)
        if csr_pass.factor is not None:
            product = product * csr_pass.factor[:, None].astype(csr_pass.dtype)
        return product
    return csr_pass.forward(right, shift, threads)


def scatter(rows: Entries, weights: Weights = None) -> tuple[FloatArray, FloatArray]:
    """Compute Σ w x xᵀ (p, p) and Σ w x (p,) over the rows, about zero, in float64.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        The column indices of each row must ascend, without duplicates.
    weights : ndarray of shape (n,), optional
    """
    kernel = native.function(f"csr_scatter_{rows.kind}")
    n, p = rows.shape
    weights = native.as_kernel_vector(weights, n)
    if kernel is None:
        step = _GROUP if p <= _GROUPED else _TWIN_ROWS
        summands = (_scatter_twin(rows, part, weights) for part in slices(max(n, 1), step))
        summed = linalg.compensated_sum(summands) if p <= _GROUPED else reduce(np.add, summands)
        return summed[:p], summed[p]
    products, sums = np.zeros((p, p)), np.zeros(p)
    kernel(rows.values, rows.columns, rows.ends, n, p, weights, products, sums)
    mirror(products, threads=1)
    return products, sums


def _scatter_twin(rows: Entries, part: slice, weights: Weights) -> NDArray[np.float64]:
    """SciPy implementation of :func:`scatter` for some rows: products and sums, (p + 1, p)."""
    matrix = rows.rows(part).matrix().astype(np.float64)
    rooted, sums = matrix, np.asarray(matrix.sum(axis=0)).ravel()
    if weights is not None:
        rooted = sp.diags_array(np.sqrt(weights[part])) @ matrix
        sums = weights[part] @ matrix
    return np.vstack([(rooted.T @ rooted).toarray(), sums])


def _backward_twin(rows: Entries, left: FloatArray) -> FloatArray:
    """SciPy implementation of Xᵀ Y, in the precision of Y and summed as in the kernel."""
    matrix, n = rows.matrix(), rows.shape[0]
    step = _rows_of_a_sum(rows, left.dtype)
    total = np.zeros((rows.shape[1], left.shape[1]))
    for part in slices(n, step):
        total += (matrix if step >= n else matrix[part]).T @ left[part]
    return total


class _Pass:
    """A pass over rows (n, p).

    Parameters
    ----------
    rows : Entries of shape (n, p)
    vectors : ndarray of shape (height, m)
        Vectors to multiply, in the precision that is wanted.
    height : int
        Number of rows of these vectors: n or p.
    share, factor : ndarray of shape (n,), optional

    Attributes
    ----------
    kernel : callable or None
        None if NumPy does the work.
    dtype : dtype
        Precision of the products.
    """

    def __init__(
        self, rows: Entries, vectors: FloatArray, height: int, share: Weights, factor: Weights
    ) -> None:
        if vectors.ndim != 2 or len(vectors) != height:
            raise ValueError(f"a block of shape {vectors.shape} does not have {height} rows")
        single_precision = rows.values.dtype == np.float32 == vectors.dtype
        value_type, index_type = rows.kind.split("_")
        name = f"csr_pass_{value_type}_{'f32' if single_precision else 'f64'}_{index_type}"
        self.kernel, self.rows = native.function(name), rows
        self.dtype = np.dtype(np.float32 if single_precision else np.float64)
        self.share = native.as_kernel_vector(share, rows.shape[0])
        self.factor = native.as_kernel_vector(factor, rows.shape[0])

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
        linalg.for_each(work, slices(n, step), threads)
        return product[:, : right.shape[1]]

    def gather(
        self, vectors: FloatArray, shift: FloatArray | None, *, is_left: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Compute Z and s from vectors Q; if ``is_left``, from Y in place of X Q − c tᵀ.

        Fewer threads are used if there is less than a cache line of columns for each. Each has its
        columns in separate memory: processors fetch cache lines in pairs, so threads that write to
        neighbouring lines would slow each other down (false sharing).
        """
        (n, p), (height, width) = self.rows.shape, vectors.shape
        per_line = CACHE_LINE // self.dtype.itemsize
        lines = max(-(-width // per_line), 1)
        # One line can occupy only one thread, so the rows are halved, for any number of threads.
        halves = 2 if lines == 1 and len(self.rows.values) >= _HALVES_PAY * p else 1
        threads = min(self._threads(None, lines * per_line), lines * halves)
        parts = min(threads, lines)
        cuts = [lines * i // parts * per_line for i in range(parts + 1)]
        row_ends = [n * i // halves for i in range(halves + 1)]
        blocks = scratch("csr blocks", (height * cuts[-1],), self.dtype)
        sums = scratch("csr sums", (halves, p * cuts[-1]), self.dtype)
        out = scratch("csr out", (halves, p, width), np.float64)
        totals = np.zeros((halves, cuts[-1]))
        offset = np.zeros(cuts[-1], self.dtype)
        if shift is not None:
            offset[:width] = shift
        step = _rows_of_a_sum(self.rows, self.dtype)
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
        linalg.for_each(work, pieces, threads)
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
        """Call the kernel for some rows; ``middle`` has all rows, like the shares and factors."""
        block = middle if right is None else right
        assert block is not None
        assert self.kernel is not None
        rows, width = self.rows, block.shape[1]
        later = slice(part.start, None)
        share, factor, middle = (part_of(each, later) for each in (self.share, self.factor, middle))
        self.kernel(
            *(rows.values, rows.columns, rows.ends[later], part.stop - part.start),
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
        return fill(scratch(f"csr {name}", (height, padded_width), self.dtype), block)

    def _threads(self, threads: int | None, width: int) -> int:
        pays = len(self.rows.values) * width >= MIN_PRODUCTS_FOR_THREADS
        return (threads or linalg.default_threads()) if pays else 1


def _rows_of_a_sum(rows: Entries, dtype: np.dtype[Any]) -> int:
    """Number of rows whose products are summed before the sum is added to a total in float64."""
    n, p = rows.shape
    if dtype == np.float64:
        return max(_ROWS, _ROWS_PER_COLUMN * p)
    return max(1, min(n, _ENTRIES_PER_COLUMN * p * n // max(len(rows.values), 1)))


def _filled(memory: FloatArray, vectors: FloatArray, first: int, last: int) -> FloatArray:
    """Copy some columns of a block to their part of the memory, padded with zero columns."""
    height = len(vectors)
    part = memory[height * first : height * last].reshape(height, last - first)
    return fill(part, vectors[:, first:last])
