"""Routes that read rows block by block and never form p × p: Krylov, and the sketch."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import EPS, FloatArray, one_blas_thread
from princomp.choosing import check_wanted, most_components, resolve
from princomp.errors import ParameterError
from princomp.fitted import prepared
from princomp.fitting.job import Job, Solved, safe_divisor
from princomp.fitting.rows import FIRST_GUESS
from princomp.planning import Choice, krylov_room
from princomp.scaling import divisors
from princomp.solvers.krylov import ImagesOf, block_width, room_for, solve_blocks
from princomp.solvers.null_space import completed
from princomp.solvers.nystrom import solve_sketch
from princomp.summaries import Sketch
from princomp.summaries.centred_rows import safe_exponent

__all__ = ["first_width", "solve_krylov", "solve_nystrom"]


def first_width(wanted: Any, p: int) -> int:
    """Directions of the pass that begins a Krylov search: its first block."""
    return block_width(_first_size(wanted, p), p)


def _first_size(wanted: Any, p: int) -> int:
    return max(wanted, 1) if isinstance(wanted, int) else min(p, FIRST_GUESS)


def solve_krylov(job: Job, sketch: Sketch, choice: Choice, passes: int) -> Solved:
    """Solve by fused passes; the sketch of the first pass is their first block."""
    request, p = job.request, sketch.p
    columns = sketch.columns
    scale = divisors(request.scale, columns, job.extremes, job.names)
    ready = prepared(sketch, scale, request.center)
    exponent = safe_exponent(ready.column_scatter, np.dtype(np.float64))
    divisor = safe_divisor(scale, exponent, p)
    if exponent:
        ready = ready.scaled(np.full(p, 2.0**exponent))
    about = columns if request.center else columns.about_origin()
    wanted = check_wanted(request.n_components, columns, request.solver)
    most, limit = most_components(columns), krylov_room(request.facts(job.data))
    unit = EPS if sketch.unit == EPS else float(np.finfo(np.float32).eps)

    def apply(vectors: FloatArray) -> FloatArray:
        nonlocal passes
        passes += 1
        image: FloatArray = job.fold(ImagesOf(vectors, about, divisor), "krylov").summary.image
        return image

    size, start = _first_size(wanted, p), ready.product
    while True:
        with one_blas_thread():
            spectrum = solve_blocks(
                apply,
                ready.columns,
                min(size, p),
                start,
                tol=request.tol,
                unit=unit,
                room=room_for(size, p, limit),
            )
        k = resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
        if k is not None:
            spectrum = completed(spectrum, k).times_power(2 * exponent)
            return Solved(spectrum, k, columns, scale, choice, passes)
        # The fraction was not reached: go on with what was found and as many new directions.
        size = min(most, 2 * size)
        fresh = np.random.default_rng(size).standard_normal((p, block_width(size, p)))
        fresh[:, : spectrum.k] = spectrum.axes.T
        start = fresh


def solve_nystrom(job: Job, sketch: Sketch, choice: Choice, passes: int) -> Solved:
    """Solve a sketch of rows seen once."""
    request = job.request
    scale = divisors(request.scale, sketch, job.extremes, job.names)
    ready = prepared(sketch, scale, request.center)
    k = check_wanted(request.n_components, sketch, request.solver)
    if not isinstance(k, int):
        raise whole_number_needed(request.n_components)
    spectrum = solve_sketch(ready, k)
    worst = float(spectrum.residuals.max(initial=0.0)) if spectrum.residuals is not None else 0.0
    why = f"estimated residual of the sketch: up to {worst:.0e} of the first variance"
    return Solved(completed(spectrum, k), k, sketch, scale, choice, passes, (why,))


def whole_number_needed(wanted: Any) -> ParameterError:
    """A sketch has a width, so the number of components must be known before."""
    return ParameterError(
        f"n_components={wanted!r} with rows that are seen once and are too wide for a scatter",
        place={"parameter": "n_components"},
        hint="ask for a whole number of components, such as 20",
    )
