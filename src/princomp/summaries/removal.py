"""Errors of the summary that is left when rows are removed, and columns that become constant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ShapeError
from princomp.linalg import FloatArray
from princomp.summaries.centred import Centred

# A column may be constant if its scatter is below this many times the unit roundoff of the scatter
# that it had.
ROUNDING = 64
_SUBNORMAL = np.finfo(np.float64).smallest_subnormal


def lost_by_removing(whole: Centred, part: Centred, remaining: FloatArray) -> FloatArray:
    """Errors (p,) of the column scatters ``remaining`` when ``part`` is removed from ``whole``.

    The difference keeps the rounding errors of the removed rows: if their values were 10⁶ times
    larger than the others, twelve digits are lost. ``unit`` covers the rounding of the other rows.
    """
    removed = np.maximum(whole.column_scatter - remaining, 0.0)
    lost: FloatArray = whole.unit * removed + part.unit * part.column_scatter
    for summary in (whole, part):
        if summary.lost is not None:
            lost = lost + summary.lost
    return lost


def check_remaining_scatter(whole: Centred, part: Centred, remaining: FloatArray) -> FloatArray:
    """Return the scatter (p,) that a constant column may have from rounding alone.

    If equal numbers are added one by one, all sums round in the same direction: over the 256 rows
    of a chunk, their sum is off by up to 48 units (see docs/explain/numerics.md).

    Raises
    ------
    ShapeError
        If the rows to remove have a larger scatter than all rows.
    """
    error = max(whole.unit, part.unit) * whole.column_scatter
    error += whole.count * _SUBNORMAL  # of products that underflow
    slack = ROUNDING * (error if whole.lost is None else error + whole.lost)
    upper = remaining + whole.p * slack
    if (upper < 0).any():
        column = int(np.argmin(upper))
        raise ShapeError(
            f"the rows to remove spread further in column {column} than all rows do",
            place={"column": column},
            hint="remove only rows that were added before",
        )
    return slack


def lost_by_zeroing(lost: FloatArray, columns: NDArray[np.intp], products: FloatArray) -> None:
    """Add to ``lost`` the error made by setting the products of m constant columns to zero.

    ``products`` has the shape (m, p). ``lost`` (p,) is changed in place; its sum bounds the norm of
    the error. The products count twice: they are rows and columns of the scatter.
    """
    if columns.size:
        lost[columns] += 2.0 * np.sqrt(np.einsum("ij,ij->", products, products)) / columns.size


def constant_columns(
    candidates: NDArray[np.intp], products: FloatArray, slack: FloatArray
) -> NDArray[np.intp]:
    """The columns among ``candidates`` that are constant: all their products are rounding errors.

    Parameters
    ----------
    candidates : ndarray of shape (m,)
        Columns whose scatter may be a rounding error.
    products : ndarray of shape (m, p)
        Rows of the scatter for these columns.
    slack : ndarray of shape (p,)
        See :func:`check_remaining_scatter`.
    """
    # A scatter that underflowed is no evidence that a column is constant; such columns are refused
    # when solving.
    deviations = np.sqrt(np.where(slack >= np.finfo(np.float64).tiny, slack, 0.0))
    noise = np.abs(products) <= deviations[candidates, None] * deviations
    return candidates[noise.all(axis=1)]
