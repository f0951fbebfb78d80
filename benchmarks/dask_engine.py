"""PCA of Parquet files on Dask: princomp's and dask-ml's by each solver, best of three each.

    python benchmarks/dask_engine.py [--rows 2000000] [--folder build] [--json FILE]

Writes rows × 50 float64 once, in files of 100,000 rows. Each round runs every way once, so that
what else the machine does falls on all of them; once with the threads of this process and once
with a LocalCluster of two processes. The lengths of the chunks, which dask-ml needs and princomp
does not, are given to both and not timed; "frame" is princomp on the data frame itself.
"""

import argparse
import json
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dask_ml import decomposition
from distributed import Client, LocalCluster

from princomp import PCA

P, K, STEP = 50, 10, 100_000
SOLVERS = ("full", "tsqr", "randomized", "auto")


def write(folder, n):
    folder.mkdir(parents=True, exist_ok=True)
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((P, P)))[0]
    for i, start in enumerate(range(0, n, STEP)):
        rng = np.random.default_rng((2, i))
        m = min(STEP, n - start)
        rows = (rng.standard_normal((m, P)) * np.linspace(3, 0.5, P)) @ rotation + 3
        table = pa.table({f"c{j}": rows[:, j] for j in range(P)})
        pq.write_table(table, folder / f"{i:04}.parquet", use_dictionary=False)


def methods(folder, n):
    frame = dd.read_parquet(folder)
    lengths = [min(STEP, n - start) for start in range(0, n, STEP)]
    x = frame.to_dask_array(lengths=lengths)
    yield "princomp", lambda: PCA(K).fit(x)
    yield "princomp, frame", lambda: PCA(K).fit(frame)
    for solver in SOLVERS:
        # A copy: it subtracts the means in place.
        yield (
            solver,
            lambda s=solver: decomposition.PCA(K, svd_solver=s, random_state=0).fit(x.copy()),
        )


def measure(folder, n):
    calls = dict(methods(folder, n))
    times, variances = {name: [] for name in calls}, {}
    for _ in range(3):
        for name, call in calls.items():
            start = time.perf_counter()
            model = call()
            times[name].append(time.perf_counter() - start)
            variances[name] = model.explained_variance_[:K]
    ours = variances["princomp"]
    return {
        name: {
            "seconds": min(seconds),
            "ratio": min(seconds) / min(times["princomp"]),
            "away": float(np.abs(variances[name] / ours - 1).max()),
        }
        for name, seconds in times.items()
    }


def show(title, results):
    print(f"{title}: princomp {results['princomp']['seconds']:.2f} s")
    for name, result in results.items():
        if name != "princomp":
            print(f"  {name:16} {result['ratio']:6.2f} ×   variances alike to {result['away']:.0e}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.folder / f"dask-{options.rows}x{P}"
    if not folder.exists():
        write(folder, options.rows)
    results = {}
    with dask.config.set(scheduler="threads"):
        results["threads"] = measure(folder, options.rows)
    show("threads", results["threads"])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        results["processes"] = measure(folder, options.rows)
    show("two processes", results["processes"])
    if options.json:
        options.json.write_text(
            json.dumps({"rows": options.rows, "columns": P, **results}, indent=1)
        )


if __name__ == "__main__":
    main()
