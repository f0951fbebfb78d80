"""CSV and TSV files in chunks give the same rows as the whole file."""

from __future__ import annotations

import gzip
import io
import re
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from delimited_cases import EXAMPLE, CountingStream, assert_same_as_whole, opened, read_all

from princomp.errors import InputNotFoundError, MalformedFileError, NotNumericError
from princomp.io.readers import delimited_stream, delimited_text
from princomp.io.readers.columns import Selection
from princomp.io.readers.delimited import MAX_TEXT_BYTES
from princomp.io.readers.delimited_stream import DelimitedSource
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.files import SMALL_COMPRESSED_FILE_BYTES, open_source
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.source import TableSource

VALID = {
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
    "long but fine": "a\n-00000000000000000000001\n2\n",
    "unnamed": ",a, b \n1,2,3\n4,5,6\n",
    "foreign": "größe,東\n1,2\n3,4\n",
}


@pytest.mark.parametrize("name", [".csv", ".tsv", ".CSV.gz", ".tsv.zst"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("case", VALID)
def test_rows_equal_those_of_the_whole_file(write, small_pieces, case, end, name):
    text = VALID[case].replace("\n", end).replace(",", "\t" if "tsv" in name else ",")
    assert_same_as_whole(write(text, "t" + name))
    assert_same_as_whole(write("\ufeff" + text, "t" + name))


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
def test_columns_ids_and_notes_equal_those_of_the_whole_file(small_pieces, options):
    source = assert_same_as_whole(EXAMPLE, **options)
    assert len(list(source.chunks())) > 5
    assert source.repeatable
    assert source.nbytes == EXAMPLE.stat().st_size


def test_ids_keep_their_text(write, small_pieces):
    source = opened(write("code,x\n" + "007,1\nNA,2\n,3\n 1.50 ,4\n" * 50), id_column="code")
    assert read_all(source)[1] == ["007", "NA", None, " 1.50 "] * 50


def test_numbers_are_rounded_correctly(write, small_pieces):
    x = np.random.default_rng(0).integers(0, 2**64, 2_000, dtype=np.uint64).view(np.float64)
    x = x[np.isfinite(x)]
    path = write("a\n" + "\n".join(map(repr, x.tolist())) + "\n")
    assert read_all(opened(path))[0].tobytes() == x.tobytes()


def test_numbers_may_be_surrounded_by_any_whitespace(write, short_head):
    path = write("a,b\n" + "1,2\n" * 100 + "\u20037\u2003,2\n" + "1, NA \n" * 10)
    data = read_all(opened(path))[0]
    assert data[100].tolist() == [7, 2]
    assert np.isnan(data[101:, 1]).all()


def test_a_second_pass_gives_the_same_rows(small_pieces):
    source = opened(EXAMPLE)
    first = read_all(source)[0]
    unfinished = source.chunks()
    next(unfinished)
    np.testing.assert_array_equal(read_all(source)[0], first)
    unfinished.close()


def test_chunks_can_start_at_any_row(write, small_pieces):
    rows = "".join(f'{i},"x\ny, ""{"z" * (i % 7)}"\n' + "\n" * (i % 3) for i in range(60))
    source = opened(write("a,s\n" + rows), id_column="s")
    data, ids = read_all(source)
    assert data[:, 0].tolist() == list(range(60))
    for start in range(63):
        later_rows, names = read_all(source, start)
        assert later_rows[:, 0].tolist() == list(range(start, 60))
        assert names == ids[start:]


def test_files_are_closed_with_the_iterator(write, monkeypatch, small_pieces):
    streams = []
    binary = Dialect.open_binary

    def recording(self):
        streams.append(binary(self))
        return streams[-1]

    monkeypatch.setattr(Dialect, "open_binary", recording)
    source = opened(write("a,b\n" + "1,2\n" * 500))
    chunks = source.chunks()
    next(chunks)
    assert not streams[-1].closed
    chunks.close()
    read_all(source)
    assert len(streams) >= 3
    assert all(stream.closed for stream in streams)


def test_file_states_describe_the_file(write):
    path = write("a,b\n1,2\n")
    source = opened(path)
    (state,) = source.file_states()
    assert (state.file, state.size) == (str(path), 8)
    assert source.place_of(3).row == 3
    path.unlink()
    with pytest.raises(InputNotFoundError):
        source.file_states()
    with pytest.raises(InputNotFoundError):
        read_all(source)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """30 MB of numbers with a column of quoted text that contains line ends."""
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


def test_only_a_few_pieces_are_read_ahead(large):
    path = large[0]
    with path.open("rb") as file:
        counted = CountingStream(file)
        source = delimited_stream.DelimitedSource(
            Dialect(path, ",", None), counted, Selection(exclude=("s",)), once=True
        )
        assert counted.bytes_read <= 8 << 20
        chunks = source.chunks()
        next(chunks)
        assert counted.bytes_read <= 24 << 20
        chunks.close()


def test_short_cells_do_not_enlarge_chunks(write):
    path = write("a,b,c,d\n" + "1,2,3,4\n" * 500_000)
    assert max(chunk.data.size for chunk in opened(path).chunks()) <= 2**19


def test_rows_wider_than_a_piece_are_read(write, small_pieces):
    p = 2_000
    row = ",".join(["0." + "123456789" * 70] * p)
    source = opened(write(",".join(f"c{j}" for j in range(p)) + f"\n{row}\n{row}\n"))
    assert read_all(source)[0].shape == (2, p)


def test_names_longer_than_the_inspected_text_are_read(write, short_head):
    names = [f"column with a long name {j}" for j in range(40)]
    source = opened(write(",".join(names) + "\n" + (",".join(["1"] * 40) + "\n") * 3))
    assert source.columns == tuple(names)
    assert read_all(source)[0].shape == (3, 40)


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("last", [1, 2, 30])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_skipped_last_rows_are_not_parsed(write, last, end):
    rows = [f'n{i},{i}.5,"a\nb"\n' for i in range(50)]
    totals = ['\n\n"in all\n",,x\n', '"Source:\nall states"\n\n'][-last:]
    text = "name,x,note\n" + "".join([*rows, *["?,?,?\n"] * (last - len(totals)), *totals])
    path = write(text.replace("\n", end))
    # The last line is blank, and two are blank above the totals.
    options = ReadOptions(skip_end=last + (3 if last > 2 else 1))
    data, ids = read_all(assert_same_as_whole(path, id_column="name", options=options))
    assert data[:, 0].tolist() == [i + 0.5 for i in range(50)]
    assert ids == [f"n{i}" for i in range(50)]
    for start in (1, 30, 49):
        assert read_all(opened(path, id_column="name", options=options), start)[0][0] == start + 0.5


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("rows", range(15, 40))
def test_skipped_last_rows_may_be_among_the_first(write, rows):
    path = write("a,b\n" + "1,25\n" * rows + "Source: a, b, c\n")
    source = opened(path, options=ReadOptions(skip_end=1))
    assert len(read_all(source)[0]) == rows


def test_all_skipped_last_rows_are_counted_although_few_are_read(write, monkeypatch):
    """The last 64 kB of a file, here 13,106 lines, are read for the names of the rows."""
    monkeypatch.setattr(delimited_stream, "HEAD_BYTES", 100)
    path = write("a,b\n" + "1,25\n" * 14_000)
    for skip_end, names in ((7, ": " + "1 25, " * 4 + "1 25 and 2 more"), (13_500, "")):
        source = opened(path, options=ReadOptions(skip_end=skip_end))
        assert source.notes[0] == f"skip_end={skip_end} left out {skip_end:,} rows{names}"
        assert len(read_all(source)[0]) == 14_000 - skip_end


@pytest.mark.usefixtures("short_head")
def test_errors_name_their_line_with_skip_end(write):
    path = write("a,b\n" + "1,2\n" * 40 + "1,2,3\n" + "1,2\n" * 40)
    with pytest.raises(MalformedFileError) as caught:
        read_all(opened(path, options=ReadOptions(skip_end=1)))
    assert caught.value.place["line"] == 42


class FewBytes(io.BytesIO):
    """A stream that returns at most ``size`` bytes at a time."""

    size = 1

    def read(self, size=-1, /):
        return super().read(min(size, self.size))


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('a,b\n#c "x\n"x\n#y",2\n#"\n3,"#z"\n', 'a,b\n\n"x\n#y",2\n\n3,"#z"\n'),
        ('a,s\n1,5" pipe\n#c\n2,"y"\n', 'a,s\n1,5" pipe\n\n2,"y"\n'),
        ('"x ""y""\n#z",1,"\n#"\n#c', '"x ""y""\n#z",1,"\n#"\n'),
        ('"a\n,","b\n#c",1\n#d\n', '"a\n,","b\n#c",1\n\n'),
        ('1,"x\n#y\n2,3\n', '1,"x\n#y\n2,3\n'),
        ('#c\r\n"x\r\n#y",1\r#d\r2,3', '\r\n"x\r\n#y",1\r\r2,3'),
    ],
)
def test_comments_in_quoted_fields_are_text(text, clean, size, monkeypatch):
    """A record with such a field once swallowed the next rows, without an error."""
    monkeypatch.setattr(FewBytes, "size", size)
    dialect = Dialect(Path("t.csv"), ",", None, comment="#")
    assert dialect.cleaned(FewBytes(text.encode())).read().decode() == clean


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_comments_in_quoted_fields_between_blanks(size, monkeypatch):
    monkeypatch.setattr(FewBytes, "size", size)
    dialect = Dialect(Path("t.txt"), "\t", None, comment="#", split_at_blanks=True)
    text = 'a  b\n 1 "x  y\n#z"\n#c "\n 2 3 \n'
    cleaned = dialect.cleaned(FewBytes(text.encode())).read().decode()
    assert cleaned == 'a\tb\n1\t"x  y\n#z"\n\n2\t3\n'


