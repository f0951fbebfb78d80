"""Tables from data frames: pandas, polars, pyarrow and others that narwhals supports."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError
from princomp.io.readers.cells import (
    LARGEST_INTEGER,
    TextPolicy,
    first_long_integer,
    index_beyond,
    is_text,
    judge_text,
    long_integer,
    looks_numeric,
)
from princomp.io.readers.columns import Choice, Origin, Selection, choose, listed, refuse_duplicates
from princomp.io.readers.left_out import (
    CATEGORIES,
    NOT_NUMBERS,
    kind_of_column,
    left_out_notes,
)
from princomp.io.readers.row_numbers import has_index_name, without_row_numbers
from princomp.io.readers.table import Matrix, Table
from princomp.linalg import empty

__all__ = [
    "column_names",
    "convert",
    "frame_like",
    "from_frame",
    "is_frame",
    "with_numbers",
]

Series: TypeAlias = nw.Series[Any]
Frame: TypeAlias = nw.DataFrame[Any]

_TEXT = (nw.String, *CATEGORIES)


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


def column_names(frame: IntoDataFrame) -> list[str]:
    """Names of a frame's columns, as text."""
    return [str(name) for name in nw.from_native(frame, pass_through=False).columns]


def frame_like(frame: Any, data: NDArray[Any], names: Sequence[str]) -> Any:
    """Numbers (n, p) as a frame of the library of another one, with its index."""
    given = nw.from_native(frame, eager_only=True)
    columns = {name: np.ascontiguousarray(data[:, j]) for j, name in enumerate(names)}
    made = nw.from_dict(columns, backend=given.implementation).to_native()
    index = getattr(frame, "index", None)
    if given.implementation.is_pandas() and index is not None:
        made.index = index
    return made


def with_numbers(frame: Any, wanted: Collection[str]) -> Any:
    """The frame with the columns ``wanted``, and others only if a fit would take them."""
    try:
        eager = nw.from_native(frame, eager_only=True)
    except (DuplicateError, TypeError):
        return frame  # refused where it is read
    others = (*NOT_NUMBERS, *_TEXT, nw.Boolean, nw.Object)
    labels = [
        label
        for j, (label, kind) in enumerate(eager.schema.items())
        if label in wanted
        or not (
            (j == 0 and has_index_name(label))
            or isinstance(kind, others)
            or _holds_objects(eager.get_column(label))
        )
    ]
    return frame if len(labels) == len(eager.schema) else eager.select(labels).to_native()


def from_frame(
    frame: IntoDataFrame,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    find_ids: bool = False,
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
    find_ids : bool
        Leave out a first column that numbers the rows, where ``id_column`` is None.
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
    origin = frame_origin(frame, file)
    eager = _eager(frame, origin)
    labels: list[Any] = eager.columns
    names = [str(label) for label in labels]
    choice = choose(names, Selection(columns, exclude, id_column), origin)
    cautions: tuple[str, ...] = ()
    if find_ids and id_column is None and isinstance(labels[0], str):
        choice, cautions = without_row_numbers(eager.get_column(labels[0]), choice)
    table = convert(eager, choice, text, origin, dict(zip(names, labels, strict=True)))
    table = replace(table, notes=(*cautions, *table.notes))
    if not any(isinstance(label, str) for label in labels):
        # scikit-learn, too, takes such a frame for one without names.
        return replace(table, columns=None)
    return table


def frame_origin(frame: Any, file: str | None = None) -> Origin:
    """Where the rows of a frame come from: an index of pandas, unless default, names them."""
    index: Any = getattr(frame, "index", None)
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(index, pandas.Index):
        return Origin(file)
    if isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1):
        return Origin(file)
    return Origin(file, label_of=index.__getitem__)


def convert(
    frame: Frame,
    choice: Choice,
    text: TextPolicy,
    origin: Origin,
    labels: dict[str, Any] | None = None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Turn the chosen columns of a narwhals frame into a Table.

    ``labels`` gives the frame's own label for a name, where they differ, and ``kinds`` what a
    column of text holds.
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
        notes = left_out_notes(
            {
                name: kinds.get(name) or kind_of_column(frame.get_column(labels[name]))
                for name in left_out
            }
        )
    return Table(
        data[:, : len(kept)],
        tuple(kept),
        ids,
        choice.id_column,
        notes,
        origin.file,
        choice.unused,
        origin.line_of,
        origin.label_of,
    )


def _holds_objects(column: Series) -> bool:
    """Whether a column of a type that narwhals does not know, such as Period, holds no numbers."""
    return isinstance(column.dtype, nw.Unknown) and column.to_numpy().dtype.kind == "O"


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
        kinds = [kind for kind in kinds if not isinstance(kind, (*NOT_NUMBERS, *_TEXT, nw.Boolean))]
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
    if may_leave_out and isinstance(kind, (nw.Boolean, *CATEGORIES)):
        return None
    if kind.is_integer() or kind.is_decimal() or isinstance(kind, nw.Boolean):
        return series.cast(nw.Float64()).to_numpy()
    if isinstance(kind, NOT_NUMBERS):
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
    index = index_beyond(array)
    if index is not None:
        raise long_integer(name, index[0], array[index], origin)
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
