"""Delimited text as it is written: its line of names, its records, and where a fault stands.

The rows themselves are read by pyarrow, in ``delimited`` and ``delimited_stream``.
"""

from __future__ import annotations

import contextlib
import csv
from dataclasses import dataclass

from princomp.errors import DataError, MalformedFileError, ShapeError
from princomp.sources.cells import is_text, looks_numeric
from princomp.sources.columns import listed
from princomp.sources.delimited_pieces import Dialect, refuse_damage
from princomp.sources.faults import reading

__all__ = ["Header", "line_of", "read_header", "structure_error"]


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns, and how many lines of the file they and blanks before them take."""

    names: list[str]
    lines: int


def read_header(dialect: Dialect) -> Header:
    """Read and check the line of column names."""
    path = dialect.path
    place = {"file": str(path), "line": 1}
    with reading(path, dialect.kind):
        _, lines, names = next(dialect.records(), (0, 0, []))
    if not names:
        raise ShapeError(
            f"{path}: no rows, the file is empty",
            place={"file": str(path)},
            hint="The first line must name the columns; the rows follow.",
        )
    first = dialect.delimiter.join(names)
    if not _is_utf8(first) or "\0" in first:
        raise MalformedFileError(
            f"{path}: the first line is not UTF-8 text",
            place=place,
            hint="Save the table as CSV in UTF-8; spreadsheets and other encodings are not read.",
        )
    if len(names) == 1:
        other = next((mark for mark in (";", "\t", ",", "|") if mark in names[0]), None)
        if other is not None:
            raise MalformedFileError(
                f"{path}: the fields of the first line are separated by {other!r}, "
                f"not by {dialect.delimiter!r}",
                place=place,
                hint="Save the table with commas as .csv, or with tabs as .tsv.",
            )
    if any(map(looks_numeric, names)) and not any(map(is_text, names)):
        raise MalformedFileError(
            f"{path}: the first line holds numbers ({listed(names, most=4)}) where the names "
            "of the columns must stand",
            place=place,
            hint="Add a line of column names on top, or the first row would be lost.",
        )
    # Tables written by R and pandas leave the name of the row labels empty.
    stripped = [name.strip() or f"column {j}" for j, name in enumerate(names, start=1)]
    return Header(stripped, lines)


def _is_utf8(text: str) -> bool:
    # Bytes that are not UTF-8 were read as lone surrogates, which cannot be encoded.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def structure_error(dialect: Dialect, header: Header, rows: int = -1, lines: int = 0) -> DataError:
    """Find why not even text could be read, and say where.

    ``rows`` and ``lines`` are before the text. A text that starts with the names, which
    are record 0, is one row behind.
    """
    path, p = dialect.path, len(header.names)
    try:
        refuse_damage(dialect, lines)
    except DataError as error:
        return error
    with dialect.open() as file:
        for line, text in enumerate(file, start=lines + 1):
            if not _is_utf8(text):
                return MalformedFileError(
                    f"{path}: line {line} is not UTF-8 text",
                    place={"file": str(path), "line": line},
                    hint="Save the table in UTF-8, or convert it by: iconv -f latin1 -t utf-8",
                )
    row = 0
    for row, (line, _, record) in enumerate(dialect.records(), start=rows + 1):
        if len(record) != p:
            many = "field" if len(record) == 1 else "fields"
            return MalformedFileError(
                f"{path}: row {row} (line {lines + line}) has {len(record)} {many}, "
                f"but the first line names {p} columns",
                place={"file": str(path), "row": row, "line": lines + line},
                hint="Decimal commas and unquoted text with commas make such rows; "
                "a last row of few fields means that the file is cut short.",
            )
    if row == 0:
        return ShapeError(
            f"{path}: no rows, only the line of column names",
            place={"file": str(path)},
            hint="Principal components need at least two rows of numbers.",
        )
    return MalformedFileError(
        f"{path}: cannot be read as {dialect.kind}",
        place={"file": str(path)},
        hint="It may be damaged: make or fetch it anew.",
    )


def line_of(dialect: Dialect, row: int) -> int | None:
    """Line on which data row ``row`` starts; the header is record 0."""
    with contextlib.suppress(OSError, EOFError, csv.Error):
        for i, (line, _, _) in enumerate(dialect.records()):
            if i == row:
                return line
    return None
