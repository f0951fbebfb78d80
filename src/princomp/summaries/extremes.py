"""Extremes: the smallest and the largest value of each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import FloatArray
from princomp.summaries import blocks
from princomp.summaries.blocks import Block, Weights, is_sparse


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """Smallest and largest value of each column, for scaling by range.

    Parameters
    ----------
    rows : float
        Sum of the weights.
    low, high : ndarray of shape (p,)
        In the units of the data; +inf and −inf if there are no rows.
    """

    rows: float
    low: FloatArray
    high: FloatArray

    block_rows = staticmethod(blocks.block_rows)
    complete_only = True

    @classmethod
    def empty(cls, p: int) -> Extremes:
        """Extremes of no rows."""
        return cls(0.0, np.full(p, np.inf), np.full(p, -np.inf))

    @classmethod
    def of(cls, block: Block, weights: Weights = None, *, precise: bool = True) -> Extremes:
        """Extremes of a block (m, p)."""
        block, weights = blocks.checked_block(block, weights)
        m, p = block.shape
        if not m:
            return cls.empty(p)
        low, high = block.min(axis=0), block.max(axis=0)
        if is_sparse(block):
            low, high = low.toarray().ravel(), high.toarray().ravel()
        rows = float(m if weights is None else weights.sum())
        return cls(rows, low.astype(np.float64), high.astype(np.float64))

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.low)

    def merge(self, other: Extremes) -> Extremes:
        """Extremes of the rows of both."""
        blocks.check_columns(self, other)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Extremes(self.rows + other.rows, low, high)
