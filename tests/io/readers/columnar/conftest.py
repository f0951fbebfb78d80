"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from columnar_cases import FILES

from princomp.io.readers import columnar_stream, source


@pytest.fixture(params=FILES)
def path(request, tmp_path):
    return tmp_path / request.param


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of 64 numbers, batches joined to 8, so that small files have many."""
    for name, value in [
        ("_NUMBERS", 64),
        ("_DECODED_NUMBERS", 32),
        ("_JOINED_NUMBERS", 8),
        ("_INSPECTED_ROWS", 16),
    ]:
        monkeypatch.setattr(columnar_stream, name, value)
    monkeypatch.setattr(source, "_COPIED_ROWS", 3)
