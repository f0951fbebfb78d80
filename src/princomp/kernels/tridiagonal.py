"""Reduction of a symmetric matrix to tridiagonal form: same bits for any number of threads."""

from __future__ import annotations

import numpy as np

from princomp import linalg
from princomp.kernels import native
from princomp.linalg import CACHE_LINE, FloatArray, aligned, empty, for_each

# Maximum number of threads: more would wait for each other, as they read the matrix from a cache
# that they share.
_MAX_THREADS = 8
# Rows are padded with zeros to a multiple of this many numbers, a cache line.
_PADDING = CACHE_LINE // 8


def tridiagonalise(matrix: FloatArray, *, threads: int | None = None) -> linalg.Tridiagonal:
    """Reduce a symmetric float64 matrix (n, n), n > 1, to tridiagonal form.

    Without compiled kernels LAPACK does the work.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The squares of its entries must be in range. It is not changed.
    threads : int, optional
        All processors by default.
    """
    n = len(matrix)
    lead = native.function("tridiagonal_f64")
    helper = native.function("tridiagonal_help")
    memory_numbers = native.function("tridiagonal_numbers")
    if lead is None or helper is None or memory_numbers is None:
        return linalg.tridiagonal(matrix)
    work = aligned((n, -(-n // _PADDING) * _PADDING), np.float64)
    work[:, :n], work[:, n:] = matrix, 0.0
    diagonal, off_diagonal, factors = empty(n), empty(n - 1), empty(n - 1)
    memory = aligned((memory_numbers(n),), np.float64)
    shared_state = aligned((CACHE_LINE,), np.uint8)
    shared_state[:] = 0

    def run(worker: int) -> None:
        if worker:
            helper(shared_state)
        else:
            lead(work, n, diagonal, off_diagonal, factors, memory, shared_state)

    threads = min(threads or linalg.default_threads(), _MAX_THREADS)
    for_each(run, range(threads), threads)
    return linalg.Tridiagonal(diagonal, off_diagonal, linalg.below_diagonal(work.T), factors)
