"""From a subspace or eigenpairs to a spectrum: projections, residuals and :func:`spectrum_of`."""

from __future__ import annotations

import numpy as np

from princomp.linalg import EPS, FloatArray, eigh, search_rng, squares_over, svd
from princomp.solvers.bases import inner_products, multiply_left, orthonormal
from princomp.solvers.dense import roundoff
from princomp.solvers.search import Pairs
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import CentredRows, Columns, Moments

# Smallest residual that products can resolve, in units of roundoff.
FEWEST_UNITS = 4


def spectrum_of(
    pairs: Pairs,
    summary: Moments | Columns,
    total: float,
    error: float,
    *,
    axes: FloatArray,
    scale: float = 1.0,
    residuals: FloatArray | None = None,
) -> Spectrum:
    """Return the variances and axes of eigenpairs of a scatter.

    Parameters
    ----------
    pairs : Pairs
    summary : Moments or Columns
        Summary of the same rows.
    total, error : float
        Total variance and relative error; see :class:`Spectrum`.
    axes : ndarray of shape (k, p)
        Overwritten.
    scale : float
        Power of two by which the scatter was divided.
    residuals : ndarray of shape (k,), optional
        Relative to the first eigenvalue; by default those of the pairs, from products in float64.
    """
    variances = np.maximum(pairs.values, 0.0) / (summary.rows - 1.0) * scale
    variances[summary.rank_limit :] = 0.0
    if residuals is None:
        residuals = relative_residuals(pairs, EPS)
    return Spectrum(
        variances, axes, total, error, residuals=residuals, missed=pairs.missed, overwrite=True
    )


def relative_residuals(pairs: Pairs, unit: float) -> FloatArray:
    """Residuals relative to the first eigenvalue, but at least the rounding error of products.

    The Lanczos recurrence does not show the rounding errors of its products, whose unit roundoff is
    ``unit``.
    That eigenvalue is positive: tables without variance are not searched.
    """
    return np.maximum(pairs.residuals / pairs.values[0], FEWEST_UNITS * unit)


def project(rows: CentredRows, columns: Columns, vectors: FloatArray, k: int) -> Spectrum:
    """Find the best ``k`` axes in the span of ``vectors`` (p, m), m ≥ k (Rayleigh–Ritz).

    The SVD of the projected rows never squares them, so small variances in the subspace are as
    accurate as those of a full SVD.
    """
    unit = float(np.finfo(rows.dtype).eps)
    divisor = columns.rows - 1.0
    basis = orthonormal(vectors.T)
    scores = rows.matmul(basis.T.astype(rows.dtype)).astype(np.float64)
    _, s, rotation = svd(scores)
    axes = rotation[:k] @ basis
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
    errors = images / values[0] - axes.T * (values / values[0])
    return np.linalg.norm(errors, axis=0)


def axes_of_rows(rows: CentredRows, vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return axes (k, p) for eigenvectors (n, k) of AAᵀ; axes without variance complete the basis.

    For a small σ, Aᵀu has lost orthogonality by about σ₁²/σ² units of roundoff. Orthonormalising in
    descending order changes only axes with a small σ.
    """
    lengths = np.sqrt(values)
    zero_variance = lengths <= EPS * lengths.max(initial=0.0)
    axes = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors / np.where(zero_variance, 1.0, lengths), axes.T)
    if not zero_variance.any():
        return orthonormal(axes, overwrite=True)
    # Beyond the rank, any axes complete the basis: draw the same ones each time.
    rng = search_rng()
    axes[zero_variance] = rng.standard_normal((int(zero_variance.sum()), axes.shape[1]))
    # Twice, because vectors may nearly vanish when their projection on the others is subtracted.
    return orthonormal(orthonormal(axes))


def rayleigh_ritz(rows: CentredRows, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find eigenvalues (k,) and axes (k, p) in the span of ``vectors`` (p, k) (Rayleigh–Ritz).

    This squares the error of vectors that were found by a search in lower precision.
    """
    basis = orthonormal(vectors.T)
    scores = rows.matmul(basis.T)
    values, rotation = eigh(scores.T @ scores)
    return values, rotation @ basis


def rayleigh_ritz_of_rows(
    rows: CentredRows, vectors: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Find eigenvalues and axes in the span of Aᵀ ``vectors``, of orthonormal vectors (n, k).

    The axes are orthonormal to ``unit`` at least.
    """
    axes = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors, axes.T)
    values, rotation = eigh(inner_products(axes, axes))
    multiply_left(rotation / np.sqrt(values)[:, None], axes, axes)
    # The rounding error of the Gram matrix is relative to its largest eigenvalue.
    accurate = EPS * values[0] <= unit * values[-1]
    return values, axes if accurate else orthonormal(axes, overwrite=True)


def bound_of_rows(residuals: FloatArray, values: FloatArray, unit: float) -> FloatArray:
    """Bound ‖AᵀA v − λ v‖ / λ₁ for v = Aᵀu/σ, given ``residuals`` ‖AAᵀu − λu‖ (k,).

    AᵀA v − λ v equals Aᵀ(AAᵀu − λu)/σ, so its norm is at most σ₁‖AAᵀu − λu‖/σ. The product Aᵀu
    adds rounding errors, in units of ``unit``, which the division by σ enlarges as well.
    """
    return (residuals / values[0] + FEWEST_UNITS * unit) * np.sqrt(values[0] / values)


def without_variance(k: int, p: int, unit: float) -> Spectrum:
    """Return the spectrum of columns that are all constant."""
    zeros = np.zeros(k)
    return Spectrum(zeros, np.eye(k, p), 0.0, roundoff(p, unit), residuals=zeros)
