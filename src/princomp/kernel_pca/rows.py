"""Rows on their way to a kernel: read, looked at, their missing cells left out or filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.engines.distributed import Distributed
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.kernel_pca.asked import Asked
from princomp.missing import METHODS
from princomp.sources.holding import whole
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries.blocks import Weights, check_weights, is_sparse

__all__ = ["across", "complete_rows", "counted", "filler_for", "held", "part", "square"]

_HINT = "fill the cells, or give missing='drop', 'em' or 'nipals'"


def held(data: Any, limit: int) -> Any:
    """Rows in memory.

    Raises
    ------
    ParameterError
        For rows on an engine.
    MemoryLimitError
        For more rows than fit.
    """
    if isinstance(data, Distributed):
        raise ParameterError(
            f"an exact kernel PCA needs all rows in memory, and these are on {data.engine}",
            place={"parameter": "approximation"},
            hint="approximation='nystrom' or 'features' sums their images where they lie; or give "
            "the rows as a NumPy array",
        )
    rows = whole(data, limit) if isinstance(data, Source) else data
    # A fit keeps its rows, also in a file: gaps between them would change bits of products.
    gaps = isinstance(rows, np.ndarray) and not (rows.flags.c_contiguous or rows.flags.f_contiguous)
    return np.ascontiguousarray(rows) if gaps else rows


def complete_rows(
    data: Any, asked: Asked, columns: Any, file: str | None, filler: PCA | None
) -> tuple[Any, Any]:
    """Rows without missing cells, and which of them are left where some were left out.

    Raises
    ------
    NotFiniteError
        With the first place.
    """
    values = data.data if is_sparse(data) else data
    if np.isfinite(values).all():
        return data, None
    if asked.missing == "drop" and not np.isinf(values).any():
        kept = ~np.isnan(data).any(axis=1) if not is_sparse(data) else _without_nan(data)
        return data[kept], kept
    if filler is not None and not np.isinf(values).any():
        return filler.impute(data), None
    found = NotFiniteError("", place={"row": 0})
    raise refuse_not_finite(data, found, columns=columns, file=file, hint=_HINT)


def _without_nan(data: Any) -> Any:
    rows = np.repeat(np.arange(data.shape[0]), np.diff(data.indptr))
    kept = np.ones(data.shape[0], dtype=bool)
    kept[rows[np.isnan(data.data)]] = False
    return kept


def part(weights: Weights, kept: Any) -> Weights:
    """The weights of some rows."""
    return None if weights is None else weights[kept]


def counted(data: Any, weights: Weights) -> tuple[Any, Weights]:
    """Rows that count, and their weights.

    Raises
    ------
    ShapeError
        Where none does.
    """
    check_weights(weights, data.shape[0])
    if weights is None or weights.all():
        return data, weights
    if not weights.any():
        raise ShapeError(
            f"the weights of all {len(weights)} rows are zero",
            place={"parameter": "sample_weight"},
            hint="give at least two rows a weight",
        )
    return data[weights > 0], weights[weights > 0]


def filler_for(asked: Asked, data: Any, weights: Weights, memory: Any) -> PCA | None:
    """A linear PCA that fills missing cells, where that was asked for, and there are some.

    Raises
    ------
    ParameterError
        Without a whole number of components.
    """
    if asked.missing not in METHODS:
        return None
    k = asked.n_components
    if not isinstance(k, int):
        raise ParameterError(
            f"missing={asked.missing!r} fills cells by a whole number of linear components, and "
            f"n_components is {k!r}",
            place={"parameter": "n_components"},
            hint="ask for a number, such as n_components=2",
        )
    k = max(1, min(k, min(data.shape) - 1))
    model = PCA(k, missing=asked.missing, memory_limit=memory, scale=asked.scale)
    return model.fit(data, sample_weight=weights)


def square(matrix: Any) -> FloatArray:
    """The kernel matrix of the rows of a fit with each other (n, n), dense.

    Raises
    ------
    ShapeError
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            "Precomputed metric requires shape (n_queries, n_indexed): a kernel matrix of the rows "
            f"of a fit is square, and this one is {matrix.shape[0]} × {matrix.shape[1]}",
            hint="give the kernel of each row with each row",
        )
    return _dense(matrix)


def across(matrix: Any, n: int) -> FloatArray:
    """The kernel of other rows with the n rows of a fit (m, n), dense.

    Raises
    ------
    ShapeError
    """
    if matrix.shape[1] != n:
        raise ShapeError(
            f"a kernel with {matrix.shape[1]} rows was given, and the fit is of {n}",
            hint="give the kernel of each row with each row of the fit",
        )
    return _dense(matrix)


def _dense(matrix: Any) -> FloatArray:
    found: FloatArray = matrix.toarray() if is_sparse(matrix) else matrix
    return found
