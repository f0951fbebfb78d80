"""Recorded fits of PCA to batches, files and checkpoints."""

# ruff: noqa: C408  (parameters read as they stand in a call)
from __future__ import annotations

import gzip
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from recorded_rows import case, counts_for, results_of, table, to_npy

from princomp import PCA

# ---- streams ------------------------------------------------------------------------


def batches(rows, step=333):
    return lambda: (rows[at : at + step] for at in range(0, rows.shape[0], step))


def streamed(folder, *, of, k=None, once=False, weights=None, **parameters):
    X = table(of)
    sample_weight = None if weights is None else weights(X.shape[0])
    rows = batches(X)() if once else batches(X)
    return results_of(PCA(k, **parameters).fit(rows, sample_weight=sample_weight), X[:7], folder)


STREAMED = {
    "batches": dict(of="long", k=4),
    "batches, float32, full": dict(of="long32", k=4, svd_solver="full"),
    "batches, broad": dict(of="broad", k=4, memory_limit="400MB", svd_solver="covariance_eigh"),
    "batches, lanczos": dict(of="broad", k=4, svd_solver="lanczos"),
    "batches, krylov": dict(of="middle", k=4, svd_solver="krylov"),
    "batches, huge": dict(of="huge", k=4, memory_limit="260MB"),
    "batches, weights": dict(of="long32", k=4, weights=counts_for, scale="range"),
    "batches, unequal": dict(of="unequal"),
    "batches, csr": dict(of="csr large", k=3, svd_solver="krylov"),
    "once": dict(of="long", k=4, once=True),
    "once, huge": dict(of="huge", k=4, once=True, memory_limit="260MB"),
    "once, csr sketch": dict(of="csr large", k=4, once=True, svd_solver="sketch"),
}
for _name, _options in STREAMED.items():
    case(f"stream/{_name}")(partial(streamed, **_options))


# ---- files --------------------------------------------------------------------------


def to_npz(folder, rows):
    sp.save_npz(folder / "rows.npz", rows)
    return folder / "rows.npz"


def to_mtx(folder, rows):
    from scipy.io import mmwrite

    mmwrite(folder / "rows.mtx", rows)
    return folder / "rows.mtx"


def to_csv(folder, rows, repeat=1):
    rows = rows if repeat == 1 else rows.round(2)
    lines = "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    names = ",".join(f"c{i}" for i in range(rows.shape[1]))
    (folder / "rows.csv").write_text(names + "\n" + lines * repeat)
    return folder / "rows.csv"


def to_csv_gz(folder, rows):
    path = to_csv(folder, rows)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    return folder / "rows.csv.gz"


def arrow_table(rows):
    import pyarrow as pa

    return pa.table({f"c{i}": column for i, column in enumerate(np.ascontiguousarray(rows.T))})


def to_parquet(folder, rows):
    from pyarrow.parquet import write_table

    write_table(arrow_table(rows), folder / "rows.parquet", row_group_size=5_000)
    return folder / "rows.parquet"


def to_arrow(folder, rows):
    from pyarrow.feather import write_feather

    write_feather(arrow_table(rows), folder / "rows.arrow", compression="uncompressed")
    return folder / "rows.arrow"


def to_hdf5(folder, rows):
    import h5py

    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("x", data=rows, chunks=(170, min(5, rows.shape[1])))
    return f"{folder / 'rows.h5'}::x"


def to_zarr(folder, rows):
    import zarr

    array = zarr.create_array(folder / "rows.zarr", data=rows, chunks=(200, rows.shape[1]))
    assert array.shape == rows.shape
    return folder / "rows.zarr"


def several(folder, rows):
    for i, (start, stop) in enumerate([(0, 700), (700, 701), (701, len(rows))]):
        np.save(folder / f"part{i}.npy", rows[start:stop])
    return folder / "part*.npy"


def from_file(folder, *, of, write, k=3, **parameters):
    X = table(of)
    path = write(folder, X)
    model = PCA(k, **parameters).fit(path)
    found = results_of(model, sp.csr_array(X)[:7] if sp.issparse(X) else X[:7], folder)
    return {**found, "scores of the file": model.transform(path)[-50:]}


repeated_csv = partial(to_csv, repeat=8)
FILES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "npy": (dict(of="long", write=to_npy), ()),
    "npy, float32, by column": (dict(of="tall32, by column", write=to_npy), ()),
    "npy, krylov": (dict(of="middle", write=to_npy, svd_solver="krylov"), ()),
    "npy, broad": (dict(of="broad", write=to_npy, memory_limit="1GB"), ()),
    "npy, broad, read whole": (dict(of="broad", write=to_npy, memory_limit="60MB"), ()),
    "npy, huge": (dict(of="huge", write=to_npy, memory_limit="120MB"), ()),
    "npy, wide": (dict(of="wide", write=to_npy, memory_limit="1GB"), ()),
    "npy, full": (dict(of="long32", write=to_npy, svd_solver="full", scale="unit"), ()),
    "several": (dict(of="middle32", write=several, scale="pareto"), ()),
    "npz": (dict(of="csr large", write=to_npz, memory_limit="1GB"), ()),
    "npz, krylov": (dict(of="csr large", write=to_npz, svd_solver="krylov"), ()),
    "mtx": (dict(of="csr", write=to_mtx), ()),
    "csv": (dict(of="tall", write=to_csv, k=0.9), ("pyarrow",)),
    "csv.gz": (dict(of="holes", write=to_csv_gz, missing="drop"), ("pyarrow",)),
    "csv, by blocks": (dict(of="long", write=repeated_csv), ("pyarrow",)),
    "parquet": (dict(of="tall32", write=to_parquet), ("pyarrow",)),
    "parquet, em": (dict(of="holes", write=to_parquet, missing="em"), ("pyarrow",)),
    "parquet, by blocks": (dict(of="long", write=lambda folder, rows: to_parquet(
        folder, np.tile(rows, (4, 1)))), ("pyarrow",)),
    "arrow": (dict(of="integers", write=to_arrow), ("pyarrow",)),
    "hdf5": (dict(of="middle", write=to_hdf5), ("h5py",)),
    "zarr": (dict(of="middle32", write=to_zarr, svd_solver="sketch"), ("zarr",)),
}  # fmt: skip
for _name, (_options, _needs) in FILES.items():
    case(f"file/{_name}", *_needs)(partial(from_file, **_options))


class Stopped(Exception):  # noqa: N818  (a signal, not an error)
    """Raised to interrupt a fit."""


@case("file/checkpoint, resumed")
def _(folder):
    path, checkpoint = to_npy(folder, table("middle")), folder / "work.ckpt"

    def stop(progress):
        if progress.number == 2 and progress.done:
            raise Stopped

    model = PCA(4, svd_solver="krylov")
    try:
        model.fit(path, checkpoint=checkpoint, progress=stop)
    except Stopped:
        model.fit(path, checkpoint=checkpoint)
    else:
        raise AssertionError("the fit was not interrupted")
    return results_of(model, table("middle")[:7], folder)
