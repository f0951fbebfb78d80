"""Approximate kernel PCA on every engine."""

from __future__ import annotations

import numpy as np
import on_dask
import on_mpi
import on_spark
import on_strict
import pytest

from princomp import PCA, KernelPCA
from princomp.errors import ParameterError, ShapeError

OPTIONS = {"n_components": 3, "kernel": "rbf", "gamma": 0.05, "approximation": "nystrom"}


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((1500, 4)) * [3, 2, 1, 1] + 2
    return [X[:700], X[700:701], X[701:701], X[701:]]


@pytest.fixture(scope="module")
def local(parts):
    return KernelPCA(**OPTIONS, n_landmarks=60).fit(np.concatenate(parts))


def skip_if_missing(engine):
    if engine.missing():
        pytest.skip(engine.missing())


def assert_same_model(model, local, landmarks=True):
    if landmarks:
        assert np.array_equal(model.landmarks_, local.landmarks_)
    np.testing.assert_allclose(model.eigenvalues_, local.eigenvalues_, rtol=1e-11)


def assert_scores_close(scores, expected):
    """Compare scores, which lose more digits than variances where axes have close variances."""
    np.testing.assert_allclose(scores, expected, atol=1e-8)


def test_dask_gives_the_local_model(parts, local):
    skip_if_missing(on_dask)
    table = on_dask.chunked(parts)
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(table)
    assert_same_model(model, local)
    assert_scores_close(model.transform(table).compute(), local.transform(np.concatenate(parts)))
    with pytest.raises(ParameterError, match="approximation='nystrom'"):
        KernelPCA(2, kernel="rbf").fit(table)
    exact = KernelPCA(2, kernel="rbf").fit(parts[0])
    assert_scores_close(exact.transform(table).compute(), exact.transform(np.concatenate(parts)))


def test_spark_gives_the_local_model(parts, local):
    skip_if_missing(on_spark)
    table = on_spark.frame(parts)
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(table)
    assert_same_model(model, local)
    rows = model.transform(table).collect()
    assert len(rows) == 1500


def test_all_ranks_give_the_local_model(parts, local):
    skip_if_missing(on_mpi)
    options = {**OPTIONS, "n_landmarks": 60}
    models = on_mpi.SERVER.call("fit_kernel", parts, options)
    for model in models:
        assert_same_model(model, local)
        assert np.array_equal(model.eigenvalues_, models[0].eigenvalues_)
    scores = on_mpi.SERVER.call("fit_kernel", parts, options, call="fit_transform")
    assert_scores_close(np.concatenate(scores), local.transform(np.concatenate(parts)))


def test_an_array_of_another_library(parts, local):
    skip_if_missing(on_strict)
    table = on_strict.table(parts)
    model = KernelPCA(**OPTIONS, landmarks=local.landmarks_).fit(table)
    assert_same_model(model, local)
    assert_scores_close(
        model.transform(np.concatenate(parts)), local.transform(np.concatenate(parts))
    )
    assert_scores_close(
        on_strict.to_host(model.transform(table)), local.transform(np.concatenate(parts))
    )


def test_landmarks_on_a_device_are_rows_that_count(parts):
    skip_if_missing(on_strict)
    X, weights = np.concatenate(parts), np.ones(1500)
    X[::2] += 50
    weights[::2] = 0
    model = KernelPCA(**OPTIONS, n_landmarks=60)
    for missing in ("error", "drop"):
        model.set_params(missing=missing).fit(on_strict.to_device(X), sample_weight=weights)
        assert model.landmarks_.shape == (60, 4)
        assert (model.landmarks_ < 30).all()
        X[::2, 1] = np.nan
    model.fit(on_strict.to_device(X))
    assert (model.landmarks_ < 30).all()
    with pytest.raises(ShapeError, match="no row to choose landmarks from"):
        model.fit(on_strict.to_device(X[::2]))


def frames_with_weights(parts, weights):
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(np.concatenate(parts), columns=list("abcd"))
    frame.insert(1, "times", weights)
    return frame, dd.from_pandas(frame, npartitions=3)


def test_a_column_of_weights_on_dask(parts):
    skip_if_missing(on_dask)
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, 1500).astype(float)
    frame, dask_frame = frames_with_weights(parts, weights)
    X = frame.drop(columns="times")
    expected = KernelPCA(**OPTIONS, n_landmarks=60).fit(X, sample_weight=weights)
    model = KernelPCA(**OPTIONS, n_landmarks=60)
    scores = model.fit_transform(dask_frame, sample_weight="times").compute()
    assert_same_model(model, expected)
    assert list(model.feature_names_in_) == list("abcd")
    assert_scores_close(np.asarray(scores), expected.transform(X))
    online = KernelPCA(**OPTIONS, landmarks=expected.landmarks_)
    online.partial_fit(X[:700], sample_weight=weights[:700])
    before = online.eigenvalues_
    online.partial_fit(dask_frame.partitions[1:2], sample_weight="times")
    online.forget(dask_frame.partitions[1:2], sample_weight="times")
    np.testing.assert_allclose(online.eigenvalues_, before, rtol=1e-11)
    with pytest.raises(ParameterError, match="is not a column of X"):
        KernelPCA(**OPTIONS, n_landmarks=60).fit(dask_frame, sample_weight="time")
    plain = PCA(2).fit(X, sample_weight=weights)
    added = PCA(2).partial_fit(dask_frame, sample_weight="times")
    # Sums of the same rows in another order: 1,500 of them and 2 of p = 4.
    np.testing.assert_allclose(
        added.explained_variance_, plain.explained_variance_, rtol=1500 * 2.3e-16
    )
    added.partial_fit(X).forget(dask_frame, sample_weight="times")
    np.testing.assert_allclose(
        added.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=4 * 1500 * 2.3e-16
    )


def test_a_column_of_weights_on_spark(parts):
    skip_if_missing(on_spark)
    weights = np.random.default_rng(3).integers(1, 4, 1500).astype(float)
    rows = np.column_stack([np.concatenate(parts), weights])
    frame = on_spark.session().createDataFrame(rows.tolist(), ["a", "b", "c", "d", "times"])
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(frame, sample_weight="times")
    expected = KernelPCA(**OPTIONS, n_landmarks=60).fit(rows[:, :4], sample_weight=weights)
    assert_same_model(model, expected)
