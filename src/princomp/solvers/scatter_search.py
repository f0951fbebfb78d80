"""The first pairs of a scatter that is in memory, by :func:`~princomp.solvers.lanczos.lanczos`.

A product with the scatter costs as much as reading it, so a search of a few dozen blocks takes
less than a decomposition of thousands of columns; where it would take more, it is given up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from princomp.arrays import EPS, FloatArray, empty
from princomp.kernels.dense import Affine, forward, padded
from princomp.solvers.dense import roundoff_of_products
from princomp.solvers.forecast import Patience
from princomp.solvers.lanczos import lanczos_without_constants
from princomp.solvers.ritz import FEWEST_UNITS, without_variance
from princomp.spectrum import Spectrum
from princomp.summaries import Moments
from princomp.threads import in_order

__all__ = ["products_with", "solve_few", "unit_trace"]

# Vectors of a block for so many axes, and of the space. At p = 2,000 and k = 10, blocks of 8 and
# 16 take 59 and 43 products on the noise of 20,000 rows, which take 3.2 and 3.5 ms each; spaces of
# 512 and 1,024 vectors save products and take longer.
_BLOCK, _FOR_AXES, _ROOM = 16, 32, 256
# Rows of the scatter that a thread multiplies at a time.
_SPAN = 512
# Of the roundoff of products this share is left in a sum of thousands of chunks, about.
_LOST = 1 / 16
# A decomposition takes 0.55 s at p = 2,000, as long as 120 to 170 products: a search that foretells
# more than this share of p is given up.
_PATIENCE = 1 / 10


def solve_few(
    moments: Moments, k: int, *, tol: float = 0.0, patient: bool = True
) -> Spectrum | None:
    """The top ``k`` of a scatter.

    Parameters
    ----------
    moments : Moments
    k : int
    tol : float
        When the search may end, see :func:`~princomp.solvers.lanczos.lanczos`; 0 is roundoff,
        or what the sums of the scatter have lost.
    patient : bool
        False: None is the answer where a decomposition would be quicker.
    """
    p, divisor = moments.p, moments.rows - 1.0
    size = unit_trace(moments)
    if not size:
        return without_variance(k, p, moments.effective_unit)
    width = min(p, _BLOCK * -(-k // _FOR_AXES))
    rng = np.random.default_rng(0)
    pairs = lanczos_without_constants(
        products_with(moments.scatter, size),
        moments.column_scatter,
        k,
        tol=max(tol, FEWEST_UNITS * EPS, _LOST * moments.unit),
        rng=rng,
        start=rng.standard_normal((p, width)),
        room=max(6 * k, _ROOM),
        trace=float(moments.scatter.trace()) / size,
        enough=None if patient else Patience(_PATIENCE * p),
    )
    if not pairs.converged:
        return None
    values = np.maximum(pairs.values, 0.0) / divisor * size
    values[moments.rank_limit :] = 0.0
    total = float(moments.scatter.trace()) / divisor
    error = roundoff_of_products(p, moments.effective_unit, total, float(values[0]), moments.count)
    axes, away = np.ascontiguousarray(pairs.vectors.T), pairs.residuals / pairs.values[0]
    return Spectrum(values, axes, total, error, residuals=away, missed=pairs.missed)


def unit_trace(moments: Moments) -> float:
    """A power of two near the trace, which keeps squares of large or tiny numbers in range.

    Zero where there is no variance.
    """
    trace = float(moments.scatter.trace())
    return float(2.0 ** np.frexp(trace)[1]) if trace > 0 else 0.0


def products_with(scatter: FloatArray, size: float) -> Callable[[FloatArray], FloatArray]:
    """What maps vectors (p, m) to their product with ``scatter / size``, some rows a thread."""
    rows = Affine(scatter)
    spans = [slice(at, at + _SPAN) for at in range(0, len(scatter), _SPAN)]

    def product(vectors: FloatArray) -> FloatArray:
        right, width = padded(vectors, scatter.dtype), vectors.shape[1]
        out: FloatArray = empty((len(right), width))

        def work(span: slice) -> None:
            np.divide(forward(rows.part(span), right)[:, :width], size, out=out[span])

        for _ in in_order(work, spans, None if len(spans) > 1 else 1):
            pass
        return out

    return product
