"""The last step of every solver that searches a subspace: project the rows, solve there."""

from __future__ import annotations

import numpy as np

from princomp.arrays import FloatArray, squares_over, svd
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import roundoff
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows

__all__ = ["project", "residuals_of", "without_variance"]


def project(rows: CentredRows, columns: Columns, vectors: FloatArray, k: int) -> Spectrum:
    """Best ``k`` axes within the span of ``vectors`` (p, m), m ≥ k (Rayleigh & Ritz).

    The SVD of the projected rows squares nothing, so small variances in the subspace
    are as good as those of a full SVD.
    """
    unit = float(np.finfo(rows.dtype).eps)
    divisor = columns.rows - 1.0
    basis = orthonormal(vectors.T)
    scores = rows.matmul(basis.T.astype(rows.dtype)).astype(np.float64)
    _, s, turn = svd(scores)
    axes = turn[:k] @ basis
    values = squares_over(s[:k], divisor)
    values[columns.rank_limit :] = 0.0
    total = float(columns.column_scatter.sum()) / divisor
    residuals = residuals_of(rows, axes, values * divisor)
    return Spectrum(values, axes, total, roundoff(min(rows.shape), unit), residuals=residuals)


def residuals_of(rows: CentredRows, axes: FloatArray, values: FloatArray) -> FloatArray:
    """‖AᵀA v − λ v‖ / λ₁ of each axis (k,), for eigenvalues λ of AᵀA."""
    if not len(axes) or not values[0] > 0:
        return np.zeros(len(axes))
    images = rows.images(axes.T)
    away: FloatArray = np.linalg.norm(images / values[0] - axes.T * (values / values[0]), axis=0)
    return away


def without_variance(k: int, p: int, unit: float) -> Spectrum:
    """The spectrum of columns that are all constant."""
    none = np.zeros(k)
    return Spectrum(none, np.eye(k, p), 0.0, roundoff(p, unit), residuals=none)
