"""Each solver against the float64 SVD, for many kinds of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import (
    EPS,
    EPS32,
    aligned,
    assert_orthonormal,
    assert_sign_rule,
    centred,
    orthonormal,
    sine,
    truth,
    with_singular_values,
)
from princomp import PCA, Moments, svd
from princomp.errors import DataError
from princomp.solvers import Spectrum, completed, randomized
from princomp.solvers.dense import eigenpairs
from princomp.solvers.lanczos import lanczos
from princomp.solvers.scatter_search import search_scatter

SOLVERS = ["auto", "full", "covariance_eigh", "lanczos", "arpack", "row_gram", "randomized"]
FORMS = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_matrix, "coo": sp.coo_array}
SHAPES = {"tall": (150, 20), "wide": (20, 150), "square": (40, 40)}
SCALES = ["unit", "pareto", "range", "array"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_form = pytest.mark.parametrize("form", list(FORMS))
every_shape = pytest.mark.parametrize("shape", list(SHAPES))


def decaying(n, p, rng, zeros=0.0):
    """Rows whose first variances are well separated, with zeros if they are to be sparse."""
    q = min(n, p)
    sigma = 0.7 ** np.arange(q)
    X = (orthonormal(n, q, rng) * sigma) @ orthonormal(p, q, rng).T * np.sqrt(n * p)
    X += rng.standard_normal(p)
    if zeros:
        X[rng.random((n, p)) < zeros] = 0.0
        # Low rank again, so that the variances stay apart.
        X += np.outer(rng.random(n) < 0.3, rng.standard_normal(p)) * 3 * (rng.random(p) < 0.5)
    return X


def divisor_of(scale, X, weights, rng):
    if scale is None:
        return None, None
    if scale == "array":
        given = rng.uniform(0.5, 2, X.shape[1])
        return given, given
    rows = centred(X, weights)
    n = len(X) if weights is None else weights.sum()
    deviation = np.sqrt((rows**2).sum(axis=0) / (n - 1))
    ranges = np.ptp(X if weights is None else X[weights > 0], axis=0)
    return scale, {"unit": deviation, "pareto": np.sqrt(deviation), "range": ranges}[scale]


def check(model, X, k, *, weights=None, divisor=None, center=True, tol=1e-10):
    """Compare variances, axes, ratios, mean and scores with those of the SVD."""
    variances, axes = truth(X, weights=weights, divisor=divisor, center=center)
    found = model.explained_variance_
    assert np.abs(found - variances[:k]).max() <= tol * variances[0]
    np.testing.assert_allclose(model.total_variance_, variances.sum(), rtol=tol)
    np.testing.assert_allclose(model.explained_variance_ratio_, found / variances.sum(), rtol=tol)
    # By Davis & Kahan an axis is off by the error over the gap to its nearest neighbour.
    below = -np.diff(variances[: k + 1])
    gaps = np.minimum(below, np.r_[np.inf, below[:-1]])
    error = 8 * tol * variances[0] / gaps
    off = np.linalg.norm(model.components_ - aligned(model.components_, axes[:k]), axis=1)
    assert (off <= error + tol).all()
    assert_orthonormal(model.components_, tol=max(tol, 30 * X.shape[1] * EPS))
    assert_sign_rule(model.components_)
    rows = X - model.mean_
    assert center or not model.mean_.any()
    rows = rows if divisor is None else rows / divisor
    scores = rows @ model.components_.T
    np.testing.assert_allclose(model.transform(X), scores, atol=10 * tol * np.abs(scores).max())
    assert (model.certificate_.residuals <= max(tol, 1e-12)).all()


@every_solver
@every_form
@every_shape
def test_float64_rows_have_the_variances_and_axes_of_the_svd(solver, form, shape, rng):
    X = decaying(*SHAPES[shape], rng, zeros=0.0 if form == "dense" else 0.7)
    model = PCA(4, svd_solver=solver, iterated_power=40, random_state=0)
    given = FORMS[form](X)
    check(model.fit(given), X, 4)
    np.testing.assert_allclose(model.transform(given), model.transform(X), atol=1e-11)


@every_solver
@pytest.mark.parametrize("form", ["dense", "csr"])
@every_shape
@pytest.mark.parametrize("scale", [None, *SCALES])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_scaled_uncentred_and_weighted_rows(solver, form, shape, scale, center, weighted, rng):
    X = decaying(*SHAPES[shape], rng, zeros=0.0 if form == "dense" else 0.7)
    weights = rng.integers(0, 4, len(X)).astype(float) if weighted else None
    scale, divisor = divisor_of(scale, X, weights, rng)
    model = PCA(2, svd_solver=solver, scale=scale, center=center, iterated_power=60, random_state=0)
    model.fit(FORMS[form](X), sample_weight=weights)
    check(model, X, 2, weights=weights, divisor=divisor, center=center)
    np.testing.assert_allclose(1.0 if scale is None else model.scale_ / divisor, 1, rtol=1e-12)


@every_solver
@every_shape
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_float32_rows_have_the_variances_and_axes_of_the_svd(solver, shape, form, rng):
    X = decaying(*SHAPES[shape], rng, zeros=0.0 if form == "dense" else 0.7).astype(np.float32)
    model = PCA(3, svd_solver=solver, iterated_power=40, random_state=0).fit(FORMS[form](X))
    assert model.components_.dtype == model.transform(FORMS[form](X)).dtype == np.float32
    check(model, X.astype(float), 3, tol=30 * min(X.shape) * EPS32)


@every_solver
@every_shape
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("fraction", [0.3, 0.8, 0.97, 0.99999])
def test_a_fraction_keeps_as_many_components_with_every_solver(solver, shape, form, fraction, rng):
    X = decaying(*SHAPES[shape], rng, zeros=0.0 if form == "dense" else 0.7)
    variances = truth(X)[0]
    expected = int(np.sum(np.cumsum(variances) / variances.sum() <= fraction)) + 1
    model = PCA(fraction, svd_solver=solver, iterated_power=40, random_state=0)
    model.fit(FORMS[form](X))
    assert model.n_components_ == expected
    tol = 1e-8 if solver == "randomized" else 1e-10
    assert np.abs(model.explained_variance_ - variances[:expected]).max() <= tol * variances[0]
    assert model.accumulated_rate_[-1] > fraction


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_full_sparse_column_with_a_large_mean(solver, form, rng):
    X = decaying(120, 30, rng, zeros=0.8)
    X[:, 5] = 1e7 + rng.standard_normal(120)
    X[:, 6] = 0.1
    model = PCA(3, svd_solver=solver, iterated_power=40, random_state=0).fit(FORMS[form](X))
    variances, axes = truth(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:3], rtol=1e-9)
    assert sine(model.components_, axes[:3]) <= 1e-6
    assert model.var_[6] == 0
    scores = centred(X) @ model.components_.T
    np.testing.assert_allclose(model.transform(FORMS[form](X)), scores, atol=1e-8)


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "arpack"])
def test_as_many_components_as_rows_end_in_a_zero_variance(solver, rng):
    """Centred rows have a lower rank: what a solver finds beyond it is rounding."""
    model = PCA(10, svd_solver=solver, random_state=0).fit(rng.standard_normal((10, 50)))
    assert (model.explained_variance_[:9] > 0).all()
    assert model.explained_variance_[9] == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_rows_without_any_entry(solver):
    model = PCA(2, svd_solver=solver).fit(sp.csr_array((9, 5)))
    assert (model.explained_variance_ == 0).all()
    assert_orthonormal(model.components_)


# ---- Lanczos ------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [1, 2, 5, 20])
@pytest.mark.parametrize("shape", [(300, 90), (90, 300)])
def test_lanczos_finds_repeated_eigenvalues(repeats, shape, rng):
    sigma = np.repeat([5.0, 4.0, 3.0, 0.5], [repeats, repeats, repeats, 85 - 3 * repeats])
    X, axes = with_singular_values(shape[0], sigma, rng, p=shape[1])
    k = 3 * repeats
    model = PCA(k, svd_solver="lanczos").fit(X)
    np.testing.assert_allclose(model.singular_values_, sigma[:k], rtol=1e-12)
    for start in range(0, k, repeats):
        span = slice(start, start + repeats)
        assert sine(model.components_[span], axes[span]) <= 1e-11
    assert_orthonormal(model.components_)
    assert model.certificate_.residuals.max() <= 1e-13


@pytest.mark.parametrize("k", [1, 3, 10])
def test_lanczos_restarts_until_the_residual_is_met(k, rng):
    """A slowly falling spectrum of 400: many times the size of the basis."""
    values = np.linspace(1, 0.5, 400) ** 0.5
    q = orthonormal(400, 400, rng)
    matrix = (q * values) @ q.T
    matrix = (matrix + matrix.T) / 2
    pairs = lanczos(lambda b: matrix @ b, 400, k, tol=1e-12, rng=np.random.default_rng(0))
    np.testing.assert_allclose(pairs.values, values[:k], rtol=1e-12)
    assert pairs.residuals.max() <= 1e-12
    off = matrix @ pairs.vectors - pairs.vectors * pairs.values
    assert np.linalg.norm(off, axis=0).max() <= 1e-11
    assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(k)).max() <= 1e-12
    assert pairs.products * min(k, 16) > 100  # more than fit in the basis


def test_lanczos_raises_if_it_cannot_converge(rng):
    """An operator whose products differ each time."""
    noise = np.random.default_rng(1)
    spread = np.arange(400.0)[:, None]
    with pytest.raises(DataError, match="residual"):
        lanczos(
            lambda b: b * spread + noise.standard_normal(b.shape),
            *(400, 16),
            tol=1e-14,
            rng=rng,
            max_vectors=48,
        )


def test_lanczos_on_a_scatter(rng):
    sigma = np.geomspace(1, 1e-3, 300)
    X, axes = with_singular_values(500, sigma, rng)
    spectrum = search_scatter(Moments.of(X), 5)
    np.testing.assert_allclose(spectrum.variances, sigma[:5] ** 2 / 499, rtol=1e-12)
    assert sine(spectrum.axes, axes[:5]) <= 1e-12
    assert spectrum.residuals.max() <= 1e-13


@pytest.mark.parametrize("trace", [2.0**-1000, 1.5 * 2.0**1023])
def test_lanczos_on_a_scatter_of_any_magnitude(trace):
    values = np.geomspace(1, 0.01, 30)
    values *= trace / values.sum()
    found = search_scatter(Moments(2000.0, 2000, np.zeros(30), np.zeros(30), np.diag(values)), 2)
    np.testing.assert_allclose(found.variances, values[:2] / 1999, rtol=1e-12)


# ---- row Gram -------------------------------------------------------------------------------


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-9, 1e-13])
def test_axes_of_the_row_gram_are_orthonormal_for_any_decay(smallest, rng):
    sigma = np.geomspace(1, smallest, 25)
    X, axes = with_singular_values(30, sigma, rng, p=500)
    model = PCA(25, svd_solver="row_gram").fit(X)
    assert_orthonormal(model.components_, tol=30 * 25 * EPS)
    assert np.abs(model.explained_variance_ - sigma**2 / 29).max() <= 30 * 30 * EPS / 29
    resolved = int(np.sum(sigma > 1e-5))
    assert sine(model.components_[:resolved], axes[:resolved]) <= 1e-9 / sigma[resolved - 1]


def test_axes_of_the_row_gram_beyond_the_rank_are_orthonormal(rng):
    X = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 200))
    model = PCA(svd_solver="row_gram").fit(X)
    assert model.components_.shape == (12, 200)
    assert_orthonormal(model.components_)
    assert model.certificate_.below_resolution.tolist() == [False] * 3 + [True] * 9


@pytest.mark.parametrize("power", [-80, 80])
def test_axes_of_the_row_gram_of_rows_of_any_magnitude_are_the_same(power, rng):
    X = rng.standard_normal((20, 60))
    plain, other = (PCA(5, svd_solver="row_gram").fit(rows) for rows in (X, np.ldexp(X, power)))
    np.testing.assert_array_equal(other.components_, plain.components_)


@pytest.mark.parametrize("n", [50, 500])
def test_no_components_of_the_row_gram_leave_all_variances(n, rng):
    X = rng.standard_normal((n, n + 20))
    found, full = (PCA(0, svd_solver=solver).fit(X) for solver in ("row_gram", "full"))
    assert found.components_.shape == (0, n + 20)
    assert len(found._result.spectrum.variances) == n
    assert found.noise_variance_ == pytest.approx(full.noise_variance_, rel=1e-12)


# ---- a number of eigenvectors that a rule chooses ---------------------------------------------


@pytest.mark.parametrize("count", [0, 3, 200])
def test_a_rule_for_the_number_of_eigenvectors_is_asked_once(count, rng):
    """There is one decomposition, whether the rule chooses few eigenvectors or many."""
    X = rng.standard_normal((300, 300))
    asked = []
    values, vectors = eigenpairs(X @ X.T, lambda values: asked.append(values) or count)
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], values)
    assert vectors.shape == (count, 300)
    errors = vectors @ X @ X.T - values[:count, None] * vectors
    assert np.abs(errors).max(initial=0.0) <= 300 * EPS * values[0]


# ---- fallbacks to higher precision -------------------------------------------------------------


def test_auto_falls_back_to_the_triangle_and_says_so(rng):
    sigma = np.geomspace(1, 1e-10, 12)
    X = with_singular_values(500, sigma, rng)[0]
    model = PCA().fit(X)
    assert (model.plan_.summary, model.plan_.solver, model.plan_.passes) == ("triangle", "svd", 2)
    assert "below what squaring can resolve" in model.plan_.reasons[-1]
    assert "then" in str(model.plan_)
    np.testing.assert_allclose(model.singular_values_, sigma, rtol=1e-3)
    assert not model.certificate_.below_resolution.any()
    few = PCA(4).fit(X)
    assert (few.plan_.summary, few.plan_.passes, len(few.plan_.reasons)) == ("moments", 1, 1)


def test_auto_without_centring_resolves_constant_columns_and_as_many_as_rows(rng):
    """About the origin a constant column varies, and n rows have the rank n."""
    near_one = np.column_stack([np.ones(50), 1 + 1e-9 * rng.standard_normal(50)])
    square = with_singular_values(6, np.array([1, 0.9, 0.8, 0.7, 1e-9]), rng)[0][:5]
    for X in (near_one, square):
        found = PCA(center=False).fit(X)
        expected = np.linalg.svd(X, compute_uv=False)
        assert found.plan_.summary == "triangle"
        np.testing.assert_allclose(found.singular_values_, expected, rtol=1e-5)


def test_auto_multiplies_float32_again_in_float64_and_says_so(rng):
    X = with_singular_values(800, np.geomspace(1, 1e-4, 12), rng)[0].astype(np.float32)
    model = PCA().fit(X)
    assert model.plan_.summary == "moments"
    assert "products in float64 instead" in model.plan_.reasons[-1]
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0], rtol=1e-6)


@pytest.mark.parametrize("rule", ["gavish-donoho", "marchenko-pastur"])
@pytest.mark.parametrize(("dtype", "first"), [(np.float32, 3e3), (np.float64, 3e8)])
def test_a_rule_that_needs_small_variances_gets_them(rule, dtype, first, rng):
    """Products of rows make the median variance look like zero next to a much larger one."""
    X = (rng.standard_normal((300, 21)) * np.r_[first, np.ones(20)]).astype(dtype)
    assert PCA(rule).fit(X).n_components_ == 1
    for solver in ("auto", "covariance_eigh"):
        with pytest.raises(DataError, match="zero or rounding error"):
            PCA(rule, svd_solver=solver).fit(X[:, :4] @ np.ones((4, 21), dtype))


def test_a_requested_solver_is_never_replaced(rng):
    X = with_singular_values(500, np.geomspace(1, 1e-10, 12), rng)[0]
    model = PCA(svd_solver="covariance_eigh").fit(X)
    assert (model.plan_.summary, model.plan_.solver, model.plan_.passes) == ("moments", "eigh", 1)
    assert model.certificate_.below_resolution[-1]


@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_flat_spectrum_solved_by_randomized_is_reported(scale, rng):
    X = rng.standard_normal((500, 200))
    rough = PCA(5, svd_solver="randomized", iterated_power=0, scale=scale, random_state=0).fit(X)
    good = PCA(5, svd_solver="lanczos", scale=scale).fit(X)
    assert rough.certificate_.residuals.max() > 0.01
    assert good.certificate_.residuals.max() < 1e-12
    assert "largest residual" in str(rough.certificate_)


def test_a_certificate_lists_eight_components_and_counts_the_others(rng):
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12))
    text = str(PCA(12).fit(X).certificate_)
    assert "component 3, 4, 5, 6, 7, 8, 9, 10 and 2 more\n" in text
    assert "9 and 10, 10 and 11 and 1 more\n" in text  # of nine pairs
    assert "component 3, 4, 5, 6, 7, 8, 9, 10\n" in str(PCA(10).fit(X).certificate_)


@pytest.mark.parametrize("factor", [1e-5, 300])
def test_powers_of_a_randomized_search_stay_in_range(factor, rng):
    X = (rng.standard_normal((300, 100)) * np.r_[5, 4, 3, np.ones(97)]).astype(np.float32)
    options = {"svd_solver": "randomized", "random_state": 0, "iterated_power": 7}
    found = PCA(3, power_iteration_normalizer="none", **options).fit(X * np.float32(factor))
    expected = PCA(3, svd_solver="full").fit(X * np.float32(factor))
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-5)


@pytest.mark.parametrize("normalizer", ["auto", "QR", "LU"])
def test_normalised_powers_keep_weak_components(normalizer, rng):
    """Without it, 20 powers would make all vectors parallel to the first axis, up to rounding."""
    sigma = np.r_[1, 1e-1, 1e-2, 1e-3, np.full(20, 1e-5)]
    X = with_singular_values(300, sigma, rng, p=60)[0]
    options = {"iterated_power": 20, "power_iteration_normalizer": normalizer}
    model = PCA(4, svd_solver="randomized", random_state=0, **options).fit(X)
    np.testing.assert_allclose(model.singular_values_, sigma[:4], rtol=1e-12)


@pytest.mark.parametrize("how", ["QR", "LU", "none"])
def test_normalised_vectors_are_as_many_with_the_same_span(how, rng):
    vectors = rng.standard_normal((50, 4))
    found = randomized._normalized(vectors, how)
    assert found.shape == vectors.shape
    np.testing.assert_allclose(found @ np.linalg.pinv(found) @ vectors, vectors, atol=1e-12)


@pytest.mark.parametrize("powers", [3, 4])
def test_a_few_powers_keep_weak_components(powers, rng):
    """Three powers of 1e-3 squared are below the rounding of the first direction."""
    sigma = np.r_[1, 1e-3, 5e-4, np.full(20, 1e-6)]
    X = with_singular_values(300, sigma, rng, p=60)[0]
    model = PCA(3, svd_solver="randomized", random_state=0, iterated_power=powers).fit(X)
    np.testing.assert_allclose(model.singular_values_, sigma[:3], rtol=1e-9)


# ---- svd() ------------------------------------------------------------------------------------


@every_form
@every_shape
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("k", [1, 6, 20])
def test_svd_of_any_table(form, shape, center, k, rng):
    X = decaying(*SHAPES[shape], rng, zeros=0.0 if form == "dense" else 0.7)
    U, s, Vt = svd(FORMS[form](X), k, center=center)
    rows = centred(X) if center else X
    u, true, vt = np.linalg.svd(rows, full_matrices=False)
    assert np.abs(s - true[:k]).max() <= 30 * max(X.shape) * EPS * true[0]
    assert np.abs(U.T @ U - np.eye(k)).max() <= 1e-12
    assert_orthonormal(Vt, tol=1e-12)
    assert_sign_rule(Vt)
    best = (u[:, :k] * true[:k]) @ vt[:k]
    if k < len(true) and true[k - 1] > 1.01 * true[k]:
        np.testing.assert_allclose((U * s) @ Vt, best, atol=1e-9 * true[0])


def test_svd_of_many_sparse_columns(rng):
    X = sp.random_array((900, 1500), density=0.01, rng=rng, format="csr")
    U, s, Vt = svd(X, 4)
    true = np.linalg.svd(X.toarray(), compute_uv=False)
    np.testing.assert_allclose(s, true[:4], rtol=1e-10)
    np.testing.assert_allclose(X @ Vt.T, U * s, atol=1e-10)


@pytest.mark.parametrize("missed", [0.0, None])
def test_axes_without_any_variance_are_the_first_unit_vectors(missed, rng):
    """Whichever axes a solver returns for them."""
    axes, zeros = orthonormal(5, 3, rng).T, np.zeros(3)
    found = completed(Spectrum(zeros, axes, 0.0, EPS, residuals=zeros, missed=missed), 3)
    np.testing.assert_array_equal(found.axes, np.eye(3, 5))
    assert found.residuals.max() <= EPS


def test_shares_and_the_variance_left_out_are_in_range_despite_rounding():
    variances = np.array([2.0, 1.0, 2.0**-60])
    all_of_them = Spectrum(variances, np.eye(3), 3.0 * (1 - EPS), EPS)
    assert all_of_them.accumulated.tolist() == [pytest.approx(2 / 3), 1.0, 1.0]
    assert all_of_them.left_out(2, rank=3) == 2.0**-60  # not the difference of two large sums
    for total, left_out in ((2.0 * (1 - EPS), 0.0), (2.5, 0.5)):
        assert Spectrum(variances[:1], np.eye(1, 3), total, EPS).left_out(1, rank=3) == left_out


def test_axes_in_place_of_noise_have_the_residuals_of_the_others():
    """The first component of noise is orthogonal to an axis that is t away from its direction."""
    covariance, t = np.diag([1.0, 0.5, 0.0, 0.0]), 1e-6
    axes = np.array([[1, 0, 0, 0], [0, np.cos(t), np.sin(t), 0], [0, 0, 0, 1]])
    variances = np.array([1.0, 0.5 * np.cos(t) ** 2, 0.0])
    residuals = np.linalg.norm(covariance @ axes.T - axes.T * variances, axis=0)
    found = completed(Spectrum(variances, axes, 1.5, 1e-15, residuals=residuals), 3)
    errors = covariance @ found.axes.T - found.axes.T * found.variances
    assert (np.linalg.norm(errors, axis=0) <= found.residuals * (1 + 1e-6)).all()
