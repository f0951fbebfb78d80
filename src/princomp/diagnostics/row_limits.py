"""T² and Q of rows, and limits for each row: those with filled cells have limits of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from princomp.core import Fitted, fitted_model
from princomp.diagnostics.control_limits import Limits
from princomp.diagnostics.limits_of_q import q_limit, q_limit_of_shares, training_thetas
from princomp.diagnostics.models import axes_of, fitted_of, solvers_with_covariance
from princomp.diagnostics.row_reader import Block, centred_and_scaled
from princomp.errors import counted, warn
from princomp.estimators import PCA
from princomp.linalg import EPS, FloatArray, slices
from princomp.summaries import Moments, Triangle

# Budget of multiplications for the limits of all patterns of filled cells.
MAX_WORK = 2**35
# Overhead of one pattern, in multiplications.
_OTHER_WORK = 2**15
# Most numbers in a stack of patterns that are filled at once.
_CHUNK_NUMBERS = 2**20


class Projector(NamedTuple):
    """Axes (p, k) whose variances (k,) are above the resolution; they give T² and Q of rows."""

    axes: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, fitted: Fitted) -> Projector:
        """Take the axes of a fit."""
        k = fitted.n_resolved
        return cls(axes_of(fitted, slice(k)), fitted.variances[:k])

    def residuals(self, rows: FloatArray) -> FloatArray:
        """Return the parts of rows (m, p) orthogonal to the axes."""
        p, k = self.axes.shape
        if k == p:  # exactly zero, except in rows with missing values
            incomplete = np.isnan(rows).any(axis=1, keepdims=True)
            return np.where(incomplete, np.nan, np.zeros_like(rows))
        return rows - (rows @ self.axes) @ self.axes.T

    def t2_and_q(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return T² and Q (m,) of rows (m, p)."""
        t2 = ((rows @ self.axes / np.sqrt(self.variances)) ** 2).sum(axis=1)
        residuals = self.residuals(rows)
        return t2, np.einsum("ij,ij->i", residuals, residuals)

    def contributions(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return contributions (m, p) of variables to T² and, with the residual's sign, to Q."""
        scaled_rows = ((rows @ self.axes) / self.variances) @ self.axes.T
        residuals = self.residuals(rows)
        return rows * scaled_rows, residuals * np.abs(residuals)


class RowLimits:
    """Limits of T² and Q of each row.

    Filling is linear in centred and scaled units: a row x becomes Px, where P depends on which
    cells are known. Let C be the covariance of complete rows, V the axes, Λ the variances of the
    components, and R = I − VVᵀ. The scores of Px, divided by the square roots of Λ, have the
    covariance Λ^(−½)VᵀPCPᵀVΛ^(−½), and its residual has the covariance RPCPᵀR. So T² and Q are sums
    of squares of normal variables whose variances are the eigenvalues of these matrices. Q has the
    limit of `q_limits`; for new rows, that of training rows is multiplied by the same factor as for
    complete rows. The limit of T² of complete rows is multiplied by the quantile of its sum divided
    by that of k variances of 1, which is exact only for fits of many rows.

    Parameters
    ----------
    model : PCA
    limits : Limits
        Those of complete rows.
    training : bool
        Whether the rows are those of the fit.
    """

    def __init__(self, model: PCA, limits: Limits, *, training: bool) -> None:
        self._model, self._fitted = fitted_model(model), fitted_of(model)
        self._level, self._projector = limits.level, Projector.of(self._fitted)
        of_rows = (*limits.of(training=training), limits.q_training)
        self._t2, self._q, q_training = np.array(of_rows, dtype=np.float64)  # None becomes NaN
        self._q_factor = self._q / q_training
        self._of_pattern: dict[bytes, FloatArray] = {}
        self._rows: FloatArray | None = None
        self._max_patterns = self._n_without = 0
        self._has_more_patterns = False

    def of(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return the limits of T² and Q (m,) of the rows of a block; NaN where there is none."""
        t2, q = np.full(len(block.rows), self._t2), np.full(len(block.rows), self._q)
        if block.filled is not None and block.filled.any():
            rows = np.flatnonzero(block.filled.any(axis=1))
            packed = np.packbits(block.filled[rows], axis=1)
            patterns, index = np.unique(packed, axis=0, return_inverse=True)
            limits = self._of_patterns(patterns)[index.ravel()]
            t2[rows], q[rows] = limits.T
            self._n_without += int(np.isnan(limits).all(axis=1).sum())
        return t2, q

    def warn_of_rows_without_limits(self) -> None:
        """Warn if rows so far have filled cells and no limit."""
        if not self._n_without:
            return
        reason = "the known cells determine neither T² nor Q"
        if np.isnan([self._t2, self._q]).all():
            reason = "the model has none for complete rows either (limits().reasons)"
        elif self._rows is None:
            solvers = solvers_with_covariance(self._fitted)
            reason = f"the model stores no covariance; fit with {solvers}"
        elif not self._max_patterns:
            reason = "they take too long to compute for so many columns"
        elif self._has_more_patterns:
            patterns = counted(self._max_patterns, "pattern")
            reason = f"X has more than {patterns} of missing cells; give fewer rows at a time"
        warn(f"{counted(self._n_without, 'row')} of X with filled cells have no limits: {reason}")

    def _of_patterns(self, packed: NDArray[np.uint8]) -> FloatArray:
        """Return the limits (u, 2) for patterns of filled cells, 8 cells in a byte."""
        if self._rows is None:
            self._prepare()
        keys, found = [pattern.tobytes() for pattern in packed], self._of_pattern
        new = np.array([i for i, key in enumerate(keys) if key not in found], dtype=np.intp)
        # Of too many patterns, those of the first blocks get limits; in a block, in byte order.
        self._has_more_patterns |= len(new) > self._max_patterns - len(found)
        new = new[: self._max_patterns - len(found)]
        step = 1 if self._rows is None else max(1, _CHUNK_NUMBERS // self._rows.size)
        for part in (new[at] for at in slices(len(new), step)):
            filled = np.unpackbits(packed[part], axis=1, count=self._fitted.p).astype(bool)
            for i, limits in zip(part, self._compute(filled), strict=True):
                found[keys[i]] = limits
        none = np.full(2, np.nan)
        return np.array([found.get(key, none) for key in keys])

    def _prepare(self) -> None:
        """Compute A + mean, in the units of the data, where AᵀA is the covariance."""
        rows, fitted = _rows_of_covariance(self._fitted), self._fitted
        if rows is not None:
            work = rows.size * min(rows.shape)
            self._max_patterns = MAX_WORK // (work + _OTHER_WORK)
            self._rows = rows * (1.0 if fitted.scale is None else fitted.scale) + fitted.mean

    def _compute(self, filled: NDArray[np.bool_]) -> FloatArray:
        """Compute the limits (u, 2) for patterns (u, p) of filled cells."""
        assert self._rows is not None
        axes, variances = self._projector
        stack = np.where(filled[:, None, :], np.nan, self._rows)
        rows = self._model.fill(stack.reshape(-1, self._fitted.p))
        rows = centred_and_scaled(self._fitted, rows)
        scores = (rows @ axes / np.sqrt(variances)).reshape(*stack.shape[:2], -1)
        residuals = self._projector.residuals(rows).reshape(stack.shape)
        t2 = np.array([self._quantile(*row) for row in _thetas_of_stack(scores, EPS)])
        if len(variances):
            t2 *= self._t2 / q_limit(np.ones(len(variances)), self._level)[0]
        resolution, k = self._fitted.spectrum.resolution, len(variances)
        q = np.array(
            [
                self._quantile(total, *training_thetas(self._fitted, k, *thetas))
                for total, *thetas in _thetas_of_stack(residuals, resolution)
            ]
        )
        q *= self._q_factor
        return np.column_stack([t2, q])

    def _quantile(self, total: float, theta2: float, theta3: float) -> float:
        """Return the quantile of a sum of squares, NaN if its mean is."""
        if np.isnan(total):
            return total
        return total * q_limit_of_shares(theta2, theta3, self._level)[0]


def _thetas_of_stack(stack: FloatArray, smallest: float) -> FloatArray:
    """Return traces (u,), and sums of squares and cubes of shares, of u covariances, as (u, 3).

    ``stack`` (u, r, d) has their roots: a covariance is AᵀA. Traces of at most ``smallest`` are
    rounding errors; they become NaN.
    """
    totals = np.einsum("urq,urq->u", stack, stack)
    totals[~(totals > smallest)] = np.nan
    stack = stack / np.sqrt(totals)[:, None, None]
    turned = stack.swapaxes(1, 2)
    grams = stack @ turned if stack.shape[1] < stack.shape[2] else turned @ stack
    theta2 = np.einsum("uij,uij->u", grams, grams)
    theta3 = np.einsum("uij,uij->u", grams, grams @ grams)
    return np.column_stack([totals, theta2, theta3])


def _rows_of_covariance(fitted: Fitted) -> FloatArray | None:
    """Return A (r, p) with AᵀA the covariance of the analysed columns; None if there is none."""
    if not fitted.centred:  # limits are for rows about their mean
        return None
    summary = fitted.analysed.to_host()
    if isinstance(summary, Triangle):
        return np.asarray(summary.factor) / np.sqrt(summary.rows - 1.0)
    if isinstance(summary, Moments):
        variances, axes = scipy.linalg.eigh(summary.scatter / (summary.rows - 1.0))
        return np.sqrt(np.maximum(variances, 0.0))[:, None] * axes.T
    spectrum = fitted.spectrum
    if spectrum.k < min(fitted.analysed.rank_limit, fitted.p):
        return None
    return np.sqrt(spectrum.variances[: spectrum.k])[:, None] * spectrum.axes
