"""Landmarks: the few rows, or centres of rows, by which Nyström's map sees all others."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray, eigh, empty
from princomp.engines.distributed import Distributed
from princomp.engines.local import fold
from princomp.engines.recognised import distributed
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.feature_maps.drawn import DrawnOf
from princomp.kernel_functions import KernelFunction
from princomp.sources.any import Rows, rows_of
from princomp.sources.holding import first_rows
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries.blocks import first_not_finite, is_sparse

__all__ = ["RULES", "Landmarks", "drawn_rows", "landmarks"]

RULES = ("uniform", "kmeans", "leverage")

# Rows of which centres are found, or scores computed: for each landmark, and at least.
_FOR_EACH, _AT_LEAST = 10, 5_000
# Of rows that come once the first are drawn from, these for each that is wanted, at least.
_HEAD = 10
# Steps of k-means: Zhang and Kwok (2010) find that a few do, since Nyström's error depends on how
# far rows are from a centre, not on the last digit of one.
_STEPS = 10


class Landmarks(NamedTuple):
    """Landmarks, and the rows that they were chosen of.

    Parameters
    ----------
    points : ndarray or CSR array of shape (m, p)
        m is what was asked for, or the number of rows that differ.
    rule : str
        "uniform", "kmeans", "leverage" or "given".
    rows : object
        What to read the rows from now on: of rows that can be read once, the first were read.
    ridge : float or None
        λ of "leverage".
    """

    points: Any
    rule: str
    rows: Any
    ridge: float | None = None


def landmarks(
    rows: Any,
    count: int,
    *,
    rule: Any = "uniform",
    kernel: KernelFunction | None = None,
    seed: int = 0,
    drop: bool = False,
    columns: tuple[str, ...] | None = None,
    file: str | None = None,
) -> Landmarks:
    """Choose landmarks.

    Rows are drawn by their cells and the seed, so the landmarks of a table are the same
    whether it is in memory, in a file, on an engine, or on several ranks, in any order and in
    any cut. Only rows that can be read once are different: of them the first 10 for each
    landmark, and at least 5,000, are drawn from.

    Parameters
    ----------
    rows : array, sparse array, frame, path, Source or rows of an engine, of shape (n, p)
    count : int
        How many, m; all rows that differ where these are fewer.
    rule : {"uniform", "kmeans", "leverage"} or array of shape (m, p), default="uniform"
        "uniform": rows drawn without repetition. "kmeans": centres of so many drawn rows
        (Zhang & Kwok 2010), for dense rows. "leverage": rows drawn by their approximate ridge
        leverage scores (Musco & Musco 2017, in two stages). The two draw max(10 m, 5,000) rows
        at first. An array: these.
    kernel : KernelFunction, optional
        "leverage" needs it.
    seed : int
    drop : bool
        Leave out rows with missing cells, which are refused otherwise.
    columns, file : optional
        What messages call the columns and the file of rows that are in memory.

    Raises
    ------
    ParameterError, ShapeError, NotFiniteError
    """
    rows, *told = _opened(rows, columns, file)
    known: dict[str, Any] = {"seed": seed, "drop": drop, "columns": told[0], "file": told[1]}
    if not isinstance(rule, str):
        return Landmarks(_given(rule, rows.shape[1]), "given", rows)
    if rule not in RULES:
        raise ParameterError(
            f"landmarks={rule!r} is not known",
            place={"parameter": "landmarks"},
            hint=f"choose one of {', '.join(map(repr, RULES))}, or give an array of landmarks",
        )
    if count < 1:
        raise ParameterError(
            f"n_landmarks={count} is not lawful",
            place={"parameter": "n_landmarks"},
            hint="give a whole number of at least 1",
        )
    if rule == "uniform":
        points, rows = drawn_rows(rows, count, **known)
        return Landmarks(points, rule, rows)
    sample, rows = drawn_rows(rows, max(_FOR_EACH * count, _AT_LEAST), **known)
    if sample.shape[0] <= count:
        return Landmarks(sample, rule, rows)
    if rule == "kmeans":
        divisors = None if kernel is None else kernel.divisors
        return Landmarks(_centres(sample, count, seed, divisors), rule, rows)
    if kernel is None:
        raise ParameterError(
            "landmarks='leverage' goes by a kernel, and none is given",
            place={"parameter": "kernel"},
            hint="give the kernel of the fit",
        )
    chosen, ridge = _by_leverage(sample, count, kernel, seed)
    return Landmarks(sample[chosen], rule, rows, ridge)


def drawn_rows(
    rows: Any,
    count: int,
    *,
    seed: int = 0,
    drop: bool = False,
    columns: tuple[str, ...] | None = None,
    file: str | None = None,
) -> tuple[Any, Any]:
    """At most ``count`` different rows (m, p) drawn of all, and what to read the rows from now on.

    They stand in random order: each first part of them is a smaller sample. This is one pass.
    """
    rows, columns, file = _opened(rows, columns, file)
    data = rows
    if isinstance(rows, Distributed) and rows.together:
        from princomp.feature_maps.device import taken

        return taken(rows, count, seed), rows
    if isinstance(rows, Source) and not rows.repeatable:
        if isinstance(rows, Distributed):
            raise ParameterError(
                f"landmarks are drawn before rows are mapped, and rows on {rows.engine} are read "
                "once here",
                place={"parameter": "landmarks"},
                hint="give an array of landmarks",
            )
        data, rows = first_rows(rows, max(_HEAD * count, _AT_LEAST))
    try:
        drawn = fold(DrawnOf(count, seed), data, drop=drop, step_name="landmarks").summary
    except NotFiniteError as error:
        raise refuse_not_finite(rows, error, columns=columns, file=file) from None
    if not len(drawn.keys):
        raise ShapeError("there is no row to draw landmarks from", hint="give at least one row")
    return drawn.table, rows


def _opened(rows: Any, columns: Any, file: str | None) -> Rows:
    """Rows in memory or a source of them, and what messages call their columns and their file."""
    if isinstance(rows, np.ndarray) or is_sparse(rows):
        return rows, columns, file
    if isinstance(rows, Source):
        return rows, rows.columns, rows.file
    # Found by the type of the rows; an engine is imported only for rows of its own.
    there = distributed(rows)
    return rows_of(rows) if there is None else (there, there.columns, None)


def _given(points: Any, p: int) -> Any:
    found = rows_of(points)[0]
    if isinstance(found, Source) or found.shape[1] != p:
        raise ShapeError(
            f"landmarks have shape {found.shape}, and the rows {p} columns",
            place={"parameter": "landmarks"},
            hint=f"give an array of shape (m, {p})",
        )
    values = found.data if is_sparse(found) else found
    if not np.isfinite(values).all():
        raise refuse_not_finite(found, first_not_finite(found))
    return found.copy()  # kept, whatever becomes of the caller's


def _centres(sample: Any, count: int, seed: int, divisors: FloatArray | None = None) -> FloatArray:
    """Centres (m, p) of k-means; it begins at the first rows of the sample."""
    if is_sparse(sample):
        raise ParameterError(
            "landmarks='kmeans' of sparse rows would be dense",
            place={"parameter": "landmarks"},
            hint="choose 'uniform' or 'leverage', whose landmarks are rows",
        )
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # About the mean, where large numbers do not cancel; k-means itself subtracts it in the
    # precision of the rows.
    mean = sample.mean(axis=0, dtype=np.float64)
    rows = sample.astype(np.float64) - mean
    if divisors is not None:
        rows /= divisors
    found = KMeans(count, init=rows[:count], n_init=1, max_iter=_STEPS, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():
        # Rows so near each other that fewer centres are found; landmarks may repeat. Threads
        # would add up the rows of a centre in another order each time.
        warnings.simplefilter("ignore")
        found.fit(rows)
    centres = found.cluster_centers_ if divisors is None else found.cluster_centers_ * divisors
    return np.asarray(centres + mean, dtype=sample.dtype)


def _by_leverage(
    sample: Any, count: int, kernel: KernelFunction, seed: int
) -> tuple[FloatArray, float]:
    """Numbers of rows drawn by their ridge leverage scores, and λ.

    Scores of all N rows of the sample are estimated by its first m, S (which are drawn
    uniformly): (k(x, x) − k(x, S) (K(S, S) + λ m/N)⁻¹ k(S, x)) / λ. λ is the mean of the
    eigenvalues beyond the first s = m/(4 ln m), in the scale of all N rows, so that the scores
    add up to about 2 s: Musco and Musco draw some s ln s rows for the rank s.
    """
    n = sample.shape[0]
    first = kernel.sides(sample[:count].astype(np.float64))
    values, vectors = eigh(kernel.tile(first, first))
    values = np.maximum(values, 0.0)
    rank = max(1, int(count / (4 * np.log(max(count, 3)))))
    rest = float(values[rank:].sum()) / rank
    ridge = max(rest, float(values[0]) * count * np.finfo(np.float64).eps) or 1.0
    scores = empty(n)
    step = max(1, 2**18 // count)
    for start in range(0, n, step):
        rows = sample[start : start + step].astype(np.float64)
        across = kernel.tile(kernel.sides(rows), first) @ vectors.T
        seen = ((across * across) / (values + ridge)).sum(axis=1)
        scores[start : start + step] = kernel.diagonal(rows) - seen
    # A rounding below zero is a row that is seen whole; it keeps a chance.
    scores = np.maximum(scores, scores.max() * 1e-12 if scores.max() > 0 else 1.0)
    # Exponential numbers divided by scores: the smallest are a draw without repetition by these
    # (Efraimidis and Spirakis 2006).
    keys = np.random.default_rng(seed).exponential(size=n) / scores
    return np.sort(np.argpartition(keys, count - 1)[:count]), ridge * n / count
