"""Rotations of loadings: varimax (Kaiser 1958) and promax (Hendrickson & White 1964)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from princomp.linalg import FloatArray

# Converged when no plane is rotated by more than this angle, in radians.
_ANGLE_TOLERANCE = 1e-13
_MAX_SWEEPS = 1000
# A pair of components whose criterion varies by less than this share is not rotated.
_FLATNESS_TOLERANCE = 1e-12


def varimax(loadings: FloatArray, kaiser: bool) -> tuple[FloatArray, int, bool]:
    """Return the varimax rotation (k, k), the number of sweeps, and whether it converged.

    Each sweep rotates every plane of two components by its optimal angle (Kaiser 1958).
    """
    k = loadings.shape[1]
    if kaiser:
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        # A column without loadings has no direction.
        loadings = loadings / np.where(lengths > 0, lengths, 1.0)
    rotated, matrix = loadings.copy(), np.eye(k)
    for sweep in range(1, _MAX_SWEEPS + 1):
        largest_angle = 0.0
        for a, b in combinations(range(k), 2):
            angle = _best_angle(rotated[:, a], rotated[:, b])
            largest_angle = max(largest_angle, abs(angle))
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            rotated[:, [a, b]] = rotated[:, [a, b]] @ plane
            matrix[:, [a, b]] = matrix[:, [a, b]] @ plane
        if largest_angle <= _ANGLE_TOLERANCE:
            return matrix, sweep, True
    return matrix, _MAX_SWEEPS, False


def _best_angle(x: FloatArray, y: FloatArray) -> float:
    """Return the angle in (−π/4, π/4] that maximises the variances of squared loadings."""
    u, v = x * x - y * y, 2.0 * x * y
    u, v = u - u.mean(), v - v.mean()
    sine, cosine = 2.0 * float(u @ v), float(u @ u - v @ v)
    # If all angles are equally good, rounding errors must not choose one.
    if np.hypot(sine, cosine) <= _FLATNESS_TOLERANCE * float(u @ u + v @ v):
        return 0.0
    return float(np.arctan2(sine, cosine)) / 4.0


def promax_matrix(rotated: FloatArray, power: float) -> FloatArray:
    """Return the promax transformation of varimax loadings; components keep variance 1."""
    # Only the direction of a target matters. Its largest entry is made ±1, so powers stay in range.
    relative = rotated / np.abs(rotated).max(axis=0)
    target = relative * np.abs(relative) ** (power - 1.0)
    matrix = np.linalg.lstsq(rotated, target, rcond=None)[0]
    # Columns of very different lengths would make the inverse inaccurate; only directions matter.
    matrix = matrix / np.linalg.norm(matrix, axis=0)
    scale = np.sqrt(np.linalg.inv(matrix.T @ matrix).diagonal())
    return np.asarray(matrix * scale)


def component_variances(loadings: FloatArray, correlations: FloatArray) -> FloatArray:
    """Variances (k,) of rotated components: the diagonal of Φ LᵀL."""
    return np.einsum("ab,jb,ja->a", correlations, loadings, loadings)
