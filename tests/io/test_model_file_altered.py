"""Model files with a valid checksum but invalid contents are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy

import princomp
from model_bytes import TALL, parse_model_file, tampered, with_checksum
from princomp import PCA
from princomp.errors import ModelFileError

FITS = {
    "moments": {"n_components": 2, "scale": "range"},
    "triangle": {"n_components": 2, "svd_solver": "full"},
    "columns": {"n_components": 2, "svd_solver": "arpack"},
    "filled": {"n_components": 2, "missing": "em"},
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Bytes of a small model of each kind of summary."""
    path = tmp_path_factory.mktemp("model") / "m.pca"
    found = {}
    for kind, parameters in FITS.items():
        rows = TALL[:, :4].copy()
        if kind == "filled":
            rows[0, 0] = np.nan
        PCA(**parameters).fit(rows).save(path)
        found[kind] = path.read_bytes()
    return found


@pytest.fixture
def load(tmp_path):
    def load(content):
        (tmp_path / "m.pca").write_bytes(content)
        return princomp.load(tmp_path / "m.pca")

    return load


def _array(name, change):
    def alter(arrays, document, metadata):
        arrays[name] = change(arrays[name].copy())

    return alter


def _at(name, index, value):
    def put(array):
        array[index] = value
        return array

    return _array(name, put)


def _field(name, value):
    return lambda arrays, document, metadata: document.update({name: value})


def _without(name):
    return lambda arrays, document, metadata: arrays.pop(name)


def _extra_array(arrays, document, metadata):
    arrays["more"] = np.zeros(3)


def _metadata(name, value):
    return lambda arrays, document, metadata: metadata.update({name: value})


ARRAYS = {
    "a mean that is NaN": (_at("mean", 0, np.nan), "'mean' holds values that are not finite"),
    "an infinite axis": (_at("axes", (0, 0), np.inf), "'axes' holds values that are not finite"),
    "a negative variance": (_at("variances", -1, -1e-9), "'variances' holds negative values"),
    "ascending variances": (_array("variances", lambda a: a[::-1]), "do not descend"),
    "axes that are too long": (_array("axes", lambda a: 1.001 * a), "not orthonormal"),
    "axes that are a bit too long": (_array("axes", lambda a: (1 + 2e-6) * a), "not orthonormal"),
    "axes that are equal": (_array("axes", lambda a: a[[0, 0]]), "not orthonormal"),
    "axes of fewer columns": (_array("axes", lambda a: a[:, :3]), "'axes' has shape"),
    "one axis less": (_array("axes", lambda a: a[:1]), "'axes' has shape"),
    "axes without shape": (_array("axes", lambda a: a.ravel()), "'axes' has shape"),
    "a mean that is short": (_array("mean", lambda a: a[:2]), "has shape"),
    "a mean that is a matrix": (_array("mean", lambda a: a[None]), "has shape"),
    "a mean of no dimension": (_array("mean", lambda a: a[0]), "has shape"),
    "too few variances": (_array("variances", lambda a: a[:1]), "'variances' has shape"),
    "variances of two dimensions": (_array("variances", lambda a: a[:, None]), "has shape"),
    "float32": (_array("mean", lambda a: a.astype(np.float32)), "not float64"),
    "integers": (_array("mean", lambda a: a.astype(np.int64)), "not float64"),
    "no mean": (_without("mean"), "it holds arrays"),
    "no axes": (_without("axes"), "it holds arrays"),
    "an array more": (_extra_array, "it holds arrays"),
}


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("case", ARRAYS)
def test_altered_arrays_are_refused(contents, load, kind, case):
    change, message = ARRAYS[case]
    with pytest.raises(ModelFileError, match=message) as caught:
        load(tampered(contents[kind], change))
    assert str(caught.value.place["file"]).endswith("m.pca")
    assert caught.value.hint


