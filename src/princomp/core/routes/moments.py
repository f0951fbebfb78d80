"""Routes through a scatter: one pass over the rows, then eigenpairs of the scatter.

A decomposition computes all of them. A search computes a few, and is abandoned for the
decomposition if it would take longer.
"""

from __future__ import annotations

import numpy as np

from princomp.core.context import ComponentCount, FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Abandoned, Cost, Solution, rows_in_flight
from princomp.errors import DataError
from princomp.kernels import chunk_bytes, instruction_set_in_use, packed_bytes
from princomp.linalg import EPS, one_blas_thread
from princomp.solvers import (
    FEWEST_COLUMNS,
    Spectrum,
    completed,
    dense,
    search_scatter,
    search_share,
    solve_on_device,
)
from princomp.summaries import DeviceMoments, Moments, block_rows, panel_rows

# LANCZOS_COLUMNS, LANCZOS_SHARE: from this many columns on, and if at most this share of the
# components is wanted, the eigenpairs of a scatter are found by block Lanczos. For p = 2,000 and
# variances that fall as 1/i, it takes 0.08 of the time of eigh for k = 10 and 0.3 for k = 40; for
# the noise of 20,000 rows, 0.5. For p = 1,000 and k = 10, it takes 0.2 (float32) and 0.4 (float64)
# if a few directions dominate, and 0.35 and 0.6 for 1/i; for p = 700 and 1/i in float64 it is
# slower. It gives only k variances, where eigh gives all p, and is abandoned for eigh if variances
# decay slowly.
LANCZOS_COLUMNS, LANCZOS_SHARE = 1_000, 0.02
# SCATTER_COLUMNS: a 10,000² scatter takes 800 MB; for more columns, rows are multiplied instead.
SCATTER_COLUMNS = 10_000
# SPARSE_SCATTER: for sparse rows with at most this many columns, the scatter is faster than
# Lanczos. With 20,000 rows, 1% of the values stored and k = 10, it takes 0.28, 0.61 and 0.93 of
# the time for 300, 1,000 and 2,000 columns.
SPARSE_SCATTER = 2_000
# ENGINE_COLUMNS: the limit for a scatter in the tasks of an engine. A 4,000² scatter takes 128 MB;
# a Spark task holds four of them, and a process runs as many tasks as it has processors. For more
# columns, products with the rows are faster than a scatter in tiles if they converge: 7 passes
# over 20,000 × 6,000 with 20 strong directions take a quarter of its time, for k = 10.
ENGINE_COLUMNS = {"Spark": 4_000}
# SEARCH_COLUMNS, SEARCH_SHARE: from this many columns on, and if at most this share of the
# components is wanted, a search by products with the rows is faster than a scatter. On 20,000 ×
# 2,000 in float32 with k = 10, it takes 92 ms if a few directions dominate, 134 ms if variances
# fall as 1/i², and 208 ms if they fall as 1/i (495 ms for k = 40); the scatter takes 750 to 850
# ms. For a fraction that needs 86 components, products take 246 ms and the scatter 541 ms; in
# float64, 596 and 1,000 ms.
SEARCH_COLUMNS, SEARCH_SHARE = 1_500, 0.04
# A scatter is abandoned for a more exact route if a wanted variance is less than this many times
# its resolution: about one digit.
_RESOLUTION_MARGIN = 16.0


