"""Tables written in blocks equal tables written at once, and are complete or absent."""

from __future__ import annotations

import datetime as dt
import errno
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from helpers import read_whole
from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    NotNumericError,
    OutputError,
    OutputExistsError,
    ParameterError,
    ShapeError,
)
from princomp.io.table_writer import FORMATS, open_table, write_table

WITH_IDS = [name for name in FORMATS if name != "npy"]
every_format = pytest.mark.parametrize("format", FORMATS)


@pytest.fixture
def x():
    x = np.random.default_rng(3).standard_normal((1000, 3))
    x[::7, 1] = np.nan
    return x


def write_blocks(target, x, ids=None, *, sizes=(1, 0, 64, 500), **options):
    options.setdefault("columns", [f"PC{j + 1}" for j in range(x.shape[1])])
    with open_table(target, with_ids=ids is not None, **options) as table:
        start = 0
        for size in (*sizes, len(x)):
            stop = start + size
            table.write(x[start:stop], None if ids is None else ids[start:stop])
            start = min(stop, len(x))
        assert table.rows == len(x)


def written_bytes(folder, format, x, ids=None, **options):
    path = folder / f"written.{format}"
    write_blocks(path, x, ids, **options)
    return path.read_bytes()


# Valid tables


@every_format
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_give_the_same_table_as_one_write(tmp_path, x, format, dtype):
    x = x.astype(dtype)
    whole, streamed = tmp_path / f"whole.{format}", tmp_path / f"streamed.{format}"
    write_table(whole, columns=["PC1", "PC2", "PC3"], data=x)
    write_blocks(streamed, x, dtype=dtype)
    a, b = read_whole(whole), read_whole(streamed)
    assert b.data.tobytes() == a.data.tobytes()
    assert b.columns == a.columns
    np.testing.assert_array_equal(b.data.astype(dtype), x)
    if format in ("csv", "tsv", "npy"):
        assert streamed.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("format", WITH_IDS)
def test_ids_written_in_blocks_survive_a_round_trip(tmp_path, x, format):
    ids = np.array([f"{i:04}" if i % 9 else None for i in range(len(x))], object)
    ids[700] = 'a,"b"\nc\td'
    write_blocks(tmp_path / f"x.{format}", x, ids, id_column="code")
    table = read_whole(tmp_path / f"x.{format}", id_column="code")
    assert table.ids.tolist() == ids.tolist()
    np.testing.assert_array_equal(table.data, x)


@every_format
def test_a_table_without_blocks_has_no_rows(tmp_path, format):
    path = tmp_path / f"x.{format}"
    with open_table(path, columns=["a", "b"], with_ids=True):
        pass
    if format == "npy":
        found = np.load(path)
        assert found.shape == (0, 2)
        assert found.dtype == np.float64
    elif format == "parquet":
        schema = pq.read_table(path).schema
        assert schema.names == ["id", "a", "b"]
        assert schema.types == [pa.string(), pa.float64(), pa.float64()]
    elif format == "arrow":
        assert pa.feather.read_table(path).shape == (0, 3)
    else:
        with pytest.raises(ShapeError, match="rows"):
            read_whole(path)


def test_only_blocks_that_need_quotes_are_quoted():
    out = io.BytesIO()
    with open_table(out, columns=["a"], with_ids=True) as table:
        table.write(np.ones((1, 1)), ["plain"])
        table.write(np.ones((1, 1)), ["a,b"])
        table.write(np.ones((1, 1)), [7])
    assert out.getvalue() == b'id,a\nplain,1\n"a,b",1\n7,1\n'


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 12_345])
def test_npy_files_equal_those_of_numpy_save(tmp_path, n, dtype):
    x = np.arange(n * 2.0, dtype=dtype).reshape(n, 2)
    write_blocks(tmp_path / "x.npy", x, dtype=dtype)
    np.save(tmp_path / "y.npy", x)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


def test_small_blocks_are_merged_and_large_ones_split(tmp_path):
    x = np.arange(2.0 * 1_200_000).reshape(-1, 2)
    file = pq.ParquetFile(io.BytesIO(written_bytes(tmp_path, "parquet", x, sizes=[1000] * 300)))
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert groups == [2**19, 2**19, 1_200_000 - 2**20]
    np.testing.assert_array_equal(file.read().to_pandas().to_numpy(), x)
    reader = pa.ipc.open_file(written_bytes(tmp_path, "arrow", x, sizes=[900_000]))
    sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
    assert sizes == groups


def test_row_groups_of_wide_tables_keep_many_rows(tmp_path):
    x = np.zeros((3000, 1000), np.float32)
    file = pq.ParquetFile(io.BytesIO(written_bytes(tmp_path, "parquet", x, dtype=np.float32)))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2048, 952]


