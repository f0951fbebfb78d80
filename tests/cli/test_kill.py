"""Processes killed by SIGKILL, at random and between any two calls of a save."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import ENVIRONMENT
from faults.disk import bits, small_blocks, start_driver, steep
from princomp import PCA

TESTS = Path(__file__).parents[1]
# Number of kills in the run over all routes.
KILLS = int(os.environ.get("PRINCOMP_SOAK_KILLS", "1000"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def _run_driver(what, spec):
    with start_driver(what, spec) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    return json.loads(out)


def _run_killed(monkeypatch, folder, X, options, kills, pause, **blocks):
    """Kill a run over rows on disk ``kills`` times; return its progress after each kill."""
    file, ck, out = folder / "rows.npy", folder / "run.ckpt", folder / "bits"
    np.save(file, X)
    spec = {
        "file": str(file),
        "checkpoint": str(ck),
        "out": str(out),
        "options": options,
        "seed": 20,
        "kills": kills,
        "blocks": blocks,
        "pause": pause,
    }
    small_blocks(monkeypatch, **blocks)
    whole = PCA(**options).fit(file)
    reached = _run_driver("kills", spec)["reached"]
    assert out.read_bytes() == bits(whole)
    # No saved progress was ever lost.
    assert reached == sorted(reached)
    other_files = {name.name for name in folder.iterdir()} - {file.name, ck.name, out.name}
    assert other_files <= {"run.ckpt~", "run.ckpt.lock"}
    return reached


def test_a_run_killed_five_times_gives_the_same_bits(tmp_path, monkeypatch):
    """At most five of 40 blocks are added between two kills, so no run ends before its kills."""
    X = steep(320_000)  # 64 MB
    reached = _run_killed(monkeypatch, tmp_path, X, {}, 5, 0.008, numbers=2**18)
    assert len(reached) == 5


@pytest.mark.soak
def test_a_thousand_kills_over_all_routes_change_no_bit(tmp_path, capsys):
    paths = [TESTS, TESTS / "io" / "checkpoints", ENVIRONMENT["PYTHONPATH"]]
    done = subprocess.run(
        [sys.executable, TESTS / "faults" / "killed_fits.py", tmp_path, str(KILLS), "20"],
        env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    assert not done.stderr
    report = json.loads(done.stdout)
    sums = {what: sum(case[what] for case in report.values()) for what in report["npy: moments"]}
    with capsys.disabled():
        print(f"\n{len(report)} cases: {sums}")
    assert sums["kills"] == KILLS
    # Kills interrupt fits in many places, also while they save.
    assert sums["resumed"] >= KILLS / 5
    assert sums["while saving"] >= KILLS / 50


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
    result = _run_driver("gaps", spec)
    assert result["same"]
    assert result["chain"] >= 3
    reached = [0, 0]
    for number, killed, now, valid in result["outcomes"]:
        assert valid, number
        assert killed, number
        assert now >= reached, number
        reached = now
    assert reached[1] >= 2 * 256
