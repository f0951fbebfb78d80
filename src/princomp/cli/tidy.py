"""Tables of text and numbers: to a file whose ending says the format, or as CSV to stdout."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

from princomp import errors

__all__ = ["check_tidy", "write_tidy"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_COLUMNAR = (".parquet", ".arrow", ".feather")


def check_tidy(output: Path) -> None:
    """Refuse an ending that stands for no kind of such a table.

    Raises
    ------
    ParameterError
    """
    known = (*_DELIMITERS, *_COLUMNAR)
    if output.suffix.lower() not in known:
        raise errors.ParameterError(
            f"{output}: its name does not say how to write text and numbers",
            place={"file": str(output)},
            hint=f"Known endings are {', '.join(known)}.",
        )


def write_tidy(output: Path | None, columns: dict[str, Any], force: bool) -> None:
    """Columns (n,) by name; text that is None is an empty cell.

    Raises
    ------
    OutputExistsError, OutputError
    """
    from princomp.atomic import atomic_write

    if output is None:
        sys.stdout.buffer.write(_delimited(columns, ",").encode())
        return
    kind = output.suffix.lower()
    with atomic_write(output, force=force) as file:
        if kind in _DELIMITERS:
            file.write(_delimited(columns, _DELIMITERS[kind]).encode())
        else:
            _write_columnar(file, columns, kind)


def _delimited(columns: dict[str, Any], delimiter: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    # Numbers of Python's own are written with the shortest decimals that read back the same.
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _write_columnar(file: Any, columns: dict[str, Any], kind: str) -> None:
    from princomp.output_formats import need_pyarrow

    pa = need_pyarrow("pyarrow")
    table = pa.table({name: pa.array(column.tolist()) for name, column in columns.items()})
    if kind == ".parquet":
        need_pyarrow("pyarrow.parquet").write_table(table, file)
        return
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
