"""Wide rows through the n × n products of the rows.

With A the centred rows, AAᵀ has the eigenvalues of the scatter AᵀA and eigenvectors
U; the axes are Aᵀu/σ. Cost n²p instead of np², memory n² instead of p².
"""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh, eigh_top
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import roundoff
from princomp.solvers.lanczos import FEWEST_UNITS, lanczos
from princomp.solvers.ritz import residuals_of
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows

__all__ = ["solve_rows"]

# Of so few of all components only the eigenvectors wanted are computed: 10 of 1,000 take 51 ms
# by LAPACK, and from so many rows on a search in blocks of 8 is tried first: 10 ms where
# directions stand out. Where none do it takes 160, and is given up early: when it seems to
# take so many more products.
_FEW, _SEARCHED, _BLOCK, _PATIENCE = 0.1, 500, 8, 15
# Deviations down to this share of the first have axes whose residual is bounded by that of the
# row's eigenvector; below, the bound says too little and the residual is measured.
_BOUNDED = 1e-2


def solve_rows(rows: CentredRows, columns: Columns, k: int | None = None) -> tuple[Spectrum, int]:
    """Spectrum of wide rows (n, p): n variances and the first ``k`` axes (n by default).

    Where k is small only the first are known. Returned with the spectrum: how often the
    rows were read.
    """
    n, p = rows.shape
    divisor = columns.rows - 1.0
    unit = float(np.finfo(rows.dtype).eps)
    products = rows.row_products()
    most = min(n, p)
    k = most if k is None else min(k, most)
    values, vectors = _top(products, k)
    values = np.maximum(values[:most] / divisor, 0.0)
    values[columns.rank_limit :] = 0.0
    known = np.ascontiguousarray(vectors[:k].T)
    axes = _orthonormal(rows, known, values[:k] * divisor)
    total = float(columns.column_scatter.sum()) / divisor
    eigenvalues = values[:k] * divisor
    residuals = _residuals(products, known, eigenvalues, unit)
    passes = 2
    if residuals is None:
        residuals, passes = residuals_of(rows, axes, eigenvalues), 3
    return Spectrum(values, axes, total, roundoff(most, unit), residuals=residuals), passes


def _top(products: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues, or the first where few are wanted, and as many eigenvectors as rows."""
    n = len(products)
    if not 0 < k < _FEW * n:
        return eigh(products)
    if n >= _SEARCHED:
        rng = np.random.default_rng(0)
        pairs = lanczos(
            lambda block: products @ block,
            n,
            k,
            tol=FEWEST_UNITS * EPS,
            rng=rng,
            start=rng.standard_normal((n, _BLOCK)),
            enough=lambda left: left > _PATIENCE,
        )
        if pairs.converged:
            return pairs.values, pairs.vectors.T
    return eigh_top(products, k + 1)


def _residuals(
    products: FloatArray, vectors: FloatArray, values: FloatArray, unit: float
) -> FloatArray | None:
    """A bound of ‖AᵀA v − λ v‖ / λ₁ for v = Aᵀu/σ, or None where it says too little.

    AᵀA v − λ v is Aᵀ(AAᵀu − λu)/σ, so no longer than σ₁‖AAᵀu − λu‖/σ; the product Aᵀu adds
    its rounding, which the division by σ enlarges as well.
    """
    if not len(values) or values[-1] <= _BOUNDED**2 * values[0]:
        return None
    away = np.linalg.norm(products @ vectors - vectors * values, axis=0) / values[0]
    bound: FloatArray = (away + FEWEST_UNITS * unit) * np.sqrt(values[0] / values)
    return bound


def _orthonormal(rows: CentredRows, vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Axes (k, p) of the rows' eigenvectors (n, k); those of no variance complete the basis.

    Aᵀu for a small σ has lost orthogonality by u·σ₁²/σ²; orthonormalising in descending order
    leaves the large ones alone and mends the small ones.
    """
    lengths = np.sqrt(np.maximum(values, 0.0))
    gone = lengths <= EPS * lengths.max(initial=0.0)
    weighted = np.zeros((vectors.shape[1], rows.shape[1]))
    rows.add_rmatmul(vectors / np.where(gone, 1.0, lengths), weighted.T)
    if not gone.any():
        return orthonormal(weighted)
    # Axes beyond the rank are any that complete the basis: make it the same ones always.
    rng = np.random.default_rng(0)
    weighted[gone] = rng.standard_normal((int(gone.sum()), weighted.shape[1]))
    # Once more for those that nearly vanished against the others.
    return orthonormal(orthonormal(weighted))
