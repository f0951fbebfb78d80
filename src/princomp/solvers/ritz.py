"""The last step of every solver that searches a subspace: project the rows, solve there."""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh, squares_over, svd
from princomp.solvers.bases import gram_of, orthonormal, turned
from princomp.solvers.dense import roundoff
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows

__all__ = [
    "FEWEST_UNITS",
    "axes_of_rows",
    "bound_of_rows",
    "is_bounded",
    "project",
    "residuals_of",
    "within",
    "within_rows",
    "without_variance",
]

# Units of roundoff that are the smallest residual that products can show.
FEWEST_UNITS = 4
# Deviations down to this share of the first have axes whose residual is bounded by that of the
# row's eigenvector; below, the bound says too little and the residual is measured.
_BOUNDED = 1e-2


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


def axes_of_rows(rows: CentredRows, vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Axes (k, p) of eigenvectors (n, k) of AAᵀ; those of no variance complete the basis.

    Aᵀu for a small σ has lost orthogonality by u·σ₁²/σ²; orthonormalising in descending order
    leaves the large ones alone and mends the small ones.
    """
    lengths = np.sqrt(np.maximum(values, 0.0))
    gone = lengths <= EPS * lengths.max(initial=0.0)
    weighted = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors / np.where(gone, 1.0, lengths), weighted.T)
    if not gone.any():
        return orthonormal(weighted, spend=True)
    # Axes beyond the rank are any that complete the basis: make it the same ones always.
    rng = np.random.default_rng(0)
    weighted[gone] = rng.standard_normal((int(gone.sum()), weighted.shape[1]))
    # Once more for those that nearly vanished against the others.
    return orthonormal(orthonormal(weighted))


def within(rows: CentredRows, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (k,) and axes (k, p) in the span of ``vectors`` (p, k), by Rayleigh & Ritz.

    What a search found in a lower precision becomes as good as the square of its error.
    """
    basis = orthonormal(vectors.T)
    scores = rows.matmul(basis.T)
    values, turn = eigh(scores.T @ scores)
    return values, turn @ basis


def within_rows(
    rows: CentredRows, vectors: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray]:
    """The same in the image Aᵀ ``vectors`` of orthonormal vectors (n, k).

    The axes are orthonormal to ``unit`` at least.
    """
    axes = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors, axes.T)
    values, turn = eigh(gram_of(axes))
    turned(turn / np.sqrt(values)[:, None], axes, axes)
    # Their Gram was rounded relative to its largest eigenvalue.
    sound = EPS * values[0] <= unit * values[-1]
    return values, axes if sound else orthonormal(axes, spend=True)


def is_bounded(values: FloatArray) -> bool:
    """Whether :func:`bound_of_rows` says enough of eigenvalues (k,), in descending order."""
    return len(values) > 0 and bool(values[-1] > _BOUNDED**2 * values[0])


def bound_of_rows(away: FloatArray, values: FloatArray, unit: float) -> FloatArray:
    """A bound of ‖AᵀA v − λ v‖ / λ₁ for v = Aᵀu/σ, from ``away`` = ‖AAᵀu − λu‖ (k,).

    AᵀA v − λ v is Aᵀ(AAᵀu − λu)/σ, so no longer than σ₁‖AAᵀu − λu‖/σ; the product Aᵀu adds
    its rounding, of which ``unit`` is one, and the division by σ enlarges that as well.
    """
    bound: FloatArray = (away / values[0] + FEWEST_UNITS * unit) * np.sqrt(values[0] / values)
    return bound


def without_variance(k: int, p: int, unit: float) -> Spectrum:
    """The spectrum of columns that are all constant."""
    none = np.zeros(k)
    return Spectrum(none, np.eye(k, p), 0.0, roundoff(p, unit), residuals=none)
