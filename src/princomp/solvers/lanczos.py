"""Block Lanczos with full reorthogonalisation and thick restart, to a residual.

After Golub & Underwood (1977) and Wu & Simon (2000). A block of vectors, rather
than one, finds repeated eigenvalues and turns matrix-vector into matrix-matrix
products. The loop stops on the residual of each wanted pair, never on a count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh, eigh_top
from princomp.solvers.bases import factored, growth, orthonormal, swept
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
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows
from princomp.summaries.dense_rows import DenseRows

__all__ = [
    "Pairs",
    "finished",
    "lanczos",
    "longest",
    "needed_of",
    "next_block",
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
# A block is orthogonal to the space, after two sweeps, to EPS over the share of its length that
# its smallest direction keeps. This much is asked for, or what leaves the tolerance so many
# units: else a third sweep follows.
_KEPT, _UNITS = 1e-2, 16
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
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    products: int
    converged: bool = True


def lanczos(
    apply: Callable[[FloatArray], FloatArray],
    size: int,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    room: int | None = None,
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
    room : int, optional
        Vectors of the search space before it restarts; at least k + 2·width.
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
    basis, projected = np.empty((room, size)), np.zeros((room, room))
    block = orthonormal((rng.standard_normal((size, width)) if start is None else start).T)
    filled, products = 0, 0
    progress = Progress(_PATIENCE * max(1, room // width))
    forecast = Forecast(_LOOKS)
    while True:
        stop = filled + len(block)
        basis[filled:stop] = block
        known = basis[:stop]
        image, coupling = swept(apply(block.T).T, known, "swept once")
        products += 1
        projected[:stop, filled:stop] = coupling
        projected[filled:stop, :stop] = coupling.T
        before, whole = longest(image), longest(coupling.T)
        image, _ = swept(image, known, "swept")  # twice is enough (Kahan; Parlett 1998)
        full = stop + min(width, size - stop) > room or stop >= size
        if stop >= k and (full or products >= forecast.next_look):
            values, inner = _top(projected[:stop, :stop], k + width)
            residuals = np.linalg.norm(inner[:k, filled:stop] @ image, axis=1)
            relative = residuals.max() / max(values[0], np.finfo(np.float64).tiny)
            worst = relative / max(tol, EPS)
            left = forecast.after(products, worst)
            done = stop >= size or worst <= 1.0 or progress.stalled(relative, worst)
            if done or (enough is not None and enough(left, products)):
                return Pairs(values[:k], (inner[:k] @ known).T, residuals, products, done)
            if full:
                # Thick restart: the best Ritz vectors stay, the rest of the space is given up.
                keep = min(k + width, stop - width)
                basis[:keep] = inner[:keep] @ known
                projected[:] = 0.0
                projected[np.arange(keep), np.arange(keep)] = values[:keep]
                stop, known = keep, basis[:keep]
        rounding = EPS * max(before, whole)
        needed = needed_of(before, tol)
        block = next_block(image, known, rng, min(width, size - stop), needed, rounding)
        filled = stop


def _top(matrix: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """The largest ``most`` eigenvalues, descending, and their eigenvectors as rows."""
    values, vectors = eigh_top(matrix, most) if 3 * most < len(matrix) else eigh(matrix)
    return values[:most], vectors[:most]


def longest(vectors: FloatArray) -> float:
    """Length of the longest of some vectors (m, size)."""
    return float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=1e-300)))


def needed_of(before: float, tol: float) -> float:
    """How orthogonal a block of that length has to be to the space, see :func:`next_block`."""
    return before * min(_KEPT, _UNITS * EPS / max(tol, EPS))


def next_block(
    image: FloatArray,
    known: FloatArray,
    rng: np.random.Generator,
    width: int,
    needed: float,
    rounding: float,
) -> FloatArray:
    """Orthonormal rows that continue the space; random ones where it is exhausted.

    ``image`` was swept twice. What it still shares with the known ones grows as its vectors are
    told apart: by more than 1 / ``needed``, and the block may lean on them. A direction that is
    not longer than ``rounding`` is nothing else.
    """
    block, triangle = factored(image)
    lost = (np.abs(triangle.diagonal()) <= rounding) | ~np.isfinite(block).all(axis=1)
    if lost.any():
        block[lost] = rng.standard_normal((int(lost.sum()), image.shape[1]))
    block = block[:width]
    if lost.any() or growth(triangle) * needed > 1.0:
        for _ in range(2):
            block = orthonormal(swept(block, known, "swept once")[0])
    return block


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
    pairs = lanczos(
        (lambda block: images(block.astype(rows.coarsest))) if rough else images,
        side,
        k,
        tol=tolerance(rows, tol),
        rng=rng,
        start=rng.standard_normal((side, min(width, side))) if start is None else start,
        room=search_room(side, k),
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
        return project(rows, columns, vectors, k), 2 + on_rows
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
    return Spectrum(values, axes, total, error, residuals=residuals, spend=True), passes


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
