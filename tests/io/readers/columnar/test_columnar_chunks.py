"""Parquet and Arrow files in chunks give the same rows as the whole file."""

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
from columnar_cases import assert_same, numbers, opened, read_all, refused, save, whole

from princomp import read_table
from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NotNumericError,
)
from princomp.io.readers import columnar_stream
from princomp.io.readers.columnar import numbers_of
from princomp.io.readers.columnar_files import ArrowSource, BatchSource, ParquetSource
from princomp.io.readers.columns import Selection
from princomp.io.readers.source import FileState

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
    source = assert_same(save(pa.table(columns), path))
    assert source.columns[:3] == ("f8", "f4", "f2")
    assert "left out" in source.notes[0]
    assert_same(path, columns=["i1", "f4"])
    for name in columns:
        assert_same(path, columns=["f4" if name == "i1" else "i1"], id_column=name)
        if name in source.columns:
            assert_same(path, columns=[name])
    assert assert_same(path, columns=["f4"]).dtype == np.float32


def test_long_integers_in_run_end_encoded_columns_are_refused(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays([3, 5], [1, 2**53 + 1])
    path = save(pa.table({"runs": runs}), tmp_path / "t.arrow")
    error = refused(NotNumericError, lambda: read_all(opened(path)), path)
    assert error.place["row"] == 3


@pytest.mark.usefixtures("small_chunks")
def test_float32_is_kept_only_if_all_used_columns_have_it(path):
    single = {"a": pa.array([1.5, None], pa.float32()), "b": pa.array([2.5, 1], pa.float32())}
    text = {"s": pa.array(["x", "y"]), "none": pa.array([None, None], pa.string())}
    save(pa.table({**single, **text}), path)
    assert assert_same(path).dtype == np.float32
    save(pa.table({**single, "flag": [True, False]}), path)
    assert assert_same(path).dtype == np.float32
    assert assert_same(path, columns=["a", "b", "flag"]).dtype == np.float64


def test_nan_with_any_bit_pattern_is_nan(path):
    odd = np.array([0x7F800001, 0xFFC00000], np.uint32).view(np.float32)
    source = opened(save(pa.table({"f4": odd, "f8": [1.0, 2.0]}), path))
    assert np.isnan(read_all(source)[0][:, 0]).all()


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("rows", [1, 7, 16, 17, 300])
def test_chunks_can_start_at_any_row(path, rows):
    table = numbers().append_column("id", pa.array([f"row {i}" for i in range(300)]))
    save(table, path, rows)
    source = assert_same(path, id_column="id")
    x, ids = read_all(source)
    for start in (0, 1, rows - 1, rows, rows + 1, 15, 16, 17, 150, 299, 300, 301, 1000):
        rows_read, names = read_all(source, start)
        np.testing.assert_array_equal(rows_read, x[start:])
        assert rows_read.shape[0] == 0 or names.tolist() == ids[start:].tolist()
    assert [len(chunk.data) for chunk in source.chunks()] == [16] * 18 + [12]


def test_row_groups_before_the_start_are_not_read(tmp_path):
    path = save(numbers(300), tmp_path / "t.parquet")
    x, _ = read_all(opened(path))
    metadata = pa.parquet.read_metadata(path)
    column = metadata.row_group(3).column(0)
    damaged = bytearray(path.read_bytes())
    damaged[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    path.write_bytes(damaged)
    np.testing.assert_array_equal(read_all(opened(path), 200)[0], x[200:])
    with pytest.raises(MalformedFileError):
        read_all(opened(path), 199)


def test_batches_before_the_start_are_not_read(tmp_path):
    table = pa.table({"x": range(200), "s": ["first"] * 50 + ["other"] * 150})
    path = save(table, tmp_path / "t.arrow")
    damaged = path.read_bytes().replace(b"first", b"\xff\xff\xff\xff\xff")
    path.write_bytes(damaged)
    source = opened(path, ["x"], id_column="s")
    assert read_all(source, 50)[0][:, 0].tolist() == list(range(50, 200))
    refused(MalformedFileError, lambda: read_all(source, 49), path)


def test_empty_row_groups_and_batches_are_skipped(path):
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
    x, _ = read_all(assert_same(path))
    for start in (8, 9, 10):
        np.testing.assert_array_equal(read_all(opened(path), start)[0], x[start:])


def test_small_batches_are_joined_into_chunks(path, monkeypatch):
    n = 50_000
    table = pa.table({f"c{j}": np.arange(n) + j / 8 for j in range(8)})
    save(table, path, 5000 if path.suffix == ".parquet" else 100)
    sizes = [chunk.data.size for chunk in assert_same(path).chunks()]
    assert min(sizes) >= 2**16
    assert max(sizes) <= 2**20
    # Columns of the 500 batches are not converted separately.
    calls = []
    monkeypatch.setattr(columnar_stream, "numbers_of", lambda *a: calls.append(1) or numbers_of(*a))
    read_all(opened(path))
    assert len(calls) <= 100


def test_text_is_decoded_in_small_batches(tmp_path, monkeypatch):
    path = save(pa.table({"x": range(5), "s": ["x"] * 5}), tmp_path / "t.parquet")
    sizes = []

    def recording(self, batch_size, **options):
        sizes.append(batch_size)
        return iter_batches(self, batch_size, **options)

    iter_batches = pa.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", recording)
    read_all(opened(path))
    read_all(opened(path, ["x"], id_column="s"))
    assert sizes == [2**14, 2**21, 2**14]


def test_a_large_batch_is_split_into_chunks(path):
    x = np.random.default_rng(0).standard_normal(2_500_000).astype(np.float32)
    save(pa.table({"a": x}), path, len(x))
    source = opened(path)
    sizes = [chunk.data.size for chunk in source.chunks()]
    assert len(sizes) == 3
    assert max(sizes) <= 2**20
    np.testing.assert_array_equal(read_all(source)[0][:, 0], x)


def test_wide_tables_are_read(path):
    x = np.random.default_rng(0).standard_normal((30, 1500))
    save(pa.table({f"c{j}": x[:, j] for j in range(1500)}), path, 11)
    np.testing.assert_array_equal(read_all(assert_same(path))[0], x)


def test_compressed_batches_are_read(tmp_path):
    table, path = numbers(), tmp_path / "t.arrow"
    for kind, new in itertools.product(("zstd", "lz4"), (pa.ipc.new_file, pa.ipc.new_stream)):
        options = pa.ipc.IpcWriteOptions(compression=kind)
        with new(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=70)
        assert_same(path)


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
        assert assert_same(path, id_column="c").columns[0] == "a"
        assert_same(path)
    note = "left out the row index that pandas stored: __index_level_0__"
    assert note in opened(tmp_path / "pandas.parquet").notes
    assert_same(tmp_path / "pandas.parquet", columns=["__index_level_0__"])
    # If only the index remains, it is read as a column.
    assert_same(tmp_path / "pandas.parquet", exclude=["a", "b", "c"])


def test_an_index_of_pandas_without_other_columns_is_read_as_a_column(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame(index=pd.Index([7, 2, 5], name="k")).to_parquet(path)
    for read in (opened, whole):
        table = read(path, find_ids=True)
        assert (table.columns, table.id_column, table.notes) == (("k",), None, ())
        assert read_all(table)[0].tolist() == [[7], [2], [5]]


def test_a_first_column_without_a_name_is_analysed(tmp_path):
    table = pa.table([[5.5, 9.1, 2.0], [1.0, 2.5, 4.0]], names=["", "x"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    read = opened(tmp_path / "t.parquet", find_ids=True)
    assert (read.columns, read.id_column) == (("", "x"), None)


def test_an_unknown_column_is_refused_before_batches_are_read():
    schema, read = pa.schema([("x", pa.float64())]), []
    batches = (read.append(i) for i in range(3))
    with pytest.raises(ColumnError):
        BatchSource(schema, batches, Selection(["z"]), "here")
    assert not read


@pytest.mark.usefixtures("small_chunks")
def test_categories_may_differ_from_batch_to_batch(tmp_path):
    kind = pa.dictionary(pa.int8(), pa.string())
    batches = [
        pa.record_batch({"c": pa.array(words).cast(kind), "x": pa.array([1.0, 2.0])})
        for words in (["1", "2"], ["3", None], ["5", "1"])
    ]
    source = BatchSource(batches[0].schema, batches, Selection(["x"], id_column="c"), "here")
    assert read_all(source)[1].tolist() == ["1", "2", "3", None, "5", "1"]
    source = BatchSource(batches[0].schema, batches, Selection(["c"]), "here")
    np.testing.assert_array_equal(read_all(source)[0][:, 0], [1, 2, 3, np.nan, 5, 1])


def test_more_categories_than_an_int8_index_holds_are_read():
    kind = pa.dictionary(pa.int8(), pa.string())
    names = [str(i) for i in range(300)]
    batches = [
        pa.record_batch({"c": pa.array(names[i : i + 3]).cast(kind), "x": pa.array([1.0] * 3)})
        for i in range(0, 300, 3)
    ]
    source = BatchSource(batches[0].schema, batches, Selection(["x"], id_column="c"), "here")
    assert read_all(source)[1].tolist() == names


def test_column_names_may_contain_dots(path):
    save(pa.table({"a": [1.0, 2.0], "a.b": [3.0, 4.0], "s": pa.array([{"x": 1}] * 2)}), path)
    assert assert_same(path, columns=["a"]).unused == ("a.b", "s")
    assert read_all(assert_same(path, columns=["a.b", "a"]))[0].tolist() == [[3, 1], [4, 2]]


def test_sources_can_be_copied_and_read_again(path):
    source = opened(save(numbers(), path), ["c1", "c0"])
    x, _ = read_all(source)
    for other in (source, copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        np.testing.assert_array_equal(read_all(other)[0], x)
        assert other.repeatable
        assert not other.random_access
    assert source.file_states() == (FileState.of(path),)


def test_the_file_is_closed_when_the_chunks_are(path):
    def open_count():
        if not os.path.exists("/proc/self/fd"):
            pytest.skip("this system does not list open files")
        names = [f"/proc/self/fd/{i}" for i in os.listdir("/proc/self/fd")]
        return [os.readlink(name) for name in names if os.path.lexists(name)].count(str(path))

    source = opened(save(pa.table({"a": np.arange(3e6), "s": ["x"] * 3_000_000}), path, 100_000))
    assert open_count() == 0
    chunks = source.chunks()
    next(chunks)
    assert open_count() == 1
    chunks.close()
    assert open_count() == 0
    read_all(source)
    assert open_count() == 0


def test_nbytes_is_the_size_of_the_file(path):
    assert opened(save(numbers(), path), ["c1"]).nbytes == path.stat().st_size


@pytest.mark.parametrize(("n", "where"), [(500, "all"), (20_000, "the first 16,384")])
def test_a_note_says_in_how_many_rows_the_names_differ(tmp_path, n, where):
    times = pa.array(np.arange(n), pa.timestamp("s"))
    table = pa.table({"time": times, "x": np.arange(n) % 7.0, "y": np.arange(n) % 5.0})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    source = read_table(tmp_path / "t.parquet")
    named = f"the rows are named by column 'time', which differs in {where} rows"
    assert source.notes[0].startswith(named)


def test_a_column_excluded_by_its_number_names_no_rows(tmp_path):
    table = pa.table({"0": list("abcd"), "1": [1.0, 2.0, 3.0, 5.0], "2": [2.0, 1.0, 4.0, 3.0]})
    path = save(table, tmp_path / "t.parquet")
    for excluded in (["0"], [0]):
        assert ParquetSource(path, Selection(exclude=excluded, find_ids=True)).id_column is None
    assert ParquetSource(path, Selection(find_ids=True)).id_column == "0"


@pytest.mark.parametrize("name", ["t.arrow", "stream.arrow", "t.parquet"])
def test_few_rows_of_a_first_batch_do_not_decide_what_names_the_rows(tmp_path, name):
    table = pa.table({"dose": [1, 2, 3] * 4, "x": np.arange(12.0) ** 2, "y": np.arange(12) % 5.0})
    path = save(table, tmp_path / name, rows=3)
    for source in (opened(path, find_ids=True), whole(path, find_ids=True)):
        assert (source.id_column, source.columns) == (None, ("dose", "x", "y"))
    stream = BatchSource(table.schema, table.to_batches(3), Selection(find_ids=True), "here")
    assert stream.columns == ("dose", "x", "y")
    np.testing.assert_array_equal(read_all(stream)[0][:, 0], [1, 2, 3] * 4)


def test_decimals_are_rounded_to_the_nearest_float(path):
    cells = [decimal.Decimal(k) / 100 for k in range(200)]
    save(pa.table({"a": pa.array(cells, pa.decimal128(20, 2))}), path)
    assert read_all(assert_same(path))[0][:, 0].tolist() == list(map(float, cells))
    cells = [decimal.Decimal(k) for k in [*range(70), 2**53 + 1]]
    save(pa.table({"a": pa.array(cells, pa.decimal128(38, 0))}), path)
    for call in (lambda: read_all(opened(path)), lambda: whole(path)):
        assert "9007199254740993 is beyond" in str(refused(NotNumericError, call, path))


@pytest.mark.parametrize("read_whole", [False, True])
def test_a_column_that_counts_in_the_first_batch_only_is_analysed(path, read_whole):
    table = pa.table({"dose": [1, 2, 3, 10, 20, 30], "y": [1.5, 5, 3, 2, 8, 9]})
    save(table, path, rows=3)
    opener = ParquetSource if path.suffix == ".parquet" else ArrowSource
    source = opener(path, Selection(find_ids=True), whole=read_whole)
    source = source.table() if read_whole else source
    assert source.columns == ("dose", "y")
    save(table.set_column(0, "dose", [range(6)]), path, rows=3)
    source = opener(path, Selection(find_ids=True), whole=read_whole)
    source = source.table() if read_whole else source
    assert source.columns == ("y",)
