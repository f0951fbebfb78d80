"""Tables from .npy files, whole or in chunks from any row on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import empty
from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.sources.cells import LARGEST_INTEGER, long_integer
from princomp.sources.columns import Choice, Origin, choose
from princomp.sources.faults import reading
from princomp.sources.source import Chunk, Identity, Source
from princomp.sources.table import Table

__all__ = ["NpySource", "open_npy", "read_npy"]

_MAGIC = b"\x93NUMPY"
_KIND = "a NumPy array"
# Numbers in a chunk, and in what is read at a time where more than copying is to be done.
_NUMBERS = 2**18
# The same for Fortran order, where each column is looked up by itself.
_NUMBERS_BY_COLUMN = 2**20


def read_npy(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Table:
    """Read the chosen columns, numbered from 0, of a matrix stored by ``numpy.save``."""
    source = open_npy(path, columns, exclude, id_column)
    try:
        data = source.read(0, source.rows).data
    finally:
        source.close()
    return Table(data, notes=source.notes, file=source.file)


def open_npy(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> NpySource:
    """Rows of the chosen columns, numbered from 0, of a matrix stored by ``numpy.save``.

    Raises
    ------
    ColumnError
        A column that is no number from 0 to the last.
    MalformedFileError
        No such file, or one that is shorter than its header says.
    NotNumericError, ShapeError
        It holds no real numbers, or is no matrix with rows and columns.
    ParameterError
        An id column is asked for: there are only numbers.
    """
    origin = Origin(str(path))
    if id_column is not None:
        raise ParameterError(
            origin.say(f"id column {id_column!r}: an .npy file holds numbers only"),
            place=origin.place(parameter="id_column"),
            hint="Leave the id column out, or keep the table as CSV or Parquet.",
        )
    with reading(path, _KIND), path.open("rb") as file:
        shape, fortran, stored = _header(file, path)
        offset = file.tell()
        held = os.fstat(file.fileno()).st_size - offset
    _refuse_other_kinds(shape, stored, origin)
    promised = shape[0] * shape[1] * stored.itemsize
    if min(shape) < 0 or held < promised:
        raise MalformedFileError(
            f"{path}: its header tells of {shape[0]} × {shape[1]} numbers ({stored}) in "
            f"{promised} bytes, and {held} follow",
            place=origin.place(),
            hint="It may be cut short or still being written: make or fetch it anew.",
        )
    choice = _choice(shape[1], columns, exclude, origin)
    return NpySource(path, shape, fortran, stored, offset, choice)


def _header(file: BinaryIO, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order or not, and dtype that the file claims to have."""
    # numpy would take a zip or a pickle for something else to load.
    if file.read(len(_MAGIC)) != _MAGIC:
        raise MalformedFileError(
            f"{path}: is not a NumPy array file",
            place={"file": str(path)},
            hint="Write it by numpy.save.",
        )
    file.seek(0)
    # Version 3 differs from 2 only in names of record fields, which are refused anyway.
    first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    return read(file)


def _refuse_other_kinds(shape: tuple[int, ...], dtype: np.dtype[Any], origin: Origin) -> None:
    if dtype.kind not in "biuf":
        kinds = {"V": "records of named fields", "c": "complex numbers", "O": "Python objects"}
        raise NotNumericError(
            origin.say(
                f"holds {kinds.get(dtype.kind, 'no numbers')} ({dtype}) "
                "where real numbers must stand"
            ),
            place=origin.place(),
            hint="Save a matrix of floats, or a table as Parquet.",
        )
    written = " × ".join(map(str, shape)) or "a single value"
    if len(shape) != 2:
        raise ShapeError(
            origin.say(f"has {len(shape)} dimensions ({written}); a table has rows and columns"),
            place=origin.place(),
            hint="Reshape it to two: x.reshape(-1, 1) makes one column of a vector.",
        )
    if 0 in shape:
        raise ShapeError(
            origin.say(f"no {'rows' if shape[0] == 0 else 'columns'} ({written})"),
            place=origin.place(),
            hint="Principal components need at least two rows of numbers.",
        )


def _choice(
    p: int, columns: Sequence[str] | None, exclude: Sequence[str], origin: Origin
) -> Choice:
    for name in (*(columns or ()), *exclude):
        if not (name.isascii() and name.isdigit() and name == str(int(name)) and int(name) < p):
            raise ColumnError(
                origin.say(f"no column {name!r}: an .npy file has no column names"),
                place=origin.place(column=name),
                hint=f"Give numbers from 0 to {p - 1}.",
            )
    return choose([str(j) for j in range(p)], columns, exclude, None, origin)


