"""Rows, models and checks that the tests in this folder share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from helpers import EPS, assert_orthonormal, centred, truth
from princomp import PCA
from princomp.io.readers.source import Chunk, Source

# The default residual at which a search stops. The error of a variance is at most the residual,
# and about its square over the gap.
RESIDUAL = 1e-9


class Rows(Source):
    """An array that is read as a stream."""

    reader_bytes = 0

    def __init__(self, table, step=100):
        stored = table.nnz if sp.issparse(table) else None
        n, p = table.shape
        super().__init__(rows=n, p=p, dtype=table.dtype, stored=stored)
        self.table, self.step, self.passes = table, step, 0

    def chunks(self, start=0):
        self.passes += 1
        for first in range(start, self.table.shape[0], self.step):
            yield Chunk(self.table[first : first + self.step])


def dense(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def residuals_of(model, X, weights=None):
    """‖Cv − λv‖/λ₁ of each axis, with the covariance of the rows in float64."""
    rows = dense(X)
    if model.center:
        rows = centred(rows, weights)
    elif weights is not None:
        rows = rows * np.sqrt(weights)[:, None]
    if model.scale_ is not None:
        rows = rows / model.scale_
    n = len(rows) if weights is None else weights.sum()
    axes, values = model._fitted.spectrum.axes, model.explained_variance_
    images = rows.T @ (rows @ axes.T) / (n - 1)
    return np.linalg.norm(images - axes.T * values, axis=0) / values[0]


def check(X, k, *, weights=None, tol=1e-12, residual=RESIDUAL, **options):
    """Fit an array and a stream, and compare both with the SVD."""
    model = PCA(k, svd_solver="krylov", **options).fit(X, sample_weight=weights)
    streamed = PCA(k, svd_solver="krylov", **options).fit(Rows(X), sample_weight=weights)
    for name in ("explained_variance_", "components_", "mean_"):
        assert getattr(model, name).tobytes() == getattr(streamed, name).tobytes(), name
    rows = dense(X)
    variances, axes = truth(rows, weights=weights, divisor=model.scale_, center=model.center)
    k = model.n_components_
    expected = np.pad(variances, (0, max(0, k - len(variances))))[:k]
    found = model.explained_variance_
    # Products resolve each variance to the rounding of the first one.
    noise = 4 * max(rows.shape) * EPS * expected[0]
    np.testing.assert_allclose(
        found, expected, rtol=tol, atol=noise if tol < 1e-6 else tol * expected[0]
    )
    assert_orthonormal(model._fitted.spectrum.axes)
    assert residuals_of(model, X, weights).max() <= residual
    np.testing.assert_allclose(
        model.total_variance_, variances.sum(), rtol=max(rows.shape) * EPS if tol < 1e-6 else tol
    )
    assert (model.plan_.summary, model.plan_.solver) == ("columns", "krylov")
    return model, axes
