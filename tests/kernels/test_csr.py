"""The kernels for sparse rows: compiled or not, against dense products."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS, EPS32
from princomp.errors import DataError
from princomp.kernels import csr, entries_of
from princomp.linalg import limit_threads


def sparse(n, p, density=0.2, dtype=np.float64, index=np.int32, seed=0):
    """CSR rows, the first and every seventh of them empty, and the same dense."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < density)
    dense[::7] = 0.0
    rows = sp.csr_array(dense.astype(dtype))
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    return rows, rows.toarray().astype(np.float64)


def bound(dense, right, share, shift, factor, unit):
    """Rounding of Xᵀ F (X Q − c tᵀ): each sum has at most as many terms as X has rows, columns."""
    n, p = dense.shape
    sizes = np.abs(dense).T @ (
        np.abs(factor)[:, None] * (np.abs(dense) @ np.abs(right) + np.abs(np.outer(share, shift)))
    )
    return 2 * (n + p + 4) * unit * max(sizes.max(initial=0.0), 1e-300)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("dtype", "vectors"),
    [(np.float64, np.float64), (np.float32, np.float64), (np.float32, np.float32)],
)
@pytest.mark.parametrize(("n", "p", "m"), [(60, 41, 20), (5, 300, 16), (200, 1, 1), (300, 90, 75)])
def test_a_pass_is_two_dense_products(kind, n, p, m, dtype, vectors, index):
    rows, dense = sparse(n, p, dtype=dtype, index=index)
    rng = np.random.default_rng(1)
    right = rng.standard_normal((p, m)).astype(vectors)
    shift, share, factor = rng.standard_normal(m), rng.standard_normal(n), rng.random(n)
    entries = entries_of(rows)
    assert entries.columns.dtype == index
    wide = right.astype(np.float64)
    middle = factor[:, None] * (dense @ wide - np.outer(share, shift))
    unit = EPS if vectors == np.float64 else EPS32
    tolerance = bound(dense, wide, share, shift, factor, unit)
    product, total = csr.images(entries, right, shift=shift, share=share, factor=factor)
    assert product.shape == (p, m)
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, dense.T @ middle, rtol=0, atol=tolerance)
    sizes = np.abs(share) @ np.abs(middle)
    np.testing.assert_allclose(total, share @ middle, rtol=0, atol=(n + p) * unit * sizes.max())
    half = csr.forward(entries, right, shift=shift, share=share, factor=factor)
    assert half.dtype == vectors
    sizes = factor[:, None] * (np.abs(dense) @ np.abs(wide) + np.abs(np.outer(share, shift)))
    np.testing.assert_allclose(half, middle, rtol=0, atol=(p + 4) * unit * sizes.max())
    left = rng.standard_normal((n, m)).astype(vectors)
    back, total = csr.backward(entries, left, share=share, factor=factor)
    scaled = factor[:, None] * left.astype(np.float64)
    sizes = np.abs(dense).T @ np.abs(scaled)
    np.testing.assert_allclose(back, dense.T @ scaled, rtol=0, atol=(n + 2) * unit * sizes.max())
    tolerance = (n + 2) * unit * (np.abs(share) @ np.abs(scaled)).max()
    np.testing.assert_allclose(total, share @ scaled, rtol=0, atol=tolerance)


@pytest.mark.parametrize("part", [slice(0, 20), slice(21, 44), slice(40, 100), slice(30, 30)])
def test_a_slice_of_rows_equals_a_matrix_of_them(kind, part):
    rows, _ = sparse(60, 41)
    some, alone = entries_of(rows).rows(part), entries_of(rows[part])
    assert some.shape == alone.shape
    rng = np.random.default_rng(4)
    right, left = rng.standard_normal((41, 8)), rng.standard_normal((some.shape[0], 8))
    for function, given in (
        (csr.images, [right]),
        (csr.backward, [left]),
        (csr.forward, [right]),
        (csr.scatter, []),
    ):
        found, expected = (function(rows, *given) for rows in (some, alone))
        for one, other in zip(found, expected, strict=True):
            tolerance = 100 * EPS * np.abs(other).max(initial=0.0)
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


