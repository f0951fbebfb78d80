"""Dense rows as a matrix to multiply with: every product against the matrix itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from helpers import EPS, EPS32
from princomp.kernels import dense
from princomp.linalg import threads
from princomp.summaries import Columns, dense_rows
from princomp.summaries.dense_rows import DenseRows

# Several pieces and a remainder in each direction.
SHAPES = {"tall": (700, 90), "wide": (90, 700), "square": (300, 300)}
every_shape = pytest.mark.parametrize("shape", list(SHAPES))
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
WIDTH = 5


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Small tables have many pieces, computed by threads."""
    monkeypatch.setattr(dense_rows, "MIN_PIECE_ROWS", 64)
    monkeypatch.setattr(dense_rows, "MAX_PIECE_NUMBERS", 2**12)
    monkeypatch.setattr(dense_rows, "MIN_PIECE_COLUMNS", 100)
    monkeypatch.setattr(dense_rows, "MIN_SPAN_COLUMNS", 100)
    monkeypatch.setattr(dense_rows, "MIN_NUMBERS_FOR_THREADS", 0)


def rows_and_matrix(data, *, center=True, divisor=None, weights=None, columns=None):
    """DenseRows, and the matrix they represent: computed in extended precision, rounded once."""
    columns = columns or Columns.of(data, weights, precise=True)
    zero = np.zeros(data.shape[1])
    mean, low = (columns.mean, columns.mean_low) if center else (zero, zero)
    rows = DenseRows.of(data, mean, low, divisor, weights)
    matrix = data.astype(np.longdouble) - mean - low
    if divisor is not None:
        matrix = matrix / divisor
    if weights is not None:
        matrix = matrix * np.sqrt(weights)[:, None]
    return rows, matrix.astype(np.float64)


def assert_product(found, left, right, dtype, *, extra=1.0):
    """Compare with left @ right, to its rounding: (length + a few) u |left| |right|."""
    unit = EPS32 if dtype == np.float32 else EPS
    bound = extra * (left.shape[1] + 16) * unit * (np.abs(left) @ np.abs(right))
    assert (np.abs(found - left @ right) <= bound).all()


def check_products(rows, matrix, dtype):
    n, p = matrix.shape
    rng = np.random.default_rng(5)
    right, left = rng.standard_normal((p, WIDTH)), rng.standard_normal((n, WIDTH))
    assert rows.shape == (n, p)
    assert rows.dtype == dtype
    assert_product(rows.rows, matrix, np.eye(p), dtype)
    assert_product(rows.matmul(right), matrix, right, dtype)
    assert_product(rows.rmatmul(left), matrix.T, left, dtype)
    into = np.ones((p, WIDTH))
    rows.add_rmatmul(left, into)
    assert_product(into - 1, matrix.T, left, dtype, extra=2)
    # The second product multiplies the rounding of the first.
    for found, one, other, vectors in (
        (rows.images(right), matrix.T, matrix, right),
        (rows.row_images(left), matrix, matrix.T, left),
    ):
        assert found.dtype == np.float64
        unit = EPS32 if dtype == np.float32 else EPS
        sizes = np.abs(one) @ (np.abs(other) @ np.abs(vectors))
        assert (np.abs(found - one @ (other @ vectors)) <= (n + p + 32) * unit * sizes).all()
    again = np.ones((p, WIDTH))
    rows.add_images(right, again)
    np.testing.assert_allclose(
        again, 1 + rows.images(right), rtol=0, atol=16 * EPS * np.abs(again).max()
    )
    assert_product(rows.row_products(), matrix, matrix.T, dtype)


@every_shape
@every_dtype
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_product_is_that_of_the_matrix(shape, dtype, center, scaled, weighted, rng):
    n, p = SHAPES[shape]
    data = (rng.standard_normal((n, p)) + rng.standard_normal(p)).astype(dtype)
    divisor = rng.uniform(0.5, 2, p) if scaled else None
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    rows, matrix = rows_and_matrix(data, center=center, divisor=divisor, weights=weights)
    check_products(rows, matrix, dtype)


@pytest.mark.parametrize("given", ["divisor", "weights"])
def test_rows_are_multiplied_in_float64_if_one_factor_is_beyond_float32(given, rng):
    data = rng.standard_normal((300, 300)).astype(np.float32)
    rows, matrix = rows_and_matrix(data, **{given: np.full(300, 1e90)})
    right = rng.standard_normal((300, WIDTH))
    assert_product(rows.matmul(right), matrix, right, np.float64)


@every_dtype
def test_rows_too_long_for_fused_products_are_read_twice(dtype, rng, monkeypatch):
    monkeypatch.setattr(dense_rows, "LONG_ROWS_BYTES", 2**10)
    rows, matrix = rows_and_matrix((rng.standard_normal((90, 700)) + 3).astype(dtype))
    assert not rows.fused
    check_products(rows, matrix, dtype)


