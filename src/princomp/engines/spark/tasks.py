"""Code of Spark's Python workers: batches become rows, and rows partial results, merged to one.

Every table arrives as one Arrow column with an array for each row. Spark packs numeric columns
into it, since sums need the numbers of a row together: tables of 500,000 × 50 and 50,000 × 1,000
in Parquet files take 0.87 and 3.4 s this way, and 1.25 and 4.9 s column by column.

A partial result is a *state*: one or more rows of a frame, which executors merge level by level.
"""

from __future__ import annotations

import pickle
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.engines.distributed import PartialResult, RowFunction, SummaryKind
from princomp.engines.local import reduce_partition
from princomp.errors import NotNumericError, ShapeError
from princomp.io import LARGEST_INTEGER, Chunk, RowArray, Source
from princomp.summaries import check_frequencies

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

# Maps the Arrow batches of a partition to other batches.
BatchFunction: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class RowLayout(NamedTuple):
    """Layout of the rows in the column that Spark hands over.

    Parameters
    ----------
    p : int
    dtype : numpy dtype
        float32 or float64.
    vectors : bool
        Whether the rows are vectors of Spark's MLlib instead of arrays.
    sparse : bool
        Whether the rows become CSR rows.
    integer_columns : tuple of int
        Columns that were 64-bit integers, or decimals without fraction.
    weighted : bool
        Whether a second column has frequencies.
    """

    p: int
    dtype: np.dtype[Any]
    vectors: bool = False
    sparse: bool = False
    integer_columns: tuple[int, ...] = ()
    weighted: bool = False


class PartitionWeights:
    """Frequencies of the rows read so far; a fold takes those of its blocks, in order.

    Slices must follow one another without gaps: weights that were taken are forgotten.

    One thread may add while another takes: blocks are summed while the next rows are read.
    """

    def __init__(self) -> None:
        self._taken, self._waiting = 0, array("d")

    def __len__(self) -> int:
        return self._taken + len(self._waiting)

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        assert rows.start == self._taken
        count, self._taken = rows.stop - rows.start, rows.stop
        weights = np.array(self._waiting[:count])
        del self._waiting[:count]
        return weights

    def add(self, column: pa.Array, row: int) -> None:
        """Add the weights of the next rows, the first of which has number ``row``."""
        weights = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        check_frequencies(weights, row)
        self._waiting.frombytes(weights.tobytes())


class PartitionRows(Source):
    """Rows of one partition, batch by batch; they can be read once."""

    repeatable = False

    def __init__(self, layout: RowLayout, batches: Iterable[pa.RecordBatch]) -> None:
        stored = 0 if layout.sparse else None
        super().__init__(rows=None, p=layout.p, dtype=layout.dtype, stored=stored)
        self.layout = layout
        self.weights = PartitionWeights() if layout.weighted else None
        self._batches = batches

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows of the batches, and collect their weights."""
        row = 0
        for batch in self._batches:
            if not batch.num_rows:
                continue
            rows = _to_rows(batch.column(0), self.layout, row)
            if self.weights is not None:
                self.weights.add(batch.column(1), row)
            yield Chunk(rows)
            row += batch.num_rows


def reduce_batches(
    layout: RowLayout, kind: SummaryKind, drop: bool, precise: bool
) -> BatchFunction:
    """Return a function that summarises a partition, in bounded memory for any size."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        batches = iter(batches)
        rows = PartitionRows(layout, batches)
        weights: Any = rows.weights  # filled while the rows are read
        result = reduce_partition(kind, rows, weights, drop=drop, precise=precise)
        if result.fault is not None:
            deque(batches, maxlen=0)  # Spark does not reuse a worker that leaves rows unread
            result = result._replace(rows=0)  # rows beyond a fault are not counted
        yield from pack_state(TaskContext.get().partitionId(), result)

    return run


