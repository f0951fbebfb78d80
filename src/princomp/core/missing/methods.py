"""The two methods that fill missing cells, for the rows of a fit and for new rows.

J. Josse & F. Husson, "Handling missing values in exploratory multivariate data analysis
methods", Journal de la Société Française de Statistique 153 (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import FloatArray, Weights, eigh, eigh_top, slices

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted

# Convergence: limit of the last change, and of the sum of further ones if they shrink at the same
# rate, in units of the deviation of a column.
TOLERANCE = 1e-8
MAX_ITERATIONS = 5000
# If fewer than this share of the eigenvectors are needed, only those are computed.
_FEW = 0.2
# Numbers that are filled together.
_CHUNK_SIZE = 2**20
# Directions that the known cells determine less than this are ignored.
_MIN_EIGENVALUE = 1e-10

Divisor = Callable[[FloatArray], FloatArray]


class Convergence(NamedTuple):
    """How an iteration ended."""

    iterations: int
    converged: bool
    change: float
    objective: float


def has_converged(change: float, last_change: float) -> bool:
    """Whether a change, and the sum of further ones at the same rate, are below ``TOLERANCE``."""
    rate = change / last_change
    return rate < 1.0 and change * max(1.0, rate / (1.0 - rate)) <= TOLERANCE


def shrinkage(
    squares: FloatArray, left_out: float, k: int, rows: float, p: int, *, centred: bool
) -> FloatArray:
    """Compute the factors in [0, 1] of the first ``k`` singular values (k,).

    This is the shrinkage of Verbanck, Josse & Husson (2015).

    Parameters
    ----------
    squares : ndarray of shape (q,)
        Squared singular values, descending, or a multiple of them: at least the first k. The
        next one, if given, is an upper bound of the noise.
    left_out : float
        Sum of those beyond the first k, in the same units.
    rows : float
        Sum of the weights.

    Notes
    -----
    If every cell has noise of variance σ², each squared singular value contains about
    n p σ² / min(n − 1, p) of it. σ² is estimated by ``left_out`` over (n − 1 − k)(p − k) degrees
    of freedom. Without centring n replaces n − 1.
    """
    centred_rows = rows - 1.0 if centred else rows
    degrees_of_freedom, noise = (centred_rows - k) * (p - k), 0.0
    if degrees_of_freedom > 0:
        # The sum of huge weights is divided first: its product with squares may overflow.
        noise = rows / degrees_of_freedom * p / min(p, centred_rows) * left_out
        noise = min(noise, float(squares[: k + 1].min(initial=np.inf)))
    kept = squares[:k]
    return 1.0 - np.divide(noise, kept, out=np.ones(k), where=kept > 0)


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
    weights: Weights,
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
    if not k:
        return ComponentFit(mean, divisor, np.broadcast_to(mean, (len(incomplete), p)), squares)
    values, axes = _leading_components(rows, k)
    left_out = max(squares - float(values[:k].sum()), 0.0)
    factors = shrinkage(values, left_out, k, total, p, centred=centred)
    incomplete_rows = (table[incomplete] - mean) / divisor
    fit = ((incomplete_rows @ axes.T) * factors) @ axes * divisor + mean
    # ‖Z − F‖² for Z = UDVᵀ and F with its first singular values multiplied by the factors.
    residual = squares - float(np.sum(values[:k] * factors * (2.0 - factors)))
    return ComponentFit(mean, divisor, fit, residual)


def _leading_components(rows: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Compute at least ``k`` + 1 squared singular values, and ``k`` axes (k, p)."""
    n, p = rows.shape
    products = rows.T @ rows if p <= n else rows @ rows.T
    order = len(products)
    few = k + 1 < _FEW * order
    values, vectors = eigh_top(products, k + 1) if few else eigh(products)
    values = np.maximum(values, 0.0)
    if p <= n:
        return values, vectors[:k]
    return values, _divide_where_known(vectors[:k] @ rows, np.sqrt(values[:k])[:, None])


