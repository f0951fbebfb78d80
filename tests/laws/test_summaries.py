"""Every summary is held to the laws: merged blocks are the summary of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import EPS
from laws import check_laws, near, same_bits, scatter_of
from princomp.errors import NotFiniteError, ShapeError
from princomp.summaries import Columns, Extremes, Moments, Triangle

KINDS = [Moments, Triangle, Columns, Extremes]
quickly = settings(derandomize=True, deadline=None, max_examples=25, database=None)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@st.composite
def tables(draw, rows=24, columns=5):
    """Rows with ties, constant columns, zeros, unlike scales and large means."""
    n, p = draw(st.integers(1, rows)), draw(st.integers(1, columns))
    whole = draw(arrays(np.int64, (n, p), elements=st.integers(-99, 99), fill=st.just(0)))
    scale = 2.0 ** draw(arrays(np.int64, p, elements=st.integers(-12, 12)))
    mean = draw(arrays(np.float64, p, elements=st.sampled_from([0.0, 0.1, -1e3, 1e8, 2.0**30])))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    return (whole * scale + mean).astype(dtype)


@st.composite
def cut(draw, table):
    """The rows in blocks, empty ones and blocks of one row among them."""
    ends = st.integers(0, len(table))
    cuts = sorted(draw(st.lists(ends, min_size=1, max_size=4)))
    return np.split(table, [0, *cuts])


@every_kind
@given(data=st.data())
@quickly
def test_blocks_merge_to_the_summary_of_all_rows(kind, data):
    check_laws(kind, data.draw(cut(data.draw(tables()))))


@every_kind
@given(data=st.data())
@quickly
def test_weights_are_repetitions(kind, data):
    blocks = data.draw(cut(data.draw(tables(rows=12))))
    weights = [
        data.draw(arrays(np.float64, len(block), elements=st.integers(0, 4).map(float)))
        for block in blocks
    ]
    check_laws(kind, blocks, weights)


@every_kind
@given(data=st.data(), seed=st.integers(0, 99))
@quickly
def test_sparse_blocks_obey_the_same_laws(kind, data, seed):
    """Few entries, so that nothing is made dense, and a full column with a large mean."""
    rng = np.random.default_rng(seed)
    table = np.zeros((36, 40))
    at = rng.integers(0, 36, 40), rng.integers(0, 40, 40)
    table[at] = rng.integers(-9, 10, 40) / 4
    if data.draw(st.booleans()):
        table[:, 7] = data.draw(st.sampled_from([0.1, 1e6, 2.0**30])) + rng.integers(0, 2, 36)
    blocks = data.draw(cut(table))
    whole = check_laws(kind, blocks)
    parts = [kind.of(sp.csr_array(block)) for block in blocks]
    merged = kind.empty(40)
    for part in parts:
        merged = merged.merge(part)
    assert merged.rows == whole.rows
    if kind is Extremes:
        same_bits(merged, whole)
    else:
        size = np.sqrt(whole.column_scatter)
        allowed = 16 * 76 * EPS * np.outer(size, size)
        allowed = allowed.diagonal() if kind is Columns else allowed
        assert near(scatter_of(merged), scatter_of(whole), 2 * allowed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [0.0, 1e4, 2.0**30])
@every_kind
def test_thousands_of_rows_obey_the_same_laws(kind, mean, dtype, rng):
    table = (rng.standard_normal((3000, 6)) * [100, 1, 1, 0.1, 1, 0] + mean).astype(dtype)
    check_laws(kind, np.split(table, [1, 1, 8, 1000, 2999]))


@every_kind
def test_a_summary_is_a_value(kind, rng):
    """Nothing that goes in is written, and merging changes neither side."""
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
    """NumPy would broadcast one column over three without a word."""
    three, one = kind.of(rng.standard_normal((5, 3))), kind.of(rng.standard_normal((5, 1)))
    for left, right in ((three, one), (one, three), (kind.empty(3), one), (three, kind.empty(1))):
        with pytest.raises(ShapeError, match="column"):
            left.merge(right)


@pytest.mark.parametrize("kind", [Moments, Triangle, Columns])
def test_merging_remembers_that_a_scatter_is_about_the_origin(kind, rng):
    table = rng.standard_normal((4, 9))
    merged = kind.of(table[:2]).about_origin().merge(kind.of(table[2:]).about_origin())
    whole = kind.of(table).about_origin()
    assert merged.centred == whole.centred
    assert merged.rank_limit == whole.rank_limit == 4


@pytest.mark.parametrize("kind", [Moments, Triangle, Columns])
def test_a_summary_about_the_origin_does_not_merge_with_a_centred_one(kind, rng):
    centred = kind.of(rng.standard_normal((5, 3)))
    with pytest.raises(ValueError, match="origin"):
        centred.merge(centred.about_origin())


def test_rows_that_were_not_there_cannot_be_removed(rng):
    table = rng.standard_normal((50, 3))
    with pytest.raises(ShapeError, match="spread further in column 1") as caught:
        Moments.of(table).remove(Moments.of(table[:20] * [1, 9, 1]))
    assert caught.value.place == {"column": 1}
    assert caught.value.hint
    with pytest.raises(ShapeError, match="column"):
        Moments.of(table).remove(Moments.of(table[:20, :1]))


def test_removed_rows_are_no_longer_counted(rng):
    """The rank and the number of samples follow what is left."""
    table = rng.standard_normal((30, 20))
    left = Moments.of(table).remove(Moments.of(table[8:]))
    assert left.rows == left.count == 8
    assert left.rank_limit == 7


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", [Moments, Triangle, Columns])
def test_what_is_not_finite_is_found_in_its_place(kind, stored, value, rng):
    table = np.where(rng.random((40, 30)) < 0.05, 1.0, 0.0)
    table[17, 2] = value
    with pytest.raises(NotFiniteError) as caught:
        kind.of(stored(table))
    assert caught.value.place == {"row": 17, "column": 2}
