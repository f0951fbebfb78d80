"""Products of dense rows with vectors as long as there are rows, there and back, in one read."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, scratch
from princomp.kernels import native
from princomp.kernels.dense import (
    TILE,
    Affine,
    backward,
    check,
    check_strips,
    empty_scores,
    filled_scores,
    forward,
)

__all__ = ["row_images"]

# Bytes of tiles of all rows that the kernel centres at a time, at most. On two cores 1,000 × 20,000
# takes 1.4 (float64) and 1.2 times as long in tiles of half that width, and 2,000 × 20,000 1.3 and
# 1.2 times as long in two reads; 4,000 × 12,000 is where reading twice is as quick.
_ROOM = 2**22

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER,) + (_SIZE,) * 3 + (_POINTER,) * 6 + (_SIZE,) + (_POINTER,) * 5


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
    met = m * TILE <= _ROOM
    kernel = rows.kernel(_function, "row_pass", instructions) if met else None
    if kernel is None:
        return _one_after_the_other(rows, left, low, summed, instructions)
    given = filled_scores(rows, left)
    product, sums = empty_scores(rows, left), np.zeros(w)
    _call(kernel, rows, given, low, summed, product, sums)
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
    product: FloatArray,
    sums: FloatArray,
) -> None:
    (m, p), w, size = rows.shape, given.shape[1], rows.dtype.itemsize
    tile = TILE // size
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
        *(native.address(one) for one in (room, part, weights, product, sums)),
    )


@cache
def _function(name: str, instructions: str) -> Any:
    check_strips(instructions)
    return native.function(name, *_SIGNATURE, instructions=instructions)
