"""Columns that name, number or identify the rows, and the notes on them.

The first column of a frame *numbers* the rows if its name says so, such as "id"; it *counts* them
if its cells are 0, 1, … or 1, 2, …, regardless of its name. Any column is an *identifier* if its
name says so, such as "customer_id", and its cells are whole numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.io.readers.columns import Choice, Selection, listed
from princomp.io.readers.date_numbers import date_pattern, has_time_name, trend
from princomp.io.readers.left_out import Series, WarningNote
from princomp.io.readers.number_text import NumberFormat, are_mostly_quantities

if TYPE_CHECKING:
    import pyarrow as pa

    from princomp.io.readers.source import TableSource

# Usual names of a first column of row labels; an unnamed first column gets the name "row".
_INDEX_NAMES = frozenset({"row", "unnamed: 0", "index", "id", "rownames", "row_names"})
# Such as 2024-01-31, 31.1.2024 12:00, 1/31/24, 8:30, 36:00:00 and "1 day, 12:00:00".
_DATE_OR_TIME = re.compile(
    r"\s*(?:\d{1,4}([-/.])\d{1,2}\1\d{1,4}|-?(?:\d+ days?,? )?\d+:\d{2}(?::\d{2})?)(?:\D|$)"
)
# Fewest rows for detection: in fewer rows, cells such as 1 and 2 may mean anything.
MIN_ROWS = 3
# Fewest rows for a first column that counts up from a number other than 0 and 1.
_MIN_COUNTED_ROWS = 5
# Smallest share of text in a column of names: a vocabulary may have the words "nan" and "0.5".
_MIN_TEXTS = 0.95
# Fewest rows per repeated or empty cell for a note that a column may be meant to name the rows.
_MIN_ROWS_PER_UNUSABLE = 10
# Fewest rows for a first column in other equal steps.
_MIN_STEPPED_ROWS = 8
# Ends of names such as customer_id, CustomerID, order.key and zip_code, but not of paid; and those
# of names such as order_no and InvoiceNumber, which may also be counts.
_IDENTIFIER = re.compile(
    r"(?:\b|_)(?i:code|guid|id|postcode|uid|uuid|zip|zipcode)\Z|[\W_](?i:key)\Z"
    r"|[a-z0-9](?:Code|GUID|Guid|ID|Id|Key|UUID|Uuid)\Z"
    r"|(?P<may_count>[\W_](?:no|nr|num|(?i:number))\Z|[a-z0-9](?:No|Nr|Num|Number)\Z)"
)
# So many characters at the end of a name contain all of these words and the character before.
_LONGEST_END = 10
# Most names in code that leaves columns out.
_MAX_LISTED = 12
_IS_IDENTIFIER = "is named like an identifier or code, holds whole numbers"
_ARE_IDENTIFIERS = "are named like identifiers or codes, hold whole numbers"


def are_row_numbers(cells: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether cells are 0, 1, …, n − 1 or 1, 2, …, n."""
    if len(cells) < MIN_ROWS or str(cells[0]).strip() not in ("0", "1", "0.0", "1.0"):
        return False
    return _go_up_by_one(cells)


def _go_up_by_one(cells: Sequence[Any] | NDArray[Any]) -> bool:
    try:
        numbers = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(np.array_equal(numbers, numbers[0] + np.arange(len(numbers))))


def _rise_in_equal_steps(cells: NDArray[Any]) -> bool:
    """Whether numbers go up in equal steps, as wavelengths of a transposed table do."""
    n = len(cells)
    if n < _MIN_STEPPED_ROWS or not np.isfinite(cells).all() or not cells[-1] > cells[0]:
        return False
    expected = np.linspace(cells[0], cells[-1], n)
    # Numbers such as 0.1 are not exact in binary. Real steps are far larger than this rounding.
    rounding = 1e-9 * np.abs(expected).max()
    is_rounded = np.abs(cells - expected).max() <= rounding
    return bool(is_rounded and expected[1] - expected[0] > 1e3 * rounding)


def _identifier_name(name: str) -> re.Match[str] | None:
    return _IDENTIFIER.search(name.rstrip()[-_LONGEST_END:])


