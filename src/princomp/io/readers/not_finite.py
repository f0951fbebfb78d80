"""Errors for missing and infinite values in rows, with their place, number and advice."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.errors import NotFiniteError, ShapeError, counted
from princomp.io.readers.columns import Origin, RowPlace, listed
from princomp.io.readers.source import RowData, Source
from princomp.summaries import first_not_finite

FILL_HINT = (
    "leave such rows out (missing='drop'), or fill the cells (missing='em' or missing='nipals')"
)
DROP_HINT = "leave such rows out (missing='drop'), or fill the cells before"
_CLIP_HINT = "clip or remove the infinite values"


def not_finite_error_in_source(
    source: Source,
    error: NotFiniteError,
    *,
    columns: tuple[str, ...] | None,
    hint: str = FILL_HINT,
) -> NotFiniteError:
    """Add the value, the file and the row in it to an error found in a block of a source."""
    if error.value is None:
        return error
    column, value = error.place["column"], error.value
    where, place = _describe_cell(source.place_of(error.place["row"]), columns, column)
    problem = f"Input X contains {_value_text(value)}: the first at {where}"
    if not np.isnan(value):
        hint = _CLIP_HINT
    elif hint is FILL_HINT and getattr(source, "engine", None):
        hint = DROP_HINT
    elif hint in (FILL_HINT, DROP_HINT) and (rows := _rows_of_empty_column(source, column)):
        first = f"column {place['column']!r} has no number in the first {counted(rows, 'row')}"
        hint = f"{first}: leave it out if it is empty; for other missing cells, {hint}"
    return NotFiniteError(problem, place=place, hint=hint)


def _rows_of_empty_column(source: Source, column: int) -> int:
    """Number of rows in the first chunk of a source if a column is empty there, otherwise 0."""
    if not source.repeatable:
        return 0
    rows = next(source.chunks()).data
    return 0 if sp.issparse(rows) or not np.isnan(rows[:, column]).all() else len(rows)


def _describe_cell(
    row_place: RowPlace, columns: tuple[str, ...] | None, column: int
) -> tuple[str, dict[str, Any]]:
    """Words for a cell in messages, and its place."""
    name = column if columns is None else columns[column]
    place = row_place.as_dict(column=name)
    where = f"{row_place.description}, column {name if columns is None else repr(name)}"
    return f"{where} of {row_place.file}" if row_place.file else where, place


def _value_text(value: float) -> str:
    return "NaN" if np.isnan(value) else ("infinity" if value > 0 else "-infinity")


def not_finite_error(
    data: Any,
    error: NotFiniteError,
    *,
    columns: tuple[str, ...] | None = None,
    origin: Origin | None = None,
    hint: str = FILL_HINT,
) -> NotFiniteError:
    """Add the first place, its value and the counts in all rows to an error found in a block."""
    if "row" not in error.place or (error.value is None and "column" in error.place):
        return error  # not about a cell, or complete already
    if isinstance(data, Source):
        return not_finite_error_in_source(data, error, columns=columns, hint=hint)
    sparse = sp.issparse(data)
    values = data.data if sparse else data
    bad = ~np.isfinite(values)
    # Rows before that of a known value do not count: they have weight zero, or were dropped.
    known = first_not_finite(data) if error.value is None else error
    row, column, value = known.place["row"], known.place["column"], known.value
    assert value is not None
    missing = int(np.isnan(values).sum())
    infinite = int(bad.sum()) - missing
    where, place = _describe_cell((origin or Origin()).place_of(row), columns, column)
    if not infinite and (last_rows := _hint_on_last_rows(data, origin)):
        hint = last_rows
    elif hint in (FILL_HINT, DROP_HINT) and missing and not sparse:
        # Only a fit can do without a column.
        hint = hint_for_missing(values, columns, hint)
    if not missing or (error.value is not None and np.isinf(value)):
        hint = _CLIP_HINT
    elif infinite:
        hint += f"; {_CLIP_HINT}"
    return NotFiniteError(
        f"Input X contains {_value_text(value)}: the first at {where}; "
        f"{missing:,} NaN and {infinite:,} infinite values in all",
        place=place,
        hint=hint,
    )


def hint_for_missing(
    values: np.ndarray[Any, Any], columns: tuple[str, ...] | None, hint: str
) -> str:
    """Return a hint for missing cells that first names the columns that have no value."""
    missing = np.isnan(values)
    empty = np.flatnonzero(missing.all(axis=0))
    if not empty.size:
        return hint
    names = listed(str(i if columns is None else repr(columns[i])) for i in empty)
    first = f"leave out the empty {'column' if empty.size == 1 else 'columns'} {names}"
    others = np.count_nonzero(missing) > empty.size * len(values)
    return f"{first}; for other missing cells, {hint}" if others else first


def few_rows_left_error(
    data: RowData, columns: tuple[str, ...] | None, left: int, n: int
) -> ShapeError:
    """Error for a table of which fewer than two rows are complete.

    The hint names columns that lack most of their values. Only the first rows of a source are
    searched.
    """
    rows, first = data, ""
    if isinstance(data, Source):
        rows, first = next(data.chunks()).data if data.repeatable else None, "the first "
    hint = "fill the missing values, or leave out the columns that hold them"
    if isinstance(rows, np.ndarray):
        missing = np.isnan(rows).sum(axis=0)
        worst = np.flatnonzero(2 * missing > len(rows))
        if 0 < worst.size < len(missing):
            names = listed(str(j if columns is None else repr(columns[j])) for j in worst)
            which, lack = ("column", "lacks") if worst.size == 1 else ("columns", "lack")
            values = f"{missing[worst].min():,} {'or more ' if worst.size > 1 else ''}of {first}"
            hint = f"leave out {which} {names}, which {lack} {values}{counted(len(rows), 'value')},"
            hint += " or fill the missing values"
    return ShapeError(
        f"{left:,} of {n:,} rows are left after dropping those with missing values; a variance "
        "needs at least 2",
        hint=hint,
    )


def _hint_on_last_rows(data: Any, origin: Origin | None) -> str | None:
    """Hint to leave out the last rows, if these have no number and all others are complete."""
    if origin is None or origin.skip_end_from is None or sp.issparse(data):
        return None
    missing = np.isnan(data)
    is_complete = ~missing.any(axis=1)
    complete = int(is_complete.sum())
    if not is_complete[:complete].all() or not missing[complete:].all():
        return None
    empty = len(data) - complete
    rows = "the last row, which has" if empty == 1 else f"the last {empty:,} rows, which have"
    return f"skip_end={origin.skip_end_from(complete)} of read_table leaves out {rows} no number"
