"""Delimited files in chunks: the same as read whole, and faults wherever they stand."""

from __future__ import annotations

import csv
import gzip
import io
import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
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
from princomp.sources import delimited_pieces, delimited_stream
from princomp.sources.delimited import read_delimited
from princomp.sources.delimited_pieces import Dialect, count_lines, pieces_of
from princomp.sources.delimited_stream import open_delimited

EXAMPLE = Path(__file__).parents[2] / "examples" / "usarrests.csv"


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        content = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(packed(content, name))
        return path

    return write


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few rows, while columns are judged by the first megabytes as ever."""
    monkeypatch.setattr(delimited_stream, "_LEAST_TEXT", 100)
    monkeypatch.setattr(delimited_stream, "_MOST_TEXT", 100)


@pytest.fixture
def short_head(monkeypatch, small_pieces):
    """Columns are judged by the first 100 to 150 bytes."""
    monkeypatch.setattr(delimited_stream, "_HEAD", 100)


def packed(text, name):
    if name.lower().endswith(".gz"):
        return gzip.compress(text, mtime=0)
    if name.lower().endswith(".zst"):
        return pa.compress(text, "zstd", asbytes=True)
    return text


def opened(path, columns=None, exclude=(), id_column=None):
    name = path.name.lower()
    return open_delimited(
        path,
        columns,
        exclude,
        id_column,
        delimiter="\t" if ".tsv" in name else ",",
        compression={".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower()),
    )


def whole(path, columns=None, exclude=(), id_column=None):
    name = path.name.lower()
    return read_delimited(
        path,
        columns,
        exclude,
        id_column,
        delimiter="\t" if ".tsv" in name else ",",
        compressed={".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower(), False),
    )


def gathered(source, start=0):
    """All rows and ids, after a look at each chunk."""
    data, ids = [], []
    for chunk in source.chunks(start):
        assert chunk.data.flags.c_contiguous
        assert chunk.data.dtype == source.dtype == np.float64
        assert len(chunk.data) >= 1
        assert chunk.data.shape[1] == source.p
        assert (chunk.ids is None) == (source.id_column is None)
        data.append(chunk.data)
        if chunk.ids is not None:
            assert chunk.ids.dtype == object
            assert len(chunk.ids) == len(chunk.data)
            ids.extend(chunk.ids.tolist())
    return np.concatenate(data) if data else np.empty((0, source.p)), ids


def same_as_whole(path, **options):
    table, source = whole(path, **options), opened(path, **options)
    data, ids = gathered(source)
    np.testing.assert_array_equal(data, table.data)
    assert ids == ([] if table.ids is None else table.ids.tolist())
    assert source.columns == table.columns
    assert source.notes == table.notes
    assert source.unused == table.unused
    assert source.file == table.file == str(path)
    assert source.shape == (None, table.data.shape[1])
    assert source.id_column == table.id_column
    return source


def refused(error, path, **options):
    with pytest.raises(error) as caught:
        gathered(opened(path, **options))
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


# The same as read whole

LAWFUL = {
    "missing": 'a,b\n1,\nNA,2\n"",nan\nn/a,-inf\n null ,4\n',
    "no cell": "a,b\n1,\n2,\n",
    "ways to write": "a,b\n+1.5,1\n-.5e-3,2\n5.,3\n1E5,4\n 7 ,5\n1e400,6\n",
    "truth": "a,b,c\ntrue,1,x\nFALSE,2,y\n True,3,\n,4,z\n0,5,\n",
    "dates": "day,stamp,x\n2020-01-02,2020-01-02T10:00:00Z,1\n2020-01-03,,2\n",
    "text": "remark,x\nfine,1\n12,2\nwet,3\ndry,4\n",
    "quotes": '"a\nz","x, y",s\n1,"2","q\nr"\n3,4,"a,b"\n5,6,"say ""no"""\n',
    "inches": 'a,s\n1,5" pipe\n2,"y"\n3,5" "p"\n4,"q"r"s"\n',
    "no last line end": "a,b\n1,2\n3,4",
    "blank lines": "\n\na,b\n\n1,2\n\n\n3,4\n\n",
    "one column": 'a\n1\n\n""\nNA\n2\n',
    "large": "a,b\n9007199254740992,1e300\n1,9007199254740993\n",
    "long but fine": "a\n00000000000000000000001\n2\n",
    "unnamed": ",a, b \n1,2,3\n4,5,6\n",
    "foreign": "größe,東\n1,2\n3,4\n",
}


