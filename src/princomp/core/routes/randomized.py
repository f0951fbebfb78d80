"""The route of scikit-learn's randomized solver, taken only on request."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Abandoned, CentredFit, Cost, Route, Solution, panels_in_flight
from princomp.linalg import one_blas_thread
from princomp.solvers import Spectrum, randomized


class RandomizedRoute(Route):
    """Products of the rows with random directions; only on request."""

    summary, solver = "columns", "randomized"

    def cost(self, problem: Problem) -> Cost:
        """Panels of rows; a sketch, its factors, and products and axes in float64."""
        n, p = problem.rows, problem.columns
        k = problem.max_components
        sketch = 7 * (k + 10) * max(n, p) * 8
        return Cost(panels_in_flight(problem) + sketch, None)

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Make one pass for the means, and those of the power iterations."""
        request = fit.request
        with one_blas_thread():
            centred = CentredFit(fit)

            def solve_truncated(size: int) -> Spectrum:
                spectrum, passes = randomized.solve_rows(
                    centred.rows,
                    centred.columns,
                    size,
                    n_oversamples=request.n_oversamples,
                    iterated_power=request.iterated_power,
                    power_iteration_normalizer=request.power_iteration_normalizer,
                    random_state=request.random_state,
                )
                fit.passes += passes
                return spectrum

            return centred.solve_growing(solve_truncated)


RANDOMIZED = RandomizedRoute()
