"""Landmarks: the few rows, or centres of rows, that represent all rows in Nyström's map.

They are chosen from a random sample of rows, which is a summary that can be merged: the hash of
each row is a function of its cells and a seed, and the rows with the smallest hashes are kept
(E. Cohen, H. Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). So the sample does not
depend on the order of the rows, their blocks or their place.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.engines import DistributedRows, fold
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.io import RowArray, RowData, Source, first_rows, not_finite_error, rows_of
from princomp.kernel_pca.functions import KernelFunction, Sides
from princomp.linalg import FloatArray, eigh, empty, slices
from princomp.summaries import Weights, block_rows, checked_block, first_not_finite, is_sparse

RULES = ("uniform", "kmeans", "leverage")

# Size of the sample for centres and leverage scores: rows for each landmark, and minimum.
_ROWS_PER_LANDMARK, _MIN_SAMPLE = 10, 5_000
# Rows of an iterator that are read to sample from, for each row of the sample.
ROWS_READ_PER_ROW = 10
# Steps of k-means: a few are enough, since Nyström's error depends on how far rows are from a
# centre, not on its last digits (Zhang and Kwok 2010).
_KMEANS_STEPS = 10
# Constants of SplitMix64 (Steele, Lea and Flood 2014), a bijection that mixes all bits.
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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
    check_rule(rule)
    n_rows = count if rule == "uniform" else max(_ROWS_PER_LANDMARK * count, _MIN_SAMPLE)
    sample, rows = sample_rows(rows, n_rows, seed=seed, drop=drop, weights=weights)
    if sample.shape[0] > count:
        choose = _kmeans_centres if rule == "kmeans" else _sample_by_leverage
        sample = choose(sample, count, kernel, seed)
    return sample, rows


def sample_rows(
    rows: RowData, count: int, *, seed: int = 0, drop: bool = False, weights: Weights = None
) -> tuple[RowArray, RowData]:
    """Sample at most ``count`` distinct rows (m, p); also return all rows, to be read again.

    The sample is in random order, so its first rows are a smaller sample. It takes one pass.
    """
    data = rows
    if isinstance(rows, DistributedRows) and rows.resident:
        from princomp.kernel_pca.feature_maps.device import sample_on_device

        sample = sample_on_device(rows, count, seed, drop=drop)
        _check_sample(len(sample))
        return sample, rows
    if isinstance(rows, Source) and not rows.repeatable:
        if isinstance(rows, DistributedRows):
            raise ParameterError(
                f"landmarks are chosen before rows are mapped, and rows on {rows.engine} can "
                "be read only once here",
                place={"parameter": "landmarks"},
                hint="pass an array of landmarks",
            )
        data, rows = first_rows(rows, max(ROWS_READ_PER_ROW * count, _MIN_SAMPLE))
        weights = None if weights is None else weights[: data.shape[0]]
    sampler = RowSampler(count, seed)
    try:
        sample = fold(sampler, data, weights, drop=drop, step_name="landmarks").summary
    except NotFiniteError as error:
        columns = rows.columns if isinstance(rows, Source) else None
        raise not_finite_error(rows, error, columns=columns) from None
    _check_sample(len(sample.hashes))
    return sample.table, rows


def _check_sample(count: int) -> None:
    """Raise ShapeError for a sample without rows."""
    if not count:
        raise ShapeError(
            "there is no row to choose landmarks from",
            hint="pass at least one row without missing values, and with a weight above zero",
        )


def check_rule(rule: str) -> None:
    """Raise ParameterError for a rule that is not known."""
    if rule not in RULES:
        raise ParameterError(
            f"landmarks={rule!r} is not known",
            place={"parameter": "landmarks"},
            hint=f"landmarks must be one of {', '.join(map(repr, RULES))}, or an array",
        )


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
    values = found.data if is_sparse(found) else found
    if not np.isfinite(values).all():
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


# ---- random samples of rows --------------------------------------------------------------


@lru_cache(maxsize=4)
def _factors(p: int, seed: int) -> NDArray[np.uint64]:
    """Draw odd numbers of 64 bits: one for the row, and then one for each column."""
    factors = np.random.default_rng(seed).integers(0, 2**64, p + 1, dtype=np.uint64)
    factors |= np.uint64(1)
    factors.flags.writeable = False
    return factors


def _row_hashes(rows: RowArray, seed: int) -> NDArray[np.uint64]:
    """Hash each row: equal rows have equal hashes, dense or CSR, float32 or float64."""
    first, factors = np.split(_factors(rows.shape[1], seed), [1])
    values = rows.data if is_sparse(rows) else rows
    # Adding zero turns −0 into 0, which is equal to it.
    doubles = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    bits = doubles.view(np.uint64)
    # Numbers with few digits end in zero bits, which a product would keep.
    bits ^= bits >> np.uint64(32)
    if is_sparse(rows):
        bits *= factors[rows.indices]
        sums = np.zeros(len(bits) + 1, dtype=np.uint64)
        np.cumsum(bits, out=sums[1:])
        hashes = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    else:
        bits *= factors
        hashes = bits.sum(axis=1, dtype=np.uint64)
    hashes = hashes + first  # otherwise a row of zeros would be first for every seed
    hashes = (hashes ^ (hashes >> np.uint64(30))) * _FIRST_FACTOR
    hashes = (hashes ^ (hashes >> np.uint64(27))) * _SECOND_FACTOR
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """The rows with the smallest hashes of all rows, in the order of hashes.

    The first rows are a smaller sample. Equal rows count as one.

    Parameters
    ----------
    rows : float
        Sum of the weights of all rows.
    hashes : ndarray of shape (m,)
        The hashes, ascending.
    table : ndarray or CSR array of shape (m, p)
    max_rows : int
        Maximum number of rows.
    """

    rows: float
    hashes: NDArray[np.uint64]
    table: RowArray
    max_rows: int

    def merge(self, other: RowSample) -> RowSample:
        """Sample the rows of both."""
        total = self.rows + other.rows
        # The table of an empty sample is dense.
        if not len(self.hashes) or not len(other.hashes):
            return replace(self if len(self.hashes) else other, rows=total)
        hashes, first = np.unique(np.concatenate([self.hashes, other.hashes]), return_index=True)
        tables = [self.table, other.table]
        if is_sparse(self.table) != is_sparse(other.table):
            tables = [table.toarray() if is_sparse(table) else table for table in tables]
        both = sp.vstack(tables, format="csr") if is_sparse(tables[0]) else np.concatenate(tables)
        kept = slice(self.max_rows)
        return RowSample(total, hashes[kept], both[first[kept]], self.max_rows)


@dataclass(frozen=True)
class RowSampler:
    """The kind of summary that samples at most ``max_rows`` rows.

    Parameters
    ----------
    max_rows : int
    seed : int
    """

    max_rows: int
    seed: int = 0

    complete_only = True

    # Number of rows of a logical block.
    block_rows = staticmethod(block_rows)

    def empty(self, p: int) -> RowSample:
        """The sample of no rows."""
        return RowSample(0.0, np.empty(0, np.uint64), np.empty((0, p)), self.max_rows)

    def of(self, block: RowArray, weights: Weights = None, *, precise: bool = True) -> RowSample:
        """Sample the rows of a block (m, p) whose weight is not zero.

        Raises
        ------
        NotFiniteError
            With the place inside the block.
        """
        block, weights = checked_block(block, weights)
        if not block.shape[0]:
            return self.empty(block.shape[1])
        values = block.data if is_sparse(block) else block
        if not np.isfinite(values).all():
            raise first_not_finite(block)
        hashes, first = np.unique(_row_hashes(block, self.seed), return_index=True)
        rows = float(block.shape[0] if weights is None else weights.sum())
        table = block[first[: self.max_rows]]
        return RowSample(rows, hashes[: self.max_rows], table, self.max_rows)
