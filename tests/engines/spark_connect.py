"""A Spark Connect session in a process of its own, which prints its results as JSON."""

from __future__ import annotations

import json
import os
import sys
import warnings

import numpy as np

from princomp import PCA
from princomp.errors import NotFiniteError


def main():
    from pyspark.sql import SparkSession, functions

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((60, 3)) * [3.0, 2.0, 1.0] + 5.0
    frame = spark.createDataFrame(rows.tolist(), "a double, b double, c double")
    model = PCA(2).fit(frame)
    expected = PCA(2).fit(rows)
    scores = model.transform(frame)
    arrays = frame.select(functions.array("a", "b", "c").alias("features"))
    found = {
        "kind": type(frame).__module__,
        "axes": float(np.abs(model.components_ - expected.components_).max()),
        "rows": model.n_samples_,
        "columns": scores.columns,
        "scores": float(
            np.abs(np.array([row[3:] for row in scores.collect()]) - expected.transform(rows)).max()
        ),
        "arrays": float(
            np.abs(PCA(2).fit(arrays).explained_variance_ - expected.explained_variance_).max()
        ),
    }
    holed = functions.when(functions.col("b") < 100, functions.col("b"))
    missing = functions.when(functions.col("a") == float(rows[41, 0]), None).otherwise(holed)
    try:
        PCA(2).fit(frame.withColumn("b", missing))
    except NotFiniteError as error:
        found["place"] = error.place
    print(json.dumps(found))
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
