"""Categories that are numbers are categories in files as they are in frames."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, read_table
from princomp.errors import MalformedFileError
from princomp.io import open_files

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 50


def _frame():
    rng = np.random.default_rng(0)
    grades = pd.Categorical(rng.integers(0, 4, N) * 1.5)
    return pd.DataFrame({"a": rng.standard_normal(N), "grade": grades, "b": rng.random(N)})


def _arrow():
    """A table without metadata of pandas."""
    frame = _frame()
    arrays = [pa.array(frame[name].to_numpy()) for name in ("a", "grade", "b")]
    return pa.table([arrays[0], arrays[1].dictionary_encode(), arrays[2]], ["a", "grade", "b"])


def _stream(path, table):
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


SOURCES = {
    "frame": lambda _: _frame(),
    "table": lambda _: _arrow(),
    "pandas.parquet": lambda path: _frame().to_parquet(path),
    "pandas.feather": lambda path: _frame().to_feather(path),
    "arrow.parquet": lambda path: parquet.write_table(_arrow(), path),
    "stream.arrows": lambda path: _stream(path, _arrow()),
}


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("name", SOURCES)
def test_categories_of_numbers_are_left_out_unless_they_are_named(
    name, small, tmp_path, monkeypatch
):
    if not small:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 1)
    table = SOURCES[name](tmp_path / name)
    table = tmp_path / name if table is None else table
    with pytest.warns(UserWarning, match="left out 1 categorical column: grade"):
        model = PCA().fit(table)
    assert list(model.feature_names_in_) == ["a", "b"]
    model = PCA().fit(read_table(table, columns=["a", "grade", "b"]))
    grades = _frame()["grade"].to_numpy()
    np.testing.assert_allclose(model.mean_[1], grades.mean(), rtol=1e-14)
    assert model.transform(table).shape == (N, 3)


@pytest.mark.parametrize("small", [True, False])
def test_categories_of_numbers_may_name_the_rows_of_a_parquet_file(small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 1)
    _frame().to_parquet(tmp_path / "x.parquet")
    source = open_files([tmp_path / "x.parquet"], id_column="grade")
    assert source.columns == ("a", "b")
    ids = [label for chunk in source.chunks() for label in chunk.ids]
    assert ids == _frame()["grade"].tolist()


@pytest.mark.parametrize("damage", [b"?" * 16, b"A" * 16, base64.b64encode(b"no schema..!")])
def test_a_damaged_stored_schema_is_refused(damage, tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(_arrow(), path)
    stored = parquet.read_metadata(path).metadata[b"ARROW:schema"]
    path.write_bytes(path.read_bytes().replace(stored, damage + stored[16:]))
    with pytest.raises(MalformedFileError):
        PCA().fit(path)
