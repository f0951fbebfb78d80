"""What a search among some of the rows foretells of one among all, and where it may begin.

Its products cost a share of those with all rows. Noise that is flat among all rows is flat among
some, and directions that stand out far enough do so there too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.solvers.lanczos import lanczos, search_room, tolerance, wide_block
from princomp.summaries.centred_rows import CentredRows

__all__ = ["Glimpse", "glimpse", "sample_step"]

# Columns to a sampled row at most, and rows to a sampled one at least.
_COLUMNS_A_ROW, _FEWEST_LEFT = 2, 10
# Vectors that are multiplied with the sample. With 1,000 rows of 2,000 columns, four products of 16
# then foretell 24 to 65 more where all is noise, 1 to 3 where few directions stand out, and 2 to 15
# where variances fall as 1/i² to 1/√i. What they come to is a start that saves one with all rows.
_VECTORS = 64
# Length of the random part of a start, relative to that of the sample's vectors.
_RANDOM = 0.1


class Glimpse(NamedTuple):
    """What some rows told.

    Parameters
    ----------
    left : float
        How many more products are foretold; infinity where nobody can tell.
    start : ndarray of shape (p, width)
        A first block for the search among all rows.
    """

    left: float
    start: FloatArray


def sample_step(rows: int, columns: int) -> int | None:
    """Which row is the next of a sample, None where one would be too much of the rows."""
    step = rows * _COLUMNS_A_ROW // max(columns, 1)
    return step if step >= _FEWEST_LEFT else None


def glimpse(sample: CentredRows, k: int, *, tol: float, rng: np.random.Generator) -> Glimpse:
    """A few products with a sample (m, p) of rows, about the mean of all.

    Parameters are those of :func:`~princomp.solvers.lanczos.search_rows`.
    """
    p = sample.shape[1]
    width, foretold = min(wide_block(k, sample.step), p), np.inf

    def enough(left: float, products: int) -> bool:
        nonlocal foretold
        foretold = left
        return products * width >= _VECTORS

    pairs = lanczos(
        sample.images,
        p,
        k,
        tol=tolerance(sample, tol),
        rng=rng,
        start=rng.standard_normal((p, width)),
        room=search_room(p, k),
        enough=enough,
    )
    # All pairs have a share in each vector, or random vectors fill the block.
    mixed = rng.standard_normal((k, min(k, width)))
    more = rng.standard_normal((p, max(width - k, 0)))
    start = np.hstack([pairs.vectors @ mixed, more])
    # The sample's rows may not show a direction at all: every vector has a random part.
    start += _RANDOM * np.sqrt(k / p) * rng.standard_normal(start.shape)
    return Glimpse(0.0 if pairs.converged else foretold, start)
