"""A checkpoint is continued only by the run that wrote it."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from checkpoint_cases import (
    WEIGHTS,
    N,
    P,
    _start_and_stop,
    csv,
    fit,
    npy,
    run_stopped_after_each_report,
    several_csv,
    several_files,
    table,
)

from faults.disk import Stopped, bits, contents, stop_after
from princomp import PCA, read_table
from princomp.errors import (
    CheckpointError,
    InputChangedError,
    MemoryLimitError,
    ParameterError,
)
from princomp.io.checkpoint import Checkpoint
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.stdin import open_stdin
from princomp.rules import Decision

# ---- which run ---------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_changed_parameters_are_refused_by_name(change, message, tmp_path, ck):
    file = npy(tmp_path, table())
    before = _start_and_stop(file, ck)
    with pytest.raises(CheckpointError, match=message) as caught:
        fit(file, {"n_components": 2, **change}, checkpoint=ck)
    assert caught.value.place["file"] == str(ck)
    assert "same input and parameters" in caught.value.hint
    assert contents(ck.parent) == before
    assert bits(fit(file, {"n_components": 2}, checkpoint=ck)) == bits(PCA(2).fit(file))


@pytest.mark.parametrize(("length", "shown"), [(200, 200), (201, 200), (5000, 200)])
def test_long_values_of_another_run_are_shortened(length, shown, ck):
    run = Checkpoint(ck, {"solver": "a" * length}, None, 0)
    run.save()
    run.close()
    end = "" if length == shown else "…"
    with pytest.raises(CheckpointError, match=f"solver was a{{{shown}}}{end} and is b\n") as caught:
        Checkpoint(ck, {"solver": "b"}, None, 0)
    assert caught.value.place["parameter"] == "solver"


def _with_twice_the_first_part(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "two.h5", "w") as file:
        file["first"], file["second"] = table(), 2 * table()
    return folder / "two.h5"


def test_another_part_of_the_same_file_is_refused(tmp_path, ck):
    file = _with_twice_the_first_part(tmp_path)
    _start_and_stop(f"{file}::first", ck)
    with pytest.raises(CheckpointError, match=r"input was .*part=first and is .*part=second"):
        PCA(2).fit(f"{file}::second", checkpoint=ck)


@pytest.mark.parametrize("change", [{"na": ["-999"]}, {"skip_end": 1}, {"comment": "9"}])
@pytest.mark.parametrize("make", [csv, several_csv])
def test_other_options_of_reading_are_refused(change, make, tmp_path, ck, monkeypatch):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("princomp.io.readers.files.SMALL_COMPRESSED_FILE_BYTES", 0)
    file, options = make(tmp_path, table()), {"n_components": 2, "memory_limit": "2GB"}
    _start_and_stop(read_table(file), ck, options)
    with pytest.raises(CheckpointError, match=f"input was .*{next(iter(change))}="):
        fit(read_table(file, **change), options, checkpoint=ck)
    whole = fit(read_table(file), options)
    assert bits(fit(read_table(file, untrusted=False), options, checkpoint=ck)) == bits(whole)


def test_other_columns_without_names_are_refused(tmp_path, ck):
    file = npy(tmp_path, table())
    _start_and_stop(read_table(file, columns=["0", "1"]), ck)
    with pytest.raises(CheckpointError, match="columns="):
        PCA(2).fit(read_table(file, columns=["2", "3"]), checkpoint=ck)


def test_other_options_of_standard_input_are_refused(tmp_path, ck):
    text = csv(tmp_path, table()).read_bytes()
    _start_and_stop(open_stdin(io.BytesIO(text)), ck)
    with pytest.raises(CheckpointError, match="na="):
        PCA(2).fit(open_stdin(io.BytesIO(text), options=ReadOptions(na=("1",))), checkpoint=ck)


@pytest.mark.parametrize("change", [{"memory_limit": "3GB"}, {"whiten": True}, {"copy": False}])
def test_parameters_that_change_no_sum_may_differ(change, tmp_path, ck):
    file = npy(tmp_path, table())
    _start_and_stop(file, ck)
    reports, callback = stop_after(None)
    model = fit(file, {"n_components": 2, **change}, checkpoint=ck, progress=callback)
    assert reports[0].rows == 4 * 256
    assert bits(model) == bits(PCA(2).fit(file))


def test_a_resumed_run_keeps_the_plan_of_its_memory_limit(tmp_path, ck):
    """The limit determines the workspace of a Krylov search, and thereby its passes and results."""
    X = np.random.default_rng(8).standard_normal((600, 400))
    file = npy(tmp_path, X)
    options = {"svd_solver": "krylov", "n_components": 3}
    limit, refused = 2**32, 1
    while limit - refused > 1:
        middle = (limit + refused) // 2
        limit, refused = (middle, refused) if _fits_in(file, options, middle) else (limit, middle)
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
    assert whole.plan_.passes != roomy.plan_.passes  # otherwise the test would show nothing


def _fits_in(file, options, limit):
    from princomp import plan

    try:
        plan(file, **options, memory_limit=limit)
    except MemoryLimitError:
        return False
    return True


def test_numpy_numbers_equal_python_numbers(tmp_path, ck):
    file = npy(tmp_path, table())
    scale = np.arange(1.0, P + 1)
    _start_and_stop(file, ck, {"n_components": 2, "scale": scale, "n_oversamples": 10, "tol": 0.5})
    options = {"n_components": np.int64(2), "scale": scale.copy(), "n_oversamples": np.int64(10)}
    reports, callback = stop_after(None)
    fit(file, {**options, "tol": np.float64(0.5)}, checkpoint=ck, progress=callback)
    assert reports[0].rows == 4 * 256


def test_divisors_that_differ_in_the_last_digit_are_different(tmp_path, ck):
    X = np.random.default_rng(2).standard_normal((700, 80))
    one = np.arange(1.0, 81)
    other = one.copy()
    other[40] += 1e-9
    file = npy(tmp_path, X)
    for make in (np.array, list, pd.Series):
        with pytest.raises(Stopped):
            PCA(2, scale=make(one)).fit(file, progress=stop_after(1)[1], checkpoint=ck)
        with pytest.raises(CheckpointError, match="scale was"):
            PCA(2, scale=make(other)).fit(file, checkpoint=ck)
        PCA(2, scale=make(one)).fit(file, checkpoint=ck)
        Checkpoint.remove(ck)


def test_random_states_are_compared_by_their_next_draws(ck):
    X = table()

    def start_and_stop(state):
        with pytest.raises(Stopped):
            PCA(2, random_state=state).fit(X, progress=stop_after(2)[1], checkpoint=ck)

    def after(draws, seed=5):
        state = np.random.RandomState(seed)
        state.random_sample(draws)
        return state

    start_and_stop(after(1))
    PCA(2, random_state=after(1)).fit(X, checkpoint=ck)
    for other in (after(2), after(1, seed=6)):
        with pytest.raises(CheckpointError, match="random_state was a RandomState"):
            PCA(2, random_state=other).fit(X, checkpoint=ck)
    Checkpoint.remove(ck)
    for make in (np.random.PCG64, np.random.MT19937):
        start_and_stop(np.random.Generator(make(5)))
        with pytest.raises(CheckpointError, match="random_state was a Generator"):
            PCA(2, random_state=np.random.Generator(make(6))).fit(X, checkpoint=ck)
        PCA(2, random_state=np.random.Generator(make(5))).fit(X, checkpoint=ck)
        Checkpoint.remove(ck)


class Half:
    """A rule that keeps variances above a share of the largest; it has no repr."""

    name, needs = "half", "all"

    def __init__(self, share, inner=None):
        self.share, self.inner = share, inner

    def decide(self, known):
        k = int((known.variances > self.share * known.variances[0]).sum())
        return Decision(self.name, k, "it was asked for", "variance", (), None, 0)


@dataclass
class HalfWithRepr(Half):
    """The same rule with the repr of a dataclass."""

    share: float


@pytest.mark.parametrize(
    "make", [Half, HalfWithRepr, lambda share: Half(0.1, np.r_[np.ones(999), share, np.ones(999)])]
)
def test_custom_rules_are_compared_by_their_parameters(make, ck):
    """As in another process, the rule is another object at another address."""
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
def test_rules_that_cannot_be_compared_are_refused_before_writing(inner, ck):
    with pytest.raises(ParameterError, match="cannot be recognised when the run is resumed"):
        PCA(Half(0.5, inner)).fit(table(), checkpoint=ck)
    assert not Path(ck).exists()


def test_an_infinite_tolerance_is_compared_like_other_parameters(ck):
    X = table()
    with pytest.raises(Stopped):
        PCA(2, tol=np.inf).fit(X, progress=stop_after(2)[1], checkpoint=ck)
    PCA(2, tol=np.inf).fit(X, checkpoint=ck)
    with pytest.raises(CheckpointError, match="tol was inf"):
        PCA(2).fit(X, checkpoint=ck)


def test_changed_weights_are_refused_and_equal_ones_accepted(tmp_path, ck):
    file = npy(tmp_path, table())
    _start_and_stop(file, ck, weights=WEIGHTS)
    other = WEIGHTS.copy()
    other[-1] += 1
    for weights in (None, other, np.ones(N)):
        with pytest.raises(CheckpointError, match="sample_weight was"):
            fit(file, {"n_components": 2}, weights, checkpoint=ck)
    fit(file, {"n_components": 2}, WEIGHTS.astype(np.float32), checkpoint=ck)


def test_files_with_another_time_size_or_name_are_refused(tmp_path, ck):
    X = table()
    file = npy(tmp_path, X)
    now = file.stat().st_mtime_ns
    before = _start_and_stop(file, ck)
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
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 2**25)
    file = csv(tmp_path, table())
    _start_and_stop(file, ck)
    csv(tmp_path, table() + 1)
    with pytest.raises(CheckpointError, match="another run: input was") as caught:
        PCA(2).fit(file, checkpoint=ck)
    assert "rows.csv" in caught.value.message


def test_one_of_several_files_that_changed_is_named(tmp_path, ck):
    pattern = several_files(tmp_path, table())
    _start_and_stop(pattern, ck)
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
    _start_and_stop(X, ck)
    with pytest.raises(CheckpointError, match="columns was c0 and is height"):
        PCA(2).fit(X.rename(columns={"c0": "height"}), checkpoint=ck)
    with pytest.raises(CheckpointError, match=r"(input|columns) was"):
        PCA(2).fit(X[list(X.columns[::-1])], checkpoint=ck)
    with pytest.raises(CheckpointError, match=r"(input|columns) was"):
        PCA(2).fit(X.drop(columns="c3"), checkpoint=ck)
    with pytest.raises(CheckpointError, match="columns was"):
        PCA(2).fit(X.to_numpy(), checkpoint=ck)


@pytest.mark.parametrize("at", [0, 1, 9, 1300, N - 1])
@pytest.mark.parametrize("make", [np.array, np.asfortranarray, sp.csr_array])
def test_one_changed_number_of_a_table_in_memory_is_noticed(make, at, ck):
    X = table()
    _start_and_stop(make(X), ck)
    X[at, 7] = np.nextafter(X[at, 7], 9)
    with pytest.raises(CheckpointError, match=r"input was an array .* checksum"):
        PCA(2).fit(make(X), checkpoint=ck)


def test_swapped_rows_are_noticed(ck):
    X = table()
    _start_and_stop(X, ck)
    X[[40, 41]] = X[[41, 40]]
    with pytest.raises(CheckpointError, match="input was"):
        PCA(2).fit(X, checkpoint=ck)


def test_sparse_rows_without_entries_have_a_checksum(ck):
    X = sp.csr_array((N, P))
    model, _ = run_stopped_after_each_report(lambda: X, {}, None, ck)
    assert (model.explained_variance_ == 0).all()


def test_a_run_of_another_version_of_princomp_is_refused(tmp_path, ck, monkeypatch):
    file = npy(tmp_path, table())
    _start_and_stop(file, ck)
    monkeypatch.setattr("princomp.core.runs.__version__", "99.1")
    with pytest.raises(CheckpointError, match=r"princomp was .* and is 99\.1"):
        PCA(2).fit(file, checkpoint=ck)


@pytest.mark.parametrize("kind", ["function", "iterator", "standard input"])
def test_another_first_batch_is_refused(kind, ck):
    def rows(X):
        if kind == "standard input":
            content = io.BytesIO()
            np.savetxt(content, X, delimiter=",", header="a,b", comments="")
            return open_stdin(io.BytesIO(content.getvalue()))
        return (lambda: iter([X])) if kind == "function" else iter([X])

    X = np.random.default_rng(0).standard_normal((300, 2))
    whole = PCA(1).fit(rows(X), checkpoint=ck)
    with pytest.raises(CheckpointError, match=r"first \w+ with checksum"):
        PCA(1).fit(rows(X + 1), checkpoint=ck)
    assert bits(PCA(1).fit(rows(X), checkpoint=ck)) == bits(whole)


@pytest.mark.parametrize("rows", [200, 400])
def test_another_number_of_rows_of_an_iterator_is_refused(rows, ck):
    X = np.random.default_rng(0).standard_normal((400, 2))
    PCA(1).fit(iter([X[:100], X[100:300]]), checkpoint=ck)
    with pytest.raises(CheckpointError, match="had read 300 rows; the input now has"):
        PCA(1).fit(iter([X[:100], X[100:rows]]), checkpoint=ck)


@pytest.mark.parametrize("make", [lambda batches: iter(batches), lambda batches: lambda: batches])
def test_fewer_rows_than_were_read_are_refused(make, ck, monkeypatch):
    monkeypatch.setattr("princomp.core.fit.SMALL_TABLE_BYTES", 0)
    X = table()
    _start_and_stop(make([X[:100], X[100:]]), ck)
    with pytest.raises(InputChangedError, match=r"the rows end .* rows before the row"):
        PCA(2).fit(make([X[:100]]), checkpoint=ck)
