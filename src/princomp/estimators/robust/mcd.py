"""The minimum covariance determinant (MCD): exact for one column, and by FAST-MCD for a few.

P. J. Rousseeuw & A. M. Leroy, "Robust Regression and Outlier Detection" (1987), chapter 4: the h
numbers of least variance are neighbours once sorted.

P. J. Rousseeuw & K. Van Driessen, "A fast algorithm for the minimum covariance determinant
estimator", Technometrics 41 (1999): from many starts, take the h rows with the smallest
Mahalanobis distances by the centre and covariance of the last h rows, until they stay the same.
Then estimate again from all rows within the 97.5% ellipsoid.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from princomp.linalg import EPS, FloatArray

# Share of normal rows within a cut-off.
LEVEL = 0.975
# Random starts, and steps from each; how many of the best are continued, and their most steps.
_STARTS, _FIRST_STEPS, _BEST_STARTS, _MAX_STEPS = 200, 2, 10, 100
# Largest error of the variances of neighbours, relative to the least, and most passes to reach it.
_MAX_LOSS, _MAX_PASSES = 1e-6, 4
# Smaller ratios of variances are rounding: the rows lie on a plane.
_SINGULAR_RATIO = 1e-13


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
    medians = ordered[n // 2].copy()
    ordered -= medians  # sums of squares about zero would cancel
    clipped = ordered
    for _ in range(_MAX_PASSES):
        starts = _starts_of_least_variance(clipped, h)
        subset = ordered[starts + np.arange(h)[:, None], np.arange(values.shape[1])]
        spread = subset.std(axis=0)
        # The squares of numbers far away cancel the digits of the others. The h best neighbours
        # include the median, now 0, and a number at the distance d would add d² / 2h to their
        # variance: none of them is beyond the limit, even if all numbers beyond it are moved there.
        squares = np.maximum(clipped[0] ** 2, clipped[-1] ** 2)
        cancelled = (n * EPS * squares > _MAX_LOSS * spread**2) & (spread > 0.0)
        if not cancelled.any():
            break
        limit = np.where(cancelled, np.sqrt(8.0 * h) * spread, np.inf)
        clipped = np.clip(clipped, -limit, limit)
    return subset.mean(axis=0) + medians, spread * np.sqrt(consistency(h / n, 1))


def _starts_of_least_variance(ordered: FloatArray, h: int) -> NDArray[np.intp]:
    """Find where the h neighbours of least variance begin in each column (m,) of sorted numbers."""
    zero = np.zeros((1, ordered.shape[1]))
    sums = np.concatenate([zero, np.cumsum(ordered, axis=0)])
    squares = np.concatenate([zero, np.cumsum(ordered**2, axis=0)])
    means = (sums[h:] - sums[:-h]) / h
    return ((squares[h:] - squares[:-h]) / h - means**2).argmin(axis=0)


def fast_mcd(
    rows: FloatArray, h: int, rng: np.random.Generator, initial: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Compute the reweighted MCD of rows (n, k) over subsets of ``h``: centre and covariance.

    Parameters
    ----------
    initial : ndarray of int
        Rows that do not seem to be outliers, as an additional start.
    """
    n, k = rows.shape
    starts = [initial]
    if h < n:
        starts += [rng.permutation(n)[: k + 1] for _ in range(_STARTS)]
    candidates = [_concentrate(rows, start, h, _FIRST_STEPS) for start in starts]
    candidates.sort(key=itemgetter(0))
    best = [_concentrate(rows, start, h, _MAX_STEPS) for _, start in candidates[:_BEST_STARTS]]
    _, subset = min(best, key=itemgetter(0))
    centre, covariance = _moments(rows[subset])
    covariance = covariance * consistency(h / n, k)
    is_near = _distances(rows, centre, covariance) <= stats.chi2.ppf(LEVEL, k)
    if np.count_nonzero(is_near) > k + 1:
        centre, covariance = _moments(rows[is_near])
        if not is_near.all():
            covariance = covariance * consistency(LEVEL, k)
    return centre, covariance


def _concentrate(
    rows: FloatArray, subset: NDArray[np.intp], h: int, max_steps: int
) -> tuple[float, NDArray[np.intp]]:
    """Take concentration steps, which never enlarge the determinant; return its log, and h rows."""
    log_volume = np.inf
    for _ in range(max_steps):
        centre, covariance = _moments(rows[subset])
        distances = _distances(rows, centre, covariance)
        new_subset = np.sort(np.argpartition(distances, h - 1)[:h])
        values = np.linalg.eigvalsh(_moments(rows[new_subset])[1])
        floor = _SINGULAR_RATIO * max(float(values[-1]), 0.0)
        new_log_volume = float(np.log(np.maximum(values, floor)).sum()) if floor else -np.inf
        unchanged = len(new_subset) == len(subset) and bool((new_subset == subset).all())
        subset = new_subset
        if unchanged or new_log_volume >= log_volume:
            log_volume = min(new_log_volume, log_volume)
            break
        log_volume = new_log_volume
    return log_volume, subset


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
    return np.asarray((scores**2 / np.maximum(values, _SINGULAR_RATIO * largest)).sum(axis=1))
