"""Helpers for tests of interrupted runs: small blocks, progress callbacks, bytes of results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from command_line import ENVIRONMENT
from princomp.io import checkpoint as checkpoint_module
from princomp.io.checkpoint import Checkpoint


class Stopped(Exception):  # noqa: N818  (a signal, not an error)
    """Raised by a progress callback to stop a fit."""


def bits(model):
    """The bytes of all results that a resumed run must reproduce exactly."""
    parts = [model.explained_variance_, model.components_, model.mean_, model.var_]
    parts += [] if model.scale_ is None else [model.scale_]
    counts = np.array([model.n_samples_, model.n_dropped_, model.total_variance_])
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (*parts, counts))


def steep(n, dtype=np.float64):
    """Rows of 25 columns, each a tenth as large as the previous one."""
    rng = np.random.default_rng(6)
    return rng.standard_normal((n, 25), dtype=dtype) * dtype(10) ** -np.arange(25, dtype=dtype)


def small_blocks(monkeypatch, *, numbers=1, wide=2**8 * 12):
    """Use blocks of 256 rows on threads, read small files in chunks, report after each block."""
    monkeypatch.setattr("princomp.summaries.blocks.NUMBERS_PER_BLOCK", numbers)
    monkeypatch.setattr("princomp.summaries.blocks.NUMBERS_PER_PANEL", numbers)
    monkeypatch.setattr("princomp.summaries.sketch.NUMBERS_PER_WIDE_BLOCK", wide)
    monkeypatch.setattr("princomp.engines.local.MIN_NUMBERS_FOR_THREADS", 1)
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("princomp.core.fit.SMALL_TABLE_BYTES", 10_000)
    monkeypatch.setattr("princomp.engines.run_context.REPORT_INTERVAL", 0.0)


def save_every_block(monkeypatch):
    """Save a checkpoint after each block, so that two generations exist soon."""
    monkeypatch.setattr(checkpoint_module, "SAVE_INTERVAL", 0.0)


def stop_after(count):
    """A list of progress reports, and a callback that fills it and raises at report ``count``."""
    reports = []

    def callback(report):
        reports.append(report)
        if len(reports) == count:
            raise Stopped

    return reports, callback


def remaining_suffixes(path):
    """Suffixes of the checkpoint files that exist for this path."""
    return [file.name[len(Path(path).name) :] for file in Checkpoint.files(path) if file.exists()]


def contents(folder):
    """The bytes of each file in a folder, by name."""
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def start_driver(task, spec, *arguments, **options):
    """Start ``driver.py`` in a new process."""
    driver = Path(__file__).with_name("driver.py")
    path = os.pathsep.join([str(driver.parents[1]), ENVIRONMENT["PYTHONPATH"]])
    return subprocess.Popen(
        [sys.executable, str(driver), task, json.dumps(spec), *map(str, arguments)],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
    )
