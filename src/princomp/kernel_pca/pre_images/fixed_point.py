"""Pre-images by fixed-point iteration: the row whose image is nearest to a projection.

S. Mika et al., "Kernel PCA and de-noising in feature spaces" (NIPS 1998, printed 1999): where the
distance ‖φ(z) − P‖² is stationary, z is a mean of the points with weights that depend on z. The
iteration repeatedly moves to this mean, with shorter steps where the distance would grow.

With P = Σ γᵢ φ(xᵢ), ‖φ(z) − P‖² is k(z, z) − 2 Σ γᵢ k(z, xᵢ) plus a constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from princomp.kernel_pca.feature_space import Expansion
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, Sides
from princomp.kernel_pca.pre_images.nearest import Nearest
from princomp.linalg import EPS, FloatArray

# Factor of the step length after a successful step, and maximum of the length: the plain iteration
# is slow where the objective is flat. After other steps, the length is halved. The iteration ends
# at a length of _IN_VAIN, where only rounding is left.
_LONGER, _LONGEST, _IN_VAIN = 1.5, 8.0, 2.0**-30
# Increases of the objective by up to this many rounding units of its terms are ignored.
_UNITS = 8.0
# Maps weights (b, m) and rows (b, p) to the objective (b,), the direction to the next mean (b, p)
# and the size of the terms of the objective (b,).
Slope: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

# If the weights nearly cancel, their mean is far away. The divisor of a mean is therefore at least
# this share of the sum of the absolute weights; the direction is still one of descent.
_LEAST = 0.05


class _Walk(NamedTuple):
    """Rows that have not converged: number, weights, position, objective, direction, step."""

    row: NDArray[np.intp]
    shares: FloatArray
    at: FloatArray
    value: FloatArray
    direction: FloatArray
    length: FloatArray

    def of(self, which: NDArray[np.bool_]) -> _Walk:
        return _Walk(*(each[which] for each in self))


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Pre-images of "rbf" and "poly".

    Each row starts at the mean of the points whose images are nearest, weighted by nearness, or
    at the nearest point if that is better. Its iteration ends when the next mean is closer than
    ``tol`` times the spread of the points, their root mean squared distance from their mean.

    Parameters
    ----------
    expansion : Expansion
        Its points must be dense.
    n_neighbors : int
        Number of nearest points in the initial mean.
    tol : float
    max_iter : int
        Maximum number of steps.
    known : tuple of ndarray, optional
        See :class:`Nearest`.
    """

    expansion: Expansion
    n_neighbors: int = 10
    tol: float = 1e-5
    max_iter: int = 500
    known: tuple[FloatArray, FloatArray] | None = None

    supported: ClassVar[str] = "'linear', 'rbf' and 'poly'"

    @staticmethod
    def supports(function: KernelFunction) -> bool:
        """Whether the gradient of the kernel is implemented."""
        return function.name in ("rbf", *POLYNOMIALS)

    @cached_property
    def nearest(self) -> Nearest:
        """Distances in the feature space."""
        return Nearest(self.expansion, self.known)

    @cached_property
    def _slope(self) -> Slope:
        return slope_of(self.expansion.function, self.nearest.points)

    @cached_property
    def _enough(self) -> float:
        """Length of a step at which the iteration of a row ends."""
        points = self.nearest.points
        return self.tol * float(np.sqrt(points.var(axis=0).sum()))

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) from scores (n, k), in their precision.

        Warns
        -----
        ConvergenceWarning
            If rows did not converge in ``max_iter`` steps, with their share.
        """
        self._slope, self._enough  # noqa: B018  (computed before threads use them)
        out, moving = self.nearest.map_blocks(scores, self._found)
        if moving:
            warnings.warn(
                f"{moving:,} of {len(out):,} pre-images ({moving / len(out):.1%}) still moved "
                f"after {self.max_iter} steps. Use fewer components or another gamma.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return out

    def _found(self, scores: FloatArray) -> tuple[FloatArray, int]:
        """Compute pre-images (b, p) relative to the shift, and how many did not converge."""
        shares = self.expansion.coefficients(scores)
        walk = self._begun(shares, scores)
        out = np.empty_like(walk.at)
        for _ in range(self.max_iter):
            walk = self._stepped(walk)
            size = np.sqrt(np.einsum("ij,ij->i", walk.direction, walk.direction))
            ended = (size <= self._enough) | (walk.length < _IN_VAIN)
            if ended.any():
                out[walk.row[ended]] = walk.at[ended]
                walk = walk.of(~ended)
            if not len(walk.row):
                break
        out[walk.row] = walk.at
        return out, len(walk.row)

    def _begun(self, shares: FloatArray, scores: FloatArray) -> _Walk:
        """Choose the starting positions of the rows."""
        points = self.nearest.points
        found, squares = self.nearest.of(scores, self.n_neighbors)
        least = np.maximum(squares[:, :1], EPS * squares[:, -1:] + np.finfo(np.float64).tiny)
        near = least / np.maximum(squares, least)
        near /= near.sum(axis=1, keepdims=True)
        first = np.einsum("nq,nqp->np", near, points[found])
        value, direction, _ = self._slope(shares, first)
        other = points[found[:, 0]]
        others, other_direction, _ = self._slope(shares, other)
        # Not "others < value": a value that overflowed is NaN, and worse than any.
        worse = ~(value <= others)
        return _Walk(
            np.arange(len(scores)),
            shares,
            np.where(worse[:, None], other, first),
            np.where(worse, others, value),
            np.where(worse[:, None], other_direction, direction),
            np.ones(len(scores)),
        )

    def _stepped(self, walk: _Walk) -> _Walk:
        """Take one step of each row; halve the step where the objective rises."""
        trial = walk.at + walk.length[:, None] * walk.direction
        value, direction, size = self._slope(walk.shares, trial)
        better = value <= walk.value + _UNITS * EPS * size
        length = np.where(better, np.minimum(walk.length * _LONGER, _LONGEST), walk.length / 2)
        return _Walk(
            walk.row,
            walk.shares,
            np.where(better[:, None], trial, walk.at),
            np.where(better, value, walk.value),
            np.where(better[:, None], direction, walk.direction),
            length,
        )


def slope_of(function: KernelFunction, points: FloatArray) -> Slope:
    """Return the objective and direction for a kernel and points (m, p) relative to its shift."""
    function = replace(function, shift=None)
    if function.name == "rbf":
        return partial(_gaussian, function, points, function.sides(points))
    return partial(_of_products, function, points)


def _gaussian(
    function: KernelFunction,
    points: FloatArray,
    sides: Sides,
    shares: FloatArray,
    rows: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gaussian kernel: the next mean is Σ γᵢ k(z, xᵢ) xᵢ / Σ γᵢ k(z, xᵢ)."""
    parts = function.tile(function.sides(rows), sides)
    parts *= shares
    total, size = parts.sum(axis=1), np.abs(parts).sum(axis=1)
    direction = parts @ points - total[:, None] * rows
    return 1.0 - 2 * total, _divided(direction, total, size), 1.0 + 2 * size


