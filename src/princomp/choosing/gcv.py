"""Generalised cross-validation, from the variances alone (Josse & Husson 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing.decision import Decision, Known
from princomp.choosing.rule import best_of

__all__ = ["GCV", "gcv_errors"]


@dataclass(frozen=True)
class GCV:
    """The least generalised cross-validation error.

    The mean square of what q components leave, divided by the square of the share of degrees
    of freedom that they leave.
    """

    name: ClassVar[str] = "gcv"
    needs: ClassVar[str] = "all"

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        if known.most < 2:
            return Decision.none(self.name, "it compares at least two components")
        errors = gcv_errors(known)
        return best_of(errors, float(errors[0]), self.name, "GCV error", "the GCV error")


def gcv_errors(known: Known) -> FloatArray:
    """mean[(n p (X − X̂_q) / ((N − q)(p − q)))²] for q = 0, 1, …, with N = n − 1 if centred."""
    n, p, free = known.rows, known.columns, known.freedom
    assert n is not None
    values = np.where(known.possible > known.resolution, known.possible, 0.0)
    # Of variances that lie above the resolution, summed from the smallest on.
    left = np.append(np.cumsum(values[::-1])[::-1], 0.0)[: known.most] * known.divisor
    q = np.arange(known.most)
    return n * p * left / ((free - q) * (p - q)) ** 2
