"""Pre-images from distances: the point whose distances to its neighbours match those of its image.

J. Kwok, I. Tsang, "The pre-image problem in kernel methods" (IEEE Transactions on Neural Networks
15, 2004): where the kernel can be inverted, distances in the feature space give distances between
rows, and these give the point, by least squares in the affine span of its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princomp.kernel_pca.pre_images.pre_image import Nearest
from princomp.linalg import EPS, FloatArray

# Squared distances are rounded by about ε (‖x‖² + 1/γ): directions in which neighbours spread less
# than this share of √(‖x‖² + 1/γ) are ignored.
_FLAT_SHARE = EPS**0.5


@dataclass(frozen=True, eq=False)
class Distances(Nearest):
    """Pre-images of "rbf" and of "poly" with an odd degree.

    A pre-image lies in the affine span of the ``n_neighbors`` nearest points.
    """

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) from scores (n, k), in their precision.

        A projection can be farther from the image of a point than any image is. Its kernel value
        is then replaced by the smallest one that can be inverted.
        """
        return self.map_blocks(scores, self._pre_images)[0]

    def _pre_images(self, scores: FloatArray) -> tuple[FloatArray, int]:
        """Compute rows relative to the shift."""
        indices, squares = self.find(scores)
        distances, neighbours = self._row_distances(scores, indices, squares), self.points[indices]
        assert self.expansion.function.gamma is not None
        sizes = np.einsum("nqp,nqp->nq", neighbours, neighbours).max(axis=1)
        min_spreads = _FLAT_SHARE * np.sqrt(sizes + 1.0 / self.expansion.function.gamma)
        return _trilaterate(neighbours, distances, min_spreads), 0

    def _row_distances(
        self, scores: FloatArray, indices: NDArray[np.intp], squares: FloatArray
    ) -> FloatArray:
        """Compute squared distances (n, q) between rows from those in the feature space."""
        function, gamma = self.expansion.function, self.expansion.function.gamma
        assert gamma is not None
        if function.name == "rbf":
            similarities = np.clip(1.0 - squares / 2, EPS, 1.0)
            return -np.log(similarities) / gamma

        def invert_kernel(values: FloatArray) -> FloatArray:
            """Invert the kernel: inner products of rows from kernel values."""
            roots = np.sign(values) * np.abs(values) ** (1.0 / function.degree)
            return (roots - function.coef0) / gamma

        # Kernel values are those of images that are not centred: add the mean image back.
        mean_scores = self.expansion.centre @ self.expansion.weights
        projection_squares = self.expansion.mean_square + 2 * scores @ mean_scores
        projection_squares = projection_squares + np.einsum("ij,ij->i", scores, scores)
        point_squares = np.einsum("ij,ij->i", self.points, self.points)[indices]
        image_squares = (gamma * point_squares + function.coef0) ** function.degree
        cross = (projection_squares[:, None] + image_squares - squares) / 2
        return invert_kernel(projection_squares)[:, None] + point_squares - 2 * invert_kernel(cross)


def _trilaterate(
    neighbours: FloatArray, squares: FloatArray, min_spreads: FloatArray
) -> FloatArray:
    """Find points (n, p) at squared distances (n, q) from neighbours (n, q, p), or nearly so.

    Directions in which neighbours spread by at most ``min_spreads`` (n,) are ignored. No point is
    farther from the mean of its neighbours than the largest distance, as is true of every point.
    """
    mean = neighbours.mean(axis=1)
    centred = neighbours - mean[:, None]
    left, singular_values, right = np.linalg.svd(centred, full_matrices=False)
    centred_squares = np.einsum("nqp,nqp->nq", centred, centred)
    flat = singular_values <= min_spreads[:, None]
    half_inverses = np.where(flat, 0.0, 0.5 / np.where(flat, 1.0, singular_values))
    coordinates = np.einsum("nqr,nq->nr", left, centred_squares - squares) * half_inverses
    lengths, longest = np.linalg.norm(coordinates, axis=1), np.sqrt(squares.max(axis=1).clip(0.0))
    coordinates *= np.minimum(1.0, longest / np.where(lengths > 0, lengths, 1.0))[:, None]
    return mean + np.einsum("nr,nrp->np", coordinates, right)
