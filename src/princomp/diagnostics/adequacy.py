"""Whether columns have enough in common for a PCA: Bartlett's sphericity, Kaiser's KMO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy import stats

from princomp.arrays import FloatArray
from princomp.diagnostics.given import row_count, state_of, variable_names
from princomp.diagnostics.tables import checked_frame, table
from princomp.errors import ConstantColumnError, DataError, NotAvailableError, ShapeError
from princomp.fitted import Fitted
from princomp.summaries import Moments, Triangle

__all__ = ["Bartlett", "Kmo", "bartlett", "kmo"]


@dataclass(frozen=True)
class Bartlett:
    """Test of the hypothesis that the columns are uncorrelated.

    Parameters
    ----------
    statistic : float
        χ²; infinite where columns depend on each other exactly.
    df : int
    p_value : float
    """

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True)
class Kmo:
    """Kaiser–Meyer–Olkin measure of sampling adequacy.

    Parameters
    ----------
    overall : float
        In [0, 1]; below 0.5 Kaiser called it unacceptable.
    variables : frame
        ``variable`` and ``kmo`` of each.
    """

    overall: float
    variables: Any


def bartlett(model: Any) -> Bartlett:
    """Bartlett's test of sphericity, from the correlations in the model's summary.

    χ² = −(n − 1 − (2p + 5)/6) ln |R| on p(p − 1)/2 degrees of freedom.

    Parameters
    ----------
    model : PCA
        Fitted, by a route that kept a scatter.

    Returns
    -------
    Bartlett

    Raises
    ------
    NotAvailableError
        Where no scatter was kept, or the number of rows is not known.
    ConstantColumnError
        Naming a column without spread.
    ShapeError
        For one column, or no more rows than columns.

    Notes
    -----
    Bartlett (1950). It supposes normal rows; with many rows it rejects nearly always.
    """
    fitted = state_of(model)
    n = row_count(fitted, "degrees of freedom")
    correlation = _correlation(model, fitted)
    p = fitted.p
    rows = min(n, fitted.analysed.count)
    if rows <= p:
        raise ShapeError(
            f"{rows:g} rows of {p} columns have a singular correlation matrix, "
            "whatever the columns have in common",
            hint="the test needs more rows than columns",
        )
    factor = n - 1.0 - (2 * p + 5) / 6.0
    if factor <= 0:
        raise ShapeError(
            f"{n:g} rows are too few for Bartlett's test of {p} columns",
            hint=f"it needs more than {1 + (2 * p + 5) / 6:.1f}",
        )
    df = p * (p - 1) // 2
    values = scipy.linalg.eigvalsh(correlation)
    if values[0] <= _noise(fitted):
        return Bartlett(float("inf"), df, 0.0)
    statistic = max(-factor * float(np.log(values).sum()), 0.0)
    return Bartlett(statistic, df, float(stats.chi2.sf(statistic, df)))


def kmo(model: Any, *, frame: str | None = None) -> Kmo:
    """Kaiser–Meyer–Olkin: squared correlations against squared partial correlations.

    Parameters
    ----------
    model : PCA
        Fitted, by a route that kept a scatter.
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
        Where a column is a combination of others, so that no partial correlation exists.

    Notes
    -----
    Kaiser (1974), "An index of factorial simplicity".
    """
    fitted = state_of(model)
    kind = checked_frame(frame, model)
    correlation = _correlation(model, fitted)
    values, vectors = scipy.linalg.eigh(correlation)
    if values[0] <= _noise(fitted):
        names = variable_names(model)
        shares = np.abs(vectors[:, 0])
        listed = ", ".join(repr(names[j]) for j in np.argsort(-shares)[:5] if shares[j] > 1e-6)
        raise DataError(
            f"the correlation matrix is singular: columns depend on each other ({listed})",
            place={"column": names[int(np.argmax(shares))]},
            hint="leave one of them out, or give more rows than columns",
        )
    inverse = (vectors / values) @ vectors.T
    deviations = np.sqrt(inverse.diagonal())
    partial = inverse / np.outer(deviations, deviations)
    r2, p2 = correlation**2, partial**2
    np.fill_diagonal(r2, 0.0)
    np.fill_diagonal(p2, 0.0)
    with np.errstate(invalid="ignore"):
        each = r2.sum(axis=0) / (r2 + p2).sum(axis=0)
        overall = r2.sum() / (r2 + p2).sum()
    return Kmo(float(overall), table({"variable": variable_names(model), "kmo": each}, kind))


def _noise(fitted: Fitted) -> float:
    """What rounding makes of an eigenvalue of a correlation matrix that is zero."""
    return 8.0 * fitted.p * float(fitted.summary.held().effective_unit)


def _correlation(model: Any, fitted: Fitted) -> FloatArray:
    """Correlations (p, p) of the columns as given."""
    if fitted.p < 2:
        raise ShapeError("one column has nothing to correlate with", hint="fit two columns or more")
    deviations = np.sqrt(fitted.summary.column_scatter)
    constant = np.flatnonzero(deviations == 0)
    if constant.size:
        names = variable_names(model)
        listed = ", ".join(repr(names[j]) for j in constant[:5])
        raise ConstantColumnError(
            f"a constant column has no correlation: {listed}",
            place={"column": names[constant[0]]},
            hint="leave out the constant columns",
        )
    summary = fitted.summary.held()
    if isinstance(summary, Moments):
        found = summary.scatter / deviations / deviations[:, None]
    elif isinstance(summary, Triangle):
        factor = summary.factor / deviations
        found = factor.T @ factor
    else:
        raise NotAvailableError(
            f"correlations of the columns need their scatter, and this fit kept {summary.kind}",
            hint="fit with svd_solver='covariance_eigh' or 'full'",
        )
    np.fill_diagonal(found, 1.0)
    return found
