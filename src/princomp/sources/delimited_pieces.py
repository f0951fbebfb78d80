"""Delimited text as bytes: opened, and cut after whole records.

What tells a line end that ends a record from a quoted one is here, and with it the
faults that no reader of records sees: a quote left open, a row without end, zero bytes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, PrincompError
from princomp.sources.faults import reading

__all__ = ["LONGEST_ROW", "Dialect", "Piece", "count_lines", "pieces_of", "refuse_damage"]

# A row longer than this is no row: a quote was left open, or line ends are missing.
LONGEST_ROW = 2**26
# The end of a text, where it is enough to look for the last line end.
_TAIL = 2**16


@dataclass(frozen=True, slots=True)
class Dialect:
    """A delimited file, and how it is written.

    Parameters
    ----------
    path : Path
        What messages call it, too.
    delimiter : str
        Comma or tab.
    compression : {None, "gzip", "zstd"}
    text : bytes, optional
        All or some of its text, where that is in memory: then nothing is opened.
    """

    path: Path
    delimiter: str
    compression: str | None
    text: bytes | None = None

    @property
    def kind(self) -> str:
        """What to call it."""
        name = "CSV" if self.delimiter == "," else "TSV"
        return {None: name, "gzip": f"gzipped {name}"}.get(
            self.compression, f"{name} compressed by {self.compression}"
        )

    def binary(self) -> BinaryIO:
        """Open as bytes, decompressed."""
        if self.text is not None:
            return io.BytesIO(self.text)
        if self.compression is None:
            return self.path.open("rb")
        import pyarrow as pa

        return cast(BinaryIO, pa.input_stream(str(self.path), compression=self.compression))

    def open(self) -> TextIO:
        """Open as text; bytes that are not UTF-8 become lone surrogates, to be found later."""
        # newline="" leaves quoted line ends to the csv module.
        return io.TextIOWrapper(
            self.binary(),  # closed along with the text
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline="",
        )

    def records(self) -> Iterator[tuple[int, int, list[str]]]:
        """First line, last line and fields of each record that is not blank.

        Many times slower than pyarrow: read for the header, and to place an error.
        """
        with self.open() as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            before = 0
            for record in reader:
                if record:
                    yield before + 1, reader.line_num, record
                before = reader.line_num


class Piece(NamedTuple):
    """Some consecutive records, blank lines among them.

    Parameters
    ----------
    text : bytes
        Whole records only, unless there is a fault.
    fault : callable, optional
        What is wrong with the text, or with what follows it: makes the error, given
        how many lines are before the piece.
    """

    text: bytes
    fault: Callable[[int], PrincompError] | None = None


def pieces_of(dialect: Dialect, stream: BinaryIO, size: int) -> Iterator[Piece]:
    """Cut a stream of bytes after whole records, about ``size`` bytes a piece.

    Quoted line ends end no record, and a mark inside of an unquoted cell (5" pipe)
    quotes nothing: as pyarrow and the csv module have it. A fault comes in its turn,
    as the last piece.
    """
    rest, is_open = b"", False
    while True:
        try:
            with reading(dialect.path, dialect.kind):
                # A long record doubles what is looked at, so that it is not searched too often.
                more = stream.read(max(size, len(rest)))
        except PrincompError as error:
            yield Piece(b"", _known(error))
            return
        if not more:
            break
        text = rest + more if rest else more
        end, is_open = _last_end(text, dialect.delimiter)
        if end:
            yield Piece(text[:end])
            rest = text[end:]
        else:
            rest = text
            if len(rest) > LONGEST_ROW:
                break
    if rest and is_open:
        yield Piece(rest, lambda lines: _open_quote(dialect, lines + 1))
    elif len(rest) > LONGEST_ROW:
        yield Piece(rest, lambda lines: _long_row(dialect, lines + 1))
    elif rest:
        yield Piece(rest)


def _known(error: PrincompError) -> Callable[[int], PrincompError]:
    return lambda lines: error


def _last_end(text: bytes, delimiter: str) -> tuple[int, bool]:
    """Position after the last line end that ends a record, or 0; and if a quote is open."""
    for since in (len(text) - _TAIL, 0):
        marks, since = _quotes(text, delimiter, since)
        # A carriage return that comes last may be half of a line end.
        for end, stop in ((b"\n", len(text)), (b"\r", len(text) - 1)):
            while (stop := text.rfind(end, since, stop)) >= 0:
                before = int(np.searchsorted(marks, stop))
                if before % 2 == 0:
                    return stop + 1, len(marks) % 2 == 1
                stop = int(marks[before - 1])
        if since == 0:
            break
    return 0, len(marks) % 2 == 1


def _quotes(text: bytes, delimiter: str, since: int) -> tuple[NDArray[np.int64], int]:
    """Positions of the marks that open and close quoted cells, in turn.

    All of them, or those from a position on, given with them, that is at most ``since``.
    """
    if b'"' not in text:
        return np.empty(0, np.int64), 0
    data = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero(data == ord('"'))
    # Taken in pairs, each first mark must stand where a cell begins, or make "" with
    # the one before it: then every mark quotes.
    opens = np.zeros(256, np.bool_)
    opens[list(f'\r\n"{delimiter}'.encode())] = True
    may_open = opens[data[marks - 1]]
    may_open[0] |= marks[0] == 0
    if may_open[::2].all():
        return marks, 0
    # Of two marks in a row that open nothing, the second is text, whatever was before: it
    # is enough to look closely from there on.
    sure = 1 + np.flatnonzero(~(may_open[:-1] | may_open[1:]))
    sure = marks[sure[marks[sure] <= since]]
    since = int(sure[-1]) if len(sure) else 0
    cell = rb'(?:\A|(?<=[\r\n%b]))"(?:[^"]++|"")*+("?)' % delimiter.encode()
    found = []
    for quoted in re.compile(cell).finditer(text, since):
        found.append(quoted.start())
        if quoted[1]:
            found.append(quoted.end() - 1)
    return np.array(found, np.int64), since


def count_lines(text: bytes) -> int:
    """Line ends of every kind."""
    lines = text.count(b"\n")
    if b"\r" in text:
        lines += text.count(b"\r") - text.count(b"\r\n")
    return lines


def refuse_damage(dialect: Dialect, lines: int = 0) -> None:
    """Raise MalformedFileError if a quote is never closed, or zero bytes are among the text.

    Readers take all that follows an open quote for one cell of text, and those rows
    would be missing without a word; files that were not written to their end are
    filled up with zeros. ``lines`` are before the text.
    """
    with reading(dialect.path, dialect.kind), dialect.binary() as stream:
        for piece in pieces_of(dialect, stream, 1 << 22):
            if b"\0" in piece.text:
                raise _zero_byte(dialect, lines + 1 + count_lines(piece.text.partition(b"\0")[0]))
            if piece.fault is not None:
                raise piece.fault(lines)
            lines += count_lines(piece.text)


def _open_quote(dialect: Dialect, line: int) -> MalformedFileError:
    return MalformedFileError(
        f"{dialect.path}: a quote opened in line {line} is never closed",
        place={"file": str(dialect.path), "line": line},
        hint="Close it, or write a quote that belongs to the text twice; "
        "or the file may be cut short.",
    )


def _long_row(dialect: Dialect, line: int) -> MalformedFileError:
    return MalformedFileError(
        f"{dialect.path}: the row that starts in line {line} does not end "
        f"within {LONGEST_ROW >> 20} MB",
        place={"file": str(dialect.path), "line": line},
        hint="Each row must stand on a line of its own.",
    )


def _zero_byte(dialect: Dialect, line: int) -> MalformedFileError:
    return MalformedFileError(
        f"{dialect.path}: line {line} holds a zero byte, which no text does",
        place={"file": str(dialect.path), "line": line},
        hint="The file was not written to its end, or is not text: make or fetch it anew.",
    )
