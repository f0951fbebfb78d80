"""Sparse matrices in AnnData files: CSR is read in chunks, CSC is converted in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.io.readers.array_lookup import Member
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.csr import as_csr, compressed_matrix
from princomp.io.readers.h5ad_names import NamesLocation
from princomp.io.readers.hdf5 import open_file
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import Chunk, Source, TableSource
from princomp.io.readers.stored_array import MemberSource, column_namer, shape_changed_error

# Stored numbers in a chunk: 12 MB as float64 with their column indices.
NUMBERS_PER_CHUNK = 2**20
# Row ends (indptr) read at once: 1 MB, so that few chunks are cut short where this block ends.
ROW_ENDS_PER_READ = 2**17
# Largest CSC matrix, in bytes of stored numbers and indices, that is converted in memory.
_MAX_CSC_BYTES = 10**9


def sparse_layout(node: h5py.Dataset | h5py.Group) -> str | None:
    """Layout of a sparse matrix, "csr" or "csc"; None for others. Call it inside ``reading``."""
    found = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", ""))
    text = found.decode() if isinstance(found, bytes) else str(found)
    return {"csr_matrix": "csr", "csr": "csr", "csc_matrix": "csc", "csc": "csc"}.get(text)


def sparse_member(name: str, node: h5py.Dataset | h5py.Group) -> Member:
    """Shape and dtype of a sparse matrix; call it inside ``reading``."""
    shape = node.attrs["shape"] if "shape" in node.attrs else node.attrs["h5sparse_shape"]
    return Member(name, tuple(int(length) for length in shape), node["data"].dtype)


@dataclass(kw_only=True, eq=False)
class SparseRows(MemberSource):
    """Rows of a CSR matrix in an HDF5 file.

    Parameters
    ----------
    cache : int
        Size of the HDF5 cache: the bytes of the largest HDF5 chunk of its arrays. An HDF5 chunk
        in the cache is decompressed only once, even if two row chunks share it.
    """

    kind: str = "AnnData"
    cache: int

    def __post_init__(self) -> None:
        # The cache of each of the two arrays holds an HDF5 chunk.
        self.reader_bytes = type(self).reader_bytes + 2 * self.cache

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on, about a million stored numbers per chunk."""
        n = self.rows or 0
        with open_file(self.path, self.cache) as file:
            with reading(self.path, "AnnData"):
                # Keep the datasets open until the end: their cache lasts only that long.
                parts = [file[self.member.name][name] for name in ("data", "indices", "indptr")]
            for block_start in range(start, n, ROW_ENDS_PER_READ):
                with reading(self.path, "AnnData"):
                    ends = parts[2][
                        block_start : min(block_start + ROW_ENDS_PER_READ, n) + 1
                    ].astype(np.int64)
                if len(ends) != min(ROW_ENDS_PER_READ, n - block_start) + 1:
                    raise shape_changed_error(self.path)
                first = 0
                while first < len(ends) - 1:
                    limit = ends[first] + NUMBERS_PER_CHUNK
                    last = max(first + 1, int(np.searchsorted(ends, limit, side="right")) - 1)
                    yield self._chunk(file, parts, ends[first : last + 1], block_start + first)
                    first = last

    def _chunk(
        self, file: h5py.File, parts: Sequence[h5py.Dataset], ends: NDArray[np.int64], first: int
    ) -> Chunk:
        ids = None
        with reading(self.path, "AnnData"):
            data, indices = (part[ends[0] : ends[-1]] for part in parts[:2])
            shape = (len(ends) - 1, self.member.shape[1])
            matrix = compressed_matrix("csr", data, indices, ends - ends[0], shape)
            if self.row_names is not None:
                ids = self.row_names.read(file, first, first + len(ends) - 1)
        return Chunk(self.used_columns(matrix, first), ids)

    def used_columns(self, matrix: Any, first: int) -> Any:
        """Convert the used columns of rows ``first`` and following to CSR with floats."""
        label = column_namer(self.columns, self.column_indices)
        return as_csr(matrix, self.column_indices, Origin(self.file, offset=first), label)


def sparse_source(
    path: Path,
    group: h5py.Group,
    layout: str,
    member: Member,
    names: Sequence[str] | None,
    selection: Selection,
    row_names: NamesLocation | None,
) -> Source:
    """Make the source of a sparse matrix whose columns have the given names, if any."""
    n, p = member.shape
    with reading(path, "AnnData"):
        arrays = [group[name] for name in ("data", "indices", "indptr")]
        n_stored, n_indices, n_ends = (array.shape[0] for array in arrays)
        total = int(arrays[2][-1]) if n_ends else 0
        cache = max(
            int(np.prod(array.chunks)) * array.dtype.itemsize if array.chunks else 0
            for array in arrays
        )
        nbytes = sum(array.id.get_storage_size() for array in arrays)
        integers = all(array.dtype.kind in "iu" for array in arrays[1:])
    n_lines = n if layout == "csr" else p
    if not integers or n_ends != n_lines + 1 or n_indices != n_stored or total != n_stored:
        raise malformed(
            path,
            f"the sparse matrix {member.name} is damaged: indptr, indices and data do not fit "
            "together",
            "Create or download the file again.",
        )
    source = SparseRows.of(
        path, member, names, selection, nbytes=nbytes, cache=cache, row_names=row_names
    )
    # The number in the chosen columns is unknown until all are read, so it is estimated.
    source.stored = n_stored if source.column_indices is None else round(n_stored * source.p / p)
    return source if layout == "csr" else _load_csc(source, group)


def _load_csc(source: SparseRows, group: h5py.Group) -> TableSource:
    """Load a matrix that is stored by columns (CSC), and convert it to CSR."""
    path, inside = source.path, source.member.name
    with reading(path, "AnnData"):
        nbytes = sum(
            group[name].shape[0] * group[name].dtype.itemsize for name in ("data", "indices")
        )
    if nbytes > _MAX_CSC_BYTES:
        raise ParameterError(
            f"{path}: {inside} is stored by columns (CSC) and takes {nbytes / 1e9:.1f} GB, "
            "so that it can neither be read row by row nor be held",
            place={"file": str(path), "parameter": "inside"},
            hint="Store it by rows: adata.X = scipy.sparse.csr_matrix(adata.X), then write it.",
        )
    with reading(path, "AnnData"):
        data, indices, ends = (group[name][...] for name in ("data", "indices", "indptr"))
        n, p = source.member.shape
        matrix = compressed_matrix("csc", data, indices, ends, (n, p))
        ids = None if source.row_names is None else source.row_names.read(group.file)
    return TableSource(
        source.used_columns(matrix, 0),
        ids=ids,
        columns=source.columns,
        notes=source.notes,
        file=source.file,
        unused=source.unused,
    )
