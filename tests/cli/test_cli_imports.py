"""Commands of a plain PCA start quickly: they import neither scikit-learn nor pandas."""

from __future__ import annotations

import subprocess
import sys

import pytest

from command_line import ENVIRONMENT, ROOT

ARRESTS = str(ROOT / "examples" / "usarrests.csv")
SLOW = {"sklearn", "scipy.stats", "pandas", "matplotlib"}

CODE = """
import sys
from princomp.__main__ import main
sys.argv = ["princomp", *sys.argv[1:]]
try:
    main()
except SystemExit as stop:
    assert stop.code == 0, stop.code
print(*sys.modules, file=sys.stderr)
"""


def _run(folder, *arguments):
    args = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(
        args, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    assert not _run(folder, "fit", ARRESTS, "-k", "2", "-o", "out") & SLOW
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("transform", "out/model.pca", ARRESTS),
        ("inverse", "out/model.pca", "out/scores.csv"),
        ("show", "out/model.pca"),
        ("show", "out/model.pca", "--json"),
        ("show", "out/model.pca", "--verify", ARRESTS),
        ("plan", ARRESTS),
    ],
    ids=" ".join,
)
def test_a_plain_pca_imports_no_slow_library(arguments, folder):
    assert not _run(folder, *arguments) & SLOW


def test_other_commands_work_without_pandas(folder):
    loaded = _run(folder, "fit", ARRESTS, "--robust", "-k", "2", "-o", "robust")
    assert "sklearn" in loaded
    assert "pandas" not in loaded
