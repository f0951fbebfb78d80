"""Eigenpairs of a symmetric matrix, as many as are wanted.

The matrix becomes tridiagonal once. All its eigenvalues come next; they tell how many vectors a
rule wants, and only these are computed and turned back: of k ≪ n that is half the work of a
decomposition, and a rule for k costs no second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from princomp.arrays import FloatArray, eigh, one_blas_thread, reproducible
from princomp.kernels.tridiagonal import Tridiagonal, tridiagonal
from princomp.threads import in_order

__all__ = ["Count", "eigenpairs"]

Count: TypeAlias = int | Callable[[FloatArray], int] | None

# From this order on only the wanted vectors are computed, whatever their number: k = 10 take 3.1
# instead of 5.4 ms at p = 256, and 59 instead of 150 at 1,000 (one thread). Below it, that
# pays for so small a share of them: at p = 100, 0.45 instead of 0.64 ms for k = 2.
_REDUCED, _VERY_FEW = 256, 0.04
# Inverse iteration, which leaves vectors orthogonal to 1e-15, takes about 0.3 µs · p a vector.
# All by divide and conquer cost as much as 0.1 p of them at p = 100, 0.17 p at 500
# and 0.28 p at 1,000.
_FEW = 0.125
# Vectors that a thread turns back at a time, at most: 1,656 of p = 2,000 take two threads 245 ms
# and one 370.
_TURNED = 512
# LAPACK's drivers bring a matrix into range whose squares would leave it; its parts do not.
_SAFE_POWER = 200
# What dstebz is asked for: eigenvalues by number, in the order that dstein takes.
_BY_NUMBER, _BY_BLOCK = 2, "B"


def eigenpairs(matrix: FloatArray, k: Count = None) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues, descending, and the wanted eigenvectors as rows.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric, float64. It is left as it is.
    k : int or callable, optional
        How many eigenvectors, or the rule that tells it from the eigenvalues. All by default.
    """
    size = len(matrix)
    few = isinstance(k, int) and k <= _VERY_FEW * size
    if few or size >= _REDUCED:
        with reproducible(size):
            found = _reduced(matrix, k)
        if found is not None:
            return found
    values, vectors = eigh(matrix)
    return values, vectors[: k(values) if callable(k) else k]


def _reduced(matrix: FloatArray, k: Count) -> tuple[FloatArray, FloatArray] | None:
    """The same by way of a tridiagonal matrix, or None where a part of LAPACK gives up."""
    largest = max(matrix.max(), -matrix.min())
    if not np.isfinite(largest):
        return None
    power = int(np.frexp(largest)[1])
    power = power if abs(power) > _SAFE_POWER else 0
    if power:
        matrix = np.ldexp(matrix, -power)
    size = len(matrix)
    reduced = tridiagonal(matrix)
    if reduced is None:
        return None
    diagonal, beside = reduced.diagonal, reduced.beside
    if k is None or (isinstance(k, int) and k > _FEW * size):
        values, vectors, failed = lapack.dstevd(diagonal, beside)
        found = None if failed else vectors[:, size - min(k or size, size) :]
    else:
        values, failed = lapack.dsterf(diagonal, beside)
        if failed:
            return None
        count = k(np.ldexp(values[::-1], power)) if callable(k) else k
        found = _of_tridiagonal(diagonal, beside, min(count, size))
    if found is None or (found.size and not _turned_back(reduced, found[1:])):
        return None
    return np.ldexp(values[::-1], power), found.T[::-1]


def _turned_back(reduced: Tridiagonal, vectors: FloatArray) -> bool:
    """Turn eigenvectors (size − 1, k) of the tridiagonal matrix in place; whether LAPACK could."""
    count = vectors.shape[1]
    step = -(-count // -(-count // _TURNED))

    def turn(at: int) -> bool:
        some = vectors[:, at : at + step]
        room = 64 * some.shape[1] + 65 * 64  # LAPACK's largest panels, and their triangle
        some[:], _, failed = lapack.dormqr("L", "N", reduced.mirrors, reduced.factors, some, room)
        return not failed

    with one_blas_thread():
        return all(list(in_order(turn, range(0, count, step), None if count > step else 1)))


def _of_tridiagonal(diagonal: FloatArray, beside: FloatArray, k: int) -> FloatArray | None:
    """The last ``k`` eigenvectors (size, k) of a tridiagonal matrix, in ascending order."""
    size = len(diagonal)
    if k > _FEW * size:
        _, vectors, failed = lapack.dstevd(diagonal, beside)
        return None if failed else vectors[:, size - k :]
    if not k:
        return np.empty((size, 0))
    ends = (0.0, 0.0, size - k + 1, size)
    found, values, blocks, splits, failed = lapack.dstebz(
        diagonal, beside, _BY_NUMBER, *ends, 0.0, _BY_BLOCK
    )
    if failed or found != k:
        return None
    vectors, failed = lapack.dstein(diagonal, beside, values[:k], blocks, splits)
    return None if failed else np.asfortranarray(vectors[:, np.argsort(values[:k], kind="stable")])
