"""Where rows lie: within the space of the components, and off it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray

__all__ = ["OutlierMap", "mapped"]


class OutlierMap(NamedTuple):
    """Where rows lie: within the space of the components, and off it.

    Attributes
    ----------
    score_distances : ndarray of shape (n,)
        √(Σ t²/λ): far out within the space.
    orthogonal_distances : ndarray of shape (n,)
        ‖x − x̂‖ in the units of the analysis: off the space.
    outliers : ndarray of bool of shape (n,)
        Beyond either cut-off.
    kinds : ndarray of str of shape (n,)
        ``"regular"``; ``"good leverage"``: far out, but where the components lead;
        ``"orthogonal"``: off the space, near its centre; ``"bad leverage"``: both.
    """

    score_distances: FloatArray
    orthogonal_distances: FloatArray
    outliers: NDArray[np.bool_]
    kinds: NDArray[np.str_]


def mapped(
    away: FloatArray, axes: FloatArray, variances: FloatArray, inside: float, off: float
) -> OutlierMap:
    """Distances of rows about the centre (n, p), against cut-offs within and off the space."""
    scores = away @ axes.T
    # A component of no variance: a row off its centre is infinitely far out.
    floor = np.finfo(np.float64).tiny
    within = np.sqrt((scores**2 / np.maximum(variances, floor)).sum(axis=1))
    beside = np.linalg.norm(away - scores @ axes, axis=1)
    far, apart = within > inside, beside > off
    kinds = np.array(["regular", "good leverage", "orthogonal", "bad leverage"])
    return OutlierMap(within, beside, far | apart, kinds[far + 2 * apart])
