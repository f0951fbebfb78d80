"""Small files of each format that princomp reads, written in many parts, and small chunks."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import zarr

from faults.disk import save_every_block, small_blocks
from princomp.io.readers import (
    chunk_plan,
    columnar_stream,
    delimited_stream,
    h5ad as h5ad_reader,
    numpy_file,
)

PART = 300  # rows of a row group, record batch or tile


def rows(seed):
    return np.random.default_rng(seed).standard_normal((1200, 4)) * [4, 3, 2, 1]


def set_up_script():
    """Use small blocks and chunks, report and save after each block, and ignore warnings."""
    warnings.simplefilter("ignore")
    patch = pytest.MonkeyPatch()
    save_every_block(patch)
    small_blocks(patch)
    small_chunks(patch)


def small_chunks(patch):
    """Read a few hundred rows at a time."""
    for module, sizes in {
        numpy_file: {"NUMBERS_PER_CHUNK": 1000},
        columnar_stream: {
            "NUMBERS_PER_CHUNK": 1000,
            "NUMBERS_PER_DECODED_BATCH": 1000,
            "MIN_NUMBERS_PER_BATCH": 8,
            "INSPECTED_ROWS": 300,
        },
        delimited_stream: {
            "HEAD_BYTES": 1 << 12,
            "MIN_PIECE_BYTES": 1 << 11,
            "MAX_PIECE_BYTES": 1 << 12,
        },
        chunk_plan: {
            "NUMBERS_PER_CHUNK": 1000,
            "MAX_BAND_BYTES": 10_000,
            "PARTIAL_READ_BYTES": 5000,
        },
        h5ad_reader: {"NUMBERS_PER_CHUNK": 1000, "ROW_ENDS_PER_READ": 100},
    }.items():
        for name, size in sizes.items():
            patch.setattr(module, name, size)


def delimited(path, X, names):
    """Write lines of 8 bytes, so that a file truncated after a block of bytes looks complete."""
    pd.DataFrame(np.abs(X).astype(int) % 10, columns=names).to_csv(path, index=False)


def npy(path, X, names):
    with path.open("wb") as file:
        np.save(file, X)


def npz(path, X, names):
    with path.open("wb") as file:
        np.savez(file, X)


def mtx(path, X, names):
    with path.open("wb") as file:
        scipy.io.mmwrite(file, sp.coo_array(np.where(X > 0, X, 0)), precision=17)


def arrow(path, X, names):
    table = pa.table(dict(zip(names, X.T, strict=True)))
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=PART)


def parquet(path, X, names):
    table = pa.table(dict(zip(names, X.T, strict=True)))
    pq.write_table(table, path, row_group_size=PART)


def hdf5(path, X, names):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, chunks=(PART, X.shape[1])).attrs["columns"] = names


def h5ad(path, X, names):
    rows = sp.csr_array(np.where(X > 0, X, 0))
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = X.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(rows, part)


def zarr_folder(path, X, names):
    array = zarr.create_array(path, data=X, chunks=(PART, X.shape[1]), overwrite=True)
    array.attrs["columns"] = names


def zarr_zip(path, X, names):
    with zarr.storage.ZipStore(path, mode="w") as store:
        zarr.create_array(store, data=X, chunks=(PART, X.shape[1])).attrs["columns"] = names


# By extension: the writer, and the file to change if the format is a folder.
INPUTS = {
    "csv": (delimited, ""),
    "csv.gz": (delimited, ""),
    "npy": (npy, ""),
    "npz": (npz, ""),
    "mtx": (mtx, ""),
    "arrow": (arrow, ""),
    "parquet": (parquet, ""),
    "h5": (hdf5, ""),
    "h5ad": (h5ad, ""),
    "zarr": (zarr_folder, "c/2/0"),
    "zarr.zip": (zarr_zip, ""),
}
# Formats whose small files are read whole, and larger ones in chunks.
READ_WHOLE = ("csv", "csv.gz", "arrow", "parquet")
