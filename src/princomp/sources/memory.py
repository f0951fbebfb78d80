"""Rows in memory, in whatever holds them, as rows of float32 or float64."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from princomp.errors import NotFiniteError, NotNumericError, ShapeError
from princomp.sources.cells import LARGEST_INTEGER
from princomp.sources.frames import from_frame, is_frame
from princomp.sources.source import Source
from princomp.sources.table import Table

__all__ = [
    "Rows",
    "as_rows",
    "from_sparse",
    "in_memory",
    "is_plain",
    "labels_of_floats",
    "not_finite_in",
    "refuse_not_finite",
    "with_columns",
]

# What a frame may hold to be taken for an array: every number of the first is one of the other.
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))

Rows = tuple[Any, tuple[str, ...] | None, str | None]


def as_rows(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A numeric array (n, p) as native float32 or float64; the same object where it is one.

    Raises
    ------
    NotNumericError
        For complex numbers, and for integers beyond 2⁵³ that float64 cannot hold.
    ShapeError
        For no rows or no columns.
    """
    dtype = array.dtype
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        if not dtype.isnative:
            array = array.astype(dtype.newbyteorder("="))
    elif dtype.kind == "c":
        raise NotNumericError(
            f"Complex data not supported, got an array of {dtype}",
            hint="give the real and the imaginary parts as columns of their own",
        )
    else:
        if dtype.kind in "iu" and dtype.itemsize == 8 and array.size:
            _refuse_inexact(array)
        array = array.astype(np.float64)
    if 0 in array.shape:
        empty = "sample" if array.shape[0] == 0 else "feature"
        raise ShapeError(
            f"Found array with 0 {empty}(s) (shape={array.shape}) "
            "while a minimum of 1 is required by PCA.",
            hint="give at least two rows and one column of numbers",
        )
    return array


def _refuse_inexact(array: np.ndarray[Any, Any]) -> None:
    if int(array.max()) <= LARGEST_INTEGER and int(array.min()) >= -LARGEST_INTEGER:
        return
    row, column = np.argwhere((array > LARGEST_INTEGER) | (array < -LARGEST_INTEGER))[0]
    raise _inexact(int(array[row, column]), int(row), int(column))


def _refuse_inexact_sparse(rows: Any) -> None:
    """The same for CSR rows."""
    values = rows.data
    if int(values.max()) <= LARGEST_INTEGER and int(values.min()) >= -LARGEST_INTEGER:
        return
    at = int(np.argmax((values > LARGEST_INTEGER) | (values < -LARGEST_INTEGER)))
    row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
    raise _inexact(int(values[at]), row, int(rows.indices[at]))


def _inexact(value: int, row: int, column: int) -> NotNumericError:
    return NotNumericError(
        f"the integer {value} at row {row}, column {column} is beyond 2⁵³ and float64 cannot "
        "hold it exactly",
        place={"row": row, "column": column},
        hint="subtract a constant or convert to float yourself if its last digits do not matter",
    )


def from_sparse(matrix: Any) -> Any:
    """A SciPy sparse array or matrix of any format as CSR with float values.

    The input is never changed: duplicates are summed in a copy.
    """
    if matrix.dtype.kind == "c":
        raise NotNumericError(
            f"Complex data not supported, got a sparse matrix of {matrix.dtype}",
            hint="give the real and the imaginary parts as columns of their own",
        )
    if matrix.ndim != 2:
        raise ShapeError(f"a table has two dimensions, got a sparse array of {matrix.ndim}")
    if 0 in matrix.shape:
        as_rows(np.empty(matrix.shape))
    rows = sp.csr_array(matrix)
    if rows.dtype.kind in "iu" and rows.dtype.itemsize == 8 and rows.nnz:
        _refuse_inexact_sparse(rows)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy() if rows.data is matrix.data else rows
        rows.sum_duplicates()
    return rows


def with_columns(columns: tuple[str, ...] | None, column: int) -> str:
    """How a message names a column."""
    return f"column {column}" if columns is None else f"column {columns[column]!r}"


_FILL = (
    "leave such rows out (missing='drop', --missing drop), or fill the cells (missing='em' or "
    "'nipals')"
)
_REMOVE = "clip or remove the infinite values"


def not_finite_in(
    source: Source, error: NotFiniteError, *, columns: tuple[str, ...] | None, hint: str = _FILL
) -> NotFiniteError:
    """Complete an error found in a block of a source: the file, and the row in it."""
    if error.value is None:
        return error
    column, value = error.place["column"], error.value
    spot = source.spot(error.place["row"])
    place: dict[str, Any] = {
        "row": spot.row + 1,
        "column": column if columns is None else columns[column],
    }
    where = f"row {spot.row + 1:,}, {with_columns(columns, column)}"
    if spot.file:
        place["file"] = spot.file
        where += f" of {spot.file}"
    return NotFiniteError(
        f"Input X contains {_shown(value)}: the first at {where}",
        place=place,
        hint=hint if np.isnan(value) else _REMOVE,
    )


