"""Rounding errors of the eigenvalues of a kernel matrix.

They decide which eigenvalues count as zero, which raise an error, and what the certificate claims.
"""

from __future__ import annotations

import warnings

import numpy as np

from princomp.errors import DataError
from princomp.kernel_pca.feature_space.matrix import CentredMatrix
from princomp.linalg import EPS, FloatArray
from princomp.solvers import Spectrum

# Negative eigenvalues beyond this share of the first mean that the matrix is not a kernel matrix.
MAX_NEGATIVE_SHARE = 1e-5
# Eigenvalues below this multiple of `eigenvalue_rounding` are set to zero. Measured errors reached
# about 3 times the bound in sums and 5 times in LAPACK; the rest is a margin.
_ZERO_FACTOR = 40.0
# Variances below this many eps times the first one never count as resolved.
_MIN_ROUNDOFF_UNITS = 10.0
# Negative eigenvalues are allowed up to this many times Σw times the error of an entry: errors of
# entries that are not random may all add up.
_NEGATIVE_FACTOR = 10.0
# Errors of a search, in eps of float64: a constant, and a part for each row. A sum of c equal
# numbers, added one by one, is off by up to 3c/16 eps (see solvers/dense.py); c is about 256 in
# BLAS, and products are merged from stripes of 256 rows.
_SEARCH_UNITS, _SEARCH_UNITS_PER_ROW = 64.0, 3 / 16 / 256


def eigenvalue_rounding(matrix: CentredMatrix, first: float) -> float:
    """Bound the rounding error of an eigenvalue: ε max(λ₁, √n max|Kᵢⱼ|), up to a small factor.

    Entries of K are rounded before centring subtracts their mean. If these errors are random, the
    matrix of errors has a norm of at most ε √n max|Kᵢⱼ| (with weights, ``Centring.error_gain``
    replaces √n). LAPACK and sums round relative to λ₁. Eigenvalues below ``_ZERO_FACTOR`` times
    this bound are zero, with eigh and with Lanczos.
    """
    entries = matrix.sums.max_abs * matrix.centring.error_gain
    return float(np.finfo(matrix.dtype).eps) * max(first, entries)


def zero_rounding(values: FloatArray, matrix: CentredMatrix) -> FloatArray:
    """Set eigenvalues that are rounding to zero."""
    floor = _ZERO_FACTOR * eigenvalue_rounding(matrix, float(values[0]))
    return np.where(values > floor, values, 0.0)


def checked_total(
    values: FloatArray, matrix: CentredMatrix, trace: float, n_components: int | float | None
) -> float:
    """Check that K is positive semi-definite; return the sum of its eigenvalues.

    The sum is the trace, unless the computed eigenvalues ``values`` sum to more than the trace:
    then some of the others are negative. Such matrices are used on purpose, for example those of
    geodesic distances (Isomap). So if ``n_components`` is a number of components, the function only
    warns, and returns the sum of ``values``.

    Raises
    ------
    DataError
        If an eigenvalue is not finite, if one of ``values`` is negative by more than rounding, or
        if others are and ``n_components`` is not an integer.
    """
    if not np.isfinite(values).all():
        raise DataError("the kernel matrix has no finite eigenvalues", hint="check gamma and scale")
    lowest, first = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    others = trace - float(values.sum())
    entries = matrix.entry_error * matrix.sums.max_abs
    allowed = max(
        MAX_NEGATIVE_SHARE * first, _NEGATIVE_FACTOR * matrix.centring.total_weight * entries
    )
    if min(lowest, others) >= -allowed:
        return max(trace, 0.0)
    if lowest < -allowed or not isinstance(n_components, int):
        raise DataError(
            f"There are significant negative eigenvalues ({min(lowest, others):.3g}, and the "
            f"largest is {first:.3g}): the kernel matrix is not positive semi-definite",
            hint="use other parameters or another kernel; kernel='sigmoid' is indefinite for many "
            "values of gamma and coef0",
        )
    warnings.warn(
        "the kernel matrix is not positive semi-definite: the eigenvalues that were not computed "
        f"sum to {others:.3g} (the largest is {first:.3g}). explained_variance_ratio_ is "
        "relative to the sum of the computed ones",
        UserWarning,
        stacklevel=2,
    )
    return float(values.sum())


def spectrum_of(
    values: FloatArray,
    axes: FloatArray,
    residuals: FloatArray,
    matrix: CentredMatrix,
    trace: float,
    missed: float = 0.0,
    *,
    searched: bool = False,
) -> Spectrum:
    """Return the Spectrum of eigenvalues and unit eigenvectors (k, n), with its rounding error.

    Parameters
    ----------
    residuals : ndarray of shape (k,)
        Relative to the first eigenvalue.
    missed : float
        Probability that a larger eigenvalue was missed.
    searched : bool
        Whether a search by products with K found them, instead of LAPACK.
    """
    # If no eigenvalue is kept, the first is at least the mean of all n.
    first = max(float(values[0]) if len(values) else trace / matrix.n, 1e-300)
    minimum = _MIN_ROUNDOFF_UNITS * float(np.finfo(matrix.dtype).eps)
    search = (_SEARCH_UNITS + _SEARCH_UNITS_PER_ROW * matrix.n) * EPS if searched else 0.0
    # If there are g groups of n / g rows with the same rounding errors, the matrix of errors has a
    # norm of about n / √g. K then has about g eigenvalues above rounding, so λ₁ is at least
    # ``trace`` / g, and g is at least ``trace`` / λ₁.
    rate = min(first / trace, 1.0) if trace > 0.0 else 1.0
    shared = matrix.centring.total_weight * float(np.sqrt(rate))
    entries = matrix.entry_error * matrix.sums.max_abs * max(matrix.centring.error_gain, shared)
    largest = max(minimum, search, eigenvalue_rounding(matrix, first) / first, entries / first)
    divisor, roundoff = matrix.centring.divisor, min(largest, 1.0)
    return Spectrum(
        values / divisor, axes, trace / divisor, roundoff, residuals=residuals, missed=missed
    )
