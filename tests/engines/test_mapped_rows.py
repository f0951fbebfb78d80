"""Feature maps of rows on Dask, Spark, ranks and devices."""

from __future__ import annotations

import warnings

import numpy as np
import on_gloo
import on_mpi
import on_spark
import on_strict
import pandas as pd
import pytest

from princomp import PCA, KernelPCA
from princomp.core import open_rows
from princomp.errors import NotAvailableError, NotFiniteError
from princomp.kernel_pca.feature_maps import Fourier, Nystrom, TensorSketch, mapped
from princomp.kernel_pca.feature_maps.landmarks import landmarks
from princomp.kernel_pca.feature_maps.preparation import sized_nystrom_map
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.parameters import KernelParameters

RBF = KernelFunction("rbf", gamma=0.1)
POLY = KernelFunction("poly", gamma=0.2, degree=2)


def points_of(table, count, **options):
    return landmarks(open_rows(table)[0], count, RBF, **options)[0]


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(21).standard_normal((3000, 4)) + 3.0


@pytest.fixture(scope="module")
def map(rows):
    return Nystrom.of(RBF, points_of(rows, 50))


@pytest.fixture(scope="module")
def expected(rows, map):
    return PCA(3).fit(map.images(rows))


def assert_close(model, expected, rtol=1e-10, atol=1e-9):
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(model.components_, expected.components_, atol=atol)
    np.testing.assert_allclose(model.mean_, expected.mean_, atol=atol)
    assert model.n_samples_ == expected.n_samples_


# ---- Dask ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import dask

    with dask.config.set(scheduler="threads"):
        yield


def in_dask(rows, kind):
    import dask.array as da
    import dask.dataframe as dd

    if kind == "array":
        return da.from_array(rows, chunks=(700, 3))
    return dd.from_pandas(pd.DataFrame(rows, columns=list("abcd")), npartitions=4)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_mapped_rows_on_dask_give_the_local_model(dask, rows, map, expected, kind):
    table = in_dask(rows, kind)
    np.testing.assert_array_equal(points_of(table, 50), map.points)
    model = PCA(3).fit(mapped(table, map))
    assert_close(model, expected)
    parts = PCA(3).partial_fit(mapped(table, map))
    assert_close(parts, expected)


def test_weights_in_dask_go_with_the_rows(dask, rows, map):
    weights = np.random.default_rng(1).integers(0, 3, len(rows)).astype(float)
    expected = PCA(3).fit(map.images(rows), sample_weight=weights)
    model = PCA(3).fit(mapped(in_dask(rows, "array"), map), sample_weight=weights)
    assert_close(model, expected)


def test_errors_in_dask_name_the_cell(dask, rows, map):
    table = rows.copy()
    table[2222, 2] = np.nan
    for kind, column in (("array", "column 2"), ("frame", "column 'c'")):
        with pytest.raises(NotFiniteError, match=f"NaN: the first at row 2,222, {column}"):
            PCA(2).fit(mapped(in_dask(table, kind), map))
        with pytest.raises(NotFiniteError, match=f"NaN: the first at row 2,222, {column}"):
            points_of(in_dask(table, kind), 30)
    model = PCA(3, missing="drop").fit(mapped(in_dask(table, "array"), map, allow_missing=True))
    assert model.n_dropped_ == 1
    assert_close(model, PCA(3).fit(map.images(np.delete(rows, 2222, axis=0))))


def test_other_routes_over_images_in_dask(dask, rows, map, expected):
    table = in_dask(rows, "array")
    for solver in ("full", "krylov"):
        model = PCA(3, svd_solver=solver).fit(mapped(table, map))
        assert_close(model, expected, rtol=1e-7, atol=1e-3)
    ranged = PCA(3, scale="range").fit(mapped(table, map))
    assert_close(ranged, PCA(3, scale="range").fit(map.images(rows)))


def test_the_number_of_landmarks_is_independent_of_the_engine(dask, rows):
    model = KernelPCA(2, approximation_tol=0.05, memory_limit="4GB")
    settings = KernelParameters.of(model).seeded()
    local = sized_nystrom_map(rows, RBF, settings)
    distributed = sized_nystrom_map(open_rows(in_dask(rows, "array"))[0], RBF, settings)
    assert distributed.map.same_as(local.map)
    assert distributed.error == local.error


# ---- Spark -----------------------------------------------------------------------------


@pytest.mark.skipif(bool(on_spark.missing()), reason=str(on_spark.missing()))
def test_mapped_rows_on_spark_give_the_local_model(rows, map, expected):
    from pyspark.sql import functions

    frame = on_spark.frame(np.split(rows, [1000, 1000, 2500])).cache()
    arrays = frame.select(functions.array(*frame.columns).alias("rows"))
    np.testing.assert_array_equal(points_of(frame, 50), map.points)
    assert_close(PCA(3).fit(mapped(frame, map)), expected)
    assert_close(PCA(3).fit(mapped(arrays, map)), expected)


@pytest.mark.skipif(bool(on_spark.missing()), reason=str(on_spark.missing()))
def test_errors_in_spark_name_the_cell(rows, map):
    table = rows[:90].copy()
    table[77, 1] = np.inf
    with pytest.raises(NotFiniteError, match="infinity: the first at row 77, column 'x1'"):
        PCA(2).fit(mapped(on_spark.frame(np.split(table, [30, 60])), map))


