"""A fit on a Spark cluster of two executors, one of which is killed in mid-partition.

    python lost_executor.py FOLDER

Prints the variances and the number of rows as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from princomp import PCA

folder = Path(sys.argv[1])
os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def rows(batches):
    import pyarrow as pa

    for batch in batches:
        for number in batch.column(0).to_pylist():
            made = np.random.default_rng(number).standard_normal((200, 5)) * np.linspace(3, 1, 5)
            yield pa.RecordBatch.from_arrays([pa.array(c) for c in made.T], list("abcde"))
            if number == 5:
                try:
                    os.close(os.open(folder / "killed", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                # The parent of this worker is a daemon, whose parent is the executor's JVM.
                os.kill(parent_of(os.getppid()), signal.SIGKILL)


frame = spark.range(0, 8, 1, 8).mapInArrow(rows, "a double, b double, c double, d double, e double")
model = PCA(2, svd_solver=sys.argv[2]).fit(frame)
print(json.dumps([model.explained_variance_.tolist(), model.n_samples_]))
spark.stop()
