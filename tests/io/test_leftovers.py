"""Temporary files and folders of writers that failed or were killed, and locks."""

from __future__ import annotations

import errno
import os
import runpy
import signal
import subprocess
import sys
import threading

import pytest

from princomp.errors import OutputError
from princomp.io import all_or_none, atomic, atomic_write
from princomp.io.atomic import locked_for_update, remove_leftovers
from princomp.io.checkpoint import Checkpoint

fcntl = pytest.importorskip("fcntl", reason="no locks on this system")

# Writes part of a file, and waits to be killed.
WRITER = """
import sys, time
from princomp.io import all_or_none, atomic_write

with all_or_none():
    with atomic_write(sys.argv[1]) as file:
        file.write(b"part")
    print("waiting", flush=True)
    time.sleep(60)
"""


def _temporary(folder):
    return sorted(path.name for path in folder.glob(".*.tmp"))


def _write(path, content=b"new"):
    with atomic_write(path, force=True) as file:
        file.write(content)


def _fill_the_disk(path, other=None):
    """A write that fails, after another file was created."""
    with atomic_write(path):
        if other is not None:
            other.touch()
        raise OSError(errno.ENOSPC, "No space left on device")


def _write_two(first, second):
    with all_or_none():
        _write(first)
        _fill_the_disk(second)


def test_the_next_write_removes_what_a_killed_writer_left_but_not_the_file_of_a_living_one(
    tmp_path,
):
    path = tmp_path / "scores.csv"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as living:
        assert living.stdout.readline()
        (kept,) = _temporary(tmp_path)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as killed:
            assert killed.stdout.readline()
            assert len(_temporary(tmp_path)) == 2
            killed.send_signal(signal.SIGKILL)
        _write(path)
        assert _temporary(tmp_path) == [kept]
        living.send_signal(signal.SIGKILL)
    _write(path, b"newer")
    assert os.listdir(tmp_path) == ["scores.csv"]
    assert path.read_bytes() == b"newer"


