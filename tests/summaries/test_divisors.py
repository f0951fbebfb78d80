"""Divisors of columns: measures of spread or given numbers, and what is said if they fail."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS
from princomp.errors import (
    ConstantColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Columns, Extremes, divisors

NAMES = tuple("abcdefgh")


@pytest.fixture
def table(rng):
    return rng.standard_normal((40, 8)) * 10.0 ** np.arange(-4, 4) + 3


def test_each_scale_divides_by_its_measure_of_spread(table):
    columns, extremes = Columns.of(table), Extremes.of(table)
    deviations = table.std(axis=0, ddof=1)
    for scale, expected in (
        ("unit", deviations),
        ("pareto", np.sqrt(deviations)),
        ("range", np.ptp(table, axis=0)),
    ):
        np.testing.assert_allclose(divisors(scale, columns, extremes), expected, rtol=256 * EPS)
    with pytest.raises(NotAvailableError, match="range of the columns was not kept"):
        divisors("range", columns)


def test_given_divisors_are_copied(table):
    given = np.arange(1.0, 9.0)
    found = divisors(given, Columns.of(table))
    assert found is not given
    assert found.tolist() == given.tolist()


@pytest.mark.parametrize("constant", [None, "error"])
@pytest.mark.parametrize("count", [1, 2, 5, 6, 7])
def test_up_to_five_constant_columns_are_named(count, constant, table):
    table[:, :count] = 1.0
    columns = Columns.of(table)
    for names in (None, NAMES):
        labels = list(range(8)) if names is None else list(NAMES)
        with pytest.raises(ConstantColumnError) as caught:
            divisors("unit", columns, names=names, constant=constant)
        listed = ", ".join(f"column {label!r}" for label in labels[: min(count, 5)])
        more = f" and {count - 5} more" if count > 5 else ""
        assert str(caught.value).splitlines()[0].endswith(f"a constant column: {listed}{more}")
        assert caught.value.place == {"column": labels[0]}
        plural = "" if count == 1 else "s"
        if constant is None:
            assert f"exclude={labels[:count]} of read_table leaves" in caught.value.hint
            assert f"the column{plural} out" in caught.value.hint
            other = "an array, numpy.delete" if names is None else "a frame, drop(columns="
            assert other in caught.value.hint
        else:
            assert f"leave the constant column{plural} out, or set" in caught.value.hint


@pytest.mark.parametrize("constant", ["zero", "drop"])
def test_constant_columns_are_divided_by_1(constant, table):
    expected = divisors("unit", Columns.of(table))
    expected[[2, 5]], table[:, [2, 5]] = 1.0, -7.0
    found = divisors("unit", Columns.of(table), constant=constant)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf, -np.inf])
def test_divisors_are_positive_and_finite(wrong, table):
    given = np.full(8, 5e-324)
    given[:3] = 1.0, 1e300, 0.5
    given[3] = wrong
    with pytest.raises(ParameterError, match=rf"got {wrong:g} for column 'd'") as caught:
        divisors(given, Columns.of(table), names=NAMES)
    assert caught.value.place == {"parameter": "scale", "column": "d"}
    with pytest.raises(ShapeError, match=r"shape \(7,\), and there are 8 columns"):
        divisors(given[:7], Columns.of(table))


def test_squares_of_divided_columns_stay_in_the_range_of_float64(table):
    columns = Columns.of(table)
    for size in (1e-170, 1e170):
        with pytest.raises(NotFiniteError, match="divided by scale, leave the range"):
            divisors(np.full(8, size), columns)
    for size in (1e-150, 1e150):
        assert divisors(np.full(8, size), columns).tolist() == [size] * 8
    # One column may vanish next to others, and constant columns have no squares to lose.
    some = np.where(np.arange(8) < 7, 1e170, 1.0)
    assert divisors(some, columns).tolist() == some.tolist()
    constant = Columns.of(np.ones((40, 8)))
    assert divisors(np.full(8, 1e170), constant).tolist() == [1e170] * 8
