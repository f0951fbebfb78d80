"""What pre-images are made of, checked: scores, and points that are dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import DataError, NotFiniteError, ShapeError
from princomp.summaries.blocks import is_sparse

__all__ = ["checked_scores", "dense_points"]


def checked_scores(scores: Any, k: int) -> FloatArray:
    """Scores (n, k) as an array of float32 or float64.

    Raises
    ------
    ShapeError, NotFiniteError
    """
    made = np.asarray(scores)
    if made.dtype not in (np.float32, np.float64):
        made = made.astype(np.float64)
    if made.ndim != 2 or made.shape[1] != k:
        raise ShapeError(
            f"scores have shape {made.shape}, and there are {k} components",
            hint=f"give an array of shape (n, {k})",
        )
    if not np.isfinite(made).all():
        row, column = np.argwhere(~np.isfinite(made))[0].tolist()
        raise NotFiniteError(
            f"score {column} of row {row} is {made[row, column]}",
            place={"row": row, "column": column},
            hint="leave out rows whose scores are not finite",
        )
    return made


def dense_points(points: Any) -> FloatArray:
    """Rows that pre-images are sums of.

    Raises
    ------
    DataError
        For sparse ones: a pre-image has no zeros to leave out.
    """
    if is_sparse(points):
        raise DataError(
            f"pre-images need dense rows, and these {points.shape[0]:,} are sparse",
            place={"parameter": "pre_image"},
            hint="fit to X.toarray(), or without pre-images",
        )
    return np.asarray(points)
