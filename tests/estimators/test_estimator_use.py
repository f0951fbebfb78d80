"""PCA in use: its probabilistic model, frames, pipelines and copies."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import EPS, aligned, assert_models_close, assert_orthonormal, centred, truth
from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA, load, pca, plan
from princomp.errors import ColumnError, DataError, ParameterError


@pytest.fixture
def table(rng):
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return rng.standard_normal((200, 5)) * [3, 2, 1, 0.5, 0.2] @ turn + 10


# ---- the probabilistic model -------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_whitening_does_not_change_the_probabilistic_model(k, scale, table):
    plain, white = (PCA(k, whiten=w, scale=scale).fit(table) for w in (False, True))
    np.testing.assert_array_equal(white.get_covariance(), plain.get_covariance())
    np.testing.assert_array_equal(white.get_precision(), plain.get_precision())
    assert white.score(table) == plain.score(table)
    covariance = plain.get_covariance()
    np.testing.assert_allclose(plain.get_precision() @ covariance, np.eye(5), atol=1e-9)
    if k == 5:
        np.testing.assert_allclose(covariance, np.cov(table.T), atol=1e-12 * covariance.max())
    rows = centred(table)
    sign, logdet = np.linalg.slogdet(covariance)
    squares = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(covariance), rows)
    density = -0.5 * (squares + logdet + 5 * np.log(2 * np.pi))
    assert sign == 1
    np.testing.assert_allclose(plain.score_samples(table), density, rtol=1e-10)


def test_the_density_of_rows_with_many_columns_is_computed_row_by_row(rng):
    X = rng.standard_normal((4, 2**17 + 1))
    model = PCA(2).fit(X)
    p, variances, noise = X.shape[1], model.explained_variance_, model.noise_variance_
    scores = model.transform(X)
    distances = ((X - X.mean(axis=0)) ** 2).sum(axis=1) - (scores**2).sum(axis=1)
    density = -0.5 * (
        p * np.log(2 * np.pi)
        + np.log(variances).sum()
        + (p - 2) * np.log(noise)
        + (scores**2 / variances).sum(axis=1)
        + distances / noise
    )
    np.testing.assert_allclose(model.score_samples(X), density, rtol=1e-10)


def test_isotropic_rows_have_a_finite_score():
    X = np.vstack([np.eye(4), -np.eye(4)])
    for k in (0, 1, 3, 4):
        model = PCA(k).fit(X)
        assert np.isfinite(model.score(X))
        np.testing.assert_allclose(model.get_covariance(), np.eye(4) * 2 / 7, atol=4 * EPS)
        np.testing.assert_allclose(model.get_precision(), np.eye(4) * 7 / 2, rtol=1e-14)


def test_scaled_singular_rows_have_the_model_of_their_span(rng):
    """The pseudo-inverse, and the density in the units of the rows: as without a scale."""
    Z = rng.standard_normal((300, 2))
    X = np.c_[Z, Z @ [1, 2]] * [1, 10, 100]
    model, plain = (PCA(scale=scale).fit(X) for scale in ("unit", None))
    expected = np.linalg.pinv(model.get_covariance(), 1e-10)
    np.testing.assert_allclose(model.get_precision(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.score_samples(X), plain.score_samples(X), rtol=1e-9)
    constant = PCA(0, scale=[1.0, 2, 3]).fit(np.ones((9, 3)))
    assert not constant.get_precision().any()
    assert constant.score(np.ones((9, 3))) == 0


@pytest.mark.parametrize("solver", ["full", "covariance_eigh"])
def test_a_distant_row_of_the_span_has_a_density(solver, rng):
    Z = rng.standard_normal((100, 2))
    X = np.c_[Z, Z.sum(axis=1)]
    rows = np.outer([1e3, 1e6, 1e9], [1.0, 2, 3])
    density = PCA(svd_solver=solver).fit(X).score_samples(np.r_[rows, rows + np.eye(3)[2] * 1e-3])
    expected = multivariate_normal(Z.mean(axis=0), np.cov(Z.T)).logpdf(rows[:, :2])
    # Areas of the plane are √3 times those of its first two coordinates.
    np.testing.assert_allclose(density[:3], expected - np.log(3) / 2, rtol=1e-9)
    assert (density[3:] == -np.inf).all()


def test_float32_rows_of_the_span_have_a_density(rng):
    X = 10 + rng.standard_normal((100, 2)) @ rng.standard_normal((2, 5))
    model = PCA().fit(X)
    found = model.score_samples(X.astype(np.float32))
    np.testing.assert_allclose(found, model.score_samples(X), atol=1e-4)
    assert (model.score_samples((X + np.eye(5)[4] * 1e-3).astype(np.float32)) == -np.inf).all()


def test_noise_below_the_resolution_leaves_the_rows_of_the_fit_in_the_span(rng):
    signals = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 300))
    X = signals + 3e-6 * rng.standard_normal((400, 300))
    model = PCA(2, svd_solver="covariance_eigh").fit(X)
    np.testing.assert_allclose(model.score_samples(X), PCA(2).fit(signals).score_samples(signals))
    assert model.score_samples(X[:1] + 1e-2) == -np.inf


@pytest.mark.parametrize("k", [0, 2])
def test_a_row_that_drop_leaves_out_has_no_density(k, rng):
    X = rng.standard_normal((30, 2)) @ np.eye(2, 4) * (k > 0)
    X[3, 1] = np.nan
    density = PCA(k, missing="drop").fit(X).score_samples(X)
    assert np.flatnonzero(np.isnan(density)).tolist() == [3]
    assert np.isfinite(np.delete(density, 3)).all()


@pytest.mark.parametrize("missing", ["drop", "em", "nipals"])
def test_rows_without_density_do_not_count_in_the_score(missing, rng):
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 4))
    X[3, 1] = np.nan
    model = PCA(2, missing=missing).fit(X)
    assert model.score(X) == pytest.approx(model.score(np.delete(X, 3, axis=0)))
    with pytest.raises(DataError, match="no row is complete"):
        model.score(X[3:4])
    found = GridSearchCV(PCA(missing=missing), {"n_components": [1, 2]}, cv=3).fit(X)
    assert found.best_params_ == {"n_components": 2}


def test_noise_of_wide_rows_is_that_of_maximum_likelihood():
    """scikit-learn divides by the rank instead of p − k and gives 4.09 instead of 0.609."""
    X = np.random.RandomState(0).standard_normal((10, 50))
    for solver in ("auto", "full", "covariance_eigh", "row_gram", "lanczos"):
        model = PCA(3, svd_solver=solver).fit(X)
        variances = truth(X)[0]
        np.testing.assert_allclose(model.noise_variance_, variances[3:].sum() / 47)
        assert 0.3 < model.noise_variance_ < 1


# ---- frames, pipelines, copies -------------------------------------------------------------------


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda d: pl.DataFrame(d),
    "pyarrow": lambda d: pa.table(d),
}


@pytest.mark.parametrize("library", list(FRAMES))
def test_frames_keep_their_names(library, table):
    data = {name: table[:, i] for i, name in enumerate(["a", "b", "c", "d", "e"])}
    frame = FRAMES[library](data)
    model = PCA(2).fit(frame)
    assert list(model.feature_names_in_) == list("abcde")
    assert_models_close(PCA(2).fit(table), model)
    scores = model.transform(frame)
    np.testing.assert_allclose(scores, model.truncated(2).transform(frame))
    assert list(model.get_feature_names_out()) == ["PC1", "PC2"]
    for named in (model, model.rescaled("unit"), model.truncated(1)):
        assert list(named.feature_names_in_) == list("abcde")


def test_a_record_batch_is_a_table_with_names(table):
    columns = {name: table[:, i] for i, name in enumerate("abcde")}
    whole = pa.table({**columns, "text": ["a"] * len(table)})
    (batch,) = whole.to_batches()
    with pytest.warns(UserWarning, match="left out 1 text column"):
        model = PCA(1).fit(batch)
    assert model.feature_names_in_.tolist() == list(columns)
    np.testing.assert_array_equal(model.transform(batch), model.transform(whole))
    other_order = batch.select(["b", "a", "c", "d", "e"])
    with pytest.raises(ColumnError, match="same order"):
        model.transform(other_order)
    model.partial_fit(batch.slice(0, 0)).partial_fit(batch)
    assert model.n_samples_ == 2 * len(table)
    with pytest.raises(ColumnError, match="same order"):
        model.partial_fit(other_order.slice(0, 0))


def test_set_output_gives_frames(table):
    frame = pd.DataFrame(table, columns=list("abcde"), index=np.arange(200) + 1000)
    for model in (PCA(2).set_output(transform="pandas"),):
        scores = model.fit_transform(frame)
        assert list(scores.columns) == ["PC1", "PC2"]
        assert list(scores.index) == list(frame.index)
        assert isinstance(model.transform(frame), pd.DataFrame)
    polars = PCA(2).set_output(transform="polars").fit_transform(pl.DataFrame(frame))
    assert isinstance(polars, pl.DataFrame)


def test_pipelines_and_searches(table, rng):
    scores = make_pipeline(StandardScaler(), PCA(2)).fit_transform(table)
    unit = PCA(2, scale=table.std(axis=0)).fit_transform(table)
    np.testing.assert_allclose(aligned(unit.T, scores.T).T, unit, atol=1e-12)
    search = GridSearchCV(PCA(), {"n_components": [1, 2, 4], "scale": [None, "unit"]}, cv=3)
    search.fit(table)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["n_components"] == 4


def test_clones_are_unfitted_and_pickles_are_the_same_model(table):
    model = PCA(3, scale="unit", whiten=True).fit(pd.DataFrame(table, columns=list("abcde")))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(table)
    back = pickle.loads(pickle.dumps(model))
    frame = pd.DataFrame(table, columns=list("abcde"))
    assert back.transform(frame).tobytes() == model.transform(frame).tobytes()
    assert back.certificate_.to_json() == model.certificate_.to_json()
    assert str(back.plan_) == str(model.plan_)


def test_writing_to_attributes_does_not_change_the_model(table):
    model = PCA(2).fit(table)
    before = model.transform(table)
    for name in ("components_", "explained_variance_", "mean_", "explained_variance_ratio_"):
        array = getattr(model, name)
        if array.flags.writeable:
            array += 1
            array -= 1
    np.testing.assert_allclose(model.transform(table), before)
    assert_orthonormal(model.components_)


ESTIMATORS = {
    "PCA": lambda **given: PCA(2, **given),
    "randomized": lambda **given: PCA(2, svd_solver="randomized", **given),
    "RobustPCA": lambda **given: RobustPCA(2, **given),
    "KernelPCA": lambda **given: KernelPCA(2, kernel="rbf", **given),
    "Nystrom": lambda **given: KernelPCA(
        2, kernel="rbf", approximation="nystrom", n_landmarks=9, **given
    ),
    "features": lambda **given: KernelPCA(
        2, kernel="rbf", approximation="features", n_landmarks=20, **given
    ),
}


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA, KernelPCA, RobustPCA])
def test_warnings_show_the_line_of_the_caller(kind, rng):
    frame = pd.DataFrame(rng.standard_normal((30, 3)), columns=list("abc")).assign(name="x")
    model, array = kind(2).set_output(transform="pandas"), frame[list("abc")].to_numpy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame)
        model.fit_transform(frame)
        make_pipeline(model, kind(1)).fit(frame)
        model.transform(array)
        clone(model).partial_fit(frame) if kind in (PCA, IncrementalPCA) else None
        pca(frame, 0.9)
        plan(frame)
    assert len(caught) >= 6
    assert {one.filename for one in caught} == {__file__}


def test_fit_transform_takes_the_options_of_fit(table):
    for kind in (PCA, KernelPCA):
        seen = []
        steps = [(name, kind(2)) for name in ("first", "last")]
        Pipeline(steps).fit(table, first__progress=seen.append)
        assert seen or kind is KernelPCA  # an exact fit has no passes
    with pytest.raises(TypeError, match="checkpoint"):
        IncrementalPCA(2).fit_transform(table, checkpoint="c")


def test_the_output_of_a_derived_model_is_its_own(table):
    model = PCA(3).set_output(transform="pandas").fit(table)
    model.truncated(2).set_output(transform="default")
    assert isinstance(model.transform(table), pd.DataFrame)


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("wrong", ["7", 3.7, True, -1, 2**32, np.array([1, 2]), np.random])
def test_invalid_random_states_are_refused(name, wrong, table):
    with pytest.raises(ParameterError, match="random_state=") as caught:
        ESTIMATORS[name](random_state=wrong).fit(table)
    assert caught.value.place == {"parameter": "random_state"}


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng, int, np.int64])
def test_equal_seeds_give_equal_fits(name, make, table, tmp_path):
    draws = name not in ("PCA", "KernelPCA")
    one, other, third = (ESTIMATORS[name](random_state=make(s)).fit(table) for s in (5, 5, 6))
    np.testing.assert_array_equal(one.transform(table), other.transform(table))
    assert np.array_equal(one.transform(table), third.transform(table)) is not draws
    one.save(tmp_path / "model")
    kept = load(tmp_path / "model").random_state
    assert kept == (5 if make in (int, np.int64) else None)


def test_only_fits_advance_a_random_generator(table):
    state = np.random.RandomState(5)
    model = ESTIMATORS["Nystrom"](random_state=state, fit_inverse_transform=True)
    first = model.fit(table).landmarks_
    drawn = np.random.RandomState(5)
    drawn.randint(2**31)
    model.transform(table)
    model.inverse_transform(model.transform(table))
    model.partial_fit(table)
    assert state.randint(2**31) == drawn.randint(2**31)
    assert not np.array_equal(model.fit(table).landmarks_, first)
    exact = np.random.RandomState(5)
    KernelPCA(2, kernel="rbf", random_state=exact).fit(table)
    assert exact.randint(2**31) == np.random.RandomState(5).randint(2**31)


def test_the_hint_for_centres_of_your_own_works(table):
    c = np.median(table, axis=0)
    with pytest.raises(ParameterError, match=r"center=ndarray of shape") as caught:
        PCA(center=c).fit(table)
    assert "for centres c of your own, PCA(center=False).fit(X - c)" in caught.value.hint
    assert PCA(center=False).fit(table - c).n_features_in_ == 5
