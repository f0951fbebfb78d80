"""Clocks that jump: fits, progress, checkpoints and outputs do not depend on the time."""

from __future__ import annotations

import itertools
import math
import os
import time

import numpy as np
import pytest

from faults.disk import (
    Stopped,
    bits,
    remaining_suffixes,
    save_every_block,
    small_blocks,
    stop_after,
)
from princomp import PCA
from princomp.errors import InputChangedError
from princomp.io import FileState, refuse_changed

YEAR = 365.25 * 86400
# Seconds by which a clock moves each time it is read.
JUMPS = {
    "stands still": [0.0],
    "goes back": [-1.0],
    "goes back an hour, then on": [-3600.0, 0.1, 0.1],
    "goes on a year": [YEAR],
    "goes on and back": [YEAR, -YEAR, 3.0, -2.0],
}


@pytest.fixture(params=JUMPS)
def clock(request, monkeypatch):
    """Make all clocks of Python jump."""
    jumps, now = itertools.cycle(JUMPS[request.param]), [1000.0]

    def read():
        now[0] += next(jumps)
        return now[0]

    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, read)


@pytest.fixture
def rows():
    return np.random.default_rng(5).standard_normal((2000, 5)) * [5, 4, 3, 2, 1]


@pytest.mark.parametrize("save", ["often", "seldom"])
@pytest.mark.usefixtures("clock")
def test_fits_stop_and_resume_under_jumping_clocks(rows, save, tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    if save == "often":
        save_every_block(monkeypatch)
    expected = bits(PCA(2).fit(rows))
    path = tmp_path / "ck"
    reports, callback = stop_after(4)
    with pytest.raises(Stopped):
        PCA(2).fit(rows, progress=callback, checkpoint=path)
    assert "" in remaining_suffixes(path)
    later_reports, callback = stop_after(None)
    model = PCA(2).fit(rows, progress=callback, checkpoint=path)
    assert bits(model) == expected
    assert later_reports[0].rows > reports[-1].rows
    assert (later_reports[-1].done, later_reports[-1].fraction) == (True, 1.0)
    for report in (*reports, *later_reports):
        for value in (report.seconds, report.bytes_per_second, report.seconds_left or 0.0):
            assert value >= 0.0
            assert math.isfinite(value)
    assert sorted(os.listdir(tmp_path)) == ["ck", "ck.lock", "ck~"]


@pytest.mark.parametrize("year", [-3000, 1, 1969, 2100, 12_000, 500_000_000])
def test_changed_files_of_any_year_are_reported(year):
    then = FileState("x.csv", 7, int((year - 1970) * YEAR) * 10**9)
    now = then._replace(modified_ns=then.modified_ns + 1)
    refuse_changed((then,), (then,))
    with pytest.raises(InputChangedError, match=r"x\.csv changed while it was read"):
        refuse_changed((then,), (now,))


@pytest.mark.parametrize("seconds", [-1e9, 0.0, 1e11])
def test_files_with_any_modification_time_are_read(rows, seconds, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    expected = bits(PCA(2).fit(tmp_path / "x.npy"))
    os.utime(tmp_path / "x.npy", (seconds, seconds))
    assert bits(PCA(2).fit(tmp_path / "x.npy", checkpoint=tmp_path / "ck")) == expected
    assert bits(PCA(2).fit(tmp_path / "x.npy", checkpoint=tmp_path / "ck")) == expected
