"""Rows of any origin as logical blocks, cut by row number and by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from princomp.arrays import scratch
from princomp.sources.source import Source
from princomp.summaries.blocks import is_sparse

__all__ = ["Piece", "pieces"]


class Piece(NamedTuple):
    """A logical block: its first row's number, and what loads its rows, in any thread."""

    start: int
    load: Callable[[], Any]


def pieces(data: Any, step: int, start: int = 0) -> Generator[Piece]:
    """Blocks of ``step`` rows (the last may be shorter) from row ``start``, a multiple of it.

    Rows of a positioned source are read by whoever calls ``load``; those of a stream
    are read here, while others sum the blocks before.
    """
    if isinstance(data, Source):
        if not (data.positioned and data.rows is not None):
            yield from _regrouped(data, step, start)
            return
        for first in range(start, data.rows, step):
            stop = min(first + step, data.rows)
            yield Piece(first, partial(_read, data, first, stop))
        return
    for first in range(start, data.shape[0], step):
        yield Piece(first, partial(data.__getitem__, slice(first, first + step)))


def _read(source: Source, start: int, stop: int) -> Any:
    return source.load(start, stop, partial(scratch, "rows"))


def _regrouped(source: Source, step: int, start: int) -> Iterator[Piece]:
    """Chunks of any size as blocks of ``step`` rows."""
    waiting: list[Any] = []
    held = 0
    for chunk in source.chunks(start):
        data, at = chunk.data, 0
        while held + data.shape[0] - at >= step:
            stop = at + step - held
            waiting.append(data[at:stop])
            yield Piece(start, partial(_joined, waiting))
            start, at, waiting, held = start + step, stop, [], 0
        if at < data.shape[0]:
            waiting.append(data[at:] if at else data)
            held += data.shape[0] - at
    if held:
        yield Piece(start, partial(_joined, waiting))


def _joined(parts: list[Any]) -> Any:
    """Parts of a block as one, by whoever sums it."""
    if len(parts) == 1:
        return parts[0]
    if is_sparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)
