"""Read columns of delimited text with pyarrow, whole or piece by piece.

``Reader`` reads columns of a text. ``Parser`` reads the chosen columns from each piece of it, as
numbers, or makes the error that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from princomp.errors import PrincompError
from princomp.io.readers.cells import (
    bad_cell_hint,
    decimal_mark_hint,
    first_long_integer,
    is_text,
    long_integer_error,
    looks_numeric,
    may_have_lost_digits,
    shortened,
)
from princomp.io.readers.columns import Origin
from princomp.io.readers.delimited_header import structure_error
from princomp.io.readers.delimited_pieces import Piece, count_lines, quoted_rows_error
from princomp.io.readers.delimited_text import LONGEST_ROW, Dialect
from princomp.io.readers.number_text import FALSE_WORDS, TRUE_WORDS, Unit, is_true_or_false
from princomp.io.readers.source import copy_columns
from princomp.io.readers.unclear_points import (
    Points,
    may_have_groups,
    points_in,
    unclear_mark_error,
)
from princomp.linalg import empty

# A row, and all of the header, must fit into a block; very wide tables need larger ones. For these
# words in an error of pyarrow, blocks grow up to so many bytes. pyarrow has one message for a long
# header and for a file without rows.
_LARGEST_BLOCKS = {"straddling": 1 << 30, "header is larger than block size": LONGEST_ROW}


@dataclass(slots=True)
class Reader:
    """Reads columns of the text in ``dialect``; methods return None if pyarrow finds an error."""

    dialect: Dialect
    block_size: int = 1 << 20
    threads: bool = True
    kinds: dict[str, str] = field(default_factory=dict)

    def read_typed(self, names: Sequence[str], text: Collection[str]) -> pa.Table | None:
        """Read with the types that the first block suggests; None if a later cell does not fit.

        Columns in ``text`` are read as text. ``kinds`` records which columns hold dates or times.
        """

        def types_of_first_block() -> pa.Schema:
            with pa_csv.open_csv(**self._options(names)) as reader:
                return reader.schema

        schema = self._try(types_of_first_block)
        if schema is None:
            return None
        types = dict.fromkeys(names, pa.string())
        for name, kind in zip(schema.names, schema.types, strict=True):
            if pa.types.is_temporal(kind):
                # Dates stay text, so that they are shown as written in the file.
                self.kinds[name] = "time" if pa.types.is_time(kind) else "date"
            elif name not in text and pa.types.is_boolean(kind):
                types[name] = pa.bool_()
            elif name not in text and kind in (pa.int64(), pa.float64(), pa.null()):
                # Floats, because a later cell of integers, or of none, may have a fraction.
                types[name] = pa.float64()
        return self.read(types)

    def read_as_text(self, names: Sequence[str]) -> pa.Table | None:
        """Read every cell as text; None if even that fails."""
        return self.read(dict.fromkeys(names, pa.string()))

    def read(self, types: Mapping[str, pa.DataType]) -> pa.Table | None:
        """Read columns with the given types."""

        def read() -> pa.Table:
            table = pa_csv.read_csv(**self._options(types, types))
            columns = map(self.dialect.number_format.without_missing, table.columns)
            return pa.table(list(columns), names=table.column_names)

        return self._try(read)

    def _try(self, read: Callable[[], Any]) -> pa.Table | None:
        with self.dialect.reading():
            while True:
                try:
                    return read()
                except pa.ArrowInvalid as error:
                    found = (size for words, size in _LARGEST_BLOCKS.items() if words in str(error))
                    if self.block_size >= max(found, default=0):
                        return None
                    self.block_size *= 8

    def _options(self, names: Iterable[str], types: Any = None) -> dict[str, Any]:
        return {
            "input_file": pa.BufferReader(self.dialect.text),
            "read_options": pa_csv.ReadOptions(
                column_names=self.dialect.names,
                skip_rows=self.dialect.header_lines,
                block_size=self.block_size,
                use_threads=self.threads,
            ),
            # Without newlines_in_values, a quoted line end at the border of two blocks
            # could split its row without an error.
            "parse_options": pa_csv.ParseOptions(
                delimiter=self.dialect.delimiter, newlines_in_values=True
            ),
            "convert_options": pa_csv.ConvertOptions(
                include_columns=list(names),
                column_types=types,
                null_values=sorted(self.dialect.number_format.missing),
                # Without 1 and 0, which pyarrow takes for true and false if others are in a column.
                true_values=TRUE_WORDS,
                false_values=FALSE_WORDS,
                decimal_point=self.dialect.number_format.decimal,
            ),
        }

    def points(
        self, columns: Mapping[str, NDArray[np.float64]], units: Mapping[str, Unit]
    ) -> Points:
        """Find out whether points in the first rows are decimal marks, given their numbers.

        ``units`` is as in ``Parser``.
        """
        # Without fractions, a point may be in numbers such as 1.000.
        are_whole = all(map(are_integers, columns.values()))
        if are_whole and not may_have_groups(self.dialect.text or b""):
            return Points()
        texts, rows = self.read_as_text(list(columns)), len(next(iter(columns.values())))
        return Points() if texts is None else points_in(texts[:rows], columns, units, self.dialect)

    def refuse_unclear_points(self, points: Points) -> None:
        """Raise MalformedFileError for a number such as 1.234 in this text."""
        if points.unclear is not None:
            row, cell = points.unclear
            line = self.dialect.line_of(self.dialect.rows_before + row)
            raise unclear_mark_error(self.dialect.path, line, cell)

    def refuse_long_integers(self, name: str, unit: Unit | None, rows: int | None = None) -> None:
        """Raise NotNumericError for an integer beyond 2**53 in a column of integers.

        Only the first ``rows`` are checked; ``unit`` is that of the column, if its cells have one.
        """
        table = self.read_as_text([name])
        if table is None:
            return
        cells = table.column(name)[:rows]
        numbers = self.dialect.number_format.canonical(cells, unit)
        long = first_long_integer(numbers.to_pylist())
        if long is not None:
            raise long_integer_error(name, long, cells[long].as_py(), self.dialect.origin)


def are_integers(values: NDArray[np.float64]) -> bool:
    """Whether every value is a whole number, infinite or missing."""
    return bool(np.all((values == np.trunc(values)) | np.isnan(values)))


class Parsed(NamedTuple):
    """The contents of a piece.

    Parameters
    ----------
    data : ndarray of shape (m, p), C order
    ids : ndarray of object of shape (m,), optional
    no_integers : list of tuple
        Columns of integers so far that hold fractions, or integers of 2**53 or more: their numbers,
        and whether it is the latter.
    points : Points
        What the points in its numbers are, if that was asked.
    """

    data: NDArray[np.float64]
    ids: NDArray[np.object_] | None
    no_integers: list[tuple[int, bool]]
    points: Points


@dataclass(frozen=True, slots=True)
class Parser:
    """Extracts the same columns from each piece.

    Parameters
    ----------
    dialect : Dialect
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
        table = self._reader(piece).read({name: pa.binary()})
        return None if table is None else int(table.num_rows)

    def parse(
        self, piece: Piece, is_integer: Sequence[bool], *, assumes_point: bool = False
    ) -> Parsed | None:
        """Numbers and ids of a piece; None if it has an error.

        ``is_integer`` says which columns have held only integers so far; these are checked for
        large integers. ``assumes_point`` says that no number so far has a decimal mark.
        """
        if piece.fault is not None or b"\0" in piece.text:
            return None
        reader = self._reader(piece)
        with self.dialect.reading():
            table = self._read_table(reader)
            if table is None or not self._is_utf8(reader):
                return None
            has_more_lines = b'"' in piece.text and count_lines(piece.text) > len(table)
            if has_more_lines and quoted_rows_error(self.dialect, piece.text):
                return None
            columns = [table.column(name).cast("float64").to_numpy() for name in self.columns]
            points = Points()
            if assumes_point:
                named = dict(zip(self.columns, columns, strict=True))
                points = reader.points(named, self.units)
            ids = None
            if self.id_column is not None:
                ids = table.column(self.id_column).to_numpy(zero_copy_only=False)
                ids[ids == ""] = None
        no_integers = []
        for j in (j for j, so_far in enumerate(is_integer) if so_far):
            are_large = are_integers(columns[j])
            if not are_large or may_have_lost_digits(columns[j]):
                no_integers.append((j, are_large))
        data = empty((len(table), len(columns)))
        copy_columns(columns, data)
        return Parsed(data, ids, no_integers, points)

    def error(self, piece: Piece, rows: int) -> PrincompError:
        """Make the error for a piece that could not be parsed; there are ``rows`` before it."""
        if piece.fault is not None:
            return piece.fault
        if error := quoted_rows_error(self.dialect, piece.text, piece.lines):
            return error
        reader = self._reader(piece, rows)
        with self.dialect.reading():
            table = None if b"\0" in piece.text else reader.read_as_text(self.candidates)
            error = None if table is None else self._cell_error(table, reader.dialect.origin)
            return error or structure_error(reader.dialect, reader.dialect.origin)

    def _cell_error(self, table: pa.Table, origin: Origin) -> PrincompError | None:
        """The error for the first cell that is unlike the first cells of its column, if any."""
        number_format = self.dialect.number_format
        for name in self.columns:
            is_boolean = name in self.booleans
            column = table.column(name)
            values = number_format.canonical(column, self.units.get(name))
            cells = zip(column.to_pylist(), values.to_pylist(), strict=True)
            for i, (cell, value) in enumerate(cells):
                is_valid = is_true_or_false(cell) if is_boolean else not is_text(value)
                if is_valid or value is None:
                    continue
                hint = bad_cell_hint(name, [cell], origin, number_format=number_format)
                if looks_numeric(cell) and not is_boolean and number_format.decimal != ",":
                    hint = decimal_mark_hint()
                what = "neither true nor false" if is_boolean else "not a number"
                problem = f"{shortened(repr(cell))} is {what}, unlike the first cells of the column"
                return origin.cell_error(name, i, problem, hint)
        return None

    def refuse_doubtful(
        self, piece: Piece, points: Points, large: Sequence[int], rows: int
    ) -> None:
        """Refuse a number such as 1.234, and integers beyond 2**53 in columns ``large``."""
        reader = self._reader(piece, rows)
        reader.refuse_unclear_points(points)
        for name in (self.columns[j] for j in large):
            reader.refuse_long_integers(name, self.units.get(name))

    def _reader(self, piece: Piece, rows: int = 0) -> Reader:
        text, lines = piece.text, piece.lines
        part = replace(
            self.dialect, text=text, header_lines=0, rows_before=rows, lines_before=lines
        )
        # Parse the piece as one block, in the calling thread.
        return Reader(part, len(piece.text) + 1, threads=False)

    def _read_table(self, reader: Reader) -> pa.Table | None:
        types = {
            name: pa.bool_() if name in self.booleans else pa.float64() for name in self.columns
        }
        if self.id_column is not None:
            types[self.id_column] = pa.string()
        if not self.units and (table := reader.read(types)) is not None:
            return table
        # Convert from text: pyarrow alone does not recognize a missing cell with blanks around
        # it, for example.
        table = reader.read_as_text(list(types))
        if table is None:
            return None
        columns = dict(zip(table.column_names, table.columns, strict=True))
        for name in self.columns:
            number_format = self.dialect.number_format
            cast = number_format.cast(columns[name], types[name], self.units.get(name))
            if cast is None:
                return None
            columns[name] = cast
        return pa.table(columns)

    def _is_utf8(self, reader: Reader) -> bool:
        try:
            (reader.dialect.text or b"").decode()
        except UnicodeDecodeError:
            # Invalid bytes in excluded columns do not matter.
            return reader.read_as_text(self.candidates) is not None
        return True
