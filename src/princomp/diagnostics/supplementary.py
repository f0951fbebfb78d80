"""Further columns of numbers against the components; nothing here moves an axis.

Supplementary rows are ``rows(model, X, supplementary=True)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.beside import columns_beside
from princomp.diagnostics.projected import Scores, opened_scores
from princomp.diagnostics.tables import from_lines, table
from princomp.errors import NotNumericError

__all__ = ["correlations", "supplementary_columns"]


def supplementary_columns(
    model: Any,
    X: Any,
    columns: Any,
    weights: Any = None,
    *,
    components: Any = None,
    frame: str | None = None,
) -> Any:
    """Correlations of further columns with the components.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Rows in the columns of the fit.
    columns : frame, series, mapping of name to values, or array (n,) or (n, m)
        Numbers, one a row of X and in its order. A pandas frame must have the labels of X.
    weights : array of shape (n,), optional
        Frequencies of the rows.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; all by default.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        A line for each column and component: ``column``, ``component``, ``n`` (rows that
        have both, since missing values are left out pair by pair), ``correlation``,
        ``cos2`` (its square) and ``note``, which says why a correlation is NaN.

    Raises
    ------
    NotNumericError
        For a column of categories: :func:`princomp.diagnostics.categories`.
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    scores = opened_scores(model, X, weights, components, frame)
    found = columns_beside(columns, len(scores.t), scores.index)
    lines: list[tuple[Any, ...]] = []
    for column in found:
        if column.numbers is None:
            raise NotNumericError(
                f"column {column.name!r} is {column.kind}, not numeric",
                place={"parameter": "columns", "column": column.name},
                hint="categories(model, X, …) and metadata(model, X, …) take categories",
            )
        r, n, note = correlations(scores, column.numbers)
        lines += [
            (column.name, c, n[a], r[a], r[a] ** 2, note[a]) for a, c in enumerate(scores.names)
        ]
    names = ("column", "component", "n", "correlation", "cos2", "note")
    return table(from_lines(names, lines), scores.kind)


def correlations(scores: Scores, x: FloatArray) -> tuple[FloatArray, list[int], list[str]]:
    """Correlations (c,) of a column (n,) with each component, rows used, and notes."""
    there = ~np.isnan(x) & (scores.weights > 0)
    r, counts, notes = np.full(scores.t.shape[1], np.nan), [], []
    for a in range(scores.t.shape[1]):
        both = there & ~np.isnan(scores.t[:, a])
        counts.append(int(both.sum()))
        value, note = _correlation(x[both], scores.t[both, a], scores.weights[both], scores.floor)
        r[a] = value
        notes.append(note)
    return r, counts, notes


def _correlation(
    x: FloatArray, t: FloatArray, weights: FloatArray, floor: float
) -> tuple[float, str]:
    if len(x) < 2:
        return np.nan, f"{len(x)} rows have a value"
    if x.min() == x.max():
        return np.nan, "constant"
    # About a value of its own first: the mean of large numbers would cancel.
    x = (x - x[0]) / (x.max() - x.min())
    x, t = x - np.average(x, weights=weights), t - np.average(t, weights=weights)
    spread = float(weights @ t**2)
    if spread <= floor * weights.sum():
        return np.nan, "the component has no variance here"
    r = float(weights @ (x * t)) / np.sqrt(float(weights @ x**2) * spread)
    return float(np.clip(r, -1.0, 1.0)), ""
