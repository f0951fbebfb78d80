"""Block Lanczos with full reorthogonalisation and thick restart, to a residual.

After Golub & Underwood (1977) and Wu & Simon (2000). The loop stops on the residual of
each wanted pair, never on a count.

A residual says that a pair is an eigenpair, not that no larger one is missing: from a start
of w random vectors, exact arithmetic finds at most w copies of a repeated eigenvalue. Where
the values found show so many copies, the search goes on from a new random block, orthogonal
to the pairs found, until nothing larger appears (see ``Pairs.missed``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import EPS, FloatArray
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import roundoff
from princomp.solvers.forecast import Forecast, Progress
from princomp.solvers.ritz import (
    FEWEST_UNITS,
    bound_of_rows,
    project,
    within,
    within_rows,
    without_variance,
)
from princomp.solvers.search_space import SearchSpace
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows
from princomp.summaries.dense_rows import DenseRows

__all__ = [
    "Pairs",
    "chance_of_a_miss",
    "finished",
    "hides_copies",
    "lanczos",
    "lanczos_without_constants",
    "search_room",
    "search_rows",
    "solve_rows",
    "tolerance",
    "wide_block",
]

# Measured on a flat sparse 30,000 × 6,000 and two scatters of 2,000: blocks of 4 and room for
# 128 vectors take half the time of blocks of 16, and a quarter less than blocks of 2 or 8.
_BLOCK, _ROOM = 4, 128
# After this share of the products so far the residual is looked at again, whatever was foretold: it
# falls faster and faster. Sparse 100,000 × 20,000 rows then take 14 and 19 passes (float32 and
# float64) instead of 18 and 28.
_LOOKS = 0.5
# A search that has not halved its residual over so many fillings of the search space is over.
_PATIENCE = 20
# Where a product reads all rows, blocks have at least as many vectors as it multiplies at once, and
# so many more for each further _SERVED components. k = 20 of 4,000 × 4,000 takes 12, 10 and 9
# products with 8, 16 and 32 vectors and 308, 346 and 669 ms in float64, which multiplies 8 at once,
# and 8, 6 and 5 products and 207, 167 and 237 ms in float32, which multiplies 16. Of sparse 100,000
# × 20,000 rows in float64, 8, 16 and 24 vectors take 30, 22 and 19 products of 15, 28 and 42 ms.
_WIDE, _SERVED = 16, 32
# The search space then has room for so many vectors, or so many numbers where that is less.
_WIDE_ROOM, _WIDE_NUMBERS = 640, 2**23
# Rows so many times as long as there are of them are searched by vectors of the other side, though
# products are fused: 1,000 × 20,000 takes 110 instead of 152 ms in float32, 159 instead of 281 in
# float64; 1,500 × 6,000 0.9 and 0.7 of the time, 3,500 × 4,000 the same.
_SHORT = 2
# An eigenvalue below this share of the first has lost digits that its scores have not.
_SQUARED = 1e-3
# Eigenvalues that differ by less than this share count as copies: the search separates others.
# Differences below 16 times the tolerance are rounding.
_TIED, _UNITS = 1e-3, 16
# Residual, relative to the first eigenvalue, at which the largest pair beyond those wanted is
# known well enough to say that it is not one of them.
_BEYOND = 1e-6
# Rounding of a trace and of the sum of eigenvalues, at most, relative to the trace.
_SLACK = 1e-6


@dataclass(frozen=True)
class Pairs:
    """The largest eigenpairs of a symmetric operator.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Descending.
    vectors : ndarray of shape (size, k)
    residuals : ndarray of shape (k,)
        Norm of ``A v − λ v`` by the recurrence.
    products : int
        How often the operator was applied to a block.
    converged : bool
        False where ``enough`` ended the search; the vectors are then the best so far.
    missed : float
        Probability that a larger eigenvalue is missing, at most; see :func:`chance_of_a_miss`.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    products: int
    converged: bool = True
    missed: float = 1.0


