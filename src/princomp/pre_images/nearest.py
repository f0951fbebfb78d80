"""The points whose images lie nearest to projections in feature space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.feature_space import Expansion
from princomp.pre_images.given import dense_points

__all__ = ["Nearest"]

# Numbers of a block of rows by points: 4 MB, of which a few are held at a time.
_BLOCK, _MOST_ROWS = 2**19, 256


@dataclass(frozen=True, eq=False)
class Nearest:
    """Distances in feature space from projections P, given by scores, to the points' images.

    By Pythagoras ‖P − φ(xᵢ)‖² = ‖t − tᵢ‖² + rᵢ, with t the scores of P, tᵢ those of the point
    and rᵢ what its image has beyond the axes: no kernel is computed anew.

    Parameters
    ----------
    expansion : Expansion
        With m dense points.
    known : tuple of ndarray of shape (m, k) and (m,), optional
        Scores of the points and squared lengths of their centred images, where somebody has
        them.
    """

    expansion: Expansion
    known: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def points(self) -> FloatArray:
        """The points (m, p) in float64, about the kernel's shift."""
        points = dense_points(self.expansion.points).astype(np.float64)
        shift = self.expansion.function.shift
        return points if shift is None else points - shift

    @cached_property
    def scores(self) -> FloatArray:
        """Scores of the points (m, k)."""
        if self.known is not None:
            return self.known[0].astype(np.float64, copy=False)
        return self.expansion.scores(self.expansion.points.astype(np.float64))

    @cached_property
    def beyond(self) -> FloatArray:
        """Squared length of the part of the points' images (m,) that no axis holds."""
        known = self.known
        squares = self.expansion.squares(self.expansion.points) if known is None else known[1]
        return np.maximum(squares - np.einsum("ij,ij->i", self.scores, self.scores), 0.0)

    def of(self, scores: FloatArray, count: int) -> tuple[NDArray[np.intp], FloatArray]:
        """The nearest points (n, count) of scores (n, k), nearest first, and squared distances.

        Of points that are equally far the first comes first; all are given where there are
        fewer than asked for.
        """
        count = min(count, len(self.points))
        # Up to a number for each row, which changes no order.
        far = self.beyond + np.einsum("ij,ij->i", self.scores, self.scores)
        far = far - 2 * (scores @ self.scores.T)
        if count < far.shape[1]:
            found = np.sort(np.argpartition(far, count - 1, axis=1)[:, :count], axis=1)
        else:
            found = np.broadcast_to(np.arange(count), far.shape)
        # Again by differences, which do not cancel.
        away = scores[:, None, :] - self.scores[found]
        squares = np.einsum("nik,nik->ni", away, away) + self.beyond[found]
        order = np.argsort(squares, axis=1, kind="stable")
        return np.take_along_axis(found, order, 1), np.take_along_axis(squares, order, 1)

    def step(self) -> int:
        """Rows of a block."""
        return min(max(1, _BLOCK // max(len(self.points), 1)), _MOST_ROWS)
