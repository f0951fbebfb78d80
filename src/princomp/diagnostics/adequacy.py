"""Whether columns are correlated enough for a PCA: Bartlett's test and the KMO measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy import special

from princomp import errors
from princomp.core import Fitted, warn_of_sum_of_weights
from princomp.diagnostics.arguments import ignoring_rows, shared_docs
from princomp.diagnostics.models import (
    fitted_of,
    lost_columns,
    solvers_with_covariance,
    variable_names,
)
from princomp.diagnostics.tables import checked_frame, table
from princomp.estimators import PCA
from princomp.io import listed
from princomp.linalg import FloatArray
from princomp.summaries import Moments, Triangle


@dataclass(frozen=True)
@shared_docs
class Bartlett:
    """Test of the hypothesis that the columns are uncorrelated.

    Parameters
    ----------
    statistic : float
        χ²; infinite if columns are exactly linearly dependent.
    df : int
    p_value : float

    Examples
    --------
    %(example_model)s
    >>> print(f"{diagnostics.bartlett(model).p_value:.2f}")
    0.30
    """

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True)
@shared_docs
class Kmo:
    """Kaiser–Meyer–Olkin measure of sampling adequacy.

    Parameters
    ----------
    overall : float
        Between 0 and 1; Kaiser called values below 0.5 unacceptable.
    variables : frame
        Columns ``variable`` and ``kmo``.

    Examples
    --------
    %(example_model)s
    >>> diagnostics.kmo(model).overall < 1
    True
    """

    overall: float
    variables: Any


@ignoring_rows
@shared_docs
def bartlett(model: PCA) -> Bartlett:
    """Test whether any columns are correlated, by Bartlett's test of sphericity.

    χ² = −(n − 1 − (2p + 5)/6) ln det R on p(p − 1)/2 degrees of freedom.

    Parameters
    ----------
    model : PCA
        Fitted with a solver that stores the covariance.

    Returns
    -------
    Bartlett

    Raises
    ------
    NotAvailableError
        If the covariance is not stored, or the number of rows is not known.
    ConstantColumnError
        For a constant column.
    ShapeError
        For a single column, or for no more rows than columns.

    Warns
    -----
    UserWarning
        If the fit filled missing cells: they agree with the components, so the test finds
        correlations even in noise. Also if n is not whole and larger than the number of rows.

    Notes
    -----
    Bartlett (1950). The test assumes normal rows; with many rows it nearly always rejects. If rows
    have weights, n is their sum.

    Examples
    --------
    %(example_model)s
    >>> test = diagnostics.bartlett(model)
    >>> print(f"{test.statistic:.2f}", test.df)
    3.62 3
    """
    fitted = fitted_of(model)
    n = fitted.row_count("degrees of freedom")
    correlation = _correlation(model, fitted)
    p = fitted.p
    rows, factor = min(n, fitted.analysed.count), n - 1.0 - (2 * p + 5) / 6.0
    if rows <= p or factor <= 0:
        hint = f"the test needs at least {p + 1} rows"
        if fitted.faded_by is not None:
            hint += "; with decay, the number of rows is the sum of their weights"
        problem = f"{rows:g} rows are too few for Bartlett's test of {p} columns"
        raise errors.ShapeError(problem, hint=hint)
    _warn_of_filled_cells(fitted, "Bartlett's test rejects too often")
    if fitted.faded_by is None:
        warn_of_sum_of_weights(fitted.n_samples, n)
    df = p * (p - 1) // 2
    values = scipy.linalg.eigvalsh(correlation)
    if values[0] <= _rounding_error(fitted):
        return Bartlett(float("inf"), df, 0.0)
    statistic = max(0.0, -factor * float(np.log(values).sum()))  # never -0.0
    return Bartlett(statistic, df, float(special.chdtrc(df, statistic)))


@ignoring_rows
@shared_docs
def kmo(model: PCA, *, frame: str | None = None) -> Kmo:
    """Compute the Kaiser–Meyer–Olkin measure of sampling adequacy.

    It compares squared correlations with squared partial correlations.

    Parameters
    ----------
    model : PCA
        Fitted with a solver that stores the covariance.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table of variables.

    Returns
    -------
    Kmo
        NaN for a variable without any correlation.

    Raises
    ------
    NotAvailableError, ConstantColumnError, ShapeError
        As :func:`bartlett`.
    DataError
        If columns are linearly dependent, so that partial correlations do not exist.

    Warns
    -----
    UserWarning
        As :func:`bartlett`.

    Notes
    -----
    Kaiser (1974), "An index of factorial simplicity".

    Examples
    --------
    %(example_model)s
    >>> print(f"{diagnostics.kmo(model).overall:.2f}")
    0.55
    """
    fitted = fitted_of(model)
    kind = checked_frame(frame, model)
    correlation = _correlation(model, fitted)
    values, vectors = scipy.linalg.eigh(correlation)
    if values[0] <= _rounding_error(fitted):
        names = variable_names(model)
        coefficients = np.abs(vectors[:, 0])
        involved = [repr(names[j]) for j in np.argsort(-coefficients) if coefficients[j] > 1e-6]
        raise errors.DataError(
            "the correlation matrix is singular: these columns are linearly dependent: "
            + listed(involved, 5),
            place={"column": names[int(np.argmax(coefficients))]},
            hint="leave one of them out, or fit more rows than columns",
        )
    _warn_of_filled_cells(fitted, "the Kaiser–Meyer–Olkin measure is too large")
    inverse = (vectors / values) @ vectors.T
    deviations = np.sqrt(inverse.diagonal())
    partial = inverse / np.outer(deviations, deviations)
    r2, p2 = correlation**2, partial**2
    np.fill_diagonal(r2, 0.0)
    np.fill_diagonal(p2, 0.0)
    with np.errstate(invalid="ignore"):
        by_variable = r2.sum(axis=0) / (r2 + p2).sum(axis=0)
        overall = r2.sum() / (r2 + p2).sum()
    return Kmo(float(overall), table({"variable": variable_names(model), "kmo": by_variable}, kind))


def _warn_of_filled_cells(fitted: Fitted, consequence: str) -> None:
    """Warn that filled cells agree with the components, so that columns seem correlated."""
    filled = fitted.filled
    if filled is not None and filled.cells:
        errors.warn(
            f"{errors.counted(filled.cells, 'cell')} ({filled.share:.2%}) of the fit were filled, "
            f"and agree with the components, so {consequence}. missing='drop' uses complete rows "
            "only"
        )


def _rounding_error(fitted: Fitted) -> float:
    """Rounding error of a zero eigenvalue of a correlation matrix."""
    summary = fitted.summary.to_host()
    lost = 0.0 if summary.lost is None else float((summary.lost / summary.column_scatter).max())
    return fitted.p * (8.0 * float(summary.unit) + lost)


def _correlation(model: PCA, fitted: Fitted) -> FloatArray:
    """Correlations (p, p) of the columns."""
    if fitted.p < 2:
        raise errors.ShapeError("one column has no correlations", hint="fit two or more columns")
    deviations = np.sqrt(fitted.summary.column_scatter)
    constant = np.flatnonzero(deviations == 0)
    if constant.size:
        names = variable_names(model)
        raise errors.ConstantColumnError(
            "constant columns have no correlations: "
            + listed((repr(names[j]) for j in constant), 5),
            place={"column": names[constant[0]]},
            hint="leave out the constant columns",
        )
    if (lost := np.flatnonzero(lost_columns(fitted.summary))).size:
        name = variable_names(model)[lost[0]]
        raise errors.NotAvailableError(
            f"the removed rows were so large that rounding hides correlations of column {name!r}",
            place={"column": name},
            hint="fit the rows that remain",
        )
    summary = fitted.summary.to_host()
    if isinstance(summary, Moments):
        correlation = summary.scatter / deviations / deviations[:, None]
    elif isinstance(summary, Triangle):
        factor = summary.factor / deviations
        correlation = factor.T @ factor
    else:
        raise errors.NotAvailableError(
            "correlations need the covariance, which this fit did not keep",
            hint=f"refit with {solvers_with_covariance(fitted)}",
        )
    np.fill_diagonal(correlation, 1.0)
    return correlation
