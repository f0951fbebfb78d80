"""The float64 truth of a case, and how far an answer is from it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import MEAN, SEED, Case

Array = np.ndarray[Any, Any]

MIN_GAP = 0.01  # (λ_k − λ_k+1)/λ_k from which on the axes are a question with an answer
MAX_VARIANCE_ERROR = 1e-3  # a worst variance error up to which an answer may be the best
N_SCORES = 1_000  # rows whose scores are compared


@dataclass(frozen=True)
class Truth:
    """Variances (k + 1 of them where there are as many), k axes as rows, and some scores."""

    variances: Array
    axes: Array
    scores: Array

    @property
    def gap(self) -> float:
        """Of the variances after the last axis, relative to the last; 0 where none follows."""
        k = len(self.axes)
        if len(self.variances) <= k:
            return 0.0
        return float(1 - self.variances[k] / self.variances[k - 1])


def component_count(variances: Array, total: float, k: float) -> int:
    """How many components a share of the variance asks for; a number is itself."""
    if k >= 1:
        return int(k)
    return int(np.searchsorted(np.cumsum(variances) / total, k, side="right")) + 1


def _mean(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / X.shape[0]
    total = np.zeros(X.shape[1])
    step = max(1, 2**21 // X.shape[1])
    for start in range(0, len(X), step):
        total += (X[start : start + step] - MEAN).sum(axis=0, dtype=np.float64)
    return total / len(X) + MEAN


def _gram(X: Array, mean: Array, by_rows: bool) -> Array:
    """The float64 products of the centred columns, or of the centred rows."""
    side = X.shape[0] if by_rows else X.shape[1]
    gram = np.zeros((side, side))
    step = max(1, 2**22 // side)
    for start in range(0, X.shape[1] if by_rows else X.shape[0], step):
        chunk = slice(start, start + step)
        if by_rows:
            block = X[:, chunk] - mean[chunk]
            gram += block @ block.T
        else:
            block = X[chunk] - mean
            gram += block.T @ block
    return gram


def _largest_eigenpairs(gram: Array, count: int) -> tuple[Array, Array]:
    size = len(gram)
    count = min(count, size)
    values, vectors = la.eigh(gram, subset_by_index=(size - count, size - 1))
    return values[::-1], vectors[:, ::-1]


def _sparse_eigenpairs(X: sp.csr_array, mean: Array, count: int) -> tuple[Array, Array]:
    """Scatter's first values and axes, by Lanczos on the shorter side."""
    A = X.astype(np.float64)
    At = sp.csr_array(A.T)
    n, p = A.shape

    def multiply(v: Array) -> Array:
        return A @ v - mean @ v

    def multiply_transposed(u: Array) -> Array:
        return At @ u - mean * u.sum()

    wide = n < p
    product = (
        (lambda u: multiply(multiply_transposed(u)))
        if wide
        else (lambda v: multiply_transposed(multiply(v)))
    )
    size = min(n, p)
    operator = sla.LinearOperator((size, size), matvec=lambda v: product(v.ravel()), dtype=float)
    start = np.random.default_rng(0).standard_normal(size)
    n_vectors = min(size - 1, max(5 * count, 100))
    values, vectors = sla.eigsh(operator, k=count, ncv=n_vectors, tol=1e-13, v0=start)
    order = values.argsort()[::-1]
    values, vectors = values[order], vectors[:, order]
    if wide:
        vectors = np.column_stack([multiply_transposed(u) for u in vectors.T])
    return values, (vectors / np.linalg.norm(vectors, axis=0)).T


def solve(case: Case, X: Any, mean: Array | None = None) -> Truth:
    """The truth of these rows by a direct method: products in float64, and their eigenvalues."""
    n, p = X.shape
    mean = _mean(X) if mean is None else mean
    count = case.components + 1
    if sp.issparse(X):
        values, axes = _sparse_eigenpairs(X, mean, count)
        total = float("inf")
    else:
        by_rows = n < p
        gram = _gram(X, mean, by_rows)
        if case.task == "unit":
            deviations = np.sqrt(gram.diagonal() / (n - 1))
            gram /= deviations[:, None] * deviations
        total = float(gram.trace())
        values, vectors = _largest_eigenpairs(gram, count)
        if by_rows:
            sums = vectors.sum(axis=0)
            vectors = np.concatenate(
                [X[:, s : s + 4_000].T.astype(float) @ vectors for s in range(0, p, 4_000)]
            )
            vectors -= mean[:, None] * sums
        axes = (vectors / np.linalg.norm(vectors, axis=0)).T
    k = min(component_count(values, total, case.k), len(values))
    scores = np.empty((0, k))
    if case.task in ("transform", "row", "fit_transform"):
        scores = (X[:N_SCORES] - mean) @ axes[:k].T
    return Truth(values[: k + 1] / (n - 1), axes[:k], scores)


def truth(case: Case, X: Any, folder: Path) -> Truth:
    """The truth of a case, or of its first rows, from the folder where it is known there.

    Everything that shapes the rows is in the name of the file.
    """
    parts = {**asdict(case), "rows": X.shape[0], "seed": SEED}
    if case.density:
        parts["floats"] = "both"  # these rows have the same values in either precision
    key = hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:16]
    path = folder / f"{case.n}x{case.p}-{key}.npz"
    if path.exists():
        with np.load(path) as file:
            return Truth(file["variances"], file["axes"], file["scores"])
    solution = solve(case, X)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(path, **vars(solution))
    return solution


def variance_error(found: Array, true: Truth) -> float:
    """Worst relative error of one of the k variances; infinite where k is another."""
    k = len(true.axes)
    found = np.asarray(found, dtype=np.float64)
    if len(found) != k or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found / true.variances[:k] - 1).max())


def angle(axes: Array, true: Truth) -> float | None:
    """Largest principal angle between both spaces, in radians; None where none is defined.

    From the sine, which keeps the digits of a small angle: what of the found axes lies outside
    of the true ones. Undefined where the variances have no gap after the last one kept.
    """
    if true.gap < MIN_GAP or len(axes) != len(true.axes):
        return None
    found = np.linalg.qr(np.asarray(axes, dtype=np.float64).T)[0]
    outside = found - true.axes.T @ (true.axes @ found)
    return float(np.arcsin(min(1.0, np.linalg.norm(outside, 2))))


def score_error(scores: Array, true: Truth) -> float | None:
    """Worst difference of a score from the truth, in standard deviations of its component.

    The signs of axes are anyone's choice, so the sizes are compared.
    """
    if not true.scores.size or scores is None:
        return None
    scores = np.asarray(scores, dtype=np.float64)
    rows = min(len(scores), len(true.scores))
    k = true.scores.shape[1]
    differences = np.abs(np.abs(scores[:rows, :k]) - np.abs(true.scores[:rows]))
    return float((differences / np.sqrt(true.variances[:k])).max())
