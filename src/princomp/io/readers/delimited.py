"""Tables from CSV and TSV files, uncompressed or compressed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as compute

from princomp.errors import ShapeError
from princomp.io.readers.cells import may_have_lost_digits, not_numeric_error
from princomp.io.readers.columns import Choice, Origin, Selection, choose_columns
from princomp.io.readers.delimited_detect import DETECT_BYTES, detect_dialect
from princomp.io.readers.delimited_header import quoted_numbers, read_header, structure_error
from princomp.io.readers.delimited_parse import Parser, Reader, are_integers
from princomp.io.readers.delimited_text import Dialect, open_decompressed, pieces_of, refuse_damage
from princomp.io.readers.frames import convert
from princomp.io.readers.left_out import (
    NUMBERS,
    ROW_NAMES,
    TRUE_FALSE,
    counting_notes,
    find_id_column,
    id_candidates,
    left_out_notes,
    quoted_notes,
    true_false_notes,
)
from princomp.io.readers.number_text import (
    PLAIN,
    NumberFormat,
    Unit,
    amount_of,
    cell_unit,
    column_unit,
)
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.reader_errors import reading
from princomp.io.readers.rows_at_end import empty_rows_at_end, refuse_totals, skipped_notes
from princomp.io.readers.source import TableSource
from princomp.io.readers.unclear_points import may_have_groups, points_in, unclear_mark_error

# Formats in which numbers are sought if none are found in the one that the user gave.
_FORMATS = (PLAIN, NumberFormat(","), NumberFormat(".", ","), NumberFormat(",", "."))
# Names of rows that show whether they are numbers.
_IDS_CHECKED = 100
# At least one digit is not 0, because 0000 is the number zero.
_CODE = r"\s*0+[1-9][0-9]*\s*"


def read_delimited(
    path: Path, selection: Selection, *, delimiter: str | None, compression: str | None
) -> TableSource:
    """Read a whole delimited file; ``compression`` is None, "gzip" or "zstd"."""
    dialect = detect_file_dialect(path, selection, delimiter, compression)
    return infer_table(dialect, selection, complete=True)[0]


def detect_file_dialect(
    path: Path, selection: Selection, delimiter: str | None, compression: str | None
) -> Dialect:
    """Detect how a file is written."""
    with reading(path, "delimited text"), open_decompressed(path, compression) as stream:
        head = stream.read(DETECT_BYTES)
    return detect_dialect(
        head,
        path,
        separator=delimiter,
        compression=compression,
        options=selection.options,
        complete=len(head) < DETECT_BYTES,
        of_model=selection.of_model,
    )


def infer_table(
    dialect: Dialect, selection: Selection, *, complete: bool
) -> tuple[TableSource, Parser]:
    """Read the chosen columns, and decide which hold numbers and which names the rows.

    ``complete`` says that the text has all rows; then empty rows at the end are left out, and
    totals are refused. The parser extracts the same columns from other pieces of the text.
    """
    skipped: tuple[str, ...] = ()
    if complete and dialect.skip_end:
        dialect, skipped = _without_skipped_rows(dialect, dialect.skip_end)
    dialect = read_header(dialect, selection)
    origin = dialect.origin
    choice = choose_columns(dialect.names, selection, origin)
    candidates = id_candidates(dialect.label_candidates, selection, choice)
    reader = Reader(dialect)
    table = _read_columns(reader, choice, candidates)
    notes = [*skipped, *dialect.notes]
    n_read = len(table)
    if complete:
        table = _without_empty_rows(reader, table, notes)
        notes += _notes_on_na(reader)
    n_left_out = n_read - len(table) + (dialect.skip_end or 0)
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
    below = n_left_out if complete else None
    table, units = _checked_numbers(reader, table, choice, below, selection.options)
    assumes_point = dialect.assumes_point and not _are_decimal_points(reader, table, choice, units)
    notes += [f"numbers of {name!r} are in {unit}" for name, unit in units.items()]
    if complete and not choice.requested:
        choice = _without_empty_columns(table, choice, notes)
    if len(dialect.names) == 1:
        _refuse_blanks(table, dialect)
    converted = convert(
        nw.from_native(table, eager_only=True), choice, "leave out", origin, kinds=reader.kinds
    )
    if converted.ids is not None:
        converted.ids[converted.ids == ""] = None
    columns = converted.columns or ()
    booleans = {field.name for field in table.schema if str(field.type) == "bool"}
    with_cells = [name for name in columns if table.column(name).null_count < len(table)]
    # Count lines in the file, because keeping the text would hold it in memory.
    file = replace(dialect, text=None, assumes_point=assumes_point)
    first, *others = columns or ("",)
    if selection.find_ids and not choice.requested and others and first == dialect.names[0]:
        notes += counting_notes(first, converted.data[:, 0])
    if not (choice.requested or dialect.of_model):
        notes += quoted_notes(quoted_numbers(dialect, columns))
    converted.units = {name: str(units.get(name, "")) for name in with_cells}
    converted.kinds = {name: TRUE_FALSE if name in booleans else NUMBERS for name in with_cells}
    if choice.id_column is not None and converted.ids is not None:
        converted.kinds[choice.id_column] = _kind_of_ids(
            converted.ids[:_IDS_CHECKED].tolist(), dialect
        )
    converted.notes = (*notes, *converted.notes, *true_false_notes(converted.kinds))
    converted.number_format = dialect.number_format
    converted.origin = replace(converted.origin, line_of=file.line_of, left_out_below=below)
    parser = Parser(file, columns, choice.id_column, table.column_names, booleans, units)
    return converted, parser


def _without_skipped_rows(dialect: Dialect, skip_end: int) -> tuple[Dialect, tuple[str, ...]]:
    """Read the text without its last ``skip_end`` rows; also return a note that names them."""
    with dialect.reading(), dialect.open_binary() as stream:
        text = stream.read()
    notes = skipped_notes(replace(dialect, text=text))
    return replace(dialect, text=dialect.without_last_records(text, skip_end)), notes


def _checked_numbers(
    reader: Reader, table: pa.Table, choice: Choice, n_left_out: int | None, options: ReadOptions
) -> tuple[pa.Table, dict[str, Unit]]:
    """Convert text to numbers where possible; refuse totals and numbers that may be none.

    ``n_left_out`` is the number of rows left out at the end; None if more rows follow.
    """
    dialect = reader.dialect
    # If skip_end was given, a last row of sums is accepted, but not one with a word for totals.
    sums = dialect.skip_end is None
    if n_left_out is not None and dialect.skip_end != 0:
        refuse_totals(
            table,
            dialect.origin,
            n_left_out,
            labels=_unread_labels(reader, table),
            number_format=dialect.number_format,
            sums=sums,
        )
    table, units = _cast_columns(table, choice, dialect, options)
    if n_left_out is not None and sums:
        refuse_totals(table, dialect.origin, n_left_out)  # sums of numbers that were text
    _refuse_doubtful(reader, table, choice, units)
    return table, units


def _unread_labels(reader: Reader, table: pa.Table) -> pa.Table | None:
    """Columns that may name the rows and were excluded or not requested, as text, if any."""
    candidates = reader.dialect.label_candidates
    unread = [name for name in candidates if name not in table.column_names]
    rest = reader.read_as_text(unread) if unread else None
    return None if rest is None else rest.slice(0, len(table))


def _read_columns(reader: Reader, choice: Choice, candidates: list[str]) -> pa.Table:
    """Read the chosen columns, and those that may hold names of rows, which stay text."""
    dialect = reader.dialect
    texts = (*choice.ids, *candidates)
    names = list(dict.fromkeys((*choice.names, *texts)))
    table = reader.read_typed(names, set(texts))
    if table is None:
        table = reader.read_as_text(names)
    if table is None:
        with dialect.reading():
            raise structure_error(dialect)
    refuse_damage(dialect)
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


def _kind_of_ids(ids: list[str | None], dialect: Dialect) -> str:
    """Kind of some names of rows, which may be numbers."""
    cells = [cell for cell in ids if cell is not None]
    is_text = not cells or any(map(dialect.number_format.is_text, cells))
    return ROW_NAMES if is_text else NUMBERS


def _refuse_blanks(table: pa.Table, dialect: Dialect) -> None:
    """Refuse a file of one column in which most cells are numbers between blanks."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.type != pa.string():
            continue
        cells = [cell.split() for cell in column.to_pylist() if cell]
        is_text = dialect.number_format.is_text
        widths = Counter(len(parts) for parts in cells if not any(map(is_text, parts)))
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        if width > 1 and 2 * count > len(cells):
            problem = f"no numeric column; most cells of {name!r}, the only one, hold {width} "
            problem += "numbers that are separated by spaces"
            raise dialect.origin.error(ShapeError, problem, "sep=' ' splits lines at spaces.")


