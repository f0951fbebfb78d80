"""The only door to dense linear algebra, and the one rule for signs.

Everything that factorises a matrix comes through here, so that a routine that
fails to converge, a sign convention or another array library is a matter of
this file alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, lru_cache
from sys import getrefcount
from threading import Lock, local
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

__all__ = [
    "EPS",
    "FILL",
    "LINE",
    "FloatArray",
    "add_outer",
    "added_with_outer",
    "aligned",
    "column_sums",
    "divided",
    "eigh",
    "eigh_top",
    "empty",
    "fix_signs",
    "frozen",
    "not_vanished",
    "one_blas_thread",
    "qr_r",
    "reproducible",
    "scratch",
    "squares_over",
    "svd",
    "two_sum",
    "unwritten",
]

# Any: an array's precision is data here, float32 or float64, not a matter of its type.
FloatArray = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)

_SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
# Sums of numbers whose squares are zero, however many, are smaller than this.
_VANISHING = 1e-150
# Bytes of a cache line.
LINE = 64
# Rows of an outer product that are added at a time: 2**15 doubles stay in the cache.
_PANEL = 2**15
# Up to this order NumPy's checks cost a third of the decomposition: LAPACK is called directly.
_SMALL_EIGH = 64
# Rows that are added one by one: of float32 the error stays below one unit, and where equal numbers
# round all one way, it does not grow with the number of rows.
_FEW_ROWS = 128
# Arrays of scratch: smaller ones are allocated quickly enough, larger ones are not kept by
# default, and two of a name are kept: one may still be read while the next is written.
_FEW_BYTES, _SCRATCH, _KEPT = 2**16, 2**24, 2
_of_thread = local()
# For tests: whether new and reused memory is filled with NaN, and integers with this byte, so that
# what is read before it was written shows in the results.
FILL = os.environ.get("PRINCOMP_FILL_EMPTY", "") not in ("", "0")
_PATTERN = b"\xa5"
# Entries of an axis this close to its largest are its equals.
_TIE = 1e-12
# Factorisations up to this order run on one BLAS thread, so that their bits do not depend
# on how many there are; beyond, a machine with many cores would wait too long.
_REPRODUCIBLE = 2048
# How many fits hold BLAS to one thread now, and what it had before; how many of this thread's.
_holding = Lock()
_holders = 0
_before: list[int] = []
_own = local()


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


def unwritten(array: FloatArray) -> FloatArray:
    """The array, whose numbers are about to be written: filled where FILL says so."""
    if FILL and array.dtype.kind in "fc":
        array.fill(np.nan)
    elif FILL and array.dtype.kind in "iu":
        array.fill(np.frombuffer(_PATTERN * array.itemsize, array.dtype)[0])
    return array


def _filled_empty(*options: Any, **named: Any) -> FloatArray:
    return unwritten(np.empty(*options, **named))


# ``numpy.empty`` for arrays that are about to be written; see FILL.
empty: Callable[..., FloatArray] = _filled_empty if FILL else np.empty


def aligned(shape: tuple[int, ...], dtype: Any) -> FloatArray:
    """An uninitialised array that begins at a cache line.

    NumPy's begin anywhere, and every vector of a processor that reaches over two lines counts
    twice: products of dense rows take up to twice the time.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % LINE
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return unwritten(array) if FILL else array


def _references(known: tuple[FloatArray, int]) -> int:
    """How many refer to some memory: every array in it is one more."""
    return getrefcount(known[0])


# The tuple's own, and what the count itself adds.
_UNUSED = _references((np.empty(0, np.uint8), 0))


