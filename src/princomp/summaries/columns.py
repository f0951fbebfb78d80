"""Columns: rows, mean and the scatter of each column, without products between columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from princomp.kernels import (
    Entries,
    entries_of,
    sampled_rows,
    shift_of,
    stored_sums_about,
    sums_about,
)
from princomp.linalg import EPS, FloatArray, map_in_order, restore_underflowed, slices, two_sum
from princomp.summaries import blocks
from princomp.summaries.blocks import CSR, Block, Weights, is_sparse
from princomp.summaries.centred import Centred

# A thread sums at least MIN_SPAN_COLUMNS columns at a time, or as many as make _NUMBERS values: few
# enough that most tables have spans for all threads. 200 × 200,000 float32 takes 70, 44 and 34 ms
# in spans of 1,024, 2,048 and 8,192 columns.
MIN_SPAN_COLUMNS, _NUMBERS = 2048, 2**20
# Most columns per row of a sparse block: with fewer rows, merging the sums of all columns takes
# longer than computing them.
_COLUMNS_A_ROW = 16
# The first shift is the mean of _SAMPLE rows. A column whose squares about the shift exceed
# _CANCELLED times its scatter is summed again about its mean.
_SAMPLE, _CANCELLED = 16, 4.0
# If the rows that store nothing in a column have less than 1/_LIGHT of the total weight, the
# difference of total and stored weight loses digits, so their weight is summed exactly.
_LIGHT = 64.0
# Most passes over a block, each about the mean found by the last one. Three are enough unless rows
# of hardly any weight are far from the others: each pass finds about sixteen more digits.
_ROUNDS = 16
# Fewest values of a dense block for which several threads pay.
MIN_NUMBERS_FOR_THREADS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Columns(Centred):
    """Moments with only the diagonal of the scatter: p numbers instead of p².

    Parameters
    ----------
    rows, count, mean, mean_low, centred
        As in :class:`~princomp.summaries.Moments`.
    column_scatter : ndarray of shape (p,)
        Σ w (x − mean)² of each column.
    """

    column_scatter: FloatArray
    centred: bool = True

    unit, lost = EPS, None

    @staticmethod
    def block_rows(columns: int, *, sparse: bool = False) -> int:
        """Number of rows in a block; more for wide sparse blocks, to reduce the merging."""
        rows = blocks.block_rows(columns)
        return rows * max(1, columns // (_COLUMNS_A_ROW * rows)) if sparse else rows

    @classmethod
    def empty(cls, p: int) -> Columns:
        """Columns of no rows."""
        zero = np.zeros(p)
        return cls(0.0, 0, zero, zero, zero)

    @classmethod
    def of(cls, block: Block, weights: Weights = None, *, precise: bool = False) -> Columns:
        """Columns of a block (m, p), summed in float64.

        Raises
        ------
        NotFiniteError
            With the position of the value in the block.
        """
        block, weights = blocks.checked_block(block, weights)
        m, p = block.shape
        if not m:
            return cls.empty(p)
        with np.errstate(all="ignore"):
            return _of_sparse(block, weights) if is_sparse(block) else _of_dense(block, weights)

    def merge(self, other: Columns) -> Columns:
        """Columns of the rows of both."""
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        fields, delta, delta_weight = joined
        scatter = self.column_scatter + other.column_scatter + delta_weight * delta * delta
        return replace(self, column_scatter=scatter, **fields)

    def scaled(self, divisor: FloatArray) -> Columns:
        """Columns of the rows divided by ``divisor`` (p,)."""
        mean, low = self.mean / divisor, self.mean_low / divisor
        scatter = self.column_scatter / divisor / divisor
        return replace(self, mean=mean, mean_low=low, column_scatter=scatter)

    def about_origin(self) -> Columns:
        """Take the scatter about zero instead of the mean."""
        scatter = self.column_scatter + self.rows * self.mean**2
        return replace(self, column_scatter=scatter, **self._fields_about_origin())


def _of_dense(block: FloatArray, weights: Weights) -> Columns:
    """Sum spans of columns on several threads."""
    rows = float(len(block)) if weights is None else float(weights.sum())
    step = max(MIN_SPAN_COLUMNS, _NUMBERS // max(len(block), 1))
    results = map_in_order(
        lambda span: _sums_of_columns(block[:, span], weights, rows),
        slices(block.shape[1], step),
        1 if block.size < MIN_NUMBERS_FOR_THREADS else None,
    )
    mean, low, scatter, sums = (np.concatenate(parts) for parts in zip(*results, strict=True))
    blocks.check_finite(sums, block)
    return Columns(rows, len(block), mean, low, scatter)


@np.errstate(all="ignore")  # each thread has its own error state; _of_dense checks the sums
def _sums_of_columns(
    block: FloatArray, weights: Weights, rows: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute the mean (high and low part), the scatter and the sums about a shift of columns."""
    sample = block[sampled_rows(len(block), _SAMPLE)]
    shift = shift_of(sample.astype(np.float64)).astype(block.dtype)
    sums, squares = sums_about(shift, block, weights)
    offset = sums / rows
    scatter = squares - rows * offset**2
    mean, low = two_sum(shift.astype(np.float64), offset)
    inaccurate = np.flatnonzero(squares > _CANCELLED * scatter)
    for _ in range(_ROUNDS - 1):
        if not inaccurate.size:
            break
        about = mean[inaccurate]
        sums[inaccurate], squares = sums_about(about, block[:, inaccurate], weights)
        offset = sums[inaccurate] / rows
        mean[inaccurate], low[inaccurate] = two_sum(about, offset)
        scatter[inaccurate] = squares - rows * offset**2
        # The sample may hold huge rows of hardly any weight, so that one repetition is not enough.
        inaccurate = inaccurate[squares > _CANCELLED * scatter[inaccurate]]
    return mean, low, restore_underflowed(scatter, sums), sums


