"""As many of the largest pairs as a share of the variance takes, unknown beforehand.

Block Lanczos as in :mod:`~princomp.solvers.lanczos`, of a scatter or of rows that are in memory,
whose space grows until the Ritz values that make up the share have met their residuals. Ritz
values are no larger than eigenvalues, so what looks like enough is; where it takes too many, a
decomposition of the whole is quicker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from princomp.arrays import EPS, FloatArray
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import roundoff_of_products
from princomp.solvers.lanczos import Pairs, chance_of_a_miss, finished, hides_copies, tolerance
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.solvers.scatter_search import products_with, unit_trace
from princomp.solvers.search_space import SearchSpace
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Moments
from princomp.summaries.centred_rows import CentredRows

__all__ = ["FEWEST_COLUMNS", "is_hopeless", "share_of_rows", "share_room", "solve_share"]

# Below so many columns LAPACK finds all pairs as quickly.
FEWEST_COLUMNS = 1000
# Vectors of a block.
_BLOCK = 16
# The space after which LAPACK is quicker, as a share of the columns, and that after which summing
# a scatter and a search in it are: at 20,000 × 2,000 they take as long as products of the rows
# with 480 vectors in float32 and 460 in float64.
_SCATTER_SPACE, _ROWS_SPACE = 0.2, 0.15
# The space needs so many vectors for each pair that is found in it, at least.
_FOR_EACH = 1.5
# The space is looked at when it has so many vectors, and has grown by this before the next look,
# which is a decomposition of its projection.
_FIRST_LOOK, _GROWTH = 4 * _BLOCK, 1.3
# Share of a Ritz value that the residual of one which has been found is, at most, and how many of
# these tell how others go on.
_FOUND, _TELLING = 0.05, 8


class _Growth(NamedTuple):
    """How a search ended."""

    pairs: Pairs | None  # of the share, or None where it was given up
    products: int
    hopeless: bool = False  # whether the share takes more pairs than there may be


def solve_share(moments: Moments, share: float) -> Spectrum | None:
    """The pairs whose sum first exceeds a share of the trace; None where they are too many.

    Parameters
    ----------
    moments : Moments
    share : float
        In (0, 1).
    """
    trace, size = float(moments.scatter.trace()), unit_trace(moments)
    if not size:
        return None
    product = products_with(moments.scatter, size)
    room = int(_SCATTER_SPACE * moments.p)
    pairs = _search(product, moments.p, share * trace / size, room, FEWEST_UNITS * EPS).pairs
    if pairs is None:
        return None
    divisor = moments.rows - 1.0
    variances = np.maximum(pairs.values, 0.0) * size / divisor
    variances[moments.rank_limit :] = 0.0
    total = trace / divisor
    error = roundoff_of_products(
        moments.p, moments.effective_unit, total, float(variances[0]), moments.count
    )
    away = pairs.residuals / pairs.values[0]
    axes = orthonormal(pairs.vectors.T)
    return Spectrum(variances, axes, total, error, residuals=away, missed=pairs.missed)


def share_room(p: int) -> int:
    """Vectors of the search space of :func:`share_of_rows`."""
    return int(_ROWS_SPACE * p)


def share_of_rows(
    rows: CentredRows, columns: Columns, share: float, *, tol: float
) -> tuple[Spectrum | None, int]:
    """The same by products with rows (n, p), n ≥ p, and how often they were read.

    Parameters
    ----------
    rows : CentredRows
    columns : Columns
        Of the same (scaled) rows.
    share : float
        In (0, 1).
    tol : float
        Largest residual relative to the first eigenvalue; 0 is what the products allow.
    """
    p, tol = columns.p, tolerance(rows, tol)
    wanted = share * float(columns.column_scatter.sum())
    found = _search(rows.images, p, wanted, share_room(p), tol)
    if found.pairs is None:
        return None, found.products
    spectrum, passes = finished(rows, columns, found.pairs)
    return spectrum, found.products + passes


def is_hopeless(sample: CentredRows, trace: float, share: float, *, tol: float) -> bool:
    """Whether a few products with a sample (m, p) of rows show that the share takes too many.

    ``trace`` is that of the sample's scatter, about.
    """
    p = sample.shape[1]
    room = min(_FIRST_LOOK, share_room(p))
    tol = tolerance(sample, tol)
    return _search(sample.images, p, share * trace, room, tol, share_room(p)).hopeless


def _search(
    product: Callable[[FloatArray], FloatArray],
    p: int,
    wanted: float,
    room: int,
    tol: float,
    most: int | None = None,
) -> _Growth:
    """The largest pairs whose sum first exceeds ``wanted``, in a space of ``room`` vectors.

    ``most`` is the space that may be had for it, if that is another.
    """
    if not wanted > 0 or room < 2 * _BLOCK:
        return _Growth(None, 0)
    pairs = (room if most is None else most) / _FOR_EACH
    rng = np.random.default_rng(0)
    space = SearchSpace(product, orthonormal(rng.standard_normal((_BLOCK, p))), room, tol)
    look = _FIRST_LOOK
    while True:
        space.grow()
        stop = space.stop
        full = stop + _BLOCK > room
        if stop >= look or full:
            look = int(_GROWTH * stop)
            values, inner = space.pairs()
            residuals = space.residuals(inner)
            k = _fewest(values, wanted)
            if k is None and _reach(values, residuals, pairs) < wanted:
                return _Growth(None, space.products, hopeless=True)
            if k is not None and residuals[:k].max() <= tol * values[0]:
                if hides_copies(values[:k], _BLOCK, tol):
                    return _Growth(None, space.products)
                missed = chance_of_a_miss(p, _BLOCK, tol)
                vectors = (inner[:k] @ space.vectors).T
                found = Pairs(values[:k], vectors, residuals[:k], space.products, True, missed)
                return _Growth(found, space.products)
        if full:
            return _Growth(None, space.products)
        space.go_on(min(_BLOCK, room - stop), rng)


def _reach(values: FloatArray, residuals: FloatArray, most: float) -> float:
    """What ``most`` pairs may sum to: those found, and others that fall on as these do.

    Found is the first, near enough, and what follows it without a gap and has a small residual:
    a later Ritz value says nothing of the eigenvalue in its place. Eigenvalues fall as a power of
    their number, that of the second half of those found.
    """
    sure = residuals <= _FOUND * values
    found = min(max(1, int(np.argmin(sure)) if not sure.all() else len(values)), int(most))
    last, power = values[found - 1], 0.0
    if found >= _TELLING:
        half = found // 2
        power = np.log(values[half - 1] / last) / np.log(found / half)
    left = np.arange(found + 1, int(most) + 1)
    return float(values[:found].sum() + last * ((found / left) ** power).sum())


def _fewest(values: FloatArray, wanted: float) -> int | None:
    passed = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) > wanted)
    return int(passed[0]) + 1 if passed.size else None
