"""Arrays and fields that a damaged or made-up model file may hold are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from faults.disk import Stopped, stop_after
from princomp import PCA
from princomp.errors import CheckpointError, ModelFileError, OutputError
from princomp.io.checkpoint import Checkpoint
from princomp.io.lock import Lock
from princomp.io.model_arrays import pack_rows, unpack_rows, with_layouts
from princomp.io.model_schema import Array, Schema


def test_layouts_come_back_and_wrong_ones_are_refused():
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = with_layouts({"a": array, "b": array}, {"a": ["float32", "F"]})
    assert found["a"].dtype == np.float32
    assert found["a"].flags.f_contiguous
    assert found["b"].dtype == np.float64
    with pytest.raises(ModelFileError, match=r"layouts of arrays \['c'\], not \['a'\]"):
        with_layouts({"a": array}, {"c": ["float32", "C"]})
    with pytest.raises(ModelFileError, match="not finite"):
        with_layouts({"a": array * np.inf}, {})
    with pytest.raises(ModelFileError, match="numbers that int32 cannot hold"):
        with_layouts({"a": array + 0.5}, {"a": ["int32", "C"]})


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_come_back(form):
    rows = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    arrays = pack_rows("rows", form(rows))
    found = unpack_rows(arrays, "rows", 2, 3)
    assert not arrays
    assert (found.toarray() if sp.issparse(found) else found).tolist() == rows.tolist()
    assert pack_rows("rows", None) == {}


def parts(**changed):
    known = {
        "data": np.array([1.0, 2.0]), "indices": np.array([0, 2]), "indptr": np.array([0, 1, 2]),
    }  # fmt: skip
    return {f"rows.{name}": array for name, array in (known | changed).items()}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({}, "hold no 'rows'"),
        (parts(more=np.ones(1)), "not the parts of a CSR array"),
        (parts(indices=np.array([0.0, 2.0])), "not the parts of a CSR array"),
        (parts(indptr=np.array([0, 1, 1])), "not the parts of a CSR array"),
        (parts(indices=np.array([0, 7])), "hold no 'rows'"),
        (parts(indptr=np.array(2)), "hold no 'rows'"),
        (parts(data=np.array([1.0, np.inf])), "not finite numbers"),
        ({"rows": np.ones((2, 3), dtype=int)}, "not finite numbers"),
        ({"rows": np.ones((3, 3))}, r"have shape \(3, 3\), not \(2, 3\)"),
        ({"rows": np.ones(3)}, r"have shape \(3,\)"),
    ],
)
def test_arrays_that_are_no_rows_are_refused(arrays, reason):
    with pytest.raises(ModelFileError, match=reason):
        unpack_rows(arrays, "rows", 2, 3)


def test_any_number_of_rows():
    assert unpack_rows({"rows": np.ones((5, 3))}, "rows", None, 3).shape == (5, 3)
    with pytest.raises(ModelFileError, match=r"not \(any, 3\)"):
        unpack_rows({"rows": np.ones((5, 2))}, "rows", None, 3)


@pytest.mark.parametrize(
    ("kind", "array", "reason"),
    [
        (Array("k"), np.arange(2), "holds int64, not floats"),
        (Array("k", dtype="float64"), np.ones(2, np.float32), "holds float32, not float64"),
        (Array("k"), np.array([np.inf]), "not finite"),
        (Array("k", infinite=True), np.array([np.nan]), "not finite"),
        (Array("k", sign="not negative"), np.array([0.0, -1.0]), "negative values"),
        (Array("k", sign="positive"), np.array([1.0, 0.0]), "holds a zero"),
    ],
)
def test_an_array_holds_what_its_schema_allows(kind, array, reason):
    with pytest.raises(ModelFileError, match=reason):
        kind.check("a", array)
    Array("k", infinite=True, sign="positive").check("a", np.array([np.inf, 1.0]))


def test_a_document_is_an_object():
    with pytest.raises(ModelFileError, match=r"an object with fields, got \[1\]"):
        Schema({}, {}).checked([1])


def test_a_checkpoint_of_a_program_holds_no_command(tmp_path):
    path, file = tmp_path / "run.ckpt", tmp_path / "rows.npy"
    np.save(file, np.random.default_rng(0).standard_normal((5000, 4)))
    with pytest.raises(Stopped):
        PCA(1, svd_solver="krylov").fit(file, checkpoint=path, progress=stop_after(2)[1])
    with pytest.raises(CheckpointError, match="written by a program"):
        Checkpoint.command_in(path)


def test_a_lock_that_cannot_be_created(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"could not be written: (Not a directory|File exists)"):
        Lock(tmp_path / "file" / "run.ckpt")