@pytest.mark.parametrize("seed", range(200))
def test_blanks_outside_quotes_separate_fields(seed):
    """Compare with the definition: one tab for blanks, but nothing at the ends of a line."""
    text = "".join(np.random.default_rng(seed).choice(list('   \t\r\n"ab\u00a0'), 30)) + "\n"
    dialect = Dialect(Path("t.txt"), "\t", None, split_at_blanks=True)
    cleaned = dialect.cleaned(io.BytesIO(text.encode())).read().decode()
    blanks = r'("[^"]*")|(?<![^\r\n])[ \t]+|[ \t]+(?![^\r\n])|([ \t]+)'
    assert cleaned == re.sub(blanks, lambda found: found[1] or "\t" * bool(found[2]), text)


def test_a_quote_that_is_not_closed_is_not_kept_in_memory(monkeypatch):
    monkeypatch.setattr(FewBytes, "size", 10)
    monkeypatch.setattr(delimited_text, "LONGEST_ROW", 50)
    stream = FewBytes(b'1,"x\n' + b"2,3\n" * 100)
    dialect = Dialect(Path("t.csv"), ",", None, comment="#")
    cleaned = dialect.cleaned(stream)
    assert cleaned.read(1) == b"1"
    assert stream.tell() <= 80


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("encoding", ["UTF-16", "utf16", "U16"])
def test_any_name_of_an_encoding_is_understood(write, encoding):
    path = write(("x,y\n" + "1.5,2\n" * 200).encode("utf-16"))
    data, _ = read_all(opened(path, options=ReadOptions(encoding=encoding)))
    assert data.tolist() == [[1.5, 2.0]] * 200


