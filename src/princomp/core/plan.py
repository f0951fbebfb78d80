"""The plan of a fit: which route it takes, why, and what it costs, known before any work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.core.context import check_n_components, check_rows
from princomp.core.missing.filled import memory_to_fill
from princomp.core.problem import SOLVERS, Problem, RouteChoice
from princomp.core.request import PCAParameters, Request
from princomp.core.routes.base import Cost, Route
from princomp.core.routes.krylov import KRYLOV
from princomp.core.routes.lanczos import LANCZOS
from princomp.core.routes.moments import (
    ENGINE_COLUMNS,
    MOMENTS,
    SCATTER_COLUMNS,
    SCATTER_SEARCH,
    SPARSE_SCATTER,
)
from princomp.core.routes.randomized import RANDOMIZED
from princomp.core.routes.row_gram import ROW_GRAM
from princomp.core.routes.sketch import SKETCH
from princomp.core.routes.tiles import TILES
from princomp.core.routes.triangle import TRIANGLE
from princomp.core.schema import TableSchema, refuse_iterator
from princomp.errors import MemoryLimitError, ParameterError
from princomp.linalg import format_bytes
from princomp.summaries import Columns

# Copies of a table that are in memory while its rows are read and joined.
_READ_COPIES = 2.0

_READ_WHOLE = RouteChoice("hold", "", "the rows fit in memory and are read whole")
# Routes for rows in memory, the best first. At most one of them applies, except that a search also
# applies where the scatter of another route may exceed the memory limit.
_IN_MEMORY_ROUTES: tuple[Route, ...] = (MOMENTS, SCATTER_SEARCH, TRIANGLE, ROW_GRAM, LANCZOS)
_ROUTES: dict[tuple[str, str], Route] = {
    (route.summary, route.solver): route
    for route in (*_IN_MEMORY_ROUTES, RANDOMIZED, KRYLOV, SKETCH, TILES)
}

_COMPONENTS_ONLY = "components alone: it cannot be merged, rescaled or given more rows"


@dataclass(frozen=True)
class Plan:
    """How a fit will run, or ran.

    Attributes
    ----------
    summary : str
        The summary of the rows: ``moments``, ``triangle``, ``columns`` or ``sketch``.
    solver : str
        ``eigh``, ``svd``, ``lanczos``, ``row_gram``, ``randomized``, ``krylov``, ``nystrom`` or
        ``tiles``.
    reasons : tuple of str
        Why this route was chosen; each fallback to another route adds a line.
    passes : int or None
        Number of times that the rows are read; None for an iterative solver that has not run yet.
    memory : int
        Estimate of the peak memory in bytes, without the data.
    stands_for_rows : bool
        Whether the fit can be merged, rescaled or given more rows: it keeps more than a summary of
        columns, or all components. Before a fit, whether that follows from the shape.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import plan
    >>> print(plan(np.ones((100, 3))).solver)
    eigh
    """

    problem: Problem
    summary: str
    solver: str
    reasons: tuple[str, ...]
    passes: int | None
    memory: int = 0
    stands_for_rows: bool = True

    @classmethod
    def of(
        cls,
        problem: Problem,
        choice: RouteChoice,
        notes: tuple[str, ...] = (),
        passes: int | None = None,
        *,
        stands_for_rows: bool | None = None,
    ) -> Plan:
        """Make the plan of a chosen route, with notes on what happened since the choice."""
        cost = cost_of(problem, choice)
        if stands_for_rows is None:
            stands_for_rows = choice.summary != "columns" or _finds_all_components(problem)
        return cls(
            problem,
            choice.summary,
            choice.solver,
            (choice.reason, *notes),
            cost.passes if passes is None else passes,
            cost.memory,
            stands_for_rows,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "rows": self.problem.rows,
            "columns": self.problem.columns,
            "n_components": self.problem.n_components,
            "dtype": self.problem.dtype,
            "stored": self.problem.stored,
            "svd_solver": self.problem.solver,
            "held": self.problem.in_memory,
            "repeatable": self.problem.repeatable,
            "memory_limit": self.problem.memory_limit,
            "summary": self.summary,
            "solver": self.solver,
            "reasons": list(self.reasons),
            "passes": self.passes,
            "memory": self.memory,
        }

    def to_json(self) -> str:
        """The plan as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        rows = f"{self.problem.rows:,}" if self.problem.rows else "unknown"
        stored = self.problem.stored
        # An engine may know that its rows are sparse, but not how many numbers they store.
        kind = "dense" if stored is None else f"sparse, {stored:,} stored" if stored else "sparse"
        passes = "until the residual is met" if self.passes is None else str(self.passes)
        lines = [
            f"Plan for {rows} × {self.problem.columns:,} {self.problem.dtype} ({kind})",
            f"  summary  {self.summary}",
            f"  solver   {self.solver}",
            *([] if self.stands_for_rows else [f"  keeps    {_COMPONENTS_ONLY}"]),
            *(f"  {'why' if i == 0 else 'then':8} {why}" for i, why in enumerate(self.reasons)),
            f"  passes   {passes}",
            f"  memory   {format_bytes(self.memory)} beyond the data",
        ]
        return "\n".join(lines)


