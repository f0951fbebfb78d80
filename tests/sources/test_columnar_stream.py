"""Parquet and Arrow in chunks: the same table as read whole, whatever the batches are."""

from __future__ import annotations

import copy
import datetime
import decimal
import itertools
import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from princomp.errors import (
    InputNotFoundError,
    MalformedFileError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.sources import columnar_stream
from princomp.sources.columnar import numbers_of, read_arrow, read_parquet
from princomp.sources.columnar_stream import BatchSource, open_arrow, open_parquet
from princomp.sources.source import Identity

FILES = ["t.parquet", "t.arrow", "stream.arrow"]


def save(table, path, rows=50):
    """Save by the ending of the name, in row groups or batches of ``rows``."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=rows)
    else:
        new = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def opened(path, columns=None, exclude=(), id_column=None):
    opener = open_parquet if path.suffix == ".parquet" else open_arrow
    return opener(path, columns, exclude, id_column)


def whole(path, columns=None, exclude=(), id_column=None):
    reader = read_parquet if path.suffix == ".parquet" else read_arrow
    return reader(path, columns, exclude, id_column)


def together(source, start=0):
    """Rows and ids of all chunks, each looked at."""
    chunks = list(source.chunks(start))
    for data, ids in chunks:
        assert data.flags.c_contiguous
        assert data.dtype == source.dtype
        assert data.shape[0] > 0
        assert data.shape[1] == source.p
        assert (ids is None) == (source.id_column is None)
        assert ids is None or (ids.dtype == object and ids.shape == (len(data),))
    if not chunks:
        return np.empty((0, source.p)), None
    ids = None if source.id_column is None else np.concatenate([c.ids for c in chunks])
    return np.vstack([chunk.data for chunk in chunks]), ids


def same(path, **asked):
    """Assert that chunks give what the whole file gives; the source."""
    table, source = whole(path, **asked), opened(path, **asked)
    data, ids = together(source)
    np.testing.assert_array_equal(data, table.data)
    assert source.dtype == table.data.dtype
    assert source.rows in (None, len(data))
    assert source.p == data.shape[1]
    for word in ("columns", "notes", "file", "unused", "id_column"):
        assert getattr(source, word) == getattr(table, word)
    assert (ids is None) == (table.ids is None)
    if ids is not None:
        assert repr(ids.tolist()) == repr(table.ids.tolist())  # NaN is not itself
    return source


def refused(error, use, path):
    with pytest.raises(error) as caught:
        use()
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    return caught.value


@pytest.fixture(params=FILES)
def path(request, tmp_path):
    return tmp_path / request.param


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of 64 numbers, batches joined to 8, so that small files have many."""
    for name, value in [("_NUMBERS", 64), ("_DECODED", 32), ("_JOINED", 8), ("_LOOK", 16)]:
        monkeypatch.setattr(columnar_stream, name, value)
    monkeypatch.setattr(columnar_stream, "_PIECE", 3)


def numbers(n=300, p=4, nulls=True):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, p))
    mask = (rng.random((n, p)) < 0.1) & nulls
    return pa.table({f"c{j}": pa.array(x[:, j], mask=mask[:, j]) for j in range(p)})


# What is read

COLUMNS = {
    "f8": pa.array([0.5, None, np.nan, np.inf] * 50),
    "f4": pa.array([0.5, None, 1e-40, -np.inf] * 50, pa.float32()),
    "f2": pa.array(np.arange(200).astype(np.float16), mask=np.arange(200) % 7 == 0),
    "i8": pa.array([2**53, -(2**53), None, 3] * 50),
    "i8 full": pa.array(range(200), pa.int64()),
    "i4": pa.array([1, None, -3, 2**31 - 1] * 50, pa.int32()),
    "i1": pa.array([1, 2, 3, -128] * 50, pa.int8()),
    "u8": pa.array([1, None, 2**53, 0] * 50, pa.uint64()),
    "u2": pa.array([1, 2, 65535, None] * 50, pa.uint16()),
    "flag": pa.array([True, None, False, True] * 50),
    "d128": pa.array([decimal.Decimal("1.25"), None] * 100, pa.decimal128(10, 2)),
    "d256": pa.array([decimal.Decimal("-0.1"), None] * 100, pa.decimal256(50, 30)),
    "nothing": pa.nulls(200),
    "empty text": pa.array([None] * 200, pa.string()),
    "text": pa.array(["x", "y", None, "12"] * 50),
    "large": pa.array(["x", "y", None, "12"] * 50, pa.large_string()),
    "view": pa.array(["x", "y"] * 100, pa.string_view()),
    "category": pa.array(["x", "y", None, "z"] * 50).dictionary_encode(),
    "date": pa.array([datetime.date(2020, 1, 1), None] * 100),
    "empty date": pa.array([None] * 200, pa.date32()),
    "time": pa.array([datetime.datetime(2020, 1, 1), None] * 100),
    "list": pa.array([[1.0], None, [], [2.0, 3.0]] * 50),
    "record": pa.array([{"a": 1}, None] * 100),
    "bytes": pa.array([b"1", None] * 100),
}


