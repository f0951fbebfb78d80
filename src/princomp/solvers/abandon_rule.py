"""Progress of a search: when to check its residuals, whether it stalled, whether to abandon it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from princomp.errors import DataError

# Called with the forecast of further products and the number so far; returns true to end a search.
Abandon: TypeAlias = Callable[[float, int], bool]

# A "look" computes the residuals of a search. The next look is after this share of the forecast
# products, because the residual falls faster and faster. A look costs an eigendecomposition, but an
# unnecessary product costs more.
_SKIPPED = 0.5
# A residual that stopped falling is accepted up to this size; the certificate reports it.
_STALLED = 1e-4
# A residual below _NEAR times the tolerance may have stopped falling due to rounding of the
# products. Then _HASTE times the usual patience is enough.
_NEAR, _HASTE = 64.0, 0.1
# The first forecasts are often four times too high, or a tenth of the true number. They count only
# after this share of the products that the alternative costs.
_TRUSTED = 0.25


class Forecast:
    """Forecasts the remaining products, and the next look, from the decrease of the residual.

    Parameters
    ----------
    share : float
        Most products before the next look, as a share of the products so far.
    """

    def __init__(self, share: float = np.inf) -> None:
        self.next_look, self._products, self._worst = 0, 0, np.inf
        self._share = share

    def after(self, products: int, worst: float) -> float:
        """Forecast the products until ``worst`` is below 1; infinity if it does not decrease."""
        before, since = self._worst, products - self._products
        self._products, self._worst = products, worst
        self.next_look = products + 1
        if not (np.isfinite(before) and 0 < worst < before):
            return np.inf
        left = float(np.log(max(worst, 1.0)) / np.log(before / worst)) * since
        skipped = min(_SKIPPED * left, self._share * products, 1e6)
        self.next_look = products + max(1, int(skipped))
        return left


class AbandonRule:
    """Abandons a search that would take longer than an alternative.

    Parameters
    ----------
    most : float
        Number of products that take as long as the alternative.
    """

    def __init__(self, most: float) -> None:
        self._most = most

    def __call__(self, left: float, products: int) -> bool:
        """Whether to abandon, given the forecast of further products and the number so far."""
        return bool(np.isfinite(left)) and left > self._most and products >= _TRUSTED * self._most

    def before(self, left: float) -> bool:
        """Whether not to start the search, given the forecast from a sample of rows."""
        return bool(np.isfinite(left)) and left > self._most


class Progress:
    """Detects that the residual has not halved over ``patience`` looks, usually due to rounding."""

    def __init__(self, patience: int) -> None:
        self.best, self.since, self.patience = np.inf, 0, patience

    def stalled(self, residual: float, worst: float = np.inf) -> bool:
        """Whether to stop because the residual no longer falls.

        Parameters
        ----------
        residual : float
            Largest residual, relative to the first eigenvalue.
        worst : float
            Largest residual in units of the tolerance.

        Raises
        ------
        DataError
            If the residual stopped falling and is still too large.
        """
        if residual < 0.5 * self.best:
            self.best, self.since = residual, 0
            return False
        self.since += 1
        if self.since < self.patience * (_HASTE if worst < _NEAR else 1.0):
            return False
        if residual > _STALLED:
            raise DataError(
                f"the Lanczos search stalled at a residual of {residual:.1e}",
                hint="choose svd_solver='full' or 'covariance_eigh'",
            )
        return True
