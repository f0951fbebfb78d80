"""Tables from AnnData files (.h5ad): a dense or sparse matrix with row and column names.

A sparse matrix stored by rows (CSR) is read in chunks; one stored by columns (CSC) is converted in
memory. Files of all versions of anndata are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, MalformedFileError, ParameterError, did_you_mean
from princomp.io.readers.array_lookup import Member, pick_array
from princomp.io.readers.columns import Origin, Selection, listed
from princomp.io.readers.hdf5 import dataset_source, open_file
from princomp.io.readers.reader_errors import file_error, malformed, reading
from princomp.io.readers.source import Chunk, Source, TableSource
from princomp.io.readers.stored_array import (
    MemberSource,
    as_csr,
    column_namer,
    compressed_matrix,
    shape_changed_error,
)

# Stored numbers in a chunk: 12 MB as float64 with their column indices.
NUMBERS_PER_CHUNK = 2**20
# Row ends (indptr) read at once: 1 MB, so that few chunks are cut short where this block ends.
ROW_ENDS_PER_READ = 2**17
# Largest CSC matrix, in bytes of stored numbers and indices, that is converted in memory.
_MAX_CSC_BYTES = 10**9


def open_h5ad(path: Path, selection: Selection, inside: str | None = None) -> Source:
    """Open the matrix X of an AnnData file, or another matrix in it.

    Parameters
    ----------
    path : Path
        The file, written by any version of anndata.
    selection : Selection
        Columns by the names in ``var``. Repeated names get numbers: "HBA", "HBA-1", "HBA-2".
        Columns without names are numbered. The id column with the row names is "obs_names",
        "_index", or the name of the index of ``obs``.
    inside : str, optional
        Another matrix, such as "layers/counts", "raw/X" or "obsm/X_umap".

    Returns
    -------
    Source
        Rows of shape (n, p); float32 if the matrix is float32. A dense or CSR matrix is read
        in chunks of rows; a CSC matrix is loaded into memory, if its stored numbers take at
        most 1 GB.

    Raises
    ------
    MissingLibraryError
        h5py is not installed.
    InputNotFoundError, MalformedFileError
        The file does not exist, is damaged, or is not an AnnData file.
    ParameterError, ColumnError, ShapeError, NotNumericError
        The matrix or a column does not exist, the matrix does not hold numbers, or it is a
        large CSC matrix.
    """
    origin = Origin(str(path))
    with open_file(path) as file:
        member = _member(path, file, (inside or "").strip("/") or "X", origin)
        names, notes = _column_names(path, file, member)
        id_column, rows = _row_names(path, file, selection, member)
        with reading(path, "AnnData"):
            node = file[member.name]
            layout = _sparse_layout(node)
        source: Source
        if layout is None:
            source = dataset_source(
                path, node, member, names, selection, kind="AnnData", row_names=rows
            )
        else:
            source = _sparse_source(path, node, layout, member, names, selection, rows)
        source.id_column = id_column
        source.notes = (*notes, *source.notes)
        return source


def _member(path: Path, file: h5py.File, name: str, origin: Origin) -> Member:
    """Find a matrix by its name."""
    members: list[Member] = []

    def visit(path_in_file: str, node: Any) -> None:
        if members and path_in_file.startswith(f"{members[-1].name}/"):
            return  # the arrays of a sparse matrix, which are visited right after it
        if _sparse_layout(node) is not None:
            shape = node.attrs["shape"] if "shape" in node.attrs else node.attrs["h5sparse_shape"]
            shape = tuple(int(length) for length in shape)
            members.append(Member(path_in_file, shape, node["data"].dtype))
        elif isinstance(node, h5py.Dataset):
            members.append(Member(path_in_file, node.shape or (), node.dtype))

    with reading(path, "AnnData"):
        # Old files have "raw.X" instead of "raw/X".
        for known in (name, name.replace("raw/", "raw.", 1)):
            if known in file:
                name = known
                visit(name, file[name])
        if not members:
            file.visititems(visit)
    # If the name is that of a group or does not exist, only tables are candidates.
    if not any(member.name == name for member in members):
        members = [member for member in members if member.is_table]
    return pick_array(members, name, origin)


# ---- names -------------------------------------------------------------------------------


class NamesLocation(NamedTuple):
    """Location of names: a dataset, or a field of a dataset of records."""

    node: str
    field: str | None
    # Name of the index.
    index_name: str

    def read(self, file: h5py.File, start: int = 0, stop: int | None = None) -> NDArray[np.object_]:
        """Names ``start`` to ``stop`` as strings; call it inside ``reading``."""
        dataset = file[self.node]
        if self.field is not None:
            dataset = dataset.fields(self.field)
        elif dataset.dtype.kind in "OS":
            dataset = dataset.asstr()
        # Fields of records hold bytes, and indices may be numbers.
        texts = [x.decode() if isinstance(x, bytes) else str(x) for x in dataset[start:stop]]
        return np.array(texts, object)


def _column_names(
    path: Path, file: h5py.File, member: Member
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Unique column names of a matrix, None if it has none, and a note if any were repeated."""
    where = {"X": "var", "raw/X": "raw/var", "raw.X": "raw.var"}.get(member.name)
    if member.name.startswith("layers/"):
        where = "var"
    if where is None:
        return None, ()
    with reading(path, "AnnData"):
        index = _find_index(file, where)
        if index is None:
            return None, ()
        names = index.read(file).tolist()
    if len(names) != member.shape[1]:
        raise _length_error(path, where, len(names), "columns", member)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if not repeated:
        return tuple(names), ()
    repeated_names = f"{len(repeated)} repeated column name{'s' if len(repeated) > 1 else ''}"
    return _made_unique(names), (f"numbered {repeated_names}: {listed(repeated)}",)