def plan_table(X: object, parameters: PCAParameters) -> Plan:
    """What a fit of a table would do and cost, without doing it; see :func:`princomp.plan`."""
    request = Request.of(parameters)
    refuse_iterator(X, "a plan would use up the first batch, which a later fit would miss", "plan")
    (data, _, _), _ = TableSchema.read(X, scale=parameters.scale)
    problem = request.problem(data)
    if request.fill is not None:
        # All rows are read into memory.
        problem = problem._replace(in_memory=True, memory_limit=None)
    if problem.rows or problem.in_memory:
        # Refuse rows whose shape alone makes a fit impossible.
        zeros = np.zeros(problem.columns)
        shape = Columns(float(problem.rows), problem.rows, zeros, zeros, zeros)
        check_rows(shape, problem.rows)
        check_n_components(request.n_components, shape, request.solver)
    choice = select_route(problem)
    if request.fill is not None:
        note = f"missing={request.fill!r}: missing cells are filled first, all rows in memory"
        plan = Plan.of(problem, choice, (note,))
        return replace(plan, memory=max(plan.memory, memory_to_fill(problem.rows, problem.columns)))
    if choice.summary == "hold":
        # The route is chosen again once the rows are in memory.
        in_memory = problem._replace(in_memory=True)
        then = select_route(in_memory)
        plan = Plan.of(in_memory, then._replace(reason=choice.reason), (then.reason,))
        return replace(plan, memory=cost_of(problem, choice).memory)
    return Plan.of(problem, choice)


def select_route(problem: Problem) -> RouteChoice:
    """Return the first route that applies to a problem and fits its memory limit.

    Raises
    ------
    ParameterError
        For an unknown solver, or one that cannot be used for these rows.
    MemoryLimitError
        If no route fits in the limit; the message says how much memory each would take.
    """
    rejected = []
    for choice in _candidates(problem):
        if problem.memory_limit is None or cost_of(problem, choice).fits(problem):
            return choice
        rejected.append(choice)
    raise _does_not_fit(problem, rejected)


