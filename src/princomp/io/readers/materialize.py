"""Load rows of a source into memory: all rows, all if they are few, or only the first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from princomp.errors import InputChangedError, MemoryLimitError
from princomp.io.readers.columns import RowPlace
from princomp.io.readers.reader_errors import fewer_rows_error, no_rows_error
from princomp.io.readers.source import (
    Chunk,
    FileState,
    Source,
    TableSource,
    checksum,
    stored_arrays,
)
from princomp.linalg import empty, format_bytes
from princomp.summaries import stored_bytes


def read_whole(source: Source, max_bytes: int | None = None) -> Any:
    """Read all rows into one array or CSR array.

    Raises
    ------
    InputChangedError
        A file changed while it was read.
    MemoryLimitError
        The number of rows was unknown, and they take more than ``max_bytes``.
    """
    if isinstance(source, TableSource):
        return source.data
    if source.rows is None or source.stored is not None:
        return _joined(list(_limited_chunks(source, max_bytes)), source).data
    data = empty((source.rows, source.p), dtype=source.dtype)
    filled = 0
    for chunk in source.checked_chunks():
        stop = filled + len(chunk.data)
        if stop > source.rows:
            raise InputChangedError(
                f"{source.file or 'the input'} holds more than the {source.rows:,} rows that it "
                "had when it was opened",
                place={"file": source.file} if source.file else None,
                hint="wait until it is written, then begin again",
            )
        data[filled:stop] = chunk.data
        filled = stop
    return data[:filled]


def _limited_chunks(source: Source, max_bytes: int | None) -> Iterator[Chunk]:
    """Yield the chunks of a source; raise MemoryLimitError if they exceed ``max_bytes``."""
    size = 0
    for chunk in source.checked_chunks():
        size += stored_bytes(chunk.data)
        # Joining the chunks takes the same amount again.
        if max_bytes is not None and source.rows is None and 2 * size > max_bytes:
            raise MemoryLimitError(
                f"the rows in memory take more than the limit of {format_bytes(max_bytes)}: "
                f"{format_bytes(size)} were read, and there are more",
                place={"parameter": "memory_limit", "limit": max_bytes},
                hint="allow more, or choose a solver that reads rows block by block "
                "(svd_solver='auto', 'covariance_eigh', 'sketch')",
            )
        yield Chunk(chunk.data)


def read_if_small(source: Source, max_bytes: int) -> Source:
    """Read the rows of a source into memory, if they take no more than ``max_bytes``.

    Otherwise, return a source that starts with the chunks already read, so that no rows are
    lost if the input can be read only once.

    Raises
    ------
    InputChangedError
        A file changed while it was read.
    """
    chunks = source.checked_chunks()
    first_chunks: list[Chunk] = []
    size = 0
    for chunk in chunks:
        first_chunks.append(chunk)
        size += stored_bytes(chunk.data)
        if size > max_bytes:
            return _PartlyRead(source, first_chunks, chunks)
    return TableSource.of(source, _joined(first_chunks, source))


def _joined(chunks: list[Chunk], source: Source) -> Chunk:
    if not chunks:
        raise no_rows_error(source.file)
    return Chunk.joined(chunks)


class _PartlyRead(Source):
    """A source whose first chunks were read already."""

    def __init__(self, source: Source, first_chunks: list[Chunk], rest: Iterator[Chunk]) -> None:
        super().__init__(**source.properties())
        self.repeatable, self.reader_bytes = source.repeatable, source.reader_bytes
        self._source = source
        self._unread: tuple[list[Chunk], Iterator[Chunk]] | None = (first_chunks, rest)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from ``start`` on; the first call reuses the chunks in memory."""
        unread, self._unread = self._unread, None
        if unread is None or (start and self._source.repeatable):
            return self._source.chunks(start)
        first_chunks, rest = unread
        return _chunks_from(chain(first_chunks, rest), start)

    def place_of(self, row: int) -> RowPlace:
        """Place of row number ``row``."""
        return self._source.place_of(row)

    def file_states(self) -> tuple[FileState, ...]:
        """Current states of the files of the source."""
        return self._source.file_states()

    def fingerprint(self) -> tuple[str, ...]:
        """Return a checksum of the first rows, if the rows can be read only once."""
        if self._unread is None or self._source.repeatable:
            return self._source.fingerprint()
        first = self._unread[0][0].data
        return (f"first rows with checksum {checksum(stored_arrays(first))}",)


def _chunks_from(chunks: Iterator[Chunk], start: int) -> Iterator[Chunk]:
    for chunk in chunks:
        rows = chunk.data.shape[0]
        if start < rows:
            yield chunk.part(start)
        start = max(start - rows, 0)
    if start:
        raise fewer_rows_error(start)


def first_rows(source: Source, count: int) -> tuple[Any, Source]:
    """The first ``count`` rows of a source, or all if there are fewer, and a source of all rows.

    The returned source starts with the chunks already read, so that no rows are lost if the
    input can be read only once.

    Raises
    ------
    ShapeError
        There are no rows.
    """
    chunks = source.chunks()
    first_chunks: list[Chunk] = []
    seen = 0
    while seen < count and (chunk := next(chunks, None)) is not None:
        first_chunks.append(chunk)
        seen += chunk.data.shape[0]
    return _joined(first_chunks, source).data[:count], _PartlyRead(source, first_chunks, chunks)
