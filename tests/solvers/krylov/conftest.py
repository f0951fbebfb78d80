"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from princomp.summaries import sketch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The many small decompositions here are quicker so."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """A few rows a block, so that small tables have many."""
    monkeypatch.setattr(sketch, "_WIDE_NUMBERS", 1)
    monkeypatch.setattr(sketch, "_SPARSE_ROWS", 32)
