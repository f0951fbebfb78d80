"""Arrays of xarray and netCDF4, and open arrays of HDF5 and Zarr files, as rows."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA
from princomp.errors import NotFiniteError, NotNumericError, ParameterError, ShapeError

X = np.random.default_rng(0).standard_normal((20, 4)) * [1, 2, 3, 4]
PACKED = {"scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -999, "missing_value": "none"}


class Labelled:
    """What xarray.DataArray has of an array: values, and attributes that arithmetic keeps."""

    def __init__(self, values, attributes=None):
        self.values, self.attrs = values, attributes or {}
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, key):
        return Labelled(self.values[key], self.attrs)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype, copy=copy)


class MaskedVariable:
    """What netCDF4.Variable has of an array: it is converted to a masked array."""

    def __init__(self, values):
        self.values = np.ma.masked_invalid(values)
        self.values.data[self.values.mask] = 9.97e36
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, key):
        return self.values[key]

    def __len__(self):
        return len(self.values)

    def __array__(self):
        return self.values


class JoinedVariable:
    """What netCDF4.MFDataset gives: it is converted by its slices only."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = np.ma.masked_invalid(values), X.shape, X.dtype

    def __getitem__(self, key):
        return self.values[key]


def labelled_arrays():
    kinds = [Labelled]
    try:
        import xarray
    except ImportError:
        return kinds
    return [*kinds, lambda x, attrs=None: xarray.DataArray(x, dims=("t", "x"), attrs=attrs)]


@pytest.mark.parametrize("kind", labelled_arrays())
@pytest.mark.parametrize("estimator", [PCA, IncrementalPCA, RobustPCA])
def test_values_of_labelled_arrays_are_not_unpacked_again(kind, estimator):
    packed = kind(X, PACKED)
    expected, model = estimator(2).fit(X), estimator(2).fit(packed)
    np.testing.assert_array_equal(model.mean_, expected.mean_)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.transform(packed), expected.transform(X))


def test_batches_and_kernels_take_values_of_labelled_arrays():
    packed = Labelled(X, PACKED)
    mean = PCA(2).fit(X).mean_
    np.testing.assert_array_equal(PCA(2).fit(iter([packed[:10], packed[10:]])).mean_, mean)
    np.testing.assert_array_equal(PCA(2).partial_fit(packed).mean_, mean)
    np.testing.assert_array_equal(PCA(2).fit(list(packed)).mean_, mean)
    np.testing.assert_array_equal(KernelPCA(2).fit_transform(packed), KernelPCA(2).fit_transform(X))


@pytest.mark.parametrize("kind", [MaskedVariable, JoinedVariable])
def test_masked_cells_of_variables_are_missing(kind):
    x = X.copy()
    x[3, 2] = np.nan
    variable, expected = kind(x), PCA(2, missing="drop").fit(x)
    with pytest.raises(NotFiniteError, match="NaN: the first at row 3, column 2"):
        PCA(2).fit(variable)
    assert np.isnan(expected.transform(variable)).all(axis=1).nonzero()[0].tolist() == [3]
    for model in (
        PCA(2, missing="drop").fit(variable),
        PCA(2, missing="drop").fit(iter([variable])),
        PCA(2, missing="drop").partial_fit(variable),
    ):
        assert model.n_dropped_ == 1
        np.testing.assert_array_equal(model.mean_, expected.mean_)


def test_a_masked_variable_may_be_one_row():
    row = X[0].copy()
    row[1] = np.nan
    with pytest.raises(NotFiniteError, match="NaN: the first at row 0, column 1"):
        PCA(2).fit(X).transform([MaskedVariable(row)])


def test_masked_integers_of_variables_must_fit_float64():
    variable = MaskedVariable(X)
    variable.values = np.ma.masked_equal([[2**53 + 1, 2], [3, 4]], 3)
    with pytest.raises(NotNumericError, match="column 0 row 0: the integer 9007199254740993 is"):
        PCA(1).fit(variable)


@pytest.mark.parametrize("kind", labelled_arrays())
def test_complex_labelled_arrays_are_refused(kind):
    with pytest.raises(NotNumericError, match="Complex data not supported, got an array of compl"):
        PCA(1).fit(kind(X * 1j))


def test_the_fill_value_of_netcdf_is_missing_in_open_datasets(tmp_path):
    h5py = pytest.importorskip("h5py")
    fill = 9.969209968386869e36
    x = X.astype("f4")
    x[3, 2] = fill
    with h5py.File(tmp_path / "t.nc", "w") as file:
        dataset = file.create_dataset("x", x.shape, "f4", fillvalue=fill)
        dataset[:] = x
        model = PCA(2, missing="drop").fit(dataset)
        assert model.n_dropped_ == 1
        row = file.create_dataset("row", (4,), "f4", fillvalue=fill)
        row[:3] = x[3, :3]
        assert np.isnan(model.transform([row])).all()
    expected = PCA(2, missing="drop").fit(tmp_path / "t.nc")
    np.testing.assert_array_equal(model.mean_, expected.mean_)


