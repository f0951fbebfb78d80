"""Rows from iterators of batches: all rows in order, and errors that name their batch."""

from __future__ import annotations

from array import array

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError
from princomp.io.readers.batches import BatchedRows

MAKERS = [pytest.param(make, id=make.__module__) for make in (pd.DataFrame, pl.DataFrame)]
MAKERS += [pytest.param(make, id=make.__name__) for make in (pa.table, pa.record_batch)]
every_library = pytest.mark.parametrize("make", MAKERS)


def numbers(n, start=0, p=3, dtype=np.float64):
    return np.arange(start, start + n * p, dtype=dtype).reshape(n, p)


def all_rows(source, start=0):
    """All rows; checks every chunk."""
    parts = []
    for chunk in source.chunks(start):
        assert chunk.ids is None
        assert chunk.data.shape[0] > 0
        assert chunk.data.shape[1] == source.p
        assert chunk.data.dtype == source.dtype
        assert sp.issparse(chunk.data) == (source.stored is not None)
        if sp.issparse(chunk.data):
            assert isinstance(chunk.data, sp.csr_array)
            assert chunk.data.has_canonical_format
            parts.append(chunk.data.toarray())
        else:
            assert chunk.data.flags.c_contiguous
            parts.append(chunk.data)
    return np.concatenate(parts)


def rows_of(*batches, start=0, **options):
    return all_rows(BatchedRows(iter(batches), **options), start)


# What is read


def test_rows_of_an_iterator_are_read_in_order_and_the_first_is_not_lost():
    source = BatchedRows(numbers(4, 100 * i) for i in range(3))
    assert source.shape == (None, 3)
    assert source.dtype == np.float64
    assert source.columns is None
    assert source.stored is None
    assert not source.repeatable
    assert not source.random_access
    assert source.file_states() == ()
    np.testing.assert_array_equal(
        all_rows(source), np.concatenate([numbers(4, 100 * i) for i in range(3)])
    )


def test_opening_reads_only_to_the_first_batch_with_rows():
    given = []

    def batches():
        for n in (0, 2, 3, 4):
            given.append(n)
            yield numbers(n)

    source = BatchedRows(batches())
    assert given == [0, 2]
    assert len(all_rows(source)) == 9


def test_an_iterator_can_be_read_only_once():
    source = BatchedRows(iter([numbers(2)]))
    all_rows(source)
    with pytest.raises(ParameterError, match="an iterator can be read only once") as caught:
        all_rows(source)
    assert "lambda: batches()" in caught.value.hint


def test_a_function_is_called_once_per_pass():
    calls = []

    def make():
        calls.append(1)
        return (numbers(3, 9 * i) for i in range(2))

    source = BatchedRows(make)
    assert source.repeatable
    for times in (1, 2, 3):
        np.testing.assert_array_equal(all_rows(source), numbers(6))
        assert len(calls) == times


def test_an_iterable_can_be_read_again():
    source = BatchedRows([numbers(2), numbers(3, 6)])
    assert source.repeatable
    for _ in range(2):
        np.testing.assert_array_equal(all_rows(source), numbers(5))


@pytest.mark.parametrize("start", range(8))
def test_chunks_can_start_at_any_row(start):
    batches = [numbers(2), numbers(0), numbers(1, 6), numbers(4, 9)]
    source = BatchedRows(lambda: iter(batches))
    found = [chunk.data for chunk in source.chunks(start)]
    np.testing.assert_array_equal(np.concatenate([numbers(0), *found]), numbers(7)[start:])
    assert all(len(part) for part in found)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_batches_are_split(order, dtype):
    x = np.asarray(np.random.default_rng(0).standard_normal((250_000, 10)), dtype, order=order)
    source = BatchedRows(iter([x]))
    sizes = []
    start_row = 0
    for chunk in source.chunks():
        sizes.append(chunk.data.size)
        np.testing.assert_array_equal(chunk.data, x[start_row : start_row + len(chunk.data)])
        assert chunk.data.flags.c_contiguous
        start_row += len(chunk.data)
    assert start_row == len(x)
    assert max(sizes) <= 2**20
    assert len(sizes) == 3


def test_the_iterator_may_reuse_its_arrays():
    def one_array():
        batch = np.empty((3, 2))
        for i in range(4):
            batch[:] = i
            yield batch

    def one_matrix():
        batch = sp.csr_array(np.ones((3, 2)))
        for i in range(4):
            batch.data[:] = i
            yield batch

    for batches in (one_array(), one_matrix()):
        chunks = [chunk.data for chunk in BatchedRows(batches).chunks()]
        assert [chunk[0, 0] for chunk in chunks] == [0, 1, 2, 3]


