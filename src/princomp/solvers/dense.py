"""All variances by LAPACK: ``eigh`` of a scatter, SVD of a triangle."""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh, eigh_top, eigvalsh, squares_over, svd
from princomp.spectrum import Spectrum
from princomp.summaries import Moments, Triangle

__all__ = ["roundoff", "solve_moments", "solve_triangle"]

# Below this many columns a bound of p·u would be smaller than what sums over rows lose.
_FEW_COLUMNS = 16
# Eigenvectors cost about two thirds of a full decomposition; for few of many a subset pays.
_SUBSET = 0.25
_SUBSET_COLUMNS = 256


def roundoff(p: int, unit: float) -> float:
    """Relative error to expect of a spectrum of p columns: about p times the unit roundoff."""
    return max(p, _FEW_COLUMNS) * unit


def solve_moments(moments: Moments, k: int | None = None) -> Spectrum:
    """Spectrum of a scatter: all p variances and the first ``k`` axes (all by default)."""
    diagonal = moments.column_scatter
    total = max(float(np.add.reduce(diagonal)), 0.0) / (moments.rows - 1.0)
    if total and np.minimum.reduce(diagonal) == 0.0:
        return _without_constant_columns(moments, k, total)
    values, axes = _decomposed(moments, k)
    variances = _within_rank(values, moments.rank_limit)
    return Spectrum(variances, axes, total, roundoff(moments.p, moments.unit))


def _decomposed(moments: Moments, k: int | None) -> tuple[FloatArray, FloatArray]:
    """All variances and the first ``k`` axes by eigendecomposition."""
    p = moments.p
    if k is not None and p >= _SUBSET_COLUMNS and 0 < k <= _SUBSET * p:
        values = eigvalsh(moments.scatter)
        axes = eigh_top(moments.scatter, k)[1]
    else:
        values, axes = eigh(moments.scatter)
        axes = axes[:k]
    return values / (moments.rows - 1.0), axes


def _without_constant_columns(moments: Moments, k: int | None, total: float) -> Spectrum:
    """The same with the columns of no scatter left out: their entries of an axis are zero."""
    p, live = moments.p, np.flatnonzero(moments.column_scatter)
    zero = np.zeros(len(live))
    scatter = moments.scatter[np.ix_(live, live)]
    rest = Moments(moments.rows, moments.count, zero, zero, scatter, moments.unit)
    values, inner = _decomposed(rest, k)
    variances, axes = np.zeros(p), np.zeros((len(inner), p))
    variances[: len(live)] = np.maximum(values, 0.0)
    axes[:, live] = inner
    limit = min(moments.rank_limit, len(live))
    return Spectrum(_within_rank(variances, limit), axes, total, roundoff(p, moments.unit))


def solve_triangle(triangle: Triangle, k: int | None = None) -> Spectrum:
    """Spectrum of a triangle: min(r, p) variances and the first ``k`` axes.

    The error of a singular value is about ``u σ₁``, where the covariance route's is
    ``u σ₁² / σ``.
    """
    p = triangle.p
    divisor = triangle.rows - 1.0
    _, s, axes = svd(triangle.factor)
    values = squares_over(s, divisor)
    total = float(np.sum(triangle.column_scatter / divisor))
    variances = _within_rank(values, triangle.rank_limit)
    return Spectrum(variances, axes[:k], total, roundoff(p, EPS), squared=False)


def _within_rank(variances: FloatArray, limit: int) -> FloatArray:
    """Beyond the rank that so few rows can have, a variance is zero and not noise."""
    if limit < len(variances):
        # One that came out negative must not stand above these zeros.
        variances = np.maximum(variances, 0.0)
        variances[limit:] = 0.0
    return variances
