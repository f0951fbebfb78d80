"""Tables from AnnData files (.h5ad): a matrix, dense or sparse, with names of rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.io.readers.array_lookup import Member, pick_array, refuse_kind
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.h5ad_names import Names, column_names, row_names
from princomp.io.readers.h5ad_sparse import is_sparse, sparse_member, sparse_source
from princomp.io.readers.hdf5 import Hdf5Array, dataset_source, opened
from princomp.io.readers.reader_errors import need, reading
from princomp.io.readers.source import Source

if TYPE_CHECKING:
    import h5py

__all__ = ["open_h5ad"]


def open_h5ad(
    path: Path,
    selection: Selection,
    inside: str | None = None,
) -> Source:
    """Open the matrix X of an AnnData file, or another one in it.

    Parameters
    ----------
    path : Path
        Of the file, as any version of anndata writes it.
    selection : Selection
        Columns by the names in ``var``. A name that stands there more than once gets a number:
        "HBA", "HBA-1", "HBA-2". Columns without names have numbers. The id column is
        "obs_names", "_index", or what the index of ``obs`` is called: the names of the rows.
    inside : str, optional
        Another matrix: "layers/counts", "raw/X", "obsm/X_umap".

    Returns
    -------
    Source
        Of shape (n, p), float32 where the matrix is. A dense matrix or one in CSR is read
        row by row; one in CSC is held, if its stored numbers take at most 1 GB.

    Raises
    ------
    MissingLibraryError
        h5py is not installed.
    InputNotFoundError, MalformedFileError
        No such file; damaged, or no AnnData.
    ParameterError, ColumnError, ShapeError, NotNumericError
        No such matrix or column, no numbers, or a large matrix in CSC.
    """
    origin = Origin(str(path))
    with opened(path) as file:
        member = _member(path, file, (inside or "").strip("/") or "X", origin)
        names, notes = column_names(path, file, member)
        id_column = selection.id_column
        rows = None if id_column is None else row_names(path, file, id_column, member)
        with reading(path, "AnnData"):
            node = file[member.name]
            sparse = is_sparse(node)
        source: Source
        if sparse:
            source = sparse_source(path, file, member, names, selection, rows)
        else:
            source = dataset_source(
                path, node, member, names, selection, kind=_Dense, row_names=rows
            )
        source.id_column = id_column
        source.notes = (*notes, *source.notes)
        return source


def _member(path: Path, file: h5py.File, name: str, origin: Origin) -> Member:
    """The matrix of a name."""
    h5py = need("h5py", path)
    members: list[Member] = []

    def look(at: str, node: Any) -> None:
        if any(at.startswith(f"{member.name}/") for member in members):
            return  # the arrays of a sparse matrix
        if is_sparse(node):
            members.append(sparse_member(at, node))
        elif isinstance(node, h5py.Dataset):
            members.append(Member(at, node.shape or (), node.dtype))

    with reading(path, "AnnData"):
        # "raw/X" was "raw.X" in files of old.
        for known in (name, name.replace("raw/", "raw.", 1)):
            if known in file:
                name = known
                look(name, file[name])
        if not members:
            file.visititems(look)
    # Where the name is a group's, or that of nothing, tables alone are worth a word.
    if not any(member.name == name for member in members):
        members = [member for member in members if member.is_table]
    member = pick_array(members, name, origin)
    refuse_kind(member, origin)
    return member


@dataclass(kw_only=True, eq=False)
class _Dense(Hdf5Array):
    """A dense matrix, with names of its rows where they are wanted."""

    kind: str = "AnnData"
    row_names: Names | None = None

    def _ids(self, store: h5py.File, start: int, stop: int) -> NDArray[np.object_] | None:
        return None if self.row_names is None else self.row_names.read(store, start, stop)
