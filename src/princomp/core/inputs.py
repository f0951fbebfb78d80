"""Rows and weights as users pass them: opened, checked and read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from princomp.engines import as_distributed
from princomp.errors import ParameterError, ShapeError
from princomp.io import RowData, Rows, Source, rows_of
from princomp.linalg import as_floats, unmasked
from princomp.summaries import WEIGHTS, SampleWeight, Weights, check_frequencies


def open_rows(X: Any) -> Rows:
    """Open any table, also one of an engine: return its rows, column names and origin."""
    rows = as_distributed(X)
    return rows_of(X) if rows is None else (rows, rows.columns, None)


def refuse_iterator(X: Any, why: str, call: str) -> None:
    """Refuse an iterator if its rows are needed twice.

    Raises
    ------
    ParameterError
        With the message ``why``, and the hint to pass a function to ``call`` instead.
    """
    if isinstance(X, Iterator):
        raise ParameterError(
            why,
            place={"parameter": "X"},
            hint=f"give a function that makes a new iterator: {call}(lambda: batches())",
        )


def attach_weights(
    X: Any, sample_weight: SampleWeight, *, by_chunks: bool = False
) -> tuple[Any, Any]:
    """Attach weights to a table of an engine; return the table and the weights not attached.

    The rows of an engine carry their weights, which can also be one of their columns. Weights of
    other tables are returned unchanged. So is an array of weights if the engine's rows are brought
    here in chunks (``by_chunks``): the caller then cuts it into chunks as well.
    """
    rows = None if sample_weight is None else as_distributed(X)
    if rows is None or (by_chunks and not rows.resident and not isinstance(sample_weight, str)):
        return X, sample_weight
    return rows.weighted(sample_weight), None


def open_scores(X: Any) -> Any:
    """Open scores: an array of numbers of any shape unchanged, other tables as rows."""
    numeric = isinstance(X, np.ndarray) and X.dtype.kind in "fiub"
    return unmasked(X) if numeric else open_rows(X)[0]


def checked_weights(sample_weight: SampleWeight, n: int | None) -> Weights:
    """Check frequencies (n,), of any length if n is None; None means that every row counts once.

    Raises
    ------
    ShapeError, ParameterError
        For an invalid shape or weight; the message names the first invalid weight.
    """
    if sample_weight is None:
        return None
    weights = as_floats(sample_weight, "sample_weight")
    if n is None:
        n = weights.size
        if weights.ndim == 0:
            raise ShapeError(
                "sample_weight is one number, and the number of rows is not known before they "
                "are read",
                place=WEIGHTS,
                hint="one weight for all changes nothing but the divisor: leave it out",
            )
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ShapeError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weights.shape}, "
            f"and there are {n} rows",
            place=WEIGHTS,
            hint=f"pass one weight per row: an array of shape ({n},)",
        )
    check_frequencies(weights)
    return weights


def blocks_of(data: RowData) -> Iterator[Any]:
    """Iterate over rows: those in memory as one block, those of a source chunk by chunk.

    Raises
    ------
    InputChangedError
        After the last block, if a file has changed.
    """
    if isinstance(data, Source):
        for chunk in data.checked_chunks():
            yield chunk.data
    else:
        yield data
