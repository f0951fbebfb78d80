"""Shrinkage of regularised components (Verbanck, Josse & Husson 2015)."""

from __future__ import annotations

import numpy as np

from princomp.linalg import FloatArray


def shrinkage(
    squares: FloatArray, left_out: float, k: int, rows: float, p: int, *, centred: bool
) -> FloatArray:
    """Compute the factors in [0, 1] of the first ``k`` singular values (k,).

    Parameters
    ----------
    squares : ndarray of shape (q,)
        Squared singular values, descending, or a multiple of them: at least the first k. The
        next one, if given, is an upper bound of the noise.
    left_out : float
        Sum of those beyond the first k, in the same units.
    rows : float
        Sum of the weights.

    Notes
    -----
    If every cell has noise of variance σ², each squared singular value contains about
    n p σ² / min(n − 1, p) of it. σ² is estimated by ``left_out`` over (n − 1 − k)(p − k) degrees
    of freedom. Without centring n replaces n − 1.
    """
    centred_rows = rows - 1.0 if centred else rows
    if not k:
        return np.zeros(0)
    degrees_of_freedom = (centred_rows - k) * (p - k)
    if degrees_of_freedom <= 0 or left_out <= 0:
        return (squares[:k] > 0).astype(np.float64)
    noise = rows * p / min(p, centred_rows) * left_out / degrees_of_freedom
    if len(squares) > k:
        noise = min(noise, float(squares[k]))
    noise = min(noise, float(squares[k - 1]))
    safe = np.where(squares[:k] > 0, squares[:k], 1.0)
    return np.where(squares[:k] > 0, np.maximum(1.0 - noise / safe, 0.0), 0.0)
