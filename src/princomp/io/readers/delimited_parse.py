"""Parse a piece of delimited text into numbers, or make the error that says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotNumericError, PrincompError
from princomp.io.readers.cells import MISSING, correct_cell, is_text, looks_numeric
from princomp.io.readers.columns import Origin
from princomp.io.readers.delimited import Reader, cast_text
from princomp.io.readers.delimited_pieces import Dialect, Piece, count_lines
from princomp.io.readers.delimited_text import Header, line_of, structure_error
from princomp.io.readers.delimited_whole import (
    are_whole,
    may_have_lost_digits,
    refuse_long_integers,
)
from princomp.io.readers.number_text import Unit
from princomp.io.readers.reader_errors import reading
from princomp.linalg import empty

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Before", "Parsed", "Parser"]

# Rows that are copied from columns to C order at once, so that they stay in the CPU cache.
_ROWS = 4096

_TRUTHS = frozenset({"true", "false", "1", "0"})


class Before(NamedTuple):
    """Number of data rows and of lines (including the header) before a piece."""

    rows: int
    lines: int


class Parsed(NamedTuple):
    """The contents of a piece.

    Parameters
    ----------
    data : ndarray of shape (m, p), C order
    ids : ndarray of object of shape (m,), optional
    lines : int
        Number of lines of its text.
    fractions : sequence of int
        Columns found to hold fractions.
    large : sequence of int
        Columns of integers, some of which are 2**53 or more.
    """

    data: NDArray[np.float64]
    ids: NDArray[np.object_] | None
    lines: int
    fractions: Sequence[int]
    large: Sequence[int]


@dataclass(frozen=True, slots=True)
class Parser:
    """Extracts the same columns from each piece.

    Parameters
    ----------
    dialect : Dialect
    names : list of str
        All columns, as named by the header.
    columns : tuple of str
        Columns of numbers.
    booleans : set of str
        Columns of true and false among ``columns``.
    id_column : str, optional
    looked_at : tuple of str
        Candidate columns, including those left out as text; all must be valid UTF-8.
    units : mapping of str to Unit
        Unit of each column whose numbers have one.
    """

    dialect: Dialect
    names: list[str]
    columns: tuple[str, ...]
    booleans: set[str]
    id_column: str | None
    looked_at: tuple[str, ...]
    units: Mapping[str, Unit] = field(default_factory=dict)

    def count(self, piece: Piece) -> int | None:
        """Number of rows of a piece, without checks of its cells; None if it has an error."""
        import pyarrow as pa

        if piece.fault is not None:
            return None
        with reading(self.dialect.path, self.dialect.kind):
            table = self._reader(piece).read([self.columns[0]], {self.columns[0]: pa.binary()})
            return None if table is None else int(table.num_rows)

    def parse(self, piece: Piece, whole: Sequence[bool]) -> Parsed | None:
        """Numbers and ids of a piece; None if it has an error.

        ``whole`` says which columns have held only integers so far; these are checked for large
        integers.
        """
        if piece.fault is not None or b"\0" in piece.text:
            return None
        read = self._reader(piece)
        with reading(self.dialect.path, self.dialect.kind):
            table = self._table(read)
            if table is None or not self._is_utf8(read):
                return None
            columns = [_floats(table.column(name)) for name in self.columns]
            ids = None
            if self.id_column is not None:
                ids = table.column(self.id_column).to_numpy(zero_copy_only=False)
                ids[ids == ""] = None
        fractions, large = [], []
        for j in (j for j, so_far in enumerate(whole) if so_far):
            if not are_whole(columns[j]):
                fractions.append(j)
            elif may_have_lost_digits(columns[j]):
                large.append(j)
        return Parsed(_in_rows(columns), ids, count_lines(piece.text), fractions, large)

    def error(self, piece: Piece, before: Before) -> PrincompError:
        """Make the error for a piece that could not be parsed, with its place."""
        if piece.fault is not None:
            return piece.fault(before.lines)
        read = self._reader(piece)
        with reading(self.dialect.path, self.dialect.kind):
            table = None if b"\0" in piece.text else read.as_text(self._considered())
            found = None if table is None else self._wrong_cell(table, piece, before)
            return found or structure_error(read.dialect, read.header, *before)

    def _wrong_cell(self, table: pa.Table, piece: Piece, before: Before) -> PrincompError | None:
        numbers = self.dialect.numbers
        for name in self.columns:
            truths = name in self.booleans
            column = table.column(name)
            cells = column.to_pylist()
            values = numbers.canonical(column, self.units.get(name)).to_pylist()
            for i, (cell, value) in enumerate(zip(cells, values, strict=True)):
                wrong = _is_no_truth(cell) if truths else value is not None and is_text(value)
                if wrong:
                    where = self._origin(piece, before).cell(name, before.rows + i)
                    return _not_as_before(name, cell, where, truths)
        return None

    def refuse_long_integers(self, piece: Piece, j: int, before: Before) -> None:
        """Raise NotNumericError for an integer beyond 2**53 in a column of integers only."""
        origin = self._origin(piece, before)
        refuse_long_integers(self._reader(piece), self.columns[j], origin, before.rows)

    def _reader(self, piece: Piece) -> Reader:
        dialect = replace(self.dialect, text=piece.text)
        # Parse the piece as one block, in the calling thread.
        return Reader(dialect, Header(self.names, 0), len(piece.text) + 1, threads=False)

    def _considered(self) -> list[str]:
        ids = () if self.id_column is None else (self.id_column,)
        return [*dict.fromkeys((*self.columns, *self.looked_at, *ids))]

    def _origin(self, piece: Piece, before: Before) -> Origin:
        dialect = replace(self.dialect, text=piece.text)

        def line(row: int) -> int | None:
            found = line_of(dialect, row - before.rows)
            return None if found is None else before.lines + found

        return Origin(str(self.dialect.path), line)

    def _table(self, read: Reader) -> pa.Table | None:
        import pyarrow as pa

        types = {
            name: pa.bool_() if name in self.booleans else pa.float64() for name in self.columns
        }
        if self.id_column is not None:
            types[self.id_column] = pa.string()
        if not self.units and (table := read.read(list(types), types)) is not None:
            return table
        # Convert from text: pyarrow alone does not recognize a missing cell with blanks around
        # it, for example.
        table = read.as_text(list(types))
        if table is None:
            return None
        for i, name in enumerate(self.columns):
            cast = cast_text(
                table.column(name), types[name], self.dialect.numbers, self.units.get(name)
            )
            if cast is None:
                return None
            table = table.set_column(i, name, cast)
        return table

    def _is_utf8(self, read: Reader) -> bool:
        text = read.dialect.text or b""
        if text.isascii():
            return True
        try:
            text.decode()
        except UnicodeDecodeError:
            # Invalid bytes in excluded columns do not matter.
            return read.as_text(self._considered()) is not None
        return True


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if str(column.type) == "bool":
        column = column.cast("float64")
    values: NDArray[np.float64] = column.to_numpy()
    return values


def _in_rows(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Copy columns to an array of shape (m, p) in C order."""
    data = empty((len(columns[0]), len(columns)))
    for first in range(0, len(data), _ROWS):
        rows = slice(first, first + _ROWS)
        for j, column in enumerate(columns):
            data[rows, j] = column[rows]
    return data


def _is_no_truth(cell: str) -> bool:
    return cell.strip().lower() not in _TRUTHS and cell.strip() not in MISSING


def _not_as_before(
    column: str, cell: str, where: tuple[str, dict[str, Any]], truths: bool
) -> NotNumericError:
    words, place = where
    shown = repr(cell) if len(repr(cell)) <= 60 else f"{cell!r:.57}…'"
    hint = correct_cell(column, cell)
    if looks_numeric(cell) and not truths:
        hint = "This looks like a decimal comma (decimal=',') or a thousands separator."
    what = "neither true nor false" if truths else "not a number"
    return NotNumericError(
        f"{words}: {shown} is {what}, as the first cells of the column are",
        place=place,
        hint=hint,
    )
