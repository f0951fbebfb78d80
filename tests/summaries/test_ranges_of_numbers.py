"""Numbers near the limits of a precision: those of float32 and float64, and of their squares."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS
from princomp.errors import NotFiniteError
from princomp.kernels import sampled_rows, wide
from princomp.summaries import Columns, Moments, SketchOf, Triangle, check_range, in_range
from princomp.summaries.centred_rows import safe_exponent


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)])
def test_the_smallest_and_largest_normal_numbers_are_in_range(dtype):
    limits = np.finfo(dtype)
    smallest, largest = float(limits.tiny), float(limits.max)
    assert in_range(None, dtype)
    assert in_range(np.empty(0), dtype)
    assert in_range(np.array([1.0, largest, smallest]), dtype)
    assert in_range(np.array([1.0, 0.0]), dtype)  # zero stays zero
    assert not in_range(np.array([1.0, smallest * (1 - limits.eps)]), dtype)
    assert not in_range(np.array([1.0, np.inf]), dtype)


def test_numbers_just_beyond_float32_are_not_in_its_range():
    limits, dtype = np.finfo(np.float32), np.dtype(np.float32)
    assert not in_range(np.array([float(limits.max) * (1 + EPS)]), dtype)
    assert not in_range(np.array([float(limits.tiny) * (1 - EPS)]), dtype)


@pytest.mark.parametrize(
    ("dtype", "power", "expected"),
    [
        ("f4", 19, 0), ("f4", 20, 21), ("f4", -21, 0), ("f4", -22, -21), ("f4", 118, 119),
        ("f4", 125, 120), ("f4", -125, -120), ("f4", 139, 120), ("f4", 140, 141),
        ("f8", 140, 0), ("f8", 199, 0), ("f8", 200, 201), ("f8", -300, -299),
    ],
)  # fmt: skip
def test_rows_are_divided_by_about_their_norm_only_where_squares_would_leave_range(
    dtype, power, expected
):
    """Norms of 2²⁰ can be squared twice in float32, and of 2²⁰⁰ in float64."""
    squares = np.array([0.0, 2.0 ** (2 * power), 2.0**-600])
    assert safe_exponent(squares, np.dtype(dtype)) == expected
    assert safe_exponent(np.zeros(3), np.dtype(dtype)) == 0


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_squares_may_underflow_in_a_column_only_next_to_a_much_larger_one(order):
    """Deviations below about 1.5e-154 lose digits: their entries next to those / eps are rounding.

    In ten rows, deviations of d alternate in sign: their squares add up to 10 d².
    """
    signs = (-1.0) ** np.arange(10)
    lost = np.sqrt(np.finfo(np.float64).tiny)
    for factor, accepted in ((1.01, True), (0.99, False)):
        small, large = 1e-2 * lost, factor * lost / EPS
        columns = Columns.of((signs[:, None] * [small, large])[:, order])
        if accepted:
            check_range(columns)
        else:
            with pytest.raises(NotFiniteError) as caught:
                check_range(columns)
            assert caught.value.place == {"column": order.index(0)}
            assert "multiply all columns by a power of ten, such as 1e150" in caught.value.hint
        with pytest.raises(NotFiniteError) as caught:
            check_range(columns, ("small", "large"), each=True)
        assert caught.value.place == {"column": ["small", "large"][order.index(0)]}


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("each", [False, True])
def test_a_scatter_that_is_not_finite_is_refused_with_its_column(value, each):
    columns = replace(Columns.of(np.eye(3)), column_scatter=np.array([1e300, value, value]))
    for names, column in ((None, 1), (("a", "b", "c"), "b")):
        with pytest.raises(NotFiniteError, match=f"squares of column {column!r} over") as caught:
            check_range(columns, names, each=each)
        assert caught.value.place == {"column": column}


def test_a_column_near_zero_without_squares_may_vary():
    """A mean of 1e-150 may hide deviations of 1e-165, whose squares are zero; 1e-144 may not."""
    for mean, accepted in (
        (1e-150, False),
        (-1e-150, False),
        (1e-144, True),
        (-1e-144, True),
        (0.0, True),
    ):
        columns = Columns.of(np.full((4, 2), mean))
        if accepted:
            check_range(columns, each=True)
        else:
            with pytest.raises(NotFiniteError, match="below about 1e-154 under") as caught:
                check_range(columns, each=True)
            assert "multiply the column by a power of ten, such as 1e300" in caught.value.hint


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle, SketchOf(2)])
def test_squares_that_underflow_are_not_zero_as_those_of_constant_columns(kind, rng):
    X = np.where(rng.random((40, 30)) < 0.05, 1e-170 * rng.random((40, 30)), 0.0)
    X[:, 7] = 3.5
    found = kind.of(sp.csr_array(X))
    np.testing.assert_array_equal(found.column_scatter > 0, np.ptp(X, axis=0) > 0)


@pytest.mark.parametrize("narrowest", [4, 10**6])
def test_dense_squares_of_any_width_that_leave_the_range_are_restored_or_refused(
    narrowest, rng, monkeypatch
):
    monkeypatch.setattr(wide, "MIN_COLUMNS", narrowest)
    X = np.zeros((2000, 6))
    others = np.setdiff1d(np.arange(2000), sampled_rows(2000))  # of which the shift is no mean
    X[others, 1] = 1e-170
    assert np.flatnonzero(Moments.of(X).column_scatter).tolist() == [1]
    X = rng.standard_normal((40, 6))
    X[:, 2] *= 1e5
    for dtype in (np.float32, np.float64):
        for precise in (False, True):
            with pytest.raises(NotFiniteError, match="squares of column 2 overflow float64"):
                Moments.of(X.astype(dtype), np.full(40, 1e299), precise=precise)


def test_squares_of_sparse_rows_that_overflow_are_refused():
    X = np.zeros((40, 30))
    X[3, 2], X[5, 2], X[7, 8] = 1e200, -1e200, 1.0
    with pytest.raises(NotFiniteError, match="squares of column 2 overflow float64"):
        Moments.of(sp.csr_array(X))


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle])
def test_a_sum_of_dense_values_that_overflows_is_refused(kind):
    with pytest.raises(NotFiniteError, match="sum of the values overflows float64"):
        kind.of(np.array([[1.0, 1.7e308], [2.0, -1.7e308], [3.0, 1.7e308]]))


def test_a_sum_of_sparse_values_that_overflows_is_refused():
    with np.errstate(all="ignore"), pytest.raises(NotFiniteError, match="sum of the values overf"):
        Columns.of(sp.csr_array(np.full((3, 2), 1.5e308)))
    # Each sum is in range here, though the sum of both is not.
    assert not Columns.of(sp.csr_array(np.full((1, 2), 1e308))).column_scatter.any()


def test_sparse_rows_of_few_entries_are_summed_without_a_dense_copy(rng):
    X = sp.random_array((40_000, 200), density=0.01, rng=rng, format="csr")
    tracemalloc.start()
    try:
        found = Moments.of(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.count == 40_000
    assert peak < X.shape[0] * X.shape[1] * 8 / 4
