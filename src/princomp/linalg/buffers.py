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
CACHE_LINE = 64
# ``scratch`` keeps arrays of more than _FEW_BYTES (smaller ones are quick to allocate) and up to
# _MAX_BYTES bytes, and _KEPT_ARRAYS of each name: one may still be read while the next is written.
_FEW_BYTES, _MAX_BYTES, _KEPT_ARRAYS = 2**16, 2**24, 2
_memory_of_thread = local()
# For tests: fill new and reused memory with NaN, and integers with _PATTERN, so that reading memory
# before it is written shows in the results.
FILL = os.environ.get("PRINCOMP_FILL_EMPTY", "") not in ("", "0")
_PATTERN = b"\xa5"


def mark_unwritten(array: FloatArray) -> FloatArray:
    """Return an array that is not yet written, filled with a test pattern if FILL is set."""
    if FILL and array.dtype.kind in "fc":
        array.fill(np.nan)
    elif FILL and array.dtype.kind in "iu":
        array.fill(np.frombuffer(_PATTERN * array.itemsize, array.dtype)[0])
    return array


def _filled_empty(
    shape: int | tuple[int, ...], dtype: DTypeLike = float, order: Literal["C", "F"] = "C"
) -> FloatArray:
    return mark_unwritten(np.empty(shape, dtype, order))


# ``numpy.empty``, filled if FILL is set.
empty: Callable[..., FloatArray] = _filled_empty if FILL else np.empty


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> FloatArray:
    """Return an uninitialised array that begins at a cache line.

    NumPy arrays may begin anywhere, and reading a SIMD vector across two lines takes twice as long:
    products of dense rows would take up to twice the time.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % CACHE_LINE
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return mark_unwritten(array) if FILL else array


def _references(entry: tuple[FloatArray, int]) -> int:
    """Reference count of the memory: every array that uses it adds one."""
    return getrefcount(entry[0])


# The count if no array uses the memory: references of the tuple and of the call itself.
_UNUSED = _references((np.empty(0, np.uint8), 0))


def scratch(
    name: str, shape: tuple[int, ...], dtype: DTypeLike, *, max_bytes: int = _MAX_BYTES
) -> FloatArray:
    """Return an uninitialised :func:`aligned` array, in memory that this thread reuses.

    If memory were returned to the system between blocks, its page faults would take longer than the
    arithmetic on it. So each thread keeps the latest memory of each name, and reuses it once no
    array refers to it: whoever holds an array owns it.

    Parameters
    ----------
    name : str
        The purpose. Arrays of the same purpose should have similar sizes.
    shape, dtype
        Shape and dtype of the array.
    max_bytes : int
        Arrays of more bytes are not kept.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not _FEW_BYTES < size <= max_bytes:
        return aligned(shape, dtype)
    kept: list[tuple[FloatArray, int]] = _memory_of_thread.__dict__.setdefault(name, [])
    for entry in kept:
        if _references(entry) == _UNUSED and entry[0].nbytes >= size + CACHE_LINE:
            memory, start = entry
            break
    else:
        memory = np.empty(size + CACHE_LINE, np.uint8)
        start = -memory.__array_interface__["data"][0] % CACHE_LINE
        kept[:] = [(memory, start), *kept[: _KEPT_ARRAYS - 1]]
    array: FloatArray = memory[start : start + size].view(dtype).reshape(shape)
    return mark_unwritten(array) if FILL else array
