"""How far a row lies outside the others, over many directions (Stahel 1981, Donoho 1982)."""

from __future__ import annotations

import numpy as np

from princomp.arrays import FloatArray
from princomp.robust.location import mcd_of_columns

__all__ = ["outlyingness"]

# Directions that are looked at at a time, by the numbers that their projections take.
_NUMBERS = 2**21
# A direction along which most rows agree to this share of their extent says who does not.
_FLAT = 1e-12


def outlyingness(rows: FloatArray, h: int, directions: int, rng: np.random.Generator) -> FloatArray:
    """The largest robust z of each row (n,) over directions through two rows.

    Rows off a direction along which h others agree entirely are infinitely far out.
    """
    n = len(rows)
    pairs = n * (n - 1) // 2
    if pairs <= directions:
        one, other = np.triu_indices(n, 1)
    else:
        one = rng.integers(0, n, directions)
        other = (one + rng.integers(1, n, directions)) % n
    through = rows[one] - rows[other]
    lengths = np.linalg.norm(through, axis=1)
    through = through[lengths > 0] / lengths[lengths > 0, None]
    worst = np.zeros(n)
    step = max(1, _NUMBERS // n)
    for start in range(0, len(through), step):
        along = rows @ through[start : start + step].T
        centre, deviation = mcd_of_columns(along, h)
        away = np.abs(along - centre)
        extent = np.ptp(along, axis=0)
        flat = deviation <= _FLAT * extent
        size = np.where(flat, 1.0, deviation)
        out = np.where(flat, np.where(away > _FLAT * extent, np.inf, 0.0), away / size)
        np.maximum(worst, out.max(axis=1), out=worst)
    return worst