def _shown(value: float) -> str:
    return "NaN" if np.isnan(value) else ("infinity" if value > 0 else "-infinity")


def refuse_not_finite(
    data: Any,
    error: NotFiniteError,
    *,
    columns: tuple[str, ...] | None = None,
    file: str | None = None,
    hint: str = _FILL,
) -> NotFiniteError:
    """Complete an error found in a block: the first place, the value, and how many in all."""
    if "row" not in error.place or (error.value is None and "column" in error.place):
        return error  # of no cell, or complete already
    if isinstance(data, Source):
        return not_finite_in(data, error, columns=columns, hint=hint)
    sparse = sp.issparse(data)
    values = data.data if sparse else data
    bad = ~np.isfinite(values)
    if sparse:
        at = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(data.indptr, at, side="right") - 1)
        column, value = int(data.indices[at]), values[at]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = values[row, column]
    missing = int(np.isnan(values).sum())
    infinite = int(bad.sum()) - missing
    # People count the rows of a file from 1; an index into an array starts at 0.
    from_one = columns is not None or file is not None
    spot = f"row {row + 1}, {with_columns(columns, column)}" if from_one else f"X[{row}, {column}]"
    place: dict[str, Any] = {
        "row": row + from_one,
        "column": column if columns is None else columns[column],
    }
    if file:
        place["file"] = file
        spot += f" of {file}"
    if not missing:
        hint = _REMOVE
    elif infinite:
        hint += f"; {_REMOVE}"
    return NotFiniteError(
        f"Input X contains {_shown(value)}: the first at {spot}; "
        f"{missing:,} NaN and {infinite:,} infinite values in all",
        place=place,
        hint=hint,
    )


def is_plain(X: Any) -> bool:
    """Whether X is an array of numbers of two dimensions, which needs no look beyond its type."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiubc"


def labels_of_floats(X: Any) -> tuple[str, ...] | None:
    """Column labels of a pandas frame of nothing but float32 and float64: an array with names.

    Empty where no label is text. None for any other frame, and for labels that are text in
    part, stand twice or have levels: those take the way on which every fault is told.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame or not X.size:
        return None
    if X.columns.nlevels != 1 or not X.columns.is_unique or not _FLOATS.issuperset(X.dtypes):
        return None
    labels = X.columns.tolist()
    text = tuple(label for label in labels if isinstance(label, str))
    return text if len(text) in (0, len(labels)) else None


def in_memory(X: Any) -> Rows:
    """Rows (n, p), column names and file of an array, sparse matrix, Table, frame or list."""
    if is_plain(X):
        return as_rows(X), None, None
    if sp.issparse(X):
        return from_sparse(X), None, None
    if isinstance(X, Table):
        data = from_sparse(X.data) if sp.issparse(X.data) else as_rows(X.data)
        return data, X.columns, X.file
    if type(X) is list:
        numbers = _numbers(X)
        if numbers is not None:
            return as_rows(numbers), None, None
    labels = labels_of_floats(X)
    if labels is not None:
        return as_rows(X.to_numpy()), labels or None, None
    if is_frame(X):
        return in_memory(from_frame(X))
    try:
        checked = check_array(X, dtype="numeric", ensure_all_finite=False, estimator="PCA")
    except ValueError as error:
        raise _first_text(X) or error from None
    return as_rows(np.asarray(checked)), None, None


def _numbers(X: list[Any]) -> np.ndarray[Any, Any] | None:
    """Lists of as many real numbers each as an array (n, p); None for anything else."""
    try:
        array = np.array(X)
    except ValueError:
        return None
    return array if array.ndim == 2 and array.dtype.kind in "fiu" and array.size else None


def _first_text(X: Any) -> NotNumericError | None:
    """An error for the first cell of a list or array that is no number, if there is one."""
    cells = np.asarray(X)
    if cells.ndim != 2 or cells.dtype.kind not in "OUS":
        return None
    for (row, column), cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError):
            return NotNumericError(
                f"{cell!r} at row {row}, column {column} is not a number",
                place={"row": row, "column": column},
                hint="convert the column to numbers, or leave it out",
            )
    return NotNumericError(
        f"the array holds text (dtype {cells.dtype}), though all of it reads as numbers",
        hint="X.astype(float)",
    )
