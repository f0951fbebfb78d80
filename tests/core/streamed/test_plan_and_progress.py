"""Plan, progress, interruption and changed files of a streamed fit."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
import pytest
from streamed_cases import NAMES, ROWS, batches_of, save, save_csv

from princomp import PCA, plan
from princomp.errors import (
    ColumnError,
    InputChangedError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.io.readers import (
    files,
)
from princomp.io.readers.files import open_source
from princomp.io.readers.source import Chunk, Source

# ---- the plan -----------------------------------------------------------------------------------


class Streamed(Source):
    """An array that is read as a stream."""

    reader_bytes = 0

    def __init__(self, table, *, known=True, repeatable=True, step=64, fail_at=None):
        n, p = table.shape
        super().__init__(rows=n if known else None, p=p, dtype=table.dtype, file="streamed")
        self.table, self.step, self.repeatable, self.passes = table, step, repeatable, 0
        self.fail_at, self.closed = fail_at, 0

    def chunks(self, start=0):
        self.passes += 1
        try:
            for first in range(start, len(self.table), self.step):
                if self.fail_at is not None and first >= self.fail_at:
                    raise OSError("the disk went away")
                yield Chunk(self.table[first : first + self.step])
        finally:
            self.closed += 1


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 2},
        {"n_components": 0.9},
        {"n_components": 2, "svd_solver": "krylov"},
        {"n_components": 2, "svd_solver": "full"},
        {"n_components": 2, "svd_solver": "sketch"},
        {"n_components": 2, "svd_solver": "lanczos"},
        {"n_components": 2, "svd_solver": "row_gram"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["x.npy", "x.parquet"])
def test_the_plan_of_a_file_is_that_of_its_fit(kind, options, table, tmp_path, streamed):
    path = save(tmp_path / kind, table)
    planned, model = plan(path, **options), PCA(**options).fit(path)
    assert (planned.summary, planned.solver) == (model.plan_.summary, model.plan_.solver)
    if planned.passes is not None:
        assert planned.passes == model.plan_.passes == model.certificate_.passes
    assert planned.problem.rows == model.plan_.problem.rows == ROWS
    if planned.reasons[0].startswith("the rows fit"):
        assert planned.reasons[1:] == model.plan_.reasons
    else:
        # A sketch adds its measured residual.
        assert planned.reasons == model.plan_.reasons[:1]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov", "sketch", "full", "covariance_eigh"])
def test_the_passes_of_a_plan_are_those_that_were_read(solver, known, table, streamed):
    source = Streamed(table, known=known)
    model = PCA(2, svd_solver=solver).fit(source)
    assert source.passes == model.plan_.passes == model.certificate_.passes == source.closed
    assert model.certificate_.bytes_read == source.passes * table.nbytes


# ---- progress, interruption, changed files ------------------------------------------------------


@pytest.fixture
def report_often(monkeypatch):
    monkeypatch.setattr("princomp.engines.run_context.REPORT_INTERVAL", 0.0)


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "sketch"])
def test_progress_counts_rows_and_passes_and_ends_with_done(
    solver, table, tmp_path, streamed, report_often
):
    events = []
    model = PCA(2, svd_solver=solver)
    model.fit(save(tmp_path / "x.npy", table), progress=events.append)
    numbers = [event.number for event in events]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, model.plan_.passes + 1))
    for number in set(numbers):
        reported = [event for event in events if event.number == number]
        rows = [event.rows for event in reported]
        assert rows == sorted(rows)
        assert [event.done for event in reported] == [False] * (len(reported) - 1) + [True]
        assert rows[-1] == reported[-1].total_rows == ROWS
        assert reported[-1].fraction == 1.0
        assert all(0 < event.fraction <= 1 for event in reported)
        assert {event.total_rows for event in reported} == {ROWS}
    name = {"auto": "moments", "full": "triangle"}.get(solver, solver)
    assert {event.step for event in events} == {name}


def test_progress_of_a_stream_has_no_total_until_the_end(table, streamed, report_often):
    events = []
    PCA(2).fit(batches_of(table, 50), progress=events.append)
    assert {event.total_rows for event in events[:-1]} == {None}
    assert {event.fraction for event in events[:-1]} == {None}
    assert (events[-1].total_rows, events[-1].fraction, events[-1].done) == (ROWS, 1.0, True)


@pytest.mark.parametrize("scale", [None, "unit"])
def test_the_smallest_table_reports_progress_and_leaves_a_checkpoint(scale, table, tmp_path):
    events, rows = [], table[:20]
    model = PCA(2, scale=scale).fit(rows, progress=events.append, checkpoint=tmp_path / "run")
    assert (events[-1].rows, events[-1].done) == (20, True)
    assert (tmp_path / "run").exists()
    expected = PCA(2, scale=scale).fit(rows)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12)


class Stopped(Exception):  # noqa: N818 - not an error of princomp
    """An exception of the user's code."""


