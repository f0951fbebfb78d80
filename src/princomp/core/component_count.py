"""How many components a fit keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from princomp.core.ask_rule import RuleQuestion
from princomp.core.request import check_wanted, most_components
from princomp.linalg import FloatArray
from princomp.rules import Decision, for_fraction
from princomp.solvers import Spectrum

if TYPE_CHECKING:
    from princomp.core.context import FitContext
    from princomp.core.routes.base import Summary

# Components that a truncated solver starts with when a fraction is wanted.
FIRST_GUESS = 16


class ComponentCount:
    """How many components to keep: a number, a fraction, or what a rule answers.

    Parameters
    ----------
    fit : FitContext
    summary : Moments, Triangle, Columns or Sketch
        Of the rows as they were given.
    ready : the same, centred and scaled
    scale : ndarray of shape (p,), optional

    Attributes
    ----------
    most : int
        Components that there are.
    exact : int or None
        The number, where one was asked for.
    share : float or None
        The fraction, where one was asked for.
    question : RuleQuestion or None
        The rule, where one was asked for.
    """

    def __init__(
        self, fit: FitContext, summary: Summary, ready: Summary, scale: FloatArray | None
    ) -> None:
        request, dropped = fit.request, len(fit.request.dropped_columns(summary))
        wanted = check_wanted(request.n_components, summary, request.solver, dropped)
        self.most = most_components(summary, dropped)
        self.exact = wanted if isinstance(wanted, int) else None
        self.share = wanted if isinstance(wanted, float) else None
        self.question: RuleQuestion | None = None
        if not isinstance(wanted, int | float):
            assert not isinstance(wanted, str)  # names are those of rules
            self.question = RuleQuestion(fit, wanted, summary, ready, scale)

    @property
    def needs_all(self) -> bool:
        """Whether the rule needs all variances."""
        return self.question is not None and self.question.rule.needs == "all"

    @property
    def decision(self) -> Decision | None:
        """The answer of the rule, where there is one."""
        return None if self.question is None else self.question.decision

    def __call__(self, spectrum: Spectrum, *, complete: bool = True) -> int | None:
        """The number, or None when more variances are needed to say.

        Raises
        ------
        DataError, NotAvailableError
            When the rule has no answer, with its reason.
        """
        if self.exact is not None:
            return self.exact
        if self.share is not None:
            return count_for_share(self.share, spectrum, self.most, complete=complete)
        assert self.question is not None
        return self.question.answer(spectrum, self.most, complete=complete)

    def of_all(self, spectrum: Spectrum) -> int:
        """The number, where all variances are known."""
        k = self(spectrum)
        assert k is not None
        return k


def count_for_share(
    share: float, spectrum: Spectrum, most: int, *, complete: bool = True
) -> int | None:
    """The number of components for a fraction, or None when more variances are needed."""
    k = for_fraction(spectrum.rates, share)
    if k is None:
        k = len(spectrum.variances) if complete else None
    return None if k is None else min(k, most)
