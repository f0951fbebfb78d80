"""Parse a piece of delimited text into numbers, or make the error that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from princomp.errors import NotNumericError, PrincompError
from princomp.io.readers.cells import MISSING, bad_cell_hint, is_text, looks_numeric
from princomp.io.readers.columns import Origin
from princomp.io.readers.delimited_dialect import Dialect
from princomp.io.readers.delimited_pieces import Piece, count_lines
from princomp.io.readers.delimited_reader import (
    Reader,
    are_integers,
    cast_text,
    may_have_lost_digits,
)
from princomp.io.readers.delimited_text import Header, line_of, structure_error
from princomp.io.readers.number_text import Unit
from princomp.io.readers.reader_errors import reading
from princomp.io.readers.source import copy_columns
from princomp.linalg import empty

_BOOLEANS = frozenset({"true", "false", "1", "0"})


class Offset(NamedTuple):
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
    fractional_columns : sequence of int
        Columns found to hold fractions.
    large_columns : sequence of int
        Columns of integers, some of which are 2**53 or more.
    """

    data: NDArray[np.float64]
    ids: NDArray[np.object_] | None
    lines: int
    fractional_columns: Sequence[int]
    large_columns: Sequence[int]


@dataclass(frozen=True, slots=True)
class Parser:
    """Extracts the same columns from each piece.

    Parameters
    ----------
    dialect : Dialect
    header : Header
    columns : tuple of str
        Columns of numbers.
    id_column : str, optional
    candidates : list of str
        All columns from which these were chosen, including those left out as text; all must be
        valid UTF-8.
    booleans : set of str
        Columns of true and false among ``columns``.
    units : dict
        Unit of each column whose numbers have one.
    """

    dialect: Dialect
    header: Header
    columns: tuple[str, ...]
    id_column: str | None
    candidates: list[str]
    booleans: set[str]
    units: dict[str, Unit]

    def count(self, piece: Piece) -> int | None:
        """Number of rows of a piece, without checks of its cells; None if it has an error."""
        if piece.fault is not None:
            return None
        name = self.columns[0]
        with reading(self.dialect.path, self.dialect.kind):
            table = self._reader(piece).read([name], {name: pa.binary()})
            return None if table is None else int(table.num_rows)

    def parse(self, piece: Piece, is_integer: Sequence[bool]) -> Parsed | None:
        """Numbers and ids of a piece; None if it has an error.

        ``is_integer`` says which columns have held only integers so far; these are checked for
        large integers.
        """
        if piece.fault is not None or b"\0" in piece.text:
            return None
        reader = self._reader(piece)
        with reading(self.dialect.path, self.dialect.kind):
            table = self._read_table(reader)
            if table is None or not self._is_utf8(reader):
                return None
            columns = [table.column(name).cast("float64").to_numpy() for name in self.columns]
            ids = None
            if self.id_column is not None:
                ids = table.column(self.id_column).to_numpy(zero_copy_only=False)
                ids[ids == ""] = None
        fractional, large = [], []
        for j in (j for j, so_far in enumerate(is_integer) if so_far):
            if not are_integers(columns[j]):
                fractional.append(j)
            elif may_have_lost_digits(columns[j]):
                large.append(j)
        data = empty((len(table), len(columns)))
        copy_columns(columns, data)
        return Parsed(data, ids, count_lines(piece.text), fractional, large)

    def error(self, piece: Piece, offset: Offset) -> PrincompError:
        """Make the error for a piece that could not be parsed, with its place."""
        if piece.fault is not None:
            return piece.fault(offset.lines)
        reader = self._reader(piece)
        with reading(self.dialect.path, self.dialect.kind):
            table = None if b"\0" in piece.text else reader.read_as_text(self.candidates)
            error = None if table is None else self._cell_error(table, piece, offset)
            return error or structure_error(reader.dialect, reader.header, *offset)

    def _cell_error(self, table: pa.Table, piece: Piece, offset: Offset) -> PrincompError | None:
        """The error for the first cell that is unlike the first cells of its column, if any."""
        for name in self.columns:
            is_boolean = name in self.booleans
            column = table.column(name)
            values = self.dialect.number_format.canonical(column, self.units.get(name))
            for i, (cell, value) in enumerate(
                zip(column.to_pylist(), values.to_pylist(), strict=True)
            ):
                if is_boolean:
                    wrong = cell.strip().lower() not in _BOOLEANS and cell.strip() not in MISSING
                else:
                    wrong = value is not None and is_text(value)
                if not wrong:
                    continue
                words, place = self._origin(piece, offset).describe_cell(name, i)
                shown = repr(cell) if len(repr(cell)) <= 60 else f"{cell!r:.57}…'"
                hint = bad_cell_hint(name, cell)
                if looks_numeric(cell) and not is_boolean:
                    hint = "This looks like a decimal comma (decimal=',') or a thousands separator."
                what = "neither true nor false" if is_boolean else "not a number"
                problem = f"{words}: {shown} is {what}, as the first cells of the column are"
                return NotNumericError(problem, place=place, hint=hint)
        return None

    def refuse_long_integers(self, piece: Piece, j: int, offset: Offset) -> None:
        """Raise NotNumericError for an integer beyond 2**53 in a column of integers only."""
        name = self.columns[j]
        origin = self._origin(piece, offset)
        self._reader(piece).refuse_long_integers(name, origin, self.units.get(name))

    def _reader(self, piece: Piece) -> Reader:
        dialect = replace(self.dialect, text=piece.text)
        header = replace(self.header, lines=0)
        # Parse the piece as one block, in the calling thread.
        return Reader(dialect, header, len(piece.text) + 1, threads=False)

    def _origin(self, piece: Piece, offset: Offset) -> Origin:
        dialect = replace(self.dialect, text=piece.text)

        def line(row: int) -> int | None:
            local_line = line_of(dialect, row - offset.rows)
            return None if local_line is None else offset.lines + local_line

        return Origin(str(self.dialect.path), line, offset=offset.rows)

    def _read_table(self, reader: Reader) -> pa.Table | None:
        types = {
            name: pa.bool_() if name in self.booleans else pa.float64() for name in self.columns
        }
        if self.id_column is not None:
            types[self.id_column] = pa.string()
        if not self.units and (table := reader.read(list(types), types)) is not None:
            return table
        # Convert from text: pyarrow alone does not recognize a missing cell with blanks around
        # it, for example.
        table = reader.read_as_text(list(types))
        if table is None:
            return None
        for i, name in enumerate(self.columns):
            cast = cast_text(
                table.column(name), types[name], self.dialect.number_format, self.units.get(name)
            )
            if cast is None:
                return None
            table = table.set_column(i, name, cast)
        return table

    def _is_utf8(self, reader: Reader) -> bool:
        text = reader.dialect.text or b""
        if text.isascii():
            return True
        try:
            text.decode()
        except UnicodeDecodeError:
            # Invalid bytes in excluded columns do not matter.
            return reader.read_as_text(self.candidates) is not None
        return True
