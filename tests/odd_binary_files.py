"""Unusual workbooks and Parquet files, and the outcome of each; see ``odd_files``."""

from __future__ import annotations

from odd_file import NAMES, ROWS, OddFile, parquet, typed_parquet, workbook

NUMBERED: list[object] = list(range(8))
NAMED: list[object] = list(NAMES)
TABLE: list[list[object]] = [["name", "height", "weight"]] + [
    [name, *row] for name, row in zip(NAMES, ROWS, strict=True)
]

BINARY_FILES = [
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
