"""Tables in the .npy format: files with random access, and streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.io.readers.array_lookup import (
    Member,
    numbered_columns,
    refuse_id_column,
    refuse_not_table,
)
from princomp.io.readers.cells import refuse_long_integers
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.reader_errors import file_error, malformed, reading
from princomp.io.readers.source import Chunk, FileState, Source, file_state
from princomp.io.readers.stored_array import float_dtype, rounding_notes, to_floats
from princomp.linalg import empty

NPY_MAGIC = b"\x93NUMPY"
_KIND = "a NumPy array"
# Numbers in a chunk, and in each read if the numbers must be converted or columns selected.
NUMBERS_PER_CHUNK = 2**18
# Numbers in a chunk of an array in Fortran order, where each column is read separately.
NUMBERS_PER_FORTRAN_CHUNK = 2**20


def read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype; call it inside ``reading``."""
    # Version 3 differs from 2 only in the names of record fields, which are refused anyway.
    first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    return read(file)


def _read_header(
    file: BinaryIO, path: Path, selection: Selection
) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype of a matrix."""
    origin = Origin(str(path))
    refuse_id_column(selection, "an .npy file", origin)
    with reading(path, _KIND):
        shape, fortran, stored = read_npy_header(file)
    refuse_not_table(Member("the array", shape, stored), origin)
    return (shape[0], shape[1]), fortran, stored


def _refuse_second_array(path: Path, file: BinaryIO) -> None:
    """Refuse a file whose first array ends here and is followed by another."""
    with reading(path, _KIND):
        following = file.read(len(NPY_MAGIC))
    if following == NPY_MAGIC:
        problem = "holds several arrays, one after another"
        hint = "Save each in a file of its own; several files are read as one table."
        raise malformed(path, problem, hint)


class NpySource(Source):
    """Rows of a matrix stored by ``numpy.save``.

    Rows are read, not memory-mapped, because mapped pages would count as memory of the
    process. The file is opened at the first ``read``, and closed with the source. Copies and
    unpickled sources open the file again.

    Raises
    ------
    ColumnError
        A column is not a number from 0 to p - 1.
    InputNotFoundError
        There is no such file.
    MalformedFileError
        The file is not in .npy format, or is shorter than its header says.
    NotNumericError, ShapeError
        The array does not hold real numbers, or is not a matrix with rows and columns.
    ParameterError
        An id column is requested, but the file holds only numbers.
    """

    random_access = True
    reader_bytes = 0
    rows: int

    def __init__(self, path: Path, selection: Selection) -> None:
        with reading(path, _KIND), path.open("rb") as file:
            # Refuse zip archives and pickles, which numpy.load would also accept.
            if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
                raise malformed(path, "is not a NumPy array file", "Write it by numpy.save.")
            file.seek(0)
            (n, width), fortran, stored = _read_header(file, path, selection)
            self._offset = file.tell()
            available = os.fstat(file.fileno()).st_size - self._offset
            expected = n * width * stored.itemsize
            if 0 <= expected < available:
                file.seek(self._offset + expected)
                _refuse_second_array(path, file)
        if min(n, width) < 0 or available < expected:
            raise malformed(
                path,
                f"its header announces {n} × {width} numbers ({stored}) in "
                f"{expected} bytes, and {available} follow",
                "It may be cut short or still being written: create or download it again.",
            )
        column_indices = numbered_columns(width, selection, Origin(str(path)))
        indices = list(range(width)) if column_indices is None else column_indices.tolist()
        super().__init__(
            rows=n,
            p=len(indices),
            dtype=float_dtype(stored),
            notes=rounding_notes(stored),
            file=str(path),
            # In C order, all columns are read, even those that are not used.
            nbytes=n * (len(indices) if fortran else width) * stored.itemsize,
        )
        self.path = path
        self._n, self._width, self._stored = n, width, stored
        self._fortran = fortran and width > 1
        self._indices = indices
        span = range(indices[0], indices[-1] + 1)
        # Indexing with a slice gives a view, with a list of columns it makes another copy.
        self._column_selector = slice(span.start, span.stop) if indices == list(span) else indices
        self._reads_directly = (
            not self._fortran and stored == self.dtype and indices == list(range(width))
        )
        self._file: FileIO | None = None
        self._lock = threading.Lock()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, (NUMBERS_PER_FORTRAN_CHUNK if self._fortran else NUMBERS_PER_CHUNK) // self.p)
        for first in range(start, self._n, step):
            yield self.read(first, first + step)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``, or to the last row; callable from any thread.

        Raises
        ------
        MalformedFileError
            The file has become shorter since it was opened.
        NotNumericError
            An integer is beyond 2**53.
        """
        return Chunk(self.load(start, stop, empty))

    def load(self, start: int, stop: int, empty: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        """The numbers of :meth:`read`, in an array made by ``empty``."""
        stop = min(stop, self._n)
        block = empty((max(0, stop - start), self.p), self.dtype)
        if self._reads_directly:
            self._fill(block, start * self._width)
            return block
        if self._fortran:
            load, step = self._columns, NUMBERS_PER_FORTRAN_CHUNK // self.p
        else:
            load, step = self._rows, NUMBERS_PER_CHUNK // self._width
        step = max(1, step)
        for first in range(start, stop, step):
            last = min(first + step, stop)
            numbers = load(first, last)
            origin = Origin(self.file, offset=first)
            refuse_long_integers(
                numbers, lambda index: (str(self._indices[index[1]]), index[0]), origin
            )
            # A NaN of any bit pattern stays NaN; numbers too large for float64 become infinite.
            with np.errstate(invalid="ignore", over="ignore"):
                block[first - start : last - start] = numbers
        return block

    def _rows(self, first: int, last: int) -> NDArray[Any]:
        """Numbers in the dtype of the file, for a matrix stored row by row."""
        numbers = empty((last - first, self._width), self._stored)
        self._fill(numbers, first * self._width)
        return numbers[:, self._column_selector]

    def _columns(self, first: int, last: int) -> NDArray[Any]:
        """Numbers in the dtype of the file, for a matrix stored column by column."""
        numbers = empty((self.p, last - first), self._stored)
        for column, j in zip(numbers, self._indices, strict=True):
            self._fill(column, j * self._n + first)
        return numbers.T

    def _fill(self, numbers: NDArray[Any], first: int) -> None:
        """Fill a contiguous array from the file, starting at its number ``first``."""
        remaining = numbers.reshape(-1).view(np.uint8).data
        offset = self._offset + first * self._stored.itemsize
        with reading(self.path, _KIND):
            file = self._open_file()
            while len(remaining):
                # Linux reads at most 2 GB per call.
                n_read = self._pread(file, remaining, offset)
                if not n_read:
                    problem = f"became shorter while it was read: it ends at byte {offset}"
                    hint = "Wait until it is complete, then read it again."
                    raise malformed(self.path, problem, hint)
                remaining, offset = remaining[n_read:], offset + n_read

    def _pread(self, file: FileIO, target: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(file.fileno(), [target], offset)
        with self._lock:
            file.seek(offset)
            return file.readinto(target)

    def _open_file(self) -> FileIO:
        with self._lock:
            if self._file is None:
                self._file = FileIO(self.path)
            return self._file

    def __del__(self) -> None:
        file = getattr(self, "_file", None)  # None, too, if __init__ failed
        if file is not None:
            file.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def current_states(self) -> tuple[FileState, ...]:
        """Current state of the file."""
        return file_state(self.path, _KIND)


class PipedArray(Source):
    """Rows of an array in C order from a stream in the .npy format."""

    def __init__(self, stream: BinaryIO, selection: Selection, path: Path) -> None:
        shape, fortran, stored = _read_header(stream, path, selection)
        if fortran and min(shape) > 1:
            problem = "the array is in Fortran order, its rows come last"
            hint = "Save numpy.ascontiguousarray(x), or give the name of the file instead."
            raise file_error(ParameterError, path, problem, hint)
        column_indices = numbered_columns(shape[1], selection, Origin(str(path)))
        self.path, self._stream = path, stream
        self._shape, self._stored, self._column_indices = shape, stored, column_indices
        super().__init__(
            rows=shape[0],
            p=shape[1] if column_indices is None else len(column_indices),
            dtype=float_dtype(stored),
            notes=rounding_notes(stored),
            file=str(path),
        )

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        n, p = self._shape
        step = max(1, NUMBERS_PER_CHUNK // p)
        for first in range(0, n, step):
            with reading(self.path, _KIND):
                block = empty((min(step, n - first), p), self._stored)
                n_read = cast(BufferedReader, self._stream).readinto(block.view(np.uint8).data)
            if n_read < block.nbytes:
                row = first + n_read * len(block) // block.nbytes
                problem = f"ends after {row:,} of {n:,} rows"
                hint = "It may be cut short: see whether the command before the pipe failed."
                raise malformed(self.path, problem, hint, row=row)
            skipped = max(0, start - first)
            if skipped < len(block):
                origin = Origin(self.file, offset=first + skipped)
                yield Chunk(to_floats(block[skipped:], self._column_indices, origin))
        _refuse_second_array(self.path, self._stream)
