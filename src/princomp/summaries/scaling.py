"""Divisors for scaling the columns: a measure of their spread, or given numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princomp.errors import (
    ColumnError,
    ConstantColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.linalg import FloatArray, as_floats
from princomp.summaries.centred import Centred, Names, check_range, column_name
from princomp.summaries.extremes import Extremes

# Number of columns that a hint lists.
_MAX_LISTED = 10


def divisors(
    scale: str | ArrayLike,
    summary: Centred,
    extremes: Extremes | None = None,
    names: Names = None,
    constant: str | None = None,
) -> FloatArray:
    """Return the divisors of the columns (p,).

    With ``constant="zero"`` or ``"drop"``, constant columns are divided by 1: they are zero after
    centring, so no component depends on them. Estimators without this parameter pass None.

    Raises
    ------
    ConstantColumnError
        If columns are constant; names them.
    NotAvailableError
        If scaling by range is asked for and the fit did not keep the ranges.
    NotFiniteError
        If squares overflow, or are so small that they lost digits in float64.
    ColumnError
        If ``scale`` is a series whose labels are the names in another order.
    """
    check_range(summary, names, each=True)
    if not isinstance(scale, str):
        divisor = checked_divisors(scale, summary.p, names)
        _check_scaled_squares(summary, divisor)
        return divisor
    deviation = np.sqrt(summary.column_scatter / (summary.rows - 1.0))
    if scale == "unit":
        divisor = deviation
    elif scale == "pareto":
        divisor = np.sqrt(deviation)
    elif extremes is None:
        raise NotAvailableError(
            "the range of the columns was not kept by this fit",
            hint="fit with scale='range', or give the ranges as an array",
        )
    else:
        divisor = extremes.high - extremes.low
    zero_columns = np.flatnonzero(divisor == 0)
    if not zero_columns.size:
        return divisor
    if constant in ("zero", "drop"):
        return np.where(divisor == 0, 1.0, divisor)
    listed = ", ".join(f"column {column_name(names, c)!r}" for c in zero_columns[:5])
    others = "" if zero_columns.size <= 5 else f" and {zero_columns.size - 5} more"
    hint = f"leave the constant column{'s' * (zero_columns.size > 1)} out, or set constant='drop'"
    raise ConstantColumnError(
        f"scale={scale!r} cannot divide by the spread of a constant column: {listed}{others}",
        place={"column": column_name(names, zero_columns[0])},
        hint=f"{leave_out_hint(zero_columns, names) if constant is None else hint}; "
        "scale can also be an array of divisors",
    )


def leave_out_hint(columns: NDArray[np.intp], names: Names) -> str:
    """Say how to leave out these columns, all of which are listed."""
    listed = [column_name(names, column) for column in columns.tolist()]
    plural = "s" * (len(listed) > 1)
    other = "an array, numpy.delete(X, […], axis=1)"
    if names is not None:
        other = f"a frame, drop(columns={listed!r})"
    return f"exclude={listed!r} of read_table leaves the column{plural} out; of {other} does"


def check_order_of_labels(
    parameter: str, values: object, names: Iterable[Any] | None, table: str | None
) -> None:
    """Raise an error if a series is labelled with the names of the columns in another order.

    Parameters
    ----------
    parameter : str
        Name of the parameter in messages.
    values : array-like
        One number for each column. Only a series of pandas has labels.
    names : sequence, optional
        Labels of the columns of the table.
    table : str, optional
        Name of the table in the hint, "X" or "C"; None if it does not have just these columns.

    Raises
    ------
    ColumnError
    """
    if names is None or not hasattr(values, "keys"):
        return
    labels, columns = list(map(str, values.keys())), list(map(str, names))
    if labels != columns and sorted(labels) == sorted(columns):
        in_order = f"{parameter}[list({table}.columns)]"
        if table is None:
            in_order = f"{parameter} in the order of the columns"
            if len(columns) <= _MAX_LISTED:
                in_order = f"{parameter}[{columns}]"
        raise ColumnError(
            f"the labels of {parameter} are those of the columns in another order",
            place={"parameter": parameter},
            hint=f"give {in_order}, or {parameter}.to_numpy() if only the labels are wrong",
        )


def checked_divisors(scale: ArrayLike, p: int, names: Names) -> FloatArray:
    """Return a copy of the divisors that a user gave.

    Raises
    ------
    ShapeError, ColumnError, ParameterError
    """
    divisor = as_floats(scale, "scale")
    if divisor.shape != (p,):
        raise ShapeError(
            f"scale has shape {divisor.shape}, and there are {p} columns",
            place={"parameter": "scale"},
            hint=f"give one divisor a column: an array of shape ({p},)",
        )
    check_order_of_labels("scale", scale, names, None)
    invalid = np.flatnonzero(~(np.isfinite(divisor) & (divisor > 0)))
    if invalid.size:
        raise ParameterError(
            f"scale must be positive and finite, got {divisor[invalid[0]]:g} "
            f"for column {column_name(names, invalid[0])!r}",
            place={"parameter": "scale", "column": column_name(names, invalid[0])},
            hint="give 1 for a constant column, and for one that is not to be scaled",
        )
    return divisor.copy()


def _check_scaled_squares(summary: Centred, divisor: FloatArray) -> None:
    """Raise NotFiniteError if the squares of the divided columns overflow or vanish."""
    squares = summary.column_scatter
    with np.errstate(over="ignore"):
        scaled = squares / divisor / divisor
    if not np.isfinite(scaled).all() or (squares.any() and not scaled.any()):
        raise NotFiniteError(
            "the squares of the columns, divided by scale, leave the range of float64",
            place={"parameter": "scale"},
            hint="multiply scale by a power of ten: only the unit of the components changes",
        )
