"""CSV and TSV in chunks: errors with row and line, and damaged files."""

from __future__ import annotations

import csv
import gzip
import io
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from delimited_cases import EXAMPLE, CountingStream, assert_same_as_whole, opened, read_all, whole

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
from princomp.io.readers import delimited_pieces, delimited_text
from princomp.io.readers.delimited_pieces import count_lines, pieces_of
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.files import open_source
from princomp.io.readers.read_options import ReadOptions


def refused(error, path, **options):
    with pytest.raises(error) as caught:
        read_all(opened(path, **options))
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


INVALID = {
    "empty": "",
    "blank": "\n\n",
    "names only": "a,b\n",
    "half a line": "a,b",
    "ragged": 'a,b\n1,"2"\n"3\n",4\n\n5\n6,7\n',
    "one bad cell": "a,b\n" + "1,2\n" * 16 + "1,abc\n1,3\n",
    "text above": 't,a\n"x\ny",1\n\n"z",2\n"w",b\n',
    "open quote": 'a,s\n1,"x"\n2,"y\n3,4\n',
    "ragged open quote": 'a,s,t\n1,"x",1\n2,"y\n3,4\n',
    "twice": "a,b,a\n1,2,3\n",
    "numbers first": "1,2\n3,4\n",
    "zero byte": b"a,s\n1,x\n2,\0\0\0\n3,y\n",
    "zeros at the end": b"a,b\n1,2\n3,4\n" + bytes(50),
    "only text": "a,b\nx,y\n",
    "long": "a,b\n1,1\n2,9007199254740993\n",
    "very long": "a,b\n1,1\n2," + "1" * 5000 + "\n",
}


@pytest.mark.parametrize("case", INVALID)
def test_chunked_and_whole_reading_raise_the_same_errors(write, case):
    path = write(INVALID[case])
    with pytest.raises(PrincompError) as caught:
        whole(path)
    error = refused(type(caught.value), path)
    assert str(error) == str(caught.value)
    assert error.place == caught.value.place


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ColumnError, {"columns": ["murder"]}),
        (ColumnError, {"exclude": ["x", "y"]}),
        (ColumnError, {"id_column": "Stat"}),
        (ColumnError, {"columns": ["Rape"], "exclude": ["Rape"]}),
        (NotNumericError, {"columns": ["Murder", "State"]}),
        (ShapeError, {"exclude": ["Murder", "Assault", "UrbanPop", "Rape"]}),
    ],
)
def test_columns_are_checked_on_opening(error, options):
    with pytest.raises(error) as caught:
        whole(EXAMPLE, **options)
    assert str(refused(error, EXAMPLE, **options)) == str(caught.value)
    with pytest.raises(ParameterError, match="empty list"):
        opened(EXAMPLE, columns=[])


def test_a_missing_file_and_a_missing_library_are_named(tmp_path, monkeypatch):
    missing = tmp_path / "no.csv"
    with pytest.raises(InputNotFoundError):
        opened(missing)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibraryError) as caught:
        open_source(EXAMPLE)
    assert caught.value.place["file"] == str(EXAMPLE)
    assert caught.value.hint == "pip install 'princomp[cli]'"


GOOD_START = "a,b,s\n" + "1,2,x\n" * 60  # lines 1 to 61, rows 1 to 60


def with_last_lines(write, last, **options):
    """A file of good lines and then ``last``, which may be invalid but does not prevent opening."""
    last = last if isinstance(last, bytes) else last.encode()
    path = write(GOOD_START.encode() + last)
    opened(path, **options)
    return path


def test_a_late_bad_cell_is_named_with_row_line_and_value(write, short_head):
    path = with_last_lines(write, '1,2,"u\nv"\n\n1,abc,x\n1,2,x\n')
    error = refused(NotNumericError, path)
    assert "column 'b' row 61 (line 65): 'abc' is not a number" in str(error)
    assert error.place == {"file": str(path), "column": "b", "row": 61, "line": 65}
    assert "exclude 'b'" in error.hint
    decimal_point = ReadOptions(decimal=".")
    path = with_last_lines(write, '"1,5",2,x\n', options=decimal_point)
    error = refused(NotNumericError, path, options=decimal_point)
    assert (error.place["row"], error.place["column"]) == (60, "a")
    assert "decimal comma" in error.hint
    message = str(refused(NotNumericError, with_last_lines(write, f"1,{'long ' * 100},x\n")))
    assert "…' is not a number" in message
    assert len(message) < 300