def bytes_to_avoid_sketch(problem: Problem) -> int:
    """Return how many bytes of rows are read into memory where they would be added to a sketch.

    A quarter of the memory limit, if this leaves room to join and solve them, or for the sketch if
    there are more rows. Zero if a sketch was requested, or would not be used.
    """
    limit = problem.memory_limit
    if limit is None or problem.solver != "auto" or problem.repeatable or problem.rows:
        return 0
    try:
        choice = select_route(problem)
    except MemoryLimitError:
        return 0
    size = limit // 4
    if choice.summary != "sketch" or cost_of(problem, choice).memory + size > limit:
        return 0
    rows = max(1, size // (problem.columns * problem.itemsize))
    read = problem._replace(rows=rows, in_memory=True)
    route = route_of(next(_candidates(read)))
    return size if _READ_COPIES * size + route.cost(read).memory <= limit else 0


def route_of(choice: RouteChoice) -> Route:
    """Return the route of a choice."""
    return _ROUTES[choice.summary, choice.solver]


def cost_of(problem: Problem, choice: RouteChoice) -> Cost:
    """Return the cost of a route, including the rows if they are read into memory first."""
    if choice.summary != "hold":
        route = _ROUTES.get((choice.summary, choice.solver))
        # None for components of another library, and for a route of a newer version.
        return Cost(0, 0) if route is None else route.cost(problem)
    n, p, size = problem.rows, problem.columns, problem.itemsize
    numbers = n * p * size if problem.stored is None else problem.stored * (size + 4) + 8 * n
    # Keep the limit: it can change which route comes first.
    in_memory = problem._replace(in_memory=True)
    then = route_of(next(_candidates(in_memory))).cost(in_memory)
    return Cost(int(_READ_COPIES * numbers) + then.memory)


def _candidates(problem: Problem) -> Iterator[RouteChoice]:
    """Routes that apply to a problem, the best first."""
    if problem.solver != "auto":
        yield from _requested(problem)
        return
    for route in _IN_MEMORY_ROUTES if problem.in_memory else _streamed(problem):
        if route is None:
            yield _READ_WHOLE
        elif why := route.applies(problem):
            yield RouteChoice(route.summary, route.solver, why)


def _streamed(problem: Problem) -> list[Route | None]:
    """Routes for rows read block by block, best first; None means to read all rows into memory."""
    p, n = problem.columns, problem.rows
    max_columns = SCATTER_COLUMNS if problem.stored is None else SPARSE_SCATTER
    max_columns = min(max_columns, ENGINE_COLUMNS.get(problem.engine, max_columns))
    read_whole: list[Route | None] = [None] if n and not problem.engine else []
    if p <= max_columns and (not n or n >= p):
        return [MOMENTS, SCATTER_SEARCH, *read_whole, KRYLOV, SKETCH]
    return [*read_whole, TRIANGLE, KRYLOV, SKETCH, MOMENTS, SCATTER_SEARCH]


def _requested(problem: Problem) -> Iterator[RouteChoice]:
    """Routes for the solver that was requested.

    Raises
    ------
    ParameterError
    """
    solver, engine = problem.solver, problem.engine
    needs_memory = solver in ("arpack", "lanczos", "randomized", "row_gram")
    if problem.in_memory or not needs_memory:
        if solver == "krylov" and not (problem.in_memory or problem.repeatable):
            raise _refused(
                solver,
                "reads the rows several times, and these can be read once",
                "svd_solver='sketch' reads them once; or give a file, or a function that makes "
                "a new iterator",
            )
        summary_and_solver = SOLVERS[solver]
        assert summary_and_solver is not None
        yield RouteChoice(*summary_and_solver, f"svd_solver={solver!r} was asked for")
        return
    is_search = solver in ("arpack", "lanczos")
    if engine and not is_search:
        raise _refused(
            solver,
            f"multiplies rows in memory, and these are on {engine}",
            "choose 'auto', 'covariance_eigh', 'full', 'krylov' or 'sketch'",
        )
    if solver == "lanczos" and engine in ENGINE_COLUMNS and problem.stored is None:
        why = f"svd_solver='lanczos' was asked for: on a scatter in tiles that stay on {engine}"
        yield RouteChoice(TILES.summary, TILES.solver, why)
        return
    by_passes = is_search and problem.repeatable
    if not engine and (problem.rows or not by_passes):
        yield _READ_WHOLE
    if by_passes:
        yield RouteChoice(KRYLOV.summary, KRYLOV.solver, KRYLOV.reason(problem))


def _finds_all_components(problem: Problem) -> bool:
    """Whether the shape shows that a fit finds as many components as there can be."""
    n, p, wanted = problem.rows, problem.columns, problem.n_components
    if wanted is None:
        return problem.solver != "arpack"
    return isinstance(wanted, int) and wanted >= (min(n, p) if n else p)


def _refused(solver: str, why: str, hint: str) -> ParameterError:
    return ParameterError(
        f"svd_solver={solver!r} {why}", place={"parameter": "svd_solver"}, hint=hint
    )


def _does_not_fit(problem: Problem, choices: list[RouteChoice]) -> MemoryLimitError:
    """Error that says how much memory each route would take, and what would fit."""
    assert problem.memory_limit is not None
    needs = {_label(choice): cost_of(problem, choice).memory for choice in choices}
    each = ", ".join(f"{name} {format_bytes(need)}" for name, need in needs.items())
    least = min(needs.values())
    rows = f"{problem.rows:,}" if problem.rows else "unknown"
    whole = problem.wants_at_most(problem.columns)
    return MemoryLimitError(
        f"no route for {rows} rows × {problem.columns:,} columns fits in "
        f"{format_bytes(problem.memory_limit)} of memory; needed: {each}",
        place={"parameter": "memory_limit", "limit": problem.memory_limit, "needed": least},
        hint=f"allow {format_bytes(1.05 * least)} (memory_limit), or use fewer columns"
        + ("" if whole else ", or ask for a whole number of components"),
    )


def _label(choice: RouteChoice) -> str:
    names = {"hold": "the rows in memory", "moments": "the p × p scatter", "columns": choice.solver}
    return names.get(choice.summary, choice.summary)
