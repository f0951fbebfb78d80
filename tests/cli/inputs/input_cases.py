"""Rows, models and checks that the tests in this folder share."""

from __future__ import annotations

import gzip
import io

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp
import zarr

from helpers import EPS, aligned, truth

NAMES = ("a", "b", "c")

IDS = [f"row {i}" for i in range(40)]


def random_table(seed=5, n=40, zeros=False):
    """Rows with three decimals; with ``zeros``, about a third of the cells are zero."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)) * [9.0, 4.0, 1.0] + [1.0, -2.0, 30.0], 3)
    return np.where(rng.random(X.shape) < 0.35, 0.0, X) if zeros else X


def as_text(X, sep=",", columns=NAMES, ids=None):
    rows = [sep.join(map(repr, row)) for row in X.tolist()]
    lines = [sep.join(columns), *rows]
    if ids is not None:
        lines = [sep.join(pair) for pair in zip(["id", *ids], lines, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def as_arrow(X, columns=NAMES, ids=None):
    named = {} if ids is None else {"id": list(ids)}
    return pa.table({**named, **{name: X[:, j] for j, name in enumerate(columns)}})


def as_npy(X):
    buffer = io.BytesIO()
    np.save(buffer, X)
    return buffer.getvalue()


def _hdf5(path, X):
    with h5py.File(path, "w") as file:
        file["other/text"] = ["x"]
        file["group/x"] = X


def _h5ad(path, X, columns, ids):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X).attrs["encoding-type"] = "array"
        for frame, names in (("var", columns), ("obs", ids or IDS[: len(X)])):
            group = file.create_group(frame)
            group.attrs["_index"] = "_index"
            group["_index"] = list(names)


def _zarr(path, X):
    zipped = path.name.endswith(".zip")
    store = zarr.storage.ZipStore(path, mode="w") if zipped else zarr.storage.LocalStore(path)
    zarr.create_array(store, data=X, chunks=(16, 2))
    store.close()


WRITERS = {
    "csv": lambda path, X, named: path.write_bytes(as_text(X, **named)),
    "csv.gz": lambda path, X, named: path.write_bytes(gzip.compress(as_text(X, **named), mtime=0)),
    "csv.zst": lambda path, X, named: path.write_bytes(
        pa.compress(as_text(X, **named), "zstd", asbytes=True)
    ),
    "tsv": lambda path, X, named: path.write_bytes(as_text(X, "\t", **named)),
    "tsv.gz": lambda path, X, named: path.write_bytes(
        gzip.compress(as_text(X, "\t", **named), mtime=0)
    ),
    "tsv.zst": lambda path, X, named: path.write_bytes(
        pa.compress(as_text(X, "\t", **named), "zstd", asbytes=True)
    ),
    "parquet": lambda path, X, named: pyarrow.parquet.write_table(
        as_arrow(X, **named), path, row_group_size=16
    ),
    "arrow": lambda path, X, named: pyarrow.feather.write_feather(
        as_arrow(X, **named), path, compression="uncompressed", chunksize=16
    ),
    "feather": lambda path, X, named: pyarrow.feather.write_feather(as_arrow(X, **named), path),
    "npy": lambda path, X, named: np.save(path, X),
    "npz": lambda path, X, named: np.savez(path, x=X, y=np.arange(3.0)),
    "sparse.npz": lambda path, X, named: sp.save_npz(path, sp.csr_array(X)),
    "mtx": lambda path, X, named: scipy.io.mmwrite(path, X),
    "sparse.mtx": lambda path, X, named: scipy.io.mmwrite(path, sp.coo_array(X)),
    "mtx.gz": lambda path, X, named: _write_mtx_gz(path, sp.coo_array(X)),
    "h5": lambda path, X, named: _hdf5(path, X),
    "h5ad": lambda path, X, named: _h5ad(path, X, named.get("columns", NAMES), named.get("ids")),
    "zarr": lambda path, X, named: _zarr(path, X),
    "zarr.zip": lambda path, X, named: _zarr(path, X),
}

INNER_PATH = {"npz": "::x", "h5": "::/group/x"}

WITH_NAMES = [kind for kind in WRITERS if kind.startswith(("csv", "tsv"))] + [
    "parquet",
    "arrow",
    "feather",
    "h5ad",
]

# Kinds whose small files are read whole and large ones in chunks.
STREAMED = [kind for kind in WITH_NAMES if kind != "h5ad"]


def _write_mtx_gz(path, matrix):
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, matrix)
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))


def write_table(folder, kind, X, stem="t", **named):
    """Write a table; return its name on the command line."""
    path = folder / f"{stem}.{kind}"
    WRITERS[kind](path, X, named)
    return path.name + INNER_PATH.get(kind, "")


def tolerance(X):
    """Error bound of variances: n + p roundings of the squared length of the longest row."""
    n, p = X.shape
    return 4 * (n + p) * EPS * float((X**2).sum(axis=1).max())


def assert_correct(X, document=None, scores=None, divisor=None):
    """Compare variances and scores of all components with the SVD of the centred rows."""
    variances, axes = truth(X, divisor=divisor)
    tol = tolerance(X)
    if document is not None:
        np.testing.assert_allclose(document["eigenvalues"], variances, rtol=0, atol=tol)
    if scores is not None:
        rows = X - X.mean(axis=0)
        expected = rows @ axes.T
        # The error of the axes is that of the scatter over the smallest gap between variances.
        gap = np.abs(np.diff(variances)).min()
        length = np.abs(rows).max() * np.sqrt(X.shape[1])
        np.testing.assert_allclose(
            aligned(expected.T, np.asarray(scores).T).T,
            expected,
            rtol=0,
            atol=4 * length * tol / gap,
        )


# Kinds that can be truncated. A text file truncated after a row is still a valid table, but
# MatrixMarket states its number of entries.
TRUNCATED_KINDS = [kind for kind in WRITERS if kind != "zarr"]
