"""Extra columns compared with the components: correlations of numbers, barycentres of categories.

For supplementary rows use ``rows(model, X, supplementary=True)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.core import renamed_parameters, warn_of_fractional_weights
from princomp.diagnostics.arguments import (
    Components,
    select_components,
    shared_docs,
    warn_without_weights,
)
from princomp.diagnostics.metadata_columns import ExtraColumn, extra_columns, take_named_columns
from princomp.diagnostics.models import fitted_of
from princomp.diagnostics.row_reader import RowReader
from princomp.diagnostics.tables import Names
from princomp.errors import NotFiniteError, NotNumericError, ShapeError
from princomp.estimators import PCA
from princomp.linalg import FloatArray, binary_exponent
from princomp.summaries import SampleWeight


class ProjectedRows(NamedTuple):
    """Scores (n, c) of rows on the selected components, their weights (n,), and extra columns.

    ``resolution`` is the variance below which a component is a rounding error.
    """

    scores: FloatArray
    weights: FloatArray
    names: Names
    resolution: float
    columns: list[ExtraColumn]
    reader: RowReader

    def table(self, names: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
        """Make a table of results with named columns from its rows: text is stored as objects."""
        contents = {}
        for name, cells in zip(names, zip(*rows, strict=True), strict=True):
            is_text = any(isinstance(cell, str) for cell in cells)
            contents[name] = np.array(cells, dtype=object if is_text else None)
        return self.reader.table(contents, by_row=False)


def project_rows(
    model: PCA,
    X: object,
    columns: object,
    weights: SampleWeight,
    components: Components,
    frame: str | None,
    categorical: Iterable[str] = (),
    what: str = "columns",
) -> ProjectedRows:
    """Read rows and extra columns with one value for each of the rows, and compute scores.

    ``what`` is the name of the argument with the columns, for messages.

    Raises
    ------
    NotFiniteError
        If squares of the scores overflow: the results are ratios of such squares.
    """
    columns, X = take_named_columns(model, X, columns, what)
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    warn_without_weights(fitted, weights, "the results")
    reader = RowReader.open(model, X, weights, frame=frame)
    _, scores = reader.scores(selected.indices)
    w = np.ones(len(scores)) if reader.weights is None else reader.weights
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if np.isinf(4.0 * largest * largest * float(w.sum())):  # 4: differences from the mean
        raise NotFiniteError(
            f"the scores are too large: the square of the largest, {largest:.3g}, overflows",
            hint="divide the columns by a power of ten",
        )
    extra = extra_columns(columns, len(scores), reader.index, categorical, what)
    return ProjectedRows(scores, w, selected.names, fitted.spectrum.resolution, extra, reader)


# ---- columns of numbers ---------------------------------------------------------------


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
        values, of any weight; missing values are left out pair by pair), ``correlation``,
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
    rows: list[tuple[object, ...]] = []
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
            (column.name, component, n, r, r**2, note)
            for component, n, r, note in correlations(projected, column.numbers)
        ]
    names = ("column", "component", "n", "correlation", "cos2", "note")
    return projected.table(names, rows)


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
    if np.abs(x).max() > 2.0**1022:
        x = x / 4.0  # exact; differences would overflow
    # By a power of two, which changes no digit: the product of two sums might overflow.
    weights = np.ldexp(weights, -binary_exponent(weights))
    # Subtract a value first: the mean of large numbers would cancel.
    x = (x - x[0]) / (x.max() - x.min())
    x, t = x - np.average(x, weights=weights), t - np.average(t, weights=weights)
    scatter = float(weights @ t**2)
    if scatter <= resolution * weights.sum():
        return np.nan, "the component has no variance in these rows"
    r = float(weights @ (x * t)) / np.sqrt(float(weights @ x**2) * scatter)
    return float(np.clip(r, -1.0, 1.0)), ""


# ---- columns of categories ------------------------------------------------------------


class ScoreGroups(NamedTuple):
    """Scores of rows grouped by the categories of a column.

    Parameters
    ----------
    labels : list
        The g categories that have rows.
    counts, weights : ndarray of shape (g,)
        Number of rows of each category, and their weights.
    centres : ndarray of shape (g, c)
        Barycentres: mean scores.
    mean, between, within : ndarray of shape (c,)
        Mean score, and sums of squares of the barycentres about it, and of the rows about
        their barycentres.
    eta2 : ndarray of shape (c,)
        Share of each component's sum of squares between the categories.
    """

    labels: list[object]
    counts: NDArray[np.intp]
    weights: FloatArray
    centres: FloatArray
    mean: FloatArray
    between: FloatArray
    within: FloatArray
    eta2: FloatArray


def group_scores(projected: ProjectedRows, column: ExtraColumn) -> ScoreGroups:
    """Group rows by category, without those that lack a category, a score or a weight."""
    assert column.codes is not None
    scores, weights = projected.scores, projected.weights
    kept = (column.codes >= 0) & ~np.isnan(scores).any(axis=1) & (weights > 0)
    codes, w, t = column.codes[kept], weights[kept], scores[kept]
    present, codes = np.unique(codes, return_inverse=True)
    g = len(present)
    counts = np.bincount(codes, minlength=g)
    group_weights = np.bincount(codes, w, minlength=g)
    sums = np.stack(
        [np.bincount(codes, w * component_scores, minlength=g) for component_scores in t.T], axis=1
    )
    centres = sums / group_weights[:, None]
    mean = np.average(t, axis=0, weights=w) if g else np.zeros(t.shape[1])
    between, within = group_weights @ (centres - mean) ** 2, w @ (t - centres[codes]) ** 2
    total = between + within
    resolved = total > projected.resolution * group_weights.sum()
    eta2 = between / np.where(resolved, total, np.nan)
    labels = [column.labels[code] for code in present]
    return ScoreGroups(labels, counts, group_weights, centres, mean, between, within, eta2)


@renamed_parameters(weights="sample_weight")
@shared_docs
def categories(
    model: PCA,
    X: object,
    columns: object,
    sample_weight: SampleWeight = None,
    *,
    categorical: Iterable[str] = (),
    components: Components = None,
    frame: str | None = None,
) -> Any:
    """Compute barycentres of the categories of extra columns, with v-tests and η².

    Parameters
    ----------
    %(model)s
    %(X)s
    columns : frame, series, mapping of name to values, or array (n,) or (n, m)
        One category (text or boolean) for each row of X, in the same order. Or the name of a
        column of X, or a list of names.
    %(sample_weight)s
    %(categorical)s
    %(components)s
    %(frame)s

    Returns
    -------
    frame
        A row for each category and component: ``column``, ``category`` (as text),
        ``component``, ``n`` (number of rows, of any weight), ``barycentre`` (mean score),
        ``v_test`` and ``eta2`` of the whole column. Rows without a category are left out. A
        column with a single category has η² = 0 and no v-test (NaN).

    Raises
    ------
    NotNumericError
        For a column that is not categorical.
    ParameterError, ShapeError, ColumnError

    Notes
    -----
    v-test: the barycentre minus the mean, divided by the standard deviation that the barycentre
    would have if its n_q rows were drawn without replacement from all N rows:
    √(s²/n_q · (N − n_q)/N), where s² has the divisor N − 1 (Lebart, Morineau & Piron 1995). A
    value beyond ±1.96 is significant at 5%, if the column was not part of the fit and n_q is not
    small. With weights, n_q and N are sums of weights: a row of weight 2 counts as two rows.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.categories(model, X, {"kind": list("aabbcc")}, frame="listing")
    >>> print(table["category"][:3])
    ['a' 'a' 'b']
    """
    projected = project_rows(model, X, columns, sample_weight, components, frame, categorical)
    warn_of_fractional_weights(projected.weights)
    rows: list[tuple[object, ...]] = []
    for column in projected.columns:
        if column.codes is None:
            raise NotNumericError(
                f"column {column.name!r} is {column.kind}, not categorical",
                place={"parameter": "columns", "column": column.name},
                hint="convert it to text"
                if column.numbers is None
                else f"categorical=[{column.name!r}] uses its numbers as categories; "
                "supplementary_columns(model, X, …) correlates them",
            )
        rows += _category_rows(projected, column)
    names = ("column", "category", "component", "n", "barycentre", "v_test", "eta2")
    return projected.table(names, rows)


def _category_rows(projected: ProjectedRows, column: ExtraColumn) -> list[tuple[object, ...]]:
    """Rows of the table: one for each category and component."""
    groups = group_scores(projected, column)
    if not groups.labels:
        raise ShapeError(
            f"column {column.name!r} has no row with a category",
            place={"parameter": "columns", "column": column.name},
            hint="leave out the column",
        )
    total_weight, weights = float(groups.weights.sum()), groups.weights[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (groups.between + groups.within) / (total_weight - 1.0)
        centre_variance = variance / weights * (total_weight - weights) / total_weight
        defined = (centre_variance > 0) & ~np.isnan(groups.eta2)
        deviations = np.sqrt(np.where(defined, centre_variance, np.nan))
        v_tests = (groups.centres - groups.mean) / deviations
    name, counts = column.name, groups.counts.tolist()
    return [
        (name, str(label), c, counts[q], groups.centres[q, a], v_tests[q, a], groups.eta2[a])
        for q, label in enumerate(groups.labels)
        for a, c in enumerate(projected.names)
    ]
