"""Checkpoints in use: locks, full disks, and files that remain."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
import stat
import sys
from copy import copy, deepcopy

import numpy as np
import pandas as pd
import pytest
from checkpoint_cases import N, P, _start_and_stop, fit, ill_scaled, npy, table

from faults.disk import Stopped, bits, contents, remaining_suffixes, save_every_block, stop_after
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


def test_a_second_run_is_refused_while_the_first_holds_the_lock(tmp_path, ck):
    file = npy(tmp_path, table())
    errors = []

    def callback(report):
        if not errors:
            with pytest.raises(InUseError, match="another run") as caught:
                PCA().fit(file, checkpoint=ck)
            errors.append(caught.value)

    whole = PCA().fit(file, progress=callback, checkpoint=ck)
    assert errors[0].place["file"] == str(ck)
    assert errors[0].hint
    assert bits(PCA().fit(file, checkpoint=ck)) == bits(whole)  # the lock was released


def test_a_checkpoint_that_someone_deletes_is_written_again(ck):
    def delete(report):
        if report.number == 2:
            ck.unlink(missing_ok=True)

    whole = PCA(2, svd_solver="krylov").fit(table())
    model = PCA(2, svd_solver="krylov").fit(table(), progress=delete, checkpoint=ck)
    assert bits(model) == bits(whole)
    assert ck.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    read, write = os.pipe()
    with Checkpoint.locked(tmp_path / "ck"):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # until the test ends
            os._exit(0)
    with Checkpoint.locked(tmp_path / "ck"):
        pass
    os.close(write)
    os.waitpid(child, 0)


def test_a_fit_that_saved_nothing_leaves_no_lock(tmp_path, ck):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,NA\n5,1\n")
    lock = Checkpoint.files(ck)[2]
    lock.parent.mkdir()
    for content in (b"", b"notes"):  # a file of the user is kept
        lock.write_bytes(content)
        with pytest.raises(NotFiniteError):
            PCA(1).fit(tmp_path / "t.csv", checkpoint=ck)
        assert lock.exists() == bool(content)


def test_failed_fits_release_the_lock(tmp_path, ck):
    X = table()
    for options, error in (
        ({"memory_limit": 1000, "svd_solver": "covariance_eigh"}, MemoryLimitError),
        ({"scale": [1, 2]}, ValueError),
        ({"n_components": 99}, ValueError),
    ):
        with pytest.raises(error):
            fit(X, options, checkpoint=ck)
        with Checkpoint.locked(ck):
            pass
        Checkpoint.remove(ck)
    Checkpoint.remove(ck)  # removing a missing checkpoint is no error
    ck.write_bytes(b"other")
    with pytest.raises(CheckpointError):
        PCA().fit(X, checkpoint=ck)
    with Checkpoint.locked(ck), pytest.raises(InUseError), Checkpoint.locked(ck):
        pass


def test_a_lock_follows_the_umask(ck):
    pytest.importorskip("fcntl", reason="no locks on this system")
    before = os.umask(0o002)
    try:
        with Checkpoint.locked(ck):
            [lock] = ck.parent.iterdir()
            assert stat.S_IMODE(lock.stat().st_mode) == 0o664
    finally:
        os.umask(before)


def test_missing_folders_of_a_lock_are_created(tmp_path):
    path = tmp_path / "one" / "two" / "run.ckpt"
    with Checkpoint.locked(path):
        assert path.parent.is_dir()


def test_a_lock_whose_file_was_deleted_meanwhile_is_acquired_again(tmp_path, monkeypatch):
    """The previous run deletes its files after this one opened and before it locked them."""
    fcntl = pytest.importorskip("fcntl")
    path, original, calls = tmp_path / "run.ckpt", fcntl.flock, []
    closed, close = [], os.close

    def flock(handle, how):
        calls.append(handle)
        if len(calls) == 1:
            Checkpoint.remove(path)
        original(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    with Checkpoint.locked(path):
        assert len(calls) == 2
        assert closed == calls[:1]
        with pytest.raises(InUseError), Checkpoint.locked(path):
            pass


def test_temporary_files_of_killed_runs_are_deleted(ck):
    table = np.eye(4)
    ck.parent.mkdir()
    for name in (".run.ckpt.0123456789ab.tmp", ".run.ckpt.0123456789ab.tmp~", ".other.tmp"):
        (ck.parent / name).touch()
    PCA().fit(table, checkpoint=ck)
    left = {name for name in contents(ck.parent) if name.endswith((".tmp", ".tmp~"))}
    assert left == {".run.ckpt.0123456789ab.tmp~", ".other.tmp"}
    (ck.parent / ".run.ckpt.0123456789ab.tmp").touch()
    with Checkpoint.locked(ck), pytest.raises(InUseError):  # the other run may be writing it
        PCA().fit(table, checkpoint=ck)
    assert ".run.ckpt.0123456789ab.tmp" in contents(ck.parent)


def test_file_systems_without_locks_are_supported(tmp_path, ck, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        assert bits(PCA().fit(table(), checkpoint=ck)) == bits(PCA().fit(table()))
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    with Checkpoint.locked(ck), Checkpoint.locked(ck):
        pass


@pytest.mark.parametrize("code", [errno.EWOULDBLOCK, errno.EACCES, errno.ENOLCK])
def test_a_lock_that_is_not_acquired_leaves_no_file_open(code, tmp_path, monkeypatch):
    fcntl, closed, close = pytest.importorskip("fcntl"), [], os.close

    def flock(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    if code == errno.ENOLCK:
        with Checkpoint.locked(tmp_path / "ck") as locked:
            assert not locked
    else:
        with pytest.raises(InUseError), Checkpoint.locked(tmp_path / "ck"):
            pass
    assert len(closed) == 1


# ---- the disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 12))
def test_a_full_disk_is_reported_and_leaves_the_older_checkpoint(
    call, number, tmp_path, ck, monkeypatch
):
    """From call ``number`` on, nothing can be written, not even the last save of the fit."""
    file = npy(tmp_path, table())
    whole = bits(PCA().fit(file))
    calls, original = [], getattr(os, call)

    def full(*arguments):
        calls.append(arguments)
        if len(calls) >= number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments)

    with monkeypatch.context() as patch:
        save_every_block(patch)
        patch.setattr(os, call, full)
        with pytest.raises(OutputError, match="No space left on device") as caught:
            PCA().fit(file, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "space" in caught.value.hint
    assert not list(ck.parent.glob(".*"))
    reports, callback = stop_after(None)
    assert bits(PCA().fit(file, progress=callback, checkpoint=ck)) == whole
    # Each saved block takes three syncs and two renames; the very first save takes one rename.
    saved = max(0, (number - 1) // 3 if call == "fsync" else number // 2)
    assert reports[0].rows >= min((saved - 1) * 256, N)


def test_a_checkpoint_is_complete_before_the_previous_one_is_renamed(ck, monkeypatch):
    run, found = Checkpoint(ck, {"input": 1}, None, 0), []
    replace = os.replace

    def record(source, target):
        if str(target).endswith("~"):
            (temporary,) = ck.parent.glob(".*.tmp")
            found.append(temporary.read_bytes())
        replace(source, target)

    monkeypatch.setattr(os, "replace", record)
    for _ in range(2):
        run.save()
    run.close()
    assert found == [ck.read_bytes()]


def test_a_lock_is_closed_when_it_is_released(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    closed, close = [], os.close
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    with Checkpoint.locked(tmp_path / "ck") as locked:
        assert locked
        assert not closed
    assert len(closed) == 1


def test_a_full_disk_does_not_hide_an_interruption(tmp_path, ck, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    _start_and_stop(table(), ck)
    before = contents(ck.parent)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Stopped):
        PCA(2).fit(table(), progress=stop_after(2)[1], checkpoint=ck)
    assert contents(ck.parent) == before


def test_unusable_checkpoint_paths_are_refused_before_reading_rows(tmp_path):
    X, reports = table(), []
    (tmp_path / "file").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kept").write_text("y")
    for path in (folder, tmp_path / "file" / "run.ckpt", "/dev/null", tmp_path / ("n" * 254)):
        with pytest.raises(OutputError) as caught:
            PCA().fit(X, progress=reports.append, checkpoint=path)
        assert caught.value.hint
    (tmp_path / "b.ckpt~").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        PCA().fit(X, progress=reports.append, checkpoint=tmp_path / "b.ckpt")
    assert reports == []
    assert (folder / "kept").read_text() == "y"
    assert sorted(os.listdir(tmp_path)) == ["b.ckpt~", "file", "folder"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_unreadable_checkpoints_are_not_overwritten(tmp_path, ck):
    _start_and_stop(table(), ck)
    ck.chmod(0)
    with pytest.raises(InputNotFoundError, match="cannot read"):
        PCA(2).fit(table(), checkpoint=ck)


def test_links_are_kept_and_their_targets_written(tmp_path, ck):
    far = tmp_path / "far"
    far.mkdir()
    link = tmp_path / "link.ckpt"
    link.symlink_to(far / "real.ckpt")
    for stop in (2, 3, 4):
        with pytest.raises(Stopped):
            PCA().fit(table(), progress=stop_after(stop)[1], checkpoint=link)
        assert link.is_symlink()
    with Checkpoint.locked(far / "real.ckpt"), pytest.raises(InUseError):
        PCA().fit(table(), checkpoint=link)
    PCA().fit(table(), checkpoint=link).save(tmp_path / "m.pca")
    assert os.listdir(far) == []


def test_the_working_folder_may_change_during_a_fit(tmp_path, ck, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    _, record = stop_after(4)

    def callback(report):
        os.chdir(tmp_path / "other")
        record(report)

    with pytest.raises(Stopped):
        PCA().fit(table(), progress=callback, checkpoint="run.ckpt")
    assert (tmp_path / "run.ckpt").exists()
    assert os.listdir(tmp_path / "other") == []


# ---- afterwards --------------------------------------------------------------------------------


def test_saving_the_model_deletes_both_checkpoints_and_the_lock(tmp_path, ck, monkeypatch):
    save_every_block(monkeypatch)
    model = PCA().fit(table(), checkpoint=ck)
    assert remaining_suffixes(ck) == ["", "~", ".lock"]
    model.save(tmp_path / "m.pca")
    assert os.listdir(ck.parent) == []
    ck.write_bytes(b"mine")  # the model once used a checkpoint of this name
    model.save(tmp_path / "m.pca")
    assert ck.read_bytes() == b"mine"
    assert bits(load(tmp_path / "m.pca")) == bits(model)


def test_saving_the_model_keeps_a_checkpoint_in_use(tmp_path, ck, monkeypatch):
    save_every_block(monkeypatch)
    model = PCA().fit(table(), checkpoint=ck)
    with Checkpoint.locked(ck):  # by another run with a checkpoint of this name
        model.save(tmp_path / "m.pca")
        assert remaining_suffixes(ck) == ["", "~", ".lock"]


def test_a_model_that_could_not_be_saved_keeps_its_checkpoint(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    with pytest.raises(OutputError):
        model.save(tmp_path)
    assert "" in remaining_suffixes(ck)
    model.save(tmp_path / "m.pca")
    assert remaining_suffixes(ck) == []


def test_a_model_saved_in_another_folder_deletes_its_own_checkpoint(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.ckpt").write_bytes(b"of somebody else")
    monkeypatch.chdir(tmp_path)
    model = PCA().fit(table(), checkpoint="run.ckpt")
    monkeypatch.chdir("other")
    model.save("m.pca")
    assert contents(tmp_path / "other").keys() == {"m.pca", "run.ckpt"}
    assert remaining_suffixes(tmp_path / "run.ckpt") == []


def test_a_model_saved_under_the_name_of_its_checkpoint_stays(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    model.save(ck)
    assert bits(load(ck)) == bits(model)


def test_a_model_with_long_column_names_may_have_the_name_of_the_checkpoint(ck):
    """Its format stands behind the names in the file."""
    frame = pd.DataFrame(table(), columns=[f"{'long ' * 20_000}{i}" for i in range(P)])
    model = PCA(2).fit(frame, checkpoint=ck)
    model.save(ck)
    assert bits(load(ck)) == bits(model)


def test_a_fit_without_a_checkpoint_keeps_an_earlier_one(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    model.fit(table()).save(tmp_path / "m.pca")
    assert "" in remaining_suffixes(ck)


def test_models_fitted_with_a_checkpoint_can_be_pickled(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    assert bits(pickle.loads(pickle.dumps(model))) == bits(model)


def test_saving_a_copy_deletes_no_checkpoint(tmp_path, ck):
    model = PCA().fit(table(), checkpoint=ck)
    kept = remaining_suffixes(ck)
    for other in (copy(model), deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.save(tmp_path / "m.pca")
        assert remaining_suffixes(ck) == kept
    model.save(tmp_path / "m.pca")
    assert remaining_suffixes(ck) == []


def test_a_failed_fit_keeps_its_checkpoint_but_refuses_a_repaired_file(tmp_path, ck):
    X = table()
    X[2_570, 4] = np.nan  # in the last block, after those of the first task
    file = npy(tmp_path, X)
    earlier = PCA(2).fit(table())
    expected = bits(earlier)
    with pytest.raises(NotFiniteError) as caught:
        earlier.fit(file, checkpoint=ck)
    with pytest.raises(NotFiniteError, match=re.escape(caught.value.message)):
        PCA(2).fit(file)
    assert bits(earlier) == expected
    reports, callback = stop_after(None)
    with pytest.raises(NotFiniteError):
        PCA(2).fit(file, progress=callback, checkpoint=ck)
    assert reports == []  # the 2,560 rows before the block are not summed again
    now = file.stat().st_mtime_ns
    np.save(file, table())
    os.utime(file, ns=(now, now + 10**9))
    with pytest.raises(CheckpointError, match=re.escape(f"input was {file}")) as caught:
        PCA(2).fit(file, checkpoint=ck)
    assert "delete this one" in caught.value.hint
    Checkpoint.remove(ck)
    assert bits(PCA(2).fit(file, checkpoint=ck)) == expected


def test_a_file_that_changes_during_a_fit_is_not_resumed(tmp_path, ck):
    X = ill_scaled()
    file = npy(tmp_path, X)
    now = file.stat().st_mtime_ns

    def callback(report):
        if report.number == 1:
            os.utime(file, ns=(now, now + 10**9))

    with pytest.raises(ValueError, match="changed while it was read"):
        PCA().fit(file, progress=callback, checkpoint=ck)
    with pytest.raises(CheckpointError, match="input was"):
        PCA().fit(file, checkpoint=ck)


def test_checkpoints_store_only_the_sums(tmp_path, ck):
    file = npy(tmp_path, table())
    _start_and_stop(file, ck)
    header = ck.read_bytes()
    length = int.from_bytes(header[:8], "little")
    document = json.loads(json.loads(header[8 : 8 + length])["__metadata__"]["document"])
    (one,) = document["passes"]
    assert (one["row"], one["done"], one["dropped"]) == (3 * 256, False, 0)
    assert document["command"] is None
    assert len(header) < 8 * (P * P + 2 * P) + 4096
