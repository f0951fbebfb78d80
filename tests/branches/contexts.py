"""A pytest plugin: which test reaches which line, and how long each test takes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import coverage
import pytest

SECONDS = Path(__file__).parents[2] / "build" / "coverage" / "seconds.json"
_seconds: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note the lines that run as reached by this test."""
    measured = coverage.Coverage.current()
    if measured is None:
        return (yield)
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context("")


def pytest_runtest_logreport(report):
    """Add up the time of a test, in the process that hears of all tests."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session):
    """Write the times for tests/mutants."""
    if not hasattr(session.config, "workerinput"):
        SECONDS.write_text(json.dumps(_seconds))
