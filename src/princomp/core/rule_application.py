"""Apply a rule for the number of components: gather its input, and interpret its decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from princomp.core.request import Request
from princomp.engines import drop_incomplete
from princomp.errors import DataError, NotAvailableError
from princomp.io import Source
from princomp.linalg import FloatArray, seed_of
from princomp.rules import Decision, Known, Rule, apply_rule, rule_of
from princomp.solvers import Spectrum
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from princomp.core.context import FitContext
    from princomp.core.routes.base import Summary

# Rules that draw from the rows use a sample of at most this many numbers, but at least this many
# rows.
_MAX_SAMPLE_SIZE, _MIN_SAMPLE_ROWS = 2**24, 200


class RuleApplication:
    """A rule applied to a fit; it is applied again only when more variances are known.

    Parameters
    ----------
    fit : FitContext
    rule : Rule
    summary : Moments, Triangle, Columns or Sketch
        Summary of the rows as given.
    analysed : the same, centred and scaled
    scale : ndarray of shape (p,), optional
    """

    def __init__(
        self,
        fit: FitContext,
        rule: Rule,
        summary: Summary,
        analysed: Summary,
        scale: FloatArray | None,
    ) -> None:
        self.rule = rule
        self.decision: Decision | None = None
        self._fit, self._summary, self._analysed, self._scale = fit, summary, analysed, scale
        self._applied_to: bytes | None = None
        self._seed = seed_of(fit.request.random_state)

    def count(self, spectrum: Spectrum, max_components: int, *, complete: bool) -> int | None:
        """Return the number of components, or None if more variances are needed to decide.

        Raises
        ------
        DataError, NotAvailableError
            If the rule does not apply; the message gives its reason.
        """
        key = b"rows" if self.rule.needs == "rows" else spectrum.variances.tobytes()
        if self.decision is None or key != self._applied_to:
            self.decision = self._apply(spectrum, complete)
            self._applied_to = key
        if self.decision is None:
            return None
        k = self.decision.k
        assert k is not None
        return None if not complete and k > spectrum.k else min(int(k), max_components)

    def _apply(self, spectrum: Spectrum, complete: bool) -> Decision | None:
        rule, known = self.rule, self._known(spectrum, complete)
        decision = apply_rule(rule, known)
        if decision is None:
            if complete:
                raise _undecided(rule.name, "needs more variances than there are", known)
            return None
        if decision.k is None:
            raise _undecided(rule.name, decision.reason, known)
        return decision

    def _known(self, spectrum: Spectrum, complete: bool) -> Known:
        fit, request, summary = self._fit, self._fit.request, self._summary
        why_not = _why_no_rows(fit)
        dropped = request.dropped_columns(summary)
        columns = summary.p - len(dropped)
        column_scatter = np.delete(np.asarray(self._analysed.column_scatter), dropped)
        return Known(
            variances=spectrum.variances[:columns],
            total=spectrum.total,
            columns=columns,
            rows=None if fit.n is None else float(summary.rows),
            column_variances=np.maximum(column_scatter / (summary.rows - 1.0), 0.0),
            centred=request.center,
            standardised=request.center
            and isinstance(request.scale, str)
            and request.scale == "unit",
            resolution=spectrum.resolution,
            complete=complete,
            table=None if why_not else self._table,
            no_table=why_not,
            seed=self._seed,
            tell=_ignore_progress if fit.run is None else fit.run.report_draws,
            sampled="" if why_not else self._sampled(),
        )

    def _sample_size(self) -> int | None:
        """Number of rows in the sample for a rule; None if it uses all rows."""
        n, p = self._fit.rows.shape
        return (
            None
            if n * p <= _MAX_SAMPLE_SIZE
            else min(n, max(_MIN_SAMPLE_ROWS, _MAX_SAMPLE_SIZE // p))
        )

    def _sampled(self) -> str:
        n_sampled, n = self._sample_size(), self._fit.rows.shape[0]
        return "" if n_sampled in (None, n) else f"on {n_sampled:,} of {n:,} rows, drawn at random"

    def _table(self) -> FloatArray:
        """The analysed rows in memory (n, p), or a sample of them."""
        fit, summary = self._fit, self._summary
        rows, n_sampled = fit.rows, self._sample_size()
        if n_sampled not in (None, rows.shape[0]):
            chosen = np.random.default_rng(self._seed).permutation(rows.shape[0])[:n_sampled]
            rows = rows[np.sort(chosen)]
        if fit.request.drop:
            rows = drop_incomplete(rows, None)[0]
        rows = rows.toarray() if is_sparse(rows) else rows
        table = np.array(rows, dtype=np.float64)
        if fit.request.center:
            table -= summary.mean
            table -= summary.mean_low
        if self._scale is not None:
            table /= self._scale
        dropped = fit.request.dropped_columns(summary)
        return np.delete(table, dropped, axis=1) if dropped.size else table


def rule_needs_rows(n_components: int | float | str | Rule | None) -> bool:
    """Whether ``n_components`` is a rule, or contains one, that draws from the rows."""
    if isinstance(n_components, int | float | None):
        return False
    rule = rule_of(n_components)
    return any(one.needs == "rows" for one in getattr(rule, "rules", (rule,)))


def check_rows_for_rule(request: Request, fit: FitContext | None) -> None:
    """Refuse a rule that needs rows if they are not available, before any work.

    Raises
    ------
    NotAvailableError
    """
    n_components = request.n_components
    if isinstance(n_components, int | float | None):
        return
    rule = rule_of(n_components)
    if rule.needs != "rows":
        return
    why = "it draws from the rows, which were not kept" if fit is None else _why_no_rows(fit)
    if why:
        raise _unavailable(rule.name, why)


def _why_no_rows(fit: FitContext) -> str:
    """Why a rule cannot draw from the rows; empty if it can."""
    if fit.rows is None:
        return "it draws from the rows, but only a summary of them is available"
    if isinstance(fit.rows, Source):
        return "it draws from the rows, but they are read in blocks"
    if fit.weights is not None:
        return "it draws from the rows, but they have weights"
    return ""


def _ignore_progress(step: str, done: int, total: int) -> None:
    pass


def _undecided(name: str, reason: str, known: Known) -> DataError | NotAvailableError:
    if known.no_table and known.no_table in reason:
        return _unavailable(name, known.no_table)
    return DataError(
        f"n_components={name!r} {reason}",
        place={"parameter": "n_components"},
        hint="take another rule or a number: princomp.choose(X) shows what each rule says",
    )


def _unavailable(name: str, why: str) -> NotAvailableError:
    return NotAvailableError(
        f"n_components={name!r} does not apply: {why}",
        place={"parameter": "n_components"},
        hint="take a rule of the variances alone, such as 'parallel', 'gavish-donoho' or 'gcv'; "
        "or fit an array of some of the rows",
    )
