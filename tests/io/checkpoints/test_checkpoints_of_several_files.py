"""A checkpoint of several small files, which are read whole, is refused if one has changed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from checkpoint_cases import _start_and_stop, fit, several_csv, table

from faults.disk import bits, contents
from princomp import PCA
from princomp.errors import CheckpointError
from princomp.io import open_files, read_if_small
from princomp.io.readers.materialize import first_rows

OPTIONS = {"n_components": 2}


def _write(frame, path):
    """Write a table in the format of the path's ending."""
    ending = path.name.partition(".")[2]
    if ending == "npz":
        np.savez(path, X=frame.to_numpy())
    elif ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif ending in ("parquet", "feather"):
        getattr(frame, f"to_{ending}")(path)
    else:
        frame.to_csv(path, index=False, float_format="%.17g")


def _parts():
    frame = pd.DataFrame(table()[:1_400]).add_prefix("c")
    return frame[:700], frame[700:].reset_index(drop=True)


@pytest.fixture(autouse=True)
def _read_small_files_whole(monkeypatch):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 2**25)
    monkeypatch.setattr("princomp.io.readers.files.SMALL_COMPRESSED_FILE_BYTES", 2**23)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "npz", "xlsx"])
def test_one_of_several_small_files_that_changed_is_named(ending, tmp_path, ck):
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    first, second = _parts()
    for part, file in zip((first, second), files, strict=True):
        _write(part, file)
    before = _start_and_stop(files, ck)
    changed = second.copy()
    changed.iloc[-1, -1] += 1
    _write(changed, files[1])
    with pytest.raises(CheckpointError, match=r"input was .*b\..*checksum") as caught:
        fit(files, OPTIONS, checkpoint=ck)
    assert f"a.{ending}" not in caught.value.message
    assert contents(ck.parent) == before
    _write(second, files[1])
    assert bits(fit(files, OPTIONS, checkpoint=ck)) == bits(fit(files, OPTIONS))


def test_small_files_in_another_order_or_of_other_names_are_refused(tmp_path, ck):
    a, b, c = (tmp_path / f"{name}.csv" for name in "abc")
    for part, file in zip(_parts(), (a, b), strict=True):
        _write(part, file)
    _start_and_stop([a, b], ck)
    with pytest.raises(CheckpointError, match=r"was .*a\.csv.* and is .*b\.csv"):
        fit([b, a], OPTIONS, checkpoint=ck)
    b.rename(c)
    with pytest.raises(CheckpointError, match=r"was .*b\.csv.* and is .*c\.csv"):
        fit([a, c], OPTIONS, checkpoint=ck)
    a.rename(b)
    c.rename(a)
    with pytest.raises(CheckpointError, match=r"was .*a\.csv.* and is .*a\.csv"):
        fit([a, b], OPTIONS, checkpoint=ck)


def test_swapped_names_of_columns_of_a_later_file_are_refused(tmp_path, ck):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    first, second = _parts()
    _write(first, a)
    _write(second, b)
    _start_and_stop([a, b], ck)
    _write(second.rename(columns={"c0": "c1", "c1": "c0"}), b)
    with pytest.raises(CheckpointError, match=re.escape(str(b))):
        fit([a, b], OPTIONS, checkpoint=ck)


@pytest.mark.parametrize("changed", [0, 1])
def test_a_changed_file_among_small_and_large_ones_is_refused(changed, tmp_path, ck, monkeypatch):
    files = several_csv(tmp_path, table())
    # The first file is read in blocks, the second, which is compressed, whole.
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 1)
    _start_and_stop(files, ck)
    first, second = pd.read_csv(files[0]), pd.read_csv(files[1])
    _write((first, second)[changed] + 1, files[changed])
    with pytest.raises(CheckpointError, match=re.escape(files[changed].name)):
        fit(files, OPTIONS, checkpoint=ck)


@pytest.mark.parametrize("reread", [lambda s: read_if_small(s, 1), lambda s: first_rows(s, 3)[1]])
def test_small_files_of_which_some_rows_were_read_are_known_by_all_rows(reread, tmp_path):
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for part, file in zip(_parts(), files, strict=True):
        _write(part, file)
    before = reread(open_files(files)).fingerprint()
    _write(_parts()[1] + 1, files[1])
    after = reread(open_files(files)).fingerprint()
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, True, False]


def test_a_checkpoint_without_checksums_of_its_files_is_refused(tmp_path, ck, monkeypatch):
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for part, file in zip(_parts(), files, strict=True):
        _write(part, file)
    with monkeypatch.context() as before:
        before.setattr(
            "princomp.io.readers.source.TableSource.fingerprint", lambda self: (self.selected,)
        )
        _start_and_stop(files, ck)
    with pytest.raises(CheckpointError, match="belongs to another run: input was"):
        PCA(2).fit(files, checkpoint=ck)
