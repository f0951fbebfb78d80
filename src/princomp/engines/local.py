"""Fold a table in memory into summaries, block by logical block, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from princomp.arrays import one_blas_thread
from princomp.errors import NotFiniteError
from princomp.summaries import Extremes, block_rows
from princomp.summaries.blocks import Weights, is_sparse
from princomp.threads import in_order

__all__ = ["complete", "fold"]

# Tables smaller than this are summed before a thread would have started.
_THREADS_PAY = 2**19
# Below this OpenBLAS and MKL stay on one thread by themselves.
_BLAS_THREADS_PAY = 2**12


def fold(
    kind: Any,
    data: Any,
    weights: Weights = None,
    *,
    drop: bool = False,
    precise: bool = False,
    threads: int | None = None,
) -> tuple[Any, int]:
    """Summary of all rows, merged block by block in the order of the rows.

    The blocks are fixed by row number, each is summed with BLAS on one thread, and
    they are merged in order: the result is the same, to the bit, for any ``threads``.

    Parameters
    ----------
    kind : type
        A summary: Moments, Triangle, Columns or Extremes.
    data : ndarray or CSR array of shape (n, p)
    weights : ndarray of shape (n,), optional
    drop : bool
        Leave out rows with NaN instead of raising.
    precise : bool
        Multiply in float64 whatever the precision of the data.
    threads : int, optional
        All processors by default.

    Returns
    -------
    summary
    dropped : int
        Rows left out.

    Raises
    ------
    NotFiniteError
        With the row counted over the whole table.
    """
    n, p = data.shape

    def one(start: int, stop: int) -> tuple[Any, int]:
        part = weights if weights is None else weights[start:stop]
        return _summed(kind, data[start:stop], part, start, drop, precise)

    step = block_rows(p)
    if n <= step and n * p < _BLAS_THREADS_PAY:
        return one(0, n)
    with one_blas_thread():
        if n <= step:
            return one(0, n)
        few = 1 if n * p < _THREADS_PAY else threads
        starts = range(0, n, step)
        return _merged(kind, p, in_order(lambda a: one(a, min(a + step, n)), starts, few))


def _merged(kind: Any, p: int, parts: Iterator[tuple[Any, int]]) -> tuple[Any, int]:
    summary, dropped = kind.empty(p), 0
    for part, missing in parts:
        summary = summary.merge(part)
        dropped += missing
    return summary, dropped


def _summed(
    kind: Any, block: Any, weights: Weights, start: int, drop: bool, precise: bool
) -> tuple[Any, int]:
    """Summary of one block; where NaN rows may go, without them."""
    if drop and (kind is Extremes or is_sparse(block)):
        block, weights, missing = complete(block, weights)
        return kind.of(block, weights, precise=precise), missing
    try:
        return kind.of(block, weights, precise=precise), 0
    except NotFiniteError as error:
        if drop and "row" in error.place:
            block, weights, missing = complete(block, weights)
            if missing:
                return _summed(kind, block, weights, start, False, precise)[0], missing
        if "row" in error.place:
            error.place["row"] += start
        raise


def complete(block: Any, weights: Weights) -> tuple[Any, Weights, int]:
    """The rows of a block without NaN, and how many had one."""
    if is_sparse(block):
        holes = np.isnan(block.data)
        row_of = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        kept = np.bincount(row_of[holes], minlength=block.shape[0]) == 0
    else:
        kept = ~np.isnan(block).any(axis=1)
    missing = int(len(kept) - kept.sum())
    if not missing:
        return block, weights, 0
    return block[kept], weights if weights is None else weights[kept], missing
