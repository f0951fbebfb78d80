"""Read rows of CSV and TSV text in chunks, without holding the whole text in memory.

The text is split into pieces of whole records, which a few threads parse in parallel
(1.5 times as fast as ``pyarrow.csv.open_csv`` on two processors). The place of an error
is found from the text of its piece alone, so pipes work like files.
"""

from __future__ import annotations

import io
import itertools
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from princomp.io.readers.cells import may_have_lost_digits
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.delimited import detect_file_dialect, infer_table
from princomp.io.readers.delimited_parse import Parsed, are_integers
from princomp.io.readers.delimited_pieces import Piece, pieces_of
from princomp.io.readers.delimited_text import Dialect, offset_after_lines
from princomp.io.readers.rows_at_end import last_records, refuse_totals_at_end, skipped_notes
from princomp.io.readers.source import Chunk, FileState, Source, file_state
from princomp.io.readers.unclear_points import Points
from princomp.linalg import default_threads, map_in_order

# Least text that is read to infer which columns are numeric, in bytes.
HEAD_BYTES = 1 << 22
_UNCHECKED_END_NOTE = "the last row was not checked for totals; skip_end=1 leaves it out"
# Numbers in a chunk, unless its text would then be outside these limits, in bytes: pyarrow
# parses 1 to 4 MB at a time fastest.
_NUMBERS = 1 << 18
MIN_PIECE_BYTES, MAX_PIECE_BYTES = 1 << 20, 1 << 22
# Each thread holds a piece of text and its numbers, and two more pieces wait.
_MOST_THREADS = 4


