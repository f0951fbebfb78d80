"""Dask arrays and data frames as rows: what is accepted, in which precision, and passes over them.

A pass is one graph and one compute: a task for each chunk of rows, and a tree that merges
their results, neighbours first. Chunks are converted to rows of float32 or float64 inside their
task, so nothing is kept of them, and a fault in them is reported with its place.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from uuid import uuid4

import dask
import dask.array as da
import narwhals as nw
import numpy as np
import scipy.sparse as sp
from dask.base import get_scheduler, tokenize
from dask.utils import is_dataframe_like, is_series_like

from princomp import io
from princomp.engines.dask import tasks
from princomp.engines.dask.tasks import hstack, unequal_lengths
from princomp.engines.distributed import DistributedRows, PartialResult, RowFunction, SummaryKind
from princomp.errors import NotFiniteError, NotNumericError, ParameterError, ShapeError
from princomp.linalg import as_floats
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
    def _layout(self) -> tasks.RowLayout:
        return tasks.RowLayout(self.p, self.dtype, self.weight_column)

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one compute."""
        results = da.blockwise(
            partial(tasks.reduce_chunk, layout=self._layout, drop=drop, precise=precise),
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
        merge = dask.delayed(tasks.merge_results, pure=False)
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
            return replace(self, frame=frame, array=_partition_blocks(frame), weight_column=label)
        return replace(self, weights=_align_weights(weights, self.array, self.rows))

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
            io.as_rows(np.empty((1, 0)))  # raises
        return replace(
            self,
            p=self.p - 1,
            dtype=_float_dtype(self.frame.dtypes.drop(label)),
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
            task = partial(tasks.map_partition, layout=self._layout, names=names, dtype=dtype)
            meta = task(self.frame._meta, function)
            return self.frame.map_partitions(task, argument, meta=meta, enforce_metadata=False)
        array = da.map_blocks(
            partial(tasks.map_chunk, layout=self._layout, k=k, dtype=dtype),
            self.array,
            argument,
            name=f"princomp-map-{uuid4().hex}",
            chunks=(self.array.chunks[0], (k,)),
            dtype=dtype,
            meta=np.empty((0, 0), dtype=dtype),
        )
        return array.to_dask_dataframe(columns=list(names)) if self.as_frame else array

    def chunks(self, start: int = 0) -> Iterator[io.Chunk]:
        """Yield the rows from number ``start`` on, one of Dask's chunks at a time."""
        for part in self.array.to_delayed().ravel():
            block = tasks.to_rows(part.compute(), self._layout)[0]
            n = block.shape[0]
            if n > start:
                yield io.Chunk(block).part(start)
            start = max(start - n, 0)


def _align_weights(weights: Any, array: Any, rows: int | None) -> Any:
    """Return weights as a Dask array with the chunks of ``array``, or one weight for all rows.

    Parameters
    ----------
    weights : Dask array or Series, array of shape (n,) or float
    array : dask.array.Array of shape (n, p)
    rows : int or None
        n if it is known, else None: then each task compares the lengths of its chunks.

    Raises
    ------
    ShapeError, ParameterError
    """
    if hasattr(weights, "to_dask_array"):
        weights = weights.to_dask_array()
    chunks = array.chunks[0]
    if not isinstance(weights, da.Array):
        weights = as_floats(weights, "sample_weight")
        if weights.ndim == 0:
            return float(weights)
        if rows is None:
            raise ParameterError(
                f"sample_weight is an array of {len(weights)} weights in memory, but the lengths "
                "of the chunks of X are not known",
                place=WEIGHTS,
                hint="give a Dask array of the same chunks, or call x.compute_chunk_sizes(); for "
                "data frames a Dask series, or a column's name",
            )
        weights = da.from_array(weights)
    if weights.ndim == 1 and (rows is None or np.isnan(weights.shape[0])):
        if weights.numblocks[0] != len(chunks):
            raise unequal_lengths(weights.numblocks[0], len(chunks), "chunks")
        return weights
    if weights.shape != (rows,):
        raise unequal_lengths(weights.shape, rows, "rows")
    return weights.rechunk((chunks,))


def rows_of(X: object, columns: Sequence[str] = ()) -> DaskRows:
    """Return the rows of a Dask array (n, p) or data frame; nothing is computed.

    Raises
    ------
    ShapeError
        If X does not have two dimensions, or its number of columns is unknown.
    NotNumericError
        If the array, or every column of the frame, is not numeric.
    ParameterError
        For another collection of Dask.
    """
    if isinstance(X, da.Array):
        return _array_rows(X)
    if is_dataframe_like(X):
        return _frame_rows(X, columns)
    if is_series_like(X):
        raise _not_2d(1, "give a frame of one column: X.to_frame()")
    raise ParameterError(
        f"X must be a Dask array or data frame, got a Dask {type(X).__name__}",
        place={"parameter": "X"},
        hint="convert it: dask.array.from_delayed(…), or bag.to_dataframe()",
    )


def _array_rows(X: da.Array) -> DaskRows:
    if X.ndim != 2:
        raise _not_2d(X.ndim, "reshape it: x.reshape(-1, 1) is one column, (1, -1) one row")
    n, p = X.shape
    if p != p:
        raise ShapeError(
            "the number of columns of this Dask array is not known",
            hint="call x.compute_chunk_sizes(), or give the chunks where the array is made",
        )
    if X.dtype.kind not in "fiubc":
        raise NotNumericError(
            f"a Dask array of dtype {X.dtype} is not numeric", hint="convert it: x.astype(float)"
        )
    if X.dtype.kind == "c":
        io.as_rows(np.empty((1, p), X.dtype))  # raises, with a hint
    meta = X._meta
    sparse = sp.issparse(meta) or hasattr(meta, "to_scipy_sparse")
    if X.numblocks[1] > 1:
        X = da.blockwise(
            hstack, "ik", X, "ij", new_axes={"k": p}, concatenate=False, dtype=X.dtype, meta=meta
        )
    return DaskRows(
        rows=None if n != n else n,
        p=p,
        dtype=_float_dtype([X.dtype]),
        # Only the chunks know how many numbers are stored.
        stored=0 if sparse else None,
        array=X,
    )


def _frame_rows(X: Any, columns: Sequence[str]) -> DaskRows:
    all_labels = list(X.columns)
    io.refuse_duplicates([str(label) for label in all_labels], io.Origin(None))
    left_out = {}
    for label, kind in nw.from_native(X._meta).schema.items():
        letter = getattr(X.dtypes[label], "kind", "O")
        if letter == "c":
            io.as_rows(np.empty((1, 1), complex))  # raises, with a hint
        if letter not in "fiu" and not kind.is_decimal():
            left_out[str(label)] = io.kind_name(kind)
    labels = [label for label in all_labels if str(label) not in left_out]
    notes: tuple[str, ...] = io.left_out_notes(left_out)
    # As in memory; there whole floats count as well, but here their values are not known.
    index = io.index_label(X._meta)
    if index is not None and index not in columns:
        notes = (io.row_numbers_note(index), *notes)
        labels.remove(index)
    if not labels:
        raise NotNumericError(
            f"the frame has no column of numbers: {'; '.join(notes) or 'it has no columns'}",
            place={"columns": list(left_out)},
            hint="convert the columns to analyse: df.astype(float)",
        )
    if len(labels) < len(all_labels):
        X = X[labels]
    has_names = any(isinstance(label, str) for label in labels)
    return DaskRows(
        rows=None,
        p=len(labels),
        dtype=_float_dtype(X.dtypes),
        columns=tuple(map(str, labels)) if has_names else None,
        notes=notes,
        array=_partition_blocks(X),
        frame=X,
    )


def _not_2d(ndim: int, hint: str) -> ShapeError:
    return ShapeError(f"Expected 2D array, got {ndim}D array instead, on Dask", hint=hint)


def _partition_blocks(frame: Any) -> da.Array:
    """Return an array whose chunks are the partitions of a data frame, unchanged."""
    meta = np.empty((0, frame.shape[1]))
    return frame.map_partitions(tasks.identity, meta=meta, enforce_metadata=False)


def _float_dtype(dtypes: Iterable[Any]) -> np.dtype[Any]:
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
