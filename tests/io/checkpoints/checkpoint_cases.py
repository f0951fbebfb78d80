"""Inputs, routes and checks shared by the tests in this folder."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from faults.disk import Stopped, contents, stop_after
from princomp import PCA

N, P = 2_600, 12  # ten blocks of 256 rows, and one of 40


def table(dtype=np.float64):
    rng = np.random.default_rng(11)
    turn = np.linalg.qr(rng.standard_normal((P, P)))[0]
    return (rng.standard_normal((N, P)) * 0.7 ** np.arange(P) @ turn + 5).astype(dtype)


def ill_scaled(dtype=np.float32):
    """Columns so different in scale that float32, then float64 products lose the last ones."""
    rng = np.random.default_rng(12)
    return (rng.standard_normal((N, P)) * 10.0 ** -np.arange(P)).astype(dtype)


def collinear():
    """Two columns that differ only in float64, for any scale."""
    X = table()
    X[:, 1] = X[:, 0] + 1e-10 * X[:, 1]
    return X


def with_missing():
    X = table()
    X[np.random.default_rng(13).integers(0, N, 60), 3] = np.nan
    return X


def npy(folder, X):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def several_files(folder, X):
    cuts = [0, 700, 701, 1_100, len(X)]
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        np.save(folder / f"part{i}.npy", X[a:b])
    return folder / "part*.npy"


def csv(folder, X):
    # Seventeen digits, so that the file holds the same numbers.
    pd.DataFrame(X).add_prefix("c").to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    return folder / "rows.csv"


def several_csv(folder, X):
    """Files whose numbers of rows are unknown before they are read."""
    frame = pd.DataFrame(X).add_prefix("c")
    frame[:500].to_csv(folder / "a.csv", index=False, float_format="%.17g")
    frame[500:].to_csv(folder / "b.csv.gz", index=False, float_format="%.17g")
    return [folder / "a.csv", folder / "b.csv.gz"]


def parquet(folder, X):
    frame = pd.DataFrame(X).add_prefix("c")
    frame.to_parquet(folder / "rows.parquet", row_group_size=300)
    return folder / "rows.parquet"


def hdf5(folder, X):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(170, 5))
    return f"{folder / 'rows.h5'}::x"


def callable_batches(_, X):
    return lambda: (X[start : start + 333] for start in range(0, len(X), 333))


def in_memory(_, X):
    return X


def fortran(_, X):
    return np.asfortranarray(X)


def frame(_, X):
    return pd.DataFrame(X).add_prefix("c")


def sparse(_, X):
    return sp.csr_array(np.where(np.abs(X - 5) > 0.5, X, 0))


INPUTS = [
    several_files,
    csv,
    several_csv,
    parquet,
    hdf5,
    callable_batches,
    in_memory,
    fortran,
    frame,
    sparse,
]


WEIGHTS = np.random.default_rng(14).integers(0, 3, N)

# Options, rows and weights of each route through a fit that stores its own kind of state.
ROUTES = {
    "moments": ({}, table(), None),
    "moments of float32": ({"n_components": 2}, table(np.float32), None),
    "products in float64, then the triangle": ({}, ill_scaled(), None),
    "the triangle after float64": ({}, ill_scaled(np.float64), None),
    "triangle": ({"svd_solver": "full"}, table(), None),
    "triangle with weights": ({"svd_solver": "full"}, table(), WEIGHTS),
    "krylov": ({"svd_solver": "krylov", "n_components": 2}, table(), None),
    "krylov of float32": ({"svd_solver": "krylov", "n_components": 2}, table(np.float32), None),
    "krylov to a fraction": ({"svd_solver": "krylov", "n_components": 0.9}, table(), WEIGHTS),
    "krylov, scaled": (
        {"svd_solver": "krylov", "n_components": 1, "scale": "unit"},
        with_missing(),
        None,
    ),
    "sketch": ({"svd_solver": "sketch", "n_components": 2}, table(), None),
    "sketch of ranges": (
        {"svd_solver": "sketch", "n_components": 2, "scale": "range"},
        table(),
        WEIGHTS,
    ),
    "ranges": ({"scale": "range"}, table(), None),
    "ranges, then the triangle": ({"scale": "range"}, collinear(), None),
    "rows with holes": ({"missing": "drop"}, with_missing(), None),
    "rows with holes and ranges": ({"missing": "drop", "scale": "range"}, with_missing(), WEIGHTS),
    "weights": ({"n_components": "mle"}, table(), WEIGHTS),
    "lanczos on the scatter": ({"svd_solver": "arpack", "n_components": 2}, table(), None),
}

for _options, _X, _ in ROUTES.values():
    if np.isnan(_X).any():
        _options.setdefault("missing", "drop")


def fit(X, options, weights=None, **more):
    return PCA(**options).fit(X, sample_weight=weights, **more)


def run_stopped_after_each_report(make_input, options, weights, ck):
    """Fit, stopping after each report and resuming; return the model and (number, rows, done)s."""
    reports_seen = []
    for _ in range(1_000):
        reports, callback = stop_after(1)
        try:
            model = fit(make_input(), options, weights, progress=callback, checkpoint=ck)
        except Stopped:
            (report,) = reports
            reports_seen.append((report.number, report.rows, report.done))
            continue
        assert not reports
        return model, reports_seen
    raise AssertionError("no progress")


def _start_and_stop(X, ck, options=None, weights=None):
    with pytest.raises(Stopped):
        fit(X, options or {"n_components": 2}, weights, progress=stop_after(3)[1], checkpoint=ck)
    return contents(ck.parent)
