"""Routes that read rows block by block and never form p × p: Krylov, and the sketch."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray, one_blas_thread
from princomp.choosing import check_wanted, name_of
from princomp.errors import MemoryLimitError, NotAvailableError, ParameterError
from princomp.fitted import prepared
from princomp.fitting.components import Count
from princomp.fitting.job import Job, Solved, safe_divisor
from princomp.fitting.rows import FIRST_GUESS
from princomp.memory import in_words
from princomp.planning import Choice, Facts, krylov_room, memory_of
from princomp.scaling import divisors
from princomp.solvers.krylov import ImagesOf, block_width, room_for, solve_blocks
from princomp.solvers.null_space import completed
from princomp.solvers.nystrom import TEST_DIRECTIONS, solve_sketch
from princomp.summaries import Sketch
from princomp.summaries.centred_rows import safe_exponent

__all__ = ["first_width", "solve_krylov", "solve_nystrom"]

# Products smaller than this have lost digits to the end of the range.
_FLOAT32_LEAST, _FLOAT64_LEAST = 1e-31, 1e-292


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
    count = Count(job, columns, ready, scale)
    facts = request.facts(job.data)
    # Sparse rows, whatever their precision, are multiplied in float64.
    single = facts.dtype == "float32" and facts.stored is None
    precision = np.dtype(np.float32 if single else np.float64)
    exponent = safe_exponent(ready.column_scatter, precision)
    divisor = safe_divisor(scale, exponent, p)
    if exponent:
        ready = ready.scaled(np.full(p, 2.0**exponent))
    about = columns if request.center else columns.about_origin()
    limit = krylov_room(facts)
    unit = float(np.finfo(np.float32 if single else np.float64).eps)

    def apply(vectors: FloatArray) -> FloatArray:
        nonlocal passes
        passes += 1
        image: FloatArray = job.fold(ImagesOf(vectors, about, divisor), "krylov").summary.image
        return image

    most, wanted = count.most, count.wanted
    size = most if count.needs_all else _first_size(wanted, p)
    start = _start(sketch, ready.product, single)
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
        k = count(spectrum.times_power(2 * exponent), complete=size >= most)
        if k is not None:
            spectrum = completed(spectrum, k).times_power(2 * exponent)
            return Solved(spectrum, k, columns, scale, choice, passes, (), count.decision)
        # The fraction was not reached: go on with what was found and as many new directions.
        size = min(most, 2 * size)
        _check_room(facts, choice, spectrum.k, size)
        fresh = np.random.default_rng(size).standard_normal((p, block_width(size, p)))
        fresh[:, : spectrum.k] = spectrum.axes.T
        start = fresh


def _start(sketch: Sketch, product: FloatArray, single: bool) -> FloatArray:
    """The first block: the scatter times random directions, or these where that left the range."""
    largest = float(np.abs(sketch.product).max(initial=0.0))
    # Below the second, what vanished may have been most of it.
    if np.isfinite(largest) and largest > (_FLOAT32_LEAST if single else _FLOAT64_LEAST):
        return product
    return sketch.directions_of(slice(None))


def _check_room(facts: Facts, choice: Choice, found: int, size: int) -> None:
    """Refuse a search for more components than the memory limit leaves room for."""
    needed = memory_of(facts._replace(wanted=size), choice)
    if facts.limit is None or needed <= facts.limit:
        return
    raise MemoryLimitError(
        f"n_components={facts.wanted!r} is not reached by {found:,} components, and a search "
        f"for {size:,} takes {in_words(needed)} where {in_words(facts.limit)} may be taken",
        place={"parameter": "memory_limit", "limit": facts.limit, "needed": needed},
        hint=f"allow {in_words(1.05 * needed)} (memory_limit, --memory), or ask for a whole number "
        "of components",
    )


def solve_nystrom(job: Job, sketch: Sketch, choice: Choice, passes: int) -> Solved:
    """Solve a sketch of rows seen once."""
    request = job.request
    scale = divisors(request.scale, sketch, job.extremes, job.names)
    ready = prepared(sketch, scale, request.center)
    k = check_wanted(request.n_components, sketch, request.solver)
    if not isinstance(k, int):
        raise whole_number_needed(request.n_components)
    most = sketch.width - TEST_DIRECTIONS
    if k > most:
        raise NotAvailableError(
            f"{k} components are asked of a sketch in {most} directions",
            place={"parameter": "n_components"},
            hint="ask for as many components before the first row is added",
        )
    spectrum = solve_sketch(ready, k)
    worst = float(spectrum.residuals.max(initial=0.0)) if spectrum.residuals is not None else 0.0
    why = f"estimated residual of the sketch: up to {worst:.0e} of the first variance"
    return Solved(completed(spectrum, k), k, sketch, scale, choice, passes, (why,))


def whole_number_needed(wanted: Any) -> ParameterError:
    """A sketch has a width, so the number of components must be known before."""
    told = name_of(wanted)
    return ParameterError(
        f"n_components={told!r} with rows that are seen once and are too wide for a scatter",
        place={"parameter": "n_components"},
        hint="ask for a whole number of components, such as 20",
    )
