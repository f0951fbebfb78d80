"""Kernel PCA by images of rows, summed by every engine."""

from __future__ import annotations

import numpy as np
import on_dask
import on_mpi
import on_spark
import on_strict
import pytest

from princomp import KernelPCA
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
