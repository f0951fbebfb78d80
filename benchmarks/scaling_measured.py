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
TIMEOUT = 300


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


def best(call, clock=time.process_time, rounds=3, before=lambda: None):
    return best_of(call, (clock,), rounds, before)[0]


def best_of(call, clocks, rounds=3, before=lambda: None):
    """The least that each clock says a call takes, after one that is not counted."""
    call()
    readings = []
    for _ in range(rounds):
        before()
        starts = [clock() for clock in clocks]
        call()
        readings.append([clock() - start for clock, start in zip(clocks, starts, strict=True)])
    return [max(min(each), 1e-9) for each in zip(*readings, strict=True)]


# ---- rates of this machine -------------------------------------------------------------------


def constants(*, tiny=False):
    """Rates of one core, in a process that has one; and what it takes to ask another process."""
    rates = _in_process(["--constants", str(int(tiny))], cores=1)
    rates["both"] = _parallel_efficiency(tiny)
    has_dask = not tiny and find_spec("distributed")
    return rates | (_dask_costs() if has_dask else {})


def _measure_rates(tiny):
    import numpy as np
    import scipy.sparse as sp

    from princomp.kernels import gram
    from princomp.linalg import eigh, one_blas_thread
    from princomp.solvers.bases import project_out
    from princomp.solvers.krylov import ImagesOf, block_width
    from princomp.summaries import Columns, Moments, Triangle
    from princomp.summaries.blocks import block_rows
    from princomp.summaries.sketch import wide_block_rows

    rng, n_numbers = np.random.default_rng(0), 2**18 if tiny else 2**23
    rates = {"read": _read_rate(n_numbers), "memory": 0.0}
    numbers = rng.standard_normal(n_numbers)
    rates["memory"] = numbers.nbytes / best(lambda: float(numbers @ numbers))

    def moments(p, dtype):
        rows = numbers[: n_numbers // p * p].astype(dtype).reshape(-1, p)
        step, n = block_rows(p), n_numbers // p

        def run():
            for start in range(0, n, step):
                gram.moments(rows[start : start + step])

        return n * p * (p + 1) / best(run)

    widths = (16, 64) if tiny else (32, 128, 512, 1_024)
    with one_blas_thread():
        rates["moments"] = {p: moments(p, np.float64) for p in widths}
        rates["moments32"] = {p: moments(p, np.float32) for p in widths}
        p = 100 if tiny else 1_000
        summary = Moments.of(rng.standard_normal((2 * p, p)))
        rates["merge"] = 8 * p * p / best(lambda: summary.merge(summary))
        rates["eigh"] = 9 * (p // 2) ** 3 / best(lambda: eigh(summary.scatter[: p // 2, : p // 2]))
        q = p // 5
        panels = numbers[: n_numbers // (5 * q * q) * 5 * q * q].reshape(-1, 5 * q, q)
        summary = Triangle.of(panels[0])
        flops = len(panels) * (10 - 2 / 3) * q**3
        rates["qr"] = flops / best(lambda: [Triangle.of(panel) for panel in panels])
        rates["join"] = 10 / 3 * q**3 / best(lambda: summary.merge(summary))

        p = 200 if tiny else 2_000
        b = block_width(K, p)

        def images(block, p):
            images_of = ImagesOf(rng.standard_normal((p, b)), Columns.of(block), None)
            sums = images_of.empty(p)
            return best(lambda: images_of.add(sums, block))

        for name, dtype in (("dense", np.float64), ("dense32", np.float32)):
            block = (
                numbers[: wide_block_rows(p) * p][: n_numbers // p * p].astype(dtype).reshape(-1, p)
            )
            rates[name] = 4 * block.size * b / images(block, p)
        # Of few long rows, most is the sum that the next block finds no longer in the cache.
        p = 20_000 if tiny else 200_000
        block = rng.standard_normal((wide_block_rows(p), p), dtype=np.float32)
        remaining = images(block, p) - 4 * block.size * b / rates["dense32"]
        rates["add_long"] = 8 * p * b / max(remaining, 1e-4)
        # A block of few rows costs what its p × b sums do: in the cache, and where they are wide.
        # So do products with sparse rows, which go from place to place in both.
        for suffix, p in (("_wide", 200_000), ("", 20_000)):
            p = 2_000 if tiny else p
            small_seconds = images(
                sp.random_array((64, p), density=2 / p, format="csr", rng=rng), p
            )
            rates["add" + suffix] = 8 * p * b / small_seconds
            block = sp.random_array((100_000, p), density=20 / p, format="csr", rng=rng)
            remaining = images(block, p) - small_seconds
            rates["sparse" + suffix] = 4 * block.nnz * b / max(remaining, 1e-9)
        known = np.linalg.qr(rng.standard_normal((p, 8 * b)))[0].T.copy()
        vectors = rng.standard_normal((b, p))
        rates["swept"] = 4 * p * b * len(known) / best(lambda: project_out(vectors, known, "swept"))
    return rates


def _read_rate(n_numbers):
    """Bytes a second from a file in the page cache, into memory that has been touched."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        rows = np.ones(n_numbers)
        rows.tofile(path)

        def run():
            with path.open("rb", buffering=0) as file:
                file.readinto(rows)

        return rows.nbytes / best(run)


def _parallel_efficiency(tiny):
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

    with _dask_client() as client:
        client.submit(int, 0, pure=False).result()
        round_seconds = best(lambda: client.submit(int, 0, pure=False).result(), time.perf_counter)
        tasks = 400

        def submit_all():
            client.gather(client.map(int, range(tasks), pure=False))

        task = max(best(submit_all, time.perf_counter) - round_seconds, 1e-9) / tasks
        first, second = client.scheduler_info()["workers"]
        elapsed = []
        for _ in range(5):
            state = client.submit(np.ones, 2**22, workers=[first], pure=False)
            state.result()
            start = time.perf_counter()
            client.submit(len, state, workers=[second], pure=False).result()
            elapsed.append(time.perf_counter() - start)
        net = 2**25 / min(elapsed)
    return {"task": task, "round": round_seconds, "net": net}


def _dask_client():
    from contextlib import contextmanager

    from distributed import Client, LocalCluster

    @contextmanager
    def client_of_cluster():
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client

    return client_of_cluster()


# ---- fits ------------------------------------------------------------------------------------


def fits(rounds=3, *, tiny=False):
    """Each table by each engine, measured in processes of their own."""
    for number, (n, p, per_row, summary) in enumerate(TINY if tiny else TABLES):
        engines = ENGINES[:1] if tiny else [*ENGINES, ("file", 1)][: 4 + (number == 0)]
        for engine, many in engines:
            if engine in NEEDS and not find_spec(NEEDS[engine]):
                continue
            arguments = ["--fit", engine, str(many), str(n), str(p), str(per_row or 0), summary]
            if engine == "ranks":
                arguments[0] = "--rank"
            results = _in_process(
                [*arguments, str(rounds)], cores=many, ranks=many * (engine == "ranks")
            )
            stored = n * per_row if per_row else None
            yield Fit(n, p, stored, summary, engine, many, CHUNKS, **results)


def make_block(number, n, p, per_row):
    """Some rows with ten strong directions, so that a search takes few passes."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(number)
    spread = 0.05 + 3 * 0.8 ** np.arange(p)
    if not per_row:
        return rng.standard_normal((n, p)) * spread
    columns = rng.integers(0, p, n * per_row, dtype=np.int32)
    values = rng.standard_normal(n * per_row) * (1 + 20 * 0.8 ** (columns % p))
    return sp.csr_array((values, columns, np.arange(0, n * per_row + 1, per_row)), shape=(n, p))


def _model(summary):
    from princomp import PCA

    return PCA(K, svd_solver=SOLVERS[summary], tol=TOL)


def _measure_fit(engine, n_processes, n, p, per_row, summary, rounds):
    """Seconds and passes of a fit of this process's own, or of a cluster of its own."""
    if engine == "Dask":
        return _measure_dask_fit(n, p, per_row, summary, rounds)
    import numpy as np

    rows, models = make_block(0, n, p, per_row), []
    with tempfile.TemporaryDirectory() as folder:
        if engine == "file":
            np.save(f"{folder}/rows.npy", rows)
            rows = f"{folder}/rows.npy"
        fit = lambda: models.append(_model(summary).fit(rows))  # noqa: E731
        cpu_seconds, wall = best_of(fit, (time.process_time, time.perf_counter), rounds)
    return {"seconds": cpu_seconds / n_processes, "wall": wall, "passes": models[-1].plan_.passes}


def _measure_dask_fit(n, p, per_row, summary, rounds):
    import dask.array as da
    import numpy as np
    import scipy.sparse as sp
    from distributed import wait

    step = n // CHUNKS

    def chunk(block_info=None):
        return make_block(block_info[None]["chunk-location"][0], step, p, per_row)

    with _dask_client() as client:
        rows = da.map_blocks(
            chunk,
            chunks=((step,) * CHUNKS, (p,)),
            dtype=np.float64,
            meta=sp.csr_array((0, 0)) if per_row else np.empty((0, 0)),
        ).persist()
        wait(rows)
        models = []

        def mean_cpu_time():
            workers = client.run(time.process_time).values()
            return time.process_time() + sum(workers) / len(workers)

        fit = lambda: models.append(_model(summary).fit(rows))  # noqa: E731
        wall, cpu_seconds = best_of(fit, (time.perf_counter, mean_cpu_time), rounds)
        return {"seconds": cpu_seconds, "wall": wall, "passes": models[-1].plan_.passes}


def _measure_rank_fit(n_ranks, n, p, per_row, summary, rounds):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rows, model = make_block(comm.rank, n // n_ranks, p, per_row), _model(summary)

    # A rank that waits at the barrier asks without rest: that is not counted.
    taken = best_of(
        lambda: model.fit(rows, comm=comm),
        (time.process_time, time.perf_counter),
        rounds,
        comm.barrier,
    )
    taken, wall = (comm.reduce(each, MPI.MAX) for each in taken)
    results = {"seconds": taken, "wall": wall, "passes": model.plan_.passes}
    return results if comm.rank == 0 else None


def _in_process(arguments, cores, ranks=0):
    """The answer of this program called with some arguments, on one core or all of them."""
    launch = ["mpiexec", "-n", str(ranks)] if ranks else []
    command = [*launch, sys.executable, str(HERE), str(cores), *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if completed.returncode:
        sys.exit(f"{' '.join(arguments)}: {completed.stderr}")
    return json.loads(completed.stdout.strip().splitlines()[-1], object_hook=_integer_keys)


def _integer_keys(document):
    return {int(name) if name.isdigit() else name: value for name, value in document.items()}


def _run_child():
    cores, mode, *arguments = sys.argv[1:]
    if cores == "1" and hasattr(os, "sched_setaffinity"):
        # Before anything asks how many there are.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if mode == "--constants":
        results = _measure_rates(bool(int(arguments[0])))
    else:
        engine, n_processes, n, p, per_row, summary, rounds = arguments
        size = [int(n), int(p), int(per_row), summary, int(rounds)]
        if mode == "--rank":
            results = _measure_rank_fit(int(n_processes), *size)
        else:
            results = _measure_fit(engine, int(n_processes), *size)
    if results is not None:
        print(json.dumps(results))


if __name__ == "__main__":
    _run_child()
