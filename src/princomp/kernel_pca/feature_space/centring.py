"""Centring of kernel matrices.

With weights w the centred matrix is √w H K Hᵀ √w, where H subtracts the weighted mean; without
weights HKH.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from princomp.io import RowArray
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


class Centring:
    """Subtracts the mean image in products.

    Parameters
    ----------
    weights : ndarray of shape (n,), optional
        1 each by default.
    rows : ndarray or CSR array of shape (n, p)

    Attributes
    ----------
    weights : ndarray of shape (n,)
    shares : ndarray of shape (n,)
        Shares of the rows in the mean: weights divided by their sum.
    roots : ndarray of shape (n, 1), optional
        Square roots of the weights, unless all are 1.
    max_weight : float
        Largest weight of a row; equal rows count as one.
    """

    def __init__(self, weights: FloatArray | None, rows: RowArray) -> None:
        self.weights = np.ones(rows.shape[0]) if weights is None else weights
        self.shares = self.weights / self.weights.sum()
        self.roots = None if weights is None else np.sqrt(weights)[:, None]
        self.max_weight = _max_row_weight(rows, self.weights)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return len(self.shares) if self.roots is None else float((self.roots**2).sum())

    @property
    def divisor(self) -> float:
        """Divisor that turns eigenvalues into variances."""
        return max(self.total_weight - 1.0, 1.0)

    @property
    def error_gain(self) -> float:
        """Bound on the change of an eigenvalue by random errors of size 1 in the entries of K.

        √(Σw max w), or √n without weights. The change is at most twice this (Wigner), times the
        standard deviation of the errors, which is at most half their size. The entries of equal
        rows have equal errors, as if they were one row with the sum of their weights.
        """
        return float(np.sqrt(self.total_weight) * np.sqrt(self.max_weight))

    def before_product(self, vectors: FloatArray) -> FloatArray:
        """Prepare vectors (n, m) for the product with K."""
        if self.roots is not None:
            vectors = self.roots * vectors
        return vectors - self.shares[:, None] * vectors.sum(axis=0)

    def after_product(self, images: FloatArray) -> FloatArray:
        """Turn the product with K into that with the centred matrix, in place."""
        images -= self.shares @ images
        if self.roots is not None:
            images *= self.roots
        return images


class MatrixSums:
    """Sums of K and of its centred matrix.

    Parameters
    ----------
    centring : Centring
    column_sums : ndarray of shape (n,)
        Weighted sums of the columns of K − offset.
    diagonal : ndarray of shape (n,)
        Diagonal of K.
    offset : float
        Number subtracted from all entries, which does not change the centred matrix. Without it,
        sums of nearly equal entries would all be rounded in one direction, by up to 64 units of
        their size.

    Attributes
    ----------
    offset_means : ndarray of shape (n,)
        Means of the columns of K − offset.
    grand_mean : float
        Mean of all entries of K − offset.
    trace : float
        Trace of the centred matrix: Σw − 1 times the total variance.
    max_abs : float
        Size of the entries of K: the largest absolute value on its diagonal, where positive
        semi-definite matrices have their largest entry, or of a column mean.
    """

    def __init__(
        self, centring: Centring, column_sums: FloatArray, diagonal: FloatArray, offset: float
    ) -> None:
        self.offset = offset
        self.offset_means = offset_means = column_sums / centring.weights.sum()
        self.grand_mean = float(centring.shares @ offset_means)
        # Summed as differences: two large traces would cancel.
        squares = (diagonal - offset) - 2 * offset_means + self.grand_mean
        roots = centring.roots
        trace = float(squares.sum() if roots is None else (roots[:, 0] ** 2) @ squares)
        self.trace = max(trace, 0.0)
        self.max_abs = max(
            float(np.abs(values).max(initial=0.0)) for values in (diagonal, offset_means + offset)
        )

    @property
    def column_means(self) -> FloatArray:
        """Means of the columns of K (n,)."""
        return self.offset_means + self.offset

    @property
    def mean_square(self) -> float:
        """Squared length of the mean image: the mean of all entries of K."""
        return self.grand_mean + self.offset


def _max_row_weight(rows: RowArray, weights: FloatArray) -> float:
    """Return the largest sum of the weights of equal rows."""
    sums: defaultdict[int, float] = defaultdict(float)
    for i, weight in enumerate(weights.tolist()):
        if is_sparse(rows):
            span = slice(rows.indptr[i], rows.indptr[i + 1])
            key = hash((rows.indices[span].tobytes(), rows.data[span].tobytes()))
        else:
            key = hash(rows[i].tobytes())  # 64 bits: unequal rows hardly ever share it
        sums[key] += weight
    return max(sums.values(), default=0.0)
