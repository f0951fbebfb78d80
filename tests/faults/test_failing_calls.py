"""Calls of the C library that fail: the right answer or a clear error, and nothing half-written."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or COMPILER is None,
    reason="needs glibc and a C compiler (Debian: apt install gcc libc6-dev)",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    file = tmp_path_factory.mktemp("library") / "failing_calls.so"
    source = HERE / "failing_calls.c"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", file, source, "-ldl"], check=True)
    return file


def outcomes(library, what, folder):
    """What each failing call led to, by case."""
    done = subprocess.run(
        [sys.executable, HERE / "under_failing_calls.py", what, folder],
        env={**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_every_allocation_may_fail(library, tmp_path):
    found = outcomes(library, "memory", tmp_path)
    for name, seen in found.items():
        assert set(seen) <= {"MemoryError", "NoneType"}, name
    # Something did fail: else the test looks at nothing.
    assert sum(seen.count("MemoryError") for seen in found.values()) > 20


def test_every_write_sync_and_rename_may_fail(library, tmp_path):
    found = outcomes(library, "files", tmp_path)
    assert set(found.pop("save")) <= {"OutputError", "NoneType"}
    for name, seen in found.items():
        # A folder that cannot be synced loses nothing.
        assert set(seen) == {"OSError", "NoneType"}, name
