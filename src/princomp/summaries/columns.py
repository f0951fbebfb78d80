"""Columns: rows, mean and the scatter of each column alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.arrays import EPS, FloatArray, two_sum
from princomp.kernels.columns import sums_about
from princomp.summaries.blocks import (
    Weights,
    block_rows,
    check_finite,
    is_sparse,
    lawful_block,
    shift_of,
)
from princomp.summaries.centred import Centred
from princomp.threads import in_order

__all__ = ["Columns"]

# Columns that are summed at a time: few enough that threads share those of most tables.
_SPAN = 1024
# Columns for each row of a sparse block: with fewer rows, merging the sums of all columns
# takes longer than summing them.
_COLUMNS_A_ROW = 64
# Rows whose mean is the first guess, and how much larger than the scatter the squares about
# that guess may be: beyond, the column is summed again about its mean.
_SAMPLE, _CANCELLED = 16, 64.0
_THREADS_PAY = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Columns(Centred):
    """The diagonal of :class:`~princomp.summaries.Moments`, in memory p instead of p².

    Parameters
    ----------
    rows, count, mean, mean_low, centred
        As in :class:`~princomp.summaries.Moments`.
    column_scatter : ndarray of shape (p,)
        Σ w (x − mean)² of each column.
    """

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    column_scatter: FloatArray
    centred: bool = True

    unit = EPS

    @staticmethod
    def block_rows(columns: int, *, sparse: bool = False) -> int:
        """Rows of a logical block; more where rows are sparse, and what blocks come to is long."""
        rows = block_rows(columns)
        return rows * max(1, columns // (_COLUMNS_A_ROW * rows)) if sparse else rows

    @classmethod
    def empty(cls, p: int) -> Columns:
        """Columns of no rows."""
        zero = np.zeros(p)
        return cls(0.0, 0, zero, zero, zero)

    @classmethod
    def of(cls, block: Any, weights: Weights = None, *, precise: bool = False) -> Columns:
        """Columns of a block (m, p), summed in float64.

        Raises
        ------
        NotFiniteError
            With the place in the block.
        """
        block, weights = lawful_block(block, weights)
        if block.shape[0] == 0:
            return cls.empty(block.shape[1])
        with np.errstate(all="ignore"):
            return _of_sparse(block, weights) if is_sparse(block) else _of_dense(block, weights)

    def merge(self, other: Columns) -> Columns:
        """Columns of the rows of both."""
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        rows, count, mean, low, delta, between = joined
        scatter = self.column_scatter + other.column_scatter + between * delta * delta
        return Columns(rows, count, mean, low, scatter, self.centred)

    def scaled(self, divisor: FloatArray) -> Columns:
        """Columns of the rows divided by ``divisor`` (p,)."""
        mean, low = self.mean / divisor, self.mean_low / divisor
        scatter = self.column_scatter / divisor / divisor
        return replace(self, mean=mean, mean_low=low, column_scatter=scatter)

    def about_origin(self) -> Columns:
        """The same rows with their scatter taken about zero instead of the mean."""
        scatter = self.column_scatter + self.rows * self.mean**2
        zero = np.zeros_like(self.mean)
        return replace(self, mean=zero, mean_low=zero, column_scatter=scatter, centred=False)


def _of_dense(block: FloatArray, weights: Weights) -> Columns:
    """Some columns at a time, each on a thread."""
    rows = float(len(block)) if weights is None else float(weights.sum())
    spans = [slice(at, at + _SPAN) for at in range(0, block.shape[1], _SPAN)]
    threads = 1 if block.size < _THREADS_PAY else None
    done = in_order(lambda span: _summed(block[:, span], weights, rows), spans, threads)
    mean, low, scatter, sums = (np.concatenate(parts) for parts in zip(*done, strict=True))
    check_finite(sums, block)
    return Columns(rows, len(block), mean, low, scatter)


@np.errstate(all="ignore")  # each thread has its own; what it hides is looked at by _of_dense
def _summed(
    block: FloatArray, weights: Weights, rows: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mean in two parts, scatter and the sums about a guess, of some columns."""
    sample = block[:: -(-len(block) // _SAMPLE)]
    shift = shift_of(sample.astype(np.float64)).astype(block.dtype)
    sums, squares = sums_about(shift, block, weights)
    offset = sums / rows
    scatter = np.maximum(squares - rows * offset**2, 0.0)
    mean, low = two_sum(shift.astype(np.float64), offset)
    again = squares > _CANCELLED * scatter
    if again.any():
        about = mean[again]
        sums[again], squares = sums_about(about, block[:, again], weights)
        offset = sums[again] / rows
        mean[again], low[again] = two_sum(about, offset)
        scatter[again] = np.maximum(squares - rows * offset**2, 0.0)
    return mean, low, scatter, sums


def _of_sparse(block: Any, weights: Weights) -> Columns:
    """Two passes over the stored entries; those not stored stand at −mean each."""
    m, p = block.shape
    at, values = block.indices, block.data.astype(np.float64)
    each = np.ones(m) if weights is None else weights
    share = np.repeat(each, np.diff(block.indptr))
    rows = float(each.sum())

    def summed(numbers: FloatArray) -> FloatArray:
        # Without entries bincount counts in integers.
        return np.bincount(at, numbers, minlength=p).astype(np.float64, copy=False)

    stored, sums = summed(share), summed(share * values)
    check_finite(sums, block)
    # Constant columns must come out as exactly constant: shift by the first stored value.
    shift = np.zeros(p)
    full = np.bincount(at, minlength=p) == m
    shift[at[::-1]] = values[::-1]
    shift[~full] = 0.0
    offset = summed(share * (values - shift[at])) / rows
    mean, low = two_sum(shift, offset)
    away = (values - shift[at]) - offset[at]
    scatter = summed(share * away * away)
    scatter += np.maximum(rows - stored, 0.0) * np.where(full, 0.0, mean) ** 2
    return Columns(rows, m, mean, low, scatter)
