"""Which array of a file with several is read, and what is said of the others."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, read_table
from princomp.errors import ParameterError, ShapeError

RNG = np.random.default_rng(0)
FIELD, BOUNDS, TABLE = (RNG.standard_normal(shape) for shape in ((12, 2, 5), (12, 2), (12, 11)))


def write(path, **arrays):
    """Write arrays to a file, or to a folder of Zarr, by its ending."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    if path.suffix == ".zarr":
        zarr = pytest.importorskip("zarr")
        file = zarr.create_group(path)
        for name, array in arrays.items():
            file.create_array(name, data=array)
        return path
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


@pytest.mark.parametrize("name", ["a.nc", "a.h5", "a.npz", "a.zarr"])
def test_a_small_table_is_not_taken_for_a_large_field(tmp_path, name):
    path = write(tmp_path / name, sst=FIELD, time=np.arange(12), time_bnds=BOUNDS)
    with pytest.raises(ParameterError) as caught:
        PCA(2).fit(path)
    assert "sst (12 × 2 × 5, float64), has 3 dimensions" in str(caught.value)
    assert "smaller: time_bnds (12 × 2, float64)" in str(caught.value)
    assert f"name it, as in {path}::time_bnds" in caught.value.hint
    assert "x.reshape(len(x), -1)" in caught.value.hint
    assert caught.value.place["parameter"] == "inside"
    assert read_table(f"{path}::time_bnds").notes == ()
    mean = PCA(2).fit(f"{path}::time_bnds").mean_
    np.testing.assert_array_equal(mean, PCA(2).fit(BOUNDS).mean_)


@pytest.mark.parametrize("name", ["a.nc", "a.npz", "a.zarr"])
def test_a_note_names_the_only_table_among_arrays(tmp_path, name):
    path = write(tmp_path / name, a=FIELD, x=TABLE, v=np.arange(3), z=BOUNDS * 1j)
    (note,) = read_table(path).notes
    assert note == (
        "x (12 × 11, float64) was read, the only table in it; there are also a (12 × 2 × 5, "
        "float64), z (12 × 2, complex128)"
    )
    alone = write(tmp_path / f"b{path.suffix}", x=TABLE, v=np.arange(3))
    assert read_table(alone).notes == ()


def test_a_small_table_is_not_taken_for_complex_numbers(tmp_path):
    path = write(tmp_path / "a.npz", x=TABLE * 1j, y=BOUNDS)
    with pytest.raises(ParameterError, match=r"x \(12 × 11, complex128\), holds complex numbers"):
        PCA(2).fit(path)


def test_the_hint_names_the_largest_table(tmp_path):
    path = write(tmp_path / "a.npz", a=BOUNDS, b=TABLE, c=FIELD)
    with pytest.raises(ParameterError, match="2 arrays of two dimensions") as caught:
        PCA(2).fit(path)
    assert caught.value.hint == f"Say which is meant, as in {path}::b"


@pytest.mark.parametrize("name", ["a.h5", "a.npz", "a.npy"])
def test_hints_for_arrays_of_other_dimensions_work(tmp_path, name):
    """What the hint says is done: the array is read, reshaped and saved."""
    path, rows = tmp_path / name, tmp_path / "rows.npy"
    for x, code in ((FIELD, "x.reshape(len(x), -1)"), (FIELD[:, 0, 0], "x.reshape(-1, 1)")):
        if path.suffix == ".npy":
            np.save(path, x)
        inside = path if path.suffix == ".npy" else f"{write(path, x=x)}::x"
        with pytest.raises(ShapeError, match=r"has \d dimensions") as caught:
            PCA(1).fit(inside)
        assert f"and give {code}" in caught.value.hint
        assert "numpy.save" in caught.value.hint
        np.save(rows, eval(code, {"x": x}))
        assert PCA(1).fit(rows).n_features_in_ == x[0].size