@every_format
def test_block_buffers_may_be_reused(tmp_path, x, format):
    path, block, ids = tmp_path / f"x.{format}", np.empty((10, 3)), [""] * 10
    with open_table(path, columns=["a", "b", "c"], with_ids=format != "npy") as table:
        for start in range(0, 1000, 10):
            block[:] = x[start : start + 10]
            ids[:] = [str(start + i) for i in range(10)]
            table.write(block, None if format == "npy" else ids)
            block[:] = -1
            ids[:] = ["gone"] * 10
    table = read_whole(path, id_column=None if format == "npy" else "id")
    np.testing.assert_array_equal(table.data, x)
    if format != "npy":
        assert [str(i) for i in table.ids] == [str(i) for i in range(1000)]


def test_missing_numbers_are_written_as_nan_not_null(tmp_path, x):
    table = pq.read_table(io.BytesIO(written_bytes(tmp_path, "parquet", x)))
    assert table.column("PC2").null_count == 0
    assert np.isnan(table.column("PC2").to_numpy()).sum() == np.isnan(x).sum()


# Types of ids


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("ids", "type"),
    [
        ([None, 3, 2**60, None, -1], pa.int64()),
        ([dt.date(2020, 1, i + 1) for i in range(5)], pa.date32()),
        ([None] * 5, pa.string()),
    ],
)
def test_ids_of_one_type_keep_their_type(tmp_path, format, ids, type):
    data = io.BytesIO(written_bytes(tmp_path, format, np.ones((5, 1)), ids, sizes=[1] * 5))
    table = pq.read_table(data) if format == "parquet" else pa.ipc.open_file(data).read_all()
    assert table.schema.field("id").type == type
    assert table.column("id").to_pylist() == ids


@pytest.mark.parametrize("ids", [[1, "b", None], ["b", 1, None], [None, 2**70, 1.5]])
def test_ids_of_several_types_become_text(tmp_path, ids):
    content = written_bytes(tmp_path, "parquet", np.ones((3, 1)), ids, sizes=[1] * 3)
    table = pq.read_table(io.BytesIO(content))
    assert table.column("id").to_pylist() == [i if i is None else str(i) for i in ids]


@pytest.mark.parametrize(
    ("first", "second", "kept"), [([1, 2], [3.0, None], [3, None]), (["a", "b"], [7, None], ["7"])]
)
def test_later_row_groups_keep_the_id_type_of_the_first(tmp_path, monkeypatch, first, second, kept):
    monkeypatch.setattr("princomp.io.table_encoders.GROUP_NUMBERS", 2)
    monkeypatch.setattr("princomp.io.table_encoders.MIN_GROUP_ROWS", 2)
    out = tmp_path / "x.parquet"
    with open_table(out, columns=["a"], with_ids=True) as table:
        table.write(np.ones((2, 1)), first)
        table.write(np.ones((2, 1)), second)
    found = pq.read_table(out).column("id").to_pylist()
    assert found[:2] == first
    assert found[2 : 2 + len(kept)] == kept


def test_the_whole_block_determines_the_id_type(tmp_path, monkeypatch):
    monkeypatch.setattr("princomp.io.table_encoders.GROUP_NUMBERS", 2)
    monkeypatch.setattr("princomp.io.table_encoders.MIN_GROUP_ROWS", 2)
    out = tmp_path / "x.parquet"
    write_table(out, columns=["a"], data=np.ones((4, 1)), ids=[1, 2, None, "x"])
    assert pq.ParquetFile(out).num_row_groups == 2
    assert pq.read_table(out).column("id").to_pylist() == ["1", "2", None, "x"]


def test_ids_of_another_type_in_later_row_groups_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("princomp.io.table_encoders.GROUP_NUMBERS", 2)
    monkeypatch.setattr("princomp.io.table_encoders.MIN_GROUP_ROWS", 2)
    data, ids = np.ones((4, 1)), [1, 2, 3, "x"]
    with pytest.raises(NotNumericError, match=r"row 3 .* id 'x' .*int64") as caught:
        write_blocks(tmp_path / "x.parquet", data, ids, columns=["a"], sizes=[1, 1, 1])
    assert caught.value.place == {"row": 3, "column": "id"}
    assert "text" in caught.value.hint
    assert os.listdir(tmp_path) == []


# Invalid input


def test_rows_that_do_not_fit_are_refused_and_the_table_continues(tmp_path):
    path = tmp_path / "x.csv"
    with open_table(path, columns=["a", "b"], dtype=np.float32) as table:
        table.write(np.ones((1, 2), np.float32))
        with pytest.raises(ShapeError, match=r"2 column names do not fit .*\(1, 3\)"):
            table.write(np.ones((1, 3), np.float32))
        with pytest.raises(ShapeError, match=r"\(2,\)"):
            table.write(np.ones(2, np.float32))
        with pytest.raises(TypeError, match=r"float64.*float32"):
            table.write(np.ones((1, 2)))
        table.write(np.array([[True, False]]))
        assert table.rows == 2
    assert path.read_bytes() == b"a,b\n1,1\n1,0\n"


