"""Processes killed without a word, at random and between any two calls of a save."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from faults.disk import bits, drive, small_blocks
from princomp import PCA

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def _driven(what, spec):
    with drive(what, spec) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    return json.loads(out)


def _killed(monkeypatch, folder, X, options, kills, longest, pause, **blocks):
    """A run over rows on disk, killed so often: what it had reached after each kill."""
    file, ck, out = folder / "rows.npy", folder / "run.ckpt", folder / "bits"
    np.save(file, X)
    spec = {
        "file": str(file),
        "checkpoint": str(ck),
        "out": str(out),
        "options": options,
        "seed": 20,
        "kills": kills,
        "longest": longest,
        "blocks": blocks,
        "pause": pause,
    }
    small_blocks(monkeypatch, **blocks)
    whole = PCA(**options).fit(file)
    reached = _driven("kills", spec)["reached"]
    assert out.read_bytes() == bits(whole)
    # Nothing that was on the disk was ever lost.
    assert reached == sorted(reached)
    assert {name.name for name in folder.iterdir()} - {file.name, ck.name, out.name} <= {
        "run.ckpt~",
        "run.ckpt.lock",
        *(name.name for name in folder.glob(".run.ckpt.*.tmp")),
    }
    return reached


def _rows(n, dtype=np.float64):
    rng = np.random.default_rng(6)
    return rng.standard_normal((n, 25), dtype=dtype) * dtype(10) ** -np.arange(25, dtype=dtype)


def test_a_run_killed_five_times_has_the_bits_of_one_that_was_not(tmp_path, monkeypatch):
    """40 blocks with a rest of 8 ms each take longer than five times 40 ms."""
    X = _rows(320_000)  # 64 MB
    reached = _killed(monkeypatch, tmp_path, X, {}, 5, 0.04, 0.008, numbers=2**18)
    assert len(reached) == 5


@pytest.mark.soak
@pytest.mark.parametrize(
    ("rows", "options"),
    [
        # float32 products, then float64 ones, then the triangle; 100 MB in 123 blocks
        ((1_000_000, np.float32), {}),
        # some passes of 98 blocks over 80 MB
        ((400_000, np.float64), {"svd_solver": "krylov", "n_components": 5}),
    ],
    ids=["three routes", "krylov"],
)
def test_a_run_killed_sixty_times_has_the_bits_of_one_that_was_not(
    rows, options, tmp_path, monkeypatch
):
    sizes = {"numbers": 2**18, "wide": 2**17}
    reached = _killed(monkeypatch, tmp_path, _rows(*rows), options, 60, 0.2, 0.03, **sizes)
    assert len(reached) >= 50
    assert len({tuple(one) for one in reached}) >= 10  # it was met in many places


def test_a_kill_between_any_two_calls_of_a_save_loses_at_most_that_save(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    X = np.random.default_rng(7).standard_normal((1_500, 12))  # six blocks, the last one short
    file = tmp_path / "rows.npy"
    np.save(file, X)
    spec = {
        "file": str(file),
        "checkpoint": str(tmp_path / "run.ckpt"),
        "out": str(tmp_path / "out"),
        "options": {"svd_solver": "full"},
        "calls": 15,
        "bits": bits(PCA(svd_solver="full").fit(file)).hex(),
    }
    message = _driven("gaps", spec)
    assert message["same"]
    assert message["chain"] >= 3
    reached = [0, 0]
    for number, killed, now, well in message["message"]:
        assert well, number
        assert killed, number
        assert now >= reached, number
        reached = now
    assert reached[1] >= 2 * 256
