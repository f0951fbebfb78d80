"""Recorded fits on devices, Dask, ranks and Spark."""

# ruff: noqa: C408  (parameters read as they stand in a call)
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
from recorded_rows import NYSTROM, case, counts_for, results_of, table, to_npy

import princomp
from princomp import PCA, KernelPCA, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "usarrests.csv"


# ---- devices ------------------------------------------------------------------------


DEVICE = {
    "tensor": dict(of="tall"),
    "tensor, float32": dict(of="long32"),
    "tensor, full, unit scale": dict(of="tall32", svd_solver="full", scale="unit"),
    "tensor, krylov": dict(of="middle", svd_solver="krylov"),
    "tensor, sketch": dict(of="middle32", svd_solver="sketch"),
    "tensor, unequal": dict(of="unequal32", weights=counts_for),
    "tensor, lanczos": dict(of="broad"),
    "read there": dict(of="middle32", reads=True),
    "read there, krylov": dict(of="middle", reads=True, svd_solver="krylov"),
}


def on_processor(folder, *, of, reads=False, weights=None, **parameters):
    import torch

    torch.set_num_threads(1)
    X = table(of)
    sample_weight = None if weights is None else weights(len(X))
    rows = torch.from_numpy(X.copy())
    if reads:
        rows = princomp.on_device(to_npy(folder, X), "cpu", memory_limit="100MB")
    model = PCA(3, **parameters).fit(rows, sample_weight=sample_weight)
    scores = model.transform(torch.from_numpy(X[:7].copy())).numpy()
    return {"there": scores, **results_of(model, X[:7], folder)}


for _name, _options in DEVICE.items():
    case(f"device/{_name}", "torch")(partial(on_processor, **_options))


@case("device/kernel", "torch")
def _(folder):
    import torch

    rows = torch.from_numpy(table("middle32").copy())
    model = KernelPCA(3, **NYSTROM, n_landmarks=40).fit(rows)
    return {"model": model, "scores": model.transform(rows[:7]).numpy()}


# ---- Dask ---------------------------------------------------------------------------


DASK = {
    "rows": dict(of="tall", chunks=(90, 12)),
    "both ways": dict(of="tall32", chunks=(90, 5), scale="range"),
    "full": dict(of="middle", chunks=(500, 220), svd_solver="full"),
    "krylov": dict(of="middle", chunks=(500, 220), svd_solver="krylov"),
    "sketch": dict(of="middle32", chunks=(500, 220), svd_solver="sketch"),
    "weights": dict(of="tall", chunks=(90, 12), weights=counts_for),
    "drop": dict(of="holes", chunks=(60, 8), missing="drop"),
}


def on_dask(folder, *, of, chunks, weights=None, **parameters):
    import dask.array as da

    X = table(of)
    sample_weight = None if weights is None else weights(len(X))
    rows = da.from_array(X.copy(), chunks=chunks)
    model = PCA(3, **parameters).fit(rows, sample_weight=sample_weight)
    found = {"lazy": np.asarray(model.transform(rows)[:50].compute())}
    return {**found, **results_of(model, X[:7], folder)}


for _name, _options in DASK.items():
    case(f"dask/{_name}", "dask")(partial(on_dask, **_options))


@case("dask/frame, kernel", "dask", "pandas")
def _(folder):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame(table("tall")).add_prefix("c"), npartitions=4)
    rows = da.from_array(table("middle").copy(), chunks=(800, 220))
    return {
        "model": PCA(3, scale="unit").fit(frame),
        "weighted": PCA(2).fit(abs(frame), sample_weight="c1"),
        "kernel": KernelPCA(3, **NYSTROM, n_landmarks=30).fit(rows),
    }


# ---- ranks --------------------------------------------------------------------------


RANK = """
import os, sys
import numpy as np
from princomp import PCA
kind, folder = sys.argv[1:3]
if kind == "mpi":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
else:
    from torch import distributed as comm
    rank, size = int(sys.argv[3]), 2
    comm.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2)
mine = np.array_split(np.load(f"{folder}/rows.npy"), size)[rank]
for solver in ("covariance_eigh", "full", "krylov", "sketch"):
    model = PCA(3, svd_solver=solver, scale="unit").fit(mine, comm=comm)
    if rank == 0:
        model.save(f"{folder}/{solver}.pca")
online = PCA(3).partial_fit(mine[:200]).partial_fit(mine[200:]).finalize(comm=comm)
if rank == 0:
    online.save(f"{folder}/online.pca")
if kind == "gloo":
    comm.destroy_process_group()
"""


def program(name):
    """The path of a program, preferably in the folder of this Python."""
    folder = str(Path(sys.executable).parent)
    return shutil.which(name, path=folder) or shutil.which(name)


def on_ranks(folder, *, kind):
    to_npy(folder, table("middle"))
    rank = [sys.executable, "-c", RANK, kind, str(folder)]
    commands = [[program("mpiexec"), "-n", "2", *rank]]
    if kind == "gloo":
        commands = [[*rank, "0"], [*rank, "1"]]
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for command in commands]
    if any(process.wait(120) for process in running):
        raise RuntimeError("a rank failed")
    return {path.stem: load(path) for path in sorted(folder.glob("*.pca"))}


case("ranks/mpi", "mpi4py", "mpiexec")(partial(on_ranks, kind="mpi"))
case("ranks/gloo", "torch")(partial(on_ranks, kind="gloo"))


# ---- Spark --------------------------------------------------------------------------


@cache
def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]").appName("recorded")
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    made = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def stop():
    """Stop Spark if a fit has started it."""
    if session.cache_info().currsize:
        session().stop()


def spark_frame(rows):
    import pandas as pd

    return session().createDataFrame(pd.DataFrame(rows).add_prefix("c")).repartitionByRange(2, "c0")


@case("spark/columns", "pyspark", "java", "pandas")
def _(folder):
    frame = spark_frame(table("tall"))
    model = PCA(3, scale="unit").fit(frame)
    scores = model.transform(frame).select(*model.get_feature_names_out()).toPandas()
    found = {"first": scores.sort_values(list(scores.columns)).to_numpy()[:20]}
    found["krylov"] = PCA(2, svd_solver="krylov").fit(frame)
    found["weighted"] = PCA(2).fit(spark_frame(abs(table("tall32"))), sample_weight="c1")
    return {**found, **results_of(model, table("tall")[:7], folder)}


@case("spark/RowMatrix", "pyspark", "java", "pandas")
def _(folder):
    from princomp.spark import compute_principal_components, compute_svd

    frame = spark_frame(table("tall"))
    found = compute_svd(frame, 3)
    tiles = PCA(2, svd_solver="lanczos").fit(frame)
    axes = compute_principal_components(frame, 2)
    return {"axes": axes, "svd": [found.s, found.V], "tiles": tiles}
