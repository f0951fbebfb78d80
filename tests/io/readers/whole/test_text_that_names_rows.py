"""Columns of text that name the rows: dates with points, repeated cells, and very few rows."""

from __future__ import annotations

import pandas as pd
import pytest

from helpers import read_whole
from princomp import read_table

DAYS = pd.date_range("2015-01-02", periods=20, freq="B")


def table_of(labels):
    n = len(labels)
    return pd.DataFrame({"Date": labels, "a": [i * i % 7 / 4 for i in range(n)], "b": range(n)})


@pytest.mark.parametrize(("sep", "decimal"), [(";", ","), (",", "."), ("\t", ","), ("|", ".")])
@pytest.mark.parametrize("written", ["%d.%m.%Y", "%Y.%m.%d", "%d.%m.%y", "%d/%m/%Y"])
def test_dates_name_the_rows(tmp_path, written, sep, decimal):
    table = table_of(DAYS.strftime(written))
    table.to_csv(tmp_path / "t.csv", sep=sep, decimal=decimal, index=False)
    read = read_whole(tmp_path / "t.csv", find_ids=True)
    assert read.columns == ("a", "b")
    assert list(read.ids) == list(table["Date"])


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "day %j"])
@pytest.mark.parametrize(("times", "often"), [(2, "twice"), (3, "3 times")])
def test_a_note_gives_a_cell_for_which_a_column_does_not_name_the_rows(
    tmp_path, written, times, often
):
    days = DAYS.insert(5, DAYS[5]) if times == 2 else DAYS.insert(5, DAYS[5]).insert(5, DAYS[5])
    table = table_of(days.strftime(written))
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    note = f"column 'Date' does not name the rows, because {table['Date'][5]!r} occurs {often}; "
    for name in ("t.csv", "t.xlsx", "t.parquet"):
        notes = read_table(tmp_path / name).notes
        assert f"{note}id_column='Date' names them by it" in notes
        read = read_whole(tmp_path / name, id_column="Date")
        assert list(read.ids) == list(table["Date"])


@pytest.mark.parametrize(("empty", "why"), [(1, "one cell is empty"), (2, "2 cells are empty")])
@pytest.mark.parametrize("first", [0, 5])
def test_a_note_says_if_a_column_does_not_name_the_rows_for_empty_cells(
    tmp_path, empty, why, first
):
    table = table_of([f"k{i}" for i in range(20)])
    table.loc[first : first + empty - 1, "Date"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    note = f"column 'Date' does not name the rows, because {why}; id_column='Date' names them by it"
    for name in ("t.csv", "t.parquet"):
        assert note in read_table(tmp_path / name).notes
    table.loc[:5, "Date"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    assert not any("name the rows" in note for note in read_table(tmp_path / "t.csv").notes)


def test_groups_cause_no_such_note(tmp_path):
    table = table_of(["u", "v"] * 10)
    for rows in (table, table_of([*map(str, DAYS[:16]), *"uuuu"]), table_of(["u", "v", "u"])):
        rows.to_csv(tmp_path / "t.csv", index=False)
        notes = read_table(tmp_path / "t.csv").notes
        assert not any("occurs" in note for note in notes)


def test_two_columns_of_text_name_no_rows(tmp_path):
    table = table_of(DAYS.strftime("day %j"))
    table.assign(c=table["Date"] + "x").to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").notes[-1] == "left out 2 text columns: Date, c"


@pytest.mark.parametrize("word", ["nan", "NA", "null", "0.5", "7"])
def test_words_that_look_like_numbers_or_missing_cells_name_rows(tmp_path, word):
    words = [f"w{i}" for i in range(20)]
    words[7] = word
    table_of(words).to_csv(tmp_path / "t.csv", index=False)
    read = read_whole(tmp_path / "t.csv", find_ids=True)
    assert list(read.ids) == words
    # An empty cell is no name, and most other cells must be text.
    for other in ("", "12"):
        table_of([*words[:12], other, *words[13:]]).to_csv(tmp_path / "t.csv", index=False)
        assert read_whole(tmp_path / "t.csv", find_ids=True).ids is None


@pytest.mark.parametrize("rows", [1, 2])
def test_only_a_first_column_of_text_names_very_few_rows(write, rows):
    lines = ["fly,0.5,x,5", "flo,1.5,y,4"][:rows]
    table = read_whole(write("\n".join(["scenario,PC1,kind,PC2", *lines, ""])), find_ids=True)
    assert list(table.ids) == ["fly", "flo"][:rows]
    table = read_whole(write("\n".join(["PC1,PC2,kind", "1.5,2,u", "1.5,3,v", ""])), find_ids=True)
    assert table.ids is None
