"""Tables from workbooks (.xlsx).

A sheet is converted to delimited text with one line for each of its rows. So names, numbers and
labels are detected as in any other text, and line numbers in messages are rows of the sheet. The
number format is detected from text cells only, and numeric cells are then written in it. Cells that
a spreadsheet shows in percent are written in percent: 0.0212 becomes 2.12%.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.utils import get_column_letter

from princomp.errors import DataError, ParameterError, counted, did_you_mean
from princomp.io.readers.columns import Selection, listed
from princomp.io.readers.delimited import infer_table
from princomp.io.readers.delimited_detect import detect_dialect
from princomp.io.readers.delimited_parse import Reader
from princomp.io.readers.left_out import WarningNote
from princomp.io.readers.reader_errors import file_error, malformed, reading
from princomp.io.readers.source import TableSource

# Parts of a number format in which a percent sign is mere text, or only sets a width.
_TEXT_IN_FORMAT = re.compile(r'"[^"]*"|[\\_*].|\[[^]]*\]')


class _Percent(float):
    """A number that is followed by a percent sign."""

    __slots__ = ()


def open_workbook(path: Path, selection: Selection) -> TableSource:
    """Open a sheet of a workbook; it is read at once.

    Raises
    ------
    ParameterError
        There is no such sheet.
    MissingLibraryError
        openpyxl or pyarrow is not installed.
    """
    rows, title, count = _read_sheet(path, selection.options.sheet)
    is_one_of_several = count > 1 and selection.options.sheet is None
    notes: tuple[str, ...] = ()
    if is_one_of_several:
        notes = (f"read sheet {title!r}, one of {count}",)
    with reading(path, "a workbook"):
        notes = (*notes, *_formula_notes(path, title, rows), *_hidden_notes(path, title, rows))
    # Empty rows at the top become blank lines, which are skipped.
    top = next((i for i, row in enumerate(rows) if any(cell != "" for cell in row)), 0)
    rows[:top] = [[]] * top
    # With semicolons, text such as 1.234 is refused, because it may mean 1234.
    options = replace(selection.options, sep=";", encoding="utf-8")
    texts = _as_csv(rows, None)
    try:
        dialect = detect_dialect(texts, path, selection._replace(options=options), separator=";")
        content = _as_csv(rows, dialect.number_format.decimal)
        clean = dialect.cleaned(io.BytesIO(content)).read()
        notes, assumes_point = (*notes, *dialect.notes), dialect.assumes_point
        # Points in numeric cells are decimal marks, so only text cells are checked for others.
        dialect = replace(dialect, text=clean, notes=notes, assumes_point=False)
        table, parser = infer_table(dialect, selection, complete=True)
        if assumes_point:
            texts = dialect.cleaned(io.BytesIO(texts)).read()
            reader = Reader(replace(parser.dialect, text=texts))
            columns = dict(zip(parser.columns, table.data.T, strict=True))
            reader.refuse_unclear_points(reader.points(columns, parser.units))
    except DataError as error:
        if is_one_of_several:
            other = f"This is sheet {title!r}, one of {count}; sheet= names another."
            error.hint = f"{error.hint or ''} {other}".strip()
        raise
    # Keep the line of each row, not the text; the file itself has no lines.
    lines = [line for line, _, _ in replace(parser.dialect, text=clean).records()]
    table.origin = replace(
        table.origin,
        line_of=lambda row: lines[row],
        skip_end_from=lambda row: len(rows) + 1 - lines[row],
    )
    return table


def _read_sheet(
    path: Path, requested: str | int | None
) -> tuple[list[list[str | float]], str, int]:
    """Rows of equal length of a sheet, its title, and the number of sheets with cells."""
    with reading(path, "a workbook"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    with closing(book):
        sheet = _sheet(path, book, requested)
        with reading(path, "a workbook"):
            # Some programs store too small a range, such as A1, and openpyxl would read only that.
            sheet.reset_dimensions()
            rows = [[_plain_cell(cell) for cell in row] for row in sheet.iter_rows()]
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows], sheet.title, len(book.worksheets)


def _sheet(path: Path, book: Any, requested: str | int | None) -> Any:
    names = [sheet.title for sheet in book.worksheets]  # without sheets that are charts
    if isinstance(requested, str) and requested.isdecimal() and requested not in names:
        requested = int(requested)
    if not names:
        raise malformed(path, "a workbook without sheets")
    if requested is None:
        return book[next((name for name in names if book[name].sheet_state == "visible"), names[0])]
    if isinstance(requested, int) and 1 <= requested <= len(book.sheetnames):
        requested = book.sheetnames[requested - 1]  # as users count them, with charts
    if requested in names:
        return book[requested]
    hint = f"{did_you_mean(requested, names)}There are {', '.join(map(repr, names))}."
    raise file_error(ParameterError, path, f"no sheet {requested!r}", hint, parameter="sheet")


def _formula_notes(path: Path, title: str, rows: list[list[str | float]]) -> list[WarningNote]:
    """Note on cells of a sheet with formulas whose results the workbook does not store."""
    if not _is_in_sheets(path, b"<f"):
        return []  # without reading the cells again
    with closing(openpyxl.load_workbook(path, read_only=True)) as book:
        book[title].reset_dimensions()
        found = [
            f"{get_column_letter(j)}{i}"
            for i, row in enumerate(book[title].iter_rows(values_only=True), 1)
            for j, cell in enumerate(row, 1)
            if cell is not None and rows[i - 1][j - 1] == ""
        ]
    words = f"formulas without a stored result are missing cells: {listed(found)}; a spreadsheet "
    return [WarningNote(f"{words}program computes them and stores the results")] if found else []


def _hidden_notes(path: Path, title: str, rows: list[list[str | float]]) -> list[WarningNote]:
    """Note on hidden rows and columns of a sheet that have cells, such as filtered rows."""
    if not _is_in_sheets(path, b' hidden="'):
        return []
    sheet = openpyxl.load_workbook(path, data_only=True)[title]  # slow, but knows what is hidden
    hidden_rows = [i for i, row in enumerate(rows, 1) if any(map(_is_filled, row))]
    hidden_rows = [i for i in hidden_rows if sheet.row_dimensions[i].hidden]
    ranges = [(c.min, c.max) for c in sheet.column_dimensions.values() if c.hidden]
    hidden_columns = [
        j
        for j, column in enumerate(zip(*rows, strict=True), 1)
        if any(map(_is_filled, column)) and any(first <= j <= last for first, last in ranges)
    ]
    found = [
        counted(len(hidden), f"hidden {noun}")
        for hidden, noun in ((hidden_rows, "row"), (hidden_columns, "column"))
        if hidden
    ]
    words = f"{' and '.join(found)} of the sheet were read, too: delete them if they do not belong"
    return [WarningNote(f"{words} to the table")] if found else []


def _is_filled(cell: str | float) -> bool:
    return cell != ""


def _is_in_sheets(path: Path, text: bytes) -> bool:
    """Whether the stored form of any sheet holds a text."""
    with zipfile.ZipFile(path) as archive:
        sheets = (name for name in archive.namelist() if name.startswith("xl/worksheets/"))
        return any(text in archive.read(name) for name in sheets)


def _as_csv(rows: list[list[str | float]], decimal: str | None) -> bytes:
    """Return rows as text: floats with this decimal mark, or as empty cells if it is None."""

    def written(cell: str | float) -> str:
        if not isinstance(cell, float):
            return cell
        if decimal is None:
            return ""
        # Without ".0", because the cell may name a column, as in 10%.
        text = f"{str(cell).removesuffix('.0')}%" if isinstance(cell, _Percent) else str(cell)
        return text.replace(".", decimal)

    text = io.StringIO()
    lines = (map(written, row) for row in rows)
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def _plain_cell(cell: Any) -> str | float:
    """Text of a cell of openpyxl, or its number if that is a float or in percent."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool) and _is_in_percent(cell):
        return _Percent(Decimal(str(value)).scaleb(2))  # without rounding, as 100 * 0.07 has
    if isinstance(value, float):
        return value
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    # Each row must stay on one line, so join the lines within a cell.
    return " ".join(str(value).splitlines())


def _is_in_percent(cell: Any) -> bool:
    """Whether a spreadsheet multiplies the number of a cell by 100 and shows a percent sign."""
    try:
        return _has_percent(cell.number_format)
    except IndexError:  # the workbook does not store the format
        return False


@lru_cache
def _has_percent(number_format: str) -> bool:
    return "%" in _TEXT_IN_FORMAT.sub("", number_format)
