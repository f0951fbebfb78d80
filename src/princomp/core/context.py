"""A fit in progress: its rows, and what passes over them have found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp.core.component_count import ComponentCount
from princomp.core.problem import Problem
from princomp.core.request import Request
from princomp.core.routes.base import Abandoned, Summary
from princomp.engines import PartialResult, RunContext, fold
from princomp.errors import ShapeError
from princomp.io import refuse_changed
from princomp.linalg import FloatArray, default_threads
from princomp.summaries import (
    Extremes,
    Names,
    Pair,
    PairOf,
    Weights,
    check_range,
    check_weights,
    divisors,
)

# Below so many numbers BLAS stays on one thread by itself, as the engine knows.
_ONE_THREAD = 2**12


class FitContext:
    """A fit in progress: the rows, what is asked of them, and what passes have found so far.

    Parameters
    ----------
    request : Request
    problem : Problem
    rows : ndarray, CSR array or Source of shape (n, p), optional
        None where only a summary is solved.
    weights : ndarray of shape (n,), optional
    names : tuple of str, optional
        Of the columns, for messages.
    run : RunContext, optional
        Progress and checkpoint.
    """

    def __init__(
        self,
        request: Request,
        problem: Problem,
        rows: Any = None,
        weights: Weights = None,
        names: Names = None,
        run: RunContext | None = None,
    ) -> None:
        self.request, self.problem = request, problem
        self.rows, self.weights, self.names, self.run = rows, weights, names, run
        self.n: int | None = None if rows is None else rows.shape[0]
        self.passes = self.dropped = 0
        self.extremes: Extremes | None = None
        # Of a route that was abandoned.
        self.summary: Summary | None = None
        self.precise = False
        self._file_states = () if problem.held else rows.file_states()

    def fold(self, kind: Any, step: str, *, precise: bool = False) -> PartialResult:
        """One pass over the rows.

        Raises
        ------
        InputChangedError
            When a file is not the one that it was when the fit began.
        """
        self.passes += 1
        rows, drop = self.rows, self.request.drop
        if self.run is None and type(rows) is np.ndarray and not drop and is_one_block(kind, rows):
            # There are no blocks to cut, no threads to start and no progress to report.
            return PartialResult(kind.of(rows, self.weights, precise=precise), 0, len(rows))
        folded = fold(
            kind,
            rows,
            self.weights,
            drop=drop,
            precise=precise,
            run=self.run,
            step_name=step,
        )
        if self._file_states:
            refuse_changed(self._file_states, rows.file_states())
        return folded

    def summarise(self, kind: Any, step: str) -> Any:
        """The summary of all rows: the one handed over by another route, or of one pass.

        Raises
        ------
        ShapeError
            Where there are too few rows.
        """
        if self.summary is not None:
            return self.summary
        with_range = self.request.by_range and self.extremes is None
        folded = self.fold(
            PairOf(kind, Extremes) if with_range else kind,
            step,
            # Rows that cannot be read again are multiplied in float64 at once.
            precise=self.precise or not self.problem.repeatable,
        )
        summary = folded.summary
        if isinstance(summary, Pair):
            summary, self.extremes = summary.first, summary.second
        if self.passes == 1:
            self.dropped += folded.dropped
            if self.n is None:
                self.n = folded.rows
                check_weights(self.weights, self.n)
            check_rows(summary, self.n, self.dropped)
        return summary

    def analyse(self, summary: Summary) -> Analysis:
        """What columns are divided by, the summary as it is solved, and the count.

        Raises
        ------
        ConstantColumnError, NotAvailableError, NotFiniteError, ShapeError
        """
        scale = self.divisors(summary)
        ready = self.prepare(summary, scale)
        return Analysis(scale, ready, ComponentCount(self, summary, ready, scale))

    def divisors(self, summary: Summary) -> FloatArray | None:
        """What columns are divided by."""
        request = self.request
        if request.scale is None:
            return None
        return divisors(request.scale, summary, self.extremes, self.names, request.constant)

    def prepare(self, summary: Summary, scale: FloatArray | None) -> Any:
        """Centre and scale a summary; refuse it if its squares leave the range of float64.

        Raises
        ------
        NotFiniteError
        """
        with np.errstate(over="ignore", invalid="ignore"):  # refused in the next line
            ready = prepared(summary, scale, self.request.center)
        check_range(ready, self.names)
        return ready

    def constant_note(self, summary: Summary) -> tuple[str, ...]:
        """A note on constant columns that were not scaled."""
        if self.request.constant == "error" or not isinstance(self.request.scale, str):
            return ()
        none = np.flatnonzero(np.asarray(summary.column_scatter) == 0)
        if not none.size:
            return ()
        names = [f"x{j}" if self.names is None else str(self.names[j]) for j in none[:5]]
        more = "" if none.size <= 5 else f" and {none.size - 5} more"
        one, several, what = "column has", "columns have", "no part in any component"
        if not self.request.center:
            one, several, what = "column is", "columns are", "not divided"
        elif self.request.constant == "drop":
            one, several, what = "column is", "columns are", "dropped"
        many = one if none.size == 1 else several
        return (f"constant {many} {what}: {', '.join(names)}{more}",)

    def take_over(self, abandoned: Abandoned) -> None:
        """Keep what another route left."""
        self.summary, self.precise = abandoned.summary, abandoned.precise


class Analysis(NamedTuple):
    """The scale, the summary as it is solved, and how many components are wanted."""

    scale: FloatArray | None
    ready: Any
    components: ComponentCount


def prepared(summary: Any, scale: FloatArray | None, centred: bool) -> Any:
    """A summary as it is solved: about the origin where not centred, then scaled."""
    ready = summary if centred else summary.about_origin()
    if scale is None:
        return ready
    ready = ready.scaled(scale)
    if ready.lost is not None:
        ready = replace(ready, lost=ready.lost + _lost_by_divisors(summary, ready))
    return ready


def _lost_by_divisors(summary: Any, scaled: Any) -> FloatArray:
    """Errors (p,) of a scaled scatter S whose divisors come from spreads that lost digits.

    If a spread has the relative error r, its divisor has at most r/2, and row and column j of S
    change by at most r √(Sⱼⱼ tr S). The values returned add up to the root of the sum of squares of
    these bounds. Given divisors are exact; for them this is more than the error.
    """
    spread, squares = summary.column_scatter, scaled.column_scatter
    share = np.divide(summary.lost, spread, out=np.zeros_like(spread), where=spread > 0.0)
    errors: FloatArray = share * np.sqrt(squares)
    norm = float(np.linalg.norm(errors))
    if norm > 0.0:
        errors *= errors / norm * math.sqrt(float(squares.sum()))
    return errors


def is_one_block(kind: Any, rows: FloatArray) -> bool:
    """Whether rows (n, p) are one logical block, so few that one thread sums them."""
    n, p = rows.shape
    return n * p < _ONE_THREAD and n <= kind.block_rows(p)


def safe_divisor(scale: FloatArray | None, exponent: int, p: int) -> FloatArray | None:
    """The scale times a power of two that keeps products in range."""
    if not exponent:
        return scale
    power = np.full(p, 2.0**exponent)
    return power if scale is None else scale * power


def rows_in_flight(problem: Problem, step: int) -> tuple[int, int, int]:
    """Rows of a block of at most ``step``, threads that sum blocks, and blocks that are queued."""
    n = problem.rows
    rows = min(n, step) if n else step
    threads = default_threads() if not n or n > step else 1
    return rows, threads, 0 if problem.held else threads + 3


def check_rows(summary: Summary | Pair, n: int, dropped: int) -> None:
    """Refuse too few rows to see a variance.

    Raises
    ------
    ShapeError
    """
    if summary.rows > 1.0:
        return
    if dropped and n - dropped < 2:
        raise ShapeError(
            f"{n - dropped} of {n} rows are left after dropping those with missing values; "
            "a variance needs at least 2",
            hint="fill the missing values, or leave out the columns that hold them",
        )
    if n <= 1:
        raise ShapeError(
            "a variance needs at least 2 rows, and there "
            f"{'is 1 sample' if n else 'are 0 samples'} (n_samples = {n})",
            hint="give more rows",
        )
    raise ShapeError(
        f"a variance needs a sum of weights above 1, got {summary.rows:g} over {n - dropped} rows"
        + ("" if summary.rows else ": every weight is zero"),
        hint="weights are frequencies: give more, or larger ones",
    )
