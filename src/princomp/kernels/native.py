"""The compiled kernels, where there are any, and the choice among their instruction sets.

The library is plain C behind :mod:`ctypes`, which releases the GIL for each call. It is
compiled when the package is installed; where no compiler was there, or another one than
GCC or Clang, every kernel has a NumPy twin that takes its place.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MissingLibraryError, ParameterError

__all__ = [
    "address",
    "check_sizes",
    "function",
    "instruction_sets",
    "name_in_use",
    "plain_rows",
    "plain_weights",
    "tell_once",
]

# What each answers: the codes of kernels.hpp.
DONE, NOT_FINITE, LEFT_RANGE, NO_MEMORY = range(4)

# As installed, and as built beside the sources by an editable installation.
_FILES = ("kernels.native", "kernels.inplace")
# In the order of princomp_supported(): a processor runs the ones up to its number.
_SETS = ("plain", "avx2", "avx512")
# The user's word: one of the sets, or "numpy" for the twins.
_VARIABLE = "PRINCOMP_KERNEL"


@cache
def _library() -> ctypes.CDLL | None:
    for name in _FILES:
        path = Path(__file__).with_name(name)
        if path.exists():
            try:
                return ctypes.CDLL(str(path))
            except OSError:  # of another processor or system, say in a shared home folder
                continue
    return None


@cache
def instruction_sets() -> tuple[str, ...]:
    """Those that this machine can run, the quickest last; none where nothing was compiled."""
    library = _library()
    if library is None:
        return ()
    return tuple(
        name
        for name in _SETS[: library.princomp_supported() + 1]
        if hasattr(library, f"princomp_{name}_moments_f64")
    )


@cache
def name_in_use() -> str:
    """The instruction set in use, or "numpy".

    Raises
    ------
    ParameterError
        When the environment asks for one that is not here.
    """
    there = instruction_sets()
    asked = os.environ.get(_VARIABLE, "")
    if not asked:
        return there[-1] if there else "numpy"
    if asked not in (*there, "numpy"):
        raise ParameterError(
            f"{_VARIABLE}={asked!r} is not among the kernels of this machine",
            place={"parameter": _VARIABLE},
            hint=f"choose one of {', '.join((*there, 'numpy'))}, or unset it",
        )
    return asked


def function(name: str, *types: Any, instructions: str = "") -> Callable[..., int] | None:
    """A compiled kernel, or None where its twin is to be used.

    Parameters
    ----------
    name : str
        Without ``princomp_`` and the instruction set.
    types : ctypes types
        Of its arguments.
    instructions : str, optional
        Another set than the one in use.
    """
    chosen = instructions or name_in_use()
    library = _library()
    if library is None or chosen == "numpy":
        return None
    found: Callable[..., int] = library[f"princomp_{chosen}_{name}"]
    found.argtypes = types  # type: ignore[attr-defined]
    return found


@cache
def check_sizes(name: str, expected: tuple[int, ...], instructions: str = "") -> None:
    """Refuse a library whose kernels take buffers of other sizes than this module makes.

    Parameters
    ----------
    name : str
        Of what ``PRINCOMP_SIZES`` exports.
    expected : tuple of int
        The sizes in its order.
    instructions : str, optional
        As for :func:`function`.

    Raises
    ------
    MissingLibraryError
    """
    found = (ctypes.c_ssize_t * 8)()
    try:
        sizes = function(name, ctypes.c_void_p, ctypes.c_ssize_t, instructions=instructions)
        if sizes is None:
            return
        count = sizes(ctypes.addressof(found), len(found))
    except AttributeError:  # a library from before the sizes were exported
        count = 0
    if tuple(found[:count]) != expected:
        raise MissingLibraryError(
            f"the compiled kernels belong to another version of princomp: {name} are "
            f"{list(found[:count])}, and {list(expected)} are expected",
            hint="reinstall princomp, so that its kernels are compiled again; "
            f"{_VARIABLE}=numpy works without them",
        )


def address(array: NDArray[Any] | None, first: int = 0) -> int | None:
    """Where an array lies, from this row on; null for none."""
    if array is None:
        return None
    try:
        # A third of the time of what NumPy offers, but not for arrays that are read-only, cut or
        # empty.
        at = ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        at = int(array.ctypes.data)
    return at + first * array.strides[0] if first else at


def plain_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows; a copy unless the numbers of each lie side by side, as this machine has them."""
    size = rows.itemsize
    step, across = rows.strides
    lawful = (across == size or rows.shape[1] == 1) and step % size == 0
    if lawful and rows.flags.aligned and rows.dtype.isnative:
        return rows
    return np.array(rows, dtype=rows.dtype.newbyteorder("="), order="C")


def plain_weights(weights: NDArray[Any], rows: int) -> NDArray[Any]:
    """One float64 a row, side by side."""
    plain = np.ascontiguousarray(weights, dtype=np.float64)
    if plain.shape != (rows,):
        raise ValueError(f"{plain.shape} weights for {rows} rows")
    return plain


@cache
def tell_once() -> None:
    """Say, once a process, that large work goes on without the compiled kernels."""
    if name_in_use() == "numpy" and not os.environ.get(_VARIABLE):
        logging.getLogger("princomp").warning(
            "princomp runs without its compiled kernels, two to four times slower on large "
            "tables: no compiler for them was there when it was installed. With GCC or Clang: "
            "pip install --force-reinstall --no-binary princomp princomp; "
            "%s=numpy silences this.",
            _VARIABLE,
        )
