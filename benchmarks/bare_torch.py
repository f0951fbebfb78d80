"""PCA in bare calls of torch: no checks, no certificate, what a person writes in five lines."""

from __future__ import annotations

from typing import Any

import torch
from cases import Case
from libraries import Answer, Call, Method

MAX_GRAM_SIDE = 5_000  # side of a Gram whose eigenvectors are all computed
MANY_ROWS = 1_000_000  # rows whose QR, thirteen times, takes that long


def methods(case: Case, X: Any) -> dict[str, Method]:
    n, p = X.shape
    if case.task in ("transform", "row"):
        return {"torch product": _product(case, X)}
    if case.task == "stream":
        return {}
    found: dict[str, Method] = {}
    if min(n, p) <= MAX_GRAM_SIDE:
        found["torch Gram"] = _gram(case, X, centred=False)
        found["torch Gram centred"] = _gram(case, X, centred=True)
    else:
        found["torch Gram"] = "the eigenvectors of its Gram would take more than 20 s"
    if case.task in ("fit", "fit_transform"):
        found["torch lowrank 2"] = _lowrank(case, X, 2)
        is_long = max(n, p) >= MANY_ROWS
        reason = "takes 5 to 20 s, many times the best"
        found["torch lowrank 6"] = reason if is_long else _lowrank(case, X, 6)
    return found


def _lowrank(case: Case, X: Any, power: int) -> Call:
    def fit() -> Answer:
        torch.manual_seed(0)
        U, S, V = torch.pca_lowrank(X, q=case.components, niter=power)
        scores = U * S if case.task == "fit_transform" else None
        return Answer(S**2 / (len(X) - 1), V.T, scores)

    return fit


def _gram(case: Case, X: Any, *, centred: bool) -> Call:
    """Products of the shorter side and all their eigenvectors.

    Centred first, in a copy; or after, without one: fewer bytes, and digits lost where means
    are large.
    """
    n, p = X.shape
    wide = n < p

    def products(mean: Any) -> Any:
        if centred:
            rows = X - mean
            return rows @ rows.T if wide else rows.T @ rows
        if not wide:
            return X.T @ X - n * torch.outer(mean, mean)
        gram = X @ X.T
        row_means = gram.mean(dim=0)
        return gram - row_means - row_means[:, None] + row_means.mean()

    def fit() -> Answer:
        mean = X.mean(dim=0)
        gram = products(mean) / (n - 1)
        if case.task == "unit":
            deviations = gram.diagonal().sqrt()
            gram = gram / torch.outer(deviations, deviations)
        values, vectors = torch.linalg.eigh(gram)
        k = _component_count(case, values)
        values, vectors = values[-k:].flip(0), vectors[:, -k:].flip(1)
        if wide:
            vectors = X.T @ vectors - torch.outer(mean, vectors.sum(dim=0))
            vectors = vectors / vectors.norm(dim=0)
        scores = None
        if case.task == "fit_transform":
            scores = torch.addmm(-(mean @ vectors), X, vectors)
        return Answer(values, vectors.T, scores)

    return fit


def _component_count(case: Case, values: Any) -> int:
    if case.k >= 1:
        return case.components
    rates = values.flip(0).cumsum(0) / values.sum()
    return int((rates <= case.k).sum()) + 1


def _product(case: Case, X: Any) -> Call:
    fitted = _gram(Case(case.n, case.p, case.k, case.floats), X, centred=True)()
    V = fitted.axes.T.contiguous()
    offset = -(X.mean(dim=0) @ V)
    rows = X[:1] if case.task == "row" else X
    return lambda: fitted._replace(scores=torch.addmm(offset, rows, V))
