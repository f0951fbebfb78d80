"""Where most numbers lie and how far they spread: the MCD of one column, exactly.

P. J. Rousseeuw & A. M. Leroy, "Robust Regression and Outlier Detection" (1987), chapter 4:
the h numbers of least variance stand side by side once sorted.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from princomp.arrays import FloatArray

__all__ = ["consistency", "mcd_of_columns"]


def consistency(share: float, k: int) -> float:
    """What the scatter of the innermost share of normal rows is multiplied by to be right.

    Croux & Haesbroeck (1999): share / P(χ²ₖ₊₂ ≤ q) with q the quantile of χ²ₖ at the share.
    """
    if share >= 1.0:
        return 1.0
    return float(share / chi2.cdf(chi2.ppf(share, k), k + 2))


def mcd_of_columns(values: FloatArray, h: int) -> tuple[FloatArray, FloatArray]:
    """Centre and deviation of each column (m,) of ``values`` (n, m), from its best h numbers."""
    n = len(values)
    ordered = np.sort(values, axis=0)
    middle = ordered[n // 2].copy()
    ordered -= middle  # sums of squares about zero would cancel
    zero = np.zeros((1, values.shape[1]))
    sums = np.concatenate([zero, np.cumsum(ordered, axis=0)])
    squares = np.concatenate([zero, np.cumsum(ordered**2, axis=0)])
    means = (sums[h:] - sums[:-h]) / h
    variances = (squares[h:] - squares[:-h]) / h - means**2
    first = variances.argmin(axis=0)
    column = np.arange(values.shape[1])
    best = ordered[first[None, :] + np.arange(h)[:, None], column]
    centre = best.mean(axis=0)
    deviation = best.std(axis=0) * np.sqrt(consistency(h / n, 1))
    return centre + middle, deviation
