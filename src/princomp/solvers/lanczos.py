"""The k largest eigenpairs of an operator, each to a given residual.

``TopPairs`` ends the search. It computes residuals when the forecast says so, and stops if they are
small, no longer fall, or another solver is faster.

A small residual shows that a pair is an eigenpair, but not that no larger one is missing: from a
start of w random vectors, a search in exact arithmetic finds at most w copies of a repeated
eigenvalue. If that many were found, there may be more, and the search starts again from a random
block orthogonal to the pairs found, until nothing larger appears.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.errors import DataError
from princomp.linalg import EPS, FloatArray, Operator
from princomp.solvers.bases import orthonormal
from princomp.solvers.missed import (
    COPY_UNITS,
    may_hide_copies,
    miss_probability,
    relative_to_last,
    rest_is_smaller,
)
from princomp.solvers.search import Pairs, SearchSpace, search
from princomp.solvers.stopping import Abandon, Forecast, StallDetector

# Measured on sparse 30,000 × 6,000 rows with a flat spectrum and two scatters of order 2,000:
# blocks of 4 and room for 128 vectors take half the time of blocks of 16, and a quarter less than
# blocks of 2 or 8.
_BLOCK, _DEFAULT_MAX_VECTORS = 4, 128
# A search has stalled if it fills its space this many times without halving its residual.
_PATIENCE = 20
# Relative error allowed when eigenvalues are compared with the trace: far above that of float32.
_TRACE_TOLERANCE = 1e-2
# While checking for more copies, the residual of the next pair after the k wanted must be below
# this, relative to the last value wanted, to be sure that the pair is not one of the k largest.
_NEXT_PAIR_TOLERANCE = 1e-6


@dataclass
class TopPairs:
    """Rule that ends a search when the residuals of the ``k`` largest pairs are small enough.

    Parameters
    ----------
    k, width, max_vectors : int
        Numbers of pairs, of vectors in a block, and of vectors that the space can hold.
    tol : float
        Largest residual, relative to the largest eigenvalue.
    copies : int
        Number of random vectors in the first block.
    least_tol : float
        Tolerance if the last values wanted are not much larger than ``tol``; see :func:`lanczos`.
    trace : float, optional
        Sum of all eigenvalues, if none is negative.
    abandon : callable, optional
        Ends the search early; see :func:`lanczos`.
    """

    k: int
    width: int
    max_vectors: int
    tol: float
    copies: int
    least_tol: float
    trace: float | None = None
    abandon: Abandon = None
    # Eigenvalues found before a check for more copies, and their largest residual, relative to the
    # first value.
    _before: tuple[FloatArray, float] | None = None

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._forecast = Forecast()
        self._progress = StallDetector(_PATIENCE * max(1, self.max_vectors // self.width))

    def check(self, space: SearchSpace) -> Pairs | None:
        """Return the pairs if they have converged or the search is abandoned."""
        k, stop, products = self.k, space.stop, space.products
        full = space.is_full(self.width)
        if stop < k or not (full or products >= self._forecast.next_check):
            return None
        values, coordinates = space.pairs(k + self.width)
        residuals = space.residuals(coordinates[: k + 1]) / max(
            values[0], np.finfo(np.float64).tiny
        )
        tol = self.tol
        if values[k - 1] <= COPY_UNITS * tol * values[0]:
            # Residuals below tol could not distinguish the last values from larger ones.
            tol = self.least_tol
        worst = residuals[:k].max() / max(tol, EPS)
        if self._before is not None:
            residuals[:k] = np.maximum(residuals[:k], self._before[1])
            next_tol = max(_NEXT_PAIR_TOLERANCE * values[k - 1] / values[0], tol, EPS)
            worst = max(worst, residuals[-1] / next_tol)
        largest = residuals[:k].max()
        products_left = self._forecast.update(products, worst)
        exhausted = stop >= space.size
        done = exhausted or worst <= 1.0 or self._progress.stalled(largest, worst)
        if done and not exhausted and self._may_hide_copies(values[:k], tol):
            self._before = values[:k], largest
            space.restart(values[:k], coordinates[:k], random=True)
            self.width = min(2 * self.width, max(1, (self.max_vectors - k) // 2))
            self._begin()
            return None
        if done or (self.abandon is not None and self.abandon(products_left, products)):
            missed = 0.0 if exhausted else self._missed(space.size, values[:k], largest, tol)
            vectors = (coordinates[:k] @ space.vectors).T
            found = np.maximum(residuals[:k], space.overlap)
            return Pairs(values[:k], vectors, found * values[0], products, done, missed)
        if full:
            keep = min(k + self.width, stop - self.width)
            space.restart(values[:keep], coordinates[:keep])
        return None

    def _missed(self, size: int, values: FloatArray, residual: float, tol: float) -> float:
        """Upper bound of the probability that an eigenvalue larger than the last is missing."""
        if rest_is_smaller(self.trace, values):
            return 0.0
        # Copies that exceed the last value by no more than the tolerance are not searched.
        if self._before is None and may_hide_copies(values, self.copies, tol, within_tol=True):
            return 1.0
        return miss_probability(size, self.copies, relative_to_last(values, max(residual, tol)))

    def _may_hide_copies(self, values: FloatArray, tol: float) -> bool:
        """Whether to look for more copies: some may be hidden, and the last check found some."""
        if rest_is_smaller(self.trace, values) or not may_hide_copies(values, self.copies, tol):
            return False
        if self._before is None:
            return True
        values_before, residual = self._before
        rounding = max(tol, residual) * values[0]
        return bool((values - values_before).max() > COPY_UNITS * rounding)


def lanczos(
    apply: Operator,
    size: int,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    n_random: int | None = None,
    max_vectors: int | None = None,
    least_tol: float | None = None,
    trace: float | None = None,
    definite: bool = True,
    abandon: Abandon = None,
) -> Pairs:
    """Compute the ``k`` largest eigenpairs of a symmetric operator.

    Parameters
    ----------
    apply : callable
        Maps (size, m) to (size, m).
    size, k : int
        Order of the operator, and number of pairs wanted, at most ``size``.
    tol : float
        Largest residual allowed, relative to the largest eigenvalue.
    rng : numpy Generator
        Draws random vectors: the first block by default, and replacements.
    start : ndarray of shape (size, width), optional
        First block; all blocks are as wide as this one. For operators with expensive products.
    n_random : int, optional
        Number of random vectors in ``start``; all by default.
    max_vectors : int, optional
        Vectors that the search space holds before it restarts; at least k + 2·width.
    least_tol : float, optional
        Tolerance if the last eigenvalues wanted are not much larger than ``tol`` times the largest:
        any vector has a residual that small. ``tol`` by default.
    trace : float, optional
        Sum of all eigenvalues.
    definite : bool, default=True
        Whether no eigenvalue is negative. Then, if the other eigenvalues add up to less than the
        last one wanted, no larger one can be missing. Otherwise, ``trace`` only checks products.
    abandon : callable, optional
        Called with the forecast of further products and the number so far; returns true to end the
        search.

    Raises
    ------
    DataError
        If the residual stays too large, the products are not finite, or they contradict ``trace``.
    """
    if k > size:  # the search would never reach k vectors
        raise ValueError(f"{k} eigenpairs of an operator of order {size}")
    width = min(size, max(2, min(k, _BLOCK)) if start is None else start.shape[1])
    max_vectors = min(size, (max_vectors or max(6 * k, _DEFAULT_MAX_VECTORS)) + width)
    first = orthonormal((rng.standard_normal((size, width)) if start is None else start).T)
    space = SearchSpace(apply, first, max_vectors, tol)
    copies = width if n_random is None else n_random
    least_tol = tol if least_tol is None else least_tol
    bound = trace if definite else None
    rule = TopPairs(k, width, max_vectors, tol, copies, least_tol, trace=bound, abandon=abandon)
    pairs = search(space, rule, rng)
    if trace is not None and pairs.converged:
        _check_trace(pairs, trace, tol)
    return pairs


def _check_trace(pairs: Pairs, trace: float, tol: float) -> None:
    """Check that the largest k of p eigenvalues add up to at least k/p of their sum.

    Residuals cannot detect a wrong operator: products that underflow to zero have a residual of
    zero. The trace can.
    """
    size, k = pairs.vectors.shape
    share = k / size * (1.0 - _TRACE_TOLERANCE) * trace
    if pairs.values.sum() + k * tol * pairs.values[0] < share:
        raise DataError(
            f"the {k} largest of {size} eigenvalues add up to {pairs.values.sum():.3g}, but the "
            f"sum of all is {trace:.3g}",
            hint="the rows changed between passes, or products with them are out of range: "
            "convert float32 to float64, or divide the columns by a power of ten",
        )


def lanczos_without_constants(
    apply: Operator, column_scatter: FloatArray, k: int, *, start: FloatArray, **options: Any
) -> Pairs:
    """Run :func:`lanczos` on a scatter, without its constant columns.

    Axes with a variance are zero in constant columns. In a search with all columns, parts of the
    random vectors would remain in these entries. The vectors found here are exactly zero there,
    and orthonormal up to rounding.

    Parameters
    ----------
    apply : callable
        Maps vectors (p, m) to scatter times vectors.
    column_scatter : ndarray of shape (p,)
        Zero for constant columns; not zero for all columns.
    k : int
        If it exceeds the number of columns that are not constant, the last pairs are unit vectors
        of constant columns with eigenvalue 0.
    start : ndarray of shape (p, width)
    **options
        As for :func:`lanczos`.
    """
    varying = np.flatnonzero(column_scatter)
    p, size = len(column_scatter), len(varying)
    if size == p:
        pairs = lanczos(apply, p, k, start=start, **options)
        return replace(pairs, vectors=orthonormal(pairs.vectors.T).T)

    def apply_varying(vectors: FloatArray) -> FloatArray:
        whole = np.zeros((p, vectors.shape[1]))
        whole[varying] = vectors
        return apply(whole)[varying]

    found = min(k, size)
    pairs = lanczos(apply_varying, size, found, start=start[varying, :size], **options)
    more = k - found
    vectors = np.zeros((p, k))
    vectors[varying, :found] = orthonormal(pairs.vectors.T).T
    vectors[np.flatnonzero(column_scatter == 0)[:more], np.arange(found, k)] = 1.0
    values, residuals = np.pad(pairs.values, (0, more)), np.pad(pairs.residuals, (0, more))
    return replace(pairs, values=values, vectors=vectors, residuals=residuals)
