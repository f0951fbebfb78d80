"""Ranks: one model everywhere, and no rank that waits for one that has failed.

The ranks are real: mpiexec and gloo, started once for the session.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import on_gloo
import on_mpi
import pandas as pd
import pytest
import ranks_cases
import scipy.sparse as sp
from ranks_server import mpiexec

from princomp import PCA
from princomp.engines.communicators import Communicator
from princomp.errors import (
    ColumnError,
    InputChangedError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.incremental import IncrementalPCA
from princomp.memory import memory_limit


@pytest.fixture(scope="module", params=[on_mpi, on_gloo], ids=["mpi", "gloo"])
def ranks(request):
    if request.param.missing():
        pytest.skip(request.param.missing())
    return request.param.SERVER


@pytest.fixture(scope="module")
def mpi():
    if on_mpi.missing():
        pytest.skip(on_mpi.missing())
    return on_mpi.SERVER


def rows_of(rng, n, p=6, dtype=np.float64):
    spread = 2.0 ** -np.arange(p)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return ((rng.standard_normal((n, p)) * spread) @ turn + 5.0).astype(dtype)


def tables_of(X, size):
    """Rows for each rank: the first has many, one has one, the last has none."""
    cuts = {2: [len(X)], 4: [len(X) - 30, len(X) - 29, len(X)]}[size]
    return np.split(X, cuts)


def bits(model):
    """All that a model file holds, and what a file does not say."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.pca")
        return (Path(folder) / "m.pca").read_bytes(), str(model.plan_)


def same_everywhere(models):
    first = bits(models[0])
    for model in models[1:]:
        assert bits(model) == first
    return models[0]


def close(model, expected, bound=1e-12):
    scale = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=bound * scale
    )
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=bound)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=0, atol=1e3 * bound)
    assert model.n_samples_ == expected.n_samples_


def refused(ranks, kind, case, *args, **kwargs):
    """The errors of all ranks, after no more than a few seconds."""
    began = time.monotonic()
    errors = ranks.outcomes(case, *args, **kwargs)
    assert time.monotonic() - began < 10.0
    assert [type(error) for error in errors] == [kind] * ranks.size
    assert len({str(error) for error in errors}) == 1
    return errors


# ---- the same model, to the bit ----------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_components": 3, "svd_solver": "full"},
        {"n_components": 2, "scale": "unit"},
        {"n_components": 2, "scale": "range", "center": False},
        {"n_components": 0.8, "whiten": True},
        {"n_components": "mle"},
    ],
    ids=str,
)
def test_every_rank_has_the_model_of_all_rows(ranks, rng, parameters):
    X = rows_of(rng, 300)
    models = ranks.call("fit_bits", tables_of(X, ranks.size), parameters)
    close(same_everywhere(models), PCA(**parameters).fit(X))


def test_sums_of_any_size_come_through(ranks, rng):
    # A message of some hundred thousand bytes goes other ways than one of a few.
    for p in (100, 220, 400):
        X = rng.standard_normal((2 * p, p)) * np.linspace(3, 1, p)
        same_everywhere(
            models := ranks.call("fit_bits", tables_of(X, ranks.size), {"n_components": 2})
        )
        close(models[0], PCA(2).fit(X))


@pytest.mark.parametrize("solver", ["krylov", "sketch", "arpack"])
def test_so_has_one_that_never_forms_the_scatter(ranks, rng, solver):
    X = rows_of(rng, 300, p=30)
    models = ranks.call(
        "fit_bits", tables_of(X, ranks.size), {"n_components": 3, "svd_solver": solver}
    )
    model = same_everywhere(models)
    expected = PCA(3, svd_solver="covariance_eigh").fit(X)
    if solver != "sketch":
        close(model, expected, 1e-10)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)
    assert model.plan_.facts.engine


def test_float32_stays_so_only_where_all_rows_are(ranks, rng):
    X = rows_of(rng, 300, dtype=np.float32)
    tables = tables_of(X, ranks.size)
    tables[-1] = None  # no rows, and no word on their type
    models = ranks.call("fit_bits", tables, {"n_components": 2})
    assert same_everywhere(models).components_.dtype == np.float32
    mixed = [X[:200], X[200:].astype(np.float64), None, None][: ranks.size]
    models = ranks.call("fit_bits", mixed, {"n_components": 2})
    assert same_everywhere(models).components_.dtype == np.float64
    close(models[0], PCA(2).fit(X.astype(np.float64)))


