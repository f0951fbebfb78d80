"""Models that the tests of diagnostics share."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from princomp import PCA

STATES = Path(__file__).parents[2] / "examples" / "usarrests.csv"


@pytest.fixture(scope="session")
def states():
    with STATES.open() as file:
        return [line[0] for line in csv.reader(file)][1:]


@pytest.fixture(scope="session")
def unit(arrests):
    """USArrests of unit scale, two components."""
    return PCA(2, scale="unit").fit(arrests)
