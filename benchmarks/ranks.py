"""Ranks of this machine: strong and weak scaling, as ratios to the local fit with all threads.

    python benchmarks/ranks.py [--rows 2000000] [--columns 50] [--most 2]

Strong: the same rows on more ranks; weak: as many rows on each. Rounds are interleaved and
the best of three is taken; a time is that of the slowest rank. All ranks share the memory and
the processors of one machine, so this measures what the ranks cost, not what a cluster gains.
oneDAL offers SPMD on GPUs only, so there is nothing to compare with here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np

from princomp import PCA

ROUNDS, REPEATS = 3, 3
# Of the Krylov route: its passes are what is measured, not the last digits.
TOL = 1e-6
ROUTES = {"moments": "covariance_eigh", "triangle": "full", "krylov": "krylov"}


def rows_of(rank, n, p):
    rng = np.random.default_rng(rank)
    return rng.standard_normal((n, p)) * 0.9 ** np.arange(p)


def best_seconds(fit, barrier=lambda: None):
    fit()
    times = []
    for _ in range(REPEATS):
        barrier()
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return min(times)


def run_on_rank(n, p, solver):
    """One rank's part; rank 0 prints the time of the slowest."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    X = rows_of(comm.rank, n, p)
    model = PCA(5, svd_solver=solver, tol=TOL)
    seconds = best_seconds(lambda: model.fit(X, comm=comm), comm.barrier)
    slowest = comm.reduce(seconds, MPI.MAX)
    if comm.rank == 0:
        print(slowest)


def run_local(n, p, solver):
    X = rows_of(0, n, p)
    print(best_seconds(lambda: PCA(5, svd_solver=solver, tol=TOL).fit(X)))


def measure(ranks, n, p, solver):
    """Seconds of a process of its own, or of some ranks; 0 ranks are the local fit."""
    command = [sys.executable, __file__, "--one", str(ranks), str(n), str(p), solver]
    launch = ["mpiexec", "-n", str(ranks)] if ranks else []
    completed = subprocess.run([*launch, *command], check=True, capture_output=True, text=True)
    return float(completed.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--most", type=int, default=2)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        ranks, n, p = map(int, options.one[:3])
        (run_on_rank if ranks else run_local)(n, p, options.one[3])
        return
    n, p = options.rows, options.columns
    counts = [1 << i for i in range(options.most.bit_length())]
    cases = {"local": (0, n)}
    cases |= {f"strong, {ranks} ranks": (ranks, n // ranks) for ranks in counts}
    cases |= {f"weak, {ranks} ranks": (ranks, n) for ranks in counts[1:]}
    print(f"{n:,} × {p} float64, time over that of the local fit")
    for route, solver in ROUTES.items():
        times = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, (ranks, rows) in cases.items():
                times[name].append(measure(ranks, rows, p, solver))
        local = min(times["local"])
        for name, seconds in times.items():
            print(f"{route:9} {name:16} {min(seconds) / local:6.2f}", flush=True)


if __name__ == "__main__":
    main()
