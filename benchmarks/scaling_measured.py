"""What scaling.py measures here: rates of one core, and whole fits on several engines.

Times are those of the processor's clock, which others on the machine hardly change: with two
threads half of what both took, of several processes what the busiest took. That leaves out
what waits for messages, so the clock on the wall is shown, too. The best of some rounds each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve()
K = 10
MOMENTS, KRYLOV, TRIANGLE = "moments", "columns", "triangle"
SOLVERS = {MOMENTS: "covariance_eigh", KRYLOV: "krylov", TRIANGLE: "full"}
# Rows, columns, stored numbers in a row, and the route.
TABLES = [
    (1_000_000, 50, None, MOMENTS),
    (300_000, 200, None, MOMENTS),
    (100_000, 500, None, MOMENTS),
    (40_000, 1_000, None, MOMENTS),
    (100_000, 200, None, TRIANGLE),
    (50_000, 3_000, None, KRYLOV),
    (200_000, 50_000, 50, KRYLOV),
]
TINY = [(4_000, 20, None, MOMENTS), (2_000, 500, 5, KRYLOV)]
ENGINES = [("local", 1), ("local", 2), ("Dask", 2), ("ranks", 2)]
# What each engine imports.
NEEDS = {"Dask": "distributed", "ranks": "mpi4py"}
CHUNKS = 8
# Of Krylov: its passes are what is measured, not the last digits.
TOL = 1e-6
# Seconds after which a measurement is given up.
LONGEST = 300


class Fit(NamedTuple):
    """A fit that was measured."""

    n: int
    p: int
    stored: int | None
    summary: str
    engine: str
    many: int
    chunks: int
    passes: int
    seconds: float
    wall: float


def best(work, clock=time.process_time, rounds=3, before=lambda: None):
    return best_of(work, (clock,), rounds, before)[0]


def best_of(work, clocks, rounds=3, before=lambda: None):
    """The least that each clock says a call takes, after one that is not counted."""
    work()
    taken = []
    for _ in range(rounds):
        before()
        began = [clock() for clock in clocks]
        work()
        taken.append([clock() - start for clock, start in zip(clocks, began, strict=True)])
    return [max(min(each), 1e-9) for each in zip(*taken, strict=True)]


# ---- rates of this machine -------------------------------------------------------------------


def constants(*, tiny=False):
    """Rates of one core, in a process that has one; and what it takes to ask another process."""
    found = _in_process(["--constants", str(int(tiny))], cores=1)
    found["both"] = _both(tiny)
    there = not tiny and find_spec("distributed")
    return found | (_dask_costs() if there else {})


def _rates(tiny):
    import numpy as np
    import scipy.sparse as sp

    from princomp.kernels import gram
    from princomp.linalg import eigh, one_blas_thread
    from princomp.solvers.bases import swept
    from princomp.solvers.krylov import ImagesOf, block_width
    from princomp.summaries import Columns, Moments, Triangle
    from princomp.summaries.blocks import block_rows
    from princomp.summaries.sketch import wide_block_rows

    rng, many = np.random.default_rng(0), 2**18 if tiny else 2**23
    found = {"read": _reading(many), "memory": 0.0}
    numbers = rng.standard_normal(many)
    found["memory"] = numbers.nbytes / best(lambda: float(numbers @ numbers))

    def moments(p, dtype):
        rows = numbers[: many // p * p].astype(dtype).reshape(-1, p)
        step, n = block_rows(p), many // p

        def run():
            for start in range(0, n, step):
                gram.moments(rows[start : start + step])

        return n * p * (p + 1) / best(run)

    sides = (16, 64) if tiny else (32, 128, 512, 1_024)
    with one_blas_thread():
        found["moments"] = {p: moments(p, np.float64) for p in sides}
        found["moments32"] = {p: moments(p, np.float32) for p in sides}
        p = 100 if tiny else 1_000
        one = Moments.of(rng.standard_normal((2 * p, p)))
        found["merge"] = 8 * p * p / best(lambda: one.merge(one))
        found["eigh"] = 9 * (p // 2) ** 3 / best(lambda: eigh(one.scatter[: p // 2, : p // 2]))
        q = p // 5
        panels = numbers[: many // (5 * q * q) * 5 * q * q].reshape(-1, 5 * q, q)
        one = Triangle.of(panels[0])
        flops = len(panels) * (10 - 2 / 3) * q**3
        found["qr"] = flops / best(lambda: [Triangle.of(panel) for panel in panels])
        found["join"] = 10 / 3 * q**3 / best(lambda: one.merge(one))

        p = 200 if tiny else 2_000
        b = block_width(K, p)

        def images(block, p):
            of = ImagesOf(rng.standard_normal((p, b)), Columns.of(block), None)
            sums = of.empty(p)
            return best(lambda: of.add(sums, block))

        for name, dtype in (("dense", np.float64), ("dense32", np.float32)):
            block = numbers[: wide_block_rows(p) * p][: many // p * p].astype(dtype).reshape(-1, p)
            found[name] = 4 * block.size * b / images(block, p)
        # Of few long rows, most is the sum that the next block finds no longer in the cache.
        p = 20_000 if tiny else 200_000
        block = rng.standard_normal((wide_block_rows(p), p), dtype=np.float32)
        rest = images(block, p) - 4 * block.size * b / found["dense32"]
        found["add_long"] = 8 * p * b / max(rest, 1e-4)
        # A block of few rows costs what its p × b sums do: in the cache, and where they are wide.
        # So do products with sparse rows, which go from place to place in both.
        for wide, p in (("_wide", 200_000), ("", 20_000)):
            p = 2_000 if tiny else p
            few = images(sp.random_array((64, p), density=2 / p, format="csr", rng=rng), p)
            found["add" + wide] = 8 * p * b / few
            block = sp.random_array((100_000, p), density=20 / p, format="csr", rng=rng)
            rest = images(block, p) - few
            found["sparse" + wide] = 4 * block.nnz * b / max(rest, 1e-9)
        known = np.linalg.qr(rng.standard_normal((p, 8 * b)))[0].T.copy()
        vectors = rng.standard_normal((b, p))
        found["swept"] = 4 * p * b * len(known) / best(lambda: swept(vectors, known, "swept"))
    return found


def _reading(many):
    """Bytes a second from a file in the page cache, into memory that has been touched."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        rows = np.ones(many)
        rows.tofile(path)

        def run():
            with path.open("rb", buffering=0) as file:
                file.readinto(rows)

        return rows.nbytes / best(run)


