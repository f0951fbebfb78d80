"""Names of the columns of delimited text, and the error for lines that cannot be read."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest

from princomp.errors import DataError, NoRowsError, ShapeError, counted, row_words
from princomp.io.readers.columns import Origin, Selection, listed
from princomp.io.readers.delimited_pieces import refuse_damage
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.header_lines import (
    count_header_lines,
    refuse_second_header,
    refuse_title,
    title_error,
)
from princomp.io.readers.left_out import WarningNote
from princomp.io.readers.reader_errors import file_error, malformed, no_rows_error
from princomp.io.readers.row_names import has_index_name
from princomp.io.readers.rows_at_end import RowsAtEnd

# Number of records that are checked.
_SAMPLE = 200
# Number of lines in which quotes around numbers are sought.
_QUOTED_LINES = 20
# Bytes that are not UTF-8, as ``Dialect.open_text`` reads them.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def read_header(dialect: Dialect, selection: Selection) -> Dialect:
    """Read and check the lines of column names, and add them to the dialect.

    A first line that has all names of columns in ``selection`` holds names, and so does one that
    has most of those of a model: then an error says which ones it lacks.

    Raises
    ------
    ShapeError
        The file is empty.
    MalformedFileError
        The header is damaged, or it is not clear whether the first line holds names, or which
        column each of them names.
    """
    named = list(filter(None, (*selection.exclude, selection.id_column)))
    requested = selection.columns or named
    with dialect.reading():
        records = list(itertools.islice(dialect.records(), _SAMPLE))
    if not records:
        raise _no_lines_error(dialect)
    lines = [line for line, _, _ in records]
    cells = [[cell.strip() for cell in record] for _, _, record in records]
    text = dialect.delimiter.join(cells[0])
    if _NOT_UTF8.search(text) or "\0" in text:
        problem = "the first line is not UTF-8 text"
        hint = "Save the table as CSV in UTF-8, or give its encoding=."
        raise malformed(dialect.path, problem, hint, line=lines[0])
    notes = list(dialect.notes)
    count = selection.options.header
    if count is None:
        is_named = _has_names(cells[0], set(map(str, requested)), selection)
        if not is_named:
            refuse_title(dialect, cells, lines)
        count = 1 if is_named else count_header_lines(dialect, cells, notes)
    count = min(count, len(records))
    names = _joined_names(cells[:count]) if count else [f"x{j}" for j in range(len(cells[0]))]
    row = "row" if "row" not in names else "column 1"
    names = _fit_names(dialect, names, cells, lines, count, notes, selection, row)
    # Tables written by R and pandas leave the name of the row labels empty.
    unnamed = not names[0]
    names = [name or (f"column {j}" if j > 1 else row) for j, name in enumerate(names, 1)]
    if selection.options.header is None and count == 1:
        refuse_second_header(dialect, names, cells, lines)
    return replace(
        dialect,
        notes=tuple(notes),
        names=tuple(names),
        header_lines=records[count - 1][1] if count else 0,
        label_candidates=_label_candidates(names, cells[count:], dialect),
        unnamed=unnamed,
    )


def _has_names(first: list[str], requested: set[str], selection: Selection) -> bool:
    """Whether the first line has the requested names, or most of those of a model."""
    count = len(requested.intersection(first))
    is_most = selection.of_model and len(set(first)) == len(first) and 2 * count > len(requested)
    return bool(requested) and (count == len(requested) or is_most)


def _no_lines_error(dialect: Dialect) -> ShapeError:
    options = {name: getattr(dialect, name) for name in ("skip", "skip_end", "comment")}
    left_out = [f"{name}={value!r}" for name, value in options.items() if value]
    if left_out:
        problem = f"no rows, all lines are left out: {', '.join(left_out)}"
        hint = "Leave out fewer lines: the first one that remains must name the columns."
        return file_error(ShapeError, dialect.path, problem, hint)
    hint = "The first line must name the columns; the rows follow."
    return file_error(NoRowsError, dialect.path, "no rows, the file is empty", hint)


def _joined_names(lines: list[list[str]]) -> list[str]:
    """Join the cells of each column in the lines of names."""
    parts = list(zip_longest(*lines, fillvalue=""))
    names = [" ".join(filter(None, words)) for words in parts]
    if len(set(names)) < len(names):
        names = [" ".join(filter(None, words)) for words in _with_names_of_groups(parts)]
    return names


def _with_names_of_groups(parts: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Repeat a name of the first line above all names of the second line that have none above.

    Spreadsheets write such a name, in merged cells, only above the first column of a group.
    """
    group = ""
    for top, *below in parts:
        group = top or group
        yield (group if any(below) else top, *below)


