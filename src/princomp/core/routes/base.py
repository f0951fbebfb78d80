"""The protocol of a route, and how a route ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from princomp.core.problem import Problem
from princomp.linalg import FloatArray, default_threads
from princomp.rules import Decision
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Moments, Sketch, Triangle

if TYPE_CHECKING:
    from princomp.core.context import FitContext

Summary: TypeAlias = Moments | Triangle | Columns | Sketch

# Components that a truncated solver starts with if a fraction or a rule decides on the number.
INITIAL_COMPONENTS = 16


class Cost(NamedTuple):
    """Cost of a route: estimated peak memory in bytes beyond the data, and number of passes."""

    memory: int
    passes: int | None = 1  # None if passes are repeated until residuals are small

    def fits(self, problem: Problem) -> bool:
        """Whether this is within the memory limit."""
        return problem.memory_limit is None or self.memory <= problem.memory_limit


class Solution(NamedTuple):
    """A spectrum, how many of its components are kept, and the summary behind it."""

    spectrum: Spectrum
    k: int
    summary: Summary
    scale: FloatArray | None
    notes: tuple[str, ...] = ()  # for the plan
    decision: Decision | None = None  # of the rule that chose k
    solver: str | None = None  # if it is not the one of the route


class Abandoned(NamedTuple):
    """An abandoned route: notes on why, and its successor.

    ``summary`` lets the successor solve without another pass; ``precise`` tells it to compute
    products in float64.
    """

    notes: tuple[str, ...]
    successor: tuple[str, str]
    summary: Summary | None = None
    precise: bool = False


class Route(Protocol):
    """One way from rows to a spectrum.

    ``summary`` and ``solver`` are its names in plans and model files.
    """

    summary: str
    solver: str

    def applies(self, problem: Problem) -> str:
        """Why ``svd_solver="auto"`` may take this route; empty if it may not, as by default."""
        return ""

    def cost(self, problem: Problem) -> Cost:
        """Estimate memory and passes."""

    def solve(self, fit: FitContext) -> Solution | Abandoned:
        """Read the rows and solve, or hand over to another route."""


def rows_in_flight(problem: Problem, step: int) -> tuple[int, int, int]:
    """Return rows per block (at most ``step``), threads that sum blocks, and queued blocks."""
    n = problem.rows
    rows = min(n, step) if n else step
    threads = default_threads() if not n or n > step else 1
    return rows, threads, 0 if problem.in_memory else threads + 3
