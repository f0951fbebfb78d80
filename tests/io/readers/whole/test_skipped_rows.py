"""Rows that ``skip_end`` leaves out are named, and its hint says that it applies to every file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from command_line import ARRESTS
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
