"""Some rows of all, drawn alike by whoever holds them: a summary that merges as others do.

Each row is given a number by its cells and a seed, and those with the smallest numbers are
kept (E. Cohen, H. Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). So neither
the order of the rows, nor how they are cut, nor where they lie changes which are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.summaries.blocks import (
    Weights,
    block_rows,
    check_mergeable,
    first_not_finite,
    is_sparse,
    lawful_block,
)

__all__ = ["Drawn", "DrawnOf"]

# Of Steele, Lea and Flood's SplitMix64 (2014), a bijection that spreads every bit over all.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@lru_cache(maxsize=4)
def _factors(p: int, seed: int) -> NDArray[np.uint64]:
    """An odd number of 64 bits for each column, after one for the row."""
    drawn = np.random.default_rng(seed).integers(0, 2**64, p + 1, dtype=np.uint64)
    drawn |= np.uint64(1)
    drawn.flags.writeable = False
    return drawn


def _keys(rows: Any, seed: int) -> NDArray[np.uint64]:
    """A number for each row: the same for equal rows, dense or CSR, float32 or float64."""
    first, factors = np.split(_factors(rows.shape[1], seed), [1])
    values = rows.data if is_sparse(rows) else rows
    # Adding zero makes −0 the 0 that it equals.
    words = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    bits = words.view(np.uint64)
    # Short numbers have zeros for their last bits, which a product would leave zeros.
    bits ^= bits >> np.uint64(32)
    if is_sparse(rows):
        bits *= factors[rows.indices]
        sums = np.zeros(len(bits) + 1, dtype=np.uint64)
        np.cumsum(bits, out=sums[1:])
        found = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    else:
        bits *= factors
        found = bits.sum(axis=1, dtype=np.uint64)
    found = found + first  # or a row of zeros would be the first for every seed
    found = (found ^ (found >> np.uint64(30))) * _FIRST
    found = (found ^ (found >> np.uint64(27))) * _SECOND
    return np.asarray(found ^ (found >> np.uint64(31)))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The rows with the smallest numbers of those seen, in the order of these.

    Every first part of them is a smaller sample. Rows that are equal are drawn as one.

    Parameters
    ----------
    rows : float
        How many were seen: the sum of the weights.
    keys : ndarray of shape (m,)
        Their numbers, ascending.
    table : ndarray or CSR array of shape (m, p)
    most : int
        How many may be kept.
    seed : int
    """

    rows: float
    keys: NDArray[np.uint64]
    table: Any
    most: int
    seed: int

    centred = True

    @property
    def p(self) -> int:
        """Number of columns."""
        return int(self.table.shape[1])

    def merge(self, other: Drawn) -> Drawn:
        """Of the rows of both."""
        check_mergeable(self, other)
        total = self.rows + other.rows
        if not len(self.keys) or not len(other.keys):
            kept = self if len(self.keys) else other
            return Drawn(total, kept.keys, kept.table, self.most, self.seed)
        keys, first = np.unique(np.concatenate([self.keys, other.keys]), return_index=True)
        first = first[: self.most]
        if is_sparse(self.table) != is_sparse(other.table):
            parts = [t.toarray() if is_sparse(t) else t for t in (self.table, other.table)]
        else:
            parts = [self.table, other.table]
        both = sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
        return Drawn(total, keys[: self.most], both[first], self.most, self.seed)


@dataclass(frozen=True)
class DrawnOf:
    """What folds make of blocks: at most so many rows of them.

    Parameters
    ----------
    most : int
    seed : int
    """

    most: int
    seed: int = 0

    complete_only = True

    @staticmethod
    def block_rows(columns: int, *, sparse: bool = False) -> int:
        """Rows of a logical block."""
        return block_rows(columns, sparse=sparse)

    def empty(self, p: int) -> Drawn:
        """Of no rows."""
        return Drawn(0.0, np.empty(0, np.uint64), np.empty((0, p)), self.most, self.seed)

    def of(self, block: Any, weights: Weights = None, *, precise: bool = True) -> Drawn:
        """Of the rows of a block (m, p) whose weight is not zero.

        Raises
        ------
        NotFiniteError
            With the place inside the block.
        """
        block, weights = lawful_block(block, weights)
        if not block.shape[0]:
            return self.empty(block.shape[1])
        values = block.data if is_sparse(block) else block
        if not np.isfinite(values).all():
            raise first_not_finite(block)
        keys, first = np.unique(_keys(block, self.seed), return_index=True)
        rows = float(block.shape[0] if weights is None else weights.sum())
        table = block[first[: self.most]]
        return Drawn(rows, keys[: self.most], table, self.most, self.seed)
