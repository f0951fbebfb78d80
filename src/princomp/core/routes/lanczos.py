"""The route for large tables: a search by products with rows, abandoned if others are faster."""

from __future__ import annotations

import numpy as np

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import (
    INITIAL_COMPONENTS,
    Abandoned,
    CentredFit,
    Cost,
    Route,
    Solution,
    panels_in_flight,
)
from princomp.core.routes.moments import (
    MOMENTS,
    SCATTER_COLUMNS,
    SCATTER_SEARCH,
    few_of_many,
    is_tall,
    share_found,
    shares_by_search,
    why_search,
)
from princomp.core.routes.row_gram import GRAM_ROWS, ROW_GRAM, SPARSE_GRAM_ROWS, why_search_rows
from princomp.core.routes.triangle import TRIANGLE
from princomp.linalg import one_blas_thread, search_rng
from princomp.solvers import (
    FEWEST_UNITS,
    AbandonRule,
    Spectrum,
    find_warm_start,
    max_search_vectors,
    max_share_vectors,
    sample_step,
    search_block_width,
    search_rows,
    search_rows_share,
    too_many_components,
)

# The unit of these constants is a product of all rows with a block of 16 vectors, or two products
# with blocks of 8.
# ROW_PRODUCTS_SHARE, ROW_SPECTRUM_SHARE: the n × n products of the rows take as long as
# ROW_PRODUCTS_SHARE · n products with blocks, and their spectrum as long as ROW_SPECTRUM_SHARE ·
# n³/p. Measured with 16 vectors in float32 and 8 in float64: 14 and 17 products in all at 1,000 ×
# 20,000, 51 and 71 at 2,000 × 3,000, 135 and 174 at 3,000 × 4,000.
ROW_PRODUCTS_SHARE, ROW_SPECTRUM_SHARE = 1 / 100, 1 / 60_000
# SCATTER_SHARE: the scatter of p columns and all its variances take as long as SCATTER_SHARE · p
# products with blocks. Measured: 65 with 16 vectors at 20,000 × 2,000 in float32, more at 4,000².
# A search that is expected to take longer is abandoned.
SCATTER_SHARE = 1 / 30
# SCATTER_SUM, SCATTER_PRODUCT: summing the scatter takes as long as SCATTER_SUM · p products with
# blocks plus those made before the search is abandoned. In a search in the scatter, each product
# then takes SCATTER_PRODUCT · p/n of the time. At 20,000 × 2,000 the sum takes 24 products with 16
# vectors in float32 and 38 with 8 in float64. There, a search in pure noise that is abandoned
# after 4 products, after 9 or never takes 1.8, 2.3 and 1.8 s in float32, and 2.7, 2.8 and 3.7 s in
# float64.
SCATTER_SUM, SCATTER_PRODUCT = 1 / 120, 1.5


