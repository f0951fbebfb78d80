"""A fit in progress: its rows, the results of passes over them, and its number of components."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.core.applied_rule import AppliedRule
from princomp.core.problem import Problem
from princomp.core.request import Request, constant_columns, max_components
from princomp.core.weights import check_total_weight, warn_of_small_weights
from princomp.engines import PartialResult, RunContext, fold
from princomp.errors import ParameterError, ShapeError, counted
from princomp.io import few_rows_left_error, listed, refuse_changed
from princomp.linalg import FloatArray
from princomp.rules import Decision, Rule, for_fraction, rule_of
from princomp.solvers import Spectrum
from princomp.summaries import (
    Extremes,
    Names,
    Pair,
    PairOf,
    Weights,
    check_range,
    check_weights,
    divisors,
    gives_variance,
    safe_exponent,
)

if TYPE_CHECKING:
    from princomp.core.routes.base import Summary
    from princomp.engines import SummaryKind


class FitContext:
    """A fit in progress: the rows, the request, and what passes have found so far.

    Parameters
    ----------
    request : Request
    problem : Problem
    rows : ndarray, CSR array or Source of shape (n, p), optional
        None if only a summary is solved.
    weights : ndarray of shape (n,), optional
    names : tuple of str, optional
        Names of the columns, for messages.
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
        if self.n is not None:
            check_weights(weights, self.n)
        self.passes = self.dropped = 0
        self.extremes: Extremes | None = None
        # Set by a route that was abandoned, for the next one.
        self.summary: Summary | None = None
        self.precise = False
        self._file_states = () if problem.in_memory else rows.file_states()

    def fold(self, kind: SummaryKind, step: str, *, precise: bool = False) -> PartialResult:
        """Make one pass over the rows.

        Raises
        ------
        InputChangedError
            If a file has changed since the fit began.
        """
        self.passes += 1
        drop = self.request.drop
        folded = fold(
            kind, self.rows, self.weights, drop=drop, precise=precise, run=self.run, step_name=step
        )
        if self._file_states:
            refuse_changed(self._file_states, self.rows.file_states())
        return folded

    def summarise(self, kind: SummaryKind, step: str) -> Any:
        """Summarise all rows in one pass, unless an abandoned route has left a summary.

        Raises
        ------
        ShapeError
            If there are too few rows.
        """
        if self.summary is not None:
            return self.summary
        if self.request.by_range and self.extremes is None:
            kind = PairOf(kind, Extremes)
        # Rows that cannot be read again are multiplied in float64 from the start.
        folded = self.fold(kind, step, precise=self.precise or not self.problem.repeatable)
        summary = folded.summary
        if isinstance(summary, Pair):
            summary, self.extremes = summary.first, summary.second
        if self.passes == 1:
            self.dropped += folded.dropped
            if self.n is None:
                self.n = folded.rows
                check_weights(self.weights, self.n)
            if self.dropped and summary.count < 2 and not gives_variance(summary.rows):
                raise few_rows_left_error(self.rows, self.names, summary.count, self.n)
            check_rows(summary, self.n - self.dropped)
            if summary.rows != summary.count:
                warn_of_small_weights(summary.rows, summary.count)
        return summary

    def analyse(self, summary: Summary) -> tuple[FloatArray | None, Any, ComponentCount]:
        """Return the divisors, the centred and scaled summary, and the number of components.

        Raises
        ------
        ConstantColumnError, NotAvailableError, NotFiniteError, ShapeError
        """
        request = self.request
        scale: FloatArray | None = None
        if request.scale is not None:
            scale = divisors(request.scale, summary, self.extremes, self.names, request.constant)
        with np.errstate(over="ignore", invalid="ignore"):  # check_range reports overflow
            analysed = prepared(summary, scale, request.center)
        check_range(analysed, self.names)
        return scale, analysed, ComponentCount(self, summary, analysed, scale)

    def constant_note(self, summary: Summary) -> tuple[str, ...]:
        """A note on constant columns that were dropped or not scaled."""
        request = self.request
        scaled, drop = isinstance(request.scale, str), request.constant == "drop"
        if not (drop or (scaled and request.constant == "zero")):
            return ()
        constant = constant_columns(summary)
        if not constant.size:
            return ()
        several = "column is", "columns are"
        what = "not divided" if scaled else "not dropped without centring"
        if request.center:
            what = "dropped" if drop else "in no component"
        return (f"constant {several[constant.size > 1]} {what}: {self.names_of(constant)}",)

    def names_of(self, columns: NDArray[np.intp]) -> str:
        """Names of the first five columns, and the number of the others."""
        return listed([f"x{j}" if self.names is None else str(self.names[j]) for j in columns], 5)


