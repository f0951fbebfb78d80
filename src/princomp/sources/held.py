"""Rows that are in memory, in whatever holds them, as rows to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from princomp.errors import NotNumericError
from princomp.sources.frames import from_frame, is_frame
from princomp.sources.memory import as_rows, from_sparse
from princomp.sources.table import Table

__all__ = ["Rows", "in_memory", "is_plain"]

Rows = tuple[Any, tuple[str, ...] | None, str | None]


def is_plain(X: Any) -> bool:
    """Whether X is an array of numbers of two dimensions, which needs no look beyond its type."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiubc"


def in_memory(X: Any) -> Rows:
    """Rows (n, p), column names and file of an array, sparse matrix, Table, frame or list."""
    if is_plain(X):
        return as_rows(X), None, None
    if sp.issparse(X):
        return from_sparse(X), None, None
    if isinstance(X, Table):
        data = from_sparse(X.data) if sp.issparse(X.data) else as_rows(X.data)
        return data, X.columns, X.file
    if is_frame(X):
        return in_memory(from_frame(X))
    try:
        checked = check_array(X, dtype="numeric", ensure_all_finite=False, estimator="PCA")
    except ValueError as error:
        raise _first_text(X) or error from None
    return as_rows(np.asarray(checked)), None, None


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
