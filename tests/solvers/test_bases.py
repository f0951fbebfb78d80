"""Orthonormal bases of a few long vectors."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, orthonormal
from princomp.solvers import bases
from princomp.solvers.bases import (
    inverse_and_growth,
    orthonormal as orthonormal_rows,
    project_out,
    qr_of_rows,
)


@pytest.mark.parametrize("condition", [1, 1e3, 1e5, 1e9, 1e14, np.inf])
def test_dependent_vectors_become_orthonormal(condition, rng):
    left = orthonormal(3000, 8, rng)
    sizes = np.geomspace(1, 1 / condition, 8) if condition < np.inf else np.r_[np.ones(7), 0]
    vectors = ((left * sizes) @ orthonormal(8, 8, rng)).T
    assert vectors.size > bases._MIN_NUMBERS
    basis, triangle = qr_of_rows(vectors)
    assert np.abs(basis @ basis.T - np.eye(8)).max() <= 30 * EPS
    np.testing.assert_allclose(triangle.T @ basis, vectors, atol=30 * EPS)
    assert not np.tril(triangle, -1).any()
    np.testing.assert_allclose(
        np.abs(triangle.diagonal()),
        np.abs(np.diagonal(np.linalg.qr(vectors.T)[1])),
        rtol=1e-3,
        atol=30 * EPS,
    )
    if condition < 1e9:
        np.testing.assert_allclose((vectors @ basis.T) @ basis, vectors, atol=30 * EPS)


@pytest.mark.parametrize("shape", [(4, 50), (4, 5000)])
def test_vectors_are_kept_unless_they_may_be_overwritten(shape, rng):
    vectors = rng.standard_normal(shape)
    before = vectors.copy()
    orthonormal_rows(vectors)
    qr_of_rows(vectors)
    assert (vectors == before).all()


def test_vectors_of_any_size_become_orthonormal(rng):
    vectors = rng.standard_normal((4, 5000)) * np.array([[1e-150], [1], [1e150], [1e-300]])
    basis, triangle = qr_of_rows(vectors)
    assert np.abs(basis @ basis.T - np.eye(4)).max() <= 30 * EPS
    assert (np.abs(triangle.diagonal()) > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_growth_of_a_shared_error_is_bounded(seed):
    """Nested small parts: each alone is 1e-8 at least, their product is 3e-13.

    The triangle of a Gram matrix may have 8e-4 for the last, since 3e-5 before it left rounding.
    """
    left = orthonormal(3000, 9, np.random.default_rng(seed)).T
    shared, vectors = left[8], left[:8].copy()
    vectors[5] = vectors[0] + 1e-3 * left[5]
    vectors[6] = vectors[1] + vectors[5] + 3e-5 * left[6]
    vectors[7] = left[6] + 1e-8 * left[7]
    vectors += 1e-15 * shared
    basis, triangle = qr_of_rows(vectors)
    assert np.abs(basis @ shared).max() <= 4 * inverse_and_growth(triangle)[1] * 1e-15


def test_projected_vectors_and_coordinates_add_up(rng):
    known = orthonormal(5000, 30, rng).T
    vectors = rng.standard_normal((3, 5000))
    rest, coordinates = project_out(vectors, known, "a test")
    np.testing.assert_allclose(coordinates, known @ vectors.T, atol=1e-12)
    np.testing.assert_allclose(rest + coordinates.T @ known, vectors, atol=1e-13)
    assert np.abs(known @ rest.T).max() <= 1e-13


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6])
def test_two_vectors_at_a_small_angle_become_orthonormal(angle, rng):
    """Only two vectors overlap, but one factorisation would leave EPS / angle² of it."""
    vectors = orthonormal(5000, 4, rng).T
    vectors[3] = np.cos(angle) * vectors[0] + np.sin(angle) * vectors[3]
    basis, triangle = qr_of_rows(vectors)
    assert np.abs(basis @ basis.T - np.eye(4)).max() <= 30 * EPS
    np.testing.assert_allclose(triangle.T @ basis, vectors, atol=30 * EPS)


@pytest.mark.parametrize("condition", [1, 1e3, 1e5])
def test_independent_vectors_are_overwritten_by_their_basis(condition, rng):
    """They take matrix products alone, which need no second array of this size."""
    sizes = np.geomspace(1, 1 / condition, 8)
    vectors = ((orthonormal(3000, 8, rng) * sizes) @ orthonormal(8, 8, rng)).T.copy()
    given = vectors.copy()
    basis = bases.orthonormal(vectors, overwrite=True)
    assert np.shares_memory(basis, vectors)
    np.testing.assert_array_equal(basis, bases.orthonormal(given))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_vectors_of_length_zero_or_with_squares_out_of_range_become_orthonormal(size, rng):
    vectors = size * rng.standard_normal((4, 5000))
    vectors[2] = 0.0
    basis, triangle = qr_of_rows(vectors)
    assert np.abs(basis @ basis.T - np.eye(4)).max() <= 30 * EPS
    np.testing.assert_allclose(triangle.T @ basis, vectors, rtol=0, atol=1e3 * EPS * size)


def test_the_growth_of_errors_adds_up_those_of_all_vectors():
    """The third vector is nearly the sum of three times the others."""
    triangle = np.array([[1.0, 0, -3], [0, 1, -3], [0, 0, 1]])
    inverse, growth = inverse_and_growth(triangle)
    np.testing.assert_allclose(inverse @ triangle, np.eye(3), atol=EPS)
    assert growth == 7.0
    triangle[2, 2] = 0.0
    assert inverse_and_growth(triangle)[1] == np.inf
