"""Rows of a source taken into memory: all of them, or the first; and whether they stayed so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.arrays import empty
from princomp.errors import InputChangedError, MemoryLimitError, ShapeError
from princomp.memory import in_words
from princomp.sources.source import Chunk, Held, Identity, Source, Spot
from princomp.sources.table import Table
from princomp.summaries.blocks import stored_bytes

__all__ = ["first_rows", "gathered", "refuse_changed", "whole"]


def whole(source: Source, most: int | None = None) -> Any:
    """All rows as one array or CSR array.

    Raises
    ------
    InputChangedError
        When a file behind them changed while it was read.
    MemoryLimitError
        When rows of unknown number come to more than ``most`` bytes.
    """
    if isinstance(source, Held):
        return source.table.data
    before = source.identities()
    data = _filled(source, most)
    refuse_changed(before, source.identities())
    return data


def _filled(source: Source, most: int | None) -> Any:
    if source.rows is None or source.stored is not None:
        return _joined(list(_up_to(source, most)), source)
    data = empty((source.rows, source.p), dtype=source.dtype)
    filled = 0
    for chunk in source.chunks():
        stop = filled + len(chunk.data)
        if stop > source.rows:
            raise InputChangedError(
                f"{source.file or 'the input'} holds more than the {source.rows:,} rows that it "
                "had when it was opened",
                place={"file": source.file} if source.file else None,
                hint="wait until it is written, then begin again",
            )
        data[filled:stop] = chunk.data
        filled = stop
    return data[:filled]


def _up_to(source: Source, most: int | None) -> Iterator[Any]:
    size = 0
    for chunk in source.chunks():
        size += stored_bytes(chunk.data)
        # Joining them takes as much again.
        if most is not None and source.rows is None and 2 * size > most:
            raise MemoryLimitError(
                f"the rows in memory take more than the limit of {in_words(most)}: "
                f"{in_words(size)} were read, and there are more",
                place={"parameter": "memory_limit", "limit": most},
                hint="allow more, or choose a solver that reads rows block by block "
                "(svd_solver='auto', 'covariance_eigh', 'sketch')",
            )
        yield chunk.data


def refuse_changed(before: tuple[Identity, ...], now: tuple[Identity, ...]) -> None:
    """Refuse files that are not what they were.

    Raises
    ------
    InputChangedError
        With both sizes and times of the first that changed.
    """
    for was, found in zip(before, now, strict=True):
        if was != found:
            raise InputChangedError(
                f"{was.file} changed while it was read: {was.size:,} bytes of {_when(was)} became "
                f"{found.size:,} bytes of {_when(found)}",
                place={"file": was.file},
                hint="wait until it is written, then begin again",
            )


def _when(one: Identity) -> str:
    return datetime.fromtimestamp(one.modified_ns / 1e9).isoformat(" ", "milliseconds")


def gathered(source: Source, most: int) -> Source:
    """The rows of a source in memory, if they take no more than ``most`` bytes.

    Else the same rows as a source: those already read stand before those still to come,
    so that rows which can be read only once are not lost.
    """
    chunks = source.chunks()
    head: list[Chunk] = []
    size = 0
    for chunk in chunks:
        head.append(chunk)
        size += stored_bytes(chunk.data)
        if size > most:
            return _Begun(source, head, chunks)
    return Held(
        Table(
            _joined([chunk.data for chunk in head], source),
            source.columns,
            None if source.id_column is None else np.concatenate([chunk.ids for chunk in head]),
            source.id_column,
            source.notes,
            source.file,
            source.unused,
        )
    )


def _joined(parts: list[Any], source: Source) -> Any:
    if not parts:
        raise ShapeError(
            f"{source.file or 'the input'}: no rows",
            hint="principal components need at least two rows of numbers",
        )
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


class _Begun(Source):
    """A source whose first chunks were read already."""

    def __init__(self, source: Source, head: list[Chunk], rest: Iterator[Chunk]) -> None:
        super().__init__(
            rows=source.rows,
            p=source.p,
            dtype=source.dtype,
            columns=source.columns,
            id_column=source.id_column,
            notes=source.notes,
            file=source.file,
            unused=source.unused,
            stored=source.stored,
            nbytes=source.nbytes,
        )
        self.repeatable, self.reader = source.repeatable, source.reader
        self._source = source
        self._begun: tuple[list[Chunk], Iterator[Chunk]] | None = (head, rest)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from ``start`` on; the first time, those that are in memory come from there."""
        begun, self._begun = self._begun, None
        if begun is None:
            return self._source.chunks(start)
        if start and self._source.repeatable:
            del begun
            return self._source.chunks(start)
        head, rest = begun
        return _after(chain(head, rest), start)

    def spot(self, row: int) -> Spot:
        """Where a row stands."""
        return self._source.spot(row)

    def identities(self) -> tuple[Identity, ...]:
        """The files behind it."""
        return self._source.identities()


def _after(chunks: Iterator[Chunk], start: int) -> Iterator[Chunk]:
    for chunk in chunks:
        rows = chunk.data.shape[0]
        if start < rows:
            yield (
                chunk
                if not start
                else Chunk(chunk.data[start:], None if chunk.ids is None else chunk.ids[start:])
            )
        start = max(start - rows, 0)


def first_rows(source: Source, count: int) -> tuple[Any, Source]:
    """The first ``count`` rows of a source or all of fewer, and the same rows as a source.

    For rows that can be read once: what was read stands before what is still to come.

    Raises
    ------
    ShapeError
        Without rows.
    """
    chunks = source.chunks()
    head: list[Chunk] = []
    seen = 0
    while seen < count and (chunk := next(chunks, None)) is not None:
        head.append(chunk)
        seen += chunk.data.shape[0]
    return _joined([chunk.data for chunk in head], source)[:count], _Begun(source, head, chunks)
