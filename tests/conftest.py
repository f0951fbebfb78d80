"""Fixtures and hooks of all tests. This file also makes pytest add its folder to sys.path."""

from __future__ import annotations

import csv
import gc
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from command_line import ARRESTS, run_command

# In several processes the slowest tests run first, and short ones fill the remaining time. Tests
# that start programs or engines are the slowest.
SLOWEST = ("spark", "/engines/", "/peers/", "test_docs", "/reports/", "test_kill", "/cli/")


# Property tests try the same examples in each run.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

ENGINES = Path(__file__).parent / "engines"
# Marks of the tests that `make test` deselects, and the command that runs them.
DESELECTED = {
    "engines": "of Dask, MPI, Spark and torch: make test-engines",
    "browser": "of reports in a browser: make test-browser",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests of engines; put tests whose id contains a part of SLOWEST first."""
    for item in items:
        if item.path.is_relative_to(ENGINES):
            item.add_marker("engines")

    def rank(item):
        return next((i for i, part in enumerate(SLOWEST) if part in item.nodeid), len(SLOWEST))

    items.sort(key=rank)


def pytest_collection_finish():
    """Exempt the modules and tests that exist now from garbage collection, which takes 0.3 s."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter, config):
    """Report which tests were skipped or deselected, and how to run them."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    lines = [f"{count} skipped: {reason}" for reason, count in reasons.most_common()]
    left_out = [mark for mark in DESELECTED if f"not {mark}" in config.option.markexpr]
    lines += [f"left out: tests {DESELECTED[mark]}" for mark in left_out]
    if lines:
        terminalreporter.section("not tested here")
        terminalreporter.write_line("\n".join(lines))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run each module in one process, and all Spark tests in one: a session takes 30 s to start."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if "spark" in nodeid else super()._split_scope(nodeid)

    return ByModule(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(autouse=True)
def _stop_tracemalloc():
    """Stop tracing after a failed memory test: it would slow down all tests after it."""
    yield
    tracemalloc.stop()


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def arrests():
    return np.loadtxt(ARRESTS, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))


@pytest.fixture
def princomp(capfd, monkeypatch, tmp_path):
    """Run commands in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run_command, capfd)


@pytest.fixture
def draw_only(monkeypatch):
    """A function after which reports draw only the figures it is given: drawing takes most time."""
    from princomp.reports import figures

    draw = figures._draw

    def limit(*keys):
        def draw_some(request, key, *args):
            return draw(request, key, *args) if key in keys else ""

        monkeypatch.setattr(figures, "_draw", draw_some)

    return limit


@pytest.fixture
def model_file(princomp, tmp_path):
    """A model file from the command line: USArrests at unit scale, two components."""
    done = princomp("fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 2, "--no-scores")
    assert done.code == 0
    return tmp_path / "usarrests_pca" / "model.pca"


@pytest.fixture
def grouped_file(tmp_path):
    """USArrests with a text column, in which one cell is empty, and a numeric column."""
    path = tmp_path / "grouped.csv"
    with ARRESTS.open() as file, path.open("w") as out:
        header, *lines = csv.reader(file)
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*header, "region", "turn"])
        for i, line in enumerate(lines):
            writer.writerow([*line, "" if i == 7 else "NSWE"[i % 4], i % 3])
    return path
