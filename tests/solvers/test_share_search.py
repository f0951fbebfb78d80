"""The search for a share of the variance, whose space grows."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, sine, with_singular_values
from princomp import PCA
from princomp.core.plan import select_route
from princomp.core.problem import Problem
from princomp.errors import MemoryLimitError
from princomp.solvers.missed import miss_probability
from princomp.solvers.share_search import search_rows_share, search_share, too_many_components
from princomp.summaries import Columns, Moments
from princomp.summaries.centred_rows import centre_rows


def rows_of(n, p, rank, rng, dtype=np.float64):
    """Rows with ``rank`` strong directions in noise."""
    strong = rng.standard_normal((n, rank)) * np.linspace(20, 8, rank)
    axes = np.linalg.qr(rng.standard_normal((p, rank)))[0].T
    return (strong @ axes + rng.standard_normal((n, p)) + 3).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_search_agrees_with_a_full_decomposition(dtype, rng):
    X = rows_of(3000, 1200, 30, rng, dtype)
    found, full = PCA(0.7).fit(X), PCA(0.7, svd_solver="covariance_eigh").fit(X)
    assert found.plan_.solver == "lanczos"
    assert "of 1,200 components" in str(found.plan_)
    assert found.n_components_ == full.n_components_
    k, first = found.n_components_, full.explained_variance_[0]
    # Both are of one scatter, so that they differ by the rounding of the solvers only.
    bound = 10 * found._result.spectrum.roundoff * first
    np.testing.assert_allclose(found.explained_variance_, full.explained_variance_, atol=bound)
    gap = full._result.spectrum.variances[k - 1] - full._result.spectrum.variances[k]
    angle = sine(found.components_.astype(float), full.components_.astype(float))
    assert angle <= 10 * np.finfo(dtype).eps * first / gap * 34  # about √p
    assert found.certificate_.residuals.max() <= 4 * EPS
    assert 0 < found.certificate_.missed <= miss_probability(1200, 16, 1e-12)
    total = full.total_variance_
    assert found.total_variance_ == pytest.approx(total, rel=1e-14)
    assert found.noise_variance_ == pytest.approx(full.noise_variance_, rel=1e-9)


def test_too_many_components_are_left_to_lapack(rng):
    X = rng.standard_normal((1500, 1000))
    assert search_share(Moments.of(X), 0.9) is None
    model = PCA(0.9).fit(X)
    assert model.plan_.solver == "eigh"
    assert model.n_components_ > 200


def test_a_share_that_needs_too_large_a_space_is_given_up(rng):
    """The Ritz values predict the share, but the space is full before they converge."""
    X = rng.standard_normal((1500, 1000)) * np.linspace(2, 1, 1000)
    moments = Moments.of(X)
    values = np.linalg.eigvalsh(moments.scatter)[::-1]
    share = float(values[:120].sum() / values.sum())
    assert search_share(moments, share) is None


def test_a_share_that_is_not_reached_at_the_first_check_is_searched_for_further():
    """The space has 64 vectors then, and the first 16 of them were random."""
    values = np.r_[np.linspace(1.0, 0.6, 60), np.zeros(740)]
    moments = Moments(2000.0, 2000, np.zeros(800), np.zeros(800), np.diag(values))
    found = search_share(moments, (values[:50].sum() - 0.1) / values.sum())
    np.testing.assert_allclose(found.variances, values[:50] / 1999, rtol=1e-12)


@pytest.mark.parametrize("power", [-300, 0, 300])
def test_rows_of_any_magnitude(power, rng):
    X = rows_of(1500, 1000, 5, rng)
    plain = search_share(Moments.of(X), 0.3)
    scaled = search_share(Moments.of(np.ldexp(X, power)), 0.3)
    np.testing.assert_array_equal(np.ldexp(plain.variances, 2 * power), scaled.variances)
    np.testing.assert_array_equal(plain.axes, scaled.axes)


def test_no_variance_at_all():
    assert search_share(Moments.of(np.ones((1200, 1000))), 0.5) is None


# ---- by products with the rows, without a scatter --------------------------------------------


def assert_alike(found, full, dtype):
    """Compare two fits, to what products in such a precision allow; ``full`` has all variances."""
    assert found.n_components_ == full.n_components_
    k, first = found.n_components_, full.explained_variance_[0]
    bound = 10 * found._result.spectrum.roundoff * first
    np.testing.assert_allclose(found.explained_variance_, full.explained_variance_, atol=bound)
    gap = full._result.spectrum.variances[k - 1] - full._result.spectrum.variances[k]
    angle = sine(found.components_.astype(float), full.components_.astype(float))
    assert angle <= 10 * np.finfo(dtype).eps * first / gap * np.sqrt(len(found.mean_))
    assert found.certificate_.residuals.max() <= 4 * np.finfo(dtype).eps
    assert found.noise_variance_ == pytest.approx(full.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1600, 7600])  # from 5 p rows on, a sample is searched first
def test_few_components_are_found_without_a_scatter(dtype, n, rng):
    X = rows_of(n, 1500, 20, rng, dtype)
    found, full = PCA(0.6).fit(X), PCA(0.6, svd_solver="covariance_eigh").fit(X)
    assert (found.plan_.summary, found.plan_.solver) == ("columns", "lanczos")
    assert full.plan_.solver == "eigh"  # as requested
    reached = f"{found.n_components_} of 1,500 components reach the requested share"
    assert reached in str(found.plan_)
    assert found.plan_.passes > 2  # means, and two for each product
    assert_alike(found, full, dtype)


def test_weights_and_scaling_agree_with_a_scatter(rng):
    X = rows_of(1700, 1500, 12, rng) * np.exp2(rng.integers(-300, 300, 1500))
    weights = rng.integers(1, 4, 1700).astype(float)
    found = PCA(0.3, scale="unit").fit(X, sample_weight=weights)
    assert found.plan_.summary == "columns"
    full = PCA(0.3, scale="unit", svd_solver="covariance_eigh").fit(X, sample_weight=weights)
    assert_alike(found, full, np.float64)


@pytest.mark.parametrize(
    ("n", "passes", "reason"),
    [
        (1500, 6, "the search for the share was stopped"),
        (7500, 2, "the share needs many components"),
    ],
)
def test_too_many_components_are_left_to_a_scatter(n, passes, reason, rng):
    """After a few products with the rows, or with a sample of them."""
    X = rng.standard_normal((n, 1500), dtype=np.float32)
    found = PCA(0.9).fit(X)
    assert (found.plan_.summary, found.plan_.solver) == ("moments", "eigh")
    assert reason in str(found.plan_)
    assert found.plan_.passes == passes
    full = PCA(0.9, svd_solver="covariance_eigh").fit(X)
    assert found.n_components_ == full.n_components_
    assert (found.components_ == full.components_).all()


def test_columns_without_variance_are_not_searched():
    X = np.ones((300, 300))
    columns = Columns.of(X)
    rows = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter, None, None)
    assert search_rows_share(rows, columns, 0.5, tol=0.0) == (None, 0)
    assert not too_many_components(rows, 0.0, 0.5, tol=0.0)


def test_slowly_falling_variances_are_given_up_early(rng):
    X = rng.standard_normal((1600, 1500)) / np.sqrt(np.arange(1.0, 1501))
    found = PCA(0.9).fit(X)
    assert found.plan_.summary == "moments"
    assert found.plan_.passes <= 2 + 8  # for the means and the scatter, and products


def test_a_search_with_a_fallback_needs_memory_for_a_scatter():
    problem = Problem(20_000, 2_000, 0.9, memory_limit=2**30)
    assert select_route(problem).summary == "columns"
    with pytest.raises(MemoryLimitError, match="scatter"):
        select_route(problem._replace(memory_limit=2**27))


def test_a_search_whose_tolerance_may_hide_copies_is_given_up(rng):
    """Blocks of 16 vectors find 16 of 40 equal variances; 20 components make up the share."""
    n, p = 500, 400
    variances = np.r_[1.0, np.full(40, 0.012), np.full(15, 0.005), np.full(p - 56, 1e-7)]
    X = with_singular_values(n, np.sqrt(variances), rng)[0]
    columns = Columns.of(X)
    rows = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter, None, None)
    assert search_rows_share(rows, columns, 0.79, tol=1e-3)[0] is None