def lanczos(
    apply: Callable[[FloatArray], FloatArray],
    size: int,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    fresh: int | None = None,
    room: int | None = None,
    trace: float | None = None,
    enough: Callable[[float, int], bool] | None = None,
) -> Pairs:
    """The ``k`` largest eigenpairs of a positive semi-definite operator.

    Parameters
    ----------
    apply : callable
        Maps (size, m) to (size, m).
    size, k : int
        Order of the operator, and the pairs wanted.
    tol : float
        Largest residual allowed, relative to the largest eigenvalue.
    rng : numpy Generator
        Draws the first block.
    start : ndarray of shape (size, width), optional
        The first block instead; a product is then dear, and blocks stay that wide.
    fresh : int, optional
        How many vectors of ``start`` are random; all by default.
    room : int, optional
        Vectors of the search space before it restarts; at least k + 2·width.
    trace : float, optional
        Sum of all eigenvalues. Where less than the last wanted one is left of it, nothing larger
        can be missing.
    enough : callable, optional
        Told how many more products it will take, as far as can be foreseen, and how many there
        were; true ends it.

    Raises
    ------
    DataError
        When the residual stays too large.
    """
    width = min(size, max(2, min(k, _BLOCK)) if start is None else start.shape[1])
    room = min(size, (room or max(6 * k, _ROOM)) + width)
    first = orthonormal((rng.standard_normal((size, width)) if start is None else start).T)
    space = SearchSpace(apply, first, room, tol)
    copies = width if fresh is None else fresh
    progress, forecast = Progress(_PATIENCE * max(1, room // width)), Forecast(_LOOKS)
    check: _Check | None = None
    while True:
        space.grow()
        stop, products = space.stop, space.products
        full = stop + min(width, size - stop) > room or stop >= size
        if stop >= k and (full or products >= forecast.next_look):
            values, inner = space.pairs(k + width)
            away = space.residuals(inner[: k + 1]) / max(values[0], np.finfo(np.float64).tiny)
            worst = away[:k].max() / max(tol, EPS)
            if check is not None:
                away[:k] = np.maximum(away[:k], check.residual)
                worst = max(worst, away[-1] / _BEYOND)
            reached = away[:k].max()
            left = forecast.after(products, worst)
            done = stop >= size or worst <= 1.0 or progress.stalled(reached, worst)
            if done and stop < size and _check_again(values[:k], copies, tol, trace, check):
                check = _Check(values[:k], reached)
                space.restart(values[:k], inner[:k])
                width = min(2 * width, (room - k) // 2, size - k)
                space.go_on_afresh(width, rng)
                progress = Progress(_PATIENCE * max(1, room // width))
                forecast = Forecast(_LOOKS)
                continue
            if done or (enough is not None and enough(left, products)):
                sure = stop >= size or _leaves_less(trace, values[:k])
                missed = 0.0 if sure else chance_of_a_miss(size, copies, max(reached, tol))
                residuals = away[:k] * values[0]
                return Pairs(
                    values[:k], (inner[:k] @ space.vectors).T, residuals, products, done, missed
                )
            if full:
                keep = min(k + width, stop - width)
                space.restart(values[:keep], inner[:keep])
        space.go_on(min(width, size - space.stop), rng)


def lanczos_without_constants(
    apply: Callable[[FloatArray], FloatArray],
    column_scatter: FloatArray,
    k: int,
    *,
    start: FloatArray,
    **options: Any,
) -> Pairs:
    """:func:`lanczos` for a scatter, among the columns that are not constant.

    A constant column has no entry in an axis that has a variance. In a search among all columns,
    some of the random vectors' entries there would be left over. The vectors found are orthonormal
    to rounding, and exactly zero there.

    Parameters
    ----------
    apply : callable
        Maps vectors (p, m) to scatter times vectors.
    column_scatter : ndarray of shape (p,)
        Zero for constant columns; not all of them are.
    k : int
        Beyond the number of other columns, pairs are those of constant columns.
    start : ndarray of shape (p, width)
    **options
        As for :func:`lanczos`.
    """
    live = np.flatnonzero(column_scatter)
    p, size = len(column_scatter), len(live)
    if size == p:
        pairs = lanczos(apply, p, k, start=start, **options)
        return replace(pairs, vectors=orthonormal(pairs.vectors.T).T)

    def apply_live(vectors: FloatArray) -> FloatArray:
        whole = np.zeros((p, vectors.shape[1]))
        whole[live] = vectors
        return apply(whole)[live]

    found = min(k, size)
    pairs = lanczos(apply_live, size, found, start=start[live, :size], **options)
    more = k - found
    vectors = np.zeros((p, k))
    vectors[live, :found] = orthonormal(pairs.vectors.T).T
    vectors[np.flatnonzero(column_scatter == 0)[:more], np.arange(found, k)] = 1.0
    return replace(
        pairs,
        values=np.pad(pairs.values, (0, more)),
        vectors=vectors,
        residuals=np.pad(pairs.residuals, (0, more)),
    )


class _Check(NamedTuple):
    """What was known when the search for more copies began.

    Parameters
    ----------
    values : ndarray of shape (k,)
    residual : float
        The largest of theirs, relative to the first value.
    """

    values: FloatArray
    residual: float


def _check_again(
    values: FloatArray,
    copies: int,
    tol: float,
    trace: float | None,
    check: _Check | None,
) -> bool:
    """Whether to look for more copies: some may be hidden, and the last check found some."""
    if _leaves_less(trace, values) or not hides_copies(values, copies, tol):
        return False
    if check is None:
        return True
    rounding = max(tol, check.residual) * values[0]
    return bool((values - check.values).max() > _UNITS * rounding)


def hides_copies(values: FloatArray, copies: int, tol: float) -> bool:
    """Whether eigenvalues larger than the last of those found (k,) may be hidden.

    A search from ``copies`` random vectors finds at most that many copies of an eigenvalue. If
    fewer of the values above the last one agree, it has found all of them.
    """
    above = values[:-1]
    if copies > len(above):
        return False
    largest, smallest = above[: len(above) - copies + 1], above[copies - 1 :]
    tied = largest - smallest <= max(_TIED, _UNITS * tol) * largest
    larger = largest - values[-1] > _UNITS * max(tol, EPS) * values[0]
    return bool((tied & larger).any())


def chance_of_a_miss(size: int, copies: int, reached: float) -> float:
    """Upper bound of the probability that a search misses an eigenvalue larger than its last.

    The smallest singular value of a random w × w matrix is below δ / √w with probability δ
    (Edelman 1988). So with probability 1 − δ, a random block of w = ``copies`` vectors has a part
    of at least δ / √(w·size) along each of w eigenvectors. The search ends when the wanted vectors
    are known up to a part of ``reached``. A vector with a larger eigenvalue grows faster than they
    do, so it stays hidden only if its part in the start was less than that.
    """
    return min(1.0, reached * math.sqrt(size * copies))


def _leaves_less(trace: float | None, values: FloatArray) -> bool:
    """Whether the other eigenvalues together are less than the last of these."""
    return trace is not None and bool(trace * (1.0 + _SLACK) - values.sum() < values[-1])


def solve_rows(
    rows: CentredRows, columns: Columns, k: int, *, tol: float, rng: np.random.Generator
) -> tuple[Spectrum, int]:
    """The top ``k`` of rows that are in memory, and how often they were read.

    p × p is never formed: Lanczos runs on the shorter side, or that of the columns where each row
    is multiplied both ways at once and they are not many more.
    """
    spectrum, passes = search_rows(rows, columns, k, tol=tol, rng=rng)
    assert spectrum is not None  # nothing ends the search before
    return spectrum, passes


def search_rows(
    rows: CentredRows,
    columns: Columns,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    enough: Callable[[float, int], bool] | None = None,
    start: FloatArray | None = None,
) -> tuple[Spectrum | None, int]:
    """The same, or no spectrum where ``enough`` ended the search; see :func:`lanczos`.

    ``tol`` 0 is what the precision of the products allows. Where it allows for it, the products of
    the search have the precision of the rows, if that is lower, and those of its end do not.
    ``start``, a block of the width of :func:`wide_block`, is for searches on the side of columns.
    """
    n, p = rows.shape
    unit = _unit_of(rows, tol)
    rough = unit > np.finfo(rows.dtype).eps
    if not columns.column_scatter.any():
        return without_variance(k, p, unit), 0
    # Fused products read all rows once instead of twice, but vectors as long as rows cost more.
    fused = isinstance(rows, DenseRows) and rows.fused and p < _SHORT * n
    on_rows = p > n and not fused
    side = n if on_rows else p
    width = wide_block(k, rows.step)
    images = rows.row_images if on_rows else rows.images
    pairs = lanczos_without_constants(
        (lambda block: images(block.astype(rows.coarsest))) if rough else images,
        np.ones(n) if on_rows else columns.column_scatter,
        k,
        tol=tolerance(rows, tol),
        rng=rng,
        start=rng.standard_normal((side, min(width, side))) if start is None else start,
        room=search_room(side, k),
        trace=float(columns.column_scatter.sum()),
        enough=enough,
    )
    if not pairs.converged:
        return None, pairs.products
    spectrum, more = finished(rows, columns, pairs, tol=tol, on_rows=on_rows)
    return spectrum, pairs.products + more


def finished(
    rows: CentredRows, columns: Columns, pairs: Pairs, *, tol: float = 0.0, on_rows: bool = False
) -> tuple[Spectrum, int]:
    """What a search found, as a spectrum, and how often the rows were read for that.

    ``tol`` is what the search was asked for; ``on_rows`` says that its vectors are as long as
    there are rows.
    """
    exact, unit = float(np.finfo(rows.dtype).eps), _unit_of(rows, tol)
    values, vectors, k, passes = pairs.values, pairs.vectors, len(pairs.values), 0
    if not values[-1] > _SQUARED * values[0]:
        # Small variances are those of the scores, which square nothing.
        vectors = rows.rmatmul(vectors) if on_rows else vectors
        spectrum = project(rows, columns, vectors, k)
        return replace(spectrum, missed=pairs.missed), 2 + on_rows
    # The recurrence knows nothing of the rounding of its products.
    residuals = np.maximum(pairs.residuals / values[0], FEWEST_UNITS * unit)
    if on_rows:
        values, axes = within_rows(rows, vectors, unit)
        residuals, passes = bound_of_rows(pairs.residuals, values, unit), 1
    elif unit > exact:
        values, axes = within(rows, vectors)
        passes = 1
    else:
        axes = orthonormal(vectors.T)
    divisor = columns.rows - 1.0
    values = np.maximum(values, 0.0) / divisor
    values[columns.rank_limit :] = 0.0
    total = float(columns.column_scatter.sum()) / divisor
    error = roundoff(len(pairs.vectors), exact)
    spectrum = Spectrum(
        values, axes, total, error, residuals=residuals, missed=pairs.missed, spend=True
    )
    return spectrum, passes


def _unit_of(rows: CentredRows, tol: float) -> float:
    """Roundoff of a search's products: that of the rows, or more where ``tol`` allows for it."""
    exact, coarse = (float(np.finfo(kind).eps) for kind in (rows.dtype, rows.coarsest))
    return coarse if exact < coarse <= tol else exact


def tolerance(rows: CentredRows, tol: float) -> float:
    """Where a search ends for whom ``tol`` suffices: what its products allow, at least."""
    return max(tol, FEWEST_UNITS * _unit_of(rows, tol))


def wide_block(k: int, step: int = _WIDE) -> int:
    """Vectors of a block where each product reads all rows, and multiplies ``step`` at once."""
    return step * -(-k // _SERVED)


def search_room(side: int, k: int) -> int:
    """Vectors of a search space on a side of so many numbers, before it restarts."""
    return max(min(_WIDE_ROOM, _WIDE_NUMBERS // side), k + 3 * wide_block(k))