@every_shape
@pytest.mark.parametrize("layout", ["Fortran", "strided", "reversed", "read-only"])
def test_any_layout_is_multiplied_and_not_written_to(shape, layout, rng):
    n, p = SHAPES[shape]
    wide = rng.standard_normal((2 * n, 2 * p)) + 3
    data = np.ascontiguousarray(wide[::2, ::2])
    given = {
        "Fortran": np.asfortranarray(data),
        "strided": wide[::2, ::2],
        "reversed": np.ascontiguousarray(data[::-1, ::-1])[::-1, ::-1],
        "read-only": data.copy(),
    }[layout]
    given.flags.writeable = False
    rows, matrix = rows_and_matrix(given)
    check_products(rows, matrix, np.float64)
    np.testing.assert_array_equal(given, data)


@every_shape
@pytest.mark.parametrize(
    ("dtype", "mean", "spread"),
    [(np.float64, 1e6, 1e-3), (np.float64, 2.0**40, 1.0), (np.float32, 1e6, 1.0)],
)
def test_a_large_mean_does_not_cancel(shape, dtype, mean, spread, rng):
    """The bounds are those of the centred numbers, which the precision of the data resolves."""
    n, p = SHAPES[shape]
    data = (mean + spread * rng.standard_normal((n, p))).astype(dtype)
    check_products(*rows_and_matrix(data), dtype)


@every_shape
def test_the_low_part_of_the_mean_is_used(shape, rng):
    """2⁵² plus zeros and ones: their mean lies between two doubles."""
    n, p = SHAPES[shape]
    data = 2.0**52 + rng.integers(0, 2, (n, p))
    rows, matrix = rows_and_matrix(data)
    assert rows.low is not None
    assert np.abs(rows.low).max() > 0.1
    check_products(rows, matrix, np.float64)


@every_shape
@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_is_centred_about_the_mean_of_all_rows(shape, weighted, rng):
    """Its own sums are not zero then, and are multiplied by the low part of the mean."""
    n, p = SHAPES[shape]
    data = 2.0**52 + rng.integers(0, 2, (2 * n, p))
    data[n:] += 4
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    rows, matrix = rows_and_matrix(data[:n], weights=weights, columns=Columns.of(data))
    assert rows.low is not None
    check_products(rows, matrix, np.float64)


@every_shape
@every_dtype
def test_the_number_of_threads_changes_no_bit(shape, dtype, rng, monkeypatch):
    n, p = SHAPES[shape]
    data = (rng.standard_normal((n, p)) + 3).astype(dtype)
    right, left = rng.standard_normal((p, WIDTH)), rng.standard_normal((n, WIDTH))
    results = []
    for count in (1, 2, 3):
        monkeypatch.setattr(threads, "default_threads", lambda count=count: count)
        rows, _ = rows_and_matrix(data)
        products = (
            rows.matmul(right),
            rows.rmatmul(left),
            rows.images(right),
            rows.images(right),  # in reused memory
            rows.row_images(left),
            rows.row_products(),
        )
        results.append([product.tobytes() for product in products])
    assert results[0] == results[1] == results[2]
    assert results[0][2] == results[0][3]


@pytest.mark.usefixtures("rng")
def test_products_need_no_memory_of_the_size_of_the_rows(rng, monkeypatch):
    monkeypatch.undo()
    data = rng.standard_normal((3000, 2000))
    mean = data.mean(axis=0)
    rows = DenseRows.of(data, mean, np.zeros(2000), None, None)
    right = rng.standard_normal((2000, 16))
    monkeypatch.setattr(threads, "default_threads", lambda: 2)
    tracemalloc.start()
    rows.images(right)
    rows.matmul(right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Two threads with a panel each, and partial sums of 2,000 × 16.
    assert peak < 2 * dense._TWIN_PANEL_BYTES + 8 * right.nbytes + 2**20 < data.nbytes / 3


@pytest.mark.parametrize(
    ("method", "shape"), [("images", "tall"), ("rmatmul", "tall"), ("rmatmul", "wide")]
)
def test_a_repeated_product_reuses_the_memory_of_its_sums(method, shape, rng, monkeypatch):
    monkeypatch.setattr(threads, "default_threads", lambda: 1)
    n, p = SHAPES[shape]
    rows, _ = rows_and_matrix(rng.standard_normal((n, p)))
    product = getattr(rows, method)
    vectors = rng.standard_normal((p if method == "images" else n, WIDTH))
    product(vectors)
    used = [buffer.ctypes.data for buffer in rows.spare_buffers]
    product(vectors)
    assert used == [buffer.ctypes.data for buffer in rows.spare_buffers]
    # Sums of a second piece are added to the first ones, or to the product.
    assert len(used) == (2 if method == "images" else 1)
