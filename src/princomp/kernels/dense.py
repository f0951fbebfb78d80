"""Products of dense rows: with vectors, from one side or both, and with each other.

The rows of A are ``a = r ((x − high) / divisor)``. A is formed only in parts that fit in a cache,
and each product reads the rows once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.kernels import native
from princomp.kernels.signatures import SIZES
from princomp.kernels.wide import mirror
from princomp.linalg import CACHE_LINE, FloatArray, aligned, empty, part_of, scratch, slices

# The kernel centres a panel of _PANEL_BYTES at a time, or a strip of _STRIP rows if that is larger,
# in tiles of _TILE bytes per row.
_PANEL_BYTES, _STRIP, _TILE = SIZES["dense_panel_bytes"], SIZES["strip_rows"], SIZES["tile_bytes"]
# Panels that NumPy centres have at most _TWIN_PANEL_BYTES bytes but at least _MIN_PANEL_ROWS rows;
# those of more than _LONG_PANEL_ROWS rows have at most a quarter of the bytes. On two cores,
# 4,000 × 4,000 float32 times 16 vectors takes 18, 12, 11, 12 and 15 ms with panels of 32, 64, 128,
# 256 and 500 rows: in short panels BLAS spends its time on packing, and long ones exceed the cache.
_TWIN_PANEL_BYTES, _MIN_PANEL_ROWS, _LONG_PANEL_ROWS = 2**22, 32, 128
# Float32 panels have at most _SINGLE_ROWS rows, like the kernel's chunks (strips.hpp): products of
# equal rows that are added to a large sum may all be rounded in the same direction.
_SINGLE_ROWS = 512
# Maximum bytes of a tile of columns over all rows, which the kernel centres at a time; with more
# rows, A is read twice. On two cores, 1,000 × 20,000 takes 1.4 (float64) and 1.2 (float32) times
# as long with tiles of half the width, and 2,000 × 20,000 takes 1.3 and 1.2 times as long in two
# reads; at 4,000 × 12,000 two reads are as quick as one.
_TILES_BYTES = 2**22
# Bytes of each panel of columns that NumPy multiplies for products between rows.
_PRODUCT_BYTES = 2**22


@dataclass(frozen=True, eq=False)
class Affine:
    """Rows A = R (X − 1 highᵀ) D⁻¹, formed only while they are multiplied.

    Parameters
    ----------
    data : ndarray of shape (m, p)
        X: float32 or float64, any strides.
    high, divisor : ndarray of shape (p,), optional
        The row that is subtracted, and the diagonal of D; in the precision of X.
    roots : ndarray of shape (m,), optional
        The diagonal of R, in the precision of X.
    """

    data: FloatArray
    high: FloatArray | None = None
    divisor: FloatArray | None = None
    roots: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, p = self.data.shape
        return m, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.data.dtype

    def part(self, rows: slice, columns: slice = slice(None)) -> Affine:
        """Return some rows and columns of A."""
        high, divisor = part_of(self.high, columns), part_of(self.divisor, columns)
        return Affine(self.data[rows, columns], high, divisor, part_of(self.roots, rows))

    @property
    def kernel_arguments(self) -> tuple[FloatArray, int, int, int]:
        """The first arguments of a kernel: data, rows, columns, and row stride in numbers."""
        data = self.data
        return data, *self.shape, data.strides[0] // data.itemsize

    def kernel(self, name: str) -> native.Kernel | None:
        """Return the compiled kernel for these rows, or None if NumPy does the work."""
        data, (m, p) = self.data, self.shape
        for array, length in ((self.high, p), (self.divisor, p), (self.roots, m)):
            if array is not None and (array.shape != (length,) or array.dtype != self.dtype):
                raise ValueError("arrays of other shapes or precisions than the rows")
        if not (data.size and native.is_kernel_ready(data)):
            return None
        return native.function(f"{name}_f{8 * data.itemsize}")

    def formed(self) -> FloatArray:
        """Form A in this thread's scratch memory, or return X itself if A equals X."""
        data = self.data
        if self.high is None and self.divisor is None and self.roots is None:
            return data
        rows = scratch("centred", data.shape, data.dtype)
        if self.high is not None:
            data = np.subtract(data, self.high, out=rows)
        if self.divisor is not None:
            data = np.divide(data, self.divisor, out=rows)
        if self.roots is not None:
            np.multiply(data, self.roots[:, None], out=rows)
        return rows


