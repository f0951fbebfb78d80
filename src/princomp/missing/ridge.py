"""How far regularised components are shrunk (Verbanck, Josse & Husson 2015)."""

from __future__ import annotations

import numpy as np

from princomp.arrays import FloatArray

__all__ = ["shrinkage"]


def shrinkage(
    squares: FloatArray, left_out: float, k: int, rows: float, p: int, *, centred: bool
) -> FloatArray:
    """Factors in [0, 1] by which the first ``k`` singular values are multiplied (k,).

    Parameters
    ----------
    squares : ndarray of shape (q,)
        Squared singular values, descending, or any multiple of them: the first k at least.
        One more bounds the noise, where it is known.
    left_out : float
        Sum of those beyond the first k, in the same units.
    rows : float
        Sum of the weights.

    Notes
    -----
    Where noise of variance σ² is on every cell, each squared singular value holds about
    n p σ² / min(n − 1, p) of it, and σ² is told by what is left out: that sum over
    (n − 1 − k)(p − k) degrees of freedom. Without centring n stands for n − 1.
    """
    free = rows - 1.0 if centred else rows
    if not k:
        return np.zeros(0)
    freedom = (free - k) * (p - k)
    if freedom <= 0 or left_out <= 0:
        return (squares[:k] > 0).astype(np.float64)
    noise = rows * p / min(p, free) * left_out / freedom
    if len(squares) > k:
        noise = min(noise, float(squares[k]))
    noise = min(noise, float(squares[k - 1]))
    safe = np.where(squares[:k] > 0, squares[:k], 1.0)
    return np.where(squares[:k] > 0, np.maximum(1.0 - noise / safe, 0.0), 0.0)
