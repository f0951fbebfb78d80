"""Dask frames: names of columns, output, columns without numbers, and weights."""

from __future__ import annotations

import numpy as np
import pytest
from on_dask import missing
from test_same_answer import compare, parts_of

from princomp import PCA, IncrementalPCA, diagnostics, read_table
from princomp.errors import (
    ColumnError,
    DataError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)

if missing():
    pytest.skip(missing(), allow_module_level=True)

import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture
def frame(rng):
    rows = np.concatenate(parts_of(rng, [200], p=5))
    return pd.DataFrame(rows, columns=NAMES, index=np.arange(1000, 1200))


def test_a_frame_keeps_its_names_and_gives_an_array(frame, tmp_path):
    df = dd.from_pandas(frame, npartitions=4)
    for i in range(4):
        frame[i * 50 : i * 50 + 50].to_parquet(tmp_path / f"{i}.parquet")
    model = PCA(n_components=2)
    scores = model.fit_transform(dd.read_parquet(tmp_path))
    compare(model, PCA(n_components=2).fit(frame), 1e-12)
    assert model.feature_names_in_.tolist() == NAMES
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), model.transform(frame), atol=1e-12)
    with pytest.raises(ColumnError, match="order"):
        model.transform(df[NAMES[::-1]])


def test_set_output_gives_a_frame_of_the_same_index(frame):
    df = dd.from_pandas(frame, npartitions=4)
    model = PCA(n_components=2).set_output(transform="pandas")
    scores = model.fit_transform(df)
    assert isinstance(scores, dd.DataFrame)
    assert list(scores.columns) == ["PC1", "PC2"]
    assert scores.divisions == df.divisions
    pd.testing.assert_frame_equal(scores.compute(), model.transform(frame))
    scores = model.fit(frame.to_numpy()).transform(da.from_array(frame.to_numpy(), chunks=(50, 5)))
    assert isinstance(scores, dd.DataFrame)
    assert scores.compute().shape == (200, 2)
    with pytest.raises(ParameterError, match="polars"):
        model.fit(df).set_output(transform="polars").transform(df)


def test_columns_without_numbers_are_left_out_as_in_pandas(frame):
    mixed = frame.assign(word="x", flag=frame.a > 3, day=pd.Timestamp("2024-05-01"))
    df = dd.from_pandas(mixed, npartitions=2)
    found = "1 text column: word; left out 1 true/false column: flag; left out 1 date column: day"
    with pytest.warns(UserWarning, match=found):
        expected = PCA().fit(mixed)
    with pytest.warns(UserWarning, match=f"{found}. To keep columns, cast them to floats on Dask"):
        model = PCA().fit(df)
    compare(model, expected, 1e-12)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(model.transform(df).compute(), expected.transform(mixed), atol=1e-12)
    with pytest.warns(UserWarning, match="flag"):
        weighted = PCA().fit(df.assign(w=2.0), sample_weight="w")
    compare(weighted, PCA().fit(frame, sample_weight=[2] * 200), 1e-12)
    with pytest.raises(NotNumericError, match="no column of numbers"):
        PCA().fit(df[["word", "flag"]])
    with pytest.raises(ShapeError, match="1D"):
        PCA().fit(df["a"])


def test_a_first_column_that_numbers_the_rows_is_left_out_as_in_pandas(frame):
    numbered = frame.copy()
    numbered.insert(0, "Unnamed: 0", range(200))
    df = dd.from_pandas(numbered, npartitions=2)
    with pytest.warns(UserWarning, match="left out 'Unnamed: 0', the first column"):
        model = PCA().fit(df)
    compare(model, PCA().fit(frame), 1e-12)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(model.transform(df).compute(), model.transform(numbered), atol=1e-12)
    whole = PCA(scale="unit").fit(read_table(numbered, id_column=False))  # with that column
    scores = whole.transform(numbered)
    np.testing.assert_allclose(whole.transform(df).compute(), scores, atol=1e-12)
    with pytest.raises(NotNumericError, match="it has no columns"):
        PCA().fit(df[[]])


def test_decimals_of_a_frame_are_numbers(frame):
    kind = pd.ArrowDtype(pa.decimal128(20, 3))
    frame = frame.round(3).astype({"a": kind, "b": kind})
    df = dd.from_pandas(frame, npartitions=2)
    compare(PCA().fit(df), PCA().fit(frame), 1e-12)
    weighted = PCA().fit(
        df.assign(w=2).astype({"w": pd.ArrowDtype(pa.decimal128(38, 0))}), sample_weight="w"
    )
    compare(weighted, PCA().fit(frame, sample_weight=[2] * 200), 1e-12)


