"""Dense linear algebra: decompositions, signs of axes, exact sums.

Every factorisation goes through this module, so that fallbacks for routines that fail to converge
and the convention for signs are in one place.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from princomp.linalg.threads import one_blas_thread

# Any: an array's precision is data here, float32 or float64, not a matter of its type.
FloatArray = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)

_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
# Sums of numbers whose squares are zero, however many, are smaller than this.
_VANISHING = 1e-150
# Numbers of an outer product that are added at a time: 2**15 doubles stay in the cache.
_PANEL = 2**15
# Up to this order NumPy's checks cost a third of the decomposition: LAPACK is called directly.
_SMALL_EIGH = 64
# Rows that are added one by one: in float32 the error stays below one unit, and where equal numbers
# round all one way, it does not grow with the number of rows.
_FEW_ROWS = 128
# Entries of an axis within this share of the largest count as ties.
_TIE = 1e-12
# Factorisations up to this order run on one BLAS thread, so that their bits do not depend
# on the number of threads; beyond, a machine with many cores would wait too long.
_REPRODUCIBLE = 2048


def frozen(array: FloatArray) -> FloatArray:
    """Make an array read-only and return it: changing it would change later results."""
    array.flags.writeable = False
    return array


@lru_cache(maxsize=32)
def _ones(size: int, dtype: np.dtype[Any]) -> FloatArray:
    return np.ones(size, dtype=dtype)


def column_sums(matrix: FloatArray) -> FloatArray:
    """Sums of the columns of a block in float64, by BLAS: half the time of a reduction.

    It takes a few rows at a time: over thousands their sums would drift.
    """
    if len(matrix) <= _FEW_ROWS:
        sums: FloatArray = _ones(len(matrix), matrix.dtype) @ matrix
        return sums.astype(np.float64, copy=False)
    whole = len(matrix) // _FEW_ROWS * _FEW_ROWS
    groups = matrix[:whole].reshape(-1, _FEW_ROWS, matrix.shape[1])
    total: FloatArray = (_ones(_FEW_ROWS, matrix.dtype) @ groups).sum(axis=0, dtype=np.float64)
    return total if whole == len(matrix) else total + column_sums(matrix[whole:])


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum of two arrays and the rounding error of that sum, exactly (Knuth 1969)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@np.errstate(all="ignore")  # what overflows shows in the sum
def compensated_sum(parts: Iterable[FloatArray]) -> FloatArray:
    """Sum of arrays of one shape, with the rounding errors of the additions added at the end."""
    total, lost = np.zeros(()), np.zeros(())
    for part in parts:
        total, error = two_sum(total, part)
        lost = lost + error
    summed: FloatArray = total + lost
    return summed


def not_vanished(squares: FloatArray, sums: FloatArray) -> FloatArray:
    """Sums of squares (p,), with the smallest number in place of zero where squares underflowed.

    ``sums`` are those of the numbers that were squared; those of constant columns are zero or
    rounding of the shift.
    """
    if squares.all():
        return squares
    vanished = (squares == 0.0) & (sums != 0.0) & (np.abs(sums) < _VANISHING)
    return np.where(vanished, _SMALLEST, squares) if vanished.any() else squares


def fix_signs(axes: FloatArray) -> FloatArray:
    """Signs (+1 or −1) that make the largest |entry| of each row positive.

    The first of several equal entries decides, as in oneDAL and scikit-learn. Entries that
    differ by rounding count as equal, or the sign of (1, −1)/√2 would be arbitrary.
    """
    if axes.size == 0:
        return np.ones(len(axes), dtype=axes.dtype)
    # Positive where the largest entry outweighs the smallest; only a near tie needs a look.
    balance = np.maximum.reduce(axes, axis=1) + np.minimum.reduce(axes, axis=1)
    if np.minimum.reduce(np.abs(balance)) > _TIE:
        return np.copysign(1.0, balance, dtype=axes.dtype)
    sizes = np.abs(axes)
    first = (sizes >= (1.0 - _TIE) * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
    return np.copysign(1.0, axes[np.arange(len(axes)), first], dtype=axes.dtype)


def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues of a symmetric matrix, descending, and the eigenvectors as rows."""
    if len(matrix) <= _SMALL_EIGH:
        values, vectors, failed = scipy.linalg.lapack.dsyevd(matrix, lower=1)
        if not failed:
            return values[::-1], vectors.T[::-1]
    try:
        with reproducible(len(matrix)):
            values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        # Divide and conquer gave up; the QR algorithm is slower and does not.
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
    return values[::-1], vectors.T[::-1]


