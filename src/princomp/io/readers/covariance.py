"""Validate a covariance or correlation matrix and means that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from princomp.errors import ColumnError, NotFiniteError, ShapeError
from princomp.linalg import FloatArray, as_floats


def check_order_of_rows(C: Any) -> None:
    """Raise ColumnError for a frame of pandas whose rows have another order than its columns."""
    if hasattr(C, "loc"):
        rows, columns = list(map(str, C.index)), list(map(str, C.columns))
        if rows != columns and sorted(rows) == sorted(columns):
            raise ColumnError(
                "the rows of C are in another order than its columns",
                place={"parameter": "C"},
                hint="give C.loc[C.columns], or C.to_numpy() if only the labels are wrong",
            )


def checked_covariance(C: ArrayLike) -> FloatArray:
    """Return a copy of C (p, p) as float64, exactly symmetric.

    Raises
    ------
    ParameterError, ShapeError, NotFiniteError
        C is not square, symmetric, finite and positive semi-definite.
    """
    matrix = as_floats(C, "C")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ShapeError(
            f"a covariance is square, got shape {matrix.shape}", hint="PCA().fit(X) takes rows"
        )
    if not np.isfinite(matrix).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        problem = f"the covariance holds {matrix[row, column]} at C[{row}, {column}]"
        hint = "compute it from rows without missing values"
        raise NotFiniteError(problem, place={"row": row, "column": column}, hint=hint)
    largest = float(np.abs(matrix).max())
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > 1e-8 * largest:
        row, column = (int(i) for i in np.unravel_index(int(asymmetry.argmax()), asymmetry.shape))
        raise ShapeError(
            f"a covariance is symmetric, but C[{row}, {column}] = {matrix[row, column]:g} and "
            f"C[{column}, {row}] = {matrix[column, row]:g}",
            place={"row": row, "column": column},
            hint="(C + C.T) / 2 is symmetric, if the difference is only rounding",
        )
    matrix = (matrix + matrix.T) / 2
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-8 * len(matrix) * largest:
        problem = f"a covariance has no negative eigenvalue, but C has {lowest:g}"
        hint = (
            "covariances computed pair by pair, as pandas does if cells are missing, can have "
            "some; fit the rows instead: PCA(missing='drop').fit(X), or missing='em'"
        )
        raise ShapeError(problem, hint=hint)
    return matrix


def checked_mean(mean: ArrayLike, p: int) -> FloatArray:
    """Return column means (p,), given one number for all columns or one for each.

    Raises
    ------
    ShapeError
        For another number of means, and for those that are not finite.
    """
    centre = as_floats(mean, "mean")
    if centre.ndim == 0:
        centre = np.full(p, float(centre))
    if centre.shape != (p,) or not np.isfinite(centre).all():
        problem = f"mean must be {p} finite numbers, got an array of shape {centre.shape}"
        hint = "give one mean a column, or mean=0 for rows already centred"
        raise ShapeError(problem, place={"parameter": "mean"}, hint=hint)
    return centre
