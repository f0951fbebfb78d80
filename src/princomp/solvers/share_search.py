"""Largest pairs that make up a given share of the variance, of a scatter or of rows in memory.

The search space grows until the residuals of the Ritz values that make up the share are small
enough. Ritz values never exceed eigenvalues, so the eigenvalues make up at least the same share. If
too many pairs are needed, the search is abandoned, because a decomposition is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import EPS, FloatArray, Operator, search_rng
from princomp.solvers.bases import orthonormal
from princomp.solvers.missed import may_hide_copies, miss_probability, relative_to_last
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.solvers.row_search import spectrum_of_pairs, tolerance
from princomp.solvers.scatter_search import products_with, spectrum_of_scatter, trace_scale
from princomp.solvers.search import Pairs, SearchSpace, search
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
_VECTORS_PER_PAIR = 1.5
# The rule first checks the space when it has _FIRST_CHECK vectors, and again each time it has
# grown by the factor _GROWTH. A check is a decomposition of the projected operator.
_FIRST_CHECK, _GROWTH = 4 * _BLOCK, 1.3
# A pair counts as found if its residual is at most this share of its Ritz value; the second number
# is how many found pairs are enough to extrapolate from.
_FOUND, _ENOUGH = 0.05, 8


@dataclass
class ShareOfTrace:
    """Rule that ends a search with the fewest pairs whose eigenvalues exceed a sum.

    Parameters
    ----------
    target : float
        The sum of eigenvalues to exceed.
    tol : float
        Largest residual of each pair, relative to the largest eigenvalue.
    max_vectors : int
        Room in the search space; a search that needs more pairs than fit is abandoned.

    Attributes
    ----------
    too_many : bool
        Whether the search was abandoned because it needs too many pairs.
    """

    target: float
    tol: float
    max_vectors: int
    too_many: bool = False
    _next_check: int = _FIRST_CHECK

    width = _BLOCK

    def check(self, space: SearchSpace) -> Pairs | None:
        """Return converged pairs, empty pairs to abandon the search, or None to continue."""
        full = space.is_full(_BLOCK)
        if space.stop < self._next_check and not full:
            return None
        self._next_check = int(_GROWTH * space.stop)
        values, coordinates = space.pairs()
        residuals = space.residuals(coordinates)
        passed = np.flatnonzero(np.cumsum(values) > self.target)
        k = int(passed[0]) + 1 if passed.size else None
        max_pairs = self.max_vectors / _VECTORS_PER_PAIR
        self.too_many = k is None and _estimated_sum(values, residuals, max_pairs) < self.target
        if k is not None and residuals[:k].max() <= self.tol * values[0]:
            if may_hide_copies(values[:k], _BLOCK, self.tol, within_tol=True):
                return _abandoned(space.products)
            error = relative_to_last(values[:k], self.tol)
            missed = miss_probability(space.size, _BLOCK, error)
            vectors = (coordinates[:k] @ space.vectors).T
            return Pairs(values[:k], vectors, residuals[:k], space.products, True, missed)
        return _abandoned(space.products) if full or self.too_many else None


def search_share(moments: Moments, share: float) -> Spectrum | None:
    """Compute the fewest pairs that exceed a share of the trace; None if there are too many.

    Parameters
    ----------
    moments : Moments
    share : float
        In (0, 1).
    """
    trace = float(moments.scatter.trace())
    scale = trace_scale(trace)
    if not scale:
        return None
    max_vectors = int(_SCATTER_SPACE * moments.p)
    rule = ShareOfTrace(share * trace / scale, FEWEST_UNITS * EPS, max_vectors)
    pairs = _search(products_with(moments.scatter, scale), moments.p, max_vectors, rule)
    if not pairs.converged:
        return None
    return spectrum_of_scatter(pairs, moments, scale, orthonormal(pairs.vectors.T))


def max_share_vectors(p: int) -> int:
    """Number of vectors in the search space of :func:`search_rows_share`."""
    return int(_ROWS_SPACE * p)


def search_rows_share(
    rows: CentredRows, columns: Columns, share: float, *, tol: float
) -> tuple[Spectrum | None, int]:
    """Run :func:`search_share` with rows (n, p), n ≥ p; also return the number of passes.

    Parameters
    ----------
    rows, columns, tol
        As for :func:`~princomp.solvers.row_search.search_rows`.
    share : float
        In (0, 1).
    """
    max_vectors = max_share_vectors(columns.p)
    target = share * float(columns.column_scatter.sum())
    rule = ShareOfTrace(target, tolerance(rows, tol), max_vectors)
    pairs = _search(rows.images, columns.p, max_vectors, rule)
    if not pairs.converged:
        return None, pairs.products
    spectrum, passes = spectrum_of_pairs(rows, columns, pairs)
    return spectrum, pairs.products + passes


def too_many_components(sample: CentredRows, trace: float, share: float, *, tol: float) -> bool:
    """Whether a few products with a sample (m, p) of rows show that a share needs too many pairs.

    ``trace`` is the approximate trace of the scatter of the sample.
    """
    p = sample.shape[1]
    max_vectors = max_share_vectors(p)
    rule = ShareOfTrace(share * trace, tolerance(sample, tol), max_vectors)
    _search(sample.images, p, min(_FIRST_CHECK, max_vectors), rule)
    return rule.too_many


def _search(product: Operator, p: int, max_vectors: int, rule: ShareOfTrace) -> Pairs:
    """Search in a space of ``max_vectors`` vectors (p,); abandoned at once if it is too small."""
    if not rule.target > 0 or max_vectors < 2 * _BLOCK:
        return _abandoned(0)
    rng = search_rng()
    first = orthonormal(rng.standard_normal((_BLOCK, p)))
    return search(SearchSpace(product, first, max_vectors, rule.tol), rule, rng)


def _abandoned(products: int) -> Pairs:
    """Return the result of an abandoned search."""
    empty = np.empty(0)
    return Pairs(empty, empty, empty, products, converged=False)


def _estimated_sum(values: FloatArray, residuals: FloatArray, max_pairs: float) -> float:
    """Estimate the sum of the largest ``max_pairs`` eigenvalues by extrapolating from those found.

    The eigenvalues found are the first one, and the next ones up to the first large residual: later
    Ritz values say nothing about the eigenvalues in their place. Beyond these, eigenvalues are
    assumed to fall as a power of their index, with the power fitted to the second half of those
    found.
    """
    converged = residuals <= _FOUND * values
    found = len(values) if converged.all() else max(1, int(np.argmin(converged)))
    found = min(found, int(max_pairs))
    last, power = values[found - 1], 0.0
    if found >= _ENOUGH:
        half = found // 2
        power = np.log(values[half - 1] / last) / np.log(found / half)
    indices = np.arange(found + 1, int(max_pairs) + 1)
    return float(values[:found].sum() + last * ((found / indices) ** power).sum())
