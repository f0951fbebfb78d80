"""Products of dense rows with vectors: every instruction set and NumPy, to the same bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import EPS, EPS32
from princomp.kernels import dense
from princomp.kernels.dense import Affine, images_of_rows
from princomp.linalg import CACHE_LINE, aligned

# One row and column, fewer than a strip, ends of strips, tiles, chunks and vectors.
SHAPES = [(1, 1), (3, 5), (8, 16), (9, 17), (65, 600), (300, 40), (530, 33), (20, 1100)]
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def table(m, p, dtype, *, centred=True, scaled=False, weighted=False):
    """Rows, and the matrix they represent, in float64."""
    rng = np.random.default_rng(m * p)
    data = (rng.standard_normal((m, p)) + 3).astype(dtype)
    high = (np.full(p, 3) + rng.standard_normal(p) / 9).astype(dtype) if centred else None
    divisor = rng.uniform(0.5, 2, p).astype(dtype) if scaled else None
    roots = np.sqrt(rng.integers(0, 4, m)).astype(dtype) if weighted else None
    matrix = data.astype(np.float64)
    if centred:
        matrix = matrix - high
    if scaled:
        matrix = matrix / divisor
    if weighted:
        matrix = matrix * roots[:, None]
    return Affine(data, high, divisor, roots), matrix


def assert_close(found, expected, sizes, dtype, length):
    unit = EPS32 if dtype == np.float32 else EPS
    assert (np.abs(found - expected) <= (length + 16) * unit * sizes).all()


@every_dtype
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 16, 24, 50, 70])
def test_each_product_is_that_of_the_matrix(kind, dtype, shape, width):
    m, p = shape
    rows, matrix = table(m, p, dtype)
    rng = np.random.default_rng(width)
    right = dense.padded(rng.standard_normal((p, width)), np.dtype(dtype))
    left = dense.padded(rng.standard_normal((m, width)), np.dtype(dtype))
    assert not right[:, width:].any()

    scores = dense.forward(rows, right)
    assert_close(scores, matrix @ right, np.abs(matrix) @ np.abs(right), dtype, p)

    out = np.ones((p, right.shape[1]))
    dense.backward(rows, left, out)
    assert_close(out - 1, matrix.T @ left, np.abs(matrix).T @ np.abs(left) + 1, dtype, m)

    out = np.ones((p, right.shape[1]))
    sums = dense.images(rows, right, out)
    sizes = np.abs(matrix) @ np.abs(right)
    assert_close(out - 1, matrix.T @ (matrix @ right), np.abs(matrix).T @ sizes + 1, dtype, m + p)
    assert_close(sums, (matrix @ right).sum(axis=0), sizes.sum(axis=0), dtype, m + p)


@every_dtype
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_centred_scaled_and_weighted_in_products(kind, dtype, centred, scaled, weighted):
    m, p = 75, 530
    rows, matrix = table(m, p, dtype, centred=centred, scaled=scaled, weighted=weighted)
    rng = np.random.default_rng(1)
    right = dense.padded(rng.standard_normal((p, 7)), np.dtype(dtype))
    shift = rng.standard_normal(right.shape[1]).astype(dtype)
    roots = np.ones(m) if rows.roots is None else rows.roots.astype(np.float64)
    out = np.zeros((p, right.shape[1]))
    sums = dense.images(rows, right, out, shift=shift)
    scores = matrix @ right - np.outer(roots, shift)
    sizes = np.abs(matrix) @ np.abs(right) + np.abs(np.outer(roots, shift))
    assert_close(out, matrix.T @ scores, np.abs(matrix).T @ sizes, dtype, m + p)
    assert_close(sums, roots @ scores, roots @ sizes, dtype, m + p)
    left = dense.padded(rng.standard_normal((m, 7)), np.dtype(dtype))
    out[:] = 0.0
    dense.backward(rows, left, out)
    assert_close(out, matrix.T @ left, np.abs(matrix).T @ np.abs(left), dtype, m)


@every_dtype
@pytest.mark.parametrize("shape", [*SHAPES, (1030, 300), (4100, 20)])
@pytest.mark.parametrize("width", [3, 24])
@pytest.mark.parametrize("options", [{}, {"scaled": True, "weighted": True}])
def test_images_of_rows_are_both_products_in_turn(kind, dtype, shape, width, options):
    m, p = shape
    rows, matrix = table(m, p, dtype, **options)
    rng = np.random.default_rng(2)
    low = rng.standard_normal(p)
    roots = np.ones(m) if rows.roots is None else rows.roots.astype(np.float64)
    left = dense.padded(rng.standard_normal((m, width)), np.dtype(dtype))
    for mean_low in (None, low):
        off = np.zeros(p) if mean_low is None else mean_low
        product, sums = images_of_rows(rows, left, low=mean_low)
        weights = matrix.T @ left - np.outer(off, roots @ left)
        sizes = np.abs(matrix).T @ np.abs(left) + np.abs(np.outer(off, roots @ np.abs(left)))
        assert product.dtype == dtype
        assert_close(product, matrix @ weights, np.abs(matrix) @ sizes, dtype, m + p)
        assert_close(sums, off @ weights, np.abs(off) @ sizes, dtype, m)


def test_any_strides_are_multiplied_and_nothing_is_written(kind, rng):
    wide = rng.standard_normal((60, 80))
    matrix = np.ascontiguousarray(wide[::2, ::2])
    right = dense.padded(rng.standard_normal((40, 3)), matrix.dtype)
    expected = dense.forward(Affine(matrix), right)
    for data in (wide[::2, ::2], np.asfortranarray(matrix), wide[::2, :40]):
        before = data.copy()
        found = dense.forward(Affine(data), right)
        assert_close(found, data @ right, np.abs(data) @ np.abs(right), np.float64, 40)
        assert (data == before).all()
    assert (expected == dense.forward(Affine(matrix), right)).all()


def test_sums_of_many_float32_rows_are_as_accurate_as_of_few(kind, rng):
    # A sum of 40,000 numbers in float32 alone would be off by many units.
    data = rng.uniform(1, 2, (40_000, 2)).astype(np.float32)
    left = dense.padded(np.ones((40_000, 1)), np.dtype(np.float32))
    out = np.zeros((2, left.shape[1]))
    dense.backward(Affine(data), left, out)
    expected = data.sum(axis=0, dtype=np.float64)
    rounding = 512 if kind != "numpy" else len(data)  # NumPy's own panels are longer
    assert (np.abs(out[:, 0] - expected) <= rounding * EPS32 * expected).all()


def test_no_rows_leave_sums_unchanged(kind):
    rows = Affine(np.empty((0, 4)), np.ones(4))
    out = np.ones((4, 8))
    sums = dense.images(rows, np.ones((4, 8)), out)
    assert (out == 1).all()
    assert not sums.any()
    assert dense.forward(rows, np.ones((4, 8))).shape == (0, 8)


def test_arrays_of_other_shapes_are_refused(rng):
    rows = Affine(rng.standard_normal((5, 4)), np.zeros(4))
    for right, out in (
        (np.ones((3, 8)), np.ones((4, 8))),
        (np.ones((4, 8), np.float32), np.ones((4, 8))),
        (np.ones((4, 7)), np.ones((4, 7))),
        (np.ones((4, 8)), np.ones((4, 8), np.float32)),
        (np.ones((4, 8)), np.ones((8, 4)).T),
    ):
        with pytest.raises(ValueError, match="other shapes"):
            dense.images(rows, right, out)
    with pytest.raises(ValueError, match="other shapes"):
        dense.forward(Affine(rows.data, np.zeros(3)), np.ones((4, 8)))


def at_offset(array, byte):
    """A copy of the array that begins so many bytes after the start of a cache line."""
    moved = aligned((array.nbytes + CACHE_LINE,), np.uint8)[byte : byte + array.nbytes]
    moved = moved.view(array.dtype).reshape(array.shape)
    moved[:] = array
    return moved


@every_dtype
@pytest.mark.parametrize("byte", [8, 16, 48])
def test_the_alignment_of_arrays_changes_no_bit(kind, dtype, byte):
    rows, _ = table(70, 300, dtype)
    vectors = np.random.default_rng(1).standard_normal((300, 24))
    right = dense.padded(vectors, np.dtype(dtype))
    assert right.ctypes.data % CACHE_LINE == 0
    out = aligned(right.shape, np.float64)
    assert out.ctypes.data % CACHE_LINE == 0
    out[:] = 0.0
    moved = at_offset(out, byte)
    dense.images(rows, right, out)
    rows = replace(rows, data=at_offset(rows.data, byte))
    dense.images(rows, at_offset(right, byte), moved)
    np.testing.assert_array_equal(moved, out)
