"""The command line as tests call it: in this process for speed, or as a real one."""

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
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error in that document, alone in it."""
        (name,) = self.document
        assert name == "error"
        assert {"kind", "message", "place", "hint"} <= self.document["error"].keys()
        assert self.document["error"]["exit_code"] == self.code
        return self.document["error"]


def call(capfd: Any, *arguments: Any) -> Outcome:
    """Run a command in this process."""
    capfd.readouterr()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        code = run([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, handler)
    return Outcome(code, *capfd.readouterr())


def spawn(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    words = [sys.executable, "-m", "princomp", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=ENVIRONMENT, **{**pipes, **options})


def shell_path(folder: Path) -> dict[str, str]:
    """An environment in which ``princomp`` is this source tree, installed or not."""
    folder.mkdir(exist_ok=True)
    script = folder / "princomp"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m princomp "$@"\n')
    script.chmod(0o755)
    found = shutil.which("python", path=str(Path(sys.executable).parent))
    own = str(Path(found).parent) if found else ""
    return {**ENVIRONMENT, "PATH": f"{folder}:{own}:{os.environ['PATH']}"}


def write_csv(path: Path, header: str, *rows: str) -> Path:
    """A small table, line by line."""
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def numbers(path: Path, *, skip: int = 1) -> np.ndarray[Any, Any]:
    """The numbers of a CSV file after its ``skip`` first columns."""
    lines = path.read_text().splitlines()[1:]
    cells = [line.split(",")[skip:] for line in lines]
    return np.array([[float(cell or "nan") for cell in row] for row in cells])


def left_in(folder: Path) -> list[str]:
    """Names of all files under a folder, hidden ones and temporaries too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
