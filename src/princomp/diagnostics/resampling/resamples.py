"""PCAs of resampled rows. A resample is a count for each row; rows are never copied.

For few columns, the scatters of many resamples are one matrix product: counts times products
of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from princomp.errors import ConstantColumnError
from princomp.linalg import FloatArray, eigh, eigh_top, empty
from princomp.summaries import Columns, Extremes, Names, divisors

# Up to this many columns, the scatters of several resamples are computed at once.
_FEW_COLUMNS = 256
# Numbers in memory at a time: products of columns, and scatters.
_MAX_PRODUCTS, _MAX_SCATTERS = 2**21, 2**21
# If fewer than this share of the eigenvectors are needed, only those are computed.
_TOP_SHARE = 0.2


class Table(NamedTuple):
    """Rows to resample, and how each resample is analysed.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Centred rows in float64.
    mean : ndarray of shape (p,)
    probabilities : ndarray of shape (n,)
        Probability of each row.
    size : int
        Number of rows of a resample.
    """

    rows: FloatArray
    mean: FloatArray
    probabilities: FloatArray
    size: int
    k: int
    scale: str | None
    centred: bool
    names: Names
    constant: str = "error"


class Resamples(NamedTuple):
    """PCAs of b resamples: variances (b, k), total variances (b,), axes (b, k, p)."""

    variances: FloatArray
    totals: FloatArray
    axes: FloatArray


def resample(table: Table, n: int, rng: np.random.Generator) -> Iterator[Resamples]:
    """Iterate over ``n`` resamples, several at a time.

    Raises
    ------
    ConstantColumnError
        If a column to be scaled is constant in a resample.
    """
    p = table.rows.shape[1]
    # The counts do not depend on the step: the generator continues in order.
    step = max(1, min(n, _MAX_SCATTERS // max(p * p, len(table.rows)), 256))
    for start in range(0, n, step):
        counts = rng.multinomial(table.size, table.probabilities, size=min(step, n - start))
        if p <= _FEW_COLUMNS:
            yield _analyse_by_products(table, counts.astype(np.float64))
        else:
            parts = [_analyse_by_rows(table, count.astype(np.float64)) for count in counts]
            yield Resamples(*(np.stack(part) for part in zip(*parts, strict=True)))


def _analyse_by_products(table: Table, counts: FloatArray) -> Resamples:
    """Analyse resamples through weighted sums of products of columns."""
    rows, size = table.rows, float(table.size)
    p = rows.shape[1]
    upper = np.triu_indices(p)
    sums = np.zeros((len(counts), len(upper[0])))
    step = max(1, _MAX_PRODUCTS // len(upper[0]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        sums += counts[:, start : start + step] @ (part[:, upper[0]] * part[:, upper[1]])
    scatters = empty((len(counts), p, p))
    scatters[:, upper[0], upper[1]] = sums
    scatters[:, upper[1], upper[0]] = sums
    offsets = counts @ rows / size
    scatters -= size * offsets[:, :, None] * offsets[:, None, :]
    divisor = _divisors(table, counts, np.einsum("bjj->bj", scatters))
    if not table.centred:
        means = offsets + table.mean
        scatters += size * means[:, :, None] * means[:, None, :]
    if divisor is not None:
        scatters /= divisor[:, :, None]
        scatters /= divisor[:, None, :]
    values, vectors = np.linalg.eigh(scatters)
    values = np.maximum(values[:, ::-1], 0.0) / (size - 1.0)
    axes = vectors.transpose(0, 2, 1)[:, ::-1][:, : table.k]
    return Resamples(values[:, : table.k], values.sum(axis=1), axes)


def _analyse_by_rows(table: Table, count: FloatArray) -> Resamples:
    """Analyse one resample through its distinct rows, weighted by the roots of their counts."""
    size, k = float(table.size), table.k
    kept = count > 0
    rows, count = table.rows[kept], count[kept]
    offset = count @ rows / size
    rows = rows - offset
    divisor = _divisors(table, count[None], (count @ rows**2)[None], rows)
    if not table.centred:
        rows += offset + table.mean
    if divisor is not None:
        rows /= divisor[0]
    rows *= np.sqrt(count)[:, None]
    wide = rows.shape[1] > len(rows)
    products = rows @ rows.T if wide else rows.T @ rows
    only_top = k < _TOP_SHARE * len(products)
    values, vectors = eigh_top(products, k) if only_top else eigh(products)
    values, vectors = np.maximum(values[:k], 0.0), vectors[:k]
    if wide:
        # Directions beyond the rank are zero vectors, orthogonal to all others.
        lengths = np.sqrt(np.where(values > 0, values, np.inf))
        vectors = (vectors @ rows) / lengths[:, None]
    missing = k - len(vectors)
    if missing > 0:
        values = np.pad(values, (0, missing))
        vectors = np.pad(vectors, ((0, missing), (0, 0)))
    total = products.trace() / (size - 1.0)
    return Resamples(values / (size - 1.0), np.asarray(total), vectors)


def _divisors(
    table: Table, counts: FloatArray, scatters: FloatArray, rows: FloatArray | None = None
) -> FloatArray | None:
    """Divisors (b, p) of the columns of each resample."""
    if not isinstance(table.scale, str):
        return None  # an array of divisors was applied before
    size, divisors_by_resample = float(table.size), []
    zeros = np.zeros(scatters.shape[1])
    for count, scatter in zip(counts, scatters, strict=True):
        extremes = None
        if table.scale == "range":
            extremes = Extremes.of(table.rows[count > 0] if rows is None else rows)
        # Below this share of a column's own scatter, cancellation leaves only rounding errors.
        scatter = np.where(scatter > 1e-13 * size * table.rows.var(axis=0), scatter, 0.0)
        columns = Columns(size, len(count), zeros, zeros, scatter)
        try:
            divisor = divisors(table.scale, columns, extremes, table.names, table.constant)
        except ConstantColumnError as error:
            raise ConstantColumnError(
                f"in a resample: {error.message}",
                place=error.place,
                hint="there are too few different rows; use the fixed divisors of the model, "
                "scale=model.scale_",
            ) from None
        divisors_by_resample.append(divisor)
    return np.array(divisors_by_resample)
