"""Spark with two threads: numeric columns of a DataFrame, or vectors where rows are sparse."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from princomp import PCA


def missing():
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'princomp[spark]'"
    if shutil.which("java") is None:
        return "Spark needs Java 17 or newer: apt-get install openjdk-17-jre-headless"
    return None


def session():
    """The session of all tests of this process, made anew if the documentation has stopped it.

    A task has four attempts, and nothing is written to standard error.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2,4]").appName("princomp")
        builder = builder.config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1")
        made = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def frame(parts, spark=None):
    """A DataFrame that has each part as a partition."""
    if sp.issparse(parts[0]):
        return of_vectors([vectors_of(part) for part in parts])
    kind = "float" if parts[0].dtype == np.float32 else "double"
    schema = ", ".join(f"x{i} {kind}" for i in range(parts[0].shape[1]))

    def rows(batches):
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                names = [f"x{i}" for i in range(parts[number].shape[1])]
                columns = [pa.array(column) for column in parts[number].T]
                yield pa.RecordBatch.from_arrays(columns, names)

    count = len(parts)
    return (spark or session()).range(0, count, 1, count).mapInArrow(rows, schema)


def vectors_of(rows):
    """CSR rows as MLlib's sparse vectors."""
    from pyspark.ml.linalg import Vectors

    ends = zip(rows.indptr, rows.indptr[1:], strict=False)
    return [
        Vectors.sparse(rows.shape[1], rows.indices[a:b].tolist(), rows.data[a:b].tolist())
        for a, b in ends
    ]


def of_vectors(parts):
    """A DataFrame of one column of vectors, with one partition per list."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import types

    numbers = session().sparkContext.parallelize(range(len(parts)), len(parts))
    rows = numbers.flatMap(lambda number: [(vector,) for vector in parts[number]])
    return session().createDataFrame(
        rows, types.StructType([types.StructField("features", VectorUDT())])
    )


def fit(parts, **parameters):
    return PCA(**parameters).fit(frame(parts))


def transform(model, parts):
    scores = model.transform(frame(parts)).select(*model.get_feature_names_out()).toArrow()
    return np.column_stack([column.to_numpy() for column in scores.columns])
