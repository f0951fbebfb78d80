"""Rows of Arrow record batches that are read only once, such as those of a stream from a pipe."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from princomp.io.readers.columnar import END_OF_STREAM
from princomp.io.readers.columnar_stream import Batches, ColumnarSource, with_row_numbers
from princomp.io.readers.columns import Selection
from princomp.io.readers.reader_errors import malformed, reading


class BatchSource(ColumnarSource):
    """Rows from Arrow record batches, which ``chunks`` reads to their end.

    Parameters
    ----------
    schema : pyarrow.Schema
        The schema of every batch.
    batches : iterable of pyarrow.RecordBatch
    selection : Selection
    file : str
        The name of the input in messages.

    Raises
    ------
    ColumnError, NotNumericError, ParameterError, ShapeError
        A requested column is missing or holds text, or there are no columns or no rows.
        The first batch that has rows decides whether a column holds text.
    MalformedFileError
        ``batches`` raises an error that is not an error of princomp.
    """

    repeatable = False

    def __init__(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], selection: Selection, file: str
    ) -> None:
        self._remaining = iter(batches)
        self._opened = False
        super().__init__(schema, selection, file, None, whole=False)
        self._opened = True

    def _batches(self, names: list[str], start: int) -> Batches:
        batches: Iterable[pa.RecordBatch] = self._remaining
        if not self._opened:
            # Peek at the first batch that has rows, and put it back.
            batches = list(itertools.islice(filter(len, self._remaining), 1))
            self._remaining = itertools.chain(batches, self._remaining)
        yield from with_row_numbers(batches)


def open_arrow_stream(stream: BinaryIO, selection: Selection, path: Path) -> BatchSource:
    """Open an Arrow stream from a pipe that is called ``path`` in messages."""
    recorder = _TailRecorder(stream)
    with reading(path, "an Arrow stream"):
        batches = pa.ipc.open_stream(pa.PythonFile(recorder, "r"))

    def complete_batches() -> Iterator[pa.RecordBatch]:
        yield from batches
        # pyarrow also accepts a stream that is cut short, so check for the end marker.
        if recorder.tail != END_OF_STREAM:
            problem = "the Arrow stream does not end properly"
            hint = "It may be cut short: see whether the command before the pipe failed."
            raise malformed(path, problem, hint)

    return BatchSource(batches.schema, complete_batches(), selection, str(path))


class _TailRecorder:
    """A stream that remembers the last bytes read from it."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.tail = b""

    def read(self, size: int = -1) -> bytes:
        got = self._stream.read(size)
        self.tail = (self.tail + got[-len(END_OF_STREAM) :])[-len(END_OF_STREAM) :]
        return got
