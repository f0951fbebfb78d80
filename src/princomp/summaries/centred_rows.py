"""Centred, scaled and weighted rows, dense or sparse, as a matrix for products.

With weights W, mean μ and scale D, the matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``, and AᵀA is the
scatter. Products never form A as a whole.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from princomp.linalg import FloatArray
from princomp.summaries.blocks import Block, Weights, is_sparse
from princomp.summaries.dense_rows import DenseRows
from princomp.summaries.sparse_rows import SparseRows

# Keys are bytes per number. Rows of a norm up to 2 to this power can be squared twice in range.
_SAFE_EXPONENT = {4: 20, 8: 200}
# Largest exponent of a divisor: 2 to this power, and its inverse, are in range.
_LARGEST_EXPONENT = {4: 120, 8: 600}


def safe_exponent(column_scatter: FloatArray, dtype: np.dtype[Any]) -> int:
    """Exponent of the power of two by which to divide rows so that their products stay in range.

    Zero if no division is needed. If weights put the norms of the columns far beyond the range of
    ``dtype``, the divisor is beyond it as well; ``DenseRows.of`` then multiplies in float64.
    """
    largest = float(np.sqrt(column_scatter.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) <= _SAFE_EXPONENT[dtype.itemsize]:
        return 0
    most = _LARGEST_EXPONENT[dtype.itemsize]
    # After division by a number within float32, the norms would still not be safe.
    if abs(exponent) > most + _SAFE_EXPONENT[dtype.itemsize]:
        most = _LARGEST_EXPONENT[8]
    return max(-most, min(exponent, most))


# The matrix A of shape (n, p), for products with A and with Aᵀ.
CentredRows: TypeAlias = DenseRows | SparseRows


def centre_rows(
    data: Block,
    mean: FloatArray,
    mean_low: FloatArray,
    variances: FloatArray,
    divisor: FloatArray | None,
    weights: Weights,
) -> CentredRows:
    """Build the matrix from rows (n, p), their mean, variances and scale."""
    if is_sparse(data):
        return SparseRows.of(data, mean, mean_low, variances, divisor, weights)
    return DenseRows.of(data, mean, mean_low, divisor, weights)
