"""A summary, prepared for a solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from princomp.core.context import in_safe_range, prepared
from princomp.summaries import Moments


def with_errors(errors):
    """Moments whose column scatters are 1/4, 9 and 0, with error bounds."""
    rows = np.array(
        [[0.25, 0, 5], [-0.25, 0, 5], [0.25, 1.5, 5], [-0.25, -1.5, 5], [0, 1.5, 5], [0, -1.5, 5]]
    )
    return replace(Moments.of(rows), lost=np.array(errors))


@pytest.mark.parametrize(
    ("errors", "relative"),
    [([0.0025, 0, 0], [0.01, 0]), ([0.0025, 0.09, 0], [0.01, 0.01]), ([0.0, 0, 0], [0.0, 0])],
)
def test_errors_of_divisors_are_added_to_those_of_the_scatter(errors, relative):
    """A relative error r of a column scatter changes row and column j by r √(Sⱼⱼ tr S)."""
    analysed = prepared(with_errors(errors), np.array([0.5, 3.0, 1.0]), centred=True)
    np.testing.assert_allclose(analysed.column_scatter, [1, 1, 0])
    own = np.array([*relative, 0.0])
    bounds = own * np.sqrt(2)
    norm = np.linalg.norm(bounds)
    expected = own + (bounds**2 / norm if norm else 0.0)
    np.testing.assert_allclose(analysed.lost, expected, rtol=1e-12)


def test_divisors_from_an_unknown_scatter_leave_it_unknown():
    analysed = prepared(with_errors([np.inf, 0, 0]), np.array([0.5, 3, 1]), centred=True)
    np.testing.assert_array_equal(analysed.lost, np.inf)


def test_without_divisors_errors_stay_as_they_are():
    summary = with_errors([0.0025, 0, 0])
    assert prepared(summary, None, centred=True) is summary
    moved = prepared(summary, None, centred=False)
    np.testing.assert_allclose(moved.column_scatter, [0.25, 9, 150])


@pytest.mark.parametrize("scale", [None, np.array([2.0, 3, 1])])
def test_numbers_out_of_range_are_divided_by_a_power_of_two(scale):
    summary = Moments.of(np.ldexp(np.eye(3), -400))
    exponent, divided, divisors = in_safe_range(summary, scale, np.dtype(np.float64))
    assert exponent < 0
    scatter = np.ldexp(divided.column_scatter, 2 * exponent + 800)
    np.testing.assert_allclose(scatter, 2 / 3)
    np.testing.assert_array_equal(
        divisors, 2.0**exponent * (np.ones(3) if scale is None else scale)
    )
    near = Moments.of(np.eye(3))
    assert in_safe_range(near, scale, np.dtype(np.float64)) == (0, near, scale)
