"""Labels of points and arrows without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from princomp.errors import printable
from princomp.io import listed
from princomp.linalg import FloatArray
from princomp.plots import style
from princomp.plots.placement import LabelPlacer, Placement

# Number of points that labels avoid; more take too much time.
_MAX_OBSTACLES = 1500
# Maximum letters of a name in a figure; maximum names, and letters of all names, under a figure.
_MAX_NAME_LETTERS, _MAX_LISTED_NAMES, _MAX_LISTED_LETTERS = 36, 30, 500
# Last letters that a shortened name keeps.
_LAST_LETTERS = 12
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
        Number of texts, the first ones, that are names of arrows from the origin to their
        positions. They are placed first, and lie on points and other lines if nothing else is free.
    """
    names = [display_name(text) for text in texts]
    if not names:
        return
    size = style.SMALL - (len(names) > _MANY_LABELS)
    text_colours = [style.text_colour(ax)] * len(names) if colours is None else colours
    artists = [
        # Labels lie inside the Axes, so they do not change the layout.
        ax.text(x, y, name, fontsize=size, color=colour, va="bottom", in_layout=False)
        for (x, y), name, colour in zip(positions, names, text_colours, strict=True)
    ]
    lines = [*(np.stack([np.zeros(2), end]) for end in positions[:arrow_count]), *lines]
    obstacles = positions
    if points is not None:
        obstacles = np.concatenate([positions, _nearest_points(positions, points)])
    sizes = np.array([text.get_window_extent().size for text in artists]) * 72.0 / ax.figure.dpi
    arrange = partial(_arrange, ax, sizes, positions, obstacles, lines, arrow_count)
    candidates, placed = list(range(len(names))), {}
    while candidates:
        placed = arrange(candidates)
        if len(placed) < len(candidates):
            # Labels that found no room may find some if they are placed first.
            candidates.sort(key=lambda i: (i >= arrow_count, i in placed))
            placed = max(placed, arrange(candidates), key=len)
        if len(placed) == len(candidates):
            break
        # The note makes the Axes smaller, so the labels are placed once more.
        unplaced = [name for i, name in enumerate(names) if i not in placed]
        letters = np.cumsum([len(name) + 2 for name in unplaced])
        count = max(1, min(_MAX_LISTED_NAMES, int((letters <= _MAX_LISTED_LETTERS).sum())))
        style.add_note(ax, f"no room for {listed(unplaced, count)}", replace="no room")
        style.lay_out(ax)
        candidates = sorted(placed)
    for i, text in enumerate(artists):
        if i in placed:
            _write(ax, text, *placed[i])
        else:
            text.remove()


def _arrange(
    ax: Axes,
    sizes: FloatArray,
    positions: FloatArray,
    obstacles: FloatArray,
    lines: Sequence[FloatArray],
    arrow_count: int,
    candidates: list[int],
) -> dict[int, tuple[Placement, bool]]:
    """Find places for some texts of these sizes, in points from the lower left of the figure.

    Names of arrows come first. Return also whether a text lies on points and other lines.
    """
    scale = 72.0 / ax.figure.dpi
    places, *paths = (ax.transData.transform(xy) * scale for xy in (positions, *lines))
    area = np.asarray(ax.get_window_extent().extents) * scale
    points = ax.transData.transform(obstacles) * scale
    placer = LabelPlacer(area, points, _segments(paths))
    only_arrows = _segments(paths[:arrow_count])
    covering_placer = replace(placer, points=np.empty((0, 2)), segments=only_arrows)
    arrows = [i for i in candidates if i < arrow_count]
    others = candidates[len(arrows) :]
    placed: dict[int, tuple[Placement, bool]] = {}
    for tried, labels in ((placer, arrows), (covering_placer, arrows), (placer, others)):
        for i in labels:
            if i not in placed:
                outward = _direction(paths[i]) if i < arrow_count else None
                placement = tried.place(places[i], sizes[i], outward)
                if placement is not None:
                    placed[i] = placement, tried is covering_placer
    return placed


def _write(ax: Axes, text: Text, placement: Placement, halo: bool) -> None:
    """Move a text to its place, and draw its leader line."""
    in_data, scale = ax.transData.inverted(), 72.0 / ax.figure.dpi
    x, y = in_data.transform(placement.corner / scale)
    text.set_position((x, y))
    if halo or ax.images:
        text.set_path_effects([withStroke(linewidth=2.0, foreground=style.background_colour(ax))])
    if placement.leader is not None:
        x, y = in_data.transform(placement.leader / scale).T
        leader = Line2D(x, y, color=style.muted_colour(ax), linewidth=0.5, zorder=0.9)
        ax.add_artist(leader).set_in_layout(False)


def _direction(arrow: FloatArray) -> FloatArray:
    """Direction (2,) of an arrow."""
    step = arrow[-1] - arrow[0]
    return step / (np.hypot(*step) or 1.0)


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
    if len(text) > _MAX_NAME_LETTERS:  # long names often differ at the end
        text = f"{text[: _MAX_NAME_LETTERS - _LAST_LETTERS - 1]}…{text[-_LAST_LETTERS:]}"
    return text.replace("$", r"\$")
