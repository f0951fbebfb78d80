"""Rows of the arrays and sparse matrices of a file: sources of them, and conversion to floats.

HDF5 and Zarr store arrays in tiles, and ``StoredArray`` reads each tile once where possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import MalformedFileError
from princomp.io.readers.array_lookup import Member, numbered_columns
from princomp.io.readers.cells import refuse_long_integers
from princomp.io.readers.chunk_plan import ChunkPlan, Tiling, column_ranges
from princomp.io.readers.columns import Origin, Selection, choose_columns
from princomp.io.readers.packing import Packing
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import Chunk, FileState, Source, file_state
from princomp.linalg import empty

if TYPE_CHECKING:
    from princomp.io.readers.h5ad import NamesLocation


def column_namer(
    columns: tuple[str, ...] | None, column_indices: NDArray[np.intp] | None
) -> Callable[[int], str]:
    """Function that names a used column in messages, by its name or its number in the file."""
    if columns is not None:
        return columns.__getitem__
    return lambda k: str(k if column_indices is None else int(column_indices[k]))


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype for rows: float32 for float32, float64 for all other dtypes."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def rounding_notes(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """A note that numbers were rounded, if they have more digits than float64."""
    long = dtype.kind == "f" and dtype.itemsize > 8
    return (f"rounded {dtype} to float64",) if long else ()


def to_floats(
    block: NDArray[Any],
    column_indices: NDArray[np.intp] | None,
    origin: Origin,
    label: Callable[[int], str] | None = None,
) -> NDArray[Any]:
    """Columns of a block as native floats in C order.

    ``label`` names the columns in messages; by default, they are called by their numbers.

    The block itself is returned if no conversion is needed.
    """
    chosen = block if column_indices is None else np.take(block, column_indices, axis=1)
    name = label or column_namer(None, column_indices)
    refuse_long_integers(chosen, lambda index: (name(index[1]), index[0]), origin)
    # A NaN of any bit pattern stays NaN; numbers too large for float64 become infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.ascontiguousarray(chosen, float_dtype(chosen.dtype))


def to_scipy_dtype(values: NDArray[Any]) -> NDArray[Any]:
    """Convert values to a dtype that SciPy computes with: floats, or integers of 8 bytes.

    Integers of 8 bytes are kept, so that an error can name the first one beyond 2**53.
    """
    wide = values.dtype.kind in "iu" and values.dtype.itemsize == 8
    dtype = values.dtype.newbyteorder("=") if wide else float_dtype(values.dtype)
    return values.astype(dtype, copy=False)


def compressed_matrix(layout: str, parts: Iterable[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Assemble a matrix in CSR or CSC format from its ``data``, ``indices`` and ``indptr``.

    Raises
    ------
    ValueError
        The parts do not fit together. SciPy itself would not refuse indices outside the
        matrix. Call this function inside ``reading``, which converts the error.
    """
    values, indices, ends = parts
    # Use indices of 4 bytes wherever they suffice: half the memory, and faster.
    dtype = np.int32 if max(*shape, len(values)) < 2**31 else np.int64
    length = shape[1] if layout == "csr" else shape[0]
    # Check before the conversion, which could turn an index out of range into a valid one.
    for array, bound in ((indices, length), (ends, len(values) + 1)):
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < bound:
            raise ValueError(f"the sparse matrix is damaged: an index is not in 0 to {bound - 1}")
    matrix_class = sp.csr_array if layout == "csr" else sp.csc_array
    indices, ends = (array.astype(dtype, copy=False) for array in (indices, ends))
    matrix = matrix_class((to_scipy_dtype(values), indices, ends), shape=shape)
    if (np.diff(matrix.indptr) < 0).any() or matrix.indptr[-1] != len(values):
        raise ValueError("the sparse matrix is damaged: its rows do not end one after the other")
    return matrix


def as_csr(
    matrix: Any,
    column_indices: NDArray[np.intp] | None,
    origin: Origin,
    label: Callable[[int], str] | None = None,
) -> Any:
    """Columns of a sparse matrix of any format as CSR with floats, sorted, duplicates summed.

    ``label`` names the chosen columns in messages; by default, they are called by their numbers.

    Raises
    ------
    NotNumericError
        An integer is beyond 2**53.
    """
    if matrix.format not in ("csr", "csc"):
        matrix = _entries_as_csr(matrix.tocoo(), column_indices, origin)
    chosen = matrix if column_indices is None else matrix[:, column_indices]
    name = label or column_namer(None, column_indices)

    def cell(index: tuple[int, ...]) -> tuple[str, int]:
        entries = chosen.tocoo()
        # tocoo keeps the order of the values.
        return name(int(entries.col[index[0]])), int(entries.row[index[0]])

    refuse_long_integers(chosen.data, cell, origin)
    rows = sp.csr_array(chosen.astype(float_dtype(chosen.dtype), copy=False))
    if not rows.has_canonical_format:
        rows.sum_duplicates()
    return rows


