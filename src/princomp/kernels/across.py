"""Inner products between centred rows, in one read of the rows."""

from __future__ import annotations

import numpy as np

from princomp.kernels import native
from princomp.kernels.dense import Affine
from princomp.kernels.wide import mirror
from princomp.linalg import FloatArray, empty, slices

# Bytes of each panel of columns that NumPy multiplies.
_PANEL = 2**22


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
        return _twin(rows, low)
    out = empty((n, n))
    arrays = native.contiguous(rows.high, rows.divisor, low, rows.roots)
    if kernel(*rows.kernel_arguments, *arrays, out) == native.NO_MEMORY:
        raise MemoryError("no memory for a packed chunk of columns")
    return out


def _twin(rows: Affine, low: FloatArray | None) -> FloatArray:
    """NumPy implementation, a panel of columns at a time."""
    n, p = rows.shape
    step = max(1, _PANEL // (max(n, 1) * rows.dtype.itemsize))
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
