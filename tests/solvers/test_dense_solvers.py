"""Decompositions: the errors they claim, ranks, constant columns and extreme numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import EPS, EPS32, assert_orthonormal, orthonormal
from princomp import Moments, Triangle
from princomp.kernels import LONG_CHUNK_COLUMNS
from princomp.solvers import dense
from princomp.solvers.dense import eigenpairs, solve_moments, solve_triangle

# More columns than solvers of small scatters take.
P = 80


def test_the_error_of_images_grows_with_the_rows_of_a_sum():
    half, full, none = (dense.roundoff_of_images(16, EPS, rows) for rows in (2**17, 2**18, 0))
    assert full - half == pytest.approx(3 / 16 * 2**17 * EPS, rel=1e-4, abs=0)
    assert none == dense.roundoff(16, EPS) == dense.roundoff(16, EPS, 0) == 64 * EPS
    merged = (64 + 3 / 16 * 2**10 * 16) * EPS  # 2¹⁰ blocks a column
    assert dense.roundoff(16, EPS, 2**30) == pytest.approx(merged, rel=1e-12, abs=0)
    assert dense.roundoff_of_images(100, EPS32, 10) == 100 * EPS32


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_error_of_products_does_not_depend_on_the_unit(size):
    claims = [
        dense.roundoff_of_products(p, EPS32, 10 * size, size, 1000)
        for p in (LONG_CHUNK_COLUMNS - 1, LONG_CHUNK_COLUMNS)
    ]
    np.testing.assert_allclose(claims, np.array([40 + 20, 80 + 20]) * EPS32, rtol=1e-12)
    assert dense.roundoff_of_products(100, EPS32, 0.0, 0.0, 10) == 100 * EPS32


def test_the_unit_for_an_error_is_never_that_of_exact_products():
    assert dense.unit_for_error(0.0) == 2 * EPS
    assert dense.roundoff_of_products(5, dense.unit_for_error(1e-6), 1.0, 1.0, 10) >= 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [6, P])
def test_small_and_large_scatters_claim_the_error_of_products(p, dtype, rng):
    X = (rng.standard_normal((300, p)) * np.linspace(9, 1, p)).astype(dtype)
    moments = Moments.of(X)
    found = solve_moments(moments)
    expected = dense.roundoff_of_products(
        p, moments.effective_unit, found.total, found.variances[0], 300
    )
    assert found.roundoff == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("k", [None, 3, lambda spectrum: 2])
@pytest.mark.parametrize("rows", [2, 12, 200])
def test_constant_columns_of_few_rows_have_no_part_in_the_axes(rows, k, rng):
    """Beyond the rank, the scatter of the other columns has eigenvalues of either sign."""
    X = rng.standard_normal((rows, P))
    X[:, ::4] = 7.0
    found = solve_moments(Moments.of(X), k)
    expected = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    rank = min(rows - 1, P - P // 4)
    assert not found.variances[rank:].any()
    np.testing.assert_allclose(found.variances, expected, rtol=0, atol=P * EPS * expected[0])
    np.testing.assert_allclose(found.total, expected.sum(), rtol=P * EPS)
    assert not found.axes[:, ::4].any()
    assert_orthonormal(found.axes[:rank])


def test_a_wide_scatter_without_variance():
    constant = solve_moments(Moments.of(np.ones((9, P))))
    assert (constant.k, constant.total, constant.variances.max()) == (P, 0.0, 0.0)
    # Rows that were removed may leave a little less than nothing.
    rest = Moments(9.0, 9, np.zeros(P), np.zeros(P), -1e-20 * np.eye(P))
    found = solve_moments(rest, 2)
    assert (found.total, found.variances.max()) == (0.0, 0.0)


@pytest.mark.parametrize(("share", "squared"), [(1e-29, False), (1e-26, True)])
def test_a_triangle_made_from_squares_resolves_what_is_above_their_error(share, squared, rng):
    """A singular value has an error of 64 units, so a variance one of their square."""
    triangle = Triangle.of(rng.standard_normal((50, 8)))
    plain = solve_triangle(triangle)
    found = solve_triangle(replace(triangle, lost=np.full(8, share * plain.largest * 49)))
    assert found.squared == squared
    assert (plain.roundoff, plain.squared) == (64 * EPS, False)
    constant = replace(Triangle.of(np.ones((50, 8))), lost=np.zeros(8))
    assert (solve_triangle(constant).total, solve_triangle(constant).squared) == (0.0, False)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_a_triangle_made_from_squares_claims_the_error_of_products(size, rng):
    """Their unit roundoff is the largest error, relative to the first eigenvalue."""
    triangle = Triangle.of(size * rng.standard_normal((50, 8)) * np.linspace(9, 1, 8))
    first = solve_triangle(triangle).largest
    lost = 1e-9 * 49 * first * np.linspace(0.1, 1, 8)
    found = solve_triangle(replace(triangle, lost=lost))
    expected = dense.roundoff_of_products(8, 1e-9, found.total, first, 50)
    assert found.roundoff == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("summary", "solve"), [(Triangle, solve_triangle), (Moments, solve_moments)]
)
def test_a_rule_sees_all_variances_and_no_axes(summary, solve, rng):
    seen = []
    found = solve(summary.of(rng.standard_normal((90, P))), lambda one: seen.append(one) or 2)
    assert (found.k, [one.k for one in seen]) == (2, [0])
    np.testing.assert_array_equal(seen[0].variances, found.variances)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [-900, 0, 900])
@pytest.mark.parametrize("k", [None, 4, 100, 300, 301])
def test_eigenpairs_of_a_matrix_of_any_magnitude_and_sign(k, power, sign, rng):
    size = 300
    values = sign * np.sort(rng.uniform(1, 2, size))[::-sign]
    basis = orthonormal(size, size, rng)
    matrix = (basis * values) @ basis.T
    matrix = np.ldexp((matrix + matrix.T) / 2, power)
    given = matrix.copy()
    found, vectors = eigenpairs(matrix, k)
    np.testing.assert_array_equal(matrix, given)
    np.testing.assert_allclose(np.ldexp(found, -power), values, rtol=size * EPS)
    assert len(vectors) == min(k or size, size)
    assert_orthonormal(vectors)
    assert (np.diff(found) <= 0).all()


@pytest.mark.parametrize("power", [-900, 0, 900])
def test_eigenvectors_are_computed_from_the_tridiagonal_form(power, monkeypatch, rng):
    """A second decomposition would take as long again."""
    monkeypatch.setattr(dense, "eigh", None)
    X = rng.standard_normal((300, 300))
    negative = -np.eye(300) - np.eye(300, k=1) - np.eye(300, k=-1)
    for k in (None, 0, 3, 200):
        for matrix in (X @ X.T, negative):
            _, vectors = eigenpairs(np.ldexp(matrix, power), k)
            assert len(vectors) == (300 if k is None else k)
