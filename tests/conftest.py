"""What tests of all rooms are given. Being here, it also puts this folder on the path."""

from __future__ import annotations

import csv
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from command_line import ARRESTS, call

# Of tests that run in several processes, those that take longest come first: the short ones fill
# up what is left of the time. Programs and engines take longer than calls.
LONG = ("spark", "/engines/", "/peers/", "test_docs", "/reports/", "test_kill", "/cli/")


ENGINES = Path(__file__).parent / "engines"
# Marks of the tests that `make test` leaves out, and what runs them.
LEFT_OUT = {
    "engines": "of Dask, MPI, Spark and torch: make test-engines",
    "browser": "of reports in a browser: make test-browser",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs engines; sort by the first of LONG in a name, else as they came."""
    for item in items:
        if item.path.is_relative_to(ENGINES):
            item.add_marker("engines")

    def rank(item):
        return next((i for i, part in enumerate(LONG) if part in item.nodeid), len(LONG))

    items.sort(key=rank)


def pytest_terminal_summary(terminalreporter, config):
    """Say what was not tested, and how to get it."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    lines = [f"{count} skipped: {reason}" for reason, count in reasons.most_common()]
    left_out = [mark for mark in LEFT_OUT if f"not {mark}" in config.option.markexpr]
    lines += [f"left out: tests {LEFT_OUT[mark]}" for mark in left_out]
    if lines:
        terminalreporter.section("not tested here")
        terminalreporter.write_line("\n".join(lines))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Modules whole to one process, and all that needs Spark: a session takes half a minute."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if "spark" in nodeid else super()._split_scope(nodeid)

    return ByModule(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(autouse=True)
def _nothing_is_traced_on():
    """A test of memory that fails leaves no slow process to those after it."""
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
    """The command line in this process, typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(call, capfd)


@pytest.fixture
def model_file(princomp, tmp_path):
    """A file of the command line: the arrests at unit scale, two components."""
    done = princomp("fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 2, "--no-scores")
    assert done.code == 0
    return tmp_path / "usarrests_pca" / "model.pca"


@pytest.fixture
def grouped_file(tmp_path):
    """The arrests with a column of text, of which one cell is empty, and one of numbers."""
    path = tmp_path / "grouped.csv"
    with ARRESTS.open() as file, path.open("w") as out:
        header, *lines = csv.reader(file)
        write = csv.writer(out, lineterminator="\n")
        write.writerow([*header, "region", "turn"])
        for i, line in enumerate(lines):
            write.writerow([*line, "" if i == 7 else "NSWE"[i % 4], i % 3])
    return path
