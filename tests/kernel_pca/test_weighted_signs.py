"""Weighted rows and rows repeated as often give scores of the same signs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import KernelPCA, load

KERNELS = ("rbf", "poly", "sigmoid", "cosine", "linear", "laplacian", "chi2")
SOLVERS = ("auto", "dense", "arpack", "randomized")
# The eigenvalues of these tables differ by at least 1e-3 of the first; errors are about 1e-15.
TOLERANCE = 1e-9


def table(seed, kernel):
    """Rows and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((40, 4)), rng.integers(0, 5, 40)
    return np.abs(X) if kernel == "chi2" else X, weights


def assert_close(scores, expected):
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive")  # sigmoid
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_weights_repeat_rows(kernel, solver, seed, tmp_path):
    X, weights = table(seed, kernel)
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver)
    expected = model.fit(np.repeat(X, weights, axis=0)).transform(X)
    assert_close(model.fit(X, sample_weight=weights).transform(X), expected)
    model.save(tmp_path / "model.pca")
    loaded = load(tmp_path / "model.pca")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.eigenvectors_, model.eigenvectors_)
    model.fit(sp.csr_array(X), sample_weight=weights)
    assert_close(model.transform(sp.csr_array(X)), expected)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_weights_repeat_rows_of_a_kernel_matrix(solver, seed):
    X, weights = table(seed, "precomputed")
    repeated = np.repeat(X, weights, axis=0)
    model = KernelPCA(3, kernel="precomputed", eigen_solver=solver)
    expected = model.fit(repeated @ repeated.T).transform(X @ repeated.T)
    scores = model.fit_transform(X @ X.T, sample_weight=weights)
    assert_close(scores[weights > 0], expected[weights > 0])
    assert_close(model.transform(X @ X.T), expected)


def test_weights_repeat_rows_in_a_search():
    rng = np.random.default_rng(7)
    X, weights = rng.standard_normal((500, 6)) * [4, 3, 2, 1, 1, 1], rng.integers(1, 4, 500)
    model = KernelPCA(3, kernel="rbf", gamma=0.01)
    expected = model.fit(np.repeat(X, weights, axis=0)).transform(X)
    assert_close(model.fit(X, sample_weight=weights).transform(X), expected)
    assert model.plan_.solver == "lanczos"


def test_rounding_of_a_light_row_does_not_choose_the_sign():
    X, weights = table(1, "rbf")
    weights = weights + 1.0
    expected = KernelPCA(3, kernel="rbf").fit(X[1:], sample_weight=weights[1:]).transform(X)
    weights[0] = 1e-200
    scores = KernelPCA(3, kernel="rbf").fit(X, sample_weight=weights).transform(X)
    assert_close(scores, expected)
