"""Fixtures of the tests in this folder."""

from __future__ import annotations

import numpy as np
import pytest
from online_cases import _cut_small


@pytest.fixture
def table(rng):
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return rng.standard_normal((200, 5)) * [3, 2, 1, 0.5, 0.2] @ turn + 10


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight rows, so that a short table has many and most cuts miss their ends."""
    _cut_small(monkeypatch)
