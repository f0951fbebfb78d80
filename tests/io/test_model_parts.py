"""Invalid arrays and fields of a damaged or forged model file are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from faults.disk import Stopped, stop_after
from princomp import PCA
from princomp.errors import CheckpointError, InputNotFoundError, ModelFileError, OutputError
from princomp.io import model_file
from princomp.io.checkpoint import Checkpoint
from princomp.io.model_arrays import (
    LAYOUTS,
    layouts_of,
    pack_rows,
    pop_prefixed,
    prefixed,
    restore_layouts,
    unpack_rows,
)
from princomp.io.model_file import write
from princomp.io.model_schema import Array, Field, Schema
from princomp.io.values import Values


def test_layouts_are_restored_and_wrong_ones_refused():
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = restore_layouts({"a": array, "b": array}, {"a": ["float32", "F"]})
    assert found["a"].dtype == np.float32
    assert found["a"].flags.f_contiguous
    assert found["b"].dtype == np.float64
    with pytest.raises(ModelFileError, match=r"layouts of arrays \['c'\], not \['a'\]"):
        restore_layouts({"a": array}, {"c": ["float32", "C"]})
    with pytest.raises(ModelFileError, match="not finite"):
        restore_layouts({"a": array * np.inf}, {})
    with pytest.raises(ModelFileError, match="numbers that int32 cannot hold"):
        restore_layouts({"a": array + 0.5}, {"a": ["int32", "C"]})


def test_only_unusual_layouts_are_stored():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    arrays = {"a": rows, "b": np.asfortranarray(rows), "c": rows.astype("f4"), "d": rows.T[:1]}
    assert layouts_of(arrays) == {"b": ["float64", "F"], "c": ["float32", "C"]}


def test_prefixes_are_added_and_removed():
    arrays = prefixed("map", {"x": np.ones(1), "map.y": np.ones(2)}) | {"mapped": np.ones(3)}
    assert sorted(arrays) == ["map.map.y", "map.x", "mapped"]
    assert sorted(pop_prefixed(arrays, "map")) == ["map.y", "x"]
    assert sorted(arrays) == ["mapped"]


@pytest.mark.parametrize(
    "layouts", [[], "C", [["float64", "C"]], {"a": ["int8", "C"]}, {"a": ["float32", "A"]}]
)
def test_other_layouts_are_not_allowed(layouts):
    assert not Schema({"layouts": Field(LAYOUTS)}, {}).fields["layouts"].values.allows(layouts)
    assert LAYOUTS.allows({"a": ["int32", "F"], "b": ["float64", "C"]})


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_packed_rows_are_unpacked_unchanged(make):
    rows = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    arrays = pack_rows("rows", make(rows))
    found = unpack_rows(arrays, "rows", 2, 3)
    assert not arrays
    assert (found.toarray() if sp.issparse(found) else found).tolist() == rows.tolist()
    assert pack_rows("rows", None) == {}


def csr_parts(**changed):
    known = {
        "data": np.array([1.0, 2.0]), "indices": np.array([0, 2]), "indptr": np.array([0, 1, 2]),
    }  # fmt: skip
    return {f"rows.{name}": array for name, array in (known | changed).items()}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({}, "hold no 'rows'"),
        (csr_parts(more=np.ones(1)), "not the parts of a CSR array"),
        (csr_parts(indices=np.array([0.0, 2.0])), "not the parts of a CSR array"),
        (csr_parts(indptr=np.array([0, 1, 1])), "not the parts of a CSR array"),
        (csr_parts(indices=np.array([0, 7])), "hold no 'rows'"),
        (csr_parts(indptr=np.array(2)), "hold no 'rows'"),
        (csr_parts(data=np.array([1.0, np.inf])), "not finite numbers"),
        ({"rows": np.ones((2, 3), dtype=int)}, "not finite numbers"),
        ({"rows": np.ones((3, 3))}, r"have shape \(3, 3\), not \(2, 3\)"),
        ({"rows": np.ones(3)}, r"have shape \(3,\)"),
    ],
)
def test_invalid_packed_rows_are_refused(arrays, reason):
    with pytest.raises(ModelFileError, match=reason):
        unpack_rows(arrays, "rows", 2, 3)


def test_the_number_of_rows_may_be_unspecified():
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
def test_arrays_outside_their_schema_are_refused(kind, array, reason):
    with pytest.raises(ModelFileError, match=reason):
        kind.check("a", array)
    Array("k", infinite=True, sign="positive").check("a", np.array([np.inf, 1.0]))
    Array("k").check("a", np.array([-1.0, 0.0], np.float32))


def test_a_value_that_cannot_be_compared_is_not_allowed():
    few = Schema({"k": Field(Values("at most three", lambda value: value <= 3))}, {})
    assert few.checked({"k": 3, "more": 1}) == {"k": 3}
    for value in ("x", None, 4):
        with pytest.raises(ModelFileError, match=f"its 'k' must be at most three, got {value!r}"):
            few.checked({"k": value})


def test_documents_that_are_not_objects_are_refused():
    with pytest.raises(ModelFileError, match=r"an object with fields, got \[1\]"):
        Schema({}, {}).checked([1])


def test_checkpoints_of_python_fits_hold_no_command(tmp_path):
    path, file = tmp_path / "run.ckpt", tmp_path / "rows.npy"
    np.save(file, np.random.default_rng(0).standard_normal((5000, 4)))
    with pytest.raises(Stopped):
        PCA(1, svd_solver="krylov").fit(file, checkpoint=path, progress=stop_after(2)[1])
    with pytest.raises(CheckpointError, match="written by a program"):
        Checkpoint.command_in(path)


def test_the_command_of_a_checkpoint_is_returned_as_it_was_given(tmp_path):
    command = {"arguments": ["fit", "rows.npy"], "folder": "x"}
    run = Checkpoint(tmp_path / "run.ckpt", {"input": 1}, command, 10)
    run.save()
    run.close()
    assert Checkpoint.command_in(tmp_path / "run.ckpt") == command
    again = Checkpoint(tmp_path / "run.ckpt", {"input": 1}, None, 99)
    again.save()
    again.close()
    assert again.limit == 10
    assert Checkpoint.command_in(tmp_path / "run.ckpt") == command


@pytest.mark.parametrize(
    ("error", "advice"),
    [(PermissionError, "ask for permission"), (OSError, "the disk or the network may have failed")],
)
def test_a_model_that_cannot_be_read_is_reported_with_advice(error, advice, tmp_path, monkeypatch):
    def refuse(*_):
        raise error(5, "it failed")

    (tmp_path / "m.pca").write_bytes(b"")
    monkeypatch.setattr(model_file, "open", refuse, raising=False)
    with pytest.raises(InputNotFoundError, match=r"cannot read '.*m\.pca': it failed") as caught:
        model_file.read(tmp_path / "m.pca", {})
    assert caught.value.hint.startswith(advice)
    assert caught.value.place == {"file": str(tmp_path / "m.pca")}


def test_a_lock_that_cannot_be_created_raises_output_error(tmp_path):
    (tmp_path / "file").touch()
    message = r"could not be written: (Not a directory|File exists)"
    with (
        pytest.raises(OutputError, match=message),
        Checkpoint.locked(tmp_path / "file" / "run.ckpt"),
    ):
        pass


def test_models_of_other_estimators_are_refused_by_name(tmp_path):
    write(tmp_path / "m.pca", {}, {"estimator": "Novel"}, overwrite=False)
    with pytest.raises(ModelFileError, match="a model of the kind 'Novel'") as caught:
        model_file.read(tmp_path / "m.pca", {"PCA": None})
    assert caught.value.place == {"estimator": "Novel", "file": str(tmp_path / "m.pca")}
    # Files of the first versions always held a PCA.
    write(tmp_path / "m.pca", {}, {"rows": 3}, overwrite=True)
    found = model_file.read(tmp_path / "m.pca", {"PCA": lambda *parts: parts})
    assert found == ({}, {"rows": 3})


@pytest.mark.parametrize("more", [0, 1])
def test_a_header_may_be_as_long_as_the_limit(more, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_HEADER_BYTES", 256)
    path, shortest = tmp_path / "m.pca", {"columns": ""}
    write(path, {}, shortest, overwrite=False)
    text = path.read_bytes()[8:].rstrip()
    document = {"columns": "x" * (256 - len(text) + more)}
    if more:
        with pytest.raises(OutputError, match="shorten the column names"):
            write(path, {}, document, overwrite=True)
    else:
        write(path, {}, document, overwrite=True)
        assert model_file.read(path, {"PCA": lambda *parts: parts}) == ({}, document)


def test_a_document_that_could_not_be_read_again_is_not_written(tmp_path):
    document = {"columns": ["x" * 2**20] * 65}
    with pytest.raises(OutputError, match=r"a model file holds at most 67 MB"):
        write(tmp_path / "m.pca", {}, document, overwrite=False)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(tmp_path / "m.pca", {}, {"total": float("nan")}, overwrite=False)
    assert not list(tmp_path.iterdir())
