"""Dense linear algebra: decompositions, signs of axes, exact sums.

Every factorisation goes through this module, so that fallbacks for routines that fail to converge
and the convention for signs are in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.linalg.threads import one_blas_thread

# Any: arrays are float32 or float64, which is known only at run time, not to the type checker.
FloatArray = NDArray[Any]
# Weights of rows, if any.
Weights = NDArray[np.float64] | None
# Maps vectors (size, m) to a symmetric operator times them, of the same shape.
Operator: TypeAlias = Callable[[FloatArray], FloatArray]
EPS = float(np.finfo(np.float64).eps)

_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
# Upper bound on the sum of any number of values whose squares underflow to zero.
_VANISHING = 1e-150
# Entries of an outer product that are added at a time: 2**15 doubles stay in the cache.
_PANEL = 2**15
# Up to this order, LAPACK is called directly: NumPy's checks take a third of the time.
_SMALL_EIGH = 64
# Rows that are added one by one: in float32 the error stays below one unit, and does not grow with
# the number of rows even if they are equal and all round in the same direction.
_FEW_ROWS = 128
# Entries of an axis whose relative difference from the largest is within this count as ties.
_TIE = 1e-12
# Factorisations up to this order run on one BLAS thread, so that their bits do not depend
# on the number of threads; beyond, a machine with many cores would wait too long.
_REPRODUCIBLE = 2048


def frozen(array: FloatArray) -> FloatArray:
    """Make an array read-only and return it: changing it would change later results."""
    array.flags.writeable = False
    return array


def unmasked(array: object) -> Any:
    """Replace the masked values of a NumPy array by NaN; return any other object unchanged."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    data = np.asarray(np.ma.getdata(array))
    return np.where(array.mask, np.nan, data) if np.ma.is_masked(array) else data


def slices(stop: int, step: int) -> list[slice]:
    """Slices of length ``step``, the last perhaps shorter, that divide 0 to ``stop``."""
    return [slice(at, min(at + step, stop)) for at in range(0, stop, step)]


def part_of(array: FloatArray | None, part: slice) -> FloatArray | None:
    """Slice of an array that may be None."""
    return None if array is None else array[part]


def column_sums(matrix: FloatArray, weights: Weights = None) -> FloatArray:
    """Column sums of a block (m, p), times weights (m,) if given, in float64.

    By BLAS, which takes half the time of ``np.sum``.

    Sums are over a few rows at a time: over thousands, rounding errors would accumulate.
    """
    share = np.ones(len(matrix), matrix.dtype) if weights is None else weights
    if len(matrix) <= _FEW_ROWS:
        sums: FloatArray = share @ matrix
        return sums.astype(np.float64, copy=False)
    whole = len(matrix) // _FEW_ROWS * _FEW_ROWS
    groups = matrix[:whole].reshape(-1, _FEW_ROWS, matrix.shape[1])
    shares = share[:whole].reshape(-1, 1, _FEW_ROWS)
    total: FloatArray = (shares @ groups).sum(axis=(0, 1), dtype=np.float64)
    if whole == len(matrix):
        return total
    return total + column_sums(matrix[whole:], part_of(weights, slice(whole, None)))


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum of two arrays and the exact rounding error of that sum (Knuth 1969)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@np.errstate(all="ignore")  # overflow shows in the sum
def compensated_sum(parts: Iterable[FloatArray]) -> FloatArray:
    """Sum of arrays of equal shape; the rounding errors are accumulated and added at the end."""
    total, errors = np.zeros(()), np.zeros(())
    for part in parts:
        total, error = two_sum(total, part)
        errors = errors + error
    return total + errors


def restore_underflowed(squares: FloatArray, sums: FloatArray) -> FloatArray:
    """Sums of squares (p,), with the smallest double in place of zero where squares underflowed.

    ``sums`` are the sums of the numbers that were squared. For constant columns they are zero or
    the rounding error of the shift.
    """
    if squares.all():
        return squares
    vanished = (squares == 0.0) & (sums != 0.0) & (np.abs(sums) < _VANISHING)
    return np.where(vanished, _SMALLEST, squares) if vanished.any() else squares


def fix_signs(axes: FloatArray) -> FloatArray:
    """Signs (+1 or −1) that make the largest |entry| of each row positive.

    The first of several equal entries decides, as in oneDAL and scikit-learn. Entries that
    differ by rounding count as equal, because the sign of (1, −1)/√2 would otherwise be arbitrary.
    """
    if axes.size == 0:
        return np.ones(len(axes), dtype=axes.dtype)
    # Positive where the largest entry is also the largest in size; only near ties need more work.
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
        with reproducible_blas(len(matrix)):
            values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        # Divide and conquer did not converge; the QR algorithm is slower but more robust.
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
    return values[::-1], vectors.T[::-1]


