"""Parquet and Arrow in chunks: text, invalid cells, iterators of batches, damaged files."""

from __future__ import annotations

import datetime
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from columnar_cases import assert_same, numbers, opened, read_all, refused, save, whole

from princomp.errors import (
    InputNotFoundError,
    MalformedFileError,
    NotNumericError,
    PrincompError,
    ShapeError,
)
from princomp.io.readers.columnar_files import BatchSource
from princomp.io.readers.columns import Selection


@pytest.mark.usefixtures("small_chunks")
def test_text_columns_empty_at_first_are_checked_further(path):
    late = [None] * 150 + ["", "NA", "word"] + [None] * 147
    never = [None] * 299 + ["nan"]
    save(pa.table({"x": range(300), "late": late, "never": never}), path)
    source = assert_same(path)
    assert source.columns == ("x", "never")
    assert source.notes == ("left out 1 text column: late",)
    save(pa.table({"x": range(300), "late": [None] * 299 + ["1,5"]}), path)
    error = refused(NotNumericError, lambda: opened(path), path)
    assert error.place == {"file": str(path), "column": "late", "row": 299}


@pytest.mark.usefixtures("small_chunks")
def test_requested_text_columns_are_read_as_numbers(path):
    written = ["1", " 2.5 ", "+3", "NA", "-inf", "1e400", ".5", "", None, "NAN", "7."]
    text_cells = [written[i % 11] for i in range(300)]
    save(pa.table({"t": text_cells, "c": pa.array(text_cells).dictionary_encode()}), path)
    x, _ = read_all(assert_same(path, columns=["t", "c"]))
    np.testing.assert_array_equal(
        x[:11, 0], [1, 2.5, 3, np.nan, -np.inf, np.inf, 0.5, np.nan, np.nan, np.nan, 7]
    )


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x", "'x' is not a number"),
        ("1,5", "decimal comma"),
        ("nan(1)", "is not a number"),
        ("0x10", "is not a number"),
        ("1_0", "is not a number"),
        ("9007199254740993", "beyond 2**53"),
    ],
)
def test_invalid_cells_of_requested_text_columns_are_refused(path, cell, message):
    save(pa.table({"t": ["1"] * 200 + [cell] + ["1"] * 99}), path)
    source = opened(path, ["t"])
    for start in (0, 150, 200):
        error = refused(NotNumericError, lambda s=start: read_all(source, s), path)
        assert error.place == {"file": str(path), "column": "t", "row": 200}
        assert message in str(error)
    assert len(read_all(source, 201)[0]) == 99


def test_requested_text_is_refused_on_opening_if_it_starts_with_words(path):
    save(pa.table({"t": ["a", "b"], "d": [datetime.date(2020, 1, 1)] * 2}), path)
    for name in ("t", "d"):
        error = refused(NotNumericError, lambda n=name: opened(path, [n]), path)
        assert error.place["row"] == 0


def test_chunked_and_whole_reading_raise_the_same_errors(path):
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
    for table, selection in cases:
        save(table, path)
        with pytest.raises(PrincompError) as expected:
            whole(path, **selection)
        error = refused(type(expected.value), lambda a=selection: opened(path, **a), path)
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
        error = refused(NotNumericError, lambda s=start: read_all(source, s), path)
        assert error.place == {"file": str(path), "column": "b", "row": 180}
        assert f"integer {value} is beyond" in str(error)
    assert len(read_all(source, 181)[0]) == 20
    assert str(error) == str(refused(NotNumericError, lambda: whole(path), path))


def batches_of(table, rows=30):
    return table.schema, table.to_batches(max_chunksize=rows)


@pytest.mark.usefixtures("small_chunks")
def test_an_iterator_of_batches_is_read_from_any_row(tmp_path):
    table = numbers().append_column("s", pa.array(["x"] * 300))
    expected = whole(save(table, tmp_path / "t.parquet"))
    schema, batches = batches_of(table)
    once = BatchSource(schema, iter(batches), Selection(), "standard input")
    assert not once.repeatable
    assert (once.rows, once.columns, once.notes) == (None, expected.columns, expected.notes)
    assert once.file_states() == ()
    np.testing.assert_array_equal(read_all(once)[0], expected.data)
    once = BatchSource(schema, iter(batches), Selection(), "standard input")
    np.testing.assert_array_equal(read_all(once, 77)[0], expected.data[77:])


