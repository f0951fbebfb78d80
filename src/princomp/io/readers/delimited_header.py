"""The header of delimited text, and the error for lines that cannot be read."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeAlias

from princomp.errors import DataError, MalformedFileError, NoRowsError, ShapeError, row_words
from princomp.io.readers.columns import Selection, listed
from princomp.io.readers.delimited_text import Dialect, refuse_damage
from princomp.io.readers.left_out import NoNamesNote, has_index_name
from princomp.io.readers.number_text import NumberFormat, amount_of
from princomp.io.readers.reader_errors import file_error, malformed, no_rows_error

# Number of records that are checked.
_SAMPLE = 200
# Number of lines in which quotes around numbers are sought.
_QUOTED_LINES = 20
# Most lines above the header that are recognized as no part of the table.
_MOST_TITLE_LINES = 10
# Fewest rows that show how the numbers of a column are, so that others may be no part of it.
_MIN_ROWS_BELOW = 7
# Fewest columns whose names show that they are longitudes or coordinates of a grid.
_MIN_COORDINATES = 4
# Most columns in which numbers are compared.
_MOST_COLUMNS = 20

_Cell: TypeAlias = tuple[str, float | None]


def read_header(dialect: Dialect, selection: Selection) -> Dialect:
    """Read and check the lines of column names, and add them to the dialect.

    A first line that has all names of columns in ``selection`` holds names.

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
    path = dialect.path
    with dialect.reading():
        records = _sample(dialect)
    if not records:
        kind: type[ShapeError] = NoRowsError
        problem = "no rows, the file is empty"
        hint = "The first line must name the columns; the rows follow."
        options = {name: getattr(dialect, name) for name in ("skip", "skip_end", "comment")}
        left_out = [f"{name}={value!r}" for name, value in options.items() if value]
        if left_out:
            problem = f"no rows, all lines are left out: {', '.join(left_out)}"
            hint = "Leave out fewer lines: the first one that remains must name the columns."
            kind = ShapeError
        raise file_error(kind, path, problem, hint)
    lines = [line for line, _, _ in records]
    cells = [[cell.strip() for cell in record] for _, _, record in records]
    text = dialect.delimiter.join(cells[0])
    if not _is_utf8(text) or "\0" in text:
        problem = "the first line is not UTF-8 text"
        hint = "Save the table as CSV in UTF-8, or give its encoding=."
        raise malformed(path, problem, hint, line=lines[0])
    notes = list(dialect.notes)
    count = dialect.header
    if count is None:
        is_named = bool(requested) and set(map(str, requested)) <= set(cells[0])
        if not is_named:
            _refuse_title(dialect, cells, lines)
        count = 1 if is_named else _count_header_lines(dialect, cells, notes)
    count = min(count, len(records))
    if count == 0:
        names = [f"x{j}" for j in range(len(cells[0]))]
    else:
        parts = list(zip_longest(*cells[:count], fillvalue=""))
        names = [" ".join(filter(None, words)) for words in parts]
        if len(set(names)) < len(names):
            names = [" ".join(filter(None, words)) for words in _with_names_of_groups(parts)]
    row = "row" if "row" not in names else "column 1"
    names = _fit_names(dialect, names, cells, lines, count, notes, selection, row)
    # Tables written by R and pandas leave the name of the row labels empty.
    unnamed = not names[0]
    names = [name or (f"column {j}" if j > 1 else row) for j, name in enumerate(names, 1)]
    if dialect.header is None and count == 1:
        _refuse_second_header(dialect, names, cells, lines)
    return replace(
        dialect,
        notes=tuple(notes),
        names=tuple(names),
        header_lines=records[count - 1][1] if count else 0,
        label_candidates=_label_candidates(names, cells[count:], dialect),
        unnamed=unnamed,
    )


