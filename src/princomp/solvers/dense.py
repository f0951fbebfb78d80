"""Variances by decomposition: eigenpairs of a scatter, SVD of a triangle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from princomp.arrays import EPS, FloatArray, squares_over, svd
from princomp.eigenpairs import Count, eigenpairs
from princomp.kernels import eigen
from princomp.kernels.eigen import SmallSpectrum
from princomp.spectrum import Spectrum
from princomp.summaries import Moments, Triangle

__all__ = [
    "Wanted",
    "of_small",
    "roundoff",
    "roundoff_of_products",
    "solve_moments",
    "solve_triangle",
    "unit_of",
]

# How many axes: a number, all, or what a rule says of a Spectrum without axes.
Wanted: TypeAlias = int | Callable[[Spectrum], int] | None

# Units that sums over rows lose at worst. Adding c equal numbers one by one rounds all one way, by
# up to 3c/16 units in all: 48 in a chunk of 256 rows, and 16 from there to a block (gram.cpp).
# Blocks of 2²⁰ numbers, or more, are merged one by one, which comes on top.
_SUMMED, _MERGED = 64, 3 / 16 / 2**20
# Units by which float32 sums of a few hundred products were off at most, relative to λ₁, of 900
# tables with columns of two or three values: 34, where a fiftieth of a column is 1 and the rest 0.
_ONE_WAY = 40


def roundoff(p: int, unit: float, rows: int = 0) -> float:
    """Relative error to expect of a spectrum of p columns, and as many rows merged in blocks.

    About p times the unit roundoff, which LAPACK may lose; sums over rows may lose more where
    columns are few.
    """
    return max(float(p), _SUMMED + _MERGED * rows * p) * unit


def roundoff_of_products(p: int, unit: float, total: float, first: float, rows: int) -> float:
    """The same of a scatter of such a trace and first eigenvalue.

    Entry (i, j) of a sum of products rounded in units u is off by no more than c u √(Sᵢᵢ Sⱼⱼ), so
    the matrix by c u tr S, which is less than p u λ₁ where a few directions stand out. Rounding
    that is all one way, in columns of few different values, comes on top. LAPACK's own error has
    no such bound: in float64 :func:`roundoff` holds.
    """
    if unit > EPS and first > 0.0:
        products = (_ONE_WAY + min(p, 2.0 * total / first)) * unit
        return max(products, roundoff(p, EPS, rows))
    return roundoff(p, unit, rows)


def unit_of(error: float) -> float:
    """A unit roundoff of products that promises no less than this relative error."""
    return max(2.0 * EPS, error / _ONE_WAY)


def solve_moments(moments: Moments, k: Wanted = None) -> Spectrum:
    """Spectrum of a scatter: all p variances and the first axes.

    Parameters
    ----------
    moments : Moments
    k : int or callable, optional
        How many axes, or the rule that tells it from a Spectrum of all variances and no
        axes. All by default.
    """
    limit = moments.rank_limit
    if moments.p <= eigen.MOST:
        small = eigen.spectrum(moments.scatter, moments.rows - 1.0, limit)
        if small is not None:
            return of_small(small, moments.effective_unit, moments.count, k)
    diagonal = moments.column_scatter
    total = max(float(np.add.reduce(diagonal)), 0.0) / (moments.rows - 1.0)
    if total and np.count_nonzero(diagonal) < moments.p:
        return _without_constant_columns(moments, k, total)

    def told(values: FloatArray, axes: FloatArray) -> Spectrum:
        values = values / (moments.rows - 1.0)
        error = roundoff_of_products(
            moments.p, moments.effective_unit, total, float(values[0]), moments.count
        )
        return Spectrum(_within_rank(values, limit), axes, total, error)

    return told(*eigenpairs(moments.scatter, _counting(k, told)))


def of_small(small: SmallSpectrum, unit: float, rows: int, k: Wanted = None) -> Spectrum:
    """The Spectrum of few columns, whose axes were all found at once."""
    variances, axes, total, away, clipped = small
    error = roundoff_of_products(len(variances), unit, total, variances.item(0), rows)
    if type(k) is int:
        axes = axes[:k]
    spectrum = Spectrum.measured(variances, axes, total, error, orthogonality=away, clipped=clipped)
    return spectrum.first(k(spectrum)) if callable(k) else spectrum


def _without_constant_columns(moments: Moments, k: Wanted, total: float) -> Spectrum:
    """The same with the columns of no scatter left out: their entries of an axis are zero."""
    p, live = moments.p, np.flatnonzero(moments.column_scatter)
    limit = min(moments.rank_limit, len(live))

    def told(values: FloatArray, inner: FloatArray) -> Spectrum:
        variances, axes = np.zeros(p), np.zeros((len(inner), p))
        variances[: len(live)] = np.maximum(values, 0.0) / (moments.rows - 1.0)
        axes[:, live] = inner
        error = roundoff_of_products(
            p, moments.effective_unit, total, float(variances[0]), moments.count
        )
        return Spectrum(_within_rank(variances, limit), axes, total, error)

    return told(*eigenpairs(moments.scatter[np.ix_(live, live)], _counting(k, told)))


def _counting(k: Wanted, told: Callable[[FloatArray, FloatArray], Spectrum]) -> Count:
    """How many axes, asked of eigenvalues."""
    if not callable(k):
        return k
    return lambda values: k(told(values, np.empty((0, len(values)))))


def solve_triangle(triangle: Triangle, k: Wanted = None) -> Spectrum:
    """Spectrum of a triangle: min(r, p) variances and the first axes.

    The error of a singular value is about ``u σ₁``, where the covariance route's is
    ``u σ₁² / σ``; a factor made from squared rows has the latter. Parameters are those of
    :func:`solve_moments`.
    """
    p = triangle.p
    divisor = triangle.rows - 1.0
    _, s, axes = svd(triangle.factor)
    values = squares_over(s, divisor)
    total = float(np.sum(triangle.column_scatter / divisor))
    variances = _within_rank(values, triangle.rank_limit)

    squared, error = triangle.effective_unit > EPS, roundoff(p, EPS)
    if squared and variances.size:
        unit, first = triangle.effective_unit, float(variances[0])
        error = roundoff_of_products(p, unit, total, first, triangle.count)

    def told(axes: FloatArray) -> Spectrum:
        return Spectrum(variances, axes, total, error, squared=squared)

    return told(axes[: k(told(axes[:0])) if callable(k) else k])


def _within_rank(variances: FloatArray, limit: int) -> FloatArray:
    """Beyond the rank that so few rows can have, a variance is zero and not noise."""
    if limit < len(variances):
        # One that came out negative must not stand above these zeros.
        variances = np.maximum(variances, 0.0)
        variances[limit:] = 0.0
    return variances
