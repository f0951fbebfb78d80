"""Rows of CSV and TSV files in chunks, from text that is never held as a whole.

The text is cut after whole records, so that a few threads parse pieces of it at once
(1.5 times as fast as ``pyarrow.csv.open_csv``, on two processors), and a fault is placed
from the text of its piece alone: a pipe needs no more than a file.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from princomp.sources.delimited import are_whole, judge, may_have_lost_digits
from princomp.sources.delimited_parse import Before, Parsed, Parser
from princomp.sources.delimited_pieces import Dialect, Piece, count_lines, pieces_of
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.source import Chunk, Identity, Source
from princomp.threads import default_threads, in_order

__all__ = ["DelimitedSource", "open_delimited"]

# Text by which columns are judged.
_HEAD = 1 << 22
# Numbers in a chunk, unless its text would then be too little or too much for one piece:
# pyarrow parses 1 to 4 MB at a time fastest.
_NUMBERS = 1 << 18
_LEAST_TEXT, _MOST_TEXT = 1 << 20, 1 << 22
# Each holds a piece of text and its numbers, and two more pieces wait.
_MOST_THREADS = 4


def open_delimited(
    path: Path,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
    *,
    delimiter: str,
    compression: str | None,
) -> Source:
    """Open a delimited file, whose first line names its columns, to be read in chunks.

    Parameters
    ----------
    path, columns, exclude, id_column
        As for ``files.read_table``.
    delimiter : str
        Comma or tab.
    compression : {None, "gzip", "zstd"}

    Raises
    ------
    ColumnError, MalformedFileError, NotNumericError, ParameterError, ShapeError
        As far as the first few megabytes show it; what comes later is refused by
        ``chunks``.
    InputNotFoundError
        No such file, or it may not be read.
    MissingLibraryError
        pyarrow is not installed.
    """
    need_pyarrow("pyarrow.csv", path)
    dialect = Dialect(path, delimiter, compression)
    with reading(path, dialect.kind):
        size = path.stat().st_size
        stream = dialect.binary()
    with stream:
        source = DelimitedSource(dialect, stream, columns, exclude, id_column)
    source.nbytes = size
    return source


class DelimitedSource(Source):
    """Rows of delimited text.

    Which columns hold numbers is judged once, by the rules for whole files, from the
    first 4 to 6 MB of text. From then on each of their cells must be a number or missing.

    Parameters
    ----------
    dialect : Dialect
    stream : binary file
        Its decompressed bytes, from the first on.
    columns, exclude, id_column
        As for ``files.read_table``.
    once : bool
        Go on with ``stream`` in ``chunks``, which may then be called once, instead of
        opening the file of ``dialect`` again.
    """

    def __init__(
        self,
        dialect: Dialect,
        stream: BinaryIO,
        columns: Sequence[str] | None,
        exclude: Sequence[str],
        id_column: str | None,
        *,
        once: bool = False,
    ) -> None:
        pieces = pieces_of(dialect, stream, _HEAD // 2)
        head = _head(dialect, pieces)
        table, booleans, header, choice = judge(
            replace(dialect, text=head), columns, exclude, id_column
        )
        n, p = table.data.shape
        super().__init__(
            rows=None,
            p=p,
            dtype=np.dtype(np.float64),
            columns=table.columns,
            id_column=id_column,
            notes=table.notes,
            file=table.file,
            unused=table.unused,
        )
        self.repeatable = not once
        self._dialect = dialect
        self._parser = Parser(
            dialect, header.names, table.columns or (), booleans, id_column, choice.names
        )
        # Of whole numbers so far, and none of them too large to tell.
        self._whole = [are_whole(x) and not may_have_lost_digits(x) for x in table.data.T]
        self._lines = header.lines
        names = re.match(rb"(?:[^\r\n]*+(?:\r\n?|\n)){%d}" % header.lines, head)
        self._body = 0 if names is None else names.end()
        self._size = min(max(_LEAST_TEXT, len(head) * _NUMBERS // (n * p)), _MOST_TEXT)
        self._rest: Iterator[Piece] | None = None
        if once:
            rows = pieces_of(dialect, io.BytesIO(head[self._body :]), self._size)
            self._rest = itertools.chain(rows, pieces)

    def identities(self) -> tuple[Identity, ...]:
        """The file as it is now; none where rows are seen once."""
        if not self.repeatable:
            return ()
        with reading(self._dialect.path, self._dialect.kind):
            return (Identity.of(self._dialect.path),)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, in chunks of about 2**18 numbers."""
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
                    # Large numbers that were not refused have an exponent somewhere.
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
        """Pieces parsed on threads. These read ``whole`` at any time: less work if late."""

        def parse(piece: Piece) -> tuple[Piece, Parsed | None]:
            return piece, self._parser.parse(piece, whole)

        threads = min(default_threads(), _MOST_THREADS)
        return cast("Generator[tuple[Piece, Parsed | None]]", in_order(parse, pieces, threads))

    @contextmanager
    def _opened(self) -> Iterator[Iterator[Piece]]:
        """Pieces of the text after the line of names."""
        if self._rest is not None:
            yield self._rest
            return
        path, kind = self._dialect.path, self._dialect.kind
        with reading(path, kind):
            stream = self._dialect.binary()
        with stream:
            with reading(path, kind):
                left = self._body
                while left and (skipped := stream.read(left)):
                    left -= len(skipped)
            yield pieces_of(self._dialect, stream, self._size)

    def _skipped(self, pieces: Iterator[Piece], start: int) -> tuple[Iterator[Piece], Before]:
        """Pieces from that with row ``start`` on, and what is before them."""
        before = Before(0, self._lines)
        for piece in pieces if start else ():
            rows = self._parser.count(piece)
            if rows is None or before.rows + rows > start:
                return itertools.chain([piece], pieces), before
            before = Before(before.rows + rows, before.lines + count_lines(piece.text))
        return pieces, before


def _head(dialect: Dialect, pieces: Iterator[Piece]) -> bytes:
    """Take pieces until they hold enough text to judge, and rows."""
    text = b""
    for piece in pieces:
        if piece.fault is not None and not piece.text:
            raise piece.fault(0)
        text += piece.text
        if len(text) >= _HEAD:
            with reading(dialect.path, dialect.kind):
                records = replace(dialect, text=text).records()
                if len(list(itertools.islice(records, 2))) == 2:
                    break
    return text