def test_weights_are_those_of_the_own_rows(ranks, rng):
    X, weights = rows_of(rng, 300), rng.integers(0, 4, 300).astype(np.float64)
    tables = tables_of(X, ranks.size)
    cuts = np.cumsum([len(table) for table in tables])[:-1]
    each = np.split(weights, cuts)
    models = ranks.call("fit_bits", tables, {"n_components": 3}, each)
    close(same_everywhere(models), PCA(3).fit(X, sample_weight=weights))
    each[0] = each[0][:-1]
    errors = refused(ranks, ShapeError, "fit_bits", tables, {}, each)
    assert errors[1].place["notes"] == [f"raised on rank 0 of {ranks.size} {NAME[ranks.kind]}"]


NAME = {"mpi": "MPI ranks", "gloo": "torch.distributed ranks"}


def test_sparse_rows_and_dense_ones_add_up(ranks, rng):
    X = sp.random_array((300, 20), density=0.2, rng=rng, format="csr")
    tables = [X[:150], X[150:].toarray(), None, None][: ranks.size]
    models = ranks.call("fit_bits", tables, {"n_components": 3})
    assert same_everywhere(models).plan_.facts.stored is None
    close(models[0], PCA(3).fit(X.toarray()))
    tables = [X[:150], X[150:], None, None][: ranks.size]
    models = ranks.call("fit_bits", tables, {"n_components": 3})
    assert same_everywhere(models).plan_.facts.stored == X.nnz


def test_tensors_are_summed_where_they_lie(rng):
    if on_gloo.missing():
        pytest.skip(on_gloo.missing())
    torch = pytest.importorskip("torch")
    X = rows_of(rng, 300, p=30)
    tables = [torch.from_numpy(X[:200]), X[200:]]
    for solver in ("covariance_eigh", "full", "krylov"):
        parameters = {"n_components": 3, "svd_solver": solver}
        models = on_gloo.SERVER.call("fit_bits", tables, parameters)
        close(same_everywhere(models), PCA(3).fit(X), 1e-11)
    tables[1] = torch.from_numpy(X[200:].copy())
    tables[1][5, 2] = np.nan
    errors = refused(on_gloo.SERVER, NotFiniteError, "fit_bits", tables, {})
    assert errors[0].place == {"row": 206, "column": 2, "rank": 1} | {
        "notes": errors[0].place["notes"]
    }


def test_scores_are_local(ranks, rng):
    X = rows_of(rng, 300)
    tables = tables_of(X, ranks.size)
    scores = ranks.call("fit_bits", tables, {"n_components": 2}, call="fit_transform")
    assert [len(part) for part in scores] == [len(table) for table in tables]
    expected = PCA(2).fit_transform(X)
    np.testing.assert_allclose(np.concatenate(scores), expected, rtol=0, atol=1e-11)


def test_frames_bring_their_names(ranks, rng):
    X = pd.DataFrame(rows_of(rng, 300), columns=list("abcdef"))
    tables = [X[:100], X[100:], X[:0], None][: ranks.size]
    models = ranks.call("fit_bits", tables, {"n_components": 2})
    assert [list(model.feature_names_in_) for model in models] == [list("abcdef")] * ranks.size
    close(same_everywhere(models), PCA(2).fit(X))


def test_each_rank_reads_its_files(ranks, rng, tmp_path):
    X = rows_of(rng, 300)
    for i, part in enumerate(np.split(X, [200])):
        pd.DataFrame(part, columns=list("abcdef")).to_csv(tmp_path / f"{i}.csv", index=False)
    models = ranks.call("fit_file", str(tmp_path / "{}.csv"), n_components=2)
    close(same_everywhere(models), PCA(2).fit(X))
    X[213, 2] = np.nan
    pd.DataFrame(X[200:], columns=list("abcdef")).to_csv(tmp_path / "1.csv", index=False)
    errors = refused(ranks, NotFiniteError, "fit_file", str(tmp_path / "{}.csv"))
    place = errors[0].place
    assert (place["row"], place["column"], place["rank"]) == (14, "c", 1)
    assert place["file"].endswith("1.csv")


# ---- errors ------------------------------------------------------------------------------


