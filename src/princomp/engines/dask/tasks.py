"""Code of Dask's tasks: chunks and weights become rows, and rows partial results or scores.

Nothing here needs Dask.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.engines.distributed import PartialResult, RowFunction, SummaryKind, reworded
from princomp.engines.local import reduce_partition
from princomp.errors import NotFiniteError, PrincompError, ShapeError
from princomp.io import RowArray, from_sparse, in_memory
from princomp.linalg import as_floats
from princomp.summaries import WEIGHTS, check_frequencies


class RowLayout(NamedTuple):
    """The rows that chunks become: columns, precision, and the label of the weights."""

    p: int
    dtype: np.dtype[Any]
    weight_column: Any


def hstack(blocks: Sequence[Any]) -> RowArray:
    """Join chunks of the same rows side by side."""
    blocks = [_to_scipy(block) for block in blocks]
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    masked = any(isinstance(block, np.ma.MaskedArray) for block in blocks)
    return (np.ma.concatenate if masked else np.concatenate)(blocks, axis=1)


def _to_scipy(block: object) -> Any:
    return block.to_scipy_sparse() if hasattr(block, "to_scipy_sparse") else block


def to_rows(block: Any, layout: RowLayout) -> tuple[RowArray, NDArray[Any] | None]:
    """Convert a chunk to rows of the table's precision and its column of weights."""
    weights = None
    if layout.weight_column is not None:
        weights = block[layout.weight_column].to_numpy()
        block = block.drop(columns=layout.weight_column)
    block = _to_scipy(block)
    if np.ndim(block) != 2 or block.shape[1] != layout.p:
        raise ShapeError(
            f"a chunk has shape {block.shape}, but the Dask table has {layout.p} columns",
            hint="give the right chunks (meta=, shape=) where the table is made",
        )
    if 0 in block.shape:
        return np.empty(block.shape, layout.dtype), weights
    rows = from_sparse(block) if sp.issparse(block) else in_memory(block)[0]
    return rows.astype(layout.dtype, copy=False), weights


def reduce_chunk(
    block: Any,
    weights: NDArray[Any] | float | None,
    kind: SummaryKind,
    *,
    layout: RowLayout,
    drop: bool,
    precise: bool,
) -> PartialResult:
    """Summarise the rows of one chunk; a fault in them is part of the result."""
    n = block.shape[0]
    try:
        rows, column_weights = to_rows(block, layout)
        checked = _check_weights(weights if column_weights is None else column_weights, n)
    except PrincompError as error:
        fault = error
        if "row" in error.place and not {"parameter", "label"} & error.place.keys():
            fault = reworded(error, f"{error.message} (counted in its chunk)")
        return PartialResult(None, 0, n, fault)
    return reduce_partition(kind, rows, checked, drop=drop, precise=precise)


def _check_weights(weights: NDArray[Any] | float | None, n: int) -> NDArray[Any] | None:
    """Return the frequencies of the n rows of a chunk.

    Raises
    ------
    ShapeError, ParameterError
    """
    if weights is None:
        return None
    checked: NDArray[Any] = as_floats(weights, "sample_weight")
    if checked.ndim == 0:
        checked = np.full(n, float(checked))
    if checked.shape != (n,):
        raise unequal_lengths(len(checked), n, "rows in the same chunk")
    check_frequencies(checked, 0)
    return checked


def unequal_lengths(weights: int | tuple[int, ...], rows: int | None, what: str) -> ShapeError:
    """Return the error for weights that do not match the rows."""
    return ShapeError(
        f"Sample weights must be 1D array or scalar: sample_weight has {weights} and X has {rows} "
        f"{what}",
        place=WEIGHTS,
        hint="give one weight per row, in chunks of the same rows",
    )


def merge_results(results: Sequence[PartialResult]) -> PartialResult:
    """Merge the results of chunks in the order of their rows."""
    return reduce(PartialResult.merge, results)


def map_chunk(
    block: Any,
    function: RowFunction,
    *,
    layout: RowLayout,
    k: int,
    dtype: np.dtype[Any],
    block_id: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    """Apply a function to the rows of a chunk, which may be empty."""
    rows = to_rows(block, layout)[0]
    if rows.shape[0] == 0:
        return np.empty((0, k), dtype)
    try:
        return function(rows).astype(dtype, copy=False)
    except NotFiniteError as error:
        chunk = "its chunk" if block_id is None else f"chunk {block_id[0]}"
        raise reworded(error, f"{error.message} (counted in {chunk})") from None


def map_partition(
    partition: Any,
    function: RowFunction,
    *,
    layout: RowLayout,
    names: tuple[str, ...],
    dtype: np.dtype[Any],
) -> Any:
    """Apply a function to the rows of a frame's partition, and keep its index."""
    values = map_chunk(partition, function, layout=layout, k=len(names), dtype=dtype)
    return type(partition)(values, columns=list(names), index=partition.index)


def identity(partition: object) -> object:
    """Return a partition as the chunk of an array."""
    return partition