def test_rows_before_a_late_error_are_returned(write, short_head):
    chunks, rows = opened(with_last_lines(write, "1,2,x\n" * 100 + "1,abc,x\n")).chunks(), 0
    with pytest.raises(NotNumericError):  # noqa: PT012 - it is the last of many calls
        while True:
            rows += len(next(chunks).data)
    assert 150 <= rows <= 160


@pytest.mark.parametrize("start", [1, 30, 59, 60])
def test_a_late_error_has_its_place_from_any_start(write, short_head, start):
    with pytest.raises(NotNumericError) as caught:
        read_all(opened(with_last_lines(write, "1,abc,x\n")), start)
    assert (caught.value.place["row"], caught.value.place["line"]) == (60, 62)


def test_late_ragged_rows_are_refused_with_row_and_line(write, short_head):
    for last, fields in (("1,2\n", "2 fields"), ("1,2,x,y\n1,2,x\n", "4 fields"), ("7", "1 field")):
        error = refused(MalformedFileError, with_last_lines(write, last))
        assert f"row 60 (line 62) has {fields}, but the first line names 3" in str(error)
        assert (error.place["row"], error.place["line"]) == (60, 62)


def test_a_late_quote_that_is_never_closed_is_refused(write, short_head):
    for rest in ("", "1,2,x\n", '1,2,""\n1,2,x\n', "1,2,x\n" * 5_000):
        error = refused(MalformedFileError, with_last_lines(write, '1,2,"y\n' + rest))
        assert "a quote opened in line 62 is never closed" in str(error)
        assert error.place["line"] == 62


@pytest.mark.parametrize("sep", [",", "\t", " "])
@pytest.mark.parametrize("last", [41, 45])
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("alone", [False, True])
def test_rows_between_quotes_that_are_no_pair_are_refused(
    write, short_head, sep, last, before, alone
):
    """Such as the words \" and :\" in a table of words and their vectors."""
    lines = [sep.join(["1.5"] * before + [f"w{i}", f"{i}.5", f"{i}.25"]) for i in range(60)]
    lines[40] = lines[40].replace("w40", '"')
    lines[last] = lines[last].replace(f"w{last}" if alone else "w", '"')
    path = write("\n".join([sep.join("abcd"[: 3 + before]), *lines, ""]), "t.tsv")
    options = ReadOptions(sep=sep)
    errors = [refused(MalformedFileError, path, options=options)]
    with pytest.raises(MalformedFileError) as caught:
        whole(path, options=options)
    for error in [*errors, caught.value]:
        problem = f"a quoted cell from line 42 to line {last + 2} contains rows of the table"
        assert problem in str(error)
        assert error.place["line"] == 42
        assert '"5""".' in error.hint


@pytest.mark.parametrize(
    "lines",
    [
        "Main Street, 12\nBerlin",
        "a\nb, c, d\n1, 2\ne",
        "x\n\n1\n",
        "box\n51.2, 4.3, 0, 1\nok",
        "1, 2, 3, 4\n5, 6, 7, 8",
    ],
)
def test_other_cells_of_several_lines_are_read(write, short_head, lines):
    rows = [f'{i},"{lines}",{i * i % 7},"y"' for i in range(40)]
    path = write("\n".join(["a,s,b,t", *rows, "", '4,"z",2,"a\nb"']))
    assert len(whole(path).data) == len(read_all(opened(path))[0]) == 41


