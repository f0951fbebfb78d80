"""Rounding of the eigenvalues of a kernel matrix: what is zero, refused and claimed."""

from __future__ import annotations

import warnings

import numpy as np

from princomp.errors import DataError
from princomp.kernel_pca.feature_space.matrix import Products
from princomp.linalg import EPS, FloatArray
from princomp.solvers import Spectrum

# Negative eigenvalues beyond this share of the first mean that the matrix is not a kernel matrix.
_NEGATIVE = 1e-5
# Errors of sums in a product are about three times those of the entries, and those of LAPACK about
# five units of the first eigenvalue: smaller multiples of the bound are rounding.
_NOTHING = 40.0
# Rounding units of the first eigenvalue below which variances are not resolved; and how many times
# the rounding of an entry, times Σw, negative eigenvalues may reach if errors all add up.
_FEWEST_CLAIMED, _WORST = 10.0, 10.0
# Units of float64's roundoff by which equal products of a search are off where sums round all one
# way, as in solvers/dense.py: up to 3c/16 of the c that BLAS adds one by one, about 256, in each of
# the squared length of a vector, its product and its value; and as much of each stripe's part of a
# product. Rows of two values were off by 196 at most, where LAPACK was off by 5.
_SUMMED, _ADDED = 64.0, 3 / 16 / 256


def rounding_of(matrix: Products, first: float) -> float:
    """Bound the rounding error of an eigenvalue: ε max(λ₁, √n max|Kᵢⱼ|), up to a small factor.

    Entries of K are rounded before centring takes their mean away, and their errors, at random,
    have a norm of at most ε √n of their size (see ``Centring.reach``); LAPACK and sums round
    relative to λ₁. Smaller values than ``_NOTHING`` times this are zero, on either route.
    """
    entries = matrix.spread.largest * matrix.centring.reach
    return float(np.finfo(matrix.dtype).eps) * max(first, entries)


def without_rounding(values: FloatArray, matrix: Products) -> FloatArray:
    """Set eigenvalues that are rounding to zero."""
    floor = _NOTHING * rounding_of(matrix, float(values[0]))
    return np.where(values > floor, values, 0.0)


def unit_of(matrix: Products) -> float:
    """Power of two that makes the entries of K about 1, so that their squares have a range."""
    exponent = np.frexp(matrix.spread.largest)[1]
    return float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))


def checked_trace(
    values: FloatArray, matrix: Products, trace: float, wanted: int | float | None
) -> float:
    """Return the trace, the sum of all eigenvalues, after checking those computed, ``values``.

    If these exceed the trace, others are negative. Such matrices are used on purpose, for example
    those of geodesic distances (Isomap): a number of components is computed with a warning, and
    their sum is returned.

    Raises
    ------
    DataError
        If one of ``values`` is negative, or if others are and a share of the trace is ``wanted``.
    """
    if not np.isfinite(values).all():
        raise DataError("the kernel matrix has no finite eigenvalues", hint="check gamma and scale")
    lowest, first = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    others = trace - float(values.sum())
    # Errors of entries that are not random may all add up.
    entries = matrix.entry_error * matrix.spread.largest
    allowed = max(_NEGATIVE * first, _WORST * matrix.centring.count * entries)
    if min(lowest, others) >= -allowed:
        return max(trace, 0.0)
    if lowest < -allowed or not isinstance(wanted, int):
        raise DataError(
            f"There are significant negative eigenvalues ({min(lowest, others):.3g}, and the "
            f"largest is {first:.3g}): the kernel matrix is not positive semi-definite",
            hint="use other parameters, or another kernel: 'sigmoid' is indefinite for many",
        )
    warnings.warn(
        "the kernel matrix is not positive semi-definite: the eigenvalues beyond those computed "
        f"sum to {others:.3g}, where the largest is {first:.3g}. explained_variance_ratio_ is a "
        "share of the computed ones",
        UserWarning,
        stacklevel=2,
    )
    return float(values.sum())


def spectrum_of(
    values: FloatArray,
    axes: FloatArray,
    residuals: FloatArray,
    matrix: Products,
    trace: float,
    missed: float = 0.0,
    *,
    searched: bool = False,
) -> Spectrum:
    """Return the Spectrum of eigenvalues and unit eigenvectors (k, n), with what may be claimed."""
    divisor = matrix.centring.divisor
    first = max(float(values[0]), 1e-300) if len(values) else 1.0
    least = _FEWEST_CLAIMED * float(np.finfo(matrix.dtype).eps)
    summed = (_SUMMED + _ADDED * matrix.n) * EPS if searched else 0.0
    entries = matrix.entry_error * matrix.spread.largest * _common_reach(matrix, first, trace)
    roundoff = max(least, summed, rounding_of(matrix, first) / first, entries / first)
    return Spectrum(
        values / divisor,
        axes,
        trace / divisor,
        min(roundoff, 1.0),
        residuals=residuals,
        missed=missed,
    )


def _common_reach(matrix: Products, first: float, trace: float) -> float:
    """Change of an eigenvalue by errors of size 1 in the entries of K that near rows share.

    Rows near each other round alike. The errors of g groups of n / g such rows have a norm of about
    n / √g, and the first of their at most g eigenvalues is at least the trace over g. So g is at
    least the trace over the first eigenvalue.
    """
    share = min(first / trace, 1.0) if trace > 0.0 else 1.0
    return max(matrix.centring.reach, matrix.centring.count * float(np.sqrt(share)))
