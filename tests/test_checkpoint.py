"""Checkpoints: a run that was stopped goes on where it was, with the bits of one that was not."""

from __future__ import annotations

import errno
import itertools
import json
import os
import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from faults.disk import Stopped, bits, contents, left_beside, often, small_blocks, stop_after
from helpers import EPS, truth
from princomp import PCA, load
from princomp import checkpoint as module
from princomp.checked_file import content_of
from princomp.checkpoint import Checkpoint
from princomp.choosing import Decision
from princomp.errors import (
    CheckpointError,
    InputNotFoundError,
    InUseError,
    MemoryLimitError,
    NotFiniteError,
    OutputError,
    ParameterError,
)
from princomp.summaries.dense_rows import DenseRows

N, P = 2_600, 12  # ten blocks of 256 rows, and one of 40


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small_blocks(monkeypatch)


@pytest.fixture
def ck(tmp_path):
    return tmp_path / "work" / "run.ckpt"


def table(dtype=np.float64):
    rng = np.random.default_rng(11)
    turn = np.linalg.qr(rng.standard_normal((P, P)))[0]
    return (rng.standard_normal((N, P)) * 0.7 ** np.arange(P) @ turn + 5).astype(dtype)


def tiny(dtype=np.float32):
    """Columns so unequal that float32 products, then float64 ones, do not resolve the last."""
    rng = np.random.default_rng(12)
    return (rng.standard_normal((N, P)) * 10.0 ** -np.arange(P)).astype(dtype)


def collinear():
    """Two columns that only float64 tells apart, whatever they are divided by."""
    X = table()
    X[:, 1] = X[:, 0] + 1e-10 * X[:, 1]
    return X


def holed():
    X = table()
    X[np.random.default_rng(13).integers(0, N, 60), 3] = np.nan
    return X


def npy(folder, X):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def several(folder, X):
    cuts = [0, 700, 701, 1_900, N]
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        np.save(folder / f"part{i}.npy", X[a:b])
    return folder / "part*.npy"


def csv(folder, X):
    # Seventeen digits, so that the file holds the same numbers.
    pd.DataFrame(X).add_prefix("c").to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    return folder / "rows.csv"


def csvs(folder, X):
    """Files whose numbers of rows nobody knows before they are read."""
    frame = pd.DataFrame(X).add_prefix("c")
    frame[:1000].to_csv(folder / "a.csv", index=False, float_format="%.17g")
    frame[1000:].to_csv(folder / "b.csv.gz", index=False, float_format="%.17g")
    return [folder / "a.csv", folder / "b.csv.gz"]


def parquet(folder, X):
    frame = pd.DataFrame(X).add_prefix("c")
    frame.to_parquet(folder / "rows.parquet", row_group_size=300)
    return folder / "rows.parquet"


def hdf5(folder, X):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(170, 5))
    return f"{folder / 'rows.h5'}::x"


def callable_batches(_, X):
    return lambda: (X[at : at + 333] for at in range(0, N, 333))


def once(_, X):
    return iter([X[at : at + 333] for at in range(0, N, 333)])


def memory(_, X):
    return X


def fortran(_, X):
    return np.asfortranarray(X)


def frame(_, X):
    return pd.DataFrame(X).add_prefix("c")


def sparse(_, X):
    return sp.csr_array(np.where(np.abs(X - 5) > 0.5, X, 0))


WEIGHTS = np.random.default_rng(14).integers(0, 3, N)
# How, what, and with what weights: each a way through a fit that keeps its own things on disk.
ROUTES = {
    "moments": ({}, table(), None),
    "moments of float32": ({"n_components": 2}, table(np.float32), None),
    "products in float64, then the triangle": ({}, tiny(), None),
    "the triangle after float64": ({}, tiny(np.float64), None),
    "triangle": ({"svd_solver": "full"}, table(), None),
    "triangle with weights": ({"svd_solver": "full"}, table(), WEIGHTS),
    "krylov": ({"svd_solver": "krylov", "n_components": 2}, table(), None),
    "krylov of float32": ({"svd_solver": "krylov", "n_components": 2}, table(np.float32), None),
    "krylov to a fraction": ({"svd_solver": "krylov", "n_components": 0.9}, table(), WEIGHTS),
    "krylov, scaled": ({"svd_solver": "krylov", "n_components": 1, "scale": "unit"}, holed(), None),
    "sketch": ({"svd_solver": "sketch", "n_components": 2}, table(), None),
    "sketch of ranges": (
        {"svd_solver": "sketch", "n_components": 2, "scale": "range"},
        table(),
        WEIGHTS,
    ),
    "ranges": ({"scale": "range"}, table(), None),
    "ranges, then the triangle": ({"scale": "range"}, collinear(), None),
    "rows with holes": ({"missing": "drop"}, holed(), None),
    "rows with holes and ranges": ({"missing": "drop", "scale": "range"}, holed(), WEIGHTS),
    "weights": ({"n_components": "mle"}, table(), WEIGHTS),
    "lanczos on the scatter": ({"svd_solver": "arpack", "n_components": 2}, table(), None),
}
for _options, _X, _ in ROUTES.values():
    if np.isnan(_X).any():
        _options.setdefault("missing", "drop")
