"""Reduction of a symmetric matrix to tridiagonal form: same bits for any number of threads."""

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

# Maximum number of threads: more would wait for each other, as they read the matrix from a cache
# that they share.
_MOST = 8


def tridiagonalise(
    matrix: FloatArray, *, threads: int | None = None, instructions: str = ""
) -> Tridiagonal | None:
    """Reduce a symmetric float64 matrix (n, n), n > 1, to tridiagonal form.

    Without compiled kernels LAPACK does the work; return None if it fails.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The squares of its entries must be in range. It is not changed.
    threads : int, optional
        All processors by default.
    instructions : str, optional
        Instruction set to use instead of the default, or "numpy".
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
