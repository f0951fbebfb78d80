"""Functions that the tests run on all ranks at once."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from copy import copy
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from princomp import PCA, KernelPCA, load


def _rank_and_size(comm):
    """The rank and the number of ranks of an MPI or torch communicator."""
    if hasattr(comm, "Get_rank"):
        return comm.Get_rank(), comm.Get_size()
    return comm.rank(), comm.size()


def share_of_parts(parts, rank, size):
    """The rows of this rank: ranks take consecutive parts in order, some perhaps none."""
    mine = [parts[i] for i in np.array_split(np.arange(len(parts)), size)[rank]]
    if not mine:
        return parts[0][:0]
    return sp.vstack(mine, format="csr") if sp.issparse(mine[0]) else np.concatenate(mine)


def fit(comm, parts, **parameters):
    X = share_of_parts(parts, *_rank_and_size(comm))
    return PCA(**parameters).fit(X, comm=comm)


def fit_table(comm, tables, parameters, weights=None, call="fit"):
    """The model of a rank after a fit to the table with its number, or its scores."""
    rank, _ = _rank_and_size(comm)
    model = PCA(**parameters)
    options = {} if weights is None else {"sample_weight": weights[rank]}
    if call == "fit_transform":
        return model.fit_transform(tables[rank], comm=comm, **options)
    return model.fit(tables[rank], comm=comm, **options)


def fit_kernel(comm, parts, parameters, call="fit"):
    """A KernelPCA of the rows of all ranks, or the scores of each rank's rows."""
    X = share_of_parts(parts, *_rank_and_size(comm))
    return getattr(KernelPCA(**parameters), call)(X, comm=comm)


def fit_with(comm, tables, each):
    """Fit with different parameters on each rank."""
    rank, _ = _rank_and_size(comm)
    return PCA(**each[rank]).fit(tables[rank], comm=comm)


