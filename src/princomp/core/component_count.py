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

# Components that a truncated solver starts with if a fraction is wanted.
FIRST_GUESS = 16


class ComponentCount:
    """How many components to keep: a given number, or one by a fraction or a rule.

    Parameters
    ----------
    fit : FitContext
    summary : Moments, Triangle, Columns or Sketch
        Summary of the rows as given.
    ready : the same, centred and scaled
    scale : ndarray of shape (p,), optional

    Attributes
    ----------
    most : int
        Largest possible number of components.
    exact : int or None
        The number, if one was requested.
    share : float or None
        The fraction, if one was requested.
    question : RuleQuestion or None
        The rule, if one was requested.
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
            assert not isinstance(wanted, str)  # the name of a rule was replaced by the rule
            self.question = RuleQuestion(fit, wanted, summary, ready, scale)

    @property
    def needs_all(self) -> bool:
        """Whether the rule needs all variances."""
        return self.question is not None and self.question.rule.needs == "all"

    @property
    def decision(self) -> Decision | None:
        """The decision of the rule, if there is one."""
        return None if self.question is None else self.question.decision

    def __call__(self, spectrum: Spectrum, *, complete: bool = True) -> int | None:
        """Return the number, or None if more variances are needed to decide.

        Raises
        ------
        DataError, NotAvailableError
            If the rule does not apply; the message gives its reason.
        """
        if self.exact is not None:
            return self.exact
        if self.share is not None:
            return count_for_share(self.share, spectrum, self.most, complete=complete)
        assert self.question is not None
        return self.question.answer(spectrum, self.most, complete=complete)

    def of_all(self, spectrum: Spectrum) -> int:
        """Return the number for a spectrum with all variances."""
        k = self(spectrum)
        assert k is not None
        return k


def count_for_share(
    share: float, spectrum: Spectrum, most: int, *, complete: bool = True
) -> int | None:
    """Return the number of components for a fraction, or None if more variances are needed."""
    k = for_fraction(spectrum.rates, share)
    if k is None:
        k = len(spectrum.variances) if complete else None
    return None if k is None else min(k, most)
