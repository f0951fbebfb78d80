"""Column sums and sums of squares about a shift, in one read of the rows."""

from __future__ import annotations

import numpy as np

from princomp import linalg
from princomp.kernels import native
from princomp.kernels.entries import Entries
from princomp.linalg import FloatArray, Weights, column_sums, part_of, scratch, slices

# Rows that NumPy takes at a time: a megabyte of float32 stays in the cache while it is shifted,
# summed and squared. The sums of groups of _GROUP rows are added by compensated summation: equal
# rows all round in the same direction, so the error of a plain sum grows with their number.
_ROWS, _GROUP = 64, 256


def sums_about(
    shift: FloatArray, block: FloatArray, weights: Weights = None
) -> tuple[FloatArray, FloatArray]:
    """Compute Σ w (x − shift) and Σ w (x − shift)² of each column, in float64.

    Parameters
    ----------
    shift : ndarray of shape (p,)
    block : ndarray of shape (m, p)
        x: float32 or float64, any strides.
    weights : ndarray of shape (m,), optional
        w; ones by default.
    """
    m, p = block.shape
    offset, weights = native.as_kernel_vector(shift, p), native.as_kernel_vector(weights, m)
    ready = native.is_kernel_ready(block)
    kernel = native.function(f"columns_f{8 * block.itemsize}") if ready else None
    if kernel is None:
        sums, squares = linalg.compensated_sum(
            _group_twin(shift, block[some], part_of(weights, some))
            for some in slices(max(m, 1), _GROUP)
        )
        return sums, squares
    sums, squares = np.zeros(p), np.zeros(p)
    kernel(block, m, p, block.strides[0] // block.itemsize, offset, weights, sums, squares)
    return sums, squares


def stored_sums_about(
    shift: FloatArray | None, rows: Entries, weights: Weights = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute the count, Σ w, Σ w (x − shift) and Σ w (x − shift)² of each column's entries.

    Parameters
    ----------
    shift : ndarray of shape (p,), optional
        Zero by default.
    rows : Entries of shape (m, p)
        x.
    weights : ndarray of shape (m,), optional
        w; ones by default.
    """
    m, p = rows.shape
    shift, weights = native.as_kernel_vector(shift, p), native.as_kernel_vector(weights, m)
    kernel = native.function(f"csr_columns_{rows.kind}")
    if kernel is None:
        sums = linalg.compensated_sum(
            _stored_twin(shift, rows.rows(some), part_of(weights, some))
            for some in slices(max(m, 1), _GROUP)
        )
    else:
        sums = np.zeros((p, 4))
        kernel(rows.values, rows.columns, rows.ends, m, p, shift, weights, sums)
    return sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3]


def _stored_twin(shift: FloatArray | None, rows: Entries, weights: Weights) -> FloatArray:
    """NumPy implementation of :func:`stored_sums_about` for some rows, as an array (p, 4)."""
    m, p = rows.shape
    stored = slice(int(rows.ends[0]), int(rows.ends[-1]))
    at, values = rows.columns[stored], rows.values[stored].astype(np.float64)
    shifted = values if shift is None else values - shift[at]
    share = np.repeat(np.ones(m) if weights is None else weights, np.diff(rows.ends))

    def summed(numbers: FloatArray | None) -> FloatArray:
        # Without any entries, bincount returns integers.
        return np.bincount(at, numbers, minlength=p).astype(np.float64, copy=False)

    sums = (summed(None), summed(share), summed(share * shifted), summed(share * shifted * shifted))
    return np.stack(sums, axis=1)


def _group_twin(shift: FloatArray, block: FloatArray, weights: Weights) -> FloatArray:
    """NumPy implementation of :func:`sums_about` for a group of rows, as an array (2, p)."""
    summed = np.zeros((2, len(shift)))
    for some in slices(len(block), _ROWS):
        part = block[some]
        shifted = np.subtract(
            part, shift, out=scratch("moved", part.shape, np.float64), dtype=np.float64
        )
        if weights is None:
            summed[0] += column_sums(shifted)
            summed[1] += np.einsum("ij,ij->j", shifted, shifted)
        else:
            summed[0] += weights[some] @ shifted
            summed[1] += np.einsum("i,ij,ij->j", weights[some], shifted, shifted)
    return summed