def fill_by_em(
    table: FloatArray,
    missing: NDArray[np.bool_],
    weights: Weights,
    k: int,
    *,
    divisor_of: Divisor,
    centred: bool,
) -> Convergence:
    """Fill the holes of a table (n, p) in place, by regularised EM-PCA (Josse & Husson 2012).

    Components fill the cells, and the filled table gives the components, with the singular values
    shrunk by the noise. Means, divisors and noise are computed from the filled table in each
    iteration.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        float64, with any first guess in the holes.
    """
    incomplete = np.flatnonzero(missing.any(axis=1))
    missing_cells = missing[incomplete]
    rows, columns = np.nonzero(missing_cells)
    cell_weights = np.ones(len(columns)) if weights is None else weights[incomplete][rows]
    last_change = np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):  # noqa: B007  (the last one is returned)
        fitted = fit_components(
            table, weights, k, incomplete=incomplete, divisor_of=divisor_of, centred=centred
        )
        old, new = table[missing], fitted.fit[missing_cells]
        changes = (new - old) / fitted.divisor[columns]
        # Missing cells do not count: subtract their residuals.
        objective = max(fitted.squares - float(cell_weights @ (changes * changes)), 0.0)
        table[missing] = new
        change = float(np.abs(changes).max(initial=0.0) / _root_mean_square(fitted, table, weights))
        if converged := has_converged(change, last_change):
            break
        last_change = change
    return Convergence(iteration, converged, change, objective)


def _root_mean_square(fitted: ComponentFit, table: FloatArray, weights: Weights) -> float:
    """Compute the root mean square of the analysed table."""
    total = float(len(table)) if weights is None else float(weights.sum())
    scaled = (table - fitted.mean) / fitted.divisor
    squares = np.einsum("ij,ij->i", scaled, scaled)
    mean = float(squares.sum() if weights is None else weights @ squares) / total
    return float(np.sqrt(mean / table.shape[1])) or 1.0


def fill_by_nipals(
    table: FloatArray,
    missing: NDArray[np.bool_],
    weights: Weights,
    k: int,
    *,
    mean: FloatArray,
    divisor: FloatArray,
    monitor: Callable[[float], None] | None = None,
) -> Convergence:
    """Fill the holes of a table (n, p) in place, by components one by one (Wold 1966).

    Each component is the product of scores and an axis that fits the known cells best. Two
    regressions alternate, of the columns on the scores and of the rows on the axis; neither raises
    the sum of squared residuals. The next component fits the residuals.

    Parameters
    ----------
    table : ndarray of shape (n, p)
        float64; values in the holes are ignored.
    mean, divisor : ndarray of shape (p,)
        Of the known cells.
    monitor : callable, optional
        Called with the sum of squared residuals after each iteration, which never rises.
    """
    known = (~missing).astype(np.float64)
    residuals = np.where(missing, 0.0, (table - mean) / divisor)
    fit = np.zeros_like(table)
    iterations, converged, change = 0, True, 0.0
    weight = np.ones(len(table)) if weights is None else weights

    for _ in range(k):
        scores, axis, convergence = _nipals_component(residuals, known, weight, monitor)
        iterations += convergence.iterations
        converged &= convergence.converged
        change = max(change, convergence.change)
        component = scores[:, None] * axis
        fit += component
        residuals -= component * known
    table[missing] = (fit * divisor + mean)[missing]
    squares = float(weight @ np.einsum("ij,ij->i", residuals, residuals))
    return Convergence(iterations, converged, change, squares)


