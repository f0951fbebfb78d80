"""Which of the first lines of delimited text name the columns.

Where the lines leave it open, or where other lines precede the names, the text is refused with an
error that names the options.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from princomp.errors import MalformedFileError, counted
from princomp.io.readers.columns import listed
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.left_out import NoNamesNote
from princomp.io.readers.number_text import NumberFormat, amount_of
from princomp.io.readers.reader_errors import malformed

# Most lines above the header that are recognised as not part of the table.
_MOST_TITLE_LINES = 10
# Fewest rows below a line that show that its numbers are unlike theirs.
_MIN_ROWS_BELOW = 7
# Fewest columns whose names can be recognised as longitudes or coordinates of a grid.
_MIN_COORDINATES = 4
# Most columns, a sample, whose numbers are compared.
_MOST_COLUMNS = 20

_Cell: TypeAlias = tuple[str, float | None]


def count_header_lines(dialect: Dialect, cells: list[list[str]], notes: list[str]) -> int:
    """Return 1 if the first line names the columns, 0 (and a note) if it is a row.

    Raises
    ------
    MalformedFileError
        If it is not clear.
    """
    first, parse = [cell for cell in cells[0] if cell], dialect.number_format.parse
    values = [x for cell in first if (x := parse(cell)) is not None]
    has_unit = _has_amounts(cells, dialect.number_format)
    if all(map(math.isnan, values)) and not has_unit:
        return 1
    widths = {len(row) for row in cells[1:]}
    # Names can be one fewer than fields, where rows have names. word2vec writes n and p first.
    if len(widths) == 1 and (width := widths.pop()) > len(cells[0]) + 1:
        line, fields = 1 + dialect.skip, counted(len(cells[0]), "field")
        raise title_error(dialect, line, line + 1, width, fields=fields)
    fractions = any(x % 1 for x in values if math.isfinite(x))
    # Names are unique, and numbers as names (wavelengths, years) only rise or only fall.
    repeated = len(set(first)) < len(first)
    columns = zip(*cells, strict=False)
    recurs = any(cell in below and parse(cell) is None for cell, *below in columns)
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
        note = "the first line holds numbers, so it is a row, and columns are called x0, x1, …"
        notes.append(NoNamesNote(note))
        return 0
    raise _names_or_row_error(dialect, first, n_lines)


def _names_or_row_error(dialect: Dialect, first: list[str], n_lines: int) -> MalformedFileError:
    """Make the error for one or two lines that may name the columns or be rows."""
    numbers = listed((cell for cell in first if amount_of(cell, dialect.number_format)), limit=4)
    problem = f"the first line holds numbers ({numbers}): does it name the columns, or is it the "
    problem += "first row?"
    hint = "Say which: header=True where it holds column names, header=False where it is a row."
    if n_lines == 2:
        problem = f"the first two lines hold numbers ({numbers}; …): do they name the columns, or "
        problem += "are they the first rows?"
        are_different = len(set(first)) == len(first)
        only = "header=True where only the first one does, " if are_different else ""
        hint = f"Say which: header=2 where both hold column names, {only}header=False where they "
        hint += "are rows."
    return malformed(dialect.path, problem, hint, line=1 + dialect.skip)


def refuse_title(dialect: Dialect, cells: list[list[str]], lines: list[int]) -> None:
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
            field = "field" if filled[0] == len(cells[0]) else "filled field"
            raise title_error(dialect, *place, fields=counted(filled[0], field), more_advice=joined)


def title_error(
    dialect: Dialect,
    line: int,
    table: int,
    width: int,
    *,
    fields: str = "1 field",
    more_advice: str = "",
) -> MalformedFileError:
    """Make the error for a line above the table, which begins at line ``table``."""
    problem = f"line {line} has {fields}, and lines from {table} on have {width}"
    hint = f"If the lines above are not part of the table, leave them out: skip={table - 1}."
    return malformed(dialect.path, problem, hint + more_advice, line=line)


def _names_numbers(cells: list[list[str]], number_format: NumberFormat) -> bool:
    """Whether the first line names every column but perhaps the first, and one holds numbers.

    There is a number in the next line, and in at least half of the filled cells of this column.
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
    """Whether a line may be a title: it is filled from the left, without a gap.

    Names of all columns but the first are as many as the columns of the table, less one.
    """
    filled = sum(map(bool, first))
    return all(first[:filled]) and not filled == len(first) == width - 1


def refuse_second_header(
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
    """Whether the first number is unlike those below; None if it or a cell below is not a number.

    It is beyond them by more than their range, or has at most half as many decimals as each. The
    first of n + 1 numbers in random order is an extreme with a probability of 2/(n + 1); to be
    beyond by more than the range, in most of several columns, is much rarer.
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
    """Whether the first line has numbers with the units of the cells below, and no series of them.

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
