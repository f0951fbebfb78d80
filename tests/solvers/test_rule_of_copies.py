"""The rule that ends a search: when it looks for copies of an eigenvalue, and when it has all."""

from __future__ import annotations

import numpy as np
import pytest

from princomp.solvers.lanczos import TopPairs

TOL, WIDTH, K = 1e-12, 4, 10
# Eight copies of an eigenvalue, of which a start of four vectors may find four only; two other
# values that are wanted; and those after them.
VALUES = np.r_[np.full(8, 2.0), 1.5, 1.4, 1.2, 1.1, 1.0, 0.9]
SMALL = np.full(len(VALUES), TOL / 10)


class Space:
    """A search space with these Ritz values and residuals."""

    size, stop, products, overlap = 100, 60, 7, 0.0
    vectors = np.eye(60, 100)

    def __init__(self, values, residuals):
        self.values, self.lengths, self.restarted = values, residuals, False

    def is_full(self, width):
        return False

    def pairs(self, count):
        return self.values[:count], np.eye(count, self.stop)

    def residuals(self, coordinates):
        return self.lengths[: len(coordinates)]

    def restart(self, values, coordinates, *, random=False):
        self.restarted = random


def second_check(first, values, residuals):
    """Check a space after one whose values were ``first``; return the pairs and the space."""
    rule = TopPairs(K, WIDTH, 60, TOL, WIDTH, TOL)
    space = Space(first, SMALL)
    assert rule.check(space) is None
    assert space.restarted
    space = Space(values, residuals)
    return rule.check(space), space


@pytest.mark.parametrize(("error", "enough"), [(1e-7, True), (1e-5, False)])
def test_a_check_for_copies_ends_when_the_next_pair_is_not_one(error, enough):
    """The pair after that may have any error."""
    residuals = SMALL.copy()
    residuals[K], residuals[K + 1] = error * VALUES[K - 1], 1.0
    pairs, space = second_check(VALUES, VALUES, residuals)
    assert (pairs is not None) == enough
    assert not space.restarted


def test_a_check_that_found_another_copy_is_repeated():
    more = np.r_[2.0, VALUES[:-1]]
    pairs, space = second_check(VALUES, more, SMALL)
    assert pairs is None
    assert space.restarted


def test_rounding_of_the_largest_value_is_no_other_copy():
    values = np.r_[1e6, VALUES[1:]]
    changed = values + 4 * TOL * values[0]
    pairs, _ = second_check(values, changed, SMALL)
    assert (pairs.values == changed[:K]).all()


@pytest.mark.parametrize(("less", "missed"), [(8 * TOL, 1.0), (0.0, 2e-11)])
def test_copies_that_exceed_the_last_value_within_the_tolerance_may_be_missing(less, missed):
    """They are not searched for. If the last value is a copy itself, none are larger."""
    values = np.r_[np.full(K - 1, 2.0), 2.0 - 2.0 * less, VALUES[K:]]
    space = Space(values, SMALL)
    pairs = TopPairs(K, WIDTH, 60, TOL, WIDTH, TOL).check(space)
    assert not space.restarted
    assert pairs.missed == pytest.approx(missed, rel=1e-6, abs=0)