class ComponentCount:
    """How many components to keep: a given number, or one by a fraction or a rule.

    Parameters
    ----------
    fit : FitContext
    summary : Moments, Triangle, Columns or Sketch
        Summary of the rows as given.
    analysed : the same, centred and scaled
    scale : ndarray of shape (p,), optional

    Attributes
    ----------
    max_components : int
        Largest possible number of components.
    exact : int or None
        The number, if one was requested.
    share : float or None
        The fraction, if one was requested.
    """

    def __init__(
        self, fit: FitContext, summary: Summary, analysed: Summary, scale: FloatArray | None
    ) -> None:
        request = fit.request
        n_dropped = len(request.dropped_columns(summary))
        wanted = check_n_components(request.n_components, summary, request.solver, n_dropped)
        self.max_components = max_components(summary, n_dropped)
        self.exact = wanted if isinstance(wanted, int) else None
        self.share = wanted if isinstance(wanted, float) else None
        self._rule: AppliedRule | None = None
        if not isinstance(wanted, int | float):
            self._rule = AppliedRule(wanted, fit, summary, analysed, scale)

    @property
    def needs_all(self) -> bool:
        """Whether the rule needs all variances."""
        return self._rule is not None and self._rule.rule.needs == "all"

    @property
    def decision(self) -> Decision | None:
        """The last decision of the rule, if one was requested."""
        return None if self._rule is None else self._rule.decision

    def __call__(self, spectrum: Spectrum, *, complete: bool) -> int | None:
        """Return the number, or None if more variances are needed to decide.

        Raises
        ------
        DataError, NotAvailableError
            If the rule does not apply; the message gives its reason.
        """
        if self.exact is not None:
            return self.exact
        if self.share is not None:
            k = for_fraction(spectrum.rates, self.share)
            if k is None and complete:
                k = len(spectrum.variances)
        else:
            assert self._rule is not None
            k = self._rule.count(spectrum, complete=complete)
            if k is not None and not complete and k > spectrum.k:
                return None
        return None if k is None else min(k, self.max_components)

    def of_complete(self, spectrum: Spectrum) -> int:
        """Return the number for a spectrum with all variances."""
        k = self(spectrum, complete=True)
        assert k is not None
        return k


def check_n_components(
    n_components: int | float | str | Rule | None, summary: Summary, solver: str, dropped: int = 0
) -> int | float | Rule:
    """Return the requested number of components, or the rule that will choose it.

    Raises
    ------
    ShapeError
        For a number out of range; the message gives the range.
    """
    max_k = max_components(summary, dropped)
    is_truncated = solver in ("arpack", "lanczos", "randomized")
    if n_components is None:
        return max_k - 1 if solver == "arpack" else max_k
    if isinstance(n_components, float):
        return n_components
    if not isinstance(n_components, int):
        rule = rule_of(n_components)
        if rule.name == "mle":
            _check_mle(summary, solver, is_truncated, dropped)
        return rule
    min_k = 1 if is_truncated else 0
    if solver == "arpack" and n_components == max_k:
        raise ShapeError(
            f"n_components={n_components} must be strictly less than min(n_samples, n_features)="
            f"{max_k} with svd_solver='arpack'",
            place={"parameter": "n_components"},
            hint="svd_solver='full' finds all",
        )
    if not min_k <= n_components <= max_k:
        route = "full" if solver == "auto" else solver
        high = max_k - (solver == "arpack")
        valid = f"1 to {high} components" if high > 1 else counted(high, "component")
        raise ShapeError(
            f"n_components={n_components} must be between {min_k} and "
            f"min(n_samples, n_features)={max_k} with svd_solver={route!r}"
            + (f", where constant columns are dropped ({dropped})" if dropped else ""),
            place={"parameter": "n_components"},
            hint=f"ask for {valid}",
        )
    return n_components


