"""Bare NumPy and SciPy computations, against which `check.py` and `share.py` measure princomp.

They do what the arithmetic needs and nothing else: no checks, no copies that can be avoided.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import libraries
import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from cases import BATCH, Case, rows_of

from princomp import PCA, KernelPCA

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

PASSES = 6  # of the search with products
GAMMA = 0.01
ROWS_CSV = Path("build/bench/check.csv")

# What `check.py` measures. These take the time of compiled kernels, and are measured with
# PRINCOMP_KERNEL=avx2 too.
KERNEL_CASES = [
    Case(2_000_000, 8, 4, "f64"),
    Case(1_000_000, 20, 5),
    Case(200_000, 100, 10),
    Case(40_000, 400, 10),
    Case(15_000, 700, 10, "f64"),
    Case(15_000, 1_000, 10),
    Case(200_000, 50, 5, "f64", task="weighted"),
    Case(200_000, 100, 10, task="stream"),
    Case(400_000, 50, 10, task="transform"),
    Case(100_000, 200, 10, density=0.05),
    Case(50_000, 5_000, 10, density=0.005),
]
CASES = [
    *KERNEL_CASES,
    Case(100, 10, 2, "f64"),
    Case(1_000, 50, 10),
    Case(100, 10, 2, "f64", task="row"),
    Case(2_000, 2_000, 10),
    Case(6_000, 1_000, 10, "f64", "flat"),
    Case(300, 60_000, 10),
    Case(1_000, 8_000, 10, "f64"),
    Case(1_500, 20, 5, "f64", task="kernel_pca"),
    Case(20_000, 20, 3, "f64", task="csv"),
]


def mean_and_scatter(X: Any) -> tuple[Array, Array]:
    """A product with ones, and XᵀX, which is syrk; moved to the mean afterwards."""
    products = X.T @ X
    return _about_mean(X.shape[0], np.ones(X.shape[0], X.dtype) @ X, products)


def _about_mean(n: float, sums: Array, products: Any) -> tuple[Array, Array]:
    mean = sums / sums.dtype.type(n)
    products = products.toarray() if sp.issparse(products) else products
    products -= np.outer(sums, mean)
    return mean, products


def _largest_eigenpairs(products: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric matrix, and their vectors, descending."""
    p = len(products)
    values, vectors = la.eigh(
        products, subset_by_index=(p - k, p - 1), overwrite_a=True, check_finite=False
    )
    return values[::-1], vectors[:, ::-1]


def by_scatter(X: Any, k: int) -> Array:
    return _largest_eigenpairs(mean_and_scatter(X)[1], k)[0] / (X.shape[0] - 1)


def by_rows(X: Array, k: int) -> Array:
    """Products of rows, fewer than the columns; the axes too."""
    mean = np.ones(len(X), X.dtype) @ X / X.dtype.type(len(X))
    products = X @ X.T
    means = products.mean(axis=0)
    products += means.mean() - means - means[:, None]
    values, vectors = _largest_eigenpairs(products, k)
    axes = vectors.T @ X - np.outer(vectors.sum(axis=0), mean)
    axes /= np.sqrt(values)[:, None]
    return values / (len(X) - 1)


def by_passes(X: Any, k: int) -> Array:
    """Subspace iteration with k + 10 vectors: two products with the rows a pass."""
    n, p = X.shape
    mean = np.ones(n, X.dtype) @ X / X.dtype.type(n)
    start = np.random.default_rng(0).standard_normal((p, k + 10))
    Q, transposed = start.astype(X.dtype), X.T.tocsr() if sp.issparse(X) else X.T
    for _ in range(PASSES):
        images = X @ Q - mean @ Q
        Q = la.qr(transposed @ images, mode="economic", check_finite=False)[0]
    return la.svdvals(X @ Q - mean @ Q)[:k] ** 2 / (n - 1)


def _project(rows: Array, axes: Array, mean: Array) -> Array:
    scores = rows @ axes
    scores -= mean @ axes
    return scores


def _stream(X: Array, k: int) -> Array:
    sums, products = np.zeros(X.shape[1], X.dtype), np.zeros((X.shape[1],) * 2, X.dtype)
    ones = np.ones(BATCH, X.dtype)
    for start in range(0, len(X), BATCH):
        batch = X[start : start + BATCH]
        sums += ones[: len(batch)] @ batch
        products += batch.T @ batch
    return _largest_eigenpairs(_about_mean(len(X), sums, products)[1], k)[0] / (len(X) - 1)


def _weighted(X: Array, weights: Array, buffer: Array, k: int) -> Array:
    total = weights.sum()
    np.multiply(X, weights[:, None], out=buffer)
    return _largest_eigenpairs(_about_mean(total, weights @ X, buffer.T @ X)[1], k)[0] / (total - 1)


def _kernel(X: Array, k: int) -> Array:
    squares = np.einsum("ij,ij->i", X, X)
    kernel = X @ X.T
    kernel *= -2
    kernel += squares + squares[:, None]
    kernel *= -GAMMA
    np.exp(kernel, out=kernel)
    means = kernel.mean(axis=0)
    kernel += means.mean() - means - means[:, None]
    return _largest_eigenpairs(kernel, k)[0]


def _csv(path: Path, k: int) -> Array:
    X = np.loadtxt(path, delimiter=",", skiprows=1)
    mean, scatter = mean_and_scatter(X)
    return _project(X, _largest_eigenpairs(scatter, k)[1], mean)


def calls_of(case: Case) -> tuple[Call, Call]:
    """princomp's call and the bare one: they return variances, scores, or an Answer of them."""
    X, k = rows_of(case), case.components
    if case.task == "weighted":
        weights = np.random.default_rng(0).integers(1, 4, case.n).astype(X.dtype)
        bare = partial(_weighted, X, weights, np.empty_like(X), k)
        return lambda: PCA(k).fit(X, sample_weight=weights).explained_variance_, bare
    if case.task == "kernel_pca":
        model = partial(KernelPCA, k, kernel="rbf", gamma=GAMMA)
        return lambda: model().fit(X).eigenvalues_, partial(_kernel, X, k)
    if case.task == "csv":
        names = ",".join(f"c{j}" for j in range(case.p))
        ROWS_CSV.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(ROWS_CSV, X, fmt="%.9g", delimiter=",", header=names, comments="")
        return lambda: PCA(k).fit_transform(ROWS_CSV), partial(_csv, ROWS_CSV, k)
    ours = libraries.princomp(case, X)["princomp"]
    if case.task in ("transform", "row"):
        fitted = PCA(k).fit(X)
        rows = X[:1] if case.task == "row" else X
        return ours, partial(_project, rows, np.asfortranarray(fitted.components_.T), fitted.mean_)
    return ours, partial(_bare_fit(case), X, k)


def _bare_fit(case: Case) -> Callable[[Any, int], Array]:
    """The quickest of the bare computations for this shape."""
    if case.task == "stream":
        return _stream
    if min(case.n, case.p) > 1_000:
        return by_passes
    return by_rows if case.n < case.p else by_scatter
