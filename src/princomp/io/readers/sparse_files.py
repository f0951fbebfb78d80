"""Tables from .npz and MatrixMarket files, which can only be read whole."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.io.readers.array_lookup import (
    Member,
    numbered_columns,
    pick_array,
    refuse_ids,
    refuse_kind,
)
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.csr import as_csr, compressed, plain
from princomp.io.readers.market_text import read_array, read_entries, read_head
from princomp.io.readers.numpy_file import read_npy_header
from princomp.io.readers.reader_errors import REMAKE, malformed, reading
from princomp.io.readers.source import Source, TableSource
from princomp.io.readers.stored_array import float_kind, floats, labels, refuse_long, rounding
from princomp.io.readers.table import Table

__all__ = ["open_matrix_market", "open_npz"]

_SPARSE = ("csr", "csc", "bsr", "dia", "coo")


def open_npz(path: Path, selection: Selection, inside: str | None = None) -> Source:
    """Read a sparse matrix of ``scipy.sparse.save_npz``, or an array of ``numpy.savez``.

    Parameters
    ----------
    path : Path
        The file.
    selection : Selection
        Columns by number. There is no id column.
    inside : str, optional
        Name of the array; required if the file holds several two-dimensional arrays.

    Returns
    -------
    TableSource
        Rows of shape (n, p), as CSR for a sparse matrix of any format.

    Raises
    ------
    InputNotFoundError, MalformedFileError
        The file does not exist, is damaged, or has another format.
    ParameterError
        No array or several arrays fit; the message lists them.
    ColumnError, ShapeError, NotNumericError
        A column does not exist, or the array is not a table of real numbers.
    """
    origin = Origin(str(path))
    refuse_ids(selection, "an .npz file", origin)
    with reading(path, "an .npz archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        members = _members(path, archive)
        layout = _layout(path, archive, members)
        if layout is None:
            member = pick_array(list(members.values()), inside or None, origin)
        elif inside:
            raise ParameterError(
                origin.say(f"holds one sparse matrix, and nothing named {inside!r}"),
                place=origin.place(parameter="inside"),
                hint=f"Give {path} alone.",
            )
        else:
            with reading(path, "a sparse matrix"):
                shape = tuple(int(length) for length in _array(path, archive, "shape"))
            member = Member("the sparse matrix", shape, members["data"].dtype)
            refuse_kind(member, origin)
        taken = numbered_columns(member.shape[1], selection, origin)
        data: Any
        if layout is None:
            with reading(path, "an .npz archive"):
                array = _array(path, archive, member.name)
            data = floats(array, taken, 0, labels(None, taken), origin)
        else:
            with reading(path, "a sparse matrix"):
                matrix = _assembled(
                    layout, {name: _array(path, archive, name) for name in members}, member.shape
                )
            data = _rows(path, matrix, taken, origin)
    return TableSource(Table(data, notes=rounding(member.dtype), file=str(path)))


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, Member]:
    """Names, shapes and dtypes of the arrays, from their headers only."""
    members = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name == entry.filename:
            continue
        with reading(path, "an .npz archive"), archive.open(entry) as file:
            shape, _, dtype = read_npy_header(cast(BinaryIO, file))
            held = entry.file_size - file.tell()
        members[name] = Member(name, shape, dtype)
        claimed = dtype.itemsize * int(np.prod(shape, dtype=object))
        if claimed != held and not dtype.hasobject:
            raise malformed(
                path, f"its array {name} claims to have {claimed:,} bytes but has {held:,}", REMAKE
            )
    return members


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read a whole array; call it inside ``reading``."""
    with archive.open(f"{name}.npy") as file:
        array = np.lib.format.read_array(cast(BinaryIO, file), allow_pickle=False)
        # zipfile compares the checksum only at the end, which may come after the last number.
        file.read(1)
    return np.asarray(array)


def _layout(path: Path, archive: zipfile.ZipFile, members: dict[str, Member]) -> str | None:
    """The format of the sparse matrix; None if the file does not hold one."""
    if not {"format", "shape", "data"} <= members.keys() or members["format"].shape != ():
        return None
    with reading(path, "an .npz archive"):
        found = _array(path, archive, "format").item()
    text = found.decode("latin1") if isinstance(found, bytes) else str(found)
    return text if text in _SPARSE else None


def _assembled(layout: str, parts: dict[str, NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Assemble a sparse matrix from its parts; call it inside ``reading``."""
    values = plain(parts["data"])
    size = (shape[0], shape[1])
    if layout in ("csr", "csc"):
        return compressed(layout, values, parts["indices"], parts["indptr"], size)
    if layout == "dia":
        return sp.dia_array((values, parts["offsets"]), shape=size)
    if layout == "coo":
        places = parts["coords"] if "coords" in parts else (parts["row"], parts["col"])
        return sp.coo_array((values, tuple(places)), shape=size)
    if parts["indptr"][-1] != len(values):
        raise ValueError("the sparse matrix is damaged: it has values beyond its rows")
    return sp.bsr_array((values, parts["indices"], parts["indptr"]), shape=size)


def open_matrix_market(path: Path, selection: Selection) -> Source:
    """Read a MatrixMarket file, uncompressed or compressed with gzip.

    Parameters
    ----------
    path : Path
        The file (.mtx, .mtx.gz). The rows of the matrix are the rows of the table.
    selection : Selection
        Columns by number. There is no id column.

    Returns
    -------
    TableSource
        Rows of shape (n, p), float64; CSR if the file is in coordinate format. In a file
        without values ("pattern"), each entry is 1.

    Raises
    ------
    MissingLibraryError
        pyarrow is not installed.
    InputNotFoundError, MalformedFileError
        The file does not exist, is damaged, or has another format.
    ColumnError, ShapeError, NotNumericError
        A column does not exist, there are no rows, or the numbers are complex.
    """
    origin = Origin(str(path))
    refuse_ids(selection, "a MatrixMarket file", origin)
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with reading(path, "MatrixMarket"):
        opened = opener(path, "rb")
    data: Any
    with opened as file:
        head = read_head(path, file)
        member = Member("the matrix", head.shape, head.dtype)
        refuse_kind(member, origin)
        taken = numbered_columns(head.shape[1], selection, origin)
        if head.entries is None:
            data = floats(read_array(path, file, head), taken, 0, labels(None, taken), origin)
        else:
            row, column, values = read_entries(path, file, head)
            matrix = sp.coo_array((values, (row, column)), shape=head.shape)
            data = _rows(path, matrix, taken, origin)
    return TableSource(Table(data, file=str(path)))


def _rows(path: Path, matrix: Any, taken: NDArray[np.intp] | None, origin: Origin) -> Any:
    """Convert a sparse matrix of any format to CSR with floats."""
    with reading(path, "a sparse matrix"):
        if matrix.format not in ("csr", "csc"):
            entries = matrix.tocoo()
            row, column, values = entries.row, entries.col, entries.data
            if taken is not None:
                kept = np.isin(column, taken)
                row, column, values = row[kept], column[kept], values[kept]
            # Convert before duplicates are summed, because a sum of integers could overflow.
            refuse_long(values, lambda at: (str(int(column[at[0]])), int(row[at[0]])), origin)
            values = values.astype(float_kind(values.dtype), copy=False)
            matrix = sp.csr_array((values, (row, column)), shape=matrix.shape)
        return as_csr(matrix, taken, 0, labels(None, taken), origin)
