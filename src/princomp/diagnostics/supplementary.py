"""Correlations of extra columns of numbers with the components.

For supplementary rows use ``rows(model, X, supplementary=True)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from princomp.core import renamed_parameters
from princomp.diagnostics.arguments import Components
from princomp.diagnostics.projected import ProjectedRows, project_rows
from princomp.diagnostics.shared_docs import shared_docs
from princomp.errors import NotNumericError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


class _Row(NamedTuple):
    """A row of the table."""

    column: str
    component: str
    n: int
    correlation: float
    cos2: float
    note: str


@renamed_parameters(weights="sample_weight")
@shared_docs
def supplementary_columns(
    model: PCA,
    X: object,
    columns: object,
    sample_weight: SampleWeight = None,
    *,
    components: Components = None,
    frame: str | None = None,
) -> Any:
    """Correlate extra columns with the components.

    Parameters
    ----------
    %(model)s
    %(X)s
    columns : frame, series, mapping of name to values, or array (n,) or (n, m)
        One number for each row of X, in the same order. A pandas frame must have the index of
        X. Or the name of a column of X, or a list of names.
    %(sample_weight)s
    %(components)s
    %(frame)s

    Returns
    -------
    frame
        A row for each column and component: ``column``, ``component``, ``n`` (rows with both
        values; missing values are left out pair by pair), ``correlation``,
        ``cos2`` (its square) and ``note``, which explains why a correlation is NaN.

    Raises
    ------
    NotNumericError
        For a column of categories; see :func:`princomp.diagnostics.categories`.
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.supplementary_columns(model, X, {"twice": 2 * X[:, 0]}, frame="listing")
    >>> print(np.round(table["correlation"], 2))
    [0.92 0.37]
    """
    projected = project_rows(model, X, columns, sample_weight, components, frame)
    rows: list[NamedTuple] = []
    for column in projected.columns:
        if column.numbers is None:
            raise NotNumericError(
                f"column {column.name!r} is {column.kind}, not numeric",
                place={"parameter": "columns", "column": column.name},
                hint="convert it to numbers"
                if column.codes is None
                else "use categories(model, X, …) or metadata(model, X, …) for categories",
            )
        rows += [
            _Row(column.name, component, n, r, r**2, note)
            for component, n, r, note in correlations(projected, column.numbers)
        ]
    return projected.table(rows)


def correlations(projected: ProjectedRows, x: FloatArray) -> Iterator[tuple[str, int, float, str]]:
    """Iterate over components, numbers of rows, correlations of a column (n,), and notes."""
    present = ~np.isnan(x) & (projected.weights > 0)
    for name, t in zip(projected.names, projected.scores.T, strict=True):
        both = present & ~np.isnan(t)
        r, note = _correlation(x[both], t[both], projected.weights[both], projected.resolution)
        yield name, int(both.sum()), r, note


def _correlation(
    x: FloatArray, t: FloatArray, weights: FloatArray, resolution: float
) -> tuple[float, str]:
    if len(x) < 2:
        return np.nan, "fewer than two rows have a value"
    if x.min() == x.max():
        return np.nan, "constant"
    # Subtract a value first: the mean of large numbers would cancel.
    x = (x - x[0]) / (x.max() - x.min())
    x, t = x - np.average(x, weights=weights), t - np.average(t, weights=weights)
    scatter = float(weights @ t**2)
    if scatter <= resolution * weights.sum():
        return np.nan, "the component has no variance in these rows"
    r = float(weights @ (x * t)) / np.sqrt(float(weights @ x**2) * scatter)
    return float(np.clip(r, -1.0, 1.0)), ""
