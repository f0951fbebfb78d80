"""The shortest route: a small table in memory, with no options but the number of components."""

from __future__ import annotations

import numpy as np

from princomp.core.context import check_n_components
from princomp.core.fitted import Fitted
from princomp.core.plan import select_route
from princomp.core.problem import Problem
from princomp.core.request import Request
from princomp.core.routes.moments import unresolved
from princomp.kernels import MAX_SMALL_COLUMNS, moments_and_spectrum
from princomp.linalg import EPS, FloatArray
from princomp.solvers import completed, from_small_spectrum
from princomp.summaries import Moments

# For fewer numbers, the overhead of the general routes matters. Rows that need a general route
# after all have been summed here in vain.
MAX_SIZE = 2**17
# With a smaller total variance of so few columns, squares that underflowed may matter: see
# `check_range`.
_MIN_TOTAL = MAX_SMALL_COLUMNS * float(np.finfo(np.float64).tiny) / EPS**2
# Unit roundoff of the products.
_UNIT_ROUNDOFF = {"f": float(np.finfo(np.float32).eps), "d": EPS}
# Without a memory limit, the plans of all tables that are fitted here have the same route.
_CHOICE = select_route(Problem(2, 1, None))


def fit(data: FloatArray, request: Request) -> Fitted | None:
    """Fit rows (n, p) of fewer than ``MAX_SIZE`` numbers; return None if they need another route.

    For a hundred rows the arithmetic takes a few microseconds, and each call in the general routes
    would take another one.

    Raises
    ------
    NotFiniteError, ShapeError
    """
    n_components, (n, p) = request.n_components, data.shape
    if (
        p > MAX_SMALL_COLUMNS
        or n < p
        or request.solver != "auto"
        or request.scale is not None
        or not (n_components is None or type(n_components) is int)
        or not request.center
        or request.drop
        or request.fill is not None
        or request.constant == "drop"
        or n > Moments.block_rows(p)
    ):
        return None
    moments = moments_and_spectrum(data) if n > 1 else None
    if moments is None:
        return None
    mean, mean_low, scatter, small_spectrum = moments
    if small_spectrum.total < _MIN_TOTAL and scatter.any():
        return None  # squares may have underflowed
    summary = Moments(float(n), n, mean, mean_low, scatter, _UNIT_ROUNDOFF[data.dtype.char])
    k = check_n_components(n_components, summary, "auto")
    assert type(k) is int  # since ``n_components`` is a number or None
    spectrum = from_small_spectrum(small_spectrum, summary.unit, n, k)
    if unresolved(spectrum, k, summary):
        return None
    dtype = "float64" if summary.unit == EPS else "float32"
    problem = Problem(n, p, n_components, dtype, memory_limit=request.memory)
    return Fitted(
        summary=summary,
        spectrum=completed(spectrum, k),
        k=k,
        scale=None,
        centred=True,
        dtype=data.dtype,
        n_samples=n,
        problem=problem,
        route=_CHOICE if problem.memory_limit is None else select_route(problem),
        passes=1,
        bytes_read=data.nbytes,
    )
