"""Check a fit against its rows: residuals that do not depend on the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp.core.certificate import Certificate
from princomp.core.context import FitContext, safe_divisor
from princomp.core.fitted_model import PCAModel
from princomp.core.inputs import attach_weights, checked_weights
from princomp.core.request import Request
from princomp.errors import NotAvailableError, NotFiniteError, ShapeError
from princomp.io import not_finite_error
from princomp.linalg import FloatArray, one_blas_thread
from princomp.solvers import ImagesOf
from princomp.summaries import Columns, SampleWeight, safe_exponent

# Relative difference of two sums of the weights of the same rows, which is due to rounding.
_WEIGHT_TOLERANCE = 1e-9


def verify_table(model: PCAModel, X: Any, sample_weight: SampleWeight = None) -> Certificate:
    """Return the certificate of a fit, with residuals measured in one more pass over the rows.

    Each block is centred, scaled and multiplied with the axes in float64, so the residuals include
    what was lost in the summary.

    Parameters
    ----------
    model : PCAModel
    X, sample_weight
        As for :meth:`princomp.PCA.verify`.

    Raises
    ------
    ShapeError
        If these are not the rows of the fit: their number or weight differs.
    NotFiniteError
        For NaN or infinity.
    NotAvailableError
        If the fit filled missing cells, or its mean or number of rows is not known.
    """
    X, sample_weight = attach_weights(X, sample_weight)
    data, names, origin = model.schema.open(X)
    weights = checked_weights(sample_weight, data.shape[0])
    request, fitted = Request.of(model.parameters), model.result
    # If no cell was filled, the rows with NaN have no known cell, and the fit left them out.
    request = request._replace(drop=request.drop or request.fill is not None)
    if fitted.filled is not None and fitted.filled.cells:
        raise NotAvailableError(
            "this fit filled missing cells, so its rows are not those given",
            hint="fill the rows first (model.impute), and fit and check the filled rows",
        )
    fitted.require_mean()
    fitted.row_count("residuals against rows")
    summary, columns = fitted.summary, fitted.columns
    scaled = columns if fitted.scale is None else columns.scaled(fitted.scale)
    exponent = safe_exponent(scaled.column_scatter, np.dtype(np.float64))
    divisor = safe_divisor(fitted.scale, exponent, fitted.p)
    axes: FloatArray = fitted.spectrum.axes[: fitted.k]
    centring = columns if fitted.centred else columns.about_origin()
    kind = ImagesOf(np.ascontiguousarray(axes.T), centring, divisor)
    fit = FitContext(request, request.problem(data), data, weights, names)
    try:
        folded = _images_of_rows(fit, kind)
    except NotFiniteError as error:
        raise not_finite_error(data, error, columns=names, origin=origin) from None
    if not abs(folded.rows - summary.rows) <= _WEIGHT_TOLERANCE * summary.rows:
        raise ShapeError(
            f"these are not the rows of the fit: it stands for {summary.rows:,.10g} rows, "
            f"and these are {folded.rows:,.10g}",
            place={"rows": folded.rows, "fitted": summary.rows},
            hint="give the rows (and sample_weight) that the model was fitted to"
            if request.decay == 1.0
            else "with decay, give sample_weight=decay**age: the last row has age 0",
        )
    if not fitted.spectrum.largest > 0.0:
        residuals = np.linalg.norm(folded.image, axis=0)
    else:
        size = np.ldexp(fitted.spectrum.largest, -2 * exponent) * (summary.rows - 1.0)
        shares = fitted.variances / fitted.spectrum.largest
        residuals = np.linalg.norm(folded.image / size - axes.T * shares, axis=0)
    return replace(fitted.certificate, residuals=residuals, against_rows=True)


def _images_of_rows(fit: FitContext, kind: ImagesOf) -> Any:
    """Make the pass over the rows.

    Raises
    ------
    NotFiniteError
    """
    with one_blas_thread():
        folded = fit.fold(kind, "check", precise=True).summary
        if np.isfinite(folded.image).all():
            return folded
        if not fit.problem.repeatable:
            raise NotFiniteError(
                "the rows contain NaN or infinity, or their products overflow, and they can be "
                "read only once",
                hint="give a function that makes a new iterator to see where: "
                "model.verify(lambda: batches())",
            )
        fit.fold(Columns, "check")  # raises, with the place of the value
    return folded
