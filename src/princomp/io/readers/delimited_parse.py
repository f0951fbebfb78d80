"""A piece of delimited text into numbers, or into the error that says what is wrong there."""

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

# Rows that are turned from columns into C order at once, so that they stay in cache.
_ROWS = 4096

_TRUTHS = frozenset({"true", "false", "1", "0"})


class Before(NamedTuple):
    """What comes before a piece: data rows, and lines, those of the names included."""

    rows: int
    lines: int


class Parsed(NamedTuple):
    """What became of a piece.

    Parameters
    ----------
    data : ndarray of shape (m, p), C order
    ids : ndarray of object of shape (m,), optional
    lines : int
        Of its text.
    fractions : sequence of int
        Columns found to hold more than whole numbers.
    large : sequence of int
        Columns of whole numbers, some of 2**53 or more.
    """

    data: NDArray[np.float64]
    ids: NDArray[np.object_] | None
    lines: int
    fractions: Sequence[int]
    large: Sequence[int]


@dataclass(frozen=True, slots=True)
class Parser:
    """What is taken out of each piece.

    Parameters
    ----------
    dialect : Dialect
    names : list of str
        All columns, as the first line names them.
    columns : tuple of str
        Those of numbers.
    booleans : set of str
        Those among them of true and false.
    id_column : str, optional
    looked_at : tuple of str
        Further columns that must be text at least: they were left out as such.
    units : mapping of str to Unit
        Of columns whose numbers have one.
    """

    dialect: Dialect
    names: list[str]
    columns: tuple[str, ...]
    booleans: set[str]
    id_column: str | None
    looked_at: tuple[str, ...]
    units: Mapping[str, Unit] = field(default_factory=dict)

    def count(self, piece: Piece) -> int | None:
        """Rows of a piece, whose cells are not looked at; None if something is wrong with it."""
        import pyarrow as pa

        if piece.fault is not None:
            return None
        with reading(self.dialect.path, self.dialect.kind):
            table = self._reader(piece).read([self.columns[0]], {self.columns[0]: pa.binary()})
            return None if table is None else int(table.num_rows)

    def parse(self, piece: Piece, whole: Sequence[bool]) -> Parsed | None:
        """Numbers and ids of a piece; None if something is wrong with it.

        ``whole`` tells which columns are to be checked for large integers: those of whole
        numbers so far.
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
        """What is wrong with a piece that was not parsed, and where."""
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
        # One block, in the thread that asks.
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
        # pyarrow knows a missing cell only without blanks around it, for one thing.
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
            # In a column that was excluded, nobody asks.
            return read.as_text(self._considered()) is not None
        return True


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if str(column.type) == "bool":
        column = column.cast("float64")
    values: NDArray[np.float64] = column.to_numpy()
    return values


def _in_rows(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Columns as an array of shape (m, p), in C order."""
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
