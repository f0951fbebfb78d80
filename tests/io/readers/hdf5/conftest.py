"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from princomp.io.readers import chunk_plan as plan_module, h5ad_sparse


@pytest.fixture
def small(monkeypatch):
    """Chunks and bands of a few numbers, so that small tables have many."""
    monkeypatch.setattr(plan_module, "_NUMBERS", 40)
    monkeypatch.setattr(plan_module, "_MAX_BAND_BYTES", 2_000)
    monkeypatch.setattr(plan_module, "_PARTIAL_READ_BYTES", 1_000)
    monkeypatch.setattr(h5ad_sparse, "_NUMBERS", 40)
    monkeypatch.setattr(h5ad_sparse, "_ROWS", 16)
