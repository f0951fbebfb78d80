"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from princomp.io.readers import chunk_plan as pace, h5ad_sparse


@pytest.fixture
def small(monkeypatch):
    """Chunks and bands of a few numbers, so that small tables have many."""
    monkeypatch.setattr(pace, "_NUMBERS", 40)
    monkeypatch.setattr(pace, "_BAND", 2_000)
    monkeypatch.setattr(pace, "_LOOSE", 1_000)
    monkeypatch.setattr(h5ad_sparse, "_NUMBERS", 40)
    monkeypatch.setattr(h5ad_sparse, "_ROWS", 16)
