"""Cells of tables: which cells are numbers, and what happens to a column of text."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotNumericError
from princomp.io.readers.columns import Origin, listed
from princomp.io.readers.number_text import (
    PLAIN,
    NumberFormat,
    is_true_or_false,
    plain_minus,
)

TextPolicy = Literal["error", "leave out"]

# Beyond this, neighbouring integers share one float64, so digits would be lost silently.
LARGEST_INTEGER = 2**53

_INTEGER = re.compile(r"[+-]?0*([0-9]+)")
# "<0.5", "> 100", "<LOD"; but not "<none>".
_BEYOND_LIMIT = re.compile(r"[<>≤≥][^<>]+")
_DIGIT_FIRST = re.compile(r"[-+]?[.,]?\d")
# A hint lists at most so many different words for missing cells.
_MAX_WORDS = 6
_WITH_COMMAS = re.compile(r"[+-]?[0-9][0-9.]*(?:,[0-9]+)+(?:\.[0-9]+)?")


def is_number_type(kind: type) -> bool:
    """Whether objects of a class are real numbers."""
    # NumPy counts durations as integers.
    is_duration = issubclass(kind, np.timedelta64)
    return issubclass(kind, numbers.Real | Decimal | np.bool_) and not is_duration


def read_number(cell: Any) -> float | None:
    """Read a cell: return its number, NaN if it is missing, None if it is neither."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        return PLAIN.parse(cell)
    if isinstance(cell, Decimal):
        return math.nan if cell.is_nan() else float(cell)
    if is_number_type(type(cell)):
        try:
            return float(cell)
        except OverflowError:  # an integer of more than 308 digits
            return -math.inf if cell < 0 else math.inf
    return None


def looks_numeric(cell: object) -> bool:
    """Whether a cell is a number or was meant as one, such as "1,5"."""
    number = read_number(cell)
    return _has_commas(cell) if number is None else not math.isnan(number)


def is_text(cell: object) -> bool:
    """Whether a cell is neither a number nor missing."""
    return read_number(cell) is None


def _has_commas(cell: object) -> bool:
    return isinstance(cell, str) and _WITH_COMMAS.fullmatch(plain_minus(cell.strip())) is not None


def first_long_integer(cells: Sequence[object]) -> int | None:
    """Index of the first integer beyond 2**53 in a column that holds integers only.

    In a column that also has fractions, all numbers are rounded to float64 anyway, so
    nothing more is lost and the result is None.
    """
    found = None
    for i, cell in enumerate(cells):
        match = None
        if isinstance(cell, str | Decimal):
            match = _INTEGER.fullmatch(plain_minus(str(cell).strip()))
        if match is not None:
            # Python refuses to convert integers of thousands of digits, so count them first.
            is_long = len(match[1]) > 16 or int(match[1]) > LARGEST_INTEGER
        elif isinstance(cell, numbers.Integral):
            is_long = abs(int(cell)) > LARGEST_INTEGER
        elif (number := read_number(cell)) is not None and math.isnan(number):
            continue
        else:
            return None
        if is_long and found is None:
            found = i
    return found


def may_have_lost_digits(values: NDArray[np.float64]) -> bool:
    """Whether some magnitudes are 2**53 or more, so that integers converted to them may differ."""
    # Infinities count, because integers of hundreds of digits are read as infinity.
    largest, smallest = (extreme.reduce(values, initial=0.0) for extreme in (np.fmax, np.fmin))
    return bool(max(largest, -smallest) >= LARGEST_INTEGER)


def integer_text(value: object) -> str:
    """Text of an integer in messages; rounded if Python refuses to write so many digits."""
    try:
        return str(value).strip()
    except ValueError:
        return f"{Decimal(cast(int, value)):.3e}"


def long_integer_error(column: str | int, i: int, value: object, origin: Origin) -> NotNumericError:
    """Make the error for an integer that has more digits than float64 can hold."""
    leave_out = "leave the column out"
    if origin.file is not None:
        leave_out = f"name the rows by them (id_column={column!r}) or exclude=[{column!r}]"
    hint = f"If these are identifiers, {leave_out}; if they are quantities, write them as "
    hint += "floating-point numbers."
    if origin.of_model:
        hint = "Write the column as floating-point numbers."
    return origin.cell_error(
        column,
        i,
        f"the integer {integer_text(value)} is beyond 2**53 = {LARGEST_INTEGER}, "
        "so its last digits would be lost",
        hint,
    )


