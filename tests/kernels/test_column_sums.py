"""Sums and squares of columns: every instruction set and NumPy, to the same bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS
from princomp.kernels import csr
from princomp.kernels.columns import stored_sums_about, sums_about
from princomp.kernels.entries import entries_of

SHAPES = [(0, 3), (1, 1), (7, 5), (8, 8), (9, 17), (130, 33), (24, 600)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_columns_are_summed_about_the_shift(kind, dtype, shape, weighted, layout, rng):
    m, p = shape
    wide = (rng.standard_normal((2 * m, 2 * p)) + 3).astype(dtype)
    block = wide[::2, :p] if layout == "strided" else np.array(wide[:m, :p], order=layout)
    shift = rng.uniform(2, 4, p)
    weights = rng.integers(0, 4, m).astype(float) if weighted else None
    share = np.ones(m) if weights is None else weights
    differences = block.astype(np.float64) - shift
    sums, squares = sums_about(shift, block, weights)
    bound = (m + 8) * EPS
    assert (np.abs(sums - share @ differences) <= bound * (share @ np.abs(differences))).all()
    assert (np.abs(squares - share @ differences**2) <= bound * (share @ differences**2)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_byte_order_does_not_change_the_sums(kind, dtype, rng):
    block = rng.standard_normal((9, 5)).astype(dtype)
    swapped = block.astype(block.dtype.newbyteorder("S"))
    for found, expected in zip(
        sums_about(np.ones(5), swapped), sums_about(np.ones(5), block), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("row", [0, 8, 16])
def test_non_finite_values_reach_the_sums(kind, row):
    block = np.ones((17, 9))
    block[row, 8] = np.nan
    sums, squares = sums_about(np.ones(9), block)
    assert np.isnan(sums[8])
    assert np.isnan(squares[8])
    assert not sums[:8].any()


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="other shapes"):
        sums_about(np.ones(3), np.ones((5, 4)))
    with pytest.raises(ValueError, match="other shapes"):
        sums_about(np.ones(4), np.ones((5, 4)), np.ones(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (40, 7), (130, 300)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_entries_are_summed_by_columns(kind, dtype, index, shape, weighted, shifted, rng):
    m, p = shape
    stored = rng.random((m, p)) < 0.3
    dense = np.where(stored, rng.standard_normal((m, p)) + 3, 0.0).astype(dtype)
    rows = sp.csr_array(dense)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    shift = rng.uniform(2, 4, p) if shifted else None
    weights = rng.uniform(0.5, 2, m) if weighted else None
    share = np.ones(m) if weights is None else weights
    differences = np.where(
        stored, dense.astype(np.float64) - (0.0 if shift is None else shift), 0.0
    )
    count, weight_sums, sums, squares = stored_sums_about(shift, entries_of(rows), weights)
    np.testing.assert_array_equal(count, stored.sum(axis=0))
    bound = (m + 8) * EPS
    assert (np.abs(weight_sums - share @ stored) <= bound * (share @ stored)).all()
    assert (np.abs(sums - share @ differences) <= bound * (share @ np.abs(differences))).all()
    assert (np.abs(squares - share @ differences**2) <= bound * (share @ differences**2)).all()


def test_shifts_and_weights_of_other_lengths_are_refused():
    rows = entries_of(sp.csr_array(np.ones((5, 4))))
    with pytest.raises(ValueError, match="other shapes"):
        stored_sums_about(np.ones(3), rows)
    with pytest.raises(ValueError, match="other shapes"):
        stored_sums_about(None, rows, np.ones(4))


def test_rounding_of_equal_rows_does_not_accumulate(kind):
    """Adding c equal numbers one by one is off by up to 3c/16 units, here of c = 60,000."""
    m = 60_000
    rows = np.tile([[0.1, 1 / 3, np.pi]], (m, 1))
    rows[::4, 0] = 7.7
    shift, weights = np.array([0.7, 0.1, 0.3]), np.full(m, 0.3)
    about = rows.astype("g") - shift
    sparse = entries_of(sp.csr_array(rows))
    for share in (None, weights):
        exact_weights = np.ones(m, "g") if share is None else share.astype("g")
        true = np.array([exact_weights @ about, exact_weights @ about**2], dtype=float)
        dense = sums_about(shift, rows, share)
        stored = stored_sums_about(shift, sparse, share)[2:]
        # 1,024 rows at most are added one by one, and then as many sums of them at most.
        for found in (dense, stored):
            assert (np.abs(np.array(found) - true) <= 2 * 3 / 16 * 1024 * EPS * np.abs(true)).all()


@pytest.mark.parametrize("p", [4, 32, 64, 100])
def test_rounding_does_not_accumulate_in_the_only_column_that_most_rows_store(kind, p):
    """Adding c equal numbers one by one is off by up to 3c/16 units: c is 256, or 16p products."""
    n = 2**14
    columns = np.tile([0, 1], n) * (1 + np.arange(2 * n) // 2 % (p - 1))
    for value in (0.9998955018415645, 0.5376055559072022, 0.69840998277994):
        entries = sp.csr_array((np.full(2 * n, value), columns, np.arange(0, 2 * n + 1, 2)))
        rows = entries_of(entries)
        true = np.array([n * np.longdouble(value), n * np.longdouble(value) ** 2], dtype=float)
        products, sums = csr.scatter(rows)
        bound = 3 / 16 * max(256, 16 * p) * EPS * true
        assert (np.abs([sums[0], products[0, 0]] - true) <= bound).all()
        stored = np.array(stored_sums_about(None, rows)[2:])[:, 0]
        assert (np.abs(stored - true) <= 3 / 16 * 256 * EPS * true).all()


def test_rounding_of_light_rows_after_a_heavy_one_is_bounded(kind):
    """Rows of a group are added one by one: up to half a unit each, of at most 256 rows.

    ``csr.backward`` has groups of 1,024 rows.
    """
    n = 2**15
    rows = entries_of(sp.csr_array(np.ones((n, 1))))
    for light in np.random.default_rng(0).uniform(1e-9, 2e-9, 8):
        weights = np.full(n, light)
        weights[0] = 2e6
        expected = math.fsum(weights)
        stored = stored_sums_about(None, rows, weights)
        dense = sums_about(np.zeros(1), np.ones((n, 1)), weights)
        products = csr.scatter(rows, weights)
        for total in (*stored[1:], *dense, *products):
            assert abs(total.item() - expected) <= 128 * EPS * expected
        for total in csr.backward(rows, np.ones((n, 1)), factor=weights):
            assert abs(total.item() - expected) <= 512 * EPS * expected
