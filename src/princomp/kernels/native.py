"""The compiled library and the choice among its instruction sets.

The library has a C interface and is called through :mod:`ctypes`, which releases the GIL. It is
compiled when the package is installed, if GCC or Clang is available; otherwise NumPy does the work
of its kernels.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MissingLibraryError, ParameterError
from princomp.kernels.signatures import SIGNATURES, SIZES
from princomp.linalg import Weights

# Return codes of the kernels, as in kernels.hpp.
DONE, NOT_FINITE, LEFT_RANGE, NO_MEMORY = range(4)

# File names of the library: as installed, and as built in place by an editable installation.
_LIBRARY_FILES = ("kernels.native", "kernels.inplace")
# Instruction sets, from oldest to newest: a processor can run those up to the index that
# princomp_supported() returns.
_INSTRUCTION_SETS = ("plain", "avx2", "avx512")
# Environment variable that selects one of the sets, or "numpy".
_VARIABLE = "PRINCOMP_KERNEL"
# Takes the arguments listed in SIGNATURES, and returns one of the codes above.
Kernel: TypeAlias = Callable[..., int]


_ARGUMENT_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_ssize_t, "d": ctypes.c_double}


def _address(array: NDArray[Any] | None) -> Any:
    """Return the address of an array, or None for a null pointer."""
    if array is None:
        return None
    try:
        # Takes a third of the time of ``array.ctypes``, but fails for read-only, sliced or empty
        # arrays.
        return ctypes.byref(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return ctypes.c_void_p(array.ctypes.data)


@cache
def _library() -> ctypes.CDLL | None:
    for name in _LIBRARY_FILES:
        # It may be absent, or built for another processor or system, e.g. in a shared home folder.
        with suppress(OSError):
            return ctypes.CDLL(str(Path(__file__).with_name(name)))
    return None


@cache
def instruction_sets() -> tuple[str, ...]:
    """Return the sets that this machine can run, the fastest last; empty without a library."""
    library = _library()
    if library is None:
        return ()
    return tuple(
        name
        for name in _INSTRUCTION_SETS[: library.princomp_supported() + 1]
        if hasattr(library, f"princomp_{name}_moments_f64")
    )


@cache
def instruction_set_in_use() -> str:
    """Return the instruction set in use, or "numpy".

    Raises
    ------
    ParameterError
        If the environment variable names a set that this machine cannot run.
    """
    available = instruction_sets()
    chosen = os.environ.get(_VARIABLE, "")
    if not chosen:
        return available[-1] if available else "numpy"
    if chosen not in (*available, "numpy"):
        raise ParameterError(
            f"{_VARIABLE}={chosen!r} is not available on this machine",
            place={"parameter": _VARIABLE},
            hint=f"choose one of {', '.join((*available, 'numpy'))}, or unset it",
        )
    return chosen


@cache
def function(name: str) -> Kernel | None:
    """Return a compiled kernel, or None if NumPy does the work.

    Parameters
    ----------
    name : str
        A key of ``SIGNATURES``.

    Raises
    ------
    MissingLibraryError
        If the library belongs to another version of this package.
    """
    chosen = instruction_set_in_use()
    library = _library()
    if library is None or chosen == "numpy":
        return None
    check_table(chosen)
    kernel: Kernel = library[f"princomp_{chosen}_{name}"]
    kernel.argtypes = [_ARGUMENT_TYPES[letter] for letter in SIGNATURES[name]]  # type: ignore[attr-defined]
    pointers = [i for i, letter in enumerate(SIGNATURES[name]) if letter == "p"]

    def call(*arguments: Any) -> int:
        # Not in ``from_param`` of an argument type: ctypes would replace a KeyboardInterrupt
        # raised there with an ArgumentError.
        converted = [*arguments]
        for i in pointers:
            converted[i] = _address(arguments[i])
        return kernel(*converted)

    return call


def check_table(instructions: str) -> None:
    """Refuse a library that does not match ``SIGNATURES`` and ``SIZES``.

    Raises
    ------
    MissingLibraryError
        If the library has other functions, arguments or buffer sizes.
    """
    expected = {**SIGNATURES, **{name: str(size) for name, size in SIZES.items()}}
    found = dict(line.split(" ") for line in _exported(instructions).splitlines())
    if found != expected:
        names = sorted(expected.keys() | found.keys())
        wrong = [name for name in names if found.get(name) != expected.get(name)]
        raise MissingLibraryError(
            f"the compiled kernels belong to another version of princomp: {wrong[0]} is "
            f"{found.get(wrong[0])}, expected {expected.get(wrong[0])}",
            hint="reinstall princomp, so that its kernels are compiled again; "
            f"{_VARIABLE}=numpy works without them",
        )


@cache
def _exported(instructions: str) -> str:
    """Return the library's table of functions and sizes (exports.hpp), or "" if it has none."""
    library = _library()
    assert library is not None
    text = ctypes.create_string_buffer(2**13)
    try:
        table = library[f"princomp_{instructions}_table"]
    except AttributeError:
        return ""
    length = table(text, ctypes.c_ssize_t(len(text)))
    assert length < len(text)
    return text.value.decode()


def is_kernel_ready(rows: NDArray[Any]) -> bool:
    """Whether rows are contiguous, aligned, of native byte order, a whole number of items apart."""
    row_stride, column_stride = rows.strides
    size = rows.itemsize
    contiguous = (column_stride == size or rows.shape[1] == 1) and row_stride % size == 0
    return contiguous and rows.flags.aligned and rows.dtype.isnative


def as_kernel_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows, copied only if kernels cannot read them (see :func:`is_kernel_ready`)."""
    if is_kernel_ready(rows):
        return rows
    return np.array(rows, dtype=rows.dtype.newbyteorder("="), order="C")


def contiguous(*arrays: NDArray[Any] | None) -> list[NDArray[Any] | None]:
    """Return the arrays in C order, copied if necessary."""
    return [None if array is None else np.ascontiguousarray(array) for array in arrays]


def as_kernel_vector(vector: Weights, length: int) -> Weights:
    """Return a vector of this length, such as weights, as contiguous float64; None stays None."""
    if vector is None:
        return None
    converted = np.ascontiguousarray(vector, dtype=np.float64)
    if converted.shape != (length,):
        raise ValueError("arrays of other shapes than the rows")
    return converted


@cache
def warn_without_kernels() -> None:
    """Log a warning, once per process, if there are no compiled kernels."""
    if instruction_set_in_use() == "numpy" and not os.environ.get(_VARIABLE):
        logging.getLogger("princomp").warning(
            "princomp runs without its compiled kernels, two to four times slower on large "
            "tables: it was installed without a compiler. Install GCC or Clang, then princomp "
            "again: pip install --force-reinstall --no-deps . in a checkout. "
            "%s=numpy silences this.",
            _VARIABLE,
        )
