"""Delimited text as the csv module sees it: the line of names, and where a fault stands.

The rows themselves are read by pyarrow, in ``delimited``.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from princomp.errors import DataError, MalformedFileError, ShapeError
from princomp.sources.cells import is_text, looks_numeric
from princomp.sources.columns import listed
from princomp.sources.faults import reading

__all__ = ["Dialect", "Header", "line_of", "read_header", "refuse_open_quote", "structure_error"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A delimited file, and how it is written."""

    path: Path
    delimiter: str
    compressed: bool

    @property
    def kind(self) -> str:
        """What to call it."""
        name = "CSV" if self.delimiter == "," else "TSV"
        return f"gzipped {name}" if self.compressed else name

    def open(self) -> TextIO:
        """Open as text; bytes that are not UTF-8 become lone surrogates, to be found later."""
        opener = gzip.open if self.compressed else open
        binary = cast(BinaryIO, opener(self.path, "rb"))  # closed along with the text
        # newline="" leaves quoted line ends to the csv module.
        return io.TextIOWrapper(
            binary,
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline="",
        )

    def records(self) -> Iterator[tuple[int, int, list[str]]]:
        """First line, last line and fields of each record that is not blank.

        Many times slower than pyarrow: read for the header, and to place an error.
        """
        with self.open() as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            before = 0
            for record in reader:
                if record:
                    yield before + 1, reader.line_num, record
                before = reader.line_num


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


def structure_error(dialect: Dialect, header: Header) -> DataError:
    """Find why not even text could be read, and say where."""
    path, p = dialect.path, len(header.names)
    with dialect.open() as file:
        for line, text in enumerate(file, start=1):
            if not _is_utf8(text):
                return MalformedFileError(
                    f"{path}: line {line} is not UTF-8 text",
                    place={"file": str(path), "line": line},
                    hint="Save the table in UTF-8, or convert it: "
                    f"iconv -f latin1 -t utf-8 {path.name}",
                )
    row = 0
    for row, (line, _, record) in enumerate(dialect.records()):
        if len(record) != p:
            many = "field" if len(record) == 1 else "fields"
            return MalformedFileError(
                f"{path}: row {row} (line {line}) has {len(record)} {many}, "
                f"but the first line names {p} columns",
                place={"file": str(path), "row": row, "line": line},
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


def refuse_open_quote(dialect: Dialect) -> None:
    """Raise MalformedFileError if a quote is never closed.

    Readers take all that follows for one cell of text, and those rows would be
    missing without a word.
    """
    path = dialect.path
    with reading(path, dialect.kind), dialect.open() as file:
        # A closed quote makes an even number of marks, so few files are read further.
        marks = sum(block.count('"') for block in iter(lambda: file.read(1 << 22), ""))
        if marks % 2 == 0:
            return
        start, closed = _last_record(dialect)
    if not closed:
        raise MalformedFileError(
            f"{path}: a quote opened in line {start} is never closed",
            place={"file": str(path), "line": start},
            hint="Close it, or write a quote that belongs to the text twice; "
            "or the file may be cut short.",
        )


def _last_record(dialect: Dialect) -> tuple[int, bool]:
    """Line on which the last record starts, and whether it ends as it should."""
    lines: list[str] = []
    start, last = 1, ""
    with dialect.open() as file:

        def kept() -> Iterator[str]:
            for line in file:
                lines.append(line)
                yield line

        reader = csv.reader(kept(), delimiter=dialect.delimiter)
        before = 0
        try:
            for _ in reader:
                start, last = before + 1, "".join(lines)
                before = reader.line_num
                lines.clear()
        except csv.Error:
            return before + 1, False  # a cell longer than any text: the rest of the file
    try:
        list(csv.reader(io.StringIO(last, newline=""), delimiter=dialect.delimiter, strict=True))
    except csv.Error as error:
        return start, "unexpected end" not in str(error)
    return start, True


def line_of(dialect: Dialect, row: int) -> int | None:
    """Line on which data row ``row`` starts; the header is record 0."""
    with contextlib.suppress(OSError, EOFError, csv.Error):
        for i, (line, _, _) in enumerate(dialect.records()):
            if i == row:
                return line
    return None
