"""How much of rows each number of components leaves unexplained."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.given import axes_of, row_count, state_of
from princomp.diagnostics.row_blocks import Given
from princomp.diagnostics.tables import checked_frame, table
from princomp.errors import NotFiniteError, ParameterError
from princomp.fitted import Fitted

__all__ = ["reconstruction_error"]


def reconstruction_error(
    model: Any, X: Any = None, weights: Any = None, *, frame: str | None = None
) -> Any:
    """Error of the rows rebuilt from 0, 1, …, k components.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p), optional
        Rows to rebuild, read once. Without it the error of the training rows, which
        follows from the variances.
    weights : array of shape (n,), optional
        Frequencies of the rows of X.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        ``components`` q = 0 … k; ``squared_error``: mean over the rows of ‖x − x̂‖², in
        squared units of the analysed columns; ``rmse``: its root for one cell, √(·/p);
        ``share``: of the error of no component, NaN where that is zero.

    Raises
    ------
    NotAvailableError
        Without X, for a model from a covariance without ``n_samples``.
    NotFiniteError
        When no row is without missing values.
    ParameterError, ShapeError, ColumnError
    """
    fitted = state_of(model)
    came = None
    if X is None:
        if weights is not None:
            raise ParameterError(
                "weights belong to rows, and no rows are given",
                place={"parameter": "weights"},
                hint="give X too; the training rows count as they did in the fit",
            )
        errors = _of_training(fitted)
    else:
        given = Given.of(model, X, weights)
        came = given.kind
        errors = _of_rows(fitted, given)
    kind = checked_frame(frame, model, came)
    contents = {
        "components": np.arange(fitted.k + 1),
        "squared_error": errors,
        "rmse": np.sqrt(errors / fitted.p),
        "share": errors / (errors[0] if errors[0] > 0 else np.nan),
    }
    return table(contents, kind)


def _of_training(fitted: Fitted) -> FloatArray:
    n = row_count(fitted, "errors of the training rows")
    rank = fitted.analysed.rank_limit
    left = [fitted.spectrum.total]
    left += [fitted.spectrum.left_out(q, rank) for q in range(1, fitted.k + 1)]
    return np.minimum.accumulate(left) * ((n - 1.0) / n)


def _of_rows(fitted: Fitted, given: Given) -> FloatArray:
    """Squares off all k axes, and from there up by the squares on each: nothing cancels."""
    axes = axes_of(fitted)
    on, off, total = np.zeros(fitted.k), 0.0, 0.0
    for block in given.blocks():
        weights = np.ones(len(block.rows)) if block.weights is None else block.weights
        scores = block.rows @ axes
        known = np.isfinite(block.rows).all(axis=1)
        scores, rows, weights = scores[known], block.rows[known], weights[known]
        on += weights @ scores**2
        if fitted.k < fitted.p:
            left = rows - scores @ axes.T
            off += float(weights @ np.einsum("ij,ij->i", left, left))
        total += float(weights.sum())
    if not total:
        raise NotFiniteError(
            "no row of X without missing values counts",
            place={"parameter": "X"},
            hint="give rows without NaN, and a weight above 0",
        )
    return (off + np.concatenate([np.cumsum(on[::-1])[::-1], [0.0]])) / total
