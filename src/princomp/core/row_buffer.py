"""A buffer of rows that do not fill a block yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.linalg import FloatArray, scratch
from princomp.summaries import Block, Weights, as_dense, is_sparse

# Rows that are allocated at first; the storage is doubled as needed.
_MIN_CAPACITY = 64
# If a batch has at least 1/_MANY_BATCHES of the expected rows, similar ones are assumed to follow.
_MANY_BATCHES = 32
# A storage of up to this many bytes is reused for the next rows.
_MAX_REUSED_BYTES = 2**25


class _Storage:
    """Memory for rows and their weights, written in part."""

    def __init__(self, rows: int, p: int, dtype: np.dtype[Any]) -> None:
        self.rows = scratch("buffered rows", (rows, p), dtype, max_bytes=_MAX_REUSED_BYTES)
        self.weights = np.ones(rows)


class RowBuffer:
    """An immutable sequence of rows and their weights; ``appended`` returns a longer one.

    Dense rows are appended in memory that several buffers share, so that each row is copied once
    even if batches are small. Sparse rows are kept in their batches.

    Written rows never change. Only the first successor of a buffer may append to its memory;
    another one, such as that of a copied model, starts with a copy.

    Attributes
    ----------
    count : int
        Number of rows.
    """

    __slots__ = ("_appendable", "_batches", "_storage", "_weighted", "count")

    def __init__(self) -> None:
        self.count = 0
        self._storage: _Storage | None = None
        # The storage again, until another buffer has appended to it. Taking it from a list is
        # atomic, so that only one of several threads with the same buffer gets it.
        self._appendable: list[_Storage] = []
        # A list that buffers share: the batches before, the rows of the last one, their weights.
        self._batches: tuple[Any, Any, Weights] | None = None
        self._weighted = False

    @property
    def is_sparse(self) -> bool:
        """Whether some of the rows are sparse."""
        return self._batches is not None

    def appended(self, rows: Block, weights: Weights, expected: int) -> RowBuffer:
        """Return these rows and then copies of others; about ``expected`` are expected in all."""
        if not rows.shape[0]:
            return self
        result = RowBuffer()
        result.count = self.count + rows.shape[0]
        result._weighted = self._weighted or weights is not None
        if is_sparse(rows) or self._batches is not None:
            kept = None if weights is None else weights.copy()
            before = self._batches if self._storage is None else (None, *self.table())
            result._batches = (before, rows.copy(), kept)
        else:
            result._storage = self._storage_for(rows, expected)
            part = slice(self.count, result.count)
            result._storage.rows[part] = rows
            result._storage.weights[part] = 1.0 if weights is None else weights
            result._appendable.append(result._storage)
        return result

    def _storage_for(self, rows: FloatArray, expected: int) -> _Storage:
        """Return memory that holds these rows and to which the given rows can be appended."""
        storage, count = self._storage, self.count + len(rows)
        dtype = rows.dtype if storage is None else np.result_type(storage.rows, rows)
        if storage is not None and storage.rows.dtype == dtype and count <= len(storage.rows):
            try:
                return self._appendable.pop()
            except IndexError:
                pass  # another buffer has appended to it
        # For small batches the storage is doubled, for larger ones all of it is allocated at once.
        if _MANY_BATCHES * len(rows) < expected:
            expected = min(expected, max(2 * count, _MIN_CAPACITY))
        new = _Storage(max(count, expected), rows.shape[1], dtype)
        if storage is not None:
            new.rows[: self.count] = storage.rows[: self.count]
            new.weights[: self.count] = storage.weights[: self.count]
        return new

    def table(self) -> tuple[Any, Weights]:
        """All rows as one table, sparse only if all of them are, and their weights, if any."""
        if self._storage is not None:
            weights = self._storage.weights[: self.count] if self._weighted else None
            return self._storage.rows[: self.count], weights
        batches: list[tuple[Any, Weights]] = []
        last = self._batches
        while last is not None:
            batches.append(last[1:])
            last = last[0]
        batches.reverse()
        parts = [rows for rows, _ in batches]
        if all(map(is_sparse, parts)):
            rows = sp.vstack(parts, format="csr")
        else:
            rows = np.concatenate([as_dense(part) for part in parts])
        if not self._weighted:
            return rows, None
        each = [np.ones(part.shape[0]) if w is None else w for part, w in batches]
        return rows, np.concatenate(each)

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle holds the rows, not the storage for more.
        if not self.count:
            return RowBuffer, ()
        return RowBuffer().appended, (*self.table(), self.count)
