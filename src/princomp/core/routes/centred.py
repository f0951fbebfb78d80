"""Centred and scaled rows in memory, for routes that multiply rows without forming a scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from princomp.core.context import FitContext, safe_divisor
from princomp.core.problem import Problem
from princomp.core.routes.base import INITIAL_COMPONENTS, Abandoned, Solution
from princomp.engines import drop_incomplete
from princomp.linalg import default_threads
from princomp.solvers import Spectrum, completed
from princomp.summaries import (
    CentredRows,
    Columns,
    Weights,
    centre_rows,
    checked_block,
    safe_exponent,
)

# Bytes that a thread holds while it multiplies dense rows: the longest panel and its centred copy.
_PANEL_BYTES = 2**24


class CentredFit:
    """The centred and scaled rows of a fit, and the count of its components.

    Rows are divided by a power of two that keeps their products in the range of their precision.

    Attributes
    ----------
    rows : CentredRows
    columns, summary : Columns
        Summaries of ``rows`` and of the rows as given.
    count : ComponentCount
    """

    def __init__(self, fit: FitContext) -> None:
        if fit.passes == 0:
            drop_rows(fit)
        columns = fit.summarise(Columns, "columns")
        self._fit, self.summary = fit, columns
        self._scale, analysed, self.count = fit.analyse(columns)
        self._exponent = safe_exponent(analysed.column_scatter, fit.rows.dtype)
        if self._exponent:
            analysed = analysed.scaled(np.full(columns.p, 2.0**self._exponent))
        self.columns = analysed
        self.rows = self._centred(fit.rows, fit.weights)

    def _centred(self, rows: Any, weights: Weights) -> CentredRows:
        columns, p = self.summary, self.summary.p
        mean = columns.mean if self._fit.request.center else np.zeros(p)
        low = columns.mean_low if self._fit.request.center else mean
        variances = columns.column_scatter / (columns.rows - 1.0)
        divisor = safe_divisor(self._scale, self._exponent, p)
        return centre_rows(rows, mean, low, variances, divisor, weights)

    def sample(self, every: int) -> CentredRows:
        """Return a copy of one row in ``every``."""
        fit = self._fit
        weights = None if fit.weights is None else fit.weights[::every]
        return self._centred(fit.rows[::every].copy(), weights)

    def components(self, spectrum: Spectrum, *, complete: bool = True) -> int | None:
        """Return the number of components, or None if more variances are needed to decide."""
        return self.count(spectrum.times_power(2 * self._exponent), complete=complete)

    def solve_growing(
        self,
        solve_truncated: Callable[[int], Spectrum | None],
        abandoned: Abandoned | None = None,
    ) -> Solution | Abandoned:
        """Ask a truncated solver for more components until they are enough; return the result.

        If the solver gives up, return ``abandoned``.
        """
        count, most = self.count, self.count.max_components
        size = most if count.needs_all else min(most, INITIAL_COMPONENTS)
        if count.exact is not None:
            size = max(count.exact, 1)
        while True:
            # With weights, more may be wanted than there are rows.
            spectrum = solve_truncated(min(size, *self.rows.shape))
            if spectrum is None:
                assert abandoned is not None
                return abandoned
            k = self.components(spectrum, complete=size >= most)
            if k is not None:
                return self.solution(spectrum, k)
            size = min(most, 2 * size)

    def solution(self, spectrum: Spectrum, k: int, notes: tuple[str, ...] = ()) -> Solution:
        """The result, in the units of the rows."""
        spectrum = completed(spectrum, k).times_power(2 * self._exponent)
        return Solution(spectrum, k, self.summary, self._scale, notes, self.count.decision)


def drop_rows(fit: FitContext, *, weightless: bool = True) -> None:
    """Leave out incomplete rows if the request drops them, and rows of weight zero if asked to."""
    if fit.request.drop:
        fit.rows, fit.weights, fit.dropped = drop_incomplete(fit.rows, fit.weights)
    if weightless:
        fit.rows, fit.weights = checked_block(fit.rows, fit.weights)


def panels_in_flight(problem: Problem) -> int:
    """Bytes for threads that each centre a panel of dense rows, or for a copy of sparse rows."""
    if problem.stored is not None:
        return 12 * problem.stored
    numbers = problem.rows * problem.columns * problem.itemsize
    return min(default_threads() * _PANEL_BYTES, numbers)
