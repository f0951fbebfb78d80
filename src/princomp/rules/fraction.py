"""The smallest number of components that explain a fraction of the total variance."""

from __future__ import annotations

import numpy as np

from princomp.errors import DataError
from princomp.linalg import EPS, FloatArray


def for_fraction(rates: FloatArray, fraction: float, *, reach: bool = False) -> int | None:
    """Return the number of components for a fraction, or None when the rates do not reach it.

    Parameters
    ----------
    rates : ndarray of shape (q,)
        Contribution rates, descending; their sum is below one when q < rank.
    fraction : float
    reach : bool
        False: the accumulated rate must *exceed* the fraction, as in scikit-learn.
        True: it must *reach* it, up to rounding.

    Raises
    ------
    DataError
        When the total variance is zero.
    """
    if not rates.any():
        raise DataError(
            "every column is constant: there is no variance to take a fraction of",
            hint="ask for a number of components, or leave constant columns out",
        )
    accumulated = np.add.accumulate(rates)
    if reach:
        # 0.5 + 0.25 + 0.05 must reach 0.8, even if rounding makes the sum slightly smaller.
        slack = 4 * EPS * len(rates)
        needed = int(accumulated.searchsorted(fraction - slack)) + 1
    else:
        needed = int(accumulated.searchsorted(fraction, side="right")) + 1
    return needed if needed <= len(rates) else None
