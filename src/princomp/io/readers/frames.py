"""Tables from data frames: pandas, polars, pyarrow and others that narwhals supports."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from princomp.errors import ColumnError, NoRowsError, NotNumericError, ParameterError
from princomp.io.readers.cells import (
    LARGEST_INTEGER,
    TextPolicy,
    convert_text_column,
    is_text,
    looks_numeric,
    may_have_lost_digits,
    refuse_long_integers,
)
from princomp.io.readers.columns import (
    Choice,
    Origin,
    Selection,
    choose_columns,
    refuse_duplicates,
    text_of,
)
from princomp.io.readers.left_out import (
    CATEGORIES,
    NOT_NUMBERS,
    Series,
    WarningNote,
    holds_lists,
    kind_of_column,
    left_out_notes,
    lists_hint,
    no_numbers_error,
    text_notes,
)
from princomp.io.readers.misread import separator_note
from princomp.io.readers.missing_codes import code_notes
from princomp.io.readers.reader_errors import NO_ROWS_HINT
from princomp.io.readers.row_names import (
    drop_call,
    has_index_name,
    identifier_notes,
    without_row_numbers,
)
from princomp.io.readers.rows_at_end import totals_note
from princomp.io.readers.source import TableSource
from princomp.linalg import empty

Frame: TypeAlias = nw.DataFrame[Any]

_TEXT = (nw.String, *CATEGORIES)
# Methods of lazy frames that return a frame in memory: of Dask, polars, Ibis and DuckDB.
_METHODS_TO_READ = ("compute", "collect", "to_pandas", "df")


def is_frame(obj: object) -> bool:
    """Whether ``obj`` is a data frame.

    Lazy frames count, so that ``from_frame`` can explain what to do with them. No
    frame library is imported, because narwhals checks only libraries already loaded.
    """
    if isinstance(obj, np.ndarray | list | tuple):
        return False
    try:
        wrapped = nw.from_native(obj, pass_through=True)
    except DuplicateError:
        return True
    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame)


def as_frame(obj: object, required: Collection[str | None] = ()) -> Any:
    """Return tables and record batches of pyarrow as tables without the row index of pandas.

    Columns of the index are kept if they are ``required``. Anything else is returned unchanged.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not isinstance(obj, arrow.RecordBatch | arrow.Table):
        return obj
    from princomp.io.readers.columnar import index_columns_of  # imports pyarrow

    table = arrow.Table.from_batches([obj]) if isinstance(obj, arrow.RecordBatch) else obj
    index = index_columns_of(table.schema).difference(required)
    kept = [j for j, name in enumerate(table.column_names) if name not in index]
    return table.select(kept) if 0 < len(kept) < table.num_columns else table


def frame_like(frame: Any, data: NDArray[Any], names: Sequence[str] | None) -> Any:
    """Make a frame of the (n, p) numbers, with the library and the index of ``frame``.

    Without ``names``, its columns are labelled as those of ``frame``.
    """
    template = nw.from_native(frame, eager_only=True)
    labels = template.columns if names is None else names
    columns = {label: np.ascontiguousarray(data[:, j]) for j, label in enumerate(labels)}
    result = nw.from_dict(columns, backend=template.implementation).to_native()
    index = getattr(frame, "index", None)
    if template.implementation.is_pandas() and index is not None:
        result.index = index
    return result


def select_usable_columns(frame: Any, required: Collection[str]) -> Any:
    """Select the columns ``required`` of a frame, and all others that a fit would use.

    Row numbers of any type are left out if there are required columns: integers with missing cells
    become floats.
    """
    try:
        eager = nw.from_native(frame, eager_only=True)
    except (DuplicateError, TypeError):
        return frame  # reading it later raises the error
    others = (*NOT_NUMBERS, *_TEXT, nw.Boolean, nw.Object)
    required = set(required)

    def is_used(j: int, label: str, kind: Any) -> bool:
        if label in required:
            return True
        if j == 0 and has_index_name(label) and (required or not kind.is_float()):
            return False
        if isinstance(kind, nw.Unknown):  # Python objects such as Period, sparse booleans, …
            return eager.get_column(label).to_numpy().dtype.kind not in "Ob"
        return not isinstance(kind, others)

    used = [j for j, (label, kind) in enumerate(eager.schema.items()) if is_used(j, label, kind)]
    # By number: narwhals does not select labels that are not text.
    return frame if len(used) == len(eager.schema) else eager[:, used].to_native()


