"""Commands of a plain PCA start quickly: they import neither scikit-learn nor pandas."""

from __future__ import annotations

import json
import subprocess
import sys

from command_line import ENVIRONMENT, ROOT

ARRESTS = str(ROOT / "examples" / "usarrests.csv")
SLOW = {"sklearn", "scipy.stats", "pandas", "matplotlib"}

CODE = """
import json
import sys
from princomp.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["princomp", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0, (arguments, stop.code)
    print(json.dumps([*sys.modules]), file=sys.stderr)
"""


def _run(folder, *commands):
    """Run commands one after the other in a new process; return the modules after each."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(commands)],
        env=ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [set(json.loads(line)) for line in done.stderr.splitlines() if line.startswith("[")]


def test_a_plain_pca_imports_no_slow_library(tmp_path):
    commands = [
        ("plan", ARRESTS),
        ("fit", ARRESTS, "-k", "2", "-o", "out"),
        ("transform", "out/model.pca", ARRESTS),
        ("inverse", "out/model.pca", "out/scores.csv"),
        ("show", "out/model.pca"),
        ("show", "out/model.pca", "--json"),
        ("show", "out/model.pca", "--verify", ARRESTS),
    ]
    for command, loaded in zip(commands, _run(tmp_path, *commands), strict=True):
        assert not loaded & SLOW, command


def test_other_commands_work_without_pandas(tmp_path):
    (loaded,) = _run(tmp_path, ("fit", ARRESTS, "--robust", "-k", "2", "-o", "robust"))
    assert "sklearn" in loaded
    assert "pandas" not in loaded
