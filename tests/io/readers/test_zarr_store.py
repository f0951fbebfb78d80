"""Arrays in Zarr stores: folders and zip files of both versions, with any tiling."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import sys

import numpy as np
import pytest
import zarr

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
from princomp.io.readers import chunk_plan as plan_module
from princomp.io.readers.columns import Selection
from princomp.io.readers.files import open_source
from princomp.io.readers.source import files_below
from princomp.io.readers.zarr_store import open_zarr


@pytest.fixture
def small(monkeypatch):
    """Chunks and bands of a few numbers, so that small tables have many."""
    monkeypatch.setattr(plan_module, "NUMBERS_PER_CHUNK", 40)
    monkeypatch.setattr(plan_module, "MAX_BAND_BYTES", 2_000)


def save(path, x, name=None, attributes=None, **options):
    """Store an array at the root of a new store, or under a name in a store."""
    options.setdefault("zarr_format", 3)
    zipped = path.name.endswith(".zip")
    store = zarr.storage.ZipStore(path, mode="w") if zipped else zarr.storage.LocalStore(path)
    array = zarr.create_array(store, name=name, data=x, overwrite=not zipped, **options)
    if attributes:
        array.attrs.update(attributes)
    store.close()
    return path


def opened(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_zarr(path, Selection(columns, exclude, id_column), inside)


def read_all(source, start=0):
    parts = [chunk.data for chunk in source.chunks(start)]
    for data in parts:
        assert data.shape[0] > 0
        assert data.dtype == source.dtype
        assert data.dtype.isnative
        assert data.flags.c_contiguous
    return np.vstack(parts) if parts else np.empty((0, source.p))


def refused(error, path, columns=None, **options):
    with pytest.raises(error) as caught:
        read_all(opened(path, columns, **options))
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


# What is read


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", ">f8", "i1", ">i8", "u8", "?"])
@pytest.mark.parametrize("version", [2, 3])
def test_numbers_of_every_real_kind_become_native_floats(tmp_path, dtype, version):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype)
    source = opened(save(tmp_path / "t.zarr", x, zarr_format=version))
    assert source.shape == (2, 3)
    assert source.columns is None
    assert source.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(read_all(source), x.astype(float))


@pytest.mark.parametrize("version", [2, 3])
def test_numbers_packed_by_xarray_are_unpacked(tmp_path, version):
    x = np.array([[100, -9, 3], [-1, 0, -9]], "f4")
    attributes, options = {"_ARRAY_DIMENSIONS": ["time", "cell"], "scale_factor": 0.5}, {}
    if version == 2:
        options["fill_value"] = -9.0
    else:
        attributes["_FillValue"] = "AAAAAAAAIsA="  # the eight bytes of -9.0
    path = save(tmp_path / "t.zarr", x, zarr_format=version, attributes=attributes, **options)
    source = opened(path)
    np.testing.assert_array_equal(read_all(source), [[50, np.nan, 1.5], [-0.5, 0, np.nan]])
    assert "missing cells are stored as -9" in source.notes


def test_the_fill_value_of_other_arrays_is_a_number(tmp_path):
    x = np.array([[1, 0, 1], [0, 1, 2]], "f8")
    source = opened(save(tmp_path / "t.zarr", x, zarr_format=2, fill_value=0.0))
    np.testing.assert_array_equal(read_all(source), x)
    assert source.notes == ()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zarr_format": 2, "chunks": (7, 3), "order": "F"},
        {"chunks": (1, 11), "compressors": None},
        {"chunks": (50, 11)},
        {"chunks": (101, 1)},
        {"chunks": (64, 4)},
        {"chunks": (5, 4), "shards": (20, 12)},
        {"chunks": (2, 11), "shards": (4, 11)},
        {"chunks": (200, 20)},
    ],
)
@pytest.mark.parametrize("columns", [None, ["10", "2", "3"], ["4", "5", "6"]])
@pytest.mark.parametrize("name", ["t.zarr", "t.zarr.zip"])
def test_every_tiling_gives_the_same_rows_from_every_start(tmp_path, small, options, columns, name):
    x = np.random.default_rng(1).standard_normal((101, 11))
    x[5, 5] = np.nan
    source = opened(save(tmp_path / name, x, **options), columns)
    expected = x if columns is None else x[:, [int(name) for name in columns]]
    for start in (0, 1, 7, 63, 64, 100, 101, 500):
        np.testing.assert_array_equal(read_all(source, start), expected[start:])
    assert max(chunk.data.size for chunk in source.chunks()) <= 120


def test_a_tiling_by_columns_is_read_in_bands_with_a_note(tmp_path, small):
    x = np.arange(2_000.0).reshape(500, 4)
    source = opened(save(tmp_path / "t.zarr", x, chunks=(500, 1)))
    assert "chunks of 500 rows, each of which is read 9 times" in source.notes[0]
    np.testing.assert_array_equal(read_all(source), x)


def test_a_tile_that_was_never_written_has_the_fill_value(tmp_path):
    x = np.arange(40.0).reshape(10, 4)
    path = save(tmp_path / "t.zarr", x, chunks=(5, 4), fill_value=np.nan)
    (path / "c" / "1" / "0").unlink()
    x[5:] = np.nan
    np.testing.assert_array_equal(read_all(opened(path)), x)


def test_columns_are_named_by_a_valid_columns_attribute(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.zarr", x, attributes={"columns": ["a", "größe", "c"]})
    source = opened(path, ["c", "größe"])
    assert source.columns == ("c", "größe")
    assert source.unused == ("a",)
    np.testing.assert_array_equal(read_all(source), x[:, [2, 1]])
    assert "Did you mean 'größe'" in refused(ColumnError, path, ["große"]).hint
    for names in ("abc", ["a", "b"], ["a", "a", "b"], [1, 2, 3], {"a": 1}):
        path = save(tmp_path / "t.zarr", x, attributes={"columns": names})
        assert opened(path).columns is None
        assert "There are: 0, 1, 2." in refused(ColumnError, path, ["3"]).hint
    assert "numbers only" in str(refused(ParameterError, path, id_column="0"))


@pytest.mark.parametrize("version", [2, 3])
def test_the_only_or_the_named_table_is_read(tmp_path, version):
    x = np.arange(6.0).reshape(2, 3)
    path = tmp_path / "t.zarr"
    zarr.create_group(path, zarr_format=version)
    save(path, x, "g/x", zarr_format=version)
    save(path, np.arange(3), "v", zarr_format=version)
    (path / "notes.txt").write_text("no array, and not worth a warning")
    for inside in (None, "", "/", "g", "/g/x", "g/x/"):
        np.testing.assert_array_equal(read_all(opened(path, inside=inside)), x)
    save(path, x.astype("f4"), "y", zarr_format=version)
    error = refused(ParameterError, path)
    assert "g/x (2 × 3, float64)" in str(error)
    assert "y (2 × 3, float32)" in str(error)
    assert error.place["parameter"] == "inside"
    assert opened(path, inside="g").dtype == np.float64
    assert "Did you mean 'g/x'?" in refused(ParameterError, path, inside="g/z").hint
    assert "1 dimensions" in str(refused(ShapeError, path, inside="v"))


def test_a_store_of_anndata_means_its_matrix_x(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = tmp_path / "t.zarr"
    zarr.create_group(path, attributes={"encoding-type": "anndata"})
    save(path, x[:, :2], "obsm/X_pca")
    save(path, np.ones(3), "X/data")  # of a sparse matrix
    assert "X/data (3, float64)" in str(refused(ShapeError, path))
    np.testing.assert_array_equal(read_all(opened(path, inside="obsm/X_pca")), x[:, :2])
    shutil.rmtree(path / "X")
    save(path, x, "X")
    np.testing.assert_array_equal(read_all(opened(path)), x)


def test_a_zip_holds_several_arrays_as_a_folder_does(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.zarr", x, "g/x")
    zipped = shutil.make_archive(str(tmp_path / "u.zarr"), "zip", path)
    plain = tmp_path / "z.zarr"
    shutil.copy(zipped, plain)
    np.testing.assert_array_equal(read_all(opened(plain, ["1"], inside="g")), x[:, [1]])


def test_sources_can_be_copied_and_closed_early(tmp_path, small):
    x = np.arange(90.0).reshape(30, 3)
    for name in ("t.zarr", "t.zarr.zip"):
        source = opened(save(tmp_path / name, x))
        for other in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
            chunks = other.chunks()
            next(chunks)
            chunks.close()
            np.testing.assert_array_equal(read_all(other), x)


def test_file_states_change_with_the_tiles_and_metadata(tmp_path):
    x = np.arange(40.0).reshape(10, 4)
    path = save(tmp_path / "t.zarr", x, chunks=(5, 4))
    source = opened(path)
    states = {source.file_states()}
    tile = path / "c" / "1" / "0"
    time = source.file_states()[0].modified_ns + 10**9
    os.utime(tile, ns=(time, time))
    states.add(source.file_states())
    assert source.file_states()[0].modified_ns == time
    (path / "c" / "0" / "0").unlink()
    states.add(source.file_states())
    os.utime(path / "zarr.json", ns=(time - 5, time - 5))
    states.add(source.file_states())
    assert len(states) == 4
    assert source.nbytes > source.file_states()[0].size
    zipped = opened(save(tmp_path / "t.zarr.zip", x))
    assert [i.size for i in zipped.file_states()] == [zipped.nbytes]


# What is refused


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ShapeError, "3 dimensions"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.array([["a"]]), NotNumericError, "no numbers"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 0"),
        (np.array([[2**53], [-(2**63)]]), NotNumericError, "row 1: the integer -92233720368547"),
        (np.array([[2**64 - 1]], np.uint64), NotNumericError, "18446744073709551615"),
    ],
)
@pytest.mark.filterwarnings("ignore:The data type")  # version 3 does not specify text yet
def test_arrays_that_are_not_tables_are_refused(tmp_path, array, error, message):
    save(tmp_path / "t.zarr", array, "x")
    assert message in str(refused(error, tmp_path / "t.zarr", inside="x"))


def test_a_long_integer_is_named_with_its_row(tmp_path, small):
    x = np.zeros((100, 3), np.int64)
    x[77, 2] = 2**53 + 1
    path = save(tmp_path / "t.zarr", x)
    assert refused(NotNumericError, path, ["0", "2"]).place["row"] == 77
    assert read_all(opened(path, ["0", "1"])).shape == (100, 2)


def test_missing_empty_and_invalid_stores_are_refused(tmp_path):
    with pytest.raises(InputNotFoundError, match="no such file"):
        open_source(tmp_path / "no.zarr")
    path = tmp_path / "t.zarr"
    path.mkdir()
    assert "is no Zarr store" in str(refused(MalformedFileError, path))
    zarr.create_group(path)
    assert "it is empty" in str(refused(ShapeError, path))
    for content in (b"", b"a,b\n1,2\n", b"PK\x03\x04" + bytes(100)):
        other = tmp_path / "t.zarr.zip"
        other.write_bytes(content)
        refused(MalformedFileError, other)


def test_without_zarr_the_extra_is_named(tmp_path, monkeypatch):
    path = save(tmp_path / "t.zarr", np.zeros((2, 2)))
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingLibraryError) as caught:
        open_source(path)
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint == "pip install 'princomp[files]'"


def test_a_store_that_changes_its_shape_while_it_is_read_is_refused(tmp_path):
    path = save(tmp_path / "t.zarr", np.zeros((5, 2)))
    source = opened(path)
    shutil.rmtree(path)
    save(path, np.zeros((4, 2)))
    with pytest.raises(MalformedFileError, match="no longer as many"):
        read_all(source)
    shutil.rmtree(path)
    save(path, np.zeros((5, 2)), "x")
    with pytest.raises(PrincompError):
        read_all(source)


# Truncated and damaged files


@pytest.mark.parametrize(
    "options",
    [
        {"zarr_format": 2},
        {"compressors": None},
        {},
        {"chunks": (10, 5), "shards": (60, 5)},
    ],
)
def test_truncated_files_of_a_store_are_refused_or_irrelevant(tmp_path, options):
    x = np.random.default_rng(1).standard_normal((60, 5)).astype("f4")
    path = save(tmp_path / "t.zarr", x, **({"chunks": (60, 5)} | options))
    for part in [found for found in path.rglob("*") if found.is_file()]:
        whole = part.read_bytes()
        for i in range(64):
            part.write_bytes(whole[: len(whole) * i // 64])
            try:
                found = read_all(opened(path))
            except PrincompError as error:
                assert error.place["file"] == str(path)  # noqa: PT017 - either end is valid
            else:
                np.testing.assert_array_equal(found, x)
                assert part.name in (".zattrs", ".zgroup")
        part.write_bytes(whole)
    np.testing.assert_array_equal(read_all(opened(path)), x)


def test_a_zip_cut_anywhere_is_refused(tmp_path):
    x = np.random.default_rng(1).standard_normal((60, 5)).astype("f4")
    path = save(tmp_path / "t.zarr.zip", x, chunks=(20, 5))
    whole = path.read_bytes()
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        refused(MalformedFileError, path)


@pytest.mark.parametrize("name", ["t.zarr", "t.zarr.zip"])
def test_an_empty_tile_file_is_not_treated_as_unwritten(tmp_path, name):
    x = np.random.default_rng(1).standard_normal((60, 5))
    path = save(tmp_path / "t.zarr", x, "g/x", chunks=(10, 5), shards=(20, 5))
    (path / "g" / "x" / "c" / "1" / "0").write_bytes(b"")
    if name.endswith(".zip"):
        path = shutil.move(shutil.make_archive(str(path), "zip", path), tmp_path / name)
    assert "1/0 in it is empty" in str(refused(MalformedFileError, path))


def test_damaged_metadata_raises_only_princomp_errors(tmp_path):
    path = save(tmp_path / "t.zarr", np.zeros((6, 5)))
    metadata = json.loads((path / "zarr.json").read_text())
    for key in metadata:
        for value in (None, 3, "x", [], {}):
            (path / "zarr.json").write_text(json.dumps(metadata | {key: value}))
            try:
                read_all(opened(path))
            except PrincompError as error:
                assert str(error)  # noqa: PT017 - some keys may be anything


def test_links_between_folders_are_followed_once(tmp_path):
    x = np.arange(12.0).reshape(4, 3)
    path = save(tmp_path / "t.zarr", x)
    states = opened(path).file_states()
    (path / "parent").symlink_to(path, target_is_directory=True)
    assert opened(path).file_states() == states
    np.testing.assert_array_equal(read_all(opened(path)), x)
    pairs = tmp_path / "pairs"
    for level in range(30):
        (pairs / str(level)).mkdir(parents=True)
        for name in "ab":
            (pairs / str(level) / name).symlink_to(pairs / str(level + 1))
    (pairs / "30").mkdir()
    assert list(files_below(pairs)) == []
