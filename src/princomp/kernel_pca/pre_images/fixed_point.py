"""Pre-images by fixed-point iteration: the row whose image is nearest to a projection.

S. Mika et al., "Kernel PCA and de-noising in feature spaces" (NIPS 1998, printed 1999): where the
distance ‖φ(z) − P‖² is stationary, z is a mean of the points with weights that depend on z. The
iteration repeatedly moves to this mean, with shorter steps where the distance would grow.

With P = Σ γᵢ φ(xᵢ), ‖φ(z) − P‖² is k(z, z) − 2 Σ γᵢ k(z, xᵢ) plus a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from princomp.errors import warn
from princomp.kernel_pca.functions import KernelFunction, Sides
from princomp.kernel_pca.pre_images.pre_image import Nearest
from princomp.linalg import EPS, FloatArray, cached_property

# Factor of the step length after a successful step, and maximum of the length: the plain iteration
# is slow where the objective is flat. After other steps, the length is halved. The iteration ends
# at a length of _MIN_STEP_LENGTH, where only rounding is left.
_STEP_GROWTH, _MAX_STEP_LENGTH, _MIN_STEP_LENGTH = 1.5, 8.0, 2.0**-30
# Increases of the objective by up to this many rounding units of its terms are ignored.
_IGNORED_UNITS = 8.0
# Maps weights (b, m) and rows (b, p) to the objective (b,), the direction to the next mean (b, p)
# and the size of the terms of the objective (b,).
Objective: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

# If the weights nearly cancel, their mean is far away. The divisor of a mean is therefore at least
# this share of the sum of the absolute weights; the direction is still one of descent.
_MIN_DIVISOR_SHARE = 0.05


class _ActiveRows(NamedTuple):
    """Rows that have not converged: number, weights, position, objective, direction, step."""

    row_index: NDArray[np.intp]
    coefficients: FloatArray
    position: FloatArray
    objective: FloatArray
    direction: FloatArray
    step_length: FloatArray

    def moved(
        self,
        where: NDArray[np.bool_],
        position: FloatArray,
        objective: FloatArray,
        direction: FloatArray,
    ) -> _ActiveRows:
        """Return the rows with new values where ``where`` is true."""
        return self._replace(
            position=np.where(where[:, None], position, self.position),
            objective=np.where(where, objective, self.objective),
            direction=np.where(where[:, None], direction, self.direction),
        )


@dataclass(frozen=True, eq=False)
class FixedPoint(Nearest):
    """Pre-images of "rbf" and "poly".

    Each row starts at the mean of the points whose images are nearest, weighted by nearness, or
    at the nearest point if that is better. Its iteration ends when the next mean is closer than
    ``tol`` times the spread of the points, their root mean squared distance from their mean.

    Parameters
    ----------
    tol : float
    max_iter : int
        Maximum number of steps.
    """

    tol: float = 1e-5
    max_iter: int = 500

    @cached_property
    def _objective(self) -> Objective:
        return objective_for(self.expansion.function, self.points)

    @cached_property
    def _step_tolerance(self) -> float:
        """Length of a step at which the iteration of a row ends."""
        return self.tol * float(np.sqrt(self.points.var(axis=0).sum()))

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) from scores (n, k), in their precision.

        Warns
        -----
        ConvergenceWarning
            If rows did not converge in ``max_iter`` steps, with their share.
        """
        self._objective, self._step_tolerance  # noqa: B018  (computed before threads use them)
        out, unconverged = self.map_blocks(scores, self._pre_images)
        if unconverged:
            warn(
                f"{unconverged:,} of {len(out):,} pre-images ({unconverged / len(out):.1%}) still "
                f"moved after {self.max_iter} steps. Use fewer components or another gamma.",
                ConvergenceWarning,
            )
        return out

    def _pre_images(self, scores: FloatArray) -> tuple[FloatArray, int]:
        """Compute pre-images (b, p) relative to the shift, and how many did not converge."""
        coefficients = self.expansion.coefficients(scores)
        active = self._start(coefficients, scores)
        out = np.empty_like(active.position)
        for _ in range(self.max_iter):
            active = self._step(active)
            size = np.sqrt(np.einsum("ij,ij->i", active.direction, active.direction))
            ended = (size <= self._step_tolerance) | (active.step_length < _MIN_STEP_LENGTH)
            if ended.any():
                out[active.row_index[ended]] = active.position[ended]
                active = _ActiveRows(*(field[~ended] for field in active))
            if not len(active.row_index):
                break
        out[active.row_index] = active.position
        return out, len(active.row_index)

    def _start(self, coefficients: FloatArray, scores: FloatArray) -> _ActiveRows:
        """Choose the starting positions of the rows."""
        points = self.points
        indices, squares = self.find(scores)
        smallest = np.maximum(squares[:, :1], EPS * squares[:, -1:] + np.finfo(np.float64).tiny)
        nearness = smallest / np.maximum(squares, smallest)
        nearness /= nearness.sum(axis=1, keepdims=True)
        weighted_mean = np.einsum("nq,nqp->np", nearness, points[indices])
        value, direction, _ = self._objective(coefficients, weighted_mean)
        rows, step_length = np.arange(len(scores)), np.ones(len(scores))
        start = _ActiveRows(rows, coefficients, weighted_mean, value, direction, step_length)
        nearest = points[indices[:, 0]]
        nearest_value, nearest_direction, _ = self._objective(coefficients, nearest)
        # Not "nearest_value < value": a value that overflowed is NaN, and worse than any.
        return start.moved(~(value <= nearest_value), nearest, nearest_value, nearest_direction)

    def _step(self, active: _ActiveRows) -> _ActiveRows:
        """Take one step of each row; halve the step where the objective rises."""
        trial = active.position + active.step_length[:, None] * active.direction
        value, direction, size = self._objective(active.coefficients, trial)
        better = value <= active.objective + _IGNORED_UNITS * EPS * size
        longer = np.minimum(active.step_length * _STEP_GROWTH, _MAX_STEP_LENGTH)
        step_length = np.where(better, longer, active.step_length / 2)
        return active.moved(better, trial, value, direction)._replace(step_length=step_length)


