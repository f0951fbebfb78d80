"""The minimum covariance determinant of rows of few columns, by FAST-MCD.

P. J. Rousseeuw & K. Van Driessen, "A fast algorithm for the minimum covariance determinant
estimator", Technometrics 41 (1999): from many starts, the h rows nearest to the centre of
the last h, in their metric, until they stay the same. Then rows that lie within the 97.5%
ellipsoid are all used once more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from princomp.arrays import FloatArray
from princomp.robust.location import consistency

__all__ = ["Inner", "fast_mcd"]

_STARTS, _KEPT, _FIRST_STEPS, _MOST_STEPS = 200, 10, 2, 100
_LEVEL = 0.975
# A covariance whose variances differ by more has rows on a plane, to rounding.
_FLAT = 1e-13


class Inner(NamedTuple):
    """Centre (k,), covariance (k, k), and squared distances of all rows (n,)."""

    centre: FloatArray
    covariance: FloatArray
    distances: FloatArray


class _Found(NamedTuple):
    log_volume: float
    chosen: NDArray[np.intp]


def fast_mcd(rows: FloatArray, h: int, rng: np.random.Generator, first: NDArray[np.intp]) -> Inner:
    """The MCD of rows (n, k) over subsets of ``h``, reweighted.

    Parameters
    ----------
    first : ndarray of int
        Rows that seem to be inner ones: one more start.
    """
    n, k = rows.shape
    starts = [first]
    if h < n:
        starts += [rng.permutation(n)[: k + 1] for _ in range(_STARTS)]
    found = [_improved(rows, start, h, _FIRST_STEPS) for start in starts]
    found.sort(key=lambda one: one.log_volume)
    best = min(
        (_improved(rows, one.chosen, h, _MOST_STEPS) for one in found[:_KEPT]),
        key=lambda one: one.log_volume,
    )
    centre, covariance = _of(rows[best.chosen])
    # The raw estimate is made right for normal rows by the share that it is of.
    covariance = covariance * consistency(h / n, k)
    near = _distances(rows, centre, covariance) <= chi2.ppf(_LEVEL, k)
    if np.count_nonzero(near) > k + 1:
        centre, covariance = _of(rows[near])
        if not near.all():
            covariance = covariance * consistency(_LEVEL, k)
    return Inner(centre, covariance, _distances(rows, centre, covariance))


def _improved(rows: FloatArray, chosen: NDArray[np.intp], h: int, most: int) -> _Found:
    """The h rows that concentration ends with, which never enlarges the determinant."""
    volume = np.inf
    for _ in range(most):
        centre, covariance = _of(rows[chosen])
        distances = _distances(rows, centre, covariance)
        fresh = np.sort(np.argpartition(distances, h - 1)[:h])
        values = np.linalg.eigvalsh(_of(rows[fresh])[1])
        floor = _FLAT * max(float(values[-1]), 0.0)
        now = float(np.log(np.maximum(values, floor)).sum()) if floor else -np.inf
        same = len(fresh) == len(chosen) and bool((fresh == chosen).all())
        chosen = fresh
        if same or now >= volume:
            volume = min(now, volume)
            break
        volume = now
    return _Found(volume, chosen)


def _of(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    centre = rows.mean(axis=0)
    away = rows - centre
    return centre, away.T @ away / max(len(rows) - 1, 1)


def _distances(rows: FloatArray, centre: FloatArray, covariance: FloatArray) -> FloatArray:
    """Squared Mahalanobis distances (n,); rows off a flat covariance are far away."""
    values, vectors = np.linalg.eigh(covariance)
    largest = max(float(values[-1]), 0.0)
    scores = (rows - centre) @ vectors
    if not largest:
        return np.einsum("ij,ij->i", scores, scores)
    squares: FloatArray = (scores**2 / np.maximum(values, _FLAT * largest)).sum(axis=1)
    return squares