def _fit_names(
    dialect: Dialect,
    names: list[str],
    cells: list[list[str]],
    lines: list[int],
    count: int,
    notes: list[str],
    selection: Selection,
    row_name: str,
) -> list[str]:
    """Match the number of names to the number of fields in the rows, if it is clear how.

    ``row_name`` is the name for a first column without one.
    """
    rows = cells[count:]
    width, width_count = Counter(map(len, rows)).most_common(1)[0] if rows else (len(names), 0)
    is_text = dialect.number_format.is_text
    has_title = len(names) == 1 and width > 1 and all(map(is_text, filter(None, rows[0])))
    if width_count == len(rows) and width_count and count and not has_title:
        has_empty_end = all(row[-1] == "" for row in rows)
        if width == len(names) + 1 and has_empty_end and selection.id_column != row_name:
            is_asked = selection.find_ids or selection.id_column is not None
            if is_asked and not has_index_name(names[0]):
                _refuse_row_names(dialect, names, [row[0] for row in rows], lines[0], row_name)
            names = [*names, ""]
        elif width == len(names) + 1:
            names = ["", *names]
            notes.append("line 1 has one name fewer than there are columns: the first one has none")
        elif width == len(names) - 1 and names[-1] == "":
            names = names[:-1]
    if len(names) == 1 and width > 1 and 2 * width_count > len(rows):
        line = next(lines[i] for i in range(count, len(cells)) if len(cells[i]) == width)
        # Quotes suggest spaces: R writes "x" "y", and the commas are in the rows.
        suggested = {";": ";", "\t": "\t", "|": "|", '"': " "}
        sep = next((suggested[mark] for mark in suggested if mark in names[0]), None)
        advice = f" If {sep!r} separates the names, give sep={sep!r}." if sep else ""
        raise title_error(dialect, lines[0], line, width, more_advice=advice)
    return names


def _refuse_row_names(
    dialect: Dialect, names: list[str], first: list[str], line: int, row_name: str
) -> None:
    """Refuse rows with one field more than names, the last one empty, if the first may be a name.

    R's write.table writes such rows if the last column is empty, and other programs if they end
    each row with a separator. Names of rows are text or whole numbers that differ in all rows.
    """
    numbers = [dialect.number_format.parse(cell) for cell in first]
    are_names = all(x is None or (math.isfinite(x) and x % 1 == 0) for x in numbers)
    if are_names and len(set(first)) == len(first):
        raise malformed(
            dialect.path,
            f"line {line} has {len(names)} names, and the rows have {len(names) + 1} fields, the "
            f"last of them empty: does the first one ({first[0]!r}) name the rows, or do rows end "
            "with a separator?",
            f"Say which: id_column={row_name!r} where it names the rows, id_column=False where "
            "rows end with a separator; or write a separator in the line of names, too, before "
            "the first name or after the last one.",
            line=line,
        )


