"""Tables of recorded fits, the register of cases, and what is recorded of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from princomp import PCA, load


class Case(NamedTuple):
    """A recorded fit: a function of its own folder, and the libraries that it needs."""

    run: Callable[[Any], dict[str, Any]]
    needs: tuple[str, ...] = ()


CASES: dict[str, Case] = {}


def case(name, *needs):
    def add(run):
        assert name not in CASES, name
        CASES[name] = Case(run, needs)
        return run

    return add


# ---- tables -------------------------------------------------------------------------


def decaying(n, p, rate=0.8, seed=0, dtype=np.float64):
    """Rows whose variances fall, about means that are not zero."""
    rng = np.random.default_rng(seed)
    k = min(p, 30)
    basis = np.linalg.qr(rng.standard_normal((p, k)))[0]
    rows = (rng.standard_normal((n, k)) * 5 * rate ** np.arange(k)) @ basis.T
    rows += 0.05 * rng.standard_normal((n, p)) + np.linspace(-3, 7, p)
    return rows.astype(dtype)


def scattered(n, p, density, seed=1):
    rng = np.random.default_rng(seed)
    rows = sp.random_array((n, p), density=density, rng=rng, format="csr")
    first = sp.csr_array(np.where(rng.random((n, 3)) < 0.2, rng.normal(3, 2, (n, 3)), 0))
    return sp.hstack([first, rows[:, 3:]], format="csr")


def with_missing_cells(rows, share=0.05, seed=2):
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


def unequal(n, p, dtype):
    """Columns so unequal that their squares do not resolve the last ones."""
    rng = np.random.default_rng(3)
    return (rng.standard_normal((n, p)) * 10.0 ** -np.arange(p)).astype(dtype)


def repeated():
    """Rows with variances that occur twice."""
    rng = np.random.default_rng(4)
    left = np.linalg.qr(rng.standard_normal((80, 6)) - 0.0)[0]
    return left * [4, 4, 2, 2, 1, 1] @ np.linalg.qr(rng.standard_normal((6, 6)))[0]


MAKERS: dict[str, Callable[[], Any]] = {
    "tall": lambda: decaying(400, 12),
    "tall32": lambda: decaying(400, 12, dtype=np.float32),
    "tall, by column": lambda: np.asfortranarray(decaying(400, 12)),
    "tall32, by column": lambda: np.asfortranarray(decaying(400, 12, dtype=np.float32)),
    "every other": lambda: decaying(800, 24)[::2, ::2],
    "integers": lambda: (10 * decaying(300, 9)).astype(np.int64),
    "small integers": lambda: np.random.default_rng(5).integers(0, 255, (300, 9)).astype(np.uint8),
    "half": lambda: decaying(300, 9).astype(np.float16),
    "square": lambda: decaying(60, 60, 0.95),
    "long": lambda: decaying(30_000, 40),
    "long32": lambda: decaying(30_000, 40, dtype=np.float32),
    "middle": lambda: decaying(3_000, 220, 0.9),
    "middle32": lambda: decaying(3_000, 220, 0.9, dtype=np.float32),
    "small wide": lambda: decaying(30, 200),
    "wide": lambda: decaying(110, 2_600),
    "wide32": lambda: decaying(110, 2_600, dtype=np.float32),
    "large wide": lambda: decaying(720, 900),
    "broad": lambda: decaying(1_700, 1_500, dtype=np.float32),
    "huge": lambda: decaying(12_000, 1_500, dtype=np.float32),
    "broad noise": lambda: np.random.default_rng(6).standard_normal((1_600, 1_500)),
    "csr": lambda: scattered(500, 60, 0.1),
    "csr32": lambda: scattered(500, 60, 0.1).astype(np.float32),
    "csc": lambda: sp.csc_array(scattered(500, 60, 0.1)),
    "coo": lambda: sp.coo_matrix(scattered(500, 60, 0.1)),
    "csr wide": lambda: scattered(300, 3_000, 0.02),
    "csr large": lambda: scattered(2_300, 2_600, 0.01),
    "holes": lambda: with_missing_cells(decaying(200, 8)),
    "holes32": lambda: with_missing_cells(decaying(200, 8, dtype=np.float32)),
    "far": lambda: decaying(500, 6) + 1e7,
    "far32": lambda: (decaying(500, 6) + 1e4).astype(np.float32),
    "unequal": lambda: unequal(600, 10, np.float64),
    "unequal32": lambda: unequal(600, 10, np.float32),
    "dependent": lambda: np.column_stack([decaying(100, 4), decaying(100, 4).sum(axis=1)]),
    "repeated": repeated,
    "one column": lambda: decaying(50, 1),
    "two rows": lambda: decaying(2, 5),
}


@cache
def table(name):
    rows = MAKERS[name]()
    if isinstance(rows, np.ndarray):
        rows.flags.writeable = False
    return rows


def counts_for(n):
    return np.random.default_rng(7).integers(0, 4, n)


def shares_for(n):
    return np.random.default_rng(8).uniform(0.2, 3, n)


# ---- what is recorded of a model ----------------------------------------------------


def results_of(model, rows, folder):
    """A model, its results for some rows, and those of the model loaded from a file."""
    scores = model.transform(rows)
    found = {"model": model, "scores": scores, "back": model.inverse_transform(scores)}
    if not np.isnan(scores).any() and rows.shape[1] <= 250:
        found["samples"] = model.score_samples(rows)
        found["covariance"], found["precision"] = model.get_covariance(), model.get_precision()
    return {**found, **results_after_saving(model, rows, folder)}


def results_after_saving(model, rows, folder):
    model.save(folder / "model.pca")
    again = load(folder / "model.pca")
    # In a list the attributes are one field: they are recorded one by one already.
    return {"loaded": [again], "loaded scores": again.transform(rows)}


def in_memory(folder, *, of, k=None, weights=None, **parameters):
    X = table(of)
    sample_weight = None if weights is None else weights(X.shape[0])
    model = PCA(k, **parameters).fit(X, sample_weight=sample_weight)
    return results_of(model, X[:7] if sp.issparse(X) is False else sp.csr_array(X)[:7], folder)


def to_npy(folder, rows):
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


NYSTROM = {"kernel": "rbf", "gamma": 0.01, "approximation": "nystrom"}
