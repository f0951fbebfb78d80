"""Rows times a matrix, where no row may change the bits of another."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from princomp.arrays import LINE, FloatArray, aligned
from princomp.kernels import native

__all__ = ["RightFactor"]

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER, _SIZE, _SIZE, _SIZE, _POINTER, _SIZE, _POINTER, _SIZE)


class RightFactor:
    """A matrix (k, n) that rows are multiplied with, each row by itself.

    A row's product has the same bits in any company. With BLAS they depend on the row's position
    and on the number of rows, by an amount that the processor decides.

    Parameters
    ----------
    matrix : ndarray of shape (k, n)
        float32 or float64.
    instructions : str, optional
        Another instruction set than the one in use; "numpy" for the twin.
    """

    def __init__(self, matrix: FloatArray, *, instructions: str = "") -> None:
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self._kernel = _function(f"matmul_f{8 * matrix.itemsize}", instructions)
        self._factor = _packed(matrix) if self._kernel else np.ascontiguousarray(matrix)

    def times(self, rows: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """``rows @ matrix`` (m, n), in ``out`` where it is given.

        Parameters
        ----------
        rows : ndarray of shape (m, k)
            Of the matrix's precision, any strides.
        out : ndarray of shape (m, n), optional
            Of the same precision, the numbers of each row side by side.
        """
        (m, k), n, size = rows.shape, self.shape[1], self.dtype.itemsize
        out = np.empty((m, n), self.dtype) if out is None else out
        if k != self.shape[0] or out.shape != (m, n) or {rows.dtype, out.dtype} != {self.dtype}:
            raise ValueError("arrays of other shapes or precisions than the matrix")
        if not out.size:
            return out
        rows = native.plain_rows(rows)
        if native.plain_rows(out) is not out:
            raise ValueError("the numbers of a row of the product are not side by side")
        if self._kernel is None:
            # A product for each row: of one row with a matrix there is no other position.
            np.matmul(rows[:, None, :], self._factor, out=out[:, None, :])
            return out
        self._kernel(
            *(native.address(rows), m, k, rows.strides[0] // size),
            *(native.address(self._factor), n, native.address(out), out.strides[0] // size),
        )
        return out


@cache
def _function(name: str, instructions: str) -> Any:
    return native.function(name, *_SIGNATURE, instructions=instructions)


def _packed(matrix: FloatArray) -> FloatArray:
    """Panels (k, 64 bytes) of columns, one after the other, the last filled with zeros."""
    k, n = matrix.shape
    lanes = LINE // matrix.itemsize
    whole = n // lanes * lanes
    panels = aligned((-(-n // lanes), k, lanes), matrix.dtype)
    panels[: n // lanes] = matrix[:, :whole].reshape(k, n // lanes, lanes).swapaxes(0, 1)
    if whole < n:
        panels[-1] = 0.0
        panels[-1, :, : n - whole] = matrix[:, whole:]
    return panels
