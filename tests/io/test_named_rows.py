"""Messages name a row by its label or number from 0, and in text files also by its line."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from princomp import PCA, KernelPCA, RobustPCA, read_table
from princomp.errors import ColumnError, NotFiniteError, NotNumericError, row_words
from princomp.io import named_column
from princomp.io.readers import files

X = np.array([[1.0, 2.0], [3.0, 1.0], [np.nan, 4.0], [0.0, 5.0]])
STATES = ["Ohio", "Utah", "Iowa", "Maine"]


def error_raised_by(call, error=NotFiniteError):
    with pytest.raises(error) as caught:
        call()
    return caught.value


def test_row_words_combine_label_number_and_line():
    assert row_words(17) == "row 17"
    assert row_words(1234, line=1236) == "row 1,234 (line 1,236)"
    assert row_words(17, "Ohio", 19) == "row 'Ohio' (line 19)"


@pytest.mark.parametrize("kind", [PCA, KernelPCA, RobustPCA])
@pytest.mark.parametrize(
    ("index", "description"),
    [
        (None, "row 2, column 'a'"),
        (STATES, "row 'Iowa', column 'a'"),
        (pd.RangeIndex(10, 14), "row 12, column 'a'"),
        (pd.date_range("2024-05-01", periods=4), "row '2024-05-03 00:00:00', column 'a'"),
    ],
)
def test_an_index_of_pandas_names_the_rows(kind, index, description):
    floats = pd.DataFrame(X, columns=["a", "b"], index=index)
    mixed = floats.assign(c=[1, 2, 3, 4])
    for frame in (floats, mixed):
        error = error_raised_by(lambda frame=frame: kind(1).fit(frame))
        assert description in error.message
        assert error.place["row"] == 2
    model = kind(1).fit(floats.fillna(0.5))
    assert description in error_raised_by(lambda: model.transform(floats)).message
    table = mixed.assign(c=["1", "x", "3", "4"])
    label = 1 if index is None else index[1]
    label = label if isinstance(label, str | int) else str(label)
    error = error_raised_by(lambda: kind(1).fit(table), NotNumericError)
    assert f"column 'c' row {label!r}: 'x' is not a number" in error.message


def test_rows_of_arrays_and_other_frames_count_from_0():
    for rows in (X, pl.DataFrame(X, schema=["a", "b"])):
        assert error_raised_by(lambda rows=rows: PCA(1).fit(rows)).place["row"] == 2


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_errors_in_text_files_name_the_line(small, named, tmp_path, monkeypatch, princomp):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(X, columns=["a", "b"], index=pd.Index(STATES, name="state"))
    frame.to_csv(path, index=named, na_rep="NA")
    where = "row 'Iowa' (line 4)" if named else "row 2 (line 4)"
    error = error_raised_by(lambda: PCA(1).fit(path))
    assert f"the first at {where}, column 'a' of {path}" in error.message
    assert error.place == {
        "file": str(path),
        "row": 2,
        "line": 4,
        "column": "a",
        **({"label": "Iowa"} if named else {}),
    }
    assert where in princomp("fit", path).err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("small", [True, False])
def test_row_numbers_before_names_are_left_out_of_all_files(ending, small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    frame = pd.DataFrame(np.array([[1.0, 5], [2, 3], [4, 4], [3, 7], [0, 2], [6, 1]]))
    frame.columns = ["a", "b"]
    frame.insert(0, "key", range(1, 7))
    frame.insert(1, "name", list("uvwxyz"))
    paths = [tmp_path / f"{part}.{ending}" for part in (1, 2)]
    for path, part in zip(paths, (frame[:3], frame[3:]), strict=True):
        if ending == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False)
    source = files.open_files(paths)
    assert (source.columns, source.id_column) == (("a", "b"), "name")
    data, ids = zip(*((chunk.data, chunk.ids) for chunk in source.chunks()), strict=True)
    np.testing.assert_array_equal(np.concatenate(data), frame[["a", "b"]])
    assert np.concatenate(ids).tolist() == list("uvwxyz")


@pytest.mark.parametrize("small", [True, False])
def test_files_with_a_column_in_other_units_are_refused(small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    paths = {unit: tmp_path / f"{unit}.csv" for unit in ("kg", "g", "", "none")}
    for unit, path in paths.items():
        cells = [f"{x} {unit}".strip() if unit != "none" else "" for x in (1, 3, 2)]
        path.write_text("x,y\n" + "".join(f"{cell},{cell[:1] or 1}\n" for cell in cells))
    for unit, words in (("g", "is in g, that of"), ("", "is in no unit, that of")):
        with pytest.raises(ColumnError, match=f"'x' {words} .*kg.csv in kg"):
            files.open_files([paths["kg"], paths[unit]])
    with pytest.raises(ColumnError, match=r"'x' is in kg, that of .* in none"):
        files.open_files([paths[""], paths["kg"]])
    columns = ["x", "y"]
    assert files.open_files([paths["kg"], paths["none"]], columns=columns).columns == ("x", "y")
    assert files.open_files([paths["none"], paths["kg"]], columns=columns).columns == ("x", "y")


@pytest.mark.parametrize("small", [True, False])
def test_named_columns_are_read_with_the_options_of_the_file(small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path, other = tmp_path / "t.csv", tmp_path / "u.csv"
    path.write_text("a;depth;soil\n1,5;-1,25;1,5 clay\n2,5;-999;none\n3;2;sand\n")
    other.write_text("a,depth,soil\n1.5,-0.25,x\n2.5,-999.0,none\n3,NA,y\n")
    rows = read_table([path, other], columns=["a"], na=["-999", "none"])
    depth = named_column(rows, "depth")
    np.testing.assert_array_equal(depth, [-1.25, np.nan, 2, -0.25, np.nan, np.nan])
    assert named_column(rows, "soil").tolist() == ["1,5 clay", None, "sand", "x", None, "y"]


def test_named_columns_of_untrusted_files_are_read_in_the_detected_number_format(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;depth\n1,5;-1,25\n2,5;1.000,5\n3,5;-999\n")
    rows = read_table(path, na=["-999"])
    found = [
        named_column(dataclasses.replace(rows, options=options), "depth")
        for options in (rows.options, dataclasses.replace(rows.options, untrusted=True))
    ]
    np.testing.assert_array_equal(found, [[-1.25, 1000.5, np.nan]] * 2)


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("kind", ["small", "large", "untrusted"])
def test_words_for_missing_cells_are_no_categories(kind, quote, tmp_path, monkeypatch):
    if kind == "large":
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path = tmp_path / "t.csv"
    na = f"{quote}NA{quote}"
    lines = [f"NA,1.5,x,TRUE,{na}", f"p,2.5,{na},{na},1.5", "q,0.5, NaN,FALSE,2", "r,1,y,TRUE,3"]
    path.write_text("\n".join(["name,a,group,flag,size", *lines]) + "\n")
    rows = read_table(path, columns=["a"], id_column="name")
    rows = dataclasses.replace(
        rows, options=dataclasses.replace(rows.options, untrusted=kind == "untrusted")
    )
    with pytest.warns(UserWarning, match="column 'group': 2 cells with NA, NaN count as missing"):
        assert named_column(rows, "group").tolist() == ["x", None, None, "y"]
    # Nothing else can be meant among numbers, true and false, and by words that the user gives.
    assert named_column(rows, "flag").tolist() == ["TRUE", None, "FALSE", "TRUE"]
    np.testing.assert_array_equal(named_column(rows, "size"), [np.nan, 1.5, 2, 3])
    given = dataclasses.replace(rows, options=dataclasses.replace(rows.options, na=("NA", "NaN")))
    assert named_column(given, "group").tolist() == ["x", None, None, "y"]
    assert [id for chunk in rows.open().chunks() for id in chunk.ids] == ["NA", "p", "q", "r"]


def test_words_in_typed_columns_are_categories(tmp_path):
    table = pa.table({"a": [1.5, 2.5, 0.5], "group": ["NA", "x", None]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert named_column(tmp_path / "t.parquet", "group").tolist() == ["NA", "x", None]


@pytest.mark.parametrize("names", [["p", "q", "r", "s"], ["1", "2", "3", "4"]])
def test_an_empty_row_in_the_middle_does_not_hide_the_column_that_names_the_rows(tmp_path, names):
    rows = [f"{name},{i}.5,{i * i}" for i, name in enumerate(names)]
    (tmp_path / "t.csv").write_text("\n".join(["item,a,b", *rows[:2], ",,", *rows[2:]]) + "\n")
    source = read_table(tmp_path / "t.csv")
    assert "the rows are named by column 'item'" in source.notes[0]
    error = error_raised_by(lambda: PCA(1).fit(source))
    assert "row 2 (line 4), column 'a'" in error.message
    # A row with numbers but without a name does hide it.
    (tmp_path / "t.csv").write_text("\n".join(["item,a,b", *rows[:2], ",1,1", *rows[2:]]) + "\n")
    assert not any("are named by" in note for note in read_table(tmp_path / "t.csv").notes)
