"""Checkpoint files: resumed runs, two generations and damage."""

from __future__ import annotations

import errno
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from checkpoint_cases import (
    INPUTS,
    ROUTES,
    N,
    P,
    callable_batches,
    csv,
    fit,
    fortran,
    hdf5,
    in_memory,
    npy,
    run_stopped_after_each_report,
    several_csv,
    sparse,
    table,
)

from faults.disk import Stopped, bits, contents, remaining_suffixes, save_every_block, stop_after
from helpers import EPS, truth
from princomp import PCA, load
from princomp.errors import (
    CheckpointError,
)
from princomp.io import checkpoint as checkpoint_module
from princomp.io.checkpoint import Checkpoint, State
from princomp.io.model_file import encode_content
from princomp.io.readers.numpy_file import NpySource
from princomp.summaries import Moments
from princomp.summaries.dense_rows import DenseRows


def one_pass_iterator(_, X):
    return iter([X[at : at + 333] for at in range(0, N, 333)])


@pytest.mark.parametrize("name", ROUTES)
def test_a_run_stopped_after_each_report_resumes_bit_for_bit(name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    reports, callback = stop_after(None)
    whole = fit(file, options, weights, progress=callback)
    model, reports_seen = run_stopped_after_each_report(lambda: file, options, weights, ck)
    # Each report came once: no rows were summed twice or left out.
    assert reports_seen == [(report.number, report.rows, report.done) for report in reports]
    assert bits(model) == bits(whole)
    for field in ("summary", "solver", "reasons", "passes"):
        assert getattr(model.plan_, field) == getattr(whole.plan_, field)
    if "then the triangle" in name or "after float64" in name:
        assert whole.plan_.summary == "triangle"
        assert reports_seen[-1][0] == len(whole.plan_.reasons) > 1


@pytest.mark.parametrize("name", ["moments", "triangle", "krylov", "sketch of ranges"])
def test_the_reference_runs_are_accurate(name, tmp_path):
    options, X, weights = ROUTES[name]
    model = fit(npy(tmp_path, X), options, weights)
    kept = X if weights is None else X[weights > 0]
    divisor = np.ptp(kept, axis=0) if options.get("scale") == "range" else None
    values = truth(X, weights=weights, divisor=divisor)[0][: model.n_components_]
    # Variances are accurate to n·p roundings of the largest, those of sketches to a tenth of it.
    error = np.abs(model.explained_variance_ - values).max() / values[0]
    assert error <= (0.1 if "sketch" in name else N * P * EPS)


@pytest.mark.filterwarnings("ignore:the variances of the columns differ:UserWarning")
@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((make, "products in float64, then the triangle") for make in INPUTS),
        *((make, "krylov") for make in (several_csv, callable_batches, in_memory, sparse)),
        *((make, "moments") for make in (csv, hdf5, fortran)),
    ],
)
def test_a_run_over_any_input_resumes_where_it_stopped(make, name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    n = 1_300  # five blocks of 256 rows, and one of 20
    X = make(tmp_path, X[:n])
    whole = fit(X, options, weights)
    model, reports_seen = run_stopped_after_each_report(lambda: X, options, weights, ck)
    assert bits(model) == bits(whole)
    assert reports_seen == sorted(set(reports_seen))
    assert reports_seen[-1][1:] == (n, True)


@pytest.mark.parametrize("name", ["moments", "sketch", "rows with holes", "weights", "triangle"])
def test_a_restarted_iterator_resumes_where_it_stopped(name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    whole = fit(one_pass_iterator(None, X), options, weights)
    model, reports_seen = run_stopped_after_each_report(
        lambda: one_pass_iterator(None, X), options, weights, ck
    )
    assert bits(model) == bits(whole)
    assert reports_seen == sorted(set(reports_seen))


@pytest.mark.parametrize("name", ["moments", "krylov", "products in float64, then the triangle"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0])
def test_rows_already_summed_are_not_read_again(name, share, tmp_path, ck, monkeypatch):
    read = []
    original = NpySource.load

    def counted(source, start, stop, empty):
        read.append((start, stop))
        return original(source, start, stop, empty)

    monkeypatch.setattr(NpySource, "load", counted)
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    reports, callback = stop_after(None)
    whole = fit(file, options, weights, progress=callback)
    total, at = sum(b - a for a, b in read), round(share * len(reports))
    stop = reports[at - 1]
    with pytest.raises(Stopped):
        fit(file, options, weights, progress=stop_after(at)[1], checkpoint=ck)
    read.clear()
    assert bits(fit(file, options, weights, checkpoint=ck)) == bits(whole)
    assert sum(b - a for a, b in read) == total - N * (stop.number - 1) - stop.rows
    read.clear()
    assert bits(fit(file, options, weights, checkpoint=ck)) == bits(whole)
    assert read == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_run_resumes_with_another_number_of_threads(threads, tmp_path, ck, monkeypatch):
    options, X, weights = ROUTES["triangle with weights"]
    file = npy(tmp_path, X)
    whole = fit(file, options, weights)
    with pytest.raises(Stopped):
        fit(file, options, weights, progress=stop_after(5)[1], checkpoint=ck)
    monkeypatch.setattr("princomp.linalg.threads.default_threads", lambda: threads)
    assert bits(fit(file, options, weights, checkpoint=ck)) == bits(whole)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("at", [3, 11])
def test_exceptions_propagate_and_summed_rows_are_kept(kind, at, tmp_path, ck):
    X = table()
    reports = []

    def callback(report):
        reports.append(report)
        if len(reports) == at:
            raise kind

    with pytest.raises(kind):
        PCA().fit(X, progress=callback, checkpoint=ck)
    assert remaining_suffixes(ck)[0] == ""
    later_reports, callback = stop_after(None)
    assert bits(PCA().fit(X, progress=callback, checkpoint=ck)) == bits(PCA().fit(X))
    assert len(later_reports) == 12 - at


def test_an_interrupt_during_a_save_loses_nothing(tmp_path, ck, monkeypatch):
    """KeyboardInterrupt may be raised anywhere: here between the two renames, and at a sync."""
    X = table()
    whole = bits(PCA().fit(X))
    save_every_block(monkeypatch)
    for name in ("replace", "fsync"):
        for number in range(1, 45, 5):
            calls, original = [], getattr(os, name)

            def interrupted_call(*arguments, calls=calls, original=original, number=number):
                calls.append(arguments)
                if len(calls) == number:
                    raise KeyboardInterrupt
                return original(*arguments)

            with monkeypatch.context() as patch:
                patch.setattr(os, name, interrupted_call)
                try:
                    PCA().fit(X, checkpoint=ck)
                except KeyboardInterrupt:
                    pass
                else:
                    assert len(calls) < number
            # The checkpoint is complete, including the last rows: it was saved once more.
            assert "" in remaining_suffixes(ck)
            assert not list(ck.parent.glob(".*"))
            assert bits(PCA().fit(X, checkpoint=ck)) == whole
            Checkpoint.remove(ck)


@pytest.mark.parametrize("name", ["krylov", "krylov to a fraction", "sketch of ranges"])
@pytest.mark.parametrize("number", [1, 2, 7, 11, 13])
def test_partially_added_rows_are_not_saved(name, number, tmp_path, ck, monkeypatch):
    """Sums too large to copy are updated in place; interrupt such an update."""
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    whole = bits(fit(file, options, weights))
    calls = []

    def stopping(original):
        def add(*arguments):
            original(*arguments)
            calls.append(arguments)
            if len(calls) == number:
                raise KeyboardInterrupt

        return add

    with monkeypatch.context() as patch:
        if number != 7:
            save_every_block(patch)
        # The first method updates sketches, the second Krylov searches.
        for name_ in ("add_rmatmul", "add_images"):
            patch.setattr(DenseRows, name_, stopping(getattr(DenseRows, name_)))
        if "sketch" in name and number > 11:
            pytest.skip("there are only eleven blocks")
        with pytest.raises(KeyboardInterrupt):
            fit(file, options, weights, checkpoint=ck)
    assert bits(fit(file, options, weights, checkpoint=ck)) == whole


def test_runs_over_small_tables_resume_bit_for_bit(tmp_path, ck):
    rng = np.random.default_rng(3)
    for shape in [(2, 1), (255, 2), (257, 12), (512, 12), (600, 1), (40, 300)]:
        X = rng.standard_normal(shape)
        for options in ({}, {"svd_solver": "full"}, {"scale": "range"}):
            for given in (X, npy(tmp_path, X)):
                model, reports_seen = run_stopped_after_each_report(
                    lambda g=given: g, options, None, ck
                )
                assert bits(model) == bits(fit(given, options))
                assert reports_seen == sorted(set(reports_seen))
                Checkpoint.remove(ck)
                assert remaining_suffixes(ck) == []


def test_a_finished_run_is_not_repeated_but_changed_rows_are_refused(ck):
    X = table()
    first = PCA().fit(X, checkpoint=ck)
    reports, callback = stop_after(None)
    assert bits(PCA().fit(X, checkpoint=ck, progress=callback)) == bits(first)
    assert reports == []
    X[1234, 5] += 1e-9  # one number of a row that a sample would miss
    with pytest.raises(CheckpointError, match="another run: input was"):
        PCA().fit(X, checkpoint=ck)


def _save_times(ck, monkeypatch, save_seconds):
    """Times of the saves in a run of 300 s, by a fake clock, that reports rows every second."""
    clock, times, encode = [0.0], [], encode_content

    def slow(*arguments):
        times.append(clock[0])
        clock[0] += save_seconds
        return encode(*arguments)

    monkeypatch.setattr(checkpoint_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(checkpoint_module, "encode_content", slow)
    run = Checkpoint(ck, {}, None, 0)
    run.begin()
    while clock[0] < 300:
        clock[0] += 1
        run.advance(State(1, Moments.empty(2), 0))
    run.close()
    return times


def test_saves_take_a_small_share_of_the_time(ck, monkeypatch):
    times = _save_times(ck, monkeypatch, 0.25)
    assert len(times) > 10  # one in 12.5 s
    assert times[0] <= 2.0
    assert 0.25 * len(times) <= 0.02 * (300 + 0.25)


def test_a_killed_run_loses_at_most_thirty_seconds(ck, monkeypatch):
    times = _save_times(ck, monkeypatch, 4.0)
    assert max(np.diff([0.0, *times, 300.0])) <= 30 + 4  # and the seconds of the save itself


# ---- two generations ---------------------------------------------------------------------------


@pytest.fixture
def two_generations(tmp_path, ck):
    """A file of rows, the bytes of its fit, and two checkpoint generations, at blocks 3 and 6."""
    file = npy(tmp_path, table())
    whole = bits(PCA().fit(file))
    for _ in range(2):
        with pytest.raises(Stopped):
            PCA().fit(file, progress=stop_after(3)[1], checkpoint=ck)
    assert remaining_suffixes(ck) == ["", "~", ".lock"]
    return file, whole


def _damaged_versions(content):
    """The file truncated at each 1/64, and with single bytes changed, the first and last too."""
    length = len(content)
    rng = np.random.default_rng(5)
    for i in range(64):
        yield content[: i * length // 64]
    for at in (
        0,
        7,
        8,
        9,
        *(int(i + rng.integers(length // 64)) for i in range(0, length - 64, 99)),
    ):
        yield content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :]
    yield content[:-1] + bytes([content[-1] ^ 128])
    yield content + b"\0"


def test_a_damaged_file_falls_back_to_the_previous_generation(two_generations, ck):
    file, whole = two_generations
    before = contents(ck.parent)
    for i, damaged in enumerate(_damaged_versions(before["run.ckpt"])):
        ck.write_bytes(damaged)
        reports, callback = stop_after(1 if i % 4 else None)
        if i % 4:
            with pytest.raises(Stopped):
                PCA().fit(file, progress=callback, checkpoint=ck)
        else:
            assert bits(PCA().fit(file, progress=callback, checkpoint=ck)) == whole
        assert reports[0].rows == 4 * 256
        for name, content in before.items():
            (ck.parent / name).write_bytes(content)


def test_a_missing_file_falls_back_to_the_previous_generation(two_generations, ck):
    file, whole = two_generations
    ck.unlink()
    reports, callback = stop_after(None)
    assert bits(PCA().fit(file, progress=callback, checkpoint=ck)) == whole
    assert reports[0].rows == 4 * 256


def test_two_damaged_files_are_refused_and_nothing_is_deleted(two_generations, ck):
    file, _ = two_generations
    older = ck.with_name("run.ckpt~")
    good, older_good = ck.read_bytes(), older.read_bytes()
    for i, (one, other) in enumerate(
        zip(_damaged_versions(good), _damaged_versions(older_good), strict=False)
    ):
        if i % 5 and i > 3:
            continue
        ck.write_bytes(one)
        older.write_bytes(other)
        before = contents(ck.parent)
        with pytest.raises(CheckpointError, match=re.escape(str(ck))) as caught:
            PCA().fit(file, checkpoint=ck)
        assert caught.value.hint
        assert contents(ck.parent) == before
    # Without the newer file, a damaged older one must not make the run start again silently.
    ck.unlink()
    with pytest.raises(CheckpointError, match=r"run\.ckpt~"):
        PCA().fit(file, checkpoint=ck)
    older.write_bytes(older_good)
    PCA().fit(file, checkpoint=ck)


def test_a_damaged_file_never_replaces_the_good_one(two_generations, ck, monkeypatch):
    """A run killed at the first write after a fallback must still have a valid generation."""
    file, whole = two_generations
    older = ck.with_name("run.ckpt~")
    good = older.read_bytes()
    ck.write_bytes(ck.read_bytes()[:-1])

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(Stopped):
            PCA().fit(file, progress=stop_after(1)[1], checkpoint=ck)
        assert older.read_bytes() == good
    with pytest.raises(Stopped):
        PCA().fit(file, progress=stop_after(1)[1], checkpoint=ck)
    assert older.read_bytes() == good
    assert bits(PCA().fit(file, checkpoint=ck)) == whole


def _as_version(path, version):
    _, arrays, document = checkpoint_module._newest(path)
    return encode_content(checkpoint_module._CHECKPOINT._replace(version=version), arrays, document)


def test_checkpoints_of_a_newer_major_version_are_refused(two_generations, ck):
    file, whole = two_generations
    newer, minor = _as_version(ck, "2.0"), _as_version(ck, "1.7")
    ck.write_bytes(newer)
    before = contents(ck.parent)
    with pytest.raises(CheckpointError, match=r"format version 2\.0.* reads 1") as caught:
        PCA().fit(file, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "newer princomp" in caught.value.hint
    assert contents(ck.parent) == before
    ck.write_bytes(minor)  # additions of a newer minor version may be ignored
    assert bits(PCA().fit(file, checkpoint=ck)) == whole


@pytest.mark.parametrize("found", [b"", b"notes\n", b"\x93NUMPY" + bytes(200), b"{" * 50])
def test_files_of_other_kinds_are_refused_and_kept(found, ck):
    ck.parent.mkdir()
    ck.write_bytes(found)
    with pytest.raises(CheckpointError, match="not a checkpoint") as caught:
        PCA().fit(table(), checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert caught.value.hint.startswith("give another path")
    assert ck.read_bytes() == found


def test_a_model_file_is_refused_as_a_checkpoint(ck):
    ck.parent.mkdir()
    PCA().fit(table()).save(ck)
    with pytest.raises(CheckpointError, match="not a checkpoint of princomp") as caught:
        PCA().fit(table(), checkpoint=ck)
    assert caught.value.hint.startswith("give another path")
    load(ck)


def test_invalid_contents_with_a_valid_checksum_are_refused(two_generations, ck):
    """Complete files with valid checksums whose contents no run of princomp writes."""
    file, _ = two_generations
    _, arrays, document = checkpoint_module._newest(ck)
    first = document["passes"][0]
    for change in (
        {"passes": 3},
        {"passes": [{**first, "row": "many"}]},
        {"passes": [{**first, "summary": {"kind": "novel"}}]},
        {"passes": [{**first, "summary": {**first["summary"], "extra": 1}}]},
        {"passes": [{}]},
        {"run": 5},
        {"run": []},
        {"limit": None},
    ):
        content = encode_content(checkpoint_module._CHECKPOINT, arrays, {**document, **change})
        ck.write_bytes(content)
        with pytest.raises(CheckpointError, match=re.escape(str(ck))):
            PCA().fit(file, checkpoint=ck)
    for missing in ("passes", "run", "limit", "command"):
        incomplete = {field: value for field, value in document.items() if field != missing}
        ck.write_bytes(encode_content(checkpoint_module._CHECKPOINT, arrays, incomplete))
        with pytest.raises(CheckpointError):
            PCA().fit(file, checkpoint=ck)