def eigh_top(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The ``k`` largest eigenvalues, descending, and their eigenvectors as rows."""
    p = len(matrix)
    with reproducible(p):
        values, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=(p - k, p - 1), driver="evr", check_finite=False
        )
    return values[::-1], vectors.T[::-1]


class Tridiagonal(NamedTuple):
    """T of a symmetric matrix A = Q T Qᵀ.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    off_diagonal : ndarray of shape (n - 1,)
    reflectors : ndarray of shape (n, n - 1)
        In Fortran order: Householder vectors below the diagonal, whose first entry is 1; the last
        row is unused. LAPACK's dormqr takes them for Q without its first row and column.
    factors : ndarray of shape (n - 1,)
        Scalar factors of the reflectors.
    """

    diagonal: FloatArray
    off_diagonal: FloatArray
    reflectors: FloatArray
    factors: FloatArray


def tridiagonal(matrix: FloatArray) -> Tridiagonal | None:
    """Reduce a symmetric matrix (n, n) of float64, n > 1; None where LAPACK fails.

    It runs on as many threads as BLAS has now.
    """
    size = int(scipy.linalg.lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    # The transpose is the same matrix, in the order that LAPACK takes without a copy.
    reduced, diagonal, off_diagonal, factors, failed = scipy.linalg.lapack.dsytrd(
        matrix.T, lower=1, lwork=size
    )
    if failed:
        return None
    return Tridiagonal(diagonal, off_diagonal, below_diagonal(reduced), factors)


def below_diagonal(matrix: FloatArray) -> FloatArray:
    """View (n, n − 1) of what is below the diagonal of a matrix in Fortran order."""
    n = len(matrix)
    return matrix.ravel("K")[1 : 1 + n * (n - 1)].reshape(n, -1, order="F")


def svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thin singular value decomposition ``U, s, Vt``."""
    try:
        with reproducible(min(matrix.shape)):
            u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        # gesdd may fail where gesvd converges (scikit-learn issue 7113).
        u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u, s, vt


def binary_exponent(values: FloatArray) -> int:
    """Exponent e for which the largest ``|value|`` / 2ᵉ is in [0.5, 1); 0 where all are 0."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def squares_over(values: FloatArray, divisor: float) -> FloatArray:
    """``values² / divisor`` with one rounding each, where a square alone may overflow."""
    exponent = binary_exponent(values)
    reduced = np.ldexp(values, -exponent)
    return np.ldexp(reduced * reduced / divisor, 2 * exponent)


def qr_r(matrix: FloatArray) -> FloatArray:
    """The triangle of a QR factorisation, its diagonal made non-negative.

    The matrix may be overwritten.
    """
    (r,) = scipy.linalg.qr(matrix, mode="r", overwrite_a=True, check_finite=False)
    r = r[: matrix.shape[1]]
    signs = np.where(np.diagonal(r) < 0, -1.0, 1.0)
    r[: len(signs)] *= signs[:, None]
    # A copy: a view of its first rows would keep all of the matrix alive.
    return np.array(r, order="C")


def add_outer(matrix: FloatArray, factor: float, vector: FloatArray) -> None:
    """Add ``factor · vector vectorᵀ`` in place, without a temporary of the matrix's size."""
    size = len(vector)
    if size * size <= _PANEL:
        matrix += (factor * vector)[:, None] * vector
        return
    panel = max(1, _PANEL // max(size, 1))
    scaled = factor * vector
    for start in range(0, size, panel):
        stop = start + panel
        matrix[start:stop] += scaled[start:stop, None] * vector


def added_with_outer(
    one: FloatArray, other: FloatArray, factor: float, vector: FloatArray, *, overwrite: bool
) -> FloatArray:
    """``one + other + factor · vector vectorᵀ`` in one pass; ``overwrite``: into ``other``."""
    size = len(vector)
    total = other if overwrite else np.empty_like(one)
    panel = max(1, _PANEL // max(size, 1))
    scaled = factor * vector
    for start in range(0, size, panel):
        part = slice(start, start + panel)
        np.add(one[part], other[part], out=total[part])
        total[part] += scaled[part, None] * vector
    return total


def divided(matrix: FloatArray, divisor: FloatArray) -> FloatArray:
    """``D⁻¹ matrix D⁻¹`` for the diagonal matrix D of the divisors."""
    # One division after the other: their product could overflow or vanish.
    return matrix / divisor[:, None] / divisor


def reproducible(order: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for a factorisation of this order, unless that takes too long."""
    if _SMALL_EIGH < order <= _REPRODUCIBLE:
        return one_blas_thread()
    return nullcontext()
