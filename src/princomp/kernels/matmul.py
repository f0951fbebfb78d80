"""Rows times a matrix, each row multiplied separately: no row changes the bits of another."""

from __future__ import annotations

import numpy as np

from princomp.kernels import native
from princomp.linalg import CACHE_LINE, FloatArray, aligned


class RightFactor:
    """A matrix (k, n) that multiplies rows, each row separately.

    The bits of a row's product do not depend on other rows. In BLAS they depend on the row's
    position and on the number of rows, in ways that differ between processors.

    Parameters
    ----------
    matrix : ndarray of shape (k, n)
        float32 or float64.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self._kernel = native.function(f"matmul_f{8 * matrix.itemsize}")
        self._factor = _packed(matrix) if self._kernel else np.ascontiguousarray(matrix)

    def times(self, rows: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Compute ``rows @ matrix`` (m, n), in ``out`` if given.

        Parameters
        ----------
        rows : ndarray of shape (m, k)
            In the precision of the matrix, any strides.
        out : ndarray of shape (m, n), optional
            In the precision of the matrix, with contiguous rows.
        """
        (m, k), n, size = rows.shape, self.shape[1], self.dtype.itemsize
        out = np.empty((m, n), self.dtype) if out is None else out
        if k != self.shape[0] or out.shape != (m, n) or {rows.dtype, out.dtype} != {self.dtype}:
            raise ValueError("arrays of other shapes or precisions than the matrix")
        if not out.size:
            return out
        rows = native.as_kernel_rows(rows)
        if not native.is_kernel_ready(out):
            raise ValueError("the rows of the product are not contiguous")
        if self._kernel is None:
            # One product per row, so that the rows cannot affect each other.
            np.matmul(rows[:, None, :], self._factor, out=out[:, None, :])
            return out
        steps = rows.strides[0] // size, out.strides[0] // size
        self._kernel(rows, m, k, steps[0], self._factor, n, out, steps[1])
        return out


def _packed(matrix: FloatArray) -> FloatArray:
    """Return panels (k, 64 bytes) of columns, one after the other; zeros pad the last."""
    k, n = matrix.shape
    lanes = CACHE_LINE // matrix.itemsize
    whole = n // lanes * lanes
    panels = aligned((-(-n // lanes), k, lanes), matrix.dtype)
    panels[: n // lanes] = matrix[:, :whole].reshape(k, n // lanes, lanes).swapaxes(0, 1)
    if whole < n:
        panels[-1] = 0.0
        panels[-1, :, : n - whole] = matrix[:, whole:]
    return panels
