"""Its presence puts this folder on the path, so that every test can import ``helpers``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def arrests():
    path = Path(__file__).parents[1] / "examples" / "usarrests.csv"
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
