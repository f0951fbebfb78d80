"""Run the command line in tests: in this process for speed, or in a new one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from princomp.cli import run

ROOT = Path(__file__).parents[1]
ARRESTS = ROOT / "examples" / "usarrests.csv"
# PYTHONUNBUFFERED would hide what a full disk does to a buffered stream.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "src"),
    "COLUMNS": "100",
    "PYTHONUNBUFFERED": "",
}


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document on stdout, which is all of its output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error in that document, which holds nothing else."""
        (name,) = self.document
        assert name == "error"
        assert {"kind", "message", "place", "hint"} <= self.document["error"].keys()
        assert self.document["error"]["exit_code"] == self.code
        return self.document["error"]


def run_command(capfd: Any, *arguments: Any) -> Outcome:
    """Run a command in this process."""
    capfd.readouterr()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        code = run([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, handler)
    return Outcome(code, *capfd.readouterr())


def spawn(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """Start a command in a new process."""
    command = [sys.executable, "-m", "princomp", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=ENVIRONMENT, **{**pipes, **options})


def shell_environment(folder: Path) -> dict[str, str]:
    """An environment whose ``princomp`` command runs this source tree, installed or not."""
    folder.mkdir(exist_ok=True)
    script = folder / "princomp"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m princomp "$@"\n')
    script.chmod(0o755)
    python = shutil.which("python", path=str(Path(sys.executable).parent))
    python_folder = str(Path(python).parent) if python else ""
    return {**ENVIRONMENT, "PATH": f"{folder}:{python_folder}:{os.environ['PATH']}"}


def write_csv(path: Path, header: str, *rows: str) -> Path:
    """Write a small table, line by line."""
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def numbers(path: Path, *, skip: int = 1) -> np.ndarray[Any, Any]:
    """The numbers of a CSV file without its first ``skip`` columns."""
    lines = path.read_text().splitlines()[1:]
    cells = [line.split(",")[skip:] for line in lines]
    return np.array([[float(cell or "nan") for cell in row] for row in cells])


def files_in(folder: Path) -> list[str]:
    """Names of all files in a folder and below, including hidden and temporary ones."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