def _label_candidates(names: list[str], rows: list[list[str]], dialect: Dialect) -> tuple[str, ...]:
    """The first column, and text columns without repeated cells in the sampled rows."""
    columns = ([row[j] for row in rows if j < len(row)] for j in range(len(names)))
    return tuple(
        name
        for name, column in zip(names, columns, strict=True)
        if name == names[0]
        or (len(set(column)) == len(column) > 1 and all(map(dialect.number_format.is_text, column)))
    )


def quoted_notes(dialect: Dialect, columns: Collection[str]) -> list[WarningNote]:
    """Note on ``columns`` of numbers in quotes, if others are not, judging by the first rows.

    R writes the levels of a factor in quotes, and numbers without.
    """
    end = re.escape(dialect.delimiter)
    field = re.compile(rf'(?:^|{end})("(?:[^"]|"")*"|[^{end}]*)')
    with dialect.reading(), dialect.open_text() as file:
        lines = list(itertools.islice(file, dialect.header_lines + _QUOTED_LINES))
    lines = [line.rstrip("\r\n") for line in lines[dialect.header_lines :] if not line.isspace()]
    if not any('"' in line for line in lines):
        return []
    rows = [field.findall(line) for line in lines]
    if any(len(row) != len(dialect.names) for row in rows):
        return []
    quoted = []
    for name, column in zip(dialect.names, zip(*rows, strict=True), strict=True):
        cells = [cell for cell in column if cell.strip() not in dialect.number_format.missing]
        if name in columns and cells:
            # Cells that hold the delimiter need their quotes.
            are_quoted = all(cell[:1] == '"' and dialect.delimiter not in cell for cell in cells)
            quoted.append((name, are_quoted))
    names = [name for name, are_quoted in quoted if are_quoted]
    if len(names) in (0, len(quoted)):
        return []
    what = f"numbers of {listed(map(repr, names))} are in quotes, and others are not"
    return [WarningNote(f"{what}: if they are codes, leave them out with exclude={names!r}")]


def structure_error(dialect: Dialect, origin: Origin) -> DataError:
    """Find out why pyarrow could not read the text even as text, and make the error.

    If ``origin`` has ``skip_end_from``, the text ends where the file does.
    """
    path, p = dialect.path, len(dialect.names)
    try:
        refuse_damage(dialect)
    except DataError as error:
        return error
    with dialect.open_text() as file:
        for line, text in enumerate(file, start=dialect.lines_before + 1):
            if _NOT_UTF8.search(text):
                problem = f"line {line} is not UTF-8 text"
                hint = "Save the table in UTF-8, or give its encoding, such as encoding='cp1252'."
                return malformed(path, problem, hint, line=line)
    row = dialect.rows_before - 1  # the last row before those of the dialect
    for row, (line, _, record) in enumerate(dialect.records(), dialect.rows_before):
        if len(record) != p:
            return malformed(
                path,
                f"{row_words(row, line=line)} has {counted(len(record), 'field')}, "
                f"but the first line names {p} columns",
                _hint_on_rows_below(dialect, origin, row)
                or "Decimal commas and unquoted text with commas make such rows. skip= leaves out "
                "lines above the table, skip_end= rows below it; a last row of few fields may also "
                "mean that the file is cut short.",
                row=row,
                line=line,
            )
    if row < 0:
        return no_rows_error(path, ", only the line of column names")
    return malformed(path, f"cannot be read as {dialect.kind}")


def _hint_on_rows_below(dialect: Dialect, origin: Origin, row: int) -> str | None:
    """Hint to leave out totals and footnotes below a table, if ``row`` is one of them."""
    if origin.skip_end_from is None:
        return None
    records = [record for *_, record in dialect.records()]
    first = len(records) - RowsAtEnd.of(reversed(records)).unlike_rows
    if row < first:
        return None
    skip_end = origin.skip_end_from(first)
    what = "the last line" if skip_end == 1 else f"the last {skip_end} lines"
    return (
        f"skip_end={skip_end} leaves out {what}, if no row of the table is among them; a last "
        "row of few fields may also mean that the file is cut short."
    )
