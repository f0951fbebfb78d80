"""Rows in Dask's chunks: arrays of row and column chunks, and data frames.

A pass is one graph and one compute: a task for each chunk of rows, and a tree that joins
their shares, neighbours first. Chunks become rows of float32 or float64 inside that task, so
nothing is kept of them, and what is wrong with them comes back with its place.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import get_scheduler, tokenize
from dask.utils import is_dataframe_like, is_series_like

from princomp.engines.dask_tasks import (
    WEIGHTS,
    Form,
    beside,
    itself,
    joined_shares,
    lawful,
    mapped_chunk,
    mapped_frame,
    named,
    placed,
    share_of_chunk,
    unequal_lengths,
)
from princomp.engines.dask_weights import lined_up
from princomp.engines.distributed import Distributed
from princomp.engines.shares import Share
from princomp.errors import NotNumericError, ParameterError, ShapeError
from princomp.sources.columns import Origin, refuse_duplicates
from princomp.sources.memory import as_rows
from princomp.sources.source import Chunk

__all__ = ["DaskRows", "rows_of"]

# Shares that one task joins. More make the tree lower, and a task hold more of them.
SPLIT_EVERY = 8
# Bytes up to which a kind or a model stands in each task, which can then be one with the task
# that makes the chunk; larger ones stand in the graph once.
_SMALL = 2**13
# Bytes from which vectors go to the workers directly: the scheduler need not hold them.
_LARGE = 2**22


def rows_of(X: Any) -> DaskRows:
    """The rows of a Dask array (n, p) or data frame; nothing is computed.

    Raises
    ------
    ShapeError
        For other than two dimensions, or a number of columns that is not known.
    NotNumericError
        Where the array or a column holds no numbers.
    ParameterError
        For another collection of Dask.
    """
    if isinstance(X, da.Array):
        return _of_array(X)
    if is_dataframe_like(X):
        return _of_frame(X)
    if is_series_like(X):
        raise _not_two(1, "give a frame of one column: X.to_frame()")
    raise ParameterError(
        f"rows in a Dask {type(X).__name__} are not understood",
        place={"parameter": "X"},
        hint="give an array or a data frame: dask.array.from_delayed, bag.to_dataframe()",
    )


def _of_array(X: Any) -> DaskRows:
    if X.ndim != 2:
        raise _not_two(X.ndim, "reshape it: x.reshape(-1, 1) is one column, (1, -1) one row")
    n, p = X.shape
    if p != p:
        raise ShapeError(
            "the number of columns of this Dask array is not known",
            hint="x.compute_chunk_sizes(), or give the chunks where the array is made",
        )
    if X.dtype.kind not in "fiub":
        if X.dtype.kind == "c":
            as_rows(np.empty((1, 1), X.dtype))  # says what to do with complex numbers
        raise NotNumericError(
            f"a Dask array of {X.dtype} holds no numbers",
            hint="convert it: x.astype(float)",
        )
    if p == 0:
        as_rows(np.empty((1, 0)))
    meta, sparse = X._meta, _may_be_sparse(X._meta)
    if X.numblocks[1] > 1:
        X = da.blockwise(
            beside, "ik", X, "ij", new_axes={"k": p}, concatenate=False, dtype=X.dtype, meta=meta
        )
    return DaskRows(
        engine="Dask",
        rows=None if n != n else n,
        p=p,
        dtype=_float_of([X.dtype]),
        # How many numbers are stored, the chunks alone know.
        stored=0 if sparse else None,
        array=X,
    )


def _of_frame(X: Any) -> DaskRows:
    labels = list(X.columns)
    refuse_duplicates([str(label) for label in labels], Origin(None))
    kinds = [X.dtypes[label] for label in labels]
    for label, kind in zip(labels, kinds, strict=True):
        if getattr(kind, "kind", "O") not in "fiub":
            raise NotNumericError(
                f"column {str(label)!r} holds no numbers ({kind})",
                place={"column": str(label)},
                hint="leave it out: df.drop(columns=…), or df.select_dtypes('number')",
            )
    if not labels:
        as_rows(np.empty((1, 0)))
    named = any(isinstance(label, str) for label in labels)
    dtype = _float_of(kinds)
    return DaskRows(
        engine="Dask",
        rows=None,
        p=len(labels),
        dtype=dtype,
        columns=tuple(map(str, labels)) if named else None,
        array=_blocks_of(X),
        frame=X,
    )


def _blocks_of(frame: Any) -> Any:
    """An array whose chunks are the frame's partitions, as they are."""
    none = np.empty((0, frame.shape[1]))
    return frame.map_partitions(itself, meta=none, enforce_metadata=False)


