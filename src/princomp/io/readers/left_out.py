"""What columns without numbers hold, and the notes on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from princomp.errors import ShapeError
from princomp.io.readers.columns import Origin, listed

Series: TypeAlias = nw.Series[Any]

CATEGORIES = (nw.Categorical, nw.Enum)
# Types that never hold numbers, so that their cells need not be checked.
NOT_NUMBERS = (nw.Date, nw.Datetime, nw.Duration, nw.Time, nw.List, nw.Array, nw.Struct, nw.Binary)
# The words in ``Source.kinds``.
NUMBERS, TRUE_FALSE, ROW_NAMES = "numbers", "true/false", "row names"
LISTS = "list"
# Words for the types of columns; others are called text.
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((nw.Date, nw.Datetime), "date"),
    ((nw.Time, nw.Duration), "time"),
    ((nw.Boolean,), TRUE_FALSE),
    ((nw.List, nw.Array), LISTS),
    ((nw.Struct,), "record"),
    ((nw.Binary,), "binary"),
    (CATEGORIES, "categorical"),
)
# What to do if a fit leaves out columns of a frame that are wanted, or keeps others.
FRAME_HINT = "Select columns of the frame to choose others"
# Number of cells that are checked in a column of Python objects.
_SAMPLE_CELLS = 100
# Words for classes of Python objects; other classes are called by their own name.
_OBJECT_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), TRUE_FALSE),
    ((str,), "text"),
    ((date,), "date"),
    ((time, timedelta), "time"),
    ((list, tuple, set, frozenset, np.ndarray), LISTS),
    ((dict,), "record"),
    ((bytes, bytearray), "binary"),
)


class WarningNote(str):
    """A note that estimators issue as a warning."""


class LeftOut(WarningNote):
    """A note on columns that were left out because they hold no numbers."""


class IndexNote(str):
    """A note on a row index that pandas stored among the columns."""


class NoNamesNote(str):
    """A note that a text has no line of column names."""


class NamedNote(str):
    """A note on columns of true and false, or text, that were named by the user or by a model."""


def true_false_notes(kinds: Mapping[str, str]) -> tuple[NamedNote, ...]:
    """Note on the columns that hold true and false; ``kinds`` as in ``Source.kinds``."""
    shown = listed(repr(name) for name, kind in kinds.items() if kind == TRUE_FALSE)
    return (NamedNote(f"true and false of {shown} count as 1 and 0"),) if shown else ()


def text_notes(names: Iterable[str]) -> tuple[NamedNote, ...]:
    """Note on columns of text that were named, in tables whose columns have types."""
    shown = listed(map(repr, names))
    return (NamedNote(f"the text of {shown} is read as numbers"),) if shown else ()


def warning_text(notes: Iterable[str], hint: str = FRAME_HINT) -> str | None:
    """Join the notes that are warnings; None if there are none.

    ``hint`` says how to choose columns. It follows if some were left out.
    """
    found = [note for note in notes if isinstance(note, WarningNote)]
    if not found:
        return None
    left_out = any(isinstance(note, LeftOut) for note in found)
    return "; ".join(found) + (f". {hint}" if left_out else "")


def left_out_notes(kinds: Mapping[str, str]) -> tuple[LeftOut, ...]:
    """Notes on columns that are left out, one for each kind; ``kinds`` maps columns to kinds."""
    return tuple(
        LeftOut(f"left out {len(names)} {kind} column{'s' * (len(names) > 1)}: {listed(names)}")
        for kind in dict.fromkeys(kinds.values())
        if (names := [name for name in kinds if kinds[name] == kind])
    )


def no_numbers_error(kinds: Mapping[str, str], origin: Origin) -> ShapeError:
    """Make the error for a table without a column of numbers."""
    problem = f"no numeric column; without numbers: {listed(kinds)}"
    hint = "Principal components need columns of numbers."
    if len(kinds) == 1 and origin.line_of is not None:
        other = next((mark for mark in ",;\t|" if mark in next(iter(kinds))), " ")
        hint += " If this column holds several, name the separator between them, such as "
        hint += f"sep={other!r}."
    if TRUE_FALSE in kinds.values():
        how = "convert it: X.astype(int) in pandas"
        if origin.file is not None:
            how = "name the columns (columns=)"
        hint += f" To analyse true/false as 1 and 0, {how}."
    lists = [name for name, kind in kinds.items() if kind == LISTS]
    if lists:
        hint += f" {lists_hint(lists[0], origin)}"
    return origin.error(ShapeError, problem, hint)


def lists_hint(column: str, origin: Origin) -> str:
    """Make the hint how a column of lists, such as embeddings, becomes a table."""
    read = "" if origin.file is None else "read the file as a frame (pandas, polars), and "
    table = f"numpy.stack(frame[{column!r}].to_numpy())"
    return f"If lists of {column!r} hold numbers and are equally long, {read}give {table}."


def holds_lists(series: Series) -> bool:
    """Whether the first cell of a column that is not missing is a list or an array."""
    return kind_of_column(series.drop_nulls().head(1)) == LISTS and not series.is_null().all()


def kind_of_column(series: Series) -> str:
    """The word in notes for what a column without numbers holds."""
    objects = isinstance(series.dtype, nw.Object | nw.Unknown)
    if not (objects and series.implementation.is_pandas_like()):
        return kind_name(series.dtype)
    cells = series.drop_nulls().head(_SAMPLE_CELLS).to_list()
    others = (cell for cell in cells if not isinstance(cell, float | int))
    cell = next(others, next((cell for cell in cells if isinstance(cell, bool)), ""))
    found = (kind for classes, kind in _OBJECT_KINDS if isinstance(cell, classes))
    return next(found, type(cell).__name__.lower())


def kind_name(dtype: object) -> str:
    """The word in notes for columns of a type."""
    return next((kind for types, kind in _KINDS if isinstance(dtype, types)), "text")