def has_identifier_name(name: str) -> bool:
    """Whether a column has a name of identifiers or codes, such as "customer_id"."""
    match = _identifier_name(name)
    return match is not None and not match["may_count"]


def _is_identifier(name: str, cells: NDArray[Any]) -> bool:
    """Whether a column has a name of identifiers, and its cells are whole numbers or missing.

    Not if all are 0 or 1. If the name may also be that of a count, all numbers must differ.
    """
    match = _identifier_name(name)
    if match is None:
        return False
    known = cells[~np.isnan(cells)]
    if (known != np.trunc(known)).any() or ((known == 0) | (known == 1)).all():
        return False
    if match["may_count"]:
        return len(cells) >= _MIN_STEPPED_ROWS and len(np.unique(known)) == len(known)
    return True


def _list_of(names: Iterable[str]) -> str:
    """Code of a list of names; without them if there are many."""
    names = list(names)
    return f"[{', '.join(map(repr, names))}]" if len(names) <= _MAX_LISTED else "[…]"


def exclude_option(names: Iterable[str]) -> str:
    """Return the option of ``read_table`` that leaves columns out."""
    return f"exclude={_list_of(names)}"


def counting_notes(
    name: str, cells: NDArray[Any], *, may_count: bool = True, leave_out: str = ""
) -> tuple[WarningNote, ...]:
    """Note on a first column that is analysed, although it seems to number, date or identify rows.

    Without ``may_count``, numbers in equal steps are not noted. ``leave_out`` is what leaves the
    column out of a frame.
    """
    advice = f": leave it out with {leave_out or exclude_option([name])}"
    if may_count and are_row_numbers(cells):
        what, advice = f"counts the rows from {cells[0]:.0f}", ""
    elif (
        may_count
        and len(cells) >= _MIN_COUNTED_ROWS
        and _go_up_by_one(cells[:_MIN_COUNTED_ROWS])  # rejects most columns quickly
        and float(cells[0]).is_integer()
        and _go_up_by_one(cells)
    ):
        what = f"counts up from {cells[0]:.0f}"
    elif (pattern := date_pattern(cells)) is not None:
        what = f"looks like dates ({pattern})"
    elif may_count and _rise_in_equal_steps(cells):
        what = f"goes up in equal steps from {cells[0]:.6g}"
    elif has_time_name(name) and (goes := trend(cells)) is not None:
        what = f"only {goes}, as times do,"
    elif _is_identifier(name, cells):
        what = _IS_IDENTIFIER
    else:
        return ()
    return (WarningNote(f"{name!r}, the first column, {what} and is analysed{advice}"),)


def identifier_notes(
    table: TableSource,
    checked: str | None,
    leave_out: Callable[[list[str]], str] = exclude_option,
) -> tuple[WarningNote, ...]:
    """Note on columns that count the rows of a table from 0 or 1, and on identifiers.

    Not on column ``checked``, the first one, which :func:`counting_notes` checks. ``leave_out``
    returns what leaves columns out.
    """
    names, data, notes = table.columns or (), table.data, []
    counters: set[str] = set()
    if len(data) >= _MIN_STEPPED_ROWS:
        start = data[0]
        may_count = ((start == 0) | (start == 1)) & (data[-1] == start + len(data) - 1)
        for j in np.flatnonzero(may_count).tolist():
            if names[j] != checked and _go_up_by_one(data[:, j]):
                counters.add(names[j])
                counts = f"{names[j]!r} counts the rows from {start[j]:.0f} and is analysed"
                notes.append(WarningNote(f"{counts}: leave it out with {leave_out([names[j]])}"))
    may_be_whole = np.flatnonzero(~(np.floor(data[0]) < data[0])).tolist()  # rejects most quickly
    others = [j for j in may_be_whole if names[j] != checked and names[j] not in counters]
    identifiers = [names[j] for j in others if _is_identifier(names[j], data[:, j])]
    return (*notes, *note_on_identifiers(identifiers, leave_out))


