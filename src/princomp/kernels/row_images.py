"""Products of dense rows with vectors as long as there are rows, there and back, in one read."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from princomp.arrays import LINE, FloatArray, scratch
from princomp.kernels import native
from princomp.kernels.dense import Affine, backward, check, empty_scores, filled_scores, forward

__all__ = ["row_images"]

# Bytes of a tile of columns in all rows, which stays in the second cache while it is met twice,
# and in each row at most and at least: 1,000 × 20,000 float32 takes 14 instead of 17 ms, and more
# rows in shorter pieces take longer.
_ROOM, _LONGEST, _SHORTEST = 2**19, 2**10, 2**9

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER,) + (_SIZE,) * 3 + (_POINTER,) * 6 + (_SIZE,) * 2 + (_POINTER,) * 5


def row_images(
    rows: Affine,
    left: FloatArray,
    *,
    low: FloatArray | None = None,
    instructions: str = "",
) -> tuple[FloatArray, FloatArray]:
    """A (Aᵀ Y − low (rᵀ Y)) in the precision of A, and the sums lowᵀ (the same).

    Parameters
    ----------
    rows : Affine of shape (m, p)
        A; r are its roots, or ones.
    left : ndarray of shape (m, w)
        Y, :func:`padded`, in the precision of A.
    low : ndarray of shape (p,), optional
        float64.
    instructions : str, optional
        As for :func:`images`.

    Returns
    -------
    product : ndarray of shape (m, w)
    sums : ndarray of shape (w,)
        In float64.
    """
    m, w = len(left), left.shape[1]
    check(rows, left, m)
    rooted = left if rows.roots is None else left * rows.roots[:, None]
    summed = rooted.sum(axis=0, dtype=np.float64)
    tile = min(_ROOM // max(m, 1), _LONGEST) // LINE * LINE
    met = tile >= _SHORTEST
    kernel = rows.kernel(_function, "row_pass", instructions) if met else None
    if kernel is None:
        return _one_after_the_other(rows, left, low, summed, instructions)
    given = filled_scores(rows, left)
    product, sums = empty_scores(rows, left), np.zeros(w)
    _call(kernel, rows, given, low, summed, tile // rows.dtype.itemsize, product, sums)
    return product[:m], sums


def _one_after_the_other(
    rows: Affine,
    left: FloatArray,
    low: FloatArray | None,
    summed: FloatArray,
    instructions: str,
) -> tuple[FloatArray, FloatArray]:
    """The same in two reads of the rows."""
    shape = (rows.shape[1], left.shape[1])
    weights = scratch("row weights", shape, np.float64)
    weights[:] = 0.0
    backward(rows, left, weights, instructions=instructions)
    sums = np.zeros(left.shape[1])
    if low is not None:
        weights -= np.outer(low, summed)
        sums = low @ weights
    narrow = weights
    if rows.dtype != np.float64:
        narrow = scratch("row part", shape, rows.dtype)
        narrow[:] = weights
    return forward(rows, narrow, instructions=instructions), sums


def _call(
    kernel: Any,
    rows: Affine,
    given: FloatArray,
    low: FloatArray | None,
    summed: FloatArray,
    tile: int,
    product: FloatArray,
    sums: FloatArray,
) -> None:
    (m, p), w, size = rows.shape, given.shape[1], rows.dtype.itemsize
    room = scratch("row room", (len(given), tile), rows.dtype)
    part = scratch("row part", (tile, w), rows.dtype)
    weights = scratch("row weights", (tile, w), np.float64)
    arrays = [
        None if one is None else np.ascontiguousarray(one)
        for one in (rows.high, rows.divisor, rows.roots, given, low, summed)
    ]
    kernel(
        rows.data.ctypes.data,
        m,
        p,
        rows.data.strides[0] // size,
        *(native.address(one) for one in arrays),
        w,
        tile,
        *(native.address(one) for one in (room, part, weights, product, sums)),
    )


@cache
def _function(name: str, instructions: str) -> Any:
    return native.function(name, *_SIGNATURE, instructions=instructions)
