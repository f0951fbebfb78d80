"""A warning for columns after the first whose cells count the rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from princomp import PCA, read_table


def table(first_id=1, n=9):
    rng = np.random.default_rng(0)
    columns = {"name": [f"n{i}" for i in range(n)], "id": np.arange(n) + first_id}
    return pd.DataFrame({**columns, "a": rng.normal(size=n), "b": rng.normal(size=n)})


def counters(X, **options):
    """The warnings that a column counts the rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PCA(1).fit(read_table(X, **options) if options else X)
    return [str(one.message) for one in caught if "counts the rows" in str(one.message)]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("columns", [["name", "id", "a", "b"], ["a", "b", "id"]])
def test_columns_that_count_the_rows_are_warned_of(tmp_path, first, columns):
    frame = table(first)[columns]
    paths = [tmp_path / f"t.{kind}" for kind in ("csv", "parquet", "xlsx")]
    frame.to_csv(paths[0], index=False)
    frame.to_parquet(paths[1])
    frame.to_excel(paths[2], index=False)
    for path in paths:
        (warning,) = counters(path)
        start = f"'id' counts the rows from {first} and is analysed: leave it out with "
        assert f"{start}exclude=['id']" in warning
        assert not counters(path, columns=["a", "id"])
    (warning,) = counters(frame)
    assert f"{start}frame.drop(columns=['id'])" in warning
    (warning,) = counters(pl.from_pandas(frame))
    assert f"{start}frame.drop(['id'])" in warning


def test_other_columns_are_not_warned_of(tmp_path):
    frame = table()
    assert not counters(frame[["id", "a", "b"]])  # left out because of its name
    for numbers in (frame["id"] + 1, frame["id"] * 2, frame["id"][::-1].to_numpy()):
        assert not counters(frame.assign(id=numbers))
    assert not counters(table(n=7))
    frame.loc[4, "id"] = 7
    assert not counters(frame)
    frame = table().rename(columns={"id": "number"})[["number", "a", "b"]]
    (warning,) = counters(frame)
    assert "'number', the first column, counts the rows" in warning


def test_columns_without_names_are_not_warned_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({0: rng.normal(size=20), 1: np.arange(20)})
    assert not counters(frame)
    assert not counters(frame.to_numpy())


def test_new_rows_for_a_model_are_not_warned_of(tmp_path):
    frame = table()[["a", "id"]]
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    model = PCA(1).fit(frame.to_numpy(float)[::-1])
    with pytest.warns(UserWarning, match="'id' is named like an identifier"):
        named = PCA(1).fit(pd.DataFrame(frame.to_numpy(float)[::-1], columns=["a", "id"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.transform(path)
        model.transform(frame.to_numpy(float))
