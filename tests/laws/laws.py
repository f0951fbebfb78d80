"""The laws of mergeable summaries, checked by one helper for every kind."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS
from princomp.engines.local import fold
from princomp.errors import ShapeError
from princomp.linalg import limit_threads
from princomp.summaries import Moments, Pair, PairOf, Sketch, SketchOf, Triangle

# Sums and products of n numbers of p columns lose at most about n + p roundings; a few
# of them follow each other (shift, product, move to the mean, merge).
_ROUNDINGS = 16


def fold_on(threads, *arguments, **options):
    """Fold on a number of threads; None for all processors."""
    with limit_threads(threads):
        return fold(*arguments, **options)


def check_laws(kind, blocks, weights=None, *, rtol=0.0):
    """Check the laws for ``kind`` on these blocks (each (m, p), some of them empty).

    A kind makes summaries: a class of them, or a ``SketchOf`` or ``PairOf``. ``weights`` are
    whole numbers, one array per block, if any. A summary without a mean is compared field by field,
    to the bit or within ``rtol``.
    """
    p = blocks[0].shape[1]
    block_weights = weights or [None] * len(blocks)
    parts = [kind.of(block, w) for block, w in zip(blocks, block_weights, strict=True)]
    rows = np.concatenate(blocks)
    all_weights = None if weights is None else np.concatenate(weights)
    whole = kind.of(rows, all_weights)
    assert_same = _Comparison(kind, rows, all_weights, rtol)
    empty = kind.empty(p)

    # identity, exactly
    assert empty.rows == 0
    assert kind.of(rows[:0]).rows == 0
    for part in [*parts, whole]:
        same_bits(part.merge(empty), part)
        same_bits(empty.merge(part), part)

    # merge of the blocks is the summary of all rows, in any grouping and order
    assert_same(reduce(_merge, parts, empty), whole)
    assert_same(reduce(lambda right, left: left.merge(right), parts[::-1], empty), whole)
    assert_same(reduce(_merge, parts[::-1], empty), whole)
    if len(rows) <= 40:
        single_rows = [
            kind.of(rows[i : i + 1], _slice(all_weights, i, i + 1)) for i in range(len(rows))
        ]
        assert_same(reduce(_merge, single_rows, empty), whole)

    # a weight is a frequency
    if weights is not None:
        assert_same(whole, kind.of(np.repeat(rows, all_weights.astype(int), axis=0)))
    elif len(rows):
        assert_same(kind.of(rows, np.ones(len(rows))), whole)

    # sparse rows are the same rows; a sketch of them rounds the mean of a full column (see
    # test_a_sketch_of_sparse_rows_keeps_small_spreads_about_large_means)
    sketched = isinstance(getattr(kind, "first", kind), SketchOf)
    extra = np.sqrt(whole.rows) * EPS * np.abs(assert_same.start) if sketched else 0.0
    assert_same(kind.of(sp.csr_array(rows), all_weights), whole, extra=extra)

    if hasattr(whole, "scaled"):
        _check_transformations(parts, whole, assert_same)
    if hasattr(whole, "faded"):
        _check_fading(kind, parts, whole, rows, all_weights)
    if hasattr(whole, "remove"):
        _check_group(empty, parts, whole, assert_same)
    return whole


def check_kinds_together(kinds, blocks, weights=None):
    """Summaries of several kinds merge, in any order, as the last of ``kinds``.

    ``kinds`` go from the most detail of the scatter to the least; the blocks take turns.
    """
    block_weights = weights or [None] * len(blocks)
    parts = [
        kinds[i % len(kinds)].of(block, w)
        for i, (block, w) in enumerate(zip(blocks, block_weights, strict=True))
    ]
    last = kinds[-1].empty(blocks[0].shape[1])
    rows = np.concatenate(blocks)
    assert_same = _Comparison(kinds[-1], rows, None if weights is None else np.concatenate(weights))
    forward = reduce(_merge, parts).merge(last)
    backward = reduce(_merge, parts[::-1], last)
    assert_same(forward, backward)
    assert forward.unit == backward.unit == max(part.unit for part in parts)
    assert forward.count == backward.count == len(rows)


def _merge(one, other):
    return one.merge(other)


def _check_transformations(parts, whole, assert_same):
    """Scaling and moving to the origin commute with merging."""
    divisor = 0.5 + np.arange(whole.p) % 3
    # A mean that is divided is rounded once: differences of means may be off by as much.
    extra = np.sqrt(whole.rows) * EPS * np.abs(whole.mean / divisor)
    merged = reduce(_merge, [part.scaled(divisor) for part in parts])
    assert_same(merged, whole.scaled(divisor), divisor, extra=extra)
    merged = reduce(_merge, [part.about_origin() for part in parts])
    about = whole.about_origin()
    assert not about.mean.any()
    size = np.sqrt(about.column_scatter)
    bound = assert_same.bound * np.outer(size, size)
    assert within(scatter_of(merged), scatter_of(about), in_form_of(bound, about))


def _check_fading(kind, parts, whole, rows, weights):
    """A summary whose weights are halved is that of rows of half the weight, counted as before."""
    halves = 0.5 * np.ones(len(rows)) if weights is None else 0.5 * weights
    assert_same = _Comparison(kind, rows, halves)
    assert_same(whole.faded(0.5), kind.of(rows, halves))
    assert_same(reduce(_merge, [part.faded(0.5) for part in parts]), whole.faded(0.5))
    assert whole.faded(0.5).count == whole.count
    same_bits(whole.faded(1.0), whole)
    # Rows of weight zero do not count.
    for part in parts:
        same_bits(part.faded(0.0).merge(whole), whole)
        same_bits(whole.merge(part.faded(0.0)), whole)


def _check_group(empty, parts, whole, comparison):
    """Merged summaries can be removed again, and no larger ones."""
    for i, part in enumerate(parts):
        rest = reduce(_merge, parts[:i] + parts[i + 1 :], empty)
        left = whole.remove(part)
        assert left.rows == rest.rows
        # Removing nearly all rows leaves the rounding of all.
        factor = whole.rows / max(rest.rows, 1.0)
        error = np.abs((left.mean - rest.mean) + (left.mean_low - rest.mean_low))
        assert (error <= factor * comparison.mean_bound()).all()
        bound = factor * comparison.scatter_bound()
        assert within(scatter_of(left), scatter_of(rest), in_form_of(bound, rest))
        assert within(left.column_scatter, rest.column_scatter, bound.diagonal())
    assert whole.remove(whole).rows == 0
    same_bits(whole.remove(empty), whole)
    if whole.rows:
        with pytest.raises(ShapeError, match="cannot remove"):
            whole.remove(whole.merge(whole))
        with pytest.raises(ShapeError, match="cannot remove"):
            empty.remove(whole)


class _Comparison:
    """Assert that two summaries of these rows agree to rounding."""

    def __init__(self, kind, rows, weights, rtol=0.0):
        wide = np.asarray(rows, dtype=np.longdouble)
        w = np.ones(len(wide)) if weights is None else weights
        self.rows = float(np.sum(w))
        self.kind, self.rtol = kind, rtol
        self.first = _Comparison(kind.first, rows, weights) if isinstance(kind, PairOf) else None
        coarse = rows.dtype == np.float32 and (kind is Moments or isinstance(kind, SketchOf))
        unit = float(np.finfo(np.float32).eps) if coarse else EPS
        n, p = rows.shape
        self.bound = _ROUNDINGS * (n + p) * unit
        # The mean is a row and an offset: even extended precision would round their sum.
        self.start = wide[0] if self.rows else np.zeros(p, np.longdouble)
        self.offset = (w @ (wide - self.start)) / (self.rows or 1.0)
        centred = wide - self.start - self.offset
        self.scatter = (centred.T * w) @ centred

    def mean_bound(self, divisor=1.0):
        spread = np.sqrt(self.scatter.diagonal() / (self.rows or 1.0))
        # Two doubles hold the mean, so its own size costs only eps².
        return (self.bound * spread + 64 * EPS**2 * np.abs(self.start)) / divisor

    def scatter_bound(self, divisor=1.0, extra=0.0):
        root = np.sqrt(self.scatter.diagonal()) / divisor
        moved = np.outer(root, extra)
        return self.bound * np.outer(root, root) + moved + moved.T + np.outer(extra, extra)

    def __call__(self, one, other, divisor=None, extra=0.0):
        assert type(one) is type(other) is type(self.kind.empty(1))
        assert one.rows == other.rows == self.rows
        if self.first is not None:
            self.first(one.first, other.first, extra=extra)
            same_bits(one.second, other.second)
            return
        if not hasattr(one, "mean"):
            same_fields(one, other, self.rtol)
            return
        divisor = np.ones(one.p) if divisor is None else divisor
        extra = np.zeros(one.p) + extra
        for summary in (one, other):
            assert summary.centred
            if isinstance(summary, Triangle):
                assert len(summary.factor) <= 2 * summary.p
            mean = (summary.mean - self.start / divisor) + summary.mean_low
            error = np.abs(mean - self.offset / divisor)
            assert (error <= self.mean_bound(divisor) + extra).all()
            true = self.scatter / np.outer(divisor, divisor)
            bound = self.scatter_bound(divisor, extra)
            found = scatter_of(summary)
            assert within(found, in_form_of(true, summary, signed=True), in_form_of(bound, summary))
            assert within(summary.column_scatter, true.diagonal(), bound.diagonal())
            # A constant column has exactly zero scatter.
            constant = true.diagonal() == 0
            if not extra.any():
                assert not summary.column_scatter[constant].any()
                assert not found[constant].any()


def scatter_of(summary):
    """The scatter that a summary has: (p, p), times directions, or the diagonal alone."""
    if isinstance(summary, Triangle):
        return summary.factor.T @ summary.factor
    if isinstance(summary, Sketch):
        return summary.product
    return summary.scatter if isinstance(summary, Moments) else summary.column_scatter


def in_form_of(scatter, summary, *, signed=False):
    """A scatter (p, p), or bounds of its entries, in the form that the summary has."""
    if isinstance(summary, Sketch):
        directions = summary.directions_of(slice(None))
        return scatter @ (directions if signed else np.abs(directions))
    return scatter if scatter_of(summary).ndim == 2 else scatter.diagonal()


def within(one, other, bound):
    return bool((np.abs(one - other) <= bound).all())


def same_bits(one, other):
    """Assert that two summaries, or records, hold the same bits."""
    assert type(one) is type(other)
    if isinstance(one, Pair):
        same_bits(one.first, other.first)
        same_bits(one.second, other.second)
        return
    same_fields(one, other)


def same_fields(one, other, rtol=0.0):
    """Assert that two records have the same fields: the same bits, or numbers within ``rtol``."""
    for name in getattr(one, "__slots__", None) or vars(one):
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.shape == b.shape, name
        if rtol:
            np.testing.assert_allclose(a, b, rtol=rtol, err_msg=name)
        else:
            assert a.tobytes() == b.tobytes(), name


def _slice(weights, start, stop):
    return None if weights is None else weights[start:stop]