def _both(tiny):
    """What two cores do at once, each, as a share of what one does alone."""
    if (os.cpu_count() or 1) < 2:
        return 1.0
    import numpy as np

    from princomp.kernels import gram
    from princomp.linalg import one_blas_thread

    rows = np.random.default_rng(0).standard_normal((2_000 if tiny else 60_000, 200))
    with one_blas_thread(), ThreadPoolExecutor(2) as pool:
        alone = best(lambda: gram.moments(rows))
        both = best(lambda: list(pool.map(lambda _: gram.moments(rows), range(2)))) / 2
    return min(1.0, alone / both)


def _dask_costs():
    """Seconds of a task and of a compute, and bytes a second between two processes."""
    import numpy as np

    with _dask() as client:
        client.submit(int, 0, pure=False).result()
        wait = best(lambda: client.submit(int, 0, pure=False).result(), time.perf_counter)
        tasks = 400

        def several():
            client.gather(client.map(int, range(tasks), pure=False))

        task = max(best(several, time.perf_counter) - wait, 1e-9) / tasks
        first, second = client.scheduler_info()["workers"]
        taken = []
        for _ in range(5):
            state = client.submit(np.ones, 2**22, workers=[first], pure=False)
            state.result()
            began = time.perf_counter()
            client.submit(len, state, workers=[second], pure=False).result()
            taken.append(time.perf_counter() - began)
        net = 2**25 / min(taken)
    return {"task": task, "round": wait, "net": net}


def _dask():
    from contextlib import contextmanager

    from distributed import Client, LocalCluster

    @contextmanager
    def made():
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client

    return made()


# ---- fits ------------------------------------------------------------------------------------


def fits(rounds=3, *, tiny=False):
    """Each table by each engine, measured in processes of their own."""
    for number, (n, p, each, summary) in enumerate(TINY if tiny else TABLES):
        engines = ENGINES[:1] if tiny else [*ENGINES, ("file", 1)][: 4 + (number == 0)]
        for engine, many in engines:
            if engine in NEEDS and not find_spec(NEEDS[engine]):
                continue
            words = ["--fit", engine, str(many), str(n), str(p), str(each or 0), summary]
            if engine == "ranks":
                words[0] = "--rank"
            told = _in_process([*words, str(rounds)], cores=many, ranks=many * (engine == "ranks"))
            stored = n * each if each else None
            yield Fit(n, p, stored, summary, engine, many, CHUNKS, **told)