def test_a_missing_value_is_told_on_all_ranks_with_its_own(ranks, rng):
    X = rows_of(rng, 300)
    tables = np.array_split(X, ranks.size)
    tables[1][7, 2] = np.nan
    errors = refused(ranks, NotFiniteError, "fit_bits", tables, {})
    assert errors[0].place["row"] == len(tables[0]) + 8
    assert {error.place["rank"] for error in errors} == {1}
    notes = [error.place["notes"] for error in errors]
    assert notes.count([]) == 1
    assert notes[0] == [f"raised on rank 1 of {ranks.size} {NAME[ranks.kind]}"]
    models = ranks.call("fit_bits", tables, {"missing": "drop"})
    assert same_everywhere(models).n_dropped_ == 1


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("reading", "batch"), [(1, 0), (1, 2), (3, 1)])
@pytest.mark.parametrize(
    "error", [OSError(5, "the disk has gone"), MemoryError("no room"), KeyboardInterrupt()]
)
def test_what_a_reader_raises_is_raised_on_all(ranks, rng, rank, reading, batch, error):
    tables = np.array_split(rows_of(rng, 300, p=40), ranks.size)
    errors = refused(ranks, type(error), "fit_broken", tables, rank, error, reading, batch)
    assert str(errors[0]) == str(error)
    # And they go on together.
    same_everywhere(ranks.call("fit_bits", tables, {"n_components": 2}))


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_on_one_rank_ends_the_fit_on_all(ranks, rng, rank):
    tables = np.array_split(rows_of(rng, 300, p=40), ranks.size)
    errors = refused(ranks, KeyboardInterrupt, "fit_interrupted", tables, rank)
    notes = [error.place["notes"] for error in errors]
    assert notes[1 - rank] == [f"raised on rank {rank} of {ranks.size} {NAME[ranks.kind]}"]


