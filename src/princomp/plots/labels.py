"""Labels of points and arrows without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from princomp.errors import printable
from princomp.linalg import FloatArray
from princomp.plots.axes_style import (
    SMALL,
    add_note,
    background_colour,
    join_names,
    lay_out,
    muted_colour,
    text_colour,
)
from princomp.plots.placement import LabelPlacer, Placement

# Number of points that labels avoid; more take too much time.
_MAX_OBSTACLES = 1500
# Maximum letters of a name in a figure; maximum names, and letters of all names, under a figure.
_MAX_NAME_LETTERS, _MAX_LISTED_NAMES, _MAX_LISTED_LETTERS = 36, 30, 500
# More labels than this are smaller by a point.
_MANY_LABELS = 30


def place_labels(
    ax: Axes,
    positions: FloatArray,
    texts: Iterable[object],
    *,
    points: FloatArray | None = None,
    lines: Sequence[FloatArray] = (),
    colours: Sequence[str] | None = None,
    arrow_count: int = 0,
) -> None:
    """Place texts near positions (m, 2), away from points and lines.

    Texts that find no room are listed in the note under the Axes. Call this once, last, after
    ``lay_out``: texts of another call are not avoided, and positions depend on the limits and the
    size of the Axes.

    Parameters
    ----------
    positions : ndarray of shape (m, 2)
    texts : sequence of m names
    points : ndarray of shape (n, 2), optional
    lines : sequence of ndarray of shape (l, 2), optional
        Lines through these positions.
    colours : sequence of m colours, optional
    arrow_count : int
        Number of texts that are names of arrows; the arrows are the first lines. These texts are
        placed first, and lie on points and other lines if nothing else is free.
    """
    names = [display_name(text) for text in texts]
    if not names:
        return
    text_colours = [text_colour(ax)] * len(names) if colours is None else list(colours)
    size = SMALL - (len(names) > _MANY_LABELS)
    artists = [
        # Labels lie inside the Axes, so they do not change the layout.
        ax.text(
            position[0],
            position[1],
            name,
            fontsize=size,
            color=colour,
            va="bottom",
            in_layout=False,
        )
        for position, name, colour in zip(positions, names, text_colours, strict=True)
    ]
    obstacles = (
        positions
        if points is None
        else np.concatenate([positions, _nearest_points(positions, points)])
    )
    candidates, placed = list(range(len(names))), {}
    while candidates:
        layout = _LabelLayout(ax, positions, obstacles, lines, arrow_count)
        placed = layout.place(candidates, artists)
        if len(placed) < len(candidates):
            # Labels that found no room may find some if they are placed first.
            retry = _LabelLayout(ax, positions, obstacles, lines, arrow_count)
            retry_placed = retry.place(
                sorted(candidates, key=lambda i: (i >= arrow_count, i in placed)), artists
            )
            if len(retry_placed) > len(placed):
                layout, placed = retry, retry_placed
        if len(placed) == len(candidates):
            break
        # The note makes the Axes smaller, so the labels are placed once more.
        unplaced = [name for i, name in enumerate(names) if i not in placed]
        letters = np.cumsum([len(name) + 2 for name in unplaced])
        listed = max(1, min(_MAX_LISTED_NAMES, int((letters <= _MAX_LISTED_LETTERS).sum())))
        add_note(ax, f"no room for {join_names(unplaced, listed)}", replace="no room")
        lay_out(ax)
        candidates = sorted(placed)
    for i, text in enumerate(artists):
        if i in placed:
            layout.write(text, placed[i], halo=i in layout.over_points)
        else:
            text.remove()


class _LabelLayout:
    """An Axes and the labels on it, in points from the lower left corner of the figure."""

    def __init__(
        self,
        ax: Axes,
        positions: FloatArray,
        obstacles: FloatArray,
        lines: Sequence[FloatArray],
        arrow_count: int,
    ) -> None:
        self.ax = ax
        self._scale = 72.0 / ax.figure.dpi
        self._positions, self._arrow_count = self._in_points(positions), arrow_count
        self._lines = [self._in_points(line) for line in lines]
        area = np.asarray(ax.get_window_extent().extents) * self._scale
        self._placer = LabelPlacer(area, self._in_points(obstacles), _segments(self._lines))
        # Labels that lie on points.
        self.over_points: set[int] = set()

    def place(self, candidates: list[int], texts: list[Text]) -> dict[int, Placement]:
        """Find places for some of the texts."""
        sizes = {i: np.array(texts[i].get_window_extent().size) * self._scale for i in candidates}
        arrows = [i for i in candidates if i < self._arrow_count]
        placements = {
            i: self._placer.place(self._positions[i], sizes[i], self._arrow_direction(i))
            for i in arrows
        }
        for i in (i for i in arrows if placements[i] is None):
            spokes = _segments(self._lines[: self._arrow_count])
            arrows_only = replace(self._placer, points=np.empty((0, 2)), segments=spokes)
            placements[i] = arrows_only.place(
                self._positions[i], sizes[i], self._arrow_direction(i)
            )
            self._placer = replace(
                self._placer, boxes=arrows_only.boxes, leaders=arrows_only.leaders
            )
            self.over_points.add(i)
        for i in candidates[len(arrows) :]:
            placements[i] = self._placer.place(self._positions[i], sizes[i])
        return {i: placement for i, placement in placements.items() if placement is not None}

    def write(self, text: Text, placement: Placement, *, halo: bool) -> None:
        """Move a text to its place, and draw its leader line."""
        x, y = self._in_data(placement.corner)
        text.set_position((x, y))
        if halo or self.ax.images:
            text.set_path_effects(
                [withStroke(linewidth=2.0, foreground=background_colour(self.ax))]
            )
        if placement.leader is not None:
            x, y = self._in_data(placement.leader).T
            line_style: dict[str, Any] = {
                "color": muted_colour(self.ax),
                "linewidth": 0.5,
                "zorder": 0.9,
            }
            self.ax.add_artist(Line2D(x, y, **line_style)).set_in_layout(False)

    def _arrow_direction(self, i: int) -> FloatArray:
        """Direction of an arrow."""
        start, end = self._lines[i][0], self._lines[i][-1]
        length = float(np.hypot(*(end - start)))
        direction: FloatArray = (end - start) / length if length > 0 else np.zeros(2)
        return direction

    def _in_points(self, xy: FloatArray) -> FloatArray:
        return np.asarray(self.ax.transData.transform(xy)) * self._scale

    def _in_data(self, xy: FloatArray) -> FloatArray:
        return np.asarray(self.ax.transData.inverted().transform(xy / self._scale))


def _segments(lines: Sequence[FloatArray]) -> FloatArray:
    """Segments (s, 4) of lines."""
    parts = [np.concatenate([line[:-1], line[1:]], axis=1) for line in lines]
    return np.concatenate([np.empty((0, 4)), *parts])


def _nearest_points(positions: FloatArray, points: FloatArray) -> FloatArray:
    """Select the points nearest to the labels."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= _MAX_OBSTACLES:
        return points
    extent = np.ptp(positions, axis=0) + np.ptp(points, axis=0) + 1e-300
    distances = np.full(len(points), np.inf)
    for position in positions:
        distances = np.minimum(distances, (((points - position) / extent) ** 2).sum(axis=1))
    return points[np.argpartition(distances, _MAX_OBSTACLES)[:_MAX_OBSTACLES]]


def display_name(name: object) -> str:
    """Return a name for a figure: shortened, without formulas and control characters."""
    text = printable(str(name))
    text = text if len(text) <= _MAX_NAME_LETTERS else f"{text[: _MAX_NAME_LETTERS - 1]}…"
    return text.replace("$", r"\$")
