"""Rows in every form that a fit takes: arrays, files, batches, tables of engines."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from tables import one_of

ENGINES = str(Path(__file__).parents[1] / "engines")

# Probabilities of the forms.
SOURCES = {
    "array": 0.34,
    "fortran": 0.05,
    "reversed": 0.03,
    "strided": 0.03,
    "big endian": 0.02,
    "csr": 0.14,
    "csc": 0.03,
    "npy": 0.05,
    "csv": 0.03,
    "parquet": 0.03,
    "iterator": 0.05,
    "callable": 0.05,
    "dask": 0.03,
    "torch": 0.08,
    "partitions": 0.04,
}
# Forms in which the rows are on an engine.
ON_ENGINES = ("dask", "torch", "partitions")
# Forms of batches.
BATCHES = ("array", "array", "fortran", "csr", "csc", "reversed", "strided", "torch")


def batch_form(rng):
    """A random form of a batch; without torch, an array replaces a tensor."""
    form = one_of(rng, BATCHES)
    return "array" if form == "torch" and importlib.util.find_spec("torch") is None else form


def in_form(rows, form, folder, cuts=()):
    """Rows (n, p) in a form; ``cuts`` are the ends of batches or partitions."""
    return _FORMS[form](rows, folder, cuts)


def scores_on_engine(model, rows, form, cuts):
    """Scores of rows that are on an engine, as an array."""
    if form == "torch":
        return np.asarray(model.transform(_torch(rows, "", cuts)).cpu())
    name = "on_dask" if form == "dask" else "on_partitions"
    if form != "dask" and rows.dtype.char not in "fd":
        rows = rows.astype(np.float64)
    return _engine_function(name, "transform")(model, np.split(rows, cuts))


def _array(rows, folder, cuts):
    return rows


def _fortran(rows, folder, cuts):
    return np.asfortranarray(rows)


def _reversed(rows, folder, cuts):
    return np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1]


def _strided(rows, folder, cuts):
    wide = np.zeros((len(rows), 2 * rows.shape[1]), rows.dtype)
    wide[:, ::2] = rows
    return wide[:, ::2]


def _big_endian(rows, folder, cuts):
    return rows.astype(rows.dtype.newbyteorder(">"))


def _csr(rows, folder, cuts):
    return sp.csr_array(rows if rows.dtype != np.float16 else rows.astype(np.float32))


def _csc(rows, folder, cuts):
    return sp.csc_array(rows if rows.dtype != np.float16 else rows.astype(np.float32))


def _npy(rows, folder, cuts):
    path = Path(folder) / "rows.npy"
    np.save(path, rows)
    return path


def _csv(rows, folder, cuts):
    path = Path(folder) / "rows.csv"
    with path.open("w") as file:
        print(*(f"x{j}" for j in range(rows.shape[1])), sep=",", file=file)
        # Booleans are words in a file of text; as numbers they are what an array makes of them.
        for row in (rows.astype(np.uint8) if rows.dtype == bool else rows).tolist():
            print(*row, sep=",", file=file)
    return path


def _parquet(rows, folder, cuts):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(folder) / "rows.parquet"
    columns = {f"x{j}": np.ascontiguousarray(rows[:, j]) for j in range(rows.shape[1])}
    pq.write_table(pa.table(columns), path)
    return path


def _iterator(rows, folder, cuts):
    return iter([part for part in np.split(rows, cuts) if len(part)])


def _callable(rows, folder, cuts):
    return lambda: _iterator(rows, folder, cuts)


def _engine_function(name, function):
    if ENGINES not in sys.path:
        sys.path.insert(0, ENGINES)
    return getattr(__import__(name), function)


def _on_engine(name, function, rows, cuts):
    return _engine_function(name, function)(np.split(rows, cuts))


def _dask(rows, folder, cuts):
    return _on_engine("on_dask", "chunked", rows, cuts)


def _partitions(rows, folder, cuts):
    if rows.dtype.char not in "fd":
        rows = rows.astype(np.float64)
    return _on_engine("on_partitions", "partitions", rows, cuts)


def _torch(rows, folder, cuts):
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(rows).copy())
    return tensor.cuda() if torch.cuda.is_available() else tensor


_FORMS = {
    "array": _array,
    "fortran": _fortran,
    "reversed": _reversed,
    "strided": _strided,
    "big endian": _big_endian,
    "csr": _csr,
    "csc": _csc,
    "npy": _npy,
    "csv": _csv,
    "parquet": _parquet,
    "iterator": _iterator,
    "callable": _callable,
    "dask": _dask,
    "partitions": _partitions,
    "torch": _torch,
}
