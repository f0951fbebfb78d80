"""All pairs of the first components."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from princomp.diagnostics import Bootstrap, Components, Names
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray
from princomp.plots.drawn_model import DrawnModel, accept_any_model, axis_names, select_few
from princomp.plots.drawn_rows import Groups, rows_and_groups
from princomp.plots.labels import display_name
from princomp.plots.marks import draw_cloud, draw_groups, group_style
from princomp.plots.style import (
    BLUE,
    SMALL,
    apply_style,
    draw_legend,
    muted_colour,
    new_figure,
    set_colours,
    text_colour,
)

_DEFAULT_COMPONENTS, _MAX_COMPONENTS = 4, 8  # components by default, and at most


@accept_any_model
def pairs(
    model: PCA | KernelPCA,
    X: object,
    components: Components = None,
    *,
    groups: object = None,
    ellipses: str = "none",
    level: float = 0.95,
    bootstrap: Bootstrap | None = None,
    figure: Figure | None = None,
    dark: bool | None = None,
) -> NDArray[Any]:
    """Draw rows on each pair of components, with histograms on the diagonal.

    Parameters
    ----------
    model, X, groups, ellipses, level, bootstrap
        As for :func:`scores`.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; at most 8, by default the first four.
    figure : matplotlib.figure.Figure, optional
        Empty figure to draw on; by default a new one.
    dark : bool, optional
        Colours: light on dark if true, dark on light if false. By default those of matplotlib's
        settings.

    Returns
    -------
    ndarray of Axes, shape (c, c)
        Axes above the diagonal are invisible. One component gives a single histogram.

    Raises
    ------
    ShapeError, ParameterError, NotFiniteError
    """
    drawn = DrawnModel.of(model, bootstrap)
    selected = select_few(drawn.k, components, _DEFAULT_COMPONENTS, _MAX_COMPONENTS)
    count = len(selected.indices)
    rows, row_groups = rows_and_groups(model, X, selected, groups, ellipses, level)
    axes = _empty_axes(figure, count, dark)
    names, note = axis_names(drawn.rates, selected, drawn.verdicts), ""
    for i in range(count):
        for j in range(count):
            ax = axes[i, j]
            if j > i:
                ax.set_visible(False)
                continue
            apply_style(ax)
            ax.tick_params(labelsize=SMALL - 1)
            xy = rows.scores[:, [j, i]]
            if i == j:
                _histogram(ax, rows.scores[:, i], row_groups)
                ax.set_title(names[i], fontsize=SMALL + 1, color=text_colour(ax))
            elif row_groups is None:
                note = draw_cloud(ax, xy, colour_bar=False)
            else:
                notes, _ = draw_groups(ax, xy, row_groups, legend=(i, j) == (1, 0))
                note = "\n".join(notes)
            _label_axes(ax, i, j, count, selected.names)
    for i in range(1, count):  # planes of a row share the axis labels at the left
        limits = np.array([axes[i, j].get_ylim() for j in range(i)])
        for j in range(i):
            axes[i, j].set_ylim(limits[:, 0].min(), limits[:, 1].max())
    note = "\n".join(filter(None, [note, rows.missing_note]))
    if note:
        colour = muted_colour(axes[0, 0], 0.3)
        axes[0, 0].figure.supxlabel(note, x=0.01, ha="left", fontsize=SMALL - 0.5, color=colour)
    if row_groups is not None and count > 1:
        handles, labels = axes[1, 0].get_legend_handles_labels()
        title = display_name(row_groups.title) or None
        options = {"handles": handles, "labels": labels, "title": title, "loc": "upper right"}
        draw_legend(axes[0, 0].figure, axes[0, 0], **options)
    return axes


def _empty_axes(figure: Figure | None, count: int, dark: bool | None) -> NDArray[Any]:
    size = max(1.75 * count, 3.2)
    if figure is None:
        figure = new_figure(size, size, dark)
    elif not isinstance(figure, Figure):
        raise ParameterError(
            f"figure must be a Figure of matplotlib, got {type(figure).__name__}",
            place={"parameter": "figure"},
            hint="give matplotlib.figure.Figure(), or leave out figure",
        )
    elif dark is not None:
        raise ParameterError(
            "dark applies to a new figure only",
            place={"parameter": "dark"},
            hint="leave out dark or figure",
        )
    axes: NDArray[Any] = figure.subplots(count, count, squeeze=False, sharex="col")
    if dark is not None:
        for ax in axes.flat:
            set_colours(ax, dark)
    return axes


def _label_axes(ax: Axes, i: int, j: int, count: int, names: Names) -> None:
    """Set axis labels at the outer sides only."""
    ax.margins(0.07)
    ax.tick_params(labelbottom=i == count - 1, labelleft=j == 0 and i > 0)
    if i == count - 1:
        ax.set_xlabel(names[j], fontsize=SMALL + 1)
    if j == 0 and i > 0:
        ax.set_ylabel(names[i], fontsize=SMALL + 1)


def _histogram(ax: Axes, t: FloatArray, groups: Groups | None) -> None:
    """Draw the distribution of the scores of a component, by group."""
    count = min(40, max(8, round(2 * len(t) ** (1 / 3))))
    try:
        bins = np.histogram_bin_edges(t, bins=count).tolist()
    except ValueError:  # scores are equal up to rounding
        bins = [float(t.min()), float(np.nextafter(t.max(), np.inf))]
    if groups is None:
        ax.hist(t, bins, color=BLUE, alpha=0.85)
    else:
        for code in range(len(groups.labels)):
            colour, _ = group_style(code)
            group_scores = t[groups.codes == code]
            ax.hist(group_scores, bins, color=colour, histtype="stepfilled", alpha=0.25)
            ax.hist(group_scores, bins, color=colour, histtype="step", lw=1.0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(left=False, labelleft=False)
