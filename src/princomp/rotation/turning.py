"""Rotations of loadings: varimax (Kaiser 1958) and promax (Hendrickson & White 1964)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from princomp.arrays import FloatArray

__all__ = ["MOST", "carried", "towards_power", "varimax"]

# A sweep over all planes that turns none by more than this, in radians, was the last.
_CLOSE = 1e-13
MOST = 1000
# Two components whose criterion changes by less than this share over all angles stay.
_EVEN = 1e-12


def varimax(loadings: FloatArray, kaiser: bool) -> tuple[FloatArray, int, bool]:
    """The rotation (k, k) plane by plane, each by the angle that is best there (Kaiser 1958)."""
    k = loadings.shape[1]
    if kaiser:
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        # A column of which the components say nothing has no direction to rotate.
        loadings = loadings / np.where(lengths > 0, lengths, 1.0)
    turned, turn = loadings.copy(), np.eye(k)
    for sweep in range(1, MOST + 1):
        moved = 0.0
        for a, b in combinations(range(k), 2):
            angle = _best_angle(turned[:, a], turned[:, b])
            moved = max(moved, abs(angle))
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            turned[:, [a, b]] = turned[:, [a, b]] @ plane
            turn[:, [a, b]] = turn[:, [a, b]] @ plane
        if moved <= _CLOSE:
            return turn, sweep, True
    return turn, MOST, False


def _best_angle(x: FloatArray, y: FloatArray) -> float:
    """The angle in (−π/4, π/4] after which the variances of squared loadings sum to most."""
    u, v = x * x - y * y, 2.0 * x * y
    u, v = u - u.mean(), v - v.mean()
    across, along = 2.0 * float(u @ v), float(u @ u - v @ v)
    # Where no angle is better than another, rounding must not choose one.
    if np.hypot(across, along) <= _EVEN * float(u @ u + v @ v):
        return 0.0
    return float(np.arctan2(across, along)) / 4.0


def towards_power(rotated: FloatArray, power: float) -> FloatArray:
    """What turns varimax loadings towards their power, components of variance 1 kept so."""
    target = rotated * np.abs(rotated) ** (power - 1.0)
    turn = np.linalg.lstsq(rotated, target, rcond=None)[0]
    # Columns of different size have targets of very different size: only directions count.
    turn = turn / np.linalg.norm(turn, axis=0)
    scale = np.sqrt(np.linalg.inv(turn.T @ turn).diagonal())
    return np.asarray(turn * scale)


def carried(loadings: FloatArray, correlations: FloatArray) -> FloatArray:
    """Diagonal of Φ LᵀL (k,)."""
    return np.einsum("ab,jb,ja->a", correlations, loadings, loadings)
