"""A buffer of rows that do not fill a block yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.linalg import scratch
from princomp.summaries import Weights, is_sparse

# Rows that are allocated at first; the room is doubled as needed.
_FIRST_ROOM = 64
# A batch with at least 1/_MANY of the expected rows is assumed to be followed by similar ones.
_MANY = 32
# The memory of rooms up to this many bytes is reused for the next rows.
_MOST_KEPT = 2**25


class _Room:
    """Memory for rows and their weights, written in part."""

    def __init__(self, rows: int, p: int, dtype: Any) -> None:
        self.rows = scratch("buffered rows", (rows, p), dtype, most=_MOST_KEPT)
        self.weights = np.ones(rows)


class RowBuffer:
    """An immutable sequence of rows and their weights; ``plus`` returns a longer one.

    Dense rows are appended in memory that several buffers share, so that each row is copied once
    even if batches are small. Sparse rows are kept in their batches.

    Written rows never change. Only the first successor of a buffer may append to its memory;
    another one, such as that of a copied model, starts with a copy.

    Attributes
    ----------
    count : int
        Number of rows.
    """

    __slots__ = ("_next", "_parts", "_room", "_weighted", "count")

    def __init__(self) -> None:
        self.count = 0
        self._room: _Room | None = None
        # The room again, until another buffer has appended to it. Taking it from a list is atomic,
        # so that only one of several threads with the same buffer gets it.
        self._next: list[_Room] = []
        self._parts: tuple[tuple[Any, Weights], ...] = ()
        self._weighted = False

    def plus(self, rows: Any, weights: Weights, most: int) -> RowBuffer:
        """Return these rows followed by copies of others; about ``most`` are expected in all."""
        if not rows.shape[0]:
            return self
        more = RowBuffer()
        more.count = self.count + rows.shape[0]
        more._weighted = self._weighted or weights is not None
        if is_sparse(rows) or self._parts:
            kept = None if weights is None else weights.copy()
            before = self._parts
            if self._room is not None:
                before = (self.table(),)
            more._parts = (*before, (rows.copy(), kept))
        else:
            more._room = self._with_room(rows, most)
            part = slice(self.count, more.count)
            more._room.rows[part] = rows
            more._room.weights[part] = 1.0 if weights is None else weights
            more._next.append(more._room)
        return more

    def _with_room(self, rows: Any, most: int) -> _Room:
        """Return memory that holds these rows and to which the given rows can be appended."""
        room, count = self._room, self.count + len(rows)
        dtype = rows.dtype if room is None else np.result_type(room.rows, rows)
        if room is not None and room.rows.dtype == dtype and count <= len(room.rows):
            try:
                return self._next.pop()
            except IndexError:
                pass  # another buffer has appended to it
        # For small batches the room is doubled, for larger ones all of it is allocated at once.
        size = most if _MANY * len(rows) >= most else min(most, max(2 * count, _FIRST_ROOM))
        size = max(count, size)
        fresh = _Room(size, rows.shape[1], dtype)
        if room is not None:
            fresh.rows[: self.count] = room.rows[: self.count]
            fresh.weights[: self.count] = room.weights[: self.count]
        return fresh

    def table(self) -> tuple[Any, Weights]:
        """All rows as one table, sparse only if all of them are, and their weights, if any."""
        if self._room is not None:
            weights = self._room.weights[: self.count] if self._weighted else None
            return self._room.rows[: self.count], weights
        parts = [rows for rows, _ in self._parts]
        if all(map(is_sparse, parts)):
            rows = sp.vstack(parts, format="csr")
        else:
            rows = np.concatenate([part.toarray() if is_sparse(part) else part for part in parts])
        if not self._weighted:
            return rows, None
        each = [np.ones(part.shape[0]) if w is None else w for part, w in self._parts]
        return rows, np.concatenate(each)

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle holds the rows, not the room for more.
        return _rebuilt, (*self.table(), self.count) if self.count else (None, None, 0)


def _rebuilt(rows: Any, weights: Weights, count: int) -> RowBuffer:
    return RowBuffer().plus(rows, weights, count) if count else RowBuffer()
