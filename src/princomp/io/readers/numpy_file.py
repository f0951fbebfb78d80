"""Tables in the .npy format: files, in chunks from any row on, and streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.io.readers.array_lookup import Member, numbered_columns, refuse_ids, refuse_kind
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import Chunk, FileState, Source
from princomp.io.readers.stored_array import float_kind, floats, labels, refuse_long, rounding
from princomp.linalg import empty

__all__ = ["NPY_MAGIC", "NpySource", "PipedArray", "open_npy", "read_npy_header"]

NPY_MAGIC = b"\x93NUMPY"
_KIND = "a NumPy array"
# Numbers in a chunk, and in what is read at a time where more than copying is to be done.
_NUMBERS = 2**18
# Numbers in a chunk in Fortran order, where each column is read by itself.
_NUMBERS_BY_COLUMN = 2**20


def open_npy(path: Path, selection: Selection) -> NpySource:
    """Open a matrix stored by ``numpy.save``.

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
    refuse_ids(selection, "an .npy file", origin)
    with reading(path, _KIND), path.open("rb") as file:
        # numpy would take a zip or a pickle for something else to load.
        if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
            raise malformed(path, "is not a NumPy array file", "Write it by numpy.save.")
        file.seek(0)
        shape, fortran, stored = read_npy_header(file)
        offset = file.tell()
        held = os.fstat(file.fileno()).st_size - offset
    refuse_kind(Member("the array", shape, stored), origin)
    promised = shape[0] * shape[1] * stored.itemsize
    if min(shape) < 0 or held < promised:
        raise malformed(
            path,
            f"its header announces {shape[0]} × {shape[1]} numbers ({stored}) in "
            f"{promised} bytes, and {held} follow",
            "It may be cut short or still being written: create or download it again.",
        )
    taken = numbered_columns(shape[1], selection, origin)
    return NpySource(path, (shape[0], shape[1]), fortran, stored, offset, taken)


def read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order or not, and dtype; to be called inside of ``reading``."""
    # Version 3 differs from 2 only in names of record fields, which are refused anyway.
    first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    return read(file)


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
    taken : ndarray of int, optional
        Columns to use; all by default.
    """

    random_access = True
    reader = 0
    rows: int

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        fortran: bool,
        stored: np.dtype[Any],
        offset: int,
        taken: NDArray[np.intp] | None,
    ) -> None:
        n, width = shape
        indices = list(range(width)) if taken is None else taken.tolist()
        super().__init__(
            rows=n,
            p=len(indices),
            dtype=float_kind(stored),
            notes=rounding(stored),
            file=str(path),
            # In C order all columns are read, used or not.
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
        stop, origin = min(stop, self._n), Origin(self.file)
        block = empty((max(0, stop - start), self.p), self.dtype)
        if self._as_stored:
            self._fill(block, start * self._width)
            return block
        load = self._columns if self._fortran else self._rows
        step = max(1, _NUMBERS_BY_COLUMN // self.p if self._fortran else _NUMBERS // self._width)
        for first in range(start, stop, step):
            last = min(first + step, stop)
            numbers = load(first, last)
            refuse_long(numbers, partial(self._cell, first), origin)
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
                    raise malformed(
                        self.path,
                        f"became shorter while it was read: it ends at byte {at}",
                        "Wait until it is complete, then read it again.",
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
        # If __init__ failed, there is nothing to close.
        if getattr(self, "_file", None) is not None:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _cell(self, first: int, index: tuple[int, ...]) -> tuple[str, int]:
        return str(self._indices[index[1]]), first + index[0]

    def current_states(self) -> tuple[FileState, ...]:
        """The file as it is now."""
        with reading(self.path, _KIND):
            return (FileState.of(self.path),)


class PipedArray(Source):
    """Rows of an array as numpy.save writes it, in C order."""

    def __init__(
        self,
        stream: BinaryIO,
        selection: Selection,
        path: Path,
    ) -> None:
        origin = Origin(str(path))
        refuse_ids(selection, "an .npy file", origin)
        with reading(path, _KIND):
            shape, by_columns, kind = read_npy_header(stream)
        refuse_kind(Member("the array", shape, kind), origin)
        if by_columns and min(shape) > 1:
            raise ParameterError(
                f"{path}: the array is in Fortran order, its rows come last",
                place={"file": str(path)},
                hint="Save numpy.ascontiguousarray(x), or give the name of the file instead.",
            )
        self.path = path
        self._stream = stream
        self._shape, self._kind = shape, kind
        self._taken = numbered_columns(shape[1], selection, origin)
        super().__init__(
            rows=shape[0],
            p=shape[1] if self._taken is None else len(self._taken),
            dtype=float_kind(kind),
            notes=rounding(kind),
            file=str(path),
        )

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        origin, label = Origin(self.file), labels(None, self._taken)
        n, p = self._shape
        step = max(1, _NUMBERS // p)
        for first in range(0, n, step):
            with reading(self.path, _KIND):
                block = empty((min(step, n - first), p), self._kind)
                got = cast(BufferedReader, self._stream).readinto(block.view(np.uint8).data)
            if got < block.nbytes:
                row = first + got * len(block) // block.nbytes
                raise malformed(
                    self.path,
                    f"ends after {row:,} of {n:,} rows",
                    "It may be cut short: see whether the command before the pipe failed.",
                    row=row,
                )
            before = max(0, start - first)
            if before < len(block):
                yield Chunk(floats(block[before:], self._taken, first + before, label, origin))
