"""What is taken away from a kernel matrix of n rows to centre it, and what it then comes to.

With weights w the centred matrix is √w H K Hᵀ √w, where H takes the weighted mean away; without,
HKH.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.arrays import FloatArray

__all__ = ["Centring", "Spread"]


@dataclass(frozen=True, eq=False)
class Centring:
    """What takes the mean image away from products.

    Parameters
    ----------
    shares : ndarray of shape (n,)
        Of the rows in the mean: weights over their sum.
    roots : ndarray of shape (n, 1), optional
        Of the weights, where rows do not all count once.
    """

    shares: FloatArray
    roots: FloatArray | None

    @classmethod
    def of(cls, weights: FloatArray | None, n: int) -> Centring:
        """Of n rows with these weights, or each with 1."""
        if weights is None:
            return cls(np.full(n, 1.0 / n), None)
        return cls(weights / weights.sum(), np.sqrt(weights)[:, None])

    @property
    def divisor(self) -> float:
        """What eigenvalues are divided by to be variances."""
        count = len(self.shares) if self.roots is None else float((self.roots**2).sum())
        return max(count - 1.0, 1.0)

    @property
    def reach(self) -> float:
        """How far errors of size 1 in the entries of K, at random, move an eigenvalue.

        √n, or √(Σw max w) with weights: twice that at most (Wigner), times the errors' deviation,
        which is half their size or less.
        """
        if self.roots is None:
            return float(np.sqrt(len(self.shares)))
        squares = self.roots**2
        return float(np.sqrt(squares.sum() * squares.max()))

    def before(self, vectors: FloatArray) -> FloatArray:
        """What K is multiplied with, (n, m)."""
        if self.roots is not None:
            vectors = self.roots * vectors
        return vectors - self.shares[:, None] * vectors.sum(axis=0)

    def after(self, images: FloatArray) -> FloatArray:
        """The product with the centred matrix, from that with K, in place."""
        images -= self.shares @ images
        if self.roots is not None:
            images *= self.roots
        return images


@dataclass(frozen=True, eq=False)
class Spread:
    """What is known of K and its centred matrix without their entries.

    Parameters
    ----------
    means : ndarray of shape (n,)
        Of the columns of K.
    grand : float
        Mean of all entries of K: the squared length of the mean image.
    trace : float
        Of the centred matrix: Σw − 1 times the total variance.
    largest : float
        How large entries of K are: the largest size on its diagonal, where that of a positive
        semi-definite matrix is, or of a column's mean.
    """

    means: FloatArray
    grand: float
    trace: float
    largest: float

    @classmethod
    def of(cls, centring: Centring, means: FloatArray, diagonal: FloatArray) -> Spread:
        """From column means of K, and its diagonal."""
        grand = float(centring.shares @ means)
        # Summed as differences: two large traces would cancel.
        squares = diagonal - 2 * means + grand
        roots = centring.roots
        trace = float(squares.sum() if roots is None else (roots[:, 0] ** 2) @ squares)
        largest = max(float(np.abs(one).max(initial=0.0)) for one in (diagonal, means))
        return cls(means, grand, max(trace, 0.0), largest)
