"""What columns are divided by: their spread in one of several senses, or given divisors."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import (
    ConstantColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Extremes

__all__ = ["divisors"]

Names = tuple[str, ...] | None


def divisors(
    scale: str | FloatArray | None,
    summary: Any,
    extremes: Extremes | None = None,
    names: Names = None,
) -> FloatArray | None:
    """What the columns are divided by (p,), or None.

    Raises
    ------
    ConstantColumnError
        Naming the columns without spread.
    NotAvailableError
        For a range that was not kept.
    NotFiniteError
        Where squares were so small that float64 lost digits of them.
    """
    _check_underflow(summary, scale is not None, names)
    if scale is None:
        return None
    if isinstance(scale, str):
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
            divisor = extremes.spread
        constant = np.flatnonzero(divisor == 0)
        if constant.size:
            listed = ", ".join(_label(names, c) for c in constant[:5])
            more = "" if constant.size <= 5 else f" and {constant.size - 5} more"
            raise ConstantColumnError(
                f"scale={scale!r} cannot divide by the spread of a constant column: {listed}{more}",
                place={"column": _name(names, constant[0])},
                hint="leave out the constant columns, or give scale an array of divisors",
            )
        return divisor
    return _given_scale(scale, summary.p, names)


def _check_underflow(summary: Any, each: bool, names: Names) -> None:
    """Refuse columns whose squares are subnormal on an average: they have lost digits.

    Unless ``each`` column counts, one of ordinary size makes up for those.
    """
    least = summary.count * np.finfo(np.float64).tiny
    squares = summary.column_scatter
    low = (squares > 0.0) & (squares < least)
    if low.any() and (each or not (squares >= least).any()):
        column = int(np.flatnonzero(low)[0])
        raise NotFiniteError(
            f"the spread of {_label(names, column)} is too small: squares of deviations below "
            "about 1e-154 underflow float64",
            place={"column": _name(names, column)},
            hint="multiply the column by a power of ten, such as 1e150",
        )


def _given_scale(scale: Any, p: int, names: Names) -> FloatArray:
    try:
        divisor = np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"scale={scale!r} holds something that is no number",
            place={"parameter": "scale"},
            hint="scale is None, 'unit', 'pareto', 'range' or one number a column",
        ) from None
    if divisor.shape != (p,):
        raise ShapeError(
            f"scale has shape {divisor.shape}, and there are {p} columns",
            place={"parameter": "scale"},
            hint=f"give one divisor a column: an array of shape ({p},)",
        )
    wrong = np.flatnonzero(~(np.isfinite(divisor) & (divisor > 0)))
    if wrong.size:
        raise ParameterError(
            f"scale must be positive and finite, got {divisor[wrong[0]]:g} "
            f"for {_label(names, wrong[0])}",
            place={"parameter": "scale", "column": _name(names, wrong[0])},
            hint="a column that is not to be scaled has divisor 1",
        )
    return divisor.copy()


def _name(names: Names, column: Any) -> str | int:
    return int(column) if names is None else names[int(column)]


def _label(names: Names, column: Any) -> str:
    return f"column {_name(names, column)!r}"
