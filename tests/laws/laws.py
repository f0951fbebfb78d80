"""The laws that make a summary mergeable, held by one helper for every kind."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS
from princomp.errors import ShapeError
from princomp.summaries import Extremes, Moments, Triangle

# Sums and products of n numbers of p columns lose at most about n + p roundings; a few
# of them stand behind each other (shift, product, move to the mean, merge).
_ROUNDINGS = 16


def check_laws(kind, blocks, weights=None):
    """Hold ``kind`` to the laws on these blocks (each (m, p), some of them empty).

    ``weights`` are whole numbers, one array a block, if any.
    """
    p = blocks[0].shape[1]
    each = weights or [None] * len(blocks)
    parts = [kind.of(block, w) for block, w in zip(blocks, each, strict=True)]
    rows = np.concatenate(blocks)
    all_weights = None if weights is None else np.concatenate(weights)
    whole = kind.of(rows, all_weights)
    same = _Comparison(kind, rows, all_weights)
    empty = kind.empty(p)

    # identity, exactly
    assert empty.rows == 0
    assert kind.of(rows[:0]).rows == 0
    for part in [*parts, whole]:
        same_bits(part.merge(empty), part)
        same_bits(empty.merge(part), part)

    # merge of the blocks is the summary of all rows, in any grouping and order
    same(reduce(kind.merge, parts, empty), whole)
    same(reduce(lambda right, left: left.merge(right), parts[::-1], empty), whole)
    same(reduce(kind.merge, parts[::-1], empty), whole)
    if len(rows) <= 40:
        ones = [kind.of(rows[i : i + 1], _part(all_weights, i, i + 1)) for i in range(len(rows))]
        same(reduce(kind.merge, ones, empty), whole)

    # a weight is a frequency
    if weights is not None:
        same(whole, kind.of(np.repeat(rows, all_weights.astype(int), axis=0)))
    elif len(rows):
        same(kind.of(rows, np.ones(len(rows))), whole)

    # sparse rows are the same rows
    same(kind.of(sp.csr_array(rows), all_weights), whole)

    if kind is not Extremes:
        _check_transformations(parts, whole, same)
    if kind is Moments:
        _check_group(parts, whole, same)
    return whole


def _check_transformations(parts, whole, same):
    """Scaling and taking about the origin commute with merging."""
    divisor = 0.5 + np.arange(whole.p) % 3
    # A mean that is divided is rounded once: what separates blocks may be off by so much.
    loose = np.sqrt(whole.rows) * EPS * np.abs(whole.mean / divisor)
    merged = reduce(type(whole).merge, [part.scaled(divisor) for part in parts])
    same(merged, whole.scaled(divisor), divisor, extra=loose)
    merged = reduce(type(whole).merge, [part.about_origin() for part in parts])
    about = whole.about_origin()
    assert not about.mean.any()
    size = np.sqrt(about.column_scatter)
    bound = same.bound * np.outer(size, size)
    bound = bound if scatter_of(about).ndim == 2 else bound.diagonal()
    assert near(scatter_of(merged), scatter_of(about), bound)


def _check_group(parts, whole, same):
    """What was merged can be removed again, and no more than that."""
    for i, part in enumerate(parts):
        rest = reduce(Moments.merge, parts[:i] + parts[i + 1 :], Moments.empty(whole.p))
        left = whole.remove(part)
        assert left.rows == rest.rows
        # Removing what is nearly all leaves the rounding of all.
        share = whole.rows / max(rest.rows, 1.0)
        off = np.abs((left.mean - rest.mean) + (left.mean_low - rest.mean_low))
        assert (off <= share * same.mean_bound()).all()
        assert near(scatter_of(left), scatter_of(rest), share * same.scatter_bound())
    assert whole.remove(whole).rows == 0
    same_bits(whole.remove(Moments.empty(whole.p)), whole)
    if whole.rows:
        with pytest.raises(ShapeError, match="cannot remove"):
            whole.remove(whole.merge(whole))
        with pytest.raises(ShapeError, match="cannot remove"):
            Moments.empty(whole.p).remove(whole)


class _Comparison:
    """Whether two summaries agree, to what rounding allows for these rows."""

    def __init__(self, kind, rows, weights):
        wide = np.asarray(rows, dtype=np.longdouble)
        w = np.ones(len(wide)) if weights is None else weights
        self.rows = float(np.sum(w))
        self.kind = kind
        coarse = rows.dtype == np.float32 and kind is Moments
        unit = float(np.finfo(np.float32).eps) if coarse else EPS
        n, p = rows.shape
        self.bound = _ROUNDINGS * (n + p) * unit
        # The mean as a row and an offset: even extended precision would round their sum.
        self.start = wide[0] if self.rows else np.zeros(p, np.longdouble)
        self.offset = (w @ (wide - self.start)) / max(self.rows, 1.0)
        away = wide - self.start - self.offset
        self.scatter = (away.T * w) @ away

    def mean_bound(self, divisor=1.0):
        spread = np.sqrt(self.scatter.diagonal() / max(self.rows, 1.0))
        # Two doubles hold the mean, so its own size costs only eps².
        return (self.bound * spread + 64 * EPS**2 * np.abs(self.start)) / divisor

    def scatter_bound(self, divisor=1.0, extra=0.0):
        root = np.sqrt(self.scatter.diagonal()) / divisor
        moved = np.outer(root, extra)
        return self.bound * np.outer(root, root) + moved + moved.T + np.outer(extra, extra)

    def __call__(self, one, other, divisor=None, extra=0.0):
        assert type(one) is type(other) is self.kind
        assert one.rows == other.rows == self.rows
        if self.kind is Extremes:
            same_bits(one, other)
            return
        divisor = np.ones(one.p) if divisor is None else divisor
        extra = np.zeros(one.p) + extra
        for summary in (one, other):
            assert summary.centred
            if isinstance(summary, Triangle):
                assert len(summary.factor) <= 2 * summary.p
            left = (summary.mean - self.start / divisor) + summary.mean_low
            off = np.abs(left - self.offset / divisor)
            assert (off <= self.mean_bound(divisor) + extra).all()
            true = self.scatter / np.outer(divisor, divisor)
            bound = self.scatter_bound(divisor, extra)
            found = scatter_of(summary)
            if found.ndim == 1:
                true, bound = true.diagonal(), bound.diagonal()
            assert near(found, true, bound)
            # A column without spread has none, exactly.
            flat = true.diagonal() == 0 if true.ndim == 2 else true == 0
            if not extra.any():
                assert not summary.column_scatter[flat].any()


def scatter_of(summary):
    """What a summary knows of the scatter: (p, p), or (p,) where that is all."""
    if isinstance(summary, Triangle):
        return summary.factor.T @ summary.factor
    return summary.scatter if isinstance(summary, Moments) else summary.column_scatter


def near(one, other, bound):
    return bool((np.abs(one - other) <= bound).all())


def same_bits(one, other):
    """Assert that two summaries, or records, hold the same bits."""
    names = list(getattr(one, "__slots__", None) or vars(one))
    for name in names:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.shape == b.shape, name
        assert a.tobytes() == b.tobytes(), name


def _part(weights, start, stop):
    return None if weights is None else weights[start:stop]