def _float_of(kinds: list[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if all(kind == np.float32 for kind in kinds) else np.float64)


def _may_be_sparse(meta: Any) -> bool:
    return sp.issparse(meta) or hasattr(meta, "to_scipy_sparse")


def _not_two(ndim: int, hint: str) -> ShapeError:
    return ShapeError(f"Expected 2D array, got {ndim}D array instead, on Dask", hint=hint)


@dataclass(kw_only=True, eq=False)
class DaskRows(Distributed):
    """Rows in chunks of Dask.

    Parameters
    ----------
    array : dask.array.Array
        One chunk across all columns; its chunks are whatever the user's are, frames too.
    frame : dask.dataframe.DataFrame, optional
        Where the rows came in one.
    weights : dask.array.Array or float, optional
        One chunk for each of the array's.
    weight_column : label, optional
        The frame's column with the weights.
    as_frame : bool
        Whether ``mapped`` gives a data frame.
    """

    array: Any
    frame: Any = None
    weights: Any = None
    weight_column: Any = None
    as_frame: bool = False

    @property
    def _form(self) -> Form:
        return Form(self.p, self.dtype, self.weight_column)

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """All rows folded into ``kind``, in one compute."""
        one = partial(share_of_chunk, form=self._form, drop=drop, precise=precise)
        lined_up = isinstance(self.weights, da.Array)
        shares = da.blockwise(
            one,
            "ij",
            self.array,
            "ij",
            self.weights,
            "i" if lined_up else None,
            _sent(kind, "kind"),
            None,
            name=f"princomp-share-{uuid4().hex}",
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
            align_arrays=False,
        )
        join = dask.delayed(joined_shares, pure=False)
        parts = shares.to_delayed().ravel().tolist()
        while len(parts) > 1:
            some = range(0, len(parts), SPLIT_EVERY)
            parts = [join(parts[first : first + SPLIT_EVERY]) for first in some]
        share = placed(parts[0].compute())
        if share.fault is None and self.rows not in (None, share.rows):
            raise ShapeError(
                f"{share.rows:,} rows came, and the chunks of X say {self.rows:,}",
                hint="give the right chunks where the array is made, or x.compute_chunk_sizes()",
            )
        return share

    def weighted(self, weights: Any) -> Self:
        """The same rows with frequencies: of Dask, of NumPy, one for all, or a column's name.

        Raises
        ------
        ShapeError, ParameterError
            Where they do not line up with the rows.
        """
        if isinstance(weights, str):
            return self._weighted_by(weights)
        series = dask.is_dask_collection(weights) and is_series_like(weights)
        if self.frame is not None and series:
            if weights.npartitions != self.array.numblocks[0]:
                raise unequal_lengths(weights.npartitions, self.array.numblocks[0], "partitions")
            # The way through the frame lets Dask read the file of both once.
            label = f"weight-{tokenize(weights)}"
            frame = self.frame.assign(**{label: weights})
            return replace(self, frame=frame, array=_blocks_of(frame), weight_column=label)
        return replace(self, weights=lined_up(weights, self.array, self.rows))

    def _weighted_by(self, name: str) -> Self:
        if self.columns is None or name not in self.columns:
            raise ParameterError(
                f"sample_weight={name!r} is no column of X",
                place=WEIGHTS,
                hint="give the name of a column of a data frame, or the weights themselves",
            )
        labels = list(self.frame.columns)
        at = self.columns.index(name)
        kinds = [self.frame.dtypes[label] for label in labels if label != labels[at]]
        if not kinds:
            as_rows(np.empty((1, 0)))
        columns = self.columns[:at] + self.columns[at + 1 :]
        return replace(
            self,
            p=self.p - 1,
            dtype=_float_of(kinds),
            columns=columns,
            weight_column=labels[at],
        )

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.weights is not None or self.weight_column is not None

    def names(self) -> tuple[str, ...]:
        """What Dask calls the rows, and their weights."""
        weights = getattr(self.weights, "name", self.weights)
        return (f"Dask's {self.array.name}", f"weights: {weights} {self.weight_column or ''}")

    def framed(self, wanted: str) -> Self:
        """The same rows; ``mapped`` gives a data frame where one is wanted."""
        if wanted not in ("default", "pandas"):
            raise ParameterError(
                f"set_output(transform={wanted!r}), and Dask's data frames are made of pandas",
                place={"parameter": "transform"},
                hint="set_output(transform='pandas') for a Dask data frame, 'default' for an array",
            )
        return replace(self, as_frame=wanted == "pandas")

    def mapped(
        self, function: Callable[[Any], Any], names: tuple[str, ...], dtype: np.dtype[Any]
    ) -> Any:
        """A Dask array of the same chunks of rows, or a data frame of the same index."""
        sent, k = _sent(function, "model", lazy=True), len(names)
        if self.as_frame and self.frame is not None:
            meta = named(np.empty((0, k), dtype), names, self.frame._meta)
            one = partial(mapped_frame, form=self._form, names=names, dtype=dtype)
            return self.frame.map_partitions(one, sent, meta=meta, enforce_metadata=False)
        array = da.map_blocks(
            partial(mapped_chunk, form=self._form, k=k, dtype=dtype),
            self.array,
            sent,
            name=f"princomp-mapped-{uuid4().hex}",
            chunks=(self.array.chunks[0], (k,)),
            dtype=dtype,
            meta=np.empty((0, 0), dtype=dtype),
        )
        if not self.as_frame:
            return array
        import dask.dataframe as dd

        return dd.from_dask_array(array, columns=list(names))

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """The rows from number ``start`` on, a chunk of Dask's at a time."""
        for part in self.array.to_delayed().ravel():
            block = lawful(part.compute(), self._form)[0]
            n = block.shape[0]
            if n > start:
                yield Chunk(block[start:] if start else block)
            start = max(start - n, 0)


def _sent(value: Any, what: str, *, lazy: bool = False) -> Any:
    """A value as an argument of each task: as it is, or in the graph once, or on the workers."""
    buffers: list[pickle.PickleBuffer] = []
    size = len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append))
    size += sum(buffer.raw().nbytes for buffer in buffers)
    if size <= _SMALL:
        return value
    client = getattr(get_scheduler(), "__self__", None)
    if size >= _LARGE and not lazy and client is not None and hasattr(client, "scatter"):
        value = client.scatter(value, broadcast=True, hash=False)
    return dask.delayed(value, name=f"princomp-{what}-{uuid4().hex}", pure=False, traverse=False)
