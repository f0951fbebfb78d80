"""Files that are compressed in ways that are not read, empty names, and the last byte of DOS."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import pytest

from helpers import read_whole
from princomp import read_table
from princomp.errors import InputNotFoundError, MalformedFileError, ParameterError
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.stdin import open_stdin

TEXT = b"a,b\n1,2\n3,5\n4,4\n7,1\n"
PACKED = {"xz": lzma.compress(TEXT), "bzip2": bz2.compress(TEXT), "gzip": gzip.compress(TEXT)}


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_data_without_the_ending_are_called_so(tmp_path, kind):
    path = tmp_path / "t.csv"
    path.write_bytes(PACKED[kind])
    with pytest.raises(MalformedFileError, match=f"it is compressed with {kind}") as caught:
        read_whole(path)
    assert f"Unpack it first, with {kind} -dc" in caught.value.hint


@pytest.mark.parametrize("kind", ["xz", "bzip2"])
def test_compressed_standard_input_is_called_so(kind):
    with pytest.raises(MalformedFileError, match=f"it is compressed with {kind}") as caught:
        open_stdin(io.BytesIO(PACKED[kind]))
    assert caught.value.hint == f"Unpack it first, with {kind} -dc."


@pytest.mark.parametrize(("ending", "tool"), [("bz2", "bzip2"), ("xz", "xz"), ("zip", "unzip")])
def test_names_of_compressed_files_are_answered_with_the_tool(tmp_path, ending, tool):
    path = tmp_path / f"my table.csv.{ending}"
    path.write_bytes(b"?")
    with pytest.raises(ParameterError) as caught:
        read_whole(path)
    assert caught.value.hint.startswith(f"Unpack it first: {tool} ")
    assert f"'{path}'" in caught.value.hint


def test_a_text_that_begins_like_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("BZh,b\n1,2\n3,5\n4,4\n7,1\n")
    assert read_whole(path).columns == ("BZh", "b")


def test_an_empty_name_is_called_so():
    for read in (lambda: read_table("").notes, lambda: open_files([""])):
        with pytest.raises(InputNotFoundError, match="the name of the file is empty"):
            read()


def test_the_last_byte_of_dos_can_be_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT + b"\x1a")
    with pytest.raises(MalformedFileError, match="has 1 field, but") as caught:
        read_whole(path)
    assert caught.value.hint.startswith("skip_end=1 leaves out the last line")
    assert read_whole(path, options=ReadOptions(skip_end=1)).rows == 4
