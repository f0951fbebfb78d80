"""Sums and products of a block of CSR rows, nothing made dense but full columns and p × p."""

from __future__ import annotations

import numpy as np

from princomp.kernels import csr, entries_of, misled, products, shift_of
from princomp.linalg import FloatArray, column_sums
from princomp.summaries.blocks import CSR, Weights

# A column can hide its spread under its mean where the rows that store a value have more than
# this share of the weight: it is shifted like a dense one. Below it, the mean's share of the raw
# sum of squares is at most one half.
_FULL_COLUMN = 0.5


@np.errstate(over="ignore", invalid="ignore")  # shows in the sums
def sparse_sums(
    block: CSR, weights: Weights, *, instructions: str = ""
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Raw sums of shifted rows.

    Parameters
    ----------
    block : CSR array of shape (m, p)
        float32 or float64.
    weights : ndarray of shape (m,), optional
        Above zero.
    instructions : str, optional
        Of the kernels, another set than the one in use.

    Returns
    -------
    rows : float
        Sum of the weights.
    shift : ndarray of shape (p,)
        Near the mean in columns that store a value for most of the weight, zero in the others.
    sums : ndarray of shape (p,)
        Σ w (x − shift); not finite where a value is not.
    scatter : ndarray of shape (p, p)
        Σ w (x − shift)(x − shift)ᵀ.

    Raises
    ------
    DataError
        An index that is no column, or rows that do not follow one another.
    """
    if not block.has_canonical_format:
        block = block.copy()  # what a person handed over stays as it is
        block.sum_duplicates()
    entries = entries_of(block)
    m, p = entries.shape
    rows = float(m) if weights is None else float(weights.sum())
    scatter, sums = csr.scatter(entries, weights, instructions=instructions)
    shift = np.zeros(p)
    each = None if weights is None else np.repeat(weights, np.diff(entries.ends))
    stored = np.bincount(entries.columns, weights=each, minlength=p)
    full = np.flatnonzero(stored > _FULL_COLUMN * rows)
    if full.size:
        dense = block[:, full].toarray().astype(np.float64, copy=False)
        near = shift_of(dense, weights)
        for again in (False, True):
            moved = dense - near
            rooted = moved if weights is None else moved * np.sqrt(weights)[:, None]
            sums[full] = column_sums(moved) if weights is None else weights @ moved
            squares = products(rooted)
            if again or not misled(sums[full], squares.diagonal(), rows):
                break
            near = near + sums[full] / rows
        shift[full] = near
        # Against the full columns the others stay unshifted: their own shift is zero.
        cross, _ = csr.backward(entries, moved, factor=weights, instructions=instructions)
        scatter[:, full] = cross
        scatter[full, :] = cross.T
        scatter[np.ix_(full, full)] = squares
    return rows, shift, sums, scatter
