"""Fits by all routes, killed at random moments and run again until they are done; a script.

``python killed_fits.py FOLDER KILLS SEED`` prints one JSON object: what came of each case. A case
gets its share of the kills. Its fit is begun again after each kill, with the same checkpoint;
when it gets through, its numbers and the files it left are compared with those of a fit that
nobody disturbed, and the case begins anew.
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
from checkpoint_cases import INPUTS, ROUTES, WEIGHTS, holed, memory, npy, sparse, table, tiny

from faults.disk import small_blocks, steep
from faults.driver import _ended, _fit, _reached, _slow
from princomp.io import checkpoint as module
from princomp.io.checkpoint import Checkpoint

# Seconds that a fit rests after each block, so that kills find it at work.
PAUSE = 0.002
# Seconds between two saves: after each block, or only sometimes, so that a kill loses blocks.
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


def few(solver, **more):
    return {"svd_solver": solver, "n_components": 2, **more}


def cases():
    """By name: what makes the input of which rows, the options and the weights."""
    found = {f"npy: {name}": (npy, X, *rest) for name, (X, *rest) in _routes()}
    cascade = ROUTES["products in float64, then the triangle"][0]
    for made in INPUTS:
        found[f"{made.__name__}: three routes"] = (made, tiny(np.float64), cascade, None)
        found[f"{made.__name__}: krylov, weights"] = (made, table(), few("krylov"), WEIGHTS)
    wide = table()[:200].T.copy()
    found |= {
        "rows in memory: row Gram": (memory, wide, few("row_gram"), None),
        "rows in memory: row Gram of all": (memory, wide, {"svd_solver": "row_gram"}, None),
        "rows in memory: lanczos": (memory, table(np.float32), few("lanczos"), None),
        "rows in memory: randomized": (memory, table(), few("randomized", random_state=3), None),
        "rows in memory: cells filled": (memory, holed(), few("auto", missing="em"), None),
        "rows in memory: parallel": (memory, table(), {"n_components": "parallel"}, None),
        "sparse: lanczos": (sparse, table(), few("lanczos"), None),
        "sparse: sketch": (sparse, table(), few("sketch"), WEIGHTS),
        "sparse: unit scale": (sparse, table(), {"scale": "unit"}, None),
    }
    found |= {
        # float32 products, then float64 ones, then the triangle; 100 MB in 123 blocks
        "100 MB: three routes": (large, (1_000_000, np.float32), {}, None),
        # some passes of 98 blocks
        "80 MB: krylov": (large, (400_000,), few("krylov"), None),
    }
    if importlib.util.find_spec("dask"):
        found |= {
            "dask: moments": (dask_array, table(), {}, None),
            "dask: krylov": (dask_array, table(), few("krylov"), None),
            "dask: triangle": (dask_array, table(), {"svd_solver": "full"}, None),
        }
    if importlib.util.find_spec("torch"):
        found |= {
            "torch: moments": (tensor, table(), {}, None),
            "torch: sketch": (tensor, table(), few("sketch"), None),
        }
    return found


def _routes():
    return ((name, (X, options, weights)) for name, (options, X, weights) in ROUTES.items())


class Case:
    """One fit, what it gives when nobody disturbs it, and how long that takes."""

    def __init__(self, folder, made, X, options, weights):
        self.folder = folder
        self.spec = {
            "file": made(folder, X),
            "weights": weights,
            "options": options,
            "checkpoint": str(folder / "run.ckpt"),
            "out": str(folder / "bits"),
        }
        self.out = Path(self.spec["out"])
        self.given = set(os.listdir(folder))
        self.counts = dict.fromkeys(("kills", "resumed", "finished", "while saving"), 0)
        self.places: set[tuple[int, ...]] = set()
        began = time.monotonic()
        assert not _ended(_fit(self.spec))
        self.seconds = time.monotonic() - began
        self.whole = self.out.read_bytes()
        self.clear()

    def killed(self, kills, draw):
        """Kill so many of its fits; let the last one get through."""
        most = 50 * kills + 50
        while self.counts["kills"] < kills:
            # Often soon, sometimes when the fit is nearly done.
            delay = 1.2 * self.seconds * draw.random() ** 2
            self.run(draw, delay)
            most -= 1
            assert most, "its fits are always done before they are killed"
        self.run(draw, None)

    def run(self, draw, delay):
        """One process: killed after a delay, or done."""
        begun = any(_reached(self.spec["checkpoint"]))
        module._EVERY = draw.choice(INTERVALS)
        child = _fit(self.spec)
        if delay is not None:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        self.counts["resumed"] += begun
        if not _ended(child):
            self.check()
            return
        self.counts["kills"] += 1
        self.counts["while saving"] += any(self.folder.glob(".*.tmp"))
        self.places.add(tuple(_reached(self.spec["checkpoint"])))

    def check(self):
        """The bits are those of the other fit, and no file is left but the checkpoint's."""
        self.counts["finished"] += 1
        assert self.out.read_bytes() == self.whole, "other bits"
        left = set(os.listdir(self.folder)) - self.given - {self.out.name}
        assert left <= {"run.ckpt", "run.ckpt~", "run.ckpt.lock"}, left
        self.clear()

    def clear(self):
        Checkpoint.remove(self.spec["checkpoint"])
        self.out.unlink()


def main(folder, kills, seed):
    patch = pytest.MonkeyPatch()
    _slow(PAUSE)
    warnings.filterwarnings("ignore", "the variances of the columns differ")
    found, report = cases(), {}
    for number, (name, what) in enumerate(found.items()):
        share = kills // len(found) + (number < kills % len(found))
        small_blocks(patch, **(LARGE_BLOCKS if what[0] is large else {}))
        place = folder / str(number)
        place.mkdir()
        case = Case(place, *what)
        try:
            case.killed(share, random.Random(f"{seed} {name}"))
        except AssertionError as error:
            error.add_note(f"{name}, seed {seed}, after {case.counts}")
            raise
        report[name] = {**case.counts, "places": len(case.places)}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:4]))
