"""Numbers such as 1.234 that may mean 1234, where the first records do not decide."""

from __future__ import annotations

import numpy as np
import openpyxl
import pytest
from delimited_cases import opened, whole

from helpers import read_whole
from princomp.errors import MalformedFileError
from princomp.io.readers.read_options import ReadOptions

PLACES = "name,a,b\nA,1.234,612\nB,12.345,5.900\nC,950,431\nD,3.456,1.700\n"


def counts(last, n=700, sep=";"):
    """A text with whole numbers in its first records, and then the rows ``last``."""
    rows = [f"n{i};{1 + i % 900};{2 + i * i % 900}" for i in range(n)]
    return "\n".join(["name;a;b", *rows, *last, ""]).replace(";", sep)


def rows_of(source, start=0):
    return np.concatenate([chunk.data for chunk in source.chunks(start)])


def assert_refused(path, line, cell="1.234", read=whole, **options):
    with pytest.raises(MalformedFileError) as caught:
        rows_of(read(path, **options))
    assert f"line {line}: {cell!r} may be {cell} or {cell.replace('.', '')}" in str(caught.value)
    assert caught.value.place["line"] == line
    assert "decimal='.' reads" in caught.value.hint


@pytest.mark.parametrize("sep", [";", ",", "\t", "|"])
@pytest.mark.parametrize("cell", ["1.234", "2.000", "-1.234", " 1.234 "])
def test_a_late_number_that_may_have_thousands_is_refused(write, sep, cell):
    path = write(counts([f"x;{cell};3"], sep=sep))
    assert_refused(path, 702, cell.strip())
    assert_refused(path, 702, cell.strip(), opened)
    for options, factor in (({"decimal": "."}, 1), ({"thousands": "."}, 1000)):
        for read in (whole, opened):
            data = rows_of(read(path, options=ReadOptions(**options)))
            assert data[-1].tolist() == [float(cell) * factor, 3]


def test_a_late_number_with_a_unit_that_may_have_thousands_is_refused(write):
    text = counts(["x;1.234;3"]).replace(";", " kg;").replace("name kg;a kg;", "name;a;")
    path = write("\n".join(line.replace(" kg;", ";", 1) for line in text.split("\n")))
    assert_refused(path, 702)


@pytest.mark.parametrize("sep", [";", ",", "\t"])
def test_a_number_after_the_head_that_may_have_thousands_is_refused(write, short_head, sep):
    path = write(counts(["x;1.234;3", "y;950;4"], sep=sep))
    assert_refused(path, 702, read=opened)
    data = rows_of(opened(path, options=ReadOptions(thousands=".")))
    assert data[-2].tolist() == [1234, 3]


def test_numbers_after_the_head_are_fractions_if_a_number_before_is_one(write, short_head):
    """Also where reading begins after the rows with that number."""
    path = write(counts(["x;1.5;3", *[f"z{i};7;7" for i in range(60)], "y;1.234;4"]))
    data = rows_of(opened(path))
    assert data[-1].tolist() == [1.234, 4]
    rest = rows_of(opened(path), start=740)
    np.testing.assert_array_equal(rest, data[740:])
    unclear = write(counts([*[f"z{i};7;7" for i in range(60)], "y;1.234;4"]), "u.csv")
    with pytest.raises(MalformedFileError, match=r"line 762: '1\.234' may be"):
        rows_of(opened(unclear), start=740)


def test_fractions_after_the_head_settle_what_points_are_also_without_integers(write, short_head):
    path = write(counts([*["x;1.5;2.5"] * 60, "y;1.234;4", "z;950;5"], sep=","))
    assert rows_of(opened(path))[-2].tolist() == [1.234, 4]


def test_a_late_text_cell_of_a_workbook_that_may_have_thousands_is_refused(tmp_path):
    book = openpyxl.Workbook()
    for row in counts(["x;1.234;3"]).split():
        book.active.append(row.split(";"))
    book.save(path := tmp_path / "t.xlsx")
    assert_refused(path, 702, read=read_whole)
    assert read_whole(path, options=ReadOptions(thousands=".")).data[-1].tolist() == [1234, 3]


def test_late_fractions_of_a_workbook_are_not_questioned(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for i in range(600):
        book.active.append([1 + i, str(i % 7)])
    book.active.append([1.234, "3"])
    book.save(path := tmp_path / "t.xlsx")
    assert read_whole(path).data[-1].tolist() == [1.234, 3]


@pytest.mark.parametrize("sep", [",", "\t", "|", ";"])
def test_three_decimals_among_small_integers_are_refused(write, sep):
    path = write(PLACES.replace(",", sep))
    for read in (whole, opened):
        assert_refused(path, 2, read=read)
    data = rows_of(whole(path, options=ReadOptions(thousands=".")))
    assert data.tolist() == [[1234, 612], [12345, 5900], [950, 431], [3456, 1700]]


@pytest.mark.parametrize(
    "cells",
    [
        ["0", "0.125", "1", "2"],
        ["1.234", "2.345", "7.500", "8.125"],
        ["1.234", "2.5", "3", "950"],
        ["1.234", "2500", "3", "950"],
        ["1.234", "1234.567", "3", "950"],
        ["1.234", "0.500", "3", "950"],
        ["1.234", "1e-3", "3", "2.0"],
        ["1", "2", "950", "12"],
        ["1.234", "NA", "", "2.345"],
    ],
)
@pytest.mark.parametrize("sep", [",", "\t"])
def test_fractions_are_not_questioned(write, cells, sep):
    rows = [sep.join(("u", cell, str(i * i))) for i, cell in enumerate(cells)]
    table = whole(write("\n".join([sep.join(("g", "a", "b")), *rows, ""])))
    expected = [float(cell) if cell not in ("", "NA") else np.nan for cell in cells]
    np.testing.assert_array_equal(table.data[:, 0], expected)


def test_fractions_in_another_column_settle_what_points_are(write):
    for read in (whole, opened):
        path = write("name,a,b\nA,1.234,6.5\nB,12.345,5.900\nC,950,4\n")
        data = rows_of(read(path))
        assert data.tolist() == [[1.234, 6.5], [12.345, 5.9], [950, 4]]


def test_a_number_given_for_missing_cells_is_no_integer_among_fractions(write):
    path = write("a,b\n1.234,5\n2.345,6\n-9,8\n")
    assert_refused(path, 2)
    assert np.isnan(whole(path, options=ReadOptions(na=("-9",))).data[2, 0])
