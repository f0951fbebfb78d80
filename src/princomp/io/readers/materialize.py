"""Load rows of a source into memory: all rows, all if they are few, or only the first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from princomp.errors import InputChangedError, MemoryLimitError
from princomp.io.readers.columns import RowPlace
from princomp.io.readers.reader_errors import no_rows
from princomp.io.readers.source import Chunk, FileState, Source, TableSource, refuse_changed
from princomp.io.readers.table import Table
from princomp.linalg import empty, in_words
from princomp.summaries import stored_bytes

__all__ = ["first_rows", "read_if_small", "read_whole"]


def read_whole(source: Source, most: int | None = None) -> Any:
    """Read all rows into one array or CSR array.

    Raises
    ------
    InputChangedError
        A file changed while it was read.
    MemoryLimitError
        The number of rows was unknown, and they take more than ``most`` bytes.
    """
    if isinstance(source, TableSource):
        return source.table.data
    before = source.file_states()
    data = _filled(source, most)
    refuse_changed(before, source.file_states())
    return data


def _filled(source: Source, most: int | None) -> Any:
    if source.rows is None or source.stored is not None:
        return _joined(list(_up_to(source, most)), source).data
    data = empty((source.rows, source.p), dtype=source.dtype)
    filled = 0
    for chunk in source.chunks():
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


def _up_to(source: Source, most: int | None) -> Iterator[Chunk]:
    """Yield the chunks of a source; raise MemoryLimitError if they exceed ``most`` bytes."""
    size = 0
    for chunk in source.chunks():
        size += stored_bytes(chunk.data)
        # Joining the chunks takes the same amount again.
        if most is not None and source.rows is None and 2 * size > most:
            raise MemoryLimitError(
                f"the rows in memory take more than the limit of {in_words(most)}: "
                f"{in_words(size)} were read, and there are more",
                place={"parameter": "memory_limit", "limit": most},
                hint="allow more, or choose a solver that reads rows block by block "
                "(svd_solver='auto', 'covariance_eigh', 'sketch')",
            )
        yield Chunk(chunk.data)


def read_if_small(source: Source, most: int) -> Source:
    """Read the rows of a source into memory, if they take no more than ``most`` bytes.

    Otherwise, return a source that starts with the chunks already read, so that no rows are
    lost if the input can be read only once.
    """
    chunks = source.chunks()
    head: list[Chunk] = []
    size = 0
    for chunk in chunks:
        head.append(chunk)
        size += stored_bytes(chunk.data)
        if size > most:
            return _Begun(source, head, chunks)
    data, ids = _joined(head, source)
    return TableSource(
        Table(
            data,
            source.columns,
            ids,
            source.id_column,
            source.notes,
            source.file,
            source.unused,
            source.row_origin.line_of,
        )
    )


def _joined(chunks: list[Chunk], source: Source) -> Chunk:
    if not chunks:
        raise no_rows(source.file)
    return Chunk.joined(chunks)


class _Begun(Source):
    """A source whose first chunks were read already."""

    def __init__(self, source: Source, head: list[Chunk], rest: Iterator[Chunk]) -> None:
        super().__init__(**source.properties())
        self.repeatable, self.reader = source.repeatable, source.reader
        self._source = source
        self._begun: tuple[list[Chunk], Iterator[Chunk]] | None = (head, rest)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from ``start`` on; the first call reuses the chunks in memory."""
        begun, self._begun = self._begun, None
        if begun is None:
            return self._source.chunks(start)
        if start and self._source.repeatable:
            del begun
            return self._source.chunks(start)
        head, rest = begun
        return _after(chain(head, rest), start)

    def place_of(self, row: int) -> RowPlace:
        """Place of row number ``row``."""
        return self._source.place_of(row)

    def file_states(self) -> tuple[FileState, ...]:
        """Current states of the files of the source."""
        return self._source.file_states()


def _after(chunks: Iterator[Chunk], start: int) -> Iterator[Chunk]:
    for chunk in chunks:
        rows = chunk.data.shape[0]
        if start < rows:
            yield chunk.part(start)
        start = max(start - rows, 0)


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
    head: list[Chunk] = []
    seen = 0
    while seen < count and (chunk := next(chunks, None)) is not None:
        head.append(chunk)
        seen += chunk.data.shape[0]
    return _joined(head, source).data[:count], _Begun(source, head, chunks)
