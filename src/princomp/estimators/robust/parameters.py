"""Checks of the parameters of a RobustPCA, and divisors of columns."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from princomp.core import (
    array_like,
    check_parameters,
    fraction,
    is_number,
    number,
    one_of,
    whole_number,
)
from princomp.errors import ConstantColumnError, ShapeError
from princomp.linalg import FloatArray, check_random_state
from princomp.summaries import Columns, Names, column_name, divisors

if TYPE_CHECKING:
    from princomp.estimators.robust.estimator import RobustPCA

_CONSTRAINTS = {
    "n_components": one_of(None) | whole_number(1) | fraction(),
    "support": number(0.5, 1),
    "n_directions": whole_number(1),
    "component_names": one_of("PC", "sklearn"),
    "scale": one_of(None, "mad") | array_like("one divisor per column"),
}

# Standard deviation of normal rows over their median absolute deviation.
_MAD = 1.4826022185056018


def check_robust_parameters(model: RobustPCA) -> None:
    """Refuse invalid parameters.

    Raises
    ------
    ParameterError
    """
    check_parameters(model, _CONSTRAINTS)
    check_random_state(model.random_state)


def component_count(n_components: int | float | None, n: int, p: int) -> int | float | None:
    """Check the number of components for rows (n, p); return a share or None unchanged.

    Raises
    ------
    ShapeError
        For fewer than two rows, or more components than half of the rows can determine.
    """
    if n < 2:
        raise ShapeError(
            f"a variance needs at least 2 rows, got n_samples = {n}",
            hint="pass more rows",
        )
    if n_components is None or not is_number(n_components, Integral):
        return n_components
    limit = min(p, max((n - 1) // 2, 1))
    if n_components > limit:
        limited_by_rows = limit < p
        if limited_by_rows:
            why = f"half of {n} rows must determine a covariance"
        else:
            why = f"there {'is 1 column' if p == 1 else f'are {p} columns'}"
        raise ShapeError(
            f"n_components={n_components} must be "
            f"{f'between 1 and {limit}' if limit > 1 else 1}: {why}",
            place={"parameter": "n_components"},
            hint=f"set n_components to {limit} or less{', or pass more rows' * limited_by_rows}",
        )
    return int(n_components)


def robust_deviations(rows: FloatArray) -> FloatArray:
    """Compute robust standard deviations of columns (p,), by the median absolute deviation."""
    rows = rows.astype(np.float64, copy=False)
    found: FloatArray = _MAD * np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
    return found


def column_divisors(
    scale: str | npt.ArrayLike | None, rows: FloatArray, columns: Names
) -> FloatArray | None:
    """Compute the divisors of the columns."""
    if scale is None:
        return None
    n, p = rows.shape
    if not isinstance(scale, str):
        zeros = np.zeros(p)
        return divisors(scale, Columns(float(n), n, zeros, zeros, zeros), None, columns)
    deviation = robust_deviations(rows)
    flat = np.flatnonzero(deviation == 0)
    if flat.size:
        name = column_name(columns, flat[0])
        raise ConstantColumnError(
            f"scale='mad' cannot divide by the spread of column {name!r}: half of its values "
            "or more are the same",
            place={"column": name},
            hint="leave the column out; scale can also be an array of divisors",
        )
    return deviation