def _made_unique(names: list[str]) -> tuple[str, ...]:
    """Make names unique, as AnnData users expect: "a", "a" become "a", "a-1"."""
    used = set(names)
    counts: Counter[str] = Counter()
    unique = []
    for name in names:
        new = name
        if counts[name]:
            while new in used:
                new = f"{name}-{counts[name]}"
                counts[name] += 1
            used.add(new)
        else:
            counts[name] = 1
        unique.append(new)
    return tuple(unique)


def _row_names(
    path: Path, file: h5py.File, selection: Selection, rows: Member
) -> tuple[str | None, NamesLocation | None]:
    """The id column, and the location of the row names, if they are asked for or found.

    Raises
    ------
    ColumnError
        The id column is not the name of the index, or there are no row names.
    """
    id_column = selection.id_column
    are_variables = "varm/" in rows.name or "varp/" in rows.name
    if id_column is None and (are_variables or not selection.find_ids):
        return None, None
    with reading(path, "AnnData"):
        index = _find_index(file, "obs")
        length = 0 if index is None else int(file[index.node].shape[0])
    if id_column is None:
        return (None, None) if length != rows.shape[0] else ("obs_names", index)
    problem = f"no id column {id_column!r}"
    if index is None:
        problem += ": its rows have no names"
        raise file_error(ColumnError, path, problem, "Leave the id column out.", column=id_column)
    if id_column not in ("obs_names", "_index", index.index_name):
        alternative = "" if index.index_name == "_index" else f" or {index.index_name!r}"
        hint = f"Use id_column='obs_names'{alternative}."
        raise file_error(ColumnError, path, problem, hint, column=id_column)
    if length != rows.shape[0]:
        raise _length_error(path, "obs", length, "rows", rows)
    return id_column, index


def _find_index(file: h5py.File, where: str) -> NamesLocation | None:
    """The index of a frame, which is a group or, until 2019, a dataset of records."""
    if where not in file:
        return None
    frame = file[where]
    if isinstance(frame, h5py.Dataset):
        fields = frame.dtype.names or ()
        known = [name for name in ("_index", "index", *fields[:1]) if name in fields]
        return NamesLocation(where, known[0], known[0]) if known else None
    index_name = frame.attrs.get("_index", "_index")
    index_name = index_name.decode() if isinstance(index_name, bytes) else str(index_name)
    if index_name not in frame:
        return None
    node = frame[index_name]
    # Text that allows missing values is stored as a group with values and a mask.
    inner = "/values" if isinstance(node, h5py.Group) else ""
    return NamesLocation(f"{where}/{index_name}{inner}", None, index_name)


def _length_error(
    path: Path, where: str, length: int, what: str, member: Member
) -> MalformedFileError:
    axis = 0 if what == "rows" else 1
    problem = f"{where} names {length:,} {what}, but {member.name} has {member.shape[axis]:,}"
    return malformed(path, problem, "The file is not as anndata writes it: create it again.")


