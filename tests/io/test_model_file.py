"""Model files load bit-identical models, or are refused."""

from __future__ import annotations

import errno
import io
import os
import pickle

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from numpy.testing import assert_array_equal

import princomp
from command_line import files_in
from model_bytes import (
    MODELS,
    TALL,
    WIDE,
    WITH_NAN,
    assert_same_model,
    parse_model_file,
    tampered,
    with_checksum,
)
from princomp import PCA
from princomp.errors import (
    InputNotFoundError,
    ModelFileError,
    NotAvailableError,
    OutputError,
    OutputExistsError,
    ParameterError,
)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Bytes of a small model with every kind of array in it."""
    path = tmp_path_factory.mktemp("model") / "m.pca"
    PCA(2, scale="range").fit(TALL[:, :3]).save(path)
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    """Load bytes as a model file."""

    def load(content):
        path = tmp_path / "m.pca"
        path.write_bytes(content)
        return princomp.load(path)

    return load


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", MODELS)
def test_saved_models_load_bit_for_bit(tmp_path, name):
    model, X = MODELS[name]()
    model.save(tmp_path / "m.pca")
    other = princomp.load(tmp_path / "m.pca")
    assert_same_model(model, other, X)
    given, loaded = model.get_params(), other.get_params()
    if name == "generator":
        given["random_state"] = None  # the state of a generator is not stored
    for parameter, value in given.items():
        assert_array_equal(loaded[parameter], value, err_msg=parameter)
    other.save(tmp_path / "again.pca")
    assert (tmp_path / "again.pca").read_bytes() == (tmp_path / "m.pca").read_bytes()


@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range", [1, 2, 3, 4, 5, 6]])
@pytest.mark.parametrize("solver", ["covariance_eigh", "full"])
def test_loaded_models_rescale_and_truncate_like_the_original(tmp_path, solver, scale):
    model = PCA(3, scale="range", svd_solver=solver).fit(TALL)
    model.save(tmp_path / "m.pca")
    other = princomp.load(tmp_path / "m.pca")
    assert_same_model(model.rescaled(scale), other.rescaled(scale), TALL)
    for k in (0, 1, 6, 0.5, "mle", None):
        assert_same_model(model.truncated(k), other.truncated(k), TALL)


def test_loaded_models_refuse_what_the_original_refuses(tmp_path):
    model = PCA(3, svd_solver="row_gram").fit(WIDE)
    model.save(tmp_path / "m.pca")
    other = princomp.load(tmp_path / "m.pca")
    assert_same_model(model.truncated(2), other.truncated(2), WIDE)
    for again in (lambda: other.truncated(4), lambda: other.rescaled("unit")):
        with pytest.raises(NotAvailableError, match="kept no scatter"):
            again()


def test_loaded_models_can_be_refitted(tmp_path):
    PCA(2, scale=np.arange(1.0, 7.0), missing="drop").fit(WITH_NAN).save(tmp_path / "m.pca")
    other = princomp.load(tmp_path / "m.pca").fit(TALL)
    assert_same_model(PCA(2, scale=np.arange(1.0, 7.0), missing="drop").fit(TALL), other, TALL)


def test_arrays_of_a_loaded_model_are_read_only(tmp_path):
    PCA(2).fit(TALL).save(tmp_path / "m.pca")
    with pytest.raises(ValueError, match="read-only"):
        princomp.load(tmp_path / "m.pca").summary_.mean[0] = 7


def test_equal_fits_give_equal_files(tmp_path):
    for name in ("a.pca", "b.pca"):
        PCA(2, scale="unit").fit(TALL).save(tmp_path / name)
    assert (tmp_path / "a.pca").read_bytes() == (tmp_path / "b.pca").read_bytes()


@pytest.mark.parametrize("letters", range(1, 9))
def test_arrays_in_a_file_start_on_a_multiple_of_eight_bytes(letters, tmp_path):
    """Programs that map the file into memory need that."""
    frame = pd.DataFrame(TALL[:, :3], columns=["a", "b", "c" * letters])
    PCA(2).fit(frame).save(tmp_path / "m.pca")
    assert int.from_bytes((tmp_path / "m.pca").read_bytes()[:8], "little") % 8 == 0


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PCA().save(tmp_path / "m.pca")
    assert files_in(tmp_path) == []


def test_parameters_that_cannot_be_stored_are_named(tmp_path):
    for value in (np.inf, {"a", "b"}):
        model = PCA(2).fit(TALL)
        model.tol = value
        with pytest.raises(ParameterError, match="tol"):
            model.save(tmp_path / "m.pca")
    assert files_in(tmp_path) == []


# ---- writing ----------------------------------------------------------------------------


def test_overwrite_false_keeps_an_existing_file(tmp_path):
    path = tmp_path / "m.pca"
    PCA(2).fit(TALL).save(path, overwrite=False)
    before = path.read_bytes()
    with pytest.raises(OutputExistsError, match="already exists"):
        PCA(3).fit(TALL).save(path, overwrite=False)
    assert path.read_bytes() == before
    PCA(3).fit(TALL).save(path)
    assert princomp.load(path).n_components_ == 3


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_full_disk_keeps_the_old_model(tmp_path, monkeypatch, call):
    path = tmp_path / "m.pca"
    PCA(2).fit(TALL).save(path)
    before = path.read_bytes()
    model = PCA(3).fit(TALL)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OutputError, match="No space left on device"):
            model.save(path)
    assert path.read_bytes() == before
    assert files_in(tmp_path) == ["m.pca"]


# ---- damaged files -----------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(content, load):
    for i in range(64):
        with pytest.raises(ModelFileError) as caught:
            load(content[: len(content) * i // 64])
        assert str(caught.value.place["file"]).endswith("m.pca")
        assert caught.value.hint
    with pytest.raises(ModelFileError):
        load(content[:-1])
    with pytest.raises(ModelFileError):
        load(content + b"\0")


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_a_byte_changed_anywhere_is_found(content, load, mask):
    start = 8 + int.from_bytes(content[:8], "little")
    positions = [*range(start), *range(start, len(content), max(1, (len(content) - start) // 200))]
    for position in positions:
        changed = bytearray(content)
        changed[position] ^= mask
        with pytest.raises(ModelFileError):
            load(bytes(changed))


def test_files_of_other_kinds_are_refused(content, load):
    weights = safetensors.numpy.save({"mean": np.zeros(3)})
    own = safetensors.numpy.save({"mean": np.zeros(3)}, {"sha256": "0" * 64, "format": "other"})
    others = {
        "empty": b"",
        "zeros": bytes(4096),
        "text": b"State,Murder\nAlabama,13.2\n",
        "pickle": pickle.dumps(PCA(2).fit(TALL)),
        "a pickle of a list": pickle.dumps([1, 2, 3]),
        "safetensors": weights,
        "safetensors of others": with_checksum(own),
        "huge header": (2**63).to_bytes(8, "little") + content[8:],
        "header beyond the end": (2**20).to_bytes(8, "little") + content[8:],
        "no header": (0).to_bytes(8, "little") + content[8:],
        "only a header": (2).to_bytes(8, "little") + b"{}",
        "not JSON": (9).to_bytes(8, "little") + b"{nothing}",
    }
    for name, other in others.items():
        with pytest.raises(ModelFileError) as caught:
            load(other)
        assert caught.value.hint, name


def test_files_of_wrong_length_are_refused_with_the_reason(content, load):
    header = b'{"sha256":"' + b"0" * 64 + b'"'
    for other, reason in (
        ((len(header) + 1).to_bytes(8, "little") + header, "cut short"),
        ((2**63).to_bytes(8, "little") + content[8:], "not a model file"),
        ((2**26 + 1).to_bytes(8, "little") + content[8:], "not a model file"),
        ((2**26).to_bytes(8, "little") + content[8:], "cut short"),
        (content[:9], "not a model file"),
        (content[:10], "cut short"),
        (content[:-1], "cut short"),
        ((2).to_bytes(8, "little") + b"{}", "has no checksum"),
    ):
        with pytest.raises(ModelFileError, match=reason):
            load(other)


def test_missing_files_raise_another_error_than_damaged_ones(tmp_path):
    for path in (tmp_path / "no.pca", tmp_path, tmp_path / "no" / "no.pca"):
        with pytest.raises(InputNotFoundError) as caught:
            princomp.load(path)
        assert caught.value.place == {"file": str(path)}
        assert caught.value.hint
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputNotFoundError):
        princomp.load(tmp_path / "file" / "no.pca")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_devices_are_refused():
    with pytest.raises(InputNotFoundError, match="not a regular file"):
        princomp.load("/dev/zero")


def test_files_do_not_depend_on_the_free_memory(tmp_path):
    np.save(tmp_path / "x.npy", TALL)
    fitted = {}
    for limit in (None, "1GB"):
        model = PCA(2, memory_limit=limit)
        model.fit(tmp_path / "x.npy", checkpoint=tmp_path / "c")  # reads the file block by block
        assert model.plan_.problem.memory_limit
        model.save(tmp_path / "m.pca")
        fitted[limit] = princomp.load(tmp_path / "m.pca").plan_.problem.memory_limit
    assert fitted == {None: None, "1GB": 10**9}


@pytest.mark.parametrize("kind", [PCA, princomp.KernelPCA, princomp.RobustPCA])
def test_a_pickle_of_another_version_causes_a_warning(kind):
    model = kind(1).fit(TALL)
    content = pickle.dumps(model)
    assert_array_equal(pickle.loads(content).transform(TALL), model.transform(TALL))
    version = princomp.__version__.encode()
    assert content.count(version) == 1
    with pytest.warns(UserWarning, match=r"was pickled by version 9.9.9 .* model.save\(path\)"):
        pickle.loads(content.replace(version, b"9.9.9"))


@pytest.mark.parametrize("path", [b"model.pca", io.BytesIO(), None, 3])
def test_what_is_no_path_is_refused(path):
    for call in (princomp.load, PCA(1).fit(TALL).save):
        with pytest.raises(ParameterError, match="by its path, got") as caught:
            call(path)
        assert "temporary file" in caught.value.hint


# ---- altered files -----------------------------------------------------------------------


def _version(text):
    return lambda arrays, document, metadata: metadata.update(version=text)


def test_a_newer_major_version_is_refused_and_a_minor_one_read(content, load):
    for version in ("2.0", "10.0", "0.9", ""):
        with pytest.raises(ModelFileError, match=f"format version {version}") as caught:
            load(tampered(content, _version(version)))
        assert "newer princomp" in caught.value.hint
    model = load(content)
    assert_same_model(model, load(tampered(content, _version("1.7"))), TALL[:, :3])


def test_additions_of_a_newer_minor_version_are_ignored(content, load):
    def add(arrays, document, metadata):
        metadata["version"] = "1.7"
        metadata["more"] = "?"
        document["more"] = [1, 2]

    assert_same_model(load(content), load(tampered(content, add)), TALL[:, :3])


def test_checksums_of_the_test_helpers_match_the_format(content):
    assert tampered(content, lambda *_: None) is not content
    assert with_checksum(content) == content
    assert sorted(parse_model_file(content)[0]) == [
        "axes",
        "high",
        "low",
        "mean",
        "mean_low",
        "scale",
        "scatter",
        "variances",
    ]
