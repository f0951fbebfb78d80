"""Matrices of MATLAB: those in HDF5 are transposed, and other files are refused with a hint."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from hdf5_cases import opened, read_all

from princomp import PCA
from princomp.errors import InputNotFoundError, NotNumericError, ParameterError
from princomp.io.readers.files import open_files


def save(path, kind="double", more=None, **arrays):
    """Write matrices as ``save -v7.3`` does: the columns are the first dimension."""
    with h5py.File(path, "w") as file:
        for name, x in arrays.items():
            dataset = file.create_dataset(name.replace("__", "/"), data=x.T, **more or {})
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
    return path


@pytest.mark.parametrize("layout", [{}, {"chunks": (3, 7)}, {"chunks": (11, 64), "shuffle": True}])
@pytest.mark.parametrize("columns", [None, ["10", "2", "3"], ["4"]])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_matrices_are_transposed_in_chunks(tmp_path, small, layout, columns, dtype):
    x = (100 * np.random.default_rng(0).standard_normal((101, 11))).astype(dtype)
    source = opened(save(tmp_path / "x.h5", more=layout, X=x), columns)
    expected = x if columns is None else x[:, [int(column) for column in columns]]
    assert source.shape == expected.shape
    for start in (0, 1, 50, 100, 101):
        np.testing.assert_array_equal(read_all(source, start), expected[start:])
    assert len(list(source.chunks())) > 1
    assert (
        "X is a matrix of MATLAB, which stores the columns first: its 101 rows" in source.notes[0]
    )


def test_a_matrix_is_named_or_found_in_its_group(tmp_path):
    x, y = np.random.default_rng(0).standard_normal((2, 30, 4))
    path = save(tmp_path / "x.h5", X=x, g__Y=y)
    for inside, rows in (("X", x), ("g", y), ("/g/Y", y)):
        assert np.array_equal(PCA().fit(f"{path}::{inside}").mean_, PCA().fit(rows).mean_)
    with pytest.raises(ParameterError, match=r"X \(30 × 4, float64\), g/Y \(30 × 4, float64\)"):
        opened(path)


def test_text_and_arrays_of_other_dimensions_are_not_transposed(tmp_path):
    path = save(tmp_path / "x.h5", "char", name=np.zeros((1, 5), "u2"))
    with h5py.File(path, "a") as file:
        file["X"] = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(read_all(opened(path)), np.arange(12.0).reshape(6, 2))
    with pytest.raises(NotNumericError, match="name holds no numbers"):
        opened(path, inside="name")


@pytest.mark.parametrize("inside", ["", "::X"])
def test_the_hint_for_mat_files_works(tmp_path, inside):
    x = np.random.default_rng(0).standard_normal((30, 4))
    path = save(tmp_path / "x.mat", X=x)
    with pytest.raises(ParameterError, match="does not say what kind of table") as caught:
        open_files([f"{path}{inside}"])
    assert "give it the ending .h5, and name a matrix X as in x.h5::X" in caught.value.hint
    path.rename(tmp_path / "x.h5")
    assert open_files([tmp_path / "x.h5::X"]).shape == (30, 4)


def test_a_part_of_a_file_without_parts_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,5\n")
    with pytest.raises(ParameterError, match=r"a \.csv file has no parts, and '::X' names one"):
        open_files([f"{path}::X"])
    with pytest.raises(InputNotFoundError, match="no such file"):
        open_files([tmp_path / "no.mat::X"])
