"""Axes of a feature space as sums of the images of points.

The exact solution writes an axis as Σ bᵢ φ(xᵢ) over the rows of the fit, Nyström's over its
landmarks. What follows needs no more: scores, squared distances, projections.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.feature_space.tiles import by_tiles
from princomp.kernel_functions import KernelFunction
from princomp.kernel_functions.function import Sides

__all__ = ["Expansion"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Centred images on k axes.

    Parameters
    ----------
    function : KernelFunction
    points : array or CSR array of shape (m, p)
        What axes and the mean are sums of.
    weights : ndarray of shape (m, k)
        Of the images of the points in each axis.
    mean : ndarray of shape (m,)
        The same of the mean image.
    centre : ndarray of shape (m,)
        Mean over the rows of the fit of k(row, point).
    mean_square : float
        Squared length of the mean image.
    """

    function: KernelFunction
    points: Any
    weights: FloatArray
    mean: FloatArray
    centre: FloatArray
    mean_square: float

    @cached_property
    def sides(self) -> Sides:
        """The points as tiles take them."""
        return self.function.sides(self.points)

    @property
    def k(self) -> int:
        """Number of axes."""
        return int(self.weights.shape[1])

    def scores(self, rows: Any) -> FloatArray:
        """Centred images of rows on the axes (n, k), in the precision of the rows."""
        weights = self.weights.astype(rows.dtype)

        def of(values: FloatArray) -> FloatArray:
            values -= self.centre.astype(values.dtype)
            return values @ weights

        return by_tiles(self.function, rows, self.sides, of, self.k)

    def scores_of(self, values: FloatArray) -> FloatArray:
        """The same where k(row, point) is known (n, m)."""
        scores: FloatArray = (values - self.centre) @ self.weights
        return scores

    def squares(self, rows: Any) -> FloatArray:
        """Squared length of the centred image of each row (n,), in float64."""
        mean = self.mean[:, None]
        cross = by_tiles(self.function, rows, self.sides, lambda tile: tile @ mean, 1, np.float64)
        own = self.function.diagonal(rows)
        return np.maximum(own - 2 * cross[:, 0] + self.mean_square, 0.0)

    def coefficients(self, scores: FloatArray) -> FloatArray:
        """Weights (n, m) with which the points add up to the projection of scores (n, k)."""
        return np.asarray(scores, dtype=np.float64) @ self.weights.T + self.mean
