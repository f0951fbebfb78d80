"""Forecasts of searches: how many products are left, and when a search has stalled."""

from __future__ import annotations

import math

import numpy as np
import pytest

from princomp.solvers.share_search import _estimated_sum
from princomp.solvers.stopping import Forecast, StallDetector


def test_products_are_forecast_from_the_decrease_of_the_residual():
    forecast = Forecast()
    assert forecast.update(3, 1e4) == math.inf  # one residual gives no forecast
    assert forecast.update(7, 1e3) == pytest.approx(12)  # four products a digit
    assert forecast.update(9, 1e2) == pytest.approx(4)
    assert forecast.update(10, 1e2) == math.inf
    assert forecast.update(11, 0.5) == 0.0
    assert forecast.update(12, 0.0) == math.inf
    assert forecast.next_check > 12


def test_a_residual_that_halves_in_two_checks_has_not_stalled():
    slow = StallDetector(2)
    assert not any(slow.stalled(0.7**i) for i in range(30))
    flat = StallDetector(2)
    assert [flat.stalled(1e-9 * 0.9**i) for i in range(3)] == [False, False, True]


@pytest.mark.parametrize(("found", "power"), [(30, 0.5), (9, 1.0), (8, 2.0), (7, 0.0), (1, 0.0)])
def test_the_sum_of_values_that_fall_as_a_power_is_extrapolated(found, power):
    """From the second half of those found; from few, as if all others were equal."""
    every = 3.0 * np.arange(1.0, 101) ** -power
    every[found:] = every[found - 1] if found < 8 else every[found:]
    values = np.r_[every[:found], np.full(10, 1e-3)]
    residuals = np.where(np.arange(found + 10) < found, 0.04, 0.06) * values
    expected = every.sum()
    assert _estimated_sum(values, residuals, 100.9) == pytest.approx(expected, rel=0.02)
    if found % 2 == 0 or power == 0.0:
        assert _estimated_sum(values, residuals, 100.9) == pytest.approx(expected, rel=1e-12)


def test_the_sum_of_values_that_were_all_found_is_theirs():
    values = np.arange(20.0, 0.0, -1.0)
    assert _estimated_sum(values, np.zeros(20), 10.0) == values[:10].sum()
    rough = 0.1 * values
    assert _estimated_sum(values, rough, 10.0) == 200.0  # one counts as found in any case
