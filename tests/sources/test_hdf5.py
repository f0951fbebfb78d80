"""Datasets of HDF5 files and matrices of AnnData files: read as they are, in any tiling."""

from __future__ import annotations

import copy
import pickle
import sys

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.sources import h5ad_sparse, pace
from princomp.sources.h5ad import open_h5ad
from princomp.sources.hdf5 import open_hdf5
from princomp.sources.source import Held, Identity, Source


@pytest.fixture
def small(monkeypatch):
    """Chunks and bands of a few numbers, so that small tables have many."""
    monkeypatch.setattr(pace, "_NUMBERS", 40)
    monkeypatch.setattr(pace, "_BAND", 2_000)
    monkeypatch.setattr(pace, "_LOOSE", 1_000)
    monkeypatch.setattr(h5ad_sparse, "_NUMBERS", 40)
    monkeypatch.setattr(h5ad_sparse, "_ROWS", 16)


def save(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def gathered(source, start=0):
    """All rows from ``start`` on, each chunk held to what a source promises."""
    parts = list(source.chunks(start))
    for data, ids in parts:
        assert data.shape[1] == source.p
        assert len(data) if isinstance(data, np.ndarray) else data.shape[0]
        assert data.dtype == source.dtype
        assert data.dtype.isnative
        if isinstance(data, np.ndarray):
            assert data.flags.c_contiguous
            assert data.flags.owndata or data.base.nbytes == data.nbytes
        else:
            assert isinstance(data, sp.csr_array)
            assert data.has_canonical_format
        assert (ids is None) == (source.id_column is None)
    if not parts:
        return np.empty((0, source.p))
    return np.vstack([x if isinstance(x, np.ndarray) else x.toarray() for x, _ in parts])


def ids_of(source, start=0):
    return [name for chunk in source.chunks(start) for name in chunk.ids]


def refused(error, opener, path, columns=None, exclude=(), id_column=None, **options):
    with pytest.raises(error) as caught:
        gathered(opener(path, columns, exclude, id_column, **options))
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


def read(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_hdf5(path, columns, exclude, id_column, inside)


# HDF5: what is read


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", ">f8", "i1", ">i8", "u8", "?", "g"])
def test_numbers_of_every_real_kind_become_native_floats(tmp_path, dtype):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype)
    source = read(save(tmp_path / "t.h5", x=x))
    assert source.shape == (2, 3)
    assert source.columns is None
    assert source.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(gathered(source), x.astype(float))
    assert bool(source.notes) == (np.dtype(dtype).itemsize > 8)
    assert source.nbytes == x.nbytes


@pytest.mark.parametrize("tiles", [None, (7, 3), (1, 11), (50, 11), (101, 1), (64, 4), (30, 20)])
@pytest.mark.parametrize("packed", [None, "gzip", "lzf"])
@pytest.mark.parametrize("columns", [None, ["10", "2", "3"], ["4", "5", "6"]])
def test_every_tiling_gives_the_same_rows_from_every_start(tmp_path, small, tiles, packed, columns):
    if packed and not tiles:
        tiles = True
    x = np.random.default_rng(1).standard_normal((101, 11))
    x[5, 5] = np.nan
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        most = (None, None) if tiles else None
        file.create_dataset("x", data=x, chunks=tiles, compression=packed, maxshape=most)
    source = read(path, columns)
    expected = x if columns is None else x[:, [int(name) for name in columns]]
    for start in (0, 1, 6, 7, 8, 63, 64, 100, 101, 500):
        np.testing.assert_array_equal(gathered(source, start), expected[start:])
    assert max(len(chunk.data) for chunk in source.chunks()) * source.p <= 120


def test_a_tile_is_decompressed_as_few_times_as_memory_allows(tmp_path, small):
    x = np.arange(2_000.0).reshape(500, 4)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=(500, 1), compression="gzip")
        file.create_dataset("y", data=x, chunks=(500, 1))
        file.create_dataset("z", data=x, chunks=(50, 4), compression="gzip")
    source = read(path, inside="x")
    assert source.pace.times == 9
    assert "tiles of 500 rows, each of which is read 9 times" in source.notes[0]
    np.testing.assert_array_equal(gathered(source), x)
    # What is planned with, beside what the library takes: the band.
    assert source.reader == Source.reader + 56 * 4 * 8
    # One column of the four: fewer bytes, so that the same tile is read in larger pieces.
    assert read(path, ["1"], inside="x").pace.times == 2
    for other in ("y", "z"):
        assert (read(path, inside=other).pace.times, read(path, inside=other).notes) == (1, ())


