"""The shortest route: a small table in memory, with no options but the number of components."""

from __future__ import annotations

import numpy as np

from princomp.core.fitted import Fitted
from princomp.core.plan import select_route
from princomp.core.problem import Problem
from princomp.core.request import Request, check_wanted
from princomp.core.routes.moments import unresolved
from princomp.kernels import MOST, moments_and_spectrum
from princomp.linalg import EPS, FloatArray
from princomp.solvers import completed, of_small
from princomp.summaries import Moments

# For fewer numbers, the overhead of the general routes matters. Rows that need a general route
# after all have been summed here in vain.
FEW = 2**17
# A smaller total variance of so few columns may have lost digits to underflow.
_TINY = MOST * float(np.finfo(np.float64).tiny)
# Unit roundoff of the products.
_UNITS = {"f": float(np.finfo(np.float32).eps), "d": EPS}
# Without a memory limit, the plans of all tables that are fitted here have the same route.
_CHOICE = select_route(Problem(2, 1, None))


def fit(data: FloatArray, request: Request) -> Fitted | None:
    """Fit rows (n, p) of fewer than ``FEW`` numbers; return None if they need another route.

    For a hundred rows the arithmetic takes a few microseconds, and each call in the general routes
    would take another one.

    Raises
    ------
    NotFiniteError, ShapeError
    """
    wanted, (n, p) = request.n_components, data.shape
    if (
        p > MOST
        or n < p
        or request.solver != "auto"
        or request.scale is not None
        or not (wanted is None or type(wanted) is int)
        or not request.center
        or request.drop
        or request.fill is not None
        or n > Moments.block_rows(p)
    ):
        return None
    found = moments_and_spectrum(data) if n > 1 else None
    if found is None:
        return None
    mean, low, scatter, small = found
    if small.total < _TINY and scatter.any():
        return None  # squares may have underflowed
    summary = Moments(float(n), n, mean, low, scatter, _UNITS[data.dtype.char])
    k = check_wanted(wanted, summary, "auto")
    assert type(k) is int  # since ``wanted`` is a number or None
    spectrum = of_small(small, summary.unit, n, k)
    if unresolved(spectrum, k, summary):
        return None
    dtype = "float64" if summary.unit == EPS else "float32"
    problem = Problem(n, p, wanted, dtype, limit=request.memory)
    return Fitted(
        summary=summary,
        spectrum=completed(spectrum, k),
        k=k,
        scale=None,
        centred=True,
        dtype=data.dtype,
        n_samples=n,
        problem=problem,
        route=_CHOICE if problem.limit is None else select_route(problem),
        passes=1,
        bytes_read=data.nbytes,
    )