def test_omitted_factors_are_one_and_omitted_shifts_zero(kind):
    rows, dense = sparse(50, 30)
    right = np.random.default_rng(2).standard_normal((30, 9))
    product, total = csr.images(entries_of(rows), right)
    tolerance = bound(dense, right, np.ones(50), np.zeros(9), np.ones(50), EPS)
    np.testing.assert_allclose(product, dense.T @ (dense @ right), rtol=0, atol=tolerance)
    np.testing.assert_allclose(total, (dense @ right).sum(axis=0), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(kind, dtype):
    rng = np.random.default_rng(3)
    for m in (5, 16, 24, 40, 72, 100):
        n = max(700, 21_000 // m)
        rows, _ = sparse(n, 160, dtype=dtype)
        assert rows.nnz * m >= csr.MIN_PRODUCTS_FOR_THREADS
        entries, weights = entries_of(rows), rng.random(n)
        right, left = rng.standard_normal((160, m)), rng.standard_normal((n, m))
        given = {"shift": rng.standard_normal(m).astype(dtype), "factor": weights}
        results = []
        for threads in (1, 2, 3, 5):
            with limit_threads(threads):
                product, total = csr.images(entries, right.astype(dtype), **given)
                result = [product.copy(), total]
                result.append(csr.forward(entries, right.astype(dtype), **given))
                back, total = csr.backward(entries, left.astype(dtype), factor=weights)
            results.append([*result, back.copy(), total])
        for result in results[1:]:
            for one, other in zip(results[0], result, strict=True):
                assert one.tobytes() == other.tobytes()


def test_vectors_of_any_memory_layout_are_multiplied(kind):
    rows, _ = sparse(40, 33)
    entries, wide = entries_of(rows), np.random.default_rng(4).standard_normal((66, 64))
    plain = np.ascontiguousarray(wide[::2, 3:43:2])
    # One number off a cache line, columns first, every other number, backwards.
    off = np.empty(plain.size + 1)[1:].reshape(plain.shape)
    off[:] = plain
    expected = csr.images(entries, plain)[0].copy()
    for right in (off, np.asfortranarray(plain), wide[::2, 3:43:2], plain[::-1][::-1]):
        found, _ = csr.images(entries, right)
        if kind == "numpy":  # SciPy has loops of its own for some of these
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=1000 * EPS * np.abs(expected).max()
            )
        else:
            assert found.tobytes() == expected.tobytes()


def test_indices_in_any_order_and_twice_are_summed(kind):
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    rows = sp.csr_array((values, [3, 0, 3, 1, 1], [0, 3, 5]), shape=(2, 4))
    right = np.eye(4)
    product, _ = csr.images(entries_of(rows), right)
    dense = np.array([[2.0, 0, 0, 5], [0, 24, 0, 0]])
    np.testing.assert_array_equal(product, dense.T @ dense)


def test_no_rows_and_no_entries_are_zero(kind):
    for n in (0, 3):
        entries = entries_of(sp.csr_array((n, 4)))
        product, total = csr.images(entries, np.ones((4, 2)), shift=np.ones(2))
        np.testing.assert_array_equal(product, np.zeros((4, 2)))
        np.testing.assert_array_equal(total, [-n, -n])
        assert csr.forward(entries, np.ones((4, 2))).shape == (n, 2)
        product, _ = csr.backward(entries, np.ones((n, 2)))
        np.testing.assert_array_equal(product, np.zeros((4, 2)))
        products, sums = csr.scatter(entries)
        assert not products.any()
        assert not sums.any()


def test_no_columns_and_no_vectors_are_accepted(kind):
    entries = entries_of(sp.csr_array((3, 0)))
    product, total = csr.images(entries, np.ones((0, 2)), shift=np.ones(2))
    assert product.shape == (0, 2)
    np.testing.assert_array_equal(total, [-3, -3])
    product, _ = csr.images(entries_of(sparse(60, 4)[0]), np.ones((4, 0)))
    assert product.shape == (4, 0)


def test_nan_reaches_every_sum_that_it_is_part_of(kind):
    rows, _ = sparse(20, 11, density=0.9)
    rows.data[-1] = np.nan
    column = rows.indices[-1]
    entries = entries_of(rows)
    product, total = csr.images(entries, np.ones((11, 3)))
    assert np.isnan(product[column]).all()
    assert np.isnan(total).all()
    products, sums = csr.scatter(entries)
    assert np.isnan(products[column, column])
    assert np.isnan(sums[column])
    assert np.isfinite(np.delete(sums, column)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "p"), [(60, 41), (5, 300), (1, 1), (1100, 90), (90, 1100)])
def test_the_scatter_is_the_dense_one_and_symmetric_to_the_bit(kind, n, p, dtype, index, weighted):
    rows, dense = sparse(n, p, dtype=dtype, index=index)
    weights = np.random.default_rng(5).random(n) + 0.5 if weighted else None
    row_weights = np.ones(n) if weights is None else weights
    products, sums = csr.scatter(entries_of(rows), weights)
    sizes = np.abs(dense).T @ (row_weights[:, None] * np.abs(dense))
    tolerance = (n + 4) * EPS * sizes.max(initial=0.0)
    np.testing.assert_allclose(
        products, dense.T @ (row_weights[:, None] * dense), rtol=0, atol=tolerance
    )
    np.testing.assert_array_equal(products, products.T)
    tolerance = (n + 4) * EPS * (row_weights @ np.abs(dense)).max(initial=0.0)
    np.testing.assert_allclose(sums, row_weights @ dense, rtol=0, atol=tolerance)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_damaged_matrix_is_refused_before_it_is_used(index):
    values = np.ones(3)
    for columns, ends, message in (
        ([0, 4, 1], [0, 1, 3], "index 4 is not in 0 to 3"),
        ([0, 1, -1], [0, 1, 3], "index -1 is not in 0 to 3"),
        ([0, 1, 2], [0, 2, 1], "row ends are not in ascending order"),
        ([0, 1, 2], [0, 1, 9], "row ends are not in ascending order"),
        ([0, 1, 2], [-1, 1, 3], "row ends are not in ascending order"),
    ):
        rows = sp.csr_array((2, 4))
        rows.data, rows.indices = values, np.array(columns, index)
        rows.indptr = np.array(ends, index)
        with pytest.raises(DataError, match=message):
            entries_of(rows)


def test_vectors_of_another_length_are_refused(kind):
    entries = entries_of(sp.csr_array((3, 4)))
    for call, height in ((csr.images, 3), (csr.forward, 3), (csr.backward, 4)):
        with pytest.raises(ValueError, match="does not have"):
            call(entries, np.ones((height, 2)))
    with pytest.raises(ValueError, match="other shapes"):
        csr.images(entries, np.ones((4, 2)), factor=np.ones(4))


@pytest.mark.parametrize("m", [16, 40])
def test_long_sums_of_float32_products_are_added_in_float64(kind, m):
    # 60,000 ones in a column: a sum of so many in float32 alone would be off by hundreds of units.
    n = 60_000
    rows = entries_of(sp.csr_array(np.full((n, 1), 0.1, dtype=np.float32)))
    left = np.ones((n, m), dtype=np.float32)
    product, _ = csr.backward(rows, left)
    np.testing.assert_allclose(product, n * float(np.float32(0.1)), rtol=64 * EPS32)