# ---- ranks -----------------------------------------------------------------------------


@pytest.mark.parametrize("on", [on_mpi, on_gloo], ids=["mpi", "gloo"])
def test_mapped_rows_on_ranks_give_the_local_model(rows, map, expected, on):
    if on.missing():
        pytest.skip(on.missing())
    size = on.SERVER.size
    for cuts in ([len(rows)] * (size - 1), [100 * (i + 1) for i in range(size - 1)]):
        tables = np.split(rows, cuts)
        for points, model in on.SERVER.call("mapped", tables, RBF, 50, 0):
            np.testing.assert_array_equal(points, map.points)
            assert_close(model, expected)
    bad = [part.copy() for part in tables]
    bad[0][5, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"NaN: the first at .*(column 2|5, 2)"):
        on.SERVER.call("mapped", bad, RBF, 50, 0)


# ---- devices ---------------------------------------------------------------------------


class OnTorch:
    @staticmethod
    def to_device(rows):
        import torch

        return torch.from_numpy(np.array(rows))

    @staticmethod
    def to_host(array):
        return array.numpy()


@pytest.fixture(params=["torch", "array_api_strict"])
def device(request):
    pytest.importorskip(request.param)
    return OnTorch if request.param == "torch" else on_strict


MAPS = {
    "rbf": lambda rows: Nystrom.of(RBF, rows[:40]),
    "linear": lambda rows: Nystrom.of(KernelFunction("linear"), rows[:40]),
    "poly": lambda rows: Nystrom.of(POLY, rows[:40]),
    "sigmoid": lambda rows: Nystrom.of(KernelFunction("sigmoid", gamma=0.01, coef0=1), rows[:40]),
    "cosine": lambda rows: Nystrom.of(KernelFunction("cosine"), rows[:40]),
    "waves": lambda rows: Fourier.of(RBF, 4, 80),
    "waves of a Laplacian": lambda rows: Fourier.of(KernelFunction("laplacian", gamma=0.1), 4, 80),
}


@pytest.mark.parametrize("made", MAPS.values(), ids=MAPS)
def test_images_on_a_device_are_those_on_the_host(device, rows, made):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the kernel 'sigmoid' between the landmarks")
        map = made(rows)
    table = device.to_device(rows)
    images = map.images(rows)
    # A projection that enlarges no rounding of the images.
    expected = PCA(2).fit(images)
    model = PCA(2).fit(mapped(table, map))
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-8)
    scores = model.transform(mapped(table, map))
    assert type(scores) is type(table)
    np.testing.assert_allclose(device.to_host(scores), model.transform(images), atol=1e-7)


def test_float32_stays_float32_on_a_device(device, rows):
    single = rows.astype(np.float32)
    map = Nystrom.of(RBF, single[:40])
    mapped_rows = mapped(device.to_device(single), map)
    block = next(mapped_rows.blocks(3000)).rows
    found = device.to_host(block)
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found @ found.T, map.images(single) @ map.images(single).T, atol=1e-4
    )


def test_landmarks_are_drawn_from_device_rows(device, rows):
    points = points_of(device.to_device(rows), 30, seed=1)
    assert isinstance(points, np.ndarray)
    assert len({tuple(row) for row in points}) == 30
    assert {tuple(row) for row in points} <= {tuple(row) for row in rows}
    np.testing.assert_array_equal(points_of(device.to_device(rows), 30, seed=1), points)


def test_errors_on_a_device_name_the_cell(device, rows, map):
    table = rows.copy()
    table[2222, 2] = np.nan
    with pytest.raises(NotFiniteError, match="NaN: the first at row 2,222, column 2"):
        PCA(2).fit(mapped(device.to_device(table), map))
    model = PCA(3, missing="drop").fit(mapped(device.to_device(table), map, allow_missing=True))
    assert model.n_dropped_ == 1
    assert_close(model, PCA(3).fit(map.images(np.delete(rows, 2222, axis=0))), rtol=1e-8, atol=1e-5)
    weights = np.ones(len(rows))
    weights[:1000] = 2
    one = PCA(3).fit(mapped(device.to_device(rows), map), sample_weight=weights)
    other = PCA(3).fit(map.images(rows), sample_weight=weights)
    assert_close(one, other, rtol=1e-8, atol=1e-5)


def test_maps_unsupported_on_a_device_are_refused(device, rows):
    table = device.to_device(rows)
    for map in (
        TensorSketch.of(POLY, 4, 50),
        Nystrom.of(KernelFunction("laplacian", gamma=0.1), rows[:20]),
    ):
        with pytest.raises(NotAvailableError, match="is not computed on"):
            mapped(table, map)


def test_rows_streamed_to_a_device_are_mapped_there(rows, map, expected):
    pytest.importorskip("torch")
    from princomp import on_device

    model = PCA(3).fit(mapped(on_device(rows, "cpu"), map))
    assert_close(model, expected, rtol=1e-8, atol=1e-5)
    with pytest.raises(NotAvailableError, match="copies block by block"):
        points_of(on_device(rows, "cpu"), 9)
