"""The fewest components whose accumulated rate passes a fraction of the total variance."""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray
from princomp.errors import DataError

__all__ = ["for_fraction"]


def for_fraction(rates: FloatArray, fraction: float, *, reach: bool = False) -> int | None:
    """Number of components for a fraction, or None when these rates do not get there.

    Parameters
    ----------
    rates : ndarray of shape (q,)
        Contribution rates, descending; their sum is below one when q < rank.
    fraction : float
    reach : bool
        False: the accumulated rate must *exceed* the fraction, as in scikit-learn.
        True: it must *reach* it, to rounding.

    Raises
    ------
    DataError
        When there is no variance to take a fraction of.
    """
    if not rates.any():
        raise DataError(
            "every column is constant: there is no variance to take a fraction of",
            hint="ask for a number of components, or leave constant columns out",
        )
    accumulated = np.add.accumulate(rates)
    if reach:
        # 0.5 + 0.25 + 0.05 must reach 0.8 although its last bit may not.
        slack = 4 * EPS * len(rates)
        needed = int(accumulated.searchsorted(fraction - slack)) + 1
    else:
        needed = int(accumulated.searchsorted(fraction, side="right")) + 1
    return needed if needed <= len(rates) else None