@pytest.mark.usefixtures("short_head")
def test_a_long_cell_in_the_first_row_of_a_large_file_is_read(write):
    path = write("n,x\n" + "a" * 140_000 + ",1\n" + "b,2\n" * 200)
    assert len(assert_same_as_whole(path).columns) == 1


def test_the_time_is_not_quadratic_in_the_number_of_columns(write):
    def seconds(p):
        row = ";".join(["1.234.567,5"] * p)
        path = write("\n".join([";".join(f"c{j}" for j in range(p)), row, row, row]))
        start = time.process_time()
        assert read_all(assert_same_as_whole(path))[0].shape == (3, p)
        return time.process_time() - start

    seconds(10)
    assert seconds(3000) < 5 * seconds(1000)


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("other", ["1.5,2", "1e300,2"])
def test_what_is_refused_does_not_depend_on_the_first_row_read(write, other):
    integers = "x,y\n" + "1,2\n" * 100
    large = "9007199254740993,2\n" * 100
    source = opened(write(integers + f"{other}\n" * 100 + large))
    for start in (0, 250):
        assert read_all(source, start)[0].shape == (300 - start, 2)
    source = opened(write(integers + large))
    for start in (0, 50, 150):
        with pytest.raises(NotNumericError, match=r"beyond 2\*\*53"):
            read_all(source, start)


def test_a_small_file_that_holds_much_text_is_read_in_chunks(tmp_path):
    line = b"1.000,2.000,4.000\n"
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,c\n" + line * (MAX_TEXT_BYTES // len(line) + 1), 1))
    assert path.stat().st_size < SMALL_COMPRESSED_FILE_BYTES
    source = open_source(path)
    assert isinstance(source, DelimitedSource)
    chunk = next(iter(source.chunks()))
    assert (chunk.data == [1.0, 2.0, 4.0]).all()
    path.write_bytes(gzip.compress(b"a,b,c\n" + line * 1000))
    assert isinstance(open_source(path), TableSource)
