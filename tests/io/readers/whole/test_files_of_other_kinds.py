"""Parquet, Arrow and npy files read whole; truncated and changed files."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import openpyxl.chart
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from file_cases import refused

from helpers import read_whole
from princomp import PCA
from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    NoRowsError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.io.readers.files import open_files
from princomp.io.readers.formats import ENDINGS
from princomp.io.readers.read_options import ReadOptions


def test_a_missing_file_and_an_empty_folder_are_distinguished(tmp_path):
    assert "no such file" in str(refused(InputNotFoundError, tmp_path / "no.csv"))
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(InputNotFoundError, match="is a folder without tables") as caught:
        open_files([tmp_path / "f.csv"])
    assert ".parquet" in caught.value.hint


def test_values_in_names_of_folders_are_not_columns(tmp_path):
    file = tmp_path / "year=2020" / "1.parquet"
    file.parent.mkdir()
    pd.DataFrame({"a": [1.0, 2], "b": [3.0, 5]}).to_parquet(file)
    hint = refused(ColumnError, file, columns=["a", "year"]).hint
    assert hint == "Values in the names of folders are not read (year=2020). There are: a, b."


@pytest.mark.parametrize("name", ["x.db", "x.sqlite3", "x.DuckDB"])
def test_the_hint_on_a_database_says_how_to_read_it(tmp_path, name):
    (tmp_path / name).write_bytes(b"SQLite format 3")
    assert "pandas.read_sql(query, connection" in refused(ParameterError, tmp_path / name).hint


@pytest.mark.parametrize("name", ["s3://bucket/x.parquet", "gs://b/*.csv", "https://a.org/x.csv"])
def test_a_url_is_refused(name):
    for given in (name, Path(name)):
        with pytest.raises(InputNotFoundError, match="is a URL, and files are read") as caught:
            open_files([given])
    assert "Download it" in caught.value.hint
    with pytest.raises(InputNotFoundError) as caught:
        open_files(["file:///x.csv"])
    assert caught.value.hint == "Give the path alone."


@pytest.mark.parametrize("name", ["a,b\n" + "1,2\n" * 99, "x" * 300 + "*.csv", "a\0.csv"])
def test_text_that_cannot_be_the_name_of_a_file_is_refused(name):
    with pytest.raises(InputNotFoundError, match="no file can have this name") as caught:
        open_files([name])
    assert len(str(caught.value)) < 200
    assert "not its contents" in caught.value.hint


def test_an_unknown_ending_is_refused_with_the_known_ones(write):
    hint = refused(ParameterError, write("a\n1\n", "t.ods")).hint
    assert all(ending in hint for ending in ENDINGS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("t.RData", "In R, write.csv(x, 'x.csv')"), ("t.sav", "pandas.read_spss in Python")],
)
def test_for_files_of_other_programs_the_hint_says_how_to_save_or_read_them(write, name, hint):
    assert hint in refused(ParameterError, write("x", name)).hint


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_without_pyarrow_the_extra_is_named(write, monkeypatch, ending):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = refused(MissingLibraryError, write("a\n1\n", "t" + ending))
    assert error.hint == "pip install 'princomp[cli]'"


def save(table, path):
    """Save an Arrow table in the format of the file name; "stream" is the Arrow stream format."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.stem == "stream":
        with pa.ipc.new_stream(path, table.schema) as writer:
            for batch in table.to_batches(max_chunksize=50):
                writer.write_batch(batch)
    else:
        pa.feather.write_feather(table, path)
    return path


COLUMNAR = ["t.parquet", "t.arrow", "t.feather", "t.ipc", "stream.arrow"]


@pytest.mark.parametrize("name", COLUMNAR)
def test_columnar_files_are_read(tmp_path, name):
    table = pa.table({"s": ["x", None], "i": [1, None], "f": [0.5, 1.5], "a.b": [True, False]})
    path = save(table, tmp_path / name)
    read = read_whole(path)
    assert read.columns == ("i", "f")
    np.testing.assert_array_equal(read.data, [[1, 0.5], [np.nan, 1.5]])
    assert read.notes == (
        "left out 1 text column: s",
        "left out 1 true/false column: a.b",
    )
    selected = read_whole(path, columns=["a.b", "i"], id_column="s")
    assert selected.columns == ("a.b", "i")
    assert selected.data[0].tolist() == [1, 1]
    assert selected.ids.tolist() == ["x", None]


