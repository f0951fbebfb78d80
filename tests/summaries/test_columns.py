"""Columns: means and scatters of dense columns, some at a time, in the data's precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS, EPS32
from princomp.errors import NotFiniteError
from princomp.kernels import entries_of, sampled_rows
from princomp.linalg import threads
from princomp.summaries import Columns, columns

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True)
def _narrow_spans(monkeypatch):
    monkeypatch.setattr(columns, "MIN_SPAN_COLUMNS", 7)
    monkeypatch.setattr(columns, "MIN_NUMBERS_FOR_THREADS", 0)


def check(data, weights=None, *, precise=False):
    """Compare mean and scatter with those in extended precision.

    float32 squares are off by some units of each sum of 16 of them; so is a mean, measured by
    the spread. In float64 the squares about a guess are at most 64 times the scatter.
    """
    found = Columns.of(data, weights, precise=precise)
    wide = data.astype(np.longdouble)
    share = np.ones(len(data)) if weights is None else weights
    mean = share @ wide / share.sum()
    scatter = share @ (wide - mean) ** 2
    coarse = data.dtype == np.float32 and weights is None and not precise
    unit = EPS32 if coarse else EPS
    tol = 24 * unit + 64 * (len(data) + 16) * EPS
    assert (np.abs(found.column_scatter - scatter) <= tol * scatter).all()
    spread = np.sqrt(scatter / share.sum())
    low = np.asarray(found.mean, np.longdouble) + found.mean_low - mean
    assert (np.abs(low) <= 24 * unit * spread + 2 * EPS**2 * len(data) * np.abs(mean)).all()
    assert found.count == len(data)
    return found


@every_dtype
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 500])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("precise", [False, True])
def test_means_and_scatters(dtype, n, weighted, precise, rng):
    data = (rng.standard_normal((n, 20)) * np.geomspace(1e-3, 1e3, 20) + 3).astype(dtype)
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    check(data, weights, precise=precise)


@every_dtype
@pytest.mark.parametrize("mean", [1e4, 1e6])
def test_a_large_mean_does_not_cancel(dtype, mean, rng):
    check((rng.standard_normal((500, 20)) + mean).astype(dtype))


@every_dtype
def test_only_columns_whose_guess_was_far_are_summed_again(dtype, rng, monkeypatch):
    monkeypatch.setattr(columns, "MIN_SPAN_COLUMNS", 100)
    summed, sums = [], columns.sums_about
    monkeypatch.setattr(columns, "sums_about", lambda *a: summed.append(a[1].shape[1]) or sums(*a))
    data = rng.standard_normal((2000, 5)).astype(dtype)
    data[:, [0, 3]] = 0.1, 0.0  # constant
    Columns.of(data)
    assert summed == [5]
    data[sampled_rows(2000, 16), 4] += 1e3
    Columns.of(data)
    assert summed == [5, 5, 1]


@every_dtype
def test_rows_that_mislead_the_guess_are_summed_again(dtype, rng):
    """Each row that the guess of the mean samples lies far from the 1,249 after it."""
    data = rng.standard_normal((20_000, 3)).astype(dtype)
    data[:: 20_000 // 16] += 1e5
    check(data)


@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_huge_rows_of_hardly_any_weight_leave_no_trace(size, rng):
    rows = size * (rng.standard_normal((3000, 4)) * [4, 3, 2, 1] + 2)
    weights = np.where(np.arange(3000) < 2000, 1e-300, 1.0)
    rows[:2000] = 9.96921e36
    columns, expected = Columns.of(rows, weights), Columns.of(rows[2000:])
    np.testing.assert_allclose(columns.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(columns.column_scatter, expected.column_scatter, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_summed_again_only_about_means_that_cancel(weighted, rng, monkeypatch):
    """A constant column is summed about one of its values, so it needs no third pass."""
    calls = []
    sums = columns.stored_sums_about
    monkeypatch.setattr(columns, "stored_sums_about", lambda *a: calls.append(1) or sums(*a))
    X = np.where(rng.random((300, 6)) < 0.1, rng.standard_normal((300, 6)), 0.0)
    weights = rng.random(300) + 0.5 if weighted else None
    Columns.of(sp.csr_array(X), weights)
    assert len(calls) == 1
    X[:, 0], X[:, 2] = 0.1, 0.7
    X[:, 4] = rng.standard_normal(300)
    X[-1, 4] = 50.0  # far from the mean, which is near enough to zero
    found = Columns.of(sp.csr_array(X), weights)
    assert len(calls) == 1 + 2
    assert found.mean[[0, 2]].tolist() == [0.1, 0.7]
    assert found.column_scatter[[0, 2]].tolist() == [0.0, 0.0]
    assert found.mean_low[[0, 2]].tolist() == [0.0, 0.0]


def test_one_cell_of_many_that_is_not_stored_counts_as_zero():
    cells = np.ones((300, 3))
    cells[7, 1] = 0.0
    found = Columns.of(sp.csr_array(cells))
    np.testing.assert_allclose(found.mean, [1.0, 299 / 300, 1.0], rtol=4 * EPS)
    np.testing.assert_allclose(found.column_scatter, [0.0, 299 / 300, 0.0], rtol=600 * EPS)


def test_the_weight_of_cells_that_are_not_stored_is_exact_down_to_the_smallest_double(rng):
    weights = np.r_[1.0, 3e-200, 1e-310, 5e-324, rng.random(60)]
    cells = np.ones((64, 5))
    cells[[1, 2, 3, 63], [1, 2, 3, 4]] = cells[2, 3] = 0.0
    found = columns._weight_not_stored(entries_of(sp.csr_array(cells)), weights)
    assert found.tolist() == [0.0, 3e-200, 1e-310, 1e-310 + 5e-324, weights[63]]


@every_dtype
@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e-30])
def test_a_constant_column_has_exactly_zero_scatter(dtype, value, rng):
    data = rng.standard_normal((300, 20)).astype(dtype)
    data[:, [0, 7, 19]] = value
    found = check(data)
    assert (found.column_scatter[[0, 7, 19]] == 0).all()
    assert (found.mean[[0, 7, 19]] == dtype(value)).all()


@pytest.mark.parametrize("size", [1e-30, 1e-25, 1e-20, 1e18, 1e25, 1e37])
def test_squares_beyond_the_range_of_float32_are_float64(size, rng):
    data = (size * rng.standard_normal((300, 20))).astype(np.float32)
    found = Columns.of(data)
    exact = data.astype(np.float64).var(axis=0) * 300
    np.testing.assert_allclose(found.column_scatter, exact, rtol=24 * EPS32)


@every_dtype
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (299, 19), (16, 7), (250, 6)])
def test_non_finite_values_are_located(dtype, value, place, rng):
    data = rng.standard_normal((300, 20)).astype(dtype)
    data[place] = value
    with pytest.raises(NotFiniteError) as caught:
        Columns.of(data)
    assert caught.value.place == {"row": place[0], "column": place[1]}


@every_dtype
def test_the_number_of_threads_changes_no_bit(dtype, rng, monkeypatch):
    data = (rng.standard_normal((300, 50)) + 3).astype(dtype)
    results = []
    for count in (1, 2, 3):
        monkeypatch.setattr(threads, "default_threads", lambda count=count: count)
        found = Columns.of(data)
        parts = (found.mean, found.mean_low, found.column_scatter)
        results.append([part.tobytes() for part in parts])
    assert results[0] == results[1] == results[2]
