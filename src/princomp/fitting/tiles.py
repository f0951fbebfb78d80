"""The route through a scatter in tiles, which an engine holds where p × p is too much for it."""

from __future__ import annotations

import numpy as np

from princomp.arrays import FloatArray, one_blas_thread
from princomp.choosing import check_wanted, name_of
from princomp.errors import ParameterError
from princomp.fitted import prepared
from princomp.fitting.job import Job, Solved
from princomp.planning import Choice
from princomp.scaling import divisors
from princomp.solvers.krylov import block_width, room_for, solve_blocks
from princomp.solvers.null_space import completed
from princomp.summaries import Columns

__all__ = ["solve_tiles"]


def solve_tiles(job: Job, columns: Columns, choice: Choice, passes: int) -> Solved:
    """Block Lanczos whose products are those of the tiles."""
    request, p = job.request, columns.p
    scale = divisors(request.scale, columns, job.extremes, job.names)
    ready = prepared(columns, scale, request.center)
    k = check_wanted(request.n_components, columns, request.solver)
    if not isinstance(k, int):
        raise ParameterError(
            f"n_components={name_of(k)!r} with a scatter in tiles",
            place={"parameter": "n_components"},
            hint="ask for a whole number of components, such as 20",
        )
    start = np.random.default_rng(0).standard_normal((p, block_width(max(k, 1), p)))
    unit = float(np.finfo(job.data.dtype).eps)
    with job.data.tiles(complete=request.drop) as tiles:

        def apply(vectors: FloatArray) -> FloatArray:
            right = vectors if scale is None else vectors / scale[:, None]
            image: FloatArray = tiles.product(right)
            if not request.center:
                image += columns.rows * np.outer(columns.mean, columns.mean @ right)
            return image if scale is None else image / scale[:, None]

        with one_blas_thread():
            spectrum = solve_blocks(
                apply,
                ready,
                max(k, 1),
                start,
                tol=request.tol,
                unit=unit,
                room=room_for(max(k, 1), p),
            )
        passes += tiles.readings
    return Solved(completed(spectrum, k), k, columns, scale, choice, passes)