def test_an_exception_that_cannot_travel_is_told_in_words(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = refused(ranks, PrincompError, "fit_odd", tables)
    assert "OddError: this and that" in str(errors[0])


def test_a_file_that_changes_between_passes_is_told(mpi, rng, tmp_path):
    for rank in range(mpi.size):
        np.save(tmp_path / f"{rank}.npy", rows_of(rng, 2**18 // 40, p=40))
    errors = mpi.outcomes("fit_vanishing", tmp_path)
    assert {type(error) for error in errors} == {InputChangedError}
    assert {error.place["rank"] for error in errors} == {1}


def test_errors_of_the_whole_are_raised_on_all(ranks, rng):
    X = rows_of(rng, 300)
    X[:, 3] = 1.0
    tables = np.array_split(X, ranks.size)
    errors = ranks.outcomes("fit_bits", tables, {"scale": "unit"})
    assert len({str(error) for error in errors}) == 1
    assert "column 3" in str(errors[0])
    refused(ranks, ShapeError, "fit_bits", tables, {"n_components": 7})
    refused(ranks, ShapeError, "fit_bits", [None] * ranks.size, {})
    refused(ranks, ShapeError, "fit_bits", [X[:0]] * ranks.size, {})
    refused(ranks, ShapeError, "fit_bits", [X[:0]] * (ranks.size - 1) + [X[:1]], {})


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
    errors = refused(ranks, ParameterError, "fit_with", tables, each)
    assert errors[0].place["parameter"] == name
    assert errors[0].place["rank"] == ranks.size - 1


def test_an_unlawful_parameter_of_one_rank_is_told_on_all(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    each = [{"svd_solver": "auto" if rank else "fast"} for rank in range(ranks.size)]
    assert "fast" in str(refused(ranks, ParameterError, "fit_with", tables, each)[0])
    equal = [{"scale": np.ones(6)} for _ in range(ranks.size)]
    same_everywhere(ranks.call("fit_with", tables, equal))


def test_tables_of_other_columns_are_refused(ranks, rng):
    X = rows_of(rng, 300)
    none = [None] * (ranks.size - 2)
    errors = refused(ranks, ShapeError, "fit_bits", [X, X[:, :4], *none], {})
    assert errors[0].place["rank"] == 1
    refused(ranks, ShapeError, "fit_bits", [X, X[:0, :4], *none], {})
    one = pd.DataFrame(X, columns=list("abcdef"))
    errors = refused(ranks, ColumnError, "fit_bits", [one, one[list("abcdfe")], *none], {})
    assert errors[0].place["rank"] == 1
    assert "order" in str(errors[0])
    renamed = one.rename(columns={"a": "z"})
    errors = refused(ranks, ColumnError, "fit_bits", [one, renamed, *none], {})
    assert (errors[0].place["missing"], errors[0].place["new"]) == (["a"], ["z"])
    refused(ranks, ColumnError, "fit_bits", [one, X, *none], {})


def test_ranks_that_make_other_calls_are_told_so(ranks, rng):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = refused(ranks, ParameterError, "mixed_calls", tables)
    assert "finalize" in str(errors[0])


def test_a_checkpoint_is_refused_even_where_one_rank_alone_wants_it(ranks, rng, tmp_path):
    tables = np.array_split(rows_of(rng, 300), ranks.size)
    errors = refused(ranks, NotAvailableError, "fit_checkpoint", tables, str(tmp_path / "c"))
    assert errors[0].place["parameter"] == "checkpoint"
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_on_the_first_rank(ranks, rng):
    told = ranks.call("fit_told", np.array_split(rows_of(rng, 300), ranks.size))
    assert told[0] > 0
    assert set(told[1:]) == {0}


# ---- rows that keep coming ---------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"svd_solver": "full"}, {"scale": "range"}, {"svd_solver": "sketch"}],
    ids=str,
)
def test_streams_of_ranks_are_finalized_again_and_again(ranks, rng, parameters):
    X = rows_of(rng, 400, p=30)
    parameters = {"n_components": 3, **parameters}
    batches = [np.array_split(part, 5) for part in np.array_split(X, ranks.size)]
    once = same_everywhere([m for (m,) in ranks.call("online", batches, parameters)])
    if parameters.get("svd_solver") != "sketch":
        close(once, PCA(**parameters).fit(X))
    models = ranks.call("online", batches, parameters, rounds=5)
    for of_round in zip(*models, strict=True):
        same_everywhere(of_round)
    assert [model.n_samples_ for model in models[0]] == sorted(m.n_samples_ for m in models[0])
    assert models[0][-1].n_samples_ == len(X)
    close(models[0][-1], once, 1e-11)


def test_a_rank_that_never_had_rows_has_the_model(ranks, rng):
    frame = pd.DataFrame(rows_of(rng, 200), columns=list("abcdef"))
    batches = [[]] * (ranks.size - 1) + [[frame[:50], frame[50:]]]
    models = [m for (m,) in ranks.call("online", batches, {"n_components": 2})]
    close(same_everywhere(models), PCA(2).fit(frame))
    assert list(models[0].feature_names_in_) == list("abcdef")
    refused(ranks, ShapeError, "online", [[]] * ranks.size, {})


def test_a_fit_over_ranks_goes_on_and_counts_once(ranks, rng):
    X, more = rows_of(rng, 300), rows_of(rng, 40)
    each = [None] * (ranks.size - 1) + [more]
    found = ranks.call("online_after_fit", np.array_split(X, ranks.size), each, {"n_components": 2})
    assert [between for between, _, _ in found] == [300] * (ranks.size - 1) + [340]
    assert {again for _, _, again in found} == {340}
    model = same_everywhere([model for _, model, _ in found])
    close(model, PCA(2).fit(np.concatenate([X, more])))


def test_a_window_slides_where_copies_are_finalized(ranks, rng):
    X = rows_of(rng, 400)
    tables = np.array_split(X, ranks.size)
    found = ranks.call("window", tables, 10)
    close(same_everywhere([first for first, _ in found]), PCA(2).fit(X))
    rest = np.concatenate([table[10:] for table in tables])
    close(same_everywhere([second for _, second in found]), PCA(2).fit(rest))
    refused(ranks, NotAvailableError, "forget_whole", tables)


def test_a_model_that_every_rank_has_loaded_is_not_counted_on_each(ranks, rng, tmp_path):
    X = rows_of(rng, 300)
    PCA(2).fit(X).save(tmp_path / "m.pca")
    tables = np.array_split(X, ranks.size)
    errors = refused(ranks, NotAvailableError, "finalize_loaded", str(tmp_path / "m.pca"), tables)
    assert "300 rows" in str(errors[0])


def test_decay_has_no_meaning_over_ranks(ranks, rng):
    batches = [[part] for part in np.array_split(rows_of(rng, 100), ranks.size)]
    errors = refused(ranks, ParameterError, "online", batches, {"decay": 0.9})
    assert errors[0].place["parameter"] == "decay"


def test_finalize_alone_solves(rng):
    X = rows_of(rng, 50)
    model = PCA(2).partial_fit(X)
    assert model.finalize() is model
    close(model, PCA(2).fit(X))
    with pytest.raises(NotAvailableError, match="at least 2 rows"):
        PCA(2).partial_fit(X[:1]).finalize()


def test_a_fit_that_is_merged_takes_all_rows_along(mpi, rng):
    X, other = rows_of(rng, 200), rows_of(rng, 100)
    model = mpi.call("fit_bits", np.array_split(X, 4), {"n_components": 2})[2]
    close(PCA(2).fit(other).merge(model), PCA(2).fit(np.concatenate([other, X])))
    model.partial_fit(other)
    both = model.merge(PCA(2).fit(X))
    close(both, PCA(2).fit(np.concatenate([X, other, X])))


# ---- communicators -----------------------------------------------------------------------


def test_messages_of_the_program_are_left_alone(mpi, rng):
    heard = mpi.call("fit_with_messages", np.array_split(rows_of(rng, 100), 4))
    assert heard == [(("mine", (rank - 1) % 4), 100) for rank in range(4)]


def test_groups_fit_at_the_same_time(mpi, rng):
    tables = np.array_split(rows_of(rng, 400), 4)
    models = mpi.call("fit_on_half", tables)
    for half in (0, 1):
        same_everywhere(models[half::2])
        close(models[half], PCA(2).fit(np.concatenate(tables[half::2])))


def test_processors_are_shared_by_the_ranks_of_a_machine(mpi, rng):
    threads = mpi.call("threads", np.array_split(rows_of(rng, 100), 4))
    assert sum(threads) == max(4, len(threads) * (max(threads)))
    assert max(threads) == max(1, len(ranks_cases.os.sched_getaffinity(0)) // 4)


def test_memory_is_shared_by_the_ranks_of_a_machine(mpi, rng):
    tables = np.array_split(rows_of(rng, 100), 4)
    free = mpi.call("fit_bits", tables, {})[0].plan_.facts.limit
    alone = mpi.call("fit_bits", [tables[0], *[None] * 3], {"memory_limit": "3GB"})
    assert alone[0].plan_.facts.limit == 3 * 10**9
    assert 0.5 < free / (memory_limit(None) / 4) < 2.0


class InThreads(Communicator):
    """Ranks in threads, connected by queues."""

    def __init__(self, rank, size, posts):
        super().__init__("threads", rank, size)
        self.posts = posts

    def send(self, value, to):
        self.posts[self.rank, to].put(value)

    def receive(self, source):
        return self.posts[source, self.rank].get(timeout=10)


@pytest.mark.parametrize("size", range(1, 10))
def test_sums_keep_the_order_of_the_ranks(size):
    posts = {(i, j): queue.Queue() for i in range(size) for j in range(size)}
    heard = {}

    def run(rank):
        line = InThreads(rank, size, posts)
        text = line.reduced(str(rank), lambda one, other: f"{one}{other}")
        heard[rank] = line.broadcast(text if rank == 0 else None)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == dict.fromkeys(range(size), "012345678"[:size])


@pytest.mark.parametrize(
    "comm", [object(), 4, ModuleType("mpi5py"), "world"], ids=["object", "4", "module", "world"]
)
def test_what_is_no_communicator_is_refused(comm, rng):
    with pytest.raises(ParameterError) as caught:
        PCA(2).fit(rows_of(rng, 10), comm=comm)
    assert caught.value.place["parameter"] == "comm"


def test_incremental_pca_says_where_comm_is(rng):
    with pytest.raises(ParameterError, match="comm"):
        IncrementalPCA(2).fit(rows_of(rng, 10), comm=object())


@pytest.mark.parametrize(
    ("examples", "launcher"), [((0, 2), "mpiexec"), ((1,), "torchrun")], ids=["mpi", "torch"]
)
def test_what_the_document_shows_runs(examples, launcher, rng, tmp_path):
    engine = on_gloo if launcher == "torchrun" else on_mpi
    if engine.missing():
        pytest.skip(engine.missing())
    text = (Path(__file__).parents[2] / "docs" / "mpi.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "fit.py").write_text("".join(blocks[i] for i in examples))
    np.save(tmp_path / "table.npy", rows_of(rng, 100))
    if launcher == "mpiexec":
        command = [mpiexec(), "-n", "4", sys.executable, "fit.py"]
    else:
        run = [sys.executable, "-m", "torch.distributed.run"]
        command = [*run, "--standalone", "--nproc-per-node", "2", "fit.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    if launcher == "mpiexec":
        # mpiexec passes on what ranks print as it comes, now and then two lines in one.
        assert "".join(done.stdout.split()) == "1200" * 4


def test_importing_princomp_imports_neither():
    code = (
        "import sys, princomp, numpy; princomp.PCA(1).fit(numpy.eye(3)); "
        "sys.exit(len({'mpi4py', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