# Kinds of batches


@every_library
def test_columns_of_frames_are_matched_by_name(make):
    first, second = numbers(2), numbers(3, 50)
    names = ("a", "b", "c")
    moved = {name: second[:, "abc".index(name)] for name in "cab"}
    batches = [make({name: first[:, j] for j, name in enumerate(names)}), make(moved)]
    source = BatchedRows(iter(batches))
    assert source.columns == names
    np.testing.assert_array_equal(all_rows(source), np.concatenate([first, second]))


@every_library
def test_nulls_booleans_and_integers_are_numbers(make):
    frame = make({"f": [0.5, None], "i": [1, 2], "b": [True, False]})
    np.testing.assert_array_equal(rows_of(frame), [[0.5, 1, 1], [np.nan, 2, 0]])


@every_library
def test_requested_columns_are_read_in_the_requested_order(make):
    frames = [
        make({"a": [1.0], "b": [2.0], "s": ["x"]}),
        make({"b": [4.0], "t": ["y"], "a": [3.0]}),
    ]
    source = BatchedRows(iter(frames), columns=["b", "a"])
    assert source.columns == ("b", "a")
    assert source.unused == ("s",)
    np.testing.assert_array_equal(all_rows(source), [[2, 1], [4, 3]])


def test_a_record_batch_reader_is_an_iterator_of_batches():
    table = pa.table({"a": np.arange(5.0), "b": np.arange(5)})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(2))
    source = BatchedRows(reader)
    assert source.columns == ("a", "b")
    np.testing.assert_array_equal(all_rows(source), np.repeat(np.arange(5.0), 2).reshape(-1, 2))


def test_arrays_can_be_given_names():
    source = BatchedRows(
        iter([numbers(2), pd.DataFrame(numbers(1), columns=list("cab"))]), columns="abc"
    )
    assert source.columns == ("a", "b", "c")
    np.testing.assert_array_equal(all_rows(source), [[0, 1, 2], [3, 4, 5], [1, 2, 0]])
    with pytest.raises(ShapeError, match="2 column names do not fit 3 columns"):
        BatchedRows(iter([numbers(2)]), columns=["a", "b"])


def test_columns_without_names_are_matched_by_position():
    source = BatchedRows(iter([pd.DataFrame(numbers(2)), numbers(1), pd.DataFrame(numbers(1))]))
    assert source.columns is None
    np.testing.assert_array_equal(all_rows(source)[2:], [[0, 1, 2], [0, 1, 2]])


def test_lists_of_lists_are_batches():
    np.testing.assert_array_equal(rows_of([[1, 2]], [], [[3, 4.5]]), [[1, 2], [3, 4.5]])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_sparse_batches_stay_sparse(rng, kind, dtype):
    x = np.round(3 * rng.standard_normal((30, 5))).astype(dtype)
    source = BatchedRows(iter([kind(x[:20]), kind(x[20:])]))
    assert source.stored == np.count_nonzero(x[:20])
    assert source.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(all_rows(source), x)


def test_large_sparse_batches_are_split(rng):
    x = sp.random_array((30_000, 500), density=0.2, rng=rng, format="csr")
    source = BatchedRows(iter([x]))
    parts = [chunk.data for chunk in source.chunks()]
    assert len(parts) == 3
    assert (sp.vstack(parts) != x).nnz == 0


def test_later_batches_are_dense_or_sparse_like_the_first():
    dense, sparse = numbers(3), sp.csr_array(numbers(2, 90))
    whole = np.concatenate([dense, sparse.toarray()])
    source = BatchedRows(iter([dense, sparse]))
    assert source.stored is None
    np.testing.assert_array_equal(all_rows(source), whole)
    source = BatchedRows(iter([sparse, dense]))
    assert source.stored == 6
    np.testing.assert_array_equal(all_rows(source), whole[[3, 4, 0, 1, 2]])


def test_missing_numbers_stay_missing_in_sparse_rows():
    first = sp.csr_array([[1.0, 0.0]])
    assert np.isnan(rows_of(first, np.array([[np.nan, 0.0]]))[1, 0])


