"""Extra columns of numbers or categories that did not take part in the fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp import io
from princomp.core import fitted_model
from princomp.diagnostics.tables import frame_of, is_missing
from princomp.errors import ColumnError, NotFiniteError, ParameterError, ShapeError, row_words
from princomp.estimators import TableEstimator
from princomp.linalg import FloatArray

_CATEGORICAL_TYPES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)


@dataclass(frozen=True, eq=False)
class ExtraColumn:
    """A column of numbers or categories, with one value for each row.

    Parameters
    ----------
    name : str
    kind : str
        "numeric", "categorical" or the name of another type, for which the rest is empty.
    numbers : ndarray of shape (n,), optional
        Float64 with NaN if missing; None for categories.
    codes : ndarray of shape (n,), optional
        Category of each row, −1 where missing; None for numbers.
    labels : tuple
        The category of each code.
    """

    name: str
    kind: str
    numbers: FloatArray | None = None
    codes: NDArray[np.intp] | None = None
    labels: tuple[object, ...] = ()


def take_named_columns(
    model: TableEstimator[Any], X: object, given: Any, what: str = "groups", source: object = None
) -> tuple[Any, Any]:
    """Look up values that are given as names of columns of X; remove these columns from X.

    Parameters
    ----------
    model : PCA or KernelPCA
        Columns that it analyses stay in X.
    X : frame, path, …
    given : str, list of different str, or values
        A list with repeated strings has one value for each row, and so has any list if X is an
        array.
    what : str
        Name of the argument, for messages.
    source : frame, path, … optional
        X with all its columns, if some were removed before.

    Returns
    -------
    values : dict of name to values, or ``given`` if it has no names
    X

    Raises
    ------
    ColumnError, ParameterError
    """
    names = [given] if isinstance(given, str) else given
    if names is given:
        is_list = isinstance(given, list | tuple) and io.has_named_columns(X) and len(given) > 0
        is_list_of_text = is_list and all(isinstance(name, str) for name in given)
        if not is_list_of_text or len(set(given)) < len(given):
            return given, X
    values = {name: io.named_column(X if source is None else source, name, what) for name in names}
    for name in set(names) - set(fitted_model(model).schema.names or ()):
        X = io.without_column(X, name)
    return values, X


def extra_columns(
    data: object,
    n: int,
    index: object = None,
    categorical: Iterable[str] = (),
    what: str = "columns",
) -> list[ExtraColumn]:
    """Read extra columns, with one value for each row of X.

    Parameters
    ----------
    data : frame, series, mapping of name to values, or array of shape (n,) or (n, m)
        Numbers are numeric; booleans and text are categories.
    n : int
        Number of rows of X.
    index : pandas index, optional
        Index of X. A pandas frame or series with another index is an error: rows are matched by
        position.
    categorical : iterable of str
        Columns of numbers to be used as categories.
    what : str
        Name of the argument, for messages.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    columns = _read_columns(data, what)
    if not columns:
        raise ShapeError(
            f"{what} has no column", place={"parameter": what}, hint="give at least one column"
        )
    as_categories = {categorical} if isinstance(categorical, str) else set(map(str, categorical))
    if unknown := sorted(as_categories - columns.keys()):
        raise ColumnError(
            f"{what} has no column {unknown[0]!r}",
            place={"parameter": "categorical", "column": unknown[0]},
            hint=f"its columns are {', '.join(map(repr, columns))}",
        )
    for name, (_, cells, _) in columns.items():
        single = isinstance(cells, np.ndarray) and not cells.ndim
        if single or len(cells) != n:
            values = f"is one {type(cells[()]).__name__}" if single else f"has {len(cells)} values"
            raise ShapeError(
                f"column {name!r} of {what} {values}, and X has {n} rows",
                place={"parameter": what, "column": name},
                hint="give one value for each row of X, in the same order",
            )
    parts = {what: data}
    if isinstance(data, Mapping):
        parts = {f"{what}[{name!r}]": cells for name, cells in data.items()}
    for name, part in parts.items():
        labels: Any = getattr(part, "index", None)
        if index is not None and hasattr(labels, "equals") and not labels.equals(index):
            raise ParameterError(
                f"the row labels of {name} differ from those of X, and rows are matched by "
                "position",
                place={"parameter": what},
                hint=f"use {name}.loc[X.index], or reset both indices if the order is right",
            )
    return [
        _extra_column(name, column, name in as_categories, what) for name, column in columns.items()
    ]


class _Cells(NamedTuple):
    """Cells of a column; ``kind`` is "numeric", "categorical" or a type.

    ``order`` has all categories in their order, if the type of the column orders them.
    """

    kind: str
    cells: Any
    order: tuple[object, ...] = ()