def padded(vectors: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Copy vectors (p, m) to C order in ``dtype``, with zero columns up to a whole cache line."""
    lanes = CACHE_LINE // dtype.itemsize
    return fill(aligned((len(vectors), -(-vectors.shape[1] // lanes) * lanes), dtype), vectors)


def fill(block: FloatArray, vectors: FloatArray) -> FloatArray:
    """Copy vectors to a block that may be wider, and zeros to its other columns."""
    width = vectors.shape[1]
    block[:, :width] = vectors
    block[:, width:] = 0.0
    return block


def images(
    rows: Affine, right: FloatArray, out: FloatArray, *, shift: FloatArray | None = None
) -> FloatArray:
    """Add Aᵀ(AQ − r tᵀ) to ``out``, and return rᵀ(AQ − r tᵀ).

    Parameters
    ----------
    rows : Affine of shape (m, p)
        A; r is its ``roots``, or ones.
    right : ndarray of shape (p, w)
        Q, :func:`padded`, in the precision of A.
    out : ndarray of shape (p, w)
        float64.
    shift : ndarray of shape (w,), optional
        t, in the precision of A.

    Returns
    -------
    ndarray of shape (w,)
        In float64.
    """
    _check_vectors(rows, right, rows.shape[1], out)
    kernel = rows.kernel("dense_pass")
    if kernel is None:
        return _images_twin(rows, right, out, shift)
    return _call(kernel, rows, _empty_scores(rows, right), right=right, shift=shift, out=out)


@np.errstate(all="ignore")  # as the compiled kernel: overflow shows in the sums
def forward(rows: Affine, right: FloatArray) -> FloatArray:
    """Compute A Q (m, w) for Q = ``right``, :func:`padded`."""
    _check_vectors(rows, right, rows.shape[1])
    kernel = rows.kernel("dense_pass")
    if kernel is None:
        product = empty((rows.shape[0], right.shape[1]), rows.dtype)
        for span in _panels(rows):
            np.matmul(rows.part(span).formed(), right, out=product[span])
        return product
    scores = _empty_scores(rows, right)
    _call(kernel, rows, scores, right=right)
    return scores[: rows.shape[0]]


@np.errstate(all="ignore")  # as the compiled kernel: overflow shows in the sums
def backward(rows: Affine, left: FloatArray, out: FloatArray) -> None:
    """Add Aᵀ Y to ``out`` (p, w) in float64, for Y = ``left`` (m, w), :func:`padded`."""
    _check_vectors(rows, left, rows.shape[0], out)
    kernel = rows.kernel("dense_pass")
    if kernel is None:
        for span in _panels(rows):
            out += rows.part(span).formed().T @ left[span]
        return
    _call(kernel, rows, _filled_scores(rows, left), out=out)


@np.errstate(all="ignore")  # as the compiled kernel: overflow shows in the sums
def _images_twin(
    rows: Affine, right: FloatArray, out: FloatArray, shift: FloatArray | None
) -> FloatArray:
    """NumPy implementation of :func:`images`, a panel at a time."""
    sums = np.zeros(right.shape[1])
    image = scratch("image", right.shape[::-1], rows.dtype)
    for span in _panels(rows):
        part = rows.part(span)
        panel, roots = part.formed(), part.roots
        scores = panel @ right
        if shift is not None:
            scores -= shift if roots is None else roots[:, None] * shift
        sums += scores.sum(axis=0, dtype=np.float64) if roots is None else roots @ scores
        out += np.matmul(scores.T, panel, out=image).T
    return sums


def _panels(rows: Affine) -> list[slice]:
    m, p = rows.shape
    size = max(p, 1) * rows.dtype.itemsize
    step = max(
        _MIN_PANEL_ROWS,
        min(_TWIN_PANEL_BYTES // size, max(_LONG_PANEL_ROWS, _TWIN_PANEL_BYTES // 4 // size)),
    )
    return slices(m, step if rows.dtype == np.float64 else min(step, _SINGLE_ROWS))


def _check_vectors(
    rows: Affine, vectors: FloatArray, length: int, out: FloatArray | None = None
) -> None:
    """Refuse vectors, or sums, whose shape, precision or memory layout does not fit the rows."""
    w = vectors.shape[1]
    fits = len(vectors) == length and vectors.dtype == rows.dtype
    fits = fits and w % (CACHE_LINE // rows.dtype.itemsize) == 0
    if out is not None:
        fits = fits and out.shape == (rows.shape[1], w) and out.dtype == np.float64
        fits = fits and out.flags.c_contiguous
    if not fits:
        raise ValueError("arrays of other shapes or precisions than the rows")


def _empty_scores(rows: Affine, vectors: FloatArray) -> FloatArray:
    """Return uninitialised scores for whole strips of rows."""
    return aligned((-(-rows.shape[0] // _STRIP) * _STRIP, vectors.shape[1]), rows.dtype)


def _filled_scores(rows: Affine, left: FloatArray) -> FloatArray:
    """Return scores for whole strips of rows: ``left`` (m, w), followed by rows of zeros."""
    scores = _empty_scores(rows, left)
    scores[: len(left)], scores[len(left) :] = left, 0.0
    return scores


def _call(
    kernel: native.Kernel,
    rows: Affine,
    scores: FloatArray,
    *,
    right: FloatArray | None = None,
    shift: FloatArray | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Call the kernel, and return the sums of the scores."""
    p, w, size = rows.shape[1], scores.shape[1], rows.dtype.itemsize
    panel_bytes = max(_PANEL_BYTES, _STRIP * -(-p * size // _TILE) * _TILE)
    panel = scratch("dense panel", (panel_bytes // size,), rows.dtype)
    part = None if out is None else scratch("dense part", (p, w), rows.dtype)
    arrays = native.contiguous(rows.high, rows.divisor, rows.roots, right, shift)
    sums = np.zeros(w)
    kernel(*rows.kernel_arguments, *arrays, w, panel, scores, part, out, sums)
    return sums


def images_of_rows(
    rows: Affine, left: FloatArray, *, low: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute A B and the sums lowᵀ B, for B = Aᵀ Y − low (rᵀ Y).

    Parameters
    ----------
    rows : Affine of shape (m, p)
        A; r is its ``roots``, or ones.
    left : ndarray of shape (m, w)
        Y, :func:`padded`, in the precision of A.
    low : ndarray of shape (p,), optional
        Low part of the mean, in float64; zero by default.

    Returns
    -------
    product : ndarray of shape (m, w)
        In the precision of A.
    sums : ndarray of shape (w,)
        In float64.
    """
    m, w = len(left), left.shape[1]
    _check_vectors(rows, left, m)
    rooted = left if rows.roots is None else left * rows.roots[:, None]
    left_sums = rooted.sum(axis=0, dtype=np.float64)
    kernel = rows.kernel("row_pass") if m * _TILE <= _TILES_BYTES else None
    if kernel is None:
        return _in_two_reads(rows, left, low, left_sums)
    padded_left, tile = _filled_scores(rows, left), _TILE // rows.dtype.itemsize
    tiles = scratch("row tiles", (len(padded_left), tile), rows.dtype)
    part = scratch("row part", (tile, w), rows.dtype)
    weights = scratch("row weights", (tile, w), np.float64)
    product, sums = _empty_scores(rows, left), np.zeros(w)
    arrays = native.contiguous(rows.high, rows.divisor, rows.roots, padded_left, low, left_sums)
    kernel(*rows.kernel_arguments, *arrays, w, tiles, part, weights, product, sums)
    return product[:m], sums


def _in_two_reads(
    rows: Affine, left: FloatArray, low: FloatArray | None, left_sums: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute :func:`images_of_rows` in two reads of the rows."""
    shape = (rows.shape[1], left.shape[1])
    weights = scratch("row weights", shape, np.float64)
    weights[:] = 0.0
    backward(rows, left, weights)
    sums = np.zeros(left.shape[1])
    if low is not None:
        weights -= np.outer(low, left_sums)
        sums = low @ weights
    narrow = weights
    if rows.dtype != np.float64:
        narrow = scratch("row part", shape, rows.dtype)
        narrow[:] = weights
    return forward(rows, narrow), sums


def row_products(rows: Affine, low: FloatArray | None = None) -> FloatArray:
    """Compute AAᵀ (n, n) in float64, for A = R ((X − 1 highᵀ) D⁻¹ − 1 lowᵀ).

    Parameters
    ----------
    rows : Affine of shape (n, p)
        X, ``high``, and the diagonals of D (``divisor``) and R (``roots``).
    low : ndarray of shape (p,), optional
        Low part of the mean, divided by D; in the precision of X.

    Returns
    -------
    ndarray of shape (n, n)
        Exactly symmetric. Products are summed in the precision of X over a few hundred columns,
        and these sums in float64.
    """
    n, p = rows.shape
    if low is not None and (low.shape != (p,) or low.dtype != rows.dtype):
        raise ValueError("arrays of other shapes or precisions than the rows")
    kernel = rows.kernel("across")
    if kernel is None:
        return _row_products_twin(rows, low)
    out = empty((n, n))
    arrays = native.contiguous(rows.high, rows.divisor, low, rows.roots)
    if kernel(*rows.kernel_arguments, *arrays, out) == native.NO_MEMORY:
        raise MemoryError("no memory for a packed chunk of columns")
    return out


def _row_products_twin(rows: Affine, low: FloatArray | None) -> FloatArray:
    """NumPy implementation, a panel of columns at a time."""
    n, p = rows.shape
    step = max(1, _PRODUCT_BYTES // (max(n, 1) * rows.dtype.itemsize))
    total = np.zeros((n, n))
    for columns in slices(p, step):
        panel = rows.part(slice(None), columns).formed()
        if low is not None:
            part = low[columns]
            panel = panel - (part if rows.roots is None else rows.roots[:, None] * part)
        total += panel @ panel.T
    # Some BLAS kernels sum entries (i, j) and (j, i) in different orders.
    mirror(total, threads=1)
    return total
