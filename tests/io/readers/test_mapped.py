"""Rows passed through a feature map as they are read: fits, errors, checkpoints and memory."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princomp import PCA
from princomp.errors import NotFiniteError, ShapeError
from princomp.io.readers.mapped import Mapped
from princomp.io.readers.table_input import rows_of
from princomp.kernel_pca.feature_maps import Fourier, Nystrom
from princomp.kernel_pca.feature_maps.landmarks import landmarks
from princomp.kernel_pca.functions import KernelFunction

RBF = KernelFunction("rbf", gamma=0.1)


class Recording:
    """A map by two products that records the threads it is called in."""

    p, width, bytes_per_thread = 3, 2, 0
    dtype = np.dtype(np.float64)

    def __init__(self, wait=None):
        self.wait, self.threads = wait, set()

    def images(self, rows, out=None):
        self.threads.add(threading.get_ident())
        if self.wait is not None:
            self.wait()
        out = np.empty((rows.shape[0], 2)) if out is None else out
        rows = rows.toarray() if sp.issparse(rows) else rows
        out[:, 0], out[:, 1] = rows[:, 0] * rows[:, 1], rows[:, 2] ** 2
        return out


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(11).standard_normal((5000, 4))


@pytest.fixture(scope="module")
def map(rows):
    return Nystrom.of(RBF, landmarks(rows, 60, RBF)[0])


@pytest.fixture(scope="module")
def expected(rows, map):
    return PCA(3).fit(map.images(rows))


def origins(rows, folder):
    np.save(folder / "rows.npy", rows)
    pd.DataFrame(rows, columns=list("abcd")).to_parquet(folder / "rows.parquet")
    pd.DataFrame(rows, columns=list("abcd")).to_csv(folder / "rows.csv", index=False)
    return {
        "array": rows,
        "frame": pd.DataFrame(rows, columns=list("abcd")),
        "npy": folder / "rows.npy",
        "parquet": folder / "rows.parquet",
        "csv": folder / "rows.csv",
        "function": lambda: iter(np.array_split(rows, 7)),
        "iterator": iter(np.array_split(rows, 13)),
    }


def test_fits_equal_those_of_the_images_for_every_input(rows, map, expected, tmp_path):
    for name, origin in origins(rows, tmp_path).items():
        model = PCA(3).fit(Mapped(origin, map))
        # The same blocks of the same images give bit-identical results.
        for attribute in ("explained_variance_", "components_", "mean_"):
            np.testing.assert_array_equal(
                getattr(model, attribute), getattr(expected, attribute), err_msg=name
            )
        assert model.n_features_in_ == map.width
        assert model.n_samples_ == len(rows)


def test_scores_and_weights_are_those_of_the_images(rows, map, expected, tmp_path):
    images = map.images(rows)
    for name, origin in origins(rows, tmp_path).items():
        scores = expected.transform(Mapped(origin, map))
        np.testing.assert_allclose(scores, expected.transform(images), atol=1e-14, err_msg=name)
    np.testing.assert_array_equal(
        PCA(3).fit_transform(Mapped(rows, map)), PCA(3).fit_transform(images)
    )
    weights = np.random.default_rng(0).integers(0, 4, len(rows))
    one = PCA(3).fit(Mapped(rows, map), sample_weight=weights)
    other = PCA(3).fit(images, sample_weight=weights)
    np.testing.assert_array_equal(one.components_, other.components_)
    with pytest.raises(ShapeError, match="sample_weight"):
        PCA(3).fit(Mapped(rows, map), sample_weight=weights[1:])


def test_large_tables_are_split_alike_in_memory_files_and_streams(tmp_path):
    rows = np.random.default_rng(1).standard_normal((30_000, 5)).astype(np.float32)
    map = Fourier.of(RBF, 5, 200, dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    one = PCA(4).fit(Mapped(rows, map))
    assert one.components_.dtype == np.float32
    for origin in (tmp_path / "rows.npy", lambda: iter(np.array_split(rows, 17))):
        other = PCA(4).fit(Mapped(origin, map))
        np.testing.assert_array_equal(other.components_, one.components_)
        np.testing.assert_array_equal(other.explained_variance_, one.explained_variance_)


def test_sparse_rows_have_dense_images(rows, map):
    table = np.where(rows > 1.0, rows, 0.0)
    one = PCA(3).fit(Mapped(sp.csr_array(table), map))
    other = PCA(3).fit(map.images(table))
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-10)


def test_partial_fit_forget_and_merge_accept_mapped_rows(rows, map, expected):
    model = PCA(3)
    for part in np.array_split(rows, 6):
        model.partial_fit(Mapped(part, map))
    np.testing.assert_array_equal(model.components_, expected.components_)
    model.forget(Mapped(rows[4000:], map))
    less = PCA(3).fit(map.images(rows[:4000]))
    np.testing.assert_allclose(model.explained_variance_, less.explained_variance_, rtol=1e-10)
    one, two = (PCA(3).partial_fit(Mapped(part, map)) for part in np.split(rows, 2))
    merged = one.merge(two)
    np.testing.assert_allclose(merged.explained_variance_, expected.explained_variance_, rtol=1e-12)


def test_invalid_cells_are_named_by_row_and_column(rows, map, tmp_path):
    table = rows.copy()
    table[4321, 2] = np.nan
    table[4400, 1] = np.inf
    made = origins(table, tmp_path)
    for name, where in {
        "array": r"NaN: the first at row 4,321, column 2; 1 NaN and 1 infinite",
        "frame": "the first at row 4,321, column 'c'",
        "npy": "NaN: the first at row 4,321, column 2 of .*rows.npy",
        "parquet": "NaN: the first at row 4,321, column 'c' of .*rows.parquet",
        "csv": "NaN: the first at row 4,321 .line 4,323., column 'c' of .*rows.csv",
        "function": "NaN: the first at row 4,321, column 2",
    }.items():
        for use in (PCA(2).fit, PCA(2).partial_fit, PCA(2).fit(map.images(rows)).transform):
            with pytest.raises(NotFiniteError, match=where) as caught:
                use(Mapped(made[name], map))
            assert caught.value.place["row"] == 4321, name
            assert caught.value.hint


def test_a_refused_batch_adds_no_rows(rows, map, expected):
    model = PCA(3).partial_fit(Mapped(rows, map))
    for bad in (0, 4999):
        table = rows.copy()
        table[bad, 1] = np.nan
        with pytest.raises(NotFiniteError, match=f"row {bad:,}, column 1"):
            model.partial_fit(Mapped(table, map))
    np.testing.assert_array_equal(model.components_, expected.components_)


def test_rows_with_missing_cells_may_be_left_out(rows, map, tmp_path):
    table = rows.copy()
    table[[7, 4321], [0, 2]] = np.nan
    kept = PCA(3).fit(np.delete(map.images(rows), [7, 4321], axis=0))
    made = origins(table, tmp_path)
    for name in ("array", "npy", "csv", "function"):
        model = PCA(3, missing="drop").fit(Mapped(made[name], map, allow_missing=True))
        assert model.n_dropped_ == 2
        np.testing.assert_allclose(model.explained_variance_, kept.explained_variance_, rtol=1e-12)
        scores = model.transform(Mapped(made[name], map, allow_missing=True))
        assert np.isnan(scores[[7, 4321]]).all()
        assert np.isnan(scores).sum() == 6
    sparse = np.where(rows > 1, rows, 0.0)
    sparse[7, 0] = np.nan
    images = Mapped(sp.csr_array(sparse), map, allow_missing=True).read(0, 20).data
    assert np.isnan(images).all(axis=1).tolist() == [i == 7 for i in range(20)]
    table[300, 1] = -np.inf
    with pytest.raises(NotFiniteError, match="-infinity: the first at row 300, column 1"):
        PCA(3, missing="drop").fit(Mapped(table, map, allow_missing=True))


def test_an_image_that_overflows_names_its_row(rows):
    table = rows.copy()
    table[99] = 1e200
    map = Nystrom.of(KernelFunction("poly", gamma=1.0, degree=3), rows[:20])
    with pytest.raises(NotFiniteError, match="image of a row overflows float64: the first is row"):
        PCA(2).fit(Mapped(table, map))


def test_an_image_that_overflows_names_the_label_of_its_row(rows):
    table = pd.DataFrame(rows, index=[f"plot {i}" for i in range(len(rows))])
    table.iloc[99] = 1e200
    map = Nystrom.of(KernelFunction("poly", gamma=1.0, degree=3), rows[:20])
    with pytest.raises(
        NotFiniteError, match=r"overflows float64: the first is .*plot 99"
    ) as caught:
        PCA(2).fit(Mapped(table, map))
    assert caught.value.place["label"] == "plot 99"


def test_a_wrong_number_of_columns_is_refused(rows, map):
    with pytest.raises(ShapeError, match="rows have 3 columns, and the map was made of 4"):
        Mapped(rows[:, :3], map)


def test_empty_rows_have_no_images(map, rows):
    empty = Mapped(np.empty((0, 4)), map)
    assert empty.shape == (0, map.width)
    assert list(empty.chunks()) == []


@pytest.mark.parametrize("kind", ["array", "npy", "function"])
def test_any_range_of_rows_can_be_read(rows, map, tmp_path, kind):
    source = Mapped(origins(rows, tmp_path)[kind], map)
    images = map.images(rows)
    for start in (0, 1, 777, 4999):
        found = np.concatenate([chunk.data for chunk in source.chunks(start)])
        np.testing.assert_array_equal(found, images[start:])
    if source.random_access:
        np.testing.assert_array_equal(source.read(123, 456).data, images[123:456])
        room = []
        found = source.load(
            5, 9, lambda shape, dtype: room.append(np.empty(shape, dtype)) or room[0]
        )
        assert found is room[0]
        np.testing.assert_array_equal(found, images[5:9])
    assert source.random_access == (kind != "function")


def test_metadata_of_the_rows_is_passed_on(rows, map, tmp_path):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame["name"] = [f"row {i}" for i in range(len(rows))]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    from princomp.io.readers.files import open_files

    origin = open_files([tmp_path / "rows.csv"], id_column="name")
    source = Mapped(origin, map)
    assert source.file == str(tmp_path / "rows.csv")
    if not isinstance(rows_of(origin)[0], np.ndarray):
        assert source.id_column == "name"
        assert [i for chunk in source.chunks() for i in chunk.ids] == frame["name"].tolist()
    np.save(tmp_path / "rows.npy", rows)
    source = Mapped(tmp_path / "rows.npy", map)
    assert source.file_states() == rows_of(tmp_path / "rows.npy")[0].file_states()
    assert source.place_of(3).file == str(tmp_path / "rows.npy")
    assert source.nbytes == rows.nbytes
    assert Mapped(iter([rows]), map).repeatable is False


def test_a_stream_is_mapped_by_several_threads():
    barrier = threading.Barrier(2, timeout=20)
    map = Recording(barrier.wait)
    parts = [np.full((300, 3), float(i)) for i in range(4)]
    from princomp.linalg.threads import limit_threads

    with limit_threads(2):
        found = [chunk.data for chunk in Mapped(lambda: iter(parts), map).chunks()]
    # No thread passes the barrier alone.
    assert len(map.threads) == 2
    np.testing.assert_array_equal(np.concatenate(found)[::300, 1], [0.0, 1.0, 4.0, 9.0])


def test_images_are_never_all_in_memory_at_once():
    rows = np.random.default_rng(0).standard_normal((60_000, 6))
    map = Nystrom.of(RBF, rows[:300])
    whole = len(rows) * map.width * 8
    PCA(2).fit(Mapped(rows[:3000], map))
    limit = 60_000_000
    assert limit < whole / 2
    # The plan counts memory of libraries that read streams, which tracemalloc does not see.
    for origin, more in ((rows, 0), (lambda: iter(np.array_split(rows, 9)), 150_000_000)):
        tracemalloc.start()
        model = PCA(2, memory_limit=limit + more).fit(Mapped(origin, map))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < whole / 2
        assert map.width**2 * 8 < model.plan_.memory < limit + more
    with pytest.raises(MemoryError, match="no route for 60,000 rows × 300 columns fits"):
        PCA(memory_limit=200_000).fit(Mapped(rows, map))


def test_sparse_rows_are_not_copied_as_a_whole():
    n = 3_000_000
    rows = sp.csr_array((np.ones(n), np.arange(n) % 50, np.arange(n + 1)), shape=(n, 50))
    map = Recording()
    map.p = 50
    map.images = lambda rows, out=None: np.zeros((rows.shape[0], 2))
    chunks = Mapped(rows, map).chunks()
    tracemalloc.start()
    next(chunks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.data.nbytes
