"""NIPALS: components one by one, from the known cells (Wold 1966).

Each component is the product of scores and an axis that fits the known cells best. Two regressions
alternate, of the columns on the scores and of the rows on the axis; neither raises the sum of
squared residuals. The next component fits the residuals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from princomp.core.missing.em import MAX_ITERATIONS, Convergence, has_converged
from princomp.linalg import FloatArray


def fill_by_nipals(
    table: FloatArray,
    missing: NDArray[np.bool_],
    weights: FloatArray | None,
    k: int,
    *,
    mean: FloatArray,
    divisor: FloatArray,
    monitor: Callable[[float], None] | None = None,
) -> Convergence:
    """Fill the holes of a table (n, p) in place.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        float64; values in the holes are ignored.
    mean, divisor : ndarray of shape (p,)
        Of the known cells.
    monitor : callable, optional
        Called with the sum of squared residuals after each iteration, which never rises.
    """
    known = (~missing).astype(np.float64)
    residuals = np.where(missing, 0.0, (table - mean) / divisor)
    fit = np.zeros_like(table)
    iterations, converged, change = 0, True, 0.0
    weight = np.ones(len(table)) if weights is None else weights

    for _ in range(k):
        scores, axis, convergence = _component(residuals, known, weight, monitor)
        iterations += convergence.iterations
        converged &= convergence.converged
        change = max(change, convergence.change)
        component = scores[:, None] * axis
        fit += component
        residuals -= component * known
    table[missing] = (fit * divisor + mean)[missing]
    squares = float(weight @ np.einsum("ij,ij->i", residuals, residuals))
    return Convergence(iterations, converged, change, squares)


def _component(
    residuals: FloatArray,
    known: FloatArray,
    weight: FloatArray,
    monitor: Callable[[float], None] | None,
) -> tuple[FloatArray, FloatArray, Convergence]:
    """Compute scores (n,) and axis (p,) of residuals (n, p), which are zero for missing cells."""
    column_squares = weight @ (residuals * residuals)
    scores = residuals[:, column_squares.argmax()].copy()
    axis = np.zeros(residuals.shape[1])
    total_squares, last_change, change = float(column_squares.sum()), np.inf, 0.0
    for iteration in range(1, MAX_ITERATIONS + 1):
        weighted = weight * scores
        axis = _divide_where_known(residuals.T @ weighted, known.T @ (weighted * scores))
        length = np.linalg.norm(axis)
        if not length:
            return scores * 0.0, axis, Convergence(iteration, True, 0.0, total_squares)
        axis /= length
        sums, sizes = residuals @ axis, known @ (axis * axis)
        new = _divide_where_known(sums, sizes)
        residual_squares = total_squares - float(weight @ (sums * new))
        if monitor is not None:
            monitor(residual_squares)
        size = np.sqrt(float(weight @ new**2))
        change = np.sqrt(float(weight @ (new - scores) ** 2)) / (size or 1.0)
        scores = new
        if has_converged(change, last_change):
            return scores, axis, Convergence(iteration, True, change, residual_squares)
        last_change = change
    return scores, axis, Convergence(MAX_ITERATIONS, False, change, residual_squares)


def _divide_where_known(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with zero where nothing is known."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
