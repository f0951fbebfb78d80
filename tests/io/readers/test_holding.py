"""Rows of a source loaded into memory: all of them, or the first ones if there are too many."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.errors import InputChangedError, ShapeError
from princomp.io.readers.batches import BatchedRows
from princomp.io.readers.files import open_source
from princomp.io.readers.materialize import read_if_small, read_whole
from princomp.io.readers.source import Chunk, FileState, RowPlace, Source, TableSource
from princomp.io.readers.source_chain import SourceChain

ROWS, COLUMNS = 100, 4


@pytest.fixture
def table(rng):
    return rng.standard_normal((ROWS, COLUMNS))


class Stream(Source):
    """An array or CSR array in chunks that records how it is read."""

    reader_bytes = 7

    def __init__(self, table, step=10, *, known_length=True, once=False, surplus=0, fails_at=None):
        n, p = table.shape
        stored = table.nnz if sp.issparse(table) else None
        super().__init__(
            rows=n - surplus if known_length else None,
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
        self.table, self.step, self.fails_at = table, step, fails_at
        self.starts, self.rows_read, self.closed = [], 0, 0

    def chunks(self, start=0):
        self.starts.append(start)
        if not self.repeatable and len(self.starts) > 1:
            raise AssertionError("read twice")
        return self._chunks(start)

    def _chunks(self, start):
        try:
            for first in range(start, self.table.shape[0], self.step):
                if self.fails_at is not None and first >= self.fails_at:
                    raise OSError("gone")
                rows = self.table[first : first + self.step]
                self.rows_read += rows.shape[0]
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
@pytest.mark.parametrize("known_length", [True, False])
@pytest.mark.parametrize("step", [1, 7, 99, 100, 1000])
def test_all_rows_of_any_chunks_are_one_array(step, known_length, dtype, table):
    table = table.astype(dtype)
    source = Stream(table, step, known_length=known_length)
    loaded = read_whole(source)
    assert loaded.dtype == dtype
    assert loaded.flags.c_contiguous
    np.testing.assert_array_equal(loaded, table)
    assert source.closed == 1


@pytest.mark.parametrize("known_length", [True, False])
def test_all_rows_of_sparse_chunks_are_one_sparse_array(known_length, rng):
    matrix = sp.random_array((90, COLUMNS), density=0.3, rng=rng, format="csr")
    loaded = read_whole(Stream(matrix, 7, known_length=known_length))
    assert isinstance(loaded, sp.csr_array)
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())


def test_sparse_rows_without_entries_stay_sparse():
    loaded = read_whole(Stream(sp.csr_array((20, 3)), 7))
    assert loaded.shape == (20, 3)
    assert sp.issparse(loaded)


def test_a_table_in_memory_is_not_copied(table):
    assert read_whole(TableSource(table)) is table


def test_sources_without_rows_are_refused(table):
    for read in (read_whole, lambda source: read_if_small(source, 10**6)):
        with pytest.raises(ShapeError, match="stream: no rows"):
            read(Stream(table[:0], known_length=False))


def test_more_rows_than_promised_are_refused_and_fewer_accepted(table):
    with pytest.raises(InputChangedError, match="more than the 95 rows") as caught:
        read_whole(Stream(table, surplus=5))
    assert caught.value.place == {"file": "stream"}
    assert len(read_whole(Stream(table, surplus=-5))) == ROWS


@pytest.mark.parametrize("kind", ["npy", "several"])
def test_a_file_that_changes_while_it_is_read_is_refused(kind, table, tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    np.save(path, table)
    source = open_source(path)
    if kind == "several":
        np.save(tmp_path / "first.npy", table)
        source = SourceChain([open_source(tmp_path / "first.npy"), source])
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
def test_small_sources_are_loaded_with_their_metadata(sparse, table):
    rows = sp.csr_array(table) if sparse else table
    source = Stream(rows, 7, known_length=False, once=True)
    loaded = read_if_small(source, 10**6)
    assert isinstance(loaded, TableSource)
    assert sp.issparse(loaded.data) == sparse
    np.testing.assert_array_equal(rows_of(loaded), table)
    assert (loaded.columns, loaded.notes, loaded.file) == (source.columns, source.notes, "stream")
    assert loaded.rows == ROWS
    assert source.closed == 1


@pytest.mark.parametrize("step", [1, 7, 50, 1000])
@pytest.mark.parametrize("limit", [0, 1, 32 * 50, 32 * ROWS - 1])
@pytest.mark.parametrize("once", [True, False])
def test_large_sources_are_still_read_only_once(once, limit, step, table):
    source = Stream(table, step, known_length=False, once=once)
    partly_read = read_if_small(source, limit)
    assert not isinstance(partly_read, TableSource)
    # Only rows that fit, and the chunk that did not, are read in advance.
    assert source.rows_read <= limit // 32 + step
    np.testing.assert_array_equal(rows_of(partly_read), table)
    assert source.starts == [0]
    assert source.closed == 1
    if not once:
        for start in (0, 3, ROWS - 1, ROWS):
            np.testing.assert_array_equal(rows_of(partly_read, start), table[start:])


def test_sources_are_loaded_up_to_exactly_the_limit(table):
    assert isinstance(read_if_small(Stream(table, known_length=False), table.nbytes), TableSource)
    assert not isinstance(
        read_if_small(Stream(table, known_length=False), table.nbytes - 1), TableSource
    )


@pytest.mark.parametrize("start", [0, 1, 6, 7, 8, 49, 50, 51, 99, 100])
@pytest.mark.parametrize("once", [True, False])
def test_the_first_pass_may_start_at_any_row(once, start, table):
    source = Stream(table, 7, known_length=False, once=once)
    partly_read = read_if_small(source, 32 * 50)
    np.testing.assert_array_equal(rows_of(partly_read, start), table[start:])
    # A repeatable source is read again from there; otherwise earlier rows are skipped.
    assert source.starts == ([0] if once or not start else [0, start])


def test_rows_that_end_before_the_start_are_refused(table):
    partly_read = read_if_small(Stream(table, 7, known_length=False, once=True), 32 * 50)
    with pytest.raises(InputChangedError, match="the rows end 1 row before"):
        rows_of(partly_read, ROWS + 1)


def test_ids_stay_with_their_rows(table):
    partly_read = read_if_small(Stream(table, 7, known_length=False, once=True), 100)
    names = [name for chunk in partly_read.chunks(3) for name in chunk.ids]
    assert names == [str(i) for i in range(3, ROWS)]


def test_partly_read_sources_keep_the_metadata_of_their_source(table, tmp_path):
    for once in (True, False):
        source = Stream(table, 7, known_length=False, once=once)
        partly_read = read_if_small(source, 100)
        for name in (
            *("rows", "p", "dtype", "columns", "id_column", "notes", "file", "unused"),
            *("stored", "nbytes", "repeatable", "random_access", "reader_bytes", "shape"),
        ):
            assert getattr(partly_read, name) == getattr(source, name), name
        assert partly_read.place_of(5) == RowPlace("elsewhere", 1005)
        assert partly_read.file_states() == ()
    path = tmp_path / "x.npy"
    np.save(path, table)
    assert read_if_small(open_source(path), 0).file_states() == (FileState.of(path),)


def test_buffered_rows_are_released_once_read(table):
    source = Stream(table.copy(), 10, known_length=False)
    partly_read = read_if_small(source, 32 * 50)
    assert partly_read._unread is not None
    rows_of(partly_read)
    assert partly_read._unread is None
    partly_read = read_if_small(Stream(table, 10, known_length=False), 32 * 50)
    rows_of(partly_read, 5)
    assert partly_read._unread is None


def test_a_partly_read_stream_is_closed_when_abandoned(table):
    source = Stream(table, 10, known_length=False)
    partly_read = read_if_small(source, 100)
    assert source.closed == 0
    del partly_read
    gc.collect()
    assert source.closed == 1
    partly_read = read_if_small(source, 100)
    chunks = partly_read.chunks()
    next(chunks)
    chunks.close()
    del chunks
    gc.collect()
    assert source.closed == 2


def test_errors_while_reading_propagate(table):
    with pytest.raises(OSError, match="gone"):
        read_if_small(Stream(table, 10, known_length=False, fails_at=50), 10**6)
    partly_read = read_if_small(Stream(table, 10, known_length=False, fails_at=50), 100)
    with pytest.raises(OSError, match="gone"):
        rows_of(partly_read)


def test_an_iterator_keeps_its_rows_after_read_if_small(table):
    source = BatchedRows(iter([table[:3], table[3:3], table[3:50], table[50:]]))
    partly_read = read_if_small(source, 100)
    np.testing.assert_array_equal(rows_of(partly_read), table)
    with pytest.raises(ValueError, match="read only once"):
        rows_of(partly_read)


def test_partly_read_rows_that_are_in_no_file_have_a_fingerprint(table):
    def fingerprint(rows):
        return read_if_small(BatchedRows(iter([rows[:50], rows[50:]])), 100).fingerprint()

    assert fingerprint(table) == fingerprint(table.copy())
    assert fingerprint(table) != fingerprint(table + 1)


def test_a_file_that_changes_while_it_is_loaded_is_refused(table, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, table)
    source = open_source(path)
    os.utime(path, (0, 0))
    with pytest.raises(InputChangedError, match="changed while it was read"):
        read_if_small(source, 10**6)
