"""The parameters of a RobustPCA: what is lawful, and what columns are divided by."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ConstantColumnError, ParameterError, ShapeError
from princomp.parameters import is_a
from princomp.scaling import Names, divisors
from princomp.seeds import check_random_state
from princomp.summaries import Columns

__all__ = ["check_asked", "count_of", "deviations", "divisors_of"]

# A deviation of normal rows over their median absolute deviation.
_MAD = 1.4826022185056018


def check_asked(model: Any) -> None:
    """Refuse unlawful parameters of a RobustPCA.

    Raises
    ------
    ParameterError
    """
    k: Any = model.n_components
    support = model.support
    whole_k = is_a(k, Integral) and k >= 1
    share_k = is_a(k, Real) and not is_a(k, Integral) and 0 < k < 1
    scale_ok = not isinstance(model.scale, str) or model.scale == "mad"
    many = model.n_directions
    for name, lawful, hint in (
        ("n_components", k is None or whole_k or share_k, "None, 1 or more, or a share"),
        ("support", is_a(support, Real) and 0.5 <= support <= 1, "a share from 0.5 to 1"),
        ("n_directions", is_a(many, Integral) and many >= 1, "a whole number, such as 250"),
        ("scale", scale_ok, "None, 'mad' or one divisor a column"),
    ):
        if not lawful:
            raise ParameterError(
                f"{name}={getattr(model, name)!r} is not lawful",
                place={"parameter": name},
                hint=f"{name} must be {hint}",
            )
    check_random_state(model.random_state)


def count_of(wanted: Any, n: int, p: int) -> Any:
    """How many components are asked for of rows (n, p); a share or None as it is.

    Raises
    ------
    ShapeError
        For fewer than two rows, or more components than half the rows can tell.
    """
    if n < 2:
        raise ShapeError(
            f"a variance needs at least 2 rows, and there is 1 sample (n_samples = {n})",
            hint="give more rows",
        )
    if not is_a(wanted, Integral):
        return wanted
    most = min(p, max((n - 1) // 2, 1))
    if wanted > most:
        by_rows = most < p
        if by_rows:
            why = f"half of {n} rows must tell a covariance"
        else:
            why = f"there {'is 1 column' if p == 1 else f'are {p} columns'}"
        raise ShapeError(
            f"n_components={wanted} must be {f'between 1 and {most}' if most > 1 else 1}: {why}",
            place={"parameter": "n_components"},
            hint=f"ask for {most} or fewer{', or give more rows' * by_rows}",
        )
    return int(wanted)


def deviations(rows: FloatArray) -> FloatArray:
    """Standard deviations of columns (p,), though half of the rows may be anything."""
    rows = rows.astype(np.float64, copy=False)
    found: FloatArray = _MAD * np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
    return found


def divisors_of(scale: Any, rows: FloatArray, columns: Names) -> FloatArray | None:
    """What the columns are divided by."""
    if scale is None:
        return None
    n, p = rows.shape
    if not isinstance(scale, str):
        none = np.zeros(p)
        return divisors(scale, Columns(float(n), n, none, none, none), None, columns)
    deviation = deviations(rows)
    flat = np.flatnonzero(deviation == 0)
    if flat.size:
        name = int(flat[0]) if columns is None else columns[flat[0]]
        raise ConstantColumnError(
            f"scale='mad' cannot divide by the spread of column {name!r}: half of its values "
            "or more are the same",
            place={"column": name},
            hint="leave the column out, or give scale an array of divisors",
        )
    return deviation
