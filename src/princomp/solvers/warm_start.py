"""A short search with a sample of the rows: a forecast and a start for the search with all rows.

Products with the sample cost a fraction of those with all rows. If the spectrum of all rows is
flat, that of a sample is flat too, and directions that dominate clearly also do so in a sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from princomp.linalg import FloatArray
from princomp.solvers.lanczos import lanczos
from princomp.solvers.row_search import max_search_vectors, search_block_width, tolerance
from princomp.summaries import CentredRows

# Most columns per sampled row, and fewest rows of the table per sampled row.
_COLUMNS_PER_ROW, _MIN_STEP = 2, 10
# Number of vectors that are multiplied with the sample. With 1,000 rows of 2,000 columns, the
# forecast after four products of 16 vectors is 24 to 65 further products for noise, 1 to 3 if a few
# directions dominate, and 2 to 15 if variances fall as 1/i² to 1/√i. The start saves one product
# with all rows.
_VECTORS = 64
# Length of the random part of a start, relative to that of the vectors found in the sample.
_RANDOM = 0.1


class WarmStart(NamedTuple):
    """Result of a search with a sample of the rows.

    Parameters
    ----------
    products_left : float
        Forecast of further products; infinity if there is no forecast.
    start : ndarray of shape (p, width)
        First block for the search with all rows.
    """

    products_left: float
    start: FloatArray


def sample_step(rows: int, columns: int) -> int | None:
    """Return the step from one sampled row to the next; None if the sample would be too large."""
    step = rows * _COLUMNS_PER_ROW // max(columns, 1)
    return step if step >= _MIN_STEP else None


def find_warm_start(
    sample: CentredRows, k: int, *, tol: float, rng: np.random.Generator
) -> WarmStart:
    """Search with a few products of a sample (m, p), centred by the mean of all rows.

    Parameters are those of :func:`~princomp.solvers.row_search.search_rows`.
    """
    p = sample.shape[1]
    width, forecast = min(search_block_width(k, sample.vectors_at_once), p), np.inf

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
    return WarmStart(0.0 if pairs.converged else forecast, start)
