"""Weights of rows on Dask: aligned with the chunks, and checked in each task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError, ShapeError
from princomp.linalg import as_floats
from princomp.summaries import WEIGHTS, check_frequencies


def align_weights(weights: Any, array: Any, rows: int | None) -> Any:
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
    import dask.array as da

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
                "data frames a Series, or a column's name",
            )
        weights = da.from_array(weights)
    if weights.ndim != 1:
        raise unequal_lengths(weights.shape, rows, "rows")
    lengths_known = rows is not None and weights.shape[0] == weights.shape[0]  # else it is NaN
    if lengths_known and weights.shape != (rows,):
        raise unequal_lengths(weights.shape, rows, "rows")
    if lengths_known:
        return weights.rechunk((chunks,))
    if weights.numblocks[0] != len(chunks):
        raise unequal_lengths(weights.numblocks[0], len(chunks), "chunks")
    return weights


def check_chunk_weights(weights: NDArray[Any] | float | None, n: int) -> NDArray[Any] | None:
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
