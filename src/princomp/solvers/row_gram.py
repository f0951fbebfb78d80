"""Wide rows through the n × n products of the rows.

With A the centred rows, AAᵀ has the eigenvalues of the scatter AᵀA and eigenvectors
U; the axes are Aᵀu/σ. Cost n²p instead of np², memory n² instead of p².
"""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh
from princomp.solvers.dense import roundoff
from princomp.solvers.ritz import residuals_of
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows
from princomp.threads import in_order

__all__ = ["solve_rows"]

# Columns multiplied at a time: products in the data's precision, sums in float64.
_PANEL = 4096
_THREADS_PAY = 2**20


def solve_rows(rows: CentredRows, columns: Columns, k: int | None = None) -> Spectrum:
    """Spectrum of wide rows (n, p): n variances and the first ``k`` axes (n by default)."""
    n, p = rows.shape
    divisor = columns.rows - 1.0
    unit = float(np.finfo(rows.dtype).eps)
    values, vectors = eigh(_row_products(rows))
    values = np.maximum(values[: min(n, p)] / divisor, 0.0)
    values[columns.rank_limit :] = 0.0
    k = len(values) if k is None else min(k, len(values))
    weighted = rows.rmatmul(vectors[:k].T.astype(rows.dtype)).astype(np.float64)
    axes = _orthonormal(weighted, values[:k] * divisor).T
    total = float(columns.column_scatter.sum()) / divisor
    return Spectrum(
        values,
        axes,
        total,
        roundoff(min(n, p), unit),
        residuals=residuals_of(rows, axes, values[:k] * divisor),
    )


def _row_products(rows: CentredRows) -> FloatArray:
    """AAᵀ (n, n), summed in float64 over panels of columns."""
    n, p = rows.shape
    if rows.mean is not None:  # sparse: multiply by the identity, a panel of rows at a time
        products = np.empty((n, n))
        for start in range(0, n, 256):
            stop = min(n, start + 256)
            unit = np.zeros((n, stop - start))
            unit[np.arange(start, stop), np.arange(stop - start)] = 1.0
            products[:, start:stop] = rows.matmul(rows.rmatmul(unit))
        return (products + products.T) / 2
    total = np.zeros((n, n))

    def product(start: int) -> FloatArray:
        panel = rows.rows[:, start : start + _PANEL]
        return panel @ panel.T

    for part in in_order(product, range(0, p, _PANEL), None if n * p >= _THREADS_PAY else 1):
        total += part
    return total


def _orthonormal(vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Orthonormal columns, large ones first; those of no length complete the basis.

    Aᵀu for a small σ has lost orthogonality by u·σ₁²/σ²; QR in descending order
    leaves the large ones alone and mends the small ones.
    """
    lengths = np.sqrt(np.maximum(values, 0.0))
    floor = EPS * lengths.max(initial=0.0)
    scaled = vectors / np.where(lengths > floor, lengths, 1.0)
    gone = lengths <= floor
    if gone.any():
        # Axes beyond the rank are any that complete the basis: make it the same ones always.
        rng = np.random.default_rng(0)
        scaled[:, gone] = rng.standard_normal((len(vectors), int(gone.sum())))
    q, r = np.linalg.qr(scaled)
    q *= np.where(np.diagonal(r) < 0, -1.0, 1.0)
    # Once more for those that nearly vanished against the others.
    return np.linalg.qr(q)[0] if gone.any() else q
