"""Largest pairs that make up a given share of the variance, of a scatter or of rows in memory.

The search space grows until the residuals of the Ritz values that make up the share are small
enough. Ritz values never exceed eigenvalues, so the eigenvalues make up at least the same share. If
too many pairs are needed, the search is abandoned, because a decomposition is faster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from princomp.linalg import EPS, FloatArray
from princomp.solvers.bases import orthonormal
from princomp.solvers.copies import chance_of_a_miss, hides_copies
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.solvers.row_search import finished, tolerance
from princomp.solvers.scatter_search import products_with, spectrum_of_scatter, unit_trace
from princomp.solvers.search import Pairs, search
from princomp.solvers.search_space import SearchSpace
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import CentredRows, Columns, Moments

# With fewer columns, LAPACK finds all pairs as quickly.
FEWEST_COLUMNS = 1000
# Number of vectors in a block.
_BLOCK = 16
# Largest search space, as a share of the number of columns: for a scatter (beyond it, LAPACK is
# faster) and for rows (beyond it, summing a scatter and searching that is faster: at 20,000 ×
# 2,000, this takes as long as products of the rows with 480 vectors in float32 and 460 in float64).
_SCATTER_SPACE, _ROWS_SPACE = 0.2, 0.15
# Fewest vectors that the space needs for each pair found in it.
_FOR_EACH = 1.5
# The rule first looks at the space when it has _FIRST_LOOK vectors, and again each time it has
# grown by the factor _GROWTH. A look is a decomposition of the projected operator.
_FIRST_LOOK, _GROWTH = 4 * _BLOCK, 1.3
# A pair counts as found if its residual is at most this share of its Ritz value; the second number
# is how many found pairs are enough to extrapolate from.
_FOUND, _ENOUGH = 0.05, 8


class ShareOfTrace:
    """Rule that ends a search with the fewest pairs whose eigenvalues exceed a sum.

    Parameters
    ----------
    wanted : float
        The sum of eigenvalues to exceed.
    tol : float
        Largest residual of each pair, relative to the largest eigenvalue.
    most : float
        The search is abandoned if it needs more pairs than this.

    Attributes
    ----------
    too_many : bool
        Whether the search was abandoned because it needs more than ``most`` pairs.
    """

    width = _BLOCK

    def __init__(self, wanted: float, tol: float, most: float) -> None:
        self._wanted, self._tol, self._most = wanted, tol, most
        self._next_look, self.too_many = _FIRST_LOOK, False

    def look(self, space: SearchSpace) -> Pairs | None:
        """Return converged pairs, empty pairs to abandon the search, or None to continue."""
        full = space.is_full(_BLOCK)
        if space.stop < self._next_look and not full:
            return None
        self._next_look = int(_GROWTH * space.stop)
        values, inner = space.pairs()
        residuals = space.residuals(inner)
        k = _fewest(values, self._wanted)
        self.too_many = k is None and _reach(values, residuals, self._most) < self._wanted
        if k is not None and residuals[:k].max() <= self._tol * values[0]:
            if hides_copies(values[:k], _BLOCK, self._tol):
                return _none(space.products)
            missed = chance_of_a_miss(space.size, _BLOCK, self._tol)
            vectors = (inner[:k] @ space.vectors).T
            return Pairs(values[:k], vectors, residuals[:k], space.products, True, missed)
        return _none(space.products) if full or self.too_many else None


def search_share(moments: Moments, share: float) -> Spectrum | None:
    """Compute the fewest pairs that exceed a share of the trace; None if there are too many.

    Parameters
    ----------
    moments : Moments
    share : float
        In (0, 1).
    """
    trace, size = float(moments.scatter.trace()), unit_trace(moments)
    if not size:
        return None
    product, room = products_with(moments.scatter, size), int(_SCATTER_SPACE * moments.p)
    pairs, _ = _search(product, moments.p, share * trace / size, room, FEWEST_UNITS * EPS)
    if not pairs.converged:
        return None
    return spectrum_of_scatter(pairs, moments, size, orthonormal(pairs.vectors.T))


def share_room(p: int) -> int:
    """Number of vectors in the search space of :func:`search_rows_share`."""
    return int(_ROWS_SPACE * p)


def search_rows_share(
    rows: CentredRows, columns: Columns, share: float, *, tol: float
) -> tuple[Spectrum | None, int]:
    """Run :func:`search_share` with rows (n, p), n ≥ p; also return the number of passes.

    Parameters
    ----------
    rows : CentredRows
    columns : Columns
        Columns of the same (scaled) rows.
    share : float
        In (0, 1).
    tol : float
        Largest residual relative to the first eigenvalue; 0 means as small as the products allow.
    """
    p, tol = columns.p, tolerance(rows, tol)
    wanted = share * float(columns.column_scatter.sum())
    pairs, _ = _search(rows.images, p, wanted, share_room(p), tol)
    if not pairs.converged:
        return None, pairs.products
    spectrum, passes = finished(rows, columns, pairs)
    return spectrum, pairs.products + passes


def too_many_components(sample: CentredRows, trace: float, share: float, *, tol: float) -> bool:
    """Whether a few products with a sample (m, p) of rows show that a share needs too many pairs.

    ``trace`` is the approximate trace of the scatter of the sample.
    """
    p = sample.shape[1]
    room, tol = min(_FIRST_LOOK, share_room(p)), tolerance(sample, tol)
    _, too_many = _search(sample.images, p, share * trace, room, tol, share_room(p))
    return too_many


def _search(
    product: Callable[[FloatArray], FloatArray],
    p: int,
    wanted: float,
    room: int,
    tol: float,
    full_room: int | None = None,
) -> tuple[Pairs, bool]:
    """Search in a space of ``room`` vectors (p,); also return whether it needs too many pairs.

    If this search only tests whether a larger one pays, ``full_room`` is the room of that one.
    """
    if not wanted > 0 or room < 2 * _BLOCK:
        return _none(0), False
    rng = np.random.default_rng(0)
    space = SearchSpace(product, orthonormal(rng.standard_normal((_BLOCK, p))), room, tol)
    rule = ShareOfTrace(wanted, tol, (full_room or room) / _FOR_EACH)
    return search(space, rule, rng), rule.too_many


def _none(products: int) -> Pairs:
    """Return the result of an abandoned search."""
    none = np.empty(0)
    return Pairs(none, none, none, products, converged=False)


def _reach(values: FloatArray, residuals: FloatArray, most: float) -> float:
    """Estimate the sum of the largest ``most`` eigenvalues by extrapolating from those found.

    The eigenvalues found are the first one, and the next ones up to the first large residual: later
    Ritz values say nothing about the eigenvalues in their place. Beyond these, eigenvalues are
    assumed to fall as a power of their index, with the power fitted to the second half of those
    found.
    """
    sure = residuals <= _FOUND * values
    found = min(max(1, int(np.argmin(sure)) if not sure.all() else len(values)), int(most))
    last, power = values[found - 1], 0.0
    if found >= _ENOUGH:
        half = found // 2
        power = np.log(values[half - 1] / last) / np.log(found / half)
    left = np.arange(found + 1, int(most) + 1)
    return float(values[:found].sum() + last * ((found / left) ** power).sum())


def _fewest(values: FloatArray, wanted: float) -> int | None:
    passed = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) > wanted)
    return int(passed[0]) + 1 if passed.size else None