def fit_broken(comm, tables, on_rank, error, reading, batch):
    """One rank has rows from a function that raises in some reading of them."""
    rank, _ = _rank_and_size(comm)
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
    """An exception that cannot be recreated from its text."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fit_odd(comm, tables):
    rank, _ = _rank_and_size(comm)

    def batches():
        if rank == 1:
            raise OddError("this", "that")
        yield tables[rank]

    return PCA(2).fit(batches, comm=comm)


def fit_interrupted(comm, tables, on_rank):
    """Ctrl-C on a rank that waits while rank 0 reads slowly."""
    rank, _ = _rank_and_size(comm)
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


def fit_changed_file(comm, folder):
    """A file that is replaced before the second pass."""
    rank, _ = _rank_and_size(comm)
    path = Path(folder) / f"{rank}.npy"

    def replace_file(progress):
        if rank == 0 and progress.number == 1 and progress.done:
            np.save(Path(folder) / "1.npy", np.zeros((300, 40)))

    return PCA(2, svd_solver="krylov").fit(str(path), comm=comm, progress=replace_file)


def fit_removed_file(comm, folder):
    """A file that is removed before the first pass."""
    from princomp.engines.mpi import rows

    rank, _ = _rank_and_size(comm)
    path = Path(folder) / f"{rank}.npy"
    agree = rows.agree

    def agree_and_remove(*args):
        agreed = agree(*args)
        if rank == 1:
            path.unlink()
        return agreed

    rows.agree = agree_and_remove
    try:
        return PCA(2).fit(str(path), comm=comm)
    finally:
        rows.agree = agree


def fit_file(comm, pattern, **parameters):
    rank, _ = _rank_and_size(comm)
    path = pattern.format(rank)
    return PCA(**parameters).fit(path if os.path.exists(path) else None, comm=comm)


def fit_with_progress(comm, tables):
    """The number of progress events of this rank."""
    rank, _ = _rank_and_size(comm)
    reported = []
    PCA(2).fit(tables[rank], comm=comm, progress=reported.append)
    return len(reported)


def fit_checkpoint(comm, tables, path):
    rank, _ = _rank_and_size(comm)
    return PCA(2).fit(tables[rank], comm=comm, checkpoint=path if rank == 1 else None)


def fit_with_messages(comm, tables):
    """A message that the program itself sends during the fit still reaches the program."""
    rank, size = _rank_and_size(comm)
    request = comm.isend(("mine", rank), (rank + 1) % size, 0)
    model = PCA(2).fit(tables[rank], comm=comm)
    received = comm.recv(source=(rank - 1) % size, tag=0)
    request.wait()
    return received, model.n_samples_


def fit_on_half(comm, tables):
    """Two groups that fit at the same time, each to its own rows."""
    rank, _ = _rank_and_size(comm)
    half = comm.Split(rank % 2, rank)
    try:
        return PCA(2).fit(tables[rank], comm=half)
    finally:
        half.Free()


def online(comm, batches, parameters, rounds=1):
    """Batches of each rank, finalized after each round; the model after each."""
    rank, _ = _rank_and_size(comm)
    model, models = PCA(**parameters), []
    for i in range(rounds):
        for batch in batches[rank][i::rounds]:
            model.partial_fit(batch)
        models.append(pickle.loads(pickle.dumps(model.finalize(comm=comm))))
    return models


def online_after_fit(comm, tables, more, parameters):
    """A fit over ranks, continued with more rows on some ranks, and its row counts."""
    rank, _ = _rank_and_size(comm)
    model = PCA(**parameters).fit(tables[rank], comm=comm)
    if more[rank] is not None:
        model.partial_fit(more[rank])
    between = model.n_samples_
    return between, model.finalize(comm=comm), copy(model).finalize(comm=comm).n_samples_


def window(comm, tables, old):
    """Rows that a rank forgets, while copies are finalized."""
    rank, _ = _rank_and_size(comm)
    model = PCA(2).partial_fit(tables[rank])
    first = copy(model).finalize(comm=comm)
    model.forget(tables[rank][:old])
    return first, copy(model).finalize(comm=comm)


def forget_whole(comm, tables):
    rank, _ = _rank_and_size(comm)
    return PCA(2).fit(tables[rank], comm=comm).forget(tables[rank])


def finalize_loaded(comm, path, tables):
    """Load a saved model on every rank."""
    rank, _ = _rank_and_size(comm)
    return load(path).partial_fit(tables[rank]).finalize(comm=comm)


def mixed_calls(comm, tables):
    rank, _ = _rank_and_size(comm)
    model = PCA(2).partial_fit(tables[rank])
    return model.finalize(comm=comm) if rank == 1 else PCA(2).fit(tables[rank], comm=comm)


def threads(comm, tables):
    """Threads that a rank would use if the environment did not limit them."""
    from princomp.engines.mpi import rows
    from princomp.engines.mpi.rows import spmd_fit
    from princomp.estimators.ranks import rows_of_rank

    rank, _ = _rank_and_size(comm)
    limit, rows.OPENMP_THREADS = rows.OPENMP_THREADS, sys.maxsize
    try:
        _, found = spmd_fit(
            comm, {}, lambda: rows_of_rank(tables[rank], None, PCA()), lambda r: r.threads
        )
    finally:
        rows.OPENMP_THREADS = limit
    return found


def mapped(comm, tables, kernel, count, seed):
    """Landmarks and the fit of mapped rows: rank 0 leads as if it held all rows."""
    from princomp.engines.mpi.agreement import RankInput
    from princomp.engines.mpi.rows import empty_input, spmd_fit
    from princomp.kernel_pca.feature_maps import Nystrom, mapped as through
    from princomp.kernel_pca.feature_maps.landmarks import landmarks

    rows = tables[_rank_and_size(comm)[0]]

    def lead(everywhere):
        map = Nystrom.of(kernel, landmarks(everywhere, count, kernel, seed=seed)[0])
        return map.points, PCA(3).fit(through(everywhere, map))

    def read():
        return empty_input(rows) or RankInput(rows, rows.shape[1])

    return spmd_fit(comm, {"call": "test"}, read, lead)[1]
