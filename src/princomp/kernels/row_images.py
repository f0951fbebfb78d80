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
    rows: Affine,
    left: FloatArray,
    *,
    low: FloatArray | None = None,
    instructions: str = "",
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
    instructions : str, optional
        As for :func:`images`.

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
    fits = m * TILE <= _TILES_BYTES
    kernel = rows.kernel("row_pass", instructions) if fits else None
    if kernel is None:
        return _in_two_reads(rows, left, low, left_sums, instructions)
    padded_left = filled_scores(rows, left)
    product, sums = empty_scores(rows, left), np.zeros(w)
    _call(kernel, rows, padded_left, low, left_sums, product, sums)
    return product[:m], sums


def _in_two_reads(
    rows: Affine,
    left: FloatArray,
    low: FloatArray | None,
    left_sums: FloatArray,
    instructions: str,
) -> tuple[FloatArray, FloatArray]:
    """Compute :func:`images_of_rows` in two reads of the rows."""
    shape = (rows.shape[1], left.shape[1])
    weights = scratch("row weights", shape, np.float64)
    weights[:] = 0.0
    backward(rows, left, weights, instructions=instructions)
    sums = np.zeros(left.shape[1])
    if low is not None:
        weights -= np.outer(low, left_sums)
        sums = low @ weights
    narrow = weights
    if rows.dtype != np.float64:
        narrow = scratch("row part", shape, rows.dtype)
        narrow[:] = weights
    return forward(rows, narrow, instructions=instructions), sums


def _call(
    kernel: native.Kernel,
    rows: Affine,
    padded_left: FloatArray,
    low: FloatArray | None,
    left_sums: FloatArray,
    product: FloatArray,
    sums: FloatArray,
) -> None:
    w, tile = padded_left.shape[1], TILE // rows.dtype.itemsize
    tiles = scratch("row tiles", (len(padded_left), tile), rows.dtype)
    part = scratch("row part", (tile, w), rows.dtype)
    weights = scratch("row weights", (tile, w), np.float64)
    arrays = native.contiguous(rows.high, rows.divisor, rows.roots, padded_left, low, left_sums)
    kernel(
        *rows.kernel_arguments,
        *map(native.address, arrays),
        w,
        *map(native.address, (tiles, part, weights, product, sums)),
    )