def _with_names_of_groups(parts: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Repeat a name of the first line above all names of the second line that have none above.

    Spreadsheets write such a name, in merged cells, only above the first column of a group.
    """
    group = ""
    for top, *below in parts:
        group = top or group
        yield (group if any(below) else top, *below)


def _sample(dialect: Dialect) -> list[tuple[int, int, list[str]]]:
    """The first records, up to an error in a later one, which is reported later."""
    records: list[tuple[int, int, list[str]]] = []
    try:
        records.extend(itertools.islice(dialect.records(), _SAMPLE))
    except csv.Error:
        if not records:
            raise
    return records


def _count_header_lines(dialect: Dialect, cells: list[list[str]], notes: list[str]) -> int:
    """Number of header lines, 1 or 0; refuse the file if it is not clear."""
    first, parse = [cell for cell in cells[0] if cell], dialect.number_format.parse
    values = [x for cell in first if (x := parse(cell)) is not None]
    has_unit = _has_amounts(cells, dialect.number_format)
    if all(x != x for x in values) and not has_unit:
        return 1
    fractions = any(x % 1 for x in values if math.isfinite(x))
    # Names are unique, and numbers as names (wavelengths, years) only rise or only fall.
    repeated = len(set(first)) < len(first)
    columns = zip(cells[0], zip(*cells[1:], strict=False), strict=False)
    recurs = any(cell in below and parse(cell) is None for cell, below in columns)
    is_doubtful = fractions or repeated or recurs
    is_minority = 2 * len(values) < len(first) and not has_unit
    if is_minority and not (is_doubtful and _fills_columns_of_numbers(cells, parse)):
        return 1
    if len(values) == len(first):
        is_data = len(values) > 1 and (repeated or (fractions and not _is_monotonic(values)))
    else:
        is_data = fractions and recurs
    n_lines = _count_numeric_names(cells, dialect.number_format)
    if is_data and not n_lines:
        notes.append(
            NoNamesNote(
                "the first line holds numbers, so it is a row, and columns are called x0, x1, …"
            )
        )
        return 0
    numbers = [cell for cell in first if amount_of(cell, dialect.number_format)]
    problem = f"the first line holds numbers ({listed(numbers, limit=4)}): does it name the "
    problem += "columns, or is it the first row?"
    hint = "Say which: header=True where it holds column names, header=False where it is a row."
    if n_lines == 2:
        problem = f"the first two lines hold numbers ({listed(numbers, limit=4)}; …): do they name "
        problem += "the columns, or are they the first rows?"
        only = "" if repeated else "header=True where only the first one does, "
        hint = f"Say which: header=2 where both hold column names, {only}header=False where they "
        hint += "are rows."
    raise malformed(dialect.path, problem, hint, line=1 + dialect.skip)


def _count_numeric_names(cells: list[list[str]], number_format: NumberFormat) -> int:
    """Number of first lines, 1 or 2, that may name the columns; 0 if they are like rows.

    They are unlike all rows below, or are longitudes or coordinates of a grid. If the line after
    them is also unlike the rows below it, they may be the first rows of a process that settles.
    """
    texts = list(zip(*cells, strict=False))
    sample = texts[:: 1 + len(texts) // _MOST_COLUMNS]
    columns = [[(cell, number_format.parse(cell)) for cell in column] for column in sample]
    are_different = len(set(cells[0])) == len(cells[0])
    if not are_different and _are_coordinates(columns):
        return 2
    mark = number_format.decimal
    unlike = [_is_unlike_rows([column[i:] for column in columns], mark) for i in range(3)]
    for count in (1, 2):
        names = list(zip(*cells[:count], strict=False))
        if unlike[count - 1] and not unlike[count] and len(set(names)) == len(names):
            return count
    return int(are_different and _are_longitudes([column[0][1] for column in columns]))


def _are_longitudes(values: list[float | None]) -> bool:
    """Whether numbers are equally far apart on a circle of 360 degrees, such as 355, 0, 5, 10."""
    numbers = [x for x in values if x is not None and math.isfinite(x)]
    steps = {round((b - a) % 360, 6) for a, b in itertools.pairwise(numbers)}
    return len(numbers) == len(values) >= _MIN_COORDINATES and len(steps) == 1 and steps != {0}


def _are_coordinates(columns: list[list[_Cell]]) -> bool:
    """Whether the first two lines are coordinates of a grid, sorted by the first one.

    In most columns, they do not occur below.
    """
    values = [[x for _, x in column] for column in columns]
    if len(values) < _MIN_COORDINATES or any(len(each) < 3 for each in values):
        return False
    if len({each[0] for each in values}) == 1:
        return False  # perhaps the first row of an index, such as 100, 100, 100
    n_unlike = sum({*each[:2]}.isdisjoint(each[2:]) for each in values)
    if any(None in each[:2] for each in values) or 2 * n_unlike <= len(values):
        return False
    for i, j in itertools.product((1, -1), repeat=2):
        pairs = [(i * (each[0] or 0.0), j * (each[1] or 0.0)) for each in values]
        if all(a < b for a, b in itertools.pairwise(pairs)):
            return True
    return False


def _is_unlike_rows(columns: list[list[_Cell]], mark: str) -> bool:
    """Whether the first line is unlike the rows below, as names that are numbers often are.

    It is blank above labels of the rows, or most of its numbers are unlike those below.
    """
    first, *below = columns[0] or [("", None)]
    if not first[0] and _may_label_rows(below):
        return True
    found = [_is_unlike_numbers(column, mark) for column in columns]
    judged = [is_unlike for is_unlike in found if is_unlike is not None]
    return len(judged) > 1 and 4 * sum(judged) >= 3 * len(judged)


def _may_label_rows(cells: list[_Cell]) -> bool:
    """Whether all cells are different, and are whole numbers or no numbers."""
    is_whole = all(x is None or x % 1 == 0 for _, x in cells)
    return is_whole and len({cell for cell, _ in cells}) == len(cells) > 0


def _is_unlike_numbers(column: list[_Cell], mark: str) -> bool | None:
    """Whether the first number is unlike those below; None if it or a cell below is no number.

    It is beyond them by more than their range, or has at most half as many decimals as each. By
    chance, this is rare: the first of n + 1 numbers in random order is the smallest or the largest
    with a probability of 2/(n + 1).
    """
    (first, value), *below = column or [("", None)]
    values = [x for _, x in below if x is not None and math.isfinite(x)]
    has_text = any(x is None for _, x in below)
    if value is None or value != value or has_text or len(values) < _MIN_ROWS_BELOW:
        return None
    low, high = min(values), max(values)
    is_far = max(value - high, low - value) > high - low
    if is_far and min(value, low) > 0:  # sizes differ by factors
        is_far = max(value / high, low / value) > high / low
    if is_far:
        return True
    fewest = min(len(cell.partition(mark)[2]) for cell, x in below if x == x)
    return 2 * len(first.partition(mark)[2]) <= fewest and fewest > 0


def _has_amounts(cells: list[list[str]], number_format: NumberFormat) -> bool:
    """Whether the first line has numbers with the units of the cells below, but no series of them.

    A series that only rises or only falls, such as 25%, 50%, 75%, may name columns.
    """
    amounts = []
    for j, cell in enumerate(cells[0]):
        amount = amount_of(cell, number_format)
        below = (amount_of(row[j], number_format) for row in cells[1:] if j < len(row))
        if amount and str(amount[0]) and any(each and each[0] == amount[0] for each in below):
            amounts.append(amount)
    units, values = {unit for unit, _ in amounts}, [value for _, value in amounts]
    is_series = len(values) > 1 and len(units) == 1 and _is_monotonic(values)
    return bool(amounts) and not is_series


def _is_monotonic(values: list[float]) -> bool:
    """Whether values only rise or only fall."""
    return len({b > a for a, b in itertools.pairwise(values)}) < 2


def _fills_columns_of_numbers(cells: list[list[str]], parse: Callable[[str], Any]) -> bool:
    """Whether the first line has numbers in all columns that hold only numbers below it."""
    columns = [[parse(cell) for cell in column] for column in zip(*cells, strict=False)]
    below = [column for column in columns if None not in column[1:]]
    return bool(below) and all(column[0] is not None for column in below)


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
        raise _title_error(dialect, lines[0], line, width)
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


def _title_error(
    dialect: Dialect, line: int, table: int, width: int, *, fields: int = 1, joined: str = ""
) -> MalformedFileError:
    """Make the error for a line above the table, which begins at line ``table``."""
    noun = "field" if fields == 1 else "fields"
    problem = f"line {line} has {fields} {noun}, and lines from {table} on have {width}"
    hint = f"If the lines before are no part of the table, leave them out: skip={table - 1}."
    return malformed(dialect.path, problem, hint + joined, line=line)


def _refuse_title(dialect: Dialect, cells: list[list[str]], lines: list[int]) -> None:
    """Refuse lines above the header, such as a title, also if they were padded with separators."""
    is_text = dialect.number_format.is_text
    filled = [sum(map(bool, row)) for row in cells]
    for top in range(1, min(len(cells) - 1, _MOST_TITLE_LINES + 1)):
        most_above = max(filled[:top])
        if filled[top] <= max(most_above, 1) or not all(map(is_text, filter(None, cells[top]))):
            continue
        if most_above == 1:
            is_title = (top > 1 or bool(cells[0][0])) and not all(map(is_text, cells[top + 1]))
        else:
            is_title = _names_numbers(cells[top:], dialect.number_format) and (
                top > 1 or _may_be_title(cells[0], len(cells[1]))
            )
        if is_title:
            joined = " header=2 joins both lines to names." if top == 1 < most_above else ""
            place = lines[0], lines[top], max(filled[top : top + 2])
            raise _title_error(dialect, *place, fields=filled[0], joined=joined)


def _names_numbers(cells: list[list[str]], number_format: NumberFormat) -> bool:
    """Whether the first line names all columns, but perhaps the first, and one holds numbers.

    The numbers begin in the next line, and are at least half of the cells in their column.
    """
    names, *rows = cells
    rows = [row for row in rows if len(row) == len(names)]
    if not all(names[1:]) or not rows or len(cells[1]) != len(names):
        return False
    for column in zip(*rows, strict=True):
        are_numbers = [amount_of(cell, number_format) is not None for cell in filter(None, column)]
        if column[0] and are_numbers[0] and 2 * sum(are_numbers) >= len(are_numbers):
            return True
    return False


def _may_be_title(first: list[str], width: int) -> bool:
    """Whether a line is unlike names of all columns but the first, and of groups of columns."""
    filled = sum(map(bool, first))
    return all(first[:filled]) and not filled == len(first) == width - 1


def _refuse_second_header(
    dialect: Dialect, names: list[str], cells: list[list[str]], lines: list[int]
) -> None:
    """Refuse a second line of names or units, such as "cm" above a column of numbers."""
    if len(cells) < 4 or len(cells[1]) != len(names):
        return
    is_text = dialect.number_format.is_text
    if not all(map(is_text, filter(None, cells[1]))):
        return
    below = [row for row in cells[2:] if len(row) == len(names)]
    above = [
        j
        for j, cell in enumerate(cells[1])
        if cell and below and not any(is_text(row[j]) for row in below)
    ]
    if above:
        line, shown = lines[1], cells[1][above[0]]
        raise malformed(
            dialect.path,
            f"line {line} holds no numbers ({shown!r} in column {names[above[0]]!r}), and all "
            "lines below do: is it a second line of names or units?",
            "header=2 joins both lines to names; or write NA in cells that are missing.",
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


def quoted_numbers(dialect: Dialect, columns: Collection[str]) -> list[str]:
    """Those ``columns`` of numbers that are in quotes, unless all are, judging by the first rows.

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
    return names if len(names) < len(quoted) else []


def _is_utf8(text: str) -> bool:
    # Bytes that are not UTF-8 were read as lone surrogates, which cannot be encoded.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def structure_error(dialect: Dialect) -> DataError:
    """Find out why pyarrow could not read the text even as text, and make the error."""
    path, p, before = dialect.path, len(dialect.names), dialect.before
    try:
        refuse_damage(dialect)
    except DataError as error:
        return error
    with dialect.open_text() as file:
        for line, text in enumerate(file, start=before.lines + 1):
            if not _is_utf8(text):
                problem = f"line {line} is not UTF-8 text"
                hint = "Save the table in UTF-8, or give its encoding, such as encoding='cp1252'."
                return malformed(path, problem, hint, line=line)
    row = before.rows - 1  # the last row before those of the dialect
    for row, (line, _, record) in enumerate(dialect.records(), before.rows):
        if len(record) != p:
            noun = "field" if len(record) == 1 else "fields"
            return malformed(
                path,
                f"{row_words(row, line=line)} has {len(record)} {noun}, "
                f"but the first line names {p} columns",
                "Decimal commas and unquoted text with commas make such rows. skip= leaves out "
                "lines above the table, skip_end= rows below it; a last row of few fields may also "
                "mean that the file is cut short.",
                row=row,
                line=line,
            )
    if row < 0:
        return no_rows_error(path, ", only the line of column names")
    problem = f"cannot be read as {dialect.kind}"
    return malformed(path, problem, "It may be damaged: create or download it again.")
