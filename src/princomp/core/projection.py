"""Products of rows with axes: dense rows on threads, sparse rows without making them dense."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from princomp.kernels import project
from princomp.linalg import FloatArray, empty, in_order, one_blas_thread
from princomp.summaries import full_columns

# Numbers that a thread multiplies at a time, and numbers in all rows from which threads are used.
_PIECE_NUMBERS, _THREADS_PAY = 2**20, 2**19


def dense_scores(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, right: FloatArray
) -> FloatArray:
    """Scores (n, k) of rows (n, p), in the precision of the rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    mean, mean_low : ndarray of shape (p,)
        The mean in two parts.
    right : ndarray of shape (p, k)
        Axes, in float64 if they overflow float32.
    """
    out = empty((len(rows), right.shape[1]), dtype=rows.dtype)
    multiply = project if right.dtype == rows.dtype else _project_in_float64
    if rows.size < _THREADS_PAY:
        multiply(rows, mean, mean_low, right, out)
        return out
    step = max(1, _PIECE_NUMBERS // len(right))

    def fill(start: int) -> None:
        stop = start + step
        multiply(rows[start:stop], mean, mean_low, right, out[start:stop])

    with one_blas_thread():
        for _ in in_order(fill, range(0, len(rows), step)):
            pass
    return out


def _project_in_float64(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, right: FloatArray, out: FloatArray
) -> None:
    """Write scores of float32 rows, multiplied in float64, to ``out``."""
    found = empty(out.shape)
    project(rows.astype(np.float64), mean, mean_low, right, found)
    with np.errstate(over="ignore"):  # the caller looks for infinite scores
        out[:] = found


def sparse_scores(
    rows: sp.csr_array,
    mean: FloatArray,
    mean_low: FloatArray,
    variances: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Scores (n, k) of sparse rows (n, p); columns with few zeros are made dense and centred."""
    full = full_columns(mean, variances)
    light, light_mean = rows, mean.copy()
    if full.size:
        kept = np.ones(len(mean))
        kept[full] = light_mean[full] = 0.0
        light = rows.copy()
        light.data = light.data * kept[light.indices]
    with np.errstate(all="ignore"):
        out: FloatArray = light @ right - (light_mean @ right).astype(right.dtype)
        if full.size:
            dense = (rows[:, full].toarray() - mean[full]) - mean_low[full]
            out += dense.astype(right.dtype) @ right[full]
    return out
