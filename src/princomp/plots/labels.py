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
from princomp.plots.placement import Crowd, Place
from princomp.plots.surface import SMALL, background, ink, lay_out, listed, muted, note

# Number of points that labels avoid; more take too much time.
_OBSTACLES = 1500
# Maximum letters of a name in a figure; maximum names, and letters of all names, under a figure.
_LETTERS, _LISTED, _LISTED_LETTERS = 36, 30, 500
# More labels than this are smaller by a point.
_MANY = 30


def put_labels(
    ax: Axes,
    at: FloatArray,
    texts: Iterable[object],
    *,
    points: FloatArray | None = None,
    lines: Sequence[FloatArray] = (),
    colours: Sequence[str] | None = None,
    first: int = 0,
) -> None:
    """Place texts near positions (m, 2), away from points and lines.

    Texts that find no room are listed in the note under the Axes. Call this once, last, after
    ``lay_out``: texts of another call are not avoided, and positions depend on the limits and the
    size of the Axes.

    Parameters
    ----------
    at : ndarray of shape (m, 2)
    texts : sequence of m names
    points : ndarray of shape (n, 2), optional
    lines : sequence of ndarray of shape (l, 2), optional
        Lines through these positions.
    colours : sequence of m colours, optional
    first : int
        Number of texts that are names of arrows; the arrows are the first lines. These texts are
        placed first, and lie on points and other lines if nothing else is free.
    """
    names = [plain(text) for text in texts]
    if not names:
        return
    tints = [ink(ax)] * len(names) if colours is None else list(colours)
    size = SMALL - (len(names) > _MANY)
    written = [
        # Labels lie inside the Axes, so they do not change the layout.
        ax.text(place[0], place[1], name, fontsize=size, color=tint, va="bottom", in_layout=False)
        for place, name, tint in zip(at, names, tints, strict=True)
    ]
    others = at if points is None else np.concatenate([at, _near(at, points)])
    tried, placed = list(range(len(names))), {}
    while tried:
        page = _Page(ax, at, others, lines, first)
        placed = page.place(tried, written)
        if len(placed) < len(tried):
            # Labels that found no room may find some if they are placed first.
            other = _Page(ax, at, others, lines, first)
            again = other.place(sorted(tried, key=lambda i: (i >= first, i in placed)), written)
            if len(again) > len(placed):
                page, placed = other, again
        if len(placed) == len(tried):
            break
        # The note makes the Axes smaller, so the labels are placed once more.
        left = [name for i, name in enumerate(names) if i not in placed]
        letters = np.cumsum([len(name) + 2 for name in left])
        most = max(1, min(_LISTED, int((letters <= _LISTED_LETTERS).sum())))
        note(ax, f"no room for {listed(left, most)}", replace="no room")
        lay_out(ax)
        tried = sorted(placed)
    for i, text in enumerate(written):
        if i in placed:
            page.write(text, placed[i], halo=i in page.over)
        else:
            text.remove()


class _Page:
    """An Axes and the labels on it, in points from the lower left corner of the figure."""

    def __init__(
        self,
        ax: Axes,
        at: FloatArray,
        others: FloatArray,
        lines: Sequence[FloatArray],
        first: int,
    ) -> None:
        self.ax = ax
        self._scale = 72.0 / ax.figure.dpi
        self._at, self._first = self._in_points(at), first
        self._lines = [self._in_points(line) for line in lines]
        area = np.asarray(ax.get_window_extent().extents) * self._scale
        self._crowd = Crowd(area, self._in_points(others), _segments(self._lines))
        # Labels that lie on points.
        self.over: set[int] = set()

    def place(self, tried: list[int], texts: list[Text]) -> dict[int, Place]:
        """Find places for some of the texts."""
        sizes = {i: np.array(texts[i].get_window_extent().size) * self._scale for i in tried}
        arrows = [i for i in tried if i < self._first]
        found = {i: self._crowd.put(self._at[i], sizes[i], self._outward(i)) for i in arrows}
        for i in (i for i in arrows if found[i] is None):
            spokes = _segments(self._lines[: self._first])
            bare = replace(self._crowd, points=np.empty((0, 2)), segments=spokes)
            found[i] = bare.put(self._at[i], sizes[i], self._outward(i))
            self._crowd = replace(self._crowd, boxes=bare.boxes, leaders=bare.leaders)
            self.over.add(i)
        for i in tried[len(arrows) :]:
            found[i] = self._crowd.put(self._at[i], sizes[i])
        return {i: place for i, place in found.items() if place is not None}

    def write(self, text: Text, place: Place, *, halo: bool) -> None:
        """Move a text to its place, and draw its leader line."""
        x, y = self._in_data(place.corner)
        text.set_position((x, y))
        if halo or self.ax.images:
            text.set_path_effects([withStroke(linewidth=2.0, foreground=background(self.ax))])
        if place.leader is not None:
            x, y = self._in_data(place.leader).T
            look: dict[str, Any] = {"color": muted(self.ax), "linewidth": 0.5, "zorder": 0.9}
            self.ax.add_artist(Line2D(x, y, **look)).set_in_layout(False)

    def _outward(self, i: int) -> FloatArray:
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


def _near(at: FloatArray, points: FloatArray) -> FloatArray:
    """Select the points nearest to the labels."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= _OBSTACLES:
        return points
    spread = np.ptp(at, axis=0) + np.ptp(points, axis=0) + 1e-300
    near = np.full(len(points), np.inf)
    for place in at:
        near = np.minimum(near, (((points - place) / spread) ** 2).sum(axis=1))
    return points[np.argpartition(near, _OBSTACLES)[:_OBSTACLES]]


def plain(name: object) -> str:
    """Return a name for a figure: shortened, without formulas and control characters."""
    text = printable(str(name))
    text = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
    return text.replace("$", r"\$")