def obs_column(path: Path, name: str) -> NDArray[np.object_]:
    """Cells of a column of ``obs``; category names for categoricals, None where missing.

    Raises
    ------
    ColumnError
        There is no such column.
    """
    with reading(path, "AnnData"), h5py.File(path, "r") as file:
        obs = file.get("obs")
        known = [] if obs is None or isinstance(obs, h5py.Dataset) else list(obs)
        if name not in known:
            hint = f"{did_you_mean(name, known)}It has {listed(known) or 'none'}."
            raise file_error(ColumnError, path, f"obs has no column {name!r}", hint, column=name)
        node = obs[name]

        def cells_of(node: h5py.Dataset | h5py.Group) -> NDArray[np.object_]:
            if isinstance(node, h5py.Group):  # cells that may be missing
                cells = cells_of(node["values"])
                cells[node["mask"][:]] = None
                return cells
            text = h5py.check_string_dtype(node.dtype)
            return np.asarray(node.asstr()[:] if text else node[:], dtype=object)

        def named(codes: h5py.Dataset, names: h5py.Dataset | h5py.Group) -> NDArray[np.object_]:
            # A missing cell has the code -1, which selects the None at the end.
            # Categories may be numbers, such as those of clusters; they are still labels.
            labels = [None if cell is None else str(cell) for cell in cells_of(names)]
            return np.array([*labels, None], object)[codes[:]]

        if isinstance(node, h5py.Dataset):
            names = node.attrs.get("categories")  # until anndata 0.7
            return named(node, file[names]) if isinstance(names, h5py.Reference) else cells_of(node)
        if "codes" in node:
            return named(node["codes"], node["categories"])
        return cells_of(node)


# ---- sparse matrices ---------------------------------------------------------------------


def _sparse_layout(node: h5py.Dataset | h5py.Group) -> str | None:
    """Layout of a sparse matrix, "csr" or "csc"; None for others. Call it inside ``reading``."""
    found = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", ""))
    text = found.decode() if isinstance(found, bytes) else str(found)
    return {"csr_matrix": "csr", "csr": "csr", "csc_matrix": "csc", "csc": "csc"}.get(text)


@dataclass(kw_only=True, eq=False)
class _SparseRows(MemberSource):
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
                block_stop = min(block_start + ROW_ENDS_PER_READ, n)
                with reading(self.path, "AnnData"):
                    ends = parts[2][block_start : block_stop + 1].astype(np.int64)
                if len(ends) != block_stop - block_start + 1:
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
            matrix = compressed_matrix("csr", (data, indices, ends - ends[0]), shape)
            if self.row_names is not None:
                ids = self.row_names.read(file, first, first + len(ends) - 1)
        return Chunk(self.used_columns(matrix, first), ids)

    def used_columns(self, matrix: Any, first: int) -> Any:
        """Convert the used columns of rows ``first`` and following to CSR with floats."""
        label = column_namer(self.columns, self.column_indices)
        return as_csr(matrix, self.column_indices, Origin(self.file, offset=first), label)


def _sparse_source(
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
        what = f"the sparse matrix {member.name} is damaged"
        problem = f"{what}: indptr, indices and data do not fit together"
        raise malformed(path, problem, "Create or download the file again.")
    source = _SparseRows.of(
        path, member, names, selection, nbytes=nbytes, cache=cache, row_names=row_names
    )
    # The number in the chosen columns is unknown until all are read, so it is estimated.
    source.stored = n_stored if source.column_indices is None else round(n_stored * source.p / p)
    return source if layout == "csr" else _load_csc(source, arrays)


def _load_csc(source: _SparseRows, arrays: Sequence[h5py.Dataset]) -> TableSource:
    """Load a matrix that is stored by columns (CSC), and convert it to CSR."""
    path, inside = source.path, source.member.name
    nbytes = sum(array.shape[0] * array.dtype.itemsize for array in arrays[:2])
    if nbytes > _MAX_CSC_BYTES:
        problem = f"{inside} is stored by columns (CSC) and takes {nbytes / 1e9:.1f} GB, "
        problem += "so that it can neither be read row by row nor be held"
        hint = "Store it by rows: adata.X = scipy.sparse.csr_matrix(adata.X), then write it."
        raise file_error(ParameterError, path, problem, hint, parameter="inside")
    with reading(path, "AnnData"):
        parts = (array[...] for array in arrays)
        matrix = compressed_matrix("csc", parts, source.member.shape)
        ids = None if source.row_names is None else source.row_names.read(arrays[0].file)
    return TableSource.of(source, Chunk(source.used_columns(matrix, 0), ids))