@pytest.mark.parametrize("name", [*COLUMNAR[:2], "stream.arrow"])
def test_columnar_files_follow_the_same_rules(tmp_path, name):
    path = tmp_path / name
    save(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), path)
    refused(ColumnError, path)
    save(pa.table({"a": [1, 2**53 + 1]}), path)
    assert refused(NotNumericError, path).place["row"] == 1
    save(pa.table({"a": ["1", "2", "x"]}), path)
    error = refused(NotNumericError, path)
    assert error.place == {"file": str(path), "column": "a", "row": 2}
    save(pa.table({"zip": ["01234", "99999"], "x": [1.0, 2.0]}), path)
    error = refused(NotNumericError, path)
    assert "written as text" in str(error)
    assert "exclude=['zip'] leaves the column out, id_column='zip' names the rows" in error.hint
    assert read_whole(path, columns=["zip"]).data[:, 0].tolist() == [1234, 99999]
    save(pa.table({"a": pa.array([], pa.float64())}), path)
    assert "no rows" in str(refused(NoRowsError, path))
    save(pa.table({"a": pa.array([1.5, None], pa.float32()), "s": ["x", "y"]}), path)
    assert read_whole(path).data.dtype == np.float32


def test_unusual_arrow_types_are_read_or_left_out(tmp_path):
    import datetime
    import decimal

    table = pa.table(
        {
            "view": pa.array(["x", "y"], pa.string_view()),
            "category": pa.array(["x", "y"]).dictionary_encode(),
            "runs": pa.RunEndEncodedArray.from_arrays([2], [1.5]),
            "decimal": pa.array([decimal.Decimal("1.25"), None], pa.decimal256(50, 2)),
            "small": pa.array([decimal.Decimal("1.25"), None], pa.decimal32(5, 2)),
            "half": pa.array(np.array([1.5, 2.5], np.float16)),
            "flag": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())),
            "nothing": pa.nulls(2),
            "list": [[1], [2]],
            "bytes": [b"1", b"2"],
            "fixed": pa.array([b"1", b"2"], pa.binary(1)),
            "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
            "date": [datetime.date(2020, 1, 1), None],
            "uuid": pa.array([b"0123456789abcdef"] * 2, pa.uuid()),
        }
    )
    read = read_whole(save(table, tmp_path / "t.arrow"))
    assert read.columns == ("runs", "decimal", "small", "half", "flag", "nothing")
    nan = np.nan
    np.testing.assert_array_equal(
        read.data, [[1.5, 1.25, 1.25, 1.5, 1, nan], [1.5, nan, nan, 2.5, nan, nan]]
    )
    assert read.notes == (
        "left out 5 text columns: view, bytes, fixed, interval, uuid",
        "left out 1 categorical column: category",
        "left out 1 list column: list",
        "left out 1 date column: date",
    )


def test_the_row_index_of_pandas_is_left_out(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=[3, 1]).to_parquet(path)
    table = read_whole(path)
    assert table.columns == ("a",)
    assert table.notes == ("left out the row index that pandas stored: __index_level_0__",)
    assert read_whole(path, id_column="__index_level_0__").ids.tolist() == [3, 1]
    assert read_whole(path, columns=["__index_level_0__"]).data[:, 0].tolist() == [3, 1]


def test_damaged_metadata_of_pandas_is_ignored(tmp_path):
    for metadata in (b"{", b"[]", json.dumps({"index_columns": 3}).encode()):
        table = pa.table({"a": [1.0]}).replace_schema_metadata({b"pandas": metadata})
        assert read_whole(save(table, tmp_path / "t.parquet")).columns == ("a",)