def refuse_long_integers(
    array: NDArray[Any], cell: Callable[[tuple[int, ...]], tuple[str | int, int]], origin: Origin
) -> None:
    """Raise NotNumericError for the first integer of an array that is beyond 2**53.

    ``cell`` maps an index into the array to the name or number of the column and the row, from 0.
    """
    if array.dtype.kind == "O":
        are_beyond = (
            isinstance(x, numbers.Integral) and abs(int(x)) > LARGEST_INTEGER for x in array.flat
        )
        beyond = np.fromiter(are_beyond, bool, array.size).reshape(array.shape)
    # Smaller types cannot hold such an integer; min and max need no temporary array.
    elif (
        array.dtype.kind in "iu"
        and array.dtype.itemsize == 8
        and array.size
        and max(int(array.max()), -int(array.min())) > LARGEST_INTEGER
    ):
        beyond = (array > LARGEST_INTEGER) | (array < -LARGEST_INTEGER)
    else:
        return
    if beyond.any():
        index = tuple(map(int, np.argwhere(beyond)[0]))
        column, row = cell(index)
        raise long_integer_error(column, row, int(array[index]), origin)


def convert_text_column(
    column: str, cells: Sequence[object], *, requested: bool, text: TextPolicy, origin: Origin
) -> NDArray[np.float64] | None:
    """Convert a column of text or mixed objects to numbers, leave it out, or refuse it.

    Parameters
    ----------
    column : str
        Name of the column.
    cells : sequence of length n
        Its values, None where missing.
    requested : bool
        The user named the column. It then cannot be left out, and numbers
        written as text are accepted as numbers.
    text : {"error", "leave out"}
        What to do with a column that holds no numbers.
    origin : Origin
        Where the rows come from, for messages.

    Returns
    -------
    ndarray of shape (n,) or None
        The numbers; None if the column is left out.

    Raises
    ------
    NotNumericError
        A cell is not a number and the column cannot be left out, because it was
        requested or at least half of its nonempty cells look like numbers.
    """
    numbers_read = [read_number(cell) for cell in cells]
    # Cells that are not NaN: x is a number, or None for text.
    nonempty = [cell for cell, x in zip(cells, numbers_read, strict=True) if x == x]
    may_leave_out = text == "leave out" and not requested
    truths = [i for i, cell in enumerate(cells) if isinstance(cell, bool | np.bool_)]
    if may_leave_out and nonempty and len(truths) == len(nonempty):
        return None
    bad = [i for i, number in enumerate(numbers_read) if number is None]
    if bad:
        mostly_numbers = 2 * sum(map(looks_numeric, nonempty)) >= len(nonempty)
        if may_leave_out and not mostly_numbers:
            return None
        raise not_numeric_error(column, cells, bad, len(nonempty), text, origin)
    if truths and len(truths) < len(nonempty):
        problem = f"{cells[truths[0]]} is not a number, as other cells of the column are"
        hint = "Write the column in one way, or leave it out."
        raise origin.cell_error(column, truths[0], problem, hint)
    long_index = first_long_integer(cells)
    if long_index is not None:
        raise long_integer_error(column, long_index, cells[long_index], origin)
    written = [i for i, cell in enumerate(cells) if isinstance(cell, str) and looks_numeric(cell)]
    if written and not requested:
        raise origin.cell_error(
            column,
            written[0],
            f"the number {cells[written[0]]!r} is written as text ({len(written)} such "
            f"{'cell' if len(written) == 1 else 'cells'} in the column)",
            "Codes such as postcodes often look like this. Turn the column into numbers if it "
            "holds quantities, or leave it out."
            if origin.file is None
            else hint_on_codes(column),
        )
    return np.array(numbers_read, dtype=np.float64)


def hint_on_codes(column: str) -> str:
    """Hint on a column of a file whose numbers are written as codes are."""
    return (
        f"Codes such as postcodes are not quantities: exclude=[{column!r}] leaves the column out, "
        f"id_column={column!r} names the rows by it. If it holds quantities, name it among the "
        "columns=."
    )


def shortened(shown: str) -> str:
    """Cut the text of a long cell for a message, up to its last quote or bracket."""
    return shown if len(shown) <= 60 else f"{shown[:57]}…{shown[-1]}"


