"""Tables from frames: pandas, polars, pyarrow and whatever else narwhals understands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from princomp.arrays import empty
from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError
from princomp.sources.cells import (
    LARGEST_INTEGER,
    TextPolicy,
    first_long_integer,
    is_text,
    judge_text,
    long_integer,
    looks_numeric,
)
from princomp.sources.columns import Choice, Origin, choose, listed, refuse_duplicates
from princomp.sources.table import Matrix, Table

__all__ = ["column_names", "convert", "from_frame", "is_frame"]

Series: TypeAlias = nw.Series[Any]
Frame: TypeAlias = nw.DataFrame[Any]

# Kinds that never hold numbers, so that their cells need not be looked at.
_NOT_NUMBERS = (
    nw.Date,
    nw.Datetime,
    nw.Duration,
    nw.Time,
    nw.List,
    nw.Array,
    nw.Struct,
    nw.Binary,
)
_TEXT = (nw.String, nw.Categorical, nw.Enum)


def is_frame(obj: object) -> bool:
    """Whether ``obj`` is a data frame.

    A lazy frame counts, so that ``from_frame`` can say what to do with it. No
    frame library is imported: narwhals looks only at what is loaded already.
    """
    if isinstance(obj, np.ndarray | list | tuple):
        return False
    try:
        wrapped = nw.from_native(obj, pass_through=True)
    except DuplicateError:
        return True
    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame)


def column_names(frame: Any) -> list[str]:
    """Names of a frame's columns, as text."""
    return [str(name) for name in nw.from_native(frame, pass_through=False).columns]


def from_frame(
    frame: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    text: TextPolicy = "error",
    file: str | None = None,
) -> Table:
    """Take the numbers out of a frame.

    Parameters
    ----------
    frame : DataFrame or Table
        From pandas, polars, pyarrow or another eager library of narwhals; never
        written. Booleans count as 0 and 1, nulls become NaN.
    columns : sequence of str, optional
        The columns to use, in this order; every numeric one if not given.
    exclude : sequence of str
        Columns to leave out.
    id_column : str, optional
        A column that names the rows.
    text : {"error", "leave out"}
        What becomes of a column without numbers (text, dates, lists) that was
        not named in ``columns``.
    file : str, optional
        Name of the file that the frame was read from, for messages.

    Returns
    -------
    Table
        Of shape (n, p). Its ``columns`` are None where no label of the frame is
        a string, as with the numbered columns of pandas.

    Raises
    ------
    ColumnError
        A column that is not there or stands twice.
    NotNumericError
        Text where numbers must stand, complex numbers, integers beyond 2**53.
    ParameterError
        A lazy frame, or no frame at all.
    ShapeError
        No rows, or no numeric column.
    """
    origin = Origin(file)
    eager = _eager(frame, origin)
    labels: list[Any] = eager.columns
    names = [str(label) for label in labels]
    choice = choose(names, columns, exclude, id_column, origin)
    table = convert(eager, choice, text, origin, dict(zip(names, labels, strict=True)))
    if not any(isinstance(label, str) for label in labels):
        # scikit-learn, too, takes such a frame for one without names.
        return replace(table, columns=None)
    return table


def convert(
    frame: Frame,
    choice: Choice,
    text: TextPolicy,
    origin: Origin,
    labels: dict[str, Any] | None = None,
) -> Table:
    """Turn the chosen columns of a narwhals frame into a Table.

    ``labels`` gives the frame's own label for a name, where they differ.
    """
    if labels is None:
        labels = {name: name for name in frame.columns}
    n = frame.shape[0]
    if n == 0:
        raise ShapeError(
            origin.say("no rows"),
            place=origin.place(),
            hint="Principal components need at least two rows of numbers.",
        )
    kept: list[str] = []
    left_out: list[str] = []
    # Column by column into Fortran order: each write is then contiguous, ten times
    # faster than strided ones at 1,000,000 × 20, and a second copy is never held.
    data: Matrix = empty((n, len(choice.names)), _dtype(frame, choice, labels), order="F")
    for name in choice.names:
        values = _values(frame.get_column(labels[name]), name, choice.requested, text, origin)
        if values is None:
            left_out.append(name)
        else:
            data[:, len(kept)] = values
            kept.append(name)
    if not kept:
        raise ShapeError(
            origin.say(f"no numeric column; without numbers: {listed(left_out)}"),
            place=origin.place(),
            hint="Principal components need columns of numbers.",
        )
    ids = None
    if choice.id_column is not None:
        ids = _ids(frame.get_column(labels[choice.id_column]))
    notes: tuple[str, ...] = ()
    if left_out:
        many = "column" if len(left_out) == 1 else "columns"
        notes = (f"left out {len(left_out)} text {many}: {listed(left_out)}",)
    return Table(
        data[:, : len(kept)],
        tuple(kept),
        ids,
        choice.id_column,
        notes,
        origin.file,
        choice.unused,
    )


