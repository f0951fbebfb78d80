"""Warnings about tables that seem to be covariances, or text that was not split."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from princomp import PCA, KernelPCA

NAMES = list("abc")


def warned_of(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PCA(1).fit(X)
    return " ".join(str(one.message) for one in caught)


@pytest.fixture
def correlations(rng):
    return pd.DataFrame(rng.standard_normal((20, 3)), columns=NAMES).corr()


def test_a_table_of_correlations_is_noticed(correlations, tmp_path):
    correlations.to_csv(tmp_path / "t.csv")
    correlations.to_parquet(tmp_path / "t.parquet")
    tables = correlations, pl.from_pandas(correlations), tmp_path / "t.csv", tmp_path / "t.parquet"
    for X in tables:
        assert "the table is symmetric" in warned_of(X)
        assert "PCA.from_covariance(C)" in warned_of(X)


def test_other_square_tables_cause_no_warning(correlations, rng):
    C = correlations.to_numpy()
    rounded_up = C + np.triu(np.full((3, 3), 1e-5), 1)
    for data in (rounded_up, rng.standard_normal((3, 3)), np.vstack([C, C]), C[:2, :2]):
        X = pd.DataFrame(data, columns=NAMES[: data.shape[1]])
        assert "symmetric" not in warned_of(X)
    assert "symmetric" not in warned_of(C)  # an array has no names
    KernelPCA(1, kernel="precomputed").fit(correlations)  # no warning


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_one_column_with_several_names_is_noticed(mark):
    name = mark.join(NAMES)
    X = pd.DataFrame({name: [1.0, 2.0, 4.0]})
    for table in (X, X.astype(int)):
        assert f"pandas.read_csv(path, sep={mark!r})" in warned_of(table)
    assert not warned_of(X.assign(other=[3.0, 1.0, 0.0]))
    assert not warned_of(X.rename(columns={name: f"a{mark}b"}))
