"""A rule for the number of components, applied to a fit in progress."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from princomp.core.request import constant_columns
from princomp.engines import drop_incomplete
from princomp.errors import DataError, NotAvailableError, counted, warn
from princomp.io import Source
from princomp.linalg import FloatArray, seed_of
from princomp.rules import Decision, Known, Rule, apply_rule
from princomp.solvers import Spectrum
from princomp.summaries import as_dense

if TYPE_CHECKING:
    from princomp.core.context import FitContext
    from princomp.core.routes.base import Summary

# Rules that draw from the rows use a sample of at most this many numbers, but at least this many
# rows.
MAX_SAMPLE_NUMBERS, MIN_SAMPLE_ROWS = 2**24, 200
# Variances of columns that were standardised before the fit, in float32 or to six digits, differ
# by less than this share; others differ by far more.
_EQUAL_SHARE = 1e-5


class AppliedRule:
    """A rule, and what a fit knows of its rows.

    Parameters
    ----------
    rule : Rule
    fit, summary, analysed, scale
        As for :class:`~princomp.core.context.ComponentCount`.

    Attributes
    ----------
    rule : Rule
    decision : Decision or None
        The last decision.
    """

    def __init__(
        self,
        rule: Rule,
        fit: FitContext,
        summary: Summary,
        analysed: Summary,
        scale: FloatArray | None,
    ) -> None:
        self.rule, self._fit, self._summary = rule, fit, summary
        self._analysed, self._scale = analysed, scale
        self._dropped = fit.request.dropped_columns(summary)
        self._seed = seed_of(fit.request.random_state)
        self.decision: Decision | None = None
        # What the last decision is based on, unless that is the rows: whether all variances are
        # known, and the variances as bytes.
        self._decided_by: tuple[bool, bytes] | None = None

    def count(self, spectrum: Spectrum, *, complete: bool) -> int | None:
        """Return the number of components, or None if more variances are needed to decide.

        Raises
        ------
        DataError, NotAvailableError
            If the rule does not apply; the message gives its reason.
        """
        # Apply the rule again only if what it depends on has changed.
        known = (complete, spectrum.variances.tobytes())
        decided_by = None if self.rule.needs == "rows" else known
        if self.decision is None or decided_by != self._decided_by:
            self.decision = self._apply(spectrum, complete)
            self._decided_by = decided_by
        return None if self.decision is None else self.decision.k

    def _apply(self, spectrum: Spectrum, complete: bool) -> Decision | None:
        rule, known = self.rule, self._known(spectrum, complete)
        decision = apply_rule(rule, known)
        if decision is None:
            return None
        if decision.k is not None:
            self._warn_of_constant_columns(known, decision)
            return decision
        if known.no_table and known.no_table in decision.reason:
            raise _unavailable(rule.name, known.no_table)
        raise DataError(
            f"n_components={rule.name!r} {decision.reason}",
            place={"parameter": "n_components"},
            hint="take another rule or a number: princomp.choose(X) shows what each rule says",
        )

    def _warn_of_constant_columns(self, known: Known, decision: Decision) -> None:
        """Warn if the rule keeps another number of components because of constant columns."""
        constant = constant_columns(self._summary)
        if not known.centred or self._dropped.size or not constant.size:
            return
        varying = known.columns - constant.size  # no rule applies if all columns are constant
        without = replace(
            known,
            columns=varying,
            variances=known.variances[:varying],
            column_variances=np.delete(known.column_variances, constant),
        )
        changes = []
        rules = getattr(self.rule, "rules", (self.rule,))
        for rule, found in zip(rules, getattr(self.rule, "answers", [decision]), strict=True):
            if found.k is None or rule.needs == "rows":  # other columns are other random draws
                continue
            other = apply_rule(rule, without)
            if other is not None and other.k not in (None, found.k):
                changes.append(f"{rule.name!r} keeps {found.k} components, {other.k} without")
        if changes:
            warn(
                f"{counted(constant.size, 'constant column')} counted: {'; '.join(changes)}. Set "
                f"constant='drop', or leave the columns out: {self._fit.names_of(constant)}"
            )

    def _known(self, spectrum: Spectrum, complete: bool) -> Known:
        fit, request, summary = self._fit, self._fit.request, self._summary
        why_not = _why_no_rows(fit)
        columns = summary.p - len(self._dropped)
        count = summary.count
        if fit.n is not None:
            # A covariance counts more rows, and may have full rank.
            beyond = spectrum.variances[fit.n - request.center :]
            if not (beyond > spectrum.resolution).any():
                count = min(count, fit.n)
        column_scatter = np.delete(np.asarray(self._analysed.column_scatter), self._dropped)
        column_variances = np.maximum(column_scatter / (summary.rows - 1.0), 0.0)
        # Columns that were standardised before the fit, and correlation matrices.
        largest_spread = _EQUAL_SHARE * column_variances.max()
        are_equal = columns > 1 and bool(np.ptp(column_variances) <= largest_spread)
        scaled = isinstance(request.scale, str) and request.scale == "unit"
        return Known(
            variances=spectrum.variances[:columns],
            total=spectrum.total,
            columns=columns,
            rows=None if fit.n is None else float(summary.rows),
            column_variances=column_variances,
            centred=request.center,
            standardised=request.center and (scaled or are_equal),
            resolution=spectrum.resolution,
            complete=complete,
            table=None if why_not else self._table,
            no_table=why_not,
            seed=self._seed,
            tell=(lambda step, done, total: None) if fit.run is None else fit.run.report_draws,
            sampled="" if why_not else self._sampled(),
            count=count,
        )

    def _sample_size(self) -> int:
        """Number of rows that a rule draws from."""
        n, p = self._fit.rows.shape
        return min(n, max(MIN_SAMPLE_ROWS, MAX_SAMPLE_NUMBERS // p))

    def _sampled(self) -> str:
        size, n = self._sample_size(), self._fit.rows.shape[0]
        return "" if size == n else f"on {size:,} of {n:,} rows, drawn at random"

    def _table(self) -> FloatArray:
        """The analysed rows in memory (n, p), or a sample of them."""
        fit, rows = self._fit, self._fit.rows
        if self._sampled():
            order = np.random.default_rng(self._seed).permutation(rows.shape[0])
            rows = rows[np.sort(order[: self._sample_size()])]
        if fit.request.drop:
            rows = drop_incomplete(rows, None)[0]
        table = np.array(as_dense(rows), dtype=np.float64)
        if fit.request.center:
            table -= self._summary.mean
            table -= self._summary.mean_low
        if self._scale is not None:
            table /= self._scale
        return np.delete(table, self._dropped, axis=1) if self._dropped.size else table


def draws_from_rows(rule: Rule) -> bool:
    """Whether a rule draws from the rows, or contains one that does."""
    return any(one.needs == "rows" for one in getattr(rule, "rules", (rule,)))


def counts_rows(rule: Rule) -> bool:
    """Whether a rule uses the number of rows, or contains one that does."""
    rules = getattr(rule, "rules", (rule,))
    return any(one.needs != "rows" and getattr(one, "counts_rows", True) for one in rules)


def check_rows_for_rule(rule: Rule, fit: FitContext | None) -> None:
    """Refuse a rule that needs rows if they are not available, before any work.

    ``fit`` is None for rows that were added in batches and not kept.

    Raises
    ------
    NotAvailableError
    """
    why = "it draws from the rows, which were not kept" if fit is None else _why_no_rows(fit)
    if rule.needs == "rows" and why:
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


def _unavailable(name: str, why: str) -> NotAvailableError:
    return NotAvailableError(
        f"n_components={name!r} does not apply: {why}",
        place={"parameter": "n_components"},
        hint="take a rule of the variances alone, such as 'parallel', 'gavish-donoho' or 'gcv'; "
        "or fit an array of some of the rows",
    )
