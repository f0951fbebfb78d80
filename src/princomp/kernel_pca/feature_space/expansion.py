"""Axes of the feature space as weighted sums of images of points.

An exact fit writes an axis as Σ bᵢ φ(xᵢ) over its rows, a Nyström fit over its landmarks. Scores,
squared distances and projections follow from these weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from princomp.io import RowArray
from princomp.kernel_pca.functions import KernelFunction, Sides
from princomp.linalg import (
    FloatArray,
    cached_property,
    empty,
    for_each,
    one_blas_thread,
    slices,
    stored_fields,
)

# Numbers in a tile (2 MB of float64 stay in a core's cache), and numbers from which threads pay.
_TILE_SIZE, _MIN_PARALLEL_SIZE = 2**18, 2**18
# Kernels that are 1 for equal rows and fall to 0 with their distance. Rows whose scores differ by
# more than this share from those of a row far from all points are not far.
_VANISHING, _MAX_OFFSET = ("rbf", "laplacian"), 1e-3


@dataclass(frozen=True, eq=False)
class Expansion:
    """k axes of the feature space, and the mean image.

    Parameters
    ----------
    function : KernelFunction
    points : array or CSR array of shape (m, p)
        The points whose images are summed.
    weights : ndarray of shape (m, k)
        Weight of each point in each axis.
    mean : ndarray of shape (m,)
        Weight of each point in the mean image.
    centre : ndarray of shape (m,)
        Mean of k(row, point) over the rows of the fit.
    mean_square : float
        Squared length of the mean image.
    """

    function: KernelFunction
    points: RowArray
    weights: FloatArray
    mean: FloatArray
    centre: FloatArray
    mean_square: float

    __getstate__ = stored_fields  # cached properties are computed again

    @cached_property
    def sides(self) -> Sides:
        """The points, prepared for tiles."""
        return self.function.sides(self.points)

    @property
    def k(self) -> int:
        """Number of axes."""
        return int(self.weights.shape[1])

    def scores(self, rows: RowArray) -> FloatArray:
        """Project the centred images of rows: scores (n, k), in the precision of the rows."""
        # Kernel values cancel when they are centred, so those of a float64 fit need its precision.
        dtype = np.result_type(rows.dtype, self.points.dtype)
        weights = self.weights.astype(dtype)

        def project(values: FloatArray) -> FloatArray:
            values -= self.centre.astype(values.dtype)
            return values @ weights

        scores = map_tiles(self.function, rows, self.sides, project, self.k, dtype)
        return scores.astype(rows.dtype, copy=False)

    def scores_from_kernel(self, values: FloatArray) -> FloatArray:
        """Compute scores from kernel values k(row, point) (n, m)."""
        return (values - self.centre) @ self.weights

    def count_remote(self, rows: RowArray, scores: FloatArray) -> int:
        """Count the rows whose kernel with every point is zero up to rounding.

        Their scores, which are all the same, are those of a row of zeros in the kernel matrix.
        """
        if self.function.name not in _VANISHING:
            return 0
        offset = np.abs(scores + self.centre @ self.weights)
        candidates = (offset <= _MAX_OFFSET * (self.centre @ np.abs(self.weights))).all(axis=1)
        if not candidates.any():
            return 0

        def largest(tile: FloatArray) -> FloatArray:
            return np.asarray(tile.max(axis=1, keepdims=True))

        values = map_tiles(self.function, rows[candidates], self.sides, largest, 1, np.float64)
        return int(np.count_nonzero(values < np.finfo(scores.dtype).eps))

    def squared_norms(self, rows: RowArray) -> FloatArray:
        """Compute the squared length of the centred image of each row (n,), in float64."""
        mean = self.mean[:, None]
        cross = map_tiles(self.function, rows, self.sides, lambda tile: tile @ mean, 1, np.float64)
        diagonal = self.function.diagonal(rows)
        return np.maximum(diagonal - 2 * cross[:, 0] + self.mean_square, 0.0)

    def coefficients(self, scores: FloatArray) -> FloatArray:
        """Compute the weights (n, m) of the points in the projections with scores (n, k)."""
        return np.asarray(scores, dtype=np.float64) @ self.weights.T + self.mean


def map_tiles(
    function: KernelFunction,
    rows: RowArray,
    points: Sides,
    transform: Callable[[FloatArray], FloatArray],
    width: int,
    dtype: npt.DTypeLike,
) -> FloatArray:
    """Apply ``transform`` to each tile (a, m) of the kernel between rows and points.

    Parameters
    ----------
    function : KernelFunction
    rows : array or CSR array of shape (n, p)
    points : Sides
        The m points.
    transform : callable
        Maps a tile, which it may change, to (a, width); called from several threads.
    width : int
    dtype : numpy dtype
        Of tiles, results and products of the rows.

    Returns
    -------
    ndarray of shape (n, width)
    """
    n, m = rows.shape[0], len(points)
    out = empty((n, width), dtype=dtype)
    step = max(1, _TILE_SIZE // max(m, 1))

    def fill(part: slice) -> None:
        # Products of float32 rows would be rounded before they become float64.
        sides = function.sides(rows[part].astype(dtype, copy=False))
        out[part] = transform(function.tile(sides, points, dtype))

    # One BLAS thread for each tile, so that no bit depends on the number of threads.
    with one_blas_thread():
        for_each(fill, slices(n, step), 1 if n * m < _MIN_PARALLEL_SIZE else None)
    return out