def test_files_of_polars_are_read(tmp_path):
    frame = pl.DataFrame({"a": [1.5, None], "s": ["x", "y"], "c": ["u", "v"]}).with_columns(
        pl.col("c").cast(pl.Categorical)
    )
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc_stream(tmp_path / "stream.ipc")
    for path in tmp_path.iterdir():
        table = read_whole(path, id_column="s")
        assert table.columns == ("a",)
        assert table.ids.tolist() == ["x", "y"]


@pytest.mark.parametrize("name", [*COLUMNAR, "t.csv.gz", "t.npy"])
def test_a_file_of_another_kind_is_refused(write, name):
    for content in (
        b"\n",
        b"a,b\n1,2\n",
        b"PK\x03\x04" + bytes(100),
        b"PAR1" + bytes(50) + b"PAR1",
    ):
        refused(MalformedFileError, write(content, name))


def save_npy(array, path, **options):
    np.save(path, array, **options)
    return path


def test_arrays_are_read_without_names(tmp_path):
    x = np.arange(12.0).reshape(4, 3)
    path = save_npy(x, tmp_path / "t.npy")
    table = read_whole(path)
    assert table.columns is None
    np.testing.assert_array_equal(table.data, x)
    np.testing.assert_array_equal(read_whole(path, columns=["2", "0"]).data, x[:, [2, 0]])
    np.testing.assert_array_equal(read_whole(path, exclude=["1"]).data, x[:, [0, 2]])


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", ">f4", "f8", ">f8", "i1", ">i8", "u8", "?", "longdouble"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_real_kind_become_native_floats(tmp_path, dtype, order):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)
    table = read_whole(save_npy(x, tmp_path / "t.npy"))
    assert table.data.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    assert table.data.dtype.isnative
    assert table.data.flags.owndata
    np.testing.assert_array_equal(table.data, x.astype(float))
    assert bool(table.notes) == (np.dtype(dtype).itemsize > 8)


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ShapeError, "3 dimensions"),
        (np.float64(1), ShapeError, "single value"),
        (np.zeros((0, 3)), NoRowsError, "no rows"),
        (np.zeros((3, 0)), ShapeError, "no columns"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.zeros(2, [("a", "f8")]), NotNumericError, "records"),
        (np.zeros(2, [("größe", "f8")]), NotNumericError, "records"),
        (np.array([["a"]]), NotNumericError, "no numbers"),
        (np.zeros((1, 1), "M8[s]"), NotNumericError, "no numbers"),
        (np.array([[None]]), NotNumericError, "Python objects"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 0"),
        (np.array([[-(2**63)]]), NotNumericError, "-9223372036854775808"),
        (np.array([[2**64 - 1]], np.uint64), NotNumericError, "18446744073709551615"),
    ],
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_arrays_that_are_not_tables_are_refused(tmp_path, array, error, message):
    assert message in str(refused(error, save_npy(array, tmp_path / "t.npy")))


def test_columns_of_arrays_are_numbers_in_range(tmp_path):
    path = save_npy(np.zeros((2, 3)), tmp_path / "t.npy")
    for name in ("3", "-1", "a", "01", "", "²", "1.0"):
        assert "There are: 0, 1, 2." in refused(ColumnError, path, columns=[name]).hint
    for name in (3, np.int64(-1), True, 1.0, None):
        assert "There are: 0, 1, 2." in refused(ColumnError, path, exclude=[name]).hint
    refused(ColumnError, path, columns=["1", "1"])
    refused(ColumnError, path, columns=["1", 1])
    save_npy(np.array([[1.0, 2.0, 3.0]]), path)
    assert read_whole(path, columns=[2, np.int64(0)]).data.tolist() == [[3, 1]]
    assert read_whole(path, exclude=[1]).data.tolist() == [[1, 3]]
    with pytest.raises(ParameterError, match="numbers only"):
        read_whole(path, id_column="0")


