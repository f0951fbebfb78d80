"""Products AAᵀY of dense rows with vectors that have one entry per row, in one read of A."""

from __future__ import annotations

import numpy as np

from princomp.kernels import native
from princomp.kernels.dense import (
    TILE,
    Affine,
    backward,
    check_vectors,
    empty_scores,
    filled_scores,
    forward,
)
from princomp.linalg import FloatArray, scratch

# Maximum bytes of a tile of columns over all rows, which the kernel centres at a time; with more
# rows, A is read twice. On two cores, 1,000 × 20,000 takes 1.4 (float64) and 1.2 (float32) times
# as long with tiles of half the width, and 2,000 × 20,000 takes 1.3 and 1.2 times as long in two
# reads; at 4,000 × 12,000 two reads are as quick as one.
_TILES_BYTES = 2**22


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
    check_vectors(rows, left, m)
    rooted = left if rows.roots is None else left * rows.roots[:, None]
    left_sums = rooted.sum(axis=0, dtype=np.float64)
    kernel = rows.kernel("row_pass") if m * TILE <= _TILES_BYTES else None
    if kernel is None:
        return _in_two_reads(rows, left, low, left_sums)
    padded_left, tile = filled_scores(rows, left), TILE // rows.dtype.itemsize
    tiles = scratch("row tiles", (len(padded_left), tile), rows.dtype)
    part = scratch("row part", (tile, w), rows.dtype)
    weights = scratch("row weights", (tile, w), np.float64)
    product, sums = empty_scores(rows, left), np.zeros(w)
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
