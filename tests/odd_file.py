"""An unusual file with its expected outcome, and functions that write its content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ["anna", "bea", "cleo", "dora", "emil", "finn", "gina", "hans"]
ROWS = [
    [1.5, 12.5],
    [2.25, 20.25],
    [3.75, 31.75],
    [1.2, 10.0],
    [2.5, 22.5],
    [0.7, 8.0],
    [1.1, 9.5],
    [2.9, 26.0],
]
DATES = [f"2024-03-{day:02}" for day in (4, 4, 5, 5, 6, 6, 7, 7)]
DIFFERENT_DATES = [f"2024-03-{day:02}" for day in range(4, 12)]


@dataclass(frozen=True)
class OddFile:
    """A file and its expected outcome.

    Parameters
    ----------
    name : str
        File name with its extension, which selects the reader.
    description : str
        What is unusual about it, as in docs/files.md.
    content : str, bytes or callable
        The text, the bytes, or a function that writes the file.
    outcome : str
        What princomp does with it, as in docs/files.md.
    note : str
        Part of the note on a file that is read; "" for no note.
    question : str
        Part of the message on a file that is refused.
    answer : dict
        Options of ``read_table`` that answer the question.
    ids : list, optional
        Names of the rows.
    columns : tuple of str
    rows : list
    """

    name: str
    description: str
    content: str | bytes | Callable[[Path], object]
    outcome: str
    note: str = ""
    question: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    ids: list[object] | None = None
    columns: tuple[str, ...] = ("height", "weight")
    rows: list[list[float]] = field(default_factory=lambda: ROWS)

    def write(self, folder: Path) -> Path:
        """Write the file."""
        path = folder / self.name
        if callable(self.content):
            self.content(path)
        elif isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            path.write_bytes(self.content.encode())
        return path


def delimited(
    *extra: list[object],
    header: tuple[str, ...] | None = ("height", "weight"),
    sep: str = ",",
    cell: Callable[[float], str] = repr,
    end: str = "",
) -> str:
    """The rows as delimited text, with extra columns before the numbers."""
    text = [] if header is None else [sep.join(header) + end]
    for i, row in enumerate(ROWS):
        cells = [*(str(column[i]) for column in extra), *map(cell, row)]
        text.append(sep.join(cells) + end)
    return "\n".join(text) + "\n"


def decimal_comma(value: float) -> str:
    """A number with a decimal comma."""
    return repr(value).replace(".", ",")


def with_thousands(value: float) -> str:
    """A number times 1000 with commas between thousands."""
    return f'"{value * 1000:,.2f}"'


def workbook(*sheets: tuple[str, list[list[object]]]) -> Callable[[Path], object]:
    """A function that writes a workbook."""

    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets:
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(path)

    return write


def parquet(index: list[object], name: str | None = None) -> Callable[[Path], object]:
    """A function that writes a pandas frame with an index."""

    def write(path: Path) -> None:
        import pandas as pd

        frame = pd.DataFrame(ROWS, columns=["height", "weight"], index=index)
        frame.index.name = name
        frame.to_parquet(path)

    return write


def typed_parquet(path: Path) -> None:
    """A Parquet file with columns of many kinds."""
    import datetime

    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table(
        {
            "height": pa.array([row[0] for row in ROWS]),
            "weight": pa.array([row[1] for row in ROWS]).cast(pa.decimal128(6, 2)),
            "group": pa.array(["a", "b"] * 4).dictionary_encode(),
            "day": [datetime.date.fromisoformat(day) for day in DATES],
            "seen": [True, False] * 4,
            "tags": [["x"], ["y"]] * 4,
        }
    )
    pyarrow.parquet.write_table(table, path)
