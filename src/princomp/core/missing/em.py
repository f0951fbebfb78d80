"""Regularised EM-PCA: components fill the cells, and the filled table gives the components.

J. Josse & F. Husson, "Handling missing values in exploratory multivariate data analysis
methods", Journal de la Société Française de Statistique 153 (2012): iterative PCA with the
singular values shrunk by the noise. Means, divisors and noise are computed from the filled table in
each iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.core.missing.ridge import shrinkage
from princomp.linalg import FloatArray, eigh, eigh_top

# Convergence: limit of the last change, and of the sum of further ones if they shrink at the same
# rate, in units of the deviation of a column.
TOLERANCE = 1e-8
MAX_ITERATIONS = 5000
# If fewer than this share of the eigenvectors are needed, only those are computed.
_FEW = 0.2

Divisor = Callable[[FloatArray], FloatArray]


class ComponentFit(NamedTuple):
    """Components of a filled table, and their fit to some rows.

    Parameters
    ----------
    mean, divisor : ndarray of shape (p,)
    fit : ndarray of shape (m, p)
        Fit to the rows with missing cells, in the units of the data.
    squares : float
        Weighted sum of squared residuals over all cells, also the filled ones, in the units of
        the analysis.
    """

    mean: FloatArray
    divisor: FloatArray
    fit: FloatArray
    squares: float


def fit_components(
    table: FloatArray,
    weights: FloatArray | None,
    k: int,
    *,
    incomplete: NDArray[np.intp],
    divisor_of: Divisor,
    centred: bool,
) -> ComponentFit:
    """Fit ``k`` components to a filled table (n, p); return the fit to the rows ``incomplete``."""
    n, p = table.shape
    total = float(n) if weights is None else float(weights.sum())
    mean = np.average(table, axis=0, weights=weights) if centred else np.zeros(p)
    divisor = divisor_of(table)
    rows = (table - mean) / divisor
    if weights is not None:
        rows *= np.sqrt(weights)[:, None]
    squares = float(np.vdot(rows, rows))
    if not k or not squares:
        return ComponentFit(mean, divisor, np.broadcast_to(mean, (len(incomplete), p)), squares)
    values, axes = _components(rows, k)
    left_out = max(squares - float(values[:k].sum()), 0.0)
    factors = shrinkage(values, left_out, k, total, p, centred=centred)
    incomplete_rows = (table[incomplete] - mean) / divisor
    fit = ((incomplete_rows @ axes.T) * factors) @ axes * divisor + mean
    # ‖Z − F‖² for Z = UDVᵀ and F with its first singular values multiplied by the factors.
    residual = squares - float(np.sum(values[:k] * factors * (2.0 - factors)))
    return ComponentFit(mean, divisor, fit, max(residual, 0.0))


def _components(rows: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Compute at least ``k`` + 1 squared singular values, and ``k`` axes (k, p)."""
    n, p = rows.shape
    products = rows.T @ rows if p <= n else rows @ rows.T
    order = len(products)
    few = k + 1 < _FEW * order
    values, vectors = eigh_top(products, k + 1) if few else eigh(products)
    values = np.maximum(values, 0.0)
    if p <= n:
        return values, vectors[:k]
    lengths = np.sqrt(np.where(values[:k] > 0, values[:k], 1.0))
    axes = (vectors[:k] @ rows) / lengths[:, None]
    axes[values[:k] == 0] = 0.0
    return values, axes


class Convergence(NamedTuple):
    """How an iteration ended."""

    iterations: int
    converged: bool
    change: float
    objective: float


def fill_by_em(
    table: FloatArray,
    missing: NDArray[np.bool_],
    weights: FloatArray | None,
    k: int,
    *,
    divisor_of: Divisor,
    centred: bool,
) -> Convergence:
    """Fill the holes of a table (n, p) in place.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        float64, with any first guess in the holes.
    """
    incomplete = np.flatnonzero(missing.any(axis=1))
    missing_cells = missing[incomplete]
    rows, columns = np.nonzero(missing_cells)
    cell_weights = np.ones(len(columns)) if weights is None else weights[incomplete][rows]
    last_change, change, objective = np.inf, np.inf, np.nan
    for iteration in range(1, MAX_ITERATIONS + 1):
        fitted = fit_components(
            table, weights, k, incomplete=incomplete, divisor_of=divisor_of, centred=centred
        )
        old, new = table[missing], fitted.fit[missing_cells]
        changes = (new - old) / fitted.divisor[columns]
        # Missing cells do not count: subtract their residuals.
        objective = max(fitted.squares - float(cell_weights @ (changes * changes)), 0.0)
        table[missing] = new
        change = float(np.abs(changes).max(initial=0.0) / _root_mean_square(fitted, table, weights))
        if has_converged(change, last_change):
            return Convergence(iteration, True, change, objective)
        last_change = change
    return Convergence(MAX_ITERATIONS, False, change, objective)


def _root_mean_square(fitted: ComponentFit, table: FloatArray, weights: FloatArray | None) -> float:
    """Compute the root mean square of the analysed table."""
    total = float(len(table)) if weights is None else float(weights.sum())
    scaled = (table - fitted.mean) / fitted.divisor
    squares = np.einsum("ij,ij->i", scaled, scaled)
    mean = float(squares.sum() if weights is None else weights @ squares) / total
    return float(np.sqrt(mean / table.shape[1])) or 1.0


def has_converged(change: float, last_change: float) -> bool:
    """Whether a change, and the sum of further ones at the same rate, are below ``TOLERANCE``."""
    if change == 0.0:
        return True
    rate = change / last_change
    return rate < 1.0 and change * max(1.0, rate / (1.0 - rate)) <= TOLERANCE
