"""The PCA estimator: its attributes, and models derived from them without the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from helpers import EPS, assert_models_close
from princomp import PCA, Moments, Triangle
from princomp.errors import NotAvailableError

CHECKED = [PCA(), PCA(svd_solver="full"), PCA(missing="drop"), PCA(center=False)]


@parametrize_with_checks(CHECKED)
def test_scikit_learns_conventions(estimator, check):
    check(estimator)


def test_check_estimator_has_no_expected_failures():
    results = check_estimator(PCA(), on_fail=None, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}


@pytest.fixture
def table(rng):
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return rng.standard_normal((200, 5)) * [3, 2, 1, 0.5, 0.2] @ turn + 10


# ---- attributes ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "full", "lanczos", "row_gram"])
@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range"])
def test_attribute_shapes_and_relations(solver, scale, table):
    n, p, k = *table.shape, 3
    model = PCA(k, scale=scale, svd_solver=solver).fit(table)
    assert model.components_.shape == (k, p)
    assert model.loadings_.shape == (p, k)
    assert model.mean_.shape == model.var_.shape == (p,)
    assert (model.n_components_, model.n_samples_, model.n_features_in_) == (k, n, p)
    assert model.n_dropped_ == 0
    variances = model.explained_variance_
    rates = variances / model.total_variance_
    np.testing.assert_allclose(model.explained_variance_ratio_, rates)
    np.testing.assert_allclose(model.contribution_rate_, rates)
    np.testing.assert_allclose(model.accumulated_rate_, np.cumsum(rates))
    np.testing.assert_allclose(model.singular_values_, np.sqrt((n - 1) * variances))
    np.testing.assert_allclose(model.loadings_, model.components_.T * np.sqrt(variances))
    np.testing.assert_allclose(model.var_, table.var(axis=0, ddof=1))
    np.testing.assert_allclose(model.mean_, table.mean(axis=0))
    np.testing.assert_allclose(
        model.noise_variance_, (model.total_variance_ - variances.sum()) / (p - k)
    )
    divisor = np.ones(p) if scale is None else model.scale_
    np.testing.assert_allclose(model.total_variance_, (model.var_ / divisor**2).sum())
    scores = model.transform(table)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), variances)
    np.testing.assert_allclose(np.cov(scores.T), np.diag(variances), atol=1e-12 * variances[0])
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-13 * np.abs(scores).max() * n)
    assert PCA(scale=scale).fit(table).explained_variance_ratio_.sum() == pytest.approx(1)


def test_correlations_are_the_loadings_of_unit_scale(table):
    model = PCA(scale="unit").fit(table)
    correlations = np.corrcoef(table.T, model.transform(table).T)[:5, 5:]
    np.testing.assert_allclose(model.loadings_, correlations, atol=1e-12)


def test_all_components_reconstruct_the_rows(table):
    for options in ({}, {"scale": "unit"}, {"whiten": True}, {"center": False}):
        model = PCA(**options)
        back = model.inverse_transform(model.fit_transform(table))
        np.testing.assert_allclose(back, table, rtol=1e-12)


def test_fit_transform_is_fit_then_transform(table):
    for options in ({}, {"whiten": True}, {"svd_solver": "full"}, {"scale": "pareto"}):
        scores = PCA(2, **options).fit_transform(table)
        assert scores.tobytes() == PCA(2, **options).fit(table).transform(table).tobytes()


def test_an_unfitted_model_raises_not_fitted_error(table):
    model = PCA()
    with pytest.raises(NotFittedError):
        model.transform(table)
    for name in ("components_", "mean_", "plan_", "certificate_"):
        with pytest.raises(NotFittedError):
            getattr(model, name)


# ---- without the data --------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "full"])
@pytest.mark.parametrize("center", [True, False])
def test_rescaled_and_truncated_models_equal_a_fresh_fit(solver, center, table):
    given = np.array([1.0, 2.0, 3.0, 0.5, 0.25])
    first = PCA(svd_solver=solver, center=center, scale="range").fit(table)
    for scale in (None, "unit", "pareto", "range", given):
        again = first.rescaled(scale)
        assert_models_close(PCA(svd_solver=solver, center=center, scale=scale).fit(table), again)
        for k in (0, 2, 5, 0.7, 0.99, "mle"):
            if k == "mle" and not center:
                continue
            fresh = PCA(k, svd_solver=solver, center=center, scale=scale).fit(table)
            assert_models_close(fresh, again.truncated(k))
            np.testing.assert_allclose(
                again.truncated(k).transform(table), fresh.transform(table), atol=1e-10
            )
    assert first.scale == "range"
    assert first.n_components_ == 5


def test_rescaled_and_truncated_models_keep_their_output(table):
    model = PCA().set_output(transform="pandas").fit(table)
    for changed in (model.truncated(2), model.rescaled("unit")):
        assert isinstance(changed.transform(table), pd.DataFrame)


def test_truncation_of_a_fit_that_kept_no_scatter(rng):
    X = rng.standard_normal((20, 200))
    model = PCA(8, svd_solver="row_gram").fit(X)
    assert_models_close(PCA(3, svd_solver="row_gram").fit(X), model.truncated(3))
    with pytest.raises(
        NotAvailableError, match="kept no scatter and only 8 of 19 components"
    ) as caught:
        model.truncated(9)
    assert "n_components=None: all 19 components" in caught.value.hint
    with pytest.raises(NotAvailableError):
        model.rescaled("unit")
    with pytest.raises(NotAvailableError, match="range"):
        PCA().fit(X[:, :5]).rescaled("range")
    # All components determine the rows.
    all_of_them = PCA(svd_solver="row_gram").fit(X)
    fresh = PCA(svd_solver="full", scale="unit").fit(X)
    found = all_of_them.rescaled("unit").explained_variance_
    # The trace of a correlation matrix is p: 40 eps of the trace, and n eps of the decomposition.
    np.testing.assert_allclose(found, fresh.explained_variance_, rtol=0, atol=60 * 200 * EPS)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", [Moments, Triangle])
def test_a_model_from_a_summary_equals_a_fit(kind, table):
    merged = kind.of(table[:70]).merge(kind.of(table[70:]))
    for options in ({}, {"n_components": 2, "scale": "unit"}, {"n_components": 0.9}):
        model = PCA.from_summary(merged, feature_names=list("abcde"), **options)
        assert_models_close(PCA(**options).fit(table), model)
        np.testing.assert_allclose(
            model.transform(table), PCA(**options).fit_transform(table), atol=1e-10
        )
        assert model.n_samples_ == 200
        assert list(model.feature_names_in_) == list("abcde")


def test_a_summary_after_removal_describes_the_remaining_rows(table):
    left = Moments.of(table).remove(Moments.of(table[50:]))
    assert_models_close(PCA().fit(table[:50]), PCA.from_summary(left), tol=1e-11)
    assert PCA.from_summary(left).n_samples_ == 50


def test_a_model_from_a_covariance_equals_a_fit(table):
    C, mean = np.cov(table.T), table.mean(axis=0)
    model = PCA.from_covariance(C, mean=mean, n_samples=200, n_components=3)
    fresh = PCA(3).fit(table)
    assert_models_close(fresh, model)
    np.testing.assert_allclose(model.singular_values_, fresh.singular_values_)
    np.testing.assert_allclose(model.transform(table), fresh.transform(table), atol=1e-10)
    unit = PCA.from_covariance(C, mean=mean, n_samples=200, scale="unit")
    assert_models_close(PCA(scale="unit").fit(table), unit)
    correlation = PCA.from_covariance(np.corrcoef(table.T), n_samples=200)
    np.testing.assert_allclose(correlation.explained_variance_, unit.explained_variance_)
    np.testing.assert_allclose(correlation.components_, unit.components_, atol=1e-12)
    exact = PCA.from_covariance(np.eye(4), mean=0)
    assert (exact.explained_variance_ == 1).all()
    assert exact.transform(np.ones((1, 4))).shape == (1, 4)


# ---- weights, whitening, missing values --------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 6), (8, 12)])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "row_gram", "lanczos"])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_integer_weights_equal_repeated_rows_even_beyond_the_rank(shape, solver, scale, rng):
    X = rng.standard_normal(shape) * np.linspace(2, 1, shape[1])
    weights = rng.integers(0, 4, shape[0])
    repeated = np.repeat(X, weights, axis=0)
    k = None if solver != "lanczos" else min(shape)
    options = {"n_components": k, "svd_solver": solver, "scale": scale}
    weighted = PCA(**options).fit(X, sample_weight=weights)
    plain = PCA(**options).fit(repeated)
    assert weighted.n_components_ == plain.n_components_ == min(k or 99, weights.sum(), shape[1])
    variances = plain.explained_variance_
    tol = 1e-12 * variances[0]
    np.testing.assert_allclose(weighted.explained_variance_, variances, atol=tol)
    np.testing.assert_allclose(weighted.components_, plain.components_, atol=1e-9)
    np.testing.assert_allclose(weighted.mean_, plain.mean_, atol=1e-14)
    np.testing.assert_allclose(weighted.singular_values_**2, plain.singular_values_**2, atol=1e-10)
    np.testing.assert_allclose(weighted.transform(X), plain.transform(X), atol=1e-9)


def test_whitening_of_rows_without_full_rank_does_not_enlarge_noise(rng):
    """scikit-learn's scores reach 8e5 here (#29534)."""
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 10)) + 5
    for solver in ("auto", "full", "covariance_eigh", "row_gram"):
        model = PCA(whiten=True, svd_solver=solver)
        scores = model.fit_transform(X)
        np.testing.assert_allclose(scores[:, :4].std(axis=0, ddof=1), 1, rtol=1e-10)
        assert (scores[:, 4:] == 0).all()
        np.testing.assert_allclose(model.inverse_transform(scores), X, rtol=1e-10)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e100])
