"""NIPALS: components one by one, from the known cells (Wold 1966).

Each component is the product of scores and an axis that fits the known cells best. Two regressions
alternate, of the columns on the scores and of the rows on the axis; neither raises the sum of
squared residuals. The next component fits the residuals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from princomp.core.missing.em import MOST, Ended, has_converged
from princomp.linalg import FloatArray


def fill_by_nipals(
    table: FloatArray,
    holes: NDArray[np.bool_],
    weights: FloatArray | None,
    k: int,
    *,
    mean: FloatArray,
    divisor: FloatArray,
    monitor: Callable[[float], None] | None = None,
) -> Ended:
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
    known = (~holes).astype(np.float64)
    rest = np.where(holes, 0.0, (table - mean) / divisor)
    fit = np.zeros_like(table)
    iterations, converged, change = 0, True, 0.0
    weight = np.ones(len(table)) if weights is None else weights

    def squares() -> float:
        return float(weight @ np.einsum("ij,ij->i", rest, rest))

    for _ in range(k):
        scores, axis, ended = _component(rest, known, weight, monitor)
        iterations += ended.iterations
        converged &= ended.converged
        change = max(change, ended.change)
        part = scores[:, None] * axis
        fit += part
        rest -= part * known
    table[holes] = (fit * divisor + mean)[holes]
    return Ended(iterations, converged, change, squares())


def _component(
    rest: FloatArray,
    known: FloatArray,
    weight: FloatArray,
    monitor: Callable[[float], None] | None,
) -> tuple[FloatArray, FloatArray, Ended]:
    """Compute scores (n,) and axis (p,) of residuals (n, p), which are zero for missing cells."""
    strengths = weight @ (rest * rest)
    scores = rest[:, strengths.argmax()].copy()
    axis = np.zeros(rest.shape[1])
    whole, before, change = float(strengths.sum()), np.inf, 0.0
    for number in range(1, MOST + 1):
        weighted = weight * scores
        axis = _quotient(rest.T @ weighted, known.T @ (weighted * scores))
        length = np.linalg.norm(axis)
        if not length:
            return scores * 0.0, axis, Ended(number, True, 0.0, whole)
        axis /= length
        sums, sizes = rest @ axis, known @ (axis * axis)
        new = _quotient(sums, sizes)
        left = whole - float(weight @ (sums * new))
        if monitor is not None:
            monitor(left)
        size = np.sqrt(float(weight @ new**2))
        change = np.sqrt(float(weight @ (new - scores) ** 2)) / (size or 1.0)
        scores = new
        if has_converged(change, before):
            return scores, axis, Ended(number, True, change, left)
        before = change
    return scores, axis, Ended(MOST, False, change, left)


def _quotient(numerator: FloatArray, divisor: FloatArray) -> FloatArray:
    """Divide, with zero where nothing is known."""
    return np.divide(numerator, divisor, out=np.zeros_like(numerator), where=divisor > 0)