def test_a_tiling_that_would_take_days_is_refused(tmp_path, small, monkeypatch):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (5_000, 4), "f8", chunks=(5_000, 1), compression="gzip")
    error = refused(ParameterError, open_hdf5, path)
    assert "read 81 times" in str(error)
    assert "tiles of fewer rows" in error.hint


def test_every_band_of_rows_is_read_once(small):
    for tall, width in ((None, 10), (3, 10), (7, 10), (60, 10), (1_000, 10), (1, 100), (5, 100)):
        for whole in (True, False):
            found = pace.Pace.of(pace.Tiling(tall, 5, whole), width, 8 * width)
            for start in (0, 1, 59, 60, 999):
                pieces = list(found.pieces(start, 1_003))
                assert [first for first, _ in pieces] == [start, *(last for _, last in pieces[:-1])]
                assert pieces[-1][1] == 1_003
                for first, last in pieces:
                    assert first < last
                    assert last - first <= found.read
                    assert first // found.border == (last - 1) // found.border
            assert found.border % (tall or 1) == 0


def test_a_chunk_keeps_no_band_of_tiles_alive(tmp_path, small):
    x = np.arange(480.0).reshape(60, 8)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=(30, 2), compression="gzip")
    chunks = list(read(path).chunks())
    assert len(chunks) > 2
    for data, _ in chunks:
        assert data.base is None


