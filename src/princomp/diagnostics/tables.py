"""Tables of results: frames of the same kind as the input, or a Listing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from numbers import Integral, Number
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from princomp.core import check_parameter, one_of
from princomp.errors import ColumnError, MissingLibraryError
from princomp.io import is_file
from princomp.rules import text_table

Contents: TypeAlias = Mapping[str, NDArray[Any]]
Names: TypeAlias = NDArray[Any]

_LIBRARIES = ("pandas", "polars", "pyarrow")
_SCALARS = (str, bytes, Number, np.generic, date, time, timedelta)  # types that Arrow can store
_ROWS_SHOWN = 20  # rows that a Listing prints


class Listing:
    """A table of named columns, for use without a frame library.

    Parameters
    ----------
    contents : dict of str to ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from princomp.diagnostics import Listing
    >>> Listing({"row": np.array([0, 1]), "t2": np.array([0.25, 7.5])})
    row    t2
      0  0.25
      1   7.5
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = {name: np.asarray(column) for name, column in contents.items()}

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._contents)

    def __len__(self) -> int:
        return len(next(iter(self._contents.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._contents:
            raise ColumnError(
                f"the table has no column {name!r}",
                place={"column": name},
                hint=f"its columns are {', '.join(self._contents)}",
            )
        return self._contents[name]

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return all columns by name."""
        return dict(self._contents)

    def __repr__(self) -> str:
        shown = [
            [name, *map(_cell, column[:_ROWS_SHOWN].tolist())]
            for name, column in self._contents.items()
        ]
        lines = text_table(list(zip(*shown, strict=True)))
        hidden = len(self) - _ROWS_SHOWN
        return "\n".join([*lines, f"… and {hidden:,} more"] if hidden > 0 else lines)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short_dates(names: Names) -> Names:
    """Leave out parts of dates and times that are zero in all of them; keep other names.

    >>> print(short_dates(np.array(["2023-10-25T00:00:00.000000"], dtype="datetime64[us]")))
    ['2023-10-25']
    """
    is_object = names.dtype.kind == "O" and names.size > 0
    if is_object and all(isinstance(name, datetime) and name.tzinfo is None for name in names):
        names = names.astype("datetime64[us]")  # such as those of a column of polars
    if names.dtype.kind == "M":
        for unit in ("D", "m", "s", "ms"):
            short = names.astype(f"datetime64[{unit}]")
            if np.array_equal(short, names, equal_nan=True):
                return short
    return names


def frame_of(X: object) -> nw.DataFrame[Any] | None:
    """Wrap a frame with narwhals; None for anything else."""
    if isinstance(X, np.ndarray | list | tuple | dict) or is_file(X):
        return None
    try:
        wrapped = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        return None  # reading the rows raises an error with the duplicate name
    return wrapped if isinstance(wrapped, nw.DataFrame) else None


def is_long_form(form: str) -> bool:
    """Whether ``form`` asks for a long table, with one row for each pair.

    Raises
    ------
    ParameterError
    """
    check_parameter("form", form, one_of("long", "wide"))
    return form == "long"


def checked_frame(frame: str | None, model: object, input_kind: str | None = None) -> str:
    """Return the kind of table to make.

    The first of: ``frame``; the kind of the input; the setting of ``model.set_output``;
    pandas if it is loaded; a :class:`Listing`.

    Raises
    ------
    ParameterError
    """
    check_parameter("frame", frame, one_of(*_LIBRARIES, "listing", None))
    if frame is not None:
        return frame
    if input_kind is not None:
        return input_kind
    from princomp.estimators import transform_output  # imports scikit-learn

    configured = transform_output(model)
    if configured in _LIBRARIES:
        return configured
    return "pandas" if "pandas" in sys.modules else "listing"


def pair_columns(names: Contents, measures: Contents, long: bool) -> dict[str, NDArray[Any]]:
    """Arrange measures of pairs, such as rows and components, as columns of a table.

    Parameters
    ----------
    names : dict of two str to ndarray
        Two entries, such as ``{"row": ids, "component": names}``: what the m rows and the c columns
        of the measures are called.
    measures : dict of str to ndarray of shape (m, c)
    long : bool
        Whether the table has a row for each pair; otherwise it has one for each of the m things.
    """
    (kind, firsts), (other_kind, others) = names.items()
    if not long:
        wide = {
            f"{measure}_{other}": values[:, j]
            for measure, values in measures.items()
            for j, other in enumerate(others)
        }
        return {kind: firsts, **wide}
    return {
        kind: np.repeat(firsts, len(others)),
        other_kind: np.tile(others, len(firsts)),
        **{measure: values.ravel() for measure, values in measures.items()},
    }


def table(contents: Contents, kind: str, index: object = None) -> Any:
    """Make a frame of this kind; ``index`` labels the rows in pandas."""
    if kind == "listing":
        return Listing(contents)
    columns = {
        name: _frame_column(column, kind) if column.dtype.kind == "O" else column
        for name, column in contents.items()
    }
    try:
        backend: Any = kind
        native = nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError:
        raise MissingLibraryError(
            f"{kind} is not installed",
            place={"parameter": "frame"},
            hint=f"pip install {kind}, or frame='listing'",
        ) from None
    if index is not None and kind == "pandas":
        native.index = index
    return native


def _frame_column(column: NDArray[np.object_], kind: str) -> list[Any] | NDArray[Any]:
    """Return values of one type unchanged, and mixed ones as text, as Arrow requires.

    Missing ones become None. Except in pandas, values that Arrow cannot store, such as a pandas
    Period, become text too.
    """
    values: list[Any] = [None if is_missing(value) else value for value in column.tolist()]
    if not values:
        return np.array([], dtype=str)  # an empty list has no type
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1 and (kind == "pandas" or all(issubclass(t, _SCALARS) for t in types)):
        if kind == "pandas" and all(issubclass(t, Integral) for t in types) and None in values:
            return np.array(values, dtype=object)  # float64, which pandas chooses, merges large ids
        return values
    return [None if value is None else str(value) for value in values]


def is_missing(cell: object) -> bool:
    """Whether a cell is None, NaN, or missing in pandas."""
    try:
        return cell is None or bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal
        return str(cell) == "<NA>"


def pandas_or_dict(contents: Contents, index_column: str | None = None) -> Any:
    """Return a pandas frame if pandas is loaded, else a dict of arrays.

    The column ``index_column`` becomes the index of the frame.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return dict(contents)
    frame = pandas.DataFrame(dict(contents))
    return frame if index_column is None else frame.set_index(index_column)
