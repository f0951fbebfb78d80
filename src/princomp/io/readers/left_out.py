"""Notes on columns that are left out, and words for what such columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from princomp.io.readers.columns import listed

Series: TypeAlias = nw.Series[Any]

CATEGORIES = (nw.Categorical, nw.Enum)
# Types that never hold numbers, so that their cells need not be checked.
NOT_NUMBERS = (nw.Date, nw.Datetime, nw.Duration, nw.Time, nw.List, nw.Array, nw.Struct, nw.Binary)
# Number of cells that are checked in a column of Python objects.
_SAMPLE_CELLS = 100
# Words for classes of Python objects; other classes are called by their own name.
_OBJECT_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str,), "text"),
    ((date,), "date"),
    ((time, timedelta), "time"),
    ((list, tuple, set, frozenset, np.ndarray), "list"),
    ((dict,), "record"),
    ((bytes, bytearray), "binary"),
)


class WarningNote(str):
    """A note that estimators issue as a warning."""

    __slots__ = ()


class LeftOut(WarningNote):
    """A note on columns that were left out because they hold no numbers."""

    __slots__ = ()


def warning_text(
    notes: Iterable[str], hint: str = "read_table(frame, columns=[...]) chooses columns"
) -> str | None:
    """Join the notes that are warnings, with a hint; None if there are none."""
    found = [note for note in notes if isinstance(note, WarningNote)]
    if not found:
        return None
    return f"{'; '.join(found)}. {hint}"


def left_out_notes(kinds: Mapping[str, str]) -> tuple[LeftOut, ...]:
    """Notes on columns that are left out, one for each kind; ``kinds`` maps columns to kinds."""
    return tuple(
        LeftOut(f"left out {len(names)} {kind} column{'s' * (len(names) > 1)}: {listed(names)}")
        for kind in dict.fromkeys(kinds.values())
        if (names := [name for name in kinds if kinds[name] == kind])
    )


def kind_of_column(series: Series) -> str:
    """The word in notes for what a column without numbers holds."""
    objects = isinstance(series.dtype, nw.Object | nw.Unknown)
    if not (objects and series.implementation.is_pandas_like()):
        return kind_name(series.dtype)
    cells = series.drop_nulls().head(_SAMPLE_CELLS).to_list()
    cell = next((cell for cell in cells if not isinstance(cell, float | int)), "")
    found = (kind for classes, kind in _OBJECT_KINDS if isinstance(cell, classes))
    return next(found, type(cell).__name__.lower())


def kind_name(dtype: Any) -> str:
    """The word in notes for columns of a type."""
    for types, kind in (
        ((nw.Date, nw.Datetime), "date"),
        ((nw.Time, nw.Duration), "time"),
        ((nw.Boolean,), "true/false"),
        ((nw.List, nw.Array), "list"),
        ((nw.Struct,), "record"),
        ((nw.Binary,), "binary"),
        (CATEGORIES, "categorical"),
    ):
        if isinstance(dtype, types):
            return kind
    return "text"
