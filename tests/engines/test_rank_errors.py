"""Errors on one rank end the fit on all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from ranks_tables import RANK_NAMES, assert_refused, assert_same_on_all_ranks, rows_of

from princomp.errors import (
    ColumnError,
    InputChangedError,
    InputNotFoundError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    PrincompError,
    ShapeError,
)

# ---- errors ------------------------------------------------------------------------------


def test_missing_values_are_raised_on_all_ranks_with_their_place(ranks, rng):
    X = rows_of(rng, 300)
    tables = np.array_split(X, ranks.size)
    tables[1][7, 2] = np.nan
    errors = assert_refused(ranks, NotFiniteError, "fit_table", tables, {})
    assert errors[0].place["row"] == len(tables[0]) + 7
    assert {error.place["rank"] for error in errors} == {1}
    notes = [error.place["notes"] for error in errors]
    assert notes.count([]) == 1
    assert notes[0] == [f"raised on rank 1 of {ranks.size} {RANK_NAMES[ranks.kind]}"]
    models = ranks.call("fit_table", tables, {"missing": "drop"})
    assert assert_same_on_all_ranks(models).n_dropped_ == 1


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("reading", "batch"), [(1, 0), (1, 2), (3, 1)])
@pytest.mark.parametrize(
    "error", [OSError(5, "the disk has gone"), MemoryError("no room"), KeyboardInterrupt()]
)
def test_reader_errors_are_raised_on_all_ranks(ranks, rng, rank, reading, batch, error):
    tables = np.array_split(rows_of(rng, 300, p=40), ranks.size)
    errors = assert_refused(ranks, type(error), "fit_broken", tables, rank, error, reading, batch)
    assert str(errors[0]) == str(error)
    # Later fits still work.
    assert_same_on_all_ranks(ranks.call("fit_table", tables, {"n_components": 2}))


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_on_one_rank_ends_the_fit_on_all(ranks, rng, rank):
    tables = np.array_split(rows_of(rng, 300, p=40), ranks.size)
    errors = assert_refused(ranks, KeyboardInterrupt, "fit_interrupted", tables, rank)
    notes = [error.place["notes"] for error in errors]
    assert notes[1 - rank] == [f"raised on rank {rank} of {ranks.size} {RANK_NAMES[ranks.kind]}"]


def test_unpicklable_exceptions_are_reported_as_text(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = assert_refused(ranks, PrincompError, "fit_odd", tables)
    assert "OddError: this and that" in str(errors[0])


@pytest.mark.parametrize(
    ("case", "kind"),
    [("fit_changed_file", InputChangedError), ("fit_removed_file", InputNotFoundError)],
)
def test_a_file_that_changes_is_reported(mpi, case, kind, rng, tmp_path):
    for rank in range(mpi.size):
        np.save(tmp_path / f"{rank}.npy", rows_of(rng, 2**18 // 40, p=40))
    errors = mpi.outcomes(case, tmp_path)
    assert {type(error) for error in errors} == {kind}
    assert {error.place["rank"] for error in errors} == {1}


@pytest.mark.parametrize("name", ["t.csv", "t.npy", "large.npy"])
def test_a_file_that_several_ranks_read_is_refused(ranks, rng, tmp_path, name):
    X = rows_of(rng, 2**16 if name == "large.npy" else 60, p=70)
    path = tmp_path / name
    if name == "t.csv":
        pd.DataFrame(X, columns=[f"c{j}" for j in range(70)]).to_csv(path, index=False)
    else:
        np.save(path, X)
    errors = assert_refused(ranks, ParameterError, "fit_file", str(path))
    assert "rank 1 reads the same file as rank 0" in str(errors[0])
    assert errors[0].place["file"] == str(path)


def test_errors_about_all_rows_are_raised_on_all_ranks(ranks, rng):
    X = rows_of(rng, 300)
    X[:, 3] = 1.0
    tables = np.array_split(X, ranks.size)
    errors = ranks.outcomes("fit_table", tables, {"scale": "unit"})
    assert len({str(error) for error in errors}) == 1
    assert "column 3" in str(errors[0])
    assert_refused(ranks, ShapeError, "fit_table", tables, {"n_components": 7})
    assert_refused(ranks, ShapeError, "fit_table", [None] * ranks.size, {})
    assert_refused(ranks, ShapeError, "fit_table", [X[:0]] * ranks.size, {})
    assert_refused(ranks, ShapeError, "fit_table", [X[:0]] * (ranks.size - 1) + [X[:1]], {})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_components", (3, 4)),
        ("scale", (np.arange(1.0, 7.0), np.arange(2.0, 8.0))),
        ("missing", ("drop", "error")),
        ("whiten", (True, False)),
        ("random_state", (np.random.RandomState(1), np.random.RandomState(2))),
    ],
)
def test_parameters_that_differ_are_refused_by_name(ranks, rng, name, values):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    each = [{name: values[rank == ranks.size - 1]} for rank in range(ranks.size)]
    errors = assert_refused(ranks, ParameterError, "fit_with", tables, each)
    assert errors[0].place["parameter"] == name
    assert errors[0].place["rank"] == ranks.size - 1


def test_an_invalid_parameter_of_one_rank_is_raised_on_all(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    each = [{"svd_solver": "auto" if rank else "fast"} for rank in range(ranks.size)]
    assert "fast" in str(assert_refused(ranks, ParameterError, "fit_with", tables, each)[0])
    equal = [{"scale": np.ones(6)} for _ in range(ranks.size)]
    assert_same_on_all_ranks(ranks.call("fit_with", tables, equal))


def test_mismatched_columns_are_refused(ranks, rng):
    X = rows_of(rng, 300)
    none = [None] * (ranks.size - 2)
    errors = assert_refused(ranks, ShapeError, "fit_table", [X, X[:, :4], *none], {})
    assert errors[0].place["rank"] == 1
    assert_refused(ranks, ShapeError, "fit_table", [X, X[:0, :4], *none], {})
    one = pd.DataFrame(X, columns=list("abcdef"))
    errors = assert_refused(ranks, ColumnError, "fit_table", [one, one[list("abcdfe")], *none], {})
    assert errors[0].place["rank"] == 1
    assert "order" in str(errors[0])
    renamed = one.rename(columns={"a": "z"})
    errors = assert_refused(ranks, ColumnError, "fit_table", [one, renamed, *none], {})
    assert (errors[0].place["missing"], errors[0].place["new"]) == (["a"], ["z"])
    assert_refused(ranks, ColumnError, "fit_table", [one, X, *none], {})


def test_mismatched_calls_are_refused(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = assert_refused(ranks, ParameterError, "mixed_calls", tables)
    assert "finalize" in str(errors[0])


def test_checkpoints_are_refused_even_on_one_rank(ranks, rng, tmp_path):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = assert_refused(ranks, NotAvailableError, "fit_checkpoint", tables, str(tmp_path / "c"))
    assert errors[0].place["parameter"] == "checkpoint"
    assert list(tmp_path.iterdir()) == []


def test_progress_is_reported_on_the_first_rank(ranks, rng):
    counts = ranks.call("fit_with_progress", np.array_split(rows_of(rng, 300), ranks.size))
    assert counts[0] > 0
    assert set(counts[1:]) == {0}
