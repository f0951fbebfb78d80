"""Routes that multiply rows in memory: row Gram, Lanczos and randomized."""

from __future__ import annotations

import numpy as np

from princomp.choosing import check_wanted, most_components, resolve
from princomp.fitted import prepared
from princomp.fitting.job import Job, Solved, safe_divisor
from princomp.parameters import Request
from princomp.planning import Choice
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
    most = most_components(columns)
    wanted = check_wanted(request.n_components, columns, request.solver)
    if choice.solver == "row_gram":
        spectrum = row_gram.solve_rows(rows, ready, wanted if isinstance(wanted, int) else None)
        k = resolve(wanted, spectrum, columns.rows, most)
        assert k is not None  # all variances are known
        spectrum = completed(spectrum, k).times_power(2 * exponent)
        return Solved(spectrum, k, columns, scale, choice, passes + 5)
    # A truncated solver knows the total but not the rest: it grows until the rule is met.
    size = max(wanted, 1) if isinstance(wanted, int) else min(most, FIRST_GUESS)
    while True:
        spectrum, used = _truncated(rows, ready, size, request, choice)
        passes += used
        k = resolve(wanted, spectrum, columns.rows, most, complete=size >= most)
        if k is not None:
            spectrum = completed(spectrum, k).times_power(2 * exponent)
            return Solved(spectrum, k, columns, scale, choice, passes)
        size = min(most, 2 * size)


def _truncated(
    rows: CentredRows, columns: Columns, size: int, request: Request, choice: Choice
) -> tuple[Spectrum, int]:
    size = min(size, *rows.shape)  # with weights, more may be wanted than there are rows
    if choice.solver == "lanczos":
        rng = np.random.default_rng(0)
        return lanczos.solve_rows(rows, columns, size, tol=request.tol, rng=rng)
    return randomized.solve_rows(
        rows,
        columns,
        size,
        n_oversamples=request.n_oversamples,
        iterated_power=request.iterated_power,
        power_iteration_normalizer=request.power_iteration_normalizer,
        random_state=request.random_state,
    )
