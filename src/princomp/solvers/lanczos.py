"""The k largest eigenpairs of an operator, each to a given residual.

``TopPairs`` ends the search. It computes residuals when the forecast says so, and stops if they are
small, no longer fall, or another solver is faster.

A small residual shows that a pair is an eigenpair, but not that no larger one is missing: from a
start of w random vectors, a search in exact arithmetic finds at most w copies of a repeated
eigenvalue. If that many were found, there may be more, and the search starts again from a random
block orthogonal to the pairs found, until nothing larger appears.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from princomp.errors import DataError
from princomp.linalg import EPS, FloatArray, Operator
from princomp.solvers.bases import orthonormal
from princomp.solvers.search import Pairs, SearchSpace, search

# Called with the forecast of further products and the number so far; returns true to end a search.
Abandon: TypeAlias = Callable[[float, int], bool]

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
        Sum of all eigenvalues.
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
    abandon: Abandon | None = None
    # Eigenvalues found before a check for more copies, and their largest residual, relative to the
    # first value.
    _values_before: FloatArray | None = None
    _residual_before: float = 0.0

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
        if values[k - 1] <= _COPY_UNITS * tol * values[0]:
            # Residuals below tol could not distinguish the last values from larger ones.
            tol = self.least_tol
        worst = residuals[:k].max() / max(tol, EPS)
        if self._values_before is not None:
            residuals[:k] = np.maximum(residuals[:k], self._residual_before)
            next_tol = max(_NEXT_PAIR_TOLERANCE * values[k - 1] / values[0], tol, EPS)
            worst = max(worst, residuals[-1] / next_tol)
        largest = residuals[:k].max()
        products_left = self._forecast.update(products, worst)
        exhausted = stop >= space.size
        done = exhausted or worst <= 1.0 or self._progress.stalled(largest, worst)
        if done and not exhausted and self._may_hide_copies(values[:k], tol):
            self._values_before, self._residual_before = values[:k], largest
            space.restart(values[:k], coordinates[:k], random=True)
            self.width = min(2 * self.width, max(1, (self.max_vectors - k) // 2), space.size - k)
            self._begin()
            return None
        if done or (self.abandon is not None and self.abandon(products_left, products)):
            missed = 0.0
            if not (exhausted or rest_is_smaller(self.trace, values[:k])):
                error = relative_to_last(values[:k], max(largest, tol))
                missed = miss_probability(space.size, self.copies, error)
                # Copies that exceed the last value by no more than the tolerance are not searched.
                if self._values_before is None and may_hide_copies(
                    values[:k], self.copies, tol, within_tol=True
                ):
                    missed = 1.0
            vectors = (coordinates[:k] @ space.vectors).T
            found = np.maximum(residuals[:k], space.overlap)
            return Pairs(values[:k], vectors, found * values[0], products, done, missed)
        if full:
            keep = min(k + self.width, stop - self.width)
            space.restart(values[:keep], coordinates[:keep])
        return None

    def _may_hide_copies(self, values: FloatArray, tol: float) -> bool:
        """Whether to look for more copies: some may be hidden, and the last check found some."""
        if rest_is_smaller(self.trace, values):
            return False
        if not may_hide_copies(values, self.copies, tol):
            return False
        if self._values_before is None:
            return True
        rounding = max(tol, self._residual_before) * values[0]
        return bool((values - self._values_before).max() > _COPY_UNITS * rounding)


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
    abandon: Abandon | None = None,
) -> Pairs:
    """Compute the ``k`` largest eigenpairs of a positive semi-definite operator.

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
        Sum of all eigenvalues. If the other eigenvalues add up to less than the last one wanted,
        no larger one can be missing.
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
    rule = TopPairs(k, width, max_vectors, tol, copies, least_tol, trace=trace, abandon=abandon)
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


# ---- when to compute the residuals, and when to stop -------------------------------------

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
        return trusted and self.should_skip(products_left)

    def should_skip(self, products_left: float) -> bool:
        """Whether not to start the search, given the forecast from a sample of rows."""
        return bool(np.isfinite(products_left)) and products_left > self._max_products


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


# ---- eigenvalues that a search may have missed -------------------------------------------

# Eigenvalues that differ by less than this share count as copies: the search separates others.
# Differences below _COPY_UNITS times the tolerance count as rounding.
_TIED, _COPY_UNITS = 1e-3, 16
# Bound of the rounding errors of a trace and of the sum of eigenvalues, relative to the trace.
_SLACK = 1e-6


def may_hide_copies(
    values: FloatArray, copies: int, tol: float, *, within_tol: bool = False
) -> bool:
    """Whether eigenvalues larger than the last of those found (k,) may be hidden.

    A search from ``copies`` random vectors finds at most that many copies of an eigenvalue. Copies
    may be missing only if at least that many of the values above the last one agree. Values that
    are only larger by about the tolerance of the search count with ``within_tol``.
    """
    above = values[:-1]
    if copies > len(above):
        return False
    largest, smallest = above[: len(above) - copies + 1], above[copies - 1 :]
    tied = largest - smallest <= np.maximum(_TIED * largest, _COPY_UNITS * tol * values[0])
    least = EPS if within_tol else max(tol, EPS)
    larger = largest - values[-1] > _COPY_UNITS * least * values[0]
    return bool((tied & larger).any())


def miss_probability(size: int, copies: int, error: float) -> float:
    """Upper bound of the probability that a search misses an eigenvalue larger than its last.

    The smallest singular value of a random w × w matrix is below δ / √w with probability δ
    (Edelman 1988). So with probability 1 − δ, a random block of w = ``copies`` vectors has a
    component of at least δ / √(w·size) along each of w eigenvectors. The search ends when the
    errors of the wanted vectors are at most ``error``: their residuals, relative to the last
    eigenvalue. A vector with an eigenvalue that is clearly larger grows faster than they do, so it
    stays hidden only if its component in the start was less than that.
    """
    return min(1.0, error * math.sqrt(size * copies))


def relative_to_last(values: FloatArray, error: float) -> float:
    """Convert an error in units of the first value to units of the last value that exceeds it."""
    last = values[values > error * values[0]].min(initial=values[0])
    return float(error * values[0] / max(last, np.finfo(np.float64).tiny))


def rest_is_smaller(trace: float | None, values: FloatArray) -> bool:
    """Whether all other eigenvalues add up to less than the last one of ``values``."""
    return trace is not None and bool(trace * (1.0 + _SLACK) - values.sum() < values[-1])
