"""HDF5 arrays in chunks."""

from __future__ import annotations

import copy
import pickle
import sys

import h5py
import numpy as np
import pytest
from hdf5_cases import opened, read_all, refused
from scipy.io import netcdf_file

from princomp import PCA
from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    NoRowsError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.io.readers import chunk_plan as plan_module
from princomp.io.readers.files import open_source
from princomp.io.readers.hdf5 import open_hdf5
from princomp.io.readers.source import FileState, Source


def save(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", ">f8", "i1", ">i8", "u8", "?", "g"])
def test_numbers_of_every_real_kind_become_native_floats(tmp_path, dtype):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype)
    source = opened(save(tmp_path / "t.h5", x=x))
    assert source.shape == (2, 3)
    assert source.columns is None
    assert source.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(read_all(source), x.astype(float))
    assert bool(source.notes) == (np.dtype(dtype).itemsize > 8)
    assert source.nbytes == x.nbytes


@pytest.mark.parametrize("tiles", [None, (7, 3), (1, 11), (50, 11), (101, 1), (64, 4), (30, 20)])
@pytest.mark.parametrize("compression", [None, "gzip", "lzf"])
@pytest.mark.parametrize("columns", [None, ["10", "2", "3"], ["4", "5", "6"]])
def test_every_tiling_gives_the_same_rows_from_every_start(
    tmp_path, small, tiles, compression, columns
):
    if compression and not tiles:
        tiles = True
    x = np.random.default_rng(1).standard_normal((101, 11))
    x[5, 5] = np.nan
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        most = (None, None) if tiles else None
        file.create_dataset("x", data=x, chunks=tiles, compression=compression, maxshape=most)
    source = opened(path, columns)
    expected = x if columns is None else x[:, [int(name) for name in columns]]
    for start in (0, 1, 6, 7, 8, 63, 64, 100, 101, 500):
        np.testing.assert_array_equal(read_all(source, start), expected[start:])
    assert max(len(chunk.data) for chunk in source.chunks()) * source.p <= 120


def test_tiles_are_decompressed_as_rarely_as_memory_allows(tmp_path, small):
    x = np.arange(2_000.0).reshape(500, 4)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=(500, 1), compression="gzip")
        file.create_dataset("y", data=x, chunks=(500, 1))
        file.create_dataset("z", data=x, chunks=(50, 4), compression="gzip")
    source = opened(path, inside="x")
    assert source.plan.reads_per_tile == 9
    assert "chunks of 500 rows, each of which is read 9 times" in source.notes[0]
    np.testing.assert_array_equal(read_all(source), x)
    # The plan counts the band in addition to the memory of the library.
    assert source.reader_bytes == Source.reader_bytes + 56 * 4 * 8
    # One column of four has fewer bytes, so the same tile is read in larger pieces.
    assert opened(path, ["1"], inside="x").plan.reads_per_tile == 2
    for other in ("y", "z"):
        assert (
            opened(path, inside=other).plan.reads_per_tile,
            opened(path, inside=other).notes,
        ) == (
            1,
            (),
        )


def test_a_tiling_that_is_far_too_slow_is_refused(tmp_path, small, monkeypatch):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (5_000, 4), "f8", chunks=(5_000, 1), compression="gzip")
    error = refused(ParameterError, open_hdf5, path)
    assert "read 81 times" in str(error)
    assert "chunks of fewer rows" in error.hint


def test_every_band_of_rows_is_read_once(small):
    for tall, width in ((1, 10), (3, 10), (7, 10), (60, 10), (1_000, 10), (1, 100), (5, 100)):
        for whole in (True, False):
            plan = plan_module.ChunkPlan.of(plan_module.Tiling(tall, 5, whole), width, 8 * width)
            for start in (0, 1, 59, 60, 999):
                pieces = list(plan.pieces(start, 1_003))
                assert [first for first, _ in pieces] == [start, *(last for _, last in pieces[:-1])]
                assert pieces[-1][1] == 1_003
                for first, last in pieces:
                    assert first < last
                    assert last - first <= plan.rows_per_read
                    assert first // plan.boundary == (last - 1) // plan.boundary
            assert plan.boundary % tall == 0


def test_a_chunk_keeps_no_band_of_tiles_alive(tmp_path, small):
    x = np.arange(480.0).reshape(60, 8)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=x, chunks=(30, 2), compression="gzip")
    chunks = list(opened(path).chunks())
    assert len(chunks) > 2
    for data, _ in chunks:
        assert data.base is None


