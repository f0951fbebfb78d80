"""AnnData files: matrices, names and damaged files."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hdf5_cases import opened, read_all, refused

from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NotNumericError,
    ParameterError,
    PrincompError,
)
from princomp.io.readers.columns import Selection
from princomp.io.readers.files import open_files
from princomp.io.readers.h5ad import open_h5ad
from princomp.io.readers.hdf5 import open_hdf5
from princomp.io.readers.source import TableSource


def ids_of(source, start=0):
    return [name for chunk in source.chunks(start) for name in chunk.ids]


ROWS, COLUMNS = 60, 9

GENES = [f"gene {j}" for j in range(COLUMNS)]

CELLS = [f"cell {i}" for i in range(ROWS)]


def counts(dtype="f4", seed=3):
    x = np.random.default_rng(seed).poisson(0.5, (ROWS, COLUMNS)).astype(dtype)
    x[10:14] = 0
    return x


def store_matrix(file, name, matrix, old=False):
    """Store a matrix as anndata does, or as it did before 2019."""
    if isinstance(matrix, np.ndarray):
        file.create_dataset(name, data=matrix).attrs["encoding-type"] = "array"
        return
    group = file.create_group(name)
    if old:
        group.attrs["h5sparse_format"] = matrix.format
        group.attrs["h5sparse_shape"] = matrix.shape
    else:
        group.attrs["encoding-type"] = f"{matrix.format}_matrix"
        group.attrs["shape"] = matrix.shape
    for part in ("data", "indices", "indptr"):
        group.create_dataset(part, data=getattr(matrix, part), compression="gzip")


def store_names(file, frame, names, title="_index", old=False):
    if old:
        file[frame] = np.array(
            [(name.encode(), 1.5) for name in names], [("index", "S12"), ("n", "f4")]
        )
        return
    group = file.create_group(frame)
    group.attrs["_index"] = title
    group[title] = names


def write_h5ad(path, matrix, old=False, genes=GENES, **more):
    with h5py.File(path, "w") as file:
        store_matrix(file, "X", matrix, old)
        store_names(file, "var", genes, old=old)
        store_names(file, "obs", CELLS, title="barcode", old=old)
        for name, other in more.items():
            store_matrix(file, name.replace("__", "/"), other, old)
    return path


def opened_h5ad(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_h5ad(path, Selection(columns, exclude, id_column), inside)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
def test_matrices_of_every_layout_and_version_are_read(tmp_path, small, make, old, dtype):
    x = counts(dtype)
    path = write_h5ad(tmp_path / "t.h5ad", make(x), old)
    source = opened_h5ad(path, id_column="obs_names")
    assert source.shape == (ROWS, COLUMNS)
    assert source.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert source.columns == tuple(GENES)
    assert source.stored == (None if make is np.asarray else np.count_nonzero(x))
    assert isinstance(source, TableSource) == (make is sp.csc_array)
    for start in (0, 1, 12, 15, 16, 17, 59, 60):
        np.testing.assert_array_equal(read_all(source, start), x[start:])
        assert ids_of(source, start) == CELLS[start:]
    chosen = opened_h5ad(path, ["gene 7", "gene 2"])
    np.testing.assert_array_equal(read_all(chosen), x[:, [7, 2]])
    assert chosen.columns == ("gene 7", "gene 2")
    if make is sp.csr_array:
        assert chosen.stored == round(source.stored * 2 / COLUMNS)
    assert chosen.unused == tuple(name for name in GENES if name not in chosen.columns)


def test_row_names_can_be_requested_by_any_title_of_the_index(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", sp.csr_array(counts()))
    for name in ("obs_names", "_index", "barcode"):
        source = opened_h5ad(path, id_column=name)
        assert source.id_column == name
        assert ids_of(source)[:2] == ["cell 0", "cell 1"]
    error = refused(ColumnError, open_h5ad, path, None, (), "cells")
    assert "'obs_names' or 'barcode'" in error.hint
    with h5py.File(path, "a") as file:
        del file["obs"]
    assert "no names" in str(refused(ColumnError, open_h5ad, path, None, (), "obs_names"))
    assert opened_h5ad(path).shape == (ROWS, COLUMNS)


def test_row_names_are_found(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", sp.csr_array(counts()), obsm__X=counts())
    for inside in (None, "obsm/X"):
        source = open_h5ad(path, Selection(find_ids=True), inside)
        assert (source.id_column, ids_of(source)[:2]) == ("obs_names", ["cell 0", "cell 1"])
    with h5py.File(path, "a") as file:
        del file["obs/barcode"]
        file["obs/barcode"] = CELLS[:-1]
    assert open_h5ad(path, Selection(find_ids=True)).id_column is None


def test_names_may_be_numbers_or_have_a_mask(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", counts())
    with h5py.File(path, "a") as file:
        del file["obs/barcode"], file["var/_index"]
        file["obs/barcode"] = np.arange(ROWS)
        file["var/_index/values"] = GENES
        file["var/_index/mask"] = np.zeros(COLUMNS, bool)
    source = opened_h5ad(path, id_column="obs_names")
    assert ids_of(source, 58) == ["58", "59"]
    assert source.columns == tuple(GENES)


def test_repeated_names_are_numbered(tmp_path):
    genes = ["a", "b", "a", "a-1", "a", "c", "d", "e", "b"]
    source = opened_h5ad(write_h5ad(tmp_path / "t.h5ad", counts(), genes=genes))
    assert source.columns == ("a", "b", "a-2", "a-1", "a-3", "c", "d", "e", "b-1")
    assert source.notes == ("numbered 2 repeated column names: a, b",)


def test_other_matrices_are_selected_by_name(tmp_path, small):
    x, y, z = counts(), counts("f8", 4), np.random.default_rng(5).standard_normal((ROWS, 2))
    path = write_h5ad(
        tmp_path / "t.h5ad", x, layers__counts=sp.csr_array(y), layers__log=y + 1, obsm__X_umap=z
    )
    assert opened_h5ad(path, inside="layers/counts").columns == tuple(GENES)
    np.testing.assert_array_equal(read_all(opened_h5ad(path, inside="layers/counts")), y)
    np.testing.assert_array_equal(read_all(opened_h5ad(path, inside="layers/log")), y + 1)
    umap = opened_h5ad(path, id_column="barcode", inside="obsm")
    assert umap.columns is None
    np.testing.assert_array_equal(read_all(umap), z)
    assert ids_of(umap) == CELLS
    assert "layers/counts (60 × 9, f" in str(
        refused(ParameterError, open_h5ad, path, inside="layers")
    )
    assert "obsm/X_umap" in refused(ParameterError, open_h5ad, path, inside="raw/X").hint
    with h5py.File(path, "a") as file:
        del file["X"]
    assert "There are: layers/counts" in refused(ParameterError, open_h5ad, path).hint


@pytest.mark.parametrize("old", [False, True])
def test_the_raw_matrix_has_its_own_columns(tmp_path, old):
    path = write_h5ad(tmp_path / "t.h5ad", counts(), old)
    y = np.random.default_rng(5).poisson(1.0, (ROWS, 12)).astype("f4")
    with h5py.File(path, "a") as file:
        store_matrix(file, "raw.X" if old else "raw/X", sp.csr_array(y), old)
        store_names(file, "raw.var" if old else "raw/var", [f"r{j}" for j in range(12)], old=old)
    source = opened_h5ad(path, id_column="obs_names", inside="raw/X")
    assert source.columns == tuple(f"r{j}" for j in range(12))
    np.testing.assert_array_equal(read_all(source), y)
    assert ids_of(source) == CELLS


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_unsorted_and_repeated_entries_are_sorted_and_summed(tmp_path, make):
    data = np.array([1, 2, 3, 4, 5], "f4")
    matrix = make((data, np.array([2, 0, 2, 1, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    path = write_h5ad(tmp_path / "t.h5ad", matrix, genes=["a", "b", "c"])
    np.testing.assert_array_equal(read_all(opened_h5ad(path)), matrix.toarray())


def test_stored_missing_values_and_zeros_are_kept(tmp_path):
    matrix = sp.csr_array(([np.nan, 0.0], [0, 2], [0, 1, 2]), shape=(2, 3))
    (chunk,) = opened_h5ad(write_h5ad(tmp_path / "t.h5ad", matrix, genes=["a", "b", "c"])).chunks()
    assert chunk.data.nnz == 2
    np.testing.assert_array_equal(chunk.data.toarray(), [[np.nan, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_long_integers_are_refused_with_their_position(tmp_path, small, make):
    x = counts("i8")
    x[41, 7] = -(2**53) - 1
    path = write_h5ad(tmp_path / "t.h5ad", make(x))
    error = refused(NotNumericError, open_h5ad, path, ["gene 1", "gene 7"])
    assert error.place == {"file": str(path), "column": "gene 7", "row": 41}
    assert "-9007199254740993" in str(error)
    np.testing.assert_array_equal(
        read_all(opened_h5ad(path, exclude=["gene 7"])), np.delete(x, 7, 1)
    )


def test_a_large_csc_matrix_is_refused(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", sp.csc_array(counts()))
    with h5py.File(path, "r+") as file:
        # HDF5 stores nothing for numbers that are never written.
        for part, dtype in (("data", "f8"), ("indices", "i4")):
            del file["X"][part]
            file["X"].create_dataset(part, 10**8, dtype)
        file["X/indptr"][-1] = 10**8
    assert path.stat().st_size < 10**6
    error = refused(ParameterError, open_h5ad, path)
    assert "takes 1.2 GB" in str(error)
    assert "stored by columns (CSC)" in str(error)
    assert "csr_matrix" in error.hint


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    "damage",
    [
        ("indices", 5, 1_000),
        ("indices", 5, -1),
        ("indptr", 3, 10_000),
        ("indptr", 3, -5),
        ("indptr", 4, 0),
        ("indptr", -1, 7),
        ("indptr", -1, "one less"),
        ("data", None, 5),
        ("indices", None, 5),
        ("indptr", None, 5),
    ],
)
def test_damaged_sparse_matrices_are_refused(tmp_path, make, damage):
    name, at, value = damage
    path = write_h5ad(tmp_path / "t.h5ad", make(counts()))
    with h5py.File(path, "a") as file:
        part = file[f"X/{name}"]
        if at is None:
            cut = part[:value]
            del file[f"X/{name}"]
            file[f"X/{name}"] = cut
        else:
            part[at] = part[at] - 1 if value == "one less" else value
    refused(MalformedFileError, open_h5ad, path)


def test_wrong_numbers_of_names_and_missing_parts_are_refused(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", sp.csr_array(counts()), genes=GENES[:-1])
    assert "var names 8 columns, but X has 9" in str(refused(MalformedFileError, open_h5ad, path))
    with h5py.File(path, "a") as file:
        del file["var"], file["obs/barcode"]
        file["obs/barcode"] = CELLS[:-1]
    assert opened_h5ad(path).columns is None
    refused(MalformedFileError, open_h5ad, path, None, (), "obs_names")
    with h5py.File(path, "a") as file:
        del file["X/indptr"]
    refused(MalformedFileError, open_h5ad, path)


@pytest.mark.parametrize("kind", ["plain", "gzip", "csr", "csc", "dense"])
def test_a_file_cut_anywhere_is_refused(tmp_path, kind):
    x = np.random.default_rng(1).standard_normal((300, 5)).astype("f4")
    path = tmp_path / "t.h5"
    opener = open_hdf5
    if kind in ("plain", "gzip"):
        with h5py.File(path, "w") as file:
            options = {"compression": "gzip", "chunks": (40, 5)} if kind == "gzip" else {}
            file.create_dataset("x", data=x, **options)
    else:
        opener, x = open_h5ad, counts()
        write_h5ad(path, {"csr": sp.csr_array, "csc": sp.csc_array, "dense": np.asarray}[kind](x))
    whole = path.read_bytes()
    np.testing.assert_array_equal(read_all(opener(path, Selection())), x)
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        with pytest.raises(PrincompError) as caught:
            read_all(opener(path, Selection()))
        assert caught.value.place["file"] == str(path)


def test_a_damaged_tile_is_refused_while_it_is_read(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        x = np.random.default_rng(1).standard_normal((300, 5))
        data = file.create_dataset("x", data=x, compression="gzip", chunks=(40, 5))
        at = data.id.get_chunk_info(3).byte_offset
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(500))
    chunks = opened(path)
    assert chunks.shape == (300, 5)
    refused(MalformedFileError, open_hdf5, path)


def test_matrices_of_raw_besides_x_have_no_column_names(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", counts())
    loadings = np.random.default_rng(1).standard_normal((12, 3))
    with h5py.File(path, "a") as file:
        store_names(file, "raw/var", [f"r{j}" for j in range(12)])
        store_matrix(file, "raw/varm/PCs", loadings)
    source = open_h5ad(path, Selection(), inside="raw/varm/PCs")
    assert source.columns is None
    np.testing.assert_array_equal(read_all(source), loadings)


def test_rows_of_varm_do_not_have_the_names_of_obs(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", counts(), varm__PCs=counts())
    selection = Selection(find_ids=True)
    assert open_h5ad(path, selection).id_column == "obs_names"
    assert open_h5ad(path, selection, inside="varm/PCs").id_column is None


def test_matrices_of_one_file_are_named_where_only_one_is_sparse(tmp_path):
    path = tmp_path / "t.h5ad"
    with h5py.File(path, "w") as file:
        store_matrix(file, "X", sp.csr_array(counts()))
        store_matrix(file, "layers/dense", counts())
    with pytest.raises(ParameterError) as caught:
        open_files([f"{path}::layers/dense", path])
    assert f": {path}::X is sparse, {path}::layers/dense is not" in caught.value.message
