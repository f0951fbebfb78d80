"""The route for wide rows that are read block by block: passes until residuals are small."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core.context import FitContext, in_safe_range
from princomp.core.problem import Problem
from princomp.core.routes.base import INITIAL_COMPONENTS, Cost, Solution, drop_rows
from princomp.core.routes.moments import ENGINE_COLUMNS
from princomp.errors import MemoryLimitError
from princomp.linalg import FloatArray, format_bytes, one_blas_thread, search_rng
from princomp.solvers import ImagesOf, block_width, completed, max_krylov_vectors, solve_blocks
from princomp.summaries import Sketch, SketchOf, wide_block_rows

# Smaller products have lost digits to underflow.
_FLOAT32_SAFE, _FLOAT64_SAFE = 1e-31, 1e-292
# Blocks of dense rows that are in memory at once, and bytes per stored number of sparse rows.
_BLOCKS_IN_MEMORY, _BYTES_PER_STORED_NUMBER = 6, 40
# Number of components that memory is planned for if no number is given.
_PLANNED_COMPONENTS = 64


class KrylovRoute:
    """Block Lanczos whose products are passes over the rows; p × p is never formed."""

    summary, solver = "columns", "krylov"

    def applies(self, problem: Problem) -> str:
        """For streamed rows that can be read again; routes with a scatter are tried before."""
        p = problem.columns
        number_or_share = problem.wants_at_most(p) or isinstance(problem.n_components, float)
        if problem.in_memory or not problem.repeatable or not number_or_share:
            return ""
        return self.reason(problem)

    def reason(self, problem: Problem) -> str:
        """The reason for this route in a plan."""
        p = problem.columns
        why = "block Krylov search: passes over the rows until the residual is small"
        if problem.stored is None and ENGINE_COLUMNS.get(problem.engine, p) < p:
            return f"p² = {p:,}² is too much for a task of {problem.engine}: {why}"
        return why

    def cost(self, problem: Problem) -> Cost:
        """Blocks of rows, their images, and the search space."""
        return Cost(search_memory(problem), None)

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass for the means and a first block, and one for each product."""
        request, problem = fit.request, fit.problem
        if problem.in_memory:
            drop_rows(fit, weightless=False)
        width = block_width(_initial_size(problem.n_components, problem.columns), problem.columns)
        sketch = fit.summarise(SketchOf(width), "krylov")
        p, columns = sketch.p, sketch.columns
        scale, analysed, count = fit.analyse(sketch)
        problem = request.problem(fit.rows)
        # Sparse rows of either precision are multiplied in float64.
        in_float32 = problem.dtype == "float32" and problem.stored is None
        precision: np.dtype[Any] = np.dtype(np.float32 if in_float32 else np.float64)
        exponent, analysed, divisor = in_safe_range(analysed, scale, precision)
        centring = columns if request.center else columns.about_origin()
        limit = vectors_within_limit(problem)

        def apply(vectors: FloatArray) -> FloatArray:
            return fit.fold(ImagesOf(vectors, centring, divisor), "krylov").summary.image

        size = count.max_components if count.needs_all else _initial_size(count.exact, p)
        directions, product = analysed.directions, analysed.product
        if exponent:
            # Both are larger by this power of two. Take it out, so that squares stay in range.
            directions, product = np.ldexp(directions, -exponent), np.ldexp(product, -exponent)
        start = _widened(_start_block(sketch, product, in_float32), min(size, p))
        known = (directions, product) if np.isfinite(product).all() else None
        while True:
            with one_blas_thread():
                spectrum = solve_blocks(
                    apply,
                    analysed.columns,
                    min(size, p),
                    start,
                    tol=request.tol,
                    unit=float(np.finfo(precision).eps),
                    max_vectors=max_krylov_vectors(size, p, limit),
                    known=known,
                )
            k = count(spectrum.times_power(2 * exponent), complete=size >= count.max_components)
            if k is not None:
                spectrum = completed(spectrum, k).times_power(2 * exponent)
                return Solution(spectrum, k, columns, scale, decision=count.decision)
            # The fraction was not reached: restart from these axes and about as many random ones.
            size = min(count.max_components, 2 * size)
            _check_memory(problem, spectrum.k, size)
            start = _widened(spectrum.axes.T, size)


def _initial_size(n_components: int | float | str | None, p: int) -> int:
    """Number of components with which a search begins."""
    return max(n_components, 1) if isinstance(n_components, int) else min(p, INITIAL_COMPONENTS)


def _start_block(sketch: Sketch, product: FloatArray, in_float32: bool) -> FloatArray:
    """The first block: the scatter times random directions.

    Only the directions, if this product overflowed or underflowed.
    """
    largest = float(np.abs(sketch.product).max())
    # Most of a product below the smallest safe size may have been lost to underflow.
    if np.isfinite(largest) and largest > (_FLOAT32_SAFE if in_float32 else _FLOAT64_SAFE):
        return product
    return sketch.directions


def _widened(start: FloatArray, size: int) -> FloatArray:
    """Add random vectors to a first block (p, m), for a search for ``size`` components.

    A narrower block would find fewer copies of a repeated variance than there may be.
    """
    p = len(start)
    width = block_width(size, p)
    if start.shape[1] >= width:
        return start
    block = search_rng(size).standard_normal((p, width))
    block[:, : start.shape[1]] = start
    return block


def _check_memory(problem: Problem, found: int, size: int) -> None:
    """Refuse a search for more components than the memory limit leaves room for."""
    needed = search_memory(problem._replace(n_components=size))
    if problem.memory_limit is None or needed <= problem.memory_limit:
        return
    raise MemoryLimitError(
        f"n_components={problem.n_components!r} is not reached by {found:,} components, and a "
        f"search for {size:,} needs {format_bytes(needed)}, more than the limit of "
        f"{format_bytes(problem.memory_limit)}",
        place={"parameter": "memory_limit", "limit": problem.memory_limit, "needed": needed},
        hint=f"allow {format_bytes(1.05 * needed)} (memory_limit), or ask for a whole number "
        "of components",
    )


def search_memory(problem: Problem) -> int:
    """Memory of the search, in bytes."""
    p, (planned, width, fixed) = problem.columns, _planned_memory(problem)
    space = max_krylov_vectors(planned, p, vectors_within_limit(problem)) + width
    return fixed + p * (space + 2 * planned) * 8


def vectors_within_limit(problem: Problem) -> int | None:
    """Number of vectors of a search space that fit in the memory limit; None without a limit."""
    if problem.memory_limit is None:
        return None
    planned, width, fixed = _planned_memory(problem)
    return max((problem.memory_limit - fixed) // (8 * problem.columns) - width - 2 * planned, 0)


def _planned_memory(problem: Problem) -> tuple[int, int, int]:
    """Planned number of components, vectors per block, and the bytes that any search takes."""
    p = problem.columns
    planned = problem.n_components if isinstance(problem.n_components, int) else _PLANNED_COMPONENTS
    width = block_width(planned, p)
    return planned, width, problem.reader_bytes + wide_blocks(problem) + 8 * p * width * 8


def wide_blocks(problem: Problem) -> int:
    """Bytes of the blocks of wide rows in memory: those queued for threads, and their copies."""
    if problem.stored is None or not problem.rows:
        rows = wide_block_rows(problem.columns, sparse=False)
        return _BLOCKS_IN_MEMORY * rows * problem.columns * problem.itemsize
    rows = wide_block_rows(problem.columns, sparse=True)
    return int(_BYTES_PER_STORED_NUMBER * min(rows / problem.rows, 1.0) * problem.stored)


KRYLOV = KrylovRoute()
