"""Products of dense rows with vectors: every instruction set and the twin, to the same bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import EPS, EPS32
from princomp.kernels import dense, native
from princomp.kernels.dense import Affine
from princomp.kernels.row_images import images_of_rows
from princomp.linalg import LINE, aligned

KINDS = ["numpy", *native.instruction_sets()]
# One row and column, fewer than a strip, ends of strips, tiles, chunks and vectors.
SHAPES = [(1, 1), (3, 5), (8, 16), (9, 17), (65, 600), (300, 40), (530, 33), (20, 1100)]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def table(m, p, dtype, *, centred=True, scaled=False, rooted=False):
    """Rows, and the matrix that they are, in float64."""
    rng = np.random.default_rng(m * p)
    data = (rng.standard_normal((m, p)) + 3).astype(dtype)
    high = (np.full(p, 3) + rng.standard_normal(p) / 9).astype(dtype) if centred else None
    divisor = rng.uniform(0.5, 2, p).astype(dtype) if scaled else None
    roots = np.sqrt(rng.integers(0, 4, m)).astype(dtype) if rooted else None
    whole = data.astype(np.float64)
    if centred:
        whole = whole - high
    if scaled:
        whole = whole / divisor
    if rooted:
        whole = whole * roots[:, None]
    return Affine(data, high, divisor, roots), whole


def close(found, want, sizes, dtype, length):
    unit = EPS32 if dtype == np.float32 else EPS
    assert (np.abs(found - want) <= (length + 16) * unit * sizes).all()


@every_kind
@every_dtype
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 16, 24, 50, 70])
def test_each_product_is_that_of_the_matrix(kind, dtype, shape, width):
    m, p = shape
    rows, whole = table(m, p, dtype)
    rng = np.random.default_rng(width)
    right = dense.padded(rng.standard_normal((p, width)), np.dtype(dtype))
    left = dense.padded(rng.standard_normal((m, width)), np.dtype(dtype))
    assert not right[:, width:].any()

    scores = dense.forward(rows, right, instructions=kind)
    close(scores, whole @ right, np.abs(whole) @ np.abs(right), dtype, p)

    out = np.ones((p, right.shape[1]))
    dense.backward(rows, left, out, instructions=kind)
    close(out - 1, whole.T @ left, np.abs(whole).T @ np.abs(left) + 1, dtype, m)

    out = np.ones((p, right.shape[1]))
    sums = dense.images(rows, right, out, instructions=kind)
    sizes = np.abs(whole) @ np.abs(right)
    close(out - 1, whole.T @ (whole @ right), np.abs(whole).T @ sizes + 1, dtype, m + p)
    close(sums, (whole @ right).sum(axis=0), sizes.sum(axis=0), dtype, m + p)


@every_kind
@every_dtype
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("rooted", [False, True])
def test_rows_are_centred_scaled_and_weighted_on_the_way(kind, dtype, centred, scaled, rooted):
    m, p = 75, 530
    rows, whole = table(m, p, dtype, centred=centred, scaled=scaled, rooted=rooted)
    rng = np.random.default_rng(1)
    right = dense.padded(rng.standard_normal((p, 7)), np.dtype(dtype))
    taken = rng.standard_normal(right.shape[1]).astype(dtype)
    roots = np.ones(m) if rows.roots is None else rows.roots.astype(np.float64)
    out = np.zeros((p, right.shape[1]))
    sums = dense.images(rows, right, out, taken=taken, instructions=kind)
    scores = whole @ right - np.outer(roots, taken)
    sizes = np.abs(whole) @ np.abs(right) + np.abs(np.outer(roots, taken))
    close(out, whole.T @ scores, np.abs(whole).T @ sizes, dtype, m + p)
    close(sums, roots @ scores, roots @ sizes, dtype, m + p)
    left = dense.padded(rng.standard_normal((m, 7)), np.dtype(dtype))
    out[:] = 0.0
    dense.backward(rows, left, out, instructions=kind)
    close(out, whole.T @ left, np.abs(whole).T @ np.abs(left), dtype, m)


@every_kind
@every_dtype
@pytest.mark.parametrize("shape", [*SHAPES, (1030, 300), (4100, 20)])
@pytest.mark.parametrize("width", [3, 24])
@pytest.mark.parametrize("of", [{}, {"scaled": True, "rooted": True}])
def test_images_of_rows_are_both_products_after_one_another(kind, dtype, shape, width, of):
    m, p = shape
    rows, whole = table(m, p, dtype, **of)
    rng = np.random.default_rng(2)
    low = rng.standard_normal(p)
    roots = np.ones(m) if rows.roots is None else rows.roots.astype(np.float64)
    left = dense.padded(rng.standard_normal((m, width)), np.dtype(dtype))
    for taken in (None, low):
        off = np.zeros(p) if taken is None else taken
        product, sums = images_of_rows(rows, left, low=taken, instructions=kind)
        weights = whole.T @ left - np.outer(off, roots @ left)
        sizes = np.abs(whole).T @ np.abs(left) + np.abs(np.outer(off, roots @ np.abs(left)))
        assert product.dtype == dtype
        close(product, whole @ weights, np.abs(whole) @ sizes, dtype, m + p)
        close(sums, off @ weights, np.abs(off) @ sizes, dtype, m)


@every_kind
def test_any_strides_are_multiplied_and_nothing_is_written(kind, rng):
    wide = rng.standard_normal((60, 80))
    whole = np.ascontiguousarray(wide[::2, ::2])
    right = dense.padded(rng.standard_normal((40, 3)), whole.dtype)
    want = dense.forward(Affine(whole), right, instructions=kind)
    for data in (wide[::2, ::2], np.asfortranarray(whole), wide[::2, :40]):
        before = data.copy()
        found = dense.forward(Affine(data), right, instructions=kind)
        close(found, data @ right, np.abs(data) @ np.abs(right), np.float64, 40)
        assert (data == before).all()
    assert (want == dense.forward(Affine(whole), right, instructions=kind)).all()


@every_kind
def test_sums_over_many_float32_rows_are_as_good_as_over_a_few(kind, rng):
    # A sum of 40,000 in float32 alone would be off by many units of its last place.
    data = rng.uniform(1, 2, (40_000, 2)).astype(np.float32)
    left = dense.padded(np.ones((40_000, 1)), np.dtype(np.float32))
    out = np.zeros((2, left.shape[1]))
    dense.backward(Affine(data), left, out, instructions=kind)
    want = data.sum(axis=0, dtype=np.float64)
    rounding = 512 if kind != "numpy" else len(data)  # NumPy's own panels are longer
    assert (np.abs(out[:, 0] - want) <= rounding * EPS32 * want).all()


@every_kind
def test_nothing_comes_of_no_rows(kind):
    rows = Affine(np.empty((0, 4)), np.ones(4))
    out = np.ones((4, 8))
    sums = dense.images(rows, np.ones((4, 8)), out, instructions=kind)
    assert (out == 1).all()
    assert not sums.any()
    assert dense.forward(rows, np.ones((4, 8)), instructions=kind).shape == (0, 8)


def test_arrays_that_do_not_fit_are_refused(rng):
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


def begun_at(array, byte):
    """The same numbers, so many bytes after the beginning of a cache line."""
    moved = aligned((array.nbytes + LINE,), np.uint8)[byte : byte + array.nbytes]
    moved = moved.view(array.dtype).reshape(array.shape)
    moved[:] = array
    return moved


@every_kind
@every_dtype
@pytest.mark.parametrize("byte", [8, 16, 48])
def test_where_arrays_begin_changes_no_bit(kind, dtype, byte):
    rows, _ = table(70, 300, dtype)
    vectors = np.random.default_rng(1).standard_normal((300, 24))
    right = dense.padded(vectors, np.dtype(dtype))
    assert right.ctypes.data % LINE == 0
    out = aligned(right.shape, np.float64)
    assert out.ctypes.data % LINE == 0
    out[:] = 0.0
    moved = begun_at(out, byte)
    dense.images(rows, right, out, instructions=kind)
    rows = replace(rows, data=begun_at(rows.data, byte))
    dense.images(rows, begun_at(right, byte), moved, instructions=kind)
    np.testing.assert_array_equal(moved, out)
