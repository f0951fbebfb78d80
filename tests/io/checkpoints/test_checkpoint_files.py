"""Checkpoint files: contents, two generations, damage."""

from __future__ import annotations

import errno
import os
import re

import numpy as np
import pytest
from checkpoint_cases import (
    INPUTS,
    ROUTES,
    N,
    P,
    callable_batches,
    csv,
    csvs,
    fit,
    fortran,
    hdf5,
    memory,
    npy,
    sparse,
    stopped_after_each_word,
    table,
)

from faults.disk import Stopped, bits, contents, left_beside, often, stop_after
from helpers import EPS, truth
from princomp import PCA, load
from princomp.errors import (
    CheckpointError,
)
from princomp.io import checkpoint as module
from princomp.io.checked_file import content_of
from princomp.io.checkpoint import Checkpoint
from princomp.summaries.dense_rows import DenseRows


def once(_, X):
    return iter([X[at : at + 333] for at in range(0, N, 333)])


@pytest.mark.parametrize("name", ROUTES)
def test_a_run_stopped_after_each_word_has_the_bits_of_one_that_was_not(name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    words, hear = stop_after(None)
    whole = fit(file, options, weights, progress=hear)
    model, heard = stopped_after_each_word(lambda: file, options, weights, ck)
    # Each word came once: nothing was summed a second time, nothing was left out.
    assert heard == [(word.number, word.rows, word.done) for word in words]
    assert bits(model) == bits(whole)
    for word in ("summary", "solver", "reasons", "passes"):
        assert getattr(model.plan_, word) == getattr(whole.plan_, word)
    if "then the triangle" in name or "after float64" in name:
        assert whole.plan_.summary == "triangle"
        assert heard[-1][0] == len(whole.plan_.reasons) > 1


@pytest.mark.parametrize("name", ["moments", "triangle", "krylov", "sketch of ranges"])
def test_the_runs_compared_here_are_right(name, tmp_path):
    options, X, weights = ROUTES[name]
    model = fit(npy(tmp_path, X), options, weights)
    kept = X if weights is None else X[weights > 0]
    divisor = np.ptp(kept, axis=0) if options.get("scale") == "range" else None
    values = truth(X, weights=weights, divisor=divisor)[0][: model.n_components_]
    # A variance is right to n·p roundings of the first; a sketch to what it says of itself.
    error = np.abs(model.explained_variance_ - values).max() / values[0]
    assert error <= (0.1 if "sketch" in name else N * P * EPS)


@pytest.mark.filterwarnings("ignore:the variances of the columns differ:UserWarning")
@pytest.mark.parametrize(
    ("made", "name"),
    [
        *((made, "products in float64, then the triangle") for made in INPUTS),
        *((made, "krylov") for made in (csvs, callable_batches, memory, sparse)),
        *((made, "moments") for made in (csv, hdf5, fortran)),
    ],
)
def test_a_run_over_any_input_resumes_where_it_stopped(made, name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    X = made(tmp_path, X)
    whole = fit(X, options, weights)
    model, heard = stopped_after_each_word(lambda: X, options, weights, ck)
    assert bits(model) == bits(whole)
    assert heard == sorted(set(heard))
    assert heard[-1][1:] == (N, True)


@pytest.mark.parametrize("name", ["moments", "sketch", "rows with holes", "weights", "triangle"])
def test_an_iterator_that_begins_anew_resumes_where_it_stopped(name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    whole = fit(once(None, X), options, weights)
    model, heard = stopped_after_each_word(lambda: once(None, X), options, weights, ck)
    assert bits(model) == bits(whole)
    assert heard == sorted(set(heard))


@pytest.mark.parametrize("name", ["moments", "krylov", "products in float64, then the triangle"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0])
def test_rows_that_were_summed_are_not_read_again(name, share, tmp_path, ck, monkeypatch):
    read = []
    own = module_pieces()._read

    def counted(source, start, stop):
        read.append((start, stop))
        return own(source, start, stop)

    monkeypatch.setattr(module_pieces(), "_read", counted)
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    words, hear = stop_after(None)
    whole = fit(file, options, weights, progress=hear)
    in_all, at = sum(b - a for a, b in read), round(share * len(words))
    stop = words[at - 1]
    with pytest.raises(Stopped):
        fit(file, options, weights, progress=stop_after(at)[1], checkpoint=ck)
    read.clear()
    assert bits(fit(file, options, weights, checkpoint=ck)) == bits(whole)
    assert sum(b - a for a, b in read) == in_all - N * (stop.number - 1) - stop.rows
    read.clear()
    assert bits(fit(file, options, weights, checkpoint=ck)) == bits(whole)
    assert read == []


def module_pieces():
    from princomp.engines import local as pieces

    return pieces


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
def test_whatever_stops_a_run_comes_through_and_the_rows_are_kept(kind, at, tmp_path, ck):
    X = table()
    words = []

    def hear(word):
        words.append(word)
        if len(words) == at:
            raise kind

    with pytest.raises(kind):
        PCA().fit(X, progress=hear, checkpoint=ck)
    assert left_beside(ck)[0] == ""
    again, hear = stop_after(None)
    assert bits(PCA().fit(X, progress=hear, checkpoint=ck)) == bits(PCA().fit(X))
    assert len(again) == 12 - at


def test_a_signal_while_the_file_is_written_loses_nothing(tmp_path, ck, monkeypatch):
    """Python raises KeyboardInterrupt anywhere: here between the two renamings, and at a sync."""
    X = table()
    whole = bits(PCA().fit(X))
    often(monkeypatch)
    for name in ("replace", "fsync"):
        for number in range(1, 45, 5):
            calls, own = [], getattr(os, name)

            def once(*words, calls=calls, own=own, number=number):
                calls.append(words)
                if len(calls) == number:
                    raise KeyboardInterrupt
                return own(*words)

            with monkeypatch.context() as patch:
                patch.setattr(os, name, once)
                try:
                    PCA().fit(X, checkpoint=ck)
                except KeyboardInterrupt:
                    pass
                else:
                    assert len(calls) < number
            # What is there is whole, the last rows included: it was written once more.
            assert "" in left_beside(ck)
            assert not list(ck.parent.glob(".*"))
            assert bits(PCA().fit(X, checkpoint=ck)) == whole
            Checkpoint.remove(ck)


@pytest.mark.parametrize("name", ["krylov", "krylov to a fraction", "sketch of ranges"])
@pytest.mark.parametrize("number", [1, 2, 7, 11, 13])
def test_rows_that_were_half_added_are_not_on_the_disk(name, number, tmp_path, ck, monkeypatch):
    """Sums that are too large for copies change in place; here one is stopped when it has."""
    options, X, weights = ROUTES[name]
    file = npy(tmp_path, X)
    whole = bits(fit(file, options, weights))
    calls = []

    def stopping(own):
        def add(*words):
            own(*words)
            calls.append(words)
            if len(calls) == number:
                raise KeyboardInterrupt

        return add

    with monkeypatch.context() as patch:
        if number != 7:
            often(patch)
        # The first adds what a sketch is of the rows, the second what a search is.
        for name_ in ("add_rmatmul", "add_images"):
            patch.setattr(DenseRows, name_, stopping(getattr(DenseRows, name_)))
        if "sketch" in name and number > 11:
            pytest.skip("eleven blocks are all that there are")
        with pytest.raises(KeyboardInterrupt):
            fit(file, options, weights, checkpoint=ck)
    assert bits(fit(file, options, weights, checkpoint=ck)) == whole


def test_edge_shapes_and_little_tables_leave_nothing_wrong(tmp_path, ck):
    rng = np.random.default_rng(3)
    for shape in [(2, 1), (255, 2), (257, 12), (512, 12), (600, 1), (40, 300)]:
        X = rng.standard_normal(shape)
        for options in ({}, {"svd_solver": "full"}, {"scale": "range"}):
            for given in (X, npy(tmp_path, X)):
                model, heard = stopped_after_each_word(lambda g=given: g, options, None, ck)
                assert bits(model) == bits(fit(given, options))
                assert heard == sorted(set(heard))
                Checkpoint.remove(ck)
                assert left_beside(ck) == []


def test_a_finished_run_is_not_run_again_but_changed_rows_are_refused(ck):
    X = table()
    first = PCA().fit(X, checkpoint=ck)
    words, hear = stop_after(None)
    assert bits(PCA().fit(X, checkpoint=ck, progress=hear)) == bits(first)
    assert words == []
    X[1234, 5] += 1e-9  # one number of a row between those that a sample would look at
    with pytest.raises(CheckpointError, match="another run: input was"):
        PCA().fit(X, checkpoint=ck)


# ---- two generations ---------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path, ck):
    """A file of rows, the bits of its fit, and generations of a run over it at blocks 3 and 6."""
    file = npy(tmp_path, table())
    whole = bits(PCA().fit(file))
    for _ in range(2):
        with pytest.raises(Stopped):
            PCA().fit(file, progress=stop_after(3)[1], checkpoint=ck)
    assert left_beside(ck) == ["", "~", ".lock"]
    return file, whole


def _damaged(content):
    """The file cut at each 1/64, and with one byte of each 1/64 changed, the first and last too."""
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


def test_a_damaged_file_falls_back_to_the_generation_before(two, ck):
    file, whole = two
    before = contents(ck.parent)
    for i, damaged in enumerate(_damaged(before["run.ckpt"])):
        ck.write_bytes(damaged)
        words, hear = stop_after(1 if i % 4 else None)
        if i % 4:
            with pytest.raises(Stopped):
                PCA().fit(file, progress=hear, checkpoint=ck)
        else:
            assert bits(PCA().fit(file, progress=hear, checkpoint=ck)) == whole
        assert words[0].rows == 4 * 256
        for name, content in before.items():
            (ck.parent / name).write_bytes(content)


def test_a_missing_file_falls_back_to_the_generation_before(two, ck):
    file, whole = two
    ck.unlink()
    words, hear = stop_after(None)
    assert bits(PCA().fit(file, progress=hear, checkpoint=ck)) == whole
    assert words[0].rows == 4 * 256


def test_two_damaged_files_are_refused_and_nothing_is_deleted(two, ck):
    file, _ = two
    older = ck.with_name("run.ckpt~")
    good, older_good = ck.read_bytes(), older.read_bytes()
    for i, (one, other) in enumerate(zip(_damaged(good), _damaged(older_good), strict=False)):
        if i % 5 and i > 3:
            continue
        ck.write_bytes(one)
        older.write_bytes(other)
        before = contents(ck.parent)
        with pytest.raises(CheckpointError, match=re.escape(str(ck))) as caught:
            PCA().fit(file, checkpoint=ck)
        assert caught.value.hint
        assert contents(ck.parent) == before
    # Without the newer one, the damaged older one is not a reason to begin anew in silence.
    ck.unlink()
    with pytest.raises(CheckpointError, match=r"run\.ckpt~"):
        PCA().fit(file, checkpoint=ck)
    older.write_bytes(older_good)
    PCA().fit(file, checkpoint=ck)


def test_a_damaged_file_never_takes_the_place_of_the_good_one(two, ck, monkeypatch):
    """Killed at the first write after a fall back, the run must still have something good."""
    file, whole = two
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
    _, arrays, document = module._newest(path)
    major, minor = version
    return content_of(module._CHECKPOINT._replace(major=major, minor=minor), arrays, document)


def test_a_checkpoint_of_a_newer_major_version_is_refused_whatever_is_next_to_it(two, ck):
    file, whole = two
    newer, minor = _as_version(ck, (2, 0)), _as_version(ck, (1, 7))
    ck.write_bytes(newer)
    before = contents(ck.parent)
    with pytest.raises(CheckpointError, match=r"format version 2\.0.* reads 1") as caught:
        PCA().fit(file, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "newer princomp" in caught.value.hint
    assert contents(ck.parent) == before
    ck.write_bytes(minor)  # a newer minor version adds what may be ignored
    assert bits(PCA().fit(file, checkpoint=ck)) == whole


@pytest.mark.parametrize("found", [b"", b"notes\n", b"\x93NUMPY" + bytes(200), b"{" * 50])
def test_a_file_that_is_no_checkpoint_is_refused_and_kept(found, ck):
    ck.parent.mkdir()
    ck.write_bytes(found)
    with pytest.raises(CheckpointError, match="not a checkpoint") as caught:
        PCA().fit(table(), checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert ck.read_bytes() == found


def test_a_model_is_no_checkpoint(ck):
    ck.parent.mkdir()
    PCA().fit(table()).save(ck)
    with pytest.raises(CheckpointError, match="not a checkpoint of princomp"):
        PCA().fit(table(), checkpoint=ck)
    load(ck)


def test_what_the_file_says_is_looked_at_before_it_is_believed(two, ck):
    """Whole files, their checksums right, whose contents no run of ours writes."""
    file, _ = two
    _, arrays, document = module._newest(ck)
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
        content = content_of(module._CHECKPOINT, arrays, {**document, **change})
        ck.write_bytes(content)
        with pytest.raises(CheckpointError, match=re.escape(str(ck))):
            PCA().fit(file, checkpoint=ck)
    for missing in ("passes", "run", "limit", "command"):
        less = {word: value for word, value in document.items() if word != missing}
        ck.write_bytes(content_of(module._CHECKPOINT, arrays, less))
        with pytest.raises(CheckpointError):
            PCA().fit(file, checkpoint=ck)
