"""Kernel PCA by images of rows, summed by every engine."""

from __future__ import annotations

import numpy as np
import on_dask
import on_mpi
import on_spark
import on_strict
import pytest

from princomp import PCA, KernelPCA
from princomp.errors import ParameterError

OPTIONS = {"n_components": 3, "kernel": "rbf", "gamma": 0.05, "approximation": "nystrom"}


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((1500, 4)) * [3, 2, 1, 1] + 2
    return [X[:700], X[700:701], X[701:701], X[701:]]


@pytest.fixture(scope="module")
def here(parts):
    return KernelPCA(**OPTIONS, n_landmarks=60).fit(np.concatenate(parts))


def skip_unless(engine):
    if engine.missing():
        pytest.skip(engine.missing())


def alike(model, here, landmarks=True):
    if landmarks:
        assert np.array_equal(model.landmarks_, here.landmarks_)
    np.testing.assert_allclose(model.eigenvalues_, here.eigenvalues_, rtol=1e-11)


def near(scores, expected):
    """1e-11 of a variance is more of an axis: those near each other turn by the gap."""
    np.testing.assert_allclose(scores, expected, atol=1e-8)


def test_dask(parts, here):
    skip_unless(on_dask)
    table = on_dask.chunked(parts)
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(table)
    alike(model, here)
    near(model.transform(table).compute(), here.transform(np.concatenate(parts)))
    with pytest.raises(ParameterError, match="approximation='nystrom'"):
        KernelPCA(2, kernel="rbf").fit(table)
    exact = KernelPCA(2, kernel="rbf").fit(parts[0])
    near(exact.transform(table).compute(), exact.transform(np.concatenate(parts)))


def test_spark(parts, here):
    skip_unless(on_spark)
    table = on_spark.frame(parts)
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(table)
    alike(model, here)
    rows = model.transform(table).collect()
    assert len(rows) == 1500


def test_ranks(parts, here):
    skip_unless(on_mpi)
    options = {**OPTIONS, "n_landmarks": 60}
    models = on_mpi.SERVER.call("fit_kernel", parts, options)
    for model in models:
        alike(model, here)
        assert np.array_equal(model.eigenvalues_, models[0].eigenvalues_)
    scores = on_mpi.SERVER.call("fit_kernel", parts, options, call="fit_transform")
    near(np.concatenate(scores), here.transform(np.concatenate(parts)))


def test_an_array_of_another_library(parts, here):
    skip_unless(on_strict)
    table = on_strict.table(parts)
    model = KernelPCA(**OPTIONS, landmarks=here.landmarks_).fit(table)
    alike(model, here)
    near(model.transform(np.concatenate(parts)), here.transform(np.concatenate(parts)))
    near(on_strict.here(model.transform(table)), here.transform(np.concatenate(parts)))


def framed_with_weights(parts, weights):
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(np.concatenate(parts), columns=list("abcd"))
    frame.insert(1, "times", weights)
    return frame, dd.from_pandas(frame, npartitions=3)


def test_a_column_of_weights_on_dask(parts):
    skip_unless(on_dask)
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, 1500).astype(float)
    frame, there = framed_with_weights(parts, weights)
    X = frame.drop(columns="times")
    expected = KernelPCA(**OPTIONS, n_landmarks=60).fit(X, sample_weight=weights)
    model = KernelPCA(**OPTIONS, n_landmarks=60)
    scores = model.fit_transform(there, sample_weight="times").compute()
    alike(model, expected)
    assert list(model.feature_names_in_) == list("abcd")
    near(np.asarray(scores), expected.transform(X))
    online = KernelPCA(**OPTIONS, landmarks=expected.landmarks_)
    online.partial_fit(X[:700], sample_weight=weights[:700])
    before = online.eigenvalues_
    online.partial_fit(there.partitions[1:2], sample_weight="times")
    online.forget(there.partitions[1:2], sample_weight="times")
    np.testing.assert_allclose(online.eigenvalues_, before, rtol=1e-11)
    with pytest.raises(ParameterError, match="is not a column of X"):
        KernelPCA(**OPTIONS, n_landmarks=60).fit(there, sample_weight="time")
    plain = PCA(2).fit(X, sample_weight=weights)
    added = PCA(2).partial_fit(there, sample_weight="times")
    # Sums of the same rows in another order: 1,500 of them and 2 of p = 4.
    np.testing.assert_allclose(
        added.explained_variance_, plain.explained_variance_, rtol=1500 * 2.3e-16
    )
    added.partial_fit(X).forget(there, sample_weight="times")
    np.testing.assert_allclose(
        added.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=4 * 1500 * 2.3e-16
    )


def test_a_column_of_weights_on_spark(parts):
    skip_unless(on_spark)
    weights = np.random.default_rng(3).integers(1, 4, 1500).astype(float)
    rows = np.column_stack([np.concatenate(parts), weights])
    frame = on_spark.session().createDataFrame(rows.tolist(), ["a", "b", "c", "d", "times"])
    model = KernelPCA(**OPTIONS, n_landmarks=60).fit(frame, sample_weight="times")
    expected = KernelPCA(**OPTIONS, n_landmarks=60).fit(rows[:, :4], sample_weight=weights)
    alike(model, expected)
