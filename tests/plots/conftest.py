"""Models that the tests of figures share."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import table

from princomp import PCA


@pytest.fixture(scope="session")
def states():
    return table("usarrests.csv", ("Murder",))[0]


@pytest.fixture(scope="session")
def unit(arrests):
    """USArrests of unit scale, two components."""
    return PCA(2, scale="unit").fit(arrests)


@pytest.fixture(scope="session")
def wide():
    """25 columns, 200 rows, 5 components."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 25))
    X += 0.3 * rng.standard_normal(X.shape)
    return X, PCA(5).fit(X)
