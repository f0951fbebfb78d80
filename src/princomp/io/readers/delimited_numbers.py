"""Columns of delimited text as numbers, and errors where the numbers may be something else.

Such columns have several units, other marks than the user gave, codes such as 01234, or numbers
such as 1.234, whose point may separate thousands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as compute

from princomp.io.readers.cells import (
    hint_on_codes,
    may_have_lost_digits,
    not_numeric_error,
)
from princomp.io.readers.columns import Choice, Origin
from princomp.io.readers.delimited_parse import Reader, are_integers
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.number_text import (
    PLAIN,
    NumberFormat,
    Unit,
    amount_of,
    cell_unit,
    column_unit,
)
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.rows_at_end import refuse_totals

# Formats in which numbers are sought if none are found in the one that the user gave.
_FORMATS = (PLAIN, NumberFormat(","), NumberFormat(".", ","), NumberFormat(",", "."))
# At least one digit is not 0, because 0000 is the number zero.
_CODE = r"\s*0+[1-9][0-9]*\s*"


def checked_numbers(
    reader: Reader,
    table: pa.Table,
    choice: Choice,
    origin: Origin,
    options: ReadOptions,
    *,
    sums: bool,
) -> tuple[pa.Table, dict[str, Unit]]:
    """Convert text to numbers where possible; refuse totals, and numbers that may be codes.

    ``sums`` says whether a last row of sums without a word is refused.
    """
    dialect = reader.dialect
    if origin.skip_end_from is not None and dialect.skip_end != 0:
        refuse_totals(
            table,
            origin,
            labels=_unread_labels(reader, table),
            number_format=dialect.number_format,
            sums=sums,
        )
    table, units = _cast_columns(table, choice, dialect, options)
    if sums:
        refuse_totals(table, origin)  # sums of numbers that were text
    _refuse_doubtful(reader, table, choice, units)
    return table, units


def _unread_labels(reader: Reader, table: pa.Table) -> pa.Table | None:
    """Columns that may name the rows and were excluded or not requested, as text, if any."""
    candidates = reader.dialect.label_candidates
    unread = [name for name in candidates if name not in table.column_names]
    rest = reader.read_as_text(unread) if unread else None
    return None if rest is None else rest.slice(0, len(table))


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
        is_kind = number_format.cast(column[:100], kind, unit) is not None
        if is_kind and (cast := number_format.cast(column, kind, unit)) is not None:
            return cast, unit
    return None, None


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
        raise not_numeric_error(
            name,
            cells,
            bad,
            len(present),
            "leave out",
            dialect.origin,
            number_format=number_format,
        )


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
            raise reader.dialect.origin.cell_error(name, row, problem, hint_on_codes(name))


def _may_have_codes(dialect: Dialect) -> bool:
    """Whether any field seems to begin with 0 and another digit."""
    starts = rb"\A(?:\xef\xbb\xbf)?", rb"\n", rb"\r", re.escape(dialect.delimiter.encode())
    # Allow only a few blanks or quotes, because a long run would be searched again from each.
    return any(re.search(start + rb'[" ]{0,8}0[0-9]', dialect.text or b"") for start in starts)
