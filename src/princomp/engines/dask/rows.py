"""Rows in Dask's chunks: arrays of row and column chunks, and data frames.

A pass is one graph and one compute: a task for each chunk of rows, and a tree that merges
their results, neighbours first. Chunks are converted to rows of float32 or float64 inside their
task, so nothing is kept of them, and a fault in them is reported with its place.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler, tokenize
from dask.utils import is_series_like

from princomp.engines.dask.tasks import (
    RowLayout,
    identity,
    map_chunk,
    map_partition,
    merge_results,
    reduce_chunk,
    to_rows,
)
from princomp.engines.dask.weights import align_weights, unequal_lengths
from princomp.engines.distributed import DistributedRows, RowFunction
from princomp.engines.partial_result import PartialResult, SummaryKind
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.io import Chunk, as_rows
from princomp.summaries import WEIGHTS

# Number of results that one task merges. With more, the tree is lower, but a task holds more.
SPLIT_EVERY = 8
# A kind or a model of up to this many bytes is an argument of each task, which Dask can then fuse
# with the task that makes the chunk; a larger one is in the graph once.
_MAX_INLINE_BYTES = 2**13
# Vectors of at least this many bytes are sent directly to the workers, not by the scheduler.
_MIN_SCATTER_BYTES = 2**22


@dataclass(kw_only=True, eq=False)
class DaskRows(DistributedRows):
    """Rows in chunks of Dask.

    Parameters
    ----------
    array : dask.array.Array
        Each chunk has all columns. The chunks are those of the user, and may be data frames.
    frame : dask.dataframe.DataFrame, optional
        The frame that the rows came in.
    weights : dask.array.Array or float, optional
        One chunk for each chunk of the array, or one weight for all rows.
    weight_column : label, optional
        The frame's column with the weights.
    as_frame : bool
        Whether ``map_rows`` returns a data frame.
    """

    array: da.Array
    frame: Any = None
    weight_column: Any = None
    as_frame: bool = False
    engine: str = "Dask"

    @property
    def _layout(self) -> RowLayout:
        return RowLayout(self.p, self.dtype, self.weight_column)

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one compute."""
        results = da.blockwise(
            partial(reduce_chunk, layout=self._layout, drop=drop, precise=precise),
            "ij",
            self.array,
            "ij",
            self.weights,
            "i" if isinstance(self.weights, da.Array) else None,
            _task_argument(kind, "kind"),
            None,
            name=f"princomp-reduce-{uuid4().hex}",
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
            align_arrays=False,
        )
        merge = dask.delayed(merge_results, pure=False)
        parts = results.to_delayed().ravel().tolist()
        while len(parts) > 1:
            starts = range(0, len(parts), SPLIT_EVERY)
            parts = [merge(parts[first : first + SPLIT_EVERY]) for first in starts]
        result: PartialResult = parts[0].compute()
        if not isinstance(result.fault, NotFiniteError):
            result = result.with_row_in_message(" of all")
        if result.fault is None and self.rows not in (None, result.rows):
            raise ShapeError(
                f"X has {result.rows:,} rows, but its chunks promise {self.rows:,}",
                hint="give the right chunks where the array is made, or x.compute_chunk_sizes()",
            )
        return result

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies.

        Parameters
        ----------
        weights : Dask array or Series, array of shape (n,), float, or str
            A float counts for all rows; a string is the name of a column.

        Raises
        ------
        ShapeError, ParameterError
            If they do not match the rows.
        """
        if isinstance(weights, str):
            return self._weighted_by_column(weights)
        series = dask.is_dask_collection(weights) and is_series_like(weights)
        if self.frame is not None and series:
            if weights.npartitions != self.array.numblocks[0]:
                raise unequal_lengths(weights.npartitions, self.array.numblocks[0], "partitions")
            # As a column of the frame, so that Dask reads a file of both once.
            label = f"weight-{tokenize(weights)}"
            frame = self.frame.assign(**{label: weights})
            return replace(self, frame=frame, array=partition_blocks(frame), weight_column=label)
        return replace(self, weights=align_weights(weights, self.array, self.rows))

    def _weighted_by_column(self, name: str) -> Self:
        if self.columns is None or name not in self.columns:
            raise ParameterError(
                f"sample_weight={name!r} is not a column of X",
                place=WEIGHTS,
                hint="give the name of a column of a data frame, or the weights themselves",
            )
        index = self.columns.index(name)
        label = self.frame.columns[index]
        if self.p == 1:
            as_rows(np.empty((1, 0)))  # raises
        return replace(
            self,
            p=self.p - 1,
            dtype=float_dtype(self.frame.dtypes.drop(label)),
            columns=self.columns[:index] + self.columns[index + 1 :],
            weight_column=label,
        )

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.weights is not None or self.weight_column is not None

    def fingerprint(self) -> tuple[str, ...]:
        """Return Dask's names of the rows and their weights."""
        weights = getattr(self.weights, "name", self.weights)
        return (f"Dask's {self.array.name}", f"weights: {weights} {self.weight_column or ''}")

    def with_output(self, frame: str) -> Self:
        """Return the same rows, whose ``map_rows`` returns a data frame for "pandas"."""
        if frame not in ("default", "pandas"):
            raise ParameterError(
                f"set_output(transform={frame!r}) is not available: Dask's data frames are made "
                "of pandas",
                place={"parameter": "transform"},
                hint="set_output(transform='pandas') for a Dask data frame, 'default' for an array",
            )
        return replace(self, as_frame=frame == "pandas")

    def map_rows(self, function: RowFunction, names: tuple[str, ...], dtype: np.dtype[Any]) -> Any:
        """Return a Dask array of the same chunks of rows, or a data frame of the same index."""
        argument, k = _task_argument(function, "model", lazy=True), len(names)
        if self.as_frame and self.frame is not None:
            task = partial(map_partition, layout=self._layout, names=names, dtype=dtype)
            meta = task(self.frame._meta, function)
            return self.frame.map_partitions(task, argument, meta=meta, enforce_metadata=False)
        array = da.map_blocks(
            partial(map_chunk, layout=self._layout, k=k, dtype=dtype),
            self.array,
            argument,
            name=f"princomp-map-{uuid4().hex}",
            chunks=(self.array.chunks[0], (k,)),
            dtype=dtype,
            meta=np.empty((0, 0), dtype=dtype),
        )
        return array.to_dask_dataframe(columns=list(names)) if self.as_frame else array

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows from number ``start`` on, one of Dask's chunks at a time."""
        for part in self.array.to_delayed().ravel():
            block = to_rows(part.compute(), self._layout)[0]
            n = block.shape[0]
            if n > start:
                yield Chunk(block).part(start)
            start = max(start - n, 0)


def partition_blocks(frame: Any) -> da.Array:
    """Return an array whose chunks are the partitions of a data frame, unchanged."""
    meta = np.empty((0, frame.shape[1]))
    return frame.map_partitions(identity, meta=meta, enforce_metadata=False)


def float_dtype(dtypes: Iterable[Any]) -> np.dtype[Any]:
    """Return float32 where all columns are float32, else float64."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)


def _task_argument(value: SummaryKind | RowFunction, what: str, *, lazy: bool = False) -> Any:
    """Prepare an argument of all tasks: as it is, as one node of the graph, or on the workers."""
    buffers: list[pickle.PickleBuffer] = []
    size = len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append))
    size += sum(buffer.raw().nbytes for buffer in buffers)
    if size <= _MAX_INLINE_BYTES:
        return value
    client: Any = getattr(get_scheduler(), "__self__", None)
    sent: Any = value
    if size >= _MIN_SCATTER_BYTES and not lazy and hasattr(client, "scatter"):
        sent = client.scatter(value, broadcast=True, hash=False)
    return dask.delayed(sent, name=f"princomp-{what}-{uuid4().hex}", pure=False, traverse=False)