def test_open_datasets_have_the_values_of_their_file(tmp_path):
    """A missing value that the stored type cannot hold marks no cell; halves become float64."""
    h5py = pytest.importorskip("h5py")
    numbers = np.arange(236, 256).reshape(5, 4)
    for dtype in ("u1", "f2"):
        path = tmp_path / f"{dtype}.h5"
        with h5py.File(path, "w") as file:
            file["x"] = numbers.astype(dtype)
            file["x"].attrs["missing_value"], file["x"].attrs["scale_factor"] = -1.0, 1e5
            model = PCA(1).fit(file["x"])
        np.testing.assert_array_equal(model.mean_, PCA(1).fit(path).mean_)
        np.testing.assert_array_equal(model.mean_, numbers.mean(axis=0) * 1e5)


def test_packed_zarr_arrays_are_unpacked():
    zarr = pytest.importorskip("zarr")
    packed = zarr.array(np.array([[100, -99, 3], [-1, 0, 7], [5, 8, 2]], "i2"))
    packed.attrs.update({"_FillValue": -99, "add_offset": 280.0})
    np.testing.assert_array_equal(PCA(1, missing="drop").fit(packed).mean_, [282, 284, 284.5])


class Field(Labelled):
    """A field of xarray, with names of its dimensions; ``stack`` puts the new one last."""

    def __init__(self, values, dims):
        super().__init__(values)
        self.dims = dims

    def stack(self, space):
        first = next(i for i, dim in enumerate(self.dims) if dim not in space)
        values = np.moveaxis(self.values, first, 0)
        return Field(values.reshape(len(values), -1), (self.dims[first], "space"))


Dataset = type("Dataset", (), {"__module__": "xarray.core.dataset"})


def fields():
    kinds = [(Field, Dataset)]
    try:
        import xarray
    except ImportError:
        return kinds
    return [*kinds, (lambda x, dims: xarray.DataArray(x, dims=dims), xarray.Dataset)]


@pytest.mark.parametrize(("kind", "dataset_of"), fields())
@pytest.mark.parametrize("dims", [("time", "lat", "lon"), ("lat", "time", "lon"), ("a", "b", "c")])
def test_hints_for_fields_work(kind, dataset_of, dims):
    cells = np.random.default_rng(1).standard_normal((6, 3, 2))
    time = dims.index("time") if "time" in dims else 0
    expected = PCA(1).fit(np.moveaxis(cells, time, 0).reshape(cells.shape[time], -1))
    field, data = kind(cells, dims), dataset_of()
    if dataset_of is Dataset:
        data.data_vars = {"sst": field}
        Dataset.__getitem__ = lambda self, name: self.data_vars[name]
    else:
        data["sst"] = field
    with pytest.raises(ShapeError, match=r"has shape \(6, 3, 2\)") as caught:
        PCA(1).fit(field)
    code, _, row = caught.value.hint.partition(" makes a row for each ")
    assert row == repr(dims[time])
    stacked = eval(code, {"X": field})
    np.testing.assert_array_equal(PCA(1).fit(stacked).mean_, expected.mean_)
    with pytest.raises(ParameterError, match="Dataset is not a table") as caught:
        PCA(1).fit(data)
    assert caught.value.hint.startswith("Give one array of it: data['name']")
    with pytest.raises(ShapeError, match="makes a row for each"):
        PCA(1).fit(data["sst"])


@pytest.mark.parametrize("kind", [Labelled, MaskedVariable])
def test_hints_for_vectors_without_reshape_work(kind):
    with pytest.raises(ShapeError, match=r"has shape \(4,\)") as caught:
        PCA(1).fit(kind(X[0]))
    row = caught.value.hint.split(": ")[1].split(" is one row")[0]
    assert row in {"X.values.reshape(1, -1)", "X[:].reshape(1, -1)"}
    table = eval(row, {"X": kind(X[0])})
    np.testing.assert_array_equal(PCA(1).fit(X).transform(table), PCA(1).fit(X).transform(X[:1]))


def test_the_hint_for_a_packed_dataset_of_three_dimensions_says_that_it_is_packed(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["x"] = np.zeros((2, 3, 4))
        with pytest.raises(ShapeError, match=r"X\[:\]\.reshape\(len\(X\), -1\) makes a row of ea"):
            PCA(1).fit(file["x"])
        file["x"].attrs["scale_factor"] = 0.5
        with pytest.raises(ShapeError, match="unpack its numbers as its attributes say"):
            PCA(1).fit(file["x"])
