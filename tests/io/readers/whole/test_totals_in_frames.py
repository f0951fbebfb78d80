"""A last row of totals in a frame or a Parquet file causes a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from princomp import PCA, read_table

ROWS = pd.DataFrame(np.random.default_rng(0).uniform(1, 9, (20, 3)), columns=list("abc"))


def with_last_row(cells, name):
    """A frame whose last row has a name in a column of text."""
    names = [f"r{i}" for i in range(len(ROWS))]
    last = pd.DataFrame([cells], columns=list("abc"))
    return pd.concat([ROWS, last], ignore_index=True).assign(name=[*names, name])


@pytest.mark.parametrize("name", ["TOTAL", "Summe", "mean"])
def test_a_row_that_is_named_so(name, tmp_path):
    frame = with_last_row([3.0, 2.0, 1.0], name)
    frame.to_parquet(tmp_path / "rows.parquet")
    indexed = frame.set_index("name")
    for table in (frame, pl.from_pandas(frame), indexed, tmp_path / "rows.parquet"):
        with pytest.warns(UserWarning, match=f"the last row is named '{name}' and is analysed"):
            PCA(2).fit(table)


def test_sums_and_means_without_a_word():
    for cells in (ROWS.sum(), ROWS.mean()):
        with pytest.warns(UserWarning, match="the last row holds the sums or means of the others"):
            PCA(2).fit(with_last_row(cells, "x"))


def test_rounded_sums_of_float32():
    cells = (ROWS * 1000.0).round(6).astype("f4")
    with pytest.warns(UserWarning, match="the last row holds the sums or means of the others"):
        PCA(2).fit(pd.concat([cells, cells.sum().round(1).to_frame().T], ignore_index=True))


def test_a_design_is_not_refused(tmp_path):
    (tmp_path / "design.csv").write_text("a,b\n0,0\n1,0\n0,1\n1,1\n")
    assert PCA(2).fit(tmp_path / "design.csv").n_samples_ == 4


def test_other_last_rows_cause_no_warning(tmp_path):
    centred = ROWS - ROWS.mean()
    zeros = pd.concat([centred, centred.iloc[:1] * 0.0], ignore_index=True)
    frame = with_last_row([3.0, 2.0, 1.0], "Tom Total")
    frame.drop(columns="name").to_parquet(tmp_path / "rows.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (frame.drop(columns="name"), zeros, tmp_path / "rows.parquet"):
            model = PCA(2).fit(table)
        model.transform(with_last_row(ROWS.sum(), "x").drop(columns="name"))
        PCA(2).fit(zeros.to_numpy())
    assert not any("the last row" in note for note in read_table(frame).notes)


def test_rounded_sums_in_a_text_are_refused(tmp_path):
    """A query with ROLLUP may round its sums to two decimals."""
    cells = ROWS.round(6) * 1000.0
    path = tmp_path / "rows.csv"
    pd.concat([cells, cells.sum().round(2).to_frame().T]).to_csv(path, index=False)
    with pytest.raises(ValueError, match="looks like totals"):
        PCA(2).fit(path)
    pd.concat([cells, (cells.sum() + 0.02).round(2).to_frame().T]).to_csv(path, index=False)
    PCA(2).fit(path)
