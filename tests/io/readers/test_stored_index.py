"""The row index that pandas stores in tables of pyarrow is no column of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from princomp import PCA, read_table

ROWS = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
INDEXES = {
    "dates": pd.date_range("2020-01-01", periods=40),
    "named dates": pd.date_range("2020-01-01", periods=40, name="date"),
    "numbers": pd.Index(np.arange(40) * 1.5),
    "levels": pd.MultiIndex.from_product([range(8), range(5)], names=["year", "day"]),
}


@pytest.mark.parametrize("index", INDEXES)
def test_tables_and_batches_of_arrow_are_read_as_frames_and_files_are(index, tmp_path):
    frame = ROWS.set_axis(INDEXES[index])
    table, path = pa.Table.from_pandas(frame), tmp_path / "rows.parquet"
    frame.to_parquet(path)
    expected = PCA(2).fit(frame)
    scores = expected.transform(frame)
    for rows in (
        table,
        path,
        table.to_batches()[0],
        read_table(table),
        lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7)),
        pyarrow.dataset.dataset(path).to_batches,
    ):
        model = PCA(2).fit(rows)
        assert model.feature_names_in_.tolist() == list("abc")
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-14)
        np.testing.assert_allclose(expected.transform(rows), scores, atol=1e-14)
    model = PCA(2).partial_fit(table).partial_fit(table.slice(0, 0))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-14)


@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
def test_an_index_that_is_asked_for_is_analysed():
    frame = ROWS.rename_axis("number").set_axis(INDEXES["numbers"].rename("number"))
    table, columns = pa.Table.from_pandas(frame), frame.reset_index()
    names = ["number", "a"]
    expected = PCA(2).fit(columns[names])
    model = PCA(2).fit(read_table(table, columns=names))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-14)
    # As a model of these columns asks for it.
    model = PCA(2).fit(columns[["a", "b", "c", "number"]])
    np.testing.assert_allclose(model.transform(table), model.transform(columns[[*"abc", "number"]]))
    assert PCA(2).fit(read_table(table, exclude=["number"])).n_features_in_ == 3
    assert PCA(1).fit(table.select(["number"])).n_features_in_ == 1


@pytest.mark.parametrize("library", [pa.Table.from_pandas, pl.from_pandas, pd.DataFrame])
def test_a_covariance_with_the_labels_of_its_rows(library):
    C = ROWS.cov()
    expected = PCA.from_covariance(C).explained_variance_
    found = PCA.from_covariance(pa.Table.from_pandas(C)).explained_variance_
    np.testing.assert_array_equal(found, expected)
    labelled = library(C.reset_index())
    with pytest.raises(ValueError, match="'index' row 0: 'a' is not a number") as caught:
        PCA.from_covariance(labelled)
    without = eval(caught.value.hint.partition("give ")[2], {"C": labelled})
    np.testing.assert_array_equal(PCA.from_covariance(without).explained_variance_, expected)
