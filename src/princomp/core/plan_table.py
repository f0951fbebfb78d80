"""The plan of a fit that has not begun."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp.core.context import check_rows
from princomp.core.inputs import open_rows, refuse_iterator
from princomp.core.missing import memory_to_fill
from princomp.core.plan import Plan, cost_of, select_route
from princomp.core.problem import Problem
from princomp.core.request import PCAParameters, Request, check_n_components
from princomp.summaries import Columns


def plan_table(X: Any, parameters: PCAParameters) -> Plan:
    """What a fit of a table would do and cost, without doing it; see :func:`princomp.plan`."""
    request = Request.of(parameters)
    refuse_iterator(X, "a plan would use up the first batch, which a later fit would miss", "plan")
    problem = request.problem(open_rows(X)[0])
    if request.fill is not None:
        # All rows are read into memory.
        problem = problem._replace(in_memory=True, memory_limit=None)
    check_shape(problem)
    choice = select_route(problem)
    if request.fill is not None:
        note = f"missing={request.fill!r}: missing cells are filled first, all rows in memory"
        plan = Plan.of(problem, choice, (note,))
        return replace(plan, memory=max(plan.memory, memory_to_fill(problem.rows, problem.columns)))
    if choice.summary == "hold":
        # The route is chosen again once the rows are in memory.
        plan = Plan.of(
            problem._replace(in_memory=True),
            select_route(problem._replace(in_memory=True, memory_limit=None)),
        )
        reasons = (choice.reason, *plan.reasons)
        return replace(plan, memory=cost_of(problem, choice).memory, reasons=reasons)
    return Plan.of(problem, choice)


def check_shape(problem: Problem) -> None:
    """Refuse rows whose shape alone makes a fit impossible.

    Raises
    ------
    ShapeError, ParameterError
    """
    if not problem.rows and not problem.in_memory:
        return  # not known yet
    zeros = np.zeros(problem.columns)
    shape = Columns(float(problem.rows), problem.rows, zeros, zeros, zeros)
    check_rows(shape, problem.rows, 0)
    check_n_components(problem.n_components, shape, problem.solver)
