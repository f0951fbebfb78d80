"""When a search computes its residuals, and when it stops although they are still too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from princomp.errors import DataError

# Called with the forecast of further products and the number so far; returns true to end a search.
# None: never.
Abandon: TypeAlias = Callable[[float, int], bool] | None

# A "check" computes the residuals of a search. The next check is after this share of the forecast
# products, because the residual falls faster and faster. A check costs an eigendecomposition, but
# an unnecessary product costs more.
_SKIPPED = 0.5
# For any forecast, check the residual again after at most this share of additional products,
# because it falls faster and faster. Sparse 100,000 × 20,000 rows then take 14 and 19 passes
# (float32 and float64) instead of 18 and 28.
_CHECK_SHARE = 0.5
# A residual that stopped falling is accepted up to this size; the certificate reports it.
_ACCEPTED_RESIDUAL = 1e-4
# A residual below _NEAR_TOLERANCE times the tolerance may have stopped falling due to rounding of
# the products. Then _REDUCED_PATIENCE times the usual patience is enough.
_NEAR_TOLERANCE, _REDUCED_PATIENCE = 64.0, 0.1
# The first forecasts are often four times too high, or a tenth of the true number. They count only
# after this share of the products that the alternative costs.
_TRUSTED_FROM = 0.25
# A forecast from a sample may exceed the limit by this factor. If variances decrease slowly, such
# forecasts are too high, because the variances of few rows are closer to each other: for 20,000
# rows with variances 1/√i of 2,000 columns, 15 products in float32 and 32 in float64 instead of 9
# and 23. For noise they are 35 and 165.
_SAMPLE_EXCESS = 1.5


class Forecast:
    """Forecasts the remaining products, and the next check, from the decrease of the residual."""

    def __init__(self) -> None:
        self.next_check, self._products, self._worst = 0, 0, np.inf

    def update(self, products: int, worst: float) -> float:
        """Forecast the products until ``worst`` is below 1; infinity if it does not decrease."""
        previous, products_between = self._worst, products - self._products
        self._products, self._worst = products, worst
        self.next_check = products + 1
        if not (np.isfinite(previous) and 0 < worst < previous):
            return np.inf
        products_left = float(np.log(max(worst, 1.0)) / np.log(previous / worst)) * products_between
        skipped = min(_SKIPPED * products_left, _CHECK_SHARE * products, 1e6)
        self.next_check = products + max(1, int(skipped))
        return products_left


class AbandonRule:
    """Abandons a search that would take longer than an alternative.

    Parameters
    ----------
    max_products : float
        Number of products that take as long as the alternative.
    """

    def __init__(self, max_products: float) -> None:
        self._max_products = max_products

    def __call__(self, products_left: float, products: int) -> bool:
        """Whether to abandon, given the forecast of further products and the number so far."""
        trusted = products >= _TRUSTED_FROM * self._max_products
        return trusted and self._max_products < products_left < np.inf

    def should_skip(self, products_left: float) -> bool:
        """Whether not to start the search: the forecast from a sample is far above the limit."""
        return _SAMPLE_EXCESS * self._max_products < products_left < np.inf


class StallDetector:
    """Detects that the residual has not halved in ``patience`` checks, usually due to rounding."""

    def __init__(self, patience: int) -> None:
        self.best, self.checks_since_best, self.patience = np.inf, 0, patience

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
            self.best, self.checks_since_best = residual, 0
            return False
        self.checks_since_best += 1
        reduction = _REDUCED_PATIENCE if worst < _NEAR_TOLERANCE else 1.0
        if self.checks_since_best < self.patience * reduction:
            return False
        if residual > _ACCEPTED_RESIDUAL:
            raise DataError(
                f"the Lanczos search stalled at a residual of {residual:.1e}",
                hint="choose svd_solver='full' or 'covariance_eigh'",
            )
        return True