def objective_for(function: KernelFunction, points: FloatArray) -> Objective:
    """Return the objective and direction for a kernel and points (m, p) relative to its shift."""
    function = replace(function, shift=None)
    if function.name == "rbf":
        return partial(_gaussian_objective, function, points, function.sides(points))
    return partial(_polynomial_objective, function, points)


def _gaussian_objective(
    function: KernelFunction,
    points: FloatArray,
    sides: Sides,
    coefficients: FloatArray,
    rows: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gaussian kernel: the next mean is Σ γᵢ k(z, xᵢ) xᵢ / Σ γᵢ k(z, xᵢ)."""
    weighted = function.tile(function.sides(rows), sides)
    weighted *= coefficients
    total, size = weighted.sum(axis=1), np.abs(weighted).sum(axis=1)
    direction = weighted @ points - total[:, None] * rows
    return 1.0 - 2 * total, _mean_direction(direction, total, size), 1.0 + 2 * size


def _polynomial_objective(
    function: KernelFunction, points: FloatArray, coefficients: FloatArray, rows: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Kernel κ(xᵀy): the next mean is Σ γᵢ κ'(xᵢᵀz) xᵢ / κ'(zᵀz)."""
    assert function.gamma is not None
    gamma, coef0, degree = function.gamma, function.coef0, function.degree
    with np.errstate(all="ignore"):  # rows that overflow are not accepted
        inner = gamma * (rows @ points.T) + coef0
        own = gamma * np.einsum("ij,ij->i", rows, rows) + coef0
        # κ and κ' / γ
        values, derivatives = inner**degree, degree * inner ** (degree - 1)
        own_value, own_derivative = own**degree, degree * own ** (degree - 1)
        values *= coefficients
        derivatives *= coefficients
        direction = derivatives @ points - own_derivative[:, None] * rows
        size = np.abs(own_value) + 2 * np.abs(values).sum(axis=1)
        mean_direction = _mean_direction(direction, own_derivative, np.abs(derivatives).sum(axis=1))
        return own_value - 2 * values.sum(axis=1), mean_direction, size


def _mean_direction(direction: FloatArray, total: FloatArray, size: FloatArray) -> FloatArray:
    """Divide the direction by the sum of weights, or by a share of the sum of their sizes."""
    divisor = np.maximum(total, _MIN_DIVISOR_SHARE * size)
    is_zero = ~(divisor > 0)
    return np.where(is_zero[:, None], 0.0, direction / np.where(is_zero, 1.0, divisor)[:, None])
