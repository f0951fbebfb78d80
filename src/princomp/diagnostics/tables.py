"""Tables of results, as frames of the kind that came in; a Listing where there is no library."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from princomp.errors import ColumnError, MissingLibraryError, ParameterError
from princomp.inputs import output_wanted
from princomp.sources.any import is_file

__all__ = [
    "Contents",
    "Listing",
    "checked_form",
    "checked_frame",
    "frame_of",
    "from_lines",
    "table",
]

Contents: TypeAlias = dict[str, Any]

_LIBRARIES = ("pandas", "polars", "pyarrow")
_KINDS = (*_LIBRARIES, "listing")
_SHOWN = 20  # lines that a Listing prints


class Listing:
    """Columns of equal length under names: a table where no frame library is loaded.

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
        """Names, in order."""
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
        """All columns by name."""
        return dict(self._contents)

    def __repr__(self) -> str:
        shown = [
            [name, *map(_cell, column[:_SHOWN].tolist())] for name, column in self._contents.items()
        ]
        widths = [max(map(len, cells)) for cells in shown]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in zip(*shown, strict=True)
        ]
        left = len(self) - _SHOWN
        return "\n".join([*lines, f"… and {left:,} more"] if left > 0 else lines)


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def frame_of(X: Any) -> Any:
    """X as a frame of narwhals; None where it is none."""
    if isinstance(X, np.ndarray | list | tuple | dict) or is_file(X):
        return None
    try:
        wrapped = nw.from_native(X, pass_through=True)
    except DuplicateError:
        return None  # whoever reads the rows says which name stands twice
    return wrapped if isinstance(wrapped, nw.DataFrame) else None


def checked_form(form: Any) -> bool:
    """Whether a table is to be long: one line for each pair.

    Raises
    ------
    ParameterError
    """
    if form not in ("long", "wide"):
        raise ParameterError(
            f"form={form!r} is neither 'long' nor 'wide'",
            place={"parameter": "form"},
            hint="'long' has a line for each pair, 'wide' a column for each",
        )
    return bool(form == "long")


def checked_frame(frame: Any, model: Any, came: str | None = None) -> str:
    """The kind of table to make.

    What was asked for by name; what ``model.set_output`` says; the kind that came in;
    pandas where it is loaded; else a :class:`Listing`.

    Raises
    ------
    ParameterError
    """
    if frame is not None:
        if frame not in _KINDS:
            raise ParameterError(
                f"frame={frame!r} is no kind of table",
                place={"parameter": "frame"},
                hint=f"one of {', '.join(map(repr, _KINDS))}, or None for the kind that came in",
            )
        return str(frame)
    wanted = output_wanted(model)
    if wanted in _LIBRARIES:
        return wanted
    return came or ("pandas" if "pandas" in sys.modules else "listing")


def table(contents: Contents, kind: str, index: Any = None) -> Any:
    """A frame of this kind, from columns (n,) by name; ``index`` labels the rows in pandas."""
    if kind == "listing":
        return Listing(contents)
    columns = {
        name: _for_frames(column) if column.dtype.kind == "O" else column
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


def _for_frames(column: NDArray[np.object_]) -> list[Any] | NDArray[Any]:
    """Values of one kind as they are; mixed ones as text, which is all that Arrow could hold."""
    values: list[Any] = column.tolist()
    if not values:
        return np.array([], dtype=str)  # a list of nothing would be a column of no kind
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    return [None if value is None else str(value) for value in values]


def from_lines(names: tuple[str, ...], lines: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Lines of a table as its columns: text as objects, the rest as numbers."""
    contents: dict[str, Any] = {}
    for name, cells in zip(names, zip(*lines, strict=True), strict=True):
        text = any(isinstance(cell, str) for cell in cells)
        contents[name] = np.array(cells, dtype=object) if text else np.array(cells)
    return contents
