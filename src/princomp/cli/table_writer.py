"""Write tables of text and numbers to a file, in the format of its extension, or to stdout."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from princomp import errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_COLUMNAR = (".parquet", ".arrow", ".feather")


def check_extension(output: Path) -> None:
    """Refuse a file extension that does not name a format for such a table.

    Raises
    ------
    ParameterError
    """
    known = (*_DELIMITERS, *_COLUMNAR)
    if output.suffix.lower() not in known:
        raise errors.ParameterError(
            f"{output}: unknown file extension for a table of text and numbers",
            place={"file": str(output)},
            hint=f"use one of {', '.join(known)}",
        )


def write_columns(output: Path | None, columns: dict[str, NDArray[Any]], force: bool) -> None:
    """Write named columns (n,); None becomes an empty cell.

    Raises
    ------
    OutputExistsError, OutputError
    """
    from princomp.io import atomic_write, need_pyarrow

    if output is None:
        sys.stdout.buffer.write(_delimited(columns, ","))
        return
    kind = output.suffix.lower()
    with atomic_write(output, force=force) as file:
        if kind in _DELIMITERS:
            file.write(_delimited(columns, _DELIMITERS[kind]))
            return
        pa = need_pyarrow("pyarrow")
        table = pa.table({name: pa.array(column.tolist()) for name, column in columns.items()})
        if kind == ".parquet":
            need_pyarrow("pyarrow.parquet").write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)


def _delimited(columns: dict[str, NDArray[Any]], delimiter: str) -> bytes:
    from princomp.io import csv_lines

    # The csv module writes Python floats with the shortest decimals that read back the same.
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return csv_lines(itertools.chain([list(columns)], rows), delimiter)
