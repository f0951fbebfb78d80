"""ROBPCA: components of most rows, unaffected by the others.

M. Hubert, P. J. Rousseeuw & K. Vanden Branden, "ROBPCA: a new approach to robust principal
component analysis", Technometrics 47 (2005); with the additional reweighting by orthogonal
distances of Engelen, Hubert & Vanden Branden (2005).

1. Express the rows in coordinates of the space that they span: nothing is lost if p > n.
2. Take the h rows least outlying over many directions; their covariance gives k axes.
3. Compute the axes again from all rows near their space.
4. Compute centre and covariance in that space by the MCD; its axes are the components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from princomp.errors import DataError, NotFiniteError
from princomp.estimators.robust.mcd import fast_mcd, mcd_of_columns
from princomp.linalg import EPS, FloatArray, binary_exponent, svd

_LEVEL = 0.975
# Defaults of the authors: the share of variance that is kept, and the most components.
_SHARE, _AT_MOST = 0.8, 10

# Numbers in the projections that are computed together.
_NUMBERS = 2**21
# Most rows agree along a direction if their deviation is below this share of the extent.
_FLAT = 1e-12
# A smaller total variance has lost digits to underflow.
_LEAST = float(np.finfo(np.float64).tiny)


class Components(NamedTuple):
    """Centre (p,), axes (k, p), variances (k,), total variance, orthogonal cut-off, and h."""

    centre: FloatArray
    axes: FloatArray
    variances: FloatArray
    total: float
    cutoff: float
    h: int

    def times_power(self, exponent: int) -> Components:
        """Return the components of the rows times 2 to the power of ``exponent``."""
        centre, cutoff = np.ldexp(self.centre, exponent), float(np.ldexp(self.cutoff, exponent))
        with np.errstate(over="ignore"):
            variances = np.ldexp(self.variances, 2 * exponent)
            total = float(np.ldexp(self.total, 2 * exponent))
        return Components(centre, self.axes, variances, total, cutoff, self.h)


def robpca(
    rows: FloatArray,
    wanted: int | float | None,
    *,
    support: float,
    directions: int,
    rng: np.random.Generator,
) -> Components:
    """Fit rows (n, p) of float64.

    Parameters
    ----------
    wanted : int, float or None
        Number of components; a share of the variance of the inner rows; None for 80%, at most
        10 components.
    support : float
        Share of the rows that are surely no outliers, from 0.5 to 1.

    Raises
    ------
    DataError
        If h rows agree entirely.
    NotFiniteError
        If variances overflow or underflow.
    """
    start = np.median(rows, axis=0)
    about = rows - start
    # Rows of any size take the same steps, whose squares neither overflow nor underflow.
    exponent = binary_exponent(about)
    found = _of_centred(np.ldexp(about, -exponent), wanted, support, directions, rng)
    scaled = found.times_power(exponent)
    if scaled.total < min(found.total, _LEAST) or not np.isfinite(scaled.total):
        much, way = ("small", "multiply") if exponent < 0 else ("large", "divide")
        raise NotFiniteError(
            f"the deviations of the rows are too {much} for variances in float64: the largest from "
            f"a median is {np.abs(about).max():.1e}",
            hint=f"{way} the rows by a power of ten, such as 1e150",
        )
    return scaled._replace(centre=start + scaled.centre)


def _of_centred(
    about: FloatArray,
    wanted: int | float | None,
    support: float,
    directions: int,
    rng: np.random.Generator,
) -> Components:
    """Fit rows about their medians, the largest number near one; see :func:`robpca`."""
    _, sizes, span = svd(about)
    rank = int(np.count_nonzero(sizes > max(about.shape) * EPS * sizes.max(initial=0.0)))
    if not rank:
        raise DataError(
            "all rows are the same: there is no variance",
            hint="pass rows that differ",
        )
    span = span[:rank]
    inside = about @ span.T
    n = len(about)
    most = wanted if isinstance(wanted, int) else min(_AT_MOST, rank)
    h = min(n, max(int(support * n), (n + most + 1) // 2))
    out = outlyingness(inside, h, directions, rng)
    inner = np.sort(np.argsort(out, kind="stable")[:h])
    centre, values, axes = _decomposed(inside[inner])
    if not len(values):
        raise DataError(
            f"{h} of {n} rows are the same, and all others are outliers",
            hint="raise support: with support=1.0 all rows count",
        )
    k = _count(values, wanted, n)
    off = _off(inside, centre, axes[:k])
    near = off <= max(_inner_cutoff(off, h), float(np.sort(off)[h - 1]))
    centre, values, axes = _decomposed(inside[near])
    k = min(k, len(values))
    scores = (inside - centre) @ axes[:k].T
    if not k:
        return Components(centre @ span, axes[:0] @ span, values[:0], values.sum(), 0.0, h)
    # Rows off the space are left out: their projections may lie near its centre.
    found = fast_mcd(scores[near], h, rng, np.flatnonzero(np.isin(np.flatnonzero(near), inner)))
    variances, turn = np.linalg.eigh(found.covariance)
    final = turn.T[::-1] @ axes[:k]
    centre = centre + found.centre @ axes[:k]
    variances = np.maximum(variances[::-1], 0.0)
    left = float(values[k:].sum())
    off = _off(inside, centre, final)
    reach = float(sizes[0]) * EPS * max(about.shape)
    cutoff = max(orthogonal_cutoff(off), reach)
    total = float(variances.sum()) + left
    return Components(centre @ span, final @ span, variances, total, cutoff, h)


def _decomposed(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute centre, variances above rounding, and axes of rows."""
    centre = rows.mean(axis=0)
    _, sizes, axes = svd(rows - centre)
    kept = sizes > max(rows.shape) * EPS * sizes.max(initial=0.0)
    return centre, sizes[kept] ** 2 / max(len(rows) - 1, 1), axes[kept]


