"""Centred, scaled and weighted rows, dense or sparse, as a matrix for products.

With weights W, mean μ and scale D, the matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``, and AᵀA is the
scatter. Products never form A as a whole.
"""

from __future__ import annotations

from typing import Any, Protocol

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

    Zero if no division is needed. The divisor itself is in the range of ``dtype``.
    """
    largest = float(np.sqrt(column_scatter.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if largest == 0 or abs(exponent) <= _SAFE_EXPONENT[dtype.itemsize]:
        return 0
    most = _LARGEST_EXPONENT[dtype.itemsize]
    return max(-most, min(exponent, most))


class CentredRows(Protocol):
    """The matrix A of shape (n, p), for products with A and with Aᵀ."""

    @staticmethod
    def of(
        data: Block,
        mean: FloatArray,
        mean_low: FloatArray,
        variances: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> CentredRows:
        """Build DenseRows or SparseRows from rows (n, p), their mean, variances and scale."""
        kind: Any = SparseRows if is_sparse(data) else DenseRows
        made: CentredRows = kind.of(data, mean, mean_low, variances, divisor, weights)
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""

    @property
    def lowest_dtype(self) -> np.dtype[Any]:
        """Lowest precision of :meth:`images`, for vectors of the same precision."""

    @property
    def vectors_at_once(self) -> int:
        """Number of vectors that products multiply at once; fewer take as long."""

    @property
    def rows(self) -> Any:
        """A itself if dense, else the stored sparse rows."""

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right, for ``right`` of shape (p, m)."""

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left, for ``left`` of shape (n, m)."""

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m), in float64."""

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64."""

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m), in float64."""

    def row_products(self) -> FloatArray:
        """AAᵀ (n, n), in float64."""