def _of_sparse(block: CSR, weights: Weights) -> Columns:
    """Sum in one pass over the stored entries, and in more if the mean of a column cancels.

    An entry that is not stored is zero, so it contributes −shift to the sums.
    """
    entries = entries_of(block)
    m, p = entries.shape
    total_weight = float(m) if weights is None else float(weights.sum())
    shift = unstored = np.zeros(p)
    for again in range(_ROUNDS):
        about = shift if again else None
        count, stored, sums, squares = stored_sums_about(about, entries, weights)
        if not again:
            blocks.check_finite(sums, block)
            unstored = np.maximum(total_weight - stored, 0.0)
            if weights is not None and ((unstored * _LIGHT < total_weight) & (count < m)).any():
                unstored = _weight_not_stored(entries, weights)
            unstored[count == m] = 0.0
        offset = (sums - unstored * shift) / total_weight
        squares = squares + unstored * shift * shift
        scatter = squares - total_weight * offset * offset
        mean, low = two_sum(shift, offset)
        cancelled = ~(squares <= _CANCELLED * scatter)
        if not cancelled.any():
            break
        shift = np.where(cancelled, mean, shift)
        if not again:
            # Constant columns must come out as exactly constant: shift by a stored value.
            full = np.flatnonzero(cancelled & (count == m))
            shift[full] = _last_stored(entries, full)
    return Columns(total_weight, m, mean, low, restore_underflowed(scatter, offset))


def _weight_not_stored(entries: Entries, weights: FloatArray) -> FloatArray:
    """Weight (p,) of the rows that store nothing in a column, accurate even if it is small.

    The largest weights are split into multiples of a unit, whose sums and differences are exact,
    and remainders, which are split again until nothing remains.
    """
    m, p = entries.shape
    unstored, rest = np.zeros(p), weights
    while rest.any():
        exponent = int(np.frexp(rest.max())[1]) + m.bit_length() - 53
        unit = 2.0 ** max(exponent, -1074)
        part = np.floor(rest / unit) * unit
        each = np.repeat(part, np.diff(entries.ends))
        unstored += part.sum() - np.bincount(entries.columns, weights=each, minlength=p)
        rest = rest - part
    return unstored


def _last_stored(entries: Entries, columns: NDArray[np.intp]) -> FloatArray:
    """The entries of the last row in ``columns``, which store a value in every row."""
    values = np.zeros(entries.shape[1])
    last = slice(int(entries.ends[-2]), int(entries.ends[-1]))
    values[entries.columns[last]] = entries.values[last]
    return values[columns]
