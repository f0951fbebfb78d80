"""Preparation of rows: memory, missing cells, weights, kernel matrices and divisors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core import FILL_METHODS, check_total_weight, fitted_model
from princomp.engines import DistributedRows, drop_incomplete, first_counted_fault, fold
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.estimators import PCA
from princomp.io import (
    RowArray,
    RowData,
    Rows,
    Source,
    few_rows_left_error,
    not_finite_error,
    read_whole,
)
from princomp.kernel_pca.parameters import KernelParameters
from princomp.linalg import FloatArray
from princomp.summaries import (
    Columns,
    Extremes,
    PairOf,
    Weights,
    as_dense,
    checked_divisors,
    divisors,
    rows_without_nan,
    stored_values,
)

_MISSING_HINT = "fill the cells, or use missing='drop', missing='em' or missing='nipals'"


def in_memory(data: RowData, limit: int) -> RowArray:
    """Read rows into memory.

    Raises
    ------
    ParameterError
        For rows on an engine.
    MemoryLimitError
        If they do not fit.
    """
    if isinstance(data, DistributedRows):
        raise ParameterError(
            f"an exact kernel PCA needs all rows in memory, and these are on {data.engine}",
            place={"parameter": "approximation"},
            hint="approximation='nystrom' or 'features' works there; or pass the rows as a NumPy "
            "array",
        )
    rows = read_whole(data, limit) if isinstance(data, Source) else data
    # A fit keeps its rows, and so does its file, which has no gaps between them. With gaps,
    # products could be rounded differently.
    gaps = isinstance(rows, np.ndarray) and not (rows.flags.c_contiguous or rows.flags.f_contiguous)
    return np.ascontiguousarray(rows) if gaps else rows


# ---- missing cells and weights -----------------------------------------------------------


def complete_rows(
    table: Rows,
    weights: Weights,
    missing: str,
    imputer: PCA | None = None,
    *,
    hint: str = _MISSING_HINT,
) -> tuple[RowArray, Weights, int]:
    """Drop rows of weight zero; drop or fill rows with missing cells.

    ``table`` has the rows in memory, and the names of their columns and files for messages;
    ``hint`` says what to do about missing cells.

    Returns
    -------
    rows : ndarray or CSR array of shape (m, p)
    weights : ndarray of shape (m,), optional
    dropped : int
        Number of rows dropped for missing cells.

    Raises
    ------
    NotFiniteError
        With the first place.
    ShapeError
        If no row is left.
    """
    rows, positive = rows_with_weight(table[0], weights)
    if np.isfinite(stored_values(rows)).all():
        return rows, positive, 0
    if imputer is not None:  # it has refused infinite values
        rows = imputer.impute(rows)  # rows without any known cell stay as they are
    else:
        check_counted(table, weights, missing, hint)
    complete, positive, dropped = drop_incomplete(rows, positive)
    if not complete.shape[0]:
        raise few_rows_left_error(rows, table[1], 0, dropped)
    return complete, positive, dropped


def check_counted(table: Rows, weights: Weights, missing: str, hint: str = _MISSING_HINT) -> None:
    """Raise NotFiniteError for the first value that is not finite, in the rows that count."""
    data, columns, origin = table
    fault = first_counted_fault(data, weights, drop=missing == "drop")
    if fault is not None:
        raise not_finite_error(data, fault, columns=columns, origin=origin, hint=hint)


def fill_cells(
    rows: RowArray, missing: str, imputer: PCA | None
) -> tuple[RowArray, NDArray[np.bool_] | None]:
    """Fill missing cells; also say which rows (n,) cannot have scores.

    These are the rows that still have missing cells: those cells become zero, and the caller
    replaces their scores by NaN.
    """
    if missing == "error" or np.isfinite(stored_values(rows)).all():
        return rows, None
    filled = rows if imputer is None else fitted_model(imputer).fill(rows)
    if filled is rows:  # nothing was filled: copy before missing cells become zero
        filled = rows.copy()
    unknown = ~rows_without_nan(filled)
    cells = stored_values(filled)
    cells[np.isnan(cells)] = 0
    return filled, unknown


def rows_with_weight(data: RowArray, weights: Weights) -> tuple[RowArray, Weights]:
    """Drop rows of weight zero.

    Raises
    ------
    ShapeError
        If the weights are too small for a variance.
    """
    if weights is None:
        return data, None
    if not weights.all():
        data, weights = data[weights > 0], weights[weights > 0]
    if len(weights) != 1:
        check_total_weight(float(weights.sum()), len(weights))
    return data, weights


def imputer_for(parameters: KernelParameters, data: RowArray, weights: Weights) -> PCA | None:
    """Fit the linear PCA that fills missing cells, for ``missing="em"`` and "nipals".

    Raises
    ------
    ParameterError
        If ``n_components`` is not a whole number.
    """
    if parameters.missing not in FILL_METHODS:
        return None
    k = parameters.n_components
    if not isinstance(k, int):
        raise ParameterError(
            f"missing={parameters.missing!r} fills cells by a whole number of linear components, "
            f"and n_components is {k!r}",
            place={"parameter": "n_components"},
            hint="set a number, such as n_components=2",
        )
    model = PCA(
        max(1, min(k, min(data.shape) - 1)),
        missing=parameters.missing,
        memory_limit=parameters.memory_limit,
        scale=parameters.scale,
    )
    return model.fit(data, sample_weight=weights)


# ---- kernel matrices ---------------------------------------------------------------------


def square_matrix(table: Rows, weights: Weights = None) -> FloatArray:
    """Return the kernel matrix of the rows of a fit (n, n), dense.

    Raises
    ------
    ShapeError
    NotFiniteError
        With the first place, not in a row or column of weight zero.
    """
    matrix, columns, origin = table
    if matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            "Precomputed metric requires shape (n_queries, n_indexed): a kernel matrix of the rows "
            f"of a fit is square, and this one is {matrix.shape[0]} × {matrix.shape[1]}",
            hint="pass the kernel of each row with each row",
        )
    matrix = as_dense(matrix)
    finite = np.isfinite(matrix)
    if weights is not None:
        finite |= (weights == 0) | (weights == 0)[:, None]
    if not finite.all():
        raise not_finite_error(
            np.where(finite, 0.0, matrix),
            NotFiniteError("", place={"row": 0}),
            columns=columns,
            origin=origin,
            hint="compute the kernel of rows without missing values",
        )
    return matrix


# ---- divisors ----------------------------------------------------------------------------


def with_divisors(parameters: KernelParameters, table: Rows, weights: Weights) -> KernelParameters:
    """Return the parameters with the divisors of ``scale``, from one pass over the rows.

    Parameters
    ----------
    parameters : KernelParameters
    table : tuple
        Rows (n, p) of any kind, and the names of their columns and files for messages.
    weights : ndarray of shape (n,), optional
        Rows on an engine carry their own.

    Raises
    ------
    ConstantColumnError, NotFiniteError, ShapeError
    ParameterError
        For invalid divisors, and for rows that can be read only once.
    """
    rows, columns, origin = table
    scale = parameters.scale
    if scale is None:
        return parameters
    if not isinstance(scale, str):
        return parameters._replace(divisors=checked_divisors(scale, rows.shape[1], columns))
    if isinstance(rows, Source) and not rows.repeatable:
        raise ParameterError(
            f"scale={scale!r} reads the rows once more, and these can be read only once",
            place={"parameter": "scale"},
            hint="pass scale as an array of divisors, or the rows as an array, a file or a "
            "function that makes an iterator",
        )
    by_range = scale == "range"
    kind: Any = PairOf(Columns, Extremes) if by_range else Columns
    try:
        found = fold(kind, rows, weights, drop=parameters.drop, step_name="scale").summary
    except NotFiniteError as error:
        raise not_finite_error(rows, error, columns=columns, origin=origin) from None
    summary, extremes = (found.first, found.second) if by_range else (found, None)
    if not summary.rows > 1:
        raise ShapeError(
            f"scale={scale!r} needs the spread of at least two rows",
            place={"parameter": "scale"},
            hint="pass more rows, or scale as an array of divisors",
        )
    return parameters._replace(divisors=divisors(scale, summary, extremes, columns))
