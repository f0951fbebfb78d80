"""Every summary obeys the laws: merged blocks are the summary of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from helpers import EPS, EPS32
from laws import check_kinds_together, check_laws, in_form_of, same_bits, scatter_of, within
from princomp.errors import NotFiniteError, ShapeError
from princomp.summaries import Columns, Extremes, Moments, PairOf, SketchOf, Triangle

KINDS = [
    Moments,
    Triangle,
    Columns,
    Extremes,
    SketchOf(4),
    PairOf(Moments, Extremes),
    PairOf(SketchOf(3, seed=7), Extremes),
]
CENTRED = [Moments, Triangle, Columns, SketchOf(4)]
quickly = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def _name(kind):
    parts = [_name(kind.first)] if isinstance(kind, PairOf) else []
    return "-".join([getattr(kind, "__name__", type(kind).__name__), *parts])


every_kind = pytest.mark.parametrize("kind", KINDS, ids=_name)
centred_kinds = pytest.mark.parametrize("kind", CENTRED, ids=_name)


@st.composite
def tables(draw, rows=24, columns=5):
    """Rows with ties, constant columns, zeros, different scales and large means."""
    n, p = draw(st.integers(1, rows)), draw(st.integers(1, columns))
    whole = draw(arrays(np.int64, (n, p), elements=st.integers(-99, 99), fill=st.just(0)))
    scale = 2.0 ** draw(arrays(np.int64, p, elements=st.integers(-12, 12)))
    mean = draw(arrays(np.float64, p, elements=st.sampled_from([0.0, 0.1, -1e3, 1e8, 2.0**30])))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    return (whole * scale + mean).astype(dtype)


@st.composite
def split_rows(draw, table):
    """The rows in blocks, including empty ones and blocks of one row."""
    ends = st.integers(0, len(table))
    cuts = sorted(draw(st.lists(ends, min_size=1, max_size=4)))
    return np.split(table, [0, *cuts])


@every_kind
@given(data=st.data())
@quickly
def test_blocks_merge_to_the_summary_of_all_rows(kind, data):
    check_laws(kind, data.draw(split_rows(data.draw(tables()))))


@every_kind
@given(data=st.data())
@quickly
def test_weights_are_repetitions(kind, data):
    blocks = data.draw(split_rows(data.draw(tables(rows=12))))
    weights = [
        data.draw(arrays(np.float64, len(block), elements=st.integers(0, 4).map(float)))
        for block in blocks
    ]
    check_laws(kind, blocks, weights)


@pytest.mark.parametrize(
    "kinds",
    [(Triangle, Moments), (Moments, SketchOf(4)), (Triangle, Moments, SketchOf(4))],
    ids=lambda kinds: "-".join(map(_name, kinds)),
)
@given(data=st.data())
@quickly
def test_different_kinds_merge_as_the_one_with_least_detail(kinds, data):
    check_kinds_together(kinds, data.draw(split_rows(data.draw(tables()))))


@every_kind
@given(data=st.data(), seed=st.integers(0, 99))
@quickly
def test_sparse_blocks_obey_the_same_laws(kind, data, seed):
    """Few entries, so that no block is made dense, and a full column with a large mean."""
    rng = np.random.default_rng(seed)
    table = np.zeros((36, 40))
    at = rng.integers(0, 36, 40), rng.integers(0, 40, 40)
    table[at] = rng.integers(-9, 10, 40) / 4
    if data.draw(st.booleans()):
        table[:, 7] = data.draw(st.sampled_from([0.1, 1e6, 2.0**30])) + rng.integers(0, 2, 36)
    blocks = data.draw(split_rows(table))
    whole = check_laws(kind, blocks)
    parts = [kind.of(sp.csr_array(block)) for block in blocks]
    merged = kind.empty(40)
    for part in parts:
        merged = merged.merge(part)
    assert merged.rows == whole.rows
    if isinstance(kind, PairOf):
        same_bits(merged.second, whole.second)
        merged, whole = merged.first, whole.first
    if kind is Extremes:
        same_bits(merged, whole)
    else:
        size = np.sqrt(whole.column_scatter)
        allowed = in_form_of(16 * 76 * EPS * np.outer(size, size), whole)
        assert within(scatter_of(merged), scatter_of(whole), 2 * allowed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [0.0, 1e4, 2.0**30])
@every_kind
def test_thousands_of_rows_obey_the_same_laws(kind, mean, dtype, rng):
    table = (rng.standard_normal((3000, 6)) * [100, 1, 1, 0.1, 1, 0] + mean).astype(dtype)
    check_laws(kind, np.split(table, [1, 1, 8, 1000, 2999]))


@every_kind
def test_summaries_are_immutable_values(kind, rng):
    """Inputs are not modified, and merging changes neither summary."""
    table = rng.standard_normal((9, 3))
    before = table.copy()
    one, other = kind.of(table[:4]), kind.of(table[4:])
    copies = kind.of(table[:4]), kind.of(table[4:])
    merged = one.merge(other)
    same_bits(one, copies[0])
    same_bits(other, copies[1])
    assert (table == before).all()
    with pytest.raises(AttributeError):
        merged.rows = 3.0


@every_kind
def test_summaries_of_other_columns_are_refused(kind, rng):
    """NumPy would silently broadcast one column over three."""
    three, one = kind.of(rng.standard_normal((5, 3))), kind.of(rng.standard_normal((5, 1)))
    for left, right in ((three, one), (one, three), (kind.empty(3), one), (three, kind.empty(1))):
        with pytest.raises(ShapeError, match="column"):
            left.merge(right)


@centred_kinds
def test_merged_summaries_about_the_origin_stay_so(kind, rng):
    table = rng.standard_normal((4, 9))
    merged = kind.of(table[:2]).about_origin().merge(kind.of(table[2:]).about_origin())
    whole = kind.of(table).about_origin()
    assert merged.centred == whole.centred
    assert merged.rank_limit == whole.rank_limit == 4


@centred_kinds
def test_a_summary_about_the_origin_does_not_merge_with_a_centred_one(kind, rng):
    centred = kind.of(rng.standard_normal((5, 3)))
    with pytest.raises(ValueError, match="origin"):
        centred.merge(centred.about_origin())


@centred_kinds
def test_an_empty_summary_merges_with_rows_about_the_origin(kind, rng):
    found = kind.of(rng.standard_normal((5, 3))).about_origin()
    assert found.merge(kind.empty(3)) is found
    assert kind.empty(3).merge(found) is found


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_rows_can_be_added_after_all_rows_were_removed(kind, rng):
    found = kind.of(rng.standard_normal((5, 3)))
    for summary in (found.about_origin(), found.scaled(np.array([1.0, 2.0, 4.0]))):
        assert summary.remove(summary).merge(summary) is summary


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_rows_that_were_never_added_cannot_be_removed(kind, rng):
    table = rng.standard_normal((50, 3))
    with pytest.raises(ShapeError, match="spread further in column 1") as caught:
        kind.of(table).remove(kind.of(table[:20] * [1, 9, 1]))
    assert caught.value.place == {"column": 1}
    assert caught.value.hint
    with pytest.raises(ShapeError, match="column"):
        kind.of(table).remove(kind.of(table[:20, :1]))


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_removed_rows_are_no_longer_counted(kind, rng):
    """The rank and the number of samples are those of the remaining rows."""
    table = rng.standard_normal((30, 20))
    left = kind.of(table).remove(kind.of(table[8:]))
    assert left.rows == left.count == 8
    assert left.rank_limit == 7


def test_a_pair_holds_the_summaries_of_its_two_kinds(rng):
    table, weights = rng.standard_normal((30, 5)).astype(np.float32), rng.random(30)
    kind = PairOf(SketchOf(3), Extremes)
    pair, added = kind.of(table, weights), kind.add(kind.empty(5), table, weights)
    for found in (pair, added):
        same_bits(found.first, SketchOf(3).of(table, weights))
        same_bits(found.second, Extremes.of(table, weights))
        assert found.rows == weights.sum()


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_a_row_counts_until_all_of_its_weight_is_removed(kind, rng):
    table = rng.standard_normal((30, 40))
    left = kind.of(table).remove(kind.of(table[:20], np.full(20, 0.5)))
    assert (left.rows, left.count, left.rank_limit) == (20, 30, 29)


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_errors_of_removed_rows_have_the_units_of_the_rows(kind, rng):
    """Powers of two round nothing."""
    table = rng.standard_normal((50, 3)) * [9, 1, 1e3]
    one, two = kind.of(table), kind.of(table[:20])
    left = one.remove(two)
    assert (left.lost > 0).all()
    for unit in (2.0**40, 2.0**-40):
        divisor = np.full(3, unit)
        scaled = one.scaled(divisor).remove(two.scaled(divisor))
        for found in (scaled, left.scaled(divisor)):
            np.testing.assert_array_equal(found.lost, left.lost / unit**2)
        faded = one.faded(unit).remove(two.faded(unit))
        for found in (faded, left.faded(unit)):
            np.testing.assert_array_equal(found.lost, left.lost * unit)


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)], ids=_name)
def test_float32_rows_are_multiplied_in_float64_only_if_it_is_asked_for(kind, rng):
    table = rng.standard_normal((300, 6)).astype(np.float32)
    coarse, fine = kind.of(table), kind.of(table, precise=True)
    assert (coarse.unit, fine.unit) == (EPS32, EPS)
    error = np.abs(scatter_of(coarse) - scatter_of(fine)).max()
    assert 300 * EPS < error / np.abs(scatter_of(fine)).max() < 300 * EPS32
    pair = PairOf(kind, Extremes)
    for found in (
        kind.add(kind.empty(6), table),
        pair.of(table).first,
        pair.add(pair.empty(6), table).first,
    ):
        assert found.unit == EPS32


def test_a_triangle_of_few_rows_is_the_centred_rows(rng):
    """A factorisation would add its rounding errors."""
    table = rng.standard_normal((11, 5))
    few = table[:10] - table[:10].mean(axis=0)
    np.testing.assert_allclose(Triangle.of(table[:10]).factor, few, rtol=0, atol=16 * EPS)
    factor = Triangle.of(table).factor
    np.testing.assert_array_equal(factor, np.triu(factor))
    assert factor.shape == (5, 5)
    assert (factor.diagonal() >= 0).all()


@centred_kinds
def test_one_row_or_none_has_rank_zero(kind):
    assert kind.empty(3).rank_limit == kind.of(np.ones((1, 3))).rank_limit == 0
    assert kind.empty(3).count == 0


def test_sketches_in_other_directions_do_not_merge(rng):
    """Their products are of different matrices: a sum of them is meaningless."""
    table = rng.standard_normal((30, 5))
    sketch = SketchOf(4).of(table)
    scaled = sketch.scaled(np.arange(1.0, 6.0))
    for other in (
        SketchOf(3).of(table),
        SketchOf(4, seed=1).of(table),
        scaled,
        sketch.scaled(np.full(5, 2.0)).scaled(np.arange(1.0, 6.0)),
    ):
        for one, two in ((sketch, other), (scaled, other), (other, sketch)):
            if one is two:
                continue
            with pytest.raises(ShapeError, match="cannot be merged"):
                one.merge(two)
            with pytest.raises(ShapeError, match="cannot be merged"):
                one.remove(two)
    # Divided in two steps or in one, by powers of two: the same numbers.
    again = sketch.scaled(np.full(5, 2.0)).scaled(np.full(5, 4.0))
    assert again.merge(sketch.scaled(np.full(5, 8.0))).rows == 60


def test_a_sketch_of_sparse_rows_keeps_small_spreads_about_large_means():
    """As one of dense rows does: the mean is subtracted in two parts."""
    table = 2.0**30 + np.array([[0.0], [1.0], [1.0]]) * 2.0**-22
    dense, sparse = (SketchOf(3).of(stored(table)) for stored in (np.asarray, sp.csr_array))
    scatter = np.full((1, 1), 2 / 3 * 2.0**-44)
    for sketch in (dense, sparse):
        bound = in_form_of(16 * 4 * EPS * scatter, sketch)
        assert within(sketch.product, in_form_of(scatter, sketch, signed=True), bound)


def test_a_sketch_uses_the_same_directions_for_every_block():
    """They are Gaussian numbers of the seed: sketches of other processes can be merged."""
    expected = np.random.default_rng(3).standard_normal((6, 4), dtype=np.float32)
    sketch = SketchOf(4, seed=3).empty(6)
    assert (sketch.directions_of(slice(None)) == expected).all()
    assert (sketch.directions_of(slice(2, 5)) == expected[2:5]).all()
    assert SketchOf(4).seed == 0


def test_adding_rows_to_a_sketch_equals_a_merge(rng):
    """Rows are added in place, to a sketch that nothing else refers to."""
    kind, table = SketchOf(4), rng.standard_normal((60, 5)) + 10
    weights = rng.random(60)
    for w in (None, weights):
        parts = [slice(0, 1), slice(1, 40), slice(40, 40), slice(40, 60)]
        added = kind.empty(5)
        merged = kind.empty(5)
        for part in parts:
            part_weights = None if w is None else w[part]
            added = kind.add(added, table[part], part_weights)
            merged = merged.merge(kind.of(table[part], part_weights))
        assert added.rows == pytest.approx(merged.rows, rel=60 * EPS)
        assert added.count == merged.count == 60
        size = np.sqrt(merged.column_scatter)
        bound = in_form_of(16 * 65 * EPS * np.outer(size, size), merged)
        assert within(added.product, merged.product, bound)
        assert within(added.column_scatter, merged.column_scatter, 16 * 65 * EPS * size**2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", [*CENTRED, PairOf(Moments, Extremes)], ids=_name)
def test_non_finite_values_are_located(kind, stored, value, rng):
    table = np.where(rng.random((40, 30)) < 0.05, 1.0, 0.0)
    table[17, 2] = table[17, 5] = table[30, 1] = value
    with pytest.raises(NotFiniteError) as caught:
        kind.of(stored(table))
    assert caught.value.place == {"row": 17, "column": 2}