def _cast_columns(
    table: pa.Table, choice: Choice, dialect: Dialect, options: ReadOptions
) -> tuple[pa.Table, dict[str, Unit]]:
    """Convert text columns to numbers or booleans if all their cells allow it."""
    units: dict[str, Unit] = {}
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, column in columns.items():
        if name == choice.id_column or column.type != pa.string():
            continue
        cast, unit = _cast_column(column, dialect.number_format)
        if cast is None:
            _refuse_units(name, column.to_pylist(), dialect.origin)
            _refuse_other_marks(name, column.to_pylist(), dialect, options)
            # Check here, because convert() reads only plain numbers.
            _refuse_mixed(name, column.to_pylist(), choice.requested, dialect)
            continue
        if unit is not None:
            units[name] = unit
        columns[name] = cast
    # One new table, because set_column takes time for all columns at each call.
    return pa.table(columns), units


def _cast_column(
    column: pa.ChunkedArray, number_format: NumberFormat
) -> tuple[pa.ChunkedArray | None, Unit | None]:
    # Most text columns show text in the first rows, which avoids a search of all rows.
    unit = column_unit(column[:100].to_pylist(), number_format)
    for kind in (pa.float64(), pa.bool_()):
        if number_format.cast(column[:100], kind, unit) is None:
            continue
        cast = number_format.cast(column, kind, unit)
        if cast is not None:
            return cast, unit
    return None, None


