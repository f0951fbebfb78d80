"""Nyström's map: a row by its kernel with some points, the landmarks.

C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines" (NIPS 2000):
images span the landmarks' part of the feature space, and what is beyond it is known row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.eigenpairs import eigenpairs
from princomp.errors import DataError, NotFiniteError, ShapeError
from princomp.feature_maps.feature_map import ROWS, FeatureMap
from princomp.kernel_functions import KernelFunction
from princomp.kernel_functions.function import Sides
from princomp.kernels.matmul import RightFactor
from princomp.summaries.blocks import is_sparse

__all__ = ["Nystrom"]


@dataclass(frozen=True, eq=False)
class Nystrom(FeatureMap):
    """z(x) = k(x, L) W with W = UΛ^(−1/2), where K(L, L) = UΛUᵀ.

    With all rows as landmarks ZZᵀ is their kernel matrix. Eigenvalues of at most m ε λ₁ are
    left out, ε that of ``dtype``: they are rounding, which their roots would enlarge. So
    landmarks that repeat do no harm, and in float32 more is left out than in float64.

    Parameters
    ----------
    points : ndarray or CSR array of shape (m, p)
        The landmarks L.
    weights : ndarray of shape (m, r)
        W, in float64.
    """

    points: Any
    weights: FloatArray

    kind = "nystrom"

    @classmethod
    def of(cls, kernel: KernelFunction, points: Any, dtype: Any = None) -> Self:
        """The map of some landmarks.

        A kernel of differences (Gaussian, Laplacian) takes rows about the landmarks' mean where
        they are dense and it has no shift yet: its values stay, and large numbers no longer
        cancel.

        Parameters
        ----------
        kernel : KernelFunction
        points : ndarray or CSR array of shape (m, p)
        dtype : numpy dtype, optional
            Of the images; that of the points by default.

        Raises
        ------
        ShapeError
            Without points.
        NotFiniteError
            Where the kernel between two of them is not finite.
        DataError
            Where it is no kernel: no eigenvalue is positive.
        """
        if 0 in points.shape:
            raise ShapeError(
                f"landmarks have shape {points.shape}", hint="give at least one, with all columns"
            )
        dtype = np.dtype(points.dtype if dtype is None else dtype)
        unmoved = kernel.name in ("rbf", "laplacian")
        if is_sparse(points) and kernel.shift is not None:
            # Sparse points have no mean subtracted; where values stay, no row needs it either.
            points = points if unmoved else points.toarray()
            kernel = replace(kernel, shift=None) if unmoved else kernel
        elif unmoved and kernel.shift is None and not is_sparse(points):
            kernel = kernel.about(points.mean(axis=0, dtype=np.float64))
        sides = kernel.sides(points.astype(np.float64))
        with np.errstate(all="ignore"):
            between = kernel.tile(sides, sides)
        if not np.isfinite(between).all():
            row = int(np.argwhere(~np.isfinite(between))[0][0])
            raise NotFiniteError(
                f"kernel {kernel.name!r} of landmark {row} is not finite",
                place={"landmark": row},
                hint="scale the columns, or choose other parameters of the kernel",
            )
        values, vectors = eigenpairs((between + between.T) / 2)
        least = len(values) * float(np.finfo(dtype).eps) * float(np.abs(values).max())
        kept = values > least
        if not kept.any():
            raise DataError(
                f"the largest eigenvalue of kernel {kernel.name!r} between {len(values)} landmarks "
                f"is {values[0]:.3g}, and a kernel has a positive one",
                hint="choose another kernel or other parameters",
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
    def room(self) -> int:
        """Bytes of a block's kernel with the landmarks, and of rows as a kernel takes them."""
        return 2 * 8 * ROWS * (self.m + self.p + 2)

    @cached_property
    def _landmarks(self) -> Sides:
        return self.kernel.sides(self.points)

    @cached_property
    def _factors(self) -> dict[np.dtype[Any], RightFactor]:
        """The landmarks' sides, ready to be multiplied with, by precision."""
        return {}

    @cached_property
    def _weights(self) -> RightFactor:
        return RightFactor(self.weights.astype(self.dtype, copy=False))

    def similarities(self, rows: Any) -> FloatArray:
        """k(row, landmark) (m', m)."""
        sides, landmarks = self.kernel.sides(self._centrable(rows)), self._landmarks
        left, right = sides.left, landmarks.right
        if is_sparse(left) or is_sparse(right) or not self.kernel.of_products:
            return self.kernel.tile(sides, landmarks, self.dtype)
        dtype = np.result_type(left, right)
        factor = self._factors.get(dtype)
        if factor is None:
            factor = self._factors[dtype] = RightFactor(right.T.astype(dtype, copy=False))
        return self.kernel.of_product(factor.times(left.astype(dtype, copy=False)), self.dtype)

    def _centrable(self, rows: Any) -> Any:
        """Rows from which a shift can be subtracted: a kernel leaves sparse ones as they are."""
        return rows.toarray() if self.kernel.shift is not None and is_sparse(rows) else rows

    def _block(self, rows: Any, out: FloatArray) -> None:
        self._weights.times(self.similarities(rows), out)

    # ---- files -------------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """Landmarks, those of sparse rows in the three parts of a CSR array, and weights."""
        points = self.points
        if not is_sparse(points):
            return {**super().arrays(), "weights": self.weights, "points": np.asarray(points)}
        parts = {name: getattr(points, name) for name in ("data", "indices", "indptr")}
        return {
            **super().arrays(),
            "weights": self.weights,
            **{f"points.{name}": part for name, part in parts.items()},
        }

    @classmethod
    def from_contents(
        cls, kernel: KernelFunction, words: dict[str, Any], arrays: dict[str, Any]
    ) -> Self:
        """The map that gave these."""
        p = words["p"]
        if "points" in arrays:
            points = arrays["points"]
        else:
            parts = tuple(arrays[f"points.{name}"] for name in ("data", "indices", "indptr"))
            points = sp.csr_array(parts, shape=(len(parts[2]) - 1, p))
        return cls(kernel, p, np.dtype(words["dtype"]), points, arrays["weights"])