def open_delimited(
    path: Path, selection: Selection, *, delimiter: str | None, compression: str | None
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
    dialect = detect_file_dialect(path, selection, delimiter, compression)
    with dialect.reading():
        size = path.stat().st_size
        stream = dialect.open_binary()
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
        If true, ``chunks`` reads on from ``stream`` and can be called once; if false, it opens the
        file of ``dialect`` again.
    """

    def __init__(
        self, dialect: Dialect, stream: BinaryIO, selection: Selection, *, once: bool = False
    ) -> None:
        pieces = pieces_of(dialect, stream, HEAD_BYTES // 2)
        head, following = _read_head(dialect, pieces)
        complete = following is None
        table, self._parser = infer_table(replace(dialect, text=head), selection, complete=complete)
        self._dialect = self._parser.dialect
        super().__init__(**{**table.properties(), "rows": None, "nbytes": None})
        self.repeatable = not once
        if not complete and (skip_end := dialect.skip_end) != 0:
            records = [] if once else last_records(dialect)
            is_checked = refuse_totals_at_end(records, dialect, len(self._dialect.names))
            if skip_end:
                skipped = records[-skip_end:] if skip_end <= len(records) else []
                self.notes = (*skipped_notes(skipped, skip_end), *self.notes)
            elif not is_checked:
                self.notes = (*self.notes, _UNCHECKED_END_NOTE)
        # Number of rows, if the whole text was read as the head. Later rows are totals or empty.
        self._row_count = table.rows if complete else None
        # For each column, whether all numbers so far are integers and small enough to be exact.
        self._is_integer = [are_integers(x) and not may_have_lost_digits(x) for x in table.data.T]
        self._body_start = offset_after_lines(head, self._dialect.header_lines)
        usual_size = len(head) * _NUMBERS // table.data.size
        self._piece_size = min(max(MIN_PIECE_BYTES, usual_size), MAX_PIECE_BYTES)
        self._remaining: Iterator[Piece] | None = None
        if once:
            body = io.BytesIO(head[self._body_start :])
            rows = pieces_of(dialect, body, self._piece_size, self._dialect.header_lines)
            self._remaining = itertools.chain(rows, (following,) if following else (), pieces)

    @property
    def row_origin(self) -> Origin:
        """The file, and the lines of its rows if it can be read again."""
        return self._dialect.origin if self.repeatable else Origin(self.file)

    def current_states(self) -> tuple[FileState, ...]:
        """Current state of the file; empty if rows can be read only once."""
        return file_state(self._dialect.path, self._dialect.kind) if self.repeatable else ()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, in chunks of about 2**18 numbers."""
        is_integer, assumes_point = list(self._is_integer), self._dialect.assumes_point

        def parse(piece: Piece) -> tuple[Piece, Parsed | None]:
            # Outdated values in a thread only cost time.
            return piece, self._parser.parse(piece, is_integer, assumes_point=assumes_point)

        threads = min(default_threads(), _MOST_THREADS)
        with self._open_pieces() as pieces:
            pieces, row = self._skip_to(pieces, start if self.repeatable else 0)
            skipped = row
            with closing(map_in_order(parse, pieces, threads)) as parsed_pieces:
                for piece, parsed in parsed_pieces:
                    if parsed is None:
                        raise self._parser.error(piece, row)
                    points = parsed.points if assumes_point else Points()
                    assumes_point = assumes_point and points == Points()
                    large = [j for j, beyond in parsed.no_integers if beyond and is_integer[j]]
                    if not skipped:
                        self._parser.refuse_doubtful(piece, points, large, row)
                    elif large or points.unclear:
                        # Rows that were skipped may show that these numbers are what they seem.
                        self._read_until(row + len(parsed.data))
                    for j, _ in parsed.no_integers:
                        # If its large numbers were accepted, a column is not one of integers: it
                        # has exponents, for example.
                        is_integer[j] = False
                    first, stop = max(0, start - row), len(parsed.data)
                    if self._row_count is not None:
                        stop = min(stop, self._row_count - row)
                    if first < stop:
                        yield Chunk(parsed.data, parsed.ids).part(first, stop)
                    row += len(parsed.data)

    def _read_until(self, row: int) -> None:
        """Read the rows before number ``row``, which raises the error if any of them is refused."""
        for chunk in self.chunks():
            row -= len(chunk.data)
            if row <= 0:
                break

    @contextmanager
    def _open_pieces(self) -> Iterator[Iterator[Piece]]:
        """Pieces of the text after the header."""
        if self._remaining is not None:
            yield self._without_last_rows(self._remaining)
            return
        with self._dialect.reading():
            stream = self._dialect.open_binary()
        with stream:
            with self._dialect.reading():
                stream.read(self._body_start)
            lines = self._dialect.header_lines
            rows = pieces_of(self._dialect, stream, self._piece_size, lines)
            yield self._without_last_rows(rows)

    def _without_last_rows(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """All pieces, without the last ``skip_end`` records, which need not be valid rows."""
        last = self._dialect.skip_end
        if not last:
            yield from pieces
            return
        # Pieces with their numbers of records, or 0 if these are not known; those after the first
        # have fewer than ``last``.
        pending: deque[tuple[Piece, int]] = deque()
        for piece in pieces:
            if piece.fault is not None:
                yield from (piece for piece, _ in pending)
                yield piece
                return
            pending.append((piece, self._parser.count(piece) or 0))
            while sum(count for _, count in pending) - pending[0][1] >= last:
                yield pending.popleft()[0]
        text = b"".join(piece.text for piece, _ in pending)
        part = replace(self._dialect, text=text, header_lines=0)
        if rest := part.without_last_records(last)[0].text:
            yield Piece(rest, pending[0][0].lines)

    def _skip_to(self, pieces: Iterator[Piece], start: int) -> tuple[Iterator[Piece], int]:
        """The pieces from the one with row ``start`` on, and the number of rows before them."""
        row = 0
        for piece in pieces if start else ():
            rows = self._parser.count(piece)
            if rows is None or row + rows > start:
                return itertools.chain([piece], pieces), row
            row += rows
        return pieces, row


def _read_head(dialect: Dialect, pieces: Iterator[Piece]) -> tuple[bytes, Piece | None]:
    """Join pieces until they hold enough text and rows; also return the piece after them."""
    text = b""
    for piece in pieces:
        if piece.fault is not None:
            raise piece.fault
        text += piece.text
        if len(text) >= HEAD_BYTES:
            with dialect.reading():
                records = replace(dialect, text=text).records()
                if len(list(itertools.islice(records, 2))) == 2:
                    return text, next(pieces, None)
    return text, None
