"""How many components a fit keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from princomp.core.request import check_n_components, max_components
from princomp.core.rule_application import RuleApplication
from princomp.linalg import FloatArray
from princomp.rules import Decision, for_fraction
from princomp.solvers import Spectrum

if TYPE_CHECKING:
    from princomp.core.context import FitContext
    from princomp.core.routes.base import Summary

# Components that a truncated solver starts with if a fraction is wanted.
INITIAL_COMPONENTS = 16


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
    rule_application : RuleApplication or None
        The rule, if one was requested.
    """

    def __init__(
        self, fit: FitContext, summary: Summary, analysed: Summary, scale: FloatArray | None
    ) -> None:
        request, dropped = fit.request, len(fit.request.dropped_columns(summary))
        n_components = check_n_components(request.n_components, summary, request.solver, dropped)
        self.max_components = max_components(summary, dropped)
        self.exact = n_components if isinstance(n_components, int) else None
        self.share = n_components if isinstance(n_components, float) else None
        self.rule_application: RuleApplication | None = None
        if not isinstance(n_components, int | float):
            assert not isinstance(n_components, str)  # the name of a rule was replaced by the rule
            self.rule_application = RuleApplication(fit, n_components, summary, analysed, scale)

    @property
    def needs_all(self) -> bool:
        """Whether the rule needs all variances."""
        return self.rule_application is not None and self.rule_application.rule.needs == "all"

    @property
    def decision(self) -> Decision | None:
        """The decision of the rule, if there is one."""
        return None if self.rule_application is None else self.rule_application.decision

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
            return count_for_share(self.share, spectrum, self.max_components, complete=complete)
        assert self.rule_application is not None
        return self.rule_application.count(spectrum, self.max_components, complete=complete)

    def of_complete(self, spectrum: Spectrum) -> int:
        """Return the number for a spectrum with all variances."""
        k = self(spectrum)
        assert k is not None
        return k


def count_for_share(
    share: float, spectrum: Spectrum, max_components: int, *, complete: bool = True
) -> int | None:
    """Return the number of components for a fraction, or None if more variances are needed."""
    k = for_fraction(spectrum.rates, share)
    if k is None:
        k = len(spectrum.variances) if complete else None
    return None if k is None else min(k, max_components)