def note_on_identifiers(
    names: list[str], leave_out: Callable[[list[str]], str] = exclude_option
) -> tuple[WarningNote, ...]:
    """Note on columns that are identifiers and are analysed."""
    if not names:
        return ()
    if len(names) == 1:
        problem = f"{names[0]!r} {_IS_IDENTIFIER} and is analysed: leave it out"
    else:
        problem = f"{listed(map(repr, names))} {_ARE_IDENTIFIERS} and are analysed: leave them out"
    return (WarningNote(f"{problem} with {leave_out(names)}"),)


def has_index_name(label: object) -> bool:
    """Whether a column has a usual name of row labels, such as "Unnamed: 0" or "id"."""
    return isinstance(label, str) and (label == "" or label.lower() in _INDEX_NAMES)


def are_dates(cells: Iterable[object]) -> bool:
    """Whether all cells are dates or times, also as text."""
    return all(_DATE_OR_TIME.match(str(cell)) for cell in cells)


def row_numbers_note(label: str, *, has_index: bool = False) -> WarningNote:
    """Note on a first column whose name says that it identifies the rows.

    ``has_index`` says that the frame could have it as its index.
    """
    by_index = f", or name the rows by it with frame.set_index({label!r})" if has_index else ""
    return WarningNote(
        f"left out {label!r}, the first column, because columns of this name usually identify the "
        f"rows: rename it to analyse it{by_index}"
    )


def without_row_numbers(first: Series, choice: Choice) -> tuple[Choice, tuple[WarningNote, ...]]:
    """Leave out a first column of integers that numbers the rows; warn of one that might.

    The type decides, not the values, so that any subset of the rows has the same columns.
    """
    label = first.name
    if choice.requested or len(choice.names) < 2 or choice.names[0] != label:
        return choice, ()
    is_integer, pandas = first.dtype.is_integer(), first.implementation.is_pandas()
    if not is_integer and not first.dtype.is_float():
        return choice, ()
    if has_index_name(label) and is_integer:
        choice = replace(choice, names=choice.names[1:])
        return choice, (row_numbers_note(label, has_index=pandas),)
    cells, without = first.to_numpy(), drop_call([label], pandas=pandas)
    if has_index_name(label):
        return choice, _whole_numbers_note(label, cells, without)
    return choice, counting_notes(label, cells, may_count=is_integer, leave_out=without)


def drop_call(labels: Iterable[str], *, pandas: bool) -> str:
    """Return the call that leaves columns out of a frame."""
    return f"frame.drop({'columns=' if pandas else ''}{_list_of(labels)})"


def _whole_numbers_note(label: str, values: NDArray[Any], without: str) -> tuple[WarningNote, ...]:
    """Note on a column of floats that may be row numbers, such as integers with missing cells."""
    known = values[~np.isnan(values)]
    if not known.size or (known != np.trunc(known)).any():
        return ()
    words = f"the first column {label!r} holds whole numbers of a floating-point type and is "
    return (WarningNote(f"{words}analysed: leave it out with {without}"),)


def id_candidates(names: Iterable[str], selection: Selection, choice: Choice) -> list[str]:
    """The columns among ``names`` that may be used as names of the rows, if these are wanted."""
    if not selection.find_ids or choice.id_column is not None:
        return []
    other_uses = {*map(str, selection.exclude), *(choice.names if choice.requested else ())}
    return [name for name in dict.fromkeys(names) if name not in other_uses]