class NpySource(Source):
    """Rows of a matrix in an .npy file, made by ``open_npy``.

    Rows are read, not mapped: pages of a map would count as memory of the process. One
    file is opened, at the first ``read``, and closed with the source or by ``close``.
    Copies and pickles open it for themselves.

    Parameters
    ----------
    path : Path
    shape : (int, int)
        Of the matrix.
    fortran : bool
        Its columns lie one after the other, else its rows.
    stored : numpy dtype
    offset : int
        Bytes before the numbers.
    choice : Choice
        The columns to use.
    """

    positioned = True
    reader = 0
    rows: int

    def __init__(
        self,
        path: Path,
        shape: tuple[int, ...],
        fortran: bool,
        stored: np.dtype[Any],
        offset: int,
        choice: Choice,
    ) -> None:
        n, width = shape
        indices = [int(name) for name in choice.names]
        single = stored.kind == "f" and stored.itemsize == 4
        long = stored.kind == "f" and stored.itemsize > 8
        super().__init__(
            rows=n,
            p=len(indices),
            dtype=np.dtype(np.float32 if single else np.float64),
            notes=(f"rounded {stored} to float64",) if long else (),
            file=str(path),
            # Of rows all columns are read, whichever are used.
            nbytes=n * (len(indices) if fortran else width) * stored.itemsize,
        )
        self.path = path
        self._n, self._width, self._stored, self._offset = n, width, stored, offset
        self._fortran = fortran and width > 1
        self._indices = indices
        ends = range(indices[0], indices[-1] + 1)
        # A slice is a view, where a list of columns would be one more copy.
        self._take = slice(ends.start, ends.stop) if indices == list(ends) else indices
        self._as_stored = (
            not self._fortran and stored == self.dtype and indices == list(range(width))
        )
        self._file: FileIO | None = None
        self._lock = threading.Lock()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, (_NUMBERS_BY_COLUMN if self._fortran else _NUMBERS) // self.p)
        for first in range(start, self._n, step):
            yield self.read(first, first + step)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop`` or the last, from any thread.

        Raises
        ------
        MalformedFileError
            The file became shorter than it was when it was opened.
        NotNumericError
            An integer beyond 2**53.
        """
        return Chunk(self.load(start, stop, empty))

    def load(self, start: int, stop: int, empty: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        """The numbers of :meth:`read`, in an array that ``empty`` gives."""
        stop = min(stop, self._n)
        block = empty((max(0, stop - start), self.p), self.dtype)
        if self._as_stored:
            self._fill(block, start * self._width)
            return block
        load = self._columns if self._fortran else self._rows
        step = max(1, _NUMBERS_BY_COLUMN // self.p if self._fortran else _NUMBERS // self._width)
        for first in range(start, stop, step):
            last = min(first + step, stop)
            numbers = load(first, last)
            if self._stored.kind in "iu" and self._stored.itemsize == 8:
                self._refuse_long_integers(numbers, first)
            # A NaN of any bits is NaN, and what is too large for float64 infinite.
            with np.errstate(invalid="ignore", over="ignore"):
                block[first - start : last - start] = numbers
        return block

    def _rows(self, first: int, last: int) -> NDArray[Any]:
        """Numbers as stored, where one row follows the other."""
        numbers = empty((last - first, self._width), self._stored)
        self._fill(numbers, first * self._width)
        return numbers[:, self._take]

    def _columns(self, first: int, last: int) -> NDArray[Any]:
        """Numbers as stored, where one column follows the other."""
        numbers = empty((self.p, last - first), self._stored)
        for column, j in zip(numbers, self._indices, strict=True):
            self._fill(column, j * self._n + first)
        return numbers.T

    def _fill(self, numbers: NDArray[Any], first: int) -> None:
        """Fill a contiguous array with what is stored from number ``first`` on."""
        rest = numbers.reshape(-1).view(np.uint8).data
        at = self._offset + first * self._stored.itemsize
        with reading(self.path, _KIND):
            file = self._opened()
            while len(rest):
                # Linux gives no more than 2 GB at once.
                got = self._pread(file, rest, at)
                if not got:
                    raise MalformedFileError(
                        f"{self.path}: became shorter while it was read: it ends at byte {at}",
                        place={"file": str(self.path)},
                        hint="Wait until it is complete, then read it again.",
                    )
                rest, at = rest[got:], at + got

    def _pread(self, file: FileIO, into: memoryview, at: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(file.fileno(), [into], at)
        with self._lock:
            file.seek(at)
            return file.readinto(into)

    def _opened(self) -> FileIO:
        with self._lock:
            if self._file is None:
                self._file = FileIO(self.path)
            return self._file

    def close(self) -> None:
        """Close the file; the next ``read`` opens it again. Not while another thread reads."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def __del__(self) -> None:
        # Of a source whose making failed, nothing is there to be closed.
        if getattr(self, "_file", None) is not None:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _refuse_long_integers(self, numbers: NDArray[Any], first: int) -> None:
        # On the integers themselves: as float64, 2**53 + 1 is 2**53.
        if max(int(numbers.max()), -int(numbers.min())) <= LARGEST_INTEGER:
            return
        i, k = np.argwhere((numbers > LARGEST_INTEGER) | (numbers < -LARGEST_INTEGER))[0]
        name, row = str(self._indices[k]), first + int(i)
        raise long_integer(name, row, int(numbers[i, k]), Origin(self.file))

    def identities(self) -> tuple[Identity, ...]:
        """The file as it is now."""
        with reading(self.path, _KIND):
            return (Identity.of(self.path),)