class MomentsRoute:
    """All eigenpairs of the scatter, or those that make up a fraction of its trace."""

    summary, solver = "moments", "eigh"

    def applies(self, problem: Problem) -> str:
        """For at least as many rows as columns; for sparse rows, only if columns are few."""
        if not problem.in_memory:
            few = few_of_many(problem)
            return "" if few else "one pass over the rows, block by block"
        p, n_components = problem.columns, problem.n_components
        if problem.stored is not None:
            if isinstance(n_components, str) and p <= min(problem.rows, SCATTER_COLUMNS):
                return f"the rule {n_components!r} may ask for all variances"
            if p <= SPARSE_SCATTER and problem.rows >= p:
                return "sparse with few columns: one pass, implicit centring"
            return ""
        if not is_tall(problem) or few_of_many(problem) or why_search(problem):
            return ""
        return "n ≥ p: one pass over the rows and a p × p scatter"

    def cost(self, problem: Problem) -> Cost:
        """Blocks of rows, the scatters of threads, and what the decomposition takes."""
        p = problem.columns
        rows, threads, queued, waiting = rows_in_flight(problem, block_rows(p))
        # Each thread holds a block and copies of a panel, or the kernel's chunk.
        thread_bytes = 2 * 8 * min(rows, panel_rows(p)) * p
        if instruction_set_in_use() != "numpy":
            thread_bytes = chunk_bytes(rows, p)
        blocks = threads * thread_bytes + queued * problem.itemsize * rows * p
        if Moments.adds_in_place(p, sparse=problem.stored is not None):
            # All threads work on one block while the next one is read.
            blocks = packed_bytes(rows, p) + min(queued, 2) * problem.itemsize * rows * p
            waiting = 1
        return Cost(problem.reader_bytes + blocks + (waiting + 4) * p * p * 8)

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Make one pass and decompose; hand over if a wanted variance is not resolved."""
        moments = fit.summarise(Moments, "moments")
        scale, analysed, count = fit.analyse(moments)
        spectrum, notes, solver = _decompose(analysed, count, fit)
        try:
            k = count.of_complete(spectrum)
        except DataError:
            # To a rule that does not apply, variances below the resolution may be zero.
            everything = Solution(spectrum, analysed.rank_limit, moments, scale, notes)
            outcome = self._if_exact_enough(fit, everything, analysed)
            if isinstance(outcome, Abandoned):
                return outcome
            raise
        solution = Solution(
            completed(spectrum, k), k, moments, scale, notes, count.decision, solver
        )
        return self._if_exact_enough(fit, solution, analysed)

    def _if_exact_enough(
        self, fit: FitContext, found: Solution, analysed: Moments
    ) -> Solution | Abandoned:
        """Return the solution, or hand over if products of rows do not resolve a wanted variance.

        Products in float32 are redone in float64, which resolves everything in float32 data. After
        products in float64, the triangle takes over, which squares nothing. The moments must be
        those ``analysed``: without centring, a constant column has a variance.
        """
        spectrum = found.spectrum
        keep_result = fit.request.solver != "auto" or fit.rows is None
        if keep_result or not unresolved(spectrum, found.k, analysed):
            return found
        in_float32 = analysed.unit > EPS
        cause = "float32 products" if in_float32 else "squaring"
        limit = spectrum.resolution / spectrum.largest
        why = f"a wanted variance is below what {cause} can resolve ({limit:.0e} of the first): "
        if not fit.problem.repeatable:
            return found._replace(notes=(*found.notes, f"{why}the rows cannot be read again"))
        if in_float32:
            successor, instead = (self.summary, self.solver), "products in float64"
        else:
            from princomp.core.routes.triangle import TRIANGLE  # which imports this module

            successor, instead = ("triangle", "svd"), "the triangle of a QR factorisation"
            if not TRIANGLE.cost(fit.problem).fits(fit.problem):
                note = f"{why}{instead} does not fit the memory limit"
                return found._replace(notes=(*found.notes, note))
        return Abandoned((*found.notes, f"{why}{instead} instead"), successor, precise=True)


class ScatterSearch(MomentsRoute):
    """A search for a few eigenpairs of a large scatter, abandoned if none of them dominate."""

    summary, solver = "moments", "lanczos"

    def applies(self, problem: Problem) -> str:
        """For few components of many columns."""
        if not few_of_many(problem):
            return ""
        if not problem.in_memory:
            return "one pass over the rows, block by block"
        if problem.stored is not None or not is_tall(problem) or why_search(problem):
            return ""
        return f"n ≥ p, one pass; k is far below p = {problem.columns:,}"

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Make one pass and search in the scatter."""
        request, moments = fit.request, fit.summarise(Moments, "moments")
        scale, analysed, count = fit.analyse(moments)
        k = count.exact
        assert k is not None
        spectrum: Spectrum | None
        if isinstance(analysed, DeviceMoments):
            spectrum = solve_on_device(analysed, k, few=True, tol=request.tol)
        else:
            auto = request.solver == "auto" and not request.tol
            with one_blas_thread():
                spectrum = search_scatter(analysed, k, tol=request.tol, patient=not auto)
        if spectrum is None:
            reason = "no small set of components dominates"
            why = f"{reason}: computing all {analysed.p:,} variances is faster"
            return Abandoned((why,), (MOMENTS.summary, MOMENTS.solver), moments)
        solution = Solution(completed(spectrum, k), k, moments, scale)
        return self._if_exact_enough(fit, solution, analysed)


