"""Tables from .npy files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.sources.cells import LARGEST_INTEGER, long_integer
from princomp.sources.columns import Origin, choose
from princomp.sources.faults import reading
from princomp.sources.table import Matrix, Table

__all__ = ["read_npy"]

_MAGIC = b"\x93NUMPY"


def read_npy(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Table:
    """Read the chosen columns, numbered from 0, of a matrix stored by ``numpy.save``."""
    origin = Origin(str(path))
    if id_column is not None:
        raise ParameterError(
            origin.say(f"id column {id_column!r}: an .npy file holds numbers only"),
            place=origin.place(parameter="id_column"),
            hint="Leave the id column out, or keep the table as CSV or Parquet.",
        )
    shape, kind = _header(path)
    _refuse_other_kinds(shape, kind, origin)
    p = shape[1]
    for name in (*(columns or ()), *exclude):
        if not (name.isascii() and name.isdigit() and name == str(int(name)) and int(name) < p):
            raise ColumnError(
                origin.say(f"no column {name!r}: an .npy file has no column names"),
                place=origin.place(column=name),
                hint=f"Give numbers from 0 to {p - 1}.",
            )
    choice = choose([str(j) for j in range(p)], columns, exclude, None, origin)
    indices = [int(name) for name in choice.names]
    notes: tuple[str, ...] = ()
    if kind.kind == "f" and kind.itemsize > 8:
        notes = (f"rounded {kind} to float64",)
    with reading(path, "a NumPy array"):
        # Mapped, so that the length is checked against the header before anything is
        # allocated, and only the chosen columns are ever copied.
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return Table(_numbers(mapped, indices, origin), notes=notes, file=str(path))


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype that the file claims to have."""
    with reading(path, "a NumPy array"), path.open("rb") as file:
        # numpy would take a zip or a pickle for something else to load.
        if file.read(len(_MAGIC)) != _MAGIC:
            raise MalformedFileError(
                f"{path}: is not a NumPy array file",
                place={"file": str(path)},
                hint="Write it by numpy.save.",
            )
        file.seek(0)
        # Version 3 differs from 2 only in names of record fields, which are refused anyway.
        first = np.lib.format.read_magic(file) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, kind = read(file)
    return shape, kind


def _refuse_other_kinds(shape: tuple[int, ...], dtype: np.dtype[Any], origin: Origin) -> None:
    if dtype.kind not in "biuf":
        kinds = {"V": "records of named fields", "c": "complex numbers", "O": "Python objects"}
        raise NotNumericError(
            origin.say(
                f"holds {kinds.get(dtype.kind, 'no numbers')} ({dtype}) "
                "where real numbers must stand"
            ),
            place=origin.place(),
            hint="Save a matrix of floats, or a table as Parquet.",
        )
    written = " × ".join(map(str, shape)) or "a single value"
    if len(shape) != 2:
        raise ShapeError(
            origin.say(f"has {len(shape)} dimensions ({written}); a table has rows and columns"),
            place=origin.place(),
            hint="Reshape it to two: x.reshape(-1, 1) makes one column of a vector.",
        )
    if 0 in shape:
        raise ShapeError(
            origin.say(f"no {'rows' if shape[0] == 0 else 'columns'} ({written})"),
            place=origin.place(),
            hint="Principal components need at least two rows of numbers.",
        )


def _numbers(array: NDArray[Any], indices: Sequence[int], origin: Origin) -> Matrix:
    """Copy columns into native float64, or float32 where they are float32."""
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    # Fortran order or not: kept as in the file, so that both are read in one sweep.
    order: Literal["C", "F"] = (
        "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    )
    data: Matrix = np.empty(
        (array.shape[0], len(indices)), np.float32 if single else np.float64, order=order
    )
    if indices == list(range(array.shape[1])):
        data[...] = array
    else:
        data[...] = array[:, indices]
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # As float64, 2**53 + 1 is 2**53: the suspects are looked at as integers.
        for i, k in np.argwhere(np.abs(data) >= LARGEST_INTEGER):
            value = int(array[i, indices[k]])
            if abs(value) > LARGEST_INTEGER:
                raise long_integer(str(indices[k]), int(i), value, origin)
    return data
