"""How far rows are off within the components and off them, with the limits of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.plots.colours import BLUE, VERMILLION
from princomp.plots.drawn_rows import DrawnRows, labelled
from princomp.plots.labels import put_labels
from princomp.plots.outlying import Line, outlying
from princomp.plots.points import MOST_POINTS, density, points
from princomp.plots.surface import (
    axes_on,
    inked,
    legend_above,
    no_room,
    note,
)

__all__ = ["outliers"]

_LABELLED = 10  # of the rows beyond a limit, when nobody says


def outliers(
    model: Any,
    X: Any,
    level: float | None = None,
    *,
    training: bool = False,
    label: Any = None,
    ids: Any = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Outlier map: T² of rows against their Q, with both limits.

    Parameters
    ----------
    model : PCA or RobustPCA
        Fitted. A RobustPCA is drawn by score distances (√T²) and orthogonal distances (√Q)
        against the cut-offs of its fit.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or others.
    level : float, optional
        Of the limits of a PCA, 0.95 by default; they are functions of the model, and rows do
        not move them.
    training : bool, default=False
        Whether the rows are those of the fit, whose limit of T² is lower.
    label : int or sequence of names, optional
        Which rows get their names: so many of the farthest, or these; by default the 10
        farthest of those beyond a limit.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        Where nothing is left out (k = p) there is no Q: T² is drawn row by row. A limit that
        cannot be had is not drawn, and a note says why.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    seen = outlying(model, X, level, training, ids)
    alone, count = seen.off is None, len(seen.along)
    xy = np.column_stack([np.arange(len(seen.kept))[seen.kept], seen.along])
    across, along = seen.along_limit, None
    if seen.off is not None:
        xy = np.column_stack([seen.along, seen.off])
        across, along = seen.off_limit, seen.along_limit
    excess = seen.excess
    beyond = np.zeros(count, dtype=bool) if excess is None else excess > 1.0

    ax = axes_on(ax, dark)
    told = _rows_on(ax, xy, beyond)
    _lines(ax, along, across)
    rows = DrawnRows(xy, seen.names, True, int((~seen.kept).sum()), seen.kept, None)
    far = seen.along if excess is None else excess
    at = labelled(min(int(beyond.sum()), _LABELLED) if label is None else label, rows, far)
    _finish(ax, len(seen.kept), alone, seen.words, across, along)
    if len(xy) > MOST_POINTS:
        points(ax, xy[at], VERMILLION, "D", among=400)
    note(
        ax,
        "" if excess is None else f"{int(beyond.sum()):,} of {count:,} rows are beyond a limit",
        told,
        *seen.notes,
    )
    left = put_labels(
        ax, xy[at], list(rows.names[at]), points=xy, lines=_crossing(ax, along, across)
    )
    note(ax, no_room(left))
    return ax


def _rows_on(ax: Axes, xy: FloatArray, beyond: NDArray[np.bool_]) -> str:
    """Rows as points, those beyond in another colour and shape; of many a density."""
    if len(xy) <= MOST_POINTS:
        points(ax, xy[~beyond], BLUE, among=len(xy), label="within the limits")
        if beyond.any():
            points(ax, xy[beyond], VERMILLION, "D", among=len(xy), label="beyond a limit")
        return ""
    density(ax, xy, equal=False)
    return "density of rows on a logarithmic scale"


def _lines(ax: Axes, along: Line | None, across: Line | None) -> None:
    """The limits, with what they are."""
    colour = inked(ax, VERMILLION)
    if along is not None:
        dashed = (0, (5, 3))
        ax.axvline(along.at, color=colour, lw=1.0, ls=dashed, zorder=1.5, label=along.label)
    if across is not None:
        dotted = (0, (1.5, 2))
        ax.axhline(across.at, color=colour, lw=1.0, ls=dotted, zorder=1.5, label=across.label)


def _finish(
    ax: Axes,
    n: int,
    alone: bool,
    words: tuple[str, str],
    across: Line | None,
    along: Line | None,
) -> None:
    """Limits from about zero on, with room beyond the lines, and names."""
    ax.margins(0.06)
    ax.autoscale_view()
    for high, line, change in (
        (ax.get_xlim()[1], along, ax.set_xlim),
        (ax.get_ylim()[1], across, ax.set_ylim),
    ):
        top = max(high, 1.15 * (line.at if line else 0.0))
        change(-0.015 * top, top)
    if alone:
        ax.set_xlim(-0.02 * n - 0.5, 1.02 * n)
        ax.set(xlabel="row", ylabel=words[0])
    else:
        ax.set(xlabel=words[0], ylabel=words[1])
    if ax.get_legend_handles_labels()[0]:
        legend_above(ax, 2)


def _crossing(ax: Axes, along: Line | None, across: Line | None) -> FloatArray:
    """The lines of the limits from side to side, as labels are to keep off them (l, 2, 2)."""
    (left, right), (foot, top) = ax.get_xlim(), ax.get_ylim()
    lines = [] if along is None else [[[along.at, foot], [along.at, top]]]
    lines += [] if across is None else [[[left, across.at], [right, across.at]]]
    return np.array(lines)