@pytest.mark.parametrize("solver", ["auto", "krylov"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_exception_in_the_callback_leaves_the_model_unchanged(
    at, solver, table, streamed, report_often
):
    def stop(event):
        events.append(event)
        if len(events) > at:
            raise Stopped

    events = []
    model = PCA(2, svd_solver=solver).fit(table[:, :4])
    before = model.components_.tobytes(), model.n_samples_, model.n_features_in_
    source = Streamed(table)
    with pytest.raises(Stopped):
        model.fit(source, progress=stop)
    assert len(events) == at + 1
    assert (model.components_.tobytes(), model.n_samples_, model.n_features_in_) == before
    assert source.closed == source.passes
    fresh = PCA(2)
    with pytest.raises(Stopped):
        fresh.fit(Streamed(table), progress=stop)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
def test_a_read_error_is_raised_and_leaves_the_model_unchanged(solver, known, table, streamed):
    model = PCA(2, svd_solver=solver).fit(table)
    before = dict(vars(model))
    source = Streamed(table, known=known, fail_at=512)
    with pytest.raises(OSError, match="the disk went away"):
        model.fit(source)
    assert vars(model) == before
    assert source.closed == source.passes


def make_newer(path):
    """Change the modification time of a file, by more than any file system rounds it."""
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**10))


@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
@pytest.mark.parametrize("kind", ["x.npy", "x.parquet", "x.csv", "x.h5"])
@pytest.mark.parametrize("how", ["touched", "longer"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    how, kind, solver, table, tmp_path, streamed, report_often
):
    def change(event):
        if not changed:
            changed.append(event)
            if how == "longer":
                with path.open("ab") as file:
                    file.write(b"1,2,3,4,5,6\n" if kind == "x.csv" else b"\0" * 48)
            else:
                make_newer(path)

    changed = []
    path = save(tmp_path / kind, table)
    model = PCA(2, svd_solver=solver).fit(table)
    before = dict(vars(model))
    with pytest.raises(InputChangedError) as caught:
        model.fit(path, progress=change)
    assert caught.value.place == {"file": str(path)}
    assert "changed while it was read" in caught.value.message
    assert vars(model) == before


def test_of_several_files_the_one_that_changed_is_named(table, tmp_path, streamed, report_often):
    def change(event):
        make_newer(second)

    first, second = save(tmp_path / "1.npy", table), save(tmp_path / "2.npy", table)
    with pytest.raises(InputChangedError) as caught:
        PCA(2).fit([first, second], progress=change)
    assert caught.value.place == {"file": str(second)}


@pytest.mark.parametrize("kind", ["npy", "parquet", "h5"])
def test_a_file_that_changes_while_it_is_read_whole_is_refused(kind, table, tmp_path, monkeypatch):
    """Wide rows that fit in memory are read whole: a route that reports no progress."""
    monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path = save(tmp_path / f"x.{kind}", table[:4])
    source = open_source(path)
    original = type(source).chunks

    def chunks(self, start=0):
        for chunk in original(self, start):
            yield chunk
            make_newer(path)

    monkeypatch.setattr(type(source), "chunks", chunks)
    assert plan(source, 2).reasons[0].startswith("the rows fit in memory")
    with pytest.raises(InputChangedError) as caught:
        PCA(2).fit(source)
    assert caught.value.place["file"] == str(path)


def test_a_file_whose_cells_are_filled_is_read_into_memory(table, tmp_path):
    planned = plan(save(tmp_path / "x.npy", table), 2, missing="em", memory_limit="1GB")
    assert planned.problem.in_memory
    assert planned.problem.memory_limit is None


def test_a_plan_takes_no_rows_from_an_iterator(table):
    rows = batches_of(table, 50)
    with suppress(ParameterError):
        plan(rows, 2)
    assert sum(map(len, rows)) == ROWS


# ---- odd streams --------------------------------------------------------------------------------


def test_a_function_that_returns_other_rows_later_is_refused(table, streamed):
    def rows():
        calls.append(1)
        return batches_of(table[: ROWS - len(calls)], 50)

    calls = []
    with pytest.raises(ShapeError, match="this time"):
        PCA(2, svd_solver="krylov").fit(rows)


def test_streams_of_one_row_or_none_are_refused(table, tmp_path, streamed):
    with pytest.raises(ShapeError, match="at least 2 rows"):
        PCA().fit(save(tmp_path / "x.npy", table[:1]))
    with pytest.raises(ShapeError, match="at least 2 rows"):
        PCA().fit(iter([table[:1]]))
    with pytest.raises(ShapeError, match="no batch with rows"):
        PCA().fit(iter([]))


@pytest.mark.parametrize("k", [7, 700])
@pytest.mark.parametrize("solver", ["auto", "krylov", "sketch", "full", "lanczos"])
def test_more_components_than_columns_are_refused_for_streams(k, solver, table, tmp_path, streamed):
    for given in (save(tmp_path / "x.npy", table), lambda: batches_of(table, 50)):
        with pytest.raises(ShapeError, match="n_components"):
            PCA(k, svd_solver=solver).fit(given)


@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
def test_more_components_than_rows_are_refused_for_streams(solver, table, tmp_path, streamed):
    for given in (save(tmp_path / "x.npy", table[:4]), lambda: batches_of(table[:4], 3)):
        with pytest.raises(ShapeError, match="n_components=5 must be between"):
            PCA(5, svd_solver=solver).fit(given)


def test_a_failed_fit_of_a_stream_keeps_the_earlier_names(tmp_path, table, streamed):
    model = PCA(2).fit(save(tmp_path / "x.csv", table))
    table[500, 1] = np.nan
    other = save_csv(tmp_path / "y.csv", table, list("uvwxyz"))
    with pytest.raises(NotFiniteError):
        model.fit(other)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ColumnError):
        model.transform(other)
