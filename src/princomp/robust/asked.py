"""The parameters of a RobustPCA: what is lawful, and what columns are divided by."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ConstantColumnError, ParameterError
from princomp.parameters import is_a
from princomp.scaling import Names, divisors
from princomp.summaries import Columns

__all__ = ["check_asked", "divisors_of"]

# A deviation of normal rows over their median absolute deviation.
_MAD = 1.4826022185056018


def check_asked(model: Any) -> None:
    """Refuse unlawful parameters of a RobustPCA.

    Raises
    ------
    ParameterError
    """
    k: Any = model.n_components
    support, seed = model.support, model.random_state
    whole_k = is_a(k, Integral) and k >= 1
    share_k = is_a(k, Real) and not is_a(k, Integral) and 0 < k < 1
    scale_ok = not isinstance(model.scale, str) or model.scale == "mad"
    many = model.n_directions
    for name, lawful, hint in (
        ("n_components", k is None or whole_k or share_k, "None, 1 or more, or a share"),
        ("support", is_a(support, Real) and 0.5 <= support <= 1, "a share from 0.5 to 1"),
        ("n_directions", is_a(many, Integral) and many >= 1, "a whole number, such as 250"),
        ("scale", scale_ok, "None, 'mad' or one divisor a column"),
        (
            "random_state",
            seed is None or (is_a(seed, Integral) and seed >= 0),
            "None or a whole number of at least 0",
        ),
    ):
        if not lawful:
            raise ParameterError(
                f"{name}={getattr(model, name)!r} is not lawful",
                place={"parameter": name},
                hint=f"{name} must be {hint}",
            )


def divisors_of(scale: Any, rows: FloatArray, columns: Names) -> FloatArray | None:
    """What the columns are divided by."""
    if scale is None:
        return None
    n, p = rows.shape
    if not isinstance(scale, str):
        none = np.zeros(p)
        return divisors(scale, Columns(float(n), n, none, none, none), None, columns)
    deviation = _MAD * np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
    flat = np.flatnonzero(deviation == 0)
    if flat.size:
        name = int(flat[0]) if columns is None else columns[flat[0]]
        raise ConstantColumnError(
            f"scale='mad' cannot divide by the spread of column {name!r}: half of its values "
            "or more are the same",
            place={"column": name},
            hint="leave the column out, or give scale an array of divisors",
        )
    return np.asarray(deviation)
