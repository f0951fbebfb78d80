"""A random sample of rows, as a summary that can be merged.

The hash of each row is a function of its cells and a seed, and the rows with the smallest hashes
are kept (E. Cohen, H. Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). So the sample
does not depend on the order of the rows, their blocks or their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.io import RowArray
from princomp.summaries import (
    Weights,
    block_rows,
    check_mergeable,
    checked_block,
    first_not_finite,
    is_sparse,
)

# Constants of SplitMix64 (Steele, Lea and Flood 2014), a bijection that mixes all bits.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@lru_cache(maxsize=4)
def _factors(p: int, seed: int) -> NDArray[np.uint64]:
    """Draw odd numbers of 64 bits: one for the row, and then one for each column."""
    factors = np.random.default_rng(seed).integers(0, 2**64, p + 1, dtype=np.uint64)
    factors |= np.uint64(1)
    factors.flags.writeable = False
    return factors


def _keys(rows: RowArray, seed: int) -> NDArray[np.uint64]:
    """Hash each row: equal rows have equal hashes, dense or CSR, float32 or float64."""
    first, factors = np.split(_factors(rows.shape[1], seed), [1])
    values = rows.data if is_sparse(rows) else rows
    # Adding zero turns −0 into 0, which is equal to it.
    words = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    bits = words.view(np.uint64)
    # Numbers with few digits end in zero bits, which a product would keep.
    bits ^= bits >> np.uint64(32)
    if is_sparse(rows):
        bits *= factors[rows.indices]
        sums = np.zeros(len(bits) + 1, dtype=np.uint64)
        np.cumsum(bits, out=sums[1:])
        found = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    else:
        bits *= factors
        found = bits.sum(axis=1, dtype=np.uint64)
    found = found + first  # otherwise a row of zeros would be first for every seed
    found = (found ^ (found >> np.uint64(30))) * _FIRST
    found = (found ^ (found >> np.uint64(27))) * _SECOND
    return np.asarray(found ^ (found >> np.uint64(31)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """The rows with the smallest hashes of all rows, in the order of hashes.

    The first rows are a smaller sample. Equal rows count as one.

    Parameters
    ----------
    rows : float
        Sum of the weights of all rows.
    keys : ndarray of shape (m,)
        The hashes, ascending.
    table : ndarray or CSR array of shape (m, p)
    most : int
        Maximum number of rows.
    seed : int
    """

    rows: float
    keys: NDArray[np.uint64]
    table: RowArray
    most: int
    seed: int

    centred = True

    @property
    def p(self) -> int:
        """Number of columns."""
        return int(self.table.shape[1])

    def merge(self, other: RowSample) -> RowSample:
        """Sample the rows of both."""
        check_mergeable(self, other)
        total = self.rows + other.rows
        if not len(self.keys) or not len(other.keys):
            kept = self if len(self.keys) else other
            return RowSample(total, kept.keys, kept.table, self.most, self.seed)
        keys, first = np.unique(np.concatenate([self.keys, other.keys]), return_index=True)
        first = first[: self.most]
        if is_sparse(self.table) != is_sparse(other.table):
            parts = [t.toarray() if is_sparse(t) else t for t in (self.table, other.table)]
        else:
            parts = [self.table, other.table]
        both = sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
        return RowSample(total, keys[: self.most], both[first], self.most, self.seed)


@dataclass(frozen=True)
class RowSampler:
    """The kind of summary that samples at most ``most`` rows.

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
        """Number of rows of a logical block."""
        return block_rows(columns, sparse=sparse)

    def empty(self, p: int) -> RowSample:
        """The sample of no rows."""
        return RowSample(0.0, np.empty(0, np.uint64), np.empty((0, p)), self.most, self.seed)

    def of(self, block: RowArray, weights: Weights = None, *, precise: bool = True) -> RowSample:
        """Sample the rows of a block (m, p) whose weight is not zero.

        Raises
        ------
        NotFiniteError
            With the place inside the block.
        """
        block, weights = checked_block(block, weights)
        if not block.shape[0]:
            return self.empty(block.shape[1])
        values = block.data if is_sparse(block) else block
        if not np.isfinite(values).all():
            raise first_not_finite(block)
        keys, first = np.unique(_keys(block, self.seed), return_index=True)
        rows = float(block.shape[0] if weights is None else weights.sum())
        table = block[first[: self.most]]
        return RowSample(rows, keys[: self.most], table, self.most, self.seed)
