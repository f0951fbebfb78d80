"""PCA of Parquet files on Spark: princomp's and MLlib's, in turn, the best of three each.

    python benchmarks/spark_engine.py [p …] [--folder build] [--row-matrix]

Writes the files once, each table as numeric columns and as one column of arrays. MLlib takes
vectors, so both kinds go through what makes them there: VectorAssembler and array_to_vector.
From Python its RowMatrix gets rows that passed through Python, and takes ten times as long.
"""

import argparse
import contextlib
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from princomp import PCA

ROWS = {50: 500_000, 200: 300_000, 1_000: 50_000, 6_000: 20_000}
# MLlib adds a packed triangle of p²/2 numbers in every task: beyond, its driver needs more heap.
MLLIB_COLUMNS = 1_000
K = 10
MLLIB = "MLlib's PCA"


def write(path, n, p, arrays):
    rng = np.random.default_rng(p)
    deviations, mixing = np.linspace(1, 0.05, p), rng.standard_normal((20, p)) * 3 / np.sqrt(p)
    writer, step = None, max(1, 4_000_000 // p)
    for start in range(0, n, step):
        m = min(step, n - start)
        scores = rng.standard_normal((m, 20)) * np.linspace(3, 1, 20)
        rows = rng.standard_normal((m, p)) * deviations + scores @ mixing + 3
        if arrays:
            ends = np.arange(0, m * p + 1, p, dtype=np.int32)
            table = pa.table({"features": pa.ListArray.from_arrays(ends, rows.ravel())})
        else:
            table = pa.table({f"c{i}": rows[:, i] for i in range(p)})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    writer.close()


def methods(frame, p, row_matrix):
    """Name and function of each way to the same components (p, k)."""
    from pyspark.ml.feature import (
        PCA as MLlib,  # noqa: N811
        VectorAssembler,
    )
    from pyspark.ml.functions import array_to_vector
    from pyspark.mllib.linalg import Vectors
    from pyspark.mllib.linalg.distributed import RowMatrix

    def vectors():
        if frame.columns == ["features"]:
            return frame.select(array_to_vector("features").alias("features"))
        assembled = VectorAssembler(inputCols=frame.columns, outputCol="features").transform(frame)
        return assembled.select("features")

    def by_mllib():
        return MLlib(k=K, inputCol="features").fit(vectors()).pc.toArray()

    def by_row_matrix():
        rows = RowMatrix(vectors().rdd.map(lambda row: Vectors.fromML(row[0])))
        return rows.computePrincipalComponents(K).toArray()

    calls = {"princomp": lambda: PCA(K).fit(frame).components_.T}
    if p <= MLLIB_COLUMNS:
        calls[MLLIB] = by_mllib
        if row_matrix:
            calls["RowMatrix"] = by_row_matrix
    return calls


def measure(spark, path, p, row_matrix):
    frame = spark.read.parquet(os.fspath(path))
    calls = methods(frame, p, row_matrix)
    times, axes = {name: [] for name in calls}, {}
    for _ in range(3):
        for name, call in calls.items():
            start = time.perf_counter()
            axes[name] = call()
            times[name].append(time.perf_counter() - start)
    best = {name: min(each) for name, each in times.items()}
    parts = [f"{name} {seconds:.2f} s" for name, seconds in best.items()]
    if MLLIB in best:
        parts.append(f"ratio {best[MLLIB] / best['princomp']:.2f}")
        difference = np.abs(np.abs(axes["princomp"]) - np.abs(axes[MLLIB])).max()
        parts.append(f"axes alike to {difference:.0e}")
    print(f"{path.stem} ({ROWS[p]:,} rows): {', '.join(parts)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("columns", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--folder", type=Path, default=Path("build"))
    parser.add_argument("--row-matrix", action="store_true")
    options = parser.parse_args()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    options.folder.mkdir(exist_ok=True)
    for p in options.columns:
        for kind in ("columns", "arrays"):
            path = options.folder / f"spark-{kind}-{p}.parquet"
            if not path.exists():
                write(path, ROWS[p], p, kind == "arrays")
            measure(spark, path, p, options.row_matrix)
    with contextlib.suppress(Exception):
        spark.stop()


if __name__ == "__main__":
    main()
