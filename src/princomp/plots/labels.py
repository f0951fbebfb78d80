"""Names beside points and arrows that do not lie on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import textalloc
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Ellipse
from matplotlib.patheffects import withStroke

from princomp.arrays import FloatArray
from princomp.plots.surface import SMALL, background, ink, muted

__all__ = ["plain", "put_labels"]

# Points that labels keep off: more only take time.
_OBSTACLES = 1500
# Letters of a name that a figure shows.
_LETTERS = 36
# A line shorter than this, in points, is a hook between a label and its place, and tells
# something only where another place is about as near.
_SHORT, _NEAR = 9.0, 14.0


def put_labels(
    ax: Axes,
    at: FloatArray,
    texts: Sequence[str],
    *,
    points: FloatArray | None = None,
    lines: FloatArray | None = None,
    colours: Sequence[str] | None = None,
) -> int:
    """Write texts near places (m, 2), off points (n, 2) and off lines, from end to end (l, 2, 2).

    Called once and last: texts of another call are not seen, and a label belongs to the limits
    and the size that the Axes has now.

    Returns
    -------
    int
        How many found no room and were left out.
    """
    if not len(texts):
        return 0
    others = at if points is None else np.concatenate([at, _near(at, points)])
    ends: dict[str, Any] = {}
    if lines is not None and len(lines):
        ends = {"x_lines": list(lines[:, :, 0]), "y_lines": list(lines[:, :, 1])}
    before = len(ax.texts)
    done: Any = textalloc.allocate(
        ax,
        at[:, 0],
        at[:, 1],
        [plain(text) for text in texts],
        x_scatter=others[:, 0],
        y_scatter=others[:, 1],
        textsize=SMALL,
        textcolor=ink(ax) if colours is None else list(colours),
        linecolor=muted(ax),
        linewidth=0.5,
        min_distance=0.008,
        max_distance=0.12,
        margin=0.006,
        draw_all=False,
        avoid_label_lines_overlap=True,
        avoid_crossing_label_lines=True,
        **ends,
    )
    _, _, written, leaders = done
    if _on_colour(ax):
        halo = [withStroke(linewidth=2.0, foreground=background(ax))]
        for text in filter(None, written):
            text.set_path_effects(halo)
    for line in leaders:
        if line is not None and _needless(ax, line, others):
            line.remove()
    return len(texts) - (len(ax.texts) - before)


def _on_colour(ax: Axes) -> bool:
    """Whether labels may lie on more than the ground: on a density or on ellipses.

    Elsewhere a halo would only make a picture of shapes three times as large.
    """
    dense = any(isinstance(one, PolyCollection) for one in ax.collections)
    return dense or any(isinstance(one, Ellipse) for one in ax.patches)


def _needless(ax: Axes, line: Any, places: FloatArray) -> bool:
    """Whether a label is so near its place, and so far from all others, that a line is a hook."""
    figure: Any = ax.get_figure(root=True)
    letter, place = ax.transData.transform(line.get_xydata()) * (72.0 / figure.dpi)
    if np.hypot(*(letter - place)) >= _SHORT:
        return False
    shown = ax.transData.transform(places) * (72.0 / figure.dpi)
    others = shown[np.hypot(*(shown - place).T) > 1.0]
    return not bool((np.hypot(*(others - letter).T) < _NEAR).any())


def _near(at: FloatArray, points: FloatArray) -> FloatArray:
    """The points that labels could lie on, the nearest first."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= _OBSTACLES:
        return points
    spread = np.ptp(at, axis=0) + np.ptp(points, axis=0) + 1e-300
    near = np.full(len(points), np.inf)
    for place in at:
        near = np.minimum(near, (((points - place) / spread) ** 2).sum(axis=1))
    return points[np.argpartition(near, _OBSTACLES)[:_OBSTACLES]]


def plain(name: Any) -> str:
    """A name as a figure takes it: no formula, and no longer than leaves room for the figure."""
    text = str(name)
    text = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
    return text.replace("$", r"\$")
