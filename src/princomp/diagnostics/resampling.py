"""Bootstrap of a fitted PCA from rows in memory, without its estimator.

A resample is a count for each row; rows are never copied. For few columns, the scatters of many
resamples are one matrix product: counts times products of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from princomp import errors
from princomp.core import DECAY_HINT, PCAModel
from princomp.diagnostics.bootstrap_result import Bootstrap
from princomp.engines import ProgressCallback, ProgressReporter
from princomp.io import listed
from princomp.linalg import (
    EPS,
    FloatArray,
    binary_exponent,
    eigh,
    eigh_top,
    empty,
    one_blas_thread,
)
from princomp.summaries import Columns, Extremes, Weights, divisors

# Largest number of rows of a resample, counted in float64.
_MAX_ROWS = 1e15
# Largest number of loadings in all resamples together: 1 GB.
_MAX_NUMBERS = 2**27
# A bootstrap that was not requested: number of resamples, limit of multiplications (about half a
# second), and what counts as multiplications: _DRAW_COST for drawing a row, and _EIGH_COST · p³ for
# decomposing a scatter.
_QUICK_RESAMPLES, _QUICK_COST, _DRAW_COST, _EIGH_COST = 200, 2e9, 100, 10
# Up to this many columns, the scatters of several resamples are computed at once.
_FEW_COLUMNS = 256
# Numbers in memory at a time: products of columns, and scatters.
_MAX_PRODUCTS, _MAX_SCATTERS = 2**21, 2**21
# Squares of a column about the mean of a resample that are below this share of those about the mean
# of the table have lost digits: rows far from all others were not drawn.
_CANCELLED = 1e-6
# If fewer than this share of the eigenvectors are needed, only those are computed.
_TOP_SHARE = 0.2
# A variance that is off by more than this share is lost.
_LOST_SHARE = 0.01


def bootstrap_rows(
    model: PCAModel,
    rows: FloatArray,
    weights: Weights = None,
    *,
    n: int,
    seed: int | None = 0,
    level: float = 0.95,
    align: str = "signs",
    progress: ProgressCallback | None = None,
) -> Bootstrap:
    """Bootstrap a fitted PCA from the complete rows (n, p) of its fit, in float64.

    Raises
    ------
    ParameterError
        For too many resamples, or rows other than those of the fit.
    ConstantColumnError
        If a column to be scaled is constant in a resample.
    NotFiniteError
        If sums of squares overflow in a resample.
    ShapeError
        For fewer than two rows.
    NotAvailableError
        For a covariance without a mean or the number of its rows.
    """
    table, fitted = _table(model, rows, weights), model.result
    k, p = model.k, rows.shape[1]
    if n * p * max(k, 1) > _MAX_NUMBERS:
        raise errors.ParameterError(
            f"the loadings of {n:,} resamples, {p:,} columns and {k:,} components are more than "
            f"{_MAX_NUMBERS:,} numbers",
            place={"parameter": "n"},
            hint="ask for fewer resamples, or for fewer components (model.truncated(k))",
        )
    _warn_of_lost_variances(table)
    axes = np.asarray(fitted.spectrum.axes[:k], dtype=np.float64)
    loadings = fitted.loadings
    parts, done = [], 0
    reporter = ProgressReporter(progress)
    reporter.begin("bootstrap", n, 0.0, unit="resamples")
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for resamples in resample(table, n, np.random.default_rng(seed)):
            parts.append(_align(resamples, axes, loadings, align))
            done += len(resamples.totals)
            reporter.advance(done, done=done == n)
    *quantities, angles, space_angles = (np.concatenate(part) for part in zip(*parts, strict=True))
    limits = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    intervals = [np.quantile(values, limits, axis=0) for values in quantities]
    deviations = [_standard_deviations(values) for values in quantities]
    results: Any = (*intervals, *deviations, angles, space_angles, model.schema.names)
    return Bootstrap(n, level, align, fitted.variances, fitted.rates, loadings, *results)


def _standard_deviations(values: FloatArray) -> FloatArray:
    """Standard deviations over resamples (n, …), even if squares leave the range of float64."""
    exponent = binary_exponent(values)
    return np.ldexp(np.ldexp(values, -exponent).std(axis=0, ddof=1), exponent)


def quick_bootstrap(
    model: PCAModel, rows: int, compute: Callable[..., Bootstrap]
) -> tuple[Bootstrap | None, str]:
    """Compute a bootstrap that was not requested, if that takes less than about half a second.

    Parameters
    ----------
    model : PCAModel
    rows : int
        Number of rows.
    compute : callable
        ``compute(n=…)`` computes a bootstrap with a given number of resamples.

    Returns
    -------
    Bootstrap or None
    str
        Why there is none: "filled", "slow" or the message of an error.
    """
    filled, p = model.result.filled, model.schema.p
    if filled is not None and filled.cells:
        return None, "filled"
    if _QUICK_RESAMPLES * (rows * (p**2 + _DRAW_COST) + _EIGH_COST * p**3) > _QUICK_COST:
        return None, "slow"
    try:
        return compute(n=_QUICK_RESAMPLES), ""
    except errors.PrincompError as error:
        return None, error.message


def _table(model: PCAModel, rows: FloatArray, weights: Weights) -> Table:
    """Prepare the rows for resampling; raise if they are not those of the model."""
    fitted = model.result
    n = fitted.row_count("resamples")
    fitted.require_mean()
    total = float(len(rows)) if weights is None else float(weights.sum())
    if round(total) < 2:
        raise errors.ShapeError(f"a resample needs at least 2 rows, and there are {total:g}")
    if total > _MAX_ROWS:
        raise errors.ParameterError(
            f"the weights add up to {total:.3g}: a resample of so many rows cannot be counted",
            place={"parameter": "sample_weight"},
            hint=f"divide the weights, which are frequencies, to a sum of {_MAX_ROWS:.0e} or less",
        )
    mean = np.average(rows, axis=0, weights=weights)
    # Computed from these rows: a model of scikit-learn may lack the variances of its columns.
    tolerance_unit = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights)) + np.abs(mean)
    same_mean = np.all(np.abs(mean - fitted.summary.mean) <= 1e-4 * tolerance_unit)
    if abs(total - n) > 1e-6 * total or not same_mean:
        raise errors.ParameterError(
            f"these {total:g} rows are not the {n:g} rows of the fit",
            place={"parameter": "X"},
            hint="give the rows and weights of the fit, or leave out the model"
            if fitted.faded_by is None
            else DECAY_HINT,
        )
    scale = model.parameters.scale
    if (scale is None) is not (fitted.scale is None):
        raise errors.ParameterError(
            f"the fit had {'no scale' if fitted.scale is None else 'a scale'}, and scale={scale!r} "
            "was set since",
            place={"parameter": "scale"},
            hint="fit again, or set scale as it was",
        )
    probabilities = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / total
    centred, divisor = _subtracted(rows, mean), None
    if scale is not None and not isinstance(scale, str):
        divisor = fitted.scale
        centred, mean = centred / divisor, mean / divisor
    return Table(model, centred, rows, mean, probabilities, round(total), divisor)


def _subtracted(rows: FloatArray, mean: FloatArray) -> FloatArray:
    """Rows about their mean; columns of equal values are exactly zero."""
    centred = rows - mean
    centred[:, rows.min(axis=0) == rows.max(axis=0)] = 0.0
    return centred


def _align(
    resamples: Resamples, axes: FloatArray, loadings: FloatArray, align: str
) -> tuple[FloatArray, ...]:
    """Variances, rates and loadings of resamples, angles of the axes (b, k) and the space (b,)."""
    variances, totals, resampled_axes = resamples
    rates = variances / np.where(totals > 0, totals, 1.0)[:, None]
    cosines = np.einsum("bap,ap->ba", resampled_axes, axes)
    resampled_axes = resampled_axes * np.where(cosines < 0, -1.0, 1.0)[:, :, None]
    # Half the chord is the sine of half the angle, which keeps small angles accurate.
    chord = np.linalg.norm(resampled_axes - axes, axis=2)
    lengths = np.linalg.norm(resampled_axes, axis=2)
    angles = np.where(lengths > 0.5, 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)), np.pi / 2)
    residual = axes - (axes @ resampled_axes.transpose(0, 2, 1)) @ resampled_axes
    k = len(axes)
    sine = np.linalg.norm(residual, 2, axis=(1, 2)) if k else np.zeros(len(resampled_axes))
    space_angles = np.arcsin(np.minimum(sine, 1.0))
    resampled_loadings = resampled_axes.transpose(0, 2, 1) * np.sqrt(variances)[:, None, :]
    if align == "procrustes" and k:
        left, _, right = np.linalg.svd(resampled_loadings.transpose(0, 2, 1) @ loadings)
        resampled_loadings = resampled_loadings @ (left @ right)
    return variances, rates, resampled_loadings, np.degrees(angles), np.degrees(space_angles)


# ---- resamples -----------------------------------------------------------------------


class Table(NamedTuple):
    """Rows to resample, and the model that says how each resample is analysed.

    Parameters
    ----------
    model : PCAModel
    rows : ndarray of shape (n, p)
        Centred rows in float64, divided by ``divisor``.
    given : ndarray of shape (n, p)
        The same rows, neither centred nor divided.
    mean : ndarray of shape (p,)
        Divided by ``divisor``.
    probabilities : ndarray of shape (n,)
        Probability of each row.
    size : int
        Number of rows of a resample.
    divisor : ndarray of shape (p,), optional
        Divisors of the columns that do not depend on the resample.
    """

    model: PCAModel
    rows: FloatArray
    given: FloatArray
    mean: FloatArray
    probabilities: FloatArray
    size: int
    divisor: FloatArray | None


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
    NotFiniteError
        If sums of squares overflow.
    """
    p = table.rows.shape[1]
    # The counts do not depend on the step: the generator continues in order.
    step = max(1, min(n, _MAX_SCATTERS // max(p * p, len(table.rows)), 256))
    for start in range(0, n, step):
        counts = rng.multinomial(table.size, table.probabilities, size=min(step, n - start))
        yield _analyse(table, counts.astype(np.float64))


def _analyse(table: Table, counts: FloatArray) -> Resamples:
    """Analyse resamples, given by how often they contain each row (b, n)."""
    if table.rows.shape[1] <= _FEW_COLUMNS:
        return _analyse_by_products(table, counts)
    parts = [_analyse_by_rows(table, count) for count in counts]
    return Resamples(*(np.stack(part) for part in zip(*parts, strict=True)))


def _warn_of_lost_variances(table: Table) -> None:
    """Warn of variances that a fit from the rows resolves, and one from their products does not.

    Where products may lose them, the table itself is analysed as a resample is. Products of columns
    in very different units may well keep them.
    """
    fitted, p = table.model.result, table.rows.shape[1]
    variances, spectrum = fitted.variances, fitted.spectrum
    may_be_lost = variances < p * EPS * spectrum.largest / _LOST_SHARE
    may_be_lost &= variances > spectrum.resolution
    if not may_be_lost.any():
        return
    counts, size = table.probabilities * table.size, float(table.size)
    found = _analyse(table, counts[None]).variances[0]
    # Mean squares, since the weights were rounded to a whole number of rows.
    found, n = found * ((size - 1.0) / size), float(fitted.summary.rows)
    expected = variances * ((n - 1.0) / n)
    lost = np.flatnonzero(may_be_lost & ~(np.abs(found - expected) <= _LOST_SHARE * expected))
    if lost.size:
        names = listed([f"PC{a + 1}" for a in lost])
        errors.warn(
            f"the bootstrap squares the rows, and rounding hides the variance of {names}, whose "
            "intervals and angles are unreliable. Keep fewer components (model.truncated(k)), or "
            "leave out or scale columns that vary far more than others"
        )


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
    squares = np.einsum("bjj->bj", scatters).copy()
    scatters -= size * offsets[:, :, None] * offsets[:, None, :]
    means = offsets + table.mean
    cancelled = np.einsum("bjj->bj", scatters) < _CANCELLED * squares
    far = cancelled.any(axis=1)
    for b in np.flatnonzero(far):
        centred, count, means[b] = _centred(table, counts[b])
        columns = np.flatnonzero(cancelled[b])
        products = (centred[:, columns] * count[:, None]).T @ centred
        scatters[b, columns], scatters[b][:, columns] = products, products.T
    # Ranges need the rows as given where centring has rounded the rows that were drawn.
    sources = (table.given if lost else table.rows for lost in far)
    drawn = (source[count > 0] for source, count in zip(sources, counts, strict=True))
    divisor = _divisors(table, counts, np.einsum("bjj->bj", scatters), drawn)
    if not table.model.result.centred:
        scatters += size * means[:, :, None] * means[:, None, :]
    if divisor is not None:
        scatters /= divisor[:, :, None]
        scatters /= divisor[:, None, :]
    _check_finite(np.einsum("bjj->b", scatters))
    values, vectors = np.linalg.eigh(scatters)
    values = np.maximum(values[:, ::-1], 0.0) / (size - 1.0)
    totals, values = values.sum(axis=1), values[:, : table.model.k]
    axes = vectors.transpose(0, 2, 1)[:, ::-1][:, : table.model.k]
    # Directions beyond the rank are zero vectors, orthogonal to all others.
    return Resamples(values, totals, np.where(values[:, :, None] > 0.0, axes, 0.0))


def _analyse_by_rows(table: Table, count: FloatArray) -> Resamples:
    """Analyse one resample through its distinct rows, weighted by the roots of their counts."""
    size, k = float(table.size), table.model.k
    rows, count, mean = _centred(table, count)
    squares = count @ rows**2
    _check_finite(squares)
    divisor = _divisors(table, count[None], squares[None], iter([rows]))
    if not table.model.result.centred:
        rows += mean
    if divisor is not None:
        rows /= divisor[0]
    rows *= np.sqrt(count)[:, None]
    wide = rows.shape[1] > len(rows)
    products = rows @ rows.T if wide else rows.T @ rows
    _check_finite(products.trace())
    only_top = 0 < k < _TOP_SHARE * len(products)
    values, vectors = eigh_top(products, k) if only_top else eigh(products)
    values, vectors = np.maximum(values[:k], 0.0), vectors[:k]
    if wide:
        # As above, directions beyond the rank are zero vectors.
        lengths = np.sqrt(np.where(values > 0, values, np.inf))
        vectors = (vectors @ rows) / lengths[:, None]
    missing = k - len(vectors)
    values, vectors = np.pad(values, (0, missing)), np.pad(vectors, ((0, missing), (0, 0)))
    total = products.trace() / (size - 1.0)
    return Resamples(values / (size - 1.0), np.asarray(total), vectors)


def _centred(table: Table, count: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct rows (m, p) of a resample about its mean, their counts (m,), and its mean (p,)."""
    kept = count > 0
    rows, count = table.rows[kept], count[kept]
    offset = count @ rows / table.size
    rows, mean = rows - offset, offset + table.mean
    cancelled = np.flatnonzero(count @ rows**2 <= _CANCELLED * table.size * offset**2)
    if cancelled.size:
        # Subtracting the mean of the table, which is far away, has rounded these columns.
        given = table.given[kept][:, cancelled]
        rough = count @ given / table.size
        near = _subtracted(given, rough)
        # Where the rows differ in their last digits only, the rounding of their mean matters.
        offset = count @ near / table.size
        divisor = 1.0 if table.divisor is None else table.divisor[cancelled]
        rows[:, cancelled] = (near - offset) / divisor
        mean[cancelled] = (rough + offset) / divisor
    return rows, count, mean


def _check_finite(squares: FloatArray) -> None:
    """Raise NotFiniteError if sums of squares overflowed; no product or eigenvalue is larger."""
    if not np.isfinite(squares).all():
        raise errors.NotFiniteError(
            "in a resample, sums of squares of the columns overflow float64",
            hint="divide the columns by a power of ten",
        )


def _divisors(
    table: Table, counts: FloatArray, scatters: FloatArray, drawn: Iterator[FloatArray]
) -> FloatArray | None:
    """Divisors (b, p) of the columns of each resample, whose rows are ``drawn``."""
    parameters, names = table.model.parameters, table.model.schema.names
    if not isinstance(parameters.scale, str):
        return None  # divisors that do not depend on the resample were applied before
    size, divisors_by_resample = float(table.size), []
    zeros = np.zeros(scatters.shape[1])
    for count, scatter in zip(counts, scatters, strict=True):
        extremes = Extremes.of(next(drawn)) if parameters.scale == "range" else None
        columns = Columns(size, len(count), zeros, zeros, scatter)
        try:
            divisor = divisors(parameters.scale, columns, extremes, names, parameters.constant)
        except errors.ConstantColumnError as error:
            raise errors.ConstantColumnError(
                f"in a resample: {error.message}",
                place=error.place,
                hint="the resample lacks the few rows where this column differs; fit with "
                "constant='zero', or with the fixed divisors of the model, scale=model.scale_",
            ) from None
        divisors_by_resample.append(divisor)
    return np.array(divisors_by_resample)
