"""The route for wide rows that can be read only once: a sketch of their scatter."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Solution
from princomp.core.routes.krylov import wide_blocks
from princomp.errors import NotAvailableError, ParameterError
from princomp.rules import Rule, name_of
from princomp.solvers import TEST_DIRECTIONS, completed, solve_sketch, width_for
from princomp.summaries import Sketch, SketchOf


class SketchRoute:
    """The scatter times random directions."""

    summary, solver = "sketch", "nystrom"

    def applies(self, problem: Problem) -> str:
        """For streamed rows that cannot be read again, and a whole number of components."""
        p = problem.columns
        if problem.held or problem.repeatable or not problem.wants_few(p):
            return ""
        return f"rows seen once and p² = {p:,}² is too much: a sketch"

    def cost(self, problem: Problem) -> Cost:
        """Blocks of rows and the sketch."""
        p = problem.columns
        width = width_for(problem.most_wanted, p)
        return Cost(problem.reader + wide_blocks(problem) + p * width * (4 + 3 * 8))

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass, then solve the sketch by the Nyström approximation."""
        sketch = fit.summary
        if sketch is None:
            wanted = fit.problem.wanted
            if not isinstance(wanted, int):
                raise whole_number_needed(wanted)
            sketch = fit.summarise(SketchOf(width_for(wanted, fit.problem.columns)), "sketch")
        assert isinstance(sketch, Sketch)
        scale, ready, count = fit.analyse(sketch)
        k = count.exact
        if k is None:
            raise whole_number_needed(fit.request.n_components)
        most = sketch.width - TEST_DIRECTIONS
        if k > most:
            raise NotAvailableError(
                f"n_components={k} is too large: this sketch has at most {most} components",
                place={"parameter": "n_components"},
                hint=f"set n_components={k} before the first row is added",
            )
        spectrum = solve_sketch(ready, k)
        worst = 0.0
        if spectrum.residuals is not None:
            worst = float(spectrum.residuals.max(initial=0.0))
        why = f"estimated residual of the sketch: up to {worst:.0e} of the first variance"
        return Solution(completed(spectrum, k), k, sketch, scale, (why,))


def whole_number_needed(wanted: int | float | str | Rule | None) -> ParameterError:
    """Error for a sketch, whose width depends on the number of components."""
    return ParameterError(
        f"a sketch needs a whole number of components, got n_components={name_of(wanted)!r}",
        place={"parameter": "n_components"},
        hint="pass a whole number, such as n_components=20",
    )


SKETCH = SketchRoute()
