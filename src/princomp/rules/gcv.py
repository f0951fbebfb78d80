"""Generalised cross-validation, from the variances alone (Josse & Husson 2012)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import FloatArray
from princomp.rules.decision import Decision, Known, minimum_decision


@dataclass(frozen=True)
class GCV:
    """Minimise the generalised cross-validation error.

    It is the mean squared residual of q components, divided by the square of the share of the
    degrees of freedom that q components leave. Exact dependencies of columns or rows reduce the
    degrees of freedom, unless they leave fewer than half of the dimensions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.GCV(), scale="unit").fit(load_wine().data).decision_)
    gcv: the GCV error is smallest with 7 components: 0.5457
    """

    name = "gcv"
    needs = "all"

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        most = min(known.columns, known.whole_freedom)
        if most < 2:
            return Decision.none(self.name, "at least two components are needed")
        dimensions, description = known.dimensions, "the GCV error"
        if dimensions < most:
            description = f"the GCV error in the {dimensions} dimensions that vary"
        return minimum_decision(_gcv_errors(known), self.name, "GCV error", description)


def _gcv_errors(known: Known) -> FloatArray:
    """mean[(n p (X − X̂_q) / ((N − q)(p − q)))²] for q = 0, 1, …, with N = n − 1 if centred.

    If fewer dimensions than the smaller of N and p vary, their number takes its place.
    """
    n, p, degrees_of_freedom = known.rows, known.columns, known.freedom
    assert n is not None
    free_columns, dimensions = p, known.dimensions
    if dimensions < min(p, known.whole_freedom):
        if p <= degrees_of_freedom:
            free_columns = dimensions
        else:
            degrees_of_freedom = dimensions
    values = np.where(known.possible > known.resolution, known.possible, 0.0)
    # Sums of the variances above the resolution, from the smallest on.
    q = np.arange(dimensions)
    residual_sums = np.cumsum(values[::-1])[::-1][q] * known.divisor
    left = degrees_of_freedom - q
    # Divided one by one, since squares might overflow.
    return (n / left) * (residual_sums / left) * (p / (free_columns - q) ** 2)
