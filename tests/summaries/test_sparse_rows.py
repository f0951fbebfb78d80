"""Sparse rows as a centred matrix, and their moments, against the same rows dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS, EPS32
from princomp.linalg import CACHE_LINE
from princomp.solvers import search_block_width
from princomp.summaries import Columns, Moments, SketchOf
from princomp.summaries.dense_rows import DenseRows
from princomp.summaries.moments import sparse_sums
from princomp.summaries.sparse_rows import SparseRows


def table(n, p, *, full=(), mean=0.0, seed=0, dtype=np.float64):
    """Sparse rows, dense in the columns named, which have this mean."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.15)
    for column in full:
        dense[:, column] = mean + rng.standard_normal(n)
    return dense.astype(dtype)


def mean_and_variances(dense, weights):
    """Weighted mean in two doubles, variances, and the mean in extended precision."""
    wide = dense.astype(np.longdouble)
    row_weights = np.ones(len(dense)) if weights is None else weights
    mean = row_weights @ wide / row_weights.sum()
    high = mean.astype(np.float64)
    variances = row_weights @ (wide - mean) ** 2 / (row_weights.sum() - 1)
    return high, (mean - high).astype(np.float64), variances.astype(np.float64), mean


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("full", [(), (3, 17)])
@pytest.mark.parametrize(("n", "p"), [(300, 70), (60, 400)])
def test_products_are_those_of_the_centred_matrix(n, p, full, scaled, weighted):
    dense = table(n, p, full=full, mean=1e6)
    dense[:, 3] *= -1.0
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, n) if weighted else None
    divisor = rng.uniform(0.5, 2, p) if scaled else None
    high, low, variances, mean = mean_and_variances(dense, weights)
    a = dense.astype(np.longdouble) - mean
    a = a if divisor is None else a / divisor
    a = (a if weights is None else a * np.sqrt(weights)[:, None]).astype(np.float64)
    rows = SparseRows.of(sp.csr_array(dense), high, low, variances, divisor, weights)
    assert rows.shape == a.shape
    right, left = rng.standard_normal((p, 20)), rng.standard_normal((n, 20))
    # The mean that is subtracted is at most 3 deviations, so X is at most 4 times A by columns;
    # a mean of 1e6 that was not centred first would cost 1e6 roundoffs and more.
    tolerance = 4 * 2 * (n + p) * EPS
    size = np.abs(a)
    into = np.ones((p, 20))
    rows.add_images(right, into)
    added = np.ones((p, 20))
    rows.add_rmatmul(left, added)
    for found, expected, bound in (
        (rows.matmul(right), a @ right, size @ np.abs(right)),
        (rows.rmatmul(left), a.T @ left, size.T @ np.abs(left)),
        (added - 1.0, a.T @ left, size.T @ np.abs(left) + 1.0),
        (rows.images(right), a.T @ (a @ right), size.T @ (size @ np.abs(right))),
        (into - 1.0, a.T @ (a @ right), size.T @ (size @ np.abs(right))),
        (rows.row_images(left), a @ (a.T @ left), size @ (size.T @ np.abs(left))),
        (rows.row_products(), a @ a.T, size @ size.T),
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * bound.max())
    products = rows.row_products()
    np.testing.assert_array_equal(products, products.T)


@pytest.mark.parametrize(("n", "p"), [(90, 4000), (900, 1500)])
def test_products_of_rows_with_a_common_mean_lose_no_more_than_three_digits(n, p):
    # A mean of 1.5 deviations is not subtracted column by column. Over all columns it is much
    # longer than the centred rows, and products are centred afterwards only where that costs at
    # most 2^10 roundoffs.
    rng = np.random.default_rng(2)
    dense = np.where(rng.random((n, p)) < 0.7, 1.0, 0.0)
    dense[:, ::2] *= 1e5
    high, low, variances, mean = mean_and_variances(dense, None)
    a = (dense - mean).astype(np.float64)
    rows = SparseRows.of(sp.csr_array(dense), high, low, variances, None, None)
    largest, whole = np.linalg.norm(a, 2), np.linalg.norm(dense, 2)
    wrong = np.linalg.norm(rows.row_products() - a @ a.T, 2)
    # Of two products one after the other: ‖X‖ ‖A‖ roundoffs, a few for each.
    bound = 20 * EPS * whole * (whole if n == 90 else largest)
    assert wrong <= bound <= 20 * 2**10 * EPS * largest**2


