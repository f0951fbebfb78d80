"""Associations of components with columns of metadata: r or η², with adjusted p-values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from princomp.core import renamed_parameters, warn_of_fractional_weights
from princomp.diagnostics.arguments import Components, shared_docs
from princomp.diagnostics.metadata_columns import ExtraColumn
from princomp.diagnostics.supplementary import (
    ProjectedRows,
    correlations,
    group_scores,
    project_rows,
)
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


class _Row(NamedTuple):
    """A row of the table."""

    column: str
    kind: str
    component: str
    n: int = 0
    groups: int = 0
    r: float = np.nan
    eta2: float = np.nan
    statistic: float = np.nan
    df1: float = np.nan
    df2: float = np.nan
    p_value: float = np.nan
    p_adjusted: float = np.nan
    note: str = ""


@renamed_parameters(weights="sample_weight")
@shared_docs
def metadata(
    model: PCA,
    X: object,
    data: object,
    sample_weight: SampleWeight = None,
    *,
    categorical: Iterable[str] = (),
    components: Components = None,
    frame: str | None = None,
) -> Any:
    """Find associations between columns of metadata and components.

    Parameters
    ----------
    %(model)s
    %(X)s
    data : frame, series, mapping of name to values, or array (n,) or (n, m)
        One value for each row of X, in the same order. Numbers are numeric, text and booleans
        categorical. A pandas frame must have the index of X. Or the name of a column of X, or a
        list of names.
    sample_weight : array of shape (n,), optional
        Frequencies of the rows; tests use their sum. Without them, every row counts once, with a
        warning if the fit used weights.
    %(categorical)s
    %(components)s
    %(frame)s

    Returns
    -------
    frame
        A row for each column and component: ``column``, ``kind``, ``component``, ``n``
        (rows with a value, of any weight), ``groups`` (categories, 0 for numbers), ``r`` or
        ``eta2`` (the other is NaN), ``statistic`` (t of r on w − 2, F of η² on g − 1 and w − g
        degrees of freedom, ``df1`` and ``df2``; w is the sum of the weights), ``p_value``,
        ``p_adjusted`` (Benjamini & Hochberg, over all tests of the table) and ``note``. The values
        are NaN, with a note, for a column that is constant, that has more categories than half
        the rows, or that contains neither numbers nor categories. Groups may consist of one row.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Notes
    -----
    The tests assume normal scores. They are not valid for columns that were part of the fit,
    since the components were fitted to those. Benjamini & Hochberg (1995).

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.metadata(model, X, {"sum": X.sum(axis=1)}, frame="listing")
    >>> print(table["component"], np.round(table["r"], 2))
    ['PC1' 'PC2'] [ 0.99 -0.04]
    """
    projected = project_rows(
        model, X, data, sample_weight, components, frame, categorical, what="data"
    )
    warn_of_fractional_weights(projected.weights)
    table_rows: list[_Row] = []
    for column in projected.columns:
        if column.numbers is not None:
            table_rows += _numeric_rows(projected, column.name, column.numbers)
        elif column.codes is not None:
            table_rows += _categorical_rows(projected, column)
        else:
            note = f"{column.kind}: neither numbers nor categories"
            table_rows += [_Row(column.name, column.kind, c, note=note) for c in projected.names]
    p_adjusted = benjamini_hochberg(np.array([row.p_value for row in table_rows]))
    adjusted = [row._replace(p_adjusted=p) for row, p in zip(table_rows, p_adjusted, strict=True)]
    return projected.table(_Row._fields, adjusted)


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Adjust p-values (Benjamini & Hochberg 1995); NaN is kept and not counted."""
    out = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if m:
        order = tested[np.argsort(p[tested], kind="stable")]
        steps = p[order] * m / np.arange(1, m + 1)
        out[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return out


def _numeric_rows(projected: ProjectedRows, name: str, numbers: FloatArray) -> list[_Row]:
    table_rows = []
    for a, (component, count, r, note) in enumerate(correlations(projected, numbers)):
        row = _Row(name, "numeric", component, count, r=r, note=note)
        present = ~np.isnan(numbers) & ~np.isnan(projected.scores[:, a])
        n = float(projected.weights[present].sum())
        df = n - 2.0
        if not note and df <= 0:
            row = row._replace(note=f"r of {n:g} rows: no test")
        elif not note:
            with np.errstate(divide="ignore"):
                t = float(r * np.sqrt(df) / np.sqrt(1.0 - np.float64(r) ** 2))
            p = float(2.0 * special.stdtr(df, -abs(t)))
            df1, df2 = (1.0, df) if np.isfinite(p) else (np.nan, np.nan)
            row = row._replace(statistic=t, df1=df1, df2=df2, p_value=p)
        table_rows.append(row)
    return table_rows


def _categorical_rows(projected: ProjectedRows, column: ExtraColumn) -> list[_Row]:
    groups = group_scores(projected, column)
    g, rows = len(groups.labels), int(groups.counts.sum())
    n = float(groups.weights.sum())
    note = ""
    if g < 2:
        note = "constant" if g else "no row has a value"
    elif g >= rows or g > max(2, rows / 2):
        note = f"nearly unique: {g} categories in {rows} rows"
    df1, df2 = g - 1.0, n - g
    table_rows = []
    for a, (c, eta2) in enumerate(zip(projected.names, groups.eta2, strict=True)):
        row = _Row(column.name, column.kind, c, rows, g)
        if note:
            row = row._replace(note=note)
        elif np.isnan(eta2):
            row = row._replace(note="the component has no variance in these rows")
        elif df2 <= 0:
            row = row._replace(eta2=eta2, note=f"η² of {n:g} rows in {g} groups: no test")
        else:
            with np.errstate(divide="ignore"):
                f = float((groups.between[a] / df1) / (groups.within[a] / df2))
            p = float(special.fdtrc(df1, df2, f))
            row = row._replace(eta2=eta2, statistic=f, df1=df1, df2=df2, p_value=p)
        table_rows.append(row)
    return table_rows
