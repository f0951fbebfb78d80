"""Reconstruction error by number of components."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core import Fitted, renamed_parameters
from princomp.diagnostics.arguments import shared_docs, warn_without_weights
from princomp.diagnostics.models import axes_of, fitted_of
from princomp.diagnostics.row_reader import RowReader
from princomp.diagnostics.tables import checked_frame, table
from princomp.errors import NotFiniteError, ParameterError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


@renamed_parameters(weights="sample_weight")
@shared_docs
def reconstruction_error(
    model: PCA, X: object = None, sample_weight: SampleWeight = None, *, frame: str | None = None
) -> Any:
    """Compute the error of rows reconstructed from 0, 1, …, k components.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p), optional
        Rows to reconstruct, read once. By default the training rows, whose error follows
        from the variances.
    sample_weight : array of shape (n,), optional
        Frequencies of the rows of X. Without them, every row counts once, with a warning if the
        fit used weights.
    %(frame)s

    Returns
    -------
    frame
        ``components`` q = 0 … k; ``squared_error``: mean over the rows of ‖x − x̂‖², in
        squared units of the analysed columns; ``rmse``: √(squared_error/p);
        ``share``: relative to the error of zero components, NaN if that is zero.

    Raises
    ------
    NotAvailableError
        Without X, for a model from a covariance without ``n_samples``.
    NotFiniteError
        When all rows have missing values.
    ParameterError, ShapeError, ColumnError

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.reconstruction_error(model, frame="listing")
    >>> print(np.round(table["share"], 3))
    [1.   0.16 0.06]
    """
    fitted = fitted_of(model)
    if X is None:
        if sample_weight is not None:
            raise ParameterError(
                "sample_weight was given without X",
                place={"parameter": "sample_weight"},
                hint="give X too; without it, the training rows have the weights of the fit",
            )
        errors, kind = _training_errors(fitted), checked_frame(frame, model)
    else:
        warn_without_weights(fitted, sample_weight, "the errors")
        reader = RowReader.open(model, X, sample_weight, frame=frame)
        errors, kind = _row_errors(reader), reader.frame
    contents = {
        "components": np.arange(fitted.k + 1),
        "squared_error": errors,
        "rmse": np.sqrt(errors / fitted.p),
        "share": errors / (errors[0] if errors[0] > 0 else np.nan),
    }
    return table(contents, kind)


def _training_errors(fitted: Fitted) -> FloatArray:
    n = fitted.row_count("errors of the training rows")
    rank = fitted.analysed.rank_limit
    left_out = [fitted.spectrum.total]
    left_out += [fitted.spectrum.left_out(q, rank) for q in range(1, fitted.k + 1)]
    return np.minimum.accumulate(left_out) * ((n - 1.0) / n)


def _row_errors(reader: RowReader) -> FloatArray:
    """Add squares along each axis to those outside all k axes, so that nothing cancels."""
    fitted = reader.fitted
    axes = axes_of(fitted)
    on_axes, off_axes, total_weight = np.zeros(fitted.k), 0.0, 0.0
    for block in reader.blocks():
        weights = np.ones(len(block.rows)) if block.weights is None else block.weights
        scores = block.rows @ axes
        complete = np.isfinite(block.rows).all(axis=1)
        scores, rows, weights = scores[complete], block.rows[complete], weights[complete]
        on_axes += weights @ scores**2
        if fitted.k < fitted.p:
            residuals = rows - scores @ axes.T
            off_axes += float(weights @ np.einsum("ij,ij->i", residuals, residuals))
        total_weight += float(weights.sum())
    if not total_weight:
        raise NotFiniteError(
            "no row of X is complete and has a positive weight",
            place={"parameter": "X"},
            hint="give rows without NaN and with weights above 0",
        )
    return (off_axes + np.concatenate([np.cumsum(on_axes[::-1])[::-1], [0.0]])) / total_weight
