"""Partial results as rows of a Spark frame, merged level by level on executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa

from princomp.engines.partial_result import PartialResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Columns of a state: the number of its first partition, the number of a piece, and its bytes.
STATE_COLUMNS = "number int, piece int, state binary"
_SCHEMA = pa.schema([("number", pa.int32()), ("piece", pa.int32()), ("state", pa.binary())])
# Bytes of a piece of a state, which is a row of the frame. Rows pass through the Java heap several
# times. The state of 4,000 columns takes 128 MB, and up to as many tasks as processors share a heap
# of 1 GB.
_PIECE_BYTES = 2**22
# Number of neighbours that a task of the first level merges; the second level merges the results.
# For 1,000 partitions, these are 63 tasks in parallel, and then one.
_MERGE_WIDTH = 16
# A width that puts all states into one group: their numbers are 32-bit integers.
_ONE_GROUP = 2**31
# Smaller states, in bytes, are merged by one task, which saves the half second of a level.
_SMALL_STATE_BYTES = 2**20


def pack_state(number: int, result: PartialResult) -> Iterator[pa.RecordBatch]:
    """Pickle a partial result to record batches."""
    state = memoryview(pickle.dumps(result, protocol=5))
    for piece, start in enumerate(range(0, len(state), _PIECE_BYTES)):
        row = {"number": number, "piece": piece, "state": state[start : start + _PIECE_BYTES]}
        yield pa.RecordBatch.from_pylist([row], _SCHEMA)


def unpack_states(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, PartialResult]]:
    """Yield number and partial result of each state, whose pieces follow one another."""
    rows = (
        row
        for batch in batches
        for row in zip(batch.column(0).to_pylist(), batch.column(2), strict=True)
    )
    for number, pieces in groupby(rows, itemgetter(0)):
        buffer = bytearray()
        for _, state in pieces:
            buffer += state.as_buffer()
        yield number, pickle.loads(buffer)


def _merge_neighbours(
    width: int,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that merges ``width`` neighbours, two of them in memory."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for group, members in groupby(unpack_states(batches), lambda state: state[0] // width):
            results = (result for _, result in members)
            yield from pack_state(group, reduce(PartialResult.merge, results))

    return run


def merge_states(states: DataFrame, size: int) -> DataFrame:
    """Merge the states of all partitions, each of about ``size`` bytes, to a frame of one state.

    Rows of a partition count once, even if Spark repeats a task: a state is the output of a task,
    Spark keeps the output of one attempt only, and there are no side effects.
    """
    from pyspark.sql import functions

    if size > _SMALL_STATE_BYTES:
        states = states.repartition(functions.floor(states["number"] / _MERGE_WIDTH))
        states = states.sortWithinPartitions("number", "piece")
        states = states.mapInArrow(_merge_neighbours(_MERGE_WIDTH), STATE_COLUMNS)
    last = states.repartition(1).sortWithinPartitions("number", "piece")
    return last.mapInArrow(_merge_neighbours(_ONE_GROUP), STATE_COLUMNS)
