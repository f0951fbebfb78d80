"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from princomp.summaries import sketch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """One thread of BLAS, which is faster for many small decompositions."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of few rows, so that small tables have many."""
    monkeypatch.setattr(sketch, "NUMBERS_PER_WIDE_BLOCK", 1)
    monkeypatch.setattr(sketch, "MIN_ROWS_PER_SPARSE_BLOCK", 32)
