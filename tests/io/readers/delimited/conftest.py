"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from delimited_cases import compressed

from princomp.io.readers import delimited_stream


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        content = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(compressed(content, name))
        return path

    return write


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few rows; column types are still inferred from the first megabytes."""
    monkeypatch.setattr(delimited_stream, "MIN_PIECE_BYTES", 100)
    monkeypatch.setattr(delimited_stream, "MAX_PIECE_BYTES", 100)


@pytest.fixture
def short_head(monkeypatch, small_pieces):
    """Pieces of a few rows; column types are inferred from the first 100 to 150 bytes."""
    monkeypatch.setattr(delimited_stream, "HEAD_BYTES", 100)
