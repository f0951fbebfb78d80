"""Variances by LAPACK: eigenpairs of a scatter, SVD of a triangle.

A scatter becomes tridiagonal once. All its variances come next; they tell how many axes a
rule wants, and only these are computed and turned back: of k ≪ p axes that is half the
work of a decomposition, and a rule for k costs no second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from princomp.arrays import EPS, FloatArray, eigh, reproducible, squares_over, svd
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
]

# How many axes: a number, all, or what a rule says of a Spectrum without axes.
Wanted: TypeAlias = int | Callable[[Spectrum], int] | None
_Count: TypeAlias = int | Callable[[FloatArray], int] | None

# Below this many columns a bound of p·u would be smaller than what sums over rows lose.
_FEW_COLUMNS = 16
# Units by which float32 sums of a few hundred products were off at most, relative to λ₁, of 900
# tables with columns of two or three values: 34, where a fiftieth of a column is 1 and the rest 0.
_ONE_WAY = 40
# From this order on only the wanted axes are computed, whatever their number: k = 10 take 3.1
# instead of 5.4 ms at p = 256, and 59 instead of 150 at 1,000 (one thread). Below it, that
# pays for so small a share of them: at p = 100, 0.45 instead of 0.64 ms for k = 2.
_REDUCED_COLUMNS, _VERY_FEW_AXES = 256, 0.04
# Inverse iteration, which leaves axes orthogonal to 1e-15, takes about 0.3 µs · p an axis.
# All axes by divide and conquer cost as much as 0.1 p of them at p = 100, 0.17 p at 500
# and 0.28 p at 1,000.
_FEW_AXES = 0.125
# LAPACK's drivers bring a matrix into range whose squares would leave it; its parts do not.
_SAFE_POWER = 200
# What dstebz is asked for: eigenvalues by number, in the order that dstein takes.
_BY_NUMBER, _BY_BLOCK = 2, "B"


def roundoff(p: int, unit: float) -> float:
    """Relative error to expect of a spectrum of p columns: about p times the unit roundoff."""
    return max(p, _FEW_COLUMNS) * unit


def roundoff_of_products(p: int, unit: float, total: float, first: float) -> float:
    """The same of a scatter of such a trace and first eigenvalue.

    Entry (i, j) of a sum of products rounded in units u is off by no more than c u √(Sᵢᵢ Sⱼⱼ), so
    the matrix by c u tr S, which is less than p u λ₁ where a few directions stand out. Rounding
    that is all one way, in columns of few different values, comes on top. LAPACK's own error has
    no such bound: in float64 the first one stays.
    """
    if unit > EPS and first > 0.0:
        return (_ONE_WAY + min(p, 2.0 * total / first)) * unit
    return roundoff(p, unit)


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
            return of_small(small, moments.unit, k)
    diagonal = moments.column_scatter
    total = max(float(np.add.reduce(diagonal)), 0.0) / (moments.rows - 1.0)
    if total and np.count_nonzero(diagonal) < moments.p:
        return _without_constant_columns(moments, k, total)

    def told(values: FloatArray, axes: FloatArray) -> Spectrum:
        values = values / (moments.rows - 1.0)
        error = roundoff_of_products(moments.p, moments.unit, total, float(values[0]))
        return Spectrum(_within_rank(values, limit), axes, total, error)

    return told(*_decomposed(moments.scatter, _counting(k, told)))


def of_small(small: SmallSpectrum, unit: float, k: Wanted = None) -> Spectrum:
    """The Spectrum of few columns, whose axes were all found at once."""
    variances, axes, total, away, clipped = small
    error = roundoff_of_products(len(variances), unit, total, variances.item(0))
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
        error = roundoff_of_products(p, moments.unit, total, float(variances[0]))
        return Spectrum(_within_rank(variances, limit), axes, total, error)

    return told(*_decomposed(moments.scatter[np.ix_(live, live)], _counting(k, told)))


def _counting(k: Wanted, told: Callable[[FloatArray, FloatArray], Spectrum]) -> _Count:
    """How many axes, asked of eigenvalues."""
    if not callable(k):
        return k
    return lambda values: k(told(values, np.empty((0, len(values)))))


def _decomposed(matrix: FloatArray, k: _Count) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues, descending, and the wanted eigenvectors as rows."""
    size = len(matrix)
    few = isinstance(k, int) and k <= _VERY_FEW_AXES * size
    if few or (size >= _REDUCED_COLUMNS and k is not None and (callable(k) or k < size)):
        with reproducible(size):
            found = _reduced(matrix, k)
        if found is not None:
            return found
    values, vectors = eigh(matrix)
    return values, vectors[: k(values) if callable(k) else k]