def test_products_are_float32_only_if_rows_and_vectors_are():
    dense = table(400, 64, dtype=np.float32)
    high, low, variances, mean = mean_and_variances(dense, None)
    a = (dense - mean).astype(np.float64)
    rows = SparseRows.of(sp.csr_array(dense), high, low, variances, None, None)
    right = np.random.default_rng(3).standard_normal((64, 32))
    expected = a.T @ (a @ right)
    size = (np.abs(a).T @ (np.abs(a) @ np.abs(right))).max()
    wide = rows.images(right)
    np.testing.assert_allclose(wide, expected, rtol=0, atol=4 * 464 * EPS * size)
    narrow = rows.images(right.astype(np.float32))
    assert narrow.dtype == np.float64
    assert np.abs(narrow - expected).max() <= 4 * 464 * EPS32 * size
    assert np.abs(narrow - expected).max() > 1e3 * np.abs(wide - expected).max()


def test_the_input_is_not_modified():
    dense = table(50, 20, full=(4,), mean=1e6)
    data = sp.csr_array(dense)
    parts = [part.copy() for part in (data.data, data.indices, data.indptr)]
    high, low, variances, _ = mean_and_variances(dense, None)
    rows = SparseRows.of(data, high, low, variances, np.full(20, 2.0), np.full(50, 3.0))
    rows.row_products()
    rows.images(np.ones((20, 2)))
    sparse_sums(data, np.full(50, 3.0))
    for part, after in zip(parts, (data.data, data.indices, data.indptr), strict=True):
        np.testing.assert_array_equal(part, after)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_sparse_rows_are_those_about_the_shift(dtype, weighted):
    dense = table(300, 40, full=(0, 39), mean=1e4, dtype=dtype)
    weights = np.random.default_rng(4).uniform(0.5, 2, 300) if weighted else None
    row_weights = np.ones(300) if weights is None else weights
    rows, shift, sums, scatter = sparse_sums(sp.csr_array(dense), weights)
    assert rows == row_weights.sum()
    assert set(np.flatnonzero(shift)) == {0, 39}
    about = dense.astype(np.float64) - shift
    # A full column is shifted roughly to its mean: no numbers of 1e8 are left to cancel, except
    # in the sums of products with other columns.
    assert np.abs(about).max() < 10
    tolerance = 2 * 304 * EPS * (np.abs(about).T @ (row_weights[:, None] * np.abs(about))).max()
    np.testing.assert_allclose(
        scatter, about.T @ (row_weights[:, None] * about), rtol=0, atol=tolerance
    )
    np.testing.assert_array_equal(scatter, scatter.T)
    np.testing.assert_allclose(sums, row_weights @ about, rtol=0, atol=tolerance)


def test_duplicate_and_unsorted_entries_are_summed_first():
    rows = sp.csr_array(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3]), shape=(1, 3))
    *_, scatter = sparse_sums(sp.vstack([rows, sp.csr_array((3, 3))], format="csr"), None)
    np.testing.assert_array_equal(scatter, np.outer([2.0, 5, 0], [2.0, 5, 0]))


def test_products_of_rows_add_repeated_entries_first(rng):
    at = np.sort(rng.integers(0, 30, 60)), rng.integers(0, 8, 60)
    values, dense = rng.standard_normal(60), np.zeros((30, 8))
    np.add.at(dense, at, values)
    rows = sp.csr_array((values, at[1], np.searchsorted(at[0], np.arange(31))), shape=(30, 8))
    found = SparseRows.of(rows, np.zeros(8), np.zeros(8), np.ones(8), None, None)
    size = (np.abs(dense) @ np.abs(dense.T)).max()
    for products in (found.row_products(), found.row_images(np.eye(30))):
        np.testing.assert_allclose(products, dense @ dense.T, rtol=0, atol=64 * EPS * size)


def test_as_many_vectors_are_multiplied_at_once_as_fill_a_cache_line():
    for dtype in (np.float32, np.float64):
        data, zero = table(50, 20, dtype=dtype), np.zeros(20)
        plain, divided = (
            SparseRows.of(sp.csr_array(data), zero, zero, np.ones(20), divisor, None)
            for divisor in (None, np.ones(20))
        )
        dense = DenseRows.of(data, zero, zero, None, None)
        for rows in (plain, divided, dense):
            width = search_block_width(1, rows.lowest_dtype)
            assert width * rows.lowest_dtype.itemsize == CACHE_LINE
        assert (plain.lowest_dtype, divided.lowest_dtype) == (dtype, np.float64)