def scratch(name: str, shape: tuple[int, ...], dtype: Any, *, most: int = _SCRATCH) -> FloatArray:
    """An uninitialised array, :func:`aligned`, in memory that this thread used before if it can.

    Memory that goes back to the system between blocks costs more, page by page, than the
    arithmetic on it. So each thread keeps the last arrays of each name, and hands one out again
    once no view of it is left anywhere: whoever holds an array owns it.

    Parameters
    ----------
    name : str
        Of the purpose: arrays of one purpose have similar sizes.
    shape, dtype
    most : int
        Larger arrays, in bytes, are not kept.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not _FEW_BYTES < size <= most:
        return aligned(shape, dtype)
    kept: list[tuple[FloatArray, int]] = _of_thread.__dict__.setdefault(name, [])
    for known in kept:
        if _references(known) == _UNUSED and known[0].nbytes >= size + LINE:
            memory, start = known
            break
    else:
        memory = np.empty(size + LINE, np.uint8)
        start = -memory.__array_interface__["data"][0] % LINE
        kept[:] = [(memory, start), *kept[: _KEPT - 1]]
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return unwritten(array) if FILL else array


def frozen(array: FloatArray) -> FloatArray:
    """Make an array read-only and return it: changing it would change later results."""
    array.flags.writeable = False
    return array


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum of two arrays and the rounding error of that sum, exactly (Knuth 1969)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


def not_vanished(squares: FloatArray, sums: FloatArray) -> FloatArray:
    """Sums of squares (p,), with the smallest number in place of zero where squares underflowed.

    ``sums`` are those of the numbers that were squared; they tell such columns from constant
    ones, whose sums are zero or rounding of the shift.
    """
    vanished = (squares == 0.0) & (sums != 0.0) & (np.abs(sums) < _VANISHING)
    return np.where(vanished, _SMALLEST, squares) if vanished.any() else squares


def fix_signs(axes: FloatArray) -> FloatArray:
    """Signs (+1 or −1) that make the largest |entry| of each row positive.

    The first of several equal entries decides, as in oneDAL and scikit-learn. Entries that
    differ by rounding count as equal, or the sign of (1, −1)/√2 would be anyone's guess.
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


def svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thin singular value decomposition ``U, s, Vt``."""
    try:
        with reproducible(min(matrix.shape)):
            u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        # gesdd may fail where gesvd converges (scikit-learn issue 7113).
        u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u, s, vt


def squares_over(values: FloatArray, divisor: float) -> FloatArray:
    """``values² / divisor`` with one rounding each, where a square alone may overflow."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
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
    one: FloatArray, other: FloatArray, factor: float, vector: FloatArray, *, spend: bool
) -> FloatArray:
    """``one + other + factor · vector vectorᵀ`` in one pass; ``spend``: in the memory of other."""
    size = len(vector)
    total = other if spend else np.empty_like(one)
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


@cache
def _blas_libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: Iterable[int]) -> None:
    """Set the threads of each BLAS library in this process."""
    for library, number in zip(_blas_libraries(), numbers, strict=True):
        # threadpoolctl lets one thread set limits and ignores the others; the one that
        # holds the lock here speaks for all fits, so it takes that role for the moment.
        take_over = getattr(library, "clear_controlling_thread", None)
        if take_over is not None:
            take_over(force=True)
        library.set_num_threads(number)
        if take_over is not None:
            take_over(force=True)


def reproducible(order: int) -> AbstractContextManager[None]:
    """BLAS on one thread for a factorisation of this order, if that pays for equal bits."""
    if _SMALL_EIGH < order <= _REPRODUCIBLE:
        return one_blas_thread()
    return nullcontext()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that its sums do not depend on the number of threads.

    The limit is the process's: fits that overlap share it, and the last restores it.
    """
    global _holders, _before
    with _holding:
        if not _holders:
            _before = [library.get_num_threads() for library in _blas_libraries()]
            _set_threads(1 for _ in _before)
        _holders += 1
        _own.holders = getattr(_own, "holders", 0) + 1
    try:
        yield
    finally:
        with _holding:
            _holders -= 1
            _own.holders -= 1
            if not _holders:
                _set_threads(_before)


def _after_fork() -> None:
    """Forget the fits of other threads, which do not go on in a forked process."""
    global _holding, _holders
    _holding = Lock()  # another thread may have held it
    others, _holders = _holders, getattr(_own, "holders", 0)
    if others and not _holders:
        _set_threads(_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
