"""Tables from CSV and TSV files, plain or compressed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.sources.cells import LARGEST_INTEGER, MISSING, first_long_integer, long_integer
from princomp.sources.columns import Choice, Origin, choose
from princomp.sources.delimited_pieces import Dialect, refuse_damage
from princomp.sources.delimited_text import Header, line_of, read_header, structure_error
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.frames import convert
from princomp.sources.table import Table

__all__ = [
    "Reader",
    "are_whole",
    "cast_text",
    "judge",
    "may_have_lost_digits",
    "read_delimited",
    "refuse_long_integers",
]


def read_delimited(
    path: Path,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
    *,
    delimiter: str,
    compressed: bool | str,
) -> Table:
    """Read the chosen columns of a delimited file whose first line names them.

    ``compressed`` is "gzip" or "zstd"; True stands for gzip.
    """
    need_pyarrow("pyarrow.csv", path)
    compression = "gzip" if compressed is True else compressed or None
    return judge(Dialect(path, delimiter, compression), columns, exclude, id_column)[0]


def judge(
    dialect: Dialect,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
) -> tuple[Table, set[str], Header, Choice]:
    """Read the chosen columns, and settle which of them hold numbers.

    Returns
    -------
    table : Table
    booleans : set of str
        Columns of true and false.
    header : Header
    choice : Choice
    """
    origin = Origin(str(dialect.path), line_of=lambda row: line_of(dialect, row))
    header = read_header(dialect)
    choice = choose(header.names, columns, exclude, id_column, origin)
    names = [*choice.names, *(() if choice.id_column is None else (choice.id_column,))]
    read = Reader(dialect, header)
    with reading(dialect.path, dialect.kind):
        table = read.typed(names, choice.id_column)
        if table is None:
            table = read.as_text(names)
            if table is None:
                raise structure_error(dialect, header)
        refuse_damage(dialect)
        table = _cast_columns(table, choice.id_column)
    for name in choice.names:
        if str(table.column(name).type) == "double":
            values = table.column(name).to_numpy()
            if may_have_lost_digits(values) and are_whole(values):
                refuse_long_integers(read, name, origin)
    converted = convert(nw.from_native(table, eager_only=True), choice, "leave out", origin)
    if converted.ids is not None:
        converted.ids[converted.ids == ""] = None
    booleans = {field.name for field in table.schema if str(field.type) == "bool"}
    return converted, booleans, header, choice


@dataclass(slots=True)
class Reader:
    """Reads columns by pyarrow; all readings give None where it finds a fault."""

    dialect: Dialect
    header: Header
    block_size: int = 1 << 20
    threads: bool = True

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
        return self.read(names, types)

    def as_text(self, names: Sequence[str]) -> Any | None:
        """Read every cell as it stands; None if even that fails."""
        import pyarrow as pa

        return self.read(names, dict.fromkeys(names, pa.string()))

    def read(self, names: Sequence[str], types: dict[str, Any]) -> Any | None:
        """Read columns as what ``types`` says."""

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

        if self.dialect.text is not None:
            return pa.BufferReader(self.dialect.text)
        return pa.input_stream(str(self.dialect.path), compression=self.dialect.compression)

    def _options(self, names: Sequence[str], types: dict[str, Any] | None = None) -> dict[str, Any]:
        import pyarrow.csv as pa_csv

        return {
            "read_options": pa_csv.ReadOptions(
                column_names=self.header.names,
                skip_rows=self.header.lines,
                block_size=self.block_size,
                use_threads=self.threads,
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
        for kind in (pa.float64(), pa.bool_()):
            # Most text shows itself in the first rows, which spares a search of all.
            if cast_text(column[:100], kind) is None:
                continue
            cast = cast_text(column, kind)
            if cast is not None:
                table = table.set_column(i, name, cast)
                break
    return table


def cast_text(cells: Any, kind: Any) -> Any | None:
    """Turn a text column into one of type ``kind``; None unless all its cells allow it."""
    import pyarrow as pa
    import pyarrow.compute as compute

    cells = compute.utf8_trim_whitespace(cells)
    missing = compute.is_in(cells, value_set=pa.array(sorted(MISSING)))
    cells = compute.if_else(missing, pa.scalar(None, pa.string()), cells)
    try:
        return compute.cast(cells, kind)
    except pa.ArrowInvalid:
        return None


def are_whole(values: NDArray[np.float64]) -> bool:
    """Whether all are whole numbers, infinite or NaN."""
    return bool(np.all((values == np.trunc(values)) | np.isnan(values)))


def may_have_lost_digits(values: NDArray[np.float64]) -> bool:
    """Whether some are as large as 2**53, so that as integers they may have been others."""
    # Infinities count: integers of hundreds of digits are read as such.
    return bool(np.fmax.reduce(np.abs(values), initial=0.0) >= LARGEST_INTEGER)


def refuse_long_integers(read: Reader, name: str, origin: Origin, before: int = 0) -> None:
    """Raise NotNumericError for an integer beyond 2**53, unless some cell is no integer.

    ``before`` counts the rows before those of ``read``.
    """
    with reading(read.dialect.path, read.dialect.kind):
        table = read.as_text([name])
    cells = [] if table is None else table.column(name).to_pylist()
    long = first_long_integer(cells)
    if long is not None:
        raise long_integer(name, before + long, cells[long], origin)
