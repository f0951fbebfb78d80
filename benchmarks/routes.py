"""The measurements behind the constants of ``princomp.core.routes``.

Each block times two routes on the same rows, interleaved, and prints their ratio.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp import PCA, Moments
from princomp.engines.local import fold
from princomp.linalg import EPS
from princomp.solvers import dense
from princomp.solvers.scatter_search import search_scatter

ROUNDS = 3


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(name: str, first: Any, second: Any) -> None:
    pairs = [(seconds(first), seconds(second)) for _ in range(ROUNDS)]
    a, b = median(x for x, _ in pairs), median(y for _, y in pairs)
    print(f"{name:<58} {a * 1e3:9.1f} ms {b * 1e3:9.1f} ms  {median(x / y for x, y in pairs):6.2f}")


def decaying(n: int, p: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    low = rng.standard_normal((n, 30)) * np.linspace(5, 1, 30) @ rng.standard_normal((30, p))
    return low / np.sqrt(p) + rng.standard_normal((n, p)) + 3.0


def main() -> None:
    print("LANCZOS_COLUMNS, LANCZOS_SHARE: eigh ÷ Lanczos on a scatter in memory")
    for p in (500, 1000, 2000):
        for kind, rows in (("decaying", decaying(3 * p, p)), ("flat", None)):
            X = rows if rows is not None else np.random.default_rng(1).standard_normal((3 * p, p))
            moments = fold(Moments, X).summary
            for k in (10, p // 20):
                compare(
                    f"  p = {p}, k = {k}, {kind}",
                    lambda m=moments, k=k: dense.solve_moments(m, k),
                    lambda m=moments, k=k: search_scatter(m, k, tol=EPS**0.5),
                )
    print("SMALL_TABLE_SIZE: SVD of wide rows ÷ row Gram")
    for n, p in ((50, 500), (200, 1000), (200, 5000), (500, 2000)):
        X = decaying(n, p)
        compare(
            f"  {n} × {p}, k = 10",
            lambda X=X: PCA(10, svd_solver="full").fit(X),
            lambda X=X: PCA(10, svd_solver="row_gram").fit(X),
        )
    print("SPARSE_SCATTER: scatter ÷ Lanczos on sparse rows (1% stored), k = 10")
    for p in (300, 1000, 2000):
        X = sp.random_array((20_000, p), density=0.01, rng=np.random.default_rng(0), format="csr")
        compare(
            f"  20,000 × {p}",
            lambda X=X: PCA(10, svd_solver="covariance_eigh").fit(X),
            lambda X=X: PCA(10, svd_solver="lanczos").fit(X),
        )


if __name__ == "__main__":
    main()
