"""A first column of numbers that are dates or times is analysed with a warning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from princomp import PCA, read_table

DAYS = pd.date_range("2023-12-20", periods=40, freq="B")
SERIALS = (DAYS - pd.Timestamp("1899-12-30")).days.to_numpy()
SECONDS = (SERIALS - 25_569) * 86_400
DATES = {
    "days as in Excel": SERIALS,
    "days as in MATLAB": SERIALS + 693_960,
    "seconds since 1970": SECONDS,
    "milliseconds since 1970": SECONDS * 1000,
    "microseconds since 1970": SECONDS * 1_000_000,
    "YYYYMMDD": DAYS.strftime("%Y%m%d").astype(int).to_numpy(),
}
YEARS = DAYS.year + DAYS.day_of_year.to_numpy() / 365.25
MEASURED = np.random.default_rng(0).standard_normal((len(DAYS), 3))


def inputs(folder, name, numbers):
    """The same table as files and frames."""
    table = pd.DataFrame(MEASURED, columns=list("abc"))
    table.insert(0, name, numbers)
    table.to_csv(folder / "t.csv", index=False)
    table.to_excel(folder / "t.xlsx", index=False)
    table.to_parquet(folder / "t.parquet", index=False)
    table.to_feather(folder / "t.feather")
    files = [folder / f"t.{ending}" for ending in ("csv", "xlsx", "parquet", "feather")]
    return [*files, table, pl.from_pandas(table)]


@pytest.mark.parametrize("step", [1, -1], ids=["rising", "falling"])
@pytest.mark.parametrize("pattern", DATES)
def test_whole_numbers_of_dates_cause_a_warning(tmp_path, pattern, step):
    message = rf"'x', the first column, looks like dates \({pattern}\) and is analysed: leave"
    numbers = DATES[pattern][::step]
    for rows in (*inputs(tmp_path, "x", numbers), *inputs(tmp_path, "x", numbers * 1.0)):
        with pytest.warns(UserWarning, match=message):
            assert PCA(1, scale="unit").fit(rows).n_features_in_ == 4
        assert not any("dates" in note for note in read_table(rows, id_column=False).notes)


@pytest.mark.parametrize(("step", "goes"), [(1, "rises"), (-1, "falls")])
@pytest.mark.parametrize("name", ["Date", "YEAR", "timestamp", "Time (s)", "day_of_test", "Datum"])
def test_a_column_called_date_or_time_causes_a_warning(tmp_path, name, step, goes):
    for rows in inputs(tmp_path, name, YEARS[::step]):
        with pytest.warns(UserWarning, match=f"first column, only {goes}, as times do, and is an"):
            PCA(1, scale="unit").fit(rows)


INCOMES = np.sort(np.random.default_rng(0).integers(20_000, 60_000, len(DAYS)))
OTHERS = {
    "sorted incomes": ("x", INCOMES),
    "not in order": ("Date", np.random.default_rng(0).permutation(SERIALS)),
    "twice": ("Date", np.r_[SERIALS[0], SERIALS[:-1]]),
    "missing": ("Date", np.r_[np.nan, SERIALS[1:]]),
    "other name": ("Daytona", YEARS),
    "fractions": ("x", SERIALS + 0.5),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_cause_no_warning(tmp_path, name):
    for rows in inputs(tmp_path, *OTHERS[name]):
        notes = read_table(rows).notes
        assert not any("first column" in note for note in notes)
    assert not any("first column" in note for note in read_table(rows[:4]).notes)
