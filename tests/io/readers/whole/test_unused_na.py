"""A note names the words given for missing cells that no cell of a file has."""

from __future__ import annotations

import openpyxl
import pytest

from princomp import read_table

TEXT = "name,a,b,note\nu,1.5,-999,x\nv,2,3,gone\nw,4,5,-999.0\nz,7,8,y\n"


def notes_on_na(path, na, **options):
    return [note for note in read_table(path, na=na, **options).notes if "na=" in note]


@pytest.mark.parametrize(
    ("na", "expected"),
    [
        (["-99"], ["no cell is '-99' (na=)"]),
        (["-999;-99"], ["no cell is '-999;-99' (na=)"]),
        (["-99", "-999", "9"], ["no cell is '-99' or '9' (na=)"]),
        (["-999"], []),
        (["-999.00", " -9.99e2", "\u2212999"], []),
        (["gone", "y", "NA", ""], []),
        (["Gone", "5.0"], ["no cell is 'Gone' (na=)"]),
        ([], []),
    ],
)
@pytest.mark.parametrize("options", [{}, {"columns": ["a", "b"]}, {"exclude": ["b"]}])
def test_words_that_no_cell_has_are_noted(write, na, expected, options):
    assert notes_on_na(write(TEXT), na, **options) == expected


@pytest.mark.parametrize("cell", ["-1.999,0", "-1999", "-1999,00", "-1.999 kg", "\u22121999"])
def test_a_number_occurs_in_any_spelling(write, cell):
    text = f"a;b\n1,5;2\n2,5;3\n5,5;{cell}\n1,25;2\n"
    if "kg" in cell:
        text = text.replace(";2\n", ";2 kg\n").replace(";3\n", ";3 kg\n")
    table = read_table(write(text), na=["-1999"], thousands=".")
    assert not [note for note in table.notes if "no cell" in note]


def test_words_of_a_workbook_and_of_several_files_are_noted(write, tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1.5, -999], [2.5, 3], [4, 4]):
        book.active.append(row)
    book.save(path := tmp_path / "t.xlsx")
    assert notes_on_na(path, ["-999"]) == []
    assert notes_on_na(path, ["-99"]) == ["no cell is '-99' (na=)"]
    files = [write(TEXT, "t.csv"), write(TEXT.replace("-999", "6"), "u.csv")]
    assert notes_on_na(files, ["-999"]) == [f"{files[1]}: no cell is '-999' (na=)"]
    assert notes_on_na(files, ["-99"]) == ["no cell is '-99' (na=)"]
