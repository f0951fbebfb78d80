"""Centring of kernel matrices.

With weights w the centred matrix is √w H K Hᵀ √w, where H subtracts the weighted mean; without
weights HKH.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from princomp.io import RowArray
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


@dataclass(frozen=True, eq=False)
class Centring:
    """Subtracts the mean image in products.

    Parameters
    ----------
    shares : ndarray of shape (n,)
        Shares of the rows in the mean: weights divided by their sum.
    roots : ndarray of shape (n, 1), optional
        Square roots of the weights, unless all are 1.
    heaviest : float
        Largest weight of a row; equal rows count as one.
    """

    shares: FloatArray
    roots: FloatArray | None
    heaviest: float

    @classmethod
    def of(cls, weights: FloatArray | None, n: int, rows: RowArray | None = None) -> Centring:
        """Make the centring of n rows with weights, or with weight 1 each."""
        count = np.ones(n) if weights is None else weights
        heaviest = float(count.max(initial=0.0)) if rows is None else _heaviest(rows, count)
        roots = None if weights is None else np.sqrt(weights)[:, None]
        return cls(count / count.sum(), roots, heaviest)

    @property
    def count(self) -> float:
        """Sum of the weights."""
        return len(self.shares) if self.roots is None else float((self.roots**2).sum())

    @property
    def divisor(self) -> float:
        """Divisor that turns eigenvalues into variances."""
        return max(self.count - 1.0, 1.0)

    @property
    def reach(self) -> float:
        """Bound on the change of an eigenvalue by random errors of size 1 in the entries of K.

        √(Σw max w), or √n without weights. The change is at most twice this (Wigner), times the
        standard deviation of the errors, which is at most half their size. The entries of equal
        rows have equal errors, as if they were one row with the sum of their weights.
        """
        return float(np.sqrt(self.count * self.heaviest))

    def before(self, vectors: FloatArray) -> FloatArray:
        """Prepare vectors (n, m) for the product with K."""
        if self.roots is not None:
            vectors = self.roots * vectors
        return vectors - self.shares[:, None] * vectors.sum(axis=0)

    def after(self, images: FloatArray) -> FloatArray:
        """Turn the product with K into that with the centred matrix, in place."""
        images -= self.shares @ images
        if self.roots is not None:
            images *= self.roots
        return images


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of K and of its centred matrix.

    Parameters
    ----------
    means : ndarray of shape (n,)
        Means of the columns of K − level.
    grand : float
        Mean of all entries of K − level.
    trace : float
        Trace of the centred matrix: Σw − 1 times the total variance.
    largest : float
        Size of the entries of K: the largest absolute value on its diagonal, where positive
        semi-definite matrices have their largest entry, or of a column mean.
    level : float
        Number subtracted from all entries, which does not change the centred matrix. Without it,
        sums of nearly equal entries would all be rounded in one direction, by up to 64 units of
        their size.
    """

    means: FloatArray
    grand: float
    trace: float
    largest: float
    level: float

    @classmethod
    def of(
        cls, centring: Centring, means: FloatArray, diagonal: FloatArray, level: float = 0.0
    ) -> Spread:
        """Compute the sums from the column means of K − level and the diagonal of K."""
        grand = float(centring.shares @ means)
        # Summed as differences: two large traces would cancel.
        squares = (diagonal - level) - 2 * means + grand
        roots = centring.roots
        trace = float(squares.sum() if roots is None else (roots[:, 0] ** 2) @ squares)
        largest = max(float(np.abs(one).max(initial=0.0)) for one in (diagonal, means + level))
        return cls(means, grand, max(trace, 0.0), largest, level)

    @property
    def column_means(self) -> FloatArray:
        """Means of the columns of K (n,)."""
        return self.means + self.level

    @property
    def mean_square(self) -> float:
        """Squared length of the mean image: the mean of all entries of K."""
        return self.grand + self.level


def _heaviest(rows: RowArray, weights: FloatArray) -> float:
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