def test_columns_are_named_by_the_attribute_if_it_is_a_list_of_different_texts(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.h5", x=x)
    for names in (["a", "größe", "c"], np.array([b"a", "größe".encode(), b"c"])):
        with h5py.File(path, "a") as file:
            file["x"].attrs["columns"] = names
        source = read(path, ["c", "größe"])
        assert source.columns == ("c", "größe")
        assert source.unused == ("a",)
        np.testing.assert_array_equal(gathered(source), x[:, [2, 1]])
        assert read(path, exclude=["a"]).columns == ("größe", "c")
        assert "Did you mean 'größe'" in refused(ColumnError, open_hdf5, path, ["große"]).hint
    for names in ("abc", ["a", "b"], ["a", "a", "b"], [1, 2, 3], [["a", "b", "c"]], [b"\xff"] * 3):
        with h5py.File(path, "a") as file:
            file["x"].attrs["columns"] = names
        assert read(path).columns is None


def test_columns_without_names_are_numbers_in_range(tmp_path):
    path = save(tmp_path / "t.h5", x=np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(gathered(read(path, exclude=["1"])), [[0, 2], [3, 5]])
    for name in ("3", "-1", "a", "01", "", "²"):
        assert "from 0 to 2" in refused(ColumnError, open_hdf5, path, [name]).hint
    refused(ColumnError, open_hdf5, path, ["1", "1"])
    with pytest.raises(ParameterError, match="one string"):
        read(path, "1")
    assert "numbers only" in str(refused(ParameterError, open_hdf5, path, None, (), "0"))


def test_the_only_table_is_taken_and_of_several_the_one_named(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.h5", g__x=x, v=np.arange(3), s="text", t=np.array([[b"a"]]))
    for inside in (None, "", "/", "g", "/g/x", "g/x/", "/g/"):
        np.testing.assert_array_equal(gathered(read(path, inside=inside)), x)
    save(path, x=x, g__y=x.astype("f4"), s="text")
    error = refused(ParameterError, open_hdf5, path)
    assert "g/y (2 × 3, float32), x (2 × 3, float64)" in str(error)
    assert f"{path}::g/y" in error.hint
    assert error.place["parameter"] == "inside"
    assert read(path, inside="g").dtype == np.float32
    error = refused(ParameterError, open_hdf5, path, inside="g/z")
    assert "'g/z'" in str(error)
    assert "Did you mean 'g/y'? There are: g/y (2 × 3, float32), s (a single value" in error.hint


# HDF5: what is refused


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ShapeError, "3 dimensions"),
        (np.zeros((0, 3)), ShapeError, "no rows"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.zeros(2, [("a", "f8")]), NotNumericError, "records"),
        (np.array([[b"a"]]), NotNumericError, "no numbers"),
        (np.array([["a"]], h5py.string_dtype()), NotNumericError, "text"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 1"),
        (np.array([[2**53], [-(2**63)]]), NotNumericError, "row 2: the integer -92233720368547"),
        (np.array([[2**64 - 1]], np.uint64), NotNumericError, "18446744073709551615"),
    ],
)
def test_datasets_that_are_no_tables_are_refused(tmp_path, array, error, words):
    path = save(tmp_path / "t.h5", x=array)
    assert words in str(refused(error, open_hdf5, path, inside="x"))
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        assert "x (" in str(refused(ShapeError, open_hdf5, path))


def test_a_long_integer_is_named_with_its_row_in_the_file(tmp_path, small):
    x = np.zeros((100, 3), np.int64)
    x[77, 2] = 2**53 + 1
    path = save(tmp_path / "t.h5", x=x)
    error = refused(NotNumericError, open_hdf5, path, ["0", "2"])
    assert error.place == {"file": str(path), "column": "2", "row": 78}
    assert gathered(read(path, ["0", "1"])).shape == (100, 2)


def test_frames_in_the_layout_of_pandas_are_refused(tmp_path):
    path = save(tmp_path / "t.h5", df__block0_values=np.zeros((2, 2)))
    with h5py.File(path, "a") as file:
        file["df"].attrs["pandas_type"] = "frame"
    for inside in (None, "df", "df/block0_values"):
        assert "to_parquet" in refused(MalformedFileError, open_hdf5, path, inside=inside).hint
    with h5py.File(path, "a") as file:
        file["x"] = np.ones((3, 2))
    assert read(path).shape == (3, 2)


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputNotFoundError):
        read(tmp_path / "no.h5")
    for content in (b"", b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n" + bytes(100)):
        path = tmp_path / "t.h5"
        path.write_bytes(content)
        refused(MalformedFileError, open_hdf5, path)
    with h5py.File(path, "w"):
        pass
    assert "it is empty" in str(refused(ShapeError, open_hdf5, path))


def test_a_file_that_changes_its_shape_while_it_is_read_is_refused(tmp_path):
    path = save(tmp_path / "t.h5", x=np.zeros((5, 2)))
    source = read(path)
    before = source.identities()
    save(path, x=np.zeros((4, 2)))
    with pytest.raises(MalformedFileError, match="no longer as many"):
        gathered(source)
    assert source.identities() != before
    assert source.identities() == (Identity.of(path),)


@pytest.mark.parametrize("opener", [open_hdf5, open_h5ad])
def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch, opener):
    path = save(tmp_path / "t.h5", X=np.zeros((5, 2)))
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert refused(MissingLibraryError, opener, path).hint == "pip install 'princomp[files]'"


def test_a_source_can_be_copied_and_is_closed_when_left(tmp_path, small):
    path = save(tmp_path / "t.h5", x=np.arange(60.0).reshape(20, 3))
    for source in (copy.deepcopy(read(path)), pickle.loads(pickle.dumps(read(path)))):
        chunks = source.chunks()
        next(chunks)
        chunks.close()
        with h5py.File(path, "a"):
            pass
        assert source.repeatable
        assert not source.positioned