def _reduced(matrix: FloatArray, k: _Count) -> tuple[FloatArray, FloatArray] | None:
    """The same by way of a tridiagonal matrix, or None where a part of LAPACK gives up."""
    power = int(np.frexp(np.maximum.reduce(matrix.diagonal()))[1])
    power = power if abs(power) > _SAFE_POWER else 0
    if power:
        matrix = np.ldexp(matrix, -power)
    size = len(matrix)
    work = int(lapack.dsytrd_lwork(size, lower=1)[0])
    # Its transpose is the same matrix in the order that LAPACK takes without turning it.
    mirrors, diagonal, beside, factors, failed = lapack.dsytrd(matrix.T, lower=1, lwork=work)
    values, unfinished = lapack.dsterf(diagonal, beside)
    if failed or unfinished:
        return None
    values = np.ldexp(values[::-1], power)
    count = k(values) if callable(k) else k
    vectors = _of_tridiagonal(diagonal, beside, size if count is None else min(count, size))
    if vectors is None:
        return None
    if vectors.size:
        # The mirrors stand below the diagonal: the same memory, read from its second row on.
        below = mirrors.ravel("K")[1 : 1 + size * (size - 1)].reshape(size, -1, order="F")
        room = 64 * vectors.shape[1] + 65 * 64  # LAPACK's largest panels, and their triangle
        turned, _, failed = lapack.dormqr("L", "N", below, factors, vectors[1:], room)
        if failed:
            return None
        vectors[1:] = turned
    return values, vectors.T[::-1]


def _of_tridiagonal(diagonal: FloatArray, beside: FloatArray, k: int) -> FloatArray | None:
    """The last ``k`` eigenvectors (size, k) of a tridiagonal matrix, in ascending order."""
    size = len(diagonal)
    if k > _FEW_AXES * size:
        _, vectors, failed = lapack.dstevd(diagonal, beside)
        return None if failed else vectors[:, size - k :]
    if not k:
        return np.empty((size, 0))
    ends = (0.0, 0.0, size - k + 1, size)
    found, values, blocks, splits, failed = lapack.dstebz(
        diagonal, beside, _BY_NUMBER, *ends, 0.0, _BY_BLOCK
    )
    if failed or found != k:
        return None
    vectors, failed = lapack.dstein(diagonal, beside, values[:k], blocks, splits)
    return None if failed else np.asfortranarray(vectors[:, np.argsort(values[:k], kind="stable")])


def solve_triangle(triangle: Triangle, k: Wanted = None) -> Spectrum:
    """Spectrum of a triangle: min(r, p) variances and the first axes.

    The error of a singular value is about ``u σ₁``, where the covariance route's is
    ``u σ₁² / σ``. Parameters are those of :func:`solve_moments`.
    """
    p = triangle.p
    divisor = triangle.rows - 1.0
    _, s, axes = svd(triangle.factor)
    values = squares_over(s, divisor)
    total = float(np.sum(triangle.column_scatter / divisor))
    variances = _within_rank(values, triangle.rank_limit)

    def told(axes: FloatArray) -> Spectrum:
        return Spectrum(variances, axes, total, roundoff(p, EPS), squared=False)

    return told(axes[: k(told(axes[:0])) if callable(k) else k])


def _within_rank(variances: FloatArray, limit: int) -> FloatArray:
    """Beyond the rank that so few rows can have, a variance is zero and not noise."""
    if limit < len(variances):
        # One that came out negative must not stand above these zeros.
        variances = np.maximum(variances, 0.0)
        variances[limit:] = 0.0
    return variances
