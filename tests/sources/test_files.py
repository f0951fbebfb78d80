"""Tables from files: what is read, what is left out, and what is refused with its place."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

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
from princomp.sources.files import ENDINGS, read_table

EXAMPLE = Path(__file__).parents[2] / "examples" / "usarrests.csv"


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(error, path, **options):
    with pytest.raises(error) as caught:
        read_table(path, **options)
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


# CSV: what is read


def test_the_example_is_read_and_its_text_column_left_out_with_a_note():
    table = read_table(EXAMPLE)
    assert table.columns == ("Murder", "Assault", "UrbanPop", "Rape")
    assert table.data.shape == (50, 4)
    assert table.data.dtype == np.float64
    assert table.data[0].tolist() == [13.2, 236, 58, 21.2]
    assert table.notes == ("left out 1 text column: State",)
    assert table.file == str(EXAMPLE)
    assert table.ids is None


def test_the_id_column_names_the_rows():
    table = read_table(EXAMPLE, id_column="State")
    assert table.ids[:2].tolist() == ["Alabama", "Alaska"]
    assert table.id_column == "State"
    assert table.notes == ()


def test_ids_keep_their_text(write):
    path = write("code,x\n007,1\nNA,2\n,3\n 1.50 ,4\n")
    assert read_table(path, id_column="code").ids.tolist() == ["007", "NA", None, " 1.50 "]


def test_ids_keep_their_text_when_types_are_guessed_wrongly(write):
    rows = "".join(f"{i:06},{i}\n" for i in range(150_000))
    path = write("code,x,note\n" + rows.replace("\n", ",1\n") + "007,2,end\n")
    table = read_table(path, id_column="code", exclude=["note"])
    assert table.ids[-1] == "007"
    assert table.ids[3] == "000003"
    assert "'end' is not a number" in str(refused(NotNumericError, path, id_column="code"))


def test_columns_follow_the_order_asked_for():
    table = read_table(EXAMPLE, columns=["Rape", "Murder"])
    assert table.columns == ("Rape", "Murder")
    assert table.data[0].tolist() == [21.2, 13.2]


def test_excluded_columns_are_not_read():
    assert read_table(EXAMPLE, exclude=["Rape", "State"]).columns == (
        "Murder",
        "Assault",
        "UrbanPop",
    )


def test_missing_cells_are_nan_and_infinite_ones_stay(write):
    table = read_table(write('a,b\n1,\nNA,2\n"",nan\nn/a,-inf\n null ,4\n'))
    np.testing.assert_array_equal(
        table.data, [[1, np.nan], [np.nan, 2], [np.nan] * 2, [np.nan, -np.inf], [np.nan, 4]]
    )


def test_a_column_without_any_cell_is_nan(write):
    table = read_table(write("a,b\n1,\n2,\n"))
    assert table.columns == ("a", "b")
    assert np.isnan(table.data[:, 1]).all()


@pytest.mark.parametrize("text", ["1", "+1.5", "-.5e-3", "5.", "1E5", " 7 ", "1e400", "TRUE"])
def test_numbers_may_be_written_in_these_ways(write, text):
    expected = 1.0 if text == "TRUE" else float(text)
    assert read_table(write(f"a,b\n{text},1\n")).data[0, 0] == expected
    # The same where the guess from the first rows fails and cells are converted one by one.
    table = read_table(write(f"a,b,c\n{text},1,x\n" + "0,1,7\n" * 300_000), columns=["a"])
    assert table.data[0, 0] == expected


def test_numbers_are_rounded_correctly(write):
    x = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    x = x[np.isfinite(x)]
    path = write("a\n" + "\n".join(map(repr, x.tolist())) + "\n")
    assert read_table(path).data[:, 0].tobytes() == x.tobytes()


def test_a_fraction_after_many_integers_is_read(write):
    table = read_table(write("a,b\n" + "1,2\n" * 300_000 + "1.5,2\n"))
    assert table.data[-1, 0] == 1.5


def test_a_number_after_many_empty_cells_is_read(write):
    assert read_table(write("a,b\n" + ",2\n" * 600_000 + "1.5,2\n")).data[-1, 0] == 1.5


def test_booleans_are_the_same_however_they_are_read(write):
    few = read_table(write("a,b\ntrue,1\nfalse,2\n"))
    many = read_table(write("a,b,c\n" + "true,1,1\n" * 200_000 + "false,1,z\n"), columns=["a"])
    assert few.data[:, 0].tolist() == [1, 0]
    assert many.data[[0, -1], 0].tolist() == [1, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_line_ends_of_every_kind_are_understood(write, end, bom):
    text = end.join(["", "größe,b", "1,2", "", "3,4"])
    table = read_table(write(bom + text.encode()))
    assert table.columns == ("größe", "b")
    assert table.data.tolist() == [[1, 2], [3, 4]]


def test_quoted_line_ends_delimiters_and_names_are_understood(write):
    table = read_table(write('"a\nz","x, y",s\n1,"2","q\nr"\n3,4,"a,b"\n'))
    assert table.columns == ("a\nz", "x, y")
    assert table.data.tolist() == [[1, 2], [3, 4]]


def test_quoted_line_ends_at_the_borders_of_blocks_split_no_row(write):
    rows = "".join(f'{i},"x\ny{"z" * (i % 7)}"\n' for i in range(200_000))
    table = read_table(write("a,s\n" + rows))
    assert table.data[:, 0].tolist() == list(range(200_000))


def test_rows_wider_than_a_block_are_read(write):
    p = 2_000
    row = ",".join(["0." + "123456789" * 70] * p)
    table = read_table(write(",".join(f"c{j}" for j in range(p)) + f"\n{row}\n{row}\n"))
    assert table.data.shape == (2, p)


def test_an_empty_name_becomes_the_number_of_its_column(write):
    table = read_table(write(",a, b \n1,2,3\n"))
    assert table.columns == ("column 1", "a", "b")


@pytest.mark.parametrize("ending", [".csv", ".CSV.gz", ".tsv", ".tsv.gz"])
def test_delimited_files_may_be_tabbed_and_compressed(write, ending):
    text = "a,b\n1,2\n".replace(",", "\t" if "tsv" in ending else ",").encode()
    path = write(gzip.compress(text, mtime=0) if "gz" in ending else text, "t" + ending)
    assert read_table(path).data.tolist() == [[1, 2]]


# CSV: what is refused


@pytest.mark.parametrize("content", ["", "\n\n", "a,b\n", "a,b", "a,b\n\n"])
def test_a_table_without_rows_is_refused(write, content):
    assert "no rows" in str(refused(ShapeError, write(content)))


def test_ragged_rows_are_refused_with_row_and_line(write):
    error = refused(MalformedFileError, write('a,b\n1,"2"\n"3\n",4\n\n5\n6,7\n'))
    assert error.place["row"] == 3
    assert error.place["line"] == 6
    assert "row 3 (line 6) has 1 field, but the first line names 2 columns" in str(error)


def test_ragged_rows_are_refused_in_the_middle_of_a_large_file(write):
    error = refused(MalformedFileError, write("a,b\n" + "1,2\n" * 300_000 + "1,2,3\n1,2\n"))
    assert error.place["row"] == 300_001


def test_one_bad_cell_is_named_with_row_line_and_value(write):
    path = write("Murder,Rape\n" + "1,2\n" * 16 + "1,abc\n" + "1,3\n")
    error = refused(NotNumericError, path)
    assert "column 'Rape' row 17 (line 18): 'abc' is not a number" in str(error)
    assert "1 of its 18 nonempty cells is not" in str(error)
    assert error.place == {"file": str(path), "column": "Rape", "row": 17, "line": 18}


def test_the_line_is_right_after_quoted_line_ends_and_blank_lines(write):
    error = refused(NotNumericError, write('t,a\n"x\ny",1\n\n"z",2\n"w",b\n'))
    assert (error.place["row"], error.place["line"]) == (3, 6)


def test_a_bad_cell_late_in_a_large_file_is_found(write):
    error = refused(NotNumericError, write("a,b\n" + "1,2\n" * 300_000 + "1,oops\n"))
    assert (error.place["row"], error.place["column"]) == (300_001, "b")


def test_a_text_column_asked_for_is_refused():
    error = refused(NotNumericError, EXAMPLE, columns=["Murder", "State"])
    assert "column 'State' row 1 (line 2): 'Alabama' is not a number" in str(error)


def test_text_with_few_numbers_is_left_out(write):
    table = read_table(write("remark,x\nfine,1\n12,2\nwet,3\ndry,4\n"))
    assert table.notes == ("left out 1 text column: remark",)


def test_dates_are_text(write):
    path = write("day,time,stamp,x\n2020-01-02,12:30,2020-01-02T10:00:00Z,1\n")
    assert read_table(path).notes == ("left out 3 text columns: day, time, stamp",)
    assert "'2020-01-02' is not" in str(refused(NotNumericError, path, columns=["day"]))


def test_decimal_commas_are_refused_with_a_hint(write):
    error = refused(NotNumericError, write('a,b\n"1,5",2\n"2,5",3\n'))
    assert "'1,5' is not a number" in str(error)
    assert "decimal comma" in error.hint
    assert "Decimal commas" in refused(MalformedFileError, write("a,b\n1,5,2,3\n")).hint
    tabbed = write("a\tb\n1,5\t2\n", "t.tsv")
    assert "decimal comma" in refused(NotNumericError, tabbed).hint


def test_a_quote_that_is_never_closed_is_refused(write):
    for rest in ("3,4\n", "3,4\n" * 100_000):
        error = refused(MalformedFileError, write('a,s\n1,"x"\n2,"y\n' + rest))
        assert "a quote opened in line 3 is never closed" in str(error)
    # Inside of a cell a single mark is text: inches.
    assert read_table(write('a,s\n1,5" pipe\n2,"y"\n')).data[:, 0].tolist() == [1, 2]


def test_duplicate_names_are_refused(write):
    error = refused(ColumnError, write("a,b,a,c,c\n1,2,3,4,5\n"))
    assert "twice or more: a, c" in str(error)


@pytest.mark.parametrize("first", ["1,2", "1.5,,NA", "-3,1e5"])
def test_a_first_line_of_numbers_is_refused(write, first):
    error = refused(MalformedFileError, write(f"{first}\n3,4\n"))
    assert "first line holds numbers" in str(error)
    assert "column names" in error.hint


def test_other_separators_are_named(write):
    assert "';'" in str(refused(MalformedFileError, write("a;b\n1,5;2\n")))
    assert "','" in str(refused(MalformedFileError, write("a,b\n1,5\n", "t.tsv")))


@pytest.mark.parametrize("encoding", ["utf-16", "latin1"])
def test_names_that_are_not_utf8_are_refused(write, encoding):
    error = refused(MalformedFileError, write("größe,b\n1,2\n".encode(encoding)))
    assert "UTF-8" in str(error)
    assert error.place["line"] == 1


def test_cells_that_are_not_utf8_are_refused_with_their_line(write):
    error = refused(MalformedFileError, write("a,b\n1,x\n2,größe\n".encode("latin1")))
    assert error.place["line"] == 3
    assert "iconv" in error.hint


def test_only_text_leaves_nothing(write):
    error = refused(ShapeError, write("a,b\nx,y\n"))
    assert "no numeric column; without numbers: a, b" in str(error)


@pytest.mark.parametrize("value", ["9007199254740993", "-9007199254740993", "9" * 30, "1" * 5000])
def test_integers_that_would_lose_digits_are_refused(write, value):
    error = refused(NotNumericError, write(f"a,b\n1,1\n2,{value}\n"))
    assert error.place == {"file": error.place["file"], "column": "b", "row": 2, "line": 3}
    assert value in str(error)
    assert "2**53" in str(error)


def test_large_integers_are_read_where_no_digit_is_lost(write):
    assert read_table(write("a\n9007199254740992\n")).data[0, 0] == 2.0**53
    # A fraction or an exponent says that the column holds rounded numbers anyway.
    assert read_table(write("a\n1e300\n9007199254740993\n")).data[0, 0] == 1e300
    assert read_table(write("a\n0.5\n9007199254740993\n")).data[1, 0] == 2.0**53
    assert read_table(write("a\n00000000000000000000001\n")).data[0, 0] == 1


# The names asked for


def test_unknown_columns_are_named_with_the_nearest():
    error = refused(ColumnError, EXAMPLE, columns=["murder", "Rape"])
    assert "no column 'murder'" in str(error)
    assert error.hint.startswith("Did you mean 'Murder'? There are: State, Murder")
    assert "'x', 'y'" in str(refused(ColumnError, EXAMPLE, exclude=["x", "y"]))
    assert refused(ColumnError, EXAMPLE, id_column="Stat").place["column"] == "Stat"


def test_a_column_has_one_role():
    refused(ColumnError, EXAMPLE, columns=["Rape"], exclude=["Rape"])
    refused(ColumnError, EXAMPLE, columns=["Rape", "State"], id_column="State")
    refused(ColumnError, EXAMPLE, columns=["Rape", "Rape"])
    assert read_table(EXAMPLE, exclude=["State"], id_column="State").ids[0] == "Alabama"


def test_no_columns_at_all_are_refused():
    with pytest.raises(ParameterError, match="empty list"):
        read_table(EXAMPLE, columns=[])
    with pytest.raises(ParameterError, match="one string"):
        read_table(EXAMPLE, columns="Rape")
    everything = ["Murder", "Assault", "UrbanPop", "Rape"]
    refused(ShapeError, EXAMPLE, exclude=everything, id_column="State")


# Which file


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    assert "no such file" in str(refused(InputNotFoundError, tmp_path / "no.csv"))
    (tmp_path / "f.csv").mkdir()
    assert "is a folder" in str(refused(InputNotFoundError, tmp_path / "f.csv"))


def test_an_unknown_ending_is_refused_with_the_known_ones(write):
    hint = refused(ParameterError, write("a\n1\n", "t.xlsx")).hint
    assert all(ending in hint for ending in ENDINGS)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_without_pyarrow_the_extra_is_named(write, monkeypatch, ending):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = refused(MissingLibraryError, write("a\n1\n", "t" + ending))
    assert error.hint == "pip install 'princomp[cli]'"


# Parquet and Arrow


def save(table, path):
    """Save an Arrow table by the ending of its name; "stream" is the other Arrow format."""
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
    read = read_table(path)
    assert read.columns == ("i", "f", "a.b")
    np.testing.assert_array_equal(read.data, [[1, 0.5, 1], [np.nan, 1.5, 0]])
    assert read.notes == ("left out 1 text column: s",)
    asked = read_table(path, columns=["a.b", "i"], id_column="s")
    assert asked.columns == ("a.b", "i")
    assert asked.data[0].tolist() == [1, 1]
    assert asked.ids.tolist() == ["x", None]


@pytest.mark.parametrize("name", [*COLUMNAR[:2], "stream.arrow"])
def test_columnar_files_keep_the_same_policies(tmp_path, name):
    path = tmp_path / name
    save(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), path)
    refused(ColumnError, path)
    save(pa.table({"a": [1, 2**53 + 1]}), path)
    assert refused(NotNumericError, path).place["row"] == 2
    save(pa.table({"a": ["1", "2", "x"]}), path)
    error = refused(NotNumericError, path)
    assert error.place == {"file": str(path), "column": "a", "row": 3}
    save(pa.table({"zip": ["01234", "99999"], "x": [1.0, 2.0]}), path)
    assert "written as text" in str(refused(NotNumericError, path))
    assert read_table(path, columns=["zip"]).data[:, 0].tolist() == [1234, 99999]
    save(pa.table({"a": pa.array([], pa.float64())}), path)
    assert "no rows" in str(refused(ShapeError, path))
    save(pa.table({"a": pa.array([1.5, None], pa.float32()), "s": ["x", "y"]}), path)
    assert read_table(path).data.dtype == np.float32


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
    read = read_table(save(table, tmp_path / "t.arrow"))
    assert read.columns == ("runs", "decimal", "small", "half", "flag", "nothing")
    nan = np.nan
    np.testing.assert_array_equal(
        read.data, [[1.5, 1.25, 1.25, 1.5, 1, nan], [1.5, nan, nan, 2.5, nan, nan]]
    )
    left_out = "view, category, list, bytes, fixed, interval, date, uuid"
    assert read.notes == (f"left out 8 text columns: {left_out}",)


def test_the_row_index_of_pandas_is_no_measurement(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=[3, 1]).to_parquet(path)
    table = read_table(path)
    assert table.columns == ("a",)
    assert table.notes == ("left out the row index that pandas stored: __index_level_0__",)
    assert read_table(path, id_column="__index_level_0__").ids.tolist() == [3, 1]
    assert read_table(path, columns=["__index_level_0__"]).data[:, 0].tolist() == [3, 1]


def test_damaged_metadata_of_pandas_is_passed_over(tmp_path):
    for metadata in (b"{", b"[]", json.dumps({"index_columns": 3}).encode()):
        table = pa.table({"a": [1.0]}).replace_schema_metadata({b"pandas": metadata})
        assert read_table(save(table, tmp_path / "t.parquet")).columns == ("a",)


def test_files_of_polars_are_read(tmp_path):
    frame = pl.DataFrame({"a": [1.5, None], "s": ["x", "y"], "c": ["u", "v"]}).with_columns(
        pl.col("c").cast(pl.Categorical)
    )
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc_stream(tmp_path / "stream.ipc")
    for path in tmp_path.iterdir():
        table = read_table(path, id_column="s")
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


# .npy


def save_npy(array, path, **options):
    np.save(path, array, **options)
    return path


def test_arrays_are_read_without_names(tmp_path):
    x = np.arange(12.0).reshape(4, 3)
    path = save_npy(x, tmp_path / "t.npy")
    table = read_table(path)
    assert table.columns is None
    np.testing.assert_array_equal(table.data, x)
    np.testing.assert_array_equal(read_table(path, columns=["2", "0"]).data, x[:, [2, 0]])
    np.testing.assert_array_equal(read_table(path, exclude=["1"]).data, x[:, [0, 2]])


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", ">f4", "f8", ">f8", "i1", ">i8", "u8", "?", "longdouble"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_real_kind_become_native_floats(tmp_path, dtype, order):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)
    table = read_table(save_npy(x, tmp_path / "t.npy"))
    assert table.data.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    assert table.data.dtype.isnative
    assert table.data.flags.owndata
    np.testing.assert_array_equal(table.data, x.astype(float))
    assert bool(table.notes) == (np.dtype(dtype).itemsize > 8)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ShapeError, "3 dimensions"),
        (np.float64(1), ShapeError, "single value"),
        (np.zeros((0, 3)), ShapeError, "no rows"),
        (np.zeros((3, 0)), ShapeError, "no columns"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.zeros(2, [("a", "f8")]), NotNumericError, "records"),
        (np.zeros(2, [("größe", "f8")]), NotNumericError, "records"),
        (np.array([["a"]]), NotNumericError, "no numbers"),
        (np.zeros((1, 1), "M8[s]"), NotNumericError, "no numbers"),
        (np.array([[None]]), NotNumericError, "Python objects"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 1"),
        (np.array([[-(2**63)]]), NotNumericError, "-9223372036854775808"),
        (np.array([[2**64 - 1]], np.uint64), NotNumericError, "18446744073709551615"),
    ],
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_arrays_that_are_no_tables_are_refused(tmp_path, array, error, words):
    assert words in str(refused(error, save_npy(array, tmp_path / "t.npy")))


def test_columns_of_arrays_are_numbers_in_range(tmp_path):
    path = save_npy(np.zeros((2, 3)), tmp_path / "t.npy")
    for name in ("3", "-1", "a", "01", "", "²", "1.0"):
        assert "from 0 to 2" in refused(ColumnError, path, columns=[name]).hint
    refused(ColumnError, path, columns=["1", "1"])
    with pytest.raises(ParameterError, match="numbers only"):
        read_table(path, id_column="0")


def test_an_array_claiming_more_than_the_file_holds_is_refused(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = tmp_path / "t.npy"
    path.write_bytes(header.getvalue() + bytes(100))
    refused(MalformedFileError, path)


# Cut files

CUT = [*COLUMNAR, "t.npy", "t.csv", "t.csv.gz", "t.tsv"]


@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_anywhere_is_found_or_is_a_shorter_table(tmp_path, name):
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
    np.testing.assert_array_equal(read_table(path).data, x)
    undetectable = path.suffix in (".csv", ".tsv")
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        try:
            table = read_table(path)
        except PrincompError as error:
            assert error.place["file"] == str(path)  # noqa: PT017 - either end is lawful
        else:
            assert undetectable
            assert len(table.data) < 200
            np.testing.assert_array_equal(table.data[:-1], x[: len(table.data) - 1])


@pytest.mark.parametrize("name", CUT)
def test_a_changed_byte_never_escapes_as_a_foreign_error(tmp_path, name):
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
            read_table(path)
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a lawful number
