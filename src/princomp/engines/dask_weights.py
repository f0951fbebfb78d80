"""Weights in chunks of Dask, lined up with the rows."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from princomp.engines.dask_tasks import WEIGHTS, unequal_lengths
from princomp.errors import ParameterError

__all__ = ["lined_up"]


def lined_up(weights: Any, array: Any, rows: int | None) -> Any:
    """Weights as a Dask array with a chunk for each of ``array``'s, or one for all rows.

    Parameters
    ----------
    weights : Dask array or Series, array of shape (n,) or float
    array : dask.array.Array of shape (n, p)
    rows : int or None
        n, where it is known. Where it is not, each task compares the lengths of its chunks.

    Raises
    ------
    ShapeError, ParameterError
    """
    if hasattr(weights, "to_dask_array"):
        weights = weights.to_dask_array()
    chunks = array.chunks[0]
    if not isinstance(weights, da.Array):
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim == 0:
            return float(weights)
        if rows is None:
            raise ParameterError(
                f"sample_weight holds {len(weights)} weights in memory, and the lengths of the "
                "chunks of X are not known",
                place=WEIGHTS,
                hint="give a Dask array of the same chunks, or call x.compute_chunk_sizes(); for "
                "data frames a Series, or a column's name",
            )
        if weights.shape != (rows,):
            raise unequal_lengths(weights.shape, rows, "rows")
        return da.from_array(weights, chunks=(chunks,))
    if weights.ndim != 1:
        raise unequal_lengths(weights.shape, rows, "rows")
    if rows is not None and weights.shape[0] == weights.shape[0]:  # it is NaN where not known
        if weights.shape != (rows,):
            raise unequal_lengths(weights.shape, rows, "rows")
        return weights.rechunk((chunks,))
    if weights.numblocks[0] != len(chunks):
        raise unequal_lengths(weights.numblocks[0], len(chunks), "chunks")
    return weights
