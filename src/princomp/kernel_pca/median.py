"""The γ of a kernel from the median distance of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core import check_parameter, one_of
from princomp.errors import DataError, NotFiniteError, invalid_value
from princomp.io import RowArray, Source, not_finite_error, rows_of
from princomp.kernel_pca.functions import (
    GAMMA_KERNELS,
    KernelFunction,
    check_not_negative,
    squared_norms,
    with_short_indices,
)
from princomp.linalg import EPS
from princomp.summaries import first_not_finite, is_sparse, stored_values

# Size of the sample for the median distance, which it estimates to about 1%.
MEDIAN_ROWS = 1500
# Squared distances below this share of the mean squared length lose half of their digits in
# products of rows.
_CANCELLED_SHARE = EPS**0.5


def median_gamma(rows: Any, *, kernel: str = "rbf", seed: int = 0) -> float:
    """Return the γ with which the width of a kernel is about a typical distance of rows.

    The heuristic of Gretton et al. (2012); for "poly" and "sigmoid" it only sets the scale. With m
    the median distance over all pairs of rows, γ is 1/(2 m²) for "rbf", "poly" and "sigmoid", where
    distances are Euclidean, and 1/m for "laplacian" and "chi2", where they are what these kernels
    multiply by γ: Σ|x − y| and Σ(x − y)²/(x + y). With more than 1,500 rows, a random sample of
    1,500 is used.

    Parameters
    ----------
    rows : array, sparse array or frame of shape (n, p)
    kernel : str, default="rbf"
        Name of a kernel with a parameter γ.
    seed : int

    Raises
    ------
    DataError
        For one row, if more than half of the pairs of rows are equal, and for negative values with
        "chi2".
    NotFiniteError, ParameterError
    """
    check_parameter("kernel", kernel, one_of(*GAMMA_KERNELS))
    rows, columns, _ = rows_of(rows)
    if isinstance(rows, Source):
        raise invalid_value("rows", rows, "an array in memory", "read the rows first")
    if not np.isfinite(stored_values(rows)).all():
        hint = "leave such rows out, or fill the cells"
        raise not_finite_error(rows, first_not_finite(rows), columns=columns, hint=hint)
    n = rows.shape[0]
    if n > MEDIAN_ROWS:
        rows = rows[np.sort(np.random.default_rng(seed).choice(n, MEDIAN_ROWS, replace=False))]
    if rows.shape[0] < 2:
        raise DataError("gamma='median' needs at least two rows", hint="give gamma a number")
    # Multiply by a power of two, so that squares stay within range.
    exponent = int(np.clip(-np.frexp(abs(rows).max())[1], -1000, 1000))
    rows = rows.astype(np.float64) * 2.0**exponent
    is_euclidean = kernel not in ("laplacian", "chi2")
    median = _median_euclidean_distance(rows) if is_euclidean else _median_distance(rows, kernel)
    if not median > 0:
        raise DataError(
            "gamma='median' needs distinct rows, but more than half of the pairs of rows are equal",
            hint="give gamma a number",
        )
    with np.errstate(all="ignore"):
        gamma = 0.5 / median**2 if is_euclidean else 1.0 / median
        scaling = [-exponent, 2 * exponent if is_euclidean else exponent]
        median, gamma = np.ldexp([median, gamma], scaling).tolist()
    if not np.finfo(np.float64).tiny <= gamma < np.inf:
        raise NotFiniteError(
            f"gamma='median', {'1/(2 m²)' if is_euclidean else '1/m'}, is out of the range of "
            f"float64: the median distance m of the rows is {median:.3g}",
            hint=f"{'divide' if median > 1 else 'multiply'} the columns by a power of ten",
        )
    return gamma


def _median_euclidean_distance(rows: RowArray) -> float:
    from sklearn.metrics.pairwise import euclidean_distances

    centred = rows if is_sparse(rows) else rows - rows.mean(axis=0)
    median = float(np.median(euclidean_distances(centred)[np.triu_indices(rows.shape[0], 1)]))
    cancelled = not median**2 > _CANCELLED_SHARE * squared_norms(centred).mean()
    if cancelled and not is_sparse(rows):
        from scipy.spatial.distance import pdist

        median = float(np.median(pdist(rows)))
    return median


def _median_distance(rows: RowArray, kernel: str) -> float:
    """Compute the median of what "laplacian" or "chi2" multiplies by γ, over all pairs of rows."""
    if kernel == "chi2":
        check_not_negative(rows, kernel)
        sides = KernelFunction("additive_chi2").sides(rows)
        distances = -KernelFunction("additive_chi2").tile(sides, sides)
    else:
        from sklearn.metrics.pairwise import manhattan_distances

        distances = manhattan_distances(with_short_indices(rows))
    return float(np.median(distances[np.triu_indices(rows.shape[0], 1)]))