def bad_cell_hint(
    column: str,
    cells: Iterable[object],
    origin: Origin,
    *,
    typed: bool = False,
    number_format: NumberFormat = PLAIN,
) -> str:
    """Make the hint for cells of text among numbers in a format.

    ``typed`` is as in ``decimal_mark_hint``.
    """
    na, mark = number_format.na, number_format.decimal
    words = list(dict.fromkeys(str(cell).strip() for cell in cells))
    word = words[0]
    if column.strip() in words and not typed:
        return "If the line repeats the names of the columns, as in files put together, delete it."
    beyond = [one for one in words if _BEYOND_LIMIT.fullmatch(one)]
    if beyond:
        values = f"a number for {listed(map(repr, beyond), 3)}" if len(words) > 1 else "a number"
        actions = [f"write {values}, such as half the limit"]
        others = [one for one in words if one not in beyond]
        if others and not typed:
            option = _missing_option(others[:_MAX_WORDS], na)
            actions.append(f"say which words mean missing ({option})")
        hint = origin.or_exclude(column, *actions)
        return f"A value beyond a detection limit is not missing: {hint}"
    if is_true_or_false(word):
        action = "Write the column in one way: as numbers, or as true and false"
        return origin.or_exclude(column, action)
    if typed:
        return origin.or_exclude(column, "Correct the cell", "replace it by NaN if it is missing")
    if re.fullmatch(r"(?=.*\d)[-+\d.,'’()$€£¥₹eEdD ]+", word):  # such as 1.0D+05 and (12.5)
        action = (
            f"Correct the cell (write numbers as 1234{mark}5 or 1{mark}2e5, negative ones as -1)"
        )
        return origin.or_exclude(column, action)
    if _DIGIT_FIRST.match(word):  # such as 64.86*, a number with a footnote
        return origin.or_exclude(column, "Correct the cell")
    if len(words) > _MAX_WORDS or any(map(_DIGIT_FIRST.match, words)):
        words = words[:1]
    what = "such words are" if len(words) > 1 else "it is"
    action = f"say that {what} missing ({_missing_option(words, na)})"
    return origin.or_exclude(column, "Correct the cell", action)


def _missing_option(words: list[str], na: Sequence[str]) -> str:
    """The option for words that mean missing, which is given once, with all of them."""
    return f"na={[*na, *words]}" if max(map(len, words)) <= 20 else "write NA"


def decimal_mark_hint(file: str | None = None, *, typed: bool = False) -> str:
    """Make the hint for a number with commas; options of text do not apply to ``typed`` tables."""
    if not typed:
        return "This looks like a decimal comma (decimal=',') or a thousands separator."
    how = "turn the cells into numbers"
    if file is None:
        how = f"{how}, or read the file with pandas.read_csv(…, decimal=',')"
    return f"This looks like a decimal comma or a thousands separator: {how}."


def not_numeric_error(
    column: str,
    cells: Sequence[object],
    bad: Sequence[int],
    nonempty: int,
    text: TextPolicy,
    origin: Origin,
    *,
    number_format: NumberFormat = PLAIN,
) -> NotNumericError:
    """Make the error for a column with cells ``bad`` that are not numbers in a format."""
    value = cells[bad[0]]
    shown = shortened(repr(value if isinstance(value, str) else str(value)))
    of_all = f"{len(bad)} of its {nonempty} nonempty cells {'is' if len(bad) == 1 else 'are'} not"
    # Frames and files whose columns have types, not text or workbooks.
    typed = origin.file is None or origin.file.endswith((".parquet", ".arrow", ".feather", ".ipc"))
    if _has_commas(value) and number_format.decimal != ",":
        hint = decimal_mark_hint(origin.file, typed=typed)
    elif origin.of_model and (text == "error" or 2 * len(bad) > nonempty):
        hint = "The model needs numbers in this column: turn its cells into numbers."
    elif text == "error":
        hint = "Leave the column out, or turn its cells into numbers."
    elif 2 * len(bad) > nonempty:
        hint = (
            f"The column does not hold numbers: exclude {column!r} (or do not list it in "
            "columns=), or turn its cells into numbers."
        )
    else:
        words = (cells[i] for i in bad)
        hint = bad_cell_hint(column, words, origin, typed=typed, number_format=number_format)
    return origin.cell_error(column, bad[0], f"{shown} is not a number ({of_all})", hint)
