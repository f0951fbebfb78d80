"""From a subspace to a spectrum: projections of the rows, residuals, and :func:`spectrum_of`."""

from __future__ import annotations

import numpy as np

from princomp.linalg import EPS, FloatArray, eigh, squares_over, svd
from princomp.solvers.bases import gram_of, orthonormal, turned
from princomp.solvers.dense import roundoff
from princomp.solvers.search import Pairs
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import CentredRows, Columns, Moments

# The smallest residual that products can show, in units of roundoff.
FEWEST_UNITS = 4
# Deviations down to this share of the first have axes whose residual is bounded by that of the
# row's eigenvector; below, the bound says too little and the residual is measured.
_BOUNDED = 1e-2


def spectrum_of(
    pairs: Pairs,
    summary: Moments | Columns,
    total: float,
    error: float,
    *,
    axes: FloatArray,
    unit_value: float = 1.0,
    residuals: FloatArray | None = None,
) -> Spectrum:
    """Return the variances and axes of eigenpairs of a scatter.

    Parameters
    ----------
    pairs : Pairs
    summary : Moments or Columns
        Of the same rows.
    total, error : float
        Total variance and relative error, see :class:`Spectrum`.
    axes : ndarray of shape (k, p)
        Overwritten.
    unit_value : float
        The scatter was divided by this power of two.
    residuals : ndarray of shape (k,), optional
        Relative to the first eigenvalue; those of the pairs by default.
    """
    variances = np.maximum(pairs.values, 0.0) / (summary.rows - 1.0) * unit_value
    variances[summary.rank_limit :] = 0.0
    if residuals is None:
        residuals = relative_residuals(pairs)
    return Spectrum(
        variances, axes, total, error, residuals=residuals, missed=pairs.missed, overwrite=True
    )


def relative_residuals(pairs: Pairs, unit: float = 0.0) -> FloatArray:
    """Residuals relative to the first eigenvalue, not below the rounding of products.

    The recurrence does not see the rounding of its products, of which ``unit`` is the roundoff.
    """
    first = max(float(pairs.values[0]), float(np.finfo(np.float64).tiny))
    return np.maximum(pairs.residuals / first, FEWEST_UNITS * unit)


def project(rows: CentredRows, columns: Columns, vectors: FloatArray, k: int) -> Spectrum:
    """Find the best ``k`` axes in the span of ``vectors`` (p, m), m ≥ k (Rayleigh & Ritz).

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
    errors = images / values[0] - axes.T * (values / values[0])
    norms: FloatArray = np.linalg.norm(errors, axis=0)
    return norms


def axes_of_rows(rows: CentredRows, vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return axes (k, p) of eigenvectors (n, k) of AAᵀ; those without variance complete the basis.

    Aᵀu for a small σ has lost orthogonality by u·σ₁²/σ²; orthonormalising in descending order
    changes only the small ones.
    """
    lengths = np.sqrt(np.maximum(values, 0.0))
    gone = lengths <= EPS * lengths.max(initial=0.0)
    weighted = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors / np.where(gone, 1.0, lengths), weighted.T)
    if not gone.any():
        return orthonormal(weighted, overwrite=True)
    # Any axes beyond the rank complete the basis: choose the same ones always.
    rng = np.random.default_rng(0)
    weighted[gone] = rng.standard_normal((int(gone.sum()), weighted.shape[1]))
    # Once more for those that nearly vanished against the others.
    return orthonormal(orthonormal(weighted))


def within(rows: CentredRows, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find eigenvalues (k,) and axes (k, p) in the span of ``vectors`` (p, k) (Rayleigh & Ritz).

    What a search found in a lower precision becomes as good as the square of its error.
    """
    basis = orthonormal(vectors.T)
    scores = rows.matmul(basis.T)
    values, turn = eigh(scores.T @ scores)
    return values, turn @ basis


def within_rows(
    rows: CentredRows, vectors: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Find eigenvalues and axes in the span of Aᵀ ``vectors``, of orthonormal vectors (n, k).

    The axes are orthonormal to ``unit`` at least.
    """
    axes = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors, axes.T)
    values, turn = eigh(gram_of(axes))
    turned(turn / np.sqrt(values)[:, None], axes, axes)
    # Their Gram was rounded relative to its largest eigenvalue.
    sound = EPS * values[0] <= unit * values[-1]
    return values, axes if sound else orthonormal(axes, overwrite=True)


def is_bounded(values: FloatArray) -> bool:
    """Whether :func:`bound_of_rows` says enough of eigenvalues (k,), in descending order."""
    return len(values) > 0 and bool(values[-1] > _BOUNDED**2 * values[0])


def bound_of_rows(residuals: FloatArray, values: FloatArray, unit: float) -> FloatArray:
    """Bound ‖AᵀA v − λ v‖ / λ₁ for v = Aᵀu/σ, given ``residuals`` ‖AAᵀu − λu‖ (k,).

    AᵀA v − λ v is Aᵀ(AAᵀu − λu)/σ, so no longer than σ₁‖AAᵀu − λu‖/σ; the product Aᵀu adds
    its rounding, of which ``unit`` is one, and the division by σ enlarges that as well.
    """
    bound: FloatArray = (residuals / values[0] + FEWEST_UNITS * unit) * np.sqrt(values[0] / values)
    return bound


def without_variance(k: int, p: int, unit: float) -> Spectrum:
    """Return the spectrum of columns that are all constant."""
    none = np.zeros(k)
    return Spectrum(none, np.eye(k, p), 0.0, roundoff(p, unit), residuals=none)