def _count(values: FloatArray, wanted: int | float | None, n: int) -> int:
    """Choose the number of components."""
    if isinstance(wanted, int):
        return min(wanted, len(values))
    share = _SHARE if wanted is None else wanted
    rates = np.cumsum(values) / values.sum()
    k = min(int(np.searchsorted(rates, share)) + 1, len(values))
    # The MCD of k columns needs some rows for each.
    return min(k, _AT_MOST, max(n // 5, 1)) if wanted is None else k


def _off(rows: FloatArray, centre: FloatArray, axes: FloatArray) -> FloatArray:
    """Compute the distances of rows from the space of the axes."""
    centred = rows - centre
    residual = centred - (centred @ axes.T) @ axes
    return np.asarray(np.linalg.norm(residual, axis=1))


def _inner_cutoff(off: FloatArray, h: int) -> float:
    """Compute ``orthogonal_cutoff`` from centre and spread of the h most similar distances."""
    middle, spread = mcd_of_columns(off[:, None] ** (2.0 / 3.0), h)
    return float((middle[0] + stats.norm.ppf(_LEVEL) * spread[0]) ** 1.5)


def orthogonal_cutoff(off: FloatArray) -> float:
    """Compute (m + z s)^{3/2}, with m and s the median and the MAD of distances to the power 2/3.

    These are nearly normal (Box 1954).
    """
    powers = off ** (2.0 / 3.0)
    middle = float(np.median(powers))
    spread = float(np.median(np.abs(powers - middle))) / float(stats.norm.ppf(0.75))
    return float((middle + stats.norm.ppf(_LEVEL) * spread) ** 1.5)


def outlyingness(rows: FloatArray, h: int, directions: int, rng: np.random.Generator) -> FloatArray:
    """Compute the largest robust z of each row (n,) over directions through two rows.

    Stahel (1981), Donoho (1982). If h rows agree entirely along a direction, the others are
    infinitely far out.
    """
    n = len(rows)
    pairs = n * (n - 1) // 2
    if pairs <= directions:
        one, other = np.triu_indices(n, 1)
    else:
        one = rng.integers(0, n, directions)
        other = (one + rng.integers(1, n, directions)) % n
    through = rows[one] - rows[other]
    lengths = np.linalg.norm(through, axis=1)
    through = through[lengths > 0] / lengths[lengths > 0, None]
    worst = np.zeros(n)
    step = max(1, _NUMBERS // n)
    for start in range(0, len(through), step):
        along = rows @ through[start : start + step].T
        centre, deviation = mcd_of_columns(along, h)
        distances = np.abs(along - centre)
        extent = np.ptp(along, axis=0)
        flat = deviation <= _FLAT * extent
        size = np.where(flat, 1.0, deviation)
        out = np.where(flat, np.where(distances > _FLAT * extent, np.inf, 0.0), distances / size)
        np.maximum(worst, out.max(axis=1), out=worst)
    return worst
