"""The protocol of pre-image methods, and the checks that they share."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from princomp.errors import DataError, NotFiniteError, ShapeError, row_words
from princomp.io import RowArray
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


class PreImages(Protocol):
    """A map from scores back to rows, fitted to one kernel PCA.

    Laws
    ----
    - The result of ``rows`` has the precision of the scores and the units of the data.
    - A row of the result depends on the scores of that row only.
    - A wrong number of scores per row raises ShapeError, and scores that are not finite raise
      NotFiniteError.
    """

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (n, p) whose images lie near the projections with scores (n, k)."""


def checked_scores(scores: npt.ArrayLike, k: int) -> FloatArray:
    """Convert scores (n, k) to an array of float32 or float64.

    Raises
    ------
    ShapeError, NotFiniteError
    """
    array = np.asarray(scores)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] != k:
        raise ShapeError(
            f"scores have shape {array.shape}, and there are {k} components",
            hint=f"give an array of shape (n, {k})",
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise NotFiniteError(
            f"score {column} of {row_words(row)} is {array[row, column]}",
            place={"row": row, "column": column},
            hint="remove rows whose scores are not finite",
        )
    return array


def dense_points(points: RowArray) -> FloatArray:
    """Return points as an array.

    Raises
    ------
    DataError
        For sparse points: their pre-images would be dense.
    """
    if is_sparse(points):
        raise DataError(
            f"pre-images need dense rows, and these {points.shape[0]:,} are sparse",
            place={"parameter": "pre_image"},
            hint="fit to X.toarray(), or without pre-images",
        )
    return np.asarray(points)