def unusual():
    storage = pa.array([1, None] * 100, pa.int8())
    return {
        "runs": pa.RunEndEncodedArray.from_arrays([150, 200], [1.5, None]),
        "flags": pa.RunEndEncodedArray.from_arrays([3, 150, 200], [True, None, False]),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), storage),
        "uuid": pa.array([b"0123456789abcdef"] * 200, pa.uuid()),
        "interval": pa.array([(1, 2, 3), None] * 100, pa.month_day_nano_interval()),
    }


@pytest.mark.usefixtures("small_chunks")
def test_columns_of_every_kind_are_those_of_the_whole_file(path):
    columns = COLUMNS if path.suffix == ".parquet" else {**COLUMNS, **unusual()}
    source = same(save(pa.table(columns), path))
    assert source.columns[:3] == ("f8", "f4", "f2")
    assert "left out" in source.notes[0]
    same(path, columns=["i1", "f4"])
    for name in columns:
        same(path, columns=["f4" if name == "i1" else "i1"], id_column=name)
        if name in source.columns:
            same(path, columns=[name])
    assert same(path, columns=["f4"]).dtype == np.float32


def test_long_integers_are_found_in_runs_of_them(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays([3, 5], [1, 2**53 + 1])
    path = save(pa.table({"runs": runs}), tmp_path / "t.arrow")
    error = refused(NotNumericError, lambda: together(opened(path)), path)
    assert error.place["row"] == 4


@pytest.mark.usefixtures("small_chunks")
def test_single_precision_needs_every_used_column_to_have_it(path):
    single = {"a": pa.array([1.5, None], pa.float32()), "b": pa.array([2.5, 1], pa.float32())}
    text = {"s": pa.array(["x", "y"]), "none": pa.array([None, None], pa.string())}
    save(pa.table({**single, **text}), path)
    assert same(path).dtype == np.float32
    save(pa.table({**single, "flag": [True, False]}), path)
    assert same(path).dtype == np.float64
    assert same(path, exclude=["flag"]).dtype == np.float32


def test_nan_of_any_bits_is_nan(path):
    odd = np.array([0x7F800001, 0xFFC00000], np.uint32).view(np.float32)
    source = opened(save(pa.table({"f4": odd, "f8": [1.0, 2.0]}), path))
    assert np.isnan(together(source)[0][:, 0]).all()


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("rows", [1, 7, 16, 17, 300])
def test_rows_from_every_border_on_are_the_rows_from_there(path, rows):
    table = numbers().append_column("id", pa.array([f"row {i}" for i in range(300)]))
    save(table, path, rows)
    source = same(path, id_column="id")
    x, ids = together(source)
    for start in (0, 1, rows - 1, rows, rows + 1, 15, 16, 17, 150, 299, 300, 301, 1000):
        got, names = together(source, start)
        np.testing.assert_array_equal(got, x[start:])
        assert got.shape[0] == 0 or names.tolist() == ids[start:].tolist()
    assert [len(chunk.data) for chunk in source.chunks()] == [16] * 18 + [12]


def test_row_groups_before_the_start_are_not_read(tmp_path):
    path = save(numbers(300), tmp_path / "t.parquet")
    x, _ = together(opened(path))
    metadata = pa.parquet.read_metadata(path)
    column = metadata.row_group(3).column(0)
    damaged = bytearray(path.read_bytes())
    damaged[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    path.write_bytes(damaged)
    np.testing.assert_array_equal(together(opened(path), 200)[0], x[200:])
    with pytest.raises(MalformedFileError):
        together(opened(path), 199)


def test_batches_before_the_start_are_not_read(tmp_path):
    table = pa.table({"x": range(200), "s": ["first"] * 50 + ["other"] * 150})
    path = save(table, tmp_path / "t.arrow")
    damaged = path.read_bytes().replace(b"first", b"\xff\xff\xff\xff\xff")
    path.write_bytes(damaged)
    source = opened(path, ["x"], id_column="s")
    assert together(source, 50)[0][:, 0].tolist() == list(range(50, 200))
    refused(MalformedFileError, lambda: together(source, 49), path)


def test_empty_row_groups_and_batches_are_passed_over(path):
    table = numbers(20)
    parts = [table.slice(0, 0), table.slice(0, 9), table.slice(0, 0), table.slice(9)]
    if path.suffix == ".parquet":
        with pa.parquet.ParquetWriter(path, table.schema) as writer:
            for part in [*parts, table.slice(0, 0)]:
                writer.write_table(part)
    else:
        new = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            for part in [*parts, table.slice(0, 0)]:
                for batch in part.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
                    writer.write_batch(batch)
    x, _ = together(same(path))
    for start in (8, 9, 10):
        np.testing.assert_array_equal(together(opened(path), start)[0], x[start:])


def test_many_small_batches_become_few_chunks(path, monkeypatch):
    n = 50_000
    table = pa.table({f"c{j}": np.arange(n) + j / 8 for j in range(8)})
    save(table, path, 5000 if path.suffix == ".parquet" else 100)
    sizes = [chunk.data.size for chunk in same(path).chunks()]
    assert min(sizes) >= 2**16
    assert max(sizes) <= 2**20
    # Nor is each column of each of the 500 batches converted by itself.
    calls = []
    monkeypatch.setattr(columnar_stream, "numbers_of", lambda *a: calls.append(1) or numbers_of(*a))
    together(opened(path))
    assert len(calls) <= 100


def test_text_is_decoded_in_few_rows(tmp_path, monkeypatch):
    path = save(pa.table({"x": range(5), "s": ["x"] * 5}), tmp_path / "t.parquet")
    sizes = []

    def spied(self, batch_size, **options):
        sizes.append(batch_size)
        return iter_batches(self, batch_size, **options)

    iter_batches = pa.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", spied)
    together(opened(path))
    together(opened(path, ["x"], id_column="s"))
    assert sizes == [2**14, 2**21, 2**14]


def test_a_large_batch_becomes_several_chunks(path):
    x = np.random.default_rng(0).standard_normal(2_500_000).astype(np.float32)
    save(pa.table({"a": x}), path, len(x))
    source = opened(path)
    sizes = [chunk.data.size for chunk in source.chunks()]
    assert len(sizes) == 3
    assert max(sizes) <= 2**20
    np.testing.assert_array_equal(together(source)[0][:, 0], x)


def test_wide_tables_are_read(path):
    x = np.random.default_rng(0).standard_normal((30, 1500))
    save(pa.table({f"c{j}": x[:, j] for j in range(1500)}), path, 11)
    np.testing.assert_array_equal(together(same(path))[0], x)


def test_compressed_batches_are_read(tmp_path):
    table, path = numbers(), tmp_path / "t.arrow"
    for kind, new in itertools.product(("zstd", "lz4"), (pa.ipc.new_file, pa.ipc.new_stream)):
        options = pa.ipc.IpcWriteOptions(compression=kind)
        with new(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=70)
        same(path)


@pytest.mark.usefixtures("small_chunks")
def test_files_of_pandas_and_polars_are_read(tmp_path):
    words = ["u", "v", None] * 20
    frame = pd.DataFrame(
        {"a": np.arange(60.0), "b": range(60), "c": pd.Categorical(words)},
        index=[*range(60, 0, -1)],
    )
    frame.to_parquet(tmp_path / "pandas.parquet")
    frame.to_feather(tmp_path / "pandas.arrow")
    other = pl.DataFrame({"a": np.arange(60.0), "s": words}).with_columns(
        pl.col("s").cast(pl.Categorical).alias("c")
    )
    other.write_parquet(tmp_path / "polars.parquet")
    other.write_ipc(tmp_path / "polars.arrow")
    other.write_ipc_stream(tmp_path / "stream.ipc")
    for path in tmp_path.iterdir():
        assert same(path, id_column="c").columns[0] == "a"
        same(path)
    note = "left out the row index that pandas stored: __index_level_0__"
    assert note in opened(tmp_path / "pandas.parquet").notes
    same(tmp_path / "pandas.parquet", columns=["__index_level_0__"])
    # Where nothing else remains, the index is what was meant.
    same(tmp_path / "pandas.parquet", exclude=["a", "b", "c"])


@pytest.mark.usefixtures("small_chunks")
def test_categories_may_differ_from_batch_to_batch(tmp_path):
    kind = pa.dictionary(pa.int8(), pa.string())
    batches = [
        pa.record_batch({"c": pa.array(words).cast(kind), "x": pa.array([1.0, 2.0])})
        for words in (["1", "2"], ["3", None], ["5", "1"])
    ]
    source = BatchSource(batches[0].schema, lambda: batches, ["x"], id_column="c")
    assert together(source)[1].tolist() == ["1", "2", "3", None, "5", "1"]
    source = BatchSource(batches[0].schema, lambda: batches, ["c"])
    np.testing.assert_array_equal(together(source)[0][:, 0], [1, 2, 3, np.nan, 5, 1])


@pytest.mark.usefixtures("small_chunks")
def test_categories_may_be_too_many_to_be_joined(monkeypatch):
    monkeypatch.setattr(columnar_stream, "_JOINED", 400)
    kind = pa.dictionary(pa.int8(), pa.string())
    names = [str(i) for i in range(300)]
    batches = [
        pa.record_batch({"c": pa.array(names[i : i + 3]).cast(kind), "x": pa.array([1.0] * 3)})
        for i in range(0, 300, 3)
    ]
    source = BatchSource(batches[0].schema, iter(batches), ["x"], id_column="c")
    assert together(source)[1].tolist() == names


def test_names_with_points_are_names(path):
    save(pa.table({"a": [1.0, 2.0], "a.b": [3.0, 4.0], "s": pa.array([{"x": 1}] * 2)}), path)
    assert same(path, columns=["a"]).unused == ("a.b", "s")
    assert together(same(path, columns=["a.b", "a"]))[0].tolist() == [[3, 1], [4, 2]]


def test_sources_can_be_copied_and_read_again(path):
    source = opened(save(numbers(), path), ["c1", "c0"])
    x, _ = together(source)
    for other in (source, copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        np.testing.assert_array_equal(together(other)[0], x)
        assert other.repeatable
        assert not other.positioned
    assert source.identities() == (Identity.of(path),)


def test_the_file_is_closed_when_the_chunks_are(path):
    def times_open():
        if not os.path.exists("/proc/self/fd"):
            pytest.skip("this system does not list open files")
        names = [f"/proc/self/fd/{i}" for i in os.listdir("/proc/self/fd")]
        return [os.readlink(name) for name in names if os.path.lexists(name)].count(str(path))

    source = opened(save(pa.table({"a": np.arange(3e6), "s": ["x"] * 3_000_000}), path, 100_000))
    assert times_open() == 0
    chunks = source.chunks()
    next(chunks)
    assert times_open() == 1
    chunks.close()
    assert times_open() == 0
    together(source)
    assert times_open() == 0


def test_bytes_are_those_of_the_file(path):
    assert opened(save(numbers(), path), ["c1"]).nbytes == path.stat().st_size


# What a column of text becomes


@pytest.mark.usefixtures("small_chunks")
def test_text_without_a_cell_in_its_first_rows_is_looked_at_further(path):
    late = [None] * 150 + ["", "NA", "word"] + [None] * 147
    never = [None] * 299 + ["nan"]
    save(pa.table({"x": range(300), "late": late, "never": never}), path)
    source = same(path)
    assert source.columns == ("x", "never")
    assert source.notes == ("left out 1 text column: late",)
    save(pa.table({"x": range(300), "late": [None] * 299 + ["1,5"]}), path)
    error = refused(NotNumericError, lambda: opened(path), path)
    assert error.place == {"file": str(path), "column": "late", "row": 300}


@pytest.mark.usefixtures("small_chunks")
def test_text_that_was_asked_for_is_read_as_numbers_in_every_batch(path):
    written = ["1", " 2.5 ", "+3", "NA", "-inf", "1e400", ".5", "", None, "NAN", "7."]
    words = [written[i % 11] for i in range(300)]
    save(pa.table({"t": words, "c": pa.array(words).dictionary_encode()}), path)
    x, _ = together(same(path, columns=["t", "c"]))
    np.testing.assert_array_equal(
        x[:11, 0], [1, 2.5, 3, np.nan, -np.inf, np.inf, 0.5, np.nan, np.nan, np.nan, 7]
    )


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("x", "'x' is not a number"),
        ("1,5", "decimal comma"),
        ("nan(1)", "is not a number"),
        ("0x10", "is not a number"),
        ("1_0", "is not a number"),
        ("9007199254740993", "beyond 2**53"),
    ],
)
def test_text_that_was_asked_for_and_is_none_is_refused_with_its_row(path, cell, words):
    save(pa.table({"t": ["1"] * 200 + [cell] + ["1"] * 99}), path)
    source = opened(path, ["t"])
    for start in (0, 150, 200):
        error = refused(NotNumericError, lambda s=start: together(source, s), path)
        assert error.place == {"file": str(path), "column": "t", "row": 201}
        assert words in str(error)
    assert len(together(source, 201)[0]) == 99


def test_text_that_was_asked_for_is_refused_at_opening_where_it_begins_so(path):
    save(pa.table({"t": ["a", "b"], "d": [datetime.date(2020, 1, 1)] * 2}), path)
    for name in ("t", "d"):
        error = refused(NotNumericError, lambda n=name: opened(path, [n]), path)
        assert error.place["row"] == 1


def test_the_same_is_refused_as_of_a_whole_file(path):
    cases = [
        (pa.table({"a": ["1", "2", "x"]}), {}),
        (pa.table({"zip": ["01234", "99999"], "x": [1.0, 2.0]}), {}),
        (pa.table({"a": ["x"], "b": ["y"]}), {}),
        (pa.table({"a": ["x"]}), {"columns": ["a"]}),
        (pa.table({"a": pa.array([], pa.float64())}), {}),
        (pa.table({"a": pa.array([], pa.string())}), {}),
        (pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), {}),
        (pa.table({"a": [1.0]}), {"columns": ["b"]}),
        (pa.table({"a": [1.0]}), {"exclude": ["a"]}),
        (pa.table({"a": [1.0]}), {"columns": ["a"], "id_column": "a"}),
    ]
    for table, asked in cases:
        save(table, path)
        with pytest.raises(PrincompError) as expected:
            whole(path, **asked)
        error = refused(type(expected.value), lambda a=asked: opened(path, **a), path)
        assert str(error) == str(expected.value)
        assert error.place == expected.value.place


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), 2**53 + 1),
        (pa.int64(), -(2**63)),
        (pa.uint64(), 2**64 - 1),
    ],
)
def test_integers_that_would_lose_digits_are_refused_with_row_and_column(path, kind, value):
    cells = [1, None, 2**53] * 60 + [value] + [None, 4] * 10
    save(pa.table({"a": range(201), "b": pa.array(cells, kind)}), path)
    source = opened(path)
    for start in (0, 100, 180):
        error = refused(NotNumericError, lambda s=start: together(source, s), path)
        assert error.place == {"file": str(path), "column": "b", "row": 181}
        assert f"integer {value} is beyond" in str(error)
    assert len(together(source, 181)[0]) == 20
    assert str(error) == str(refused(NotNumericError, lambda: whole(path), path))


