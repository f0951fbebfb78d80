"""How a search goes: when to look at it again, and whether it still comes nearer."""

from __future__ import annotations

import numpy as np

from princomp.errors import DataError

__all__ = ["Forecast", "Patience", "Progress"]

# Of the products that the fall of the residual foretells, this share goes by unlooked at: the
# fall grows steeper, a look is an eigendecomposition, and a product too many is dearer.
_UNSEEN = 0.5
# A residual that no longer falls is taken for what it is if it is this small; the certificate
# shows it.
_STALLED = 1e-4
# Where it is within this many times what is allowed, it may be the rounding of the products that
# keeps it there, and a tenth of the patience is enough.
_NEAR, _HASTE = 64.0, 0.1
# What the first steps foretell is often four times too much, or a tenth of it: it is believed
# after this share of the products that the other way is worth.
_BELIEVED = 0.25


class Forecast:
    """When to look next: from how the residual falls, as far as it has been seen.

    Parameters
    ----------
    share : float
        Of the products so far, how many more there are at most before the next look.
    """

    def __init__(self, share: float = np.inf) -> None:
        self.next_look, self._products, self._worst = 0, 0, np.inf
        self._share = share

    def after(self, products: int, worst: float) -> float:
        """How many more products bring ``worst`` below 1: infinity where nobody can tell."""
        had, since = self._worst, products - self._products
        self._products, self._worst = products, worst
        self.next_look = products + 1
        if not (np.isfinite(had) and 0 < worst < had):
            return np.inf
        left = float(np.log(max(worst, 1.0)) / np.log(had / worst)) * since
        unseen = min(_UNSEEN * left, self._share * products, 1e6)
        self.next_look = products + max(1, int(unseen))
        return left


class Patience:
    """Whether a search had better be given up for another way.

    Parameters
    ----------
    most : float
        How many more products the other way is worth.
    """

    def __init__(self, most: float) -> None:
        self._most = most

    def __call__(self, left: float, products: int) -> bool:
        """Asked with the products that are foretold, and those that there were."""
        return bool(np.isfinite(left)) and left > self._most and products >= _BELIEVED * self._most

    def before(self, left: float) -> bool:
        """Whether it need not begin, by the products that a look at some rows foretold."""
        return bool(np.isfinite(left)) and left > self._most


class Progress:
    """Notices a residual that has not halved over so many looks: it met the rounding."""

    def __init__(self, patience: int) -> None:
        self.best, self.since, self.patience = np.inf, 0, patience

    def stalled(self, residual: float, worst: float = np.inf) -> bool:
        """Whether there is no use in going on.

        Parameters
        ----------
        residual : float
            The largest, relative to the first eigenvalue.
        worst : float
            The largest in units of what is allowed for it.

        Raises
        ------
        DataError
            When the residual is still too large to be an answer.
        """
        if not np.isfinite(residual):
            raise DataError(
                "a product with the rows is not finite",
                hint="divide the columns by a power of ten, or choose svd_solver='full'",
            )
        if residual < 0.5 * self.best:
            self.best, self.since = residual, 0
            return False
        self.since += 1
        if self.since < self.patience * (_HASTE if worst < _NEAR else 1.0):
            return False
        if residual > _STALLED:
            raise DataError(
                f"Lanczos stays at a residual of {residual:.1e}",
                hint="choose svd_solver='full' or 'covariance_eigh'",
            )
        return True
