"""Standard input as a table: formats are detected by their first bytes, and read only once."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from princomp.errors import (
    ColumnError,
    MalformedFileError,
    MissingLibraryError,
    NoRowsError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.io.readers import delimited_stream, numpy_file
from princomp.io.readers.stdin import open_stdin

TEXT = b"s,a,b\nx,1,2\ny,3,\nz,5,6.5\n"
ROWS = [[1, 2], [3, np.nan], [5, 6.5]]

COMPRESSIONS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": lambda text: pa.compress(text, "zstd", asbytes=True),
}


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def arrow(table, size=2):
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=size):
            writer.write_batch(batch)
    return stream.getvalue()


def opened(content, columns=None, exclude=(), id_column=False):
    return open_stdin(io.BytesIO(content), columns=columns, exclude=exclude, id_column=id_column)


def read_all(source, start=0):
    chunks = list(source.chunks(start))
    for chunk in chunks:
        assert chunk.data.flags.c_contiguous
        assert chunk.data.dtype == source.dtype
        assert chunk.data.shape[1] == source.p
    ids = [name for chunk in chunks if chunk.ids is not None for name in chunk.ids]
    return np.concatenate([chunk.data for chunk in chunks]), ids


def refused(error, content, **options):
    with pytest.raises(error) as caught:
        read_all(opened(content, **options))
    assert type(caught.value) is error
    assert str(caught.value).startswith("standard input: ")
    assert caught.value.place["file"] == "standard input"
    assert caught.value.hint
    return caught.value


# Formats


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("delimiter", [b",", b"\t"])
def test_delimited_text_is_read(compression, delimiter):
    content = COMPRESSIONS[compression](TEXT.replace(b",", delimiter))
    source = opened(content)
    assert source.columns == ("a", "b")
    assert source.notes == ("left out 1 text column: s",)
    assert source.shape == (None, 2)
    assert source.file == "standard input"
    assert not source.repeatable
    assert source.file_states() == ()
    np.testing.assert_array_equal(read_all(source)[0], ROWS)
    source = opened(content, columns=["b"], id_column="s")
    assert source.unused == ("a",)
    data, ids = read_all(source)
    np.testing.assert_array_equal(data, np.array(ROWS)[:, 1:])
    assert ids == ["x", "y", "z"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_arrow_streams_are_read(compression):
    table = pa.table({"s": ["x", "y", "z"], "a": [1, 3, 5], "b": [2.0, None, 6.5]})
    source = opened(COMPRESSIONS[compression](arrow(table)), id_column="s")
    assert source.columns == ("a", "b")
    assert source.file == "standard input"
    data, ids = read_all(source)
    np.testing.assert_array_equal(data, ROWS)
    assert ids == ["x", "y", "z"]
    assert opened(arrow(table)).notes == ("left out 1 text column: s",)
    single = pa.table({"a": pa.array([1.5, None], pa.float32())})
    assert opened(arrow(single)).dtype == np.float32


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("dtype", ["f4", ">f8", "f8", "i8", "u1", "?"])
def test_arrays_are_read(compression, dtype):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype)
    content = COMPRESSIONS[compression](npy(x))
    source = opened(content)
    assert source.columns is None
    assert source.shape == (2, 3)
    data = read_all(source)[0]
    assert data.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert data.flags.writeable
    np.testing.assert_array_equal(data, x.astype(float))
    np.testing.assert_array_equal(
        read_all(opened(content, columns=["2", "0"]))[0], x[:, [2, 0]].astype(float)
    )


def test_tabs_are_detected_after_byte_order_marks_and_blank_lines():
    for start in (b"\xef\xbb\xbf", b"\n\n", b"\r\n"):
        data = read_all(opened(start + b"a\tb, c\td\n1\t2\t3\n".replace(b", c", b"")))[0]
        assert data.tolist() == [[1, 2, 3]]
    assert opened(b'"a\tb",c\n1,2\n').columns == ("a\tb", "c")


@pytest.mark.parametrize("shift", range(6))
def test_the_part_of_a_line_where_detection_ends_decides_nothing(shift):
    row = ";".join(["1.234"] * 40)
    content = "\n".join([";".join(map(str, range(39))) + ";x" + "x" * shift, *[row] * 400])
    error = refused(MalformedFileError, content.encode())
    assert "'1.234' may be 1.234 or 1234" in str(error)


def test_chunks_of_every_format_can_start_at_any_row(monkeypatch):
    monkeypatch.setattr(delimited_stream, "MIN_PIECE_BYTES", 64)
    monkeypatch.setattr(delimited_stream, "MAX_PIECE_BYTES", 64)
    monkeypatch.setattr(numpy_file, "NUMBERS_PER_CHUNK", 20)
    x = np.arange(120.0).reshape(60, 2)
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in x.tolist())
    for content in (
        text.encode(),
        npy(x),
        arrow(pa.table({"a": x[:, 0], "b": x[:, 1]}), 7),
    ):
        for start in (0, 1, 13, 59):
            np.testing.assert_array_equal(read_all(opened(content), start)[0], x[start:])
        assert list(opened(content).chunks(60)) == []


# Read only once


@pytest.mark.parametrize("content", [TEXT, npy(np.eye(3)), arrow(pa.table({"a": [1.0]}))])
def test_rows_can_be_read_only_once(content):
    source = opened(content)
    chunks = source.chunks()
    with pytest.raises(ParameterError, match="can be read only once") as caught:
        source.chunks()
    assert "Save it to a file" in caught.value.hint
    assert next(chunks).data.shape[1] == source.p
    with pytest.raises(ParameterError):
        source.chunks()


def test_the_stream_is_left_open():
    for content in (
        TEXT,
        gzip.compress(TEXT, mtime=0),
        npy(np.eye(3)),
        arrow(pa.table({"a": [1.0]})),
    ):
        stream = io.BytesIO(content)
        read_all(open_stdin(stream))
        assert not stream.closed


def test_chunks_and_buffers_stay_small():
    class Endless(io.RawIOBase):
        bytes_read = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            text = (b"a,b,c\n" if self.bytes_read == 0 else b"") + b"1.25,2.5,3\n" * 1000
            text = text[: len(buffer)].rpartition(b"\n")[0] + b"\n"
            buffer[: len(text)] = text
            self.bytes_read += len(text)
            return len(text)

    stream = Endless()
    source = open_stdin(stream)
    chunks, rows = source.chunks(), 0
    for _ in range(10):
        chunk = next(chunks)
        assert chunk.data.size <= 2**21
        rows += len(chunk.data)
    chunks.close()
    assert stream.bytes_read - 11 * rows < 32 << 20


def test_a_pipe_is_read_while_it_is_written():
    x = np.arange(300_000.0).reshape(-1, 3)
    text = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % tuple(row) for row in x.astype(int).tolist())
    for content in (text, gzip.compress(text, 1, mtime=0), npy(x)):
        outlet, inlet = os.pipe()

        def send(inlet=inlet, content=content):
            with open(inlet, "wb", buffering=0) as file:
                for at in range(0, len(content), 50_001):
                    file.write(content[at : at + 50_001])

        sender = threading.Thread(target=send)
        sender.start()
        with open(outlet, "rb", buffering=0) as file:
            data = read_all(open_stdin(file))[0]
        sender.join()
        np.testing.assert_array_equal(data, x)


# Invalid input


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_input_is_refused(content):
    error = refused(NoRowsError, content)
    assert "the input is empty" in str(error)
    assert "Send a table" in error.hint
    assert "the command before the pipe may have failed" in error.hint


@pytest.mark.parametrize("content", [b"\n\n", b"a,b\n", npy(np.zeros((0, 2)))])
def test_an_input_without_rows_is_refused(content):
    assert "no rows" in str(refused(NoRowsError, content))
    assert "no rows" in str(refused(NoRowsError, arrow(pa.table({"a": pa.array([], "f8")}))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1" + bytes(100), "Parquet"),
        (b"ARROW1\0\0" + bytes(100), "Arrow file"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (npy(np.ones((3, 2), order="F")), "Fortran"),
    ],
)
def test_formats_that_need_a_file_are_refused(content, message):
    error = refused(ParameterError, content)
    assert message in str(error)
    assert "file" in error.hint


def test_unknown_columns_are_refused():
    for content in (TEXT, arrow(pa.table({"a": [1.0]})), npy(np.eye(3))):
        refused(ColumnError, content, columns=["x"])
    with pytest.raises(ParameterError, match="numbers only"):
        opened(npy(np.eye(3)), id_column="0")


def test_arrays_that_are_not_tables_are_refused():
    refused(ShapeError, npy(np.zeros(3)))
    refused(NotNumericError, npy(np.zeros((2, 2), complex)))
    error = refused(NotNumericError, npy(np.array([[1, 2], [3, 2**53 + 1]])))
    assert (error.place["row"], error.place["column"]) == (1, "1")
    x = np.ones((150_000, 2), np.int64)  # more than one chunk
    x[140_000, 1] = 2**53 + 1
    source = opened(npy(x))
    with pytest.raises(NotNumericError) as caught:
        read_all(source, 1)
    assert caught.value.place["row"] == 140_000


def test_late_errors_have_their_row_and_line(monkeypatch):
    monkeypatch.setattr(delimited_stream, "HEAD_BYTES", 100)
    good_start = b"a,b\n" + b"1,2\n" * 300
    error = refused(NotNumericError, good_start + b"\n1,abc\n1,2\n")
    assert "column 'b' row 300 (line 303): 'abc' is not a number" in str(error)
    assert error.place == {"file": "standard input", "column": "b", "row": 300, "line": 303}
    for invalid, message in (
        (b"1,2,3\n", "row 300 (line 302) has 3 fields"),
        (b'1,"2\n3,4\n', "line 302 is never closed"),
        (b"1,2\0\n", "line 302 holds a zero byte"),
    ):
        error = refused(MalformedFileError, good_start + invalid)
        assert message in str(error)
        assert error.place["line"] == 302
    assert refused(NotNumericError, good_start + b"1,9007199254740993\n").place["line"] == 302


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", ["text", "npy", "arrow"])
def test_truncated_input_is_refused_or_gives_fewer_rows(kind, compression):
    x = np.round(np.random.default_rng(1).standard_normal((100, 3)), 6)
    contents = {
        "text": ("a,b,c\n" + "".join(",".join(map(str, r)) + "\n" for r in x.tolist())).encode(),
        "npy": npy(x),
        "arrow": arrow(pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}), 10),
    }
    content = COMPRESSIONS[compression](contents[kind])
    np.testing.assert_array_equal(read_all(opened(content))[0], x)
    for i in range(64):
        try:
            data = read_all(opened(content[: len(content) * i // 64]))[0]
        except PrincompError as error:
            assert error.place["file"] == "standard input"  # noqa: PT017 - either is valid
        else:
            assert (kind, compression) == ("text", "plain")
            np.testing.assert_array_equal(data[:-1], x[: len(data) - 1])


def test_an_arrow_stream_without_its_end_is_refused():
    content = arrow(pa.table({"a": [1.0, 2.0, 3.0]}))
    assert "does not end properly" in str(refused(MalformedFileError, content[:-8]))
    refused(MalformedFileError, content[:-4])


def test_a_truncated_array_is_refused_with_its_last_row():
    error = refused(MalformedFileError, npy(np.ones((10, 2)))[:-17])
    assert "ends after 8 of 10 rows" in str(error)
    assert error.place["row"] == 8


def test_arrays_or_streams_one_after_another_are_refused():
    error = refused(MalformedFileError, npy(np.ones((10, 2))) + npy(np.ones((5, 2))))
    assert "holds several arrays" in str(error)
    content = arrow(pa.table({"a": [1.0, 2.0, 3.0]}))
    assert "more follows after the end" in str(refused(MalformedFileError, content * 2))


@pytest.mark.parametrize("kind", ["text", "npy", "arrow", "gzip", "zstd"])
def test_changed_bytes_raise_only_princomp_errors(kind):
    rng = np.random.default_rng(2)
    content = {
        "text": TEXT * 3,
        "npy": npy(np.eye(8)),
        "arrow": arrow(pa.table({"s": ["x", "yy", None], "a": [1.0, 2.0, 3.0]})),
        "gzip": gzip.compress(TEXT, mtime=0),
        "zstd": COMPRESSIONS["zstd"](TEXT),
    }[kind]
    for at in rng.integers(0, len(content), 100).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        try:
            read_all(opened(bytes(changed)))
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a valid number


def test_without_pyarrow_the_extra_is_named_and_arrays_are_read(monkeypatch):
    contents = (TEXT, gzip.compress(TEXT, mtime=0), arrow(pa.table({"a": [1.0]})))
    array = npy(np.eye(3))
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for content in contents:
        assert refused(MissingLibraryError, content).hint == "pip install 'princomp[cli]'"
    assert read_all(opened(array))[0].tolist() == np.eye(3).tolist()
