"""The route for wide rows that can be read only once: a sketch of their scatter."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.request import Request
from princomp.core.routes.base import Cost, Solution
from princomp.core.routes.krylov import wide_blocks
from princomp.errors import NotAvailableError, ParameterError, warn
from princomp.rules import Rule, name_of
from princomp.solvers import SKETCH_PANEL, TEST_DIRECTIONS, completed, sketch_width, solve_sketch
from princomp.summaries import Sketch, SketchOf


class SketchRoute:
    """The scatter times random directions."""

    summary, solver = "sketch", "nystrom"

    def applies(self, problem: Problem) -> str:
        """For streamed rows that cannot be read again, and a whole number of components."""
        p = problem.columns
        if problem.in_memory or problem.repeatable or not problem.wants_at_most(p):
            return ""
        return f"rows seen once and p² = {p:,}² is too much: a sketch"

    def cost(self, problem: Problem) -> Cost:
        """Blocks of rows, the sketch with its copies and factor, and panels of it."""
        p = problem.columns
        width = sketch_width(problem.max_components, p)
        sketch = (p * (4 + 4 * 8) + min(p, SKETCH_PANEL) * 5 * 8) * width
        return Cost(problem.reader_bytes + wide_blocks(problem) + sketch)

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass, then solve the sketch by the Nyström approximation."""
        sketch = fit.summary
        if sketch is None:
            n_components = fit.problem.n_components
            if not isinstance(n_components, int):
                raise whole_number_needed("a sketch", n_components)
            warn_of_sketch(fit.request, fit.problem.columns)
            sketch = fit.summarise(
                SketchOf(sketch_width(n_components, fit.problem.columns)), "sketch"
            )
        assert isinstance(sketch, Sketch)
        scale, analysed, count = fit.analyse(sketch)
        k = count.exact
        if k is None:
            raise whole_number_needed("a sketch", fit.request.n_components)
        max_k = sketch.width - TEST_DIRECTIONS
        if k > max_k:
            raise NotAvailableError(
                f"n_components={k} is too large: this sketch has at most {max_k} components",
                place={"parameter": "n_components"},
                hint=f"set n_components={k} before the first row is added",
            )
        spectrum = solve_sketch(analysed, k)
        assert spectrum.residuals is not None
        largest = float(spectrum.residuals.max(initial=0.0))
        why = f"estimated residual of the sketch: up to {largest:.0e} of the first variance"
        return Solution(completed(spectrum, k), k, sketch, scale, (why,))


def warn_of_sketch(request: Request, p: int) -> None:
    """Warn that rows are added to a sketch, unless one was requested."""
    if request.solver == "auto":
        warn(
            f"a scatter of {p:,} columns is too large, so rows that come in batches are added to a "
            "sketch: components are approximate, and certificate_.residuals estimates their error; "
            f"{exact_stream_advice(request)}; so is PCA.fit of a file, or of a function that makes "
            "a new iterator"
        )


def exact_stream_advice(request: Request) -> str:
    """Advice for rows in batches that have too many columns for a scatter."""
    parameters = f"{name_of(request.n_components)!r}, svd_solver='full'"
    return (
        f"PCA({parameters}).partial_fit is exact, and keeps the rows as long as there are fewer "
        "than twice as many as columns"
    )


def whole_number_needed(
    what: str, n_components: int | float | str | Rule | None, alternative: str = ""
) -> ParameterError:
    """Error for a sketch or a search, whose size depends on the number of components."""
    return ParameterError(
        f"{what} needs a whole number of components, got n_components={name_of(n_components)!r}",
        place={"parameter": "n_components"},
        hint=f"pass a whole number, such as n_components=20{alternative}",
    )


SKETCH = SketchRoute()
