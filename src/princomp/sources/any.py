"""Whatever a person hands over, as rows to compute with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from princomp.sources.memory import Rows, in_memory, is_plain
from princomp.sources.source import Held, Source

__all__ = ["Rows", "is_file", "is_plain", "rows_of"]


def is_file(X: Any) -> bool:
    """Whether X names a file, or several."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(one, str | os.PathLike) for one in X)
    return isinstance(X, str | os.PathLike)


def rows_of(X: Any, *, columns: list[str] | None = None) -> Rows:
    """Rows (n, p), column names and file of whatever holds rows.

    Rows that are not in memory are given as a :class:`~princomp.sources.source.Source`.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, path, list of paths, iterator, callable or Source
    columns : list of str, optional
        Columns to read from a file, in this order; all numeric ones by default.
    """
    if is_plain(X):
        return in_memory(X)
    if is_file(X):
        from princomp.sources.files import open_files

        X = open_files(X if isinstance(X, list | tuple) else [X], columns=columns)
    elif isinstance(X, Iterator) or (callable(X) and not isinstance(X, Source)):
        from princomp.sources.batches import open_batches

        X = open_batches(X, columns=columns)
    if isinstance(X, Held):
        return in_memory(X.table)
    return (X, X.columns, X.file) if isinstance(X, Source) else in_memory(X)
