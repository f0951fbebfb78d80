"""A symmetric matrix reduced to tridiagonal form by several threads, with the same bits always."""

from __future__ import annotations

import numpy as np

from princomp.kernels import native
from princomp.linalg import (
    LINE,
    FloatArray,
    Tridiagonal,
    aligned,
    below_diagonal,
    default_threads,
    empty,
    in_order,
    tridiagonal,
)

# More threads would wait for each other: the matrix comes from a cache that they share.
_MOST = 8


def tridiagonalise(
    matrix: FloatArray, *, threads: int | None = None, instructions: str = ""
) -> Tridiagonal | None:
    """Reduce a symmetric matrix (n, n) of float64, n > 1, whose squares are in range.

    None where LAPACK, which does the work without compiled kernels, fails.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        It is not changed.
    threads : int, optional
        All processors by default.
    instructions : str, optional
        Another instruction set than the one in use, or "numpy".
    """
    n = len(matrix)
    lead = native.function("tridiagonal_f64", instructions)
    help_out = native.function("tridiagonal_help", instructions)
    numbers = native.function("tridiagonal_numbers", instructions)
    if lead is None or help_out is None or numbers is None:
        return tridiagonal(matrix)
    work = aligned((n, n), np.float64)
    work[:] = matrix
    diagonal, off_diagonal, factors = empty(n), empty(n - 1), empty(n - 1)
    memory, shared = aligned((numbers(n),), np.float64), aligned((LINE,), np.uint8)
    shared[:] = 0

    def take_part(number: int) -> None:
        if number:
            help_out(native.address(shared))
            return
        arrays = (diagonal, off_diagonal, factors, memory, shared)
        lead(native.address(work), n, *(native.address(one) for one in arrays))

    threads = min(threads or default_threads(), _MOST)
    for _ in in_order(take_part, range(threads), threads):
        pass
    return Tridiagonal(diagonal, off_diagonal, below_diagonal(work.T), factors)
