"""Random samples of rows that do not depend on the order of the rows, their blocks or their place.

A sample is a summary that can be merged: the hash of each row is a function of its cells and a
seed, and the rows with the smallest hashes are kept (E. Cohen, H. Kaplan, "Summarizing data using
bottom-k sketches", PODC 2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.engines import DistributedRows, fold
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.io import RowArray, RowData, Source, first_rows, not_finite_error
from princomp.summaries import Weights, block_rows, checked_block, first_not_finite, is_sparse

# Rows of an iterator that are read to sample from: for each row of the sample, and at least.
ROWS_READ_PER_ROW, _MIN_ROWS_READ = 10, 5_000
# Constants of SplitMix64 (Steele, Lea and Flood 2014), a bijection that mixes all bits.
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def sample_rows(
    rows: RowData, count: int, *, seed: int = 0, drop: bool = False, weights: Weights = None
) -> tuple[RowArray, RowData]:
    """Sample at most ``count`` distinct rows (m, p); also return all rows, to be read again.

    The sample is in random order, so its first rows are a smaller sample. It takes one pass.

    Raises
    ------
    ParameterError, ShapeError, NotFiniteError
    """
    sample: RowArray
    if isinstance(rows, DistributedRows) and rows.resident:
        from princomp.kernel_pca.feature_maps.device import sample_on_device

        sample = sample_on_device(rows, count, seed, drop=drop)
    else:
        data = rows
        if isinstance(rows, Source) and not rows.repeatable:
            if isinstance(rows, DistributedRows):
                raise ParameterError(
                    f"landmarks are chosen before rows are mapped, and rows on {rows.engine} can "
                    "be read only once here",
                    place={"parameter": "landmarks"},
                    hint="pass an array of landmarks",
                )
            data, rows = first_rows(rows, max(ROWS_READ_PER_ROW * count, _MIN_ROWS_READ))
            weights = None if weights is None else weights[: data.shape[0]]
        sampler = RowSampler(count, seed)
        try:
            sample = fold(sampler, data, weights, drop=drop, step_name="landmarks").summary.table
        except NotFiniteError as error:
            columns = rows.columns if isinstance(rows, Source) else None
            raise not_finite_error(rows, error, columns=columns) from None
    if not sample.shape[0]:
        raise ShapeError(
            "there is no row to choose landmarks from",
            hint="pass at least one row without missing values, and with a weight above zero",
        )
    return sample, rows


@lru_cache(maxsize=4)
def _factors(p: int, seed: int) -> NDArray[np.uint64]:
    """Draw odd numbers of 64 bits: one for the row, and then one for each column."""
    factors = np.random.default_rng(seed).integers(0, 2**64, p + 1, dtype=np.uint64)
    factors |= np.uint64(1)
    factors.flags.writeable = False
    return factors


def _row_hashes(rows: RowArray, seed: int) -> NDArray[np.uint64]:
    """Hash each row: equal rows have equal hashes, dense or CSR, float32 or float64."""
    first, factors = np.split(_factors(rows.shape[1], seed), [1])
    values = rows.data if is_sparse(rows) else rows
    # Adding zero turns −0 into 0, which is equal to it.
    doubles = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    bits = doubles.view(np.uint64)
    # Numbers with few digits end in zero bits, which a product would keep.
    bits ^= bits >> np.uint64(32)
    if is_sparse(rows):
        bits *= factors[rows.indices]
        sums = np.zeros(len(bits) + 1, dtype=np.uint64)
        np.cumsum(bits, out=sums[1:])
        hashes = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    else:
        bits *= factors
        hashes = bits.sum(axis=1, dtype=np.uint64)
    hashes = hashes + first  # otherwise a row of zeros would be first for every seed
    hashes = (hashes ^ (hashes >> np.uint64(30))) * _FIRST_FACTOR
    hashes = (hashes ^ (hashes >> np.uint64(27))) * _SECOND_FACTOR
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """The rows with the smallest hashes of all rows, in the order of hashes.

    The first rows are a smaller sample. Equal rows count as one.

    Parameters
    ----------
    rows : float
        Sum of the weights of all rows.
    hashes : ndarray of shape (m,)
        The hashes, ascending.
    table : ndarray or CSR array of shape (m, p)
    max_rows : int
        Maximum number of rows.
    """

    rows: float
    hashes: NDArray[np.uint64]
    table: RowArray
    max_rows: int

    def merge(self, other: RowSample) -> RowSample:
        """Sample the rows of both."""
        total = self.rows + other.rows
        # The table of an empty sample is dense.
        if not len(self.hashes) or not len(other.hashes):
            return replace(self if len(self.hashes) else other, rows=total)
        hashes, first = np.unique(np.concatenate([self.hashes, other.hashes]), return_index=True)
        tables = [self.table, other.table]
        if is_sparse(self.table) != is_sparse(other.table):
            tables = [table.toarray() if is_sparse(table) else table for table in tables]
        both = sp.vstack(tables, format="csr") if is_sparse(tables[0]) else np.concatenate(tables)
        kept = slice(self.max_rows)
        return RowSample(total, hashes[kept], both[first[kept]], self.max_rows)


@dataclass(frozen=True)
class RowSampler:
    """The kind of summary that samples at most ``max_rows`` rows.

    Parameters
    ----------
    max_rows : int
    seed : int
    """

    max_rows: int
    seed: int = 0

    complete_only = True

    # Number of rows of a logical block.
    block_rows = staticmethod(block_rows)

    def empty(self, p: int) -> RowSample:
        """The sample of no rows."""
        return RowSample(0.0, np.empty(0, np.uint64), np.empty((0, p)), self.max_rows)

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
        hashes, first = np.unique(_row_hashes(block, self.seed), return_index=True)
        rows = float(block.shape[0] if weights is None else weights.sum())
        table = block[first[: self.max_rows]]
        return RowSample(rows, hashes[: self.max_rows], table, self.max_rows)
