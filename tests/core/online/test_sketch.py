"""partial_fit with a sketch, where the covariance matrix does not fit in memory."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from online_cases import assert_same_bits, fit_in_batches, wide

import princomp
from helpers import EPS, assert_orthonormal, sine, truth
from princomp import PCA
from princomp.core.mergeable_summary import kind_for
from princomp.core.request import Request
from princomp.errors import (
    MemoryLimitError,
    NotAvailableError,
    ParameterError,
    ShapeError,
)
from princomp.solvers import TEST_DIRECTIONS
from princomp.summaries import Moments, SketchOf

# ---- a sketch, if p × p is too large ------------------------------------------------------------


def sketch_pca(k, **options):
    return PCA(k, svd_solver="sketch", **options)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("spectrum", ["i**-2", "flat"])
def test_a_sketch_estimates_its_residuals(spectrum, k):
    """The estimate has ten directions: beyond a factor of three once in thousands of times."""
    p = 600
    X = wide(900, p, np.arange(1, p + 1.0) ** -2 if spectrum == "i**-2" else np.ones(p))
    model = fit_in_batches(sketch_pca(k), X, 77)
    assert model.plan_.summary == "sketch"
    moved = X - X.mean(axis=0)
    C = moved.T @ moved / 899
    axes, variances = model.components_, model.explained_variance_
    residuals = np.linalg.norm(axes @ C - variances[:, None] * axes, axis=1) / variances[0]
    estimates = model.certificate_.residuals
    assert (estimates >= residuals / 3).all()
    assert (estimates <= residuals * 3).all()
    true = truth(X)[0]
    # Nyström never exceeds the scatter; its total is exact.
    assert (variances <= true[:k] * (1 + 8 * (900 + p) * EPS)).all()
    np.testing.assert_allclose(model.total_variance_, true.sum(), rtol=8 * (900 + p) * EPS)
    if spectrum == "i**-2":
        assert (variances >= 0.85 * true[:k]).all()
        assert variances[0] >= 0.95 * true[0]


def test_a_scatter_of_low_rank_is_sketched_exactly(rng):
    """It has fewer directions of variance than the sketch: only rounding is lost."""
    p = 300
    X = (rng.standard_normal((400, 6)) * [9, 5, 3, 2, 1, 0.5]) @ np.linalg.qr(
        rng.standard_normal((p, 6))
    )[0].T + 7
    true, axes = truth(X)
    for scale, center in ((None, True), (np.full(p, 2.0), True), (None, False)):
        model = fit_in_batches(sketch_pca(6, scale=scale, center=center), X, 31)
        if center:
            divisor = 1.0 if scale is None else 4.0
            # Nyström adds the condition of six variances only: 324.
            np.testing.assert_allclose(model.explained_variance_, true[:6] / divisor, rtol=1e-10)
            assert sine(model.components_, axes[:6]) <= 1e-7
        else:
            np.testing.assert_allclose(
                model.explained_variance_, truth(X, center=False)[0][:6], rtol=1e-9
            )


@pytest.mark.usefixtures("small_blocks")
def test_sketches_merge_decay_forget_and_are_saved(tmp_path, rng):
    p = 120
    X = wide(300, p, np.arange(1, p + 1.0) ** -2)
    weights = rng.random(300) + 0.5
    whole = sketch_pca(3).partial_fit(X, sample_weight=weights)

    def assert_near(model, other, slack=1.0):
        # The solver divides by the core of the sketch: its condition, i² of a few hundreds,
        # multiplies the rounding of the sums.
        error = slack * 1e4 * 420 * EPS
        total = other.total_variance_
        np.testing.assert_allclose(model.total_variance_, total, rtol=error)
        np.testing.assert_allclose(model.mean_, other.mean_, rtol=error)
        np.testing.assert_allclose(
            model.explained_variance_, other.explained_variance_, rtol=0, atol=error * total
        )
        assert sine(model.components_, other.components_) <= 10 * error
        assert model.n_samples_ == other.n_samples_

    assert_near(fit_in_batches(sketch_pca(3), X, 7, weights), whole)
    assert_near(fit_in_batches(sketch_pca(3), sp.csr_array(X), 70, weights), whole)
    a = sketch_pca(3).partial_fit(X[:100], sample_weight=weights[:100])
    b = sketch_pca(3).partial_fit(X[100:], sample_weight=weights[100:])
    before = pickle.loads(pickle.dumps(b))
    assert_near(a.merge(b), whole)
    assert_same_bits(b, before)
    assert_near(a.forget(X[:100], sample_weight=weights[:100]), b)
    assert_near(a.partial_fit(X[:100], sample_weight=weights[:100]), whole)
    with pytest.raises(ShapeError, match="spread further"):
        a.forget(X[:50] * 1000)
    with pytest.raises(ShapeError, match="cannot remove"):
        b.forget(X)
    a.save(tmp_path / "a.pca")
    loaded = princomp.load(tmp_path / "a.pca")
    assert_same_bits(loaded, a)
    assert_near(loaded.forget(X[:100], sample_weight=weights[:100]), b)
    decayed = fit_in_batches(sketch_pca(3, decay=0.99), X, 7)
    ages = 0.99 ** np.arange(299, -1, -1.0)
    assert_near(decayed, sketch_pca(3).partial_fit(X, sample_weight=ages))
    assert_near(fit_in_batches(sketch_pca(3, decay=0.99), X, 64), decayed)


@pytest.mark.parametrize("k", [None, 0.9, "mle"])
def test_a_sketch_needs_a_whole_number_of_components(k, table):
    with pytest.raises(ParameterError, match="n_components") as caught:
        PCA(k, svd_solver="sketch").partial_fit(table)
    assert caught.value.place == {"parameter": "n_components"}
    # So does "auto" where p × p is too large.
    with pytest.raises(ParameterError, match="n_components") as caught:
        PCA(k).partial_fit(sp.csr_array((1, 20_000)))
    assert f"PCA({k!r}, svd_solver='full').partial_fit is exact" in caught.value.hint
    assert PCA(0, svd_solver="sketch").partial_fit(table).components_.shape == (0, 5)


def test_twenty_thousand_columns_are_kept_in_p_times_l_numbers(rng):
    p, k = 20_000, 5
    width = 4 * k + 20
    with pytest.warns(UserWarning, match="components are approximate"):
        model = PCA(k).partial_fit(np.empty((0, p)))
    tracemalloc.start()
    try:
        for _ in range(6):
            model.partial_fit(
                rng.standard_normal((50, p)) * np.r_[np.arange(9, 0, -1), np.ones(p - 9)]
            )
        assert model.components_.shape == (k, p)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert type(model.summary_).__name__ == "Sketch"
    assert model.summary_.product.shape == (p, width)
    assert len(pickle.dumps(PCA.from_summary(model.summary_, n_components=k))) < 3 * p * width * 8
    # Two blocks of buffered rows (128 × p) and some p × l: a twentieth of p × p numbers.
    assert peak < 8 * (8 * p * width + 5 * 128 * p) < p * p * 8 / 20


def test_a_sketch_that_was_not_asked_for_warns_once(rng):
    X = rng.standard_normal((12, 10_001))
    expected = PCA(2).fit(X).explained_variance_
    model = PCA(2)
    with pytest.warns(UserWarning, match="components are approximate") as caught:
        model.partial_fit(X[:6]).partial_fit(X[6:])
    assert len(caught) == 1
    advice = str(caught[0].message)
    assert "; PCA(2, svd_solver='full').partial_fit is exact" in advice
    for k in (2, None):  # as the warning, and the hint for None, recommend
        exact = PCA(k, svd_solver="full").partial_fit(X[:6]).partial_fit(X[6:])
        np.testing.assert_allclose(exact.explained_variance_[:2], expected, rtol=1e-12)
    sketch_pca(2).partial_fit(X)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame])
def test_incremental_pca_fits_wide_tables_in_memory_exactly(kind, rng):
    X = rng.standard_normal((40, 10_001))
    expected = PCA(2).fit(X).explained_variance_
    model = princomp.IncrementalPCA(2, batch_size=7).fit(kind(X))
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-12)
    assert (model.batch_size_, model.n_samples_seen_) == (7, 40)
    np.testing.assert_allclose(model.var_, X.var(axis=0), rtol=1e-12)
    with pytest.raises(NotAvailableError, match="kept no scatter and only 2 of 39 components"):
        model.partial_fit(X)
    with pytest.raises(ParameterError, match="batch_size"):
        princomp.IncrementalPCA(2, batch_size=0).fit(kind(X))
    with pytest.warns(UserWarning, match="components are approximate"):
        princomp.IncrementalPCA(2).fit(iter([X]))


def test_incremental_pca_fits_tables_in_memory_exactly_if_a_scatter_does_not_fit(monkeypatch, rng):
    monkeypatch.setattr("princomp.core.mergeable_summary.memory_limit", lambda memory: 20 * 10**6)
    X = rng.standard_normal((30, 1200))  # 8 scatters of 1,200 columns take 92 MB
    model = princomp.IncrementalPCA(2).fit(X)
    expected = PCA(2).fit(X).explained_variance_
    np.testing.assert_array_equal(model.explained_variance_, expected)


def test_the_plan_of_sparse_batches_calls_them_sparse(rng):
    X = sp.random_array((60, 20), density=0.2, format="csr", rng=rng)
    model = PCA(2).partial_fit(X[:30]).partial_fit(X[30:])
    assert "(sparse)" in str(model.plan_)
    merged = PCA(2).partial_fit(X[:30]).merge(model)
    assert "(sparse)" in str(merged.plan_)
    merged.partial_fit(X.toarray())
    assert "(dense)" in str(merged.plan_)
    assert "(dense)" in str(PCA(2).partial_fit(X.toarray()).partial_fit(X).plan_)


def test_a_sketch_of_few_rows(table):
    """Fewer rows than components, fewer columns than directions, columns without spread."""
    model = sketch_pca(4).partial_fit(table[:1])
    assert not hasattr(model, "components_")
    model.partial_fit(table[1:3])
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.explained_variance_[:2], truth(table[:3])[0][:2], rtol=1e-12)
    assert model.explained_variance_[2] == 0
    constant = sketch_pca(2).partial_fit(np.ones((30, 4)))
    assert (constant.explained_variance_ == 0).all()
    assert_orthonormal(constant.components_)
    full = sketch_pca(5).partial_fit(table)
    np.testing.assert_allclose(full.explained_variance_, truth(table)[0], rtol=1e-11)


def test_a_sketch_does_not_invent_components(rng):
    """A sketch for two has eighteen directions; a thirtieth component is not in it."""
    X = rng.standard_normal((300, 200))
    model = sketch_pca(2).partial_fit(X)
    with pytest.raises(NotAvailableError, match="component"):
        model.truncated(30)
    model.set_params(n_components=30).partial_fit(X)
    with pytest.raises(NotAvailableError, match="component"):
        _ = model.explained_variance_


# ---- memory -------------------------------------------------------------------------------------


def test_a_scatter_that_does_not_fit_falls_back_to_a_sketch_or_is_refused(rng):
    X = rng.standard_normal((30, 1200))
    limit = "20MB"  # a scatter of 1,200 columns is 12 MB, and several are held at once
    with pytest.warns(UserWarning, match="components are approximate"):
        model = PCA(3, memory_limit=limit).partial_fit(X)
    assert model.plan_.summary == "sketch"
    for parameters in ({"n_components": 0.9}, {"n_components": 3, "svd_solver": "covariance_eigh"}):
        with pytest.raises(MemoryLimitError, match="1,200 columns takes about 92 MB"):
            PCA(memory_limit=limit, **parameters).partial_fit(X)
    assert PCA(3, memory_limit="1GB").partial_fit(X).plan_.summary == "moments"


def test_a_sketch_has_components_up_to_its_width_without_test_directions(rng):
    X = rng.standard_normal((300, 60))
    model = sketch_pca(3).partial_fit(X)
    most = model.summary_.width - TEST_DIRECTIONS
    assert model.set_params(n_components=most).partial_fit(X).n_components_ == most
    with pytest.raises(NotAvailableError, match=f"this sketch has at most {most} components"):
        _ = model.set_params(n_components=most + 1).partial_fit(X).components_


def test_a_scatter_has_at_most_ten_thousand_columns():
    request = Request(3, memory=10**12)
    assert kind_for(request, 10_000) is Moments
    assert isinstance(kind_for(request, 10_001), SketchOf)


def test_a_scaled_sketch_of_few_rows_needs_no_scatter(rng):
    """Its residuals include rounding, which is estimated without p × p numbers."""
    p = 3000
    X = rng.standard_normal((20, p))
    tracemalloc.start()
    try:
        residuals = sketch_pca(5, scale="unit").fit(X).certificate_.residuals
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 < residuals.max() < 1e-10
    assert peak < p * p * 8 / 2


@pytest.mark.parametrize(("decades", "power"), [(9, 0), (2, -490)])
def test_a_sketch_with_unequal_divisors_estimates_its_residual(decades, power):
    """Products with small columns are rounding; their squares may underflow."""
    n, p = 17, 1000
    X = 1.0 / (1 + np.arange(n)[:, None] + np.arange(p))
    sizes = 10.0 ** -np.random.default_rng(0).permutation(np.linspace(0, decades, p))
    X = np.ldexp(X * sizes / (X * sizes).std(axis=0).max(), power)
    model = PCA(1, svd_solver="sketch", scale="unit").fit(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    expected = np.linalg.svd(scaled, compute_uv=False)[0] ** 2 / (n - 1)
    residual = model.certificate_.residuals[0]
    assert abs(model.explained_variance_[0] / expected - 1) <= 3 * residual < 1e-9


def test_sparse_rows_are_cut_into_the_same_blocks_in_any_batches(monkeypatch, rng):
    """Sketches take more sparse rows than dense ones as a block."""
    monkeypatch.setattr("princomp.summaries.sketch.NUMBERS_PER_WIDE_BLOCK", 1)
    monkeypatch.setattr("princomp.summaries.sketch.MIN_ROWS_PER_SPARSE_BLOCK", 128)
    X = sp.random_array((700, 60), density=0.2, format="csr", rng=rng)
    whole = sketch_pca(3).fit(X)
    for size in (7, 100, 300, 700):
        assert_same_bits(fit_in_batches(sketch_pca(3), X, size), whole)
    mixed = sketch_pca(3).partial_fit(X[:100]).partial_fit(X[100:110].toarray())
    mixed.partial_fit(X[110:200].toarray()).partial_fit(X[200:])
    assert mixed.n_samples_ == 700
    np.testing.assert_allclose(mixed.explained_variance_, whole.explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("k", [0.5, "kaiser"])
def test_a_sketch_has_a_whole_number_of_components(k, rng):
    summary = PCA(2, svd_solver="sketch").fit(rng.standard_normal((30, 6))).summary_
    with pytest.raises(ParameterError, match=f"a sketch needs a whole number .*={k!r}"):
        PCA.from_summary(summary, n_components=k)
