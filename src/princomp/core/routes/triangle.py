"""The route through the triangle of a QR factorisation, which squares nothing."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Solution, rows_in_flight
from princomp.core.routes.moments import is_tall
from princomp.solvers import completed, dense, solve_on_device
from princomp.summaries import DeviceTriangle, Triangle, panel_rows

# SMALL_TABLE_SIZE: a wide table with at most this many numbers is solved by the SVD of its rows. At
# 200 × 1,000 it takes 19 ms, and products of rows take 4.5 ms; but it squares nothing, and keeps a
# summary.
SMALL_TABLE_SIZE = 2**18


class TriangleRoute:
    """One pass of QR factorisations, and the SVD of the triangle."""

    summary, solver = "triangle", "svd"

    def applies(self, problem: Problem) -> str:
        """For small tables that are wider than long, in memory or on an engine."""
        known = problem.rows and (problem.in_memory or problem.engine)
        if not known or is_tall(problem) or problem.rows * problem.columns > SMALL_TABLE_SIZE:
            return ""
        return "p > n and small: the SVD of the rows is exact and quick"

    def cost(self, problem: Problem) -> Cost:
        """Panels of rows, and the triangles of threads."""
        n, p = problem.rows, problem.columns
        rows, threads, queued, waiting = rows_in_flight(problem, panel_rows(p))
        blocks = (3 * 8 * threads + queued * problem.itemsize) * rows * p
        return Cost(problem.reader_bytes + blocks + (waiting + 4) * min(2 * p, n or 2 * p) * p * 8)

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass, then take the SVD of the triangle."""
        triangle = fit.summarise(Triangle, "triangle")
        scale, analysed, count = fit.analyse(triangle)
        if isinstance(analysed, DeviceTriangle):
            spectrum = solve_on_device(analysed, count.of_complete, few=False, tol=fit.request.tol)
        else:
            spectrum = dense.solve_triangle(analysed, count.of_complete)
        k = count.of_complete(spectrum)
        return Solution(completed(spectrum, k), k, triangle, scale, decision=count.decision)


TRIANGLE = TriangleRoute()
