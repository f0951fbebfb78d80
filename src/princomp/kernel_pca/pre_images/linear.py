"""Pre-images for the linear kernel, whose feature space is the space of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


@dataclass(frozen=True, eq=False)
class Linear:
    """Exact inverse for the linear kernel: scores times axes, plus the mean.

    Parameters
    ----------
    axes : ndarray of shape (k, p)
        In the units of the data, in float64.
    mean : ndarray of shape (p,)
    """

    axes: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, expansion: Expansion) -> Self:
        """Compute the axes and the mean as sums of the points, dense or sparse."""
        points, shift = expansion.points, expansion.function.shift
        points, weights, mean = points.astype(np.float64), expansion.weights, expansion.mean
        if shift is None:
            return cls(np.asarray(points.T @ weights).T, points.T @ mean)
        if is_sparse(points):
            axes = np.asarray(points.T @ weights).T - np.outer(weights.sum(axis=0), shift)
            return cls(axes, points.T @ mean + (1.0 - mean.sum()) * shift)
        points = points - shift
        return cls(weights.T @ points, mean @ points + shift)

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) from scores (n, k), in their precision."""
        return (scores @ self.axes + self.mean).astype(scores.dtype, copy=False)
