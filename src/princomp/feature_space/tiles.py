"""Something done to each tile of a kernel matrix between rows and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from princomp.arrays import FloatArray, empty, one_blas_thread
from princomp.kernel_functions import KernelFunction
from princomp.kernel_functions.function import Sides
from princomp.threads import in_order

__all__ = ["by_tiles"]

# Numbers of a tile: 2 MB of float64 stay in a core's cache; and from how many on there are threads.
_TILE, _THREADS_PAY = 2**18, 2**18


def by_tiles(
    function: KernelFunction,
    rows: Any,
    points: Sides,
    of: Callable[[FloatArray], FloatArray],
    width: int,
    dtype: Any = None,
) -> FloatArray:
    """``of`` each tile (a, m) of the kernel of rows with points, as an array (n, width).

    Parameters
    ----------
    function : KernelFunction
    rows : array or CSR array of shape (n, p)
    points : Sides
        Of the m points.
    of : callable
        Of a tile that it may write to; called from several threads.
    width : int
    dtype : numpy dtype, optional
        Of tiles and results; that of the rows by default.
    """
    dtype = dtype or rows.dtype
    n, m = rows.shape[0], len(points)
    out = empty((n, width), dtype=dtype)
    step = max(1, _TILE // max(m, 1))

    def fill(start: int) -> None:
        tile = function.tile(function.sides(rows[start : start + step]), points, dtype)
        out[start : start + step] = of(tile)

    # On one BLAS thread each, so that the bits do not depend on how many there are.
    with one_blas_thread():
        for _ in in_order(fill, range(0, n, step), 1 if n * m < _THREADS_PAY else None):
            pass
    return out
