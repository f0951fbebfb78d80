"""
Larger than memory
==================

A table of 100 GB does not fit in memory, and a PCA does not need it there: one pass over the rows
is enough, because all that has to be kept is a summary of p × p numbers. Here we write a small
table of a million rows and let the fit use much less memory than the table takes.
"""

# %%
# A table in several files
# ------------------------
# Thirty sensors follow three hidden processes, plus noise. Ten Parquet files of 100,000 rows
# each:

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
mixing = rng.standard_normal((3, 30)) * [[4], [2], [1]]
names = [f"sensor{i:02}" for i in range(30)]
for part in range(10):
    rows = rng.standard_normal((100_000, 3)) @ mixing + rng.standard_normal((100_000, 30)) + 100
    pq.write_table(pa.table(dict(zip(names, rows.T, strict=True))), folder / f"part-{part}.parquet")
size = sum(file.stat().st_size for file in folder.iterdir())
print(f"{size / 1e6:.0f} MB in {len(list(folder.iterdir()))} files")

# %%
# Ask before you start
# --------------------
# ``plan`` opens the files, reads no rows, and says what a fit would do, how often it would read
# the files, and how much memory it would take:

from princomp import PCA, plan

print(plan(str(folder / "part-*.parquet"), n_components=3, memory_limit="200MB"))

# %%
# Fit
# ---
# A wildcard is one table. The columns of the files are matched by name. ``memory_limit`` is what
# the fit may take beyond what is there; a fit that needs more fails *before* it reads anything.

model = PCA(3, memory_limit="200MB").fit(str(folder / "part-*.parquet"))
print(model.n_samples_, model.explained_variance_ratio_.round(3))

# %%
# Three components hold nearly everything, as they should. Were the variances found exactly? The
# certificate says how exact the solution is for the summary. To check the summary as well, read
# the rows once more:

print(model.verify(str(folder / "part-*.parquet")))

# %%
# Scores in batches
# -----------------
# The scores of a million rows may be too large as well. ``transform`` takes any batch; the
# command line writes file after file: ``princomp transform model.pca 'part-*.parquet' -o
# scores.parquet``.

for batch in pq.ParquetFile(folder / "part-0.parquet").iter_batches(50_000):
    print(model.transform(pa.Table.from_batches([batch])).shape)

# %%
# If it is interrupted
# --------------------
# With ``checkpoint`` the work so far is saved every 30 seconds. After a crash, make the same call
# again: it continues, and the result is the same to the last bit.

checked = PCA(3, memory_limit="200MB").fit(
    str(folder / "part-*.parquet"), checkpoint=folder / "work.ckpt"
)
assert (checked.components_ == model.components_).all()

# %%
# Rows from a program
# -------------------
# Not in files? A function that returns a new iterator of batches is a table, too. The division
# into batches does not change the result, not even the last bit:


def batches():
    """Read a quarter of a file at a time."""
    for part in range(10):
        yield from pq.ParquetFile(folder / f"part-{part}.parquet").iter_batches(25_000)


streamed = PCA(3, memory_limit="200MB").fit(batches)
assert (streamed.components_ == model.components_).all()

# %%
# Many columns
# ------------
# With 50,000 columns p × p numbers are 20 GB. Then princomp reads the rows a few times and keeps
# a few times p × k numbers instead. The plan says so. (It does not read the rows, so an empty
# file will do.)

wide = np.lib.format.open_memmap(folder / "wide.npy", mode="w+", dtype="f4", shape=(20_000, 50_000))
del wide
print(plan(folder / "wide.npy", n_components=5, memory_limit="1GB"))

# %%
# For rows that can be read only once, such as standard input, there is a sketch in one pass,
# whose certificate has an estimate of its error. :doc:`/explain/routes` has all routes.

import shutil

shutil.rmtree(folder)
