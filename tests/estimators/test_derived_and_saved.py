"""Models of a covariance or a summary, saved models, attributes and column names."""

import tracemalloc
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from sklearn import decomposition

from helpers import EPS
from princomp import PCA, Moments, load, svd
from princomp.errors import (
    ColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "row_gram", "lanczos"])
@pytest.mark.parametrize("n", [2, 5, 10, 11, 15, 19, 20, 21, 30])
def test_models_of_any_row_count_survive_saving(solver, n, rng, tmp_path):
    X = rng.standard_normal((n, 10))
    X[:, 9] = X[:, 8]
    model = PCA(svd_solver=solver).fit(X)
    model.save(tmp_path / "m.pca")
    assert (load(tmp_path / "m.pca").transform(X) == model.transform(X)).all()


@pytest.mark.parametrize("factor", [1e-90, 1e150])
def test_singular_values_scale_with_the_input(factor, rng):
    X = rng.standard_normal((2000, 200))
    s = svd(X, 2)[1]
    np.testing.assert_allclose(svd(X * factor, 2)[1] / factor, s, rtol=1e-12)


def test_a_shrunk_covariance_keeps_its_rank(rng):
    C = np.cov(rng.standard_normal((10, 20)), rowvar=False) + 0.1 * np.eye(20)
    model = PCA.from_covariance(C, n_samples=np.int64(10))
    expected = np.linalg.eigvalsh(C)[::-1]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-12)


def test_a_covariance_whose_rows_have_another_order_is_refused(rng):
    pandas = pytest.importorskip("pandas")
    C = pandas.DataFrame(rng.standard_normal((30, 3)), columns=list("abc")).cov()
    mixed = C.loc[["b", "c", "a"]]
    with pytest.raises(ColumnError, match="the rows of C are in another order") as caught:
        PCA.from_covariance(mixed)
    assert "C.loc[C.columns]" in caught.value.hint
    expected = PCA.from_covariance(C).explained_variance_
    found = PCA.from_covariance(mixed.loc[mixed.columns]).explained_variance_
    np.testing.assert_array_equal(found, expected)
    PCA.from_covariance(pandas.DataFrame(C.to_numpy(), columns=list("abc")))


@pytest.mark.parametrize("n_samples", [1, 200.0, 57.2, "3", np.nan, np.inf, True])
def test_invalid_n_samples_are_refused(n_samples):
    with pytest.raises(ParameterError, match="must be None or a whole number of at least 2"):
        PCA.from_covariance(np.eye(3), n_samples=n_samples)


def test_an_uncentred_model_of_a_covariance_needs_the_mean():
    with pytest.raises(ParameterError, match="mean"):
        PCA.from_covariance(np.eye(3), center=False)


def test_a_derived_model_remembers_the_rows_left_out(rng):
    X = rng.standard_normal((30, 4))
    X[3, 1] = np.nan
    model = PCA(3, missing="drop").fit(X)
    assert model.rescaled("unit").n_dropped_ == model.truncated(2).n_dropped_ == 1


def test_a_fraction_of_the_components_that_were_kept(rng):
    X = rng.standard_normal((30, 4)) * [9, 3, 2, 1]
    with pytest.raises(NotAvailableError, match="only 0 of 4 components"):
        PCA(0, svd_solver="krylov").fit(X).truncated(0.5)
    X[3, 1] = np.nan
    model = PCA(3, missing="em").fit(X).truncated(0.5)
    assert (model.n_components, model.n_components_) == (1, 1)


def test_rescaling_a_stream_with_fewer_rows_than_components(rng):
    model = PCA(4).partial_fit(rng.standard_normal((3, 4)))
    assert model.n_components_ == model.rescaled("unit").n_components_ == 3
    with pytest.raises(ShapeError, match="n_components=4"):
        model.truncated(4)


def test_attributes_cannot_be_changed_in_place(rng):
    model = PCA(2).fit(rng.standard_normal((30, 4)))
    with pytest.raises(ValueError, match="read-only"):
        model.components_ *= -1


def test_unavailable_attributes_fail_hasattr_and_explain_why():
    model = PCA.from_covariance(np.eye(3))
    assert not hasattr(model, "singular_values_")
    with pytest.raises(NotAvailableError, match="number of rows"):
        _ = model.singular_values_


