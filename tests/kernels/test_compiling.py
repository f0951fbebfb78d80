"""The sources compile for the vectors of other processors, too."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import princomp.kernels

_FOLDER = Path(princomp.kernels.__file__).parent
_COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


@pytest.mark.skipif(_COMPILER is None, reason="no C++ compiler: apt-get install g++")
@pytest.mark.parametrize("source", sorted(path.name for path in _FOLDER.glob("*.cpp")))
def test_a_source_compiles_for_64_bit_arm(source):
    """Vectors of 16 bytes and 32 of them; the code itself depends on no processor."""
    flags = ["-DPRINCOMP_ISA=plain", "-DPRINCOMP_LANES=16", "-DPRINCOMP_REGISTERS=32"]
    command = [_COMPILER, "-std=c++17", "-fsyntax-only", "-w", *flags, str(_FOLDER / source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(_COMPILER is None, reason="no C++ compiler: apt-get install g++")
@pytest.mark.parametrize("source", sorted(path.name for path in _FOLDER.glob("*.cpp")))
def test_a_source_for_windows_needs_no_library_of_the_compiler(source):
    """Clang on Windows does not link the library behind ``__builtin_cpu_is`` and its kind."""
    flags = ["-D_WIN32", "-DPRINCOMP_ISA=plain", "-DPRINCOMP_LANES=16", "-DPRINCOMP_REGISTERS=32"]
    command = [_COMPILER, "-std=c++17", "-E", "-w", *flags, str(_FOLDER / source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "__builtin_cpu_" not in done.stdout
