"""Kernels without a reconstruction error: indefinite ones, and those without variance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import sigmoid_kernel
from sklearn.model_selection import GridSearchCV

from princomp import KernelPCA, tune
from princomp.errors import DataError

ROWS = np.random.default_rng(0).uniform(0, 4, (150, 6))
KNOWN, NEW = ROWS[:100], ROWS[100:]
SIGMOID = {"kernel": "sigmoid", "gamma": 0.02}
LONGER = "rows have a projection that is longer than their image"

indefinite = pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")
no_variance = pytest.mark.filterwarnings("ignore:all eigenvalues are zero")


@indefinite
@pytest.mark.parametrize("approximation", [None, "nystrom"])
@pytest.mark.filterwarnings("ignore:the kernel 'sigmoid' between the landmarks")
def test_projections_longer_than_images_have_no_error(approximation):
    options = {"approximation": approximation, "landmarks": KNOWN[:60]}
    model = KernelPCA(20, **SIGMOID, **options).fit(KNOWN)
    with pytest.warns(UserWarning, match=LONGER):
        errors = model.reconstruction_error(NEW, per_row=True)
    between, cross = sigmoid_kernel(KNOWN, gamma=0.02), sigmoid_kernel(NEW, KNOWN, gamma=0.02)
    squares = sigmoid_kernel(NEW, gamma=0.02).diagonal() - 2 * cross.mean(axis=1) + between.mean()
    residuals = squares - (model.transform(NEW) ** 2).sum(axis=1)
    if approximation is None:
        np.testing.assert_array_equal(np.isnan(errors), residuals < -1e-4 * model.total_variance_)
    assert np.isnan(errors).any()
    with pytest.warns(UserWarning, match=LONGER):
        assert np.isnan(model.reconstruction_error(NEW))
    with pytest.warns(UserWarning, match=LONGER):
        assert np.isnan(model.score(NEW))


@indefinite
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.filterwarnings(f"ignore:.*{LONGER}")
def test_searches_do_not_choose_an_indefinite_kernel():
    grid = {"kernel": ["sigmoid", "rbf"], "gamma": [0.02], "n_components": [20]}
    with pytest.warns(UserWarning, match="1 of 2 combinations have no error"):
        found = tune(KNOWN, grid, by="reconstruction", cv=3)
    assert found.best["kernel"] == "rbf"
    assert found.best_error > 0
    assert np.isnan(found.lines()[0]["error"])
    assert "sigmoid" in str(found).splitlines()[-1]  # listed last
    search = GridSearchCV(KernelPCA(20, gamma=0.02), {"kernel": ["sigmoid", "rbf"]}, cv=3)
    assert search.fit(KNOWN).best_params_ == {"kernel": "rbf"}
    with pytest.raises(DataError, match="no combination of the grid has an error"):
        tune(KNOWN, {**grid, "kernel": ["sigmoid"]}, by="reconstruction", cv=3)


@no_variance
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_kernels_without_variance_explain_nothing(kernel):
    for known, new in ((KNOWN, NEW), (NEW, KNOWN), (ROWS, KNOWN[:1])):
        model = KernelPCA(3, kernel=kernel, gamma=1e-20).fit(known)
        assert model.score(new) == 0.0


@no_variance
def test_searches_do_not_choose_a_kernel_without_variance():
    gammas = [1e-20, 0.05]
    grid = {"gamma": gammas, "n_components": [3]}
    found = tune(ROWS, grid, by="reconstruction", cv=3)
    assert found.best["gamma"] == 0.05
    assert found.errors[0] == 1.0
    search = GridSearchCV(KernelPCA(3, kernel="rbf"), {"gamma": gammas}, cv=3).fit(ROWS)
    assert search.best_params_ == {"gamma": 0.05}


@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"kernel": "precomputed"}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_not_taken_for_a_negative_error(options, dtype):
    known, new = KNOWN.astype(dtype), NEW.astype(dtype)
    diagonal = None
    if options["kernel"] == "precomputed":
        known, new, diagonal = known @ known.T, new @ known.T, (new * new).sum(axis=1)
    model = KernelPCA(None, **options).fit(known)
    assert np.isfinite(model.reconstruction_error(new, diagonal=diagonal))


def test_a_sum_of_negative_eigenvalues_is_not_called_an_eigenvalue():
    n = 120
    axes = np.linalg.qr(np.c_[np.ones(n), np.random.default_rng(1).standard_normal((n, 25))])[0]
    # A search for a share begins with 16 pairs.
    values = np.array([0.0, *np.linspace(5.0, 2.0, 16), *[-0.25] * 9])
    matrix = (axes * values) @ axes.T
    matrix = (matrix + matrix.T) / 2
    model = KernelPCA(0.9, kernel="precomputed", eigen_solver="arpack")
    with pytest.raises(DataError, match=r"not computed sum to -2\.25, and the largest is 5\)"):
        model.fit(matrix)
    with pytest.raises(DataError, match=r"the smallest that was computed is -0\.25, and"):
        model.set_params(n_components=None, eigen_solver="dense").fit(matrix)


@pytest.mark.filterwarnings("error")
def test_rounding_of_a_far_row_is_not_taken_for_an_indefinite_kernel(rng):
    rows = rng.standard_normal((60, 4)).astype(np.float32)
    far = np.vstack([rows, [[500.0, 0.0, 0.0, 0.0]]]).astype(np.float32)
    model = KernelPCA(4, kernel=lambda a, b: float(a @ b)).fit(rows)
    assert model.score(far) == pytest.approx(1.0, abs=1e-4)
