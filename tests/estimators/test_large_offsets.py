"""A large offset of all columns changes no result, because means have more digits than float64."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS
from princomp import PCA, diagnostics
from princomp.rules import Decision

# Integers near this power of two are represented exactly, but their means are not.
OFFSET = 2.0**52


@pytest.fixture
def rows(rng):
    """Integers of 37 rows, so that means have fractions."""
    common = rng.standard_normal((37, 2)) @ rng.standard_normal((2, 6)) * 40
    return np.rint(common + 5 * rng.standard_normal((37, 6)))


RESULTS = {
    "scores": lambda model, rows: model.transform(rows),
    "densities": lambda model, rows: model.score_samples(rows),
    "score distances": lambda model, rows: diagnostics.distances(model, rows).t2,
    "residuals": lambda model, rows: diagnostics.distances(model, rows).q,
    "variances": lambda model, _: model.explained_variance_,
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_results_without_the_offset(result, rows):
    expected = result(PCA(2).fit(rows), rows)
    found = result(PCA(2).fit(rows + OFFSET), rows + OFFSET)
    # Sums of n squares of p numbers, and their rounding.
    bound = 37 * 6 * EPS * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


class RecordingRule:
    """Keeps the rows that it is given."""

    name, needs = "recording", "rows"

    def decide(self, known):
        self.rows = known.table()
        return Decision(self.name, 1, "one")


def test_rows_that_a_rule_draws(rows):
    rule = RecordingRule()
    PCA(rule).fit(rows + OFFSET)
    expected = rows - rows.mean(axis=0)
    np.testing.assert_allclose(rule.rows, expected, rtol=0, atol=37 * EPS * np.abs(rows).max())


@pytest.mark.parametrize("method", ["em", "nipals"])
def test_cells_filled_from_a_column_far_from_zero(method, rng):
    first = np.rint(9 * rng.standard_normal(37))
    rows, incomplete = np.c_[first, 100 * first], np.array([[3.0, np.nan]])
    offset = np.array([OFFSET, 0.0])
    expected = PCA(1, missing=method).fit(rows).impute(incomplete)
    found = PCA(1, missing=method).fit(rows + offset).impute(incomplete + offset)
    # A hundredfold difference of the known cell, whose axis has an entry of 1/100.
    np.testing.assert_allclose(found[0, 1], expected[0, 1], rtol=37 * 100**2 * EPS)
