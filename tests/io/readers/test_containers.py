"""Objects that hold several tables are refused with a hint how to get one of them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from princomp import PCA, KernelPCA, diagnostics, plots, report
from princomp.errors import NotAvailableError, ParameterError, ShapeError

X = np.random.default_rng(0).standard_normal((20, 4))
HINTS = {"anndata.AnnData": "adata.to_df()", "xarray.Dataset": "to_dataframe()"}
HINTS |= dict.fromkeys(("pyarrow.Dataset", "pyarrow.Scanner"), "data.to_batches")
HINTS |= {"pandas.DataFrameGroupBy": "X.obj", "polars.GroupBy": "for name, group in X"}
HINTS["torch.DataLoader"] = "lambda: iter(X)"
HINTS |= dict.fromkeys(("anndata.CSRDataset", "anndata.CSCDataset"), "X.to_memory()")


def stand_in(name):
    """An instance of a class with this name."""
    module, _, kind = name.partition(".")
    return type(kind, (), {"__module__": f"{module}.inside"})()


@pytest.mark.parametrize("name", HINTS)
def test_hints_tell_how_to_get_one_table(name):
    model, rows = PCA(2).fit(X), stand_in(name)
    calls = [
        PCA(2).fit,
        PCA(2).fit_transform,
        PCA(2).partial_fit,
        KernelPCA(2).fit,
        model.transform,
        lambda rows: plots.scores(model, rows),
        lambda rows: diagnostics.rows(model, rows),
        lambda rows: report(model, rows),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match=f"^{name} is not a table") as caught:
            call(rows)
        assert HINTS[name] in caught.value.hint


def test_the_hints_for_anndata_work():
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    names = [f"cell {i}" for i in range(20)]
    adata = anndata.AnnData(X, pandas.DataFrame(index=names), pandas.DataFrame(index=list("abcd")))
    with pytest.raises(ParameterError, match=r"anndata\.AnnData"):
        PCA(2).fit(adata)
    expected = PCA(2).fit(X).explained_variance_
    assert np.array_equal(PCA(2).fit(adata.X).explained_variance_, expected)
    model = PCA(2).fit(adata.to_df())
    assert model.feature_names_in_.tolist() == list("abcd")
    table = diagnostics.rows(model, adata.to_df(), frame="listing")
    assert table["row"].tolist() == names


def test_the_hints_for_delayed_parts_work():
    dask = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    delayed = pytest.importorskip("dask").delayed
    parts = [delayed(X)[:12], delayed(X)[12:]]
    for rows in (parts, tuple(parts), iter(parts)):
        with pytest.raises(ParameterError, match=r"dask\.Delayed is not a table") as caught:
            PCA(2).fit(rows)
        hint = "dask.array.vstack([dask.array.from_delayed(x, (n, p), float) for x in parts])"
        assert hint in caught.value.hint
    expected = PCA(2).fit(X).mean_
    arrays = [dask.from_delayed(x, (n, 4), float) for x, n in zip(parts, (12, 8), strict=True)]
    frame = frames.from_delayed([delayed(pd.DataFrame)(x, columns=list("abcd")) for x in parts])
    for rows in (dask.vstack(arrays), frame, (x.compute() for x in parts)):
        np.testing.assert_allclose(PCA(2).fit(rows).mean_, expected, rtol=1e-12)


def test_the_hints_for_groups_of_open_files_work(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "cells.h5ad")
    with h5py.File(path, "w") as file:
        file["layers/counts"] = X
        for group in (file, file["layers"]):
            with pytest.raises(ParameterError, match=r"h5py.Group is not a table") as caught:
                PCA(2).fit(group)
            assert caught.value.hint.startswith("Give the path of the file, or 'path::group'")
        assert PCA(2).fit(file["layers"]["counts"]).n_samples_ == 20
    assert PCA(2).fit(f"{path}::layers").n_samples_ == 20


def test_the_hints_for_open_npz_files_work(tmp_path):
    path = str(tmp_path / "one.npz")
    np.savez(path, X)
    with np.load(path) as file:
        with pytest.raises(ParameterError, match=r"numpy.NpzFile is not a table") as caught:
            KernelPCA(2).fit(file)
        hint = "Give the path of the file, or an array of it: X[name], a name of X.files."
        assert caught.value.hint == hint
        variances = PCA(2).fit(file[file.files[0]]).explained_variance_
    assert np.array_equal(PCA(2).fit(path).explained_variance_, variances)


class OnDevice:
    """An array that NumPy cannot read, as CuPy's, with its message."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion is not allowed. Please use `.get()`")


