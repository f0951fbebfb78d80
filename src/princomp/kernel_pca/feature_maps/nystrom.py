"""Nyström's map: rows are represented by their kernel with some points, the landmarks.

C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines" (NIPS 2000):
rows are projected on the span of the landmarks in the feature space, and the distance of each row
from this span is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from princomp.errors import DataError, warn
from princomp.io import RowArray, model_arrays
from princomp.kernel_pca.feature_maps.feature_map import BLOCK_ROWS, FeatureMap
from princomp.kernel_pca.feature_maps.landmarks import landmark_matrix
from princomp.kernel_pca.feature_space.solve import MAX_NEGATIVE_SHARE
from princomp.kernel_pca.functions import KernelFunction, Sides, check_values, shift_of
from princomp.kernels import RightFactor, sampled_rows
from princomp.linalg import EPS, FloatArray, cached_property
from princomp.solvers import eigenpairs
from princomp.summaries import is_sparse

# A variance below this share of k(x, x) may be rounding.
ROUNDING = 1e-10
# Images are in float64 if float32 would leave out more than this share of the variance.
_MAX_LEFT_OUT = 1e-4
# Number of landmarks from which their variance is estimated.
_SAMPLE_ROWS = 256


@dataclass(frozen=True, eq=False)
class Nystrom(FeatureMap):
    """z(x) = k(x, L) W with W = UΛ^(−1/2), where K(L, L) = UΛUᵀ.

    If all rows are landmarks, ZZᵀ is their kernel matrix. Eigenvalues of at most m ε λ₁ are left
    out: they are rounding errors of K(L, L), and dividing by their roots would enlarge them. So
    repeated landmarks do no harm. Images in float32 leave out eigenvalues of at most ε₃₂ λ₁:
    division by smaller roots would enlarge the rounding errors of k(x, L).

    Parameters
    ----------
    points : ndarray or CSR array of shape (m, p)
        The landmarks L.
    weights : ndarray of shape (m, r)
        W, in float64.
    """

    points: RowArray
    weights: FloatArray

    kind = "nystrom"

    @classmethod
    def of(
        cls,
        kernel: KernelFunction,
        points: RowArray,
        dtype: npt.DTypeLike | None = None,
        *,
        may_widen: bool = False,
    ) -> Self:
        """Make the map from its landmarks.

        For a shift-invariant kernel (linear, Gaussian, Laplacian) rows are shifted by the mean of
        the landmarks: the centred kernel does not change, and large numbers no longer cancel.
        Sparse rows are shifted only in columns that hold a value in nearly every row.

        Warns if the kernel between the landmarks has negative eigenvalues that are not rounding:
        no images have such inner products, so they are left out.

        Parameters
        ----------
        kernel : KernelFunction
        points : ndarray or CSR array of shape (m, p)
        dtype : numpy dtype, optional
            Precision of the images; that of the points by default.
        may_widen : bool
            Use float64 if images in float32 would leave out variance of the landmarks.

        Raises
        ------
        NotFiniteError
            If the kernel between two points is not finite, or so small that products in the
            precision of the images lose digits.
        DataError
            If no eigenvalue is positive.
        """
        dtype = np.dtype(points.dtype if dtype is None else dtype)
        if kernel.shift_invariant and kernel.shift is None:
            kernel = kernel.with_shift(shift_of(points))
        sides = kernel.sides(points.astype(np.float64))
        if kernel.name == "linear" and not abs(sides.left).max() > 0.0:
            # All landmarks are equal, so the shift made them zero. Without it, they span one
            # direction.
            kernel = kernel.with_shift(None)
            sides = kernel.sides(points.astype(np.float64))
        matrix = landmark_matrix(kernel, sides)
        if matrix.any():
            check_values(kernel.name, float(np.abs(matrix).max()), max(points.shape), dtype)
        values, vectors = eigenpairs((matrix + matrix.T) / 2)
        kept = _kept_values(values, dtype)
        variance = float(np.trace(matrix) - len(matrix) * matrix.mean())
        if may_widen and values[~kept].sum() > _MAX_LEFT_OUT * variance:
            dtype, points = np.dtype(np.float64), points.astype(np.float64)
            kept = _kept_values(values, dtype)
        if not kept.any():
            raise DataError(
                f"kernel {kernel.name!r} has no positive eigenvalue: the largest between "
                f"{len(values)} landmarks is {values[0]:.3g}",
                hint="choose another kernel or other parameters",
            )
        if -values[-1] > MAX_NEGATIVE_SHARE * values[0]:
            warn(
                f"the kernel {kernel.name!r} between the landmarks is not positive semi-definite. "
                "Its negative eigenvalues are left out, so variances and scores are not those of "
                "an exact fit: use other parameters or another kernel"
            )
        weights = np.ascontiguousarray(vectors[kept].T / np.sqrt(values[kept]))
        return cls(kernel, points.shape[1], dtype, points, weights)

    @property
    def m(self) -> int:
        """Number of landmarks."""
        return int(self.points.shape[0])

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return int(self.weights.shape[1])

    @property
    def bytes_per_thread(self) -> int:
        """Bytes of the kernel of a block with the landmarks, and of its prepared rows."""
        return 2 * 8 * BLOCK_ROWS * (self.m + self.p + 2)

    @cached_property
    def _landmark_sides(self) -> Sides:
        return self.kernel.sides(self.points)

    @cached_property
    def _right_factors(self) -> dict[np.dtype[Any], RightFactor]:
        """The sides of the landmarks as right factors, by precision."""
        return {}

    @cached_property
    def _weights(self) -> RightFactor:
        return RightFactor(self.weights.astype(self.dtype, copy=False))

    def _map_block(self, rows: RowArray, out: FloatArray) -> None:
        # Products of float32 rows would be rounded before they become float64.
        rows = rows.astype(np.result_type(rows.dtype, self.dtype), copy=False)
        sides, landmarks = self.kernel.sides(rows), self._landmark_sides
        left, right = sides.left, landmarks.right
        if is_sparse(left) or is_sparse(right) or not self.kernel.uses_products:
            values = self.kernel.tile(sides, landmarks, self.dtype)
        else:
            dtype = np.result_type(left, right)
            factor = self._right_factors.get(dtype)
            if factor is None:
                factor = self._right_factors[dtype] = RightFactor(right.T.astype(dtype, copy=False))
            products = factor.times(left.astype(dtype, copy=False))
            values = self.kernel.values_of_products(products, self.dtype)
        self._weights.times(values, out)

    def missing_share(self, rows: RowArray) -> float:
        """Compute the share of the variance that rows lose outside the span of the landmarks.

        It is relative to the variance of the rows or of the landmarks, whichever is larger, so
        that rows which hardly differ lose little.
        """
        lost = self.kernel.diagonal(rows) - (self.images(rows).astype(np.float64) ** 2).sum(axis=1)
        some = self.points[sampled_rows(self.m, _SAMPLE_ROWS)]
        total = max(variance(self.kernel, rows), variance(self.kernel, some))
        return float(lost.mean()) / total if total > 0.0 else 0.0

    def arrays(self) -> dict[str, Any]:
        """Return landmarks (as the three parts of a CSR array if sparse) and weights."""
        return {
            **super().arrays(),
            "weights": self.weights,
            **model_arrays.pack_rows("points", self.points),
        }


def variance(kernel: KernelFunction, rows: RowArray) -> float:
    """Compute the variance of rows in the feature space, about their mean."""
    sides = kernel.sides(rows.astype(np.float64))
    return float(kernel.diagonal(rows).mean() - kernel.tile(sides, sides).mean())


def _kept_values(values: FloatArray, dtype: npt.DTypeLike) -> NDArray[np.bool_]:
    """Whether eigenvalues (m,) are large enough for images of this precision."""
    share = max(len(values) * EPS, float(np.finfo(dtype).eps))
    return values > share * float(np.abs(values).max())
