"""Pre-images by distances: a point as far from its neighbours as its image is from theirs.

J. Kwok, I. Tsang, "The pre-image problem in kernel methods" (IEEE Transactions on Neural Networks
15, 2004): distances in feature space give distances between rows where the kernel can be
inverted, and these give the point, by least squares within the span of its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import EPS, FloatArray, empty, one_blas_thread
from princomp.feature_space import Expansion
from princomp.pre_images.given import checked_scores
from princomp.pre_images.nearest import Nearest
from princomp.threads import in_order

__all__ = ["Distances"]

# Directions in which neighbours spread less than this share of their largest are none.
_FLAT = EPS**0.5


@dataclass(frozen=True, eq=False)
class Distances:
    """Pre-images of "rbf" and of "poly" with an odd degree.

    Parameters
    ----------
    expansion : Expansion
        With dense points.
    n_neighbors : int
        Points that a pre-image is made of; it lies in their affine span.
    known : tuple of ndarray, optional
        What :class:`Nearest` takes.
    """

    expansion: Expansion
    n_neighbors: int = 10
    known: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def nearest(self) -> Nearest:
        """Distances in feature space."""
        return Nearest(self.expansion, self.known)

    def rows(self, scores: FloatArray) -> FloatArray:
        """Rows (n, p) of scores (n, k), in their precision.

        An image that is further from a point's than orthogonal ones are, as no row's is, counts
        as hardly similar to it at all: where the kernel cannot be inverted, its smallest number
        above nothing is.
        """
        scores = checked_scores(scores, self.expansion.k)
        nearest = self.nearest
        points, step = nearest.points, nearest.step()
        nearest.beyond  # noqa: B018  (made once, before threads ask for it)
        out = empty((len(scores), points.shape[1]), dtype=scores.dtype)
        shift = self.expansion.function.shift

        def fill(start: int) -> None:
            part = scores[start : start + step].astype(np.float64)
            found, squares = nearest.of(part, self.n_neighbors)
            made = _placed(points[found], self._between(part, found, squares))
            out[start : start + step] = made if shift is None else made + shift

        with one_blas_thread():
            for _ in in_order(fill, range(0, len(scores), step)):
                pass
        return out

    def _between(
        self, scores: FloatArray, found: NDArray[np.intp], squares: FloatArray
    ) -> FloatArray:
        """Squared distances (n, q) between rows, from those in feature space."""
        function, gamma = self.expansion.function, self.expansion.function.gamma
        assert gamma is not None
        if function.name == "rbf":
            alike = np.clip(1.0 - squares / 2, EPS, 1.0)
            away: FloatArray = -np.log(alike) / gamma
            return away

        def product(values: FloatArray) -> FloatArray:
            """Inner product of rows whose kernel has these values."""
            roots = np.sign(values) * np.abs(values) ** (1.0 / function.degree)
            inner: FloatArray = (roots - function.coef0) / gamma
            return inner

        # Inner products with the mean image come back: the kernel is not a centred one.
        mean_scores = self.expansion.centre @ self.expansion.weights
        own = self.expansion.mean_square + 2 * scores @ mean_scores
        own = own + np.einsum("ij,ij->i", scores, scores)
        theirs = np.einsum("ij,ij->i", self.nearest.points, self.nearest.points)[found]
        images = (gamma * theirs + function.coef0) ** function.degree
        cross = (own[:, None] + images - squares) / 2
        return product(own)[:, None] + theirs - 2 * product(cross)


def _placed(neighbours: FloatArray, squares: FloatArray) -> FloatArray:
    """Points (n, p) at squared distances (n, q) from neighbours (n, q, p), or nearly so."""
    mean = neighbours.mean(axis=1)
    centred = neighbours - mean[:, None]
    left, spread, right = np.linalg.svd(centred, full_matrices=False)
    own = np.einsum("nqp,nqp->nq", centred, centred)
    flat = spread <= _FLAT * spread[:, :1]
    over = np.where(flat, 0.0, 0.5 / np.where(flat, 1.0, spread))
    along = np.einsum("nqr,nq->nr", left, own - squares) * over
    return mean + np.einsum("nr,nrp->np", along, right)
