"""Tables from files, by the ending of their name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from princomp.errors import InputNotFoundError, ParameterError
from princomp.sources.columnar import read_arrow, read_parquet
from princomp.sources.delimited import read_delimited
from princomp.sources.numpy_file import read_npy
from princomp.sources.table import Table

__all__ = ["ENDINGS", "ending_of", "read_table"]


_Reader: TypeAlias = Callable[[Path, Sequence[str] | None, Sequence[str], str | None], Table]

# To add a kind of file: write its reader beside the others and enter it here.
_READERS: dict[str, _Reader] = {
    ".csv": partial(read_delimited, delimiter=",", compressed=False),
    ".csv.gz": partial(read_delimited, delimiter=",", compressed=True),
    ".tsv": partial(read_delimited, delimiter="\t", compressed=False),
    ".tsv.gz": partial(read_delimited, delimiter="\t", compressed=True),
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
    ".npy": read_npy,
}

ENDINGS = tuple(_READERS)


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Give the known ending of a file's name, in lower case; None if it has none."""
    name = Path(path).name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
) -> Table:
    """Read a file into memory.

    Parameters
    ----------
    path : path
        Its ending says its kind: .csv, .tsv (each also .gz), .parquet, .arrow,
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
    if ending is None:
        raise ParameterError(
            f"{path}: its name does not say what kind of table it is",
            place={"file": str(path)},
            hint=f"Known endings are {', '.join(ENDINGS)}.",
        )
    return _READERS[ending](path, columns, exclude, id_column)


def _refuse_absent(path: Path) -> None:
    if path.is_file():
        return
    if path.is_dir():
        why, hint = "is a folder, not a file", "Name one file in it."
    elif path.exists():
        why, hint = "is not a regular file", "Pipes are read twice; save the table first."
    else:
        why, hint = "no such file", f"The current folder is {Path.cwd()}."
    raise InputNotFoundError(f"{path}: {why}", place={"file": str(path)}, hint=hint)