def test_invalid_tables_are_refused_before_opening_a_file(tmp_path):
    path = tmp_path / "new" / "x.csv"
    for target, kind, message, options in (
        (path, ShapeError, "a column", {"columns": []}),
        (path, ColumnError, "'a'", {"id_column": "a", "with_ids": True}),
        (path.with_suffix(".xlsx"), ParameterError, "xlsx", {}),
    ):
        with (
            pytest.raises(kind, match=message),
            open_table(target, **{"columns": ["a"], **options}),
        ):
            pass
    assert os.listdir(tmp_path) == []


class UnseekableStream(io.RawIOBase):
    """A stream that cannot seek and accepts few bytes at a time, as a raw pipe may."""

    def __init__(self):
        self.content = b""

    def writable(self):
        return True

    def write(self, data):
        self.content += bytes(data[:1000])
        return min(len(data), 1000)


def test_short_writes_to_a_stream_are_continued(tmp_path, x):
    out = UnseekableStream()
    write_blocks(out, x)
    (tmp_path / "x.csv").write_bytes(out.content)
    np.testing.assert_array_equal(read_whole(tmp_path / "x.csv").data, x)


@every_format
def test_a_wrong_announced_number_of_rows_is_refused(tmp_path, x, format):
    with pytest.raises(ShapeError, match="1,000 rows were written, but rows=999 was given"):
        write_blocks(tmp_path / f"x.{format}", x, rows=999)
    assert os.listdir(tmp_path) == []


# Complete or absent


@pytest.fixture
def old(tmp_path, request):
    arguments = getattr(getattr(request.node, "callspec", None), "params", {})
    path = tmp_path / f"old.{arguments.get('format', 'csv')}"
    path.write_bytes(b"the old content\n")
    return path


def untouched(old):
    return old.read_bytes() == b"the old content\n" and os.listdir(old.parent) == [old.name]


@every_format
@pytest.mark.parametrize("blocks", [0, 3])
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), FileNotFoundError(errno.ENOENT, "gone"), InputNotFoundError("gone")],
    ids=["interrupt", "system", "input"],
)
def test_errors_in_the_body_propagate_and_keep_the_old_file(old, x, format, blocks, error):
    def interrupted():
        with open_table(old, columns=["a", "b", "c"], force=True) as table:
            for _ in range(blocks):
                table.write(x)
            raise error

    with pytest.raises(type(error)) as caught:
        interrupted()
    assert caught.value is error
    assert untouched(old)


@every_format
def test_the_file_appears_only_when_complete(tmp_path, x, format):
    path = tmp_path / f"x.{format}"
    with open_table(path, columns=["a", "b", "c"]) as table:
        table.write(x)
        assert not path.exists()
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(OutputExistsError), open_table(path, columns=["a"]):
        pass


def into_full_device(handle, mode):
    os.close(handle)
    return open("/dev/full", "wb")


needs_full_device = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="needs a device that is full"
)


@needs_full_device
def test_errors_in_the_body_take_precedence_over_disk_errors(old, monkeypatch, x):
    def interrupted():
        with open_table(old, columns=["a", "b", "c"], force=True) as table:
            table.write(x[:10])
            raise ZeroDivisionError

    monkeypatch.setattr("os.fdopen", into_full_device)
    with pytest.raises(ZeroDivisionError):
        interrupted()
    monkeypatch.undo()
    assert untouched(old)


@needs_full_device
@every_format
@pytest.mark.parametrize("n", [10, 400_000])
def test_a_disk_that_fills_up_leaves_the_old_file(old, monkeypatch, format, n):
    monkeypatch.setattr("os.fdopen", into_full_device)
    with pytest.raises(OutputError, match="No space left") as caught:
        write_blocks(old, np.zeros((n, 3)) + np.pi, force=True)
    monkeypatch.undo()
    assert caught.value.place["file"] == str(old)
    assert untouched(old)


def test_a_pipe_closed_midway_raises_broken_pipe(x):
    reader, writer = os.pipe()
    with open(writer, "wb", buffering=0) as pipe:
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            write_blocks(pipe, x, rows=len(x))


def test_streams_are_flushed_and_stay_open(x):
    class CountingStream(io.BytesIO):
        flushes = 0

        def flush(self):
            self.flushes += 1

    out = CountingStream()
    write_blocks(out, x)
    assert out.flushes
    assert not out.closed