def _refuse_doubtful(
    reader: Reader, table: pa.Table, choice: Choice, units: dict[str, Unit]
) -> None:
    """Refuse columns of integers that lost digits or that may be codes."""
    integer_columns = []
    for name in choice.names:
        column = table.column(name)
        if str(column.type) == "double" and are_integers(values := column.to_numpy()):
            integer_columns.append(name)
            if may_have_lost_digits(values):
                reader.refuse_long_integers(name, units.get(name), len(table))
    if not choice.requested:
        _refuse_codes(reader, integer_columns, len(table))


def _are_decimal_points(
    reader: Reader, table: pa.Table, choice: Choice, units: dict[str, Unit]
) -> bool:
    """Whether a number says that points are decimal marks; refuse numbers such as 1.234."""
    dialect = reader.dialect
    names = [name for name in choice.names if table.schema.field(name).type == pa.float64()]
    if not names:
        return False
    # Numbers such as 1.000 are read as integers.
    if all(are_integers(table.column(name).to_numpy()) for name in names):
        with dialect.reading(), dialect.open_binary() as stream:
            texts = (piece.text for piece in pieces_of(dialect, stream, 1 << 22))
            if not any(map(may_have_groups, texts)):
                return False
    return refuse_unclear_points(reader, names, units, len(table))


def refuse_unclear_points(
    reader: Reader, names: Sequence[str], units: dict[str, Unit], rows: int
) -> bool:
    """Refuse numbers such as 1.234 in the first rows; whether points are decimal marks."""
    texts = reader.read_as_text(names)
    if texts is None:
        return False
    are_decimal, unclear = points_in(texts.slice(0, rows), names, units, reader.dialect)
    if unclear is not None:
        row, cell = unclear
        raise unclear_mark_error(reader.dialect.path, reader.dialect.line_of(row), cell)
    return are_decimal


def _refuse_codes(reader: Reader, names: Sequence[str], rows: int) -> None:
    """Raise NotNumericError for a cell such as 01234 in the first ``rows`` rows of columns."""
    if not names or not _may_have_codes(reader.dialect):
        return
    table = reader.read_as_text(names)
    if table is None:
        return
    for name in names:
        cells = table.column(name)[:rows]
        matches = compute.match_substring_regex(cells, f"^{_CODE}$")
        count = compute.sum(matches).as_py() or 0
        if count:
            row = compute.index(matches, True).as_py()
            noun = "cell" if count == 1 else "cells"
            problem = f"{cells[row].as_py().strip()!r} begins with 0, as codes do "
            problem += f"({count:,} such {noun} in the column)"
            hint = f"Codes such as postcodes are no quantities: exclude=[{name!r}] leaves the "
            hint += f"column out, id_column={name!r} names the rows by it. If it holds quantities, "
            hint += "name it among the columns=."
            raise reader.dialect.origin.cell_error(name, row, problem, hint)


