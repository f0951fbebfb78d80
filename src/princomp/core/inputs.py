"""Rows and weights as users pass them: opened, checked and read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from princomp.engines import as_distributed
from princomp.errors import ParameterError, ShapeError
from princomp.io import RowData, Rows, Source, rows_of
from princomp.summaries import SampleWeight, Weights


def opened(X: Any) -> Rows:
    """Rows, column names and file of anything that holds rows, tables of engines included."""
    rows = as_distributed(X)
    return rows_of(X) if rows is None else (rows, rows.columns, None)


def refuse_iterator(X: Any, why: str, call: str) -> None:
    """Refuse an iterator where its rows are needed twice.

    Raises
    ------
    ParameterError
        ``why`` is its message; ``call`` takes a function instead.
    """
    if isinstance(X, Iterator):
        raise ParameterError(
            why,
            place={"parameter": "X"},
            hint=f"give a function that makes a new iterator: {call}(lambda: batches())",
        )


def with_weights(
    X: Any, sample_weight: SampleWeight, *, by_chunks: bool = False
) -> tuple[Any, Any]:
    """A table, and the weights that still have to be aligned with its rows.

    An engine's rows carry their weights, which may be one of their columns; then the second
    value is None. Where chunks of rows are brought here one by one (``by_chunks``), weights in
    an array are cut along with them instead.
    """
    rows = None if sample_weight is None else as_distributed(X)
    if rows is None or (by_chunks and not rows.resident and not isinstance(sample_weight, str)):
        return X, sample_weight
    return rows.weighted(sample_weight), None


def checked_weights(sample_weight: SampleWeight, n: int | None) -> Weights:
    """Frequencies (n,), or None where every row counts once; any length where n is None.

    Raises
    ------
    ShapeError, ParameterError
        With the first weight that is not valid.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    place = {"parameter": "sample_weight"}
    if n is None:
        n = weights.size
        if weights.ndim == 0:
            raise ShapeError(
                "sample_weight is one number, and the number of rows is not known before they "
                "are read",
                place=place,
                hint="one weight for all changes nothing but the divisor: leave it out",
            )
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ShapeError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weights.shape}, "
            f"and there are {n} rows",
            place=place,
            hint=f"pass one weight per row: an array of shape ({n},)",
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ParameterError(
            f"Negative values, NaN or infinity in sample_weight: sample_weight[{wrong[0]}] is "
            f"{weights[wrong[0]]:g}",
            place={**place, "row": int(wrong[0])},
            hint="weights are frequencies: finite and not below 0",
        )
    return weights


def blocks_of(data: RowData) -> Iterator[Any]:
    """Rows in memory as one block; those of a source chunk by chunk.

    Raises
    ------
    InputChangedError
        After the last one, when a file has changed.
    """
    if isinstance(data, Source):
        for chunk in data.all_chunks():
            yield chunk.data
    else:
        yield data
