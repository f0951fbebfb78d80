"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from faults.disk import small_blocks


@pytest.fixture(autouse=True)
def _use_small_blocks(monkeypatch):
    small_blocks(monkeypatch)


@pytest.fixture
def ck(tmp_path):
    """The path of the checkpoint, in a folder that does not exist yet."""
    return tmp_path / "work" / "run.ckpt"
