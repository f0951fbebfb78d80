"""Scores of dense rows on the axes: rows are centred and multiplied in one read."""

from __future__ import annotations

import numpy as np

from princomp.kernels import native
from princomp.kernels.dense import padded
from princomp.kernels.signatures import SIZES
from princomp.linalg import CACHE_LINE, FloatArray, aligned, scratch, slices

# Larger axes than this, about half of a core's L2 cache, are multiplied by BLAS.
_AXES_BYTES = 2**19
# For fewer numbers, calling the kernel takes longer than NumPy's arithmetic.
_FEW_NUMBERS = 2**12
# How many numbers (rows times columns) NumPy centres at a time.
_PIECE_NUMBERS = 2**17


def project(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, axes: FloatArray, out: FloatArray
) -> None:
    """Compute ``((rows − mean) − mean_low) @ axes`` into ``out``, each row separately.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
        float32 or float64, any strides.
    mean, mean_low : ndarray of shape (p,)
    axes : ndarray of shape (p, k)
    out : ndarray of shape (m, k)
        In C order. All arrays must have the precision of the rows.
    """
    if rows.size < _FEW_NUMBERS:
        _project_piece(rows, mean, mean_low, axes, out)
        return
    (m, p), k, size = rows.shape, axes.shape[1], rows.itemsize
    kernel = native.function(f"scores_f{8 * size}")
    width = -(-k * size // CACHE_LINE) * CACHE_LINE // size
    if kernel is None or p * width * size > _AXES_BYTES or not k:
        project_twin(rows, mean, mean_low, axes, out)
        return
    rows = native.as_kernel_rows(rows)
    padded_axes = padded(axes, rows.dtype)
    shape = (SIZES["score_rows"], max(p, SIZES["score_row_bytes"] // size))
    buffer = aligned(shape, rows.dtype)
    mean, mean_low = np.ascontiguousarray(mean), np.ascontiguousarray(mean_low)
    if (
        any(array.dtype != rows.dtype for array in (mean, mean_low, out))
        or not (len(mean) == len(mean_low) == len(axes) == p)
        or out.shape != (m, k)
        or not out.flags.c_contiguous
    ):
        raise ValueError("arrays of other shapes or precisions than the rows")
    step = rows.strides[0] // size
    kernel(rows, m, p, step, mean, mean_low, padded_axes, k, width, buffer, out)


def project_twin(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, axes: FloatArray, out: FloatArray
) -> None:
    """NumPy implementation of :func:`project`, with as many rows at a time as fit in a cache."""
    step = max(1, _PIECE_NUMBERS // max(rows.shape[1], 1))
    for some in slices(len(rows), step):
        _project_piece(rows[some], mean, mean_low, axes, out[some])


@np.errstate(all="ignore")  # infinite input is reported by the caller
def _project_piece(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, axes: FloatArray, out: FloatArray
) -> None:
    if rows.size < _FEW_NUMBERS:
        centred = rows - mean
    else:
        centred = scratch("centred", rows.shape, rows.dtype)
        np.subtract(rows, mean, out=centred)
    centred -= mean_low
    centred.dot(axes, out)  # for one row, ``np.matmul`` takes twice as long
