"""As many of the largest pairs of a scatter as a share of its trace takes, unknown beforehand.

Block Lanczos as in :mod:`~princomp.solvers.lanczos`, whose space grows until the Ritz values that
make up the share have met their residuals. Ritz values are no larger than eigenvalues, so what
looks like enough is; where it takes too many, a decomposition of the whole is quicker.
"""

from __future__ import annotations

import numpy as np

from princomp.arrays import EPS, FloatArray, eigh
from princomp.solvers.bases import orthonormal, swept
from princomp.solvers.dense import roundoff_of_products
from princomp.solvers.lanczos import longest, next_block
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.solvers.scatter_search import products_with, unit_trace
from princomp.spectrum import Spectrum
from princomp.summaries import Moments

__all__ = ["FEWEST_COLUMNS", "solve_share"]

# Below so many columns LAPACK finds all pairs as quickly.
FEWEST_COLUMNS = 1000
# Vectors of a block, and the space after which LAPACK is quicker, as a share of the columns.
_BLOCK, _LARGEST_SPACE = 16, 0.2
# The space needs so many vectors for each pair that is found in it, at least.
_FOR_EACH = 1.5
# The space grows by this before the next look, which is a decomposition of its projection.
_GROWTH = 1.3


def solve_share(moments: Moments, share: float) -> Spectrum | None:
    """The pairs whose sum first exceeds a share of the trace; None where they are too many.

    Parameters
    ----------
    moments : Moments
    share : float
        In (0, 1).
    """
    p, scatter = moments.p, moments.scatter
    trace = float(scatter.trace())
    room = int(_LARGEST_SPACE * p)
    if not trace > 0 or room < 2 * _BLOCK:
        return None
    size = unit_trace(moments)
    product = products_with(scatter, size)
    wanted = share * trace / size
    rng = np.random.default_rng(0)
    basis, projected = np.empty((room, p)), np.zeros((room, room))
    block = orthonormal(rng.standard_normal((_BLOCK, p)))
    filled, look = 0, 4 * _BLOCK
    while True:
        stop = filled + len(block)
        basis[filled:stop] = block
        known = basis[:stop]
        image, coupling = swept(product(block.T).T, known, "swept once")
        projected[:stop, filled:stop] = coupling
        projected[filled:stop, :stop] = coupling.T
        before, whole = longest(image), longest(coupling.T)
        image, _ = swept(image, known, "swept")  # twice is enough (Kahan; Parlett 1998)
        full = stop + _BLOCK > room
        if stop >= look or full:
            look = int(_GROWTH * stop)
            values, inner = eigh(projected[:stop, :stop])
            k = _fewest(values, wanted)
            if k is None and values[0] * room / _FOR_EACH < wanted:
                return None
            if k is not None:
                residuals = np.linalg.norm(inner[:k, filled:stop] @ image, axis=1) / values[0]
                if residuals.max() <= FEWEST_UNITS * EPS:
                    return _found(moments, values[:k] * size, inner[:k] @ known, residuals)
        if full:
            return None
        needed, rounding = before * EPS, EPS * max(before, whole)
        block = next_block(image, known, rng, min(_BLOCK, room - stop), needed, rounding)
        filled = stop


def _found(
    moments: Moments, values: FloatArray, vectors: FloatArray, residuals: FloatArray
) -> Spectrum:
    divisor = moments.rows - 1.0
    variances = np.maximum(values, 0.0) / divisor
    variances[moments.rank_limit :] = 0.0
    total = float(moments.scatter.trace()) / divisor
    error = roundoff_of_products(moments.p, moments.unit, total, float(variances[0]))
    return Spectrum(variances, orthonormal(vectors), total, error, residuals=residuals)


def _fewest(values: FloatArray, wanted: float) -> int | None:
    passed = np.flatnonzero(np.cumsum(np.maximum(values, 0.0)) > wanted)
    return int(passed[0]) + 1 if passed.size else None