def test_an_open_quote_is_found_without_reading_a_large_file(write, monkeypatch, short_head):
    monkeypatch.setattr(delimited_text, "LONGEST_ROW", 1000)
    error = refused(MalformedFileError, with_last_lines(write, '1,2,"y\n' + "1,2,x\n" * 2_000_000))
    assert "line 62 is never closed" in str(error)
    error = refused(MalformedFileError, with_last_lines(write, "1,2,x\n" + "1" * 5000))
    assert "the row that starts in line 63 does not end" in str(error)
    counted = CountingStream(io.BytesIO(b'1,"2\n' + b"1,2\n" * 10_000))
    (piece,) = pieces_of(Dialect(Path("t.csv"), ",", None), counted, 100)
    assert piece.fault is not None
    assert counted.bytes_read < 5_000


def test_late_bytes_that_are_not_utf8_are_refused_in_used_columns(write, short_head):
    utf8 = ReadOptions(encoding="utf-8")
    path = with_last_lines(write, "1,2,größe\n".encode("latin1"))
    for options in ({}, {"id_column": "s"}):
        error = refused(MalformedFileError, path, **options, options=utf8)
        assert error.place["line"] == 62
        assert "encoding" in error.hint
    assert len(read_all(opened(path, exclude=["s"], options=utf8))[0]) == 61
    assert len(read_all(opened(with_last_lines(write, "1,2,größe\n")))[0]) == 61


def test_late_zero_bytes_are_refused_with_their_line(write, short_head):
    for last in (b"1,2,x\0\n", b"1,\0,x\n", bytes(100)):
        error = refused(MalformedFileError, with_last_lines(write, last))
        assert error.place["line"] == 62
        assert "zero byte" in str(error)


def test_late_text_in_a_boolean_column_is_refused(write, short_head):
    for late in ("0.5", "0"):
        path = write("a,b\n" + "true,1\n,2\nFALSE,3\n" * 20 + f" TRUE ,4\n{late},5\n")
        error = refused(NotNumericError, path, columns=["a", "b"])
        assert f"column 'a' row 61 (line 63): '{late}' is neither true nor false" in str(error)
    valid = write("a,b\n" + "true,1\n,2\nFALSE,3\n" * 20 + " TRUE ,4\nfalse,5\n")
    assert read_all(opened(valid, columns=["a", "b"]))[0][-2:].tolist() == [[1, 4], [0, 5]]


def test_a_column_empty_at_first_is_numeric(write, short_head):
    start = "a,b\n" + "1,\n" * 60
    assert read_all(opened(write(start + "1,7\n")))[0][-1, 1] == 7
    assert refused(NotNumericError, write(start + "1,fine\n")).place["row"] == 60


def test_late_integers_that_would_lose_digits_are_refused(write, short_head):
    error = refused(NotNumericError, with_last_lines(write, "9007199254740993,2,x\n"))
    assert error.place == {"file": error.place["file"], "column": "a", "row": 60, "line": 62}
    assert "2**53" in str(error)
    # A fraction or an exponent shows that the column holds rounded numbers anyway.
    for valid in ("0.5,2,x\n" + "1,2,x\n" * 90, "1e300,2,x\n"):
        data = read_all(opened(with_last_lines(write, valid + "9007199254740993,2,x\n")))[0]
        assert data[-1, 0] == 2.0**53
    assert read_all(opened(with_last_lines(write, "9007199254740992,2,x\n")))[0][-1, 0] == 2.0**53


def test_a_later_fraction_allows_earlier_large_integers(write, small_pieces):
    text = "a\n" + "1\n" * 10 + "9007199254740993\n" + "1\n" * 100 + "0.5\n"
    assert_same_as_whole(write(text))


def numbers_and_text(rows):
    rng = np.random.default_rng(1)
    x = np.round(rng.standard_normal((rows, 3)), 6)
    text = "".join(
        f'"row {i},\n{i}",' + ",".join(map(repr, r)) + "\n" for i, r in enumerate(x.tolist())
    )
    return x, ("s,a,b,c\n" + text).encode()


