"""benchmarks/device.py runs, if only on small tensors."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from command_line import ENVIRONMENT

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "device.py"


@pytest.mark.skipif(not PROGRAM.exists(), reason="an archive without benchmarks/")
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: make test-engines")
def test_the_device_benchmark_runs():
    words = [sys.executable, str(PROGRAM), "--smoke", "--device", "cpu"]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("princomp") == 4
    assert done.stdout.count("torch.linalg.svd") == 4
    assert "fails" not in done.stdout
