"""Mean and scatter of one block of rows, dense or sparse."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from princomp.kernels import csr, entries_of, gram, is_shift_far, native, products, shift_of
from princomp.linalg import EPS, FloatArray, add_outer, column_sums, restore_underflowed, two_sum
from princomp.summaries.blocks import CSR, Weights, check_finite, first_not_finite, squares_overflow

# Sparse blocks with at least this density are converted to dense ones. At a density of 0.2, blocks
# of 300, 1,000 and 2,000 float64 columns take 6, 30 and 119 ms as sparse and 8, 53 and 179 ms as
# dense; in float32 both take equally long.
_DENSE_FROM = 0.2
# If the rows that store a value in a column have more than this share of the weight, the mean may
# be so large that the spread is lost to cancellation: the column is shifted like a dense one. Below
# this share, the mean contributes at most half of the raw sum of squares.
_FULL_COLUMN = 0.5


# The fields rows, count, mean, mean_low, scatter and unit of :class:`~princomp.summaries.Moments`.
Parts: TypeAlias = tuple[float, int, FloatArray, FloatArray, FloatArray, float]


def is_very_sparse(block: CSR) -> bool:
    """Whether a block stores so few values that sparse sums are faster."""
    return bool(block.nnz < _DENSE_FROM * block.shape[0] * block.shape[1])


def moments_of_dense(block: FloatArray, weights: Weights, precise: bool) -> Parts:
    """Multiply shifted rows in their own precision, and sum the products in float64."""
    status, mean, low, scatter = gram.moments(block, weights, precise=precise)
    if status != native.DONE:
        check_in_range(block, precise, mean, scatter.diagonal())
        return moments_of_dense(block, weights, True)
    rows = float(block.shape[0]) if weights is None else float(weights.sum())
    return rows, block.shape[0], mean, low, scatter, products_unit(block.dtype, precise)


@np.errstate(over="ignore", invalid="ignore")
def moments_of_sparse(block: CSR, weights: Weights) -> Parts:
    """Sum about a shift first, then move to the mean."""
    rows, shift, sums, scatter = sparse_sums(block, weights)
    np.fill_diagonal(scatter, restore_underflowed(scatter.diagonal(), sums))
    offset = sums / rows
    add_outer(scatter, -rows, offset)
    mean, low = two_sum(shift, offset)
    # Any NaN or infinity in the block makes the diagonal not finite.
    if not math.isfinite(np.add.reduce(scatter.diagonal())):
        check_finite(sums, block)
        raise squares_overflow(sums, scatter.diagonal())
    return rows, block.shape[0], mean, low, scatter, EPS


def products_unit(dtype: np.dtype[Any], precise: bool) -> float:
    """Unit roundoff of the products of values of this dtype, in float64 if ``precise``."""
    return EPS if precise or dtype.itemsize == 8 else float(np.finfo(np.float32).eps)


def check_in_range(block: FloatArray, precise: bool, sums: FloatArray, squares: FloatArray) -> None:
    """Check that a block whose products left their range can be multiplied in float64 instead.

    Raises
    ------
    NotFiniteError
        If it cannot: a value is not finite, or the products were in float64 already.
    """
    if not np.isfinite(block).all():
        raise first_not_finite(block)
    if precise or block.dtype.char == "d":
        raise squares_overflow(sums, squares)


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