INPUTS = [several, csv, csvs, parquet, hdf5, callable_batches, memory, fortran, frame, sparse]


def fit(X, options, weights=None, **more):
    return PCA(**options).fit(X, sample_weight=weights, **more)


def stopped_after_each_word(given, options, weights, ck):
    """Fit, stopped after its first word, then again after the next …: (number, rows, done) each."""
    heard = []
    for _ in range(1_000):
        words, hear = stop_after(1)
        try:
            model = fit(given(), options, weights, progress=hear, checkpoint=ck)
        except Stopped:
            (word,) = words
            heard.append((word.number, word.rows, word.done))
            continue
        assert not words
        return model, heard
    raise AssertionError("no progress")


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


@pytest.mark.parametrize(
    ("made", "name"),
    [
        *((made, "products in float64, then the triangle") for made in INPUTS),
        *((made, "krylov") for made in (csvs, callable_batches, memory, sparse)),
        *((made, "moments") for made in (csv, hdf5, fortran)),
    ],
)
def test_a_run_over_any_input_goes_on_where_it_was(made, name, tmp_path, ck):
    options, X, weights = ROUTES[name]
    X = made(tmp_path, X)
    whole = fit(X, options, weights)
    model, heard = stopped_after_each_word(lambda: X, options, weights, ck)
    assert bits(model) == bits(whole)
    assert heard == sorted(set(heard))
    assert heard[-1][1:] == (N, True)


@pytest.mark.parametrize("name", ["moments", "sketch", "rows with holes", "weights", "triangle"])
def test_an_iterator_that_begins_anew_goes_on_where_it_was(name, tmp_path, ck):
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
    from princomp.engines import pieces

    return pieces


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_run_goes_on_with_another_number_of_threads(threads, tmp_path, ck, monkeypatch):
    options, X, weights = ROUTES["triangle with weights"]
    file = npy(tmp_path, X)
    whole = fit(file, options, weights)
    with pytest.raises(Stopped):
        fit(file, options, weights, progress=stop_after(5)[1], checkpoint=ck)
    monkeypatch.setattr("princomp.threads.default_threads", lambda: threads)
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


def test_a_damaged_file_gives_way_to_the_generation_before(two, ck):
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


def test_a_missing_file_gives_way_to_the_generation_before(two, ck):
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


def test_a_checkpoint_of_a_newer_major_version_is_refused_whatever_lies_beside_it(two, ck):
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


# ---- of which run ------------------------------------------------------------------------------

CHANGES = [
    ({"n_components": 3}, "n_components was 2 and is 3"),
    ({"n_components": 0.5}, "n_components was 2 and is 0.5"),
    ({"n_components": None}, "n_components was 2 and is None"),
    ({"svd_solver": "full"}, "solver was auto and is full"),
    ({"scale": "unit"}, "scale was None and is unit"),
    ({"scale": np.arange(1.0, P + 1)}, "scale was None and is digest"),
    ({"center": False}, "center was True and is False"),
    ({"missing": "drop"}, "drop was False and is True"),
    ({"tol": 1e-3}, r"tol was 0\.0 and is 0\.001"),
    ({"decay": 0.5}, r"decay was 1\.0 and is 0\.5"),
    ({"random_state": 3}, "random_state was None and is 3"),
]