def test_nullable_integers_and_missing_values_of_a_frame(frame):
    frame = frame.assign(a=(frame.a * 10).round().astype("Int64"))
    df = dd.from_pandas(frame, npartitions=3)
    compare(PCA().fit(df), PCA().fit(frame), 1e-12)
    frame.loc[1150, "a"] = pd.NA
    with pytest.raises(NotFiniteError, match="row 150, column 'a'"):
        PCA().fit(dd.from_pandas(frame, npartitions=3))


@pytest.fixture
def weights(rng):
    return rng.integers(0, 4, 200).astype(float)


def test_weights_of_a_frame_are_a_series_or_one_of_its_columns(frame, weights):
    expected = PCA(n_components=3).fit(frame, sample_weight=weights)
    df = dd.from_pandas(frame.assign(w=weights), npartitions=3)
    model = PCA(n_components=3)
    scores = model.fit_transform(df, sample_weight="w")
    compare(model, expected, 1e-12)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(scores.compute(), expected.transform(frame), atol=1e-12)
    compare(PCA(n_components=3).fit(df[NAMES], sample_weight=df["w"]), expected, 1e-12)
    batches = IncrementalPCA(n_components=3)
    scores = batches.fit_transform(df, sample_weight="w")
    compare(batches, expected, 1e-12)
    np.testing.assert_allclose(scores.compute(), expected.transform(frame), atol=1e-12)
    with pytest.raises(ParameterError, match="'z' is not a column of X"):
        PCA().fit(df, sample_weight="z")
    with pytest.raises(ParameterError, match="200 weights in memory"):
        PCA().fit(df[NAMES], sample_weight=weights)


def add_rows(df, weights):
    return PCA(2).partial_fit(df, sample_weight=weights)


def add_and_remove_rows(df, weights):
    model = PCA(2).partial_fit(df, sample_weight=weights).partial_fit(df)
    return model.forget(df, sample_weight=weights).partial_fit(df, sample_weight=weights).forget(df)


def fit_in_batches(df, weights):
    return IncrementalPCA(2).fit(df, sample_weight=weights)


@pytest.mark.parametrize("fit", [add_rows, add_and_remove_rows, fit_in_batches])
def test_a_series_of_weights_belongs_to_the_rows_by_its_index_in_batches_too(
    frame, weights, rng, fit
):
    series = pd.Series(weights, frame.index).iloc[rng.permutation(200)]
    df = dd.from_pandas(frame, npartitions=1)
    shuffled = dd.from_pandas(series, npartitions=1, sort=False)
    expected = PCA(2).fit(frame, sample_weight=weights)
    compare(fit(df, shuffled), expected, 1e-10)
    with pytest.raises(ParameterError, match="200 weights in memory") as caught:
        fit(df, series)
    assert "a Dask series" in caught.value.hint


def test_weights_in_a_list_belong_to_the_rows_by_position(frame, weights):
    df = dd.from_pandas(frame, npartitions=3)
    model = PCA(2).partial_fit(df, sample_weight=weights.tolist())
    compare(model, PCA(2).fit(frame, sample_weight=weights), 1e-10)


def test_a_frame_without_rows(frame):
    model = PCA(2, missing="em").fit(frame)
    empty = dd.from_pandas(frame, npartitions=2)
    empty = empty[empty.a > frame.a.max()]
    assert model.score_samples(empty).shape == (0,)
    assert model.impute(empty).shape == (0, 5)
    with pytest.raises(DataError, match="there are no rows"):
        model.score(empty)


def test_impute_fills_the_cells_of_a_frame(frame):
    frame.iloc[::7, 1] = np.nan
    model = PCA(2, missing="em").fit(frame)
    filled = model.impute(dd.from_pandas(frame, npartitions=3))
    np.testing.assert_allclose(filled, model.impute(frame).to_numpy(), rtol=1e-13)


def test_diagnostics_of_a_frame_give_no_warning(frame):
    # narwhals warns of each Dask frame that it wraps.
    model = PCA(2).fit(frame)
    found = diagnostics.distances(model, dd.from_pandas(frame, npartitions=3))
    np.testing.assert_allclose(found["t2"], diagnostics.distances(model, frame)["t2"], rtol=1e-10)


def test_the_label_of_a_row_is_not_counted_in_its_chunk():
    frame = pd.DataFrame({"a": [1, 2, 3, 2**53 + 1], "b": [1.0, 3.0, 2.0, 5.0]}, index=list("wxyz"))
    with pytest.raises(NotNumericError, match=r"row 3 of all: column 'a' row 'z'") as caught:
        PCA().fit(dd.from_pandas(frame, npartitions=2, sort=False))
    assert "in its chunk" not in caught.value.message
