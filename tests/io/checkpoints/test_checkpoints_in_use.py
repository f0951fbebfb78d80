"""Checkpoints in use: locks, full disks, and what is left afterwards."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re

import numpy as np
import pytest
from checkpoint_cases import N, P, _begun, fit, npy, table, tiny

from faults.disk import Stopped, bits, contents, left_beside, often, stop_after
from princomp import PCA, load
from princomp.errors import (
    CheckpointError,
    InputNotFoundError,
    InUseError,
    MemoryLimitError,
    NotFiniteError,
    OutputError,
)
from princomp.io.checkpoint import Checkpoint

# ---- in use ------------------------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_has_it(tmp_path, ck):
    file = npy(tmp_path, table())
    reported = []

    def hear(word):
        if not reported:
            with pytest.raises(InUseError, match="another run") as caught:
                PCA().fit(file, checkpoint=ck)
            reported.append(caught.value)

    whole = PCA().fit(file, progress=hear, checkpoint=ck)
    assert reported[0].place["file"] == str(ck)
    assert reported[0].hint
    assert bits(PCA().fit(file, checkpoint=ck)) == bits(whole)  # it was let go of


def test_every_way_out_of_a_fit_lets_go_of_the_checkpoint(tmp_path, ck):
    X = table()
    for options, error in (
        ({"memory_limit": 1000, "svd_solver": "covariance_eigh"}, MemoryLimitError),
        ({"scale": [1, 2]}, ValueError),
        ({"n_components": 99}, ValueError),
    ):
        with pytest.raises(error):
            fit(X, options, checkpoint=ck)
        with Checkpoint.held(ck):
            pass
        Checkpoint.remove(ck)
    Checkpoint.remove(ck)  # of nothing is no error
    ck.write_bytes(b"other")
    with pytest.raises(CheckpointError):
        PCA().fit(X, checkpoint=ck)
    with Checkpoint.held(ck), pytest.raises(InUseError), Checkpoint.held(ck):
        pass


def test_a_lock_whose_file_was_deleted_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    """The run before deletes its files between the opening and the locking of this one."""
    fcntl = pytest.importorskip("fcntl")
    path, own, calls = tmp_path / "run.ckpt", fcntl.flock, []

    def flock(handle, how):
        calls.append(how)
        if len(calls) == 1:
            Checkpoint.remove(path)
        own(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with Checkpoint.held(path):
        assert len(calls) == 2
        with pytest.raises(InUseError), Checkpoint.held(path):
            pass


def test_what_a_killed_run_left_half_written_is_deleted_by_the_next(ck):
    table = np.eye(4)
    ck.parent.mkdir()
    for name in (".run.ckpt.0123456789ab.tmp", ".run.ckpt.0123456789ab.tmp~", ".other.tmp"):
        (ck.parent / name).touch()
    PCA().fit(table, checkpoint=ck)
    left = {name for name in contents(ck.parent) if name.endswith((".tmp", ".tmp~"))}
    assert left == {".run.ckpt.0123456789ab.tmp~", ".other.tmp"}
    (ck.parent / ".run.ckpt.0123456789ab.tmp").touch()
    with Checkpoint.held(ck), pytest.raises(InUseError):  # the other run may be writing it
        PCA().fit(table, checkpoint=ck)
    assert ".run.ckpt.0123456789ab.tmp" in contents(ck.parent)


def test_a_file_system_without_locks_is_no_other_run(tmp_path, ck, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert bits(PCA().fit(table(), checkpoint=ck)) == bits(PCA().fit(table()))


# ---- the disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 12))
def test_a_full_disk_is_reported_and_leaves_the_older_checkpoint(
    call, number, tmp_path, ck, monkeypatch
):
    """From call ``number`` on, nothing can be written: not even what the fit saves at its end."""
    file = npy(tmp_path, table())
    whole = bits(PCA().fit(file))
    calls, own = [], getattr(os, call)

    def full(*words):
        calls.append(words)
        if len(calls) >= number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return own(*words)

    with monkeypatch.context() as patch:
        often(patch)
        patch.setattr(os, call, full)
        with pytest.raises(OutputError, match="No space left on device") as caught:
            PCA().fit(file, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "space" in caught.value.hint
    assert not list(ck.parent.glob(".*"))
    words, hear = stop_after(None)
    assert bits(PCA().fit(file, progress=hear, checkpoint=ck)) == whole
    # Each saved block takes three syncs and two renamings, the first of all one renaming.
    saved = max(0, (number - 1) // 3 if call == "fsync" else number // 2)
    assert words[0].rows >= min((saved - 1) * 256, N)


def test_a_disk_that_is_full_at_an_interruption_does_not_hide_it(tmp_path, ck, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    _begun(table(), ck)
    before = contents(ck.parent)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Stopped):
        PCA(2).fit(table(), progress=stop_after(2)[1], checkpoint=ck)
    assert contents(ck.parent) == before


def test_a_place_that_cannot_hold_a_checkpoint_is_refused_before_any_row_is_read(tmp_path):
    X, words = table(), []
    (tmp_path / "file").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kept").write_text("y")
    for path in (folder, tmp_path / "file" / "run.ckpt", "/dev/null", tmp_path / ("n" * 254)):
        with pytest.raises(OutputError) as caught:
            PCA().fit(X, progress=words.append, checkpoint=path)
        assert caught.value.hint
    (tmp_path / "b.ckpt~").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        PCA().fit(X, progress=words.append, checkpoint=tmp_path / "b.ckpt")
    assert words == []
    assert (folder / "kept").read_text() == "y"
    assert sorted(os.listdir(tmp_path)) == ["b.ckpt~", "file", "folder"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_checkpoint_that_may_not_be_read_is_not_written_over(tmp_path, ck):
    _begun(table(), ck)
    ck.chmod(0)
    with pytest.raises(InputNotFoundError, match="cannot read"):
        PCA(2).fit(table(), checkpoint=ck)


def test_a_link_stays_a_link_and_the_run_goes_where_it_points(tmp_path, ck):
    far = tmp_path / "far"
    far.mkdir()
    link = tmp_path / "link.ckpt"
    link.symlink_to(far / "real.ckpt")
    for stop in (2, 3, 4):
        with pytest.raises(Stopped):
            PCA().fit(table(), progress=stop_after(stop)[1], checkpoint=link)
        assert link.is_symlink()
    with Checkpoint.held(far / "real.ckpt"), pytest.raises(InUseError):
        PCA().fit(table(), checkpoint=link)
    PCA().fit(table(), checkpoint=link).save(tmp_path / "m.pca")
    assert os.listdir(far) == []


def test_the_folder_may_be_changed_on_the_way(tmp_path, ck, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    _, keep = stop_after(4)

    def hear(word):
        os.chdir(tmp_path / "other")
        keep(word)

    with pytest.raises(Stopped):
        PCA().fit(table(), progress=hear, checkpoint="run.ckpt")
    assert (tmp_path / "run.ckpt").exists()
    assert os.listdir(tmp_path / "other") == []


# ---- afterwards --------------------------------------------------------------------------------


def test_saving_the_model_deletes_both_checkpoints_and_the_lock(tmp_path, ck, monkeypatch):
    often(monkeypatch)
    model = PCA().fit(table(), checkpoint=ck)
    assert left_beside(ck) == ["", "~", ".lock"]
    model.save(tmp_path / "m.pca")
    assert os.listdir(ck.parent) == []
    ck.write_bytes(b"mine")  # of a name that the model used once
    model.save(tmp_path / "m.pca")
    assert ck.read_bytes() == b"mine"
    assert bits(load(tmp_path / "m.pca")) == bits(model)


def test_a_model_that_could_not_be_saved_keeps_its_checkpoint(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    with pytest.raises(OutputError):
        model.save(tmp_path)
    assert "" in left_beside(ck)
    model.save(tmp_path / "m.pca")
    assert left_beside(ck) == []


def test_a_model_saved_in_another_folder_deletes_its_own_checkpoint(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.ckpt").write_bytes(b"of somebody else")
    monkeypatch.chdir(tmp_path)
    model = PCA().fit(table(), checkpoint="run.ckpt")
    monkeypatch.chdir("other")
    model.save("m.pca")
    assert contents(tmp_path / "other").keys() == {"m.pca", "run.ckpt"}
    assert left_beside(tmp_path / "run.ckpt") == []


def test_a_model_saved_under_the_name_of_its_checkpoint_stays(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    model.save(ck)
    assert bits(load(ck)) == bits(model)


def test_a_later_fit_without_a_checkpoint_leaves_that_of_an_earlier_one(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    model.fit(table()).save(tmp_path / "m.pca")
    assert "" in left_beside(ck)


def test_a_fitted_model_can_be_sent_elsewhere(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    assert bits(pickle.loads(pickle.dumps(model))) == bits(model)


def test_a_failed_fit_keeps_its_checkpoint_but_a_repaired_file_is_another(tmp_path, ck):
    X = table()
    X[2_100, 4] = np.nan
    file = npy(tmp_path, X)
    earlier = PCA(2).fit(table())
    had = bits(earlier)
    with pytest.raises(NotFiniteError) as caught:
        earlier.fit(file, checkpoint=ck)
    with pytest.raises(NotFiniteError, match=re.escape(caught.value.message)):
        PCA(2).fit(file)
    assert bits(earlier) == had
    words, hear = stop_after(None)
    with pytest.raises(NotFiniteError):
        PCA(2).fit(file, progress=hear, checkpoint=ck)
    assert words == []  # the 2,048 rows before the block are not summed again
    now = file.stat().st_mtime_ns
    np.save(file, table())
    os.utime(file, ns=(now, now + 10**9))
    with pytest.raises(CheckpointError, match=re.escape(f"input was {file}")) as caught:
        PCA(2).fit(file, checkpoint=ck)
    assert "delete this one" in caught.value.hint
    Checkpoint.remove(ck)
    assert bits(PCA(2).fit(file, checkpoint=ck)) == had


def test_a_file_that_changes_on_the_way_is_reported_and_not_resumed(tmp_path, ck):
    X = tiny()
    file = npy(tmp_path, X)
    now = file.stat().st_mtime_ns

    def hear(word):
        if word.number == 1:
            os.utime(file, ns=(now, now + 10**9))

    with pytest.raises(ValueError, match="changed while it was read"):
        PCA().fit(file, progress=hear, checkpoint=ck)
    with pytest.raises(CheckpointError, match="input was"):
        PCA().fit(file, checkpoint=ck)


def test_the_file_holds_no_more_than_what_was_summed(tmp_path, ck):
    file = npy(tmp_path, table())
    _begun(file, ck)
    header = ck.read_bytes()
    length = int.from_bytes(header[:8], "little")
    document = json.loads(json.loads(header[8 : 8 + length])["__metadata__"]["document"])
    (one,) = document["passes"]
    assert (one["row"], one["done"], one["dropped"]) == (3 * 256, False, 0)
    assert document["command"] is None
    assert len(header) < 8 * (P * P + 2 * P) + 4096
