"""Fits by all routes, killed at random moments and resumed until they finish; run as a script.

``python killed_fits.py FOLDER KILLS SEED`` prints one JSON object with the outcome of each case.
Each case gets its share of the kills. Its fit is resumed from the same checkpoint after each kill.
When it finishes, its results and remaining files are compared with those of an uninterrupted fit,
and the case starts again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cases import (
    INPUTS,
    ROUTES,
    WEIGHTS,
    ill_scaled,
    in_memory,
    npy,
    sparse,
    table,
    with_missing,
)

from faults.disk import small_blocks, steep
from faults.driver import _fit, _pause_after_blocks, _progress_in, _was_killed
from princomp.io import checkpoint as checkpoint_module
from princomp.io.checkpoint import Checkpoint

# Seconds that a fit pauses after each block, so that kills hit it while it runs.
PAUSE = 0.002
# Seconds between two saves: after each block, or less often, so that a kill loses blocks.
INTERVALS = (0.0, 0.02)
LARGE_BLOCKS = {"numbers": 2**18, "wide": 2**17}


def dask_array(_, X):
    import dask.array

    return dask.array.from_array(X, chunks=(400, -1))


def tensor(_, X):
    import torch

    return torch.from_numpy(X)


def large(folder, shape):
    return npy(folder, steep(*shape))


def two_components(solver, **more):
    return {"svd_solver": solver, "n_components": 2, **more}


def cases():
    """By name: the function that makes the input, the rows, the options and the weights."""
    found = {f"npy: {name}": (npy, X, *rest) for name, (X, *rest) in _routes()}
    cascade = ROUTES["products in float64, then the triangle"][0]
    for make in INPUTS:
        found[f"{make.__name__}: three routes"] = (make, ill_scaled(np.float64), cascade, None)
        found[f"{make.__name__}: krylov, weights"] = (
            make,
            table(),
            two_components("krylov"),
            WEIGHTS,
        )
    wide = table()[:200].T.copy()
    found |= {
        "rows in memory: row Gram": (in_memory, wide, two_components("row_gram"), None),
        "rows in memory: row Gram of all": (in_memory, wide, {"svd_solver": "row_gram"}, None),
        "rows in memory: lanczos": (in_memory, table(np.float32), two_components("lanczos"), None),
        "rows in memory: randomized": (
            in_memory,
            table(),
            two_components("randomized", random_state=3),
            None,
        ),
        "rows in memory: cells filled": (
            in_memory,
            with_missing(),
            two_components("auto", missing="em"),
            None,
        ),
        "rows in memory: parallel": (in_memory, table(), {"n_components": "parallel"}, None),
        "sparse: lanczos": (sparse, table(), two_components("lanczos"), None),
        "sparse: sketch": (sparse, table(), two_components("sketch"), WEIGHTS),
        "sparse: unit scale": (sparse, table(), {"scale": "unit"}, None),
    }
    found |= {
        # float32 products, then float64 ones, then the triangle; 100 MB in 123 blocks
        "100 MB: three routes": (large, (1_000_000, np.float32), {}, None),
        # some passes of 98 blocks
        "80 MB: krylov": (large, (400_000,), two_components("krylov"), None),
    }
    if importlib.util.find_spec("dask"):
        found |= {
            "dask: moments": (dask_array, table(), {}, None),
            "dask: krylov": (dask_array, table(), two_components("krylov"), None),
            "dask: triangle": (dask_array, table(), {"svd_solver": "full"}, None),
        }
    if importlib.util.find_spec("torch"):
        found |= {
            "torch: moments": (tensor, table(), {}, None),
            "torch: sketch": (tensor, table(), two_components("sketch"), None),
        }
    return found


def _routes():
    return ((name, (X, options, weights)) for name, (options, X, weights) in ROUTES.items())


class Case:
    """One fit, its result without interruption, and how long it takes."""

    def __init__(self, folder, make, X, options, weights):
        self.folder = folder
        self.spec = {
            "file": make(folder, X),
            "weights": weights,
            "options": options,
            "checkpoint": str(folder / "run.ckpt"),
            "out": str(folder / "bits"),
        }
        self.out = Path(self.spec["out"])
        self.inputs = set(os.listdir(folder))
        self.counts = dict.fromkeys(("kills", "resumed", "finished", "while saving"), 0)
        self.places: set[tuple[int, ...]] = set()
        began = time.monotonic()
        assert not _was_killed(_fit(self.spec))
        self.seconds = time.monotonic() - began
        self.expected = self.out.read_bytes()
        self.clear()

    def killed(self, kills, generator):
        """Kill this number of its fits, then let the last one finish."""
        attempts_left = 50 * kills + 50
        while self.counts["kills"] < kills:
            # Mostly early, sometimes when the fit is nearly finished.
            delay = 1.2 * self.seconds * generator.random() ** 2
            self.run(generator, delay)
            attempts_left -= 1
            assert attempts_left, "its fits are always done before they are killed"
        self.run(generator, None)

    def run(self, generator, delay):
        """Run one process until it is killed after the delay, or finishes."""
        resumed = any(_progress_in(self.spec["checkpoint"]))
        checkpoint_module.SAVE_INTERVAL = generator.choice(INTERVALS)
        child = _fit(self.spec)
        if delay is not None:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        self.counts["resumed"] += resumed
        if not _was_killed(child):
            self.check()
            return
        self.counts["kills"] += 1
        self.counts["while saving"] += any(self.folder.glob(".*.tmp"))
        self.places.add(tuple(_progress_in(self.spec["checkpoint"])))

    def check(self):
        """Check that the result is the expected one and only checkpoint files remain."""
        self.counts["finished"] += 1
        assert self.out.read_bytes() == self.expected, "other bits"
        left = set(os.listdir(self.folder)) - self.inputs - {self.out.name}
        assert left <= {"run.ckpt", "run.ckpt~", "run.ckpt.lock"}, left
        self.clear()

    def clear(self):
        Checkpoint.remove(self.spec["checkpoint"])
        self.out.unlink()


def main(folder, kills, seed):
    patch = pytest.MonkeyPatch()
    _pause_after_blocks(PAUSE)
    warnings.filterwarnings("ignore", "the variances of the columns differ")
    found, report = cases(), {}
    for number, (name, parts) in enumerate(found.items()):
        share = kills // len(found) + (number < kills % len(found))
        small_blocks(patch, **(LARGE_BLOCKS if parts[0] is large else {}))
        place = folder / str(number)
        place.mkdir()
        case = Case(place, *parts)
        try:
            case.killed(share, random.Random(f"{seed} {name}"))
        except AssertionError as error:
            error.add_note(f"{name}, seed {seed}, after {case.counts}")
            raise
        report[name] = {**case.counts, "places": len(case.places)}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