@pytest.mark.parametrize("name", [".csv", ".tsv", ".CSV.gz", ".tsv.zst"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("case", LAWFUL)
def test_rows_are_those_of_the_file_read_whole(write, small_pieces, case, end, name):
    text = LAWFUL[case].replace("\n", end).replace(",", "\t" if "tsv" in name else ",")
    same_as_whole(write(text, "t" + name))
    same_as_whole(write("\ufeff" + text, "t" + name))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"id_column": "State"},
        {"columns": ["Rape", "Murder"]},
        {"exclude": ["Rape", "State"]},
        {"columns": ["Assault"], "id_column": "State"},
        {"exclude": ["State"], "id_column": "Murder"},
    ],
)
def test_columns_ids_and_notes_are_those_of_the_file_read_whole(small_pieces, options):
    source = same_as_whole(EXAMPLE, **options)
    assert len(list(source.chunks())) > 5
    assert source.repeatable
    assert source.nbytes == EXAMPLE.stat().st_size


def test_ids_keep_their_text(write, small_pieces):
    source = opened(write("code,x\n" + "007,1\nNA,2\n,3\n 1.50 ,4\n" * 50), id_column="code")
    assert gathered(source)[1] == ["007", "NA", None, " 1.50 "] * 50


def test_numbers_are_rounded_correctly(write, small_pieces):
    x = np.random.default_rng(0).integers(0, 2**64, 2_000, dtype=np.uint64).view(np.float64)
    x = x[np.isfinite(x)]
    path = write("a\n" + "\n".join(map(repr, x.tolist())) + "\n")
    assert gathered(opened(path))[0].tobytes() == x.tobytes()


def test_blanks_of_every_kind_may_stand_around_numbers_in_every_piece(write, short_head):
    path = write("a,b\n" + "1,2\n" * 100 + "\u20037\u2003,2\n" + "1, NA \n" * 10)
    data = gathered(opened(path))[0]
    assert data[100].tolist() == [7, 2]
    assert np.isnan(data[101:, 1]).all()


def test_a_second_sweep_gives_the_same(small_pieces):
    source = opened(EXAMPLE)
    first = gathered(source)[0]
    half = source.chunks()
    next(half)
    np.testing.assert_array_equal(gathered(source)[0], first)
    half.close()


def test_sweeps_may_start_at_any_row(write, small_pieces):
    rows = "".join(f'{i},"x\ny, ""{"z" * (i % 7)}"\n' + "\n" * (i % 3) for i in range(60))
    source = opened(write("a,s\n" + rows), id_column="s")
    data, ids = gathered(source)
    assert data[:, 0].tolist() == list(range(60))
    for start in range(63):
        later, names = gathered(source, start)
        assert later[:, 0].tolist() == list(range(start, 60))
        assert names == ids[start:]


def test_what_was_opened_is_closed_with_the_iterator(write, monkeypatch, small_pieces):
    streams = []
    binary = Dialect.binary

    def watched(self):
        streams.append(binary(self))
        return streams[-1]

    monkeypatch.setattr(Dialect, "binary", watched)
    source = opened(write("a,b\n" + "1,2\n" * 500))
    chunks = source.chunks()
    next(chunks)
    assert not streams[-1].closed
    chunks.close()
    gathered(source)
    assert len(streams) >= 3
    assert all(stream.closed for stream in streams)


def test_the_identity_is_that_of_the_file(write):
    path = write("a,b\n1,2\n")
    source = opened(path)
    (identity,) = source.identities()
    assert (identity.file, identity.size) == (str(path), 8)
    assert source.spot(3).row == 3
    path.unlink()
    with pytest.raises(InputNotFoundError):
        source.identities()
    with pytest.raises(InputNotFoundError):
        gathered(source)


