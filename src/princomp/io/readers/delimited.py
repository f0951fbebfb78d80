"""Tables from CSV and TSV files, uncompressed or compressed."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as compute

from princomp.io.readers.columns import Choice, Origin, Selection, choose_columns, listed
from princomp.io.readers.delimited_detect import DETECT_BYTES, detect_dialect
from princomp.io.readers.delimited_header import quoted_notes, read_header, structure_error
from princomp.io.readers.delimited_numbers import checked_numbers
from princomp.io.readers.delimited_parse import Parser, Reader
from princomp.io.readers.delimited_pieces import refuse_damage
from princomp.io.readers.delimited_text import Dialect, open_decompressed
from princomp.io.readers.frames import convert
from princomp.io.readers.left_out import (
    NUMBERS,
    ROW_NAMES,
    TRUE_FALSE,
    left_out_notes,
    true_false_notes,
)
from princomp.io.readers.missing_codes import code_notes
from princomp.io.readers.number_text import Unit
from princomp.io.readers.reader_errors import reading
from princomp.io.readers.row_names import (
    counting_notes,
    find_id_column,
    id_candidates,
    identifier_notes,
)
from princomp.io.readers.rows_at_end import empty_rows_at_end, skipped_notes
from princomp.io.readers.source import TableSource

# Names of rows that show whether they are numbers.
_IDS_CHECKED = 100
# Bytes of decompressed text that are read at once. A file of 8 MB may hold much more.
MAX_TEXT_BYTES = 2**26


def read_delimited(
    path: Path, selection: Selection, *, delimiter: str | None, compression: str | None
) -> TableSource | None:
    """Read a whole delimited file; return None if its text is too long when it is decompressed.

    ``compression`` is None, "gzip" or "zstd".
    """
    dialect = detect_file_dialect(path, selection, delimiter, compression)
    with dialect.reading(), dialect.open_binary() as stream:
        text = stream.read(-1 if compression is None else MAX_TEXT_BYTES + 1)
    if compression is not None and len(text) > MAX_TEXT_BYTES:
        return None
    return infer_table(replace(dialect, text=text), selection, complete=True)[0]


def detect_file_dialect(
    path: Path, selection: Selection, delimiter: str | None, compression: str | None
) -> Dialect:
    """Detect how a file is written."""
    with reading(path, "delimited text"), open_decompressed(path, compression) as stream:
        head = stream.read(DETECT_BYTES)
    complete = len(head) < DETECT_BYTES
    return detect_dialect(
        head, path, selection, separator=delimiter, compression=compression, complete=complete
    )


def infer_table(
    dialect: Dialect, selection: Selection, *, complete: bool
) -> tuple[TableSource, Parser]:
    """Read the chosen columns, and decide which hold numbers and which names the rows.

    ``dialect`` holds the text. ``complete`` says that this has all rows; then empty rows at the end
    are left out, and totals are refused. The parser extracts the same columns from other pieces of
    the text.
    """
    skipped: tuple[str, ...] = ()
    whole, sums = dialect, complete and dialect.skip_end is None
    if complete and (skip_end := dialect.skip_end):
        with dialect.reading():
            dialect, last = dialect.without_last_records(skip_end)
        skipped = skipped_notes(last, skip_end)
        sums = not any(last)  # the user has accepted the row above, unless all lines are blank
    dialect = read_header(dialect, selection)
    origin = dialect.origin
    if complete:
        whole = replace(dialect, text=whole.text)
        origin = replace(origin, skip_end_from=whole.skip_end_from)
    choice = choose_columns(dialect.names, selection, origin)
    candidates = id_candidates(dialect.label_candidates, selection, choice)
    reader = Reader(dialect)
    table = _read_columns(reader, choice, candidates, origin)
    notes = [*skipped, *dialect.notes]
    if complete:
        table = _without_empty_rows(reader, table, notes)
        notes += [] if selection.na_of_model else _notes_on_na(reader)
    choice, id_notes = find_id_column(
        _without_blank_rows(table, candidates),
        dialect.names[0],
        choice,
        dialect.number_format,
        complete=complete,
        unnamed=dialect.unnamed,
    )
    notes += id_notes
    table = table.select([*choice.names, *choice.ids])
    table, units = checked_numbers(reader, table, choice, origin, selection.options, sums=sums)
    for unit in dict.fromkeys(units.values()):
        names = listed(repr(name) for name in units if units[name] == unit)
        notes.append(f"numbers of {names} are in {unit}")
    if complete and not choice.requested:
        choice = _without_empty_columns(table, choice, notes)
    converted = convert(
        nw.from_native(table, eager_only=True), choice, "leave out", origin, kinds=reader.kinds
    )
    columns, assumes_point = converted.columns or (), dialect.assumes_point
    if assumes_point:
        points = reader.points(dict(zip(columns, converted.data.T, strict=True)), units)
        reader.refuse_unclear_points(points)
        assumes_point = not points.are_decimal
    booleans = {field.name for field in table.schema if str(field.type) == "bool"}
    _add_kinds(converted, table, booleans, units, dialect)
    notes += _notes_on_numbers(converted, dialect, selection, choice)
    converted.notes = (*notes, *converted.notes, *true_false_notes(converted.kinds))
    converted.number_format = dialect.number_format
    # Count lines in the file, because keeping the text would hold it in memory.
    file = replace(dialect, text=None, assumes_point=assumes_point)
    below = file.skip_end_from if complete else None
    converted.origin = replace(converted.origin, line_of=file.line_of, skip_end_from=below)
    parser = Parser(file, columns, choice.id_column, table.column_names, booleans, units)
    return converted, parser


def _add_kinds(
    converted: TableSource,
    table: pa.Table,
    booleans: set[str],
    units: dict[str, Unit],
    dialect: Dialect,
) -> None:
    """Add the kinds and units of the columns that have cells, and empty names of rows as None."""
    columns = converted.columns or ()
    with_cells = [name for name in columns if table.column(name).null_count < len(table)]
    converted.units = {name: str(units.get(name, "")) for name in with_cells}
    converted.kinds = {name: TRUE_FALSE if name in booleans else NUMBERS for name in with_cells}
    if converted.id_column is not None and converted.ids is not None:
        converted.ids[converted.ids == ""] = None
        first_ids = [cell for cell in converted.ids[:_IDS_CHECKED] if cell is not None]
        is_text = not first_ids or any(map(dialect.number_format.is_text, first_ids))
        converted.kinds[converted.id_column] = ROW_NAMES if is_text else NUMBERS


def _notes_on_numbers(
    converted: TableSource, dialect: Dialect, selection: Selection, choice: Choice
) -> list[str]:
    """Notes on columns of numbers that seem to be something else: counters and categories."""
    columns = converted.columns or ()
    notes: list[str] = [] if dialect.of_model else [*code_notes(columns, converted.data)]
    if choice.requested:
        return notes
    first, *others = columns or ("",)
    if selection.find_ids and others and first == dialect.names[0]:
        notes += counting_notes(first, converted.data[:, 0])
    if not dialect.of_model:
        # With id_column=False, the first column is data, whatever it looks like.
        checked = dialect.names[0] if selection.id_column is None else None
        notes += identifier_notes(converted, checked)
        notes += quoted_notes(dialect, columns)
    return notes


def _read_columns(
    reader: Reader, choice: Choice, candidates: list[str], origin: Origin
) -> pa.Table:
    """Read the chosen columns, and those that may hold names of rows, which stay text."""
    dialect = reader.dialect
    texts = (*choice.ids, *candidates)
    names = list(dict.fromkeys((*choice.names, *texts)))
    table = reader.read_typed(names, set(texts))
    if table is None:
        table = reader.read_as_text(names)
    if table is None:
        with dialect.reading():
            raise structure_error(dialect, origin)
    refuse_damage(dialect, len(table))
    return table


def _without_empty_rows(reader: Reader, table: pa.Table, notes: list[str]) -> pa.Table:
    """Leave out rows at the end that are empty in all columns of the file, also in unread ones."""
    empty = empty_rows_at_end(table)
    if empty:
        text = reader.read_as_text(reader.dialect.names)
        empty = empty if text is None else empty_rows_at_end(text)
    if empty:
        notes.append(f"left out {empty:,} empty {'row' if empty == 1 else 'rows'} at the end")
    return table.slice(0, len(table) - empty)


def _notes_on_na(reader: Reader) -> list[str]:
    """Note on words for missing cells that no cell of the file has, also in unread columns."""
    number_format = reader.dialect.number_format
    texts = reader.read_as_text(reader.dialect.names) if number_format.na else None
    unused = [] if texts is None else number_format.unused_na(texts.columns)
    return [f"no cell is {' or '.join(map(repr, unused))} (na=)"] if unused else []


def _without_blank_rows(table: pa.Table, names: list[str]) -> pa.Table:
    """Columns ``names``, text, of the rows in which any column of the table has a cell."""
    texts = table.select(names)
    if not any(compute.any(compute.equal(column, "")).as_py() for column in texts.columns):
        return texts
    blank = [compute.fill_null(compute.equal(c.cast("string"), ""), True) for c in table.columns]
    return texts.filter(compute.invert(reduce(compute.and_, blank)))


def _without_empty_columns(table: pa.Table, choice: Choice, notes: list[str]) -> Choice:
    """Leave out empty columns with a note, unless all are empty."""
    empty = {name: "empty" for name in choice.names if table.column(name).null_count == len(table)}
    if len(empty) == len(choice.names):
        return choice
    notes += left_out_notes(empty)
    return replace(choice, names=tuple(name for name in choice.names if name not in empty))
