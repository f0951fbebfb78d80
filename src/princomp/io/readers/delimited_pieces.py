"""Cut the text of a delimited file into pieces of whole records.

Line ends within quotes do not end a record. ``pieces_of`` also finds faults that CSV readers do not
report: an unclosed quote, a row that never ends, zero bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import PrincompError
from princomp.io.readers import delimited_text
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.reader_errors import malformed

# Bytes of a piece of a text that is only searched.
_SEARCHED_BYTES = 2**22
# Numbers that each line of a well-formed cell must have to be taken for rows of the table.
_FEWEST_NUMBERS = 2
# Bytes at the end of a text that are searched first for the last line end.
TAIL_BYTES = 2**16


class Piece(NamedTuple):
    """Consecutive records, including blank lines.

    Parameters
    ----------
    text : bytes
        Only whole records, unless there is a fault.
    lines : int
        Number of lines before it.
    fault : PrincompError, optional
        The error for a fault in the text or after it.
    """

    text: bytes
    lines: int
    fault: PrincompError | None = None


def pieces_of(dialect: Dialect, stream: BinaryIO, size: int, lines: int = 0) -> Iterator[Piece]:
    """Split a stream of bytes into pieces of whole records, of about ``size`` bytes each.

    There are ``lines`` before it. A quoted line end does not end a record, and a quote inside an
    unquoted cell (5" pipe) is ordinary text, as in pyarrow and the csv module. If there is a
    fault, it is in the last piece.
    """
    rest, is_open = b"", False
    while True:
        try:
            with dialect.reading():
                # Double the text for a long record, so that it is not searched too often.
                data = stream.read(max(size, len(rest)))
        except PrincompError as error:
            yield Piece(b"", lines, error)
            return
        if not data:
            break
        text = rest + data if rest else data
        end, is_open = _end_of_last_record(text, dialect.delimiter)
        if end:
            piece = Piece(text[:end], lines)
            yield piece
            lines += count_lines(piece.text)
            rest = text[end:]
        else:
            rest = text
            if len(rest) > delimited_text.LONGEST_ROW:
                break

    fault: PrincompError | None = None
    if is_open:
        problem = f"a quote opened in line {lines + 1} is never closed"
        hint = "Close it, or double it if it belongs to the text; or the file is cut short."
        fault = malformed(dialect.path, problem, hint, line=lines + 1)
    elif len(rest) > delimited_text.LONGEST_ROW:
        longest = f"{delimited_text.LONGEST_ROW >> 20} MB"
        problem = f"the row that starts in line {lines + 1} does not end within {longest}"
        hint = "Each row must stand on a line of its own."
        fault = malformed(dialect.path, problem, hint, line=lines + 1)
    if rest:
        yield Piece(rest, lines, fault)


def _end_of_last_record(text: bytes, delimiter: str) -> tuple[int, bool]:
    """Position after the last record that is complete, or 0, and whether a quote is open."""
    for start in (len(text) - TAIL_BYTES, 0):
        quotes, start = _cell_quotes(text, delimiter, start)
        # A carriage return at the very end may be half of a line end.
        for line_end, stop in ((b"\n", len(text)), (b"\r", len(text) - 1)):
            while (stop := text.rfind(line_end, start, stop)) >= 0:
                quotes_before = int(np.searchsorted(quotes, stop))
                if quotes_before % 2 == 0:
                    return stop + 1, len(quotes) % 2 == 1
                stop = int(quotes[quotes_before - 1])
        if start == 0:
            break
    return 0, len(quotes) % 2 == 1


def _cell_quotes(text: bytes, delimiter: str, start: int) -> tuple[NDArray[np.int64], int]:
    """Positions of the quotes that open and close quoted cells, in order, and a start position.

    The positions are complete from the start position on, which is at most ``start``.
    """
    if b'"' not in text:
        return np.empty(0, np.int64), 0
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    # Fast path: take the quotes in pairs. If the first of each pair is at the start of a cell, or
    # forms "" with the quote before it, then no quote is ordinary text.
    precedes_cell = np.zeros(256, np.bool_)
    precedes_cell[list(f'\r\n"{delimiter}'.encode())] = True
    may_open = precedes_cell[data[quotes - 1]]
    may_open[0] |= quotes[0] == 0
    if may_open[::2].all():
        return quotes, 0
    # Of two successive quotes that cannot open a cell, the second is ordinary text in any case,
    # so an exact search can start there.
    restarts = 1 + np.flatnonzero(~(may_open[:-1] | may_open[1:]))
    restarts = quotes[restarts[quotes[restarts] <= start]]
    start = int(restarts[-1]) if len(restarts) else 0
    before = rb"(?:\A|(?<=\A\xef\xbb\xbf)|(?<=[\r\n%b]))" % re.escape(delimiter.encode())
    cell = before + rb'"(?:[^"]++|"")*+("?)'
    found = []
    for quoted in re.compile(cell).finditer(text, start):
        found.append(quoted.start())
        if quoted[1]:
            found.append(quoted.end() - 1)
    return np.array(found, np.int64), start


def count_lines(text: bytes) -> int:
    r"""Number of line ends: \n, \r or \r\n."""
    lines = text.count(b"\n")
    if b"\r" in text:
        lines += text.count(b"\r") - text.count(b"\r\n")
    return lines


def refuse_damage(dialect: Dialect, rows: int = 0) -> None:
    """Raise MalformedFileError if quotes swallow rows in the text, or if it has zero bytes.

    CSV readers take everything after an unclosed quote, or between two quotes that are no pair, as
    one cell, so those rows would be missing without an error. Files that were not written
    completely may be padded with zeros.

    Parameters
    ----------
    dialect : Dialect
    rows : int
        Number of rows that were read. If there are as many lines, no cell has several.
    """
    text, lines = dialect.text or b"", dialect.lines_before
    if b"\0" in text:
        line = lines + 1 + count_lines(text.partition(b"\0")[0])
        problem = f"line {line} holds a zero byte, which no text does"
        raise malformed(dialect.path, problem, line=line)
    if b'"' not in text:
        return
    for piece in pieces_of(dialect, io.BytesIO(text), _SEARCHED_BYTES, lines):
        if piece.fault is not None:
            raise piece.fault
    if count_lines(text) - dialect.header_lines <= rows:
        return
    for piece in pieces_of(dialect, io.BytesIO(text), _SEARCHED_BYTES, lines):
        if error := quoted_rows_error(dialect, piece.text, piece.lines):
            raise error


def quoted_rows_error(dialect: Dialect, text: bytes, lines: int = 0) -> PrincompError | None:
    """Make the error for the first quoted cell that contains rows of the table, if there is one.

    There are ``lines`` before the text.
    """
    if b'"' not in text:
        return None
    delimiter, p = dialect.delimiter, len(dialect.names)
    # Blanks between fields are replaced by the delimiter only outside of quotes.
    separator = None if dialect.split_at_blanks else delimiter
    ends = (b"", b'"', b" ", b"\r", b"\n", delimiter.encode())
    quotes, _ = _cell_quotes(text, delimiter, 0)
    data = np.frombuffer(text, np.uint8)
    line_ends = np.flatnonzero((data == ord("\n")) | (data == ord("\r")))
    pairs = quotes[: len(quotes) // 2 * 2].reshape(-1, 2)
    first, after = np.searchsorted(line_ends, pairs).T
    cells = np.column_stack([pairs, first])[first < after]

    def is_row(line: str, p: int, fewest: int) -> bool:
        fields = line.split(separator)
        # In text and in lists of numbers, blanks follow commas.
        if len(fields) != p or (fewest > 1 and any(field[:1] == " " for field in fields)):
            return False
        fields = [field.strip(' "') for field in fields]
        numbers = [f for f in fields if f and not dialect.number_format.is_text(f)]
        return len(numbers) >= fewest

    for start, stop, i in cells.tolist():
        cell = text[start : stop + 1]
        # A delimiter, a line end, a blank or (if doubled) another quote follows the closing quote
        # of a well-formed cell. Text after it shows that it opens a cell itself.
        ends_well = text[stop + 1 : stop + 2] in ends
        if ends_well and delimiter.encode() not in cell and not dialect.split_at_blanks:
            continue
        begin = int(line_ends[i - 1]) + 1 if i else 0
        cells_before = text[begin:start].count(delimiter.encode())
        opening, *more = cell.decode(errors="replace").splitlines()
        fewest = _FEWEST_NUMBERS if ends_well else 1
        of_table = [is_row(opening, p - cells_before, fewest)]
        of_table += [is_row(line, p, fewest) for line in more[:-1]]
        if all(of_table) or (any(of_table) and not ends_well):
            line = lines + 1 + count_lines(text[:start])
            problem = f"a quoted cell from line {line} to line {line + len(more)} contains rows of "
            problem += "the table"
            hint = "Enclose a cell that contains a quote in quotes, and double the quote: write "
            hint += '5" as "5""".'
            return malformed(dialect.path, problem, hint, line=line)
    return None
