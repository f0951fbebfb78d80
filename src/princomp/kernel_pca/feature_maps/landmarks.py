"""Landmarks: the few rows, or centres of rows, that represent all rows in Nyström's map.

They are chosen from a random sample of rows.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.io import RowArray, RowData, Source, not_finite_error, rows_of
from princomp.kernel_pca.feature_maps.row_samples import sample_rows
from princomp.kernel_pca.functions import KernelFunction, Sides
from princomp.linalg import FloatArray, eigh, empty, slices
from princomp.summaries import Weights, first_not_finite, is_sparse, stored_values

# Size of the sample for centres and leverage scores: rows for each landmark, and minimum.
_ROWS_PER_LANDMARK, _MIN_SAMPLE = 10, 5_000
# Steps of k-means: a few are enough, since Nyström's error depends on how far rows are from a
# centre, not on its last digits (Zhang and Kwok 2010).
_KMEANS_STEPS = 10


def landmarks(
    rows: RowData,
    count: int,
    kernel: KernelFunction,
    *,
    rule: str | npt.ArrayLike = "uniform",
    seed: int = 0,
    drop: bool = False,
    weights: Weights = None,
) -> tuple[RowArray, RowData]:
    """Choose landmarks.

    Rows are sampled by a hash of their cells and the seed. So the landmarks of a table are the
    same whether it is in memory, in a file, on an engine or on several ranks, in any order. Two
    exceptions: rows of an array on a device are sampled by their number; and if rows can be read
    only once, the sample is taken from the first 10 rows for each landmark, and at least 5,000.

    Parameters
    ----------
    rows : ndarray, CSR array or Source of shape (n, p)
    count : int
        Number of landmarks, m; all distinct rows if there are fewer.
    kernel : KernelFunction
        For "leverage", and for the divisors of "kmeans".
    rule : {"uniform", "kmeans", "leverage"} or array of shape (m, p), default="uniform"
        "uniform": a sample without repetition. "kmeans": centres of a sample (Zhang & Kwok
        2010), for dense rows. "leverage": rows sampled by their approximate ridge leverage
        scores (Musco & Musco 2017, in two stages). The last two use a sample of
        max(10 m, 5,000) rows. An array: these points.
    seed : int
    drop : bool
        Leave out rows with missing cells, which otherwise raise NotFiniteError.
    weights : ndarray of shape (n,), optional
        Rows of weight zero are not chosen; rows on an engine carry their weights.

    Returns
    -------
    points : ndarray or CSR array of shape (m, p)
    rows : ndarray, CSR array or Source
        All rows to fit to: also those that were read from an iterator to choose landmarks.

    Raises
    ------
    ParameterError, ShapeError, NotFiniteError
    """
    if not isinstance(rule, str):
        return _checked_points(rule, rows.shape[1]), rows
    n_rows = count if rule == "uniform" else max(_ROWS_PER_LANDMARK * count, _MIN_SAMPLE)
    sample, rows = sample_rows(rows, n_rows, seed=seed, drop=drop, weights=weights)
    if sample.shape[0] > count:
        choose = _kmeans_centres if rule == "kmeans" else _sample_by_leverage
        sample = choose(sample, count, kernel, seed)
    return sample, rows


def _checked_points(points: npt.ArrayLike, p: int) -> RowArray:
    """Return a copy of landmarks that the user passed."""
    try:
        shape = np.shape(points)
        words = f"shape {shape}"
    except ValueError:
        shape, words = (), "rows of different lengths"
    found = rows_of(points)[0] if len(shape) == 2 and shape[0] else None
    if found is None or isinstance(found, Source) or found.shape[1] != p:
        raise ShapeError(
            f"landmarks have {words}, and the rows have {p} columns",
            place={"parameter": "landmarks"},
            hint=f"pass an array of shape (m, {p})",
        )
    if not np.isfinite(stored_values(found)).all():
        raise not_finite_error(found, first_not_finite(found))
    return found.copy()  # the caller may change theirs


def landmark_matrix(kernel: KernelFunction, sides: Sides) -> FloatArray:
    """Compute the kernel (m, m) between landmarks.

    Raises
    ------
    NotFiniteError
        If a value is not finite.
    """
    with np.errstate(all="ignore"):
        matrix = kernel.tile(sides, sides)
    finite = np.isfinite(matrix)
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise NotFiniteError(
            f"kernel {kernel.name!r} of landmark {row} is not finite",
            place={"landmark": row},
            hint="scale the columns, or choose other parameters of the kernel",
        )
    return matrix


def _kmeans_centres(sample: RowArray, count: int, kernel: KernelFunction, seed: int) -> RowArray:
    """Compute the centres (m, p) of k-means, starting at the first rows of the sample."""
    if is_sparse(sample):
        raise ParameterError(
            "landmarks='kmeans' does not support sparse rows: their centres would be dense",
            place={"parameter": "landmarks"},
            hint="use 'uniform' or 'leverage', whose landmarks are rows",
        )
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # Subtract the mean in float64, so that large numbers do not cancel.
    mean, divisors = sample.mean(axis=0, dtype=np.float64), kernel.divisors
    rows = sample.astype(np.float64) - mean
    if divisors is not None:
        rows /= divisors
    kmeans = KMeans(count, init=rows[:count], n_init=1, max_iter=_KMEANS_STEPS, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():
        # Ignore warnings about fewer centres: landmarks may repeat. One thread, because several
        # add up the rows of a centre in varying order.
        warnings.simplefilter("ignore")
        kmeans.fit(rows)
    centres = kmeans.cluster_centers_ if divisors is None else kmeans.cluster_centers_ * divisors
    # Rounding may move a centre out of the range of the rows, such as below zero.
    return np.clip(np.asarray(centres + mean, sample.dtype), sample.min(axis=0), sample.max(axis=0))


def _sample_by_leverage(
    sample: RowArray, count: int, kernel: KernelFunction, seed: int
) -> RowArray:
    """Sample rows by ridge leverage scores.

    The scores of all N rows of the sample are estimated from its first m rows S:
    (k(x, x) − k(x, S) (K(S, S) + λ m/N)⁻¹ k(S, x)) / λ. λ is the sum of the eigenvalues beyond the
    first s = m/(4 ln m), divided by s and scaled to all N rows, so that the scores add up to about
    2 s: Musco and Musco sample about s ln s rows for the rank s.
    """
    n = sample.shape[0]
    first = kernel.sides(sample[:count].astype(np.float64))
    values, vectors = eigh(landmark_matrix(kernel, first))
    values = np.maximum(values, 0.0)
    rank = max(1, int(count / (4 * np.log(max(count, 3)))))
    tail = float(values[rank:].sum()) / rank
    ridge = max(tail, float(values[0]) * count * np.finfo(np.float64).eps) or 1.0
    scores = empty(n)
    for part in slices(n, max(1, 2**18 // count)):
        rows = sample[part].astype(np.float64)
        with np.errstate(all="ignore"):  # a fit refuses rows whose kernel is not finite
            cross = kernel.tile(kernel.sides(rows), first) @ vectors.T
            captured = ((cross * cross) / (values + ridge)).sum(axis=1)
        scores[part] = kernel.diagonal(rows) - captured
    # Rounding may make the score of a captured row negative: keep a small probability.
    scores = np.maximum(scores, scores.max() * 1e-12 if scores.max() > 0 else 1.0)
    # The smallest exponential numbers divided by scores are a weighted sample without repetition
    # (Efraimidis and Spirakis 2006).
    keys = np.random.default_rng(seed).exponential(size=n) / scores
    return sample[np.sort(np.argpartition(keys, count - 1)[:count])]