ARRAYS_OF_ONE_SUMMARY = {
    "low without high": ("moments", _without("high")),
    "low above high": ("moments", _array("low", lambda a: a + 100)),
    "a divisor of zero": ("moments", _at("scale", 0, 0.0)),
    "a negative divisor": ("moments", _at("scale", 0, -1.0)),
    "a divisor less": ("moments", _array("scale", lambda a: a[:3])),
    "a negative scatter": ("moments", _at("scatter", (0, 0), -0.5)),
    "a scatter that is not symmetric": ("moments", _at("scatter", (0, 1), 1e6)),
    "a scatter whose halves differ": ("moments", _array("scatter", lambda a: a + 0.3 * np.tril(a))),
    "a negative sum of squares": ("columns", _at("column_scatter", 0, -1.0)),
    "a negative residual": ("columns", _at("residuals", 0, -1.0)),
    "a residual less": ("columns", _array("residuals", lambda a: a[:1])),
    "a scatter of another shape": ("moments", _array("scatter", lambda a: a[:, :2])),
    "sums of another shape": ("columns", _array("column_scatter", lambda a: a[0])),
    "no factor": ("triangle", _without("factor")),
    "a factor of no dimension": ("triangle", _array("factor", lambda a: a[0, 0])),
    "a factor of 2p + 1 rows": (
        "triangle",
        _array("factor", lambda a: np.vstack([a, a, a[:1]])),
    ),
}


def test_a_small_scatter_whose_halves_differ_is_refused(load, tmp_path):
    PCA(2).fit(1e-8 * TALL).save(tmp_path / "small.pca")
    change = _array("scatter", lambda a: a + 0.3 * np.tril(a, -1))
    with pytest.raises(ModelFileError, match="'scatter' is not symmetric"):
        load(tampered((tmp_path / "small.pca").read_bytes(), change))


def test_a_factor_of_2p_rows_is_loaded_and_no_array_can_be_changed(contents, load):
    change = _array("factor", lambda a: np.vstack([a, 0.0 * a])[:8])
    model = load(tampered(contents["triangle"], change))
    assert model.summary_.factor.shape == (8, 4)
    for array in (model.summary_.factor, model.summary_.mean):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_column_whose_smallest_value_is_the_largest_is_loaded(load, tmp_path):
    rows = np.c_[TALL, np.full(len(TALL), 2.5)]
    PCA(2, scale="range", constant="zero").fit(rows).save(tmp_path / "m.pca")
    loaded = princomp.load(tmp_path / "m.pca")
    np.testing.assert_array_equal(loaded.transform(rows).shape, (len(TALL), 2))


def test_divisors_are_an_array_of_the_file(load, tmp_path):
    PCA(2, scale=[1.0, 2.0, 3.0, 4.0]).fit(TALL[:, :4]).save(tmp_path / "m.pca")
    arrays, metadata, _ = parse_model_file((tmp_path / "m.pca").read_bytes())
    assert json.loads(metadata["document"])["parameters"]["scale"] == {"array": True}
    assert arrays["scale"].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("rule", [{}, {"name": "no rule"}, {"name": 3}])
def test_an_altered_rule_is_refused(contents, load, rule):
    parameters = {"scale": None, "n_components": rule}
    with pytest.raises(ModelFileError, match=r"its 'n_components' is \{"):
        load(tampered(contents["triangle"], _field("parameters", parameters)))


@pytest.mark.parametrize("case", ARRAYS_OF_ONE_SUMMARY)
def test_altered_arrays_of_one_summary_are_refused(contents, load, case):
    kind, change = ARRAYS_OF_ONE_SUMMARY[case]
    with pytest.raises(ModelFileError):
        load(tampered(contents[kind], change))


@pytest.mark.parametrize("name", ["low", "high"])
def test_smallest_and_largest_values_are_refused_without_each_other(contents, load, name):
    with pytest.raises(ModelFileError, match="'low' and 'high' without the other"):
        load(tampered(contents["moments"], _without(name)))


def test_a_smallest_value_above_the_largest_is_named(contents, load):
    change = _array("low", lambda a: a + 100)
    with pytest.raises(ModelFileError, match="smallest value is above its largest"):
        load(tampered(contents["moments"], change))


