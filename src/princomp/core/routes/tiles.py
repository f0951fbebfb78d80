"""The route through a scatter in tiles on an engine, for a p × p that is too large for one task."""

from __future__ import annotations

import numpy as np

from princomp.core.context import FitContext
from princomp.core.problem import Problem
from princomp.core.routes.base import Cost, Route, Solution
from princomp.core.routes.krylov import search_memory
from princomp.core.routes.sketch import whole_number_needed
from princomp.linalg import FloatArray, one_blas_thread, search_rng
from princomp.solvers import block_width, completed, max_krylov_vectors, solve_blocks
from princomp.summaries import Columns


class TilesRoute(Route):
    """Block Lanczos by products with the tiles; only on request."""

    summary, solver = "columns", "tiles"

    def cost(self, problem: Problem) -> Cost:
        """The search space; the tiles are in the memory of the engine."""
        return Cost(search_memory(problem), None)

    def solve(self, fit: FitContext) -> Solution:
        """Make one pass for the means, then fill the tiles and multiply with them."""
        request = fit.request
        if not isinstance(request.n_components, int | None):
            raise whole_number_needed("a search in a scatter in tiles", request.n_components)
        columns = fit.summarise(Columns, "columns")
        p = columns.p
        scale, analysed, count = fit.analyse(columns)
        k = count.exact
        assert k is not None
        start = search_rng().standard_normal((p, block_width(max(k, 1), p)))
        with fit.rows.tiles(complete=request.drop) as tiles:

            def apply(vectors: FloatArray) -> FloatArray:
                right = vectors if scale is None else vectors / scale[:, None]
                image: FloatArray = tiles.product(right)
                if not request.center:
                    image += columns.rows * np.outer(columns.mean, columns.mean @ right)
                return image if scale is None else image / scale[:, None]

            with one_blas_thread():
                spectrum = solve_blocks(
                    apply,
                    analysed,
                    max(k, 1),
                    start,
                    tol=request.tol,
                    unit=float(np.finfo(fit.rows.dtype).eps),
                    max_vectors=max_krylov_vectors(max(k, 1), p),
                )
            fit.passes += tiles.passes
        return Solution(completed(spectrum, k), k, columns, scale)


TILES = TilesRoute()