@pytest.mark.parametrize("kind", [Moments, Columns, SketchOf(6)])
@pytest.mark.parametrize("heavy", [1.0, 1e3, 1e9, 1e15])
def test_a_few_rows_of_nearly_all_the_weight_do_not_cancel(kind, heavy):
    """A column is full where it is stored for most of the weight, not in most of the rows.

    The heavy rows lie a few deviations around 10⁴: the light ones store nothing and lie 10⁴
    away, so their weight must not be lost in that of the heavy ones. Entry (i, j) of a
    scatter is off by a few (n + p) eps of √(Sᵢᵢ Sⱼⱼ).
    """
    n, p = 400, 12
    rng = np.random.default_rng(2)
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.05)
    weights = rng.uniform(0.5, 2.0, n)
    dense[[7, 90, 300]] = 1e4 + rng.standard_normal((3, p))
    dense[90, 3] = 0.0  # a column that a heavy row does not store
    weights[[7, 90, 300]] *= heavy
    _, _, _, mean = mean_and_variances(dense, weights)
    centred = dense - mean
    scatter = np.asarray((centred.T * weights) @ centred, dtype=np.float64)
    found = kind.of(sp.csr_array(dense), weights)
    size = np.sqrt(scatter.diagonal())
    allowed = 16 * (n + p) * EPS * np.outer(size, size)
    np.testing.assert_array_less(
        np.abs(found.column_scatter - scatter.diagonal()), allowed.diagonal()
    )
    error = (found.mean - mean) + found.mean_low
    # The sum of the weights is rounded as well.
    spread = size / np.sqrt(weights.sum())
    assert (np.abs(error) <= 16 * (n + p) * EPS * spread + 4 * EPS * np.abs(mean)).all()
    if kind is Moments:
        assert (np.abs(found.scatter - scatter) <= allowed).all()
    elif kind is not Columns:
        directions = found.directions
        assert (np.abs(found.product - scatter @ directions) <= allowed @ np.abs(directions)).all()


def _twenty_decades():
    return 10.0 ** np.random.default_rng(3).uniform(-10, 10, 385)


def _equal_but_for_the_last_digits():
    """Sums of all but a few of these weights are rounded, and depend on the order."""
    weights = np.random.default_rng(3).uniform(1.9, 2.0, 1023)
    weights[:35] = 2.0**-60
    return weights


@pytest.mark.parametrize("kind", [Moments, Columns, SketchOf(6)])
@pytest.mark.parametrize("draw", [_twenty_decades, _equal_but_for_the_last_digits])
def test_a_light_cell_that_is_not_stored_is_not_lost_in_the_total_weight(kind, draw):
    """Column j is 254, except in row j: its scatter is 254² wⱼ (1 - wⱼ/Σw), up to rounding."""
    weights, p = draw(), 35
    n = len(weights)
    weights[:p] = np.sort(weights)[:p]
    dense = np.full((n, p), 254.0)
    np.fill_diagonal(dense, 0.0)
    found = kind.of(sp.csr_array(dense), weights)
    expected = 254.0**2 * weights[:p] * (1.0 - weights[:p] / weights.sum())
    np.testing.assert_allclose(found.column_scatter, expected, rtol=16 * (n + p) * EPS, atol=0)


def test_a_repeated_product_takes_no_new_memory_of_the_size_of_the_vectors():
    data = sp.random_array((20_000, 100), density=0.01, rng=np.random.default_rng(0), format="csr")
    high, low, variances, _ = mean_and_variances(data.toarray(), None)
    rows = SparseRows.of(data, high, low, variances, None, None)
    left, into = np.ones((20_000, 16)), np.zeros((100, 16))
    rows.row_images(left)  # makes a copy of the rows in CSC order, which products use from then on
    rows.add_rmatmul(left, into)  # takes the memory that threads keep
    tracemalloc.start()
    rows.add_rmatmul(left, into)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < left.nbytes / 4


def test_rows_are_copied_by_columns_only_for_products_that_need_it():
    rows = SparseRows.of(sp.csr_array(table(50, 20)), *np.zeros((2, 20)), np.ones(20), None, None)
    into = np.zeros((20, 3))
    rows.add_rmatmul(np.ones((50, 3)), into)
    assert "_by_columns" not in vars(rows)
    rows.row_images(np.ones((50, 3)))
    assert "_by_columns" in vars(rows)


def test_columns_without_any_value_stay_empty():
    dense = table(50, 20)
    dense[:, 5:15] = 0.0
    data = sp.csr_array(dense)
    high, low, variances, _ = mean_and_variances(dense, None)
    assert SparseRows.of(data, high, low, variances, None, None).rows.nnz == data.nnz