FIELDS = {
    "k": [-1, 3, 1, "2", 2.0, None, [2], True],
    "summary": ["triangle", "columns", "nonsense", None, []],
    "rows": [0, -5.0, 1.0, "many", None, 1e400],
    "count": [0, -1, "x", None],
    "unit": [-1.0, "x", None],
    "total": [-1.0, "x", None, 1e400],
    "roundoff": [-1e-16, "x", None],
    "dtype": ["float16", "int64", "object", "nonsense", 3],
    "columns": [["a"], ["a"] * 5, "abcd", 4, [1, 2, 3, 4]],
    "id_column": [3, ["a"]],
    "n_samples": [-1, "x", 1.5],
    "facts": [
        [],
        [1, 2, 3],
        None,
        ["x", 4, 2, "float64", None, "auto", False],
        list("abcdefg"),
        [9, 4, 2, "float64", None, "auto", False, True, True, None, 0, 5],
        *([9, 4, wanted] for wanted in (-5, -0.5, 10**400)),
        [10**400, 4, 2],
        [9, 4, 2, "float64", 10**400],
        [9, 4, 2, "float64", None, "auto", False, True, True, 10**400],
        [9, 4, 2, "float64", None, "auto", False, True, True, None, 10**400],
    ],
    "choice": [[], ["moments"], None, [1, 2, 3]],
    "fallbacks": [3, None, [1]],
    "passes": ["x", -1, 1.5],
    "bytes_read": ["x", -1, None],
    "dropped": ["x", -1, None],
    "parameters": [None, [], "x", {}],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FIELDS.items() for value in values]
)
def test_altered_documents_are_refused(contents, load, name, value):
    with pytest.raises(ModelFileError):
        load(tampered(contents["moments"], _field(name, value)))


FILLED = {
    "method": ["mean", None],
    "converged": [1, None],
    "cells": [-1, 1.0],
    "rows": [-1, True],
    "iterations": [-1, None],
    "share": [-0.5, "x"],
    "change": [-1e-9, 1e400],
    "objective": [-1.0, None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FILLED.items() for value in values]
)
def test_altered_records_of_filled_cells_are_refused(contents, load, name, value):
    with pytest.raises(ModelFileError, match="a record of filled cells"):
        load(tampered(contents["filled"], lambda _, d, __: d["filled"].update({name: value})))


@pytest.mark.parametrize("name", FIELDS)
def test_documents_without_a_field_are_refused(contents, load, name):
    with pytest.raises(ModelFileError, match=f"its field '{name}' is missing"):
        load(tampered(contents["moments"], lambda _, document, __: document.pop(name)))


@pytest.mark.parametrize(
    "name", ["estimator", "na", "uncounted", "faded_by", "weighted", "filled", "decision"]
)
def test_fields_that_an_older_version_did_not_write_have_defaults(contents, load, name, tmp_path):
    content = contents["moments"]
    load(tampered(content, lambda _, document, __: document.pop(name))).save(tmp_path / "again.pca")
    assert (tmp_path / "again.pca").read_bytes() == content


def test_a_model_of_a_single_row_with_weight_is_loaded(load, tmp_path):
    model = PCA().fit(TALL[:2], sample_weight=[2.0, 0.0])
    model.save(tmp_path / "one.pca")
    assert load((tmp_path / "one.pca").read_bytes()).summary_.count == 1


def test_altered_metadata_are_refused(contents, load):
    for change in (
        _metadata("format", "other.model"),
        lambda arrays, document, metadata: metadata.pop("format"),
        lambda arrays, document, metadata: metadata.pop("version"),
        _metadata("version", "one"),
    ):
        with pytest.raises(ModelFileError):
            load(tampered(contents["moments"], change))


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '"text"', "[" * 100_000, '{"k": NaN}'])
def test_documents_that_are_not_objects_are_refused(contents, load, text):
    content = contents["moments"]
    arrays, metadata, _ = parse_model_file(content)
    metadata["document"] = text
    with pytest.raises(ModelFileError):
        load(with_checksum(safetensors.numpy.save(arrays, metadata)))


def _with_header(content, change):
    """The file with a header that safetensors would refuse to write."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    return with_checksum(len(text).to_bytes(8, "little") + text + content[8 + length :])


def _offsets(*offsets):
    return lambda header: header["mean"].update(data_offsets=list(offsets))


HEADERS = {
    "beyond the end": _offsets(0, 10**9),
    "overlapping": _offsets(0, 32),
    "backwards": _offsets(32, 0),
    "negative": _offsets(-32, 0),
    "not numbers": _offsets("a", "b"),
    "none": lambda header: header["mean"].pop("data_offsets"),
    "another type": lambda header: header["mean"].update(dtype="F128"),
    "a huge shape": lambda header: header["mean"].update(shape=[2**62]),
    "an entry that is a list": lambda header: header.update(mean=[]),
    "metadata that are a list": lambda header: header.update(__metadata__=[{"sha256": "0" * 64}]),
}


@pytest.mark.parametrize("case", HEADERS)
def test_altered_headers_are_refused(contents, load, case):
    with pytest.raises(ModelFileError):
        load(_with_header(contents["moments"], HEADERS[case]))
    # An unchanged header still loads.
    assert load(_with_header(contents["moments"], lambda header: None)).n_components_ == 2
