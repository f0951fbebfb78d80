"""Fold rows into summaries on this machine, block by logical block, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from copy import deepcopy
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from princomp.arrays import one_blas_thread
from princomp.checkpoint import State
from princomp.engines.distributed import Distributed
from princomp.engines.pieces import Piece, pieces
from princomp.engines.shares import Folded, Share
from princomp.errors import NotFiniteError, PrincompError
from princomp.kernels.native import tell_once
from princomp.passes import Passes
from princomp.sources.source import Source
from princomp.summaries import Moments
from princomp.summaries.blocks import (
    Weights,
    added_in_place,
    handful,
    is_sparse,
    part_of,
    stored_bytes,
)
from princomp.threads import at_most, default_threads, in_order, uninterrupted

__all__ = ["Folded", "complete", "fold", "share_of"]

T = TypeVar("T")

# Tables smaller than this are summed before a thread would have started.
_THREADS_PAY = 2**19
# Tables from this size on take long enough for a word on what would make them quicker.
_WORTH_A_WORD = 2**22
# Below this OpenBLAS and MKL stay on one thread by themselves.
_BLAS_THREADS_PAY = 2**12


class _Part(NamedTuple):
    """The same of one block."""

    summary: Any
    dropped: int
    rows: int


class _Blocks(NamedTuple):
    """What becomes of each block."""

    kind: Any
    weights: Weights
    drop: bool
    precise: bool

    def part(self, piece: Piece) -> _Part:
        """The summary of one."""
        block = piece.load()
        rows = block.shape[0]
        weights = part_of(self.weights, piece.start, piece.start + rows)
        return _Part(*self.summed(self.kind.of, block, weights, piece.start), rows)

    def added(self, state: State, loaded: tuple[int, Any]) -> State:
        """The state with one added to it in place."""
        start, block = loaded
        stop = start + block.shape[0]
        add = partial(self.kind.add, state.summary)
        summary, missing = self.summed(add, block, part_of(self.weights, start, stop), start)
        return State(stop, summary, state.dropped + missing)

    def summed(
        self, of: Callable[..., Any], block: Any, weights: Weights, start: int
    ) -> tuple[Any, int]:
        """What ``of`` makes of one; where NaN rows may go, without them."""
        if self.drop and (self.kind.complete_only or is_sparse(block)):
            block, weights, missing = complete(block, weights)
            return of(block, weights, precise=self.precise), missing
        try:
            return of(block, weights, precise=self.precise), 0
        except NotFiniteError as error:
            if self.drop and "row" in error.place:
                block, weights, missing = complete(block, weights)
                if missing:
                    return of(block, weights, precise=self.precise), missing
            if "row" in error.place:
                error.place["row"] += start
            raise


def fold(
    kind: Any,
    data: Any,
    weights: Weights = None,
    *,
    drop: bool = False,
    precise: bool = False,
    threads: int | None = None,
    passes: Passes | None = None,
    step_name: str = "",
    before: Any = None,
) -> Folded:
    """Summary of all rows, merged block by block in the order of the rows.

    The blocks are fixed by row number, each is summed with BLAS on one thread, and
    they are merged in order: the result is the same, to the bit, for any ``threads``,
    for any chunks of the source, and after an interruption.

    Parameters
    ----------
    kind : object
        What makes the summary of a block: Moments, Triangle, SketchOf(…), …
    data : ndarray, CSR array or Source of shape (n, p)
    weights : ndarray of shape (n,), optional
    drop : bool
        Leave out rows with NaN instead of raising.
    precise : bool
        Multiply in float64 whatever the precision of the data.
    threads : int, optional
        All processors by default.
    passes : Passes, optional
        Progress, checkpoint and threads of the whole fit.
    step_name : str
        What the progress calls this pass.
    before : summary, optional
        Of earlier rows: the blocks are merged onto it.

    Raises
    ------
    NotFiniteError
        With the row counted over the whole table.
    """
    if isinstance(data, Distributed):
        return data.fold(kind, drop=drop, precise=precise, passes=passes, step_name=step_name)
    n, p = data.shape
    is_source = isinstance(data, Source)
    sparse = data.stored is not None if is_source else is_sparse(data)
    step = kind.block_rows(p, sparse=sparse)
    blocks = _Blocks(kind, weights, drop, precise)
    if not is_source and n <= step and n * p < _BLAS_THREADS_PAY:
        summary, dropped = blocks.summed(kind.of, data, weights, 0)
        return Folded(summary if before is None else before.merge(summary), dropped, n)
    passes = passes or Passes(threads=threads)
    known = passes.begin(step_name, n, _row_bytes(data))
    if known is not None and known.done:
        return Folded(known.summary, known.dropped, known.row)
    state = known or State(0, kind.empty(p) if before is None else before, 0)
    few = n is not None and n * p < _THREADS_PAY
    if n is None or n * p >= _WORTH_A_WORD:
        tell_once()
    with one_blas_thread():
        if added_in_place(kind, p, sparse=sparse):
            if before is not None and known is None:
                state = state._replace(summary=deepcopy(before.held()))
            # A block is loaded while the one before is added, so two of them are in memory.
            cut = pieces(data, step, state.row)
            with closing(cut), at_most(passes.threads):
                loaded = ((piece.start, piece.load()) for piece in cut)
                state = _run_in_place(state, loaded, blocks.added, passes)
        else:
            workers = 1 if few else passes.threads or default_threads()
            # What a stream has read must wait in memory: there, blocks go one by one.
            many = 1 if is_source and not data.positioned else handful(step, p)
            cut = pieces(data, step, state.row)
            tasks = _batched(cut, max(1, min(many, (n or 0) // (step * workers))))
            done = in_order(
                lambda task: [blocks.part(piece) for piece in task], tasks, workers, ahead=not few
            )
            with closing(done):
                # A scatter's worth of fresh memory costs more than the sum that is put there.
                join = partial(_merged, spend=True) if kind is Moments else _merged
                state = _run(state, chain.from_iterable(done), join, passes)
    return Folded(state.summary, state.dropped, state.row)


def share_of(
    kind: Any,
    data: Any,
    weights: Weights = None,
    *,
    drop: bool = False,
    precise: bool = False,
    threads: int = 1,
) -> Share:
    """What the rows of one partition came to; a fault in them is part of it.

    Parameters
    ----------
    kind, data, weights, drop, precise
        As for :func:`fold`; there may be no rows.
    threads : int
        One by default: an engine has its own for its partitions.
    """
    n, p = data.shape
    if n == 0:
        return Share(kind.empty(p), 0, 0)
    try:
        with at_most(threads):
            folded = fold(kind, data, weights, drop=drop, precise=precise, threads=threads)
    except PrincompError as error:
        return Share(None, 0, n or 0, error)
    return Share(folded.summary, folded.dropped, folded.seen)


def _batched(pieces: Iterator[Piece], size: int) -> Iterator[list[Piece]]:
    while task := list(islice(pieces, size)):
        yield task


def _merged(state: State, part: _Part, **options: bool) -> State:
    summary = state.summary.merge(part.summary, **options)
    return State(state.row + part.rows, summary, state.dropped + part.dropped)


def _run(
    state: State, parts: Iterable[T], join: Callable[[State, T], State], passes: Passes
) -> State:
    """Join parts to the state, in order, and report progress."""
    try:
        for part in parts:
            state = join(state, part)
            passes.advance(state)
    except BaseException:
        passes.interrupted()
        raise
    passes.finish(state)
    return state


def _run_in_place(
    state: State, parts: Iterator[T], join: Callable[[State, T], State], passes: Passes
) -> State:
    """Like :func:`_run`, for a ``join`` that changes the state's arrays in place.

    This thread gets the next part while another one joins. A join is never interrupted: half of
    one would leave sums over an unknown number of rows.
    """
    following = partial(next, parts, None)
    stop: BaseException | None = None
    try:
        part = following()
        while part is not None:
            passes.changing()
            state, part, stop = uninterrupted(partial(join, state, part), following)
            passes.advance(state)
            if stop is not None:
                raise stop
        state = state._replace(summary=state.summary.held())
    except BaseException:
        passes.interrupted()
        raise
    passes.finish(state)
    return state


def _row_bytes(data: Any) -> float:
    n = data.shape[0]
    if not isinstance(data, Source):
        return stored_bytes(data) / n
    if data.nbytes is not None and n:
        return data.nbytes / n
    return float(data.p * data.dtype.itemsize)


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
