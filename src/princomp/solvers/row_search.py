"""Largest pairs of rows in memory, by products with the rows; no p × p matrix is formed.

The vectors of the Lanczos search have one entry per column (p) or one per row (n), whichever is
shorter. If AᵀA is multiplied in one pass, they have one entry per column even if p is somewhat
larger than n.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from princomp.linalg import CACHE_LINE, FloatArray
from princomp.solvers import ritz
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import roundoff_of_images
from princomp.solvers.lanczos import lanczos, lanczos_without_constants
from princomp.solvers.search import Pairs
from princomp.solvers.spectrum import Spectrum
from princomp.solvers.stopping import Abandon
from princomp.summaries import CentredRows, Columns, DenseRows

# A product reads all rows, so a block has as many vectors as a product multiplies at once, and as
# many again for each further _COMPONENTS_PER_BLOCK components. k = 20 of 4,000 × 4,000 with 8, 16
# and 32 vectors takes 12, 10 and 9 products and 308, 346 and 669 ms in float64, which multiplies 8
# at once, and 8, 6 and 5 products and 207, 167 and 237 ms in float32, which multiplies 16. Sparse
# 100,000 × 20,000 rows in float64 with 8, 16 and 24 vectors take 30, 22 and 19 products of 15, 28
# and 42 ms.
_COMPONENTS_PER_BLOCK = 32
# The search space has room for _WIDE_ROOM vectors, or for _WIDE_NUMBERS numbers if that is less.
_WIDE_ROOM, _WIDE_NUMBERS = 640, 2**23
# If p is at least this many times n, vectors have one entry per row even if AᵀA is multiplied in
# one pass: 1,000 × 20,000 takes 110 instead of 152 ms in float32 and 159 instead of 281 ms in
# float64, 1,500 × 6,000 takes 0.9 and 0.7 of the time, and 3,500 × 4,000 as long.
_SHORT = 2
# An eigenvalue below this share of the first has lost digits by squaring, unlike its scores.
_SQUARED = 1e-3
# A search in lower precision is repeated in float64 if the residual exceeds the tolerance by this
# factor: equal products that are added to a large sum all round the same way.
_LOST = 64.0
# Most columns per sampled row, and fewest rows of the table per sampled row.
_COLUMNS_PER_ROW, _MIN_STEP = 2, 10
# Smallest number of vectors that are multiplied with the sample. With 1,000 rows of 2,000 columns,
# the forecast after four products of 16 vectors is 24 to 65 further products for noise, 1 to 3 if a
# few directions dominate, and 2 to 15 if variances fall as 1/i² to 1/√i. The start saves one
# product with all rows.
_VECTORS = 64
# Length of the random part of a start, relative to that of the vectors found in the sample.
_RANDOM = 0.1


def search_rows(
    rows: CentredRows,
    columns: Columns,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    abandon: Abandon = None,
    start: FloatArray | None = None,
) -> tuple[Spectrum | None, int]:
    """Return the top ``k``, or None if the search was abandoned, and the number of passes.

    Parameters
    ----------
    rows : CentredRows
    columns : Columns
        Columns of the same (scaled) rows.
    k : int
    tol : float
        Largest residual relative to the first eigenvalue; 0 means as small as the products allow.
        If it is large enough, products use the precision of the stored rows, except in the last
        step.
    rng : numpy Generator
    abandon : callable, optional
        See :func:`~princomp.solvers.lanczos.lanczos`.
    start : ndarray of shape (p, :func:`search_block_width`), optional
        First block of a search by vectors with one entry per column; see :func:`find_warm_start`.
    """
    n, p = rows.shape
    unit = _unit_of(rows, tol)
    low_precision = unit > np.finfo(rows.dtype).eps
    if not columns.column_scatter.any():
        return ritz.without_variance(k, p, unit), 0
    # Fused products read all rows once instead of twice, but vectors with an entry per column are
    # longer.
    fused = isinstance(rows, DenseRows) and rows.fused and p < _SHORT * n
    on_rows = p > n and not fused
    length = n if on_rows else p
    width = search_block_width(k, rows.lowest_dtype)
    images = rows.row_images if on_rows else rows.images
    pairs = lanczos_without_constants(
        (lambda block: images(block.astype(rows.lowest_dtype))) if low_precision else images,
        np.ones(n) if on_rows else columns.column_scatter,
        k,
        tol=tolerance(rows, tol),
        rng=rng,
        start=rng.standard_normal((length, min(width, length))) if start is None else start,
        max_vectors=max_search_vectors(length, k),
        trace=float(columns.column_scatter.sum()),
        abandon=abandon,
    )
    if not pairs.converged:
        return None, pairs.products
    if start is not None:
        # `missed` is for a random start, and only a tenth of this one is random.
        pairs = replace(pairs, missed=min(1.0, pairs.missed / _RANDOM))
    spectrum, extra = spectrum_of_pairs(rows, columns, pairs, tol=tol, on_rows=on_rows)
    passes = pairs.products + extra
    assert spectrum.residuals is not None
    if low_precision and spectrum.residuals.max() > _LOST * tolerance(rows, tol):
        # A tolerance below this unit asks for products in float64.
        repeated, more = search_rows(rows, columns, k, tol=unit / 2, rng=rng, abandon=abandon)
        return repeated, passes + more
    return spectrum, passes


def spectrum_of_pairs(
    rows: CentredRows, columns: Columns, pairs: Pairs, *, tol: float = 0.0, on_rows: bool = False
) -> tuple[Spectrum, int]:
    """Turn the result of a search into a spectrum; also return the number of passes this takes.

    ``tol`` is the tolerance of the search; ``on_rows``: its vectors have one entry per row.
    """
    eps, unit = float(np.finfo(rows.dtype).eps), _unit_of(rows, tol)
    values, vectors, k, passes = pairs.values, pairs.vectors, len(pairs.values), 0
    if not values[-1] > _SQUARED * values[0]:
        # Compute small variances from the scores, without squaring the rows.
        vectors = rows.rmatmul(vectors) if on_rows else vectors
        spectrum = ritz.project(rows, columns, vectors, k)
        return replace(spectrum, missed=pairs.missed), 2 + on_rows
    residuals = ritz.relative_residuals(pairs, unit)
    if on_rows:
        row_residuals = pairs.residuals
        if unit > eps:
            # The recurrence does not show what float32 products lose; one product in float64 does.
            # Vectors with an entry per row are shorter than the axes.
            errors = np.linalg.norm(rows.row_images(vectors) - vectors * values, axis=0)
            row_residuals, passes = np.maximum(row_residuals, errors), 1
        values, axes = ritz.rayleigh_ritz_of_rows(rows, vectors, unit)
        residuals, passes = ritz.bound_of_rows(row_residuals, values, unit), passes + 1
    elif unit > eps:
        values, axes = ritz.rayleigh_ritz(rows, vectors)
        residuals = np.maximum(residuals, ritz.residuals_of(rows, axes, values))
        passes = 2
    else:
        axes = orthonormal(vectors.T)
    total = float(columns.column_scatter.sum()) / (columns.rows - 1.0)
    error = roundoff_of_images(len(pairs.vectors), eps, rows.shape[on_rows])
    found = replace(pairs, values=values)
    return ritz.spectrum_of(found, columns, total, error, axes=axes, residuals=residuals), passes


def _unit_of(rows: CentredRows, tol: float) -> float:
    """Unit roundoff of products in a search: that of the rows, or coarser if ``tol`` allows it."""
    fine, coarse = (float(np.finfo(kind).eps) for kind in (rows.dtype, rows.lowest_dtype))
    return coarse if coarse <= tol else fine


def tolerance(rows: CentredRows, tol: float) -> float:
    """Return the tolerance of a search: ``tol``, or more if the products require it."""
    return max(tol, ritz.FEWEST_UNITS * _unit_of(rows, tol))


def search_block_width(k: int, dtype: DTypeLike = np.float32) -> int:
    """Number of vectors in a block, for products that multiply a cache line of numbers at once."""
    return CACHE_LINE // np.dtype(dtype).itemsize * -(-k // _COMPONENTS_PER_BLOCK)


def max_search_vectors(side: int, k: int) -> int:
    """Number of vectors, of ``side`` entries each, that a search space holds before it restarts."""
    return max(min(_WIDE_ROOM, _WIDE_NUMBERS // side), k + 3 * search_block_width(k))


# ---- a short search with a sample of the rows: a forecast and a start --------------------
#
# Products with the sample cost a fraction of those with all rows. If the spectrum of all rows is
# flat, that of a sample is flat too, and directions that dominate clearly also do so in a sample.


def sample_step(rows: int, columns: int) -> int | None:
    """Return the step from one sampled row to the next; None if the sample would be too large."""
    step = rows * _COLUMNS_PER_ROW // columns
    return step if step >= _MIN_STEP else None


def find_warm_start(
    sample: CentredRows, k: int, *, tol: float, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Search with a few products of a sample (m, p), centred by the mean of all rows.

    Parameters are those of :func:`search_rows`.

    Returns
    -------
    products_left : float
        Forecast of further products; infinity if there is no forecast.
    start : ndarray of shape (p, width)
        First block for the search with all rows.
    """
    p = sample.shape[1]
    width, forecast = min(search_block_width(k, sample.lowest_dtype), p), np.inf

    def abandon(products_left: float, products: int) -> bool:
        nonlocal forecast
        forecast = products_left
        return products * width >= _VECTORS

    pairs = lanczos(
        sample.images,
        p,
        k,
        tol=tolerance(sample, tol),
        rng=rng,
        start=rng.standard_normal((p, width)),
        max_vectors=max_search_vectors(p, k),
        abandon=abandon,
    )
    # Each vector is a random combination of all pairs; random vectors fill the block.
    mixed = rng.standard_normal((k, min(k, width)))
    more = rng.standard_normal((p, max(width - k, 0)))
    start = np.hstack([pairs.vectors @ mixed, more])
    # Directions may be missing in the sample: add a random part to every vector.
    start += _RANDOM * np.sqrt(k / p) * rng.standard_normal(start.shape)
    return 0.0 if pairs.converged else forecast, start
