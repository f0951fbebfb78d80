"""What is lost when rows are removed, from numbers whose results are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import EPS
from princomp.errors import ShapeError
from princomp.kernels import CHUNK_ROWS, LONG_CHUNK_COLUMNS, LONG_CHUNK_ROWS
from princomp.summaries import Moments, Triangle

COARSE, FINE = 2.0**-8, 2.0**-10


def moments(rows, scatter, **fields):
    zero = np.zeros(len(scatter))
    return Moments(float(rows), rows, zero, zero, np.diag(np.array(scatter, float)), **fields)


def test_the_loss_is_a_share_of_the_scatter_and_at_most_all_of_it():
    whole = moments(20, [6.0, 2.0], unit=COARSE)
    assert whole.effective_unit == COARSE
    for lost, expected in (
        ([1.5, 0.5], COARSE + 0.25), ([0.0, 7.0], COARSE + 0.875), ([8.0, 0.0], 1.0),
        ([99.0, 0.0], 1.0),
    ):  # fmt: skip
        assert replace(whole, lost=np.array(lost)).effective_unit == expected


def test_as_many_roundings_are_allowed_as_rows_are_added_one_by_one():
    few, lost = np.ones(3), np.zeros(3)
    for rows, units in ((2, 64), (100, 100), (10_000, CHUNK_ROWS)):
        assert moments(rows, few)._sum_units == units
    # How many rows were removed is not known.
    assert moments(2, few, lost=lost)._sum_units == CHUNK_ROWS
    for p, units in ((LONG_CHUNK_COLUMNS - 1, CHUNK_ROWS), (LONG_CHUNK_COLUMNS, LONG_CHUNK_ROWS)):
        assert moments(10_000, np.ones(p))._sum_units == units
    assert Triangle.of(np.eye(3))._sum_units == 64


@pytest.mark.parametrize("units", [(FINE, COARSE), (COARSE, FINE)])
def test_the_loss_bounds_the_errors_of_both_scatters_and_of_both_means(units):
    whole = moments(16, [16.0, 64.0], unit=units[0])
    part = moments(4, [4.0, 1.0], unit=units[1])
    remaining, delta, weight = np.array([11.0, 60.0]), np.array([3.0, -4.0]), 2.0
    found = whole._lost_by_removing(part, remaining, delta, -weight)
    own = units[0] * np.array([5.0, 4.0]) + units[1] * np.array([4.0, 1.0])
    # Each mean is off by its unit times the deviation of its rows.
    means = units[0] * np.array([1.0, 2.0]) + units[1] * np.array([1.0, 0.5])
    by_means = found - own
    assert (by_means > 0).all()
    entries = weight * (np.outer(np.abs(delta), means) + np.outer(means, np.abs(delta)))
    allowed = np.sqrt(np.outer(by_means, by_means))
    assert (entries <= (1 + 8 * EPS) * allowed).all()
    # No smaller bound of this form has this sum.
    least = 2 * weight * np.linalg.norm(means) * np.linalg.norm(delta)
    np.testing.assert_allclose(by_means.sum(), least, rtol=64 * EPS)
    # Equal means, or exact ones, lose nothing; earlier losses of both add up.
    np.testing.assert_array_equal(whole._lost_by_removing(part, remaining, 0 * delta, -1.0), own)
    constant = moments(16, [0.0, 0.0]), moments(4, [0.0, 0.0])
    assert not constant[0]._lost_by_removing(constant[1], np.zeros(2), delta, -weight).any()
    lost = [replace(one, lost=np.array([0.5, 2.0])) for one in (whole, part)]
    for one, other, earlier in (
        (lost[0], part, 1), (whole, lost[1], 1), (lost[0], lost[1], 2),
    ):  # fmt: skip
        total = one._lost_by_removing(other, remaining, delta, -weight)
        np.testing.assert_allclose(total - found, earlier * np.array([0.5, 2.0]), rtol=64 * EPS)


@pytest.mark.parametrize("units", [(FINE, COARSE), (COARSE, FINE)])
def test_the_scatter_of_removed_rows_may_be_larger_by_rounding_only(units):
    whole, part = moments(100, [16.0, 64.0], unit=units[0]), moments(4, [4.0, 1.0], unit=units[1])
    slack = whole._slack_of_remaining(part, np.zeros(2))
    np.testing.assert_allclose(slack, 100 * COARSE * np.array([16.0, 64.0]), rtol=4 * EPS)
    earlier = replace(whole, lost=np.array([0.5, 2.0]))._slack_of_remaining(part, np.zeros(2))
    expected = CHUNK_ROWS * (COARSE * np.array([16.0, 64.0]) + [0.5, 2.0])
    np.testing.assert_allclose(earlier, expected, rtol=4 * EPS)
    # A column of zeros may have the smallest squares.
    empty = moments(100, [0.0, 1.0])._slack_of_remaining(part, np.zeros(2))
    assert empty[0] == 100 * 100 * 5e-324
    # Columns count by their number.
    whole._slack_of_remaining(part, -1.99 * slack)
    for column in range(2):
        remaining = np.zeros(2)
        remaining[column] = -2.01 * slack[column]
        with pytest.raises(ShapeError, match=f"spread further in column {column}") as caught:
            whole._slack_of_remaining(part, remaining)
        assert caught.value.place == {"column": column}


@pytest.mark.parametrize("mean", [0.0, 3.0, 1e7])
@pytest.mark.parametrize("column", [0, 1])
def test_the_same_rows_have_the_same_scatter_and_mean_up_to_rounding(mean, column):
    low = np.full(2, 0.5)
    whole = replace(moments(100, [16.0, 64.0], unit=EPS), mean=np.full(2, mean), mean_low=low)
    bound = 2 * 100 * EPS * np.array([16.0, 64.0]) + 100 * (100 * EPS * mean) ** 2
    whole.check_same_rows(whole)
    for factor in (0.99, 1.01):
        change = factor * bound * (np.arange(2) == column)
        shift = np.sqrt(change / 100)
        for other in (
            replace(whole, scatter=whole.scatter - np.diag(change)),
            replace(whole, mean_low=low + shift),
            replace(whole, mean_low=low - shift),
            replace(whole, mean=whole.mean + 2.0, mean_low=low + shift - 2.0),
        ):
            if factor < 1:
                whole.check_same_rows(other)
                continue
            with pytest.raises(ShapeError, match=f"added: column {column} differs") as caught:
                whole.check_same_rows(other)
            assert caught.value.place == {"column": column}


def test_means_whose_squares_overflow_are_not_compared():
    whole = replace(moments(100, [16.0, 64.0], unit=EPS), mean=np.array([1e200, 0.0]))
    whole.check_same_rows(replace(whole, mean=np.array([2e200, 0.0])))
    with pytest.raises(ShapeError, match="column 1 differs"):
        whole.check_same_rows(replace(whole, mean=np.array([2e200, 1.0])))


@pytest.mark.parametrize(
    ("size", "product", "constant"),
    [
        (16.0, 0.0, True),
        (16.0, 0.99 * 100 * EPS * 32.0, True),  # each column may be off by 100 units
        (16.0, 1.01 * 100 * EPS * 32.0, False),
        (16.0, 8.0, False),
        (1e-320, 0.0, True),
        (1e-320, 1e-200, False),  # squares that underflowed are no evidence
    ],
)
def test_a_column_without_scatter_is_constant_if_its_products_are_rounding(size, product, constant):
    def of(rows, corner, product, other):
        scatter = np.array([[corner, product], [product, other]])
        return replace(moments(rows, [corner, other]), scatter=scatter)

    left = of(100, size, product, 64.0).remove(of(4, size, 0.0, 1.0))
    if constant:
        assert left.scatter.tolist() == [[0.0, 0.0], [0.0, 63.0]]
        # The products that are set to zero, and the rounding of what was removed.
        np.testing.assert_allclose(left.lost[0], 2 * product + 2 * EPS * size, rtol=1e-9)
    else:
        # A variance is at least a unit of what was there before.
        assert left.scatter.tolist() == [[size * EPS + 100 * 5e-324, product], [product, 63.0]]
        np.testing.assert_allclose(left.lost[0], 2 * EPS * size, rtol=1e-9)
    assert (left.rows, left.count, left.unit) == (96.0, 96, EPS)


def test_no_row_remains_if_the_weights_differ_by_rounding():
    rows, weights = np.arange(6.0).reshape(3, 2), np.array([0.3, 0.2, 0.1])
    whole, others = Moments.of(rows[::-1], weights[::-1]), Moments.of(rows, weights)
    assert whole.rows > others.rows
    assert (whole.remove(others).rows, whole.remove(others).count) == (0, 0)


def test_rows_of_other_columns_or_about_the_origin_cannot_be_removed(rng):
    moments = Moments.of(rng.standard_normal((9, 3)))
    with pytest.raises(ShapeError, match="of 3 columns cannot be merged with one of 2"):
        moments.remove(Moments.of(np.ones((2, 2))))
    with pytest.raises(ShapeError, match="about the origin"):
        moments.remove(Moments.of(np.ones((2, 3))).about_origin())
