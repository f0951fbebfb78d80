"""Tables in the .npy format: files with random access, and streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.io.readers.array_lookup import Member, refuse_id_column, refuse_not_table
from princomp.io.readers.cells import refuse_long_integers
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.reader_errors import file_error, malformed, reading
from princomp.io.readers.source import Chunk
from princomp.io.readers.stored_array import MemberSource, to_floats
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


def _read_header(file: BinaryIO, path: Path, selection: Selection) -> tuple[Member, bool]:
    """Shape and dtype of a matrix, and whether it is in Fortran order."""
    origin = Origin(str(path))
    refuse_id_column(selection, "an .npy file", origin)
    with reading(path, _KIND):
        shape, fortran, stored = read_npy_header(file)
    member = Member("the array", shape, stored)
    refuse_not_table(member, origin)
    return member, fortran and shape[1] > 1


def _refuse_second_array(path: Path, file: BinaryIO) -> None:
    """Refuse a file whose first array ends here and is followed by another."""
    with reading(path, _KIND):
        following = file.read(len(NPY_MAGIC))
    if following == NPY_MAGIC:
        hint = "Save each in a file of its own; several files are read as one table."
        raise malformed(path, "holds several arrays, one after another", hint)


def open_npy(path: Path, selection: Selection) -> NpySource:
    """Open a matrix stored by ``numpy.save``.

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
    with reading(path, _KIND), path.open("rb") as file:
        # Refuse zip archives and pickles, which numpy.load would also accept.
        if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
            raise malformed(path, "is not a NumPy array file", "Write it by numpy.save.")
        file.seek(0)
        member, fortran = _read_header(file, path, selection)
        offset = file.tell()
        available = os.fstat(file.fileno()).st_size - offset
        n, width = member.shape
        expected = n * width * member.dtype.itemsize
        if 0 <= expected < available:
            file.seek(offset + expected)
            _refuse_second_array(path, file)
    if min(n, width) < 0 or available < expected:
        raise malformed(
            path,
            f"its header announces {n} × {width} numbers ({member.dtype}) in "
            f"{expected} bytes, and {available} follow",
            "It may be cut short or still being written: create or download it again.",
        )
    return NpySource.of(path, member, None, selection, offset=offset, fortran=fortran)


@dataclass(kw_only=True, eq=False)
class NpySource(MemberSource):
    """Rows of a matrix in an .npy file.

    Rows are read, not memory-mapped, because mapped pages would count as memory of the
    process. The file is opened at the first ``read``, and closed with the source. Copies and
    unpickled sources open the file again.

    Parameters
    ----------
    offset : int
        Number of bytes before the first number.
    fortran : bool
        Whether the matrix is stored column by column.
    """

    rows: int
    kind: str = _KIND
    offset: int
    fortran: bool

    random_access = True
    reader_bytes = 0

    def __post_init__(self) -> None:
        width, used = self.member.shape[1], self.column_indices
        self._indices = list(range(width)) if used is None else used.tolist()
        # In C order, all columns are read, even those that are not used.
        columns_read = self.p if self.fortran else width
        self.nbytes = self.rows * columns_read * self.member.dtype.itemsize
        span = range(self._indices[0], self._indices[-1] + 1)
        # Indexing with a slice gives a view, with a list of columns it makes another copy.
        is_span = self._indices == list(span)
        self._column_selector = slice(span.start, span.stop) if is_span else self._indices
        self._reads_directly = (
            not self.fortran
            and self.member.dtype == self.dtype
            and self._indices == list(range(width))
        )
        self._file: FileIO | None = None
        self._lock = threading.Lock()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, (NUMBERS_PER_FORTRAN_CHUNK if self.fortran else NUMBERS_PER_CHUNK) // self.p)
        for first in range(start, self.rows, step):
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
        stop = min(stop, self.rows)
        block = empty((max(0, stop - start), self.p), self.dtype)
        if self._reads_directly:
            self._fill(block, start * self.p)
            return block
        if self.fortran:
            load, step = self._columns, NUMBERS_PER_FORTRAN_CHUNK // self.p
        else:
            load, step = self._rows, NUMBERS_PER_CHUNK // self.member.shape[1]
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
        width = self.member.shape[1]
        numbers = empty((last - first, width), self.member.dtype)
        self._fill(numbers, first * width)
        return numbers[:, self._column_selector]

    def _columns(self, first: int, last: int) -> NDArray[Any]:
        """Numbers in the dtype of the file, for a matrix stored column by column."""
        numbers = empty((self.p, last - first), self.member.dtype)
        for column, j in zip(numbers, self._indices, strict=True):
            self._fill(column, j * self.rows + first)
        return numbers.T

    def _fill(self, numbers: NDArray[Any], first: int) -> None:
        """Fill a contiguous array from the file, starting at its number ``first``."""
        remaining = numbers.reshape(-1).view(np.uint8).data
        offset = self.offset + first * numbers.itemsize
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


def open_piped_array(stream: BinaryIO, selection: Selection, path: Path) -> PipedArray:
    """Open an array in C order in a pipe that is called ``path`` in messages."""
    member, fortran = _read_header(stream, path, selection)
    if fortran and member.shape[0] > 1:
        problem = "the array is in Fortran order, its rows come last"
        hint = "Save numpy.ascontiguousarray(x), or give the name of the file instead."
        raise file_error(ParameterError, path, problem, hint)
    return PipedArray.of(path, member, None, selection, stream=stream)


@dataclass(kw_only=True, eq=False)
class PipedArray(MemberSource):
    """Rows of an array in C order from a stream in the .npy format."""

    kind: str = _KIND
    stream: BinaryIO

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        n, width = self.member.shape
        step = max(1, NUMBERS_PER_CHUNK // width)
        for first in range(0, n, step):
            with reading(self.path, _KIND):
                block = empty((min(step, n - first), width), self.member.dtype)
                n_read = cast(BufferedReader, self.stream).readinto(block.view(np.uint8).data)
            if n_read < block.nbytes:
                row = first + n_read * len(block) // block.nbytes
                hint = "It may be cut short: see whether the command before the pipe failed."
                raise malformed(self.path, f"ends after {row:,} of {n:,} rows", hint, row=row)
            skipped = max(0, start - first)
            if skipped < len(block):
                origin = Origin(self.file, offset=first + skipped)
                yield Chunk(to_floats(block[skipped:], self.column_indices, origin))
        _refuse_second_array(self.path, self.stream)