def from_frame(
    frame: IntoDataFrame,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    find_ids: bool = False,
    text: TextPolicy = "error",
    of_model: bool = False,
) -> TableSource:
    """Extract the numbers of a frame.

    Parameters
    ----------
    frame : DataFrame or Table
        From pandas, polars, pyarrow or another eager library that narwhals supports;
        never modified. Booleans count as 0 and 1, nulls become NaN.
    columns : sequence of str, optional
        The columns to use, in this order; all numeric columns if not given.
    exclude : sequence of str
        Columns to leave out.
    id_column : str, optional
        A column that names the rows.
    find_ids : bool
        Leave out a first column that numbers the rows, if ``id_column`` is None.
    text : {"error", "leave out"}
        What to do with a column without numbers (text, dates, lists) that is not
        named in ``columns``.
    of_model : bool
        The columns are those of a model, so that none can be left out.

    Returns
    -------
    TableSource
        The numbers, of shape (n, p). Its ``columns`` are None if no label of the
        frame is a string, as with the default column labels of pandas.

    Raises
    ------
    ColumnError
        A column does not exist or is repeated.
    NotNumericError
        There is text instead of numbers, a complex number, or an integer beyond 2**53.
    ParameterError
        The frame is lazy.
    ShapeError
        There are no rows or no numeric columns.
    """
    origin = replace(frame_origin(frame), of_model=of_model)
    eager = eager_frame(as_frame(frame, [*(columns or ()), *exclude, id_column]))
    labels: list[Any] = eager.columns
    names = [str(label) for label in labels]
    choice = choose_columns(names, Selection(columns, exclude, id_column), origin)
    cautions: tuple[str, ...] = ()
    if find_ids and id_column is None and isinstance(labels[0], str):
        choice, cautions = without_row_numbers(eager.get_column(labels[0]), choice)
    table = convert(eager, choice, text, origin, dict(zip(names, labels, strict=True)))
    kinds = eager.schema if choice.requested else {}
    texts = [str(label) for label in labels if isinstance(kinds.get(label), nw.String)]
    used = set(table.columns or ())
    table.notes = (*cautions, *table.notes, *text_notes(name for name in texts if name in used))
    if not of_model:
        table.notes += notes_on_rows(table, eager)
    if not any(isinstance(label, str) for label in labels):
        table.columns = None  # as scikit-learn treats such a frame
    elif find_ids and not (of_model or choice.requested):
        leave_out = partial(drop_call, pandas=eager.implementation.is_pandas())
        checked = names[0] if id_column is None else None
        table.notes += identifier_notes(table, checked, leave_out)
    return table


def notes_on_rows(table: TableSource, frame: Frame | None = None) -> tuple[WarningNote, ...]:
    """Notes on a table that may be misread: codes for missing cells, totals, text not split.

    ``table`` has the numbers of ``frame``, which may also have columns of text.
    """
    last_row = [table.row_origin.place_of(len(table.data) - 1).label]
    if frame is not None:
        texts = (name for name, kind in frame.schema.items() if kind == nw.String)
        last_row += [frame.get_column(name).tail(1).to_list()[0] for name in texts]
    names = table.columns or ()
    codes = code_notes(names, table.data, in_frame=True)
    return (*codes, *totals_note(table.data, last_row), *separator_note(names))


def index_label(frame: IntoDataFrame) -> str | None:
    """Label of a first column of integers with a usual name of row labels; None without one."""
    schema = eager_frame(frame).schema
    first, kind = next(iter(schema.items()), (None, None))
    is_index = len(schema) > 1 and has_index_name(first) and kind is not None and kind.is_integer()
    return first if is_index else None


def frame_origin(frame: object) -> Origin:
    """Where the rows of a frame come from; a non-default pandas index labels them."""
    index: Any = getattr(frame, "index", None)
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(index, pandas.Index):
        return Origin()
    if isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1):
        return Origin()
    return Origin(label_of=index.__getitem__)


