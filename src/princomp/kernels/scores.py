"""Scores of dense rows on the axes: centred and multiplied in one read of the rows."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from princomp.arrays import LINE, FloatArray, aligned, scratch
from princomp.kernels import native
from princomp.kernels.dense import padded

__all__ = ["scores", "scores_twin"]

# Axes that are larger than about half of a core's second cache are for BLAS to multiply.
_AXES_BYTES = 2**19
# Below this, the way to the kernel takes longer than NumPy's arithmetic.
_FEW_NUMBERS = 2**12
# Rows that the kernel centres at a time, and the bytes that are kept for each, at least.
_STRIP, _APART = 8, 2**10
# Numbers of rows that NumPy centres at a time.
_PIECE_NUMBERS = 2**17

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER, _SIZE, _SIZE, _SIZE, _POINTER, _POINTER, _POINTER, _SIZE, _SIZE,
              _POINTER, _POINTER)  # fmt: skip


def scores(
    rows: FloatArray,
    mean: FloatArray,
    mean_low: FloatArray,
    axes: FloatArray,
    out: FloatArray,
    *,
    instructions: str = "",
) -> None:
    """``((rows − mean) − mean_low) @ axes`` into ``out``, each row by itself.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
        float32 or float64, any strides.
    mean, mean_low : ndarray of shape (p,)
    axes : ndarray of shape (p, k)
    out : ndarray of shape (m, k)
        C-order. All arrays have the precision of the rows.
    instructions : str, optional
        Another instruction set than the one in use.
    """
    m, p = rows.shape
    if m * p < _FEW_NUMBERS and not instructions:
        scores_twin(rows, mean, mean_low, axes, out)
        return
    k, size = axes.shape[1], rows.itemsize
    kernel = _kernel(rows.dtype.char, instructions)
    width = -(-k * size // LINE) * LINE // size
    if kernel is None or p * width * size > _AXES_BYTES or not (m and k):
        scores_twin(rows, mean, mean_low, axes, out)
        return
    rows = native.plain_rows(rows)
    filled = padded(axes, rows.dtype)
    room = aligned((_STRIP, max(p, _APART // size)), rows.dtype)
    mean, mean_low = np.ascontiguousarray(mean), np.ascontiguousarray(mean_low)
    if (
        any(array.dtype != rows.dtype for array in (mean, mean_low, out))
        or not (len(mean) == len(mean_low) == len(axes) == p)
        or out.shape != (m, k)
        or not out.flags.c_contiguous
    ):
        raise ValueError("arrays of other shapes or precisions than the rows")
    kernel(
        rows.ctypes.data,
        m,
        p,
        rows.strides[0] // size,
        mean.ctypes.data,
        mean_low.ctypes.data,
        filled.ctypes.data,
        k,
        width,
        room.ctypes.data,
        out.ctypes.data,
    )


@cache
def _kernel(kind: str, instructions: str) -> Any:
    name = "scores_f64" if kind == "d" else "scores_f32"
    return native.function(name, *_SIGNATURE, instructions=instructions)


def scores_twin(
    rows: FloatArray,
    mean: FloatArray,
    mean_low: FloatArray,
    axes: FloatArray,
    out: FloatArray,
) -> None:
    """The same by NumPy, a cache's worth of rows at a time."""
    step = max(1, _PIECE_NUMBERS // max(rows.shape[1], 1))
    with np.errstate(all="ignore"):  # infinite input is reported by the caller
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            centred = scratch("centred", part.shape, rows.dtype)
            np.subtract(part, mean, out=centred)
            centred -= mean_low
            np.matmul(centred, axes, out=out[start : start + step])