def _read_columns(data: object, what: str) -> dict[str, _Cells]:
    frame = frame_of(data)
    named = data if frame is None else {name: frame.get_column(name) for name in frame.columns}
    if isinstance(named, Mapping):
        io.refuse_duplicates(list(map(str, named)), io.Origin())
        return {str(name): _read_cells(cells) for name, cells in named.items()}
    series = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return {str(series.name or what): _read_cells(series)}
    data = _without_mask(data)
    try:
        array = np.asarray(data)
    except ValueError:  # rows of different lengths
        array = np.empty(())  # refused below
    if array.ndim not in (1, 2):
        raise ParameterError(
            f"{what} is {type(data).__name__}, which has no columns",
            place={"parameter": what},
            hint="give a frame, a series, a dict of name to values, or an array with one value "
            "for each row",
        )
    if array.ndim == 1:
        return {what: _read_cells(data)}
    if isinstance(data, list | tuple):  # NumPy would turn numbers and NaN into text
        array = np.array(data, dtype=object)
    return {f"{what}_{j}": _read_cells(array[:, j]) for j in range(array.shape[1])}


def _read_cells(cells: Any) -> _Cells:
    series = nw.from_native(cells, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype.is_numeric():
            return _Cells("numeric", series.cast(nw.Float64()).to_numpy())
        if isinstance(series.dtype, _CATEGORICAL_TYPES):
            values = [None if is_missing(cell) else cell for cell in series.to_list()]
            order = series.dtype.categories if isinstance(series.dtype, nw.Enum) else ()
            return _Cells("categorical", values, order)
        if not isinstance(series.dtype, nw.Object):
            return _Cells(type(series.dtype).__name__, series)
        cells = series.to_list()
    cells = _without_mask(cells)
    try:
        array = np.asarray(cells)
    except ValueError:  # cells of different lengths
        array = np.fromiter(cells, dtype=object)
    if array.ndim == 1 and array.dtype.kind == "U" and not isinstance(cells, np.ndarray):
        array = np.fromiter(cells, dtype=object)  # np.asarray turns NaN into the text "nan"
    if array.ndim != 1:
        return _Cells(f"array of {array.ndim} dimensions", array)
    if array.dtype.kind in "iuf":
        return _Cells("numeric", array.astype(np.float64))
    if array.dtype.kind in "bU":
        return _Cells("categorical", array.tolist())
    if array.dtype.kind != "O":
        return _Cells(str(array.dtype), array)
    values = [None if is_missing(cell) else cell for cell in array]
    present = [value for value in values if value is not None]
    booleans = any(isinstance(value, bool | np.bool_) for value in present)
    if not booleans and all(isinstance(value, int | float | np.number) for value in present):
        return _Cells("numeric", np.array([_as_float(value) for value in values]))
    if all(isinstance(value, str | int | np.integer | np.bool_) for value in present):
        return _Cells("categorical", values)
    return _Cells(f"{type(present[0]).__name__} objects", values)


def _without_mask(values: Any) -> Any:
    """Replace the masked values of a NumPy array by None; return any other object unchanged."""
    if not np.ma.is_masked(values):
        return values
    cells = np.ma.getdata(values).astype(object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def _as_float(value: Any) -> float:
    """Convert a number: None to NaN, and an integer beyond the range of float64 to infinity."""
    try:
        return np.nan if value is None else float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _extra_column(name: str, column: _Cells, as_categories: bool, what: str) -> ExtraColumn:
    kind, cells, order = column
    if kind == "numeric":
        if np.isinf(cells).any():
            row = int(np.flatnonzero(np.isinf(cells))[0])
            raise NotFiniteError(
                f"column {name!r} of {what} is infinite at {row_words(row)}",
                place={"parameter": what, "column": name, "row": row},
                hint="clip or remove the infinite values",
            )
        if not as_categories:
            return ExtraColumn(name, kind, numbers=cells)
        cells = [
            None if np.isnan(cell) else (int(cell) if cell == np.floor(cell) else cell)
            for cell in cells.tolist()
        ]
    elif kind != "categorical":
        return ExtraColumn(name, kind)
    found = {cell for cell in cells if cell is not None}
    present = [label for label in order if label in found] or sorted(found, key=_natural_sort_key)
    code_of: dict[Any, int] = {label: code for code, label in enumerate(present)}
    codes = np.array([-1 if cell is None else code_of[cell] for cell in cells], dtype=np.intp)
    return ExtraColumn(name, "categorical", codes=codes, labels=tuple(present))


def _natural_sort_key(label: object) -> tuple[object, ...]:
    """Return a sort key that compares numbers in text by size; text that is a number comes first.

    Labels are sorted by type first; all numbers are of one type.
    """
    kind = "number" if isinstance(label, int | float) else str(type(label))
    if not isinstance(label, str):
        return (kind, label)
    try:
        number = float(label)
    except ValueError:
        number = np.nan
    if np.isfinite(number):
        return (kind, 0, number, label)
    # Splitting puts text at even and digits at odd positions, so that like is compared with like.
    # Digits are compared by length and then as text, since there may be too many for int().
    pieces = re.split("([0-9]+)", label)
    digits = [piece.lstrip("0") if i % 2 else piece for i, piece in enumerate(pieces)]
    key = [(len(piece) if i % 2 else 0, piece) for i, piece in enumerate(digits)]
    return (kind, 1, key, label)