def test_the_first_batch_determines_the_precision():
    single, double = numbers(2, dtype=np.float32), numbers(1)
    assert rows_of(single, single).dtype == np.float32
    assert rows_of(double, single).dtype == np.float64
    assert rows_of(numbers(2, dtype=np.int64), single).dtype == np.float64
    for later in (double, numbers(1, dtype=np.int32), sp.csr_array(double)):
        with pytest.raises(ParameterError, match=r"batch 2 needs float64, .* float32") as caught:
            rows_of(single, later)
        assert caught.value.place == {"batch": 2}
        assert "one precision" in caught.value.hint


# What is refused


def test_no_batches_and_batches_without_rows_are_refused():
    for batches in ([], [numbers(0)], [[], sp.csr_array((0, 3)), pd.DataFrame({"a": []})]):
        for rows in (iter(batches), lambda batches=batches: iter(batches)):
            with pytest.raises(ShapeError, match="no batch with rows"):
                BatchedRows(rows)


def test_another_number_of_columns_is_refused_with_the_batch():
    with pytest.raises(ShapeError, match="batch 3 has 4 columns, the first has 3") as caught:
        rows_of(numbers(2), numbers(0), numbers(2, p=4))
    assert caught.value.place == {"batch": 3}


@every_library
def test_other_names_are_refused_with_the_batch(make):
    first = make({"a": [1.0], "b": [2.0]})
    with pytest.raises(ColumnError, match=r"batch 2: .* missing: 'b'; new: 'c'") as caught:
        rows_of(first, make({"a": [1.0], "c": [2.0]}))
    assert caught.value.place == {"batch": 2, "column": "b", "missing": ["b"], "new": ["c"]}
    with pytest.raises(ColumnError, match=r"batch 2: no column 'b'"):
        rows_of(first, make({"a": [1.0], "c": [2.0]}), columns=["a", "b"])


# Databases give rows as tuples or objects of their own.
@pytest.mark.parametrize(
    ("vector", "one_row"),
    [
        (np.ones(3), "X.reshape(1, -1)"),
        (pd.Series([1.0, 2.0]), "X.to_frame().T"),
        ([1.0, 2.0], "[X]"),
        ((1, 2), "[X]"),
        (array("d", [1.0, 2.0]), "[X]"),
    ],
)
def test_batches_of_other_dimensions_are_refused(vector, one_row):
    with pytest.raises(ShapeError, match="batch 2: a table has rows and columns") as caught:
        rows_of(numbers(1, p=2), vector)
    assert f": {one_row} is one row, " in caught.value.hint
    vectors = np.empty(2, dtype=object)
    vectors[:] = [np.ones(3), np.zeros(3)]
    with pytest.raises(ShapeError, match=r"numpy.stack\(X\) makes each vector X\[i\] a row"):
        rows_of(vectors)
    with pytest.raises(ShapeError, match=r"\(2, 2, 2\)"):
        rows_of(np.ones((2, 2, 2)))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (np.array([[1j]]), "Complex data"),
        (np.array([[2**53 + 1]]), "column 0 row 0: the integer 9007199254740993 is beyond"),
        (np.array([["x"]]), "'x' at row 0, column 0 is not a number"),
        (pd.DataFrame({"a": [2**53 + 1]}), "column 'a' row 0: the integer 9007199254740993"),
        (pa.record_batch({"a": ["x"]}), "column 'a' row 0: 'x' is not a number"),
    ],
)
def test_cells_that_are_not_numbers_are_refused_with_the_batch(batch, message):
    with pytest.raises(NotNumericError, match=f"batch 2: .*{message}") as caught:
        rows_of(numbers(1, p=1), batch)
    assert caught.value.place["batch"] == 2


@pytest.mark.parametrize(
    "batch", [(np.ones((2, 1)), np.ones(2)), {"a": [1.0]}, 1.0, None, [[1.0], [1.0, 2.0]]]
)
def test_invalid_batches_are_refused(batch):
    with pytest.raises((ParameterError, ShapeError), match="batch 1: ") as caught:
        rows_of(batch)
    assert caught.value.place == {"batch": 1}
    assert caught.value.hint


def test_open_files_and_lazy_frames_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with (
        path.open() as file,
        pytest.raises(ParameterError, match=r"batch 1: .* 'a,b\\n'") as caught,
    ):
        BatchedRows(file)
    assert "by name" in caught.value.hint
    with pytest.raises(ParameterError, match="batch 1: a lazy frame"):
        BatchedRows(iter([pl.LazyFrame({"a": [1.0]})]))