def map_batches(
    function: RowFunction,
    layout: RowLayout,
    names: tuple[str, ...],
    as_array: bool,
    result_type: str,
) -> Any:
    """Return a function of Spark columns that maps batches of rows to arrays or to structs."""
    from pyspark.sql.functions import arrow_udf

    def run(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        row = 0
        for batch in batches:
            values = np.ascontiguousarray(function(_to_rows(batch, layout, row)))
            row += len(batch)
            if as_array:
                flat = pa.array(values.ravel())
                lists = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
                yield lists.cast(pa.list_(flat.type))
            else:
                columns = [pa.array(column) for column in values.T]
                yield pa.StructArray.from_arrays(columns, names=list(names))

    # Spark reads these to know that it may hand over batch after batch.
    run.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(run, result_type)


def _to_rows(column: pa.Array, layout: RowLayout, row: int) -> RowArray:
    """Convert a column to rows (m, p), dense or CSR; missing numbers and rows become NaN.

    Parameters
    ----------
    column : Arrow array of shape (m,)
        Lists, or MLlib's vectors as structs.
    layout : RowLayout
    row : int
        Number of the first row, for messages.

    Raises
    ------
    ShapeError
        If a row does not have p numbers.
    NotNumericError
        For an integer that is too large to be exact.
    """
    if layout.vectors:
        return _rows_of_vectors(column, layout, row)
    rows = _rows_of_lists(column, _lengths(column), layout, row)
    for index in layout.integer_columns:
        too_large = np.flatnonzero(np.abs(rows[:, index]) >= LARGEST_INTEGER)
        if too_large.size:
            raise NotNumericError(
                f"the integer {rows[too_large[0], index]:.0f} is 2**53 or larger, and float64 may "
                "not hold it exactly",
                place={"row": row + int(too_large[0]), "column": index},
                hint="cast the column to double if its last digits do not matter",
            )
    return rows


def _rows_of_lists(
    lists: pa.Array, lengths: NDArray[Any], layout: RowLayout, row: int
) -> NDArray[Any]:
    """Convert lists of p numbers to an array (m, p), without a copy if none is missing."""
    p, missing = layout.p, lengths < 0
    _check_lengths(lengths, missing | (lengths == p), p, row)
    values = _to_numpy(lists.flatten(), layout.dtype)
    if not missing.any():
        return values.reshape(len(lengths), p)
    rows = np.full((len(lengths), p), np.nan, layout.dtype)
    rows[~missing] = values.reshape(-1, p)
    return rows


def _rows_of_vectors(column: pa.Array, layout: RowLayout, row: int) -> RowArray:
    """Convert vectors to rows: without a copy if all are dense, otherwise through a CSR array."""
    p, m = layout.p, len(column)
    kinds, sizes, indices, values = column.flatten()  # with the nulls of the struct
    missing = ~_is_valid(kinds)
    dense = ~missing & (_to_numpy(kinds, np.dtype(np.float64)) == 1)
    counts = _lengths(values)
    if dense.all():
        return _rows_of_lists(values, counts, layout, row)
    lengths = np.where(dense, counts, _to_numpy(sizes, np.dtype(np.float64)))
    _check_lengths(lengths, missing | (lengths == p), p, row)
    full, counts = dense | missing, np.where(missing, p, counts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    numbers = np.full(indptr[-1], np.nan, layout.dtype)
    numbers[~np.repeat(missing, counts)] = _to_numpy(values.flatten(), layout.dtype)
    in_full_row = np.repeat(full, counts)
    column_indices = np.empty(indptr[-1], dtype=np.int32)
    column_indices[~in_full_row] = indices.flatten().to_numpy(zero_copy_only=False)
    column_indices[in_full_row] = np.tile(np.arange(p, dtype=np.int32), int(full.sum()))
    rows = sp.csr_array((numbers, column_indices, indptr), shape=(m, p))
    return rows if layout.sparse else rows.toarray()


def _to_numpy(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert an Arrow array of numbers; a missing number is NaN."""
    return array.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


def _is_valid(array: pa.Array) -> NDArray[np.bool_]:
    return array.is_valid().to_numpy(zero_copy_only=False)


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """Return the length of each list; −1 for a missing list."""
    lengths: NDArray[np.int64] = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    if lists.null_count:
        lengths[~_is_valid(lists)] = -1
    return lengths


def _check_lengths(lengths: NDArray[Any], valid: NDArray[np.bool_], p: int, row: int) -> None:
    if valid.all():
        return
    first = int(np.flatnonzero(~valid)[0])
    raise ShapeError(
        f"a row has {lengths[first]:.0f} numbers, but the rows before it have {p}",
        place={"row": row + first, "length": int(lengths[first])},
        hint="give every row the same number of numbers",
    )


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


def _merge_neighbours(width: int) -> BatchFunction:
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
