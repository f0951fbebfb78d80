"""Sums of rows on a device: how often rows are read and multiplied, and what is subtracted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from engines import on_strict
from helpers import EPS
from princomp.engines.device.rows import DeviceRows
from princomp.engines.device.tables import rows_of
from princomp.errors import NotFiniteError
from princomp.summaries import Columns, Moments, Triangle, device_sums
from princomp.summaries.device_products import images_on
from princomp.summaries.device_summaries import moments_on, summary_on
from princomp.summaries.device_sums import add_product, sums_of
from princomp.summaries.space import Space

P = 5


def rows_on_device(rows):
    return rows_of(on_strict.to_device(rows))


@pytest.fixture
def reads(monkeypatch):
    """A list with an item for each pass over the rows of a device."""
    reads, blocks = [], DeviceRows.blocks
    monkeypatch.setattr(DeviceRows, "blocks", lambda *given: reads.append(1) or blocks(*given))
    return reads


@pytest.mark.parametrize(
    ("m", "p", "q", "block_size", "calls"),
    [
        (10 * 512, 3, 2, 2**20, 1),  # 512 rows at a time, all in one call
        (10 * 512 + 1, 3, 2, 2**20, 2),
        (2 * 512, 3, 2, 2**20, 1),
        (512, 3, 2, 2**20, 1),
        (511, 3, 2, 2**20, 1),
        (4 * 512, 3, 2, 4 * 6, 1),  # just enough memory for four products
        (4 * 512, 3, 2, 4 * 6 - 1, 4),
        (2401, 200, 2, 1, 4),  # four times as many rows as columns
        (4097, 1100, 1, 1, 2),  # but not more than 4,096
    ],
)
def test_narrow_rows_are_multiplied_in_few_calls(m, p, q, block_size, calls, rng):
    made = []
    xp = SimpleNamespace(**{
        name: getattr(np, name)
        for name in ("astype", "float32", "float64", "matrix_transpose", "reshape", "sum")
    })  # fmt: skip
    xp.matmul = lambda one, other: made.append(1) or one @ other
    space = Space(xp, None, "host", np.asarray, block_size=block_size)
    left, right, total = rng.random((m, p)), rng.random((m, q)), np.ones((p, q))
    add_product(space, left, right, total)
    assert len(made) == calls
    np.testing.assert_allclose(total, 1 + left.T @ right, rtol=2 * m * EPS)


@pytest.mark.parametrize("panel", [1, 2, 3, 5, 8])
def test_any_width_of_panels_gives_the_scatter(panel, monkeypatch, rng):
    monkeypatch.setattr(device_sums, "PANEL_COLUMNS", panel)
    X = rng.standard_normal((60, P)) + 1
    found = moments_on(rows_on_device(X), drop=False, precise=True)[0].to_host().scatter
    np.testing.assert_allclose(found, Moments.of(X).scatter, rtol=0, atol=60 * 256 * EPS)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("reason", ["weightless", "missing"])
def test_rows_that_do_not_count_do_not_move_the_shift(reason, rng, reads):
    """Otherwise digits would be lost, and the rows summed again."""
    X, weights = rng.standard_normal((60, P)) + 10, np.ones(60)
    X[[0, 7, 59]] = 1e15
    if reason == "missing":
        X[[0, 7, 59], 1] = np.nan
    else:
        weights[[0, 7, 59]] = 0.0
    table = rows_on_device(X).weighted(weights)
    found, dropped = moments_on(table, drop=reason == "missing", precise=True)
    assert len(reads) == 1
    assert (found.rows, found.count, dropped) == (57, 57, 3 if reason == "missing" else 0)
    expected = Moments.of(np.delete(X, [0, 7, 59], axis=0))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=64 * EPS)
    np.testing.assert_allclose(
        found.to_host().scatter, expected.scatter, rtol=0, atol=60 * 256 * EPS
    )


@pytest.mark.parametrize(("mean", "spread"), [(0.5, 0.01), (2.0, 1.0), (50.0, 20.0), (0.5, 1.0)])
def test_the_mean_is_subtracted_first_unless_rows_spread_around_zero(mean, spread, rng, reads):
    X = mean + spread * rng.standard_normal((60, P))
    sums = sums_of(rows_on_device(X), drop=False, precise=True)
    assert len(reads) == 1
    assert (np.abs(sums.shift).max() > 0) == (mean > spread)
    centre = X.mean(axis=0)
    np.testing.assert_allclose(sums.shift + sums.offset, centre, rtol=64 * EPS)
    expected = ((X - centre) ** 2).sum(axis=0)
    np.testing.assert_allclose(sums.squares, expected, rtol=256 * EPS)


@pytest.mark.parametrize("right", [None, np.ones((P, 2))])
def test_squares_that_underflow_are_the_smallest_double(right, rng):
    """Zero would stand for constant columns."""
    X = 1e-170 * rng.standard_normal((60, P))
    X[:, 1:3] = 0.0, 7.0
    table = rows_on_device(X)
    sums = sums_of(table, right, drop=False, precise=True)
    assert sums.squares.tolist() == [5e-324, 0.0, 0.0, 5e-324, 5e-324]
    if right is None:
        diagonal = table.space.get(table.space.diagonal(sums.product))
        assert diagonal.tolist() == sums.squares.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_of_rows_that_have_changed_are_not_nan(dtype, rng):
    X, vectors = rng.standard_normal((60, P)).astype(dtype), np.eye(P)
    columns = Columns.of(X)
    X[7, 2] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        images_on(rows_on_device(X), vectors, columns, None, drop=False, precise=False)
    assert caught.value.place == {"row": 7, "column": 2}


def test_the_first_fault_is_that_of_the_first_row():
    space, mask = Space(np, None, "host", np.asarray), np.zeros((4, 3), dtype=bool)
    assert space.first_true(mask) is None
    mask[3, 0] = mask[2, 2] = mask[2, 1] = True
    assert space.first_true(mask) == (2, 1)


def test_an_empty_triangle_has_no_scatter_on_a_device(rng):
    space = rows_on_device(np.zeros((1, P))).space
    empty = summary_on(space, Triangle.empty(P))
    assert empty.column_scatter.tolist() == [0.0] * P
    rows = Triangle.of(rng.standard_normal((20, P)))
    np.testing.assert_array_equal(empty.merge(rows).factor, rows.factor)
