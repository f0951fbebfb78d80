"""Fixtures of the tests in this folder."""

from __future__ import annotations

import numpy as np
import pytest
from online_cases import use_small_blocks


@pytest.fixture
def table(rng):
    rotation = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return rng.standard_normal((200, 5)) * [3, 2, 1, 0.5, 0.2] @ rotation + 10


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight rows: a short table has many, and most batches end within one."""
    use_small_blocks(monkeypatch)