def _of_products(
    function: KernelFunction, points: FloatArray, shares: FloatArray, rows: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Kernel κ(xᵀy): the next mean is Σ γᵢ κ'(xᵢᵀz) xᵢ / κ'(zᵀz)."""
    with np.errstate(all="ignore"):  # rows that overflow are not accepted
        values, slopes = _kernel_and_slope(function, rows @ points.T)
        own, own_slope = _kernel_and_slope(function, np.einsum("ij,ij->i", rows, rows))
        values *= shares
        slopes *= shares
        direction = slopes @ points - own_slope[:, None] * rows
        size = np.abs(own) + 2 * np.abs(values).sum(axis=1)
        divided = _divided(direction, own_slope, np.abs(slopes).sum(axis=1))
        return own - 2 * values.sum(axis=1), divided, size


def _divided(direction: FloatArray, total: FloatArray, size: FloatArray) -> FloatArray:
    """Divide the direction by the sum of weights, or by a share of the sum of their sizes."""
    divisor = np.maximum(total, _LEAST * size)
    nothing = ~(divisor > 0)
    return np.where(nothing[:, None], 0.0, direction / np.where(nothing, 1.0, divisor)[:, None])


def _kernel_and_slope(
    function: KernelFunction, products: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute κ and κ' / γ from inner products."""
    assert function.gamma is not None
    inner = function.gamma * products + function.coef0
    return inner**function.degree, function.degree * inner ** (function.degree - 1)
