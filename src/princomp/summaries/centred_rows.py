"""Centred, scaled, weighted rows, dense or sparse, as a matrix to multiply with.

With W the weights, μ the mean and D the scale, the matrix is
``A = W^½ (X − 1μᵀ) D⁻¹``, so that AᵀA is the scatter. It is never formed.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from princomp.linalg import FloatArray
from princomp.summaries.blocks import Block, Weights, is_sparse
from princomp.summaries.dense_rows import DenseRows
from princomp.summaries.sparse_rows import SparseRows

# Rows of up to 2 to this, by bytes of a number, may be squared twice within their precision.
_SAFE_EXPONENT = {4: 20, 8: 200}
# Largest exponent of a divisor: 2 to this, and its inverse, are in the range of the precision.
_LARGEST_EXPONENT = {4: 120, 8: 600}


def safe_exponent(column_scatter: FloatArray, dtype: np.dtype[Any]) -> int:
    """Exponent of the power of two to divide rows by so that their products stay in range.

    Zero where they do anyway. The divisor itself is in the range of the precision.
    """
    largest = float(np.sqrt(column_scatter.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if largest == 0 or abs(exponent) <= _SAFE_EXPONENT[dtype.itemsize]:
        return 0
    most = _LARGEST_EXPONENT[dtype.itemsize]
    return max(-most, min(exponent, most))


class CentredRows(Protocol):
    """The matrix A of shape (n, p), for products from both sides."""

    @staticmethod
    def of(
        data: Block,
        mean: FloatArray,
        mean_low: FloatArray,
        variances: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> CentredRows:
        """The kind for these rows (n, p), with their mean, column variances and scale."""
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
    def coarsest(self) -> np.dtype[Any]:
        """Lowest precision of :meth:`images`, for vectors of the same precision."""

    @property
    def step(self) -> int:
        """Vectors that products multiply at once; fewer take as long."""

    @property
    def rows(self) -> Any:
        """A itself where dense, else the stored rows."""

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
