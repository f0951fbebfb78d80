"""Endings of Parquet and Arrow files, Feather of version 1, and several names of one file."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

from princomp import PCA
from princomp.errors import MalformedFileError, ParameterError

pa = pytest.importorskip("pyarrow")


def _table():
    values = np.random.default_rng(6).standard_normal((30, 3))
    return pa.table(dict(zip("abc", values.T, strict=True)))


def test_short_endings_of_parquet_and_arrow_streams_are_known(tmp_path):
    from pyarrow import parquet

    parquet.write_table(_table(), tmp_path / "x.pq")
    with pa.ipc.new_stream(tmp_path / "x.arrows", _table().schema) as stream:
        stream.write_table(_table())
    first, second = (PCA().fit(tmp_path / name) for name in ("x.pq", "x.arrows"))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert list(first.feature_names_in_) == list("abc")


def test_feather_of_version_1_is_refused_by_its_name(tmp_path):
    from pyarrow import feather

    path = tmp_path / "d.feather"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer versions will not write it
        feather.write_feather(_table(), path, version=1)
        with pytest.raises(MalformedFileError, match="Feather file of version 1") as caught:
            PCA().fit(path)
        assert caught.value.place["file"] == str(path)
        # What the hint suggests.
        command = caught.value.hint.partition("pyarrow: ")[2].removesuffix(".")
        exec(command.replace("'new.feather'", repr(str(tmp_path / "new.feather"))))
    assert PCA().fit(tmp_path / "new.feather").n_samples_ == 30


def test_a_hard_link_to_a_file_that_is_named_too_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,4\n3,5\n")
    os.link(tmp_path / "a.csv", tmp_path / "b.csv")
    with pytest.raises(ParameterError, match="is named twice") as caught:
        PCA().fit([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert "a.csv" in caught.value.message


def test_equal_files_are_not_one_file(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n2,4\n3,5\n")
    assert PCA().fit([tmp_path / "a.csv", tmp_path / "b.csv"]).n_samples_ == 6
