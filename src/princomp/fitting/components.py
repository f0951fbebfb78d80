"""How many components a fit keeps, once its variances are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing import (
    RULES,
    Decision,
    Known,
    check_wanted,
    decided,
    is_rule,
    most_components,
    resolve,
)
from princomp.engines.local import complete as without_holes
from princomp.errors import DataError, NotAvailableError
from princomp.fitting.job import Job
from princomp.parameters import Request
from princomp.seeds import seed_of
from princomp.sources.source import Source
from princomp.spectrum import Spectrum
from princomp.summaries.blocks import is_sparse

__all__ = ["Count", "check_rows_for_rule", "draws_rows"]

# A rule that draws rows again and again takes so many numbers of them at most.
_MOST_NUMBERS, _FEWEST_ROWS = 2**24, 200


class Count:
    """Counts components: a number, a fraction, or a rule that is asked once.

    Parameters
    ----------
    job : Job
    summary : Moments, Triangle, Columns or Sketch
        Of the rows as they were given.
    ready : the same as it is solved
        Centred and scaled.
    scale : ndarray of shape (p,), optional
    """

    def __init__(self, job: Job, summary: Any, ready: Any, scale: FloatArray | None) -> None:
        request = job.request
        self.wanted: Any = check_wanted(request.n_components, summary, request.solver)
        self.most = most_components(summary)
        self.decision: Decision | None = None
        self.whole: int | None = self.wanted if isinstance(self.wanted, int) else None
        self.by_rule = is_rule(self.wanted)
        self._job, self._summary, self._ready, self._scale = job, summary, ready, scale
        self._asked: bytes | None = None
        self._seed: int | None = None

    @property
    def needs_all(self) -> bool:
        """Whether nothing can be told before all variances are known."""
        return self.by_rule and self.wanted.needs == "all"

    def __call__(self, spectrum: Spectrum, *, complete: bool = True) -> int | None:
        """The number, or None when more variances are needed to tell.

        Raises
        ------
        DataError, NotAvailableError
            When the rule has no answer, with its reason.
        """
        if not self.by_rule:
            return resolve(self.wanted, spectrum, self.most, complete=complete)
        key = b"rows" if self.wanted.needs == "rows" else spectrum.variances.tobytes()
        if self.decision is None or key != self._asked:
            self.decision = self._ask(spectrum, complete)
            self._asked = key
        if self.decision is None:
            return None
        k = self.decision.k
        assert k is not None
        return None if not complete and k > spectrum.k else min(int(k), self.most)

    def _ask(self, spectrum: Spectrum, complete: bool) -> Decision | None:
        rule, known = self.wanted, self._known(spectrum, complete)
        decision = decided(rule, known)
        if decision is None:
            if complete:
                raise _no_answer(rule.name, "asks for more variances than there are", known)
            return None
        if decision.k is None:
            raise _no_answer(rule.name, decision.reason, known)
        return decision

    def _known(self, spectrum: Spectrum, complete: bool) -> Known:
        job, request = self._job, self._job.request
        if self._seed is None:
            self._seed = seed_of(request.random_state)
        why = no_rows(job)
        return Known(
            variances=spectrum.variances,
            total=spectrum.total,
            columns=self._summary.p,
            rows=float(self._summary.rows) if job.count_known else None,
            column_variances=np.maximum(
                np.asarray(self._ready.column_scatter) / (self._summary.rows - 1.0), 0.0
            ),
            centred=request.center,
            standardised=request.center
            and isinstance(request.scale, str)
            and request.scale == "unit",
            resolution=spectrum.resolution,
            complete=complete,
            table=None if why else self._table,
            no_table=why,
            seed=self._seed,
            tell=_say_nothing if job.passes is None else job.passes.drawn,
            sampled="" if why else self._sampled(),
        )

    def _sample(self) -> int | None:
        """Rows that a rule draws from, where not all of them."""
        n, p = self._job.data.shape
        return None if n * p <= _MOST_NUMBERS else min(n, max(_FEWEST_ROWS, _MOST_NUMBERS // p))

    def _sampled(self) -> str:
        count, n = self._sample(), self._job.data.shape[0]
        return "" if count in (None, n) else f"on {count:,} of {n:,} rows, drawn at random"

    def _table(self) -> FloatArray:
        """The analysed rows in memory (n, p), or a sample of them."""
        job, summary = self._job, self._summary
        rows, count = job.data, self._sample()
        if count not in (None, rows.shape[0]):
            chosen = np.random.default_rng(self._seed).permutation(rows.shape[0])[:count]
            rows = rows[np.sort(chosen)]
        if job.request.drop:
            rows = without_holes(rows, None)[0]
        rows = rows.toarray() if is_sparse(rows) else rows
        table = np.array(rows, dtype=np.float64)
        if job.request.center:
            table -= summary.mean
            table -= summary.mean_low
        if self._scale is not None:
            table /= self._scale
        return table


def _say_nothing(step: str, done: int, total: int) -> None:
    pass


def no_rows(job: Job) -> str:
    """Why a rule cannot draw from the rows; empty where it can."""
    if job.data is None:
        return "it draws from the rows, and only a summary of them is there"
    if isinstance(job.data, Source):
        return "it draws from the rows, and they are read block by block"
    if job.weights is not None:
        return "it draws from the rows, and they have weights"
    return ""


def draws_rows(wanted: Any) -> bool:
    """Whether ``n_components`` is a rule that draws from the rows, or can do so."""
    if isinstance(wanted, int | float | None):
        return False
    rule: Any = RULES[wanted]() if isinstance(wanted, str) else wanted
    return any(one.needs == "rows" for one in getattr(rule, "rules", (rule,)))


def check_rows_for_rule(request: Request, job: Job | None) -> None:
    """Refuse a rule that needs rows where there are none, before any work.

    Raises
    ------
    NotAvailableError
    """
    wanted: Any = request.n_components
    if isinstance(wanted, str):
        wanted = RULES[wanted]()
    if wanted.needs != "rows":
        return
    why = "it draws from the rows, and they are not kept" if job is None else no_rows(job)
    if why:
        raise _unavailable(wanted.name, why)


def _no_answer(name: str, reason: str, known: Known) -> DataError | NotAvailableError:
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
