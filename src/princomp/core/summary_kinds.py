"""The kind of summary that rows in batches are added to."""

from __future__ import annotations

from typing import Any

from princomp.core.request import Request
from princomp.core.routes.moments import SCATTER_COLUMNS, memory_to_add
from princomp.core.routes.sketch import whole_number_needed
from princomp.errors import MemoryLimitError, ParameterError
from princomp.linalg import format_bytes, memory_limit
from princomp.solvers import sketch_width
from princomp.summaries import Extremes, Moments, Pair, PairOf, Sketch, SketchOf, Triangle

# For at most this many columns, the memory limit is not checked.
_FEW_COLUMNS = 1000


def main_summary(summary: Any) -> Any:
    """Return the summary to solve: the first one of a pair."""
    return summary.first if isinstance(summary, Pair) else summary


def check_memory_to_add(request: Request, p: int) -> None:
    """Refuse a scatter that does not fit in the memory limit.

    Raises
    ------
    MemoryLimitError
    """
    needed = memory_to_add(p)
    if p > _FEW_COLUMNS and needed > memory_limit(request.memory):
        raise MemoryLimitError(
            f"a scatter of {p:,} columns takes about {format_bytes(needed)} to add to, and the fit "
            f"may take {format_bytes(memory_limit(request.memory))}",
            place={"parameter": "memory_limit"},
            hint="allow more, or use svd_solver='sketch' with a whole number of components",
        )


def kind_of(summary: Any) -> Any:
    """Return the kind of a summary, which makes others of that kind."""
    if isinstance(summary, Pair):
        return PairOf(kind_of(summary.first), Extremes)
    if isinstance(summary, Sketch):
        return SketchOf(summary.width, summary.seed)
    return type(summary)


def kind_for(request: Request, p: int) -> Any:
    """Return the kind of summary that a solver needs for ``p`` columns.

    Raises
    ------
    MemoryLimitError, ParameterError
    """
    solver = request.solver
    if solver == "full":
        return Triangle
    if solver == "covariance_eigh" or (solver == "auto" and p <= SCATTER_COLUMNS):
        try:
            check_memory_to_add(request, p)
        except MemoryLimitError:
            if solver == "auto" and isinstance(request.n_components, int):
                return SketchOf(sketch_width(request.n_components, p))
            raise
        return Moments
    if solver not in ("auto", "sketch"):
        raise ParameterError(
            f"svd_solver={solver!r} needs all rows at once",
            place={"parameter": "svd_solver"},
            hint="partial_fit works with 'auto', 'covariance_eigh', 'full' and 'sketch'",
        )
    if not isinstance(request.n_components, int):
        raise whole_number_needed("a sketch", request.n_components)
    return SketchOf(sketch_width(request.n_components, p))
