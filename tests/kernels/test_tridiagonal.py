"""A symmetric matrix made tridiagonal, compiled and by LAPACK: Q T Qᵀ is the matrix."""

import numpy as np
import pytest
from scipy.linalg import lapack

from princomp.kernels.tridiagonal import tridiagonalise

# Around the sizes of vectors, of rows that are read together, of a panel and its pieces, and the
# least size for several threads.
SIZES = (2, 3, 5, 8, 9, 31, 32, 33, 34, 64, 65, 100, 320, 330, 530, 700)
EPS = np.finfo(float).eps


def check(matrix, threads=2):
    """Check a backward error and orthogonality of a few n units, like the bounds of LAPACK.

    Those bound the 2-norms of the errors, and of the matrix. The Frobenius norm is at least as
    large and the length of a column at most, and they take no singular values.
    """
    n = len(matrix)
    before = matrix.copy()
    found = tridiagonalise(matrix, threads=threads)
    assert (matrix == before).all()
    basis = np.eye(n, order="F")
    inner = np.asfortranarray(np.eye(n - 1))
    product = lapack.dormqr("L", "N", found.reflectors, found.factors, inner, 64 * n + 65 * 64)
    basis[1:, 1:] = product[0]
    tridiagonal = (
        np.diag(found.diagonal) + np.diag(found.off_diagonal, 1) + np.diag(found.off_diagonal, -1)
    )
    size = np.linalg.norm(matrix, axis=0).max()
    assert np.linalg.norm(basis @ tridiagonal @ basis.T - matrix) <= 8 * n * EPS * size
    assert np.linalg.norm(basis.T @ basis - np.eye(n)) <= 8 * n * EPS
    return found


def test_the_factors_multiply_to_the_matrix(kind):
    rng = np.random.default_rng(0)
    for n in SIZES:
        half = rng.standard_normal((n, n))
        check(half + half.T)
        check(half @ half.T)


def test_bits_do_not_depend_on_the_number_of_threads(kind):
    rng = np.random.default_rng(1)
    half = rng.standard_normal((650, 650))
    matrix = half + half.T
    one = check(matrix, 1)
    for threads in (2, 3, 5):
        for found, expected in zip(tridiagonalise(matrix, threads=threads), one, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_columns_without_anything_below_the_diagonal(kind):
    rng = np.random.default_rng(2)
    half = rng.standard_normal((90, 90))
    block = half + half.T
    check(np.zeros((40, 40)))
    check(np.diag(rng.standard_normal(70)))
    check(np.outer(half[0], half[0]))
    for index in (0, 31, 32, 50, 88, 89):
        cut = block.copy()
        cut[index], cut[:, index] = 0.0, 0.0
        check(cut)
    apart = block.copy()
    apart[:40, 40:], apart[40:, :40] = 0.0, 0.0
    check(apart)


@pytest.mark.parametrize("small", [1e-30, 1e-141, 1e-160, 1e-170, 1e-300])
def test_columns_too_small_to_be_squared(kind, small):
    rng = np.random.default_rng(3)
    half = rng.standard_normal((80, 80))
    matrix = half + half.T
    matrix[20:60], matrix[:, 20:60] = small * matrix[20:60], small * matrix[:, 20:60]
    check(matrix)
    check(matrix * 2.0**-190)
    check(matrix * 2.0**190)


def test_the_leader_does_not_wait_for_missing_threads(kind, monkeypatch):
    """The leader computes pieces that no other thread claims."""
    import princomp.kernels.tridiagonal as module

    def only_the_first(work, pieces, threads):
        work(next(iter(pieces)))

    half = np.random.default_rng(4).standard_normal((640, 640))
    expected = check(half + half.T, 3)
    monkeypatch.setattr(module, "for_each", only_the_first)
    for one, other in zip(tridiagonalise(half + half.T, threads=3), expected, strict=True):
        np.testing.assert_array_equal(one, other)
