"""Rows of a source taken into memory: all, the first ones, and what stays of an iterator."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.errors import InputChangedError, ShapeError
from princomp.io.readers.batches import open_batches
from princomp.io.readers.files import open_source
from princomp.io.readers.materialize import read_if_small, read_whole
from princomp.io.readers.several import SourceChain
from princomp.io.readers.source import Chunk, FileState, RowPlace, Source, TableSource
from princomp.io.readers.table import Table

ROWS, COLUMNS = 100, 4


@pytest.fixture
def table(rng):
    return rng.standard_normal((ROWS, COLUMNS))


class Stream(Source):
    """An array, or CSR array, in chunks; it remembers what was asked of it."""

    reader = 7

    def __init__(self, table, step=10, *, known=True, once=False, extra=0, fails=None):
        n, p = table.shape
        stored = table.nnz if sp.issparse(table) else None
        super().__init__(
            rows=n - extra if known else None,
            p=p,
            dtype=table.dtype,
            columns=tuple("abcd"[:p]),
            notes=("a note",),
            file="stream",
            unused=("text",),
            stored=stored,
            nbytes=12345,
        )
        self.repeatable = not once
        self.table, self.step, self.fails = table, step, fails
        self.starts, self.handed, self.closed = [], 0, 0

    def chunks(self, start=0):
        self.starts.append(start)
        if not self.repeatable and len(self.starts) > 1:
            raise AssertionError("read twice")
        return self._chunks(start)

    def _chunks(self, start):
        try:
            for first in range(start, self.table.shape[0], self.step):
                if self.fails is not None and first >= self.fails:
                    raise OSError("gone")
                rows = self.table[first : first + self.step]
                self.handed += rows.shape[0]
                ids = np.array([str(first + i) for i in range(rows.shape[0])], dtype=object)
                yield Chunk(rows, ids)
        finally:
            self.closed += 1

    def place_of(self, row):
        return RowPlace("elsewhere", row + 1000)


def rows_of(source, start=0):
    chunks = list(source.chunks(start))
    for chunk in chunks:
        assert chunk.data.shape[0] > 0
        assert chunk.ids is None or len(chunk.ids) == chunk.data.shape[0]
    parts = [chunk.data.toarray() if sp.issparse(chunk.data) else chunk.data for chunk in chunks]
    return np.vstack([np.empty((0, source.p)), *parts])


# ---- all rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("step", [1, 7, 99, 100, 1000])
def test_all_rows_of_any_chunks_are_one_array(step, known, dtype, table):
    table = table.astype(dtype)
    source = Stream(table, step, known=known)
    held = read_whole(source)
    assert held.dtype == dtype
    assert held.flags.c_contiguous
    np.testing.assert_array_equal(held, table)
    assert source.closed == 1


@pytest.mark.parametrize("known", [True, False])
def test_all_rows_of_sparse_chunks_are_one_sparse_array(known, rng):
    matrix = sp.random_array((90, COLUMNS), density=0.3, rng=rng, format="csr")
    held = read_whole(Stream(matrix, 7, known=known))
    assert isinstance(held, sp.csr_array)
    np.testing.assert_array_equal(held.toarray(), matrix.toarray())


def test_sparse_rows_of_which_none_is_stored_stay_sparse():
    held = read_whole(Stream(sp.csr_array((20, 3)), 7))
    assert held.shape == (20, 3)
    assert sp.issparse(held)


def test_a_table_in_memory_is_not_copied(table):
    assert read_whole(TableSource(Table(table))) is table


def test_no_rows_at_all_are_refused_with_the_file(table):
    for take in (read_whole, lambda source: read_if_small(source, 10**6)):
        with pytest.raises(ShapeError, match="stream: no rows"):
            take(Stream(table[:0], known=False))


def test_more_rows_than_were_promised_are_refused_and_fewer_are_taken(table):
    with pytest.raises(InputChangedError, match="more than the 95 rows") as caught:
        read_whole(Stream(table, extra=5))
    assert caught.value.place == {"file": "stream"}
    assert len(read_whole(Stream(table, extra=-5))) == ROWS


@pytest.mark.parametrize("kind", ["npy", "several"])
def test_a_file_that_changes_while_it_is_taken_into_memory_is_refused(
    kind, table, tmp_path, monkeypatch
):
    path = tmp_path / "x.npy"
    np.save(path, table)
    source = open_source(path)
    if kind == "several":
        np.save(tmp_path / "first.npy", table)
        source = SourceChain.of([open_source(tmp_path / "first.npy"), source])
    plain = type(source).chunks

    def chunks(self, start=0):
        for chunk in plain(self, start):
            yield chunk
            if self is source:
                with path.open("ab") as file:
                    file.write(b"\0" * 8)

    monkeypatch.setattr(type(source), "chunks", chunks)
    with pytest.raises(InputChangedError, match="changed while it was read") as caught:
        read_whole(source)
    assert caught.value.place == {"file": str(path)}


# ---- the first rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_few_rows_are_held_with_all_that_is_known_of_them(sparse, table):
    given = sp.csr_array(table) if sparse else table
    source = Stream(given, 7, known=False, once=True)
    held = read_if_small(source, 10**6)
    assert isinstance(held, TableSource)
    assert sp.issparse(held.table.data) == sparse
    np.testing.assert_array_equal(rows_of(held), table)
    assert (held.columns, held.notes, held.file) == (source.columns, source.notes, "stream")
    assert held.rows == ROWS
    assert source.closed == 1


@pytest.mark.parametrize("step", [1, 7, 50, 1000])
@pytest.mark.parametrize("most", [0, 1, 32 * 50, 32 * ROWS - 1])
@pytest.mark.parametrize("once", [True, False])
def test_rows_that_are_too_many_to_hold_are_read_once_all_the_same(once, most, step, table):
    source = Stream(table, step, known=False, once=once)
    begun = read_if_small(source, most)
    assert not isinstance(begun, TableSource)
    # No more than fits is taken beyond the chunk that did not fit.
    assert source.handed <= most // 32 + step
    np.testing.assert_array_equal(rows_of(begun), table)
    assert source.starts == [0]
    assert source.closed == 1
    if not once:
        for start in (0, 3, ROWS - 1, ROWS):
            np.testing.assert_array_equal(rows_of(begun, start), table[start:])


def test_exactly_as_many_bytes_as_are_allowed_are_held(table):
    assert isinstance(read_if_small(Stream(table, known=False), table.nbytes), TableSource)
    assert not isinstance(read_if_small(Stream(table, known=False), table.nbytes - 1), TableSource)


@pytest.mark.parametrize("start", [0, 1, 6, 7, 8, 49, 50, 51, 99, 100, 200])
@pytest.mark.parametrize("once", [True, False])
def test_a_first_reading_may_begin_at_any_row(once, start, table):
    source = Stream(table, 7, known=False, once=once)
    begun = read_if_small(source, 32 * 50)
    np.testing.assert_array_equal(rows_of(begun, start), table[start:])
    # What can be read again is read from there; else the rows before are passed over.
    assert source.starts == ([0] if once or not start else [0, start])


def test_ids_stay_with_their_rows(table):
    begun = read_if_small(Stream(table, 7, known=False, once=True), 100)
    names = [name for chunk in begun.chunks(3) for name in chunk.ids]
    assert names == [str(i) for i in range(3, ROWS)]


def test_rows_that_were_begun_say_of_themselves_what_their_source_says(table, tmp_path):
    for once in (True, False):
        source = Stream(table, 7, known=False, once=once)
        begun = read_if_small(source, 100)
        for name in (
            *("rows", "p", "dtype", "columns", "id_column", "notes", "file", "unused"),
            *("stored", "nbytes", "repeatable", "random_access", "reader", "shape"),
        ):
            assert getattr(begun, name) == getattr(source, name), name
        assert begun.place_of(5) == RowPlace("elsewhere", 1005)
        assert begun.file_states() == ()
    path = tmp_path / "x.npy"
    np.save(path, table)
    assert read_if_small(open_source(path), 0).file_states() == (FileState.of(path),)


def test_what_was_held_is_let_go_once_it_was_read(table):
    source = Stream(table.copy(), 10, known=False)
    begun = read_if_small(source, 32 * 50)
    assert begun._begun is not None
    rows_of(begun)
    assert begun._begun is None
    begun = read_if_small(Stream(table, 10, known=False), 32 * 50)
    rows_of(begun, 5)
    assert begun._begun is None


def test_a_stream_that_was_begun_is_closed_when_it_is_given_up(table):
    source = Stream(table, 10, known=False)
    begun = read_if_small(source, 100)
    assert source.closed == 0
    del begun
    gc.collect()
    assert source.closed == 1
    begun = read_if_small(source, 100)
    chunks = begun.chunks()
    next(chunks)
    chunks.close()
    del chunks
    gc.collect()
    assert source.closed == 2


def test_an_error_on_the_way_passes_through(table):
    with pytest.raises(OSError, match="gone"):
        read_if_small(Stream(table, 10, known=False, fails=50), 10**6)
    begun = read_if_small(Stream(table, 10, known=False, fails=50), 100)
    with pytest.raises(OSError, match="gone"):
        rows_of(begun)


def test_batches_of_an_iterator_survive_being_looked_at(table):
    source = open_batches(iter([table[:3], table[3:3], table[3:50], table[50:]]))
    begun = read_if_small(source, 100)
    np.testing.assert_array_equal(rows_of(begun), table)
    with pytest.raises(ValueError, match="read only once"):
        rows_of(begun)
