"""Moments: rows, mean and scatter (Chan, Golub & LeVeque 1983)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.arrays import (
    EPS,
    FloatArray,
    add_outer,
    added_with_outer,
    divided,
    not_vanished,
    two_sum,
)
from princomp.errors import NotFiniteError
from princomp.kernels import gram, native, wide
from princomp.summaries.blocks import (
    Weights,
    check_finite,
    check_mergeable,
    first_not_finite,
    is_sparse,
    lawful_block,
    merged_mean,
    sum_overflow,
)
from princomp.summaries.centred import (
    Centred,
    alike,
    check_left_scatter,
    constant_columns,
    left_count,
    left_rows,
    lost_by_both,
    lost_by_removing,
)
from princomp.summaries.columns import Columns
from princomp.summaries.sparse_moments import sparse_sums

__all__ = ["Moments"]

# Sparse blocks denser than this are quicker as dense ones: at 0.2, of 300, 1,000 and 2,000
# columns in float64, they take 6, 30 and 119 ms sparse, 8, 53 and 179 dense; float32 is equal.
_DENSE_ENOUGH = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Centred):
    """Rows, mean and scatter of the rows seen: the covariance route.

    Parameters
    ----------
    rows : float
        Sum of the weights; the number of rows without weights.
    count : int
        Rows that were added, each at least once: the rank of the scatter is at most
        ``count − 1``.
    mean, mean_low : ndarray of shape (p,)
        Column means in the units of the data, as an unevaluated sum of two doubles.
    scatter : ndarray of shape (p, p)
        Σ w (x − mean)(x − mean)ᵀ, never divided.
    unit : float
        Unit roundoff of the coarsest product that went in.
    centred : bool
        False after :meth:`about_origin`.
    lost : ndarray of shape (p,), optional
        Errors of the column scatters that rows have left which were removed, beside
        ``unit`` times the scatter.

    Notes
    -----
    Moments form a group: ``a.merge(b).remove(b)`` is ``a``, to rounding.
    """

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    scatter: FloatArray
    unit: float = EPS
    centred: bool = True
    lost: FloatArray | None = None

    detail = 2

    @classmethod
    def empty(cls, p: int) -> Moments:
        """Moments of no rows of ``p`` columns."""
        zero = np.zeros(p)
        return cls(0.0, 0, zero, zero, np.zeros((p, p)))

    @classmethod
    def of(cls, block: Any, weights: Weights = None, *, precise: bool = False) -> Moments:
        """Moments of a block.

        Parameters
        ----------
        block : ndarray or CSR array of shape (m, p)
            float32 or float64; it is not changed.
        weights : ndarray of shape (m,), optional
            Frequencies: weight 2 is the row twice.
        precise : bool
            Multiply float32 rows in float64.

        Raises
        ------
        NotFiniteError
            With the place in the block.
        """
        block, weights = lawful_block(block, weights)
        if block.shape[0] == 0:
            return cls.empty(block.shape[1])
        if is_sparse(block):
            if block.nnz < _DENSE_ENOUGH * block.shape[0] * block.shape[1]:
                return _of_sparse(block, weights)
            block = block.toarray()
        if block.shape[1] >= wide.WIDE:
            return _added(cls.empty(block.shape[1]), block, weights, precise, threads=1).held()
        return _of_dense(block, weights, precise)

    @staticmethod
    def adds(p: int, *, sparse: bool = False) -> bool:
        """Whether blocks of so many columns are better added in place, one by one."""
        return p >= wide.WIDE and not sparse

    @staticmethod
    def add(
        moments: Moments, block: Any, weights: Weights = None, *, precise: bool = False
    ) -> Moments:
        """Moments of the rows of both; the numbers of ``moments`` are used up.

        The scatter is good above its diagonal only, until ``held()``.
        """
        block, weights = lawful_block(block, weights)
        if block.shape[0] == 0:
            return moments
        return _added(moments, block.toarray() if is_sparse(block) else block, weights, precise)

    @classmethod
    def of_covariance(cls, covariance: FloatArray, mean: FloatArray, rows: float) -> Moments:
        """Moments that have this covariance (p, p), mean (p,) and number of rows."""
        scatter = covariance * (rows - 1.0)
        return cls(rows, len(mean) + 1, mean.copy(), np.zeros_like(mean), scatter)

    def lifted(self, other: Moments) -> Moments:
        """Another summary, its numbers where those of this one are."""
        return other.held()

    def converted(self, other: Any) -> Moments:
        """Another kind of summary, with more detail, as Moments."""
        return Moments(
            other.rows, other.count, other.mean, other.mean_low, other.scatter, other.unit,
            other.centred, other.lost,
        )  # fmt: skip

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,)."""
        return self.scatter.diagonal()

    def times(self, vectors: FloatArray) -> FloatArray:
        """Scatter @ vectors (p, m)."""
        product: FloatArray = self.scatter @ vectors
        return product

    def merge(self, other: Any, *, spend: bool = False) -> Any:
        """Moments of the rows of both; of another kind, where ``other`` has less detail.

        Parameters
        ----------
        other : Moments, Triangle or Sketch
        spend : bool
            Keep the answer in the memory of ``other``, which is used up.
        """
        if type(other) is not Moments:
            if isinstance(other, Moments):
                return other.lifted(self).merge(other)
            one, other = alike(self, other)
            return one.merge(other)
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        rows, count, mean, low, delta, between = joined
        scatter = added_with_outer(self.scatter, other.scatter, between, delta, spend=spend)
        unit, lost = max(self.unit, other.unit), lost_by_both(self, other)
        return Moments(rows, count, mean, low, scatter, unit, self.centred, lost)

    def remove(self, other: Moments) -> Moments:
        """Moments of the rows of this one without those of ``other``.

        Raises
        ------
        ShapeError
            When more is removed than was there.
        """
        if type(other) is not Moments:
            return other.lifted(self).remove(other)
        check_mergeable(self, other)
        rows = left_rows(self, other)
        if not other.rows:
            return self
        if rows <= self.rows * EPS:
            return Moments.empty(self.p)
        offset = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        scatter = self.scatter - other.scatter
        # With δ = offset · rows(all)/rows(left), c·δδᵀ is this multiple of offset offsetᵀ.
        add_outer(scatter, -other.rows * (self.rows / rows), offset)
        # The outer product is symmetric but for its rounding, which may be large in what is left.
        scatter = (scatter + scatter.T) * 0.5
        slack = check_left_scatter(self, other, scatter.diagonal())
        few = np.flatnonzero(scatter.diagonal() <= slack)
        if few.size:
            spent = constant_columns(few, scatter[few], slack)
            scatter[few, few] = np.maximum(scatter[few, few], slack[few] / (64 * self.p))
            scatter[spent] = 0.0
            scatter[:, spent] = 0.0
        mean, low = merged_mean(self.mean, self.mean_low, offset, -other.rows / rows)
        count, unit = left_count(self, other), max(self.unit, other.unit)
        lost = lost_by_removing(self, other, scatter.diagonal())
        return Moments(rows, count, mean, low, scatter, unit, self.centred, lost)

    def faded(self, factor: float) -> Moments:
        """Moments of the same rows with their weights multiplied by ``factor``."""
        lost = None if self.lost is None else self.lost * factor
        return replace(self, rows=self.rows * factor, scatter=self.scatter * factor, lost=lost)

    def scaled(self, divisor: FloatArray) -> Moments:
        """Moments of the rows divided by ``divisor`` (p,), column by column."""
        mean, low = self.mean / divisor, self.mean_low / divisor
        scatter = divided(self.scatter, divisor)
        lost = None if self.lost is None else self.lost / divisor / divisor
        return replace(self, mean=mean, mean_low=low, scatter=scatter, lost=lost)

    def about_origin(self) -> Moments:
        """The same rows with their scatter taken about zero instead of the mean."""
        scatter = self.scatter.copy()
        add_outer(scatter, self.rows, self.mean)
        zero = np.zeros_like(self.mean)
        return replace(self, mean=zero, mean_low=zero, scatter=scatter, centred=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Upper(Moments):
    """Moments that blocks are added to: the upper triangle of a scatter, and memory for a block."""

    memory: FloatArray | None = None

    def held(self) -> Moments:
        """The same with a scatter that is symmetric, in its memory."""
        wide.mirror(self.scatter)
        return Moments(*(getattr(self, name) for name in Moments.__slots__))


def _added(
    moments: Moments, block: FloatArray, weights: Weights, precise: bool, threads: int | None = None
) -> _Upper:
    """Moments with those of a block added in place, once it is known that all can be."""
    memory = moments.memory if isinstance(moments, _Upper) else None
    packed = wide.packed(block, weights, precise=precise, memory=memory, threads=threads)
    if packed.answer != native.DONE:
        _check_again(block, precise, packed.sums, packed.squares)
        return _added(moments, block, weights, True, threads)
    mean, low = two_sum(packed.shift.astype(np.float64), packed.sums / packed.rows)
    part = Columns(packed.rows, block.shape[0], mean, low, packed.squares, moments.centred)
    joined = moments._joined(part)
    unit = _unit(block, precise)
    if joined is None:
        rows, count, between, delta = part.rows, part.count, 0.0, np.zeros(part.p)
    else:
        rows, count, mean, low, delta, between = joined
        unit = max(unit, moments.unit)
    wide.add(packed, moments.scatter, between, delta, threads=threads)
    diagonal = moments.scatter.diagonal()
    np.fill_diagonal(moments.scatter, not_vanished(diagonal, packed.sums))
    return _Upper(
        rows, count, mean, low, moments.scatter, unit, moments.centred, moments.lost, packed.memory
    )


def _of_dense(block: FloatArray, weights: Weights, precise: bool = False) -> Moments:
    """Rows shifted alike, multiplied in their precision, summed in float64."""
    answer, mean, low, scatter = gram.moments(block, weights, precise=precise)
    if answer != native.DONE:
        _check_again(block, precise, mean, scatter.diagonal())
        return _of_dense(block, weights, True)
    rows = float(block.shape[0]) if weights is None else float(weights.sum())
    return Moments(rows, block.shape[0], mean, low, scatter, _unit(block, precise))


def _unit(block: FloatArray, precise: bool) -> float:
    return EPS if precise or block.dtype.char == "d" else float(np.finfo(np.float32).eps)


def _check_again(block: FloatArray, precise: bool, sums: FloatArray, squares: FloatArray) -> None:
    """What products in float64 can do about a block whose sums or squares are not lawful.

    Raises
    ------
    NotFiniteError
        When they cannot.
    """
    if not np.isfinite(block).all():
        raise first_not_finite(block)
    if precise or block.dtype.char == "d":
        raise _overflow(sums, squares)


def _overflow(sums: FloatArray, squares: FloatArray) -> NotFiniteError:
    """The error for finite rows whose sums or squares are not."""
    if not np.isfinite(sums).all():
        return sum_overflow()
    column = int(np.argmax(~np.isfinite(squares)))
    return NotFiniteError(
        f"the squares of column {column} overflow float64",
        place={"column": column},
        hint="divide the column by a power of ten",
    )


@np.errstate(over="ignore", invalid="ignore")
def _of_sparse(block: Any, weights: Weights) -> Moments:
    """Raw sums of shifted rows, moved to their mean."""
    rows, shift, sums, scatter = sparse_sums(block, weights)
    np.fill_diagonal(scatter, not_vanished(scatter.diagonal(), sums))
    offset = sums / rows
    add_outer(scatter, -rows, offset)
    mean, low = two_sum(shift, offset)
    # NaN or infinity anywhere shows on the diagonal: one look tells that all is well.
    if not math.isfinite(np.add.reduce(scatter.diagonal())):
        check_finite(sums, block)
        raise _overflow(sums, scatter.diagonal())
    return Moments(rows, block.shape[0], mean, low, scatter, EPS)
