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
        ("NUMBERS_PER_CHUNK", 64),
        ("NUMBERS_PER_DECODED_BATCH", 32),
        ("MIN_NUMBERS_PER_BATCH", 8),
        ("INSPECTED_ROWS", 16),
    ]:
        monkeypatch.setattr(columnar_stream, name, value)
    monkeypatch.setattr(source, "ROWS_PER_COPY", 3)
