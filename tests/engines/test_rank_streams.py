"""partial_fit and finalize over ranks; communicators."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import on_gloo
import on_mpi
import pandas as pd
import pytest
import ranks_cases
from ranks_server import mpiexec
from ranks_tables import assert_close, assert_refused, assert_same_on_all_ranks, rows_of

from princomp import PCA
from princomp.engines.mpi.communicators import Communicator
from princomp.errors import (
    NotAvailableError,
    ParameterError,
    ShapeError,
)
from princomp.estimators.incremental import IncrementalPCA
from princomp.linalg.memory import memory_limit

# ---- streams of rows ---------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"svd_solver": "full"}, {"scale": "range"}, {"svd_solver": "sketch"}],
    ids=str,
)
def test_streams_of_ranks_are_finalized_repeatedly(ranks, rng, parameters):
    X = rows_of(rng, 400, p=30)
    parameters = {"n_components": 3, **parameters}
    batches = [np.array_split(part, 5) for part in np.array_split(X, ranks.size)]
    once = assert_same_on_all_ranks([m for (m,) in ranks.call("online", batches, parameters)])
    if parameters.get("svd_solver") != "sketch":
        assert_close(once, PCA(**parameters).fit(X))
    models = ranks.call("online", batches, parameters, rounds=5)
    for of_round in zip(*models, strict=True):
        assert_same_on_all_ranks(of_round)
    assert [model.n_samples_ for model in models[0]] == sorted(m.n_samples_ for m in models[0])
    assert models[0][-1].n_samples_ == len(X)
    assert_close(models[0][-1], once, 1e-11)


def test_ranks_without_rows_get_the_model(ranks, rng):
    frame = pd.DataFrame(rows_of(rng, 200), columns=list("abcdef"))
    batches = [[]] * (ranks.size - 1) + [[frame[:50], frame[50:]]]
    models = [m for (m,) in ranks.call("online", batches, {"n_components": 2})]
    assert_close(assert_same_on_all_ranks(models), PCA(2).fit(frame))
    assert list(models[0].feature_names_in_) == list("abcdef")
    assert_refused(ranks, ShapeError, "online", [[]] * ranks.size, {})


def test_a_fit_over_ranks_continues_and_counts_once(ranks, rng):
    X, more = rows_of(rng, 300), rows_of(rng, 40)
    each = [None] * (ranks.size - 1) + [more]
    found = ranks.call("online_after_fit", np.array_split(X, ranks.size), each, {"n_components": 2})
    assert [between for between, _, _ in found] == [300] * (ranks.size - 1) + [340]
    assert {again for _, _, again in found} == {340}
    model = assert_same_on_all_ranks([model for _, model, _ in found])
    assert_close(model, PCA(2).fit(np.concatenate([X, more])))


def test_forgetting_works_between_finalized_copies(ranks, rng):
    X = rows_of(rng, 400)
    tables = np.array_split(X, ranks.size)
    found = ranks.call("window", tables, 10)
    assert_close(assert_same_on_all_ranks([first for first, _ in found]), PCA(2).fit(X))
    rest = np.concatenate([table[10:] for table in tables])
    assert_close(assert_same_on_all_ranks([second for _, second in found]), PCA(2).fit(rest))
    assert_refused(ranks, NotAvailableError, "forget_whole", tables)


def test_finalizing_a_model_loaded_on_every_rank_is_refused(ranks, rng, tmp_path):
    X = rows_of(rng, 300)
    PCA(2).fit(X).save(tmp_path / "m.pca")
    tables = np.array_split(X, ranks.size)
    errors = assert_refused(
        ranks, NotAvailableError, "finalize_loaded", str(tmp_path / "m.pca"), tables
    )
    assert "300 rows" in str(errors[0])


def test_decay_is_refused_over_ranks(ranks, rng):
    batches = [[part] for part in np.array_split(rows_of(rng, 100), ranks.size)]
    errors = assert_refused(ranks, ParameterError, "online", batches, {"decay": 0.9})
    assert errors[0].place["parameter"] == "decay"


def test_finalize_without_ranks_solves(rng):
    X = rows_of(rng, 50)
    model = PCA(2).partial_fit(X)
    assert model.finalize() is model
    assert_close(model, PCA(2).fit(X))
    with pytest.raises(NotAvailableError, match="at least 2 rows"):
        PCA(2).partial_fit(X[:1]).finalize()


def test_merging_a_fit_over_ranks_adds_all_rows(mpi, rng):
    X, other = rows_of(rng, 200), rows_of(rng, 100)
    model = mpi.call("fit_table", np.array_split(X, 4), {"n_components": 2})[2]
    assert_close(PCA(2).fit(other).merge(model), PCA(2).fit(np.concatenate([other, X])))
    model.partial_fit(other)
    both = model.merge(PCA(2).fit(X))
    assert_close(both, PCA(2).fit(np.concatenate([X, other, X])))


# ---- communicators -----------------------------------------------------------------------


def test_messages_of_the_program_are_left_alone(mpi, rng):
    received = mpi.call("fit_with_messages", np.array_split(rows_of(rng, 100), 4))
    assert received == [(("mine", (rank - 1) % 4), 100) for rank in range(4)]


def test_groups_fit_at_the_same_time(mpi, rng):
    tables = np.array_split(rows_of(rng, 400), 4)
    models = mpi.call("fit_on_half", tables)
    for half in (0, 1):
        assert_same_on_all_ranks(models[half::2])
        assert_close(models[half], PCA(2).fit(np.concatenate(tables[half::2])))


def test_processors_are_shared_by_the_ranks_of_a_machine(mpi, rng):
    threads = mpi.call("threads", np.array_split(rows_of(rng, 100), 4))
    assert sum(threads) == max(4, len(threads) * (max(threads)))
    assert max(threads) == max(1, len(ranks_cases.os.sched_getaffinity(0)) // 4)


def test_memory_is_shared_by_the_ranks_of_a_machine(mpi, rng):
    tables = np.array_split(rows_of(rng, 100), 4)
    free = mpi.call("fit_table", tables, {})[0].plan_.problem.memory_limit
    alone = mpi.call("fit_table", [tables[0], *[None] * 3], {"memory_limit": "3GB"})
    assert alone[0].plan_.problem.memory_limit == 3 * 10**9
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
    received = {}

    def run(rank):
        line = InThreads(rank, size, posts)
        text = line.reduce(str(rank), lambda one, other: f"{one}{other}")
        received[rank] = line.broadcast(text if rank == 0 else None)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert received == dict.fromkeys(range(size), "012345678"[:size])


@pytest.mark.parametrize(
    "comm", [object(), 4, ModuleType("mpi5py"), "world"], ids=["object", "4", "module", "world"]
)
def test_invalid_communicators_are_refused(comm, rng):
    with pytest.raises(ParameterError) as caught:
        PCA(2).fit(rows_of(rng, 10), comm=comm)
    assert caught.value.place["parameter"] == "comm"


def test_incremental_pca_refuses_comm(rng):
    with pytest.raises(TypeError, match="comm"):
        IncrementalPCA(2).fit(rows_of(rng, 10), comm=object())


@pytest.mark.parametrize(
    ("examples", "launcher"), [((0, 2), "mpiexec"), ((1,), "torchrun")], ids=["mpi", "torch"]
)
def test_documented_examples_run(examples, launcher, rng, tmp_path):
    engine = on_gloo if launcher == "torchrun" else on_mpi
    if engine.missing():
        pytest.skip(engine.missing())
    text = (Path(__file__).parents[2] / "docs" / "howto" / "mpi.md").read_text()
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
        # mpiexec passes on output as it comes, and sometimes joins two lines.
        assert "".join(done.stdout.split()) == "1200" * 4


def test_importing_princomp_imports_no_mpi_or_torch():
    code = (
        "import sys, princomp, numpy; princomp.PCA(1).fit(numpy.eye(3)); "
        "sys.exit(len({'mpi4py', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
