"""Mean and scatter of one block of rows, dense or sparse."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from princomp.kernels import gram, native
from princomp.linalg import EPS, FloatArray, add_outer, restore_underflowed, two_sum
from princomp.summaries.blocks import (
    CSR,
    Block,
    Weights,
    check_finite,
    first_not_finite,
    is_sparse,
    squares_overflow,
)
from princomp.summaries.sparse_moments import sparse_sums

# Sparse blocks with at least this density are converted to dense ones. At a density of 0.2, blocks
# of 300, 1,000 and 2,000 float64 columns take 6, 30 and 119 ms as sparse and 8, 53 and 179 ms as
# dense; in float32 both take equally long.
_DENSE_FROM = 0.2


# The fields rows, count, mean, mean_low, scatter and unit of :class:`~princomp.summaries.Moments`.
Parts: TypeAlias = tuple[float, int, FloatArray, FloatArray, FloatArray, float]


def moments_of(block: Block, weights: Weights, precise: bool) -> Parts:
    """Compute the moments of at least one row: about a shift first, then about the mean."""
    if is_very_sparse(block):
        return _of_sparse(block, weights)
    return _of_dense(block.toarray() if is_sparse(block) else block, weights, precise)


def is_very_sparse(block: Block) -> bool:
    """Whether a block is sparse and stores so few values that sparse sums are faster."""
    return is_sparse(block) and bool(block.nnz < _DENSE_FROM * block.shape[0] * block.shape[1])


def _of_dense(block: FloatArray, weights: Weights, precise: bool) -> Parts:
    """Multiply shifted rows in their own precision, and sum the products in float64."""
    status, mean, low, scatter = gram.moments(block, weights, precise=precise)
    if status != native.DONE:
        check_in_range(block, precise, mean, scatter.diagonal())
        return _of_dense(block, weights, True)
    rows = float(block.shape[0]) if weights is None else float(weights.sum())
    return rows, block.shape[0], mean, low, scatter, products_unit(block, precise)


@np.errstate(over="ignore", invalid="ignore")
def _of_sparse(block: CSR, weights: Weights) -> Parts:
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


def products_unit(block: FloatArray, precise: bool) -> float:
    """Unit roundoff of the products of a block's values."""
    return EPS if precise or block.dtype.char == "d" else float(np.finfo(np.float32).eps)


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
