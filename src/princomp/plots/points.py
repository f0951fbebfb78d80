"""Rows as points: all of them, a sample of very many, or their density."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from princomp.linalg import FloatArray
from princomp.plots.colours import BLUE, GROUP_COLOURS, MARKERS, mixed
from princomp.plots.drawn_rows import Groups
from princomp.plots.ellipses import FEWEST, ellipse_label, ellipse_of, put_ellipse
from princomp.plots.labels import plain
from princomp.plots.surface import ink, muted

# A single hue from faint to opaque suits light and dark backgrounds.
_FAINT_TO_OPAQUE = LinearSegmentedColormap.from_list(
    "princomp", [to_rgba(BLUE, 0.2), to_rgba(BLUE, 1.0)]
)
# More points would hide each other: a density is drawn, or a sample of each group.
MOST_POINTS = 20_000
# Smallest sample of a group.
_LEAST_OF_GROUP = 100
# Largest number of points that are shapes in SVG and PDF files; more become a bitmap.
_SHAPES = 3000
_CELLS = 80
_LAYERS = 8
# In a small Axes, points have at most the size for this many.
_SMALL = 300


class DrawnGroups(NamedTuple):
    """Notes about groups, and places (m, 2) on the ellipse of each group that has one."""

    notes: tuple[str, ...]
    ellipses: dict[int, FloatArray]


def look(n: int) -> tuple[float, float]:
    """Size in squared points, and opacity, for n points."""
    for most, size, alpha in ((80, 22, 0.9), (500, 14, 0.8), (3000, 8, 0.6)):
        if n <= most:
            return size, alpha
    return 4.0, 0.45


def points(ax: Axes, xy: FloatArray, colour: str, marker: str = "o", **options: Any) -> None:
    """Draw points (n, 2); ``among`` is the number of all points, which decides their size."""
    among = options.pop("among", len(xy))
    size, alpha = look(among)
    ax.scatter(
        xy[:, 0],
        xy[:, 1],
        s=size,
        marker=marker,
        facecolor=colour,
        edgecolor=mixed(colour, ink(ax), 0.45),
        linewidth=0.4 if size > 4 else 0.0,
        alpha=alpha,
        rasterized=among > _SHAPES,
        zorder=2,
        **options,
    )


def cloud(ax: Axes, xy: FloatArray, *, bar: bool = True) -> str:
    """Draw points, or the density of many points; return a note."""
    if len(xy) <= MOST_POINTS:
        points(ax, xy, BLUE, among=len(xy) if bar else max(len(xy), _SMALL))
        return ""
    drawn = density(ax, xy, equal=bar)
    if bar:
        scale = ax.figure.colorbar(drawn, ax=ax, shrink=0.5, aspect=18, pad=0.02)
        scale.outline.set_visible(False)
        scale.ax.set_facecolor("none")
        if scale.solids is not None:
            scale.solids.set_rasterized(True)
        scale.ax.tick_params(labelsize=7, width=0.6, length=2, colors=ink(ax))
        scale.ax.minorticks_off()
        scale.set_label("rows in a cell", fontsize=7.5, color=ink(ax))
    return f"{len(xy):,} rows as a density, on a logarithmic scale"


def density(ax: Axes, xy: FloatArray, *, equal: bool = True) -> AxesImage:
    """Draw counts in cells on a logarithmic scale; ``equal`` for axes with equal scales."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    cells = np.clip(
        _CELLS * (span / span.max() if equal else np.array([1.0, 0.75])), 4, None
    ).astype(int)
    counts, *edges = np.histogram2d(
        xy[:, 0], xy[:, 1], bins=cells, range=np.stack([low, low + span], axis=1)
    )
    image = ax.imshow(
        np.where(counts > 0, counts, np.nan).T,
        origin="lower",
        extent=(edges[0][0], edges[0][-1], edges[1][0], edges[1][-1]),
        norm=LogNorm(1.0, max(float(counts.max()), 2.0)),
        cmap=_FAINT_TO_OPAQUE,
        aspect="auto",
        interpolation="none",
        zorder=1,
    )
    image.sticky_edges.x.clear()  # they would leave no margins
    image.sticky_edges.y.clear()
    return image


def group_points(
    ax: Axes, xy: FloatArray, groups: Groups, kind: str, level: float, *, legend: bool = True
) -> DrawnGroups:
    """Draw rows and ellipses by group.

    If there are very many rows, a sample is drawn; ellipses are computed from all rows.
    """
    thinned = len(xy) > MOST_POINTS
    rng, drawn = np.random.default_rng(0), 0
    outside, grey = np.flatnonzero(groups.codes < 0), muted(ax, 0.5)
    if len(outside):
        kept = _thinned(outside, len(xy), rng) if thinned else outside
        points(ax, xy[kept], grey, among=len(xy))
        drawn += len(kept)
    layers, size, ellipses = [], look(len(xy))[0], {}
    for code, name in enumerate(groups.labels):
        at = np.flatnonzero(groups.codes == code)
        colour, marker = group_look(code)
        found = None if kind == "none" else ellipse_of(xy[at], kind, level)
        if found is not None:
            ellipses[code] = put_ellipse(ax, found, colour)
        kept = rng.permutation(_thinned(at, len(xy), rng) if thinned else at)
        label = _group_name(name)
        if kind != "none" and found is None:
            label += f" ({_no_ellipse(len(at))}: no ellipse)"
        if legend:
            ax.scatter([], [], marker=marker, facecolor=colour, s=max(size, 14), label=label)
        parts = np.array_split(kept, _LAYERS if len(xy) > _SHAPES else 1)
        layers.append([(part, colour, marker) for part in parts if len(part)])
        drawn += len(kept)
    if legend and len(outside):
        ax.scatter([], [], facecolor=grey, s=max(size, 14), label="no group")
    # Draw the largest groups first, so that they do not hide small ones. If there are many points,
    # the groups are drawn in layers, in turn.
    layers.sort(key=lambda parts: -sum(len(part) for part, _, _ in parts))
    for together in zip_longest(*layers):
        for layer in filter(None, together):
            part, colour, marker = layer
            points(ax, xy[part], colour, marker, among=len(xy))
    notes = [f"{drawn:,} of {len(xy):,} rows drawn; ellipses are of all"] if thinned else []
    if ellipses:
        notes.append(f"ellipses: {ellipse_label(kind, level)}")
    return DrawnGroups(tuple(notes), ellipses)


def group_look(code: int) -> tuple[str, str]:
    """Colour and marker of a group."""
    return GROUP_COLOURS[code % len(GROUP_COLOURS)], MARKERS[code % len(MARKERS)]


def _group_name(name: str) -> str:
    """Name of a group for a legend, which would hide names with a leading underscore."""
    text = plain(name)
    return "\u200b" + text if text.startswith("_") else text


def _no_ellipse(count: int) -> str:
    """Reason why a group has no ellipse."""
    if count >= FEWEST:
        return "on a line"
    return f"{count} row" + "s" * (count != 1)


def _thinned(at: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    count = max(round(MOST_POINTS * len(at) / n), _LEAST_OF_GROUP)
    if count >= len(at):
        return at
    return np.sort(rng.choice(at, count, replace=False))
