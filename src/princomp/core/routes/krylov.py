"""The route for wide rows that are read block by block: passes until residuals are small."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core.component_count import FIRST_GUESS, ComponentCount
from princomp.core.context import FitContext, safe_divisor
from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Solution
from princomp.core.routes.centred import drop_rows
from princomp.core.routes.moments import ENGINE_COLUMNS
from princomp.errors import MemoryLimitError
from princomp.linalg import FloatArray, in_words, one_blas_thread
from princomp.solvers import ImagesOf, block_width, completed, room_for, solve_blocks
from princomp.summaries import Sketch, SketchOf, safe_exponent, wide_block_rows

# Smaller products have lost digits to underflow.
_FLOAT32_LEAST, _FLOAT64_LEAST = 1e-31, 1e-292
# Number of components that memory is planned for if no number is given.
_PLANNED = 64


class KrylovRoute:
    """Block Lanczos whose products are passes over the rows; p × p is never formed."""

    summary, solver = "columns", "krylov"

    def applies(self, problem: Problem) -> str:
        """For streamed rows that can be read again, if a scatter is too large."""
        p = problem.columns
        whole = problem.wants_few(p) or isinstance(problem.wanted, float)
        if problem.held or not problem.repeatable or not whole:
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
        if problem.held:
            drop_rows(fit, weightless=False)
        width = block_width(_first_size(problem.wanted, problem.columns), problem.columns)
        sketch = fit.summarise(SketchOf(width), "krylov")
        p, columns = sketch.p, sketch.columns
        scale = fit.divisors(columns)
        ready = fit.prepare(sketch, scale)
        count = ComponentCount(fit, columns, ready, scale)
        problem = request.problem(fit.rows)
        # Sparse rows of either precision are multiplied in float64.
        single = problem.dtype == "float32" and problem.stored is None
        precision: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        exponent = safe_exponent(ready.column_scatter, precision)
        divisor = safe_divisor(scale, exponent, p)
        if exponent:
            ready = ready.scaled(np.full(p, 2.0**exponent))
        about = columns if request.center else columns.about_origin()
        limit = krylov_room(problem)

        def apply(vectors: FloatArray) -> FloatArray:
            image: FloatArray = fit.fold(ImagesOf(vectors, about, divisor), "krylov").summary.image
            return image

        size = count.most if count.needs_all else _first_size(count.exact, p)
        start = _start(sketch, ready.product, single)
        known = None
        if np.isfinite(ready.product).all():
            known = ready.directions_of(slice(None)), ready.product
        while True:
            with one_blas_thread():
                spectrum = solve_blocks(
                    apply,
                    ready.columns,
                    min(size, p),
                    start,
                    tol=request.tol,
                    unit=float(np.finfo(precision).eps),
                    room=room_for(size, p, limit),
                    known=known,
                )
            k = count(spectrum.times_power(2 * exponent), complete=size >= count.most)
            if k is not None:
                spectrum = completed(spectrum, k).times_power(2 * exponent)
                return Solution(spectrum, k, columns, scale, decision=count.decision)
            # The fraction was not reached: go on with what was found and as many new directions.
            size = min(count.most, 2 * size)
            _check_memory(problem, spectrum.k, size)
            start = np.random.default_rng(size).standard_normal((p, block_width(size, p)))
            start[:, : spectrum.k] = spectrum.axes.T


def _first_size(wanted: int | float | str | None, p: int) -> int:
    """Number of components with which a search begins."""
    return max(wanted, 1) if isinstance(wanted, int) else min(p, FIRST_GUESS)


def _start(sketch: Sketch, product: FloatArray, single: bool) -> FloatArray:
    """The first block: the scatter times random directions, or only these if it left the range."""
    largest = float(np.abs(sketch.product).max(initial=0.0))
    # Most of a product below the smallest safe size may have been lost to underflow.
    if np.isfinite(largest) and largest > (_FLOAT32_LEAST if single else _FLOAT64_LEAST):
        return product
    return sketch.directions_of(slice(None))


def _check_memory(problem: Problem, found: int, size: int) -> None:
    """Refuse a search for more components than the memory limit leaves room for."""
    needed = search_memory(problem._replace(wanted=size))
    if problem.limit is None or needed <= problem.limit:
        return
    raise MemoryLimitError(
        f"n_components={problem.wanted!r} is not reached by {found:,} components, and a search "
        f"for {size:,} needs {in_words(needed)}, more than the limit of {in_words(problem.limit)}",
        place={"parameter": "memory_limit", "limit": problem.limit, "needed": needed},
        hint=f"allow {in_words(1.05 * needed)} (memory_limit), or ask for a whole number "
        "of components",
    )


def search_memory(problem: Problem) -> int:
    """Bytes that a search by products with blocks of wide rows takes."""
    p, (planned, width, fixed) = problem.columns, _fixed(problem)
    space = room_for(planned, p, krylov_room(problem)) + width
    return fixed + p * (space + 2 * planned) * 8


def krylov_room(problem: Problem) -> int | None:
    """Number of vectors of a search space that fit in the memory limit; None without a limit."""
    if problem.limit is None:
        return None
    planned, width, fixed = _fixed(problem)
    return max((problem.limit - fixed) // (8 * problem.columns) - width - 2 * planned, 0)


def _fixed(problem: Problem) -> tuple[int, int, int]:
    """Planned number of components, vectors per block, and the bytes that any search takes."""
    p = problem.columns
    planned = problem.wanted if isinstance(problem.wanted, int) else _PLANNED
    width = block_width(planned, p)
    return planned, width, problem.reader + wide_blocks(problem) + 8 * p * width * 8


def wide_blocks(problem: Problem) -> int:
    """Bytes of the blocks of wide rows in memory: queued ones, and one that is centred."""
    rows = wide_block_rows(problem.columns)
    if problem.stored is None or not problem.rows:
        return 6 * rows * problem.columns * problem.itemsize
    return int(40 * rows * problem.stored / problem.rows)


KRYLOV = KrylovRoute()
