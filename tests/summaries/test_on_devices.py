"""Summaries on a device: the same algebra as on the host, and tables without usable rows."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from engines import on_strict
from helpers import EPS
from princomp.engines.device.rows import DeviceRows
from princomp.engines.device.tables import rows_of
from princomp.errors import NotFiniteError
from princomp.summaries import Columns, Extremes, Moments, SketchOf, Triangle
from princomp.summaries.device_products import WithExtremes, columns_on, images_on, sketch_on
from princomp.summaries.device_summaries import moments_on, triangle_on
from princomp.summaries.space import Space

P = 5


def on_device_moments(rows):
    return moments_on(rows_of(on_strict.to_device(rows)), drop=False, precise=True)[0]


def on_device_triangle(rows):
    return triangle_on(rows_of(on_strict.to_device(rows)), drop=False)[0]


SUMMARIES = {
    "moments": (on_device_moments, Moments.of),
    "triangle": (on_device_triangle, Triangle.of),
}
both_kinds = pytest.mark.parametrize(
    ("on_device", "on_host"), SUMMARIES.values(), ids=list(SUMMARIES)
)


def assert_alike(found, expected, scale=None):
    found = found.to_host()
    assert (found.rows, found.count, found.centred) == (
        expected.rows, expected.count, expected.centred,
    )  # fmt: skip
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=64 * EPS)
    size = expected.column_scatter.max() if scale is None else scale
    one, other = ((s.scatter if isinstance(s, Moments) else s.factor.T @ s.factor)
                  for s in (found, expected))  # fmt: skip
    np.testing.assert_allclose(one, other, rtol=0, atol=256 * EPS * size)


@both_kinds
def test_operations_are_those_of_the_host(on_device, on_host, rng):
    X = rng.standard_normal((60, P)) + 1
    one, expected, divisor = on_device(X), on_host(X), np.arange(1.0, P + 1)
    assert_alike(one.faded(0.5), expected.faded(0.5))
    assert_alike(one.scaled(divisor), expected.scaled(divisor))
    assert_alike(one.about_origin(), expected.about_origin())
    assert_alike(one.merge(on_host(X[:20])), expected.merge(on_host(X[:20])))
    unpickled = pickle.loads(pickle.dumps(one))
    assert type(unpickled) is type(expected)
    assert_alike(unpickled, expected)
    assert copy.copy(one) is one
    assert copy.deepcopy(one) is one


def test_an_outer_product_needs_no_second_matrix():
    p = 2000
    space = Space(np, None, "host", np.asarray, block_size=2**16)
    scatter, vector = np.zeros((p, p)), np.arange(1.0, p + 1)
    tracemalloc.start()
    try:
        space.add_outer(scatter, 0.5, vector)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < scatter.nbytes / 4
    np.testing.assert_array_equal(scatter, 0.5 * np.outer(vector, vector))


def test_moments_merge_with_empty_and_other_summaries(rng):
    X = rng.standard_normal((60, P))
    one, empty = on_device_moments(X), Moments.empty(P)
    assert one.merge(empty) is one
    assert one.remove(empty) is one
    assert_alike(one.merge(Triangle.of(X[:20])), Moments.of(X).merge(Moments.of(X[:20])))
    assert_alike(one.merge(on_device_triangle(X[:20])), Moments.of(X).merge(Moments.of(X[:20])))
    assert_alike(one.remove(on_device_moments(X)), empty, 1.0)


def test_a_column_left_constant_has_exactly_zero_scatter(rng):
    X = rng.standard_normal((60, P))
    X[:40, 2] = 3.25
    left = on_device_moments(X).remove(on_device_moments(X[40:]))
    expected = Moments.of(X).remove(Moments.of(X[40:]))
    assert left.column_scatter[2] == 0
    assert not left.to_host().scatter[2].any()
    assert_alike(left, expected, Moments.of(X).column_scatter.max())
    changed = left.remove(on_device_moments(X[:10])).faded(0.5).scaled(np.full(P, 2.0))
    assert (changed.lost >= 0).all()
    assert changed.lost.max() > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_and_sketches_are_those_of_the_host(weighted, rng):
    X, weights = rng.standard_normal((60, P)) + 1, None
    table, kind = rows_of(on_strict.to_device(X)), SketchOf(2, seed=1)
    if weighted:
        weights = rng.integers(0, 3, 60).astype(float)
        table = table.weighted(weights)
    for (found, dropped), expected in (
        (columns_on(table, drop=True), Columns.of(X, weights)),
        (sketch_on(table, kind, drop=True, precise=False), kind.of(X, weights)),
    ):
        assert type(found) is type(expected)
        assert (found.rows, found.count, dropped) == (expected.rows, expected.count, 0)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=64 * EPS)
        largest = expected.column_scatter.max()
        np.testing.assert_allclose(
            found.column_scatter, expected.column_scatter, rtol=0, atol=256 * EPS * largest
        )
        if found.kind == "Sketch":
            size = np.linalg.norm(expected.product)
            np.testing.assert_allclose(
                found.product, expected.product, rtol=0, atol=256 * EPS * size
            )


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_float32_rows_are_summed_in_float64(weighted, rng):
    X = (rng.standard_normal((60, P)) + 3).astype(np.float32)
    weights = rng.random(60) if weighted else np.ones(60)
    table = rows_of(on_strict.to_device(X)).weighted(weights)
    (found, _), expected = columns_on(table, drop=False), Columns.of(X.astype(float), weights)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=64 * EPS)
    np.testing.assert_allclose(found.column_scatter, expected.column_scatter, rtol=256 * EPS)


def test_digits_of_the_mean_are_not_lost_in_the_distance_from_the_first_row(rng):
    X = rng.integers(0, 2, (10_000, P)).astype(float)
    X[0] = 2.0**53
    found, mean = on_device_triangle(X), X.astype("g").mean(axis=0)
    assert (np.abs(found.mean - mean + found.mean_low) <= 64 * EPS * mean).all()


@pytest.mark.parametrize("reason", ["weightless", "missing"])
def test_a_table_without_usable_rows_is_empty(reason):
    X = np.full((7, P), np.nan if reason == "missing" else 1.0, dtype=np.float32)
    table = rows_of(on_strict.to_device(X))
    if reason == "weightless":
        table = table.weighted(np.zeros(7))
    kind = SketchOf(2, seed=1)
    dropped = 7 if reason == "missing" else 0
    for (found, count), empty in (
        (moments_on(table, drop=True, precise=False), Moments.empty(P)),
        (triangle_on(table, drop=True), Triangle.empty(P)),
        (sketch_on(table, kind, drop=True, precise=False), kind.empty(P)),
        (columns_on(table, drop=True), Columns.empty(P)),
    ):
        assert type(found) is type(empty)
        assert (found.rows, found.count, count) == (0, 0, dropped)
    noted = WithExtremes(table, drop=True)
    assert [block.rows.shape[0] for block in noted.blocks(100)] == [7]
    assert np.isinf(noted.extremes(0.0).low).all()


@pytest.mark.parametrize("reason", ["weightless", "missing"])
def test_extremes_are_those_of_the_rows_that_count(reason, rng):
    X, weights = rng.standard_normal((60, P)), np.ones(60)
    left_out = [7, 20]
    X[left_out] = [[99.0], [-99.0]]
    expected = Extremes.of(np.delete(X, left_out, axis=0))
    if reason == "missing":
        X[left_out, 2] = np.nan
        table = rows_of(on_strict.to_device(X))
    else:
        weights[left_out] = 0.0
        table = rows_of(on_strict.to_device(X)).weighted(weights)
    noted = WithExtremes(table, drop=reason == "missing")
    assert sum(block.rows.shape[0] for block in noted.blocks(25)) == 60
    found = noted.extremes(58.0)
    np.testing.assert_array_equal(found.low, expected.low)
    np.testing.assert_array_equal(found.high, expected.high)


@pytest.mark.parametrize(("n", "at", "height"), [(57311, 5133, 1321.4733), (4699, 1568, 40.23143)])
def test_small_equal_squares_are_not_lost_to_a_large_one(n, at, height):
    """LAPACK adds the squares of a column one by one, so only short panels keep the small ones."""
    X = np.zeros((n, 3))
    X[at] = height
    expected = height**2 * (n - 1) / n
    scatter = on_device_triangle(X).column_scatter
    np.testing.assert_allclose(scatter, expected, rtol=128 * EPS)


def test_float32_rows_are_multiplied_in_float64_only_if_squares_underflow(rng):
    """Devices multiply float32 several times as fast."""
    X = rng.standard_normal((60, P)).astype(np.float32)
    constant = X.copy()
    constant[:, 2] = 0.1
    balanced = np.r_[X, -X]  # the sums of its columns are zero
    for rows, in_float64 in (
        (X, False), (X * 1e-9, False), (constant, False), (balanced, False), (X * 1e-25, True),
        (X * 3e-15, False), (X * 3e-16, True),  # a mean square of 1e-30 is the limit
    ):  # fmt: skip
        table = rows_of(on_strict.to_device(rows))
        found, exact = (
            moments_on(table, drop=False, precise=precise)[0].to_host().scatter
            for precise in (False, True)
        )
        assert (np.abs(found - exact).max() <= 64 * EPS * exact.max()) == in_float64


@pytest.mark.parametrize(("size", "in_float64"), [(1.0, False), (1e-20, True), (1e15, True)])
def test_sketches_are_multiplied_in_float64_only_if_products_leave_float32(size, in_float64, rng):
    table = rows_of(on_strict.to_device((size * rng.standard_normal((60, P))).astype(np.float32)))
    found, exact = (
        sketch_on(table, SketchOf(2), drop=False, precise=precise)[0].product
        for precise in (False, True)
    )
    error = np.abs(found - exact).max() / np.abs(exact).max()
    assert (error <= 64 * EPS) == in_float64


def test_images_are_multiplied_in_float64_if_roots_of_weights_leave_float32(rng):
    X, vectors = rng.standard_normal((60, P)).astype(np.float32), rng.standard_normal((P, 3))
    columns, table = Columns.of(X), rows_of(on_strict.to_device(X))
    expected, rows = images_on(table, vectors, columns, None, drop=False, precise=True)
    assert rows == 60
    heavy = table.weighted(np.full(60, 2.0**300))
    with np.errstate(all="ignore"):  # as on a device
        image, rows = images_on(heavy, vectors, columns, None, drop=False, precise=False)
    assert rows == 60 * 2.0**300
    np.testing.assert_allclose(image / 2.0**300, expected, rtol=0, atol=64 * EPS * 60 * 4)


def test_faults_in_rows_of_weight_zero_are_not_reported():
    X, weights = np.ones((9, P)), np.ones(9)
    X[3, 1], X[5, 2], weights[3] = np.nan, np.nan, 0.0
    table = rows_of(on_strict.to_device(X)).weighted(weights)
    for summarise in (
        lambda: moments_on(table, drop=False, precise=False),
        lambda: triangle_on(table, drop=False),
        lambda: columns_on(table, drop=False),
    ):
        with pytest.raises(NotFiniteError) as caught:
            summarise()
        assert caught.value.place == {"row": 5, "column": 2}


def test_images_use_both_parts_of_the_mean(rng):
    """2⁵² plus zeros and ones: their mean lies between two doubles."""
    ones, vectors = rng.integers(0, 2, (60, P)).astype(float), rng.standard_normal((P, 3))
    X = 2.0**52 + ones
    columns = Columns.of(X)
    assert np.abs(columns.mean_low).max() > 0.1
    table = rows_of(on_strict.to_device(X))
    image, rows = images_on(table, vectors, columns, None, drop=False, precise=False)
    centred = ones - ones.mean(axis=0)
    bound = 2 * 65 * EPS * (np.abs(centred).T @ (np.abs(centred) @ np.abs(vectors)))
    assert (np.abs(image - centred.T @ (centred @ vectors)) <= bound).all()
    assert rows == 60


def test_moments_on_two_devices_merge_on_the_first(rng):
    import array_api_strict as xp

    X, other = rng.standard_normal((60, P)), xp.Device("device2")
    one = on_device_moments(X[:20])
    two, _ = moments_on(rows_of(xp.asarray(X[20:], device=other)), drop=False, precise=True)
    for first, second in ((one, two), (two, one)):
        merged = first.merge(second)
        assert merged.scatter.device == first.scatter.device != second.scatter.device
        assert_alike(merged, Moments.of(X))


@pytest.fixture
def reads(monkeypatch):
    """A list with an item for each pass over the rows of a device."""
    reads, blocks = [], DeviceRows.blocks
    monkeypatch.setattr(DeviceRows, "blocks", lambda *given: reads.append(1) or blocks(*given))
    return reads


def test_constant_columns_are_not_summed_again(rng, reads):
    X = rng.standard_normal((60, P))
    X[:, 2:4] = 7.0, 0.0
    table = rows_of(on_strict.to_device(X))
    assert not moments_on(table, drop=False, precise=True)[0].column_scatter[2:4].any()
    assert len(reads) == 1


@pytest.mark.parametrize("first", [1, P])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_first_rows_far_from_the_others_are_no_reason_to_sum_again(
    weighted, drop, first, rng, reads
):
    """All of the rows are sampled, so they are summed about their mean at once."""
    X = rng.standard_normal((60, P)) + 1e4
    X[:first] += 1e3
    table = rows_of(on_strict.to_device(X))
    if weighted:
        table = table.weighted(np.ones(60))
    found, _ = moments_on(table, drop=drop, precise=True)
    assert len(reads) == 1
    assert_alike(found.about_origin(), Moments.of(X).about_origin())


@pytest.mark.parametrize(("height", "enough"), [(1e40, True), (1e50, False)])
def test_a_shift_that_is_very_far_is_corrected_in_at_most_four_passes(height, enough, rng, reads):
    """Each pass finds about sixteen more digits of the mean; digits lost after four are claimed."""
    X, weights = rng.standard_normal((600, P)), rng.random(600) + 0.1
    X[::2, :3], weights[::2] = height * (1 + rng.random((300, 3))), 1e-300
    table = rows_of(on_strict.to_device(X)).weighted(weights)
    found, _ = moments_on(table, drop=False, precise=True)
    expected = Moments.of(X[1::2], weights[1::2]).column_scatter
    assert len(reads) == 4
    assert (found.lost is None) == enough
    lost = np.zeros(P) if enough else found.lost
    assert (lost[:3] > 0).all() == (not enough)
    assert not lost[3:].any()
    bound = np.where(lost > 0, 64 * lost, 1e-12 * expected)
    assert (np.abs(found.column_scatter - expected) <= bound).all()


def test_a_factorisation_that_overflows_is_refused(rng):
    """LAPACK scales columns before it squares them; other libraries may not."""
    table = rows_of(on_strict.to_device(rng.standard_normal((60, P))))
    space = replace(table.space, qr_r=lambda matrix: matrix[..., :P, :] * np.inf)
    with pytest.raises(NotFiniteError, match="overflows float64"):
        triangle_on(replace(table, space=space), drop=False)
