"""A placeholder route for components that another library computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Solution
from princomp.errors import NotAvailableError

if TYPE_CHECKING:
    from princomp.core.context import FitContext

__all__ = ["GIVEN"]


class GivenRoute:
    """Components of another library; never chosen for a fit."""

    summary, solver = "columns", "given"

    def applies(self, problem: Problem) -> str:
        """Never."""
        return ""

    def cost(self, problem: Problem) -> Cost:
        """Nothing: no row is read."""
        return Cost(0, 0)

    def solve(self, fit: FitContext) -> Solution:
        """Refuse, since there is nothing to solve."""
        raise NotAvailableError(
            "given components cannot be fitted to rows", hint="use another svd_solver"
        )


GIVEN = GivenRoute()
