"""All pairs of the first components."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.diagnostics.control_limits import checked_level
from princomp.diagnostics.given import picked
from princomp.errors import ParameterError
from princomp.plots.colours import BLUE, GROUP_COLOURS
from princomp.plots.drawn_model import drawn_state
from princomp.plots.drawn_rows import Groups, drawn_rows, grouped_by
from princomp.plots.ellipses import checked_kind, ellipse_words
from princomp.plots.labels import plain
from princomp.plots.points import cloud, group_points
from princomp.plots.surface import (
    SMALL,
    axis_names,
    dress,
    figure_of,
    ink,
    muted,
    paint,
)

__all__ = ["pairs"]

_SOME, _MOST = 4, 8


def pairs(
    model: Any,
    X: Any,
    components: Any = None,
    *,
    groups: Any = None,
    ellipses: str = "none",
    level: float = 0.95,
    figure: Figure | None = None,
    dark: bool | None = None,
) -> NDArray[Any]:
    """Rows on each pair of components; the distribution of each on the diagonal.

    Parameters
    ----------
    model, X, groups, ellipses, level
        As for :func:`scores`.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; at most 8, by default the first four.
    figure : matplotlib.figure.Figure, optional
        An empty one to draw on; by default one of its own.
    dark : bool, optional
        Light ink on a dark ground, or the reverse; by default what matplotlib is set to.

    Returns
    -------
    ndarray of Axes, shape (c, c)
        Those above the diagonal are not drawn. One component is its histogram alone.

    Raises
    ------
    ShapeError, ParameterError, NotFiniteError
    """
    fitted = drawn_state(model)
    if components is None:
        components = list(range(1, min(fitted.k, _SOME) + 1))
    chosen = picked(fitted, components)
    count = len(chosen.at)
    if count > _MOST:
        raise ParameterError(
            f"pairs of {count} components are {count * (count - 1) // 2} planes",
            place={"parameter": "components"},
            hint=f"name at most {_MOST} components",
        )
    checked_kind(ellipses), checked_level(level)
    rows = drawn_rows(model, X, chosen)
    found = grouped_by(groups, rows)
    axes = _empty_axes(figure, count, dark)
    names, told = axis_names(fitted, chosen), ""
    for i in range(count):
        for j in range(count):
            ax = axes[i, j]
            if j > i:
                ax.set_visible(False)
                continue
            dress(ax)
            ax.tick_params(labelsize=SMALL - 1)
            if i == j:
                _histogram(ax, rows.t[:, i], found)
                ax.set_title(names[i], fontsize=SMALL + 1, color=ink(ax))
            elif found is None:
                told = cloud(ax, rows.t[:, [j, i]], bar=False)
            else:
                legend = (i, j) == (1, 0)
                words = group_points(ax, rows.t[:, [j, i]], found, ellipses, level, legend=legend)
                told = words[0] if words else ""
            _name(ax, i, j, count, chosen.names)
    for i in range(1, count):  # names stand at the left plane only: all of a row are alike
        ends = np.array([axes[i, j].get_ylim() for j in range(i)])
        for j in range(i):
            axes[i, j].set_ylim(ends[:, 0].min(), ends[:, 1].max())
    if rows.missing:
        told = f"{told}\n{rows.missing:,} rows with missing values are not drawn".strip()
    if told:
        colour = muted(axes[0, 0], 0.3)
        axes[0, 0].figure.supxlabel(told, x=0.01, ha="left", fontsize=SMALL - 0.5, color=colour)
    if found is not None:
        _legend(axes, found, ellipses, level)
    return axes


def _empty_axes(figure: Any, count: int, dark: bool | None) -> NDArray[Any]:
    size = max(1.75 * count, 3.2)
    if figure is None:
        figure = figure_of(size, size, dark)
    elif not isinstance(figure, Figure):
        raise ParameterError(
            f"figure is {type(figure).__name__}, no Figure of matplotlib",
            place={"parameter": "figure"},
            hint="give matplotlib.figure.Figure(), or leave it out",
        )
    elif dark is not None:
        raise ParameterError(
            "a figure that is given has its ground already",
            place={"parameter": "dark"},
            hint="leave dark or figure out",
        )
    axes: NDArray[Any] = figure.subplots(count, count, squeeze=False, sharex="col")
    if dark is not None:
        for ax in axes.flat:
            paint(ax, dark)
    return axes


def _name(ax: Axes, i: int, j: int, count: int, names: Any) -> None:
    """Names at the outer sides only."""
    ax.margins(0.07)
    ax.tick_params(labelbottom=i == count - 1, labelleft=j == 0 and i > 0)
    if i == count - 1:
        ax.set_xlabel(names[j], fontsize=SMALL + 1)
    if j == 0 and i > 0:
        ax.set_ylabel(names[i], fontsize=SMALL + 1)


def _histogram(ax: Axes, t: FloatArray, groups: Groups | None) -> None:
    """How the scores of a component are distributed, group by group as outlines."""
    count = min(40, max(8, round(2 * len(t) ** (1 / 3))))
    bins = np.histogram_bin_edges(t, bins=count).tolist()
    if groups is None:
        ax.hist(t, bins, color=BLUE, alpha=0.85)
    else:
        for code in range(len(groups.labels)):
            colour = GROUP_COLOURS[code % len(GROUP_COLOURS)]
            one = t[groups.codes == code]
            ax.hist(one, bins, color=colour, histtype="stepfilled", alpha=0.25)
            ax.hist(one, bins, color=colour, histtype="step", lw=1.0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(left=False, labelleft=False)


def _legend(axes: NDArray[Any], groups: Groups, ellipses: str, level: float) -> None:
    """The groups, in the corner that has no planes."""
    if len(axes) == 1:
        return
    handles, labels = axes[1, 0].get_legend_handles_labels()
    title = [plain(groups.title)] if groups.title else []
    if ellipses != "none":
        title.append(ellipse_words(ellipses, level))
    legend = axes[0, 0].figure.legend(
        handles,
        labels,
        loc="upper right",
        frameon=False,
        fontsize=SMALL,
        title="\n".join(title) or None,
        title_fontsize=SMALL,
        labelcolor=ink(axes[0, 0]),
    )
    legend.get_title().set_color(ink(axes[0, 0]))
