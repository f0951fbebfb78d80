"""A pytest plugin that records which test reaches which line, and how long each test takes."""

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
    """Record the lines that run as reached by this test."""
    current = coverage.Coverage.current()
    if current is None:
        return (yield)
    current.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        current.switch_context("")


def pytest_runtest_logreport(report):
    """Add up the time of a test, in the process that gets the reports of all tests."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session):
    """Write the times for tests/mutants."""
    if not hasattr(session.config, "workerinput"):
        SECONDS.write_text(json.dumps(_seconds))
