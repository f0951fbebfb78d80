"""Rows that ``skip_end`` leaves out are named, and its hint says that it applies to every file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from openpyxl import Workbook

from command_line import ARRESTS
from helpers import read_whole
from princomp.errors import MalformedFileError
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.stdin import open_stdin

LINES = Path(ARRESTS).read_text().splitlines(keepends=True)
SKIP = {"options": ReadOptions(skip_end=1)}


@pytest.fixture
def halves(tmp_path):
    (tmp_path / "h1.csv").write_text("".join([*LINES[:26], "Total,1,1,1,1\n"]))
    (tmp_path / "h2.csv").write_text("".join([LINES[0], *LINES[26:]]))
    return [tmp_path / "h1.csv", tmp_path / "h2.csv"]


@pytest.fixture
def short_head(monkeypatch):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("princomp.io.readers.delimited_stream.HEAD_BYTES", 1000)


@pytest.mark.parametrize("large", [False, True])
def test_the_rows_that_are_left_out_are_named(halves, monkeypatch, large):
    if large:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
        monkeypatch.setattr("princomp.io.readers.delimited_stream.HEAD_BYTES", 100)
    notes = open_files(halves, **SKIP).notes
    assert f"{halves[0]}: skip_end=1 left out 1 row: Total" in notes
    assert f"{halves[1]}: skip_end=1 left out 1 row: Wyoming" in notes
    three = open_files(halves[1:], options=ReadOptions(skip_end=3)).notes
    assert "skip_end=3 left out 3 rows: West Virginia, Wisconsin, Wyoming" in three


def test_rows_without_text_are_named_by_their_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,5\n4,1\n7,7.5\n,\n")
    notes = open_files([path], options=ReadOptions(skip_end=2)).notes
    assert "skip_end=2 left out 2 rows: 7 7.5, an empty row" in notes


SURVEY = ["id,a,b,c", "r1,1,2,7", "r2,3,1,2", "r3,2,5,4", "r4,6,3,9", "Total,12,11,22", ""]
SURVEY += ["Source: survey 2024"]


def as_csv(folder):
    (folder / "t.csv").write_text("\n".join([*SURVEY, ""]))
    return folder / "t.csv"


def as_workbook(folder):
    book = Workbook()
    for line in SURVEY:
        book.active.append([int(c) if c.isdigit() else c for c in line.split(",")])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@pytest.mark.parametrize("written", [as_csv, as_workbook])
def test_blank_lines_count_as_the_hint_says(tmp_path, written):
    path = written(tmp_path)
    with pytest.raises(MalformedFileError) as caught:
        read_whole(path)
    assert caught.value.hint.startswith("skip_end=3 leaves ")
    table = read_whole(path, options=ReadOptions(skip_end=3), find_ids=True)
    assert table.ids.tolist() == ["r1", "r2", "r3", "r4"]
    named = "Total, an empty row, Source: survey 2024"
    assert f"skip_end=3 left out 3 rows: {named}" in table.notes


@pytest.mark.usefixtures("short_head")
def test_blank_lines_of_a_large_file_count(tmp_path):
    rows = "".join(f"r{i},{i}.5,{i * i % 7}.25\n" for i in range(200))
    path = tmp_path / "t.csv"
    path.write_text(f"id,a,b\n{rows}Total,1,2\n\n\nTotals,3,4\n\n")
    with pytest.raises(MalformedFileError, match="the last row looks") as caught:
        open_files([path])
    assert "skip_end=5 leaves out the last 5 rows" in caught.value.hint
    with pytest.raises(MalformedFileError, match="the last row looks") as caught:
        open_files([path], options=ReadOptions(skip_end=2))
    assert "skip_end=5 leaves out" in caught.value.hint
    source = open_files([path], options=ReadOptions(skip_end=5))
    assert source.notes[0].endswith(": Total, an empty row, an empty row, Totals, an empty row")
    assert sum(len(chunk.data) for chunk in source.chunks()) == 200


def test_sums_above_blank_lines_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n4,3\n2,5\n7,10\n\n")
    for options in (ReadOptions(), ReadOptions(skip_end=1)):
        with pytest.raises(MalformedFileError, match="looks like totals") as caught:
            read_whole(path, options=options)
        assert "skip_end=2 leaves out" in caught.value.hint
    assert read_whole(path, options=ReadOptions(skip_end=2)).rows == 3
    assert read_whole(path, options=ReadOptions(skip_end=0)).rows == 4


def test_rows_of_a_long_pipe_are_counted(halves, monkeypatch):
    monkeypatch.setattr("princomp.io.readers.delimited_stream.HEAD_BYTES", 100)
    source = open_stdin(io.BytesIO(halves[1].read_bytes()), **SKIP)
    assert "skip_end=1 left out 1 row" in source.notes


def test_the_hint_for_several_files_says_that_it_applies_to_all(halves, princomp):
    with pytest.raises(MalformedFileError) as caught:
        open_files(halves)
    assert "It applies to every file: if others have no such rows, delete" in caught.value.hint
    with pytest.raises(MalformedFileError) as caught:
        open_files(halves[:1])
    assert "every file" not in caught.value.hint
    assert "--skip-end 1 leaves it out, " in princomp("fit", *halves).err
    done = princomp("fit", *halves, "--skip-end", 1)
    assert "h2.csv: --skip-end 1 left out 1 row: Wyoming" in done.err