def _eager(frame: Any, origin: Origin) -> Frame:
    try:
        wrapped = nw.from_native(frame, pass_through=True)
    except DuplicateError as error:
        # narwhals does not say which, so the frame itself is asked; in pyarrow the
        # names are .column_names, while .columns are the data.
        labels = getattr(frame, "column_names", None) or frame.columns
        refuse_duplicates([str(label) for label in labels], origin)
        raise ColumnError(origin.say(str(error)), place=origin.place()) from error
    if isinstance(wrapped, nw.LazyFrame):
        raise ParameterError(
            origin.say("a lazy frame has no rows in memory yet"),
            hint="Call .collect() on it first.",
        )
    if not isinstance(wrapped, nw.DataFrame):
        raise ParameterError(
            f"expected a data frame, got {type(frame).__name__}",
            hint="Frames of pandas, polars and pyarrow are understood.",
        )
    return wrapped


def _dtype(frame: Frame, choice: Choice, labels: dict[str, Any]) -> type[np.float32 | np.float64]:
    """Settle on float32 if every column that will be used is float32, else float64."""
    schema = frame.schema
    kinds = [schema[labels[name]] for name in choice.names]
    if not choice.requested:
        # Unasked, these are left out, refused, or empty: none gives a number.
        kinds = [kind for kind in kinds if not isinstance(kind, (*_NOT_NUMBERS, *_TEXT))]
    single = bool(kinds) and all(isinstance(kind, nw.Float32) for kind in kinds)
    return np.float32 if single else np.float64


def _values(
    series: Series, name: str, requested: bool, text: TextPolicy, origin: Origin
) -> NDArray[Any] | None:
    """Give the column's numbers, or None if it is left out."""
    kind = series.dtype
    may_leave_out = text == "leave out" and not requested
    if kind.is_float():
        return series.to_numpy()
    if kind.is_integer():
        _refuse_long_integers(series, name, origin)
    if kind.is_integer() or kind.is_decimal() or isinstance(kind, nw.Boolean):
        return series.cast(nw.Float64()).to_numpy()
    if isinstance(kind, _NOT_NUMBERS):
        if may_leave_out:
            return None
    elif isinstance(kind, _TEXT):
        # Most text is left out, and few distinct values are looked at sooner than all cells.
        distinct = _as_text(series.unique().to_list()) if may_leave_out else []
        if any(map(is_text, distinct)) and not any(map(looks_numeric, distinct)):
            return None
        return judge_text(
            name, _as_text(_cells(series)), requested=requested, text=text, origin=origin
        )
    else:
        array = series.to_numpy()
        if array.dtype.kind in "biuf":
            return _plain_numbers(array, name, origin)
        if array.dtype.kind == "c":
            raise NotNumericError(
                origin.say(f"column {name!r} holds complex numbers ({array.dtype})"),
                place=origin.place(column=name),
                hint="Give real and imaginary parts as two columns.",
            )
    return judge_text(name, _cells(series), requested=requested, text=text, origin=origin)


def _plain_numbers(array: NDArray[Any], name: str, origin: Origin) -> NDArray[Any]:
    """Check an array of a kind that narwhals has no name for (sparse, big-endian, …)."""
    if array.dtype.kind in "iu" and max(int(array.max()), -int(array.min())) > LARGEST_INTEGER:
        i = int(np.flatnonzero((array > LARGEST_INTEGER) | (array < -LARGEST_INTEGER))[0])
        raise long_integer(name, i, array[i], origin)
    return array


def _refuse_long_integers(series: Series, name: str, origin: Origin) -> None:
    if series.null_count() == len(series):
        return
    # On the column's own integers, exactly; as floats they would be rounded already.
    if max(int(series.max()), -int(series.min())) > LARGEST_INTEGER:
        cells = _cells(series)
        i = first_long_integer(cells)
        assert i is not None
        raise long_integer(name, i, cells[i], origin)


def _cells(series: Series) -> list[Any]:
    """Python values of a column, None where missing."""
    # pandas alone has four ways to write a missing cell; is_null knows them.
    missing = series.is_null().to_list()
    return [None if no else cell for cell, no in zip(series.to_list(), missing, strict=True)]


def _as_text(cells: list[Any]) -> list[str | None]:
    """Give categories as text: a category written 1 is a label, not a quantity."""
    return [None if cell is None else str(cell) for cell in cells]


def _ids(series: Series) -> NDArray[np.object_]:
    ids = np.empty(len(series), dtype=object)
    ids[:] = _cells(series)
    return ids
