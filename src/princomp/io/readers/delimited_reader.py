"""Read columns of delimited text with pyarrow, and refuse integers that are doubtful."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from princomp.errors import NotNumericError
from princomp.io.readers.cells import LARGEST_INTEGER, first_long_integer, long_integer_error
from princomp.io.readers.columns import Origin
from princomp.io.readers.delimited_dialect import Dialect
from princomp.io.readers.delimited_pieces import pieces_of
from princomp.io.readers.delimited_text import Header
from princomp.io.readers.number_text import PLAIN, NumberFormat, Unit
from princomp.io.readers.reader_errors import reading

# At least one digit is not 0, because 0000 is the number zero.
_CODE = r"\s*0+[1-9][0-9]*\s*"


@dataclass(slots=True)
class Reader:
    """Reads columns with pyarrow; its methods return None if pyarrow finds an error."""

    dialect: Dialect
    header: Header
    block_size: int = 1 << 20
    threads: bool = True
    kinds: dict[str, str] = field(default_factory=dict)

    def read_typed(self, names: Sequence[str], text: Collection[str]) -> pa.Table | None:
        """Read with the types that the first block suggests; None if a later cell does not fit.

        Columns in ``text`` are read as text. ``kinds`` records which columns hold dates or times.
        """

        def types_of_first_block() -> pa.Schema:
            with (
                self._stream() as stream,
                pa_csv.open_csv(stream, **self._options(names)) as reader,
            ):
                return reader.schema

        schema = self._try(types_of_first_block)
        if schema is None:
            return None
        # Integers and empty columns are read as floats, because a later cell may have a fraction.
        number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        types = {}
        for column in schema:
            if column.name not in text and any(test(column.type) for test in number):
                types[column.name] = pa.float64()
            elif column.name not in text and pa.types.is_boolean(column.type):
                types[column.name] = pa.bool_()
            else:
                # Dates are also read as text, so that they are shown as written in the file.
                types[column.name] = pa.string()
                if pa.types.is_temporal(column.type):
                    self.kinds[column.name] = "time" if pa.types.is_time(column.type) else "date"
        return self.read(names, types)

    def read_as_text(self, names: Sequence[str]) -> pa.Table | None:
        """Read every cell as text; None if even that fails."""
        return self.read(names, dict.fromkeys(names, pa.string()))

    def read(self, names: Sequence[str], types: dict[str, Any]) -> pa.Table | None:
        """Read columns with the given types."""

        def read() -> pa.Table:
            with self._stream() as stream:
                return pa_csv.read_csv(stream, **self._options(names, types))

        return self._try(read)

    def _try(self, read: Callable[[], Any]) -> pa.Table | None:
        while True:
            try:
                return read()
            except pa.ArrowInvalid as error:
                # A row must fit into a block; very wide tables need larger ones.
                if "straddling" not in str(error) or self.block_size >= 1 << 30:
                    return None
                self.block_size *= 8

    def _stream(self) -> Any:
        if self.dialect.text is not None:
            return pa.BufferReader(self.dialect.text)
        if not self.dialect.is_clean:
            return pa.PythonFile(self.dialect.open_binary(), "r")
        # As bytes, because the name of the file may not be UTF-8.
        file = pa.OSFile(os.fsencode(self.dialect.path))
        return pa.input_stream(file, compression=self.dialect.compression)

    def _options(self, names: Sequence[str], types: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "read_options": pa_csv.ReadOptions(
                column_names=self.header.names,
                skip_rows=self.header.lines,
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
                decimal_point=self.dialect.number_format.decimal,
            ),
        }

    def refuse_long_integers(
        self, name: str, origin: Origin, unit: Unit | None, rows: int | None = None
    ) -> None:
        """Raise NotNumericError for an integer beyond 2**53 in a column of integers.

        Only the first ``rows`` are checked; ``unit`` is that of the column, if its cells have one.
        """
        with reading(self.dialect.path, self.dialect.kind):
            table = self.read_as_text([name])
            if table is None:
                return
            cells = table.column(name)[:rows]
            numbers = self.dialect.number_format.canonical(cells, unit)
        long = first_long_integer(numbers.to_pylist())
        if long is not None:
            raise long_integer_error(name, long, cells[long].as_py(), origin)

    def refuse_codes(self, names: Sequence[str], origin: Origin, rows: int) -> None:
        """Raise NotNumericError for a cell such as 01234 in the first ``rows`` rows of columns."""
        if not names or not self._may_have_codes():
            return
        with reading(self.dialect.path, self.dialect.kind):
            table = self.read_as_text(names)
        if table is None:
            return
        for name in names:
            cells = table.column(name)[:rows]
            matches = compute.match_substring_regex(cells, f"^{_CODE}$")
            count = compute.sum(matches).as_py() or 0
            if count:
                row = compute.index(matches, True).as_py()
                words, place = origin.describe_cell(name, row)
                raise NotNumericError(
                    f"{words}: {cells[row].as_py().strip()!r} begins with 0, as codes do "
                    f"({count:,} such {'cell' if count == 1 else 'cells'} in the column)",
                    place=place,
                    hint=f"Codes such as postcodes are no quantities: exclude=[{name!r}] leaves "
                    f"the column out, id_column={name!r} names the rows by it. If it holds "
                    "quantities, name it among the columns=.",
                )

    def _may_have_codes(self) -> bool:
        """Whether any field seems to begin with 0 and another digit."""
        dialect = self.dialect
        ends = re.escape(dialect.delimiter.encode())
        # Allow only a few blanks or quotes, because a long run would be searched again from each.
        patterns = [re.compile(end + rb'[" ]{0,8}0[0-9]') for end in (ends, rb"\n", rb"\r")]
        # A piece begins after a line end, so its first field follows no delimiter.
        first = re.compile(rb'(?:\xef\xbb\xbf)?[" ]{0,8}0[0-9]')
        with reading(dialect.path, dialect.kind), dialect.open_binary() as stream:
            return any(
                first.match(piece.text) or any(pattern.search(piece.text) for pattern in patterns)
                for piece in pieces_of(dialect, stream, 1 << 22)
            )


def cast_text(
    cells: pa.ChunkedArray,
    kind: pa.DataType,
    number_format: NumberFormat = PLAIN,
    unit: Unit | None = None,
) -> pa.ChunkedArray | None:
    """Convert a text column to the type ``kind``; None unless all its cells allow it."""
    if kind == pa.bool_():
        number_format, unit = NumberFormat(na=number_format.na), None
    try:
        return compute.cast(number_format.canonical(cells, unit), kind)
    except pa.ArrowInvalid:
        return None


def are_integers(values: NDArray[np.float64]) -> bool:
    """Whether every value is a whole number, infinite or missing."""
    return bool(np.all((values == np.trunc(values)) | np.isnan(values)))


def may_have_lost_digits(values: NDArray[np.float64]) -> bool:
    """Whether some magnitudes are 2**53 or more, so that the integers in the text may differ."""
    # Infinities count, because integers of hundreds of digits are read as infinity.
    return bool(np.fmax.reduce(np.abs(values), initial=0.0) >= LARGEST_INTEGER)
