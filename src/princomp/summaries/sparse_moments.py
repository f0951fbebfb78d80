"""Sums and products of a block of CSR rows; only full columns and the scatter are dense."""

from __future__ import annotations

import numpy as np

from princomp.kernels import csr, entries_of, is_shift_far, products, shift_of
from princomp.linalg import FloatArray, column_sums
from princomp.summaries.blocks import CSR, Weights

# If the rows that store a value in a column have more than this share of the weight, the mean may
# be so large that the spread is lost to cancellation: the column is shifted like a dense one. Below
# this share, the mean contributes at most half of the raw sum of squares.
_FULL_COLUMN = 0.5


@np.errstate(over="ignore", invalid="ignore")  # the sums show overflow and NaN
def sparse_sums(block: CSR, weights: Weights) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Compute sums and sums of products of rows about a shift.

    Parameters
    ----------
    block : CSR array of shape (m, p)
        float32 or float64.
    weights : ndarray of shape (m,), optional
        Positive weights.

    Returns
    -------
    rows : float
        Sum of the weights.
    shift : ndarray of shape (p,)
        Near the mean in full columns, which store a value for most of the weight; zero in others.
    sums : ndarray of shape (p,)
        Σ w (x − shift); not finite where a value is not finite.
    scatter : ndarray of shape (p, p)
        Σ w (x − shift)(x − shift)ᵀ.

    Raises
    ------
    DataError
        If an index is not a valid column, or the row ends (``indptr``) do not ascend.
    """
    if not block.has_canonical_format:
        block = block.copy()  # do not change the user's array
        block.sum_duplicates()
    entries = entries_of(block)
    m, p = entries.shape
    rows = float(m) if weights is None else float(weights.sum())
    scatter, sums = csr.scatter(entries, weights)
    shift = np.zeros(p)
    entry_weights = None if weights is None else np.repeat(weights, np.diff(entries.ends))
    stored = np.bincount(entries.columns, weights=entry_weights, minlength=p)
    full = np.flatnonzero(stored > _FULL_COLUMN * rows)
    if full.size:
        dense = block[:, full].toarray().astype(np.float64, copy=False)
        near = shift_of(dense, weights)
        for again in (False, True):
            shifted = dense - near
            rooted = shifted if weights is None else shifted * np.sqrt(weights)[:, None]
            sums[full] = column_sums(shifted) if weights is None else weights @ shifted
            squares = products(rooted)
            if again or not is_shift_far(sums[full], squares.diagonal(), rows):
                break
            near = near + sums[full] / rows
        shift[full] = near
        # In products with full columns, the other columns are not shifted: their shift is zero.
        cross, _ = csr.backward(entries, shifted, factor=weights)
        scatter[:, full] = cross
        scatter[full, :] = cross.T
        scatter[np.ix_(full, full)] = squares
    return rows, shift, sums, scatter
