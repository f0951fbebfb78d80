"""Tables of variables and of rows, by component: axes and loadings, scores, cos², contributions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from princomp.core import Fitted, renamed_parameters
from princomp.diagnostics.arguments import (
    Components,
    Selection,
    ignoring_rows,
    select_components,
    shared_docs,
    warn_without_weights,
)
from princomp.diagnostics.models import axes_of, fitted_of, lost_columns, variable_names
from princomp.diagnostics.row_reader import Block, RowReader
from princomp.diagnostics.tables import checked_frame, is_long_form, pair_columns, table
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import Moments, SampleWeight, Triangle

# Without centring, correlations that rounding may change by more than 1/_ROUNDED are NaN.
_ROUNDED = 100.0
# Below this share of the largest variance of a column, solvers may round the entries of a column in
# the axes to zero.
_SMALL_SHARE = 1e-20


@ignoring_rows
@shared_docs
def variables(
    model: PCA, *, components: Components = None, form: str = "long", frame: str | None = None
) -> Any:
    """Compute axes, loadings, correlations, cos² and contributions of the columns.

    Parameters
    ----------
    %(model)s
    %(components)s
    form : {"long", "wide"}
        A row for each column and component, or a row for each column.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default the setting of ``set_output``, or pandas if it is
        loaded.

    Returns
    -------
    frame
        With, for variable j and component a:

        - ``axis``: v, the entry of the unit eigenvector.
        - ``loading``: v√λ, in units of the *analysed* column, which is the column divided
          by ``scale_``.
        - ``correlation``: of the column and the scores; NaN if one of the two is constant, or
          if rounding leaves fewer than two digits (with ``center=False``, means far from zero
          and a fit that stores no covariance; or after ``forget`` of far larger values). It
          equals the loading under ``scale="unit"``, and only there.
        - ``cos2``: share of the column's variance (mean square, without centring) that the
          component shows; over all p components it sums to 1. NaN for a constant column, and
          after ``forget`` as for correlations.
        - ``contribution``: 100 v², in percent; each component sums to 100.

        Wide tables call them ``axis_PC1``, ….

    Raises
    ------
    ParameterError
        For an unknown component, ``form`` or ``frame``.

    Notes
    -----
    Abdi & Williams (2010), "Principal component analysis", sections on loadings.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.diagnostics import variables
    >>> model = PCA(1).fit(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]))
    >>> variables(model, frame="listing")
    variable  component      axis  loading  correlation  cos2  contribution
          x0        PC1  0.447214  1.52753            1     1            20
          x1        PC1  0.894427  3.05505            1     1            80
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    long = is_long_form(form)
    kind = checked_frame(frame, model)
    names = {"variable": variable_names(model), "component": selected.names}
    return table(pair_columns(names, variable_measures(fitted, selected), long), kind)


def variable_measures(fitted: Fitted, selected: Selection) -> dict[str, FloatArray]:
    """Compute what :func:`variables` tabulates: arrays (p, c) by name."""
    axes, variances = axes_of(fitted, selected.indices), fitted.variances[selected.indices]
    mean_squares = fitted.analysed.column_scatter / (fitted.analysed.rows - 1.0)
    precise_axes = _with_small_columns(fitted, axes, variances, mean_squares)
    squares, loadings = axes**2, axes * np.sqrt(variances)
    known = (mean_squares > 0) & ~lost_columns(fitted.analysed)
    # Divided before they are squared: small loadings of small columns keep their digits.
    precise_loadings = precise_axes * np.sqrt(variances)
    cosines = precise_loadings / np.sqrt(np.where(known, mean_squares, np.nan))[:, None]
    return {
        "axis": axes,
        "loading": loadings,
        "correlation": _correlations(fitted, precise_axes, variances),
        "cos2": np.minimum(cosines**2, 1.0),
        "contribution": 100.0 * squares / squares.sum(axis=0),
    }


def _with_small_columns(
    fitted: Fitted, axes: FloatArray, variances: FloatArray, mean_squares: FloatArray
) -> FloatArray:
    """Axes (p, c), with entries v = Cv / λ of small columns where they are more accurate."""
    small = np.flatnonzero(mean_squares < _SMALL_SHARE * mean_squares.max())
    summary = fitted.analysed.to_host() if small.size else None
    if isinstance(summary, Moments):
        products = summary.scatter[small] @ axes
    elif isinstance(summary, Triangle):
        products = summary.factor[:, small].T @ (summary.factor @ axes)
    else:
        return axes
    # The error of an entry of v is about ε, and that of Cv / λ about ε √(c λ₁) / λ, where c is the
    # variance of the column.
    product_errors = np.sqrt(mean_squares[small, None]) * np.sqrt(fitted.variances[0])
    better = (product_errors < variances) & (variances > fitted.spectrum.resolution)
    divisors = np.where(variances > 0, variances, 1.0) * (summary.rows - 1.0)
    result = axes.copy()
    result[small] = np.where(better, products / divisors, axes[small])
    return result