def convert(
    frame: Frame,
    choice: Choice,
    text: TextPolicy,
    origin: Origin,
    labels: Mapping[str, Any] = MappingProxyType({}),
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> TableSource:
    """Convert the chosen columns of a narwhals frame to a table.

    ``labels`` maps names to the frame's own labels, if they differ. ``kinds`` maps columns that
    arrive as text to words for what they hold, for notes.
    """
    labels = labels or {name: name for name in frame.columns}
    n = frame.shape[0]
    if n == 0:
        raise origin.error(NoRowsError, "no rows", NO_ROWS_HINT)
    kept: list[str] = []
    left_out: dict[str, str] = {}
    # Copy column by column into Fortran order: each write is then contiguous, which is ten times
    # faster than strided writes for 1,000,000 × 20 numbers, and needs no second copy.
    data = empty((n, len(choice.names)), _dtype(frame, choice, labels), order="F")
    for name in choice.names:
        series = frame.get_column(labels[name])
        values = column_numbers(series, name, choice.requested, text, origin)
        if values is None:
            left_out[name] = kinds.get(name) or kind_of_column(series)
        else:
            data[:, len(kept)] = values
            kept.append(name)
    if not kept:
        raise no_numbers_error(left_out, origin)
    ids = None
    if choice.id_column is not None:
        ids = np.fromiter(_cells(frame.get_column(labels[choice.id_column])), object, n)
    return TableSource(
        data[:, : len(kept)],
        ids=ids,
        origin=origin,
        columns=tuple(kept),
        id_column=choice.id_column,
        notes=left_out_notes(left_out),
        unused=choice.unused,
    )


def eager_frame(frame: Any) -> Frame:
    """Wrap a frame with narwhals; raise an error if it is lazy or a column name is repeated."""
    try:
        wrapped = nw.from_native(frame, pass_through=True)
    except DuplicateError as error:
        # narwhals does not say which name is repeated, so get the names from the frame itself.
        # In pyarrow they are in .column_names, while .columns holds the data.
        labels = getattr(frame, "column_names", None) or frame.columns
        refuse_duplicates([str(label) for label in labels], Origin())
        raise ColumnError(str(error)) from error
    if isinstance(wrapped, nw.LazyFrame):
        problem = "a lazy frame has no rows in memory yet"
        method = next((name for name in _METHODS_TO_READ if hasattr(frame, name)), "collect")
        hint = f"Call .{method}() on it first."
        if hasattr(frame, "collect_batches"):
            hint += " If it does not fit in memory, give frame.collect_batches instead."
        elif hasattr(frame, "to_arrow_reader"):
            hint += " If it does not fit in memory, give frame.to_arrow_reader instead."
        raise ParameterError(problem, hint=hint)
    return wrapped


def _dtype(frame: Frame, choice: Choice, labels: Mapping[str, Any]) -> np.dtype[Any]:
    """Return float32 if every column that will be used is float32, else float64."""
    schema = frame.schema
    kinds = [schema[labels[name]] for name in choice.names]
    if not choice.requested:
        # Columns of these types that were not requested give no numbers: they are left out,
        # refused or empty.
        kinds = [kind for kind in kinds if not isinstance(kind, (*NOT_NUMBERS, *_TEXT, nw.Boolean))]
    single = bool(kinds) and all(isinstance(kind, nw.Float32) for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)


def column_numbers(
    series: Series, name: str, requested: bool, text: TextPolicy, origin: Origin
) -> NDArray[Any] | None:
    """Return the numbers of a column, or None if it is left out; ``text`` as in ``from_frame``."""
    kind = series.dtype
    may_leave_out = text == "leave out" and not requested
    if kind.is_float():
        return series.to_numpy()
    if kind.is_integer():
        _refuse_long_integers(series, name, origin)
    if may_leave_out and isinstance(kind, (nw.Boolean, *CATEGORIES, *NOT_NUMBERS)):
        return None
    if kind.is_integer() or isinstance(kind, nw.Boolean):
        return series.cast(nw.Float64()).to_numpy()
    if kind.is_decimal():
        # Not all libraries round decimals to the nearest float64, but they do so with their text.
        numbers = series.cast(nw.String()).cast(nw.Float64()).to_numpy()
        if not may_have_lost_digits(numbers):
            return numbers
        return convert_text_column(name, _cells(series), requested=True, text=text, origin=origin)
    if isinstance(kind, _TEXT):
        # Categories become text, because a category 1 is a label, not a quantity. Most columns are
        # left out, and checking distinct values is faster than all cells.
        distinct = text_of(series.unique().to_list()) if may_leave_out else []
        if any(map(is_text, distinct)) and not any(map(looks_numeric, distinct)):
            return None
        cells = text_of(_cells(series))
        return convert_text_column(name, cells, requested=requested, text=text, origin=origin)
    if not isinstance(kind, NOT_NUMBERS):
        array = series.to_numpy()
        if array.dtype.kind == "b" and may_leave_out:
            return None
        if array.dtype.kind in "biuf":
            # A dtype unknown to narwhals (sparse, big-endian, …).
            refuse_long_integers(array, lambda index: (name, index[0]), origin)
            return array
        if array.dtype.kind == "c":
            problem = f"column {name!r} holds complex numbers ({array.dtype})"
            hint = "Give real and imaginary parts as two columns."
            raise origin.error(NotNumericError, problem, hint, column=name)
    if not (may_leave_out or origin.of_model) and holds_lists(series):
        first = int(np.argmin(series.is_null().to_numpy()))
        raise origin.cell_error(name, first, "a list is not a number", lists_hint(name, origin))
    return convert_text_column(name, _cells(series), requested=requested, text=text, origin=origin)


def _refuse_long_integers(series: Series, name: str, origin: Origin) -> None:
    if series.null_count() == len(series):
        return
    # Compare the integers themselves, because converting them to floats would round them.
    if max(int(series.max()), -int(series.min())) > LARGEST_INTEGER:
        cells = np.array(_cells(series), dtype=object)
        refuse_long_integers(cells, lambda index: (name, index[0]), origin)


def _cells(series: Series) -> list[Any]:
    """Python values of a column, None where missing."""
    # pandas alone has four representations of a missing cell; is_null finds all of them.
    missing = series.is_null().to_list()
    try:
        cells = series.to_list()
    except ValueError:  # datetime cannot hold nanoseconds
        cells = series.cast(nw.String).to_list()
    return [None if is_missing else cell for cell, is_missing in zip(cells, missing, strict=True)]
