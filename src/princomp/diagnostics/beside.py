"""Columns that stand beside the rows and took no part in the fit: numbers or categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.diagnostics.tables import frame_of
from princomp.errors import ColumnError, NotFiniteError, ParameterError, ShapeError

__all__ = ["Beside", "columns_beside"]

_TEXT = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)


@dataclass(frozen=True, eq=False)
class Beside:
    """One such column.

    Parameters
    ----------
    name : str
    numbers : ndarray of shape (n,), optional
        Float64 with NaN where missing; None for categories.
    codes : ndarray of shape (n,), optional
        Category of each row, −1 where missing; None for numbers.
    labels : tuple
        What the codes stand for.
    other : str, optional
        Kind of a column that is neither.
    """

    name: str
    numbers: FloatArray | None = None
    codes: NDArray[np.intp] | None = None
    labels: tuple[Any, ...] = ()
    other: str | None = None

    @property
    def kind(self) -> str:
        """What tables call it."""
        if self.numbers is not None:
            return "numeric"
        return "categorical" if self.codes is not None else str(self.other)


def columns_beside(
    data: Any, n: int, index: Any = None, categorical: Iterable[str] = (), what: str = "columns"
) -> list[Beside]:
    """Columns of whatever holds them, one value a row of X.

    Parameters
    ----------
    data : frame, series, mapping of name to values, or array of shape (n,) or (n, m)
        Numbers are numeric; booleans and text are categories.
    n : int
        Rows of X.
    index : pandas index, optional
        Of X: a pandas frame with other labels is refused, since rows are bound by place.
    categorical : iterable of str
        Columns of numbers that are categories.
    what : str
        Name of the argument, for messages.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    found = _values(data, what)
    if not found:
        raise ShapeError(
            f"{what} has no column", place={"parameter": what}, hint="give one at least"
        )
    asked = {categorical} if isinstance(categorical, str) else set(map(str, categorical))
    if unknown := sorted(asked - found.keys()):
        raise ColumnError(
            f"{what} has no column {unknown[0]!r}",
            place={"parameter": "categorical", "column": unknown[0]},
            hint=f"its columns are {', '.join(map(repr, found))}",
        )
    for name, (_, cells) in found.items():
        if len(cells) != n:
            raise ShapeError(
                f"column {name!r} of {what} has {len(cells)} values, and X has {n} rows",
                place={"parameter": what, "column": name},
                hint="give one value a row, in the order of X",
            )
    labels: Any = getattr(data, "index", None)
    if index is not None and hasattr(labels, "equals") and not labels.equals(index):
        raise ParameterError(
            f"the row labels of {what} are not those of X, and rows are bound by their place",
            place={"parameter": what},
            hint=f"{what}.loc[X.index], or reset both indices where the order is right",
        )
    return [
        _beside(name, kind, cells, name in asked, what) for name, (kind, cells) in found.items()
    ]


def _values(data: Any, what: str) -> dict[str, tuple[str, Any]]:
    """Kind ("numeric", "categorical" or another's name) and cells of each column."""
    frame = frame_of(data)
    if frame is not None:
        return {str(name): _of_series(frame.get_column(name)) for name in frame.columns}
    if isinstance(data, Mapping):
        return {str(name): _of_any(cells) for name, cells in data.items()}
    if isinstance(data, str | bytes) or data is None:
        raise _not_understood(data, what)
    series = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return {str(series.name or what): _of_series(series)}
    array = np.asarray(data)
    if array.ndim == 1:
        return {what: _of_cells(data)}
    if array.ndim != 2:
        raise _not_understood(data, what)
    return {f"{what}_{j}": _of_cells(array[:, j]) for j in range(array.shape[1])}


def _of_any(cells: Any) -> tuple[str, Any]:
    series = nw.from_native(cells, series_only=True, pass_through=True)
    return _of_series(series) if isinstance(series, nw.Series) else _of_cells(cells)


def _of_series(series: nw.Series[Any]) -> tuple[str, Any]:
    kind = series.dtype
    if kind.is_numeric():
        return "numeric", series.cast(nw.Float64()).to_numpy()
    if isinstance(kind, _TEXT):
        missing = series.is_null().to_list()
        cells = series.to_list()
        return "categorical", [
            None if no else cell for cell, no in zip(cells, missing, strict=True)
        ]
    if isinstance(kind, nw.Object):
        return _of_cells(series.to_list())
    return str(kind), series


def _of_cells(cells: Any) -> tuple[str, Any]:
    array = np.asarray(cells)
    if array.ndim == 1 and array.dtype.kind == "U" and not isinstance(cells, np.ndarray):
        array = np.empty(len(cells), dtype=object)  # NumPy makes the text "nan" of a NaN
        array[:] = list(cells)
    if array.ndim != 1:
        return f"array of {array.ndim} dimensions", array
    if array.dtype.kind in "iuf":
        return "numeric", array.astype(np.float64)
    if array.dtype.kind in "bU":
        return "categorical", array.tolist()
    if array.dtype.kind != "O":
        return str(array.dtype), array
    values = [None if _missing(cell) else cell for cell in array]
    present = [value for value in values if value is not None]
    booleans = any(isinstance(one, bool | np.bool_) for one in present)
    if not booleans and all(isinstance(one, int | float | np.number) for one in present):
        return "numeric", np.array([np.nan if one is None else one for one in values], float)
    if all(isinstance(one, str | int | np.integer | np.bool_) for one in present):
        return "categorical", values
    return f"{type(present[0]).__name__} objects", values


def _missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal
        return str(cell) == "<NA>"


def _beside(name: str, kind: str, cells: Any, asked: bool, what: str) -> Beside:
    if kind == "numeric" and not asked:
        if np.isinf(cells).any():
            row = int(np.flatnonzero(np.isinf(cells))[0])
            raise NotFiniteError(
                f"column {name!r} of {what} is infinite at row {row}",
                place={"parameter": what, "column": name, "row": row},
                hint="clip or remove the infinite values",
            )
        return Beside(name, numbers=cells)
    if kind == "numeric":
        cells = [
            None if np.isnan(one) else (int(one) if one == np.floor(one) else one)
            for one in cells.tolist()
        ]
    elif kind != "categorical":
        return Beside(name, other=kind)
    present = sorted(
        {one for one in cells if one is not None}, key=lambda one: (str(type(one)), one)
    )
    numbers: dict[Any, int] = {label: code for code, label in enumerate(present)}
    codes = np.array([-1 if one is None else numbers[one] for one in cells], dtype=np.intp)
    return Beside(name, codes=codes, labels=tuple(present))


def _not_understood(data: Any, what: str) -> ParameterError:
    return ParameterError(
        f"{what} is {type(data).__name__}, which holds no columns",
        place={"parameter": what},
        hint="give a frame, a series, a dict of name to values, or an array of one value a row",
    )
