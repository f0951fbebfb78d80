"""Tables from .npz files, which can only be read whole."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.io.readers.array_lookup import (
    Member,
    numbered_columns,
    pick_array,
    refuse_id_column,
    refuse_not_table,
)
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.numpy_file import read_npy_header
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import Source, TableSource
from princomp.io.readers.stored_array import (
    as_csr,
    compressed_matrix,
    rounding_notes,
    to_floats,
    to_scipy_dtype,
)

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
    refuse_id_column(selection, "an .npz file", origin)
    with reading(path, "an .npz archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        members = _members(path, archive)
        layout = None if inside else _layout(path, archive, members)
        if layout is None:
            member = pick_array(list(members.values()), inside or None, origin)
        else:
            with reading(path, "a sparse matrix"):
                shape = tuple(int(length) for length in _array(archive, "shape"))
            member = Member("the sparse matrix", shape, members["data"].dtype)
            refuse_not_table(member, origin)
        column_indices = numbered_columns(member.shape[1], selection, origin)
        if layout is None:
            with reading(path, "an .npz archive"):
                array = _array(archive, member.name)
            data = to_floats(array, column_indices, origin)
        else:
            with reading(path, "a sparse matrix"):
                parts = {name: _array(archive, name) for name in members}
                data = as_csr(_assembled(layout, parts, member.shape), column_indices, origin)
    notes = (*member.notes, *rounding_notes(member.dtype))
    return TableSource(data, notes=notes, origin=origin)


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, Member]:
    """Names, shapes and dtypes of the arrays, from their headers only."""
    members = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name == entry.filename:
            continue
        with reading(path, "an .npz archive"), archive.open(entry) as file:
            shape, _, dtype = read_npy_header(cast(BinaryIO, file))
            available = entry.file_size - file.tell()
        members[name] = Member(name, shape, dtype)
        expected = dtype.itemsize * int(np.prod(shape, dtype=object))
        if expected != available and not dtype.hasobject:
            problem = f"its array {name} claims to have {expected:,} bytes but has {available:,}"
            raise malformed(path, problem)
    return members


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
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
        found = _array(archive, "format").item()
    text = found.decode("latin1") if isinstance(found, bytes) else str(found)
    return text if text in _SPARSE else None


def _assembled(layout: str, parts: dict[str, NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Assemble a sparse matrix from its parts; call it inside ``reading``."""
    values = to_scipy_dtype(parts["data"])
    if layout in ("csr", "csc"):
        return compressed_matrix(layout, (values, parts["indices"], parts["indptr"]), shape)
    if layout == "dia":
        return sp.dia_array((values, parts["offsets"]), shape=shape)
    if layout == "coo":
        coordinates = parts["coords"] if "coords" in parts else (parts["row"], parts["col"])
        return sp.coo_array((values, tuple(coordinates)), shape=shape)
    if parts["indptr"][-1] != len(values):
        raise ValueError("the sparse matrix is damaged: it has values beyond its rows")
    return sp.bsr_array((values, parts["indices"], parts["indptr"]), shape=shape)
