"""What the ranks of the tests do together: each function runs on all of them at once."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from copy import copy
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from princomp import PCA, KernelPCA, load


def _numbers(comm):
    """This rank and how many there are, by whoever connects them."""
    if hasattr(comm, "Get_rank"):
        return comm.Get_rank(), comm.Get_size()
    return comm.rank(), comm.size()


def share_of_parts(parts, rank, size):
    """The rows of some parts in a row: ranks take them in order, some perhaps none."""
    mine = [parts[i] for i in np.array_split(np.arange(len(parts)), size)[rank]]
    if not mine:
        return parts[0][:0]
    return sp.vstack(mine, format="csr") if sp.issparse(mine[0]) else np.concatenate(mine)


def fit(comm, parts, **parameters):
    X = share_of_parts(parts, *_numbers(comm))
    return PCA(**parameters).fit(X, comm=comm)


def fit_bits(comm, tables, parameters, weights=None, call="fit"):
    """Everything that a rank has after a fit, its table chosen by its number."""
    rank, _ = _numbers(comm)
    model = PCA(**parameters)
    options = {} if weights is None else {"sample_weight": weights[rank]}
    if call == "fit_transform":
        return model.fit_transform(tables[rank], comm=comm, **options)
    return model.fit(tables[rank], comm=comm, **options)


def fit_kernel(comm, parts, parameters, call="fit"):
    """A KernelPCA of the rows of all ranks, or the scores of those of each."""
    X = share_of_parts(parts, *_numbers(comm))
    return getattr(KernelPCA(**parameters), call)(X, comm=comm)


def fit_with(comm, tables, each):
    """Parameters of a rank's own."""
    rank, _ = _numbers(comm)
    return PCA(**each[rank]).fit(tables[rank], comm=comm)


def fit_broken(comm, tables, on_rank, error, reading, batch):
    """One rank has rows from a function that raises in some reading of them."""
    rank, _ = _numbers(comm)
    X = tables[rank]
    calls = []

    def batches():
        calls.append(None)
        for i, part in enumerate(np.array_split(X, 4)):
            if rank == on_rank and len(calls) == reading and i == batch:
                raise error
            yield part

    return PCA(2, svd_solver="krylov").fit(batches, comm=comm)


class OddError(Exception):
    """An exception that cannot be made again from its text."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fit_odd(comm, tables):
    rank, _ = _numbers(comm)

    def batches():
        if rank == 1:
            raise OddError("this", "that")
        yield tables[rank]

    return PCA(2).fit(batches, comm=comm)


def fit_interrupted(comm, tables, on_rank):
    """A Ctrl-C for a rank that is waiting, since rank 0 takes its time to read."""
    rank, _ = _numbers(comm)
    calls = []

    def batches():
        calls.append(None)
        if len(calls) == 2:
            if rank == on_rank:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            if rank == 0:
                time.sleep(0.3)
        yield tables[rank]

    return PCA(2, svd_solver="krylov").fit(batches, comm=comm)


def fit_vanishing(comm, folder):
    """A file that is another one in the second pass."""
    rank, _ = _numbers(comm)
    path = Path(folder) / f"{rank}.npy"

    def tell(progress):
        if rank == 0 and progress.number == 1 and progress.done:
            np.save(Path(folder) / "1.npy", np.zeros((300, 40)))

    return PCA(2, svd_solver="krylov").fit(str(path), comm=comm, progress=tell)


def fit_file(comm, pattern, **parameters):
    rank, _ = _numbers(comm)
    path = pattern.format(rank)
    return PCA(**parameters).fit(path if os.path.exists(path) else None, comm=comm)


def fit_with_progress(comm, tables):
    """Collects progress reports."""
    rank, _ = _numbers(comm)
    reported = []
    PCA(2).fit(tables[rank], comm=comm, progress=reported.append)
    return len(reported)


def fit_checkpoint(comm, tables, path):
    rank, _ = _numbers(comm)
    return PCA(2).fit(tables[rank], comm=comm, checkpoint=path if rank == 1 else None)


def fit_with_messages(comm, tables):
    """A program's own message that is on its way meanwhile stays the program's."""
    rank, size = _numbers(comm)
    request = comm.isend(("mine", rank), (rank + 1) % size, 0)
    model = PCA(2).fit(tables[rank], comm=comm)
    heard = comm.recv(source=(rank - 1) % size, tag=0)
    request.wait()
    return heard, model.n_samples_


def fit_on_half(comm, tables):
    """Two groups that fit at the same time, each its own rows."""
    rank, _ = _numbers(comm)
    half = comm.Split(rank % 2, rank)
    try:
        return PCA(2).fit(tables[rank], comm=half)
    finally:
        half.Free()


def online(comm, batches, parameters, rounds=1):
    """Batches of each rank, finalized after each round; the model after each."""
    rank, _ = _numbers(comm)
    model, models = PCA(**parameters), []
    for i in range(rounds):
        for batch in batches[rank][i::rounds]:
            model.partial_fit(batch)
        models.append(pickle.loads(pickle.dumps(model.finalize(comm=comm))))
    return models


def online_after_fit(comm, tables, more, parameters):
    """A fit over ranks that goes on with rows on some of them, read on the way."""
    rank, _ = _numbers(comm)
    model = PCA(**parameters).fit(tables[rank], comm=comm)
    if more[rank] is not None:
        model.partial_fit(more[rank])
    between = model.n_samples_
    return between, model.finalize(comm=comm), copy(model).finalize(comm=comm).n_samples_


def window(comm, tables, old):
    """Rows that a rank forgets, while copies are finalized."""
    rank, _ = _numbers(comm)
    model = PCA(2).partial_fit(tables[rank])
    first = copy(model).finalize(comm=comm)
    model.forget(tables[rank][:old])
    return first, copy(model).finalize(comm=comm)


def forget_whole(comm, tables):
    rank, _ = _numbers(comm)
    return PCA(2).fit(tables[rank], comm=comm).forget(tables[rank])


def finalize_loaded(comm, path, tables):
    """The same saved model on every rank."""
    rank, _ = _numbers(comm)
    return load(path).partial_fit(tables[rank]).finalize(comm=comm)


def mixed_calls(comm, tables):
    rank, _ = _numbers(comm)
    model = PCA(2).partial_fit(tables[rank])
    return model.finalize(comm=comm) if rank == 1 else PCA(2).fit(tables[rank], comm=comm)


def threads(comm, tables):
    """Threads that a rank would take, without the word of the environment."""
    from princomp.engines.mpi.rows import spmd_fit
    from princomp.estimators.ranks import rows_of_rank

    rank, _ = _numbers(comm)
    os.environ.pop("OMP_NUM_THREADS", None)
    try:
        _, found = spmd_fit(comm, {}, lambda: rows_of_rank(tables[rank], None), lambda r: r.threads)
    finally:
        os.environ["OMP_NUM_THREADS"] = "1"
    return found


def mapped(comm, tables, kernel, count, seed):
    """A map and its fit: rank 0 chooses and maps, as if all rows were its own."""
    from princomp.engines.mpi.agreement import RankInput
    from princomp.engines.mpi.rows import empty_input, spmd_fit
    from princomp.kernel_pca.feature_maps import Nystrom, landmarks, mapped as through

    rows = tables[_numbers(comm)[0]]

    def lead(everywhere):
        map = Nystrom.of(kernel, landmarks(everywhere, count, seed=seed).points)
        return map.points, PCA(3).fit(through(everywhere, map))

    def read():
        return empty_input(rows) or RankInput(rows, rows.shape[1])

    return spmd_fit(comm, {"call": "test"}, read, lead)[1]
