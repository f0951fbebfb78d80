"""Tables of results, written to files or streams."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from princomp.atomic import PathLike, atomic_write
from princomp.errors import (
    ColumnError,
    MissingLibraryError,
    OutputError,
    ParameterError,
    ShapeError,
)

__all__ = ["FORMATS", "table_format", "write_table"]

_Ids: TypeAlias = Sequence[Any] | NDArray[np.object_] | None
_Numbers: TypeAlias = NDArray[np.floating[Any]]
_Writer: TypeAlias = Callable[[BinaryIO, list[str], _Numbers, _Ids], None]


def write_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    data: NDArray[np.floating[Any]],
    ids: Sequence[Any] | NDArray[np.object_] | None = None,
    id_column: str | None = None,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write a table of numbers.

    CSV holds the shortest decimals that read back as the same bits; NaN is an
    empty cell, except in a table of one column, where it is written ``nan``
    because readers skip blank lines. In .npy the names and ids are lost.

    Parameters
    ----------
    target : path or binary stream
        A path is written as ``atomic_write`` does; a stream as it goes.
    columns : sequence of str of length p
        Names, each once.
    data : ndarray of shape (n, p)
        The numbers, float32 or float64.
    ids : sequence of length n, optional
        Names of the rows; they become the first column. None is a missing one.
    id_column : str, optional
        Name of that column; "id" if not given.
    format : str, optional
        One of ``FORMATS``; by the ending of the path if not given, and csv for
        a stream.
    force : bool
        An existing file may be replaced.

    Raises
    ------
    ParameterError
        The format is not known.
    ShapeError, ColumnError
        Names, ids and numbers do not fit together.
    OutputExistsError, OutputError
        As ``atomic_write``. A closed pipe stays a BrokenPipeError.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    if format is None:
        format = table_format(target) if isinstance(target, str | os.PathLike) else "csv"
    if format not in _WRITERS:
        raise ParameterError(
            f"format {format!r} is not known",
            place={"parameter": "format"},
            hint=f"Known formats are {', '.join(FORMATS)}.",
        )
    write = _WRITERS[format]
    names = _names(columns, np.asarray(data), ids, id_column)
    if isinstance(target, str | os.PathLike):
        with atomic_write(target, force=force) as file:
            write(file, names, data, ids)
        return
    try:
        write(target, names, data, ids)
        target.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output could not be written: {error.strerror or error}") from error


def table_format(path: PathLike) -> str:
    """Give the format that a path's ending stands for.

    Raises
    ------
    ParameterError
        The ending is not known.
    """
    name = Path(path).name.lower()
    for ending, format in _ENDINGS.items():
        if name.endswith(ending):
            return format
    raise ParameterError(
        f"{path}: its name does not say in which format to write the table",
        place={"file": str(path)},
        hint=f"Known endings are {', '.join(_ENDINGS)}.",
    )


def _names(columns: Sequence[str], data: _Numbers, ids: _Ids, id_column: str | None) -> list[str]:
    """All names, that of the id column first, if they fit the numbers."""
    if data.ndim != 2 or data.shape[1] != len(columns) or not len(columns):
        raise ShapeError(
            f"{len(columns)} column names do not fit numbers of shape {data.shape}",
            hint="Give a matrix, and one name for each of its columns.",
        )
    if ids is not None and len(ids) != len(data):
        raise ShapeError(f"{len(ids)} ids do not fit {len(data)} rows", hint="Give one id a row.")
    names = [*columns] if ids is None else [id_column or "id", *columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ColumnError(
            f"two columns of the output would have the name {twice[0]!r}",
            place={"column": twice[0]},
            hint="Rename the id column.",
        )
    return names


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            "writing this kind of table needs pyarrow, which is not installed",
            hint="pip install 'princomp[cli]'",
        ) from error


def _arrow_table(
    names: Sequence[str], data: _Numbers, ids: _Ids, *, text: bool = False, null: bool = False
) -> Any:
    """Build an Arrow table; ``text`` writes ids as text, ``null`` makes NaN a null."""
    pa = _pyarrow("pyarrow")
    arrays = []
    if ids is not None:
        cells = list(ids)
        words = [None if cell is None else str(cell) for cell in cells]
        try:
            arrays.append(pa.array(words if text else cells))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            arrays.append(pa.array(words))  # ids of several kinds have only text in common
    arrays += [pa.array(np.ascontiguousarray(x), from_pandas=null) for x in data.T]
    return pa.Table.from_arrays(arrays, names=list(names))


def _write_delimited(
    file: BinaryIO, names: list[str], data: _Numbers, ids: _Ids, *, delimiter: str
) -> None:
    # pyarrow's floats are the shortest that round-trip, as repr's are. Measured at
    # 1,000,000 × 5 on two cores: pyarrow 0.6 to 0.9 s, the csv module 4.4 s.
    pa_csv = _pyarrow("pyarrow.csv")
    compute = _pyarrow("pyarrow.compute")
    table = _arrow_table(names, data, ids, text=True, null=len(names) > 1)
    special = rf'["\r\n{delimiter}]'
    quoted = (
        ids is not None
        and compute.any(
            compute.match_substring_regex(table.column(0).cast("string"), special)
        ).as_py()
    )
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
    file.write(header.getvalue().encode())
    options = pa_csv.WriteOptions(
        include_header=False,
        delimiter=delimiter,
        # "needed" quotes every text, needed or not, so it is used only where one must be.
        quoting_style="needed" if quoted else "none",
    )
    pa_csv.write_csv(table, file, write_options=options)


def _write_gzipped(
    file: BinaryIO, names: list[str], data: _Numbers, ids: _Ids, *, delimiter: str
) -> None:
    # Without name and time in the header, equal tables give equal bytes. Level 1: random
    # digits shrink to 50% in 1.3 s, at level 6 to 47% in 7.3 s.
    with gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as packed:
        _write_delimited(cast(BinaryIO, packed), names, data, ids, delimiter=delimiter)


def _write_parquet(file: BinaryIO, names: list[str], data: _Numbers, ids: _Ids) -> None:
    _pyarrow("pyarrow.parquet").write_table(_arrow_table(names, data, ids), file)


def _write_arrow(file: BinaryIO, names: list[str], data: _Numbers, ids: _Ids) -> None:
    table = _arrow_table(names, data, ids)
    with _pyarrow("pyarrow").ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_npy(file: BinaryIO, names: list[str], data: _Numbers, ids: _Ids) -> None:
    np.save(file, data, allow_pickle=False)


_WRITERS: dict[str, _Writer] = {
    "csv": partial(_write_delimited, delimiter=","),
    "csv.gz": partial(_write_gzipped, delimiter=","),
    "tsv": partial(_write_delimited, delimiter="\t"),
    "tsv.gz": partial(_write_gzipped, delimiter="\t"),
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "npy": _write_npy,
}
FORMATS = tuple(_WRITERS)
_ENDINGS = {f".{name}": name for name in FORMATS} | {".feather": "arrow", ".ipc": "arrow"}
