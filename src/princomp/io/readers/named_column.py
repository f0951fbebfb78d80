"""One column of a table by its name, such as the groups of a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, ParameterError, did_you_mean
from princomp.io.readers.coerce import is_file
from princomp.io.readers.frames import is_frame
from princomp.io.readers.read_options import DETECT
from princomp.io.readers.table_input import TableInput

__all__ = ["has_named_columns", "named_column", "without_column"]


def named_column(X: Any, name: str, parameter: str = "groups") -> Any:
    """Cells (n,) of a column of a frame or of files; numbers as such where all are numbers.

    Raises
    ------
    ColumnError
        There is no such column.
    ParameterError
        X has no named columns.
    """
    options, table = DETECT, X
    if isinstance(X, TableInput):
        options, table = X.options, X.table
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        if name not in frame.columns:
            known = [str(one) for one in frame.columns]
            raise ColumnError(
                f"{parameter}={name!r} is not a column of the frame",
                place={"parameter": parameter, "column": name},
                hint=f"{did_you_mean(name, known)}Its columns are {', '.join(known)}.",
            )
        return frame.get_column(name).to_native()
    if not is_file(table):
        raise ParameterError(
            f"{parameter}={name!r} is a name, and the rows have no named columns",
            place={"parameter": parameter},
            hint="Give rows in a frame or file, or one value for each row.",
        )
    paths = table if isinstance(table, list | tuple) else [table]
    if all(str(path).partition("::")[0].endswith(".h5ad") for path in paths):
        from princomp.io.readers.h5ad_names import obs_column

        return np.concatenate([obs_column(Path(str(p).partition("::")[0]), name) for p in paths])
    from princomp.io.readers.files import open_files

    source = open_files(paths, id_column=name, options=options)
    return as_numbers(np.concatenate([np.asarray(chunk.ids) for chunk in source.chunks()]))


def has_named_columns(X: Any) -> bool:
    """Whether X is a frame or a file, whose columns have names."""
    return is_frame(X) or is_file(X) or isinstance(X, TableInput)


def without_column(X: Any, name: str) -> Any:
    """A frame without a column; anything else as it is."""
    if isinstance(X, TableInput) or not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    return frame.drop(name).to_native() if name in frame.columns else X


def as_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Text as numbers, where all cells are; missing ones are None or NaN."""
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return np.array([None if _is_missing(cell) else str(cell) for cell in cells], dtype=object)


def _is_missing(cell: object) -> bool:
    return cell is None or cell != cell or cell == ""