@pytest.mark.parametrize("sizes", ["small_pieces", "short_head"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
def test_truncated_files_are_refused_or_give_fewer_rows(write, name, sizes, request):
    request.getfixturevalue(sizes)
    x, text = numbers_and_text(120)
    path = write(text, name)
    content = path.read_bytes()
    np.testing.assert_array_equal(read_all(opened(path))[0], x)
    refusals = 0
    for i in range(64):
        path.write_bytes(content[: len(content) * i // 64])
        try:
            data = read_all(opened(path))[0]
        except PrincompError as error:
            assert error.place["file"] == str(path)  # noqa: PT017 - either end is valid
            refusals += 1
        else:
            assert name == "t.csv"
            assert len(data) < 120
            np.testing.assert_array_equal(data[:-1], x[: len(data) - 1])
            np.testing.assert_array_equal(data, whole(path).data)
    assert refusals >= (20 if name == "t.csv" else 64)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
def test_changed_bytes_raise_only_princomp_errors(write, name, short_head):
    rng = np.random.default_rng(2)
    path = write(numbers_and_text(60)[1], name)
    content = path.read_bytes()
    for at in rng.integers(0, len(content), 80).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            read_all(opened(path))
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a valid number


def test_a_file_of_another_kind_is_refused(write):
    hdf5 = b"\x89HDF\r\n\x1a\n"
    for content in (b"PK\x03\x04" + bytes(100), b"PAR1" + bytes(50) + b"PAR1", hdf5):
        refused(MalformedFileError, write(content))
    path = write("", "t.csv.gz")
    for content in (b"a,b\n1,2\n", b"PAR1" + bytes(50)):
        path.write_bytes(content)
        refused(MalformedFileError, path)


def test_gzip_files_of_several_members_are_read_to_the_end(write):
    path = write("", "t.csv.gz")
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,", mtime=0) + gzip.compress(b"4\n5,6\n", mtime=0))
    assert read_all(opened(path))[0].tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("tail", [0, 5, 2**16])
def test_pieces_are_whole_records_for_any_quotes_and_line_ends(tmp_path, monkeypatch, tail):
    monkeypatch.setattr(delimited_pieces, "TAIL_BYTES", tail)

    def records(text):
        return [r for r in csv.reader(io.StringIO(text.decode(), newline="")) if r]

    rng = random.Random(1)
    dialect = Dialect(tmp_path, ",", None)
    left_open = 0
    for _ in range(2_000):
        weights = rng.choice([[4, 3, 3, 2, 1], [3, 2, 1, 2, 0], [2, 2, 6, 2, 1], [3, 2, 2, 0, 2]])
        text = "".join(rng.choices('a,"\n\r', weights, k=rng.randint(1, 40))).encode()
        pieces = list(pieces_of(dialect, io.BytesIO(text), rng.randint(1, 9)))
        assert b"".join(piece.text for piece in pieces) == text
        assert [r for piece in pieces for r in records(piece.text)] == records(text)
        assert sum(count_lines(piece.text) for piece in pieces) == count_lines(text)
        left_open += pieces[-1].fault is not None
    assert 400 < left_open < 1_600


LONG = "name,x\n" + "".join(f"n{i},{i}.5\n" for i in range(50))


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("end", ["Total,1250\n", "Total,1250\n,\n", '"Grand total",1250'])
def test_totals_are_found_at_the_end_of_a_large_file(write, end):
    path = write(LONG + end)
    error = refused(MalformedFileError, path)
    assert "the last row looks like totals" in str(error)
    count = len(end.splitlines())
    assert f"skip_end={count} " in error.hint
    assert len(read_all(opened(path, options=ReadOptions(skip_end=count)))[0]) == 50
    assert len(read_all(opened(path, options=ReadOptions(skip_end=0)))[0]) >= 51
    assert "not checked" not in "".join(opened(write(LONG)).notes)


@pytest.mark.usefixtures("short_head")
def test_a_note_says_where_the_last_row_was_not_checked(write):
    for path in (write(LONG, "t.csv.gz"), write(LONG.encode("utf-16"))):
        assert "the last row was not checked for totals" in opened(path).notes[-1]
        options = ReadOptions(skip_end=0)
        assert "not checked" not in "".join(opened(path, options=options).notes)
