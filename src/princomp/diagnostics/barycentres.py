"""Further columns of categories against the components: barycentres, v-tests, η²."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.beside import Beside, columns_beside
from princomp.diagnostics.projected import Scores, opened_scores
from princomp.diagnostics.tables import from_lines, table
from princomp.errors import NotNumericError, ShapeError

__all__ = ["Groups", "categories", "eta_squared", "grouped"]


class Groups(NamedTuple):
    """A column of categories against the components.

    Parameters
    ----------
    labels : list
        Of the g categories with rows.
    counts : ndarray of shape (g,)
        Rows of each; ``sizes`` are their weights.
    centres : ndarray of shape (g, c)
        Barycentres: mean scores.
    mean, between, within : ndarray of shape (c,)
        Mean score, and sums of squares of the barycentres about it and of the rows about
        their barycentres.
    """

    labels: list[Any]
    counts: Any
    sizes: FloatArray
    centres: FloatArray
    mean: FloatArray
    between: FloatArray
    within: FloatArray


def grouped(scores: Scores, column: Beside) -> Groups:
    """Rows by category; those without a category, a score or weight are left out."""
    assert column.codes is not None
    kept = (column.codes >= 0) & ~np.isnan(scores.t).any(axis=1) & (scores.weights > 0)
    codes, w, t = column.codes[kept], scores.weights[kept], scores.t[kept]
    present, codes = np.unique(codes, return_inverse=True)
    g = len(present)
    counts = np.bincount(codes, minlength=g)
    sizes = np.bincount(codes, w, minlength=g)
    sums = np.stack([np.bincount(codes, w * one, minlength=g) for one in t.T], axis=1)
    centres = sums / sizes[:, None]
    mean = np.average(t, axis=0, weights=w) if g else np.zeros(t.shape[1])
    between, within = sizes @ (centres - mean) ** 2, w @ (t - centres[codes]) ** 2
    labels = [column.labels[code] for code in present]
    return Groups(labels, counts, sizes, centres, mean, between, within)


def eta_squared(groups: Groups, floor: float) -> FloatArray:
    """Share (c,) of each component's sum of squares that lies between the categories."""
    total = groups.between + groups.within
    sound = total > floor * groups.sizes.sum()
    share: FloatArray = groups.between / np.where(sound, total, np.nan)
    return share


def categories(
    model: Any,
    X: Any,
    columns: Any,
    weights: Any = None,
    *,
    categorical: Iterable[str] = (),
    components: Any = None,
    frame: str | None = None,
) -> Any:
    """Barycentres of the categories of further columns, with v-tests and η².

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Rows in the columns of the fit.
    columns : frame, series, mapping of name to values, or array (n,) or (n, m)
        Categories (text or booleans), one a row of X and in its order.
    weights : array of shape (n,), optional
        Frequencies of the rows.
    categorical : iterable of str, optional
        Columns whose numbers are categories.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; all by default.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        A line for each category and component: ``column``, ``category`` (as text),
        ``component``, ``n`` (its rows), ``barycentre`` (mean score), ``v_test`` and, of the
        whole column, ``eta2``. Rows without a category are left out. One category is lawful,
        with η² = 0 and no v-test (NaN).

    Raises
    ------
    NotNumericError
        For a column that is not categorical.
    ParameterError, ShapeError, ColumnError

    Notes
    -----
    v-test: the barycentre less the mean, over its standard deviation were the n_q rows
    drawn without replacement from the N: √(s²/n_q · (N − n_q)/N), s² with divisor N − 1
    (Lebart, Morineau & Piron 1995). Beyond ±1.96 a category stands apart at 5%, where it did
    not take part in the fit and n_q is not small.
    """
    scores = opened_scores(model, X, weights, components, frame)
    lines: list[tuple[Any, ...]] = []
    for column in columns_beside(columns, len(scores.t), scores.index, categorical):
        if column.codes is None:
            raise NotNumericError(
                f"column {column.name!r} is {column.kind}, not categorical",
                place={"parameter": "columns", "column": column.name},
                hint=f"categorical=[{column.name!r}] takes its numbers for categories; "
                "supplementary_columns(model, X, …) correlates them",
            )
        lines += _category_lines(scores, column)
    names = ("column", "category", "component", "n", "barycentre", "v_test", "eta2")
    return table(from_lines(names, lines), scores.kind)


def _category_lines(scores: Scores, column: Beside) -> list[tuple[Any, ...]]:
    groups = grouped(scores, column)
    if not groups.labels:
        raise ShapeError(
            f"column {column.name!r} has no row with a category",
            place={"parameter": "columns", "column": column.name},
            hint="leave it out",
        )
    eta2, whole = eta_squared(groups, scores.floor), float(groups.sizes.sum())
    sizes = groups.sizes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (groups.between + groups.within) / (whole - 1.0)
        spread = variance / sizes * (whole - sizes) / whole
        sound = (spread > 0) & ~np.isnan(eta2)
        v = (groups.centres - groups.mean) / np.sqrt(np.where(sound, spread, np.nan))
    return [
        (column.name, str(label), c, int(groups.counts[q]), groups.centres[q, a], v[q, a], eta2[a])
        for q, label in enumerate(groups.labels)
        for a, c in enumerate(scores.names)
    ]
