"""What the columns of a kernel PCA are divided by, found in one pass over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.engines.local import fold
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.kernel_pca.asked import Asked
from princomp.scaling import Names, divisors
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries import Columns, Extremes, PairOf
from princomp.summaries.blocks import Weights

__all__ = ["with_divisors"]


def with_divisors(
    asked: Asked, rows: Any, weights: Weights, columns: Names, file: str | None
) -> Asked:
    """The parameters with the divisors that ``scale`` asks for.

    Parameters
    ----------
    asked : Asked
    rows : ndarray, CSR array or Source of shape (n, p)
        Rows on an engine carry their weights.
    weights : ndarray of shape (n,), optional
    columns, file : optional
        What messages call them.

    Raises
    ------
    ConstantColumnError, NotFiniteError, ShapeError
    ParameterError
        For divisors that are none, and for rows that can be read only once.
    """
    if asked.scale is None:
        return asked
    if not isinstance(asked.scale, str):
        none = np.zeros(rows.shape[1])
        known = Columns(1.0, 1, none, none, none)
        return asked._replace(divisors=divisors(asked.scale, known, None, columns))
    return asked._replace(divisors=_spread(asked, rows, weights, columns, file))


def _spread(
    asked: Asked, rows: Any, weights: Weights, columns: Names, file: str | None
) -> FloatArray | None:
    if isinstance(rows, Source) and not rows.repeatable:
        raise ParameterError(
            f"scale={asked.scale!r} reads the rows once more, and these can be read only once",
            place={"parameter": "scale"},
            hint="give scale an array of divisors, or the rows as an array, a file or a function "
            "that makes an iterator",
        )
    by_range = asked.scale == "range"
    kind: Any = PairOf(Columns, Extremes) if by_range else Columns
    try:
        found = fold(kind, rows, weights, drop=asked.missing == "drop", step_name="scale").summary
    except NotFiniteError as error:
        raise refuse_not_finite(rows, error, columns=columns, file=file) from None
    summary, extremes = (found.first, found.second) if by_range else (found, None)
    if not summary.rows > 1:
        raise ShapeError(
            f"scale={asked.scale!r} needs the spread of at least two rows",
            place={"parameter": "scale"},
            hint="give more rows, or scale as an array of divisors",
        )
    return divisors(asked.scale, summary, extremes, columns)
