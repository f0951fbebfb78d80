"""Replay the fuzzer's corpus of kernel calls on the installed library.

No array may be read or written past its end, and each result must be as exact as its arithmetic.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from princomp.kernels import native

HARNESS = Path(__file__).parent / "kernels"
CORPUS = sorted((HARNESS / "corpus").iterdir())
KERNELS_FOLDER = Path(native.__file__).parent
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
# The harness computes expected results in extended precision.
EXTENDED = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="no dlopen, by which kernels are found"),
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: apt-get install g++"),
    pytest.mark.skipif(not EXTENDED, reason="long double is no longer than double here"),
    pytest.mark.skipif(not native.instruction_sets(), reason="no compiled kernels"),
]


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """The compiled harness without libFuzzer; an inaccessible page follows each array."""
    program = tmp_path_factory.mktemp("fuzz") / "replay"
    sources = [str(HARNESS / name) for name in ("kernels.cpp", "replay.cpp")]
    options = ["-std=c++17", "-O1", f"-I{KERNELS_FOLDER}", "-pthread", "-o", str(program)]
    command = [COMPILER, *options, *sources, *(["-ldl"] if sys.platform == "linux" else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return program


def test_each_family_of_kernels_has_files():
    assert {path.read_bytes()[0] % 14 for path in CORPUS} == set(range(14))


def test_kernels_pass_the_corpus(replay):
    library = next(
        KERNELS_FOLDER / name for name in native._LIBRARY_FILES if (KERNELS_FOLDER / name).exists()
    )
    command = [str(replay), str(library), *map(str, CORPUS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"{last}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == len(CORPUS)
