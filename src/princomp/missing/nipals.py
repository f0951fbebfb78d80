"""NIPALS: components one by one, from the cells that are there (Wold 1966).

Each component is the best product of scores and an axis for the cells that are there: two
regressions take turns, of the columns on the scores and of the rows on the axis. Neither can
raise the sum of squared residuals. What is left goes to the next component.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.missing.em import MOST, Ended, is_near

__all__ = ["fill_by_nipals"]


def fill_by_nipals(
    table: FloatArray,
    holes: NDArray[np.bool_],
    weights: FloatArray | None,
    k: int,
    *,
    mean: FloatArray,
    divisor: FloatArray,
    told: Callable[[float], None] | None = None,
) -> Ended:
    """Fill the holes of a table (n, p) in place.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        float64; what stands in the holes is not looked at.
    mean, divisor : ndarray of shape (p,)
        Of the cells that are there.
    told : callable, optional
        Gets the sum of squared residuals after each iteration, which never rises.
    """
    there = (~holes).astype(np.float64)
    rest = np.where(holes, 0.0, (table - mean) / divisor)
    fit = np.zeros_like(table)
    iterations, converged, change = 0, True, 0.0
    weight = np.ones(len(table)) if weights is None else weights

    def squares() -> float:
        return float(weight @ np.einsum("ij,ij->i", rest, rest))

    for _ in range(k):
        scores, axis, ended = _component(rest, there, weight, told)
        iterations += ended.iterations
        converged &= ended.converged
        change = max(change, ended.change)
        part = scores[:, None] * axis
        fit += part
        rest -= part * there
    table[holes] = (fit * divisor + mean)[holes]
    return Ended(iterations, converged, change, squares())


def _component(
    rest: FloatArray,
    there: FloatArray,
    weight: FloatArray,
    told: Callable[[float], None] | None,
) -> tuple[FloatArray, FloatArray, Ended]:
    """Scores (n,) and axis (p,) of what is left (n, p), zero where cells are missing."""
    strengths = weight @ (rest * rest)
    scores = rest[:, strengths.argmax()].copy()
    axis = np.zeros(rest.shape[1])
    whole, before, change = float(strengths.sum()), np.inf, 0.0
    for number in range(1, MOST + 1):
        weighted = weight * scores
        axis = _over(rest.T @ weighted, there.T @ (weighted * scores))
        length = np.linalg.norm(axis)
        if not length:
            return scores * 0.0, axis, Ended(number, True, 0.0, whole)
        axis /= length
        sums, sizes = rest @ axis, there @ (axis * axis)
        fresh = _over(sums, sizes)
        left = whole - float(weight @ (sums * fresh))
        if told is not None:
            told(left)
        size = np.sqrt(float(weight @ fresh**2))
        change = np.sqrt(float(weight @ (fresh - scores) ** 2)) / (size or 1.0)
        scores = fresh
        if is_near(change, before):
            return scores, axis, Ended(number, True, change, left)
        before = change
    return scores, axis, Ended(MOST, False, change, left)


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    """The quotient, zero where nothing is known."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
