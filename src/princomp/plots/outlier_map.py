"""Outlier map: distances of rows within and from the components, with limits."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.estimators import PCA, RobustPCA
from princomp.linalg import FloatArray
from princomp.plots.colours import BLUE, VERMILLION
from princomp.plots.drawn_model import of_any_model
from princomp.plots.drawn_rows import DrawnRows, Ids, Labels, labelled
from princomp.plots.labels import put_labels
from princomp.plots.outlying import Limit, outlyingness
from princomp.plots.points import MOST_POINTS, density, points
from princomp.plots.surface import axes_on, inked, lay_out, legend_above, note

_LABELLED = 10  # labels by default


@of_any_model
def outliers(
    model: PCA | RobustPCA,
    X: object,
    level: float | None = None,
    *,
    training: bool = False,
    label: Labels = None,
    ids: Ids = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw an outlier map: T² against Q of rows, with both limits.

    Parameters
    ----------
    model : PCA or RobustPCA
        Fitted. For a RobustPCA, score distances (√T²), orthogonal distances (√Q) and the
        cut-offs of the fit are drawn.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or other rows.
    level : float, optional
        Level of the limits of a PCA, by default 0.95. The limits depend on the model only.
    training : bool, default=False
        Whether X are the rows of the fit, for which the limit of T² is lower.
    label : int or sequence of names, optional
        Rows with labels: an integer labels this many of the most distant rows; a sequence, the
        rows with these names. By default the 10 most distant rows beyond a limit.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default a new one.
    dark : bool, optional
        Colours of a new Axes: light on dark if true, dark on light if false. By default those of
        matplotlib's settings.

    Returns
    -------
    matplotlib.axes.Axes
        With all components (k = p) there is no Q, and T² is drawn by row. A limit that cannot
        be computed is not drawn, and a note explains why.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    seen = outlyingness(model, X, level, training, ids)
    if seen.outside is None:
        xy = np.column_stack([np.arange(len(seen.kept))[seen.kept], seen.within])
        vertical, horizontal = None, seen.limit_within
    else:
        xy = np.column_stack([seen.within, seen.outside])
        vertical, horizontal = seen.limit_within, seen.limit_outside
    ratio, count = seen.ratio, len(xy)
    beyond = np.zeros(count, dtype=bool) if ratio is None else ratio > 1.0

    ax = axes_on(ax, dark)
    density_note = _draw_rows(ax, xy, beyond)
    _draw_limits(ax, vertical, horizontal)
    rows = DrawnRows(xy, seen.names, seen.kept)
    label = min(int(beyond.sum()), _LABELLED) if label is None else label
    at = labelled(label, rows, seen.within if ratio is None else ratio)
    _set_limits(ax, vertical, horizontal)
    if seen.outside is None:
        n = len(seen.kept)
        ax.set(xlim=(-0.02 * n - 0.5, 1.02 * n), xlabel="row", ylabel=seen.labels[0])
    else:
        ax.set(xlabel=seen.labels[0], ylabel=seen.labels[1])
    if ax.get_legend_handles_labels()[0]:
        legend_above(ax, 2)
    if count > MOST_POINTS:
        points(ax, xy[at], VERMILLION, "D", among=400)
    note(
        ax,
        "" if ratio is None else f"{int(beyond.sum()):,} of {count:,} rows are beyond a limit",
        density_note,
        *seen.notes,
        rows.missing_note,
    )
    lines = _lines(ax, vertical, horizontal)
    lay_out(ax)
    put_labels(ax, xy[at], rows.names[at], points=xy, lines=lines)
    return ax


def _draw_rows(ax: Axes, xy: FloatArray, beyond: NDArray[np.bool_]) -> str:
    """Draw rows as points, or many rows as a density; return a note about it."""
    if len(xy) <= MOST_POINTS:
        points(ax, xy[~beyond], BLUE, among=len(xy), label="within the limits")
        if beyond.any():
            points(ax, xy[beyond], VERMILLION, "D", among=len(xy), label="beyond a limit")
        return ""
    density(ax, xy, equal=False)
    return "density of rows on a logarithmic scale"


def _draw_limits(ax: Axes, vertical: Limit | None, horizontal: Limit | None) -> None:
    colour = inked(ax, VERMILLION)
    for limit, draw, style in (
        (vertical, ax.axvline, (0, (5, 3))),
        (horizontal, ax.axhline, (0, (1.5, 2))),
    ):
        if limit is not None:
            draw(limit.value, color=colour, lw=1.0, ls=style, zorder=1.5, label=limit.label)


def _set_limits(ax: Axes, vertical: Limit | None, horizontal: Limit | None) -> None:
    """Let both axes start near zero and include the limits."""
    ax.margins(0.06)
    ax.autoscale_view()
    for high, limit, change in (
        (ax.get_xlim()[1], vertical, ax.set_xlim),
        (ax.get_ylim()[1], horizontal, ax.set_ylim),
    ):
        top = max(high, 1.15 * (limit.value if limit else 0.0))
        change(-0.015 * top, top)


def _lines(ax: Axes, vertical: Limit | None, horizontal: Limit | None) -> list[FloatArray]:
    """Ends of the limit lines, which labels must not cross."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    lines = [] if vertical is None else [[[vertical.value, bottom], [vertical.value, top]]]
    lines += [] if horizontal is None else [[[left, horizontal.value], [right, horizontal.value]]]
    return [np.array(line) for line in lines]