# Batches that are no file


def batches_of(table, rows=30):
    return table.schema, table.to_batches(max_chunksize=rows)


@pytest.mark.usefixtures("small_chunks")
def test_batches_are_seen_once_unless_they_can_be_opened_again(tmp_path):
    table = numbers().append_column("s", pa.array(["x"] * 300))
    expected = whole(save(table, tmp_path / "t.parquet"))
    schema, batches = batches_of(table)
    once = BatchSource(schema, iter(batches), file="standard input")
    assert not once.repeatable
    assert (once.rows, once.columns, once.notes) == (None, expected.columns, expected.notes)
    assert once.identities() == ()
    np.testing.assert_array_equal(together(once)[0], expected.data)
    with pytest.raises(ParameterError, match="standard input: its rows can be read once"):
        once.chunks()
    again = BatchSource(schema, lambda: batches)
    assert again.repeatable
    for start in (0, 77):
        np.testing.assert_array_equal(together(again, start)[0], expected.data[start:])
        once = BatchSource(schema, iter(batches))
        np.testing.assert_array_equal(together(once, start)[0], expected.data[start:])


@pytest.mark.usefixtures("small_chunks")
def test_text_after_rows_seen_once_is_refused_with_its_row():
    schema, batches = batches_of(pa.table({"x": range(100), "s": [None] * 70 + ["word"] * 30}))
    source = BatchSource(schema, iter(batches), file="here")
    assert source.columns == ("x", "s")
    error = refused(NotNumericError, lambda: together(source), "here")
    assert error.place == {"file": "here", "column": "s", "row": 71}
    assert "exclude 's'" in error.hint


