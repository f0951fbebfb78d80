"""The minimum covariance determinant (MCD): exact for one column, FAST-MCD for a few columns.

P. J. Rousseeuw & A. M. Leroy, "Robust Regression and Outlier Detection" (1987), chapter 4: the h
numbers of least variance are neighbours once sorted.

P. J. Rousseeuw & K. Van Driessen, "A fast algorithm for the minimum covariance determinant
estimator", Technometrics 41 (1999): from many starts, take the h rows with the smallest
Mahalanobis distances by the centre and covariance of the last h rows, until they stay the same.
Then estimate again from all rows within the 97.5% ellipsoid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from princomp.linalg import FloatArray

_STARTS, _KEPT, _FIRST_STEPS, _MOST_STEPS = 200, 10, 2, 100
_LEVEL = 0.975
# Smaller ratios of variances are rounding: the rows lie on a plane.
_FLAT = 1e-13


def consistency(share: float, k: int) -> float:
    """Compute the factor that makes the scatter of the innermost share of normal rows consistent.

    Croux & Haesbroeck (1999): share / P(χ²ₖ₊₂ ≤ q) with q the quantile of χ²ₖ at the share.
    """
    if share >= 1.0:
        return 1.0
    return float(share / stats.chi2.cdf(stats.chi2.ppf(share, k), k + 2))


def mcd_of_columns(values: FloatArray, h: int) -> tuple[FloatArray, FloatArray]:
    """Compute centre and deviation of each column (m,) of ``values`` (n, m) by the exact MCD."""
    n = len(values)
    ordered = np.sort(values, axis=0)
    middle = ordered[n // 2].copy()
    ordered -= middle  # sums of squares about zero would cancel
    zero = np.zeros((1, values.shape[1]))
    sums = np.concatenate([zero, np.cumsum(ordered, axis=0)])
    squares = np.concatenate([zero, np.cumsum(ordered**2, axis=0)])
    means = (sums[h:] - sums[:-h]) / h
    variances = (squares[h:] - squares[:-h]) / h - means**2
    first = variances.argmin(axis=0)
    column = np.arange(values.shape[1])
    best = ordered[first[None, :] + np.arange(h)[:, None], column]
    centre = best.mean(axis=0)
    deviation = best.std(axis=0) * np.sqrt(consistency(h / n, 1))
    return centre + middle, deviation


class Estimate(NamedTuple):
    """Centre (k,), covariance (k, k), and squared distances of all rows (n,)."""

    centre: FloatArray
    covariance: FloatArray
    distances: FloatArray


class _Found(NamedTuple):
    log_volume: float
    chosen: NDArray[np.intp]


def fast_mcd(
    rows: FloatArray, h: int, rng: np.random.Generator, first: NDArray[np.intp]
) -> Estimate:
    """Compute the reweighted MCD of rows (n, k) over subsets of ``h``.

    Parameters
    ----------
    first : ndarray of int
        Rows that do not seem to be outliers, as an additional start.
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
    centre, covariance = _moments(rows[best.chosen])
    covariance = covariance * consistency(h / n, k)
    near = _distances(rows, centre, covariance) <= stats.chi2.ppf(_LEVEL, k)
    if np.count_nonzero(near) > k + 1:
        centre, covariance = _moments(rows[near])
        if not near.all():
            covariance = covariance * consistency(_LEVEL, k)
    return Estimate(centre, covariance, _distances(rows, centre, covariance))


def _improved(rows: FloatArray, chosen: NDArray[np.intp], h: int, most: int) -> _Found:
    """Take concentration steps, which never enlarge the determinant."""
    volume = np.inf
    for _ in range(most):
        centre, covariance = _moments(rows[chosen])
        distances = _distances(rows, centre, covariance)
        fresh = np.sort(np.argpartition(distances, h - 1)[:h])
        values = np.linalg.eigvalsh(_moments(rows[fresh])[1])
        floor = _FLAT * max(float(values[-1]), 0.0)
        now = float(np.log(np.maximum(values, floor)).sum()) if floor else -np.inf
        same = len(fresh) == len(chosen) and bool((fresh == chosen).all())
        chosen = fresh
        if same or now >= volume:
            volume = min(now, volume)
            break
        volume = now
    return _Found(volume, chosen)


def _moments(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute mean and covariance."""
    centre = rows.mean(axis=0)
    centred = rows - centre
    return centre, centred.T @ centred / max(len(rows) - 1, 1)


def _distances(rows: FloatArray, centre: FloatArray, covariance: FloatArray) -> FloatArray:
    """Compute squared Mahalanobis distances (n,), huge off the plane of a singular covariance."""
    values, vectors = np.linalg.eigh(covariance)
    largest = max(float(values[-1]), 0.0)
    scores = (rows - centre) @ vectors
    if not largest:
        return np.einsum("ij,ij->i", scores, scores)
    squares: FloatArray = (scores**2 / np.maximum(values, _FLAT * largest)).sum(axis=1)
    return squares
