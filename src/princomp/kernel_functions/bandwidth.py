"""γ of a Gaussian from the rows: by the median of their distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.errors import DataError
from princomp.summaries.blocks import is_sparse

__all__ = ["median_gamma"]

# Rows between which distances are taken: a million pairs tell the median to three digits.
_ROWS = 1500


def median_gamma(rows: Any, *, seed: int = 0) -> float:
    """1 / (2 m²), with m the median distance between two different rows.

    The heuristic of Gretton et al. (2012): the Gaussian's width is then a typical distance.
    Of more than 1,500 rows as many are drawn.

    Parameters
    ----------
    rows : array or CSR array of shape (n, p)
    seed : int

    Raises
    ------
    DataError
        Where more than half of the pairs of rows are the same row.
    """
    n = rows.shape[0]
    if n > _ROWS:
        rows = rows[np.sort(np.random.default_rng(seed).choice(n, _ROWS, replace=False))]
    # Not those of the kernel room: here distances themselves are wanted, and few of them.
    from sklearn.metrics.pairwise import euclidean_distances

    rows = rows.astype(np.float64)
    if not is_sparse(rows):
        rows = rows - rows.mean(axis=0)
    distances = euclidean_distances(rows)[np.triu_indices(rows.shape[0], 1)]
    median = float(np.median(distances)) if distances.size else 0.0
    if not median > 0:
        raise DataError(
            "gamma='median' has no distance to go by: half of the pairs of rows or more are equal",
            hint="give gamma a number",
        )
    return 1.0 / (2.0 * median**2)
