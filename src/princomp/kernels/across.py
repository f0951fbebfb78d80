"""Products of centred rows with each other, in one read of some of their columns."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, empty
from princomp.kernels import native
from princomp.kernels.dense import Affine
from princomp.kernels.wide import mirror

__all__ = ["row_products"]

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER, _SIZE, _SIZE, _SIZE) + (_POINTER,) * 5
# Bytes of a panel of columns that NumPy multiplies, and of one sum of those.
_PANEL = 2**22


def row_products(
    rows: Affine, low: FloatArray | None = None, *, instructions: str = ""
) -> FloatArray:
    """AAᵀ of shape (n, n), in float64, for A = R ((X − 1 highᵀ) D⁻¹ − 1 lowᵀ).

    Parameters
    ----------
    rows : Affine of shape (n, p)
        X, its ``high``, the diagonal of D and that of R.
    low : ndarray of shape (p,), optional
        In the precision of X.
    instructions : str, optional
        Another instruction set than the one in use; "numpy" for the twin.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric to the bit. Products of a few hundred columns are summed in the precision of X,
        these in float64.
    """
    n, p = rows.shape
    if low is not None and (low.shape != (p,) or low.dtype != rows.dtype):
        raise ValueError("arrays of other shapes or precisions than the rows")
    kernel = rows.kernel(_function, "across", instructions)
    if kernel is None:
        return _twin(rows, low)
    out = empty((n, n))
    arrays = [
        None if one is None else np.ascontiguousarray(one)
        for one in (rows.high, rows.divisor, low, rows.roots)
    ]
    answer = kernel(
        rows.data.ctypes.data,
        n,
        p,
        rows.data.strides[0] // rows.dtype.itemsize,
        *(native.address(one) for one in arrays),
        out.ctypes.data,
    )
    if answer == native.NO_MEMORY:
        raise MemoryError("no memory for a packed chunk of columns")
    return out


@cache
def _function(name: str, instructions: str) -> Any:
    return native.function(name, *_SIGNATURE, instructions=instructions)


def _twin(rows: Affine, low: FloatArray | None) -> FloatArray:
    """The same by NumPy, a panel of columns at a time."""
    n, p = rows.shape
    step = max(1, _PANEL // (max(n, 1) * rows.dtype.itemsize))
    total = np.zeros((n, n))
    for at in range(0, p, step):
        columns = slice(at, at + step)
        panel = rows.part(slice(None), columns).formed()
        if low is not None:
            part = low[columns]
            panel = panel - (part if rows.roots is None else rows.roots[:, None] * part)
        total += panel @ panel.T
    # Not every BLAS kernel sums (i, j) in the order of (j, i).
    mirror(total, threads=1, instructions="numpy")
    return total