def eigh_top(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The ``k`` largest eigenvalues, descending, and their eigenvectors as rows."""
    p = len(matrix)
    with reproducible_blas(p), suppress(np.linalg.LinAlgError):
        values, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=(p - k, p - 1), driver="evr", check_finite=False
        )
        if len(values) == k:
            return values[::-1], vectors.T[::-1]
    # If nearly all eigenvalues are equal, LAPACK may return fewer than k, without an error.
    values, vectors = eigh(matrix)
    return values[:k], vectors[:k]


class Tridiagonal(NamedTuple):
    """Tridiagonal form T of a symmetric matrix A = Q T Qᵀ, with Q as Householder reflectors.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    off_diagonal : ndarray of shape (n - 1,)
    reflectors : ndarray of shape (m, n - 1)
        Householder vectors below the diagonal, with a first entry of 1, in Fortran order; rows from
        n − 1 on are unused. LAPACK's dormqr accepts them as Q without its first row and column.
    factors : ndarray of shape (n - 1,)
        Scalar factors of the reflectors.
    """

    diagonal: FloatArray
    off_diagonal: FloatArray
    reflectors: FloatArray
    factors: FloatArray


def tridiagonal(matrix: FloatArray) -> Tridiagonal:
    """Reduce a symmetric float64 matrix (n, n), n > 1, on the current number of BLAS threads."""
    size = int(scipy.linalg.lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    # The transpose is the same matrix, in the memory order that LAPACK accepts without a copy.
    reduced, diagonal, off_diagonal, factors, _ = scipy.linalg.lapack.dsytrd(
        matrix.T, lower=1, lwork=size
    )
    return Tridiagonal(diagonal, off_diagonal, below_diagonal(reduced), factors)


def below_diagonal(matrix: FloatArray) -> FloatArray:
    """View (m, n − 1) of the entries below the diagonal of a matrix (m, n) in Fortran order."""
    m, n = matrix.shape
    return matrix.ravel("K")[1 : 1 + m * (n - 1)].reshape(m, -1, order="F")


def svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thin singular value decomposition ``U, s, Vt``."""
    with reproducible_blas(min(matrix.shape)), suppress(np.linalg.LinAlgError):
        return np.linalg.svd(matrix, full_matrices=False)
    # gesdd may fail where gesvd converges (scikit-learn issue 7113).
    u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u, s, vt


def as_floats(values: object, name: str) -> FloatArray:
    """Values of a parameter as an array of float64; masked values become NaN.

    Raises
    ------
    ParameterError
        If they are not real numbers.
    """
    try:
        if "complex" in str(dtype := getattr(values, "dtype", "")):
            raise TypeError(f"they must be real numbers, got {dtype}")
        array = np.asarray(unmasked(values))
        # NumPy would convert text such as "1", and times.
        objects = array.ravel() if array.dtype.kind == "O" else ()
        if array.dtype.kind in "SUTMmc" or any(isinstance(value, str | bytes) for value in objects):
            raise TypeError("it holds text, times or complex numbers")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, RuntimeError) as error:  # the last one from arrays on a device
        raise ParameterError(
            f"{name} must hold numbers: {error}",
            place={"parameter": name},
            hint="give a number, or an array of numbers",
        ) from None


def binary_exponent(values: FloatArray) -> int:
    """Exponent e for which the largest ``|value|`` / 2ᵉ is in [0.5, 1); 0 if all values are 0."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def squares_over(values: FloatArray, divisor: float) -> FloatArray:
    """``values² / divisor``, rounded once per operation, even if a square alone would overflow."""
    exponent = binary_exponent(values)
    reduced = np.ldexp(values, -exponent)
    return np.ldexp(reduced * reduced / divisor, 2 * exponent)


def qr_r(matrix: FloatArray) -> FloatArray:
    """The factor R of a QR factorisation, with a non-negative diagonal.

    The matrix may be overwritten.
    """
    (r,) = scipy.linalg.qr(matrix, mode="r", overwrite_a=True, check_finite=False)
    r = r[: matrix.shape[1]]
    signs = np.where(np.diagonal(r) < 0, -1.0, 1.0)
    r[: len(signs)] *= signs[:, None]
    # A copy: a view of the first rows would keep the whole matrix in memory.
    return np.array(r, order="C")


def add_outer(matrix: FloatArray, factor: float, vector: FloatArray) -> None:
    """Add ``factor · vector vectorᵀ`` in place, without a temporary of the matrix's size."""
    scaled = factor * vector
    for part in _panels(len(vector)):
        matrix[part] += scaled[part, None] * vector


def added_with_outer(
    one: FloatArray, other: FloatArray, factor: float, vector: FloatArray, *, overwrite: bool
) -> FloatArray:
    """``one + other + factor · vector vectorᵀ`` in one pass; ``overwrite``: into ``other``."""
    total = other if overwrite else np.empty_like(one)
    scaled = factor * vector
    for part in _panels(len(vector)):
        np.add(one[part], other[part], out=total[part])
        total[part] += scaled[part, None] * vector
    return total


def _panels(size: int) -> list[slice]:
    return slices(size, max(1, _PANEL // max(size, 1)))


def reproducible_blas(order: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for a factorisation of this order, unless that takes too long."""
    if _SMALL_EIGH < order <= _REPRODUCIBLE:
        return one_blas_thread()
    return nullcontext()
