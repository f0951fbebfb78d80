"""Memory limits of fits: a given size, or a share of the free memory."""

from __future__ import annotations

import ctypes
import os
import re
from numbers import Real
from pathlib import Path

from princomp.errors import ParameterError
from princomp.linalg.control_groups import memory_left, named_number

# Default limit of a fit, as a share of the memory that is free when it begins. The rest is left to
# the page cache and other processes.
DEFAULT_SHARE = 0.6

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*((?:[KMGTkmgt][Ii]?)?)[Bb]?\s*")


def byte_count(size: object) -> int:
    """Convert a ``memory_limit`` such as "2GB", "512 MiB", "1.5G" or a number to bytes.

    Raises
    ------
    ParameterError
        If ``size`` is not a memory size of at least one byte.
    """
    number: float | None = None
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        if found:
            number = float(found[1]) * _UNITS[found[2].upper()]
    elif not isinstance(size, bool) and isinstance(size, Real):
        number = float(size)
    if number is None or not 1 <= number < 2**62:
        raise ParameterError(
            f"memory_limit={size!r} is not a memory size",
            place={"parameter": "memory_limit"},
            hint="give a size such as '2GB' or '512MB', or a number of bytes",
        )
    return int(number)


def memory_limit(limit: object) -> int:
    """Bytes that a fit may allocate; by default a share of the free memory."""
    return int(free_memory() * DEFAULT_SHARE) if limit is None else byte_count(limit)


def free_memory() -> int:
    """Bytes that are free on this machine, within the limits of a container or batch job."""
    return min(_free_on_machine(), memory_left())


def _free_on_machine() -> int:
    """Bytes that are free on this machine, or a guess where the system does not tell."""
    available = named_number(Path("/proc/meminfo"), "MemAvailable:")
    if available is not None:
        return available * 1024
    if (windll := getattr(ctypes, "windll", None)) is not None:  # on Windows
        status = (ctypes.c_uint64 * 8)(64)  # a MEMORYSTATUSEX, which begins with its size
        if windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return status[2]
    try:
        # The free memory is unknown: assume half of the total.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 4 * 10**9  # not even the total is known


def format_bytes(count: float) -> str:
    """Format a number of bytes, rounded to two digits or more, such as ``1.5 MB``."""
    for unit in ("B", "kB", "MB"):
        if round(count) < 1000:
            short = f"{count:.1f}" if count < 10 else f"{count:.0f}"
            return f"{short.removesuffix('.0')} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