def _entries_as_csr(
    entries: sp.coo_array, column_indices: NDArray[np.intp] | None, origin: Origin
) -> sp.csr_array:
    """Entries of a matrix as CSR with floats, without those of unused columns."""
    row, column, values = entries.row, entries.col, entries.data
    if column_indices is not None:
        used = np.isin(column, column_indices)
        row, column, values = row[used], column[used], values[used]

    def cell(index: tuple[int, ...]) -> tuple[str, int]:
        return str(int(column[index[0]])), int(row[index[0]])

    # Convert before duplicates are summed, because a sum of integers could overflow.
    refuse_long_integers(values, cell, origin)
    values = values.astype(float_dtype(values.dtype), copy=False)
    return sp.csr_array((values, (row, column)), shape=entries.shape)


@dataclass(kw_only=True, eq=False)
class MemberSource(Source):
    """Rows of an array or a sparse matrix in a file or folder that may hold several.

    Parameters
    ----------
    path : Path
        The file or folder.
    kind : str
        The name of the format in messages.
    member : Member
        Name, shape and dtype of the array in the store.
    column_indices : ndarray of int, optional
        Positions of the p columns that are used; None for all.
    row_names : NamesLocation, optional
        Where the row names are, which are returned as ids.
    """

    path: Path
    kind: str
    member: Member
    column_indices: NDArray[np.intp] | None
    row_names: NamesLocation | None = None

    @classmethod
    def of(
        cls,
        path: Path,
        member: Member,
        names: Sequence[str] | None,
        selection: Selection,
        **more: Any,
    ) -> Self:
        """Make the source of an array whose columns have the given names, if any."""
        n, p = member.shape
        origin = Origin(str(path))
        columns: tuple[str, ...] | None = None
        unused: tuple[str, ...] = ()
        column_indices: NDArray[np.intp] | None = None
        if names is None:
            column_indices = numbered_columns(p, selection, origin)
        else:
            choice = choose_columns(names, selection._replace(id_column=None), origin)
            columns, unused = choice.names, choice.unused
            if columns != tuple(names):
                at = {name: j for j, name in enumerate(names)}
                column_indices = np.array([at[name] for name in columns])
        return cls(
            rows=n,
            p=p if column_indices is None else len(column_indices),
            dtype=float_dtype(member.dtype),
            columns=columns,
            unused=unused,
            notes=(*member.notes, *rounding_notes(member.dtype)),
            file=str(path),
            path=path,
            member=member,
            column_indices=column_indices,
            **more,
        )

    def current_states(self) -> tuple[FileState, ...]:
        """Current state of the file."""
        return file_state(self.path, self.kind)


@dataclass(kw_only=True, eq=False)
class StoredArray(MemberSource):
    """Rows of a two-dimensional array from which a library reads slices.

    Parameters
    ----------
    tiling : Tiling
        Layout of the array in the store.
    packing : Packing
        How its numbers become values.
    """

    tiling: Tiling
    packing: Packing
    plan: ChunkPlan = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n, p = self.member.shape
        self._column_ranges, self._positions = column_ranges(self.column_indices, p, self.tiling)
        self._width = sum(last - first for first, last in self._column_ranges)
        row_bytes = self._width * self.member.dtype.itemsize
        self.tiling = self.tiling._replace(tile_rows=min(self.tiling.tile_rows, n))
        self.plan = ChunkPlan.of(self.tiling, self._width, row_bytes)
        self.reader_bytes = type(self).reader_bytes + min(self.plan.rows_per_read, n) * row_bytes
        self.notes = (*self.notes, *self.packing.notes, *self.plan.notes(self.path))

    def _open_store(self) -> AbstractContextManager[Any]:
        """Open the store; each pass over the rows has its own handle."""
        raise NotImplementedError

    def _array(self, store: Any) -> Any:
        return store[self.member.name]

    def _load(self, array: Any, start: int, stop: int) -> NDArray[Any]:
        """Rows in the stored dtype, with all columns that must be read."""
        if len(self._column_ranges) == 1:
            first, last = self._column_ranges[0]
            return np.asarray(array[start:stop, first:last])
        block = empty((stop - start, self._width), array.dtype)
        position = 0
        for first, last in self._column_ranges:
            block[:, position : position + last - first] = array[start:stop, first:last]
            position += last - first
        return block

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on; each tile is read only once where possible."""
        label = column_namer(self.columns, self.column_indices)
        with self._open_store() as store:
            with reading(self.path, self.kind):
                array = self._array(store)
                shape = tuple(array.shape)
            if shape != self.member.shape:
                raise shape_changed_error(self.path)
            for first, last in self.plan.pieces(start, shape[0]):
                with reading(self.path, self.kind):
                    block = self._load(array, first, last)
                for first_row in range(first, last, self.plan.rows_per_chunk):
                    rows = block[first_row - first : first_row - first + self.plan.rows_per_chunk]
                    origin = Origin(self.file, offset=first_row)
                    data = self.packing.unpack(to_floats(rows, self._positions, origin, label))
                    if len(rows) < len(block) and np.may_share_memory(data, block):
                        data = data.copy()  # a view would keep the whole band in memory
                    stop = first_row + len(rows)
                    ids = None
                    if self.row_names is not None:
                        with reading(self.path, self.kind):
                            ids = self.row_names.read(store, first_row, stop)
                    del rows
                    if stop == last:
                        del block  # so that only one band is in memory during the next read
                    yield Chunk(data, ids)


def shape_changed_error(path: Path) -> MalformedFileError:
    """Make the error for an array whose shape changed since it was opened."""
    problem = "its rows or columns are no longer as many as when it was opened"
    return malformed(path, problem, "Wait until nobody writes to it, then start again.")