def test_no_more_batches_are_taken_than_are_needed():
    schema, batches = batches_of(pa.table({"x": range(100), "s": ["a"] * 100}))
    taken = []
    source = BatchSource(schema, (taken.append(1) or batch for batch in batches))
    assert len(taken) == 1
    assert together(source)[0][:, 0].tolist() == list(range(100))


def test_what_batches_raise_is_said_of_the_input():
    schema, batches = batches_of(numbers())

    def broken(error, after):
        yield from batches[:after]
        raise error

    for after in (0, 1):
        for error in (OSError("gone"), KeyError("x"), pa.ArrowInvalid("bad")):
            with pytest.raises(MalformedFileError) as caught:
                together(BatchSource(schema, broken(error, after), file="here"))
            assert caught.value.place == {"file": "here"}
        with pytest.raises(ShapeError, match="ours"):
            together(BatchSource(schema, broken(ShapeError("ours"), after)))
    with pytest.raises(ShapeError, match="no rows"):
        BatchSource(schema, iter(()))
    nothing = batches[0].slice(0, 0)
    source = BatchSource(schema, iter([nothing, nothing, batches[0], nothing]))
    assert len(together(source)[0]) == 30
    other = pa.record_batch({name: pa.array([1]) for name in schema.names})
    with pytest.raises(MalformedFileError, match="of other kinds"):
        together(BatchSource(schema, iter([*batches, other])))
    fewer = batches[0].select(["c0"])
    with pytest.raises(MalformedFileError):
        together(BatchSource(schema, iter([*batches, fewer])))


