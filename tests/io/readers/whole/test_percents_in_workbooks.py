"""Cells of workbooks whose number format shows them in percent."""

from __future__ import annotations

import zipfile

import numpy as np
import openpyxl
import pytest
from file_cases import refused

from helpers import read_whole
from princomp.errors import NotNumericError
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions

NAMES = ["rate", "y"]
RATES = [0.0212, 0.07, -0.5, 1, 0, 1.234e-7]
IN_PERCENT = [2.12, 7, -50, 100, 0, 1.234e-5]


def save(path, rates, number_format, *, of=lambda row: True, names=NAMES):
    """Save a workbook whose column of rates has a number format in some rows."""
    book = openpyxl.Workbook()
    for row in (names, *([rate, 10 + i * i] for i, rate in enumerate(rates))):
        book.active.append(row)
    for i, (cell,) in enumerate(book.active.iter_rows(max_col=1)):
        if of(i):
            cell.number_format = number_format
    book.save(path)
    return path


@pytest.mark.parametrize(
    "number_format", ["0%", "0.00%", "0.000%", "0.0%;[Red]-0.0%", "_-* 0.0%_-", '"r: "0%']
)
def test_cells_in_percent_are_read_as_from_text(tmp_path, write, number_format):
    table = read_whole(save(tmp_path / "t.xlsx", RATES, number_format))
    assert table.data[:, 0].tolist() == IN_PERCENT
    assert table.data[:, 1].tolist() == [10, 11, 14, 19, 26, 35]
    text = read_whole(write("rate,y\n" + "".join(f"{x}%,{x * x}\n" for x in IN_PERCENT)))
    assert table.data[:, 0].tolist() == text.data[:, 0].tolist()
    assert table.notes == text.notes == ("numbers of 'rate' are in %",)


def test_one_note_names_all_columns_in_a_unit(write):
    lines = [f"{x}%,{x * x}%,{x} kg" for x in IN_PERCENT]
    table = read_whole(write("\n".join(["a,b,c", *lines])))
    assert table.notes == ("numbers of 'a', 'b' are in %", "numbers of 'c' are in kg")


@pytest.mark.parametrize(
    "number_format", ["General", "0.00", '0.0"%"', r"0.0\%", "0.0_%", "[%]0.0"]
)
def test_cells_that_are_not_multiplied_by_100_are_read_as_stored(tmp_path, number_format):
    table = read_whole(save(tmp_path / "t.xlsx", RATES, number_format))
    assert table.data[:, 0].tolist() == RATES
    assert not any("%" in note for note in table.notes)


def test_workbooks_and_text_in_percent_are_one_table(tmp_path, write):
    book = save(tmp_path / "t.xlsx", RATES, "0.000%")
    text = write("rate,y\n2.120%,10\n7.5%,12\n3.25%,17\n")
    rows = np.vstack([chunk.data for chunk in open_files([book, text]).chunks()])
    assert rows[:, 0].tolist() == [*IN_PERCENT, 2.12, 7.5, 3.25]


@pytest.mark.parametrize(
    ("of", "row", "problem"),
    [
        (lambda row: row != 3, 2, "'-0.5' is not in the unit of most cells, '%'"),
        (lambda row: row == 3, 2, "'-50%' has a unit, and most cells of the column have none"),
    ],
)
def test_columns_of_which_some_cells_are_in_percent_are_refused(tmp_path, of, row, problem):
    path = save(tmp_path / "t.xlsx", RATES, "0%", of=of)
    error = refused(NotNumericError, path)
    assert problem in str(error)
    assert (error.place["row"], error.place["line"]) == (row, row + 2)
    assert "Write the column in one unit" in error.hint


def test_names_text_true_and_decimal_commas_next_to_percents(tmp_path):
    path = save(tmp_path / "t.xlsx", ["1,5%", 0.025, None, 0.125], "0.0%", names=[0.1, "y"])
    table = read_whole(path, options=ReadOptions(header=True))
    assert table.columns == ("10%", "y")
    np.testing.assert_array_equal(table.data[:, 0], [1.5, 2.5, np.nan, 12.5])
    path = save(tmp_path / "t.xlsx", [True, False, True], "0%")
    assert read_whole(path).columns == ("y",)


def test_cells_whose_format_is_not_stored_are_read_as_stored(tmp_path):
    book, path = save(tmp_path / "saved.xlsx", RATES, "0.0%"), tmp_path / "t.xlsx"
    with zipfile.ZipFile(book) as saved, zipfile.ZipFile(path, "w") as changed:
        for name in saved.namelist():
            if name != "xl/styles.xml":
                changed.writestr(name, saved.read(name))
    assert read_whole(path).data[:, 0].tolist() == RATES
