"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from faults.disk import small_blocks


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small_blocks(monkeypatch)


@pytest.fixture
def ck(tmp_path):
    return tmp_path / "work" / "run.ckpt"
