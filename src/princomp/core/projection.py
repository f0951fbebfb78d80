"""Products of rows with axes: dense rows on threads, sparse rows without making them dense."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from princomp.kernels import project
from princomp.linalg import FloatArray, empty, map_in_order, one_blas_thread
from princomp.summaries import columns_to_centre

# Numbers that a thread multiplies at a time, and numbers in all rows from which threads are used.
_CHUNK_SIZE, _MIN_THREADED_SIZE = 2**20, 2**19


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
    if rows.size < _MIN_THREADED_SIZE:
        multiply(rows, mean, mean_low, right, out)
        return out
    step = max(1, _CHUNK_SIZE // len(right))

    def fill(start: int) -> None:
        stop = start + step
        multiply(rows[start:stop], mean, mean_low, right, out[start:stop])

    with one_blas_thread():
        for _ in map_in_order(fill, range(0, len(rows), step)):
            pass
    return out


def _project_in_float64(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, right: FloatArray, out: FloatArray
) -> None:
    """Write scores of float32 rows, multiplied in float64, to ``out``."""
    product = empty(out.shape)
    project(rows.astype(np.float64), mean, mean_low, right, product)
    with np.errstate(over="ignore"):  # the caller looks for infinite scores
        out[:] = product


def sparse_scores(
    rows: sp.csr_array,
    mean: FloatArray,
    mean_low: FloatArray,
    variances: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Scores (n, k) of sparse rows (n, p); columns with few zeros are made dense and centred."""
    full = columns_to_centre(mean, variances)
    sparse_part, sparse_mean = rows, mean.copy()
    if full.size:
        keep = np.ones(len(mean))
        keep[full] = sparse_mean[full] = 0.0
        sparse_part = rows.copy()
        sparse_part.data = sparse_part.data * keep[sparse_part.indices]
    with np.errstate(all="ignore"):
        out: FloatArray = sparse_part @ right - (sparse_mean @ right).astype(right.dtype)
        if full.size:
            dense = (rows[:, full].toarray() - mean[full]) - mean_low[full]
            out += dense.astype(right.dtype) @ right[full]
    return out