def test_an_array_claiming_more_than_the_file_holds_is_refused(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = tmp_path / "t.npy"
    path.write_bytes(header.getvalue() + bytes(100))
    refused(MalformedFileError, path)


CUT = [*COLUMNAR, "t.npy", "t.csv", "t.csv.gz", "t.tsv"]


@pytest.mark.parametrize("name", CUT)
def test_truncated_files_are_refused_or_give_fewer_rows(tmp_path, name):
    rng = np.random.default_rng(1)
    x = np.round(rng.standard_normal((200, 3)), 6)
    labels = [f"row {i}" for i in range(200)]
    path = tmp_path / name
    if name == "t.npy":
        np.save(path, x)
    elif path.suffix in (".csv", ".tsv", ".gz"):
        mark = "\t" if ".tsv" in name else ","
        lines = [mark.join(["s", "a", "b", "c"])]
        lines += [mark.join([s, *map(repr, r)]) for s, r in zip(labels, x.tolist(), strict=True)]
        text = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    else:
        save(pa.table({"s": labels, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}), path)
    whole = path.read_bytes()
    np.testing.assert_array_equal(read_whole(path).data, x)
    undetectable = path.suffix in (".csv", ".tsv")
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        try:
            table = read_whole(path)
        except PrincompError as error:
            assert error.place["file"] == str(path)  # noqa: PT017 - either end is valid
        else:
            assert undetectable
            assert len(table.data) < 200
            np.testing.assert_array_equal(table.data[:-1], x[: len(table.data) - 1])


@pytest.mark.parametrize("name", CUT)
def test_changed_bytes_raise_only_princomp_errors(tmp_path, name):
    rng = np.random.default_rng(2)
    path = tmp_path / name
    frame = pa.table({"s": ["x", "yy", None] * 20, "a": rng.standard_normal(60)})
    if name == "t.npy":
        np.save(path, rng.standard_normal((60, 2)))
    elif path.suffix in (".csv", ".tsv", ".gz"):
        text = frame.to_pandas().to_csv(index=False).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    else:
        save(frame, path)
    whole = path.read_bytes()
    for at in rng.integers(0, len(whole), 100).tolist():
        changed = bytearray(whole)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            read_whole(path)
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a valid number


@pytest.mark.parametrize("empty", [1, 3])
def test_empty_rows_at_the_top_of_a_sheet_are_skipped_as_empty_lines(tmp_path, empty):
    book = openpyxl.Workbook()
    for i, row in enumerate([["a", "b"], [1, 2], [3, 4], [5, "x"]], start=1 + empty):
        for j, cell in enumerate(row, start=1):
            book.active.cell(i, j, cell)
    path = tmp_path / "t.xlsx"
    book.save(path)
    error = refused(NotNumericError, path)
    assert f"column 'b' row 2 (line {4 + empty}): 'x' is not a number" in str(error)
    book.active.cell(4 + empty, 2, 6)
    book.save(path)
    table = read_whole(path)
    assert table.columns == ("a", "b")
    assert table.data.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_sheets_of_a_workbook_that_are_charts_are_no_tables(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3.5, 4], [5, 6]):
        book.active.append(row)
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=4))
    book.create_chartsheet("Figure", 0).add_chart(chart)
    book.save(tmp_path / "t.xlsx")
    for options in ({}, {"sheet": 2}, {"sheet": "Sheet"}):
        source = open_files([tmp_path / "t.xlsx"], options=ReadOptions(**options))
        assert source.data.tolist() == [[1, 2], [3.5, 4], [5, 6]]
        assert source.notes == ()
    for sheet in (1, "Figure"):
        error = refused(ParameterError, tmp_path / "t.xlsx", options=ReadOptions(sheet=sheet))
        assert "no sheet 'Figure'" in str(error)
        assert "There are 'Sheet'." in str(error)


