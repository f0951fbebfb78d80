"""How close the mean and scatter of rows in memory come to the machine's limits.

    python benchmarks/run.py share           # share.json and share.png in build/bench

A share is the bound of `bound.py` divided by the time: the bound is the time of reading the rows
once or of half the products of their columns, whichever is longer. Methods take turns in one
process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from bound import Machine, bound
from cases import Case, rows_of
from check import interleaved
from measure import quartiles
from rich.table import Table
from yardsticks import mean_and_scatter

from princomp.engines import fold
from princomp.summaries import Moments

# Columns, evenly spaced by their logarithms.
WIDTHS = (8, 12, 20, 32, 50, 80, 128, 200, 320, 500, 700, 1_000, 1_400, 2_000, 2_800, 4_000)
N_NUMBERS = 2**26  # of each table: 256 MiB in float32, more than most caches
# With a fraction of the variance, `bound` assumes half the Gram matrix for any shape.
COMPONENTS = 0.9
# Seconds before each call: the threads of the call before wait in loops for a while.
PAUSE = 0.05


def methods(X: np.ndarray[Any, Any]) -> dict[str, Callable[[], Any]]:
    """Each library's way to a mean and a scatter, or a covariance, of all rows."""
    calls: dict[str, Callable[[], Any]] = {
        "princomp": lambda: fold(Moments, X).summary,
        "scikit-learn covariance_eigh": lambda: _sklearn(X),
        "bare syrk and mean": lambda: mean_and_scatter(X),
    }
    try:
        from sklearnex.covariance import IncrementalEmpiricalCovariance
    except ImportError:
        return calls
    # A fit would cut the rows into small batches; one batch is what oneDAL's PCA does.
    calls["oneDAL"] = lambda: IncrementalEmpiricalCovariance(copy=False).partial_fit(X).covariance_
    return calls


def _sklearn(X: np.ndarray[Any, Any]) -> Any:
    """Fit with ``eigh`` replaced, because eigenvectors are not measured here."""
    from sklearn.decomposition import PCA

    def identity_eigh(C: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        return np.ones(len(C), C.dtype), C

    with mock.patch.object(np.linalg, "eigh", identity_eigh):
        return PCA(1, svd_solver="covariance_eigh").fit(X)


def run(
    machine: Machine, budget: float, widths: tuple[int, ...] = WIDTHS, numbers: int = N_NUMBERS
) -> list[dict[str, Any]]:
    """The share of each method by width and precision; `budget` is the seconds of one table."""
    results = []
    for floats in ("f32", "f64"):
        for p in widths:
            case = Case(numbers // p, p, COMPONENTS, floats, "flat")
            X = rows_of(case)
            lower_bound = bound(case, X.size, machine)
            times = interleaved(methods(X), budget, pause=PAUSE)
            measured = {}
            for name, seconds in times.items():
                q1, middle, q3 = quartiles(seconds)
                share = lower_bound["seconds"] / middle
                measured[name] = {"share": share, "median": middle, "q1": q1, "q3": q3}
            results.append(
                {"n": case.n, "p": p, "floats": floats, "bound": lower_bound, "methods": measured}
            )
            print(f"{case.n} x {p} {floats}: {measured['princomp']['share']:.0%}", flush=True)
    return results


def table(results: list[dict[str, Any]]) -> Table:
    """One line per measured table, one column per method."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    names = list(results[0]["methods"])
    for name in ("rows × columns", "bound", *names):
        grid.add_column(name, justify="right")
    for result in results:
        limit = (
            "reading" if result["bound"]["bytes_s"] >= result["bound"]["flops_s"] else "arithmetic"
        )
        shares = [f"{result['methods'][name]['share']:.0%}" for name in names]
        grid.add_row(f"{result['n']:,} × {result['p']:,} {result['floats']}", limit, *shares)
    return grid
