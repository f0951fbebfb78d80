"""Routes that multiply rows in memory: row Gram, Lanczos and randomized."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from princomp.choosing import check_wanted, most_components, resolve
from princomp.fitted import prepared
from princomp.fitting.job import Job, Solved, safe_divisor
from princomp.parameters import Request
from princomp.planning import Choice, Facts, memory_of
from princomp.planning.facts import GRAM_ROWS, ROW_PRODUCTS_SHARE
from princomp.scaling import divisors
from princomp.solvers import lanczos, randomized, row_gram
from princomp.solvers.null_space import completed
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.centred_rows import CentredRows, safe_exponent

__all__ = ["FIRST_GUESS", "solve_rows"]

# Components that a truncated solver starts with when a fraction is wanted.
FIRST_GUESS = 16


def solve_rows(job: Job, columns: Columns, choice: Choice, passes: int) -> Solved:
    """Solve from products with the rows."""
    request = job.request
    scale = divisors(request.scale, columns, job.extremes, job.names)
    ready = prepared(columns, scale, request.center)
    exponent = safe_exponent(ready.column_scatter, job.data.dtype)
    divisor = safe_divisor(scale, exponent, columns.p)
    if exponent:
        ready = ready.scaled(np.full(columns.p, 2.0**exponent))
    mean = columns.mean if request.center else np.zeros(columns.p)
    low = columns.mean_low if request.center else mean
    variances = columns.column_scatter / (columns.rows - 1.0)
    rows = CentredRows.of(job.data, mean, low, variances, divisor, job.weights)
    wanted = check_wanted(request.n_components, columns, request.solver)
    if choice.solver == "row_gram":
        found = _by_row_gram(rows, ready, wanted)
    else:
        facts = request.facts(job.data)
        enough = partial(_row_products_pay, columns.count) if _may_change(facts, choice) else None
        found = _growing(rows, ready, wanted, request, choice, enough)
    spectrum, k = found.spectrum, found.k
    spectrum = completed(spectrum, k).times_power(2 * exponent)
    passes += found.passes
    return Solved(spectrum, k, columns, scale, found.choice or choice, passes, found.fallbacks)


class _Found(NamedTuple):
    spectrum: Spectrum
    k: int
    passes: int
    choice: Choice | None = None
    fallbacks: tuple[str, ...] = ()


def _by_row_gram(rows: CentredRows, columns: Columns, wanted: Any) -> _Found:
    spectrum, passes = row_gram.solve_rows(
        rows, columns, wanted if isinstance(wanted, int) else None
    )
    k = resolve(wanted, spectrum, columns.rows, most_components(columns))
    assert k is not None  # all variances that it asks for are known
    return _Found(spectrum, k, passes)


def _growing(
    rows: CentredRows,
    columns: Columns,
    wanted: Any,
    request: Request,
    choice: Choice,
    enough: Callable[[float], bool] | None,
) -> _Found:
    """A truncated solver knows the total but not the rest: it grows until the rule is met."""
    most, passes = most_components(columns), 0
    size = max(wanted, 1) if isinstance(wanted, int) else min(most, FIRST_GUESS)
    while True:
        spectrum, used = _truncated(rows, columns, size, request, choice, enough)
        passes += used
        if spectrum is None:
            found = _by_row_gram(rows, columns, wanted)
            n = rows.shape[0]
            why = f"no few directions stand out: {n:,}² products of rows are quicker"
            return found._replace(
                passes=passes + found.passes,
                choice=choice._replace(solver="row_gram"),
                fallbacks=(why,),
            )
        k = resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
        if k is not None:
            return _Found(spectrum, k, passes)
        size = min(most, 2 * size)


def _truncated(
    rows: CentredRows,
    columns: Columns,
    size: int,
    request: Request,
    choice: Choice,
    enough: Callable[[float], bool] | None,
) -> tuple[Spectrum | None, int]:
    """A spectrum of ``size`` components, or none where ``enough`` ended the search."""
    size = min(size, *rows.shape)  # with weights, more may be wanted than there are rows
    if choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        if request.solver != "auto" or request.tol:
            return lanczos.solve_rows(rows, columns, size, tol=request.tol, rng=rng)
        angle = float(np.sqrt(np.finfo(rows.dtype).eps))
        return lanczos.search_rows(
            rows, columns, size, tol=0.0, rng=rng, angle=angle, enough=enough
        )
    return randomized.solve_rows(
        rows,
        columns,
        size,
        n_oversamples=request.n_oversamples,
        iterated_power=request.iterated_power,
        power_iteration_normalizer=request.power_iteration_normalizer,
        random_state=request.random_state,
    )


def _may_change(facts: Facts, choice: Choice) -> bool:
    """Whether a search may be given up for the products of rows."""
    if choice.solver != "lanczos" or facts.solver != "auto" or facts.stored is not None:
        return False
    needed = memory_of(facts, choice._replace(solver="row_gram"))
    fits = facts.limit is None or needed <= facts.limit
    return facts.rows < facts.columns and facts.rows <= GRAM_ROWS and fits


def _row_products_pay(n: int, left: float) -> bool:
    """Whether n × n products of rows take less than so many more products with vectors."""
    return bool(np.isfinite(left)) and left > ROW_PRODUCTS_SHARE * n
