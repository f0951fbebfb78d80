"""The search in rows in memory: when it stops, and what it falls back to."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import (
    EPS,
    EPS32,
    assert_orthonormal,
    orthonormal,
    sine,
    truth,
    variances_along,
    with_singular_values,
)
from princomp import PCA
from princomp.core.routes import (
    lanczos as lanczos_route,
    moments,
    row_gram as row_gram_route,
    triangle,
)
from princomp.core.routes.base import Cost
from princomp.errors import DataError
from princomp.solvers import row_gram, scatter_search
from princomp.solvers.lanczos import lanczos
from princomp.solvers.row_search import find_warm_start, sample_step, search_rows
from princomp.solvers.search import SearchSpace
from princomp.solvers.stopping import AbandonRule, StallDetector
from princomp.summaries import Columns
from princomp.summaries.centred_rows import centre_rows

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def unit_of(dtype):
    return EPS32 if dtype == np.float32 else EPS


# ---- when it stops ------------------------------------------------------------------------


def matrix_with_gap(n, rng, gap):
    """A matrix of order n whose first 5 eigenvalues exceed the others by ``gap``."""
    values = np.r_[np.linspace(2, 1 + gap, 5), np.linspace(1, 0, n - 5)]
    q = orthonormal(n, n, rng)
    matrix = (q * values) @ q.T
    return (matrix + matrix.T) / 2, values, q.T


@pytest.mark.parametrize("gap", [0.3, 0.03])
@pytest.mark.parametrize("tol", [1e-4, 1e-7, 4 * EPS])
def test_errors_of_space_and_eigenvalues_follow_residual_and_gap(gap, tol, rng):
    """Davis & Kahan 1970: the sine is at most the residuals over the distance to the others."""
    matrix, values, axes = matrix_with_gap(400, rng, gap)
    start = np.random.default_rng(3).standard_normal((400, 16))
    pairs = lanczos(lambda block: matrix @ block, 400, 5, tol=tol, rng=rng, start=start)
    assert pairs.residuals.max() <= tol * values[0]
    angle = np.sqrt(5) * (tol + 8 * EPS) * values[0] / gap
    assert sine(pairs.vectors.T, axes[:5]) <= 2 * angle + 100 * EPS
    assert (np.abs(pairs.values - values[:5]) <= 4 * angle**2 + 100 * EPS).all()


def test_the_caller_can_abandon_a_search(rng):
    matrix, _, _ = matrix_with_gap(400, rng, 1e-3)
    estimates = []
    pairs = lanczos(
        lambda block: matrix @ block,
        400,
        5,
        tol=4 * EPS,
        rng=rng,
        abandon=lambda left, products: estimates.append(left) or len(estimates) == 4,
    )
    assert not pairs.converged
    assert len(estimates) == 4
    assert estimates[0] == np.inf  # one check gives no estimate


@pytest.mark.parametrize("tol", [4 * EPS32, 4 * EPS])
def test_a_search_restarts_as_often_as_needed(tol, rng):
    """Without dominant directions the space is filled many times, and stays orthonormal."""
    X = rng.standard_normal((3000, 500))
    matrix = X.T @ X / 3000
    start = np.random.default_rng(3).standard_normal((500, 8))
    pairs = lanczos(
        lambda block: matrix @ block,
        500,
        10,
        tol=tol,
        rng=rng,
        start=start,
        max_vectors=48,
    )
    assert pairs.converged
    assert pairs.products > 20
    values = np.linalg.eigvalsh(matrix)[::-1][:10]
    np.testing.assert_allclose(pairs.values, values, rtol=max(tol, 500 * EPS))
    off = pairs.vectors.T @ pairs.vectors - np.eye(10)
    assert np.abs(off).max() <= 100 * EPS


@every_dtype
@pytest.mark.parametrize("shape", [(600, 300), (300, 600)])
def test_reported_residuals_bound_the_true_ones(dtype, shape, rng):
    n, p = shape
    sigma = np.r_[np.geomspace(30, 10, 6), np.linspace(3, 1, 200)]
    X = with_singular_values(n, sigma, rng, p=p)[0].astype(dtype)
    columns = Columns.of(X)
    spread = columns.column_scatter / (n - 1)
    rows = centre_rows(X, columns.mean, columns.mean_low, spread, None, None)
    unit = unit_of(dtype)
    spectrum, passes = search_rows(rows, columns, 6, tol=0.0, rng=rng)
    assert spectrum is not None
    A = X - X.astype(np.float64).mean(axis=0)
    axes, values = spectrum.axes, spectrum.variances * (n - 1)
    off = np.linalg.norm(axes @ A.T @ A - axes * values[:, None], axis=1) / values[0]
    assert (off <= 2 * spectrum.residuals).all()
    exact = truth(X)[0][:6]
    assert (np.abs(spectrum.variances - exact) <= 16 * unit * exact[0]).all()
    assert 3 <= passes < 20
    assert_orthonormal(axes)


@pytest.mark.parametrize("shape", [(900, 400), (400, 900)])
@pytest.mark.parametrize("tol", [4 * EPS, 4 * EPS32])
def test_a_search_of_sparse_float32_rows_is_as_exact_as_it_says(shape, tol, rng):
    """With products in float32, variances are those of float64 and residuals include float32."""
    n, p = shape
    X = rng.standard_normal((n, 12)) * np.geomspace(30, 10, 12) @ rng.standard_normal((12, p))
    X = np.where(rng.random((n, p)) < 0.15, X, 0.0).astype(np.float32)
    rows = sp.csr_array(X)
    columns = Columns.of(rows)
    spread = columns.column_scatter / (n - 1)
    centred = centre_rows(rows, columns.mean, columns.mean_low, spread, None, None)
    spectrum, _ = search_rows(centred, columns, 6, tol=tol, rng=rng)
    assert spectrum is not None
    A = X - X.astype(np.float64).mean(axis=0)
    axes, values = spectrum.axes, spectrum.variances * (n - 1)
    off = np.linalg.norm(axes @ A.T @ A - axes * values[:, None], axis=1) / values[0]
    assert (off <= 2 * spectrum.residuals).all()
    exact = truth(X)[0][:7]
    # A Ritz value is off by the square of its residual over the gap to the next eigenvalue.
    gap = exact[5] - exact[6]
    tolerance = (4 * tol * exact[0]) ** 2 / gap + 4 * p * EPS * exact[0]
    assert (np.abs(spectrum.variances - exact[:6]) <= tolerance).all()
    assert np.abs(axes @ axes.T - np.eye(6)).max() <= tol


@every_dtype
@pytest.mark.parametrize("k", [3, 40])
def test_residuals_of_row_products_bound_the_true_ones(dtype, k, rng):
    sigma = np.geomspace(30, 0.5, 60)
    X = with_singular_values(600, sigma, rng, p=900)[0].astype(dtype)
    model = PCA(k, svd_solver="row_gram").fit(X)
    A = X - X.astype(np.float64).mean(axis=0)
    # The axes of the fit; those of the model have the precision of the data.
    axes, values = model._fitted.spectrum.axes, model.explained_variance_ * 599
    off = np.linalg.norm(axes @ A.T @ A - axes * values[:, None], axis=1) / values[0]
    residuals = model.certificate_.residuals
    assert (off <= residuals).all()
    assert (residuals <= 64 * unit_of(dtype) * np.sqrt(values[0] / values)).all()


# ---- the route of large × large -------------------------------------------------------------


@pytest.fixture
def _routes_of_large_tables(monkeypatch):
    """Tables of a few hundred columns take the routes of large ones."""
    monkeypatch.setattr(moments, "SEARCH_COLUMNS", 300)
    monkeypatch.setattr(row_gram_route, "SEARCH_ROWS", 200)
    monkeypatch.setattr(triangle, "SMALL_TABLE_SIZE", 0)
    monkeypatch.setattr(lanczos_route, "ROW_PRODUCTS_SHARE", 0.05)
    monkeypatch.setattr(lanczos_route, "ROW_SPECTRUM_SHARE", 0.0)
    monkeypatch.setattr(lanczos_route, "SCATTER_SHARE", 0.02)


@pytest.mark.usefixtures("_routes_of_large_tables")
@every_dtype
@pytest.mark.parametrize("shape", [(500, 400), (400, 500), (300, 2500)])
@pytest.mark.parametrize("mean", [3.0, 1e6])
def test_few_directions_of_a_large_table_are_found_to_rounding(dtype, shape, mean, rng):
    n, p = shape
    axes = orthonormal(p, 8, rng).T
    X = rng.standard_normal((n, 8)) * np.linspace(12, 5, 8) * np.sqrt(p / n + 1) @ axes
    X = (X + rng.standard_normal((n, p)) * 0.5 + mean).astype(dtype)
    model = PCA(8).fit(X)
    assert model.plan_.solver == "lanczos"
    assert len(model.plan_.reasons) == 1
    variances, exact = truth(X)
    unit = unit_of(dtype)
    found = variances_along(X, exact[:8])
    np.testing.assert_allclose(model.explained_variance_, found, rtol=32 * unit)
    np.testing.assert_allclose(model.total_variance_, variances.sum(), rtol=32 * unit)
    assert sine(model.components_.astype(float), exact[:8]) <= 4 * unit**0.5
    assert not model.certificate_.below_resolution.any()


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_a_given_tolerance_saves_passes(rng):
    X = rng.standard_normal((500, 400)) * np.r_[np.linspace(12, 5, 8), np.ones(392)]
    exact, rough = (PCA(8, tol=tol).fit(X) for tol in (0.0, 1e-3))
    assert exact.plan_.solver == rough.plan_.solver == "lanczos"
    assert rough.plan_.passes < exact.plan_.passes
    assert exact.certificate_.residuals.max() <= 64 * EPS
    assert rough.certificate_.residuals.max() <= 1e-3


def test_a_requested_search_of_sparse_float32_rows_multiplies_in_float64(rng):
    X = sp.random_array((2500, 2100), density=0.01, rng=rng, format="csr", dtype=np.float32)
    model = PCA(2, svd_solver="lanczos").fit(X)
    assert model.certificate_.residuals.max() <= 64 * EPS


@pytest.mark.usefixtures("_routes_of_large_tables")
@every_dtype
def test_a_flat_spectrum_of_wide_rows_falls_back_to_row_products(dtype, rng):
    X = (rng.standard_normal((300, 2000)) + 3).astype(dtype)
    model = PCA(5).fit(X)
    assert model.plan_.solver == "row_gram"
    assert "no small set of components dominates" in model.plan_.reasons[-1]
    assert model.plan_.passes == model.certificate_.passes > 4
    variances = variances_along(X, truth(X)[1][:5])
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=32 * unit_of(dtype))
    requested = PCA(5, svd_solver="lanczos").fit(X)
    assert (requested.plan_.solver, len(requested.plan_.reasons)) == ("lanczos", 1)


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_a_flat_spectrum_of_rows_that_are_hardly_wide_is_searched(rng, monkeypatch):
    """There, the spectrum of the products of the rows takes much longer than the products."""
    X = rng.standard_normal((400, 500)) + 3
    assert PCA(5).fit(X).plan_.solver == "row_gram"
    monkeypatch.setattr(lanczos_route, "ROW_SPECTRUM_SHARE", 1.0)
    model = PCA(5).fit(X)
    assert (model.plan_.solver, len(model.plan_.reasons)) == ("lanczos", 1)
    found = variances_along(X, truth(X)[1][:5])
    np.testing.assert_allclose(model.explained_variance_, found, rtol=32 * EPS)


@pytest.mark.usefixtures("_routes_of_large_tables")
@every_dtype
def test_a_flat_spectrum_of_tall_rows_falls_back_to_their_scatter(dtype, rng):
    X = (rng.standard_normal((2000, 400)) + 3).astype(dtype)
    model = PCA(5).fit(X)
    assert (model.plan_.summary, model.plan_.solver) == ("moments", "eigh")
    assert "no small set of components dominates" in model.plan_.reasons[1]
    # A tenth of the rows predicted this: all were read for the means, and for the scatter.
    assert model.plan_.passes == model.certificate_.passes == 2
    variances = variances_along(X, truth(X)[1][:5])
    # Sums over rows lose up to 64 units, whichever way BLAS adds them up.
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=64 * unit_of(dtype))
    assert model.rescaled("unit").scale_ is not None  # since a scatter was kept


def _rows_for_a_sample(rng, strong):
    """4,000 rows of 300 columns, the centred rows of them and of every 26th."""
    X = rng.standard_normal((4000, 300))
    X[:, :10] *= strong
    X = X[:, rng.permutation(300)]
    step = sample_step(*X.shape)
    assert step == 26
    columns = Columns.of(X)
    mean, low, variances = columns.mean, columns.mean_low, columns.column_scatter / 3999
    rows, sample = (
        centre_rows(data, mean, low, variances, None, None) for data in (X, X[::step].copy())
    )
    return columns, rows, sample


def test_a_sample_predicts_whether_few_directions_dominate(rng):
    for strong, low, high in ((1, 25, np.inf), (5, 0, 12)):
        _, _, sample = _rows_for_a_sample(rng, strong)
        products_left, _ = find_warm_start(sample, 5, tol=0.0, rng=np.random.default_rng(0))
        assert low <= products_left <= high
    assert AbandonRule(20).should_skip(31.0)
    assert not AbandonRule(20).should_skip(30.0)
    assert not AbandonRule(20).should_skip(np.inf)


def test_no_products_are_left_after_a_sample_that_was_searched_to_the_end(rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 50))
    columns = Columns.of(X)
    sample = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter, None, None)
    assert find_warm_start(sample, 3, tol=1e-9, rng=rng)[0] == 0.0


@pytest.mark.parametrize("shape", [(300, 200), (100, 300)])
def test_a_search_in_rows_of_any_magnitude_finds_the_same_axes(shape, rng):
    """To the bit: also axes that are made orthonormal because some variances are much smaller."""
    X = with_singular_values(shape[0], np.geomspace(1, 0.04, 60), rng, p=shape[1])[0]
    plain, small, large = (
        PCA(50, svd_solver="lanczos").fit(np.ldexp(X, power)) for power in (0, -100, 100)
    )
    for other, power in ((small, -200), (large, 200)):
        np.testing.assert_array_equal(other.components_, plain.components_)
        expected = np.ldexp(plain.explained_variance_, power)
        np.testing.assert_array_equal(other.explained_variance_, expected)


@pytest.mark.parametrize("k", [5, 10])
def test_a_search_from_a_warm_start_takes_fewer_products(k, rng):
    columns, rows, sample = _rows_for_a_sample(rng, 12)
    _, start = find_warm_start(sample, k, tol=0.0, rng=np.random.default_rng(0))
    cold, products = search_rows(rows, columns, k, tol=0.0, rng=np.random.default_rng(0))
    warm, fewer = search_rows(rows, columns, k, tol=0.0, rng=np.random.default_rng(0), start=start)
    assert fewer < products
    np.testing.assert_allclose(warm.variances[:5], cold.variances[:5], rtol=32 * EPS)


def test_too_few_rows_per_column_are_not_sampled():
    assert sample_step(4999, 1000) is None
    assert sample_step(5000, 1000) == 10


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_weighted_rows_are_sampled_with_their_weights(rng):
    X = rng.standard_normal((3000, 300))
    X[:, :4] *= [9, 8, 7, 6]
    weights = rng.integers(1, 4, 3000).astype(float)
    model = PCA(4).fit(X, sample_weight=weights)
    assert model.plan_.solver == "lanczos"
    exact = truth(X, weights=weights)[0][:4]
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=300 * EPS)


@pytest.mark.usefixtures("_routes_of_large_tables")
@every_dtype
def test_a_nearly_flat_spectrum_is_searched_for_in_the_scatter(dtype, rng, monkeypatch):
    monkeypatch.setattr(moments, "LANCZOS_COLUMNS", 300)
    monkeypatch.setattr(scatter_search, "MAX_PRODUCTS_SHARE", 1)
    X = (rng.standard_normal((6000, 400)) * np.linspace(1.3, 0.7, 400) + 3).astype(dtype)
    model = PCA(5).fit(X)
    assert (model.plan_.summary, model.plan_.solver) == ("moments", "lanczos")
    assert "no small set of components dominates" in model.plan_.reasons[1]
    variances, axes = truth(X)
    unit = unit_of(dtype)
    found = variances_along(X, axes[:5])
    np.testing.assert_allclose(model.explained_variance_, found, rtol=32 * unit)
    assert sine(model.components_.astype(float), axes[:5]) <= max(4 * EPS**0.5, 1000 * unit)
    assert len(model._result.spectrum.variances) == 5
    np.testing.assert_allclose(model.total_variance_, variances.sum(), rtol=32 * unit)
    assert model.rescaled("unit").scale_ is not None  # since a scatter was kept


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_a_search_in_a_scatter_falls_back_to_all_variances(rng, monkeypatch):
    monkeypatch.setattr(moments, "LANCZOS_COLUMNS", 300)
    monkeypatch.setattr(scatter_search, "MAX_PRODUCTS_SHARE", 0.01)
    X = rng.standard_normal((6000, 400)) * np.linspace(1.3, 0.7, 400) + 3
    model = PCA(5).fit(X)
    assert (model.plan_.summary, model.plan_.solver) == ("moments", "eigh")
    assert "computing all 400 variances is faster" in model.plan_.reasons[-1]
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:5], rtol=400 * EPS)
    # A search for a requested tolerance is not abandoned.
    assert PCA(5, tol=1e-9).fit(X).plan_.solver == "lanczos"


@pytest.mark.parametrize(
    ("left", "products", "abandoned"), [(30, 4, False), (30, 5, True), (20, 9, False)]
)
def test_a_search_is_abandoned_if_too_many_products_are_predicted(left, products, abandoned):
    assert AbandonRule(20)(left, products) is abandoned
    assert not AbandonRule(20)(np.inf, products)


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_row_products_beyond_the_memory_limit_are_not_computed(rng, monkeypatch):
    X = rng.standard_normal((300, 2000)) + 3
    monkeypatch.setattr(row_gram_route.RowGramRoute, "cost", lambda self, problem: Cost(2**60))
    model = PCA(5, memory_limit="1GB").fit(X)
    assert model.plan_.solver == "lanczos"
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:5], rtol=1e-13)


@pytest.mark.usefixtures("_routes_of_large_tables")
@pytest.mark.parametrize("shape", [(500, 400), (300, 2500)])
def test_a_search_grows_until_it_reaches_a_share_of_the_variance(shape, rng):
    n, p = shape
    X = rng.standard_normal((n, 30)) @ rng.standard_normal((30, p))
    X += 0.01 * rng.standard_normal((n, p))
    expected = int(np.searchsorted(np.cumsum(truth(X)[0]) / truth(X)[0].sum(), 0.9)) + 1
    model = PCA(0.9, svd_solver="lanczos").fit(X)
    assert model.n_components_ == expected > 16


@pytest.mark.usefixtures("_routes_of_large_tables")
def test_nan_in_the_last_row_is_located(rng):
    X = rng.standard_normal((500, 400))
    X[499, 399] = np.nan
    with pytest.raises(ValueError, match="NaN: the first at row 499, column 399") as caught:
        PCA(3).fit(X)
    assert (caught.value.place["row"], caught.value.place["column"]) == (499, 399)


def test_a_large_table_is_not_copied(rng):
    X = rng.standard_normal((3000, 3000))
    X[:, :5] *= 10
    PCA(5).fit(X)  # loads all modules and libraries
    tracemalloc.start()
    model = PCA(5).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.plan_.solver == "lanczos"
    assert peak < X.nbytes / 2


def test_a_search_that_stalls_near_its_end_stops_soon():
    far, near = StallDetector(100), StallDetector(100)
    assert [far.stalled(1e-9, 1e4) for _ in range(102)].index(True) == 100
    assert [near.stalled(1e-9, 3.0) for _ in range(102)].index(True) == 10
    stuck = StallDetector(5)
    with pytest.raises(DataError, match="stalled at a residual"):
        [stuck.stalled(1e-2, 1e9) for _ in range(7)]


def test_weak_components_of_sparse_float32_rows_are_resolved(rng):
    """The variance is below p roundoffs of float32, but only the search is in float32."""
    size = 12_000
    rows, columns = np.repeat(np.arange(size), 2), np.tile([0, 1], size)
    values = (rng.standard_normal((size, 2)) * [1.0, 0.0012**0.5]).ravel().astype(np.float32)
    X = sp.csr_array((values, (rows, columns)), shape=(size, size))
    model = PCA(2).fit(X)
    assert model.plan_.solver == "lanczos"
    assert model.explained_variance_[1] < size * EPS32 * model.explained_variance_[0]
    assert not model.certificate_.below_resolution.any()
    variances, axes = truth(X[:, :2].toarray())
    np.testing.assert_allclose(model.explained_variance_, variances[:2], rtol=1e-9)
    assert sine(model.components_[:, :2].astype(float), axes) <= 1e-5
    assert np.abs(model.components_[:, 2:]).max() <= 1e-5


def test_strong_directions_of_row_products_need_no_decomposition(rng, monkeypatch):
    """The first check of a search gives no estimate, so it abandons none."""
    X = with_singular_values(600, np.r_[np.linspace(60, 30, 6), np.ones(200)], rng, p=900)[0]
    exact = truth(X)[0][:6]
    monkeypatch.setattr(row_gram, "eigenpairs", None)
    model = PCA(6, svd_solver="row_gram").fit(X)
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=600 * EPS)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("solver", ["lanczos", "krylov", "covariance_eigh", "auto"])
@pytest.mark.parametrize(("n", "p"), [(3000, 200), (300, 40), (400, 1500)])
def test_axes_have_no_entries_in_constant_columns(n, p, solver, dtype):
    """The sixth variance is 4⁻⁵ of the first, and the axes are orthonormal to rounding."""
    rng = np.random.default_rng(0)
    sigma = np.sqrt(np.r_[4.0 ** -np.arange(6), np.full(14, 1e-4)])
    right = np.linalg.qr(rng.standard_normal((p, 20)))[0]
    X = (rng.standard_normal((n, 20)) * sigma) @ right.T
    X[:, ::5] = 3.0
    model = PCA(6, svd_solver=solver).fit(X.astype(dtype))
    # Axes are made orthonormal in float64 at the end, by reflections that may move a zero.
    assert np.abs(model.components_[:, ::5]).max() <= 6 * np.finfo("f8").eps


@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_more_axes_than_columns_that_vary(solver):
    rng = np.random.default_rng(0)
    X = np.full((300, 40), 3.0)
    X[:, [4, 9]] = rng.standard_normal((300, 2)) * [2, 1]
    model = PCA(6, svd_solver=solver).fit(X)
    expected = np.linalg.eigvalsh(np.cov(X[:, [4, 9]].T))[::-1]
    np.testing.assert_allclose(model.explained_variance_[:2], expected, rtol=1e-13)
    # Products of rows with such axes are rounding at most, and variances are their squares.
    assert (model.explained_variance_[2:] <= (16 * EPS) ** 2 * expected[0]).all()
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-14)


def test_a_direction_short_in_one_image_and_long_in_another_is_kept():
    """QR takes a block's directions in order: the first image may be mostly rounding."""
    operator = np.diag(np.r_[100.0, 1.0, 1e-12, np.zeros(197)])
    operator[0, 2] = operator[2, 0] = 1e-15
    operator[1, 2] = operator[2, 1] = 1e-6
    rng = np.random.default_rng(0)
    found = lanczos(
        lambda vectors: operator @ vectors, 200, 2, tol=1e-12, rng=rng, start=np.eye(200, 2)
    )
    error = operator @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(error, axis=0).max() <= 100 * 1e-12


def test_a_search_estimates_how_far_its_basis_is_from_orthogonal(rng):
    """All images are nearly parallel, and rounding errors in their small differences are large."""
    strong = orthonormal(300, 1, rng)
    weak = rng.standard_normal((300, 300))
    operator = 1e3 * strong @ strong.T + 1e-4 * (weak + weak.T)
    space = SearchSpace(operator.__matmul__, orthonormal(300, 4, rng).T, 40, tol=1e-4)
    space.grow()
    space.extend(4, rng)
    space.grow()
    off = np.abs(space.vectors @ space.vectors.T - np.eye(8)).max()
    assert 300 * EPS <= off <= 4 * space.overlap
