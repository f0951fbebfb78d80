"""Kernels leave no upper halves of vector registers in use, which would slow down later code."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from princomp.kernels import native

_COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
_FLAGS = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
# Bits of the processor state: the second quarter, and the third and fourth, of the first sixteen
# vector registers. Those beyond the sixteenth slow down nothing.
_UPPER = 1 << 2 | 1 << 6
_SOURCE = """
typedef int (*Kernel)(long, long, long, long, long, long, long, long, long);
unsigned after(Kernel kernel, const long *a) {
    unsigned low, high;
    __asm__ volatile("vzeroupper");
    kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low;
}
"""

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux"
    or platform.machine() != "x86_64"
    or _COMPILER is None
    or "xgetbv1" not in _FLAGS,
    reason="needs Linux on x86-64 with xgetbv1, and a C compiler",
)


@pytest.fixture(scope="module")
def call_and_read_state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upper")
    (folder / "after.c").write_text(_SOURCE)
    library = folder / "after.so"
    command = [_COMPILER, "-O1", "-shared", "-fPIC", str(folder / "after.c"), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return ctypes.CDLL(str(library)).after


def state(call_and_read_state, kernel, *arguments):
    numbers = [
        0 if argument is None else argument.ctypes.data if hasattr(argument, "shape") else argument
        for argument in arguments
    ]
    padded = (ctypes.c_long * 9)(*numbers, *[0] * (9 - len(numbers)))
    return call_and_read_state(ctypes.cast(kernel, ctypes.c_void_p), padded)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40, 6), (1000, 32), (300, 200)])
def test_kernels_leave_no_upper_halves_in_use(call_and_read_state, instructions, dtype, shape, rng):
    n, p = shape
    rows = rng.standard_normal(shape).astype(dtype)
    library = native._library()
    kind = "f32" if dtype == np.float32 else "f64"
    moments = library[f"princomp_{instructions}_moments_{kind}"]
    out = np.empty(p * p + 2 * p)
    assert not state(call_and_read_state, moments, rows, n, p, p, None, out) & _UPPER
    across = library[f"princomp_{instructions}_across_{kind}"]
    out = np.empty((n, n))
    assert (
        not state(call_and_read_state, across, rows, n, p, p, None, None, None, None, out) & _UPPER
    )