class Exported:
    """An array that only DLPack can read."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __init__(self, error=None):
        self.error = error

    def __dlpack__(self, **options):
        if self.error:
            raise self.error
        return X.__dlpack__(**options)

    def __dlpack_device__(self):
        return X.__dlpack_device__()


def test_arrays_of_other_libraries_are_read_by_dlpack_or_refused():
    expected = PCA(2).fit(X)
    assert np.array_equal(PCA(2).fit(Exported()).components_, expected.components_)
    assert np.array_equal(expected.transform(Exported()), expected.transform(X))
    for rows, reason in (
        (OnDevice(), r"Please use `\.get\(\)`"),
        (Exported(BufferError("the array is on a GPU")), "the array is on a GPU"),
    ):
        for call in (PCA(2).fit, KernelPCA(2).fit, expected.transform):
            with pytest.raises(NotAvailableError, match=f"that NumPy can read: .*{reason}"):
                call(rows)


def test_xarray_arrays_are_read_and_datasets_refused():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(X, dims=("cell", "gene"))
    expected = PCA(2).fit(X)
    assert np.array_equal(PCA(2).fit(array).components_, expected.components_)
    assert np.array_equal(expected.transform(array), expected.transform(X))
    with pytest.raises(ParameterError, match=r"xarray\.Dataset"):
        PCA(2).fit(xarray.Dataset({"x": array}))
    with pytest.raises(ShapeError, match=r"has shape \(1, 20, 4\)"):
        PCA(2).fit(array.expand_dims("time"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[0], r"ndarray has shape \(4,\)(?s:.*)X\.reshape\(1, -1\) is one row"),
        ([1.0, 2.0], r"list has shape \(2,\)(?s:.*)\[X\] is one row"),
        (pd.Series(X[0]), r"Series has shape \(4,\)(?s:.*)X\.to_frame\(\)\.T is one row"),
        (np.ones((2, 3, 4)), r"X\.reshape\(len\(X\), -1\) makes a row of each.*reshape\(-1, 4\)"),
        (1.0, r"a float cannot be read as a table\nHint: give an array of shape"),
        ([[1, 2], [3]], "row 1 has 1 value, and row 0 has 2"),
        ({"a": [1, 2]}, r"a dict is not a table(?s:.*)pandas\.DataFrame\(X\)"),
        ([{"a": 1}, {"a": 2}], r"a list of dicts is not a table(?s:.*)pandas\.DataFrame\(X\)"),
    ],
)
def test_data_without_rows_and_columns(data, message):
    model = PCA(2).fit(X)
    for call in (PCA(2).fit, model.transform, lambda rows: diagnostics.rows(model, rows)):
        with pytest.raises(ShapeError, match=message):
            call(data)


SERIES = {
    "pandas": pd.Series,
    "index": pd.Index,
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda cells: pa.chunked_array([cells]),
    "extension": pd.array,
    "numpy": np.asarray,
    "list": list,
}


@pytest.mark.parametrize("kind", SERIES)
def test_the_hints_for_one_dimension_work(kind):
    data = SERIES[kind]([1.0, 2.0])
    with pytest.raises(ShapeError, match=rf"this {type(data).__name__} has shape \(2,\)") as caught:
        PCA(1).fit(data)
    hint = re.fullmatch("Reshape your data: (.*) is one row, (.*) one column", caught.value.hint)
    names = {"X": data, "numpy": np}
    row, column = (np.asarray(eval(code, names)) for code in hint.groups())
    assert row.tolist() == [[1.0, 2.0]]
    assert column.tolist() == [[1.0], [2.0]]
    with pytest.raises(ShapeError, match=r"batch 1: .* has shape \(2,\)") as of_batch:
        PCA(1).fit(iter([data]))
    assert of_batch.value.hint == caught.value.hint


def test_the_hints_for_datasets_of_arrow_work():
    dataset = pytest.importorskip("pyarrow.dataset")
    data = dataset.dataset(pa.table(dict(zip("abcd", X.T, strict=True))))
    for tables in (data, data.scanner(columns=["b", "a"])):
        with pytest.raises(ParameterError, match=r"^pyarrow\.(Dataset|Scanner) is not a table"):
            PCA(2).fit(tables)
    model = PCA(2).fit(lambda: data.to_batches(columns=["b", "a"]))
    assert model.feature_names_in_.tolist() == ["b", "a"]
    model = PCA(2).fit(data.to_batches)
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_)
    assert PCA(2).fit(data.scanner(columns=["b", "a"]).to_batches).n_features_in_ == 2


def test_the_hints_for_groups_work():
    frame = pd.DataFrame(X, columns=list("abcd"))
    groups = frame.groupby(np.arange(20) % 2)
    with pytest.raises(ParameterError, match=r"^pandas\.DataFrameGroupBy is not a table"):
        PCA(2).fit(groups)
    assert np.array_equal(PCA(2).fit(groups.obj).components_, PCA(2).fit(frame).components_)
    for name, group in groups:
        np.testing.assert_allclose(PCA(2).fit(group).mean_, frame[name::2].mean(), atol=1e-14)


@pytest.mark.parametrize("kind", ["array", "frame", "record batch"])
@pytest.mark.parametrize("rows", [(7, 13), (10, 10)])
def test_a_list_of_tables_is_refused_and_its_iterator_is_read(kind, rows):
    make = np.asarray
    if kind == "frame":
        make = pytest.importorskip("pandas").DataFrame
    elif kind == "record batch":
        arrow = pytest.importorskip("pyarrow")

        def make(x):
            return arrow.RecordBatch.from_arrays([arrow.array(c) for c in x.T], list("abcd"))

    tables = [make(X[: rows[0]]), make(X[rows[0] :])]
    for given in (tables, tuple(tables)):
        with pytest.raises(ParameterError, match="holds tables, and one table is needed") as caught:
            PCA(2).fit(given)
    assert "iter(X)" in caught.value.hint
    are_images = kind == "array" and rows[0] == rows[1]
    hint = "such as an image, numpy.stack(X).reshape(len(X), -1)"
    assert (hint in caught.value.hint) == are_images
    model = PCA(2).fit(iter(tables))
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_)


def test_the_hints_for_lists_of_vectors_work():
    vectors = np.empty(len(X), object)
    vectors[:] = list(X)
    arrow = pa.array(list(X))
    for given in (
        vectors,
        pd.Series(list(X), index=range(3, 23)),
        arrow,
        pa.chunked_array([arrow]),
    ):
        with pytest.raises(ShapeError, match="makes each vector") as caught:
            PCA(2).fit(given)
        code = caught.value.hint.partition(" makes")[0]
        assert np.array_equal(eval(code, {"numpy": np, "X": given}), X)