def find_id_column(
    table: pa.Table,
    first: str,
    choice: Choice,
    number_format: NumberFormat,
    *,
    complete: bool = True,
    unnamed: bool = False,
) -> tuple[Choice, list[str]]:
    """Find the column that names the rows, and remove it from the columns to analyse.

    Parameters
    ----------
    table : pyarrow.Table
        The columns that may name the rows, as text.
    first : str
        Name of the first column of the file.
    choice : Choice
    number_format : NumberFormat
    complete : bool
        Whether the table has all rows, not only the first ones.
    unnamed : bool
        Whether the first column has no name in the file.
    """
    first_cells = table.column(first).to_pylist() if first in table.column_names else []
    is_numbered = are_row_numbers(first_cells)
    # A table that begins in the second column of a sheet has a first column without cells.
    has_index = first.lower() in _INDEX_NAMES and any(first_cells)
    texts = [name for name in table.column_names if _is_text(table, name, number_format)]
    if len(table) < MIN_ROWS:  # in a few rows, any text may differ
        texts = [name for name in texts if name == first]
    unusable = {name: _unusable_cells(table.column(name)) for name in texts}
    unique = [name for name in texts if not unusable[name]]
    # Dates and times name rows only if nothing else does.
    heads = {name: table.column(name)[:100].to_pylist() for name in unique}
    named = [name for name in unique if not are_dates(heads[name])]
    unique = named or unique
    if len(unique) == 1 and (is_numbered or not has_index):
        name = unique[0]
        why = f"which differs in {'all' if complete else f'the first {len(table):,}'} rows"
    elif has_index:
        name, why = first, "the first column"
    elif is_numbered:
        name, why = first, f"which counts them from {str(first_cells[0]).strip()}"
    else:
        return choice, [] if unique else _almost_unique_notes(unusable, len(table), complete)
    # A first column that counts the rows is left out, even if another one names them.
    counted = is_numbered and name != first
    without = {name, first} if counted else {name}
    names = tuple(other for other in choice.names if other not in without)
    if not names:
        return choice, []
    column = f"column {name!r}, {why}"
    if unnamed and name == first:
        column = "the first column, which has no name"
    cells = table.column(name)[:100].to_pylist()
    is_text = any(number_format.is_text(cell) for cell in cells if cell)
    note = f"the rows are named by {column}; id_column=False "
    note += "leaves it out" if is_text else "keeps it as data"
    if name == first and not unnamed and _has_fractions(first_cells[:100], number_format):
        note = WarningNote(
            f"column {name!r} holds fractions, but its name says that it names the rows, so it was "
            "left out; id_column=False keeps it as data"
        )
    notes = [note]
    if counted:
        what = "the first column" if unnamed else repr(first)
        notes.append(f"left out {what}, which counts the rows")
        choice = replace(choice, unused=tuple(dict.fromkeys((*choice.unused, first))))
    return replace(choice, names=names, id_column=name), notes


def _unusable_cells(column: pa.ChunkedArray) -> Counter[str]:
    """The cells of a column that name no row: repeated and empty ones, and how many there are."""
    cells = Counter(cell or "" for cell in column.to_pylist())
    empty = cells.pop("", 0)
    cells.subtract(set(cells))
    return +cells + Counter({"": empty})


def _almost_unique_notes(unusable: dict[str, Counter[str]], rows: int, complete: bool) -> list[str]:
    """Note on the first column of text that names all but a few of the rows read."""
    of_first = "" if complete else f" in the first {rows:,} rows"
    for name, cells in unusable.items():
        if _MIN_ROWS_PER_UNUSABLE * cells.total() <= rows:
            cell, times = cells.most_common(1)[0]
            if cell:
                why = f"{cell!r} occurs {'twice' if times == 1 else f'{times + 1} times'}"
            else:
                why = "one cell is empty" if times == 1 else f"{times:,} cells are empty"
            return [
                f"column {name!r} does not name the rows, because {why}{of_first}; "
                f"id_column={name!r} names them by it"
            ]
    return []


def _has_fractions(cells: Sequence[str | None], number_format: NumberFormat) -> bool:
    """Whether all cells are numbers or empty, and some are fractions, such as measurements."""
    values = [number_format.parse(cell or "") for cell in cells]
    return None not in values and any(x % 1 for x in values if x and math.isfinite(x))


def _is_text(table: pa.Table, name: str, number_format: NumberFormat) -> bool:
    """Whether a column holds text that may name the rows; a few cells may be empty."""
    head = [cell for cell in table.column(name)[:100].to_pylist() if cell]
    if not head:
        return False
    if sum(map(number_format.is_text, head)) < _MIN_TEXTS * len(head):
        return False
    # Cells such as "12 kg", "1,5" and "5/60" are meant as numbers; 31.1.2024 only looks like one.
    return not are_mostly_quantities(head) or all(map(_DATE_OR_TIME.match, head))