# AnnData

ROWS, COLUMNS = 60, 9
GENES = [f"gene {j}" for j in range(COLUMNS)]
CELLS = [f"cell {i}" for i in range(ROWS)]


def counts(dtype="f4", seed=3):
    x = np.random.default_rng(seed).poisson(0.5, (ROWS, COLUMNS)).astype(dtype)
    x[10:14] = 0
    return x


def put(file, name, matrix, old=False):
    """Store a matrix as anndata does, or as it did before 2019."""
    if isinstance(matrix, np.ndarray):
        file.create_dataset(name, data=matrix).attrs["encoding-type"] = "array"
        return
    group = file.create_group(name)
    if old:
        group.attrs["h5sparse_format"] = matrix.format
        group.attrs["h5sparse_shape"] = matrix.shape
    else:
        group.attrs["encoding-type"] = f"{matrix.format}_matrix"
        group.attrs["shape"] = matrix.shape
    for part in ("data", "indices", "indptr"):
        group.create_dataset(part, data=getattr(matrix, part), compression="gzip")


def put_names(file, frame, names, title="_index", old=False):
    if old:
        file[frame] = np.array(
            [(name.encode(), 1.5) for name in names], [("index", "S12"), ("n", "f4")]
        )
        return
    group = file.create_group(frame)
    group.attrs["_index"] = title
    group[title] = names


def annotated(path, matrix, old=False, genes=GENES, **more):
    with h5py.File(path, "w") as file:
        put(file, "X", matrix, old)
        put_names(file, "var", genes, old=old)
        put_names(file, "obs", CELLS, title="barcode", old=old)
        for name, other in more.items():
            put(file, name.replace("__", "/"), other, old)
    return path