def test_columns_are_named_by_a_valid_columns_attribute(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.h5", x=x)
    for names in (["a", "größe", "c"], np.array([b"a", "größe".encode(), b"c"])):
        with h5py.File(path, "a") as file:
            file["x"].attrs["columns"] = names
        source = opened(path, ["c", "größe"])
        assert source.columns == ("c", "größe")
        assert source.unused == ("a",)
        np.testing.assert_array_equal(read_all(source), x[:, [2, 1]])
        assert opened(path, exclude=["a"]).columns == ("größe", "c")
        assert "Did you mean 'größe'" in refused(ColumnError, open_hdf5, path, ["große"]).hint
    for names in ("abc", ["a", "b"], ["a", "a", "b"], [1, 2, 3], [["a", "b", "c"]], [b"\xff"] * 3):
        with h5py.File(path, "a") as file:
            file["x"].attrs["columns"] = names
        assert opened(path).columns is None


def test_columns_without_names_are_numbers_in_range(tmp_path):
    path = save(tmp_path / "t.h5", x=np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(read_all(opened(path, exclude=["1"])), [[0, 2], [3, 5]])
    for name in ("3", "-1", "a", "01", "", "²"):
        assert "There are: 0, 1, 2." in refused(ColumnError, open_hdf5, path, [name]).hint
    refused(ColumnError, open_hdf5, path, ["1", "1"])
    assert "numbers only" in str(refused(ParameterError, open_hdf5, path, None, (), "0"))


def test_the_only_or_the_named_table_is_read(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    path = save(tmp_path / "t.h5", g__x=x, v=np.arange(3), s="text", t=np.array([[b"a"]]))
    for inside in (None, "", "/", "g", "/g/x", "g/x/", "/g/"):
        np.testing.assert_array_equal(read_all(opened(path, inside=inside)), x)
    save(path, x=x, g__y=x.astype("f4"), s="text")
    error = refused(ParameterError, open_hdf5, path)
    assert "g/y (2 × 3, float32), x (2 × 3, float64)" in str(error)
    assert f"{path}::g/y" in error.hint  # of the same size, and first in the alphabet
    assert error.place["parameter"] == "inside"
    assert opened(path, inside="g").dtype == np.float32
    error = refused(ParameterError, open_hdf5, path, inside="g/z")
    assert "'g/z'" in str(error)
    assert "Did you mean 'g/y'? There are: g/y (2 × 3, float32), s (a single value" in error.hint


def test_a_sparse_matrix_of_another_layout_is_refused_with_the_formats_that_are_read(tmp_path):
    path = save(tmp_path / "10x.h5", m__data=[1], m__indices=[0], m__indptr=[0, 1], m__shape=[3, 1])
    error = refused(ShapeError, open_hdf5, path)
    assert "m/indptr" in str(error)
    assert ".h5ad, .npz and .mtx" in error.hint
    hint = refused(ShapeError, open_hdf5, path, inside="m/data").hint
    assert hint.startswith("If m is a sparse matrix, only all of it can be read, from .h5ad, .npz")


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ShapeError, "3 dimensions"),
        (np.zeros((0, 3)), NoRowsError, "no rows"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.zeros(2, [("a", "f8")]), NotNumericError, "records"),
        (np.array([[b"a"]]), NotNumericError, "no numbers"),
        (np.array([["a"]], h5py.string_dtype()), NotNumericError, "text"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 0"),
        (np.array([[2**53], [-(2**63)]]), NotNumericError, "row 1: the integer -92233720368547"),
        (np.array([[2**64 - 1]], np.uint64), NotNumericError, "18446744073709551615"),
    ],
)
def test_datasets_that_are_not_tables_are_refused(tmp_path, array, error, message):
    path = save(tmp_path / "t.h5", x=array)
    assert message in str(refused(error, open_hdf5, path, inside="x"))
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        assert "x (" in str(refused(ShapeError, open_hdf5, path))


def test_arrays_of_more_dimensions_may_become_a_row_for_each_block(tmp_path):
    path, blocks = save(tmp_path / "t.h5", x=np.zeros((5, 2, 3))), tmp_path / "t.npy"
    np.save(blocks, np.zeros((5, 2, 3)))
    for name in (path, f"{path}::x", blocks):
        with pytest.raises(ShapeError) as caught:
            open_source(name)
        assert "x.reshape(len(x), -1), with a row for each x[i]" in caught.value.hint
    with pytest.raises(ShapeError) as caught:
        open_source(f"{save(tmp_path / 'v.h5', x=np.zeros(3))}::x")
    assert "x.reshape(-1, 1), one column" in caught.value.hint


def test_a_long_integer_is_named_with_its_row_in_the_file(tmp_path, small):
    x = np.zeros((100, 3), np.int64)
    x[77, 2] = 2**53 + 1
    path = save(tmp_path / "t.h5", x=x)
    error = refused(NotNumericError, open_hdf5, path, ["0", "2"])
    assert error.place == {"file": str(path), "column": "2", "row": 77}
    assert read_all(opened(path, ["0", "1"])).shape == (100, 2)


def test_frames_in_the_layout_of_pandas_are_refused(tmp_path):
    path = save(tmp_path / "t.h5", df__block0_values=np.zeros((2, 2)))
    with h5py.File(path, "a") as file:
        file["df"].attrs["pandas_type"] = "frame"
    for inside in (None, "df", "df/block0_values"):
        assert "to_parquet" in refused(MalformedFileError, open_hdf5, path, inside=inside).hint
    with h5py.File(path, "a") as file:
        file["x"] = np.ones((3, 2))
    assert opened(path).shape == (3, 2)


def test_missing_empty_and_other_files_are_refused(tmp_path):
    with pytest.raises(InputNotFoundError):
        opened(tmp_path / "no.h5")
    for content in (b"", b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n" + bytes(100)):
        path = tmp_path / "t.h5"
        path.write_bytes(content)
        refused(MalformedFileError, open_hdf5, path)
    with h5py.File(path, "w"):
        pass
    assert "it is empty" in str(refused(ShapeError, open_hdf5, path))


def test_a_file_that_changes_its_shape_while_it_is_read_is_refused(tmp_path):
    path = save(tmp_path / "t.h5", x=np.zeros((5, 2)))
    source = opened(path)
    before = source.file_states()
    save(path, x=np.zeros((4, 2)))
    with pytest.raises(MalformedFileError, match="no longer as many"):
        read_all(source)
    assert source.file_states() != before
    assert source.file_states() == (FileState.of(path),)


@pytest.mark.parametrize("ending", ["h5", "h5ad"])
def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch, ending):
    path = save(tmp_path / f"t.{ending}", X=np.zeros((5, 2)))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingLibraryError) as caught:
        open_source(path)
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint == "pip install 'princomp[files]'"


