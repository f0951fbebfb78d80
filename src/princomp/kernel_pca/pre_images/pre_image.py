"""What pre-image methods share: their protocol, and the points nearest to projections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from princomp.errors import DataError
from princomp.io import RowArray
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.linalg import (
    FloatArray,
    cached_property,
    empty,
    map_in_order,
    one_blas_thread,
    stored_fields,
)
from princomp.summaries import is_sparse

# Numbers in a block of rows by points (4 MB; a few are in memory at a time), and maximum of rows.
_BLOCK_SIZE, _MAX_BLOCK_ROWS = 2**19, 256


class PreImages(Protocol):
    """A map from scores back to rows, fitted to one kernel PCA.

    Laws
    ----
    - Scores are finite, of float32 or float64: ``inverse_transform`` checks them.
    - The result of ``rows`` has the precision of the scores and the units of the data.
    - A row of the result depends on the scores of that row only.
    """

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) whose images lie near the projections with scores (n, k)."""


def dense_points(points: RowArray) -> FloatArray:
    """Return points as an array.

    Raises
    ------
    DataError
        For sparse points: their pre-images would be dense.
    """
    if is_sparse(points):
        raise DataError(
            f"pre-images need dense rows, and these {points.shape[0]:,} are sparse",
            place={"parameter": "pre_image"},
            hint="fit to X.toarray(), or without pre-images",
        )
    return np.asarray(points)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Distances in the feature space from projections P, given by scores, to images of points.

    By Pythagoras ‖P − φ(xᵢ)‖² = ‖t − tᵢ‖² + rᵢ, with t the scores of P, tᵢ those of the point
    and rᵢ the squared length of its image beyond the axes: no kernel is evaluated. This is the base
    of the methods that begin at these points.

    Parameters
    ----------
    expansion : Expansion
        With m dense points.
    n_neighbors : int
        Number of nearest points.
    known : tuple of ndarray of shape (m, k) and (m,), optional
        Scores of the points and squared lengths of their centred images, if already computed.
    """

    expansion: Expansion
    n_neighbors: int = 10
    known: tuple[FloatArray, FloatArray] | None = None

    __getstate__ = stored_fields  # cached properties are computed again

    @cached_property
    def points(self) -> FloatArray:
        """The points (m, p) in float64, relative to the shift of the kernel."""
        points = dense_points(self.expansion.points).astype(np.float64)
        shift = self.expansion.function.shift
        return points if shift is None else points - shift

    @cached_property
    def point_scores(self) -> FloatArray:
        """Scores of the points (m, k)."""
        if self.known is not None:
            return self.known[0].astype(np.float64, copy=False)
        return self.expansion.scores(self.expansion.points.astype(np.float64))

    @cached_property
    def residual_squares(self) -> FloatArray:
        """Squared distances (m,) of the images of the points from the space of the axes."""
        known = self.known
        squares = self.expansion.squared_norms(self.expansion.points) if known is None else known[1]
        scores = self.point_scores
        return np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0.0)

    def find(self, scores: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """Find the nearest points of scores (n, k), nearest first, with squared distances.

        Equally distant points keep their order. If there are fewer points, all are returned.
        """
        count, known = min(self.n_neighbors, len(self.points)), self.point_scores
        # Squared distances up to a constant for each row, which does not change the order.
        distances = self.residual_squares + np.einsum("ij,ij->i", known, known)
        distances = distances - 2 * (scores @ known.T)
        if count < distances.shape[1]:
            indices = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
        else:
            indices = np.broadcast_to(np.arange(count), distances.shape)
        # Compute the distances again, from differences, in which nothing cancels.
        residual = scores[:, None, :] - known[indices]
        squares = np.einsum("nik,nik->ni", residual, residual) + self.residual_squares[indices]
        order = np.argsort(squares, axis=1, kind="stable")
        return np.take_along_axis(indices, order, 1), np.take_along_axis(squares, order, 1)

    def map_blocks(
        self, scores: FloatArray, compute: Callable[[FloatArray], tuple[FloatArray, int]]
    ) -> tuple[FloatArray, int]:
        """Compute rows from scores (n, k) in blocks, on several threads.

        Parameters
        ----------
        scores : ndarray of shape (n, k)
        compute : callable
            Maps scores (b, k) in float64 to rows (b, p) relative to the shift, and a count.

        Returns
        -------
        ndarray of shape (n, p)
            In the precision of the scores.
        int
            Sum of the counts.
        """
        points, shift = self.points, self.expansion.function.shift
        self.residual_squares  # noqa: B018  (computed before threads use it)
        out = empty((len(scores), points.shape[1]), dtype=scores.dtype)
        step = min(max(1, _BLOCK_SIZE // max(len(points), 1)), _MAX_BLOCK_ROWS)

        def fill(start: int) -> int:
            with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the rows
                rows, count = compute(scores[start : start + step].astype(np.float64))
            out[start : start + step] = rows if shift is None else rows + shift
            return count

        with one_blas_thread():
            total = sum(map_in_order(fill, range(0, len(scores), step)))
        return out, total
