"""IncrementalPCA: the interface of scikit-learn's class, with exact results."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA as SklearnIncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import princomp
from helpers import EPS, assert_models_close, truth
from princomp import PCA, IncrementalPCA
from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, ShapeError


@parametrize_with_checks([IncrementalPCA(), IncrementalPCA(1, whiten=True, batch_size=7)])
def test_scikit_learns_conventions(estimator, check):
    check(estimator)


def test_check_estimator_has_no_expected_failures():
    results = check_estimator(IncrementalPCA(), on_fail=None, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}


def in_batches(model, X, size):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


@pytest.fixture(scope="module")
def flat():
    """Rows with slowly falling variances, so that truncation after each batch would show."""
    return np.random.default_rng(0).standard_normal((2000, 100)) * np.linspace(1, 0.5, 100)


# ---- exact where scikit-learn approximates ------------------------------------------------------


@pytest.mark.parametrize("size", [20, 100, 1000])
def test_batches_give_the_exact_model(size, flat):
    true, axes = truth(flat)
    # A scatter of n rows of p columns is off by a few (n + p)·eps of its trace.
    error = 8 * 2100 * EPS * true.sum()
    for model in (
        IncrementalPCA(10, batch_size=size).fit(flat),
        in_batches(IncrementalPCA(10), flat, size),
    ):
        np.testing.assert_allclose(model.explained_variance_, true[:10], rtol=0, atol=error)
        np.testing.assert_allclose(
            model.explained_variance_ratio_, true[:10] / true.sum(), rtol=0, atol=8 * 2100 * EPS
        )
        np.testing.assert_allclose(
            model.singular_values_, np.sqrt(true[:10] * 1999), rtol=error / true[9]
        )
        gaps = -np.diff(true[:11])
        cosines = np.abs(np.einsum("ij,ij->i", model.components_, axes[:10]))
        nearest = np.minimum(gaps, np.r_[np.inf, gaps[:-1]])
        assert (np.sqrt(np.maximum(1 - cosines**2, 0)) <= error / nearest + 1e-7).all()
        np.testing.assert_allclose(model.noise_variance_, true[10:].mean(), rtol=error)
    # The batch size does not matter here; scikit-learn's loses several percent.
    sklearn_variances = SklearnIncrementalPCA(10, batch_size=size).fit(flat).explained_variance_
    assert (1 - sklearn_variances / true[:10]).max() > (0.15 if size <= 100 else 0.05)


def test_attributes_match_scikit_learn_where_it_is_exact(rng):
    """One batch, or all components: then both are the same numbers, to rounding."""
    X = rng.standard_normal((60, 4)) * [4, 3, 2, 1] + 5
    for make in ({}, {"whiten": True}):
        sklearn_model = SklearnIncrementalPCA(**make).fit(X)
        for model in (IncrementalPCA(**make).fit(X), in_batches(IncrementalPCA(**make), X, 9)):
            for name in (
                "mean_",
                "var_",
                "explained_variance_",
                "explained_variance_ratio_",
                "singular_values_",
                "noise_variance_",
            ):
                # scikit-learn updates mean and variance in two passes and loses a few digits.
                np.testing.assert_allclose(
                    getattr(model, name),
                    getattr(sklearn_model, name),
                    rtol=1e-12,
                    atol=1e-13,
                    err_msg=name,
                )
            signs = np.sign(np.einsum("ij,ij->i", model.components_, sklearn_model.components_))
            np.testing.assert_allclose(
                model.components_, sklearn_model.components_ * signs[:, None], atol=1e-12
            )
            np.testing.assert_allclose(
                model.transform(X), sklearn_model.transform(X) * signs, atol=1e-10
            )
            np.testing.assert_allclose(
                model.inverse_transform(model.transform(X)),
                sklearn_model.inverse_transform(sklearn_model.transform(X)),
                rtol=1e-10,
            )
            assert model.n_samples_seen_ == sklearn_model.n_samples_seen_ == 60
            assert model.n_components_ == sklearn_model.n_components_ == 4
            if make:  # scikit-learn's covariance of a whitened model has other units
                continue
            np.testing.assert_allclose(
                model.get_covariance(), sklearn_model.get_covariance(), atol=1e-11
            )
            np.testing.assert_allclose(
                model.get_precision(), sklearn_model.get_precision(), atol=1e-11
            )
            assert list(model.get_feature_names_out()) == ["PC1", "PC2", "PC3", "PC4"]
            model.set_params(component_names="sklearn")
            assert list(model.get_feature_names_out()) == list(
                sklearn_model.get_feature_names_out()
            )


def test_column_variances_have_divisor_n(rng):
    """As in scikit-learn; those of PCA have n − 1."""
    X = rng.standard_normal((11, 3)) + 1e6
    np.testing.assert_allclose(IncrementalPCA().fit(X).var_, X.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(PCA().fit(X).var_, X.var(axis=0, ddof=1), rtol=1e-9)
    weights = rng.integers(1, 4, 11)
    model = IncrementalPCA().fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.var_, np.repeat(X, weights, axis=0).var(axis=0), rtol=1e-9)


def test_fit_equals_partial_fit(flat):
    one, other = IncrementalPCA(5).fit(flat), in_batches(IncrementalPCA(5), flat, 333)
    assert one.components_.tobytes() == other.components_.tobytes()
    assert one.explained_variance_.tobytes() == other.explained_variance_.tobytes()
    assert_models_close(PCA(5).fit(flat), PCA.from_summary(one.summary_, n_components=5))
    # fit starts anew, partial_fit continues.
    other.fit(flat[:500])
    assert other.n_samples_seen_ == 500
    assert other.partial_fit(flat[500:]).n_samples_seen_ == 2000


# ---- parameters ---------------------------------------------------------------------------------


def test_parameters_are_those_of_scikit_learn():
    """And one more: component_names."""
    assert list(inspect.signature(IncrementalPCA).parameters) == [
        *inspect.signature(SklearnIncrementalPCA).parameters,
        "component_names",
    ]
    assert IncrementalPCA().get_params() == {
        **SklearnIncrementalPCA().get_params(),
        "component_names": "PC",
    }
    model = IncrementalPCA(3, whiten=True, copy=False, batch_size=9)
    sklearn_params = SklearnIncrementalPCA(3, whiten=True, copy=False, batch_size=9).get_params()
    assert model.get_params() == {**sklearn_params, "component_names": "PC"}
    assert clone(model).get_params() == model.get_params()
    assert repr(IncrementalPCA(2)) == "IncrementalPCA(n_components=2)"
    with pytest.raises(TypeError):
        IncrementalPCA(scale="unit")


@pytest.mark.parametrize("size", [0, -1, 2.5, "10", True, np.nan])
def test_an_invalid_batch_size_is_refused(size, flat):
    for call in ("fit", "partial_fit", "fit_transform"):
        model = IncrementalPCA(2, batch_size=size)
        with pytest.raises(ParameterError, match="batch_size=") as caught:
            getattr(model, call)(flat)
        assert caught.value.place == {"parameter": "batch_size"}
        assert not hasattr(model, "n_features_in_")


def test_the_batch_size_is_reported_after_a_fit(flat):
    assert (
        IncrementalPCA().fit(flat).batch_size_
        == SklearnIncrementalPCA().fit(flat).batch_size_
        == 500
    )
    assert IncrementalPCA(batch_size=np.int64(7)).fit(flat).batch_size_ == 7
    assert not hasattr(IncrementalPCA(batch_size=7).partial_fit(flat), "batch_size_")
    assert IncrementalPCA(2, batch_size=7).fit(flat).truncated(1).batch_size_ == 7


def test_fit_transform_is_a_fit_and_a_transform(flat):
    model, single = IncrementalPCA(2), flat.astype(np.float32)
    scores = model.fit_transform(single)
    np.testing.assert_array_equal(scores, IncrementalPCA(2).fit(single).transform(single))
    assert model.batch_size_ == 500
    assert model.partial_fit(single[:7]).n_samples_seen_ == len(flat) + 7
    wide = flat[:20].repeat(5, axis=1)  # a fit of PCA would keep no scatter
    repeated = IncrementalPCA(2)
    repeated.fit_transform(wide)
    assert repeated.partial_fit(wide).n_samples_seen_ == 40
    with pytest.raises(ParameterError, match="an iterator gives them once"):
        model.fit_transform(iter([flat]))
    with pytest.raises(TypeError, match="comm"):
        model.fit_transform(flat, comm=object())
    frame = model.set_output(transform="pandas").fit_transform(flat)
    assert list(frame.columns) == ["PC1", "PC2"]


def test_check_input_changes_nothing(flat):
    checked = IncrementalPCA(2).partial_fit(flat)
    unchecked = IncrementalPCA(2).partial_fit(flat, check_input=False)
    assert checked.components_.tobytes() == unchecked.components_.tobytes()
    with pytest.raises(NotFiniteError):
        IncrementalPCA(2).partial_fit(flat * np.nan, check_input=False)
    for value in (True, False, np.False_):  # the third argument of scikit-learn's method
        third = IncrementalPCA(2).partial_fit(flat, None, value)
        assert checked.components_.tobytes() == third.components_.tobytes()


def test_unsupported_options_are_refused(flat):
    for name, value in (("progress", print), ("checkpoint", "here"), ("batches", 3)):
        with pytest.raises(TypeError, match=name):
            IncrementalPCA(2).fit(flat, **{name: value})
    with pytest.raises(NotAvailableError, match="no scale") as caught:
        IncrementalPCA(2).fit(flat).rescaled("unit")
    assert "from_summary" in caught.value.hint


# ---- rows ---------------------------------------------------------------------------------------


def test_missing_cells_are_refused_without_an_option_that_the_class_lacks(flat):
    rows = flat.copy()
    rows[3, 1] = np.nan
    for call in (IncrementalPCA(2).fit, IncrementalPCA(2).partial_fit):
        with pytest.raises(NotFiniteError, match="row 3, column 1") as caught:
            call(rows)
        assert caught.value.hint.startswith("leave such rows out, as PCA(missing='drop') does")
    with pytest.raises(NotFiniteError, match="row 3, column 1") as caught:
        IncrementalPCA(2).fit(flat).transform(rows)
    assert "fit a PCA or KernelPCA with missing='em'" in caught.value.hint


def test_rows_are_counted_from_the_first(flat):
    """One row is seen, though it has no variance yet."""
    model = IncrementalPCA(3)
    with pytest.raises(NotFittedError):
        _ = model.n_samples_seen_
    for n in range(1, 6):
        model.partial_fit(flat[n - 1 : n])
        assert model.n_samples_seen_ == n
        assert type(model.n_samples_seen_) is int
        assert hasattr(model, "components_") == (n > 1)
        if n > 1:
            assert model.n_components_ == min(n, 3)
    assert model.forget(flat[:2]).n_samples_seen_ == 3


def test_n_components_may_exceed_the_first_batch(flat):
    """scikit-learn needs that many rows in the first batch; here later batches may bring them."""
    with pytest.raises(ValueError, match="less or equal to the batch number of samples"):
        SklearnIncrementalPCA(10).partial_fit(flat[:5])
    model = IncrementalPCA(10).partial_fit(flat[:5])
    assert model.n_components_ == 5
    model.partial_fit(flat[5:])
    assert model.n_components_ == 10
    np.testing.assert_allclose(
        model.explained_variance_, truth(flat)[0][:10], rtol=8 * 2100 * EPS * 10
    )
    with pytest.raises(ShapeError, match="n_components=101 and the rows have 100 columns"):
        IncrementalPCA(101).fit(flat)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones((1, 3)), "1 sample"),
        (np.ones((0, 3)), "0 sample"),
        (np.ones((5, 0)), "0 feature"),
        (np.full((5, 3), np.nan), "NaN"),
        (np.full((5, 3), np.inf), "infinity"),
    ],
)
def test_a_fit_that_fails_leaves_the_earlier_one(X, match, flat):
    with pytest.raises(ValueError, match=match):
        IncrementalPCA().fit(X)
    model = in_batches(IncrementalPCA(2), flat, 77)
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=match):
        model.fit(X)
    assert model.n_samples_seen_ == 2000
    assert model.components_.tobytes() == before.components_.tobytes()
    assert model.n_features_in_ == 100


def test_all_zero_weights_are_refused(flat):
    with pytest.raises(ShapeError, match="every weight is zero"):
        IncrementalPCA().fit(flat, sample_weight=np.zeros(2000))


def test_sparse_rows_and_frames(rng):
    X = np.where(rng.random((300, 30)) < 0.1, rng.standard_normal((300, 30)), 0.0)
    whole = IncrementalPCA(3).fit(X)
    for kind in (sp.csr_array, sp.csc_matrix, sp.lil_array):
        for model in (IncrementalPCA(3).fit(kind(X)), IncrementalPCA(3, batch_size=9).fit(kind(X))):
            np.testing.assert_allclose(
                model.explained_variance_, whole.explained_variance_, rtol=8 * 330 * EPS * 30
            )
    frame = pd.DataFrame(X).add_prefix("c")
    model = IncrementalPCA(3).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.transform(frame).columns) == ["PC1", "PC2", "PC3"]
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[frame.columns[::-1]])
    scores = make_pipeline(StandardScaler(), IncrementalPCA(2, batch_size=50)).fit_transform(X)
    assert scores.shape == (300, 2)


def test_float32_rows_have_float32_axes(flat):
    single = flat.astype(np.float32)
    model = in_batches(IncrementalPCA(2), single, 100)
    assert model.components_.dtype == model.transform(single).dtype == np.float32
    assert model.explained_variance_.dtype == np.float64
    wide = truth(single.astype(np.float64))[0]
    np.testing.assert_allclose(model.explained_variance_, wide[:2], rtol=8 * 2100 * EPS * 100)


def test_models_are_pickled_saved_and_merged(flat, tmp_path):
    whole = IncrementalPCA(4).fit(flat)
    half = in_batches(IncrementalPCA(4), flat[:1001], 50)
    again = in_batches(pickle.loads(pickle.dumps(half)), flat[1001:], 70)
    assert again.components_.tobytes() == whole.components_.tobytes()
    assert type(again) is IncrementalPCA
    assert type(half.truncated(2)) is IncrementalPCA
    assert half.truncated(2).n_samples_seen_ == 1001
    # A loaded model is the same and accepts more rows.
    half.set_params(batch_size=7).save(tmp_path / "half.pca")
    loaded = princomp.load(tmp_path / "half.pca")
    assert type(loaded) is IncrementalPCA
    assert loaded.get_params() == half.get_params()
    assert (loaded.n_samples_seen_, loaded.batch_size_) == (1001, 7)
    assert_models_close(IncrementalPCA(4).fit(flat), loaded.partial_fit(flat[1001:]))
    rest = IncrementalPCA(4).fit(flat[1001:])
    np.testing.assert_allclose(
        half.merge(rest).explained_variance_, whole.explained_variance_, rtol=8 * 2100 * EPS * 10
    )
    assert half.n_samples_seen_ == 2000
