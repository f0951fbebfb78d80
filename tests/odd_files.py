"""Unusual files as people have them, and the outcome of each: the same numbers, or a question.

All of them hold the eight rows of ``ROWS``. ``tests/io/test_odd_files.py`` reads each one in Python
and on the command line, and checks that ``docs/files.md`` has the table of this list.
"""

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


NUMBERED: list[object] = list(range(8))
FROM_ONE: list[object] = list(range(1, 9))
GROUPS: list[object] = ["a", "b"] * 4
NAMED: list[object] = list(NAMES)
TABLE: list[list[object]] = [["name", "height", "weight"]] + [
    [name, *row] for name, row in zip(NAMES, ROWS, strict=True)
]
CODE_HEADER = ("zip", "height", "weight")
THOUSANDS = [[height * 1000, weight * 1000] for height, weight in ROWS]
AS_TEXT = list(map(str, range(8)))
SUMS = [sum(column) for column in zip(*ROWS, strict=True)]
PLAIN = delimited()

ODD_FILES = [
    OddFile("plain.csv", "Commas and decimal points", PLAIN, "read"),
    OddFile(
        "pandas.csv",
        "An index without a name, as pandas and R write it",
        delimited(NUMBERED, header=("", "height", "weight")),
        "the first column names the rows",
        note="named by the first column, which has no name",
        ids=AS_TEXT,
    ),
    OddFile(
        "unnamed.csv",
        "A first column `Unnamed: 0`",
        delimited(NUMBERED, header=("Unnamed: 0", "height", "weight")),
        "the first column names the rows",
        note="named by column 'Unnamed: 0'",
        ids=AS_TEXT,
    ),
    OddFile(
        "id.csv",
        "A first column `id`",
        delimited([17, 4, 99, 3, 25, 8, 51, 60], header=("id", "height", "weight")),
        "the first column names the rows",
        note="named by column 'id'",
        ids=["17", "4", "99", "3", "25", "8", "51", "60"],
    ),
    OddFile(
        "counted.csv",
        "A first column with 1, 2, …, n",
        delimited(FROM_ONE, header=("nr", "height", "weight")),
        "the first column names the rows",
        note="counts them from 1",
        ids=list(map(str, range(1, 9))),
    ),
    OddFile(
        "kept_index.csv",
        "The same, read with `id_column=False` (`--no-id`)",
        delimited(FROM_ONE, header=("nr", "height", "weight")),
        "the column is analysed",
        answer={"id_column": False},
        columns=("nr", "height", "weight"),
        rows=[[i + 1, *row] for i, row in enumerate(ROWS)],
    ),
    OddFile(
        "names.csv",
        "One column of text that differs in all rows",
        delimited(NAMED, header=("name", "height", "weight")),
        "it names the rows",
        note="named by column 'name'",
        ids=NAMED,
    ),
    OddFile(
        "index_and_names.csv",
        "Row numbers and a column of names",
        delimited(NUMBERED, NAMED, header=("", "name", "height", "weight")),
        "the names name the rows, the numbers are left out",
        note="left out the first column, which counts the rows",
        ids=NAMED,
    ),
    OddFile(
        "names_and_dates.csv",
        "Columns of names and of dates that both differ in all rows",
        delimited(NAMED, DIFFERENT_DATES, header=("name", "day", "height", "weight")),
        "the names name the rows, the dates are left out",
        note="left out 1 date column: day",
        ids=NAMED,
    ),
    OddFile(
        "groups.csv",
        "A column of categories",
        delimited(GROUPS, header=("group", "height", "weight")),
        "the column is left out",
        note="left out 1 text column: group",
    ),
    OddFile(
        "dates.csv",
        "A column of dates",
        delimited(DATES, header=("day", "height", "weight")),
        "the column is left out",
        note="left out 1 date column: day",
    ),
    OddFile(
        "booleans.csv",
        "A column of true and false",
        delimited(["true", "false"] * 4, header=("seen", "height", "weight")),
        "the column is left out",
        note="left out 1 true/false column: seen",
    ),
    OddFile(
        "r.txt",
        "R's `write.table`: blanks, and one name fewer than columns",
        delimited([f'"{name}"' for name in NAMES], header=('"height"', '"weight"'), sep=" "),
        "the first column names the rows",
        note="one name fewer than there are columns",
        ids=NAMED,
    ),
    OddFile(
        "no_header.csv",
        "No line of names",
        delimited(header=None),
        "asks whether the first line holds names",
        question="does it name the columns",
        answer={"header": False},
        columns=("x0", "x1"),
    ),
    OddFile(
        "iris.csv",
        "No line of names, categories in the last column",
        "".join(f"{a},{b},{g}\n" for (a, b), g in zip(ROWS, GROUPS, strict=True)),
        "the first line is a row: its category occurs again below; columns are called x0, x1",
        note="the first line holds numbers",
        columns=("x0", "x1"),
    ),
    OddFile(
        "years.csv",
        "Years as names of columns",
        delimited(header=("2019", "2020")),
        "asks whether the first line holds names",
        question="does it name the columns",
        answer={"header": True},
        columns=("2019", "2020"),
    ),
    OddFile(
        "whole_numbers.csv",
        "Names of columns that are numbers, after one of text",
        delimited(NAMED, header=("name", "2019", "2020")),
        "asks whether the first line holds names",
        question="does it name the columns",
        answer={"header": True},
        columns=("2019", "2020"),
        ids=NAMED,
    ),
    OddFile(
        "semicolons.csv",
        "Semicolons and decimal commas",
        delimited(sep=";", cell=decimal_comma),
        "read",
        note="decimal commas",
    ),
    OddFile(
        "tabs.csv", "Tabs in a .csv file", delimited(sep="\t"), "read", note="separated by tabs"
    ),
    OddFile("tabs.txt", "Tabs in a .txt file", delimited(sep="\t"), "read"),
    OddFile("bars.txt", "Vertical bars", delimited(sep="|"), "read", note="separated by bars"),
    OddFile(
        "blanks.txt", "Columns lined up by blanks", delimited(sep="   "), "read", note="by blanks"
    ),
    OddFile(
        "blanks.csv",
        "The same in a .csv file",
        delimited(sep="   "),
        "asks for the separator",
        question="may be separated by blanks (2 columns)",
        answer={"sep": " "},
    ),
    OddFile(
        "excel_sep.csv",
        "Excel's line `sep=;`",
        "sep=;\n" + delimited(sep=";"),
        "read",
        note="semicolons",
    ),
    OddFile(
        "quoted_commas.csv",
        "Decimal commas in quotes",
        delimited(cell=lambda value: f'"{decimal_comma(value)}"'),
        "read",
        note="decimal commas",
    ),
    OddFile(
        "thousands.csv",
        "Thousands: `1,234.50`",
        delimited(cell=with_thousands),
        "read",
        note="thousands are separated by ','",
        rows=THOUSANDS,
    ),
    OddFile(
        "german.csv",
        "Thousands and decimal comma: `1.234,50`",
        delimited(
            sep=";",
            cell=lambda v: f"{v * 1000:,.2f}".translate(str.maketrans(",.", ".,")),
        ),
        "read",
        note="thousands are separated by '.'",
        rows=THOUSANDS,
    ),
    OddFile(
        "swiss.csv",
        "Thousands: `1'234.50`",
        delimited(cell=lambda v: f"{v * 1000:,.2f}".replace(",", "'")),
        "read",
        note='thousands are separated by "\'"',
        rows=THOUSANDS,
    ),
    OddFile(
        "french.csv",
        "Thousands by narrow blanks, decimal commas",
        delimited(
            sep=";",
            cell=lambda v: f"{v * 1000:,.2f}".replace(",", "\u202f").replace(".", ","),
        ),
        "read",
        note="thousands are separated by ' '",
        rows=THOUSANDS,
    ),
    OddFile(
        "minus.csv",
        "The minus sign of Unicode, `\u2212`",
        delimited(cell=lambda v: f"\u2212{v}"),
        "read",
        rows=[[-height, -weight] for height, weight in ROWS],
    ),
    OddFile(
        "ambiguous.csv",
        "`1,500`: one and a half, or fifteen hundred?",
        delimited(sep=";", cell=lambda v: f"{v * 1000:,.0f}" if v >= 1 else f"{v * 1000:.0f}"),
        "asks for the decimal mark",
        question="may be 1.500 or 1500",
        answer={"thousands": ","},
        rows=THOUSANDS,
    ),
    OddFile(
        "mixed_marks.csv",
        "Decimal commas and decimal points in one file",
        delimited(sep=";", cell=lambda v: decimal_comma(v) if v > 5 else repr(v)),
        "asks for the decimal mark",
        question="with a decimal comma",
        answer={"decimal": ".", "columns": ["height"]},
        columns=("height",),
        rows=[[height] for height, _ in ROWS],
    ),
    OddFile(
        "percent.csv",
        "Percent signs",
        delimited(cell=lambda value: f"{value}%"),
        "read in percent",
        note="are in %",
    ),
    OddFile(
        "currency.csv",
        "A currency",
        delimited(cell=lambda value: f"€{value}"),
        "read in this currency",
        note="are in €",
    ),
    OddFile(
        "units.csv",
        "Units behind the numbers: `12.5 kg`",
        "height,weight\n" + "".join(f"{a} cm,{b} kg\n" for a, b in ROWS),
        "read in these units",
        note="'weight' are in kg",
    ),
    OddFile(
        "two_units.csv",
        "Two units in one column",
        "height,weight\n" + "".join(f"{a},{b} {'kg' if b > 9 else 'lb'}\n" for a, b in ROWS),
        "refused with the cell",
        question="'8.0 lb' is not in the unit of most cells, 'kg'",
        answer={"exclude": ["weight"]},
        columns=("height",),
        rows=[[height] for height, _ in ROWS],
    ),
    OddFile(
        "two_headers.csv",
        "A second line with units",
        "height,weight\ncm,kg\n" + delimited(header=None),
        "asks whether the line belongs to the names",
        question="second line of names",
        answer={"header": 2},
        columns=("height cm", "weight kg"),
    ),
    OddFile(
        "title.csv",
        "A title above the table",
        "Measurements of 2024\n\n" + PLAIN,
        "asks how many lines to skip",
        question="line 1 has 1 field",
        answer={"skip": 2},
    ),
    OddFile(
        "padded_title.csv",
        "The same, filled up with separators, as spreadsheets write it",
        "Measurements of 2024,\n,\n" + PLAIN,
        "asks how many lines to skip",
        question="line 1 has 1 field",
        answer={"skip": 2},
    ),
    OddFile(
        "totals.csv",
        "A row of totals",
        delimited(NAMED, header=("name", "height", "weight")) + f"Total,{SUMS[0]},{SUMS[1]}\n",
        "asks whether the row is data",
        question="looks like totals",
        answer={"skip_end": 1},
        ids=NAMED,
    ),
    OddFile(
        "sums.csv",
        "A row of sums without a word",
        PLAIN + f"{SUMS[0]},{SUMS[1]}\n",
        "asks whether the row is data",
        question="looks like totals",
        answer={"skip_end": 1},
    ),
    OddFile(
        "comments.csv",
        "Comments",
        "# made by a balance\n" + PLAIN + "# end\n",
        "read without them",
        note="comments",
    ),
    OddFile("bom.csv", "A byte order mark", b"\xef\xbb\xbf" + PLAIN.encode(), "read"),
    OddFile(
        "utf16.csv",
        "UTF-16, as Excel's Unicode text",
        delimited(sep="\t").encode("utf-16"),
        "read",
        note="UTF-16",
    ),
    OddFile(
        "latin1.csv",
        "Latin-1",
        delimited(GROUPS, header=("größe", "height", "weight")).encode("latin-1"),
        "read",
        note="Latin-1",
    ),
    OddFile("windows.csv", "Line ends of Windows", PLAIN.replace("\n", "\r\n"), "read"),
    OddFile(
        "quotes.csv",
        "Separators and line ends in quotes",
        delimited([f'"{name}, \n"' for name in NAMES], header=("n", "height", "weight")),
        "read",
        note="named by column 'n'",
        ids=[f"{name}, \n" for name in NAMES],
    ),
    OddFile(
        "ragged.csv",
        "A row with too few fields",
        PLAIN + "7\n",
        "refused with row and line",
        question="row 8 (line 10) has 1 field",
    ),
    OddFile(
        "trailing.csv",
        "A separator at the end of each row",
        delimited(end=","),
        "read",
        note="left out 1 empty column",
    ),
    OddFile(
        "trailing_rows.csv",
        "The same, but not after the names",
        PLAIN.replace("\n", ",\n").replace(",\n", "\n", 1),
        "read",
        note="left out 1 empty column",
    ),
    OddFile(
        "empty_column.csv",
        "A column without any cell",
        delimited([""] * 8, header=("remark", "height", "weight")),
        "the column is left out",
        note="left out 1 empty column: remark",
    ),
    OddFile(
        "empty_rows.csv",
        "Empty rows at the end, as spreadsheets write them",
        PLAIN + ",\n,\n",
        "read without them",
        note="left out 2 empty rows",
    ),
    OddFile(
        "missing_words.csv",
        "Another word for a missing cell",
        PLAIN + "unknown,7.5\n",
        "asks with the place; `na=` names the word",
        question="'unknown' is not a number",
        answer={"na": ["unknown"]},
        rows=[*ROWS, [float("nan"), 7.5]],
    ),
    OddFile(
        "duplicated.csv",
        "Two columns of one name",
        delimited(header=("height", "height")),
        "refused with the name",
        question="twice or more: height",
    ),
    OddFile(
        "long_numbers.csv",
        "Identifiers longer than 15 digits",
        delimited([90071992547409931 + i for i in range(8)], header=("key", "height", "weight")),
        "asks what to do with the column",
        question="beyond 2**53",
        answer={"exclude": ["key"]},
    ),
    OddFile(
        "codes.csv",
        "Codes with leading zeros, such as postcodes",
        delimited(
            [f"0{i}234" if i % 3 == 0 else f"{i}1234" for i in range(1, 9)], header=CODE_HEADER
        ),
        "asks what to do with the column",
        question="'03234' begins with 0, as codes do (2 such cells",
        answer={"exclude": ["zip"]},
    ),
    OddFile(
        "zip.csv.gz",
        "Compressed",
        lambda path: path.write_bytes(__import__("gzip").compress(PLAIN.encode())),
        "read",
    ),
    OddFile(
        "book.xlsx",
        "An Excel workbook",
        workbook(("Data", TABLE)),
        "read",
        note="named by column 'name'",
        ids=NAMED,
    ),
    OddFile(
        "sheets.xlsx",
        "A workbook of several sheets",
        workbook(("Data", TABLE), ("Notes", [["made in", 2024]])),
        "the first sheet is read",
        note="read sheet 'Data', one of 2",
        ids=NAMED,
    ),
    OddFile(
        "second_sheet.xlsx",
        "The same, with `sheet=`",
        workbook(("Notes", [["made in", 2024]]), ("Data", TABLE)),
        "the sheet is read",
        answer={"sheet": "Data"},
        ids=NAMED,
    ),
    OddFile(
        "index.parquet",
        "Parquet with an index of pandas",
        parquet(NAMED, "name"),
        "the index names the rows",
        note="index that pandas stored",
        ids=NAMED,
    ),
    OddFile(
        "range.parquet",
        "Parquet with row numbers of pandas",
        parquet(NUMBERED),
        "read",
        note="index that pandas stored",
        ids=NUMBERED,
    ),
    OddFile(
        "kinds.parquet",
        "Parquet with categories, dates, booleans, lists, decimals",
        typed_parquet,
        "decimals are read, the others are left out by their kind",
        note="left out 1 list column: tags",
    ),
]


def markdown_table() -> str:
    """The table in docs/files.md."""
    table = ["| file | what is odd | outcome |", "| --- | --- | --- |"]
    for file in ODD_FILES:
        answer = ", ".join(f"{key}={value!r}" for key, value in file.answer.items())
        answered = f"; then `{answer}`" if file.question and answer else ""
        table.append(f"| `{file.name}` | {file.description} | {file.outcome}{answered} |")
    return "\n".join(table)
