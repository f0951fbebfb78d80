"""Columns: rows, mean and the scatter of each column alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.arrays import EPS, FloatArray, two_sum
from princomp.summaries.blocks import (
    Weights,
    check_finite,
    is_sparse,
    lawful_block,
    shift_of,
)
from princomp.summaries.centred import Centred

__all__ = ["Columns"]


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

    @classmethod
    def empty(cls, p: int) -> Columns:
        """Columns of no rows."""
        zero = np.zeros(p)
        return cls(0.0, 0, zero, zero, zero)

    @classmethod
    def of(cls, block: Any, weights: Weights = None, *, precise: bool = True) -> Columns:
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
            return (
                _of_sparse(block, weights)
                if is_sparse(block)
                else _of_dense(np.ascontiguousarray(block), weights)
            )

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
    shift = shift_of(block, weights).astype(np.float64)
    shifted = block - shift
    if weights is None:
        rows, sums = float(len(block)), np.add.reduce(shifted, axis=0)
        squares = np.einsum("ij,ij->j", shifted, shifted)
    else:
        rows, sums = float(weights.sum()), weights @ shifted
        squares = np.einsum("i,ij,ij->j", weights, shifted, shifted)
    check_finite(sums, block)
    offset = sums / rows
    mean, low = two_sum(shift, offset)
    return Columns(rows, len(block), mean, low, np.maximum(squares - rows * offset**2, 0.0))


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
