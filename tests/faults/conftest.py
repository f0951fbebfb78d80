"""Fixtures that run scripts under ``failing_calls.c``."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import ENVIRONMENT

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The compiled ``failing_calls.c``."""
    if platform.libc_ver()[0] != "glibc" or COMPILER is None:
        pytest.skip("needs glibc and a C compiler (Debian: apt install gcc libc6-dev)")
    file = tmp_path_factory.mktemp("library") / "failing_calls.so"
    source = HERE / "failing_calls.c"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", file, source, "-ldl"], check=True)
    return file


@pytest.fixture
def outcomes(library, tmp_path):
    """Run a script with the library preloaded; return what each failing call led to, by case."""

    def run(script, *arguments, timeout=300):
        path = os.pathsep.join([str(HERE.parent), ENVIRONMENT["PYTHONPATH"]])
        settings = {"PYTHONPATH": path, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, HERE / script, *arguments, tmp_path],
            env={**ENVIRONMENT, **settings},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return run
