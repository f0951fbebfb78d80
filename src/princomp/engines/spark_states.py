"""Shares on their way through Spark: as rows of bytes, joined level by level on executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from princomp.engines.shares import Share, joined

__all__ = ["COLUMNS", "joined_levels", "packed", "unpacked"]

# A state is rows of these: the number of its first partition, the number of its piece, bytes.
COLUMNS = "number int, piece int, state binary"
# Bytes of a row. A row passes through the Java heap several times, and a state of 4,000
# columns would be one of 128 MB; tasks are up to as many as there are processors, in 1 GB.
_PIECE = 2**22
# Neighbours that are joined to one in a task of the first level; the second joins what is
# left. A thousand partitions are 63 in parallel, and then one.
_FAN = 16
# States up to so many bytes go to one task at once, and a level's half second is saved.
_SMALL = 2**20


def packed(number: int, share: Share) -> Iterator[Any]:
    """Record batches of a share."""
    state = memoryview(pickle.dumps(share, protocol=5))
    for piece, start in enumerate(range(0, len(state), _PIECE)):
        columns = [
            pa.array([number], pa.int32()),
            pa.array([piece], pa.int32()),
            pa.array([state[start : start + _PIECE]], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["number", "piece", "state"])


def unpacked(batches: Iterable[Any]) -> Iterator[tuple[int, Share]]:
    """Number and share of each state; its pieces follow one another."""
    known, held = -1, bytearray()
    for batch in batches:
        numbers, states = batch.column(0).to_pylist(), batch.column(2)
        for number, state in zip(numbers, states, strict=True):
            if number != known and held:
                yield known, pickle.loads(held)
                held = bytearray()
            known = number
            held += state.as_buffer()
    if held:
        yield known, pickle.loads(held)


def _joined(fan: int | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Joins neighbours as they come, ``fan`` of them or all, and holds two states at most."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        group, held = -1, None
        for number, share in unpacked(batches):
            mine = 0 if fan is None else number // fan
            if held is None or mine != group:
                if held is not None:
                    yield from packed(group, held)
                group, held = mine, share
            else:
                held = joined(held, share)
        if held is not None:
            yield from packed(group, held)

    return run


def joined_levels(states: Any, size: int) -> Any:
    """A frame of the states of all partitions, each of about ``size`` bytes, as a frame of one.

    Rows of a partition count once whatever Spark repeats: a state is the output of a task,
    of which Spark keeps that of one attempt, and nothing is added up on the side.
    """
    from pyspark.sql import functions

    if size > _SMALL:
        states = states.repartition(functions.floor(states["number"] / _FAN))
        states = states.sortWithinPartitions("number", "piece").mapInArrow(_joined(_FAN), COLUMNS)
    last = states.repartition(1).sortWithinPartitions("number", "piece")
    return last.mapInArrow(_joined(None), COLUMNS)
