"""Read rows of CSV and TSV text in chunks, without holding the whole text in memory.

The text is split into pieces of whole records, which a few threads parse in parallel
(1.5 times as fast as ``pyarrow.csv.open_csv`` on two processors). The place of an error
is found from the text of its piece alone, so pipes work like files.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.delimited import detected, judge
from princomp.io.readers.delimited_parse import Before, Parsed, Parser
from princomp.io.readers.delimited_pieces import (
    Dialect,
    Piece,
    count_lines,
    end_of_lines,
    pieces_of,
    without_last_records,
)
from princomp.io.readers.delimited_text import line_of
from princomp.io.readers.delimited_whole import are_whole, may_have_lost_digits
from princomp.io.readers.reader_errors import reading
from princomp.io.readers.row_names import refuse_totals_at_end
from princomp.io.readers.source import Chunk, FileState, Source
from princomp.linalg import default_threads, in_order

__all__ = ["DelimitedSource", "open_delimited"]

# Bytes of text from which the columns are judged.
_HEAD = 1 << 22
_UNSEEN_END = "the last row was not checked for totals; skip_end=1 leaves it out"
# Numbers in a chunk, unless its text would then be outside these limits, in bytes: pyarrow
# parses 1 to 4 MB at a time fastest.
_NUMBERS = 1 << 18
_LEAST_TEXT, _MOST_TEXT = 1 << 20, 1 << 22
# Each thread holds a piece of text and its numbers, and two more pieces wait.
_MOST_THREADS = 4


def open_delimited(
    path: Path,
    selection: Selection,
    *,
    delimiter: str | None,
    compression: str | None,
) -> Source:
    """Open a delimited file for reading in chunks.

    Parameters
    ----------
    path : Path
    selection : Selection
    delimiter : str, optional
        Comma or tab, if the ending of the file name implies it.
    compression : {None, "gzip", "zstd"}

    Raises
    ------
    ColumnError, MalformedFileError, NotNumericError, ParameterError, ShapeError
        The first few megabytes have an error; ``chunks`` raises errors in later parts.
    InputNotFoundError
        The file does not exist or cannot be read.
    MissingLibraryError
        pyarrow is not installed.
    """
    dialect = detected(path, selection, delimiter, compression)
    with reading(path, dialect.kind):
        size = path.stat().st_size
        stream = dialect.binary()
    with stream:
        source = DelimitedSource(dialect, stream, selection)
    source.nbytes = size
    return source


class DelimitedSource(Source):
    """Rows of delimited text.

    The first 4 to 6 MB of text decide, by the rules for whole files, which columns hold
    numbers. All later cells of these columns must be numbers or missing.

    Parameters
    ----------
    dialect : Dialect
    stream : binary file
        The decompressed bytes, from the start.
    selection : Selection
    once : bool
        Whether ``chunks`` continues to read ``stream`` and can be called only once,
        instead of opening the file of ``dialect`` again.
    """

    def __init__(
        self,
        dialect: Dialect,
        stream: BinaryIO,
        selection: Selection,
        *,
        once: bool = False,
    ) -> None:
        pieces = pieces_of(dialect, stream, _HEAD // 2)
        head, complete = _head(dialect, pieces)
        judged = judge(replace(dialect, text=head), selection, complete=complete)
        table, header, id_column = judged.table, judged.header, judged.choice.id_column
        n, p = table.data.shape
        notes = table.notes
        if not complete and dialect.skip_end is None:
            seen = not once and refuse_totals_at_end(dialect, len(header.names))
            notes = notes if seen else (*notes, _UNSEEN_END)
        super().__init__(
            rows=None,
            p=p,
            dtype=np.dtype(np.float64),
            columns=table.columns,
            id_column=id_column,
            notes=notes,
            file=table.file,
            unused=table.unused,
        )
        self.repeatable = not once
        # Number of rows, if the whole text was judged. Later rows are totals or empty.
        self._end = n if complete else None
        self._dialect = dialect
        self._parser = Parser(
            dialect,
            header.names,
            table.columns or (),
            judged.booleans,
            id_column,
            judged.choice.names,
            judged.units,
        )
        # For each column, whether all numbers so far are integers and small enough to be exact.
        self._whole = [are_whole(x) and not may_have_lost_digits(x) for x in table.data.T]
        self._lines = header.lines
        self._body = end_of_lines(head, header.lines)
        self._size = min(max(_LEAST_TEXT, len(head) * _NUMBERS // (n * p)), _MOST_TEXT)
        self._rest: Iterator[Piece] | None = None
        if once:
            rows = pieces_of(dialect, io.BytesIO(head[self._body :]), self._size)
            self._rest = itertools.chain(rows, pieces)

    @property
    def row_origin(self) -> Origin:
        """The file, and the lines of its rows if it can be read again."""
        line = partial(line_of, self._dialect, names=self._lines)
        return Origin(self.file, line if self.repeatable else None)

    def current_states(self) -> tuple[FileState, ...]:
        """Current state of the file; empty if rows can be read only once."""
        if not self.repeatable:
            return ()
        with reading(self._dialect.path, self._dialect.kind):
            return (FileState.of(self._dialect.path),)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, in chunks of about 2**18 numbers."""
        chunks = self._chunks(start)
        if self._end is not None:
            return _until(chunks, self._end - start)
        return chunks

    def _chunks(self, start: int) -> Iterator[Chunk]:
        whole = list(self._whole)
        with self._opened() as pieces:
            pieces, before = self._skipped(pieces, start)
            with closing(self._parsed(pieces, whole)) as parsed:
                for piece, found in parsed:
                    if found is None:
                        raise self._parser.error(piece, before)
                    for j in found.large:
                        if whole[j]:
                            self._parser.refuse_long_integers(piece, j, before)
                    # A column whose large numbers were not refused is not one of integers: it
                    # has exponents, for example.
                    for j in (*found.fractions, *found.large):
                        whole[j] = False
                    first = max(0, start - before.rows)
                    if first < len(found.data):
                        ids = None if found.ids is None else found.ids[first:]
                        yield Chunk(found.data[first:], ids)
                    before = Before(before.rows + len(found.data), before.lines + found.lines)

    def _parsed(
        self, pieces: Iterator[Piece], whole: list[bool]
    ) -> Generator[tuple[Piece, Parsed | None]]:
        """Parse pieces in threads. An outdated ``whole`` in a thread only costs time."""

        def parse(piece: Piece) -> tuple[Piece, Parsed | None]:
            return piece, self._parser.parse(piece, whole)

        threads = min(default_threads(), _MOST_THREADS)
        return cast("Generator[tuple[Piece, Parsed | None]]", in_order(parse, pieces, threads))

    @contextmanager
    def _opened(self) -> Iterator[Iterator[Piece]]:
        """Pieces of the text after the header."""
        if self._rest is not None:
            yield self._without_last(self._rest)
            return
        path, kind = self._dialect.path, self._dialect.kind
        with reading(path, kind):
            stream = self._dialect.binary()
        with stream:
            with reading(path, kind):
                left = self._body
                while left and (skipped := stream.read(left)):
                    left -= len(skipped)
            yield self._without_last(pieces_of(self._dialect, stream, self._size))

    def _without_last(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """All pieces, without the last ``skip_end`` records, which may hold anything."""
        last = self._dialect.skip_end
        if not last:
            yield from pieces
            return
        held: list[Piece] = []
        for piece in pieces:
            if piece.fault is not None:
                yield from held
                yield piece
                return
            held.append(piece)
            while sum(map(self._records, held[1:])) >= last:
                yield held.pop(0)
        text = b"".join(piece.text for piece in held)
        if rest := without_last_records(self._dialect, text, last):
            yield Piece(rest)

    def _records(self, piece: Piece) -> int:
        """Count the records of a piece, even if their numbers of cells differ."""
        rows = self._parser.count(piece)
        if rows is not None:
            return rows
        return sum(1 for _ in replace(self._dialect, text=piece.text).records())

    def _skipped(self, pieces: Iterator[Piece], start: int) -> tuple[Iterator[Piece], Before]:
        """The pieces from the one with row ``start`` on, and the rows and lines before them."""
        before = Before(0, self._lines)
        for piece in pieces if start else ():
            rows = self._parser.count(piece)
            if rows is None or before.rows + rows > start:
                return itertools.chain([piece], pieces), before
            before = Before(before.rows + rows, before.lines + count_lines(piece.text))
        return pieces, before


def _until(chunks: Iterator[Chunk], rows: int) -> Iterator[Chunk]:
    """The first ``rows`` rows of chunks."""
    for chunk in chunks:
        if rows > 0:
            yield chunk.part(0, rows) if len(chunk.data) > rows else chunk
        rows -= len(chunk.data)


def _head(dialect: Dialect, pieces: Iterator[Piece]) -> tuple[bytes, bool]:
    """Join pieces until they hold enough text and rows; also whether that is all the text."""
    text = b""
    for piece in pieces:
        if piece.fault is not None and not piece.text:
            raise piece.fault(0)
        text += piece.text
        if len(text) >= _HEAD:
            with reading(dialect.path, dialect.kind):
                records = replace(dialect, text=text).records()
                if len(list(itertools.islice(records, 2))) == 2:
                    return text, False
    return text, True
