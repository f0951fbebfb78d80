"""Eigenpairs of small symmetric matrices."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS
from princomp.linalg import eigh, eigh_top


@pytest.mark.parametrize("seed", [686, *range(50)])
def test_all_wanted_pairs_are_found_if_nearly_all_eigenvalues_are_equal(seed):
    # For some of these matrices, LAPACK's dsyevr finds no eigenvalue in the range, and no error.
    rng = np.random.default_rng(seed)
    p = rng.integers(3, 13)
    matrix = 100 * np.eye(p)
    row, j = rng.standard_normal(p) * 10 ** rng.uniform(-2, 1), rng.integers(p)
    matrix[j] += row
    matrix[:, j] += row
    noise = 1e-14 * rng.standard_normal((p, p))
    matrix += noise + noise.T
    k = rng.integers(1, 3)
    values, vectors = eigh_top(matrix, k)
    bound = 10 * p * EPS * np.linalg.norm(matrix)
    np.testing.assert_allclose(values, eigh(matrix)[0][:k], atol=bound)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=10 * p * EPS)
    np.testing.assert_allclose(matrix @ vectors.T, vectors.T * values, atol=bound)