def _decompose(
    analysed: Moments, count: ComponentCount, fit: FitContext
) -> tuple[Spectrum, tuple[str, ...], str | None]:
    """Compute all variances and the wanted axes; for a fraction, only the components it needs.

    The search for a fraction is used for many columns. Then a note for the plan and the name of
    the solver are returned as well.
    """

    def axis_count(spectrum: Spectrum) -> int:
        try:
            return count.of_complete(spectrum)
        except DataError:  # a rule does not apply: the caller finds out, and decides
            return 0

    wanted = axis_count if count.exact is None else count.exact
    if isinstance(analysed, DeviceMoments):
        return solve_on_device(analysed, wanted, few=False, tol=fit.request.tol), (), None
    share = count.share if fit.request.solver == "auto" else None
    if share is not None and analysed.p >= FEWEST_COLUMNS:
        with one_blas_thread():
            spectrum = search_share(analysed, share)
        if spectrum is not None:
            return spectrum, (share_found(spectrum.k, analysed.p),), "lanczos"
    return dense.solve_moments(analysed, wanted), (), None


def unresolved(spectrum: Spectrum, k: int, summary: Moments) -> bool:
    """Whether the last variance, or the mean of those left out, is near the resolution."""
    needed = _RESOLUTION_MARGIN * spectrum.resolution
    if needed == 0.0 or not k:
        return False
    if k < len(spectrum.variances) and spectrum.variances.item(k) > needed * (summary.p - k):
        return False  # the most frequent case
    # The zero variances of constant columns are exact: no route resolves them better.
    variances, limit = spectrum.variances, summary.rank_limit
    rank = min(limit, int(np.count_nonzero(summary.column_scatter)))
    last, noise = variances.item(min(k, rank) - 1), needed * (summary.p - k)
    return last <= needed or (k < rank and spectrum.left_out(k, limit) <= noise)


def is_tall(problem: Problem) -> bool:
    """Whether a scatter is smaller than the rows, or needed anyway."""
    n, p = problem.rows, problem.columns
    return n >= p or (problem.n_components == "mle" and p <= SCATTER_COLUMNS)


def why_search(problem: Problem) -> str:
    """Why products with tall dense rows are faster than their scatter; empty if they are not."""
    p = problem.columns
    if p < SEARCH_COLUMNS:
        return ""
    if problem.wants_at_most(p if p > SCATTER_COLUMNS else SEARCH_SHARE * p):
        return f"few components: a search is faster than p² = {p:,}² products"
    # The scatter that takes over from a search for a share must fit in memory.
    if shares_by_search(problem) and MOMENTS.cost(problem).fits(problem):
        return f"few components may reach the share: a search is faster than p² = {p:,}² products"
    return ""


def shares_by_search(problem: Problem) -> bool:
    """Whether a search by products with the rows is tried for the components of a fraction.

    If they turn out to be many, the search is abandoned for a scatter.
    """
    return (
        problem.solver == "auto"
        and problem.in_memory
        and problem.stored is None
        and isinstance(problem.n_components, float)
        and problem.rows >= problem.columns >= SEARCH_COLUMNS
    )


def few_of_many(problem: Problem) -> bool:
    """Whether so few components are wanted that a search in the scatter is tried."""
    p = problem.columns
    return p >= LANCZOS_COLUMNS and problem.wants_at_most(LANCZOS_SHARE * p)


def share_found(k: int, p: int) -> str:
    """Note for the plan on a fraction that a search found."""
    return f"{k} of {p:,} components reach the requested share"


MOMENTS, SCATTER_SEARCH = MomentsRoute(), ScatterSearch()
