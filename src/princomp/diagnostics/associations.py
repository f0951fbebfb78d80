"""Components against columns of metadata: r or η², tested, adjusted for how many tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats

from princomp.arrays import FloatArray
from princomp.diagnostics.barycentres import eta_squared, grouped
from princomp.diagnostics.beside import Beside, columns_beside
from princomp.diagnostics.projected import Scores, opened_scores
from princomp.diagnostics.supplementary import correlations
from princomp.diagnostics.tables import from_lines, table

__all__ = ["adjusted", "metadata"]

_NAMES = (
    *("column", "kind", "component", "n", "groups", "r", "eta2"),
    *("statistic", "df1", "df2", "p_value", "note"),
)
_NONE = float("nan")


def metadata(
    model: Any,
    X: Any,
    data: Any,
    weights: Any = None,
    *,
    categorical: Iterable[str] = (),
    components: Any = None,
    frame: str | None = None,
) -> Any:
    """Which columns of metadata go with which components.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Rows in the columns of the fit.
    data : frame, series, mapping of name to values, or array (n,) or (n, m)
        One value a row of X and in its order. Numbers are numeric, text and booleans
        categorical. A pandas frame must have the labels of X.
    weights : array of shape (n,), optional
        Frequencies of the rows; tests count their sum.
    categorical : iterable of str, optional
        Columns whose numbers are categories.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; all by default.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        A line for each column and component: ``column``, ``kind``, ``component``, ``n``
        (rows that have a value), ``groups`` (categories, 0 for numbers), ``r`` or ``eta2``
        (the other is NaN), ``statistic`` (t of r on n − 2, F of η² on g − 1 and n − g
        degrees of freedom, ``df1`` and ``df2``), ``p_value``, ``p_adjusted`` (Benjamini &
        Hochberg, over all tests of the table) and ``note``. A column that is constant, is
        different in nearly every row (more categories than half the rows) or holds neither
        numbers nor categories has NaN, and the note says so. Groups of one row are lawful.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Notes
    -----
    Tests suppose normal scores. Of columns that went into the fit they mean nothing, since
    components were made to follow those. Benjamini & Hochberg (1995).
    """
    scores = opened_scores(model, X, weights, components, frame)
    lines: list[tuple[Any, ...]] = []
    for column in columns_beside(data, len(scores.t), scores.index, categorical, what="data"):
        if column.numbers is not None:
            lines += _of_numbers(scores, column)
        elif column.codes is not None:
            lines += _of_categories(scores, column)
        else:
            note = f"{column.kind}: neither numbers nor categories"
            lines += [(column.name, column.kind, c, 0, 0, *[_NONE] * 6, note) for c in scores.names]
    contents = from_lines(_NAMES, lines)
    notes = contents.pop("note")
    contents["p_adjusted"] = adjusted(contents["p_value"])
    contents["note"] = notes
    return table(contents, scores.kind)


def adjusted(p: FloatArray) -> FloatArray:
    """p-values adjusted after Benjamini & Hochberg (1995); NaN stays and does not count."""
    out = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if m:
        order = tested[np.argsort(p[tested], kind="stable")]
        steps = p[order] * m / np.arange(1, m + 1)
        out[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return out


def _of_numbers(scores: Scores, column: Beside) -> list[tuple[Any, ...]]:
    assert column.numbers is not None
    r, counts, notes = correlations(scores, column.numbers)
    there = ~np.isnan(column.numbers)
    lines = []
    for a, c in enumerate(scores.names):
        n = float(scores.weights[there & ~np.isnan(scores.t[:, a])].sum())
        df, statistic, p, note = n - 2.0, _NONE, _NONE, notes[a]
        if not note and df <= 0:
            note = f"r of {n:g} rows: no test"
        elif not note:
            with np.errstate(divide="ignore"):
                statistic = float(r[a] * np.sqrt(df) / np.sqrt(1.0 - np.float64(r[a]) ** 2))
            p = float(2.0 * stats.t.sf(abs(statistic), df))
        tested = 1.0 if np.isfinite(p) else _NONE
        lines.append(
            (
                *(column.name, column.kind, c, counts[a], 0, r[a], _NONE),
                *(statistic, tested, df * tested, p, note),
            )
        )
    return lines


def _of_categories(scores: Scores, column: Beside) -> list[tuple[Any, ...]]:
    groups = grouped(scores, column)
    g, rows = len(groups.labels), int(groups.counts.sum())
    n = float(groups.sizes.sum())
    head = (column.name, column.kind)
    why = ""
    if g < 2:
        why = "constant" if g else "no row has a value"
    elif g >= rows or g > max(2, rows / 2):
        why = f"nearly unique: {g} categories in {rows} rows"
    if why:
        return [(*head, c, rows, g, *[_NONE] * 6, why) for c in scores.names]
    df1, df2 = g - 1.0, n - g
    lines = []
    found = eta_squared(groups, scores.floor)
    for c, eta2, between, within in zip(
        scores.names, found, groups.between, groups.within, strict=True
    ):
        if np.isnan(eta2):
            note = "the component has no variance here"
            lines.append((*head, c, rows, g, *[_NONE] * 6, note))
        elif df2 <= 0:
            note = f"η² of {n:g} rows in {g} groups: no test"
            lines.append((*head, c, rows, g, _NONE, eta2, *[_NONE] * 4, note))
        else:
            with np.errstate(divide="ignore"):
                f = float((between / df1) / (within / df2))
            p = float(stats.f.sf(f, df1, df2))
            lines.append((*head, c, rows, g, _NONE, eta2, f, df1, df2, p, ""))
    return lines