# Large files


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """30 MB of numbers, a quoted text with line ends among them."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((75_000, 20))
    columns = {f"c{j}": x[:, j] for j in range(20)}
    columns["s"] = [f"{i}\nand, more" if i % 9 == 0 else str(i) for i in range(len(x))]
    path = tmp_path_factory.mktemp("large") / "t.csv"
    pa.csv.write_csv(pa.table(columns), path)
    return path, x


def test_a_large_file_comes_in_moderate_chunks(large):
    path, x = large
    source = opened(path, id_column="s")
    sizes, row = [], 0
    for chunk in source.chunks():
        np.testing.assert_array_equal(chunk.data, x[row : row + len(chunk.data)])
        assert chunk.ids[0].split("\n")[0] == str(row)
        sizes.append(chunk.data.size)
        row += len(chunk.data)
    assert row == len(x)
    assert len(sizes) > 5
    assert min(sizes[:-1]) > 2**16
    assert max(sizes) < 2**20


class Counted:
    """A stream that counts the bytes taken from it."""

    def __init__(self, file):
        self.file = file
        self.taken = 0

    def read(self, size):
        got = self.file.read(size)
        self.taken += len(got)
        return got


def test_only_a_few_pieces_are_read_ahead(large):
    path = large[0]
    with path.open("rb") as file:
        counted = Counted(file)
        source = delimited_stream.DelimitedSource(
            Dialect(path, ",", None), counted, None, ("s",), None, once=True
        )
        assert counted.taken <= 8 << 20
        chunks = source.chunks()
        next(chunks)
        assert counted.taken <= 24 << 20
        chunks.close()


def test_narrow_numbers_make_no_larger_chunks(write):
    path = write("a,b,c,d\n" + "1,2,3,4\n" * 500_000)
    assert max(chunk.data.size for chunk in opened(path).chunks()) <= 2**19


def test_rows_wider_than_a_piece_are_read(write, small_pieces):
    p = 2_000
    row = ",".join(["0." + "123456789" * 70] * p)
    source = opened(write(",".join(f"c{j}" for j in range(p)) + f"\n{row}\n{row}\n"))
    assert gathered(source)[0].shape == (2, p)


def test_names_longer_than_the_text_judged_by_are_read(write, short_head):
    names = [f"column with a long name {j}" for j in range(40)]
    source = opened(write(",".join(names) + "\n" + (",".join(["1"] * 40) + "\n") * 3))
    assert source.columns == tuple(names)
    assert gathered(source)[0].shape == (3, 40)


# Faults that a file read whole shows as well

UNLAWFUL = {
    "empty": "",
    "blank": "\n\n",
    "names only": "a,b\n",
    "half a line": "a,b",
    "ragged": 'a,b\n1,"2"\n"3\n",4\n\n5\n6,7\n',
    "one bad cell": "a,b\n" + "1,2\n" * 16 + "1,abc\n1,3\n",
    "text above": 't,a\n"x\ny",1\n\n"z",2\n"w",b\n',
    "decimal commas": 'a,b\n"1,5",2\n"2,5",3\n',
    "open quote": 'a,s\n1,"x"\n2,"y\n3,4\n',
    "ragged open quote": 'a,s,t\n1,"x",1\n2,"y\n3,4\n',
    "twice": "a,b,a\n1,2,3\n",
    "numbers first": "1,2\n3,4\n",
    "semicolons": "a;b\n1,5;2\n",
    "latin1 names": "größe,b\n1,2\n".encode("latin1"),
    "utf16": "a,b\n1,2\n".encode("utf-16"),
    "latin1": "a,b\n1,x\n2,größe\n".encode("latin1"),
    "zero byte": b"a,s\n1,x\n2,\0\0\0\n3,y\n",
    "zeros at the end": b"a,b\n1,2\n3,4\n" + bytes(50),
    "only text": "a,b\nx,y\n",
    "long": "a,b\n1,1\n2,9007199254740993\n",
    "very long": "a,b\n1,1\n2," + "1" * 5000 + "\n",
}


@pytest.mark.parametrize("case", UNLAWFUL)
def test_what_is_refused_of_a_whole_file_is_refused_alike(write, case):
    path = write(UNLAWFUL[case])
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
    refused_missing = tmp_path / "no.csv"
    with pytest.raises(InputNotFoundError):
        opened(refused_missing)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(MissingLibraryError, EXAMPLE).hint == "pip install 'princomp[cli]'"


# Faults that come after the columns were judged

GOOD = "a,b,s\n" + "1,2,x\n" * 60  # lines 1 to 61, rows 1 to 60


def late(write, last, **options):
    """Find what is wrong with a last line, after a good start."""
    last = last if isinstance(last, bytes) else last.encode()
    path = write(GOOD.encode() + last)
    opened(path, **options)
    return path


def test_a_late_bad_cell_is_named_with_row_line_and_value(write, short_head):
    path = late(write, '1,2,"u\nv"\n\n1,abc,x\n1,2,x\n')
    error = refused(NotNumericError, path)
    assert "column 'b' row 62 (line 65): 'abc' is not a number" in str(error)
    assert error.place == {"file": str(path), "column": "b", "row": 62, "line": 65}
    assert "exclude 'b'" in error.hint
    error = refused(NotNumericError, late(write, '"1,5",2,x\n'))
    assert (error.place["row"], error.place["column"]) == (61, "a")
    assert "decimal comma" in error.hint
    long = str(refused(NotNumericError, late(write, f"1,{'long ' * 100},x\n")))
    assert "…' is not a number" in long
    assert len(long) < 300


def test_rows_before_a_late_fault_are_given(write, short_head):
    chunks, rows = opened(late(write, "1,2,x\n" * 100 + "1,abc,x\n")).chunks(), 0
    with pytest.raises(NotNumericError):  # noqa: PT012 - it is the last of many calls
        while True:
            rows += len(next(chunks).data)
    assert 150 <= rows <= 160


@pytest.mark.parametrize("start", [1, 30, 59, 60])
def test_a_fault_after_a_late_start_has_its_place(write, short_head, start):
    with pytest.raises(NotNumericError) as caught:
        gathered(opened(late(write, "1,abc,x\n")), start)
    assert (caught.value.place["row"], caught.value.place["line"]) == (61, 62)


def test_late_ragged_rows_are_refused_with_row_and_line(write, short_head):
    for last, fields in (("1,2\n", "2 fields"), ("1,2,x,y\n1,2,x\n", "4 fields"), ("7", "1 field")):
        error = refused(MalformedFileError, late(write, last))
        assert f"row 61 (line 62) has {fields}, but the first line names 3" in str(error)
        assert (error.place["row"], error.place["line"]) == (61, 62)


def test_a_late_quote_that_is_never_closed_is_refused(write, short_head):
    for rest in ("", "1,2,x\n", '1,2,""\n1,2,x\n', "1,2,x\n" * 5_000):
        error = refused(MalformedFileError, late(write, '1,2,"y\n' + rest))
        assert "a quote opened in line 62 is never closed" in str(error)
        assert error.place["line"] == 62


def test_a_quote_left_open_in_a_large_file_does_not_swallow_it(write, monkeypatch, short_head):
    monkeypatch.setattr(delimited_pieces, "LONGEST_ROW", 1000)
    error = refused(MalformedFileError, late(write, '1,2,"y\n' + "1,2,x\n" * 2_000_000))
    assert "line 62 is never closed" in str(error)
    error = refused(MalformedFileError, late(write, "1,2,x\n" + "1" * 5000))
    assert "the row that starts in line 63 does not end" in str(error)
    counted = Counted(io.BytesIO(b'1,"2\n' + b"1,2\n" * 10_000))
    (piece,) = pieces_of(Dialect(Path("t.csv"), ",", None), counted, 100)
    assert piece.fault is not None
    assert counted.taken < 5_000


def test_late_bytes_that_are_not_utf8_are_refused_where_they_may_be_used(write, short_head):
    path = late(write, "1,2,größe\n".encode("latin1"))
    for options in ({}, {"id_column": "s"}):
        error = refused(MalformedFileError, path, **options)
        assert error.place["line"] == 62
        assert "iconv" in error.hint
    assert len(gathered(opened(path, exclude=["s"]))[0]) == 61
    assert len(gathered(opened(late(write, "1,2,größe\n")))[0]) == 61


def test_late_zero_bytes_are_refused_with_their_line(write, short_head):
    for last in (b"1,2,x\0\n", b"1,\0,x\n", bytes(100)):
        error = refused(MalformedFileError, late(write, last))
        assert error.place["line"] == 62
        assert "zero byte" in str(error)


def test_late_text_in_a_column_of_truths_is_refused(write, short_head):
    path = write("a,b\n" + "true,1\n,2\nFALSE,3\n" * 20 + " TRUE ,4\n0.5,5\n")
    error = refused(NotNumericError, path)
    assert "column 'a' row 62 (line 63): '0.5' is neither true nor false" in str(error)
    fine = write("a,b\n" + "true,1\n,2\nFALSE,3\n" * 20 + " TRUE ,4\n0,5\n")
    assert gathered(opened(fine))[0][-2:].tolist() == [[1, 4], [0, 5]]


def test_a_column_without_a_cell_at_first_is_one_of_numbers(write, short_head):
    start = "a,b\n" + "1,\n" * 60
    assert gathered(opened(write(start + "1,7\n")))[0][-1, 1] == 7
    assert refused(NotNumericError, write(start + "1,fine\n")).place["row"] == 61


def test_late_integers_that_would_lose_digits_are_refused(write, short_head):
    error = refused(NotNumericError, late(write, "9007199254740993,2,x\n"))
    assert error.place == {"file": error.place["file"], "column": "a", "row": 61, "line": 62}
    assert "2**53" in str(error)
    # A fraction above says that the column holds rounded numbers; an exponent beside it, too.
    for fine in ("0.5,2,x\n" + "1,2,x\n" * 90, "1e300,2,x\n"):
        data = gathered(opened(late(write, fine + "9007199254740993,2,x\n")))[0]
        assert data[-1, 0] == 2.0**53
    assert gathered(opened(late(write, "9007199254740992,2,x\n")))[0][-1, 0] == 2.0**53


def test_a_fraction_later_among_the_first_rows_counts(write, small_pieces):
    text = "a\n" + "1\n" * 10 + "9007199254740993\n" + "1\n" * 100 + "0.5\n"
    same_as_whole(write(text))


# Damaged files


def numbers_and_text(rows):
    rng = np.random.default_rng(1)
    x = np.round(rng.standard_normal((rows, 3)), 6)
    text = "".join(
        f'"row {i},\n{i}",' + ",".join(map(repr, r)) + "\n" for i, r in enumerate(x.tolist())
    )
    return x, ("s,a,b,c\n" + text).encode()


@pytest.mark.parametrize("sizes", ["small_pieces", "short_head"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
def test_a_file_cut_anywhere_is_found_or_is_a_shorter_table(write, name, sizes, request):
    request.getfixturevalue(sizes)
    x, text = numbers_and_text(120)
    path = write(text, name)
    content = path.read_bytes()
    np.testing.assert_array_equal(gathered(opened(path))[0], x)
    found = 0
    for i in range(64):
        path.write_bytes(content[: len(content) * i // 64])
        try:
            data = gathered(opened(path))[0]
        except PrincompError as error:
            assert error.place["file"] == str(path)  # noqa: PT017 - either end is lawful
            found += 1
        else:
            assert name == "t.csv"
            assert len(data) < 120
            np.testing.assert_array_equal(data[:-1], x[: len(data) - 1])
            np.testing.assert_array_equal(data, whole(path).data)
    assert found >= (20 if name == "t.csv" else 64)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
def test_a_changed_byte_never_escapes_as_a_foreign_error(write, name, short_head):
    rng = np.random.default_rng(2)
    path = write(numbers_and_text(60)[1], name)
    content = path.read_bytes()
    for at in rng.integers(0, len(content), 80).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            gathered(opened(path))
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a lawful number


def test_a_file_of_another_kind_is_refused(write):
    for content in (b"PK\x03\x04" + bytes(100), b"PAR1" + bytes(50) + b"PAR1", b"\x89HDF\r\n\n"):
        refused(MalformedFileError, write(content))
    path = write("", "t.csv.gz")
    for content in (b"a,b\n1,2\n", b"PAR1" + bytes(50)):
        path.write_bytes(content)
        refused(MalformedFileError, path)


def test_gzip_files_of_several_members_are_read_to_the_end(write):
    path = write("", "t.csv.gz")
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,", mtime=0) + gzip.compress(b"4\n5,6\n", mtime=0))
    assert gathered(opened(path))[0].tolist() == [[1, 2], [3, 4], [5, 6]]


# Records


@pytest.mark.parametrize("tail", [0, 5, 2**16])
def test_pieces_are_whole_records_however_marks_and_line_ends_stand(tmp_path, monkeypatch, tail):
    monkeypatch.setattr(delimited_pieces, "_TAIL", tail)

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