@pytest.mark.parametrize("dtype", [np.int64, np.float16, bool])
def test_summaries_accept_any_numeric_dtype(dtype, rng):
    X = rng.integers(0, 2, (50, 3)).astype(dtype)
    moments, exact = Moments.of(X), X.astype(np.float64)
    np.testing.assert_allclose(moments.mean, exact.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(Moments.of(exact.tolist()).scatter, moments.scatter)
    with pytest.raises(ParameterError, match="-1"):
        Moments.of(X, np.full(50, -1.0))


def test_transforming_an_array_after_a_frame_warns(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.standard_normal((20, 3)), columns=list("abc"))
    model = PCA(2).fit(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(frame.to_numpy())


def test_a_covariance_in_a_frame_names_its_columns(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.standard_normal((30, 3)), columns=list("abc"))
    model = PCA.from_covariance(frame.cov(), mean=frame.mean())
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(np.abs(model.transform(frame)), np.abs(PCA().fit_transform(frame)))
    other = PCA.from_covariance(frame.cov(), feature_names=np.array(["x", "y", "z"]))
    assert list(other.feature_names_in_) == ["x", "y", "z"]
    with pytest.raises(ColumnError, match="not unique"):
        PCA.from_covariance(frame.cov(), feature_names=["x", "y", "x"])
    for names in (5, "abc"):
        with pytest.raises(ParameterError, match="feature_names must be a list of names"):
            PCA.from_covariance(frame.cov(), feature_names=names)
    PCA.from_covariance(frame.cov(), feature_names=[2019, 2020, 2021]).save(tmp_path / "m.pca")
    assert list(load(tmp_path / "m.pca").feature_names_in_) == ["2019", "2020", "2021"]


def test_an_uncentred_model_needs_the_number_of_rows_too(rng):
    X = rng.standard_normal((30, 3)) + 2
    C, mean = np.cov(X, rowvar=False), X.mean(axis=0)
    with pytest.raises(ParameterError, match="number of rows"):
        PCA.from_covariance(C, mean=mean, center=False)
    model = PCA.from_covariance(C, mean=mean, n_samples=30, center=False)
    np.testing.assert_allclose(
        model.explained_variance_, PCA(center=False).fit(X).explained_variance_
    )


def test_a_model_from_scikit_learn_has_its_components(arrests, tmp_path):
    sklearn_model = decomposition.PCA(2, whiten=True).fit(arrests)
    model = PCA.from_sklearn(sklearn_model)
    np.testing.assert_allclose(model.components_, sklearn_model.components_, atol=1e-14)
    np.testing.assert_allclose(
        model.transform(arrests), sklearn_model.transform(arrests), atol=1e-10
    )
    np.testing.assert_allclose(
        model.explained_variance_ratio_, sklearn_model.explained_variance_ratio_
    )
    assert model.noise_variance_ == pytest.approx(sklearn_model.noise_variance_)
    assert "fitted by sklearn.decomposition.PCA" in str(model.plan_)
    none = PCA.from_sklearn(decomposition.PCA(0).fit(arrests))
    assert none.total_variance_ == pytest.approx(arrests.var(axis=0, ddof=1).sum())
    with np.errstate(all="ignore"):
        one_row = decomposition.IncrementalPCA(1).partial_fit(arrests[:1])
    with pytest.raises(ShapeError, match="at least 2 rows, and this IncrementalPCA has seen 1"):
        PCA.from_sklearn(one_row)
    full = PCA.from_sklearn(decomposition.PCA().fit(arrests))
    np.testing.assert_allclose(full.var_, arrests.var(axis=0, ddof=1))
    full.save(tmp_path / "m.pca")
    loaded = load(tmp_path / "m.pca")
    np.testing.assert_array_equal(loaded.components_, full.components_)


@pytest.mark.parametrize("kind", [decomposition.PCA, decomposition.IncrementalPCA])
def test_a_model_from_scikit_learn_keeps_its_signs(kind, arrests, tmp_path):
    theirs = kind(2).fit(arrests)
    for axis in (0, 1, 0, 1):
        theirs.components_[axis] *= -1.0
        model = PCA.from_sklearn(theirs)
        model.save(tmp_path / "m.pca")
        for same in (model, load(tmp_path / "m.pca"), model.truncated(2), deepcopy(model)):
            np.testing.assert_array_equal(same.components_, theirs.components_)
            np.testing.assert_allclose(same.transform(arrests), theirs.transform(arrests))


def test_a_model_file_need_not_have_the_variances_of_the_columns(arrests, tmp_path):
    model = PCA.from_sklearn(decomposition.PCA(2, whiten=True).fit(arrests))
    model.save(tmp_path / "m.pca")
    loaded = load(tmp_path / "m.pca")
    assert np.isnan(loaded.var_).all()
    for name in ("explained_variance_ratio_", "noise_variance_", "total_variance_", "mean_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    for method in ("transform", "score_samples"):
        expected = getattr(model, method)(arrests)
        np.testing.assert_array_equal(getattr(loaded, method)(arrests), expected)
    for one in (model, loaded):
        with pytest.raises(NotAvailableError):
            one.rescaled("unit")
    first = (tmp_path / "m.pca").read_bytes()
    loaded.save(tmp_path / "m.pca")
    assert (tmp_path / "m.pca").read_bytes() == first


def test_column_variances_of_a_model_from_scikit_learn_are_exact_or_not_known(rng):
    X = rng.standard_normal((50, 3)) * [1.0, 1e-6, 1e-8]
    for k in (1, 2):  # the rest of the variance is less than rounding of the total
        assert np.isnan(PCA.from_sklearn(decomposition.PCA(k).fit(X)).var_).all()
    for n in (50, 3):
        for seed in range(10):  # the rates of some sum to 1 - 1.2e-7
            X = np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)
            full = PCA.from_sklearn(decomposition.PCA().fit(X))
            np.testing.assert_allclose(full.var_, X.var(axis=0, ddof=1), rtol=1e-4)


@pytest.mark.parametrize("solver", ["full", "covariance_eigh"])
def test_rounding_of_float32_is_noise_in_a_model_from_scikit_learn(solver, rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 8))
    theirs = decomposition.PCA(whiten=True, svd_solver=solver).fit(X.astype(np.float32))
    model = PCA.from_sklearn(theirs)
    assert model.certificate_.below_resolution.tolist() == [False] * 3 + [True] * 5
    assert not model.transform(X)[:, 3:].any()  # not magnified to unit variance


@pytest.mark.parametrize("seed", [18, 22, 33, 40, 55, 62])
def test_rescaling_ignores_rounding_outside_the_mean_axis(seed):
    means = np.array([0, 1e8, 1e10, 1e10, 2e10, 2e10])
    X = means + np.random.default_rng(seed).standard_normal((4, 6))
    X[0] *= 3e10
    model = PCA(center=False, svd_solver="krylov").fit(X)
    first = model.rescaled(None).explained_variance_[0]
    np.testing.assert_allclose(first, model.explained_variance_[0], rtol=1e-12)


def test_uncentred_components_keep_the_whole_mean(rng):
    """Axes of small variance have few correct digits, and the mean may lie between them."""
    X = rng.standard_normal((28, 40))
    X[::2, :4] *= 1e6
    model = PCA(center=False, svd_solver="lanczos").fit(X).rescaled(None)
    scatter = X.T @ X / 27
    away = model.components_ @ scatter - model.explained_variance_[:, None] * model.components_
    assert np.abs(away).max() <= 200 * EPS * model.explained_variance_[0]


def test_a_summary_of_one_row_has_no_variances():
    with pytest.raises(ShapeError, match="at least 2 rows, and there is 1 sample"):
        PCA.from_summary(Moments.of(np.ones((1, 3))))


def test_a_summary_about_the_origin_needs_a_fit_without_centring(rng):
    summary = Moments.of(rng.standard_normal((20, 3)) + 5.0).about_origin()
    with pytest.raises(ParameterError, match="about the origin") as caught:
        PCA.from_summary(summary)
    assert "center=False" in caught.value.hint
    assert (PCA.from_summary(summary, center=False).mean_ == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_from_scores_have_the_precision_of_the_scores(dtype, rng):
    model = PCA(2).fit(rng.standard_normal((40, 5)).astype(np.float32))
    assert model.inverse_transform(np.ones((3, 2), dtype)).dtype == dtype


def test_rows_from_scores_are_not_copied(rng):
    model = PCA(3).fit(rng.standard_normal((100, 100)))
    scores = rng.standard_normal((20_000, 3))
    model.inverse_transform(scores[:10])  # loads what it needs
    tracemalloc.start()
    try:
        rows = model.inverse_transform(scores)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * rows.nbytes


def test_rows_from_scores_in_batches_are_those_of_all(rng):
    model = PCA(3).fit(rng.standard_normal((100, 10)))
    scores = rng.standard_normal((50, 3))
    expected = model.inverse_transform(scores)
    for cuts in ([0, 50], [0, 20, 50], [0, 10, 11, 50]):
        batches = (scores[start:stop] for start, stop in pairwise(cuts))
        found = model.inverse_transform(batches)
        np.testing.assert_allclose(found, expected, rtol=0, atol=64 * EPS * np.abs(expected).max())
    scores[25, 1] = np.inf
    with pytest.raises(NotFiniteError) as caught:
        model.inverse_transform(iter([scores[:20], scores[20:23], scores[23:]]))
    assert caught.value.place["row"] == 25


def test_a_model_of_scikit_learn_has_read_no_bytes(rng):
    theirs = decomposition.PCA(2).fit(rng.standard_normal((20, 3)))
    assert PCA.from_sklearn(theirs).certificate_.bytes_read == 0
