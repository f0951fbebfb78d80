"""Delimited text as bytes: opened, and cut after whole records.

Line ends within quotes end no record. Faults that no reader of records sees are found here: an
open quote, a row that never ends, zero bytes.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, PrincompError
from princomp.io.readers.number_text import PLAIN, NumberFormat
from princomp.io.readers.reader_errors import malformed, open_whole, reading

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "LONGEST_ROW",
    "Dialect",
    "Piece",
    "count_lines",
    "end_of_lines",
    "pieces_of",
    "raw_bytes",
    "refuse_damage",
    "without_last_records",
]

_UTF8 = ("utf-8", "utf-8-sig")
# Those within quotes stay.
_BLANKS = re.compile(r'"[^"]*"|[ \t]+')

# A row longer than this is no row: a quote was left open, or line ends are missing.
LONGEST_ROW = 2**26
# The end of a text, where it is enough to look for the last line end.
_TAIL = 2**16
# Bytes of a compressed file that are read at once.
_READ = 2**22


@dataclass(frozen=True, slots=True)
class Dialect:
    """A delimited file, and how it is written.

    Parameters
    ----------
    path : Path
        Its name in messages.
    delimiter : str
        One character.
    compression : {None, "gzip", "zstd"}
    text : bytes, optional
        All or some of its text, where that is in memory: then nothing is opened. It is clean:
        UTF-8, without the lines that are left out.
    encoding : str
        Of Python.
    skip : int
        Lines left out at the top.
    comment : str
        Lines that begin with it are left out; "" for none.
    blanks : bool
        Fields are separated by any number of blanks, which become one ``delimiter``.
    numbers : NumberFormat
    header : int, optional
        Lines of names; None finds out whether the first line is one.
    skip_end : int, optional
        Rows left out at the end; None refuses totals.
    notes : tuple of str
        What was detected.
    """

    path: Path
    delimiter: str
    compression: str | None
    text: bytes | None = None
    encoding: str = "utf-8-sig"
    skip: int = 0
    comment: str = ""
    blanks: bool = False
    numbers: NumberFormat = PLAIN
    header: int | None = None
    skip_end: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its name in messages."""
        name = "TSV" if self.delimiter == "\t" and not self.blanks else "CSV"
        return {None: name, "gzip": f"gzipped {name}"}.get(
            self.compression, f"{name} compressed by {self.compression}"
        )

    @property
    def is_clean(self) -> bool:
        """Whether the bytes are UTF-8 and all lines belong to the table."""
        return self.encoding in _UTF8 and not (self.skip or self.comment or self.blanks)

    def binary(self) -> BinaryIO:
        """Open as bytes: decompressed, in UTF-8, with the lines that are left out blank."""
        if self.text is not None:
            return io.BytesIO(self.text)
        return self.cleaned(raw_bytes(self.path, self.compression))

    def cleaned(self, stream: BinaryIO) -> BinaryIO:
        """Clean decompressed bytes."""
        if self.is_clean:
            return stream
        return io.BufferedReader(_Cleaned(stream, self), 1 << 20)

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


def without_last_records(dialect: Dialect, text: bytes, last: int) -> bytes:
    """Cut off the last records of a clean text, which may be of any form."""
    starts = [start for start, _, _ in replace(dialect, text=text).records()]
    return text[: end_of_lines(text, starts[-last] - 1)] if len(starts) > last else b""


def end_of_lines(text: bytes, lines: int) -> int:
    """Position after the first lines."""
    found = re.match(rb"(?:[^\r\n]*+(?:\r\n?|\n)){%d}" % lines, text)
    return 0 if found is None else found.end()


def raw_bytes(path: Path, compression: str | None) -> BinaryIO:
    """Open a file as bytes, decompressed."""
    if compression is None:
        return open_whole(path)
    import pyarrow as pa

    # In a few reads: each waits for Python's lock, which the threads that parse take, too.
    stream = pa.BufferedInputStream(pa.PythonFile(open_whole(path), "r"), _READ)
    return cast(BinaryIO, pa.CompressedInputStream(stream, compression))


class _Cleaned(io.RawIOBase):
    """Text in UTF-8, whose comments and skipped lines are blank: the others keep their numbers."""

    def __init__(self, stream: BinaryIO, dialect: Dialect) -> None:
        self._stream, self._skip = stream, dialect.skip
        self._decoder = codecs.getincrementaldecoder(dialect.encoding)()
        self._comment = None
        if dialect.comment:
            self._comment = re.compile(rf"^{re.escape(dialect.comment)}[^\r\n]*", re.MULTILINE)
        self._blanks = dialect.blanks
        self._rest, self._ready, self._ended = "", b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer).cast("B")
        while not self._ready and not self._ended:
            self._ready = self._next().encode()
        given, self._ready = self._ready[: len(into)], self._ready[len(into) :]
        into[: len(given)] = given
        return len(given)

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _next(self) -> str:
        """Some whole lines, cleaned."""
        more = self._stream.read(1 << 20)
        self._ended = not more
        text = self._rest + self._decoder.decode(more, final=self._ended)
        text = text.removeprefix("\ufeff")
        end = len(text) if self._ended else text.rfind("\n") + 1
        if not end and len(text) > LONGEST_ROW:
            end = len(text)  # no lines at all, as is found later
        text, self._rest = text[:end], text[end:]
        blank = 0
        while self._skip and text:
            text = text.partition("\n")[2]
            self._skip -= 1
            blank += 1
        if self._comment is not None:
            text = self._comment.sub("", text)
        if self._blanks:
            text = _BLANKS.sub(_as_tab, text)
        return "\n" * blank + text


def _as_tab(match: re.Match[str]) -> str:
    """One tab between fields, and nothing before the first and after the last."""
    if match[0][0] == '"':
        return match[0]
    text, (start, end) = match.string, match.span()
    at_edge = start == 0 or text[start - 1] in "\r\n" or end == len(text) or text[end] in "\r\n"
    return "" if at_edge else "\t"


class Piece(NamedTuple):
    """Some consecutive records, blank lines among them.

    Parameters
    ----------
    text : bytes
        Whole records only, unless there is a fault.
    fault : callable, optional
        Makes the error for a fault in the text or after it, given the number of lines before
        the piece.
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
    # Of two marks in a row that open nothing, the second is text in any case: it is enough to
    # look closely from there on.
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
    would be missing without an error; files that were not written to their end are
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
    return malformed(
        dialect.path,
        f"a quote opened in line {line} is never closed",
        "Close it, or write a quote that belongs to the text twice; or the file may be cut short.",
        line=line,
    )


def _long_row(dialect: Dialect, line: int) -> MalformedFileError:
    return malformed(
        dialect.path,
        f"the row that starts in line {line} does not end within {LONGEST_ROW >> 20} MB",
        "Each row must stand on a line of its own.",
        line=line,
    )


def _zero_byte(dialect: Dialect, line: int) -> MalformedFileError:
    return malformed(
        dialect.path,
        f"line {line} holds a zero byte, which no text does",
        "The file was not written to its end, or is not text: create or download it again.",
        line=line,
    )
