"""A symmetric matrix made tridiagonal by mirrors, by several threads, always the same bits."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from princomp.arrays import LINE, FloatArray, aligned, empty
from princomp.kernels import native
from princomp.threads import default_threads, in_order

__all__ = ["Tridiagonal", "tridiagonal"]

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_LEAD = (_POINTER, _SIZE) + (_POINTER,) * 5
# From this order on threads help each other: at 1,000 two take 0.6 of LAPACK's time, at 600 0.95.
_PAYS = 600
# More threads wait for each other longer than they help: the matrix comes from a cache they share.
_MOST = 8


class Tridiagonal(NamedTuple):
    """T with A = Q T Qᵀ.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    beside : ndarray of shape (n - 1,)
        Of T.
    mirrors : ndarray of shape (n, n - 1)
        In Fortran order: below its diagonal the mirrors, whose first entry is 1; its last row is
        nothing. What LAPACK's dormqr takes for Q without its first row and column.
    factors : ndarray of shape (n - 1,)
        Of the mirrors.
    """

    diagonal: FloatArray
    beside: FloatArray
    mirrors: FloatArray
    factors: FloatArray


def tridiagonal(
    matrix: FloatArray, *, threads: int | None = None, instructions: str = ""
) -> Tridiagonal | None:
    """Reduce a symmetric matrix (n, n) of float64, n > 1, whose numbers' squares are in range.

    None is the answer where LAPACK gives up.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        It is left as it is.
    threads : int, optional
        All processors by default.
    instructions : str, optional
        Another instruction set than the one in use; "numpy" for the twin.
    """
    n = len(matrix)
    lead = None
    if instructions != "numpy" and (n >= _PAYS or instructions):
        lead = _function("tridiagonal_f64", _LEAD, instructions)
    if lead is None:
        return _twin(matrix)
    work = aligned((n, n), np.float64)
    work[:] = matrix
    diagonal, beside, factors = empty(n), empty(n - 1), empty(n - 1)
    numbers = _function("tridiagonal_numbers", (_SIZE,), instructions)(n)
    memory, shared = aligned((numbers,), np.float64), aligned((LINE,), np.uint8)
    shared[:] = 0
    help_out = _function("tridiagonal_help", (_POINTER,), instructions)

    def take_part(number: int) -> None:
        if number:
            help_out(native.address(shared))
            return
        arrays = (diagonal, beside, factors, memory, shared)
        lead(native.address(work), n, *(native.address(one) for one in arrays))

    threads = min(threads or default_threads(), _MOST)
    for _ in in_order(take_part, range(threads), threads):
        pass
    return Tridiagonal(diagonal, beside, _below(work.T), factors)


def _below(matrix: FloatArray) -> FloatArray:
    """What is below the diagonal of a matrix in Fortran order: the same memory, from row two on."""
    n = len(matrix)
    return matrix.ravel("K")[1 : 1 + n * (n - 1)].reshape(n, -1, order="F")


def _twin(matrix: FloatArray) -> Tridiagonal | None:
    """The same by LAPACK, on as many threads as BLAS has now."""
    room = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    # The transpose is the same matrix, in the order that LAPACK takes without turning it.
    found, diagonal, beside, factors, failed = lapack.dsytrd(matrix.T, lower=1, lwork=room)
    return None if failed else Tridiagonal(diagonal, beside, _below(found), factors)


@cache
def _function(name: str, signature: tuple[Any, ...], instructions: str) -> Any:
    return native.function(name, *signature, instructions=instructions)