def _begun(X, ck, options=None, weights=None):
    with pytest.raises(Stopped):
        fit(X, options or {"n_components": 2}, weights, progress=stop_after(3)[1], checkpoint=ck)
    return contents(ck.parent)


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_another_parameter_is_refused_by_name(change, told, tmp_path, ck):
    file = npy(tmp_path, table())
    before = _begun(file, ck)
    with pytest.raises(CheckpointError, match=told) as caught:
        fit(file, {"n_components": 2, **change}, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "same input and parameters" in caught.value.hint
    assert contents(ck.parent) == before
    assert bits(fit(file, {"n_components": 2}, checkpoint=ck)) == bits(PCA(2).fit(file))


@pytest.mark.parametrize("change", [{"memory_limit": "3GB"}, {"whiten": True}, {"copy": False}])
def test_what_changes_no_sum_may_differ(change, tmp_path, ck):
    file = npy(tmp_path, table())
    _begun(file, ck)
    words, hear = stop_after(None)
    model = fit(file, {"n_components": 2, **change}, checkpoint=ck, progress=hear)
    assert words[0].rows == 4 * 256
    assert bits(model) == bits(PCA(2).fit(file))


def test_a_resumed_run_keeps_the_plan_that_its_memory_limit_made(tmp_path, ck):
    """The limit decides the room of a Krylov search, and so its passes and its bits."""
    X = np.random.default_rng(8).standard_normal((600, 400))
    file = npy(tmp_path, X)
    options = {"svd_solver": "krylov", "n_components": 3}
    limit, refused = 2**32, 1
    while limit - refused > 1:
        middle = (limit + refused) // 2
        limit, refused = (middle, refused) if _allows(file, options, middle) else (limit, middle)
    whole, roomy = (fit(file, {**options, "memory_limit": m}) for m in (limit, "4GB"))
    with pytest.raises(Stopped):
        fit(
            file,
            {**options, "memory_limit": limit},
            progress=stop_after(4)[1],
            checkpoint=ck,
        )
    again = fit(file, {**options, "memory_limit": "4GB"}, checkpoint=ck)
    assert bits(again) == bits(whole)
    assert whole.plan_.passes != roomy.plan_.passes  # else nothing would be shown here


def _allows(file, options, limit):
    from princomp import plan

    try:
        plan(file, **options, memory_limit=limit)
    except MemoryLimitError:
        return False
    return True


def test_numbers_of_numpy_and_lists_are_the_numbers_they_are(tmp_path, ck):
    file = npy(tmp_path, table())
    scale = np.arange(1.0, P + 1)
    _begun(file, ck, {"n_components": 2, "scale": scale, "n_oversamples": 10, "tol": 0.5})
    options = {"n_components": np.int64(2), "scale": scale.copy(), "n_oversamples": np.int64(10)}
    words, hear = stop_after(None)
    fit(file, {**options, "tol": np.float64(0.5)}, checkpoint=ck, progress=hear)
    assert words[0].rows == 4 * 256


def test_divisors_are_told_apart_in_all_their_digits(tmp_path, ck):
    X = np.random.default_rng(2).standard_normal((700, 80))
    one = np.arange(1.0, 81)
    other = one.copy()
    other[40] += 1e-9
    file = npy(tmp_path, X)
    for of in (np.array, list, pd.Series):
        with pytest.raises(Stopped):
            PCA(2, scale=of(one)).fit(file, progress=stop_after(1)[1], checkpoint=ck)
        with pytest.raises(CheckpointError, match="scale was"):
            PCA(2, scale=of(other)).fit(file, checkpoint=ck)
        PCA(2, scale=of(one)).fit(file, checkpoint=ck)
        Checkpoint.remove(ck)


def test_a_random_state_is_known_by_what_it_will_draw(ck):
    X = table()

    def stopped(state):
        with pytest.raises(Stopped):
            PCA(2, random_state=state).fit(X, progress=stop_after(2)[1], checkpoint=ck)

    stopped(np.random.RandomState(5))
    PCA(2, random_state=np.random.RandomState(5)).fit(X, checkpoint=ck)
    with pytest.raises(CheckpointError, match="random_state was a RandomState"):
        PCA(2, random_state=np.random.RandomState(6)).fit(X, checkpoint=ck)
    Checkpoint.remove(ck)
    for make in (np.random.PCG64, np.random.MT19937):
        stopped(np.random.Generator(make(5)))
        with pytest.raises(CheckpointError, match="random_state was a Generator"):
            PCA(2, random_state=np.random.Generator(make(6))).fit(X, checkpoint=ck)
        PCA(2, random_state=np.random.Generator(make(5))).fit(X, checkpoint=ck)
        Checkpoint.remove(ck)


class Half:
    """A rule that keeps what is above a share of the largest variance; it has no repr."""

    name, needs = "half", "all"

    def __init__(self, share, inner=None):
        self.share, self.inner = share, inner

    def decide(self, known):
        k = int((known.variances > self.share * known.variances[0]).sum())
        return Decision(self.name, k, "it was asked for", "variance", (), None, 0)


@dataclass
class Shown(Half):
    """The same, with the repr of a dataclass."""

    share: float


@pytest.mark.parametrize("make", [Half, Shown, lambda share: Half(0.1, np.full(2000, share))])
def test_an_own_rule_is_known_again_by_its_parameters(make, ck):
    """As in another process: the rule is another object, and so at another place."""
    X = table()
    whole = PCA(make(0.5)).fit(X)
    first = make(0.5)
    with pytest.raises(Stopped):
        PCA(first).fit(X, progress=stop_after(2)[1], checkpoint=ck)
    with pytest.raises(CheckpointError, match="n_components was"):
        PCA(make(0.25)).fit(X, checkpoint=ck)
    resumed = PCA(make(0.5)).fit(X, checkpoint=ck)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


@pytest.mark.parametrize("inner", [lambda: 0, object(), [object()]])
def test_a_rule_that_cannot_be_known_again_is_refused_before_anything_is_written(inner, ck):
    with pytest.raises(ParameterError, match="cannot be recognised when the run is resumed"):
        PCA(Half(0.5, inner)).fit(table(), checkpoint=ck)
    assert not Path(ck).exists()


def test_an_infinite_tolerance_is_a_parameter_like_any_other(ck):
    X = table()
    with pytest.raises(Stopped):
        PCA(2, tol=np.inf).fit(X, progress=stop_after(2)[1], checkpoint=ck)
    PCA(2, tol=np.inf).fit(X, checkpoint=ck)
    with pytest.raises(CheckpointError, match="tol was inf"):
        PCA(2).fit(X, checkpoint=ck)


def test_other_weights_are_refused_and_the_same_are_not(tmp_path, ck):
    file = npy(tmp_path, table())
    _begun(file, ck, weights=WEIGHTS)
    other = WEIGHTS.copy()
    other[-1] += 1
    for weights in (None, other, np.ones(N)):
        with pytest.raises(CheckpointError, match="sample_weight was"):
            fit(file, {"n_components": 2}, weights, checkpoint=ck)
    fit(file, {"n_components": 2}, WEIGHTS.astype(np.float32), checkpoint=ck)


def test_a_file_of_another_time_size_or_name_is_refused_by_its_name(tmp_path, ck):
    X = table()
    file = npy(tmp_path, X)
    now = file.stat().st_mtime_ns
    before = _begun(file, ck)
    for change in (
        lambda: os.utime(file, ns=(now, now + 1)),
        lambda: np.save(file, X[:-1]),
        lambda: np.save(file, X.astype(np.float32)),
    ):
        change()
        with pytest.raises(CheckpointError, match="input was") as caught:
            PCA(2).fit(file, checkpoint=ck)
        assert contents(ck.parent) == before
        assert "another checkpoint" in caught.value.hint
    os.utime(file, ns=(now, now))
    np.save(file, X)
    os.utime(file, ns=(now + 10**9, now + 10**9))
    with pytest.raises(CheckpointError, match=re.escape(str(file))):
        PCA(2).fit(file, checkpoint=ck)
    os.utime(file, ns=(now, now))
    moved = file.rename(file.with_name("moved.npy"))
    with pytest.raises(CheckpointError, match=r"rows\.npy .* and is .*moved\.npy"):
        PCA(2).fit(moved, checkpoint=ck)
    moved.rename(file)
    assert bits(PCA(2).fit(file, checkpoint=ck)) == bits(PCA(2).fit(X))


def test_a_small_file_that_changed_is_refused_by_its_name(tmp_path, ck, monkeypatch):
    monkeypatch.setattr("princomp.sources.files._SMALL", 2**25)
    file = csv(tmp_path, table())
    _begun(file, ck)
    csv(tmp_path, table() + 1)
    with pytest.raises(CheckpointError, match="another run: input was") as caught:
        PCA(2).fit(file, checkpoint=ck)
    assert "rows.csv" in caught.value.message


def test_one_of_several_files_that_changed_is_named(tmp_path, ck):
    pattern = several(tmp_path, table())
    _begun(pattern, ck)
    changed = tmp_path / "part2.npy"
    now = changed.stat().st_mtime_ns
    os.utime(changed, ns=(now, now + 10**9))
    with pytest.raises(CheckpointError, match="part2") as caught:
        PCA(2).fit(pattern, checkpoint=ck)
    assert "part0" not in caught.value.message
    os.utime(changed, ns=(now, now))
    np.save(tmp_path / "part9.npy", table()[:5])
    with pytest.raises(CheckpointError, match="input was"):
        PCA(2).fit(pattern, checkpoint=ck)


def test_other_columns_are_refused_by_name(ck):
    X = pd.DataFrame(table()).add_prefix("c")
    _begun(X, ck)
    with pytest.raises(CheckpointError, match="columns was c0 and is height"):
        PCA(2).fit(X.rename(columns={"c0": "height"}), checkpoint=ck)
    with pytest.raises(CheckpointError, match=r"(input|columns) was"):
        PCA(2).fit(X[list(X.columns[::-1])], checkpoint=ck)
    with pytest.raises(CheckpointError, match=r"(input|columns) was"):
        PCA(2).fit(X.drop(columns="c3"), checkpoint=ck)
    with pytest.raises(CheckpointError, match="columns was"):
        PCA(2).fit(X.to_numpy(), checkpoint=ck)


@pytest.mark.parametrize("at", [0, 1, 9, 1300, N - 1])
@pytest.mark.parametrize("of", [np.array, np.asfortranarray, sp.csr_array])
def test_one_changed_number_of_a_table_in_memory_is_noticed(of, at, ck):
    X = table()
    _begun(of(X), ck)
    X[at, 7] = np.nextafter(X[at, 7], 9)
    with pytest.raises(CheckpointError, match=r"input was an array .* checksum"):
        PCA(2).fit(of(X), checkpoint=ck)


def test_two_rows_that_changed_places_are_another_table(ck):
    X = table()
    _begun(X, ck)
    X[[40, 41]] = X[[41, 40]]
    with pytest.raises(CheckpointError, match="input was"):
        PCA(2).fit(X, checkpoint=ck)


def test_sparse_rows_without_a_number_have_a_checksum_too(ck):
    X = sp.csr_array((N, P))
    model, _ = stopped_after_each_word(lambda: X, {}, None, ck)
    assert (model.explained_variance_ == 0).all()


def test_a_run_of_another_version_of_princomp_is_refused(tmp_path, ck, monkeypatch):
    file = npy(tmp_path, table())
    _begun(file, ck)
    monkeypatch.setattr("princomp.runs.__version__", "99.1")
    with pytest.raises(CheckpointError, match=r"princomp was .* and is 99\.1"):
        PCA(2).fit(file, checkpoint=ck)


# ---- in use ------------------------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_has_it(tmp_path, ck):
    file = npy(tmp_path, table())
    told = []

    def hear(word):
        if not told:
            with pytest.raises(InUseError, match="another run") as caught:
                PCA().fit(file, checkpoint=ck)
            told.append(caught.value)

    whole = PCA().fit(file, progress=hear, checkpoint=ck)
    assert told[0].place["file"] == str(ck)
    assert told[0].hint
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


def test_a_file_system_without_locks_is_no_other_run(tmp_path, ck, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert bits(PCA().fit(table(), checkpoint=ck)) == bits(PCA().fit(table()))


# ---- the disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 12))
def test_a_full_disk_is_told_and_leaves_the_older_checkpoint(
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


def test_saving_the_model_deletes_the_checkpoint_and_what_lies_beside_it(tmp_path, ck, monkeypatch):
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


def test_a_failed_fit_keeps_its_checkpoint_but_a_mended_file_is_another(tmp_path, ck):
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


def test_a_file_that_changes_on_the_way_is_told_and_not_gone_on_with(tmp_path, ck):
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
