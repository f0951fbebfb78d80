"""Arrays of two dimensions that lie in pieces in a larger store: what HDF5 and Zarr share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import empty
from princomp.errors import MalformedFileError
from princomp.sources.cells import LARGEST_INTEGER, long_integer
from princomp.sources.columns import Origin
from princomp.sources.faults import reading
from princomp.sources.members import Member, numbered, refuse_ids, refuse_kind
from princomp.sources.pace import Pace, Tiling, runs_of
from princomp.sources.source import Chunk, Source
from princomp.sources.table import Matrix

__all__ = [
    "Member",
    "StoredArray",
    "changed",
    "float_kind",
    "floats",
    "labels",
    "numbered",
    "refuse_ids",
    "refuse_kind",
    "refuse_long",
    "rounding",
]


def labels(columns: tuple[str, ...] | None, taken: NDArray[np.intp] | None) -> Callable[[int], str]:
    """What messages call the columns that are used: by name, or by number in the file."""
    if columns is not None:
        return columns.__getitem__
    return lambda k: str(k if taken is None else int(taken[k]))


def float_kind(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for float32, float64 for all else."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def rounding(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """The note on numbers that are longer than float64."""
    long = dtype.kind == "f" and dtype.itemsize > 8
    return (f"rounded {dtype} to float64",) if long else ()


def refuse_long(
    numbers: NDArray[Any],
    cell: Callable[[tuple[int, ...]], tuple[str, int]],
    origin: Origin,
) -> None:
    """Raise NotNumericError for the first integer beyond 2**53.

    ``cell`` gives the column's name and the row, from 0, of an index into ``numbers``.
    """
    # Shorter kinds cannot hold such an integer; the extremes need no temporary array.
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8 or not numbers.size:
        return
    if int(numbers.max()) <= LARGEST_INTEGER and int(numbers.min()) >= -LARGEST_INTEGER:
        return
    beyond = np.argwhere((numbers > LARGEST_INTEGER) | (numbers < -LARGEST_INTEGER))[0]
    index = tuple(int(i) for i in beyond)
    column, row = cell(index)
    raise long_integer(column, row, int(numbers[index]), origin)


def floats(
    block: NDArray[Any],
    taken: NDArray[np.intp] | None,
    first: int,
    label: Callable[[int], str],
    origin: Origin,
) -> Matrix:
    """Columns of a block, whose first row has number ``first``, as native floats in C order.

    The block itself is returned where it is that already.
    """
    chosen = block if taken is None else np.take(block, taken, axis=1)
    refuse_long(chosen, lambda index: (label(index[1]), first + index[0]), origin)
    # A NaN of any bits is NaN, and what is too large for float64 infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.ascontiguousarray(chosen, float_kind(chosen.dtype))


@dataclass(kw_only=True, eq=False)
class StoredArray(Source):
    """Rows of an array in two dimensions that a library cuts slices from.

    Parameters
    ----------
    path : Path
        Of the file or folder.
    inside : str
        The array's name in it.
    kind : str
        What messages call the format.
    stored_shape : tuple of int
        Rows and columns as they are stored.
    taken : ndarray of int, optional
        Positions of the p columns that are used; None for all.
    tiling : Tiling
        How it lies there.
    itemsize : int
        Bytes of one number as it is stored.
    """

    path: Path
    inside: str
    kind: str
    stored_shape: tuple[int, int]
    taken: NDArray[np.intp] | None
    tiling: Tiling
    itemsize: int
    pace: Pace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n, p = self.stored_shape
        self._runs, self._positions = runs_of(self.taken, p, self.tiling)
        width = sum(last - first for first, last in self._runs)
        if self.tiling.tall is not None:
            self.tiling = self.tiling._replace(tall=min(self.tiling.tall, n))
        self.pace = Pace.of(self.tiling, width, width * self.itemsize)
        self.reader = type(self).reader + min(self.pace.read, n) * width * self.itemsize
        if self.pace.times > 1:
            self.pace.refuse_many(self.path)
            self.notes = (*self.notes, self.pace.note())

    def _opened(self) -> AbstractContextManager[Any]:
        """Open the store anew, so that every sweep has a handle of its own."""
        raise NotImplementedError

    def _array(self, store: Any) -> Any:
        return store[self.inside] if self.inside else store

    def _ids(self, store: Any, start: int, stop: int) -> NDArray[np.object_] | None:
        return None

    def _load(self, array: Any, start: int, stop: int) -> NDArray[Any]:
        """Rows as they are stored, of those columns that must be read."""
        if len(self._runs) == 1:
            first, last = self._runs[0]
            return np.asarray(array[start:stop, first:last])
        width = sum(last - first for first, last in self._runs)
        block = empty((stop - start, width), array.dtype)
        at = 0
        for first, last in self._runs:
            block[:, at : at + last - first] = array[start:stop, first:last]
            at += last - first
        return block

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, each tile of the store read once if it may be."""
        origin, label = Origin(self.file), labels(self.columns, self.taken)
        with self._opened() as store:
            with reading(self.path, self.kind):
                array = self._array(store)
                shape = tuple(array.shape)
            if shape != self.stored_shape:
                raise changed(self.path)
            for first, last in self.pace.pieces(start, self.stored_shape[0]):
                with reading(self.path, self.kind):
                    block = self._load(array, first, last)
                for top in range(first, last, self.pace.step):
                    rows = block[top - first : top - first + self.pace.step]
                    data = floats(rows, self._positions, top, label, origin)
                    if len(rows) < len(block) and np.may_share_memory(data, block):
                        data = data.copy()  # else one kept chunk would keep the whole band
                    stop = top + len(rows)
                    with reading(self.path, self.kind):
                        ids = self._ids(store, top, stop)
                    del rows
                    if stop == last:
                        del block  # before the next is read, so that one band is held, not two
                    yield Chunk(data, ids)


def changed(path: Path) -> MalformedFileError:
    """The error for a file that is no longer what it was when it was opened."""
    return MalformedFileError(
        f"{path}: its rows or columns are no longer as many as when it was opened",
        place={"file": str(path)},
        hint="Wait until nobody writes to it, then start again.",
    )
