"""Arrays of two dimensions that lie in pieces in a larger store: what HDF5 and Zarr share."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import (
    ColumnError,
    MalformedFileError,
    MissingLibraryError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.sources.cells import LARGEST_INTEGER, long_integer
from princomp.sources.columns import Choice, Origin, choose, listed
from princomp.sources.faults import reading
from princomp.sources.numpy_file import _refuse_other_kinds
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
    "name_list",
    "need",
    "numbered",
    "pick",
    "refuse_ids",
    "refuse_kind",
    "refuse_long",
    "rounding",
    "settle",
]


def need(module: str, path: Path) -> Any:
    """Import an optional library that reads files of the kind of ``path``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            f"{path}: reading this kind of file needs {module}, which is not installed",
            place={"file": str(path)},
            hint="pip install 'princomp[files]'",
        ) from error


class Member(NamedTuple):
    """An array in a store."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        size = " × ".join(f"{length:,}" for length in self.shape) or "a single value"
        kinds = {"V": "records", "O": "text or lists", "S": "text", "U": "text", "T": "text"}
        return f"{self.name} ({size}, {kinds.get(self.dtype.kind, self.dtype)})"

    @property
    def is_table(self) -> bool:
        """Whether it has rows and columns of real numbers."""
        return len(self.shape) == 2 and self.dtype.kind in "biuf"


def pick(members: Sequence[Member], inside: str | None, origin: Origin) -> Member:
    """Take the array named ``inside``, or the only one with rows and columns of numbers.

    Where ``inside`` is a group, the only one in that group is taken.

    Raises
    ------
    ParameterError
        None has the name, or several could be meant; all are listed.
    NotNumericError, ShapeError
        The one meant is no table of real numbers, or there is none.
    """
    place = origin.place(parameter="inside")
    within = members
    if inside is not None:
        for member in members:
            if member.name == inside:
                refuse_kind(member, origin)
                return member
        within = [member for member in members if member.name.startswith(f"{inside}/")]
        if not within:
            near = difflib.get_close_matches(inside, [m.name for m in members], n=1)
            raise ParameterError(
                origin.say(f"nothing in it is named {inside!r}"),
                place=place,
                hint=(f"Did you mean {near[0]!r}? " if near else "")
                + f"There are: {listed(map(str, members))}.",
            )
    tables = [member for member in within if member.is_table]
    if len(tables) > 1:
        raise ParameterError(
            origin.say(f"holds {len(tables)} arrays of two dimensions: {listed(map(str, tables))}"),
            place=place,
            hint=f"Say which is meant, as in {origin.file}::{tables[0].name}",
        )
    if not tables:
        there = f"there are: {listed(map(str, within))}" if within else "it is empty"
        raise ShapeError(
            origin.say(f"holds no array of numbers in two dimensions; {there}"),
            place=origin.place(),
            hint="Store a matrix whose rows are the observations.",
        )
    refuse_kind(tables[0], origin)
    return tables[0]


def refuse_kind(member: Member, origin: Origin) -> None:
    """Raise NotNumericError or ShapeError unless it is a table of numbers with rows."""
    if member.dtype.kind == "O":
        raise NotNumericError(
            origin.say(f"{member.name} holds text or lists where real numbers must stand"),
            place=origin.place(),
            hint="Name an array of numbers.",
        )
    _refuse_other_kinds(member.shape, member.dtype, origin)


def numbered(
    p: int, columns: Sequence[str] | None, exclude: Sequence[str], origin: Origin
) -> NDArray[np.intp] | None:
    """Positions of the columns asked for by numbers from 0; None means all of them."""
    if columns is None and not exclude:
        return None
    for asked in (columns or (), exclude):
        for name in () if isinstance(asked, str) else asked:
            known = name.isascii() and name.isdigit() and name == str(int(name)) and int(name) < p
            if not known:
                raise ColumnError(
                    origin.say(f"no column {name!r}: this file has no column names"),
                    place=origin.place(column=name),
                    hint=f"Give numbers from 0 to {p - 1}.",
                )
    choice = choose([str(j) for j in range(p)], columns, exclude, None, origin)
    return np.array([int(name) for name in choice.names])


def settle(
    names: Sequence[str] | None,
    p: int,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    origin: Origin,
) -> tuple[Choice | None, NDArray[np.intp] | None]:
    """The columns used, by name where there are names, and their positions (None: all)."""
    if names is None:
        return None, numbered(p, columns, exclude, origin)
    choice = choose(names, columns, exclude, None, origin)
    if choice.names == tuple(names):
        return choice, None
    at = {name: j for j, name in enumerate(names)}
    return choice, np.array([at[name] for name in choice.names])


def labels(columns: tuple[str, ...] | None, taken: NDArray[np.intp] | None) -> Callable[[int], str]:
    """What messages call the columns that are used: by name, or by number in the file."""
    if columns is not None:
        return columns.__getitem__
    return lambda k: str(k if taken is None else int(taken[k]))


def name_list(found: Any, p: int) -> tuple[str, ...] | None:
    """Names of p columns from an attribute; None if it is no list of p different texts."""
    if found is None or isinstance(found, str | bytes):
        return None
    try:
        names = [x.decode() if isinstance(x, bytes) else x for x in np.asarray(found).tolist()]
    except (TypeError, ValueError):
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) != p or len(names) != p:
        return None
    return tuple(names)


def refuse_ids(id_column: str | None, what: str, origin: Origin) -> None:
    """Raise ParameterError if an id column is asked of a file that has numbers only."""
    if id_column is not None:
        raise ParameterError(
            origin.say(f"id column {id_column!r}: {what} holds numbers only"),
            place=origin.place(parameter="id_column"),
            hint="Leave the id column out, or keep the table as CSV or Parquet.",
        )


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
    with np.errstate(over="ignore"):
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
        block = np.empty((stop - start, width), array.dtype)
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
