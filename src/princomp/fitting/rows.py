"""Routes that multiply rows in memory: row Gram, Lanczos and randomized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.fitted import prepared
from princomp.fitting.components import Count
from princomp.fitting.job import GivenUp, Job, Solved, safe_divisor, share_found
from princomp.parameters import Request
from princomp.planning import Choice, Facts, after_search, memory_of, shares_by_search
from princomp.planning.facts import (
    GRAM_ROWS,
    ROW_PRODUCTS_SHARE,
    SCATTER_COLUMNS,
    SCATTER_PRODUCT,
    SCATTER_SHARE,
    SCATTER_SUM,
)
from princomp.scaling import divisors
from princomp.solvers import lanczos, randomized, row_gram
from princomp.solvers.forecast import Patience
from princomp.solvers.glimpse import glimpse, sample_step
from princomp.solvers.growing import is_hopeless, share_of_rows
from princomp.solvers.lanczos import wide_block
from princomp.solvers.null_space import completed
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.spectrum import Spectrum
from princomp.summaries import Columns
from princomp.summaries.blocks import Weights
from princomp.summaries.centred_rows import CentredRows, safe_exponent

__all__ = ["FIRST_GUESS", "solve_rows"]

# Components that a truncated solver starts with when a fraction is wanted.
FIRST_GUESS = 16


def solve_rows(job: Job, columns: Columns, choice: Choice, passes: int) -> Solved | GivenUp:
    """Solve from products with the rows, unless a search shows that a scatter is quicker."""
    request = job.request
    scale = divisors(request.scale, columns, job.extremes, job.names)
    ready = prepared(columns, scale, request.center)
    count = Count(job, columns, ready, scale)
    exponent = safe_exponent(ready.column_scatter, job.data.dtype)
    divisor = safe_divisor(scale, exponent, columns.p)
    if exponent:
        ready = ready.scaled(np.full(columns.p, 2.0**exponent))
    mean = columns.mean if request.center else np.zeros(columns.p)
    low = columns.mean_low if request.center else mean
    variances = columns.column_scatter / (columns.rows - 1.0)

    def centred(data: Any, weights: Weights) -> CentredRows:
        return CentredRows.of(data, mean, low, variances, divisor, weights)

    rows = centred(job.data, job.weights)
    if choice.solver == "row_gram":
        found: _Found | GivenUp = _by_row_gram(rows, ready, count, exponent)
    else:
        found = _by_search(job, centred, rows, ready, count, exponent, choice)
    if isinstance(found, GivenUp):
        return found._replace(passes=passes + found.passes)
    spectrum, k = found.spectrum, found.k
    spectrum = completed(spectrum, k).times_power(2 * exponent)
    passes += found.passes
    way = found.choice or choice
    return Solved(spectrum, k, columns, scale, way, passes, found.fallbacks, count.decision)


class _Search(NamedTuple):
    """Where a search begins, and when it may end: at a residual, or given up (see ``lanczos``)."""

    tol: float
    enough: Patience | None
    start: FloatArray | None = None


def _search_of(job: Job, rows: CentredRows, choice: Choice, count: Count) -> _Search:
    """What the precision of the rows as they were given allows, unless more was asked for."""
    request = job.request
    enough = _enough(request.facts(job.data), choice, count.wanted, rows.step)
    if request.solver != "auto" or request.tol:
        return _Search(request.tol, enough)
    return _Search(FEWEST_UNITS * float(np.finfo(job.data.dtype).eps), enough)


def _flat(p: int) -> str:
    return f"no few directions stand out: {p:,}² of columns are quicker"


class _Found(NamedTuple):
    spectrum: Spectrum
    k: int
    passes: int
    choice: Choice | None = None
    fallbacks: tuple[str, ...] = ()


def _by_row_gram(rows: CentredRows, columns: Columns, count: Count, exponent: int) -> _Found:
    spectrum, passes = row_gram.solve_rows(rows, columns, count.whole)
    k = count(spectrum.times_power(2 * exponent))
    assert k is not None  # all variances that it asks for are known
    return _Found(spectrum, k, passes)


def _by_search(
    job: Job,
    centred: Callable[[Any, Weights], CentredRows],
    rows: CentredRows,
    columns: Columns,
    count: Count,
    exponent: int,
    choice: Choice,
) -> _Found | GivenUp:
    """A search from where one in a sample of many rows leads, unless that shows no use in it."""
    search, step = _search_of(job, rows, choice, count), sample_step(*rows.shape)

    def sample(every: int) -> CentredRows:
        weights = None if job.weights is None else job.weights[::every]
        return centred(job.data[::every].copy(), weights)

    if shares_by_search(job.request.facts(job.data)):
        some = None if step is None else sample(step)
        return _by_share(rows, some, columns, count, exponent, search.tol)
    if search.enough is not None and count.whole and step is not None:
        seen = glimpse(sample(step), count.whole, tol=search.tol, rng=np.random.default_rng(0))
        if search.enough.before(seen.left):
            return GivenUp(0, _flat(columns.p))
        search = search._replace(start=seen.start)
    return _growing(rows, columns, count, exponent, job.request, choice, search)


def _by_share(
    rows: CentredRows,
    sample: CentredRows | None,
    columns: Columns,
    count: Count,
    exponent: int,
    tol: float,
) -> _Found | GivenUp:
    """The components of a fraction, unless they are too many, as a sample may show."""
    p, share = columns.p, count.wanted
    if sample is not None:
        trace = float(columns.column_scatter.sum()) * sample.shape[0] / rows.shape[0]
        if is_hopeless(sample, trace, share, tol=tol):
            why = f"no few directions make up the share: {p:,}² of columns are quicker"
            return GivenUp(0, why)
    spectrum, passes = share_of_rows(rows, columns, share, tol=tol)
    k = None if spectrum is None else count(spectrum.times_power(2 * exponent), complete=False)
    if spectrum is None or k is None:
        return GivenUp(passes, f"the search for the share was given up: {p:,}² columns are quicker")
    return _Found(spectrum, k, passes, fallbacks=(share_found(spectrum.k, p),))


def _growing(
    rows: CentredRows,
    columns: Columns,
    count: Count,
    exponent: int,
    request: Request,
    choice: Choice,
    search: _Search,
) -> _Found | GivenUp:
    """A truncated solver knows the total but not the rest: it grows until the rule is met."""
    most, passes = count.most, 0
    size = min(most, FIRST_GUESS) if count.whole is None else max(count.whole, 1)
    if count.needs_all:
        size = most
    while True:
        spectrum, used = _truncated(rows, columns, size, request, choice, search)
        passes += used
        if spectrum is None:
            n, p = rows.shape
            if n >= p:
                return GivenUp(passes, _flat(p))
            found = _by_row_gram(rows, columns, count, exponent)
            why = f"no few directions stand out: {n:,}² products of rows are quicker"
            return found._replace(
                passes=passes + found.passes,
                choice=choice._replace(solver="row_gram"),
                fallbacks=(why,),
            )
        k = count(spectrum.times_power(2 * exponent), complete=size >= most)
        if k is not None:
            return _Found(spectrum, k, passes)
        size = min(most, 2 * size)


def _truncated(
    rows: CentredRows,
    columns: Columns,
    size: int,
    request: Request,
    choice: Choice,
    search: _Search,
) -> tuple[Spectrum | None, int]:
    """A spectrum of ``size`` components, or none where the search was given up."""
    size = min(size, *rows.shape)  # with weights, more may be wanted than there are rows
    if choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        return lanczos.search_rows(
            rows,
            columns,
            size,
            tol=search.tol,
            rng=rng,
            enough=search.enough,
            start=search.start,
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


def _enough(facts: Facts, choice: Choice, wanted: Any, step: int) -> Patience | None:
    """Tells when a search had better be given up; None where it may not be."""
    if choice.solver != "lanczos" or facts.solver != "auto" or facts.stored is not None:
        return None
    n, p = facts.rows, facts.columns
    k = wanted if isinstance(wanted, int) else FIRST_GUESS
    blocks = wide_block(k, step) / wide_block(1)
    if n < p:
        other, most = choice._replace(solver="row_gram"), ROW_PRODUCTS_SHARE * n / blocks
        lawful = n <= GRAM_ROWS
    else:
        other = after_search(choice, wanted, p)
        lawful = p <= SCATTER_COLUMNS
        most, saved = SCATTER_SHARE * p / blocks, 1.0 - SCATTER_PRODUCT * p / n
        if other.solver == "lanczos" and saved > 0.0:
            # A search goes on in the scatter, where its products take so much less.
            most = min(most, SCATTER_SUM * p / blocks / saved)
    if not lawful or (facts.limit is not None and memory_of(facts, other) > facts.limit):
        return None
    return Patience(most)
