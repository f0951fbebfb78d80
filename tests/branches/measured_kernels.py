"""A pytest plugin that loads kernels built with --coverage instead of the installed ones."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from princomp.kernels import native

BUILT = Path(__file__).parents[2] / "build" / "coverage" / "kernels" / "kernels.native"
native._library = cache(lambda: ctypes.CDLL(str(BUILT)))