def test_whitened_scores_of_equal_rows_are_zero(size):
    """Their variances are as small as their resolution: both are zero."""
    X = np.full((6, 3), size)
    model = PCA(whiten=True).fit(X)
    assert (model.transform(X) == 0).all()
    assert (model.inverse_transform(model.transform(X)) == X).all()


def test_rows_with_missing_values_are_dropped_and_stay_aligned(table):
    holes = table.copy()
    holes[[3, 50, 199], [0, 4, 2]] = np.nan
    kept = ~np.isnan(holes).any(axis=1)
    frame = pd.DataFrame(holes, columns=list("abcde"))
    for X in (holes, frame, holes.astype(np.float32), sp.csr_array(holes)):
        for solver in ("auto", "full", "row_gram", "lanczos"):
            model = PCA(2, missing="drop", svd_solver=solver, scale="range")
            scores = np.asarray(model.fit_transform(X))
            assert (model.n_dropped_, model.n_samples_) == (3, 197)
            assert np.isnan(scores).all(axis=1).tolist() == (~kept).tolist()
            fresh = PCA(2, scale="range").fit(table[kept])
            tol = 1e-4 if getattr(X, "dtype", None) == np.float32 else 1e-10
            np.testing.assert_allclose(scores[kept], fresh.transform(table[kept]), atol=tol)
    weights = np.arange(200) % 3
    model = PCA(2, missing="drop").fit(holes, sample_weight=weights)
    assert_models_close(PCA(2).fit(table[kept], sample_weight=weights[kept]), model, tol=1e-11)