def _correlations(fitted: Fitted, axes: FloatArray, variances: FloatArray) -> FloatArray:
    """Correlations (p, c) of columns and scores, both about their means."""
    deviations = np.sqrt(fitted.column_variances)
    if fitted.scale is not None:
        deviations /= fitted.scale
    if fitted.centred:
        # Not products with variances, which may underflow.
        score_variances, smallest = variances, 0.0
        loadings = axes * np.sqrt(variances)
    else:
        covariances, smallest = _covariances_about_means(fitted, axes, variances, deviations)
        score_variances = np.einsum("ja,ja->a", axes, covariances)
        loadings = covariances / np.sqrt(np.where(score_variances > 0, score_variances, np.nan))
    resolved = (variances > fitted.spectrum.resolution) & (score_variances > smallest)
    score_deviations = np.sqrt(np.where(resolved, score_variances, np.nan))
    deviations = np.where(lost_columns(fitted.summary), np.nan, deviations)
    known = deviations[:, None] > smallest / score_deviations
    divisors = np.where(deviations > 0, deviations, np.nan)[:, None]
    return np.clip(np.where(known, loadings / divisors, np.nan), -1.0, 1.0)


def _covariances_about_means(
    fitted: Fitted, axes: FloatArray, variances: FloatArray, deviations: FloatArray
) -> tuple[FloatArray, float]:
    """Covariances (p, c) of columns and scores, both about their means, of an uncentred fit.

    Return also the variance below which rounding leaves too few digits of a correlation.
    """
    summary, spectrum = fitted.summary.to_host(), fitted.spectrum
    about_means = summary if fitted.scale is None else summary.scaled(fitted.scale)
    divisor, total = summary.rows - 1.0, float(deviations @ deviations)
    share = _ROUNDED * summary.effective_unit
    # Not from the variances of the axes, which are mean squares: large means would cancel.
    if isinstance(about_means, Moments):
        return about_means.scatter @ axes / divisor, share * total
    if isinstance(about_means, Triangle):
        return about_means.factor.T @ (about_means.factor @ axes) / divisor, share**2 * total
    squares = summary.rows / divisor * np.outer(about_means.mean, about_means.mean @ axes)
    return axes * variances - squares, _ROUNDED * spectrum.roundoff * spectrum.largest


@renamed_parameters(weights="sample_weight")
@shared_docs
def rows(
    model: PCA,
    X: object,
    sample_weight: SampleWeight = None,
    *,
    supplementary: bool = False,
    components: Components = None,
    ids: Iterable[object] | None = None,
    form: str = "wide",
    frame: str | None = None,
) -> Any:
    """Compute scores, cos² and contributions of rows, and their distances from the centre.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or other rows, read block by block.
    sample_weight : array of shape (n,), optional
        Frequencies, as in ``fit``; used for the contributions.
    supplementary : bool, default=False
        Whether the rows were not part of the fit, and so have no contributions.
    %(components)s
    ids : str or sequence of length n, optional
        Names of the rows: a column of the frame or file, or the names. By default the
        index of a pandas frame, the model's id column, or numbers from 0.
    form : {"wide", "long"}
        A row for each row of X, or a row for each row of X and component.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X, and pandas (if loaded) for arrays.

    Returns
    -------
    frame
        With, for row i and component a:

        - ``score``: t, in units of the analysed columns; not whitened.
        - ``cos2``: t²/d², NaN for a row at the centre.
        - ``contribution``: 100 w t²/((Σw − 1) λ) in percent. Over the training rows each
          component sums to 100 (except after ``missing="nipals"``, which fills new rows
          differently). NaN if λ is below the fit's resolution.
        - ``distance``: d, from the centre, over all p columns.

    Raises
    ------
    NotAvailableError
        Contributions of a model from a covariance without ``n_samples``.
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.diagnostics import rows
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [6.0, 12.0]])
    >>> rows(PCA(1).fit(X), X, frame="listing")
    row  score_PC1  cos2_PC1  contribution_PC1  distance
      0   -4.47214         1           28.5714   4.47214
      1   -2.23607         1           7.14286   2.23607
      2     6.7082         1           64.2857    6.7082
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    long = is_long_form(form)
    if supplementary and sample_weight is not None:
        raise ParameterError(
            "sample_weight changes only contributions, which supplementary rows do not have",
            place={"parameter": "sample_weight"},
            hint="leave out sample_weight, or supplementary=True",
        )
    n = None if supplementary else fitted.row_count("contributions of rows")
    if n is not None:
        advice = "Give sample_weight or, for rows that were not fitted, supplementary=True"
        warn_without_weights(fitted, sample_weight, "contributions", advice)
    reader = RowReader.open(model, X, sample_weight, ids, frame)
    axes, variances = axes_of(fitted, selected.indices), fitted.variances[selected.indices]
    divisor = np.where(variances > fitted.spectrum.resolution, variances, np.nan)

    def measure(block: Block) -> tuple[FloatArray, ...]:
        t, lengths = block.rows @ axes, _lengths(block.rows)
        cosines = t / np.where(lengths > 0, lengths, np.nan)[:, None]
        measures = (block.ids, lengths, t, np.minimum(cosines**2, 1.0))
        if n is None:
            return measures
        shares = (t / np.sqrt(divisor)) ** 2 * (100.0 / (n - 1.0))
        return (*measures, shares if block.weights is None else shares * block.weights[:, None])

    row_ids, distance, *values = reader.collect(measure)
    measures = dict(zip(("score", "cos2", "contribution"), values, strict=False))
    contents = pair_columns({"row": row_ids, "component": selected.names}, measures, long)
    contents["distance"] = np.repeat(distance, len(selected.names)) if long else distance
    return reader.table(contents, by_row=not long)


def _lengths(rows: FloatArray) -> FloatArray:
    """Lengths (m,) of rows, even if squares leave the range of float64."""
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(rows, -exponents[:, None])
    return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponents)