def _check_mle(summary: Summary, solver: str, is_truncated: bool, dropped: int) -> None:
    if is_truncated:
        raise ParameterError(
            f"n_components='mle' cannot be a string with svd_solver={solver!r}",
            place={"parameter": "n_components"},
            hint="Minka's rule needs all variances: svd_solver='auto' or 'full'",
        )
    if summary.rows < summary.p - dropped:
        raise ShapeError(
            "n_components='mle' is only supported if n_samples >= n_features, "
            f"got {summary.rows:g} rows of {summary.p - dropped} columns",
            hint="ask for a fraction of the variance, or for another rule, such as 'parallel'",
        )


def prepared(summary: Any, scale: FloatArray | None, centred: bool) -> Any:
    """Prepare a summary for a solver: move it to the origin if not centred, then scale it."""
    analysed = summary if centred else summary.about_origin()
    if scale is None:
        return analysed
    analysed = analysed.scaled(scale)
    if analysed.lost is not None:
        analysed = replace(analysed, lost=analysed.lost + _lost_by_divisors(summary, analysed))
    return analysed


def _lost_by_divisors(summary: Any, scaled: Summary) -> FloatArray:
    """Error bounds (p,) of a scaled scatter S whose divisors come from inexact column scatters.

    If a column scatter has the relative error r, its divisor has at most r/2, and row and column j
    of S change by at most r √(Sⱼⱼ tr S). The returned values sum to the root of the sum of squares
    of these bounds. Divisors given by the user are exact, so for them the values are too large.
    """
    spread, squares = summary.column_scatter, scaled.column_scatter
    share = np.divide(summary.lost, spread, out=np.zeros_like(spread), where=spread > 0.0)
    errors: FloatArray = share * np.sqrt(squares)
    norm = float(np.linalg.norm(errors))
    if not np.isfinite(norm):  # nothing is known of this scatter
        return np.full_like(errors, np.inf)
    if norm > 0.0:
        errors *= errors / norm * math.sqrt(float(squares.sum()))
    return errors


def in_safe_range(
    analysed: Summary, scale: FloatArray | None, dtype: np.dtype[Any]
) -> tuple[int, Any, FloatArray | None]:
    """Divide a scaled summary by a power of two that keeps products of its rows in range.

    Return the exponent of this power, the divided summary, and the divisors of the rows: ``scale``
    times the power.
    """
    exponent = safe_exponent(analysed.column_scatter, dtype)
    if not exponent:
        return 0, analysed, scale
    power = np.full(analysed.p, 2.0**exponent)
    return exponent, analysed.scaled(power), power if scale is None else scale * power


def check_rows(summary: Summary, n: int) -> None:
    """Raise an error if there are too few rows to compute a variance.

    ``n`` is the number of rows, among them those of weight zero.

    Raises
    ------
    ShapeError
    """
    if gives_variance(summary.rows):
        return
    if n <= 1:
        raise ShapeError(
            "a variance needs at least 2 rows, and there "
            f"{'is 1 sample' if n else 'are 0 samples'} (n_samples = {n})",
            hint="give more rows; in Python, partial_fit adds batches of one row, too",
        )
    check_total_weight(summary.rows, n)