@pytest.mark.parametrize(
    "whole",
    [
        numbers(2),
        pd.DataFrame(numbers(2)),
        pa.table({"a": [1]}),
        sp.csr_array(numbers(2)),
        "x.csv",
        7,
    ],
)
def test_a_function_that_returns_no_iterator_is_refused(whole):
    with pytest.raises(ParameterError, match="expected an iterator of batches") as caught:
        BatchedRows(lambda: whole)
    assert "list of one batch" in caught.value.hint


def test_exceptions_of_the_iterator_propagate_unchanged():
    raised = ValueError("mine")

    def batches():
        yield numbers(2)
        raise raised

    source = BatchedRows(batches())
    with pytest.raises(ValueError, match="mine") as caught:
        all_rows(source)
    assert caught.value is raised

    def fails_at_once():
        raise raised
        yield

    with pytest.raises(ValueError, match="mine") as caught:
        BatchedRows(fails_at_once())
    assert caught.value is raised


# A second pass


def test_a_function_must_give_the_same_rows_again():
    def second(*others):
        turns = iter([[numbers(2), numbers(2)], others])
        source = BatchedRows(lambda: iter(next(turns)))
        all_rows(source)
        return list(source.chunks())

    with pytest.raises(ShapeError, match="batch 1 has 2 columns, the first has 3"):
        second(numbers(2, p=2))
    with pytest.raises(ShapeError, match="2 rows this time, 4 the time before"):
        second(numbers(2))
    with pytest.raises(ShapeError, match="0 rows this time"):
        second()
    assert sum(len(chunk.data) for chunk in second(numbers(1), numbers(3))) == 4

    turns = iter([pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})])
    source = BatchedRows(lambda: iter([next(turns)]))
    all_rows(source)
    with pytest.raises(ColumnError, match="batch 1: "):
        all_rows(source)


def test_a_function_that_returns_an_exhausted_iterator_is_refused():
    once = iter([numbers(2)])
    source = BatchedRows(lambda: once)
    all_rows(source)
    assert source.fingerprint() == ()
    with pytest.raises(ShapeError, match="0 rows this time, 2 the time before") as caught:
        all_rows(source)
    assert "new iterator" in caught.value.hint


def test_iterators_with_a_close_method_are_closed():
    class Reader:
        def __init__(self):
            self.left, self.closed = 3, 0

        def __iter__(self):
            return self

        def __next__(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return numbers(2)

        def close(self):
            self.closed += 1

    made = Reader()
    assert len(all_rows(BatchedRows(lambda: made))) == 6
    assert made.closed == 1
    given = Reader()
    assert len(all_rows(BatchedRows(given))) == 6
    assert given.closed == 0


def test_only_iterators_made_by_a_function_are_closed():
    closed = []

    def batches():
        try:
            for i in range(5):
                yield numbers(2, i)
        finally:
            closed.append(True)

    chunks = BatchedRows(batches).chunks()
    next(chunks)
    chunks.close()
    assert closed == [True]

    given = batches()
    chunks = BatchedRows(given).chunks()
    next(chunks)
    chunks.close()
    assert closed == [True]
    assert len(list(given)) == 4


@every_library
def test_named_batches_are_compared_with_each_other_after_one_without_names(make):
    def batches():
        yield numbers(2)
        yield make({"a": [1.0], "b": [2.0], "c": [3.0]})
        yield make({"c": [6.0], "a": [4.0], "b": [5.0]})

    source = BatchedRows(batches)
    with pytest.warns(UserWarning, match="batch 2 has column names, the first batch has none"):
        found = all_rows(source)
    for _ in range(2):  # the warning comes once
        np.testing.assert_array_equal(found[2:], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        found = all_rows(source)
    assert source.columns is None
    other = make({"a": [1.0], "b": [2.0], "x": [3.0]})
    with (
        pytest.warns(UserWarning, match="matched by position"),
        pytest.raises(ColumnError, match=r"batch 4: its columns are not those of batch 2; missing"),
    ):
        rows_of(*batches(), other)


def test_a_batch_without_names_among_named_ones_warns():
    frame = pd.DataFrame(numbers(2), columns=list("abc"))
    with pytest.warns(UserWarning, match="first batch has column names, batch 2 has none"):
        np.testing.assert_array_equal(rows_of(frame, numbers(2)), np.tile(numbers(2), (2, 1)))