@pytest.mark.usefixtures("small_chunks")
def test_late_text_in_an_iterator_is_refused_with_its_row():
    schema, batches = batches_of(pa.table({"x": range(100), "s": [None] * 70 + ["word"] * 30}))
    source = BatchSource(schema, iter(batches), Selection(), "here")
    assert source.columns == ("x", "s")
    error = refused(NotNumericError, lambda: read_all(source), "here")
    assert error.place == {"file": "here", "column": "s", "row": 70}
    assert "exclude 's'" in error.hint


@pytest.mark.usefixtures("small_chunks")
def test_opening_reads_only_the_first_rows():
    schema, batches = batches_of(pa.table({"x": range(100), "s": ["a"] * 100}))
    batches_taken = []
    recorded = (batches_taken.append(1) or batch for batch in batches)
    source = BatchSource(schema, recorded, Selection(), "here")
    assert len(batches_taken) == 1
    assert read_all(source)[0][:, 0].tolist() == list(range(100))


def test_errors_of_batches_name_the_input():
    schema, batches = batches_of(numbers())

    def broken(error, after):
        yield from batches[:after]
        raise error

    for after in (0, 1):
        for error in (OSError("gone"), KeyError("x"), pa.ArrowInvalid("bad")):
            with pytest.raises(MalformedFileError) as caught:
                read_all(BatchSource(schema, broken(error, after), Selection(), "here"))
            assert caught.value.place == {"file": "here"}
        with pytest.raises(ShapeError, match="ours"):
            read_all(BatchSource(schema, broken(ShapeError("ours"), after), Selection(), "here"))
    with pytest.raises(ShapeError, match="no rows"):
        BatchSource(schema, iter(()), Selection(), "here")
    nothing = batches[0].slice(0, 0)
    source = BatchSource(schema, iter([nothing, nothing, batches[0], nothing]), Selection(), "here")
    assert len(read_all(source)[0]) == 30
    other = pa.record_batch({name: pa.array([1]) for name in schema.names})
    with pytest.raises(MalformedFileError, match="of other kinds"):
        read_all(BatchSource(schema, iter([*batches, other]), Selection(), "here"))
    fewer = batches[0].select(["c0"])
    with pytest.raises(MalformedFileError):
        read_all(BatchSource(schema, iter([*batches, fewer]), Selection(), "here"))


def mixed(n=200):
    x = np.random.default_rng(1).standard_normal((n, 3))
    names = pa.array([f"row {i}" for i in range(n)])
    return pa.table({"s": names, "a": x[:, 0], "b": x[:, 1], "c": (x[:, 2] * 99).astype(int)})


@pytest.mark.parametrize("id_column", [None, "s"])
def test_a_file_cut_anywhere_is_refused(path, id_column):
    content = save(mixed(), path).read_bytes()
    assert len(read_all(opened(path, id_column=id_column))[0]) == 200
    for i in [*(len(content) * i // 64 for i in range(64)), len(content) - 1]:
        path.write_bytes(content[:i])
        refused(MalformedFileError, lambda: read_all(opened(path, id_column=id_column)), path)


def test_a_file_that_shrinks_while_it_is_read_is_refused(path):
    table = mixed(20_000)
    content = save(table, path, 1000).read_bytes()
    for i in range(1, 64, 3):
        path.write_bytes(content)
        source = opened(path)
        os.truncate(path, len(content) * i // 64)
        refused(MalformedFileError, lambda s=source: read_all(s), path)


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
    refused(MalformedFileError, lambda: read_all(source), path)
    save(mixed().set_column(1, "a", pa.array([1] * 200)), path)
    refused(MalformedFileError, lambda: read_all(source), path)
    if source.rows is not None:
        for n in (100, 300):
            save(mixed(n), path)
            chunks_read = []
            refused(MalformedFileError, lambda s=chunks_read: s.extend(source.chunks()), path)
            assert sum(len(chunk.data) for chunk in chunks_read) <= 200
    path.unlink()
    refused(InputNotFoundError, lambda: read_all(source), path)


def test_changed_bytes_raise_only_princomp_errors(path):
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
                read_all(opened(path, id_column=id_column))
            except PrincompError as error:
                assert str(error)  # noqa: PT017 - a change may also be a valid number


def test_streams_joined_as_bytes_are_refused(tmp_path):
    path = save(numbers(), tmp_path / "stream.arrow")
    path.write_bytes(path.read_bytes() * 2)
    for call in (lambda: whole(path), lambda: read_all(opened(path))):
        assert "more follows after the end" in str(refused(MalformedFileError, call, path))
