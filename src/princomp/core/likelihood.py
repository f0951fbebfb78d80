"""The probabilistic model of a fit: its covariance and the density of rows.

M. E. Tipping, C. M. Bishop, "Probabilistic principal component analysis", JRSS B 61 (1999).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from princomp.core.context import prepared
from princomp.core.request import constant_columns
from princomp.linalg import FloatArray, empty, slices, svd
from princomp.summaries import as_dense

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted
    from princomp.io import RowArray

# Numbers that are centred at a time: the copy stays in the cache.
_CHUNK_SIZE = 2**17
# Largest squared distance from the span of a model without noise at which a row counts as in it,
# relative to the distance that the resolution or rounding explains.
_MAX_SQUARED_DISTANCE = 100.0


def _noise(fitted: Fitted) -> float:
    """The noise variance, zero if it is below the resolution."""
    noise = fitted.noise_variance
    return noise if noise > fitted.spectrum.resolution else 0.0


def _uncounted(fitted: Fitted) -> NDArray[np.intp] | slice:
    """Indices of the constant columns that do not count; they have no noise."""
    return constant_columns(fitted.summary) if fitted.uncounted else slice(0)


def variances_left_out(fitted: Fitted, directions: int) -> FloatArray:
    """Variance (p,) of the columns that results of the first ``directions`` components leave out.

    They leave out components below the resolution, unless the model has noise. A column is left
    out if it varies and the other components explain less than half of its variance, which is
    accurate even where that of a component is rounding. Zero for all other columns.
    """
    n_axes, columns = fitted.n_resolved, fitted.columns
    if n_axes >= directions or _noise(fitted):
        return np.zeros(fitted.p)
    analysed = prepared(columns, fitted.scale, fitted.centred)
    variances = analysed.column_scatter / (analysed.rows - 1.0)
    explained = fitted.variances[:n_axes] @ fitted.spectrum.axes[:n_axes] ** 2
    # The values of a constant may differ by rounding.
    rounding = np.finfo(fitted.dtype).eps * np.abs(columns.mean)
    varies = np.sqrt(fitted.column_variances) > rounding
    if (lost := fitted.summary.lost) is not None:
        varies &= columns.column_scatter > lost
    return np.where(varies & (explained < 0.5 * variances), variances - explained, 0.0)


def covariance(fitted: Fitted) -> FloatArray:
    """Model covariance (p, p) in squared units: kept components plus isotropic noise."""
    axes, noise = fitted.spectrum.axes[: fitted.k], _noise(fitted)
    model = (axes.T * (fitted.variances - noise)) @ axes
    model.flat[:: fitted.p + 1] += noise
    uncounted = _uncounted(fitted)
    model[uncounted, uncounted] = 0.0
    if fitted.scale is not None:
        model *= fitted.scale[:, None]
        model *= fitted.scale
    return model


def precision(fitted: Fitted) -> FloatArray:
    """Inverse of the model covariance (p, p); its pseudo-inverse if it is singular."""
    noise = _noise(fitted)
    axes = fitted.spectrum.axes[: fitted.k if noise else fitted.n_resolved]
    inverse = 1.0 / fitted.variances[: len(axes)] - (1.0 / noise if noise else 0.0)
    if fitted.scale is not None and not noise and len(axes) < fitted.p:
        # Scaled axes are not orthogonal, so their pseudo-inverse is not that of each factor.
        left, stretch, right = svd(axes * fitted.scale)
        duals = (right.T / stretch) @ left.T
        return np.asarray((duals * inverse) @ duals.T)
    model = (axes.T * inverse) @ axes
    if noise:
        model.flat[:: fitted.p + 1] += 1.0 / noise
        uncounted = _uncounted(fitted)
        model[uncounted, uncounted] = 0.0
    if fitted.scale is not None:
        model /= fitted.scale[:, None]
        model /= fitted.scale
    return model


def log_likelihood(fitted: Fitted, data: RowArray) -> FloatArray:
    """Log density of each row (n,) under the model.

    If the model has no noise and fewer than p components above the resolution, the density is
    that within the span of these components, and −inf for a row outside it. For a row with NaN
    it is NaN. Dropped constant columns make no difference.
    """
    fitted.require_mean()
    out = empty(data.shape[0])
    step = max(1, _CHUNK_SIZE // fitted.p)
    for part in slices(len(out), step):
        rows = (as_dense(data[part]).astype(np.float64) - fitted.mean) - fitted.mean_low
        if fitted.scale is not None:
            rows /= fitted.scale
        rows[:, _uncounted(fitted)] *= 0.0  # NaN stays
        out[part] = _log_density(fitted, rows, float(np.finfo(data.dtype).eps))
    if fitted.scale is not None:
        out -= _log_volume(fitted, fitted.scale)
    return out


def _log_volume(fitted: Fitted, scale: FloatArray) -> float:
    """Log of the factor by which the divisors enlarge a volume in the space of the density."""
    if not _noise(fitted) and fitted.n_resolved < fitted.p:
        axes = fitted.spectrum.axes[: fitted.n_resolved]
        scale = svd(axes * scale)[1]
    else:
        scale = np.delete(scale, _uncounted(fitted))
    return float(np.sum(np.log(scale)))


def _log_density(fitted: Fitted, rows: FloatArray, unit: float) -> FloatArray:
    """Log density (m,) of centred and scaled rows (m, p), given with unit roundoff ``unit``."""
    p, noise = fitted.counted, _noise(fitted)
    n_axes = fitted.k if noise else fitted.n_resolved
    axes, variances = fitted.spectrum.axes[:n_axes], fitted.variances[:n_axes]
    scores = rows @ axes.T
    residuals = rows - scores @ axes
    distance = np.einsum("ij,ij->i", residuals, residuals)
    squares = np.sum(scores**2 / variances, axis=1)
    logs = float(np.sum(np.log(variances)))
    if noise:
        squares = squares + distance / noise
        logs += (p - n_axes) * np.log(noise)
        return -0.5 * (squares + logs + p * np.log(2 * np.pi))
    density = -0.5 * (squares + logs + n_axes * np.log(2 * np.pi))
    if n_axes == p:
        return density
    mean = fitted.mean if fitted.scale is None else fitted.mean / fitted.scale
    # Each direction outside may have a variance up to the resolution; a row far from the others
    # has larger rounding errors.
    unresolved = (p - n_axes) * fitted.spectrum.resolution
    rounding = unit * (np.abs(mean).max() + np.abs(rows).max(axis=1))
    allowed = _MAX_SQUARED_DISTANCE * np.maximum(unresolved, rounding**2 * p)
    outside = np.where(np.isnan(distance), np.nan, -np.inf)
    return np.where(distance <= allowed, density, outside)
