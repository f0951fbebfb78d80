"""ROBPCA: principal components of the majority of the rows, robust to outliers.

M. Hubert, P. J. Rousseeuw & K. Vanden Branden, "ROBPCA: a new approach to robust principal
component analysis", Technometrics 47 (2005); with the additional reweighting by orthogonal
distances of Engelen, Hubert & Vanden Branden (2005).

1. Express the rows in coordinates of the space that they span (exact; fewer columns if p > n).
2. Take the h rows that are least outlying over many directions; their covariance gives k axes.
3. Compute the axes again from all rows near the space of those axes.
4. Compute centre and covariance in the new space by the MCD; its axes are the components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from princomp.errors import DataError, NotFiniteError, ShapeError
from princomp.estimators.robust.mcd import LEVEL, fast_mcd, mcd_of_columns
from princomp.linalg import EPS, FloatArray, binary_exponent, svd

# Defaults of the authors: the fraction of variance to keep, and the most components.
_VARIANCE_FRACTION, _MAX_COMPONENTS = 0.8, 10

# Projected values that are computed together.
_CHUNK_NUMBERS = 2**21
# h rows coincide along a direction if their spread is below this fraction of the range of all rows.
_FLAT_RATIO = 1e-12
# Rows more than this many times as far from the medians as the h nearest rows are outliers at any
# distance.
_FAR = 2.0**17
# A smaller total variance has lost digits to underflow.
_MIN_VARIANCE = float(np.finfo(np.float64).tiny)


class Components(NamedTuple):
    """Centre (p,), axes (k, p), variances (k,), total variance, orthogonal cut-off, and h.

    h is the number of rows whose covariance the MCD takes.
    """

    centre: FloatArray
    axes: FloatArray
    variances: FloatArray
    total: float
    cutoff: float
    h: int


def robpca(
    rows: FloatArray,
    n_components: int | float | None,
    *,
    support: float,
    n_directions: int,
    rng: np.random.Generator,
) -> Components:
    """Fit rows (n, p) of float64.

    Parameters
    ----------
    n_components : int, float or None
        Number of components, or fraction of the variance of the h least outlying rows; None for
        80% of it, but at most 10 components.
    support : float
        Fraction of the rows, from 0.5 to 1, that are assumed not to be outliers.
    n_directions : int
        Number of random directions along which outlyingness is measured.

    Raises
    ------
    DataError
        If h rows are identical.
    ShapeError
        If a fraction needs more components than half of the rows can determine.
    NotFiniteError
        If variances overflow or underflow.
    """
    medians = np.median(rows, axis=0)
    centred = rows - medians
    largest = float(np.abs(centred).max())
    max_components = n_components if isinstance(n_components, int) else _MAX_COMPONENTS
    h = _inlier_count(len(rows), min(max_components, *rows.shape), support)
    centred = _pull_in_far_rows(centred, h)
    # Scaled by a power of two, so that squares neither overflow nor underflow.
    exponent = binary_exponent(centred)
    found = _fit_scaled(np.ldexp(centred, -exponent), n_components, support, n_directions, rng)
    with np.errstate(over="ignore"):
        variances = np.ldexp(found.variances, 2 * exponent)
        total = float(np.ldexp(found.total, 2 * exponent))
    if total < min(found.total, _MIN_VARIANCE) or not np.isfinite(total + largest * largest):
        change, hint = "much", "divide the rows by a power of ten, or leave out fill values"
        if largest < 1.0:
            change, hint = "little", "multiply the rows by a power of ten"
        raise NotFiniteError(
            f"the rows differ too {change} to compute variances in float64: the largest deviation "
            f"from a column's median is {largest:.1e}",
            hint=hint,
        )
    centre, cutoff = np.ldexp(found.centre, exponent), float(np.ldexp(found.cutoff, exponent))
    return Components(medians + centre, found.axes, variances, total, cutoff, found.h)


def _inlier_count(n: int, max_components: int, support: float) -> int:
    """Return h of Hubert et al. (2005): enough rows for the MCD of ``max_components``."""
    # 0.57 · 100 is 56.99999999999999 in floating point.
    return min(n, max(int(round(support * n, 9)), (n + max_components + 1) // 2))


def _pull_in_far_rows(centred: FloatArray, h: int) -> FloatArray:
    """Return a copy in which rows that are extremely far from zero are nearer to it.

    They keep their direction, and remain outliers. Farther away, rounding of their large values
    would hide the other rows.
    """
    sizes = np.abs(centred).max(axis=1)
    limit = _FAR * float(np.partition(sizes, h - 1)[h - 1])
    far = sizes > limit
    if not limit or not far.any():
        return centred
    centred = centred.copy()
    centred[far] = centred[far] / sizes[far, None] * limit
    return centred


def _fit_scaled(
    centred: FloatArray,
    n_components: int | float | None,
    support: float,
    n_directions: int,
    rng: np.random.Generator,
) -> Components:
    """Fit rows whose medians are 0 and whose largest number is near 1; see :func:`robpca`."""
    n, tolerance = len(centred), max(centred.shape) * EPS
    # Step 1
    _, singular_values, span = svd(centred)
    rank = int(np.count_nonzero(singular_values > tolerance * singular_values.max(initial=0.0)))
    if not rank:
        raise DataError("all rows are the same: there is no variance", hint="pass rows that differ")
    span = span[:rank]
    coordinates = centred @ span.T
    # Step 2
    max_components = n_components if isinstance(n_components, int) else min(_MAX_COMPONENTS, rank)
    h = _inlier_count(n, max_components, support)
    by_outlyingness = np.argsort(outlyingness(coordinates, h, n_directions, rng), kind="stable")
    is_inlier = np.zeros(n, bool)
    is_inlier[by_outlyingness[:h]] = True
    centre, values, axes = _principal_axes(coordinates[is_inlier])
    if not len(values):
        raise DataError(
            f"{h} of {n} rows are the same, and all others are outliers",
            hint="raise support: support=1.0 uses all rows",
        )
    k = _component_count(values, n_components, n)
    # Step 3, with at least h rows
    distances = _orthogonal_distances(coordinates, centre, axes[:k])
    rounding = float(singular_values[0]) * tolerance
    # If all rows lie in the space, rounding errors must not choose some of them.
    reach = max(_mcd_cutoff(distances, h), float(np.sort(distances)[h - 1]), rounding)
    is_near = distances <= reach
    centre, values, axes = _principal_axes(coordinates[is_near])
    k = min(k, len(values))
    if not k:  # all near rows are the same
        return Components(centre @ span, axes[:0] @ span, values[:0], 0.0, 0.0, h)
    # Step 4. Rows far from the space are left out: projected onto it, they may look like inliers.
    scores = (coordinates - centre) @ axes[:k].T
    mcd_centre, covariance = fast_mcd(scores[is_near], h, rng, np.flatnonzero(is_inlier[is_near]))
    variances, rotation = np.linalg.eigh(covariance)
    variances = np.maximum(variances[::-1], 0.0)
    centre, final_axes = centre + mcd_centre @ axes[:k], rotation.T[::-1] @ axes[:k]
    cutoff = orthogonal_cutoff(_orthogonal_distances(coordinates, centre, final_axes))
    cutoff = max(cutoff, rounding)
    total = float(variances.sum()) + float(values[k:].sum())
    return Components(centre @ span, final_axes @ span, variances, total, cutoff, h)


def _principal_axes(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute centre, variances above rounding, and axes of rows."""
    centre = rows.mean(axis=0)
    _, singular_values, axes = svd(rows - centre)
    kept = singular_values > max(rows.shape) * EPS * singular_values.max(initial=0.0)
    return centre, singular_values[kept] ** 2 / max(len(rows) - 1, 1), axes[kept]


