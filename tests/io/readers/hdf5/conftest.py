"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from princomp.io.readers import chunk_plan as plan_module, h5ad


@pytest.fixture
def small(monkeypatch):
    """Chunks and bands of a few numbers, so that small tables have many."""
    monkeypatch.setattr(plan_module, "NUMBERS_PER_CHUNK", 40)
    monkeypatch.setattr(plan_module, "MAX_BAND_BYTES", 2_000)
    monkeypatch.setattr(plan_module, "PARTIAL_READ_BYTES", 1_000)
    monkeypatch.setattr(h5ad, "NUMBERS_PER_CHUNK", 40)
    monkeypatch.setattr(h5ad, "ROW_ENDS_PER_READ", 16)
