"""Outlier map: distances of rows within and from the components, with limits."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.estimators import PCA, RobustPCA
from princomp.linalg import FloatArray
from princomp.plots.axes_style import add_note, lay_out, legend_above, readable_on_axes, styled_axes
from princomp.plots.colours import BLUE, VERMILLION
from princomp.plots.drawn_model import accept_any_model
from princomp.plots.drawn_rows import DrawnRows, Ids, Labels, choose_labelled
from princomp.plots.labels import place_labels
from princomp.plots.points import MAX_POINTS, draw_density, draw_points
from princomp.plots.row_distances import Limit, row_distances

_DEFAULT_LABELS = 10  # labels by default


@accept_any_model
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
    distances = row_distances(model, X, level, training, ids)
    if distances.outside is None:
        xy = np.column_stack([np.arange(len(distances.kept))[distances.kept], distances.within])
        vertical, horizontal = None, distances.limit_within
    else:
        xy = np.column_stack([distances.within, distances.outside])
        vertical, horizontal = distances.limit_within, distances.limit_outside
    ratio, count = distances.ratio, len(xy)
    beyond = np.zeros(count, dtype=bool) if ratio is None else ratio > 1.0

    ax = styled_axes(ax, dark)
    density_note = _draw_rows(ax, xy, beyond)
    _draw_limits(ax, vertical, horizontal)
    rows = DrawnRows(xy, distances.names, distances.kept)
    label = min(int(beyond.sum()), _DEFAULT_LABELS) if label is None else label
    labelled = choose_labelled(label, rows, distances.within if ratio is None else ratio)
    _set_limits(ax, vertical, horizontal)
    if distances.outside is None:
        n = len(distances.kept)
        ax.set(xlim=(-0.02 * n - 0.5, 1.02 * n), xlabel="row", ylabel=distances.labels[0])
    else:
        ax.set(xlabel=distances.labels[0], ylabel=distances.labels[1])
    if ax.get_legend_handles_labels()[0]:
        legend_above(ax, 2)
    if count > MAX_POINTS:
        draw_points(ax, xy[labelled], VERMILLION, "D", among=400)
    add_note(
        ax,
        "" if ratio is None else f"{int(beyond.sum()):,} of {count:,} rows are beyond a limit",
        density_note,
        *distances.notes,
        rows.missing_note,
    )
    lines = _limit_lines(ax, vertical, horizontal)
    lay_out(ax)
    place_labels(ax, xy[labelled], rows.names[labelled], points=xy, lines=lines)
    return ax


def _draw_rows(ax: Axes, xy: FloatArray, beyond: NDArray[np.bool_]) -> str:
    """Draw rows as points, or many rows as a density; return a note about it."""
    if len(xy) <= MAX_POINTS:
        draw_points(ax, xy[~beyond], BLUE, among=len(xy), label="within the limits")
        if beyond.any():
            draw_points(ax, xy[beyond], VERMILLION, "D", among=len(xy), label="beyond a limit")
        return ""
    draw_density(ax, xy, equal_scales=False)
    return "density of rows on a logarithmic scale"


def _draw_limits(ax: Axes, vertical: Limit | None, horizontal: Limit | None) -> None:
    colour = readable_on_axes(ax, VERMILLION)
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
    for upper, limit, set_limits in (
        (ax.get_xlim()[1], vertical, ax.set_xlim),
        (ax.get_ylim()[1], horizontal, ax.set_ylim),
    ):
        top = max(upper, 1.15 * (limit.value if limit else 0.0))
        set_limits(-0.015 * top, top)


def _limit_lines(ax: Axes, vertical: Limit | None, horizontal: Limit | None) -> list[FloatArray]:
    """Ends of the limit lines, which labels must not cross."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    lines = [] if vertical is None else [[[vertical.value, bottom], [vertical.value, top]]]
    lines += [] if horizontal is None else [[[left, horizontal.value], [right, horizontal.value]]]
    return [np.array(line) for line in lines]
