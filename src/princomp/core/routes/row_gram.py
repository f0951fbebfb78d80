"""The route of wide rows: their n × n products with each other."""

from __future__ import annotations

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Solution
from princomp.core.routes.centred import CentredFit, panels_in_flight
from princomp.core.routes.moments import MOMENTS, SEARCH_SHARE, is_tall
from princomp.core.routes.triangle import TRIANGLE
from princomp.linalg import default_threads, one_blas_thread
from princomp.solvers import row_gram

# GRAM_ROWS: the n × n products of 10,000 rows are 800 MB.
GRAM_ROWS = 10_000
# SPARSE_GRAM_ROWS: sparse rows up to this many have cheap products with each other.
SPARSE_GRAM_ROWS = 2_000
# SEARCH_ROWS: from so many rows on a search is quicker than their products where few components
# are wanted. At 1,000 × 20,000 it takes 4 and 6 products where directions stand out: 60 and
# 160 ms in float32 and float64, row products 150 and 340.
SEARCH_ROWS = 700


class RowGramRoute:
    """Eigenpairs of the products of the centred rows."""

    summary, solver = "columns", "row_gram"

    def applies(self, problem: Problem) -> str:
        """For wide rows that are few enough for products of each with each."""
        n, p = problem.rows, problem.columns
        if not problem.held:
            return ""
        if TRIANGLE.applies(problem):
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
        k = problem.most_wanted
        products = (default_threads() + 4) * n * n * 8
        return Cost(panels_in_flight(problem) + products + 4 * k * p * 8, None)

    def solve(self, fit: FitContext) -> Solution:
        """One pass for the means, one or two for the products and axes."""
        with one_blas_thread():
            centred = CentredFit(fit)
            spectrum, passes = row_gram.solve_rows(
                centred.rows, centred.columns, centred.count.exact
            )
            fit.passes += passes
            k = centred.components(spectrum)
            assert k is not None  # all variances that it asks for are known
            return centred.solution(spectrum, k)


def why_search_rows(problem: Problem) -> str:
    """Why a search is quicker than the products of wide dense rows, if it is."""
    n = problem.rows
    if n >= SEARCH_ROWS and problem.wants_few(SEARCH_SHARE * n):
        return f"few components: a search is faster than n² = {n:,}² products"
    if n > GRAM_ROWS and problem.wants_few(0.1 * n):
        return "many rows and columns: a search by products with the rows"
    return ""


ROW_GRAM = RowGramRoute()
