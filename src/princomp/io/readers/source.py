"""Source: the protocol of all readers, which yield rows in chunks.

The format of a file decides only how its rows are split into chunks. The engine splits them again
into logical blocks by row number, so a table has the same summary from every source.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import InputChangedError, PrincompError
from princomp.io.readers.columns import Origin, RowPlace, plain_label
from princomp.io.readers.number_text import NumberFormat
from princomp.io.readers.reader_errors import reading
from princomp.summaries import is_sparse

# Rows that are copied from columns to C order at once, so that they stay in the CPU cache.
ROWS_PER_COPY = 4096
# Numbers in a piece of a checksum, if the rows are not contiguous.
_CHECKSUM_SIZE = 2**20

_UNKNOWN_ORIGIN = Origin()

# Rows (m, p) in memory, dense or CSR.
RowArray: TypeAlias = NDArray[Any] | sp.csr_array


class Chunk(NamedTuple):
    """Some consecutive rows.

    Parameters
    ----------
    data : ndarray (C order) or CSR array of shape (m, p)
        float32 or float64, as the source's ``dtype`` says; a missing cell is NaN.
        The receiver may keep the array, because the reader never writes to it again.
    ids : ndarray of object of shape (m,), optional
        Values of the id column.
    """

    data: Any
    ids: NDArray[np.object_] | None = None

    def part(self, start: int, stop: int | None = None) -> Chunk:
        """Rows ``start`` to ``stop`` of this chunk."""
        if not start and stop is None:
            return self
        return Chunk(self.data[start:stop], None if self.ids is None else self.ids[start:stop])

    @classmethod
    def joined(cls, chunks: Sequence[Chunk]) -> Chunk:
        """Concatenate chunks."""
        if len(chunks) == 1:
            return chunks[0]
        blocks = [chunk.data for chunk in chunks]
        ids = [chunk.ids for chunk in chunks if chunk.ids is not None]
        data = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
        return cls(data, np.concatenate(ids) if ids else None)


class FileState(NamedTuple):
    """Name, size and modification time of a file. If any of them differs, the file has changed."""

    file: str
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileState:
        """The state of a file now."""
        status = os.stat(path)
        return cls(os.fspath(path), status.st_size, status.st_mtime_ns)

    @classmethod
    def of_folder(cls, folder: Path) -> FileState:
        """Total bytes of all files in a folder, and the newest modification time."""
        size = newest = 0
        for _, status in files_below(folder):
            size, newest = size + status.st_size, max(newest, status.st_mtime_ns)
        return cls(str(folder), size, newest)


def files_below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """All files in a folder and its subfolders, each folder once if several links lead to it."""
    folders = [os.fspath(folder)]
    seen: set[str] = set()
    while folders:
        path = folders.pop()
        real_path = os.path.realpath(path)
        if real_path in seen:
            continue
        seen.add(real_path)
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    yield entry.path, entry.stat()


def file_state(path: Path, kind: str) -> tuple[FileState]:
    """The state of a file or folder now; ``kind`` names its format in errors."""
    with reading(path, kind):
        return (FileState.of_folder(path) if path.is_dir() else FileState.of(path),)


def refuse_changed(before: tuple[FileState, ...], now: tuple[FileState, ...]) -> None:
    """Refuse files that changed.

    Raises
    ------
    InputChangedError
        With the old and new size and time of the first file that changed.
    """
    for old, new in zip(before, now, strict=True):
        if old != new:
            problem = f"{old.file} changed while it was read: {_in_words(old)} before, "
            problem += f"{_in_words(new)} now"
            hint = "wait until the file is complete, then run again"
            raise InputChangedError(problem, place={"file": old.file}, hint=hint)


def _in_words(state: FileState) -> str:
    seconds = state.modified_ns / 1e9
    try:
        modified = datetime.fromtimestamp(seconds).isoformat(" ", "milliseconds")
    except (OverflowError, OSError, ValueError):  # outside datetime's range
        modified = f"second {seconds:,.3f} since 1970"
    return f"{state.size:,} bytes (modified {modified})"


def copy_columns(columns: Sequence[NDArray[Any]], block: NDArray[Any]) -> None:
    """Copy columns of length m to a block of shape (m, p) in C order."""
    with np.errstate(invalid="ignore"):  # a NaN of any bit pattern stays NaN
        for first in range(0, len(block), ROWS_PER_COPY):
            rows = slice(first, first + ROWS_PER_COPY)
            for j, column in enumerate(columns):
                block[rows, j] = column[rows]


def stored_arrays(rows: RowArray) -> tuple[NDArray[Any], ...]:
    """Return the arrays that hold rows, dense or CSR."""
    return (rows.data, rows.indices, rows.indptr) if is_sparse(rows) else (rows,)


def checksum(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the CRC-32 of all numbers, in 8 hexadecimal digits; it shows any changed row.

    It is computed at about 4 GB/s.
    """
    total = 0
    for array in arrays:
        step = max(1, _CHECKSUM_SIZE * len(array) // max(array.size, 1))
        for first in range(0, len(array), step):
            total = zlib.crc32(np.ascontiguousarray(array[first : first + step]).data, total)
    return f"{total:08x}"


@dataclass(kw_only=True, eq=False)
class Source:
    """Rows that are read chunk by chunk.

    A subclass implements ``chunks``. If it can read any rows without those before them,
    it also sets ``random_access`` and implements ``read``, which must be thread-safe.

    Parameters
    ----------
    rows : int or None
        Number of rows; None if it is known only after reading all of them.
    p : int
        Number of columns, at least one.
    dtype : numpy dtype
        The dtype of every chunk, float32 or float64.
    columns : tuple of str, optional
        The p column names; None if the input has none.
    id_column : str, optional
        The column that names the rows; each chunk has its values as ``ids``.
    notes : tuple of str
        Messages for the user, such as which text columns were left out.
    file : str, optional
        The name of the input in messages.
    unused : tuple of str
        Columns of the input that the user did not ask for, or a first one that counts the rows.
    stored : int, optional
        For sparse rows, the number of stored values; chunks are then CSR arrays.
    nbytes : int, optional
        Bytes of the input as it is read (of a compressed file, its compressed size).
    units : dict
        The unit, or "", of each column of a text that has numbers.
    kinds : dict
        What each column with cells holds, if its format has both: numbers, or true/false, which are
        read as 1 and 0. The id column holds numbers or row names (text, an index of pandas).
    number_format : NumberFormat, optional
        How a text writes numbers and missing cells, also in the id column; None if cells have
        types.
    na : tuple of str
        Further words for missing cells, as the user gave them.
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
    units: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    number_format: NumberFormat | None = None
    na: tuple[str, ...] = ()

    # Whether chunks() may be called again, and whether read() exists.
    repeatable = True
    random_access = False
    # Typical memory in bytes that the reading library itself uses, which is 40 to 180 MB.
    reader_bytes = 150 * 10**6
    # States of the files before they were opened, which ``open_source`` sets. Not annotated, so
    # that it does not become a dataclass field.
    states_at_open = tuple[FileState, ...]()
    # The chosen columns and read options in words, which ``open_source`` sets.
    selected = ""

    def properties(self) -> dict[str, Any]:
        """The parameters of this source, to construct another source of the same rows."""
        return {each.name: getattr(self, each.name) for each in fields(Source)}

    @property
    def shape(self) -> tuple[int | None, int]:
        """Number of rows, or None if unknown, and number of columns."""
        return self.rows, self.p

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, in order, in chunks of at least one row.

        A chunk has a moderate size (about 2 to 16 MB). Files are closed when the iterator
        ends or is closed.

        Raises
        ------
        MalformedFileError, NotNumericError
            With the place of the error.
        """
        raise NotImplementedError

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``, callable from any thread; requires ``random_access``."""
        raise NotImplementedError

    def load(self, start: int, stop: int, empty: Callable[..., NDArray[Any]]) -> Any:
        """The numbers of :meth:`read`; they may be in an array from ``empty(shape, dtype)``.

        ``empty`` may reuse memory, because allocating new memory costs more than reading into it.
        """
        return self.read(start, stop).data

    @property
    def row_origin(self) -> Origin:
        """Where the rows come from, for messages."""
        return Origin(self.file)

    def place_of(self, row: int) -> RowPlace:
        """Place of row number ``row``."""
        place = self.row_origin.place_of(row)
        if place.label is None and self.id_column is not None and self.repeatable:
            # An error in these rows is not the error that is being reported.
            with suppress(PrincompError, StopIteration):
                ids = next(self.chunks(row)).ids
                label = None if ids is None else plain_label(ids[0])
                place = place._replace(label=label)
        return place

    def checked_chunks(self) -> Iterator[Chunk]:
        """Yield all rows in chunks; after the last, raise an error if a file has changed.

        Raises
        ------
        InputChangedError
        """
        yield from self.chunks()
        self.file_states()

    def file_states(self) -> tuple[FileState, ...]:
        """Current states of the files that hold the rows; empty if there are no files.

        Raises
        ------
        InputChangedError
            A file has changed since just before it was opened.
        """
        now = self.current_states()
        if self.states_at_open:
            refuse_changed(self.states_at_open, now)
        return now

    def current_states(self) -> tuple[FileState, ...]:
        """Current states of the files, which readers of files override."""
        return ()

    def fingerprint(self) -> tuple[str, ...]:
        """What identifies rows besides the states of their files, before a pass over them.

        A checkpoint is refused for rows with another fingerprint.
        """
        return (self.selected,) if self.selected else ()


class TableSource(Source):
    """A table in memory, such as a frame or a small file read whole.

    Parameters
    ----------
    data : ndarray or CSR array of shape (n, p)
        The numbers, n ≥ 1 and p ≥ 1; float32 where every used column was
        float32, float64 otherwise. A missing cell is NaN; infinite values are kept.
    ids : ndarray of object of shape (n,), optional
        Unchanged values of the id column (text stays text); None where missing.
    origin : Origin
        Where the rows come from; if there are ids, they are the labels.
    **properties
        Names and notes, as in :class:`Source`.
    """

    random_access = True
    reader_bytes = 0

    def __init__(
        self,
        data: RowArray,
        *,
        ids: NDArray[np.object_] | None = None,
        origin: Origin = _UNKNOWN_ORIGIN,
        **properties: Any,
    ) -> None:
        n, p = data.shape
        stored = getattr(data, "nnz", None)
        nbytes = None if sp.issparse(data) else data.nbytes
        known = {"rows": n, "p": p, "dtype": data.dtype, "file": origin.file}
        super().__init__(stored=stored, nbytes=nbytes, **known, **properties)
        self.data, self.ids = data, ids
        self.origin = origin if ids is None else replace(origin, label_of=ids.__getitem__)

    @classmethod
    def of(cls, source: Source, rows: Chunk) -> TableSource:
        """All rows of a source, with its names and notes."""
        kept = ("columns", "id_column", "notes", "unused", "na")
        properties = {name: getattr(source, name) for name in kept}
        found = source.row_origin
        origin = Origin(source.file, found.line_of, of_model=found.of_model)
        return cls(rows.data, ids=rows.ids, origin=origin, **properties)

    @property
    def row_origin(self) -> Origin:
        """Where the rows come from."""
        return self.origin

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``."""
        return Chunk(self.data, self.ids).part(start, stop)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, 2**18 // self.p)
        for first in range(start, self.data.shape[0], step):
            yield self.read(first, first + step)

    def fingerprint(self) -> tuple[str, ...]:
        """Name, columns and checksum of the table, as a file that was read whole has no state."""
        names = np.frombuffer(repr(self.columns).encode(), np.uint8)
        found = checksum([*stored_arrays(self.data), names])
        table = f"{self.file or 'a table'} of shape {self.data.shape}, {self.data.dtype}"
        return (*super().fingerprint(), f"{table}, checksum {found}")


# Rows (n, p) in memory, or a source that is read block by block.
RowData: TypeAlias = RowArray | Source
