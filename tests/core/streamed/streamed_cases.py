"""Rows, models and checks that the tests in this folder share."""

from __future__ import annotations

import gzip

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
import zarr

ROWS, COLUMNS = 700, 6

NAMES = list("abcdef")


def save_csv(path, table, names=NAMES):
    text = ",".join(names) + "\n" + "".join(",".join(map(repr, r)) + "\n" for r in table.tolist())
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text)
    return path


def save(path, table):
    """A table as a file of the kind that its name says, in several groups of rows."""
    names, chunks = NAMES[: table.shape[1]], (min(37, len(table)), min(4, table.shape[1]))
    if ".csv" in path.name:
        return save_csv(path, table, names)
    if path.suffix == ".npy":
        np.save(path, np.asfortranarray(table) if "fortran" in path.name else table)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=table, chunks=chunks)
    elif path.suffix == ".zarr":
        zarr.create_array(str(path), data=table, chunks=chunks)
    else:
        frame = pa.table(dict(zip(names, map(np.ascontiguousarray, table.T), strict=True)))
        if path.suffix == ".parquet":
            pq.write_table(frame, path, row_group_size=129)
        else:
            with pa.ipc.new_file(path, frame.schema) as file:
                file.write_table(frame, max_chunksize=91)
    return path


KINDS = ["c.npy", "fortran.npy", "x.parquet", "x.csv", "x.csv.gz", "x.arrow", "x.h5", "x.zarr"]

KEEP_FLOAT32 = [kind for kind in KINDS if ".csv" not in kind]

every_kind = pytest.mark.parametrize("kind", KINDS)


def assert_same_bits(one, other):
    for name in ("explained_variance_", "components_", "mean_", "total_variance_"):
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), f"{name} differs by {np.abs(a - b).max():.1e}"
    assert (one.n_samples_, one.n_dropped_) == (other.n_samples_, other.n_dropped_)


def batches_of(table, step):
    return (table[i : i + step] for i in range(0, len(table), step))
