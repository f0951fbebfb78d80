"""The way of a fit: from rows, or from a summary of them, to a finished record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp.arrays import one_blas_thread
from princomp.engines.distributed import Distributed
from princomp.engines.local import complete
from princomp.errors import NotAvailableError
from princomp.fitted import Fitted
from princomp.fitting.blocks import first_width, solve_krylov, solve_nystrom, whole_number_needed
from princomp.fitting.components import check_rows_for_rule, draws_rows
from princomp.fitting.job import GivenUp, Job, Solved, check_rows
from princomp.fitting.rows import solve_rows
from princomp.fitting.scatter import refined, solve_summary
from princomp.fitting.small import fit_small
from princomp.fitting.tiles import solve_tiles
from princomp.missing import Filled, completed
from princomp.parameters import Request
from princomp.passes import Passes
from princomp.planning import Choice, Facts, after_search, choose
from princomp.scaling import Names
from princomp.solvers.nystrom import width_for
from princomp.sources.holding import gathered, whole
from princomp.sources.source import Held, Source
from princomp.summaries import Columns, Extremes, Moments, PairOf, Sketch, SketchOf
from princomp.summaries.blocks import Weights, check_weights, lawful_block, stored_bytes
from princomp.summaries.stored import KINDS

__all__ = ["fit_rows", "fit_summary", "truncated_to"]

# Rows of unknown number are held until they take this many bytes: most tables end before,
# and rows in memory have more routes open.
_HEAD = 2**26


def fit_rows(
    data: Any,
    weights: Weights,
    request: Request,
    columns: Names = None,
    passes: Passes | None = None,
) -> Fitted:
    """Fit rows in memory, or rows that a source reads block by block.

    Parameters
    ----------
    data : ndarray, CSR array or Source of shape (n, p)
    weights : ndarray of shape (n,), optional
    request : Request
    columns : tuple of str, optional
        Names for messages.
    passes : Passes, optional
        Progress, checkpoint and threads.

    Raises
    ------
    NotFiniteError, ShapeError, ConstantColumnError, ParameterError, MemoryLimitError
    """
    if weights is None and passes is None and (small := fit_small(data, request)) is not None:
        return small
    if passes is not None and passes.checkpoint is not None:
        request = request._replace(memory=passes.checkpoint.limit)
    data, filled = _filled(data, weights, request, columns)
    data, facts, choice = _planned(data, request)
    job = Job(data, weights, request, columns, None, passes)
    n, dropped = data.shape[0], 0
    if n is not None:
        check_weights(weights, n)
    if not facts.held:
        job = job._replace(identities=data.identities())
    elif choice.summary == "columns":
        job, dropped = _that_count(job, choice)
        data, weights = job.data, job.weights
    kind, name = _kind(choice, facts)
    # Rows that cannot be read again are multiplied in float64 at once.
    precise = not facts.repeatable
    if not isinstance(request.n_components, int | float | None):
        check_rows_for_rule(request, job)
    folded = job.fold(PairOf(kind, Extremes) if request.by_range else kind, name, precise=precise)
    summary = folded.summary
    if request.by_range:
        job = job._replace(extremes=summary.second)
        summary = summary.first
    dropped += folded.dropped
    if n is None:
        n = folded.seen
        check_weights(weights, n)
        facts = facts._replace(rows=n)
    check_rows(summary, n, dropped)
    solved = _solved(job, summary, choice)
    return Fitted(
        summary=solved.summary,
        spectrum=solved.spectrum,
        k=solved.k,
        scale=solved.scale,
        centred=request.center,
        dtype=data.dtype,
        n_samples=n - dropped,
        facts=facts,
        choice=solved.choice,
        fallbacks=solved.fallbacks if filled is None else (str(filled), *solved.fallbacks),
        passes=solved.passes,
        bytes_read=solved.passes * _bytes(data, n),
        dropped=dropped,
        extremes=job.extremes,
        filled=filled,
        decision=solved.decision,
    )


def _filled(
    data: Any, weights: Weights, request: Request, columns: Names
) -> tuple[Any, Filled | None]:
    """The rows, their missing cells filled where that was asked for, and what was."""
    if request.fill is None:
        return data, None
    assert isinstance(request.n_components, int)  # the request was checked
    return completed(
        data,
        weights,
        request.fill,
        request.n_components,
        scale=request.scale,
        centred=request.center,
        names=columns,
        memory=request.memory,
    )


def _that_count(job: Job, choice: Choice) -> tuple[Job, int]:
    """Rows in memory that are multiplied directly, without those that are not to count.

    Also how many were left out for missing values.
    """
    data, weights, dropped = job.data, job.weights, 0
    if job.request.drop:
        data, weights, dropped = complete(data, weights)
    if choice.solver != "krylov":  # which reads blocks, and does that in each
        data, weights = lawful_block(data, weights)
    return job._replace(data=data, weights=weights), dropped


def _planned(data: Any, request: Request) -> tuple[Any, Facts, Choice]:
    """The rows, in memory where they may as well be, with what is known and planned of them."""
    if isinstance(data, Source):
        data = _held_if_small(data, request)
    facts = request.facts(data)
    choice = choose(facts)
    if choice.summary == "hold":
        data = whole(data, facts.limit)
        facts = request.facts(data)
        choice = choose(facts)
    return data, facts, choice


def _kind(choice: Choice, facts: Facts) -> tuple[Any, str]:
    """What the first pass folds the rows into, and what progress calls it."""
    if choice.solver == "krylov":
        return SketchOf(first_width(facts.wanted, facts.columns)), "krylov"
    if choice.summary == "sketch":
        if not isinstance(facts.wanted, int):
            raise whole_number_needed(facts.wanted)
        return SketchOf(width_for(facts.wanted, facts.columns)), "sketch"
    return KINDS[choice.summary], choice.summary


def _held_if_small(source: Source, request: Request) -> Any:
    """The rows themselves where they are in memory, or so few that they may as well be."""
    if isinstance(source, Distributed):
        return source
    draws = draws_rows(request.n_components)
    if not isinstance(source, Held) and (source.rows is None or draws):
        limit = request.facts(source).limit
        most = min(_HEAD, (limit or _HEAD) // 8)
        if source.rows is None or source.rows * source.p * source.dtype.itemsize <= most:
            source = gathered(source, most)
    return source.table.data if isinstance(source, Held) else source


def _solved(job: Job, summary: Any, choice: Choice) -> Solved:
    passes = 1
    if choice.solver == "krylov":
        return solve_krylov(job, summary, choice, passes)
    if choice.solver == "tiles":
        return solve_tiles(job, summary, choice, passes)
    if choice.summary == "sketch":
        return solve_nystrom(job, summary, choice, passes)
    if choice.summary == "columns":
        with one_blas_thread():
            found = solve_rows(job, summary, choice, passes)
        if isinstance(found, Solved):
            return found
        return _with_scatter(job, choice, found)
    solved = solve_summary(job, summary, choice, passes)
    return refined(job, solved) if job.request.solver == "auto" else solved


def _with_scatter(job: Job, first: Choice, left: GivenUp) -> Solved:
    """After a search that was given up: sum the scatter and solve that."""
    summary = job.fold(Moments, "moments").summary
    choice = after_search(first, job.request.wanted, summary.p)
    solved = solve_summary(job, summary, choice, left.passes + 1)
    return refined(job, solved._replace(fallbacks=(left.why, *solved.fallbacks)))


def _bytes(data: Any, n: int) -> int:
    if not isinstance(data, Source):
        return stored_bytes(data)
    return data.nbytes if data.nbytes is not None else n * data.p * data.dtype.itemsize


def fit_summary(
    summary: Any,
    request: Request,
    *,
    facts: Facts | None = None,
    n_samples: int | None = None,
    extremes: Extremes | None = None,
    columns: Names = None,
    dtype: Any = np.float64,
    mean_known: bool = True,
    dropped: int = 0,
    passes: int = 0,
    bytes_read: int = 0,
    reason: str = "solved from a kept summary",
    notes: tuple[str, ...] = (),
) -> Fitted:
    """Fit a summary: no row is read. The plan gives the reason, then the notes.

    Raises
    ------
    NotAvailableError
        When the summary keeps only columns, or extremes are asked for that were not kept.
    """
    if isinstance(summary, Columns):
        raise NotAvailableError(
            "a summary of columns says nothing of how they vary together, so it has no components",
            hint="give a summary that does: Moments, Triangle or Sketch",
        )
    check_rows(summary, summary.count, 0)
    if facts is None:
        facts = Facts(n_samples or 0, summary.p, request.wanted)
    job = Job(None, None, request, columns, extremes, count_known=n_samples is not None)
    if isinstance(summary, Sketch):
        solved = solve_nystrom(job, summary, Choice("sketch", "nystrom", reason), passes)
    else:
        kind = "moments" if isinstance(summary, Moments) else "triangle"
        choice = Choice(kind, "eigh" if kind == "moments" else "svd", reason)
        solved = solve_summary(job, summary, choice, passes)
    return Fitted(
        summary=summary,
        spectrum=solved.spectrum,
        k=solved.k,
        scale=solved.scale,
        centred=request.center,
        dtype=np.dtype(dtype),
        n_samples=n_samples,
        facts=facts._replace(wanted=request.wanted),
        choice=solved.choice,
        fallbacks=(*notes, *solved.fallbacks),
        passes=passes,
        bytes_read=bytes_read,
        dropped=dropped,
        extremes=extremes,
        mean_known=mean_known,
        decision=solved.decision,
    )


def truncated_to(fitted: Fitted, k: int) -> Fitted:
    """The same fit with fewer components."""
    return replace(fitted, k=k, spectrum=fitted.spectrum.first(k), decision=None)
