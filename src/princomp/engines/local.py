"""The local engine: summarise rows on this machine, block by block, in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from copy import deepcopy
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from princomp import linalg, summaries
from princomp.engines.distributed import DistributedRows, PartialResult, SummaryKind
from princomp.engines.run_context import RunContext
from princomp.errors import CheckpointError, NotFiniteError, PrincompError, counted
from princomp.io import Chunk, RowArray, RowData, Source, State
from princomp.kernels import warn_without_kernels
from princomp.linalg import Weights, default_threads, map_in_order, one_blas_thread
from princomp.summaries import Moments, blocks_per_task, is_added_in_place, is_sparse, slice_weights

# Tables with fewer numbers are summed before a thread would have started.
MIN_NUMBERS_FOR_THREADS = 2**19
# For tables with more numbers, a warning says if the compiled kernels are missing.
_KERNEL_WARNING_NUMBERS = 2**22
# For fewer numbers than this, OpenBLAS and MKL use one thread anyway.
MIN_NUMBERS_FOR_BLAS_THREADS = 2**12


class Block(NamedTuple):
    """A block of rows: the number of its first row, and a function that loads it in any thread."""

    start: int
    load: Callable[[], RowArray]


class _Summarizer(NamedTuple):
    """Summarises blocks, or adds them to a summary."""

    kind: Any  # a SummaryKind, which may have ``add``
    weights: Weights
    drop: bool
    precise: bool

    def apply(self, summarize: Callable[..., Any], start: int, rows: RowArray) -> PartialResult:
        """Call ``summarize`` with a block, without incomplete rows where these may be dropped."""
        weights = slice_weights(self.weights, start, start + rows.shape[0])
        try:
            return self._summarized(summarize, rows, weights)
        except NotFiniteError as error:
            if "row" not in error.place:
                raise
            # Count the row over the table: summaries leave out rows that do not count. A variable
            # of another name would form a cycle of the error, its traceback and this frame, which
            # would keep the stream open.
            error = first_counted_fault(rows, weights, drop=self.drop) or error
            error.place["row"] += start
            raise error from None

    def _summarized(
        self, summarize: Callable[..., Any], rows: RowArray, weights: Weights
    ) -> PartialResult:
        """Summarise rows; if NaN may be dropped, drop it first or after an error."""
        n = rows.shape[0]
        if not (self.drop and (self.kind.complete_only or is_sparse(rows))):
            try:
                return PartialResult(summarize(rows, weights, precise=self.precise), 0, n)
            except NotFiniteError as error:
                if not (self.drop and "row" in error.place):
                    raise
        rows, weights, dropped = drop_incomplete(rows, weights)
        return PartialResult(summarize(rows, weights, precise=self.precise), dropped, n)


def fold(
    kind: SummaryKind,
    data: RowData,
    weights: Weights = None,
    *,
    drop: bool = False,
    precise: bool = False,
    run: RunContext | None = None,
    step_name: str = "",
    initial: Any = None,
) -> PartialResult:
    """Summarise all rows, block by block in the order of the rows.

    The blocks are fixed by row number, each is summed with BLAS on one thread, and they are
    merged in order. So the result is the same, to the bit, for any number of threads and any
    chunks of the source, and after an interruption.

    Parameters
    ----------
    kind : SummaryKind
        Moments, Triangle, SketchOf(…), …
    data : ndarray, CSR array or Source of shape (n, p)
    weights : ndarray of shape (n,), optional
    drop : bool
        Leave out rows with NaN instead of raising.
    precise : bool
        Multiply in float64, even if the data are float32.
    run : RunContext, optional
        Progress and checkpoint of the whole fit.
    step_name : str
        Name of this pass in progress reports.
    initial : summary, optional
        Summary of earlier rows, onto which the blocks are merged.

    Raises
    ------
    NotFiniteError
        With the row counted over the whole table.
    CheckpointError
        If the checkpoint had read more rows than there are now, or was complete with fewer.
    """
    if isinstance(data, DistributedRows):
        return data.fold(kind, drop=drop, precise=precise, run=run, step_name=step_name)
    n, p = data.shape
    sparse = data.stored is not None if isinstance(data, Source) else is_sparse(data)
    step = kind.block_rows(p, sparse=sparse)
    summarizer = _Summarizer(kind, weights, drop, precise)
    in_place = is_added_in_place(kind, p, sparse=sparse)
    small = not isinstance(data, Source) and n <= step and n * p < MIN_NUMBERS_FOR_BLAS_THREADS
    # A block that is merged has other bits than one that is added in place.
    if small and run is None and not (in_place and initial is not None):
        result = summarizer.apply(kind.of, 0, data)
        return result if initial is None else result._replace(summary=initial.merge(result.summary))
    state = None if run is None else run.begin(step_name, n, _row_bytes(data))
    if state is not None and n is not None:
        _refuse_other_rows(state, n)
    if state is None or not state.done:
        if n is None or n * p >= _KERNEL_WARNING_NUMBERS:
            warn_without_kernels()
        if state is None and in_place and initial is not None:
            initial = deepcopy(initial.to_host())
        state = state or State(0, kind.empty(p) if initial is None else initial, 0)
        states = (_update_all if in_place else _merge_all)(state, data, step, summarizer)
        recorded = states if run is None else run.record_states(states, in_place=in_place)
        with one_blas_thread(), closing(states):
            for latest in recorded:
                state = latest
        if in_place:
            state = state._replace(summary=state.summary.to_host())
        if run is not None:
            run.finish(state)
    return PartialResult(state.summary, state.dropped, state.row)


def _refuse_other_rows(state: State, n: int) -> None:
    """Refuse a state of a different number of rows.

    For an iterator, the checkpoint itself compares the first batch only.
    """
    if state.row > n or (state.done and state.row < n):
        raise CheckpointError(
            f"the checkpoint belongs to another run, which had read {counted(state.row, 'row')}; "
            f"the input now has {counted(n, 'row')}",
            place={"rows": n},
            hint="give the same rows, or another checkpoint; delete this one if it is not needed",
        )


def reduce_partition(
    kind: SummaryKind,
    data: RowData,
    weights: Weights = None,
    *,
    drop: bool = False,
    precise: bool = False,
    threads: int = 1,
) -> PartialResult:
    """Summarise the rows of one partition; a fault in them is part of the result.

    Parameters
    ----------
    kind, data, weights, drop, precise
        As for :func:`fold`; there may be no rows.
    threads : int
        One by default: an engine has its own threads for its partitions.
    """
    n, p = data.shape
    if n == 0:
        return PartialResult(kind.empty(p), 0, 0)
    try:
        with linalg.limit_threads(threads):
            return fold(kind, data, weights, drop=drop, precise=precise)
    except PrincompError as error:
        return PartialResult(None, 0, n or 0, error)


def iter_blocks(data: RowData, step: int, start: int = 0) -> Generator[Block]:
    """Cut data into blocks of ``step`` rows from row ``start``, a multiple of ``step``.

    The last block may be shorter. A block of a source with random access is read by the thread that
    loads it; the rows of a stream are read here, while other threads sum earlier blocks.
    """
    if isinstance(data, Source):
        if not (data.random_access and data.rows is not None):
            yield from _stream_blocks(data, step, start)
            return
        for first in range(start, data.rows, step):
            stop = min(first + step, data.rows)
            yield Block(first, partial(data.load, first, stop, partial(linalg.scratch, "rows")))
        return
    for first in range(start, data.shape[0], step):
        yield Block(first, partial(data.__getitem__, slice(first, first + step)))


def _stream_blocks(source: Source, step: int, start: int) -> Iterator[Block]:
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


def _merge_all(state: State, data: RowData, step: int, summarizer: _Summarizer) -> Generator[State]:
    """Summarise blocks on threads, and merge the summaries in order."""
    (n, p), kind = data.shape, summarizer.kind
    small = n is not None and n * p < MIN_NUMBERS_FOR_THREADS
    workers = 1 if small else default_threads()
    # The rows of a stream wait in memory: its blocks go to threads one by one.
    one_by_one = isinstance(data, Source) and not data.random_access
    task_blocks = 1 if one_by_one else blocks_per_task(step, p)
    size = max(1, min(task_blocks, (n or 0) // (step * workers)))
    blocks = iter_blocks(data, step, state.row)
    tasks = iter(lambda: list(islice(blocks, size)), [])

    def summarize(task: list[Block]) -> list[PartialResult]:
        return [summarizer.apply(kind.of, block.start, block.load()) for block in task]

    results = map_in_order(summarize, tasks, workers, prefetch=not small)
    # Allocating memory for another scatter takes longer than adding two of them.
    options = {"overwrite": True} if kind is Moments else {}
    with closing(results):
        for part in chain.from_iterable(results):
            summary = state.summary.merge(part.summary, **options)
            state = State(state.row + part.rows, summary, state.dropped + part.dropped)
            yield state


def _update_all(
    state: State, data: RowData, step: int, summarizer: _Summarizer
) -> Generator[State]:
    """Add blocks to one summary in place.

    This thread loads the next block while another one adds the block before, so two blocks are
    in memory. An update is never interrupted: half of one would leave sums over an unknown
    number of rows.
    """
    blocks = iter_blocks(data, step, state.row)
    load_next = partial(next, ((block.start, block.load()) for block in blocks), None)
    with closing(blocks):
        loaded = load_next()
        while loaded is not None:
            add = partial(summarizer.kind.add, state.summary)
            part, loaded, interrupt = linalg.run_uninterrupted(
                partial(summarizer.apply, add, *loaded), load_next
            )
            state = State(state.row + part.rows, part.summary, state.dropped + part.dropped)
            yield state
            if interrupt is not None:
                raise interrupt


def _row_bytes(data: RowData) -> float:
    n, p = data.shape
    nbytes = data.nbytes if isinstance(data, Source) else summaries.stored_bytes(data)
    return nbytes / n if nbytes is not None and n else float(p * data.dtype.itemsize)


def drop_incomplete(block: RowArray, weights: Weights) -> tuple[RowArray, Weights, int]:
    """Return the rows without NaN, their weights, and the number of rows with NaN.

    Rows of weight zero are not counted: they are no part of a fit in any case.
    """
    complete = summaries.rows_without_nan(block)
    if complete.all():
        return block, weights, 0
    if weights is None:
        return block[complete], None, int(np.count_nonzero(~complete))
    dropped = int(np.count_nonzero(weights[~complete]))
    return block[complete], weights[complete], dropped


def first_counted_fault(block: RowArray, weights: Weights, *, drop: bool) -> NotFiniteError | None:
    """Return the error for the first value that is not finite, in the rows that count.

    Rows of weight zero do not count, nor do rows with NaN where these are dropped.
    """
    counts = summaries.rows_without_nan(block) if drop else np.ones(block.shape[0], bool)
    if weights is not None:
        counts &= weights > 0
    kept = np.flatnonzero(counts)
    counted = block[kept]
    if np.isfinite(summaries.stored_values(counted)).all():
        return None
    error = summaries.first_not_finite(counted)
    error.place["row"] = int(kept[error.place["row"]])
    return error