def test_the_first_sheet_of_a_workbook_that_is_not_hidden_is_read(tmp_path):
    book = openpyxl.Workbook()
    for sheet, x in ((book.active, 1.5), (book.create_sheet("Data"), 7.5)):
        for row in (["a", "b"], [x, 2], [3.5, 4], [5, 6]):
            sheet.append(row)
    for state, first in (("hidden", 7.5), ("veryHidden", 7.5), ("visible", 1.5)):
        book.active = 1
        book.worksheets[0].sheet_state = state
        book.save(tmp_path / "t.xlsx")
        assert read_whole(tmp_path / "t.xlsx").data[0].tolist() == [first, 2]
        assert read_whole(tmp_path / "t.xlsx", options=ReadOptions(sheet=1)).data[0, 0] == 1.5


def test_errors_about_the_first_of_several_sheets_name_it(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    book.active["A1"] = "Report"
    sheet = book.create_sheet("Data")
    for row in (["a", "b"], [1.5, 2], [3.5, "x"], [5, 6]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    error = refused(NoRowsError, tmp_path / "t.xlsx")
    assert error.hint.endswith("This is sheet 'Cover', one of 2; sheet= names another.")
    error = refused(NotNumericError, tmp_path / "t.xlsx", options=ReadOptions(sheet=2))
    assert "one of 2" not in error.hint


def test_points_that_may_separate_thousands_in_text_of_a_workbook_are_refused(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], ["1.234", 1.5], ["2.500", 2.25], ["3.000", 1.125]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert "'1.234' may be 1.234 or 1234" in str(refused(MalformedFileError, tmp_path / "t.xlsx"))
    for options, a in (({"decimal": "."}, 1.234), ({"thousands": "."}, 1234)):
        table = read_whole(tmp_path / "t.xlsx", options=ReadOptions(**options))
        assert table.data.tolist()[0] == [a, 1.5]
        assert table.data[2, 1] == 1.125


def test_formulas_without_a_stored_result_are_noted(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3.5, "=A3*2"], [5, None], [6, 7]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_whole(tmp_path / "t.xlsx")
    assert np.isnan(table.data[:, 1]).tolist() == [False, True, True, False]
    (note,) = table.notes
    assert "formulas without a stored result are missing cells: B3;" in note
    with pytest.warns(UserWarning, match="without a stored result"):
        PCA(1, missing="drop").fit(tmp_path / "t.xlsx")


def test_hidden_rows_and_columns_with_cells_are_noted(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["a", "b", "c"], [1, 2, 4], [3.5, 2.5, 1], [5, 3, 2], [6, 7, 0]):
        sheet.append(row)
    sheet.row_dimensions[9].hidden = sheet.column_dimensions["F"].hidden = True
    book.save(tmp_path / "empty.xlsx")
    sheet.row_dimensions[3].hidden = sheet.row_dimensions[5].hidden = True
    sheet.column_dimensions.group("B", "C", hidden=True)
    book.save(tmp_path / "t.xlsx")
    assert not any("hidden" in note for note in read_whole(tmp_path / "empty.xlsx").notes)
    table = read_whole(tmp_path / "t.xlsx")
    assert table.data.shape == (4, 3)
    assert any("2 hidden rows and 2 hidden columns" in note for note in table.notes)
    with pytest.warns(UserWarning, match="hidden rows"):
        PCA(1).fit(tmp_path / "t.xlsx")


@pytest.mark.parametrize("stored", ["A1", "A1:B3", "A1:A5", "A1:F9"])
def test_all_cells_of_a_sheet_are_read_beyond_the_range_that_it_stores(tmp_path, stored):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3.5], [5, 6], [], [7, 8]):
        book.active.append(row)
    book.save(tmp_path / "saved.xlsx")
    path, pattern = tmp_path / "t.xlsx", rb'<dimension ref="[^"]*"'
    with zipfile.ZipFile(tmp_path / "saved.xlsx") as saved, zipfile.ZipFile(path, "w") as changed:
        for name in saved.namelist():
            range_of = b'<dimension ref="%b"' % stored.encode()
            changed.writestr(name, re.sub(pattern, range_of, saved.read(name)))
    table = read_whole(path)
    np.testing.assert_array_equal(
        table.data, [[1, 2], [3.5, np.nan], [5, 6], [np.nan, np.nan], [7, 8]]
    )
    assert table.columns == ("a", "b")
