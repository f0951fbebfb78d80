"""Tables from AnnData files (.h5ad): a dense or sparse matrix with row and column names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py

from princomp.io.readers.array_lookup import Member, pick_array, refuse_not_table
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.h5ad_names import column_names, row_names
from princomp.io.readers.h5ad_sparse import sparse_layout, sparse_member, sparse_source
from princomp.io.readers.hdf5 import dataset_source, open_file
from princomp.io.readers.reader_errors import reading
from princomp.io.readers.source import Source


def open_h5ad(path: Path, selection: Selection, inside: str | None = None) -> Source:
    """Open the matrix X of an AnnData file, or another matrix in it.

    Parameters
    ----------
    path : Path
        The file, written by any version of anndata.
    selection : Selection
        Columns by the names in ``var``. Repeated names get numbers: "HBA", "HBA-1", "HBA-2".
        Columns without names are numbered. To use the row names as the id column, give
        "obs_names", "_index", or the name of the index of ``obs``.
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
        names, notes = column_names(path, file, member)
        id_column = selection.id_column
        rows = None if id_column is None else row_names(path, file, id_column, member)
        with reading(path, "AnnData"):
            node = file[member.name]
            layout = sparse_layout(node)
        source: Source
        if layout is None:
            source = dataset_source(
                path, node, member, names, selection, kind="AnnData", row_names=rows
            )
        else:
            source = sparse_source(path, node, layout, member, names, selection, rows)
        source.id_column = id_column
        source.notes = (*notes, *source.notes)
        return source


def _member(path: Path, file: h5py.File, name: str, origin: Origin) -> Member:
    """Find a matrix by its name."""
    members: list[Member] = []

    def visit(path_in_file: str, node: Any) -> None:
        if any(path_in_file.startswith(f"{member.name}/") for member in members):
            return  # the arrays of a sparse matrix
        if sparse_layout(node) is not None:
            members.append(sparse_member(path_in_file, node))
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
    member = pick_array(members, name, origin)
    refuse_not_table(member, origin)
    return member