def test_sources_can_be_copied_and_close_their_file(tmp_path, small):
    path = save(tmp_path / "t.h5", x=np.arange(60.0).reshape(20, 3))
    for source in (copy.deepcopy(opened(path)), pickle.loads(pickle.dumps(opened(path)))):
        chunks = source.chunks()
        next(chunks)
        chunks.close()
        with h5py.File(path, "a"):
            pass
        assert source.repeatable
        assert not source.random_access


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_files_of_a_virtual_dataset_must_be_there(tmp_path, fill):
    x = np.arange(12.0).reshape(6, 2)
    layout = h5py.VirtualLayout((6, 2), "f8")
    for name, rows in (("a.h5", slice(3)), ("b.h5", slice(3, 6))):
        save(tmp_path / name, x=x[rows])
        layout[rows] = h5py.VirtualSource(name, "x", (3, 2))
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("x", layout, fillvalue=fill)
    np.testing.assert_array_equal(read_all(opened(path)), x)
    for change, absent in (
        (lambda: save(tmp_path / "b.h5", y=x[3:]), "x of b.h5"),
        ((tmp_path / "b.h5").unlink, "b.h5"),
    ):
        change()
        if np.isnan(fill):
            assert np.isnan(read_all(opened(path))[3:]).all()
        else:
            error = refused(MalformedFileError, open_hdf5, path)
            assert f"x has rows of {absent}, which cannot be read" in str(error)


def test_numbers_packed_by_netcdf_are_unpacked(tmp_path):
    path = save(tmp_path / "t.h5", x=np.array([[100, -32768, 3], [-1, 0, -99]], "i2"))
    with h5py.File(path, "a") as file:
        # netCDF writes arrays of one number.
        file["x"].attrs["_FillValue"] = np.array([-32768], "i2")
        file["x"].attrs["missing_value"] = np.int16(-99)
        file["x"].attrs["scale_factor"] = np.array([0.5])
        file["x"].attrs["add_offset"] = 280.0
    source = opened(path)
    np.testing.assert_array_equal(read_all(source), [[330, np.nan, 281.5], [279.5, 280, np.nan]])
    assert source.notes == (
        "missing cells are stored as -32768, -99",
        "stored numbers were multiplied by 0.5 (scale_factor)",
        "280 was added to stored numbers (add_offset)",
    )
    for factor, problem in (("half", "is 'half', which is not a number"), ([1.0, 2], "not one")):
        with h5py.File(path, "a") as file:
            file["x"].attrs["scale_factor"] = factor
        assert problem in str(refused(MalformedFileError, open_hdf5, path))


def test_limits_of_valid_values_are_not_applied_with_a_note(tmp_path):
    path = save(tmp_path / "t.h5", x=np.array([[100.0, 3], [-1, 0]], "f4"))
    with h5py.File(path, "a") as file:
        file["x"].attrs["valid_min"], file["x"].attrs["valid_range"] = 0.0, "no number"
        np.testing.assert_array_equal(PCA(1).fit(file["x"]).mean_, [49.5, 1.5])
    source = opened(path)
    assert source.notes == (
        "valid_min and valid_range: not applied, values outside are read as they are",
    )
    np.testing.assert_array_equal(read_all(source), [[100, 3], [-1, 0]])


