"""Largest pairs of a scatter in memory, by :func:`~princomp.solvers.lanczos.lanczos`.

A product with the scatter costs as much as reading it, so for thousands of columns, a search with
a few dozen blocks is faster than a decomposition. If it would be slower, it is abandoned.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from princomp.kernels import Affine, forward, padded
from princomp.linalg import EPS, FloatArray, Operator, empty, for_each, search_rng, slices
from princomp.solvers.dense import roundoff_of_products
from princomp.solvers.lanczos import lanczos_without_constants
from princomp.solvers.ritz import FEWEST_UNITS, spectrum_of, without_variance
from princomp.solvers.search import Pairs
from princomp.solvers.spectrum import Spectrum
from princomp.solvers.stopping import AbandonRule
from princomp.summaries import Moments

# A block has _BLOCK vectors for every _AXES_PER_BLOCK axes, and the search space has room for
# _ROOM. At p = 2,000 and k = 10, for 20,000 rows of noise, blocks of 8 and 16 take 59 and 43
# products of 3.2 and 3.5 ms; spaces of 512 and 1,024 vectors need fewer products, but take longer.
_BLOCK, _AXES_PER_BLOCK, _ROOM = 16, 32, 256
# Rows of the scatter that a thread multiplies at a time.
_SPAN = 512
# Share of the unit roundoff of products that remains, about, in a sum over thousands of chunks.
_REMAINING_ROUNDOFF = 1 / 16
# A search is abandoned if its forecast is more than MAX_PRODUCTS_SHARE · p further products, and
# fewer below _LARGE columns, in proportion to p². At p = 2,000, a decomposition takes as long as 80
# (AVX-512) or 50 products (AVX2, two threads). The limit is 100, because forecasts are too high:
# for noise after 25 products, 38 in float32 and 108 in float64, where 30 and 76 are left. At 1,000
# and 1,400, it takes as long as 30 and 50.
MAX_PRODUCTS_SHARE, _LARGE = 1 / 20, 2_000
# Below _LARGE columns, no search is tried if the mean square of the eigenvalues is at most _FLAT +
# p/n times the square of their mean: it is 1 + p/n for noise, and 1.1 + p/n for variances i^-¼ of
# columns, for which a search takes half to three quarters of the time.
_FLAT = 1.05


def search_scatter(
    moments: Moments, k: int, *, tol: float = 0.0, patient: bool = True
) -> Spectrum | None:
    """Compute the top ``k`` of a scatter.

    Parameters
    ----------
    moments : Moments
    k : int
    tol : float
        Largest residual; see :func:`~princomp.solvers.lanczos.lanczos`. 0 means the unit roundoff,
        or the error of the scatter if that is larger.
    patient : bool
        If False, return None if a decomposition would be faster.
    """
    p, trace = moments.p, float(moments.scatter.trace())
    scale = trace_scale(trace)
    if not scale:
        return without_variance(k, p, moments.effective_unit)
    if not patient and p < _LARGE and _is_flat(moments):
        return None
    width = min(p, _BLOCK * -(-k // _AXES_PER_BLOCK))
    rng = search_rng()
    pairs = lanczos_without_constants(
        products_with(moments.scatter, scale),
        moments.column_scatter,
        k,
        tol=max(tol, FEWEST_UNITS * EPS, _REMAINING_ROUNDOFF * moments.unit),
        rng=rng,
        start=rng.standard_normal((p, width)),
        max_vectors=max(6 * k, _ROOM),
        trace=trace / scale,
        abandon=None if patient else AbandonRule(MAX_PRODUCTS_SHARE * p * min(1.0, p / _LARGE)),
    )
    if not pairs.converged:
        return None
    return spectrum_of_scatter(pairs, moments, scale, np.ascontiguousarray(pairs.vectors.T))


def _is_flat(moments: Moments) -> bool:
    """Whether the variances differ as little as those of noise."""
    # BLAS computes the norm without squares that overflow or underflow.
    share = scipy.linalg.norm(moments.scatter.ravel(), check_finite=False) / moments.scatter.trace()
    return bool(share**2 * moments.p < _FLAT + moments.p / moments.rows)


def spectrum_of_scatter(pairs: Pairs, moments: Moments, scale: float, axes: FloatArray) -> Spectrum:
    """Return the spectrum from the pairs of a scatter that was divided by ``scale``."""
    divisor = moments.rows - 1.0
    total, first = float(moments.scatter.trace()) / divisor, float(pairs.values[0])
    error = roundoff_of_products(
        moments.p, moments.effective_unit, total, first / divisor * scale, moments.count
    )
    return spectrum_of(pairs, moments, total, error, axes=axes, scale=scale)


def trace_scale(trace: float) -> float:
    """Return a power of two near the trace, to keep squares of large or tiny numbers in range.

    Zero if there is no variance.
    """
    return float(2.0 ** min(np.frexp(trace)[1], 1023)) if trace > 0 else 0.0


def products_with(scatter: FloatArray, scale: float) -> Operator:
    """Return a function that multiplies vectors (p, m) by ``scatter / scale``, on all threads."""
    rows = Affine(scatter)
    spans = slices(len(scatter), _SPAN)

    def product(vectors: FloatArray) -> FloatArray:
        right, width = padded(vectors, scatter.dtype), vectors.shape[1]
        out: FloatArray = empty((len(right), width))

        def work(span: slice) -> None:
            np.divide(forward(rows.part(span), right)[:, :width], scale, out=out[span])

        for_each(work, spans, None if len(spans) > 1 else 1)
        return out

    return product
