"""``fit --checkpoint`` and ``resume``: signals, restarts, errors and messages."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import sys
import time
from functools import partial

import numpy as np
import pytest

import princomp.core as princomp_core
from command_line import files_in, run_command
from faults.disk import save_every_block, small_blocks, start_driver
from princomp import PCA, load
from princomp.cli.output import hint_to_resume, progress_bar
from princomp.engines.run_context import ProgressReporter, RunContext

N, P = 2_600, 12
FLAGS = ("-k", "3", "--memory", "2GB")


@pytest.fixture(autouse=True)
def _use_small_blocks(monkeypatch):
    small_blocks(monkeypatch)


@pytest.fixture
def princomp(capfd):
    """Run commands in the current folder, which ``home`` sets."""
    return partial(run_command, capfd)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder with the input, where commands run."""
    folder = tmp_path / "home of rows"
    folder.mkdir()
    np.save(folder / "x.npy", np.random.default_rng(4).standard_normal((N, P)))
    monkeypatch.chdir(folder)
    return folder


def _interrupted_after(monkeypatch, number, kind=KeyboardInterrupt):
    """A context, already entered, in which a fit is interrupted after ``number`` blocks."""
    original, calls = RunContext.advance, []

    def advance(self, state):
        original(self, state)
        calls.append(state.row)
        if len(calls) == number:
            raise kind

    context = monkeypatch.context()
    patch = context.__enter__()
    patch.setattr(RunContext, "advance", advance)
    return context


def _run_interrupted(monkeypatch, princomp, *args, number=4):
    """Run a fit that is interrupted as by Ctrl-C."""
    context = _interrupted_after(monkeypatch, number)
    try:
        done = princomp("fit", *args)
    finally:
        context.__exit__(None, None, None)
    assert done.code == 130
    return done


def _outputs(folder):
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


@pytest.fixture
def whole(home, tmp_path, princomp):
    """The files of a run that was not interrupted."""
    assert princomp("fit", "x.npy", *FLAGS, "-o", tmp_path / "whole").code == 0
    return _outputs(tmp_path / "whole")


# ---- signals -----------------------------------------------------------------------------------


