"""Rows from files, by the ending of their name: read whole where small, else chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from princomp.errors import InputNotFoundError, ParameterError
from princomp.sources.columnar import read_arrow, read_parquet
from princomp.sources.delimited import read_delimited
from princomp.sources.numpy_file import read_npy
from princomp.sources.source import Held, Source
from princomp.sources.table import Table

__all__ = ["ENDINGS", "ending_of", "open_files", "open_source", "parts_of", "read_table"]


_Reader: TypeAlias = Callable[[Path, Sequence[str] | None, Sequence[str], str | None], Table]

# Readers of whole tables.
_READERS: dict[str, _Reader] = {
    ".csv": partial(read_delimited, delimiter=",", compressed=False),
    ".csv.gz": partial(read_delimited, delimiter=",", compressed=True),
    ".csv.zst": partial(read_delimited, delimiter=",", compressed="zstd"),
    ".tsv": partial(read_delimited, delimiter="\t", compressed=False),
    ".tsv.gz": partial(read_delimited, delimiter="\t", compressed=True),
    ".tsv.zst": partial(read_delimited, delimiter="\t", compressed="zstd"),
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
    ".npy": read_npy,
}

# To add a kind of file: write its reader beside the others and enter it here, as the module,
# the function that opens it, and what else this function is told.
_OPENERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    **{
        f".{name}{packed}": (
            "delimited_stream",
            "open_delimited",
            {"delimiter": mark, "compression": how},
        )
        for name, mark in (("csv", ","), ("tsv", "\t"))
        for packed, how in (("", None), (".gz", "gzip"), (".zst", "zstd"))
    },
    ".parquet": ("columnar_stream", "open_parquet", {}),
    **{name: ("columnar_stream", "open_arrow", {}) for name in (".arrow", ".feather", ".ipc")},
    ".npy": ("numpy_file", "open_npy", {}),
    ".npz": ("sparse_files", "open_npz", {}),
    ".mtx": ("sparse_files", "open_matrix_market", {}),
    ".mtx.gz": ("sparse_files", "open_matrix_market", {}),
    ".h5ad": ("h5ad", "open_h5ad", {}),
    ".h5": ("hdf5", "open_hdf5", {}),
    ".hdf5": ("hdf5", "open_hdf5", {}),
    ".zarr": ("zarr_store", "open_zarr", {}),
    ".zarr.zip": ("zarr_store", "open_zarr", {}),
}
# Kinds that hold several arrays; the one that is meant follows "::".
_WITH_PARTS = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".zarr.zip")

ENDINGS = tuple(_OPENERS)

# Files of these kinds up to so many bytes are read whole: then all cells, and not the first
# ones alone, say what a column holds.
_SMALL, _SMALL_PACKED = 2**25, 2**23


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Give the known ending of a file's name, in lower case; None if it has none."""
    name = Path(path).name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def parts_of(name: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """A file, and what is meant inside it: "store.h5::/group/x"."""
    text = os.fspath(name)
    file, mark, inside = text.partition("::")
    if mark and ending_of(file) in _WITH_PARTS:
        return Path(file), inside
    return Path(text), None


def open_source(
    name: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
) -> Source:
    """Open a file; small tables are read at once.

    Parameters
    ----------
    name : path
        Its ending says its kind: one of ``ENDINGS``. After "::" stands what is meant
        inside a file that holds several arrays.
    columns, exclude, id_column
        As in :func:`read_table`.

    Raises
    ------
    InputNotFoundError, ParameterError, MalformedFileError, ColumnError, NotNumericError,
    ShapeError, MissingLibraryError
        As :func:`read_table`.
    """
    path, inside = parts_of(name)
    ending = ending_of(path)
    if ending is not None and ending.startswith(".zarr") and path.is_dir():
        pass  # a store is a folder
    else:
        _refuse_absent(path)
    if ending is None:
        raise _unknown_kind(path)
    if ending in _READERS and ending != ".npy":
        packed = ending.endswith((".gz", ".zst"))
        if path.stat().st_size <= (_SMALL_PACKED if packed else _SMALL):
            return Held(_READERS[ending](path, columns, exclude, id_column))
    module, function, options = _OPENERS[ending]
    if ending in _WITH_PARTS:
        options = {**options, "inside": inside}
    opener = getattr(import_module(f"princomp.sources.{module}"), function)
    source: Source = opener(path, columns, exclude, id_column, **options)
    return source


def open_files(
    names: Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
) -> Source:
    """Open files, wildcards among them, one after the other as one table."""
    from princomp.sources.several import Several, expanded

    paths = expanded(names)
    return Several.of(
        [open_source(path, columns=columns, exclude=exclude, id_column=id_column) for path in paths]
    )


def _unknown_kind(path: Path) -> ParameterError:
    return ParameterError(
        f"{path}: its name does not say what kind of table it is",
        place={"file": str(path)},
        hint=f"Known endings are {', '.join(ENDINGS)}.",
    )


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
) -> Table:
    """Read a table into memory.

    Parameters
    ----------
    path : path
        Its ending says its kind: .csv, .tsv (each also .gz and .zst), .parquet, .arrow,
        .feather, .ipc or .npy.
    columns : sequence of str, optional
        The columns to use, in this order; every numeric one if not given. In an
        .npy file columns are numbered from 0 ("0", "3").
    exclude : sequence of str
        Columns to leave out.
    id_column : str, optional
        A column that names the rows; its text is kept as it stands ("007").

    Returns
    -------
    Table
        Of shape (n, p); its notes say which text columns were left out.

    Raises
    ------
    InputNotFoundError
        No such file, or it may not be read.
    ParameterError
        The ending is not known.
    MalformedFileError
        The file is cut short, damaged, ragged, or not of the kind its name says.
    ColumnError, NotNumericError, ShapeError
        Its columns are not as asked, hold text, or there are none or no rows.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    path = Path(path)
    ending = ending_of(path)
    _refuse_absent(path)
    if ending is None or ending not in _READERS:
        raise _unknown_kind(path)
    return _READERS[ending](path, columns, exclude, id_column)


def _refuse_absent(path: Path) -> None:
    if path.is_file():
        return
    if path.is_dir():
        why, hint = "is a folder, not a file", "Name one file in it."
    elif path.exists():
        why = "is not a regular file"
        hint = "Give a pipe as standard input (-), or save the table first."
    else:
        why, hint = "no such file", f"The current folder is {Path.cwd()}."
    raise InputNotFoundError(f"{path}: {why}", place={"file": str(path)}, hint=hint)