def read_ad(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_h5ad(path, columns, exclude, id_column, inside)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
def test_matrices_of_every_layout_and_age_are_read(tmp_path, small, make, old, dtype):
    x = counts(dtype)
    path = annotated(tmp_path / "t.h5ad", make(x), old)
    source = read_ad(path, id_column="obs_names")
    assert source.shape == (ROWS, COLUMNS)
    assert source.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert source.columns == tuple(GENES)
    assert source.stored == (None if make is np.asarray else np.count_nonzero(x))
    assert isinstance(source, Held) == (make is sp.csc_array)
    for start in (0, 1, 12, 15, 16, 17, 59, 60):
        np.testing.assert_array_equal(gathered(source, start), x[start:])
        assert ids_of(source, start) == CELLS[start:]
    chosen = read_ad(path, ["gene 7", "gene 2"])
    np.testing.assert_array_equal(gathered(chosen), x[:, [7, 2]])
    assert chosen.columns == ("gene 7", "gene 2")
    if make is sp.csr_array:
        assert chosen.stored == round(source.stored * 2 / COLUMNS)
    assert chosen.unused == tuple(name for name in GENES if name not in chosen.columns)


def test_the_names_of_rows_have_the_title_of_the_index(tmp_path):
    path = annotated(tmp_path / "t.h5ad", sp.csr_array(counts()))
    for name in ("obs_names", "_index", "barcode"):
        source = read_ad(path, id_column=name)
        assert source.id_column == name
        assert ids_of(source)[:2] == ["cell 0", "cell 1"]
    error = refused(ColumnError, open_h5ad, path, None, (), "cells")
    assert "'obs_names', here also 'barcode'" in error.hint
    with h5py.File(path, "a") as file:
        del file["obs"]
    assert "no names" in str(refused(ColumnError, open_h5ad, path, None, (), "obs_names"))
    assert read_ad(path).shape == (ROWS, COLUMNS)


def test_names_may_be_numbers_or_have_a_mask(tmp_path):
    path = annotated(tmp_path / "t.h5ad", counts())
    with h5py.File(path, "a") as file:
        del file["obs/barcode"], file["var/_index"]
        file["obs/barcode"] = np.arange(ROWS)
        file["var/_index/values"] = GENES
        file["var/_index/mask"] = np.zeros(COLUMNS, bool)
    source = read_ad(path, id_column="obs_names")
    assert ids_of(source, 58) == ["58", "59"]
    assert source.columns == tuple(GENES)


def test_names_that_stand_again_get_numbers(tmp_path):
    genes = ["a", "b", "a", "a-1", "a", "c", "d", "e", "b"]
    source = read_ad(annotated(tmp_path / "t.h5ad", counts(), genes=genes))
    assert source.columns == ("a", "b", "a-2", "a-1", "a-3", "c", "d", "e", "b-1")
    assert source.notes == ("2 names of columns stand there more than once and got numbers: a, b",)


def test_other_matrices_are_had_by_name(tmp_path, small):
    x, y, z = counts(), counts("f8", 4), np.random.default_rng(5).standard_normal((ROWS, 2))
    path = annotated(
        tmp_path / "t.h5ad", x, layers__counts=sp.csr_array(y), layers__log=y + 1, obsm__X_umap=z
    )
    assert read_ad(path, inside="layers/counts").columns == tuple(GENES)
    np.testing.assert_array_equal(gathered(read_ad(path, inside="layers/counts")), y)
    np.testing.assert_array_equal(gathered(read_ad(path, inside="layers/log")), y + 1)
    umap = read_ad(path, id_column="barcode", inside="obsm")
    assert umap.columns is None
    np.testing.assert_array_equal(gathered(umap), z)
    assert ids_of(umap) == CELLS
    assert "layers/counts (60 × 9, f" in str(
        refused(ParameterError, open_h5ad, path, inside="layers")
    )
    assert "obsm/X_umap" in refused(ParameterError, open_h5ad, path, inside="raw/X").hint
    with h5py.File(path, "a") as file:
        del file["X"]
    assert "There are: layers/counts" in refused(ParameterError, open_h5ad, path).hint


@pytest.mark.parametrize("old", [False, True])
def test_the_raw_matrix_has_columns_of_its_own(tmp_path, old):
    path = annotated(tmp_path / "t.h5ad", counts(), old)
    y = np.random.default_rng(5).poisson(1.0, (ROWS, 12)).astype("f4")
    with h5py.File(path, "a") as file:
        put(file, "raw.X" if old else "raw/X", sp.csr_array(y), old)
        put_names(file, "raw.var" if old else "raw/var", [f"r{j}" for j in range(12)], old=old)
    source = read_ad(path, id_column="obs_names", inside="raw/X")
    assert source.columns == tuple(f"r{j}" for j in range(12))
    np.testing.assert_array_equal(gathered(source), y)
    assert ids_of(source) == CELLS


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_unsorted_and_repeated_entries_are_put_in_order(tmp_path, make):
    data = np.array([1, 2, 3, 4, 5], "f4")
    matrix = make((data, np.array([2, 0, 2, 1, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    path = annotated(tmp_path / "t.h5ad", matrix, genes=["a", "b", "c"])
    np.testing.assert_array_equal(gathered(read_ad(path)), matrix.toarray())


def test_missing_values_and_zeros_that_are_stored_stay(tmp_path):
    matrix = sp.csr_array(([np.nan, 0.0], [0, 2], [0, 1, 2]), shape=(2, 3))
    (chunk,) = read_ad(annotated(tmp_path / "t.h5ad", matrix, genes=["a", "b", "c"])).chunks()
    assert chunk.data.nnz == 2
    np.testing.assert_array_equal(chunk.data.toarray(), [[np.nan, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_long_integers_of_sparse_matrices_are_named_with_their_place(tmp_path, small, make):
    x = counts("i8")
    x[41, 7] = -(2**53) - 1
    path = annotated(tmp_path / "t.h5ad", make(x))
    error = refused(NotNumericError, open_h5ad, path, ["gene 1", "gene 7"])
    assert error.place == {"file": str(path), "column": "gene 7", "row": 42}
    assert "-9007199254740993" in str(error)
    np.testing.assert_array_equal(gathered(read_ad(path, exclude=["gene 7"])), np.delete(x, 7, 1))


def test_a_large_matrix_by_columns_is_refused(tmp_path, monkeypatch):
    path = annotated(tmp_path / "t.h5ad", sp.csc_array(counts()))
    monkeypatch.setattr(h5ad_sparse, "_MOST_TURNED", 100)
    error = refused(ParameterError, open_h5ad, path)
    assert "stored by columns (CSC)" in str(error)
    assert "csr_matrix" in error.hint


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    "damage",
    [
        ("indices", 5, 1_000),
        ("indices", 5, -1),
        ("indptr", 3, 10_000),
        ("indptr", 3, -5),
        ("indptr", 4, 0),
        ("indptr", -1, 7),
        ("indptr", -1, "one less"),
        ("data", None, 5),
        ("indices", None, 5),
        ("indptr", None, 5),
    ],
)
def test_a_damaged_sparse_matrix_is_refused_and_never_followed(tmp_path, make, damage):
    name, at, value = damage
    path = annotated(tmp_path / "t.h5ad", make(counts()))
    with h5py.File(path, "a") as file:
        part = file[f"X/{name}"]
        if at is None:
            cut = part[:value]
            del file[f"X/{name}"]
            file[f"X/{name}"] = cut
        else:
            part[at] = part[at] - 1 if value == "one less" else value
    refused(MalformedFileError, open_h5ad, path)


def test_names_of_another_number_and_missing_parts_are_refused(tmp_path):
    path = annotated(tmp_path / "t.h5ad", sp.csr_array(counts()), genes=GENES[:-1])
    assert "var names 8 columns, but X has 9" in str(refused(MalformedFileError, open_h5ad, path))
    with h5py.File(path, "a") as file:
        del file["var"], file["obs/barcode"]
        file["obs/barcode"] = CELLS[:-1]
    assert read_ad(path).columns is None
    refused(MalformedFileError, open_h5ad, path, None, (), "obs_names")
    with h5py.File(path, "a") as file:
        del file["X/indptr"]
    refused(MalformedFileError, open_h5ad, path)


# Cut files


@pytest.mark.parametrize("kind", ["plain", "gzip", "csr", "csc", "dense"])
def test_a_file_cut_anywhere_is_refused(tmp_path, kind):
    x = np.random.default_rng(1).standard_normal((300, 5)).astype("f4")
    path = tmp_path / "t.h5"
    opener = open_hdf5
    if kind in ("plain", "gzip"):
        with h5py.File(path, "w") as file:
            options = {"compression": "gzip", "chunks": (40, 5)} if kind == "gzip" else {}
            file.create_dataset("x", data=x, **options)
    else:
        opener, x = open_h5ad, counts()
        annotated(path, {"csr": sp.csr_array, "csc": sp.csc_array, "dense": np.asarray}[kind](x))
    whole = path.read_bytes()
    np.testing.assert_array_equal(gathered(opener(path, None, (), None)), x)
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        with pytest.raises(PrincompError) as caught:
            gathered(opener(path, None, (), None))
        assert caught.value.place["file"] == str(path)


def test_a_damaged_tile_is_refused_while_it_is_read(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        x = np.random.default_rng(1).standard_normal((300, 5))
        data = file.create_dataset("x", data=x, compression="gzip", chunks=(40, 5))
        at = data.id.get_chunk_info(3).byte_offset
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(500))
    chunks = read(path)
    assert chunks.shape == (300, 5)
    refused(MalformedFileError, open_hdf5, path)
