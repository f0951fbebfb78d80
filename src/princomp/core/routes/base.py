"""What routes share: their protocol, how they end, and centred rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from princomp.core.context import FitContext, in_safe_range
from princomp.core.problem import Problem
from princomp.engines import drop_incomplete
from princomp.linalg import FloatArray, default_threads
from princomp.rules import Decision
from princomp.solvers import Spectrum, completed
from princomp.summaries import (
    Block,
    CentredRows,
    Columns,
    Moments,
    Sketch,
    Triangle,
    Weights,
    blocks_per_task,
    centre_rows,
    checked_block,
)

Summary: TypeAlias = Moments | Triangle | Columns | Sketch

# Components that a truncated solver starts with if a fraction or a rule decides on the number.
INITIAL_COMPONENTS = 16
# Bytes that a thread holds while it multiplies dense rows: the longest panel and its centred copy.
_PANEL_BYTES = 2**24


class Cost(NamedTuple):
    """Cost of a route: estimated peak memory in bytes beyond the data, and number of passes."""

    memory: int
    passes: int | None = 1  # None if passes are repeated until residuals are small

    def fits(self, problem: Problem) -> bool:
        """Whether this is within the memory limit."""
        return problem.memory_limit is None or self.memory <= problem.memory_limit


class Solution(NamedTuple):
    """A spectrum, how many of its components are kept, and the summary behind it."""

    spectrum: Spectrum
    k: int
    summary: Summary
    scale: FloatArray | None
    notes: tuple[str, ...] = ()  # for the plan
    decision: Decision | None = None  # of the rule that chose k
    solver: str | None = None  # if it is not the one of the route


class Abandoned(NamedTuple):
    """An abandoned route: notes on why, and its successor.

    ``summary`` lets the successor solve without another pass; ``precise`` tells it to compute
    products in float64.
    """

    notes: tuple[str, ...]
    successor: tuple[str, str]
    summary: Summary | None = None
    precise: bool = False


class Route(Protocol):
    """One way from rows to a spectrum.

    ``summary`` and ``solver`` are its names in plans and model files.
    """

    summary: str
    solver: str

    def applies(self, problem: Problem) -> str:
        """Why ``svd_solver="auto"`` may take this route; empty if it may not, as by default."""
        return ""

    def cost(self, problem: Problem) -> Cost:
        """Estimate memory and passes."""

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Read the rows and solve, or hand over to another route."""


def rows_in_flight(problem: Problem, step: int) -> tuple[int, int, int, int]:
    """Return rows per block, threads that sum blocks, queued blocks, and sums to be merged.

    A block has at most ``step`` rows. Blocks wait for a thread, and sums wait to be merged in
    order.
    """
    rows, threads, waiting = problem.rows, 1, 1
    if not 0 < rows <= step:
        rows, threads = step, default_threads()
        waiting = (threads + 2) * blocks_per_task(step, problem.columns)
    return rows, threads, 0 if problem.in_memory else threads + 3, waiting


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
        self._exponent, self.columns, self._divisor = in_safe_range(
            analysed, self._scale, fit.rows.dtype
        )
        self.rows = self._centred(fit.rows, fit.weights)

    def _centred(self, rows: Block, weights: Weights) -> CentredRows:
        columns = self.summary if self._fit.request.center else self.summary.about_origin()
        variances = columns.column_scatter / (columns.rows - 1.0)
        mean, low = columns.mean, columns.mean_low
        return centre_rows(rows, mean, low, variances, self._divisor, weights)

    def sample(self, every: int) -> CentredRows:
        """Return a copy of one row in ``every``."""
        fit = self._fit
        weights = None if fit.weights is None else fit.weights[::every]
        return self._centred(fit.rows[::every].copy(), weights)

    def components(self, spectrum: Spectrum, *, complete: bool = True) -> int | None:
        """Return the number of components, or None if more variances are needed to decide."""
        return self.count(spectrum.times_power(2 * self._exponent), complete=complete)

    def solve_growing(
        self, solve_truncated: Callable[[int], Spectrum | None], abandoned: Abandoned | None = None
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
