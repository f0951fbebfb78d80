"""The route a fit takes: precision, memory and passes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_info

from princomp import PCA, pca, plan, svd
from princomp.errors import ParameterError, ShapeError


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 150.0), (np.float64, 1e8)])
def test_noise_below_the_resolution_selects_a_more_exact_route(dtype, size, rng):
    X = (rng.standard_normal((1000, 50)) + rng.standard_normal((1000, 1)) * size).astype(dtype)
    model = PCA(1).fit(X)
    exact = X.astype(np.float64)
    truth = np.linalg.svd(exact - exact.mean(axis=0), compute_uv=False)[1:] ** 2 / 999
    assert model.noise_variance_ == pytest.approx(truth.mean(), rel=1e-3)
    if dtype == np.float32:
        normal = multivariate_normal(model.mean_, model._result.covariance())
        assert model.score(X) == pytest.approx(normal.logpdf(exact).mean(), rel=1e-4)


def test_minkas_rule_requires_all_variances(rng):
    X = rng.standard_normal((200, 30)) * np.linspace(5, 0.5, 30)
    with pytest.raises(ParameterError, match="cannot be a string"):
        PCA("mle", svd_solver="lanczos").fit(X)
    tall = sp.random_array((2500, 2100), density=0.001, rng=rng, format="csr")
    assert plan(tall, n_components="mle").solver == "eigh"


def test_concurrent_fits_restore_the_blas_threads(rng):
    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before, X = threads(), rng.standard_normal((300, 40))
    start = threading.Barrier(4)

    def work(_):
        start.wait()
        for _ in range(20):
            PCA(3).fit(X)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert threads() == before


def test_svd_of_few_sparse_rows_stays_small(rng):
    X = sp.random_array((10, 20_000), density=0.01, rng=rng, format="csr")
    U, s, Vt = svd(X, 3)
    np.testing.assert_allclose((U * s) @ Vt @ Vt.T, X @ Vt.T, atol=1e-10)


def test_a_wide_fit_can_be_truncated_to_a_fraction(rng):
    X = rng.standard_normal((20, 300))
    model = PCA(8, svd_solver="row_gram").fit(X)
    assert model.truncated(0.2).n_components_ == PCA(0.2).fit(X).n_components_
    assert model.truncated(0).n_components_ == 0


def test_wide_standardised_data_never_form_p_by_p(rng):
    X = rng.standard_normal((20, 3000))
    np.testing.assert_allclose(pca(X, 0.5), pca(X, 0.5, method="SVD"), atol=1e-9)


def test_a_constant_column_costs_no_second_pass(rng):
    X = rng.standard_normal((200, 5))
    X[:, 2] = 7.0
    model = PCA().fit(X)
    assert model.plan_.summary == "moments"
    assert (model.components_[:4, 2] == 0).all()
    assert model.explained_variance_[4] == 0


def test_plan_refuses_the_shapes_that_fit_refuses(rng):
    with pytest.raises(ShapeError, match="between 0 and"):
        plan(rng.standard_normal((20, 4)), n_components=9)
    with pytest.raises(ShapeError, match="at least 2 rows"):
        plan(rng.standard_normal((1, 4)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("fraction_of_noise", [1.0, 1e-9])
def test_few_components_of_a_scatter_in_memory(monkeypatch, dtype, fraction_of_noise, rng):
    """The route of 2,000 columns and more, which knows only the variances asked for."""
    monkeypatch.setattr("princomp.core.routes.moments.LANCZOS_COLUMNS", 50)
    X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 400)) * 10
    X += fraction_of_noise * rng.standard_normal((500, 400))
    X = np.vstack([X, X[::-1]]).astype(dtype)
    model = PCA(3).fit(X)
    assert model.plan_.summary in ("moments", "triangle")
    exact = X.astype(np.float64)
    truth = np.linalg.svd(exact - exact.mean(axis=0), compute_uv=False) ** 2 / 999
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(model.explained_variance_, truth[:3], rtol=30 * 400 * eps)
    assert model.noise_variance_ == pytest.approx(truth[3:].sum() / 397, rel=1e-2)
    if fraction_of_noise == 1.0:
        assert model.plan_.solver == "lanczos"
        # In float32 that noise is near what products of float32 resolve.
        assert len(model.plan_.reasons) == (1 if dtype == np.float64 else 2)
    else:
        assert len(model.plan_.reasons) > 1


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
@pytest.mark.parametrize("solver", ["full", "lanczos", "randomized", "row_gram", "krylov"])
def test_rows_of_zero_weight_may_hold_nan(solver, shape, rng):
    X = rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) ** 4
    weights = np.ones(len(X))
    weights[3], X[3, 4] = 0, np.nan
    model = PCA(2, svd_solver=solver, random_state=0).fit(X, sample_weight=weights)
    expected = PCA(2, svd_solver="full").fit(np.delete(X, 3, axis=0))
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-6)
