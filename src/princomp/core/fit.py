"""A fit: of a table, of rows, or of a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp.core.applied_rule import check_rows_for_rule, counts_rows, draws_from_rows
from princomp.core.context import FitContext, check_rows
from princomp.core.fitted import Fitted
from princomp.core.missing.filled import fill_table
from princomp.core.missing.left_out import note_on_left_out
from princomp.core.plan import bytes_to_avoid_sketch, route_of, select_route
from princomp.core.problem import Problem, RouteChoice
from princomp.core.request import PCAParameters, Request
from princomp.core.routes import small
from princomp.core.routes.base import Abandoned, Summary
from princomp.core.routes.moments import SCATTER_SEARCH, few_of_many
from princomp.core.runs import run_context_of
from princomp.core.schema import TableSchema
from princomp.core.weights import (
    attach_weights,
    checked_weights,
    warn_of_fractional_weights,
    warn_of_sum_of_weights,
)
from princomp.engines import DistributedRows, ProgressCallback, RunContext
from princomp.errors import NotAvailableError, NotFiniteError, warn
from princomp.io import (
    DROP_HINT,
    FILL_HINT,
    PathLike,
    RowData,
    Rows,
    Source,
    TableSource,
    is_symmetric,
    not_finite_error,
    read_if_small,
    read_whole,
)
from princomp.summaries import Columns, Extremes, Names, SampleWeight, Weights, stored_bytes

# If the number of rows is unknown, up to this many bytes of rows are read into memory: most
# tables are smaller, and more routes are available for rows in memory. Where rows would be added
# to a sketch, more are read: `bytes_to_avoid_sketch`.
SMALL_TABLE_BYTES = 2**26


def fit_table(
    X: object,
    parameters: PCAParameters,
    sample_weight: SampleWeight = None,
    *,
    owner: str = "PCA",
    progress: ProgressCallback | None = None,
    checkpoint: PathLike | None = None,
    command: dict[str, Any] | None = None,
) -> tuple[Fitted, TableSchema, Rows]:
    """Fit a PCA to a table; return the result, the schema, and the rows as they were read.

    Parameters
    ----------
    X, sample_weight, progress, checkpoint
        As for :meth:`princomp.PCA.fit`.
    parameters : PCAParameters
    owner : str
        Class of the estimator, for messages.
    command : dict, optional
        The command that resumes the checkpoint.

    Raises
    ------
    PrincompError
        As :meth:`princomp.PCA.fit` does.
    """
    request = Request.of(parameters)
    if sample_weight is not None:
        X, sample_weight = attach_weights(X, sample_weight)
    rows, schema = TableSchema.read(X, owner, parameters.scale)
    data, columns, origin = rows
    if columns is not None and is_symmetric(data):
        warn(
            "the table is symmetric, as covariances, correlations and distances are, and its rows "
            "are analysed as observations: PCA.from_covariance(C) analyses a covariance or "
            "correlation matrix, and KernelPCA(kernel='precomputed') distances D as -D**2 / 2"
        )
    weights = None if sample_weight is None else checked_weights(sample_weight, data.shape[0])
    run = None
    if progress is not None or checkpoint is not None:
        run = run_context_of(rows, weights, request, progress, checkpoint, command)
    try:
        return fit_rows(data, weights, request, columns, run), schema, rows
    except NotFiniteError as error:
        # Cells are filled from a whole number of components.
        hint = FILL_HINT if request.rule is None else DROP_HINT
        raise not_finite_error(data, error, columns=columns, origin=origin, hint=hint) from None
    finally:
        if run is not None:
            run.close()


def fit_rows(
    data: RowData, weights: Weights, request: Request, columns: Names, run: RunContext | None
) -> Fitted:
    """Fit rows in memory, or rows that a source reads block by block.

    Parameters
    ----------
    data : ndarray, CSR array or Source of shape (n, p)
    weights : ndarray of shape (n,), optional
    request : Request
    columns : tuple of str, optional
        Names for messages.
    run : RunContext, optional
        Progress and checkpoint.

    Raises
    ------
    NotFiniteError, ShapeError, ConstantColumnError, ParameterError, MemoryLimitError
    """
    if weights is None and run is None and type(data) is np.ndarray and data.size < small.MAX_SIZE:
        fitted = small.fit(data, request)
        if fitted is not None:
            return fitted
    if run is not None and run.checkpoint is not None:
        request = request._replace(memory=run.checkpoint.limit)
    weighted = weights is not None and bool((weights != 1.0).any())
    if isinstance(data, DistributedRows):
        weighted = data.has_weights
    filled, left_out = None, 0
    notes: tuple[str, ...] = ()
    if request.fill is not None:
        data, weights, filled, left_out = fill_table(data, weights, request, columns)
        notes = (str(filled),)
    if left_out:
        what = "row without any cell takes" if left_out == 1 else "rows without any cell take"
        notes += (f"{left_out:,} {what} no part, and scores of such rows are empty",)
    data, problem, choice = _choose_route(data, request)
    fit = FitContext(request, problem, data, weights, columns, run)
    if request.rule is not None:
        check_rows_for_rule(request.rule, fit)
        if counts_rows(request.rule):
            warn_of_fractional_weights(weights)
    fitted = _solve(fit, choice, notes, data.dtype)
    assert fit.n is not None
    notes = fitted.notes
    if fit.dropped:
        notes += (note_on_left_out(data, weights, columns, fit.n, fit.dropped),)
    return replace(
        fitted,
        notes=notes,
        problem=problem if problem.rows else problem._replace(rows=fit.n),
        bytes_read=fit.passes * _nbytes(fit.rows, fit.n),
        dropped=fit.dropped + left_out,
        filled=filled,
        weighted=weighted,
    )


def _solve(
    fit: FitContext, choice: RouteChoice, notes: tuple[str, ...], dtype: np.dtype[Any]
) -> Fitted:
    """Run a route, then those that it hands over to; return the result."""
    while isinstance(outcome := route_of(choice).solve(fit), Abandoned):
        summary, solver = outcome.successor
        choice = choice._replace(summary=summary, solver=solver)
        notes += outcome.notes
        fit.summary, fit.precise = outcome.summary, outcome.precise
    if outcome.solver is not None:
        choice = choice._replace(solver=outcome.solver)
    notes += outcome.notes + fit.constant_note(outcome.summary)
    rule, n = fit.request.rule, None if fit.n is None else fit.n - fit.dropped
    # If weights were given as an array, they are known one by one.
    if rule is not None and counts_rows(rule) and fit.weights is None and fit.request.decay == 1.0:
        warn_of_sum_of_weights(n, outcome.summary.rows)
    return Fitted(
        summary=outcome.summary,
        spectrum=outcome.spectrum,
        k=outcome.k,
        scale=outcome.scale,
        centred=fit.request.center,
        dtype=dtype,
        n_samples=n,
        problem=fit.problem,
        route=choice,
        notes=tuple(dict.fromkeys(notes)),
        passes=fit.passes,
        extremes=fit.extremes,
        decision=outcome.decision,
        uncounted=len(fit.request.dropped_columns(outcome.summary)),
    )


def _choose_route(data: RowData, request: Request) -> tuple[Any, Problem, RouteChoice]:
    """Choose the route; read the rows into memory if they are small enough."""
    if isinstance(data, Source):
        data = _in_memory_if_small(data, request)
    problem = request.problem(data)
    choice = select_route(problem)
    if choice.summary == "hold":
        assert isinstance(data, Source)  # others are in memory
        return _choose_route(read_whole(data, problem.memory_limit), request)
    return data, problem, choice


def _in_memory_if_small(source: Source, request: Request) -> Any:
    """Return the rows of a source as an array if they are in memory, or few enough to be read."""
    if isinstance(source, DistributedRows):
        return source
    needs_rows = request.rule is not None and draws_from_rows(request.rule)
    if not isinstance(source, TableSource) and (source.rows is None or needs_rows):
        problem = request.problem(source)
        max_bytes = min(SMALL_TABLE_BYTES, (problem.memory_limit or SMALL_TABLE_BYTES) // 8)
        max_bytes = max(max_bytes, bytes_to_avoid_sketch(problem))
        n, p = source.shape
        if n is None or n * p * source.dtype.itemsize <= max_bytes:
            source = read_if_small(source, max_bytes)
    return source.data if isinstance(source, TableSource) else source


def _nbytes(data: RowData, n: int) -> int:
    if not isinstance(data, Source):
        return stored_bytes(data)
    return data.nbytes if data.nbytes is not None else n * data.p * data.dtype.itemsize


def fit_summary(
    summary: Summary,
    request: Request,
    *,
    problem: Problem | None = None,
    n_samples: int | None = None,
    extremes: Extremes | None = None,
    columns: Names = None,
    dtype: np.dtype[Any] | type[np.floating[Any]] = np.float64,
    mean_known: bool = True,
    dropped: int = 0,
    passes: int = 0,
    bytes_read: int = 0,
    reason: str = "solved from a kept summary",
    notes: tuple[str, ...] = (),
    faded_by: float | None = None,
    weighted: bool = False,
) -> Fitted:
    """Fit a summary without reading rows. The plan gives ``reason``, then ``notes``.

    Raises
    ------
    NotAvailableError
        If it is a summary of columns only, or if extremes are needed that were not kept.
    """
    if isinstance(summary, Columns):
        raise NotAvailableError(
            "a summary of columns says nothing of how they vary together, so it has no components",
            hint="give a summary that does: Moments, Triangle or Sketch",
        )
    check_rows(summary, summary.count)
    if problem is None:
        problem = Problem(n_samples or 0, summary.p, None)
    problem = problem._replace(n_components=request.named_components)
    fit = FitContext(request, problem._replace(in_memory=True), names=columns)
    fit.n, fit.summary, fit.extremes = n_samples, summary, extremes
    solver = {"Moments": "eigh", "Triangle": "svd", "Sketch": "nystrom"}[summary.kind]
    if summary.kind == "Moments" and request.solver == "auto" and few_of_many(problem):
        solver = SCATTER_SEARCH.solver
    choice = RouteChoice(summary.kind.lower(), solver, reason)
    return replace(
        _solve(fit, choice, notes, np.dtype(dtype)),
        problem=problem,
        passes=passes,
        bytes_read=bytes_read,
        dropped=dropped,
        mean_known=mean_known,
        faded_by=faded_by,
        weighted=weighted,
    )
