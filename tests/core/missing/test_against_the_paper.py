"""EM-PCA against the algorithm of its paper, implemented here without princomp.

Josse & Husson (2012), section 3.1, and missMDA's ``imputePCA``: fill with the means; until
nothing moves, take means and deviations of the filled table, reduce it to S components whose
singular values d become (d² − σ²)/d, and fill the cells that are missing with it. σ² is the
part of the noise in a squared singular value, from the squares that the S components leave.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from command_line import ROOT
from princomp import PCA

# The iteration here ends at 1e-11 of a deviation. That of PCA ends where nothing moves by 1e-8 of
# one and further changes are estimated to be no larger: cells agree to a few of these.
CLOSE = 1e-6


def impute_as_published(X, components, *, unit, ridge=1.0):
    """The completed table (n, p)."""
    n, p = X.shape
    missing = np.isnan(X)
    filled = np.where(missing, np.nanmean(X, axis=0), X)
    while True:
        centre = filled.mean(axis=0)
        spread = filled.std(axis=0, ddof=1) if unit else np.ones(p)
        U, d, Vt = np.linalg.svd((filled - centre) / spread, full_matrices=False)
        eigenvalues = d**2 / n
        degrees_of_freedom = (n - 1) * p - (n - 1) * components - p * components + components**2
        noise = n * p / min(p, n - 1) * np.sum(eigenvalues[components:]) / degrees_of_freedom
        noise = ridge * min(noise, eigenvalues[components])
        d = (eigenvalues - noise)[:components] / np.sqrt(eigenvalues[:components]) * np.sqrt(n)
        fit = (U[:, :components] * d) @ Vt[:components] * spread + centre
        moved = np.abs(fit - filled)[missing] / np.broadcast_to(spread, X.shape)[missing]
        filled = np.where(missing, fit, X)
        if moved.max() < 1e-11 * (1 if unit else X[~missing].std()):
            return filled


def arrests():
    with (ROOT / "examples" / "usarrests.csv").open() as file:
        return np.array([[float(cell) for cell in line[1:]] for line in [*csv.reader(file)][1:]])


def wide():
    rng = np.random.default_rng(21)
    low = rng.standard_normal((15, 2)) @ rng.standard_normal((2, 24))
    return low + 0.3 * rng.standard_normal((15, 24)) + 5


TABLES = {"arrests": arrests, "wide": wide}


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("name", TABLES)
def test_cells_are_those_of_the_published_algorithm(name, components, unit):
    X = TABLES[name]()
    missing = np.random.default_rng(2).random(X.shape) < 0.1
    X = np.where(missing, np.nan, X)
    expected = impute_as_published(X, components, unit=unit)
    model = PCA(components, missing="em", scale="unit" if unit else None).fit(X)
    spread = np.nanstd(X, axis=0)
    np.testing.assert_allclose(model.impute(X) / spread, expected / spread, atol=CLOSE)
    assert model.imputed_.cells == missing.sum() > 0
    # The test would detect such a difference: without the ridge the cells differ.
    without_ridge = impute_as_published(X, components, unit=unit, ridge=0.0)
    assert np.abs((without_ridge - expected) / spread).max() > 1000 * CLOSE
