"""Convert user input (arrays, frames, files, iterators) to rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from princomp.io.readers.memory import Rows, in_memory, is_numeric_array
from princomp.io.readers.source import Source, TableSource
from princomp.io.readers.table_input import TableInput


def is_file(X: Any) -> bool:
    """Whether X is a path, a list of paths or a :class:`TableInput`."""
    if isinstance(X, TableInput):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(path, str | os.PathLike) for path in X)
    return isinstance(X, str | os.PathLike)


def rows_of(X: Any, *, columns: list[str] | None = None) -> Rows:
    """Rows (n, p), column names and origin of an input.

    Rows that are not in memory are returned as a :class:`~princomp.io.readers.source.Source`.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, path, list of paths, iterator, callable or Source
    columns : list of str, optional
        Columns to read from a file, in this order; all numeric ones by default.
    """
    if is_numeric_array(X):
        return in_memory(X)
    if is_file(X):
        X = file_rows(X, columns=columns)
    elif isinstance(X, Iterator) or (callable(X) and not isinstance(X, Source)):
        from princomp.io.readers.batches import open_batches

        X = open_batches(X, columns=columns)
    if isinstance(X, Source) and not isinstance(X, TableSource):
        return X, X.columns, X.row_origin
    return in_memory(X)


def file_rows(X: Any, *, columns: list[str] | None = None) -> Source:
    """Open an input for which ``is_file`` is true."""
    if isinstance(X, TableInput):
        return X.open(columns)
    from princomp.io.readers.files import open_files

    return open_files(X if isinstance(X, list | tuple) else [X], columns=columns)
