"""Rows that come in chunks: what every reader of a large or unending table gives.

Where rows come from decides the chunks and nothing else: an engine cuts them into
logical blocks by row number, so a table has the same summary from every source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.sources.table import Table

__all__ = ["Chunk", "Held", "Identity", "Source", "Spot"]


class Chunk(NamedTuple):
    """Some consecutive rows.

    Parameters
    ----------
    data : ndarray (C order) or CSR array of shape (m, p)
        float32 or float64, as the source's ``dtype`` says; a missing cell is NaN.
        Whoever receives it may keep it: a reader does not write to it again.
    ids : ndarray of object of shape (m,), optional
        Of the id column.
    """

    data: Any
    ids: NDArray[np.object_] | None = None


class Spot(NamedTuple):
    """Where a row stands, for messages: its file, and its number in it, from 0."""

    file: str | None
    row: int


class Identity(NamedTuple):
    """What must be the same for rows to be the same rows: a file, its size and its time."""

    file: str
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Identity:
        """Of a file as it is now."""
        found = os.stat(path)
        return cls(os.fspath(path), found.st_size, found.st_mtime_ns)


@dataclass(kw_only=True, eq=False)
class Source:
    """Rows that are read chunk by chunk.

    A subclass gives ``chunks``; where any rows can be had without those before them
    it sets ``positioned`` and gives ``read``, which threads call at the same time.

    Parameters
    ----------
    rows : int or None
        None where the end is known only when it is reached.
    p : int
        Columns, at least one.
    dtype : numpy dtype
        float32 or float64, of every chunk.
    columns : tuple of str, optional
        The p names; None where the input has none.
    id_column : str, optional
        A column that names the rows, given as ``ids`` of each chunk.
    notes : tuple of str
        What a person should be told, such as which text columns were left out.
    file : str, optional
        What messages call the input.
    unused : tuple of str
        Columns that are there but were not among those asked for.
    stored : int, optional
        Of sparse rows, the numbers stored; their chunks are CSR arrays.
    nbytes : int, optional
        Bytes of the input as it is read (a compressed file counts as it lies there).
    """

    rows: int | None
    p: int
    dtype: np.dtype[Any]
    columns: tuple[str, ...] | None = None
    id_column: str | None = None
    notes: tuple[str, ...] = ()
    file: str | None = None
    unused: tuple[str, ...] = ()
    stored: int | None = None
    nbytes: int | None = None

    # Whether chunks() may be called again, and whether read() exists.
    repeatable = True
    positioned = False
    # Bytes that the library which reads takes for itself, measured 40 to 180 MB.
    reader = 150 * 10**6

    @property
    def shape(self) -> tuple[int | None, int]:
        """Rows, where known, and columns."""
        return self.rows, self.p

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, in order, in chunks of at least one row.

        A chunk is of moderate size (about 2 to 16 MB). What was opened is closed when
        the iterator ends or is closed.

        Raises
        ------
        MalformedFileError, NotNumericError
            With the place.
        """
        raise NotImplementedError

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``, from any thread. Only where ``positioned``."""
        raise NotImplementedError

    def load(self, start: int, stop: int, empty: Callable[..., NDArray[Any]]) -> Any:
        """The numbers of :meth:`read`, in an array that ``empty(shape, dtype)`` may give.

        That can be memory which was used before: getting it anew from the system costs more
        than reading into it.
        """
        return self.read(start, stop).data

    def spot(self, row: int) -> Spot:
        """Where row number ``row`` of the whole stands."""
        return Spot(self.file, row)

    def identities(self) -> tuple[Identity, ...]:
        """The files behind the rows as they are now; none where there are no files."""
        return ()


class Held(Source):
    """A table that is in memory already, such as a small file read whole."""

    positioned = True
    reader = 0

    def __init__(self, table: Table) -> None:
        n, p = table.data.shape
        super().__init__(
            rows=n,
            p=p,
            dtype=table.data.dtype,
            columns=table.columns,
            id_column=table.id_column,
            notes=table.notes,
            file=table.file,
            unused=table.unused,
            stored=getattr(table.data, "nnz", None),
            nbytes=None if sp.issparse(table.data) else table.data.nbytes,
        )
        self.table = table

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``."""
        ids = self.table.ids
        return Chunk(self.table.data[start:stop], None if ids is None else ids[start:stop])

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, 2**18 // self.p)
        for first in range(start, self.table.data.shape[0], step):
            yield self.read(first, first + step)
