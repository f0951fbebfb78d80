"""A pytest plugin: the kernels are those built with --coverage, wherever the installed ones are."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from princomp.kernels import native

BUILT = Path(__file__).parents[2] / "build" / "coverage" / "kernels" / "kernels.native"
native._library = cache(lambda: ctypes.CDLL(str(BUILT)))