def test_two_writers_of_one_file_in_a_process_keep_their_files(tmp_path):
    path = tmp_path / "a"
    with atomic_write(path, force=True) as first, atomic_write(path, force=True) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_complete_files_that_wait_for_others_are_not_leftovers(tmp_path):
    with all_or_none():
        _write(tmp_path / "a", b"1")
        remove_leftovers(tmp_path / "a")
        _write(tmp_path / "b", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_files_of_other_names_are_kept(tmp_path):
    others = [".a.0123456789ab.tmp~", ".a.0123.tmp", ".b.0123456789ab.tmp", "a.0123456789ab.tmp"]
    for name in (*others, ".a.0123456789ab.tmp"):
        (tmp_path / name).touch()
    _write(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a"])


def test_a_file_taken_for_a_leftover_before_it_was_locked_is_created_again(tmp_path, monkeypatch):
    original, calls, closed, close = fcntl.flock, [], [], os.close

    def flock(handle, how):
        calls.append(handle)
        if len(calls) == 1:
            (name,) = _temporary(tmp_path)
            (tmp_path / name).unlink()
        original(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    _write(tmp_path / "a")
    assert len(calls) == 2
    assert closed[0] == calls[0]
    assert (tmp_path / "a").read_bytes() == b"new"


def test_nothing_is_removed_where_there_are_no_locks(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / ".a.0123456789ab.tmp").touch()
    _write(tmp_path / "a")
    assert len(os.listdir(tmp_path)) == 2


def test_no_descriptor_stays_open(tmp_path):
    _write(tmp_path / "a")
    before = os.listdir("/dev/fd")
    for _ in range(3):
        (tmp_path / ".a.0123456789ab.tmp").touch()
        _write(tmp_path / "a")
        with pytest.raises(OutputError):
            _write_two(tmp_path / "b", tmp_path / "c")
    assert os.listdir("/dev/fd") == before


def _write_all(*paths):
    with all_or_none():
        for path in paths:
            _write(path)


def _fail_after_two(*paths):
    with all_or_none():
        for path in paths:
            _write(path)
        raise ZeroDivisionError


def test_a_write_that_fails_removes_the_folders_that_it_created(tmp_path):
    with pytest.raises(OutputError):
        _fill_the_disk(tmp_path / "x" / "y" / "a")
    assert not os.listdir(tmp_path)
    with pytest.raises(OutputError):
        _write_two(tmp_path / "x" / "a", tmp_path / "x" / "y" / "b")
    assert not os.listdir(tmp_path)
    with pytest.raises(ZeroDivisionError):
        _fail_after_two(tmp_path / "x" / "a", tmp_path / "x" / "b")
    assert not os.listdir(tmp_path)


def test_a_write_that_fails_keeps_folders_that_existed_or_have_files(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(OutputError):
        _fill_the_disk(tmp_path / "empty" / "a")
    with pytest.raises(OutputError):
        _fill_the_disk(tmp_path / "x" / "a", other=tmp_path / "x" / "other")
    assert sorted(os.listdir(tmp_path)) == ["empty", "x"]


def test_a_checkpoint_that_is_resumed_after_its_last_save_removes_leftovers(tmp_path):
    (tmp_path / ".run.0123456789ab.tmp").touch()
    Checkpoint(tmp_path / "run", {}, None, 0).close()
    assert not _temporary(tmp_path)


def test_an_interrupt_during_the_renaming_takes_effect_after_it(tmp_path, monkeypatch):
    replace, handled = os.replace, threading.Event()

    def interrupt(*_):
        handled.set()
        raise KeyboardInterrupt

    def replace_and_interrupt(*paths):
        # A signal that arrives just before the main thread waits for a lock does not wake it.
        for _ in range(60):
            if handled.is_set():
                break
            os.kill(os.getpid(), signal.SIGINT)
            handled.wait(1)
        assert handled.is_set()
        replace(*paths)

    monkeypatch.setattr(os, "replace", replace_and_interrupt)
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            _write_all(tmp_path / "a", tmp_path / "b")
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


# ---- locks ---------------------------------------------------------------------------------


def _is_locked(path):
    """Whether another description of the file cannot be locked now."""
    with open(path, "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_file_is_locked_while_it_is_updated(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    (tmp_path / "link").symlink_to(path)
    with locked_for_update(tmp_path / "link"):
        assert _is_locked(path)
    assert not _is_locked(path)
    with locked_for_update(path):
        _write(path)
    with locked_for_update(tmp_path / "missing"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["link", "model"]


def test_a_file_that_was_replaced_before_it_was_locked_is_locked_again(tmp_path, monkeypatch):
    path, calls, closed = tmp_path / "model", [], []
    lock, close = fcntl.flock, os.close
    path.write_bytes(b"old")

    def flock(handle, how):
        calls.append(handle)
        if len(calls) == 1:
            (tmp_path / "new").write_bytes(b"new")
            os.replace(tmp_path / "new", path)
        elif len(calls) == 2:
            path.unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    with locked_for_update(path):
        assert len(calls) == 2  # then there was no file to lock
        assert closed == calls


def test_files_are_updated_and_written_where_the_system_has_no_locks(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        _write(tmp_path / "a", b"old")
        with locked_for_update(tmp_path / "a"):
            _write(tmp_path / "a", b"new")
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    windows = runpy.run_path(atomic.__file__)
    (tmp_path / ".a.0123456789ab.tmp").touch()
    with (
        windows["locked_for_update"](tmp_path / "a"),
        windows["atomic_write"](tmp_path / "a", force=True) as file,
    ):
        file.write(b"newer")
    assert sorted(os.listdir(tmp_path)) == [".a.0123456789ab.tmp", "a"]
    assert (tmp_path / "a").read_bytes() == b"newer"


def test_leftovers_of_names_too_long_to_repeat_are_kept(tmp_path):
    """A temporary file of such a name may be that of another."""
    for length, kept in ((200, False), (201, True)):
        leftover = tmp_path / f".{'n' * 200}.0123456789ab.tmp"
        leftover.touch()
        _write(tmp_path / ("n" * length))
        assert leftover.exists() == kept


def test_a_relative_name_in_a_folder_that_was_deleted_is_reported(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(OutputError, match="a: could not be written: No such file"):
        _write("a")