def _wait_until(condition, process):
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_fit_stopped_by_a_signal_resumes_to_the_same_bytes(
    number, code, home, whole, tmp_path, princomp, monkeypatch
):
    args = ("fit", "x.npy", *FLAGS, "--checkpoint", "work in.ckpt")
    # The pause is longer than the test, and the signal ends it.
    spec = {"pause": 100, "first": 2}
    with start_driver("cli", spec, *args, cwd=home) as process:
        _wait_until((home / "work in.ckpt~").exists, process)
        # While the fit runs, its checkpoint is locked.
        second = princomp(*args)
        assert second.code == 75
        assert "another run" in second.err
        assert "resume" not in second.err
        again = princomp("resume", "work in.ckpt", "--json")
        assert (again.code, again.error["kind"]) == (75, "InUseError")
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    (line,) = (line for line in err.splitlines() if "resume" in line)
    assert line.endswith("princomp resume 'work in.ckpt'")
    assert files_in(home) == ["work in.ckpt", "work in.ckpt.lock", "work in.ckpt~", "x.npy"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if code == 143:  # once in a new process, with the shell words of the message
        typed = [*shlex.split(line.partition("princomp: ")[2].partition("with: ")[2])]
        assert typed == ["princomp", "resume", "work in.ckpt"]
        with start_driver("cli", {}, "resume", home / "work in.ckpt", cwd=elsewhere) as process:
            out, err = process.communicate()
        code = process.returncode
    else:
        monkeypatch.chdir(elsewhere)
        code, out, err = princomp("resume", home / "work in.ckpt")
    assert (code, err.count("\n")) == (0, 1)
    assert f"continuing from {home / 'work in.ckpt'}" in err
    assert out.startswith("2,600 rows × 12 columns")
    assert files_in(elsewhere) == []
    assert _outputs(home / "x_pca") == whole
    assert files_in(home) == sorted(["x.npy", *(f"x_pca/{name}" for name in whole)])


def test_ctrl_c_without_a_checkpoint_leaves_nothing(home):
    args = ("fit", "x.npy", *FLAGS, "--debug")
    with start_driver("cli", {"pause": 100}, *args, cwd=home) as process:
        # Wait until the input is open: the driver's imports take most of a second.
        deadline = time.monotonic() + 60
        while not _has_open(process.pid, "x.npy") and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "resume" not in err
    assert "Traceback" not in err
    assert files_in(home) == ["x.npy"]


def _has_open(pid, name):
    try:
        files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(file.endswith(name) for file in files)


def test_ctrl_c_while_saving_leaves_a_valid_checkpoint(home, whole, princomp, monkeypatch):
    save_every_block(monkeypatch)
    original, calls = os.fsync, []

    def interrupted(handle):
        calls.append(handle)
        if len(calls) in (8, 10):
            raise KeyboardInterrupt
        original(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        done = princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck")
    assert done.code == 130
    assert len(calls) >= 10
    assert not [name for name in files_in(home) if name.endswith(".tmp")]
    assert princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck").code == 0
    assert _outputs(home / "x_pca") == whole


# ---- resuming ----------------------------------------------------------------------------------


def test_repeating_the_same_fit_resumes_it(home, whole, princomp, monkeypatch):
    stopped = _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck")
    assert stopped.err.strip() == "princomp: resume with: princomp resume ck"
    done = princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck")
    assert (done.code, done.err) == (0, "note: continuing from ck\n")
    assert _outputs(home / "x_pca") == whole
    assert "ck" not in files_in(home)


def test_a_run_can_be_resumed_several_times(home, whole, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck", number=2)
    for _ in range(3):
        context = _interrupted_after(monkeypatch, 2)
        assert princomp("resume", "ck").code == 130
        context.__exit__(None, None, None)
    rows = []
    original = RunContext.advance
    monkeypatch.setattr(
        RunContext, "advance", lambda self, state: (rows.append(state.row), original(self, state))
    )
    assert princomp("resume", "ck").code == 0
    assert rows == [2_304, 2_560, 2_600]
    assert _outputs(home / "x_pca") == whole


def test_resume_keeps_json_for_results_and_for_errors(home, princomp, monkeypatch):
    plain = princomp("fit", "x.npy", *FLAGS, "-o", "a", "--json").document
    args = ("x.npy", *FLAGS, "-o", "b", "--json", "--checkpoint", "ck")
    stopped = _run_interrupted(monkeypatch, princomp, *args)
    assert stopped.out == ""
    now = (home / "x.npy").stat().st_mtime_ns
    os.utime(home / "x.npy", ns=(now, now + 10**9))
    refused = princomp("resume", "ck")
    assert (refused.code, refused.err) == (65, "")
    assert refused.error["kind"] == "CheckpointError"
    assert "x.npy" in refused.error["message"]
    os.utime(home / "x.npy", ns=(now, now))
    done = princomp("resume", "ck")
    assert (done.code, done.err) == (0, "")
    assert done.document == {
        **plain,
        "files": {name: f.replace("a/", "b/") for name, f in plain["files"].items()},
    }


def test_resume_takes_json(home, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck")
    done = princomp("resume", "ck", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["rows"] == N


def test_a_moved_checkpoint_is_resumed(home, whole, princomp, monkeypatch):
    # All arguments after "--" are files, so resume must not append flags.
    _run_interrupted(monkeypatch, princomp, *FLAGS, "--checkpoint", "ck", "--", "x.npy")
    (home / "far").mkdir()
    for name in ("ck", "ck.lock"):
        (home / name).rename(home / "far" / name)
    monkeypatch.chdir(home / "far")
    assert princomp("resume", "ck").code == 0
    assert _outputs(home / "x_pca") == whole
    assert files_in(home / "far") == []


def test_python_and_the_command_line_continue_each_others_runs(home, whole, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck")

    def stop(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        PCA(3).fit("x.npy", progress=stop, checkpoint="ck")
    assert princomp("resume", "ck").code == 0
    assert _outputs(home / "x_pca") == whole


@pytest.mark.parametrize("last", ["scores", "model"])
def test_a_run_stopped_while_writing_results_is_resumed(last, home, whole, princomp, monkeypatch):
    """The fit is done but no output exists, since all outputs appear together."""
    with monkeypatch.context() as patch:
        where = "princomp.io.write_table" if last == "scores" else "princomp.core.save_model"

        def stop(*_, **__):
            raise KeyboardInterrupt

        patch.setattr(where, stop)
        stopped = princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck")
    assert stopped.code == 130
    assert "princomp resume ck" in stopped.err
    assert files_in(home) == ["ck", "ck.lock", "x.npy"]
    read = []
    monkeypatch.setattr(RunContext, "advance", lambda *args: read.append(args))
    assert princomp("resume", "ck").code == 0
    assert read == []  # the rows were already summed
    assert _outputs(home / "x_pca") == whole
    assert files_in(home) == sorted(["x.npy", *(f"x_pca/{name}" for name in whole)])


def test_the_checkpoint_is_locked_while_results_are_written(home, princomp, monkeypatch):
    from princomp.errors import InUseError

    original, errors = princomp_core.save_model, []

    def save(*args, **options):
        with pytest.raises(InUseError) as caught:
            PCA(3).fit("x.npy", checkpoint="ck")
        errors.append(caught.value)
        original(*args, **options)

    monkeypatch.setattr(princomp_core, "save_model", save)
    assert princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck").code == 0
    assert len(errors) == 1


# ---- refusals ----------------------------------------------------------------------------------


def test_invalid_checkpoints_are_reported(home, princomp, monkeypatch):
    def refused(name, code, *texts):
        before = files_in(home)
        done = princomp("resume", name)
        assert done.code == code, done.err
        assert done.out == ""
        for text in (*texts, "Hint: ", str(name)):
            assert text in done.err
        assert files_in(home) == before

    refused("none.ckpt", 66, "no checkpoint file")
    refused(home, 66, "is a folder")
    (home / "notes.txt").write_text("some notes\n")
    refused("notes.txt", 65, "not a checkpoint file")
    refused("x.npy", 65, "not a checkpoint file")
    (home / "empty").touch()
    refused("empty", 65, "not a checkpoint file")
    PCA().fit(np.eye(4)).save("m.pca")
    refused("m.pca", 65, "not a checkpoint of princomp")
    PCA(3).fit("x.npy", checkpoint="python.ckpt")
    refused("python.ckpt", 65, "by a program", "fit(X, checkpoint=")
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck")
    damaged = (home / "ck").read_bytes()[:-9]
    (home / "cut.ckpt").write_bytes(damaged)
    refused("cut.ckpt", 65, "cut short", "start again")
    assert princomp("resume", "ck").code == 0
    refused("ck", 66, "no checkpoint file")


def test_a_changed_input_is_refused_and_the_checkpoint_kept(home, whole, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", "ck")
    kept = (home / "ck").read_bytes()
    X = np.load("x.npy")
    now = (home / "x.npy").stat().st_mtime_ns
    np.save("x.npy", X[:-1])
    for args in (("resume", "ck"), ("fit", "x.npy", *FLAGS, "--checkpoint", "ck")):
        done = princomp(*args)
        assert done.code == 65
        assert "another run: input was" in done.err
        assert "resume with" not in done.err
    os.utime(home / "x.npy", ns=(now, now + 10**9))
    np.save("x.npy", X)
    assert "x.npy of" in princomp("resume", "ck").err
    (home / "x.npy").rename(home / "y.npy")
    gone = princomp("resume", "ck")
    assert gone.code == 66
    assert "x.npy: no such file" in gone.err
    assert (home / "ck").read_bytes() == kept
    (home / "y.npy").rename(home / "x.npy")
    os.utime(home / "x.npy", ns=(now, now))
    assert princomp("resume", "ck").code == 0
    assert _outputs(home / "x_pca") == whole


def test_changed_flags_are_refused_by_name(home, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", "-k", "3", "--checkpoint", "ck")
    for flags, message in (
        (["-k", "4"], "-k was 3 and is 4"),
        (["-k", "3", "--scale", "unit"], "scale was None and is unit"),
        (["-k", "3", "--columns", "0,1,2,3"], "columns was"),
        (["-k", "3", "--missing", "drop"], "drop was False and is True"),
        (["-k", "3", "--no-center"], "center was True and is False"),
    ):
        done = princomp("fit", "x.npy", *flags, "--checkpoint", "ck")
        assert done.code == 65, flags
        assert message in done.err or "input was" in done.err, flags
    assert princomp("fit", "x.npy", "-k", "3", "--memory", "3GB", "--checkpoint", "ck").code == 0


def test_resume_needs_the_folder_of_the_fit(home, tmp_path, princomp, monkeypatch):
    _run_interrupted(monkeypatch, princomp, "x.npy", *FLAGS, "--checkpoint", tmp_path / "ck")
    monkeypatch.chdir(tmp_path)
    home.rename(tmp_path / "other")
    done = princomp("resume", "ck")
    assert done.code == 66
    assert str(home) in done.err
    assert "Hint" in done.err
    (tmp_path / "other").rename(home)
    assert princomp("resume", "ck").code == 0


@pytest.mark.parametrize("name", ["m.pca", "x.npy", "x.npy.lock", "far/x.npy", "folder"])
def test_a_checkpoint_needs_an_unused_name(name, home, princomp):
    (home / "folder").mkdir()
    (home / "far").symlink_to(home)
    before = files_in(home)
    args = ("x.npy", *FLAGS, "-m", "m.pca", "--force")
    if name == "x.npy.lock":
        args, name = ("x.npy", *FLAGS, "-m", "m.pca.lock", "--force"), "m.pca"
    done = princomp("fit", *args, "--checkpoint", name)
    assert done.code in (2, 73)
    assert files_in(home) == before
    np.load("x.npy")


def test_bad_data_keep_the_checkpoint_without_a_resume_hint(home, princomp):
    X = np.load("x.npy")
    X[2_570, 3] = np.nan  # in the last block, after those of the first task
    np.save("x.npy", X)
    done = princomp("fit", "x.npy", *FLAGS, "--checkpoint", "ck")
    assert done.code == 65
    assert "resume with" not in done.err
    assert "ck" in files_in(home)
    np.save("x.npy", np.nan_to_num(X))
    now = (home / "x.npy").stat().st_mtime_ns
    os.utime(home / "x.npy", ns=(now, now + 10**9))
    done = princomp("resume", "ck")
    assert done.code == 65
    assert re.search(r"input was x\.npy of .* changed at .* and is x\.npy of", done.err)


def test_a_full_disk_is_reported_and_the_older_checkpoint_is_resumed(home, princomp):
    """Files are limited to 3 kB, and a checkpoint of the second pass is larger."""
    rng = np.random.default_rng(9)
    np.save("x.npy", (rng.standard_normal((N, P)) * 10.0 ** -np.arange(P)).astype(np.float32))
    args = ("fit", "x.npy", "--memory", "2GB", "--checkpoint", "ck")
    with start_driver("cli", {"largest": 3_000}, *args, cwd=home) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (73, "")
    assert "ck: could not be written: File too large" in err
    assert "princomp resume ck" in err
    assert not [name for name in files_in(home) if name.endswith(".tmp")]
    kept = json.loads(_document("ck"))["passes"]
    assert [one["done"] for one in kept] in ([True], [True, False])
    assert princomp("resume", "ck").code == 0
    assert princomp("fit", *args[1:-2], "-o", "whole").code == 0
    assert _outputs(home / "x_pca") == _outputs(home / "whole")


def _document(name):
    with open(name, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header["__metadata__"]["document"]


# ---- progress ----------------------------------------------------------------------------------


def test_progress_is_shown_only_on_a_terminal(home, whole, princomp):
    pty = pytest.importorskip("pty")
    args = ("fit", "x.npy", *FLAGS, "--checkpoint", "ck")
    piped = princomp(*args, "-o", "piped")
    assert (piped.code, piped.err) == (0, "")
    master, slave = pty.openpty()
    with start_driver("cli", {"pause": 0.03}, *args, cwd=home, stderr=slave) as process:
        os.close(slave)
        drawn = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # raised by Linux when the other side is closed
                break
            if not part:
                break
            drawn += part
        out = process.stdout.read()
    os.close(master)
    assert process.returncode == 0
    assert b"pass 1 moments" in drawn
    assert b"MB/s" in drawn
    assert out == piped.out.replace("piped/", "x_pca/")
    assert "\x1b" not in out
    assert _outputs(home / "x_pca") == _outputs(home / "piped") == whole
    assert load("x_pca/model.pca").n_samples_ == N


def test_a_pass_is_shown_even_if_its_first_report_is_its_last(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with progress_bar() as show:
        reporter = ProgressReporter(show)
        for step in ("moments", "scores"):
            reporter.begin(step, 10, 8.0)
            reporter.advance(10, done=True)
    assert "pass 1 moments" in drawn.getvalue()
    assert "pass 2 scores" in drawn.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interruption_before_the_first_save_says_so(error, tmp_path, capsys):
    with pytest.raises(type(error)), hint_to_resume(tmp_path / "ck"):
        raise error
    message = f"princomp: interrupted before anything was saved in {tmp_path / 'ck'}\n"
    assert capsys.readouterr().err == message