# Files that are damaged, or change


def mixed(n=200):
    x = np.random.default_rng(1).standard_normal((n, 3))
    names = pa.array([f"row {i}" for i in range(n)])
    return pa.table({"s": names, "a": x[:, 0], "b": x[:, 1], "c": (x[:, 2] * 99).astype(int)})


@pytest.mark.parametrize("id_column", [None, "s"])
def test_a_file_cut_anywhere_is_refused(path, id_column):
    content = save(mixed(), path).read_bytes()
    assert len(together(opened(path, id_column=id_column))[0]) == 200
    for i in [*(len(content) * i // 64 for i in range(64)), len(content) - 1]:
        path.write_bytes(content[:i])
        refused(MalformedFileError, lambda: together(opened(path, id_column=id_column)), path)


def test_a_file_that_shrinks_while_it_is_read_is_refused(path):
    table = mixed(20_000)
    content = save(table, path, 1000).read_bytes()
    for i in range(1, 64, 3):
        path.write_bytes(content)
        source = opened(path)
        os.truncate(path, len(content) * i // 64)
        refused(MalformedFileError, lambda s=source: together(s), path)


@pytest.mark.usefixtures("small_chunks")
def test_a_stream_cut_between_two_batches_while_it_is_read_is_refused(tmp_path):
    path = save(mixed(), tmp_path / "stream.arrow")
    source = opened(path)
    chunks = source.chunks()
    next(chunks)
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_stream(file)
        reader.read_next_batch()
        reader.read_next_batch()
        between = file.tell()
    os.truncate(path, between)
    refused(MalformedFileError, lambda: list(chunks), path)


@pytest.mark.usefixtures("small_chunks")
def test_a_file_that_is_replaced_by_another_is_refused(path):
    source = opened(save(mixed(), path))
    save(mixed().select(["s", "a", "b"]), path)
    refused(MalformedFileError, lambda: together(source), path)
    save(mixed().set_column(1, "a", pa.array([1] * 200)), path)
    refused(MalformedFileError, lambda: together(source), path)
    if source.rows is not None:
        for n in (100, 300):
            save(mixed(n), path)
            seen = []
            refused(MalformedFileError, lambda s=seen: s.extend(source.chunks()), path)
            assert sum(len(chunk.data) for chunk in seen) <= 200
    path.unlink()
    refused(InputNotFoundError, lambda: together(source), path)


def test_a_changed_byte_never_escapes_as_a_foreign_error(path):
    rng = np.random.default_rng(2)
    columns = {
        "s": ["x", "yy", None] * 20,
        "a": rng.standard_normal(60),
        "i": pa.array([1, None] * 30),
        "flag": pa.array([True, None] * 30),
        "c": pa.array(["x", "yy", None] * 20).dictionary_encode(),
    }
    if path.suffix != ".parquet":
        columns["runs"] = pa.RunEndEncodedArray.from_arrays([20, 60], [1.5, None])
    content = save(pa.table(columns), path, 25).read_bytes()
    for at in rng.integers(0, len(content), 250).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        for id_column in (None, "s"):
            try:
                together(opened(path, id_column=id_column))
            except PrincompError as error:
                assert str(error)  # noqa: PT017 - a change may also be a lawful number
