"""Spectra by decomposition: eigenpairs of a scatter, singular values of a triangle.

A symmetric matrix is reduced to tridiagonal form once. Then all its eigenvalues are computed. If k
is a rule, it chooses the number of eigenvectors from them. Only these eigenvectors are computed and
transformed back: for k ≪ p this is half the work of a full decomposition, and a rule for k needs no
second decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from princomp.kernels import LONG_CHUNK_COLUMNS, SmallSpectrum, eigen, tridiagonalise
from princomp.linalg import (
    EPS,
    FloatArray,
    Tridiagonal,
    eigh,
    for_each,
    one_blas_thread,
    reproducible_blas,
    squares_over,
    svd,
    tridiagonal,
)
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import Moments, Triangle

# Number of axes: given, chosen by a rule from a Spectrum without axes, or all.
AxisCount: TypeAlias = int | Callable[[Spectrum], int] | None
# Number of eigenvectors: given, chosen from the eigenvalues, or all.
VectorCount: TypeAlias = int | Callable[[FloatArray], int] | None

# Units of roundoff that sums over rows lose at worst. If c equal numbers are added one by one, all
# roundings may go in the same direction, by up to 3c/16 units in total: 48 units in a chunk of 256
# rows, and 16 from the chunks to a block (gram.cpp). Blocks of at least 2²⁰ numbers are merged one
# by one, which adds _MERGE_UNITS units per number.
_SUM_UNITS, _MERGE_UNITS = 64, 3 / 16 / 2**20
# Bounds for float32 products whose roundings all go in the same direction, in units of roundoff
# relative to λ₁. The largest error of sums of a few hundred products was 34 units over 900 tables
# with columns of two or three values; there, a fiftieth of a column was 1 and the rest 0. For equal
# columns whose products are summed over longer chunks, it was 61.
_ONE_WAY_UNITS, _ONE_WAY_UNITS_LONG = 40, 80
# From order MIN_REDUCED_ORDER on, only the wanted vectors are computed, for any k: k = 10 takes 1.4
# instead of 1.7 ms at p = 160, and 59 instead of 150 ms at p = 1,000 (one thread). Below, this pays
# if k is at most _VERY_FEW_SHARE of p: at p = 100, k = 2 takes 0.45 instead of 0.64 ms.
MIN_REDUCED_ORDER, _VERY_FEW_SHARE = 160, 0.04
# Up to this share of the vectors, inverse iteration is used: it takes about 0.3 µs · p per vector
# and leaves vectors orthogonal to 1e-15. All values and 0.06 p vectors take as long as all vectors
# by divide and conquer at p = 160 and 400, 0.08 p at 1,000 and 0.12 p at 2,000.
_FEW_SHARE = 0.07
# Most vectors that a thread transforms back at a time: 1,656 vectors at p = 2,000 take 245 ms on
# two threads and 370 ms on one.
_VECTORS_PER_TASK = 512
# Matrices with entries beyond 2 to this power, or to its negative, are scaled to keep squares in
# range: LAPACK's drivers do that, but the routines called here do not.
_SAFE_POWER = 200
# Options of dstebz: eigenvalues by number, in the order that dstein expects.
_BY_NUMBER, _BY_BLOCK = 2, "B"
# From this order on, the reduction by several threads is faster than LAPACK's: at 1,000, two
# threads take 0.55 of LAPACK's time, and at 500, 0.85.
MIN_ORDER_FOR_THREADS = 500


def roundoff(p: int, unit: float, rows: int = 0) -> float:
    """Relative error to expect of a spectrum of p columns, with ``rows`` rows merged in blocks.

    About p times the unit roundoff, which LAPACK may lose; sums over rows may lose more if there
    are few columns.
    """
    return max(float(p), _SUM_UNITS + _MERGE_UNITS * rows * p) * unit


def roundoff_of_products(p: int, unit: float, total: float, first: float, rows: int) -> float:
    """Relative error to expect of a scatter with this trace and first eigenvalue.

    The error of entry (i, j) of a sum of products with unit roundoff u is at most c u √(Sᵢᵢ Sⱼⱼ),
    so the error of the matrix is at most c u tr S, which is less than p u λ₁ if a few directions
    dominate. In columns of few different values, roundings may all go in the same direction, which
    adds to that. LAPACK's own error has no such bound: in float64, :func:`roundoff` holds.
    """
    if unit > EPS and first > 0.0:
        one_way = _ONE_WAY_UNITS if p < LONG_CHUNK_COLUMNS else _ONE_WAY_UNITS_LONG
        products = (one_way + min(p, 2.0 * total / first)) * unit
        return max(products, roundoff(p, EPS, rows))
    return roundoff(p, unit, rows)


def roundoff_of_images(p: int, unit: float, rows: int) -> float:
    """Relative error to expect of products AᵀA @ vectors, from sums over up to 2²² numbers.

    Roundings of a sum of equal products may all go in the same direction, as in :data:`_SUM_UNITS`,
    but in float64.
    """
    units = _SUM_UNITS + 3 / 16 * min(rows, 2**22 // p) + _MERGE_UNITS * rows * p
    return max(roundoff(p, unit), units * EPS)


def unit_for_error(error: float) -> float:
    """Return the unit roundoff of products for which to expect at least this relative error."""
    return max(2.0 * EPS, error / _ONE_WAY_UNITS)


def solve_moments(moments: Moments, k: AxisCount = None) -> Spectrum:
    """Compute all p variances and the first axes of a scatter.

    Parameters
    ----------
    moments : Moments
    k : int or callable, optional
        Number of axes, or a rule that chooses it from a Spectrum of all variances and no axes.
        All by default.
    """
    p, divisor, limit = moments.p, moments.rows - 1.0, moments.rank_limit
    if p <= eigen.MAX_SMALL_COLUMNS:
        small = eigen.spectrum(moments.scatter, divisor, limit)
        if small is not None:
            return from_small_spectrum(small, moments.effective_unit, moments.count, k)
    scatter, diagonal = moments.scatter, moments.column_scatter
    total = max(float(np.add.reduce(diagonal)), 0.0) / divisor
    varying: NDArray[np.intp] | None = None
    if total and np.count_nonzero(diagonal) < p:
        # Leave out constant columns: their entries in each axis are exactly zero.
        varying = np.flatnonzero(diagonal)
        scatter, limit = scatter[np.ix_(varying, varying)], min(limit, len(varying))

    def spectrum(values: FloatArray, axes: FloatArray) -> Spectrum:
        if varying is None:
            variances = values / divisor
        else:
            variances, varying_axes, axes = np.zeros(p), axes, np.zeros((len(axes), p))
            variances[: len(varying)] = values / divisor
            axes[:, varying] = varying_axes
        error = roundoff_of_products(
            p, moments.effective_unit, total, float(variances[0]), moments.count
        )
        return Spectrum(within_rank(variances, limit), axes, total, error)

    def count(values: FloatArray) -> int:
        assert callable(k)
        return k(spectrum(values, np.empty((0, len(values)))))

    return spectrum(*eigenpairs(scatter, count if callable(k) else k))


def from_small_spectrum(
    small: SmallSpectrum, unit: float, rows: int, k: AxisCount = None
) -> Spectrum:
    """Return the Spectrum of a table with few columns, for which all axes were computed."""
    variances, axes, total, orthogonality, _ = small
    error = roundoff_of_products(len(variances), unit, total, variances.item(0), rows)
    if type(k) is int:
        axes = axes[:k]
    spectrum = Spectrum.measured(variances, axes, total, error, orthogonality=orthogonality)
    return spectrum.first(k(spectrum)) if callable(k) else spectrum


def solve_triangle(triangle: Triangle, k: AxisCount = None) -> Spectrum:
    """Compute min(r, p) variances and the first axes of a triangle with r rows.

    The error of a singular value is about ``u σ₁``, compared with ``u σ₁² / σ`` on the covariance
    route or for a factor made from a scatter. Parameters are those of :func:`solve_moments`.
    """
    p = triangle.p
    divisor = triangle.rows - 1.0
    _, s, axes = svd(triangle.factor)
    values = squares_over(s, divisor)
    total = float(np.sum(triangle.column_scatter / divisor))
    variances = within_rank(values, triangle.rank_limit)

    unit, error = triangle.unit, roundoff(p, EPS)
    squared = unit > EPS
    if triangle.lost is not None and total > 0.0:
        share = float(triangle.lost.max()) / (float(variances[0]) * divisor)
        # Even a share below EPS may be far above the error of small variances that were never
        # squared.
        unit, squared = max(unit, min(share, 1.0)), squared or share > error**2
    if squared:
        error = roundoff_of_products(p, unit, total, float(variances[0]), triangle.count)

    def spectrum(axes: FloatArray) -> Spectrum:
        return Spectrum(variances, axes, total, error, squared=squared)

    return spectrum(axes[: k(spectrum(axes[:0])) if callable(k) else k])


def within_rank(variances: FloatArray, limit: int) -> FloatArray:
    """Set variances beyond the largest possible rank, ``limit``, to zero: they are only noise."""
    # Variances must descend: no negative one may precede the zeros.
    variances = np.maximum(variances, 0.0)
    variances[limit:] = 0.0
    return variances


def eigenpairs(matrix: FloatArray, k: VectorCount = None) -> tuple[FloatArray, FloatArray]:
    """Compute all eigenvalues, descending, and the wanted eigenvectors as rows.

    Parameters
    ----------
    matrix : ndarray of shape (size, size)
        Symmetric, float64. It is not changed.
    k : int or callable, optional
        Number of eigenvectors, or a rule that chooses it from the eigenvalues. All by default.
    """
    size = len(matrix)
    few = isinstance(k, int) and k <= _VERY_FEW_SHARE * size
    if few or size >= MIN_REDUCED_ORDER:
        with reproducible_blas(size):
            found = _reduced(matrix, k)
        if found is not None:
            return found
    values, vectors = eigh(matrix)
    return values, vectors[: k(values) if callable(k) else k]


def _reduced(matrix: FloatArray, k: VectorCount) -> tuple[FloatArray, FloatArray] | None:
    """Compute :func:`eigenpairs` from the tridiagonal form; None if LAPACK fails."""
    largest = max(matrix.max(), -matrix.min())
    if not np.isfinite(largest):
        return None
    power = int(np.frexp(largest)[1])
    power = power if abs(power) > _SAFE_POWER else 0
    if power:
        matrix = np.ldexp(matrix, -power)
    size = len(matrix)
    reduced = tridiagonalise(matrix) if size >= MIN_ORDER_FOR_THREADS else tridiagonal(matrix)
    diagonal, off_diagonal = reduced.diagonal, reduced.off_diagonal
    if k is None or (isinstance(k, int) and k > _FEW_SHARE * size):
        values, vectors, failed = lapack.dstevd(diagonal, off_diagonal)
        found = None if failed else vectors[:, size - min(k or size, size) :]
    else:
        values, failed = lapack.dsterf(diagonal, off_diagonal)
        if failed:
            return None
        count = k(np.ldexp(values[::-1], power)) if callable(k) else k
        found = _of_tridiagonal(diagonal, off_diagonal, min(count, size))
    if found is None:
        return None
    if found.size:  # the transformation leaves the first entry of each vector as it is
        _transform_back(reduced, found[1:])
    return np.ldexp(values[::-1], power), found.T[::-1]


def _transform_back(reduced: Tridiagonal, vectors: FloatArray) -> None:
    """Transform eigenvectors (size − 1, k) back in place."""
    count = vectors.shape[1]
    step = -(-count // -(-count // _VECTORS_PER_TASK))

    def transform(start: int) -> None:
        some = vectors[:, start : start + step]
        workspace = 64 * some.shape[1] + 65 * 64  # LAPACK's largest panels, and their triangle
        reflectors, factors = reduced.reflectors, reduced.factors
        some[:], _, _ = lapack.dormqr("L", "N", reflectors, factors, some, workspace)

    with one_blas_thread():
        for_each(transform, range(0, count, step), None if count > step else 1)


def _of_tridiagonal(diagonal: FloatArray, off_diagonal: FloatArray, k: int) -> FloatArray | None:
    """Return the last ``k`` eigenvectors (size, k) of a tridiagonal matrix, ascending."""
    size = len(diagonal)
    if k > _FEW_SHARE * size:
        _, vectors, failed = lapack.dstevd(diagonal, off_diagonal)
        return None if failed else vectors[:, size - k :]
    if not k:
        return np.empty((size, 0))
    unused, first, last = 0.0, size - k + 1, size
    found, values, blocks, splits, failed = lapack.dstebz(
        diagonal, off_diagonal, _BY_NUMBER, unused, unused, first, last, 0.0, _BY_BLOCK
    )
    if failed or found != k:
        return None
    vectors, failed = lapack.dstein(diagonal, off_diagonal, values[:k], blocks, splits)
    return None if failed else np.asfortranarray(vectors[:, np.argsort(values[:k], kind="stable")])
