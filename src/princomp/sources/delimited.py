"""Tables from CSV and TSV files, plain or compressed by gzip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from princomp.sources.cells import LARGEST_INTEGER, MISSING, first_long_integer, long_integer
from princomp.sources.columns import Origin, choose
from princomp.sources.delimited_text import (
    Dialect,
    Header,
    line_of,
    read_header,
    refuse_open_quote,
    structure_error,
)
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.frames import convert
from princomp.sources.table import Table

__all__ = ["read_delimited"]


def read_delimited(
    path: Path,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
    *,
    delimiter: str,
    compressed: bool,
) -> Table:
    """Read the chosen columns of a delimited file whose first line names them."""
    need_pyarrow("pyarrow.csv", path)
    dialect = Dialect(path, delimiter, compressed)
    origin = Origin(str(path), line_of=lambda row: line_of(dialect, row))
    header = read_header(dialect)
    choice = choose(header.names, columns, exclude, id_column, origin)
    names = [*choice.names, *(() if choice.id_column is None else (choice.id_column,))]
    read = _Reader(dialect, header)
    with reading(path, dialect.kind):
        table = read.typed(names, choice.id_column)
        if table is None:
            table = read.as_text(names)
            if table is None:
                raise structure_error(dialect, header)
        refuse_open_quote(dialect)
        table = _cast_columns(table, choice.id_column)
    for name in choice.names:
        if _may_have_lost_digits(table.column(name)):
            _refuse_long_integers(read, name, origin)
    converted = convert(nw.from_native(table, eager_only=True), choice, "leave out", origin)
    if converted.ids is not None:
        converted.ids[converted.ids == ""] = None
    return converted


@dataclass(slots=True)
class _Reader:
    """Reads columns by pyarrow; both readings give None where it finds a fault."""

    dialect: Dialect
    header: Header
    block_size: int = 1 << 20

    def typed(self, names: Sequence[str], id_column: str | None) -> Any | None:
        """Read with the types that the first block suggests; None if a later cell differs."""
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        def types_of_first_block() -> Any:
            with (
                self._stream() as stream,
                pa_csv.open_csv(stream, **self._options(names)) as reader,
            ):
                return reader.schema

        schema = self._try(types_of_first_block)
        if schema is None:
            return None
        # Integers and empty columns are read as floats: a later cell may hold a fraction.
        number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        types = {}
        for field in schema:
            if field.name != id_column and any(test(field.type) for test in number):
                types[field.name] = pa.float64()
            elif field.name != id_column and pa.types.is_boolean(field.type):
                types[field.name] = pa.bool_()
            else:
                # Dates, too: they are shown as they stand in the file.
                types[field.name] = pa.string()
        return self._read(names, types)

    def as_text(self, names: Sequence[str]) -> Any | None:
        """Read every cell as it stands; None if even that fails."""
        import pyarrow as pa

        return self._read(names, dict.fromkeys(names, pa.string()))

    def _read(self, names: Sequence[str], types: dict[str, Any]) -> Any | None:
        def read() -> Any:
            import pyarrow.csv as pa_csv

            with self._stream() as stream:
                return pa_csv.read_csv(stream, **self._options(names, types))

        return self._try(read)

    def _try(self, read: Callable[[], Any]) -> Any | None:
        import pyarrow as pa

        while True:
            try:
                return read()
            except pa.ArrowInvalid as error:
                # A row must fit into a block; very wide tables need larger ones.
                if "straddling" not in str(error) or self.block_size >= 1 << 30:
                    return None
                self.block_size *= 8

    def _stream(self) -> Any:
        import pyarrow as pa

        compression = "gzip" if self.dialect.compressed else None
        return pa.input_stream(str(self.dialect.path), compression=compression)

    def _options(self, names: Sequence[str], types: dict[str, Any] | None = None) -> dict[str, Any]:
        import pyarrow.csv as pa_csv

        return {
            "read_options": pa_csv.ReadOptions(
                column_names=self.header.names,
                skip_rows=self.header.lines,
                block_size=self.block_size,
            ),
            # Without newlines_in_values a quoted line end at the border of two blocks
            # would split its row, possibly without an error.
            "parse_options": pa_csv.ParseOptions(
                delimiter=self.dialect.delimiter, newlines_in_values=True
            ),
            "convert_options": pa_csv.ConvertOptions(
                include_columns=list(names), column_types=types, null_values=sorted(MISSING)
            ),
        }


def _cast_columns(table: Any, id_column: str | None) -> Any:
    """Turn text columns into numbers or booleans where all their cells allow it."""
    import pyarrow as pa

    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if name == id_column or column.type != pa.string():
            continue
        # Most text shows itself in the first rows, which spares a search of all.
        if _cast(column[:100]) is not None:
            cast = _cast(column)
            table = table if cast is None else table.set_column(i, name, cast)
    return table


def _cast(cells: Any) -> Any | None:
    import pyarrow as pa
    import pyarrow.compute as compute

    cells = compute.utf8_trim_whitespace(cells)
    missing = compute.is_in(cells, value_set=pa.array(sorted(MISSING)))
    cells = compute.if_else(missing, pa.scalar(None, pa.string()), cells)
    for kind in (pa.float64(), pa.bool_()):
        try:
            return compute.cast(cells, kind)
        except pa.ArrowInvalid:
            continue
    return None


def _may_have_lost_digits(column: Any) -> bool:
    """Whether a column of floats has whole numbers only, some as large as 2**53."""
    if str(column.type) != "double":
        return False
    values = column.to_numpy()
    # Infinities count: integers of hundreds of digits are read as such.
    large = np.fmax.reduce(np.abs(values), initial=0.0) >= LARGEST_INTEGER
    return bool(large) and bool(np.all((values == np.trunc(values)) | np.isnan(values)))


def _refuse_long_integers(read: _Reader, name: str, origin: Origin) -> None:
    with reading(read.dialect.path, read.dialect.kind):
        table = read.as_text([name])
    cells = [] if table is None else table.column(name).to_pylist()
    long = first_long_integer(cells)
    if long is not None:
        raise long_integer(name, long, cells[long], origin)
