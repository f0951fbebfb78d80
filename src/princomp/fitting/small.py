"""The shortest way of a fit: a few numbers in memory, and nothing asked but components."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import EPS
from princomp.choosing import check_wanted
from princomp.fitted import Fitted
from princomp.fitting.job import Job, Solved
from princomp.fitting.scatter import refined, unresolved
from princomp.kernels.eigen import MOST, moments_and_spectrum
from princomp.parameters import Request
from princomp.planning import Facts, choose
from princomp.solvers.dense import of_small
from princomp.solvers.null_space import completed
from princomp.summaries import Moments

__all__ = ["fit_small"]

# Numbers below which what the general way does besides shows. Rows that need it after all were
# summed in vain here.
_FEW = 2**17
# Total variances that any of so few columns with digits left exceeds.
_TINY = MOST * float(np.finfo(np.float64).tiny)
# Unit roundoff of the products.
_UNITS = {"f": float(np.finfo(np.float32).eps), "d": EPS}


def fit_small(data: Any, request: Request) -> Fitted | None:
    """Fit rows (n, p) that all count once, or None where they need the general way.

    Of a hundred rows the arithmetic takes a few microseconds, and each call on the general way
    is one more.

    Raises
    ------
    NotFiniteError, ShapeError
    """
    if type(data) is not np.ndarray:
        return None
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
        or n * p >= _FEW
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
    assert type(k) is int  # as what was wanted is
    spectrum = of_small(small, summary.unit, n, k)
    dtype = "float64" if summary.unit == EPS else "float32"
    facts = Facts(n, p, wanted, dtype, limit=request.memory)
    solved = Solved(spectrum, k, summary, None, choose(facts), 1)
    if unresolved(spectrum, k, summary):
        solved = refined(Job(data, None, request, None, None), solved)
    else:
        solved = solved._replace(spectrum=completed(spectrum, k))
    return Fitted(
        summary=solved.summary,
        spectrum=solved.spectrum,
        k=k,
        scale=None,
        centred=True,
        dtype=data.dtype,
        n_samples=n,
        facts=facts,
        choice=solved.choice,
        fallbacks=solved.fallbacks,
        passes=solved.passes,
        bytes_read=solved.passes * data.nbytes,
    )
