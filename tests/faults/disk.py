"""What the tests of interrupted runs share: small blocks, words, and what a result's bits are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from command_line import ENVIRONMENT
from princomp.io import checkpoint as module
from princomp.io.checkpoint import Checkpoint


class Stopped(Exception):  # noqa: N818  (a signal, not an error)
    """What a person's callback raises."""


def bits(model):
    """Everything of a fit that another run must have to the bit."""
    parts = [model.explained_variance_, model.components_, model.mean_, model.var_]
    parts += [] if model.scale_ is None else [model.scale_]
    counts = np.array([model.n_samples_, model.n_dropped_, model.total_variance_])
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (*parts, counts))


def steep(n, dtype=np.float64):
    """Rows of 25 columns, each a tenth of the one before."""
    rng = np.random.default_rng(6)
    return rng.standard_normal((n, 25), dtype=dtype) * dtype(10) ** -np.arange(25, dtype=dtype)


def small_blocks(monkeypatch, *, numbers=1, wide=2**8 * 12):
    """Small blocks (of 256 rows) on threads, small files read by them, a word after each."""
    monkeypatch.setattr("princomp.summaries.blocks._BLOCK_NUMBERS", numbers)
    monkeypatch.setattr("princomp.summaries.blocks._PANEL_NUMBERS", numbers)
    monkeypatch.setattr("princomp.summaries.sketch._WIDE_NUMBERS", wide)
    monkeypatch.setattr("princomp.engines.local._THREADS_PAY", 1)
    monkeypatch.setattr("princomp.io.readers.files._SMALL", 0)
    monkeypatch.setattr("princomp.core.fit._HEAD", 10_000)
    monkeypatch.setattr("princomp.engines.run_context._EVERY", 0.0)


def often(monkeypatch):
    """A checkpoint after each block, so that two generations are there soon."""
    monkeypatch.setattr(module, "_EVERY", 0.0)


def stop_after(count):
    """A callback that keeps the words it hears, and raises at word number ``count``."""
    words = []

    def hear(word):
        words.append(word)
        if len(words) == count:
            raise Stopped

    return words, hear


def left_beside(path):
    """The run's files that are there, by their endings."""
    return [name.name[len(Path(path).name) :] for name in Checkpoint.files(path) if name.exists()]


def contents(folder):
    """All files of a folder, byte for byte."""
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def drive(what, spec, *words, **options):
    """Start ``driver.py``."""
    driver = Path(__file__).with_name("driver.py")
    path = os.pathsep.join([str(driver.parents[1]), ENVIRONMENT["PYTHONPATH"]])
    return subprocess.Popen(
        [sys.executable, str(driver), what, json.dumps(spec), *map(str, words)],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
    )