def _nipals_component(
    residuals: FloatArray,
    known: FloatArray,
    weight: FloatArray,
    monitor: Callable[[float], None] | None,
) -> tuple[FloatArray, FloatArray, Convergence]:
    """Compute scores (n,) and axis (p,) of residuals (n, p), which are zero for missing cells."""
    column_squares = weight @ (residuals * residuals)
    scores = residuals[:, column_squares.argmax()].copy()
    total_squares, last_change = float(column_squares.sum()), np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):  # noqa: B007  (the last one is returned)
        weighted = weight * scores
        axis = _divide_where_known(residuals.T @ weighted, known.T @ (weighted * scores))
        axis /= np.linalg.norm(axis) or 1.0
        sums, sizes = residuals @ axis, known @ (axis * axis)
        new = _divide_where_known(sums, sizes)
        residual_squares = total_squares - float(weight @ (sums * new))
        if monitor is not None:
            monitor(residual_squares)
        size = float(np.sqrt(weight @ new**2))
        change = float(np.sqrt(weight @ (new - scores) ** 2)) / (size or 1.0)
        scores = new
        if converged := has_converged(change, last_change):
            break
        last_change = change
    return scores, axis, Convergence(iteration, converged, change, residual_squares)


def _divide_where_known(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with zero where nothing is known."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def fill_new_rows(rows: FloatArray, fitted: Fitted, method: str) -> FloatArray:
    """Fill the missing cells of new rows (n, p), given a fit, in a copy if there are any.

    ``"em"``: the conditional mean given the known cells, under components shrunk as in the fit;
    a row of the fit gets the same cells as there. ``"nipals"``: the reconstruction from
    least-squares scores, those of smallest norm if they are not unique. A row without any known
    cell stays empty.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    fitted : Fitted
    method : {"em", "nipals"}

    Raises
    ------
    NotAvailableError
        If the mean or, for ``"em"``, the number of rows is not known.
    """
    missing = np.isnan(rows)
    incomplete = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if not incomplete.size:
        return rows
    fitted.require_mean()
    axes = np.asarray(fitted.spectrum.axes[: fitted.k], dtype=np.float64)
    factors = np.ones(fitted.k)
    if method == "em":
        fitted.row_count("filled cells")
        spectrum, summary = fitted.spectrum, fitted.analysed
        left = spectrum.left_out(fitted.k, summary.rank_limit)
        factors = shrinkage(
            spectrum.variances, left, fitted.k, summary.rows, fitted.counted, centred=fitted.centred
        )
    scale = np.ones(fitted.p) if fitted.scale is None else fitted.scale
    out = rows.copy()
    step = max(1, _CHUNK_SIZE // max(fitted.p, fitted.k**2))
    for piece in slices(len(incomplete), step):
        part = incomplete[piece]
        part_missing = missing[part]
        known = ((rows[part].astype(np.float64) - fitted.mean) - fitted.mean_low) / scale
        fitted_values = _fit_known_cells(
            np.where(part_missing, 0.0, known), ~part_missing, axes, factors
        )
        cells = (fitted_values * scale + fitted.mean).astype(rows.dtype)
        out[part] = np.where(part_missing, cells, rows[part])
    return out


def _fit_known_cells(
    known: FloatArray, is_known: NDArray[np.bool_], axes: FloatArray, factors: FloatArray
) -> FloatArray:
    """Compute the fit of the components to rows (m, p), which are zero for missing cells.

    With factors D and axes V, the filled cells are those of V D Vᵀx, with x the complete row.
    Solved for x: with G = VₒVₒᵀ over the known cells and u = D^½ Vx,
    (I − D + D^½ G D^½) u = D^½ Vₒxₒ, and the cells are those of D^½ u.
    """
    k = len(factors)
    root = np.sqrt(factors)
    # Rows with the same pattern of known cells share their matrix.
    patterns, pattern_index = np.unique(np.packbits(is_known, axis=1), axis=0, return_inverse=True)
    masks = np.unpackbits(patterns, axis=1, count=is_known.shape[1]).astype(np.float64)
    weighted = axes * root[:, None]
    grams = np.einsum("uj,aj,bj->uab", masks, weighted, weighted, optimize=True)
    grams += np.diag(1.0 - factors)
    inverses = np.linalg.pinv(grams, rcond=_MIN_EIGENVALUE, hermitian=True) if k else grams
    u = np.einsum("iab,ib->ia", inverses[pattern_index.ravel()], known @ weighted.T)
    return u @ weighted