def _may_have_codes(dialect: Dialect) -> bool:
    """Whether any field seems to begin with 0 and another digit."""
    ends = re.escape(dialect.delimiter.encode())
    # Allow only a few blanks or quotes, because a long run would be searched again from each.
    patterns = [re.compile(end + rb'[" ]{0,8}0[0-9]') for end in (ends, rb"\n", rb"\r")]
    # A piece begins after a line end, so its first field follows no delimiter.
    first = re.compile(rb'(?:\xef\xbb\xbf)?[" ]{0,8}0[0-9]')
    with dialect.reading(), dialect.open_binary() as stream:
        return any(
            first.match(piece.text) or any(pattern.search(piece.text) for pattern in patterns)
            for piece in pieces_of(dialect, stream, 1 << 22)
        )


def _refuse_units(name: str, cells: list[str | None], origin: Origin) -> None:
    """Refuse a column of quantities in several units."""
    present = [(i, cell) for i, cell in enumerate(cells) if cell]
    found = [(i, cell, unit) for i, cell in present if (unit := cell_unit(cell)) is not None]
    units = Counter(unit for _, _, unit in found)
    if len(found) < 0.9 * len(present) or not any(str(unit) for unit in units) or len(units) < 2:
        return
    usual = units.most_common(1)[0][0]
    i, cell = next((i, cell) for i, cell, unit in found if unit != usual)
    problem = f"{cell!r} is not in the unit of most cells, {str(usual)!r}"
    if not str(usual):
        problem = f"{cell!r} has a unit, and most cells of the column have none"
    hint = origin.or_exclude(name, "Write the column in one unit")
    raise origin.cell_error(name, i, problem, hint)


def _refuse_other_marks(
    name: str, cells: list[str | None], dialect: Dialect, options: ReadOptions
) -> None:
    """Refuse a column of numbers whose marks are not those that the user gave."""
    marks = {"decimal": options.decimal, "thousands": options.thousands}
    given_marks = {option: mark for option, mark in marks.items() if mark is not None}
    if not given_marks:
        return
    present = [(i, cell) for i, cell in enumerate(cells) if cell and cell.strip()]
    other = [
        (i, cell)
        for i, cell in present
        if dialect.number_format.is_text(cell) and not all(f.is_text(cell) for f in _FORMATS)
    ]
    if 2 * len(other) <= len(present):
        return
    i, cell = other[0]
    given = " and ".join(f"{option}={mark!r}" for option, mark in given_marks.items())
    hint = f"Leave {given} out, so that the marks in numbers are detected"
    hint += "." if dialect.of_model else f"; if only this column has others, exclude {name!r}."
    raise dialect.origin.cell_error(name, i, f"{cell!r} is not a number with {given}", hint)


def _refuse_mixed(name: str, cells: list[str | None], requested: bool, dialect: Dialect) -> None:
    """Refuse a column with text that was requested, or in which at least half are numbers."""
    number_format = dialect.number_format
    missing = number_format.missing
    present = [i for i, cell in enumerate(cells) if cell and cell.strip() not in missing]
    amounts = [amount_of(cells[i] or "", number_format) for i in present]
    units = Counter(amount[0] for amount in amounts if amount is not None)
    usual, count = units.most_common(1)[0] if units else (Unit("", ""), 0)
    if number_format.is_plain and not str(usual):
        # convert() does this, but names words in ``na`` as bad cells, too.
        words = sum(bool(cell and cell.strip()) for cell in cells)
        if not number_format.na or not (requested or 2 * count >= words):
            return
    bad = [i for i, amount in zip(present, amounts, strict=True) if amount is None]
    if bad and (requested or count >= len(bad)):
        origin, na = dialect.origin, number_format.na
        raise not_numeric_error(name, cells, bad, len(present), "leave out", origin, na=na)