def _component_count(values: FloatArray, n_components: int | float | None, n: int) -> int:
    """Return the number given, or the fewest components with the wanted fraction of variance.

    Raises
    ------
    ShapeError
        If the fraction needs more components than half of the ``n`` rows can determine.
    """
    if isinstance(n_components, int):
        return min(n_components, len(values))
    fraction = _VARIANCE_FRACTION if n_components is None else n_components
    rates = np.cumsum(values) / values.sum()
    k = min(int(np.searchsorted(rates, fraction)) + 1, len(values))
    # The MCD of k columns needs some rows for each.
    if n_components is None:
        return min(k, _MAX_COMPONENTS, max(n // 5, 1))
    if k > (limit := max((n - 1) // 2, 1)):
        raise ShapeError(
            f"n_components={n_components:g} needs {k} components, and half of {n} rows can "
            f"determine at most {limit}",
            place={"parameter": "n_components"},
            hint=f"set n_components to a smaller share, or to {limit} or less; or pass more rows",
        )
    return k


def _orthogonal_distances(rows: FloatArray, centre: FloatArray, axes: FloatArray) -> FloatArray:
    """Compute the distances of rows from the space of the axes."""
    centred = rows - centre
    residual = centred - (centred @ axes.T) @ axes
    return np.asarray(np.linalg.norm(residual, axis=1))


def _mcd_cutoff(distances: FloatArray, h: int) -> float:
    """Compute ``orthogonal_cutoff`` with the MCD's centre and spread in place of median and MAD."""
    centre, spread = mcd_of_columns(distances[:, None] ** (2.0 / 3.0), h)
    return float((centre[0] + stats.norm.ppf(LEVEL) * spread[0]) ** 1.5)


def orthogonal_cutoff(distances: FloatArray) -> float:
    """Compute (m + z s)^{3/2}, with z the 97.5% quantile of the normal distribution.

    m is the median and s the normalised MAD of the distances to the power 2/3, which are
    approximately normal (Box 1954).
    """
    powers = distances ** (2.0 / 3.0)
    median = float(np.median(powers))
    spread = float(np.median(np.abs(powers - median))) / float(stats.norm.ppf(0.75))
    return float((median + stats.norm.ppf(LEVEL) * spread) ** 1.5)


def outlyingness(
    rows: FloatArray, h: int, n_directions: int, rng: np.random.Generator
) -> FloatArray:
    """Compute the Stahel-Donoho outlyingness of rows (n,).

    It is the largest ``|x − centre| / spread`` of a row along directions through pairs of rows,
    with centre and spread by the MCD. If h rows coincide along a direction, it is infinite for
    all rows that do not coincide with them. Stahel (1981), Donoho (1982).
    """
    n = len(rows)
    directions = _directions(rows, n_directions, rng)
    worst = np.zeros(n)
    step = max(1, _CHUNK_NUMBERS // n)
    for start in range(0, len(directions), step):
        projections = rows @ directions[start : start + step].T
        centre, spread = mcd_of_columns(projections, h)
        distances = np.abs(projections - centre)
        extent = np.ptp(projections, axis=0)
        flat = spread <= _FLAT_RATIO * extent
        flat_distances = np.where(distances > _FLAT_RATIO * extent, np.inf, 0.0)
        scaled_distances = np.where(flat, flat_distances, distances / np.where(flat, 1.0, spread))
        np.maximum(worst, scaled_distances.max(axis=1), out=worst)
    return worst


def _directions(rows: FloatArray, n_directions: int, rng: np.random.Generator) -> FloatArray:
    """Unit vectors through all pairs of rows, or through ``n_directions`` random pairs."""
    n = len(rows)
    if n * (n - 1) // 2 <= n_directions:
        first, second = np.triu_indices(n, 1)
    else:
        first = rng.integers(0, n, n_directions)
        second = (first + rng.integers(1, n, n_directions)) % n
    differences = rows[first] - rows[second]
    lengths = np.linalg.norm(differences, axis=1)
    return np.asarray(differences[lengths > 0] / lengths[lengths > 0, None])
