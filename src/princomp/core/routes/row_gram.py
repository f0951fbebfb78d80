"""The route for wide rows: their n × n products with each other (the Gram matrix)."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import CentredFit, Cost, Solution, panels_in_flight
from princomp.core.routes.moments import MOMENTS, SEARCH_SHARE, is_tall
from princomp.linalg import default_threads, one_blas_thread
from princomp.solvers import row_gram

# GRAM_ROWS: the n × n products of 10,000 rows take 800 MB.
GRAM_ROWS = 10_000
# SPARSE_GRAM_ROWS: up to this many rows, the products of sparse rows are cheap.
SPARSE_GRAM_ROWS = 2_000
# SEARCH_ROWS: from this many rows on, a search for few components is faster than the products of
# the rows. At 1,000 × 20,000 with a few dominant directions, it takes 4 products with the rows in
# float32 and 6 in float64, or 60 and 160 ms; the products of the rows take 150 and 340 ms.
SEARCH_ROWS = 700


class RowGramRoute:
    """Eigenpairs of the products of the centred rows."""

    summary, solver = "columns", "row_gram"

    def applies(self, problem: Problem) -> str:
        """For wide rows that are few enough to be multiplied with each other."""
        n, p = problem.rows, problem.columns
        if not problem.in_memory:
            return ""
        if problem.stored is not None:
            if n > SPARSE_GRAM_ROWS or MOMENTS.applies(problem):
                return ""
            return f"sparse and wide: {n:,}² products of rows"
        if is_tall(problem) or why_search_rows(problem):
            return ""
        return f"p > n: {n:,}² products of rows instead of {p:,}²"

    def cost(self, problem: Problem) -> Cost:
        """Panels of rows, the products of threads, and axes."""
        n, p = problem.rows, problem.columns
        k = problem.max_components
        products = (default_threads() + 4) * n * n * 8
        return Cost(panels_in_flight(problem) + products + 6 * k * p * 8, None)

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass for the means, and one or two for the products and axes."""
        with one_blas_thread():
            centred = CentredFit(fit)
            spectrum, passes = row_gram.solve_rows(
                centred.rows, centred.columns, centred.count.exact
            )
            fit.passes += passes
            k = centred.components(spectrum)
            assert k is not None  # all variances are known
            return centred.solution(spectrum, k)


def why_search_rows(problem: Problem) -> str:
    """Why a search is faster than the products of wide dense rows; empty if it is not."""
    n = problem.rows
    if n >= SEARCH_ROWS and problem.wants_at_most(SEARCH_SHARE * n):
        return f"few components: a search is faster than n² = {n:,}² products"
    if n > GRAM_ROWS and problem.wants_at_most(0.1 * n):
        return "many rows and columns: a search by products with the rows"
    return ""


ROW_GRAM = RowGramRoute()
