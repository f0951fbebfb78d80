"""Write tables of results, whole or block by block, to files or streams."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from princomp.errors import ColumnError, ParameterError, ShapeError
from princomp.io.atomic import PathLike
from princomp.io.writers.encoder import Ids, Layout, need_pyarrow
from princomp.io.writers.table_writer import FORMATS, TableWriter, table_format, table_writer


def write_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    data: NDArray[np.floating[Any]],
    ids: Ids = None,
    id_column: str | None = None,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write a table of numbers.

    CSV holds the shortest decimals that read back as the same bits. NaN is an
    empty cell, except in a table of one column, where it is written as ``nan``
    because readers skip blank lines. A .npy file holds no names and no ids.

    Parameters
    ----------
    target : path or binary stream
        A file is written atomically, by ``atomic_write``; a stream is written directly.
    columns : sequence of str of length p
        Names of the columns, all different.
    data : ndarray of shape (n, p)
        The numbers, float32 or float64.
    ids : sequence of length n, optional
        Names of the rows, which become the first column. None stands for a missing name.
    id_column : str, optional
        Name of that column; "id" if not given.
    format : str, optional
        One of ``FORMATS``. By default, the ending of a path decides, and a stream
        gets csv.
    force : bool
        An existing file may be replaced.

    Raises
    ------
    ParameterError
        The format is not known.
    ShapeError, ColumnError
        Names, ids and numbers do not fit together.
    OutputExistsError, OutputError
        As for ``atomic_write``. A closed pipe raises BrokenPipeError instead.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    numbers = np.asarray(data)
    with open_table(
        target,
        columns=columns,
        id_column=id_column,
        with_ids=ids is not None,
        dtype=numbers.dtype,
        rows=numbers.shape[0] if numbers.ndim else None,
        format=format,
        force=force,
    ) as table:
        table.write(numbers, ids)


def open_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    id_column: str | None = None,
    with_ids: bool = False,
    dtype: DTypeLike = np.float64,
    rows: int | None = None,
    format: str | None = None,
    force: bool = False,
) -> AbstractContextManager[TableWriter]:
    """Write a table of numbers block by block.

    ::

        with open_table("scores.parquet", columns=["PC1", "PC2"]) as table:
            for block in blocks:
                table.write(block)

    Files are as ``write_table`` makes them, in row groups of about 2**20 numbers. A file
    appears when the body ends; if the body raises, no file is written.

    In Parquet and Arrow files, the ids of the first row group (and of the block that
    completes it) set the type of all ids: integers, dates …, or text where they are of
    several types or all missing. If the type is text, later ids are converted to text;
    otherwise an id that does not fit the type raises an error that names its row. In CSV,
    all ids are text.

    Parameters
    ----------
    target : path or binary stream
        As for ``write_table``. A stream that cannot seek supports .npy only with ``rows``.
    columns : sequence of str of length p
        Names of the columns, all different.
    id_column : str, optional
        Name of the id column; "id" if not given.
    with_ids : bool
        Every block has ids.
    dtype : numpy dtype
        The dtype of the numbers in the file. Blocks of lower precision are converted.
    rows : int, optional
        The total number of rows, if known.
    format, force
        As for ``write_table``.

    Returns
    -------
    context manager of TableWriter
        For use in a ``with`` statement.

    Raises
    ------
    ParameterError
        The format or the dtype is not supported, or not for this target.
    ColumnError, ShapeError
        Two names are the same, or there are no names.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    dtype = np.dtype(dtype)
    if not len(columns):
        raise ShapeError("a table needs a column of numbers", hint="name at least one")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ParameterError(
            f"a table of {dtype} cannot be written",
            place={"parameter": "dtype"},
            hint="give real numbers",
        )
    names = [id_column or "id", *columns] if with_ids else [*columns]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ColumnError(
            f"two columns of the output would have the name {repeated[0]!r}",
            place={"column": repeated[0]},
            hint="rename the id column",
        )
    output = Path(target) if isinstance(target, str | os.PathLike) else target
    if format is None:
        format = table_format(output) if isinstance(output, Path) else "csv"
    if format not in FORMATS:
        raise ParameterError(
            f"format {format!r} is not known",
            place={"parameter": "format"},
            hint=f"known formats are {', '.join(FORMATS)}",
        )
    if format != "npy":
        need_pyarrow("pyarrow")
    elif rows is None and not isinstance(output, Path) and not output.seekable():
        raise ParameterError(
            "an .npy file begins with its number of rows, and this stream cannot seek",
            place={"parameter": "target"},
            hint="write to a file, give the number of rows, or choose another format",
        )
    layout = Layout(names, with_ids, dtype.newbyteorder("="), rows)
    return table_writer(output, layout, format, force)
