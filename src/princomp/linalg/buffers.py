"""Memory for arrays: aligned to cache lines, reused from one block of rows to the next."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from sys import getrefcount
from threading import local
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from princomp.linalg.arrays import FloatArray

# Bytes of a cache line.
LINE = 64
# Bytes of arrays that ``scratch`` keeps: smaller ones are allocated quickly enough. Two of a name
# are kept: one may still be read while the next is written.
_FEW_BYTES, _SCRATCH, _KEPT = 2**16, 2**24, 2
_of_thread = local()
# For tests: fill new and reused memory with NaN, and integers with this byte, so that what is read
# before it was written shows in the results.
FILL = os.environ.get("PRINCOMP_FILL_EMPTY", "") not in ("", "0")
_PATTERN = b"\xa5"


def unwritten(array: FloatArray) -> FloatArray:
    """Fill an array that is about to be written with a pattern, if FILL is set; return it."""
    if FILL and array.dtype.kind in "fc":
        array.fill(np.nan)
    elif FILL and array.dtype.kind in "iu":
        array.fill(np.frombuffer(_PATTERN * array.itemsize, array.dtype)[0])
    return array


def _filled_empty(
    shape: int | tuple[int, ...], dtype: DTypeLike = float, order: Literal["C", "F"] = "C"
) -> FloatArray:
    return unwritten(np.empty(shape, dtype, order))


# ``numpy.empty``, filled if FILL is set.
empty: Callable[..., FloatArray] = _filled_empty if FILL else np.empty


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
    """Return an uninitialised array that begins at a cache line.

    NumPy's begin anywhere, and reading a vector across two lines takes twice as long: products of
    dense rows take up to twice the time.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % LINE
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return unwritten(array) if FILL else array


def _references(known: tuple[FloatArray, int]) -> int:
    """Reference count of some memory: every array in it is one more."""
    return getrefcount(known[0])


# The references of the tuple and of the call itself.
_UNUSED = _references((np.empty(0, np.uint8), 0))


def scratch(
    name: str, shape: tuple[int, ...], dtype: DTypeLike, *, most: int = _SCRATCH
) -> FloatArray:
    """Return an uninitialised :func:`aligned` array, in memory that this thread reuses.

    Memory that returns to the system between blocks costs more, page by page, than the arithmetic
    on it. So each thread keeps the last arrays of each name, and reuses one once no view of it
    exists: the holder of an array owns it.

    Parameters
    ----------
    name : str
        The purpose: arrays of one purpose have similar sizes.
    shape, dtype
    most : int
        Larger arrays, in bytes, are not kept.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not _FEW_BYTES < size <= most:
        return aligned(shape, dtype)
    kept: list[tuple[FloatArray, int]] = _of_thread.__dict__.setdefault(name, [])
    for known in kept:
        if _references(known) == _UNUSED and known[0].nbytes >= size + LINE:
            memory, start = known
            break
    else:
        memory = np.empty(size + LINE, np.uint8)
        start = -memory.__array_interface__["data"][0] % LINE
        kept[:] = [(memory, start), *kept[: _KEPT - 1]]
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return unwritten(array) if FILL else array
