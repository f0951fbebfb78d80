"""Barycentres, v-tests and η² of extra columns of categories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.core import renamed_parameters
from princomp.diagnostics.arguments import Components
from princomp.diagnostics.metadata_columns import ExtraColumn
from princomp.diagnostics.projected import ProjectedRows, project_rows
from princomp.diagnostics.shared_docs import shared_docs
from princomp.errors import NotNumericError, ShapeError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


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


class _Row(NamedTuple):
    """A row of the table."""

    column: str
    category: str
    component: str
    n: int
    barycentre: float
    v_test: float
    eta2: float


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
        ``component``, ``n`` (number of rows), ``barycentre`` (mean score), ``v_test`` and
        ``eta2`` of the whole column. Rows without a category are left out. A column with a
        single category has η² = 0 and no v-test (NaN).

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
    small.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.categories(model, X, {"kind": list("aabbcc")}, frame="listing")
    >>> print(table["category"][:3])
    ['a' 'a' 'b']
    """
    projected = project_rows(model, X, columns, sample_weight, components, frame, categorical)
    rows: list[NamedTuple] = []
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
    return projected.table(rows)


def _category_rows(projected: ProjectedRows, column: ExtraColumn) -> list[_Row]:
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
    return [
        _Row(
            *(column.name, str(label), c, int(groups.counts[q])),
            *(groups.centres[q, a], v_tests[q, a], groups.eta2[a]),
        )
        for q, label in enumerate(groups.labels)
        for a, c in enumerate(projected.names)
    ]