def test_packed_numbers_of_an_open_dataset_are_unpacked(tmp_path):
    path = save(tmp_path / "t.h5", x=np.array([[100, -99, 3], [-1, 0, 7], [5, 8, 2]], "i2"))
    with h5py.File(path, "a") as file:
        file["x"].attrs["_FillValue"], file["x"].attrs["add_offset"] = np.int16(-99), 280.0
        model = PCA(1, missing="drop").fit(file["x"])
        np.testing.assert_array_equal(model.mean_, [282, 284, 284.5])
        assert np.isnan(model.transform(file["x"])[0, 0])
        file["x"].attrs["add_offset"] = "much"
        with pytest.raises(ParameterError, match=r"'add_offset' is 'much'[\s\S]*X\[:\]"):
            PCA(1).fit(file["x"])


def save_netcdf(path, dtype, fill, cells):
    """Write what the netCDF library writes: a dimension without numbers, and its fill value."""
    with h5py.File(path, "w") as file:
        file.attrs["_NCProperties"] = "version=2,netcdf=4.9.2,hdf5=1.14.0"
        for name, length in zip("yx", np.shape(cells), strict=True):
            scale = file.create_dataset(name, (length,), "f4")
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable. {length:9}")
        file.create_dataset("v", np.shape(cells), dtype, fillvalue=fill)[:] = cells
    return path


@pytest.mark.parametrize("ending", [".nc", ".nc4", ".NC", ".h5"])
@pytest.mark.parametrize(("dtype", "fill"), [("f4", 9.969209968386869e36), ("i2", -32767)])
def test_netcdf_files_are_read_and_their_fill_value_is_missing(tmp_path, ending, dtype, fill):
    path = save_netcdf(tmp_path / f"t{ending}", dtype, fill, [[1, 2], [fill, 3], [0, 9]])
    for name in (path, f"{path}::v"):
        source = open_source(name)
        np.testing.assert_array_equal(read_all(source), [[1, 2], [np.nan, 3], [0, 9]])
        assert source.notes == (f"missing cells are stored as {fill!r}",)


def test_a_fill_value_of_one_byte_or_of_another_program_is_a_number(tmp_path):
    path = save_netcdf(tmp_path / "t.nc", "i1", -127, [[-127, 2], [3, 4]])
    assert read_all(opened(path))[0, 0] == -127
    path = save_netcdf(tmp_path / "t.h5", "f4", 7, [[7, 2], [3, 4]])
    with h5py.File(path, "a") as file:
        del file.attrs["_NCProperties"]
    assert read_all(opened(path))[0, 0] == 7


@pytest.mark.parametrize("ending", [".nc", ".nc4", ".h5"])
def test_classic_netcdf_is_refused_with_a_command_that_converts_it(tmp_path, ending):
    path = tmp_path / f"old one{ending}"
    with netcdf_file(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("v", "f4", ("x",))[:] = [1, 2, 3]
    error = refused(MalformedFileError, open_hdf5, path)
    assert "of the classic format, and only netCDF-4 is read" in str(error)
    assert error.hint == f"Convert it: nccopy -k nc4 '{path}' new.nc"


@pytest.mark.parametrize("fill", [-1, 65535])  # as stored, and as a value
def test_unsigned_integers_may_be_stored_as_signed_ones(tmp_path, fill):
    path = save(tmp_path / "t.h5", x=np.array([[-1, 2], [-32768, 5], [7, -2]], "i2"))
    with h5py.File(path, "a") as file:
        for name, value in (("_Unsigned", "true"), ("_FillValue", fill), ("scale_factor", 0.5)):
            file["x"].attrs[name] = value
    source = opened(path)
    np.testing.assert_array_equal(read_all(source), [[np.nan, 1], [16384, 2.5], [3.5, 32767]])
    assert "negative stored numbers were read as unsigned integers (_Unsigned)" in source.notes


def test_factors_written_as_text_are_numbers(tmp_path):
    path = save(tmp_path / "t.h5", x=np.array([[1, 2], [3, 4]], "i2"))
    with h5py.File(path, "a") as file:
        file["x"].attrs["scale_factor"], file["x"].attrs["_FillValue"] = "0.5", "4"
    np.testing.assert_array_equal(read_all(opened(path)), [[0.5, 1], [1.5, np.nan]])
    with h5py.File(path, "a") as file:
        file["x"].attrs["scale_factor"] = "0123456789a="
    problem = "is '0123456789a=', which is not a number"
    assert problem in str(refused(MalformedFileError, open_hdf5, path))
