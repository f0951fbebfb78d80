"""Detect a first column of a frame that numbers the rows instead of holding measurements.

It *numbers* the rows if its name says so, such as "id"; it *counts* them if its cells are 0, 1, …
or 1, 2, …, regardless of its name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from princomp.io.readers.columns import Choice
from princomp.io.readers.left_out import WarningNote
from princomp.io.readers.row_names import INDEX_NAMES, are_row_numbers


def has_index_name(label: object) -> bool:
    """Whether a column has a usual name of row labels, such as "Unnamed: 0" or "id"."""
    return isinstance(label, str) and (label == "" or label.lower() in INDEX_NAMES)


def is_index_column(column: nw.Series[Any]) -> bool:
    """Whether the first column of a frame has a usual name of row labels and holds integers.

    For an integer column, its dtype alone decides, so that the answer is the same for any subset
    of the rows; for a float column, its values decide.
    """
    if not has_index_name(column.name):
        return False
    if not column.dtype.is_float():
        return column.dtype.is_integer()
    values = column.to_numpy()
    whole = np.isfinite(values) & (values == np.trunc(values))
    return bool(len(values) and whole.all())


def without_row_numbers(
    first: nw.Series[Any], choice: Choice
) -> tuple[Choice, tuple[WarningNote, ...]]:
    """Leave out a first column that numbers the rows; only warn if it just counts them."""
    label = first.name
    if choice.requested or len(choice.names) < 2 or choice.names[0] != label:
        return choice, ()
    if is_index_column(first):
        by_index = f", or name the rows by it with frame.set_index({label!r})"
        note = (
            f"left out {label!r}, the first column, which numbers the rows: rename it to analyse "
            f"it{by_index if first.implementation.is_pandas() else ''}"
        )
        return replace(choice, names=choice.names[1:]), (WarningNote(note),)
    if first.dtype.is_integer() and first.head(1).to_list() in ([0], [1]):
        cells = first.to_numpy()
        if are_row_numbers(cells):
            start = f"{cells[0]:.0f}"
            note = f"{label!r}, the first column, counts the rows from {start} and is analysed"
            return choice, (WarningNote(note),)
    return choice, ()