def block_of(number, n, p, each):
    """Some rows with ten strong directions, so that a search takes few passes."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(number)
    spread = 0.05 + 3 * 0.8 ** np.arange(p)
    if not each:
        return rng.standard_normal((n, p)) * spread
    at = rng.integers(0, p, n * each, dtype=np.int32)
    values = rng.standard_normal(n * each) * (1 + 20 * 0.8 ** (at % p))
    return sp.csr_array((values, at, np.arange(0, n * each + 1, each)), shape=(n, p))


def _model(summary):
    from princomp import PCA

    return PCA(K, svd_solver=SOLVERS[summary], tol=TOL)


def _fitted(engine, many, n, p, each, summary, rounds):
    """Seconds and passes of a fit of this process's own, or of a cluster of its own."""
    if engine == "Dask":
        return _fitted_on_dask(n, p, each, summary, rounds)
    import numpy as np

    rows, made = block_of(0, n, p, each), []
    with tempfile.TemporaryDirectory() as folder:
        if engine == "file":
            np.save(f"{folder}/rows.npy", rows)
            rows = f"{folder}/rows.npy"
        work = lambda: made.append(_model(summary).fit(rows))  # noqa: E731
        taken, wall = best_of(work, (time.process_time, time.perf_counter), rounds)
    return {"seconds": taken / many, "wall": wall, "passes": made[-1].plan_.passes}


def _fitted_on_dask(n, p, each, summary, rounds):
    import dask.array as da
    import numpy as np
    import scipy.sparse as sp
    from distributed import wait

    step = n // CHUNKS

    def chunk(block_info=None):
        return block_of(block_info[None]["chunk-location"][0], step, p, each)

    with _dask() as client:
        rows = da.map_blocks(
            chunk,
            chunks=((step,) * CHUNKS, (p,)),
            dtype=np.float64,
            meta=sp.csr_array((0, 0)) if each else np.empty((0, 0)),
        ).persist()
        wait(rows)
        made = []

        def busy():
            workers = client.run(time.process_time).values()
            return time.process_time() + sum(workers) / len(workers)

        work = lambda: made.append(_model(summary).fit(rows))  # noqa: E731
        wall, taken = best_of(work, (time.perf_counter, busy), rounds)
        return {"seconds": taken, "wall": wall, "passes": made[-1].plan_.passes}


def _fitted_on_rank(many, n, p, each, summary, rounds):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rows, model = block_of(comm.rank, n // many, p, each), _model(summary)

    # A rank that waits at the barrier asks without rest: that is not counted.
    taken = best_of(
        lambda: model.fit(rows, comm=comm),
        (time.process_time, time.perf_counter),
        rounds,
        comm.barrier,
    )
    taken, wall = (comm.reduce(each, MPI.MAX) for each in taken)
    told = {"seconds": taken, "wall": wall, "passes": model.plan_.passes}
    return told if comm.rank == 0 else None


def _in_process(words, cores, ranks=0):
    """The answer of this program called with some words, on one core or all of them."""
    launch = ["mpiexec", "-n", str(ranks)] if ranks else []
    call = [*launch, sys.executable, str(HERE), str(cores), *words]
    done = subprocess.run(call, capture_output=True, text=True, timeout=LONGEST)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1], object_hook=_numbered)


def _numbered(known):
    return {int(name) if name.isdigit() else name: value for name, value in known.items()}


def _child():
    cores, what, *words = sys.argv[1:]
    if cores == "1" and hasattr(os, "sched_setaffinity"):
        # Before anything asks how many there are.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if what == "--constants":
        told = _rates(bool(int(words[0])))
    else:
        engine, many, n, p, each, summary, rounds = words
        size = [int(n), int(p), int(each), summary, int(rounds)]
        if what == "--rank":
            told = _fitted_on_rank(int(many), *size)
        else:
            told = _fitted(engine, int(many), *size)
    if told is not None:
        print(json.dumps(told))


if __name__ == "__main__":
    _child()
