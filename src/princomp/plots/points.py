"""Rows as points: all of them, some of very many, or their density."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.plots.colours import BLUE, GROUP_COLOURS, MARKERS, mixed
from princomp.plots.drawn_rows import Groups
from princomp.plots.ellipses import FEWEST, ellipse_of, put_ellipse
from princomp.plots.labels import plain
from princomp.plots.surface import background, ink, muted

__all__ = ["MOST_POINTS", "cloud", "density", "group_points", "look", "points"]

# More points than these cover each other: then a density is drawn, or some of each group.
MOST_POINTS = 20_000
# A group is not thinned below this.
_LEAST_OF_GROUP = 100
# Points that an SVG or PDF keeps as shapes; more become one picture in it.
_SHAPES = 3000
_CELLS = 70
_LAYERS = 8
# In a small Axes points are drawn as if there were so many.
_SMALL = 300


def look(n: int) -> tuple[float, float]:
    """Size in squared points, and opacity, of one of n points."""
    for most, size, alpha in ((80, 22, 0.9), (500, 14, 0.8), (3000, 8, 0.6)):
        if n <= most:
            return size, alpha
    return 4.0, 0.45


def points(ax: Axes, xy: FloatArray, colour: str, marker: str = "o", **options: Any) -> None:
    """Some points (n, 2), all of them."""
    size, alpha = look(options.pop("among", len(xy)))
    ax.scatter(
        xy[:, 0],
        xy[:, 1],
        s=size,
        marker=marker,
        facecolor=colour,
        edgecolor=mixed(colour, ink(ax), 0.45),
        linewidth=0.4 if size > 4 else 0.0,
        alpha=alpha,
        rasterized=len(xy) > _SHAPES,
        zorder=2,
        **options,
    )


def cloud(ax: Axes, xy: FloatArray, *, bar: bool = True) -> str:
    """Points, or their density where they are many; what a note should say of it."""
    if len(xy) <= MOST_POINTS:
        points(ax, xy, BLUE, among=len(xy) if bar else max(len(xy), _SMALL))
        return ""
    drawn = density(ax, xy, equal=bar)
    if bar:
        scale = ax.figure.colorbar(drawn, ax=ax, shrink=0.5, aspect=18, pad=0.02)
        scale.outline.set_visible(False)
        scale.ax.tick_params(labelsize=7, width=0.6, length=2, colors=ink(ax))
        scale.ax.minorticks_off()
        scale.set_label("rows in a cell", fontsize=7.5, color=ink(ax))
    return f"{len(xy):,} rows as a density, on a logarithmic scale"


def density(ax: Axes, xy: FloatArray, *, equal: bool = True) -> Any:
    """Points counted in hexagons, on a logarithmic scale; ``equal`` where both axes are alike."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    shape = span[1] / span[0] if equal else 0.75
    cells = (_CELLS, int(np.clip(_CELLS * shape / np.sqrt(3), 12, 3 * _CELLS)))
    ground = background(ax)
    faint, strong = mixed(ground, BLUE, 0.35), mixed(BLUE, ink(ax), 0.55)
    colours = LinearSegmentedColormap.from_list("princomp", [faint, BLUE, strong])
    return ax.hexbin(
        xy[:, 0],
        xy[:, 1],
        gridsize=cells,
        bins="log",
        mincnt=1,
        cmap=colours,
        linewidths=0.2,
        edgecolors="face",
        rasterized=True,
        zorder=1,
    )


def group_points(
    ax: Axes, xy: FloatArray, groups: Groups, kind: str, level: float, *, legend: bool = True
) -> list[str]:
    """Rows by group with its ellipse; what a note should say of it.

    Ellipses are of all rows; of very many rows only some are drawn.
    """
    thinned = len(xy) > MOST_POINTS
    rng, drawn, told = np.random.default_rng(0), 0, []
    outside, grey = np.flatnonzero(groups.codes < 0), muted(ax, 0.5)
    if len(outside):
        kept = _thinned(outside, len(xy), rng) if thinned else outside
        points(ax, xy[kept], grey, among=len(xy))
        drawn += len(kept)
    layers, size = [], look(len(xy))[0]
    for code, name in enumerate(groups.labels):
        at = np.flatnonzero(groups.codes == code)
        colour = GROUP_COLOURS[code % len(GROUP_COLOURS)]
        marker = MARKERS[code % len(MARKERS)]
        found = None if kind == "none" else ellipse_of(xy[at], kind, level)
        if found is not None:
            put_ellipse(ax, found, colour)
        kept = rng.permutation(_thinned(at, len(xy), rng) if thinned else at)
        label = _group_name(name)
        if kind != "none" and found is None:
            label += f" ({_few(len(at))}: no ellipse)"
        if legend:
            ax.scatter([], [], marker=marker, facecolor=colour, s=max(size, 14), label=label)
        parts = np.array_split(kept, _LAYERS if len(xy) > _SHAPES else 1)
        layers.append([(part, colour, marker) for part in parts if len(part)])
        drawn += len(kept)
    if legend and len(outside):
        ax.scatter([], [], facecolor=grey, s=max(size, 14), label="no group")
    # The largest first, so that small groups are not covered; of many points some of each
    # group in turn, so that none covers another.
    layers.sort(key=lambda parts: -sum(len(part) for part, _, _ in parts))
    for together in zip_longest(*layers):
        for layer in filter(None, together):
            part, colour, marker = layer
            points(ax, xy[part], colour, marker, among=len(xy))
    if thinned:
        told.append(f"{drawn:,} of {len(xy):,} rows drawn; ellipses are of all")
    return told


def _group_name(name: str) -> str:
    """As a legend takes it: no formula, and not hidden for its underscore."""
    text = plain(name)
    return "\u200b" + text if text.startswith("_") else text


def _few(count: int) -> str:
    """Why a group of so many rows has no ellipse."""
    if count >= FEWEST:
        return "on a line"
    return f"{count} row" + "s" * (count != 1)


def _thinned(at: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    count = max(round(MOST_POINTS * len(at) / n), _LEAST_OF_GROUP)
    if count >= len(at):
        return at
    return np.sort(rng.choice(at, count, replace=False))