class LanczosRoute:
    """Block Lanczos by products with rows in memory."""

    summary, solver = "columns", "lanczos"

    def applies(self, problem: Problem) -> str:
        """For few components of large tables, and if nothing else fits in memory."""
        n, p = problem.rows, problem.columns
        if not problem.in_memory:
            return ""
        if MOMENTS.applies(problem) or SCATTER_SEARCH.applies(problem):
            if problem.wants_at_most(p):
                return f"p² = {p:,}² does not fit the memory limit: only products with the rows"
            return ""
        if problem.stored is not None:
            few = n <= SPARSE_GRAM_ROWS
            return "" if few else "sparse: only products with the rows, nothing made dense"
        if is_tall(problem):
            return why_search(problem)
        return "" if TRIANGLE.applies(problem) else why_search_rows(problem)

    def cost(self, problem: Problem) -> Cost:
        """Panels of rows, the search space, the operator projected on it, and axes."""
        n, p = problem.rows, problem.columns
        k = problem.max_components
        side = p if p <= n or problem.stored is None else n
        if shares_by_search(problem):
            k = space = max_share_vectors(p)
        else:
            space = max_search_vectors(side, k)
        room = min(space + 4 * search_block_width(k), side)
        # The projected operator is copied and decomposed.
        space_bytes = (side + 3 * room) * room * 8
        return Cost(panels_in_flight(problem) + space_bytes + 3 * k * (n + p) * 8, None)

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Make one pass for the means, and one or two for each product."""
        request = fit.request
        with one_blas_thread():
            centred = CentredFit(fit)
            problem, tol = request.problem(fit.rows), request.tol
            if request.solver == "auto" and not tol:
                # The smallest residual that the precision of the given rows allows.
                tol = FEWEST_UNITS * float(np.finfo(fit.rows.dtype).eps)
            if shares_by_search(problem):
                return _search_share(fit, centred, tol)
            return _search_number(fit, problem, centred, tol)


def _successor(
    problem: Problem, centred: CentredFit
) -> tuple[AbandonRule, Abandoned] | tuple[None, None]:
    """Return the rule that abandons a search, and what then takes over; None if nothing does."""
    if problem.solver != "auto" or problem.stored is not None:
        return None, None
    n, p, exact = problem.rows, problem.columns, centred.count.exact
    blocks = search_block_width(
        INITIAL_COMPONENTS if exact is None else exact, centred.rows.lowest_dtype
    ) / search_block_width(1)
    route: Route
    if n < p:
        route, possible = ROW_GRAM, n <= GRAM_ROWS
        max_products = ROW_PRODUCTS_SHARE * n / blocks + ROW_SPECTRUM_SHARE * n**3 / p
        alternative = f"{n:,}² products of rows"
    else:
        route = SCATTER_SEARCH if few_of_many(problem) else MOMENTS
        possible = p <= SCATTER_COLUMNS
        max_products = SCATTER_SHARE * p / blocks
        alternative = f"{p:,}² products of columns"
        saved = 1.0 - SCATTER_PRODUCT * p / n
        if route is SCATTER_SEARCH and saved > 0.0:
            # The search continues in the scatter, where each product saves this share of its time.
            max_products = min(max_products, SCATTER_SUM * p / blocks / saved)
    if not possible or not route.cost(problem).fits(problem):
        return None, None
    why = f"no small set of components dominates: {alternative} are faster"
    summary = centred.summary if route is ROW_GRAM else None
    abandoned = Abandoned((why,), (route.summary, route.solver), summary)
    return AbandonRule(max_products), abandoned


def _search_number(
    fit: FitContext, problem: Problem, centred: CentredFit, tol: float
) -> Solution | Abandoned:
    """Search for a number of components; for many rows, start from a search in a sample."""
    rows, exact, start = centred.rows, centred.count.exact, None
    abandon_rule, abandoned = _successor(problem, centred)
    stride = sample_step(*rows.shape)
    if abandon_rule is not None and exact and stride is not None:
        products_left, start = find_warm_start(
            centred.sample(stride), exact, tol=tol, rng=search_rng()
        )
        if abandoned is not None and abandon_rule.should_skip(products_left):
            return abandoned

    def solve_truncated(size: int) -> Spectrum | None:
        rng = search_rng()
        spectrum, passes = search_rows(
            rows, centred.columns, size, tol=tol, rng=rng, abandon=abandon_rule, start=start
        )
        fit.passes += passes
        return spectrum

    return centred.solve_growing(solve_truncated, abandoned)


def _search_share(fit: FitContext, centred: CentredFit, tol: float) -> Solution | Abandoned:
    """Search for the components of a fraction, unless a sample or the search finds too many."""
    rows, columns, share = centred.rows, centred.columns, centred.count.share
    assert share is not None
    p, stride = columns.p, sample_step(*rows.shape)
    successor = (MOMENTS.summary, MOMENTS.solver)
    if stride is not None:
        sample = centred.sample(stride)
        trace = float(columns.column_scatter.sum()) * sample.shape[0] / rows.shape[0]
        if too_many_components(sample, trace, share, tol=tol):
            why = f"the share needs many components: {p:,}² products of columns are faster"
            return Abandoned((why,), successor)
    spectrum, passes = search_rows_share(rows, columns, share, tol=tol)
    fit.passes += passes
    k = None if spectrum is None else centred.components(spectrum, complete=False)
    if spectrum is None or k is None:
        why = f"the search for the share was stopped: {p:,}² products of columns are faster"
        return Abandoned((why,), successor)
    return centred.solution(spectrum, k, (share_found(spectrum.k, p),))


LANCZOS = LanczosRoute()
