"""ROBPCA: components of most rows, whatever the others do.

M. Hubert, P. J. Rousseeuw & K. Vanden Branden, "ROBPCA: a new approach to robust principal
component analysis", Technometrics 47 (2005); with the additional reweighting by orthogonal
distances of Engelen, Hubert & Vanden Branden (2005).

1. The rows in coordinates of the space that they span: nothing is lost where p > n.
2. The h rows least outlying over many directions; their covariance, and k.
3. All rows near the space of its k first axes make it once more.
4. Centre and covariance of the rows in that space by the MCD; its axes are the components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from princomp.arrays import EPS, FloatArray, svd
from princomp.errors import DataError
from princomp.robust.location import mcd_of_columns
from princomp.robust.mcd import fast_mcd
from princomp.robust.projecting import outlyingness

__all__ = ["Robust", "orthogonal_cutoff", "robpca"]

_LEVEL = 0.975
# What is kept where nobody says how much: as the authors do.
_SHARE, _AT_MOST = 0.8, 10


class Robust(NamedTuple):
    """Centre (p,), axes (k, p), variances (k,), total variance, cut-off of the distance off."""

    centre: FloatArray
    axes: FloatArray
    variances: FloatArray
    total: float
    cutoff: float
    h: int


def robpca(
    rows: FloatArray,
    wanted: int | float | None,
    *,
    support: float,
    directions: int,
    rng: np.random.Generator,
) -> Robust:
    """Fit rows (n, p) of float64.

    Parameters
    ----------
    wanted : int, float or None
        Components; a share of the variance of the inner rows; None for 80%, at most 10.
    support : float
        Share of the rows that are sure to be no outliers, from 0.5 to 1.

    Raises
    ------
    DataError
        Where h rows agree entirely.
    """
    start = np.median(rows, axis=0)
    _, sizes, span = svd(rows - start)
    rank = int(np.count_nonzero(sizes > max(rows.shape) * EPS * sizes.max(initial=0.0)))
    if not rank:
        raise DataError(
            "all rows are the same: there is no variance",
            hint="give rows that differ",
        )
    span = span[:rank]
    inside = (rows - start) @ span.T
    n = len(rows)
    most = wanted if isinstance(wanted, int) else min(_AT_MOST, rank)
    h = min(n, max(int(support * n), (n + most + 1) // 2))
    out = outlyingness(inside, h, directions, rng)
    inner = np.sort(np.argsort(out, kind="stable")[:h])
    centre, values, axes = _decomposed(inside[inner])
    if not len(values):
        raise DataError(
            f"{h} of {n} rows are the same, and the others are outliers beside them",
            hint="a share of the rows nearer to 1 (support=1.0) takes all of them",
        )
    k = _count(values, wanted, n)
    off = _off(inside, centre, axes[:k])
    near = off <= max(_inner_cutoff(off, h), float(np.sort(off)[h - 1]))
    centre, values, axes = _decomposed(inside[near])
    k = min(k, len(values))
    scores = (inside - centre) @ axes[:k].T
    if not k:
        return Robust(start + centre @ span, axes[:0] @ span, values[:0], values.sum(), 0.0, h)
    # Rows off the space stay out: those far from it would seem to lie at its middle.
    found = fast_mcd(scores[near], h, rng, np.flatnonzero(np.isin(np.flatnonzero(near), inner)))
    variances, turn = np.linalg.eigh(found.covariance)
    final = turn.T[::-1] @ axes[:k]
    centre = centre + found.centre @ axes[:k]
    variances = np.maximum(variances[::-1], 0.0)
    left = float(values[k:].sum())
    off = _off(inside, centre, final)
    reach = float(sizes[0]) * EPS * max(rows.shape)
    cutoff = max(orthogonal_cutoff(off), reach)
    total = float(variances.sum()) + left
    return Robust(start + centre @ span, final @ span, variances, total, cutoff, h)


def _decomposed(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre, variances above rounding, and axes of rows."""
    centre = rows.mean(axis=0)
    _, sizes, axes = svd(rows - centre)
    kept = sizes > max(rows.shape) * EPS * sizes.max(initial=0.0)
    return centre, sizes[kept] ** 2 / max(len(rows) - 1, 1), axes[kept]


def _count(values: FloatArray, wanted: int | float | None, n: int) -> int:
    """How many components."""
    if isinstance(wanted, int):
        return min(wanted, len(values))
    share = _SHARE if wanted is None else wanted
    rates = np.cumsum(values) / values.sum()
    k = min(int(np.searchsorted(rates, share)) + 1, len(values))
    # The MCD of k columns wants some rows for each.
    return min(k, _AT_MOST, max(n // 5, 1)) if wanted is None else k


def _off(rows: FloatArray, centre: FloatArray, axes: FloatArray) -> FloatArray:
    away = rows - centre
    away = away - (away @ axes.T) @ axes
    return np.asarray(np.linalg.norm(away, axis=1))


def _inner_cutoff(off: FloatArray, h: int) -> float:
    """The same with centre and spread of the h most alike: up to half may be far off."""
    middle, spread = mcd_of_columns(off[:, None] ** (2.0 / 3.0), h)
    return float((middle[0] + norm.ppf(_LEVEL) * spread[0]) ** 1.5)


def orthogonal_cutoff(off: FloatArray, level: float = _LEVEL) -> float:
    """(m + z s)^{3/2} of distances to the power 2/3, which are near normal (Box 1954).

    m and s are the median and the MAD.
    """
    powers = off ** (2.0 / 3.0)
    middle = float(np.median(powers))
    spread = float(np.median(np.abs(powers - middle))) / float(norm.ppf(0.75))
    return float((middle + norm.ppf(level) * spread) ** 1.5)
