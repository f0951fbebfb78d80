"""Blocks of rows: cutting them from a stream by row number, and dropping incomplete rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotFiniteError
from princomp.io import Chunk, RowArray, Source
from princomp.summaries import Weights, first_not_finite, is_sparse


class Block(NamedTuple):
    """A block of rows: the number of its first row, and a function that loads it in any thread."""

    start: int
    load: Callable[[], RowArray]


def stream_blocks(source: Source, step: int, start: int) -> Iterator[Block]:
    """Cut chunks of any size into blocks of ``step`` rows, from row ``start`` on."""
    parts: list[RowArray] = []
    count = 0
    for chunk in source.chunks(start):
        data, offset = chunk.data, 0
        while count + data.shape[0] - offset >= step:
            stop = offset + step - count
            parts.append(data[offset:stop])
            yield Block(start, partial(_concatenate, parts))
            start, offset, parts, count = start + step, stop, [], 0
        if offset < data.shape[0]:
            parts.append(data[offset:] if offset else data)
            count += data.shape[0] - offset
    if count:
        yield Block(start, partial(_concatenate, parts))


def _concatenate(parts: list[RowArray]) -> RowArray:
    return Chunk.joined([Chunk(part) for part in parts]).data


def drop_incomplete(block: RowArray, weights: Weights) -> tuple[RowArray, Weights, int]:
    """Return the rows without NaN, their weights, and the number of rows with NaN."""
    complete = _complete(block)
    dropped = int(len(complete) - complete.sum())
    if not dropped:
        return block, weights, 0
    return block[complete], weights if weights is None else weights[complete], dropped


def _complete(block: RowArray) -> NDArray[np.bool_]:
    """Return which rows (n,) have no NaN."""
    if isinstance(block, np.ndarray):
        return np.asarray(~np.isnan(block).any(axis=1))
    row_of = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    missing = np.bincount(row_of[np.isnan(block.data)], minlength=block.shape[0])
    return missing == 0


def first_counted_fault(block: RowArray, weights: Weights, *, drop: bool) -> NotFiniteError | None:
    """Return the error for the first value that is not finite, in the rows that count.

    Rows of weight zero do not count, nor do rows with NaN where these are dropped.
    """
    counts = _complete(block) if drop else np.ones(block.shape[0], bool)
    if weights is not None:
        counts &= weights > 0
    kept = np.flatnonzero(counts)
    counted = block[kept]
    if np.isfinite(counted.data if is_sparse(counted) else counted).all():
        return None
    error = first_not_finite(counted)
    error.place["row"] = int(kept[error.place["row"]])
    return error
