"""Places for labels: boxes near points that overlap no point, line or other label.

For each label in turn, places are tried in the order of their cost, which grows with the distance;
the first free one is taken. Lengths are in typographic points (1/72 inch).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import FloatArray

# Distances from a point to its label, and the number of directions.
_GAPS = (4.5, 6.0, 8.5, 12.0, 17.0, 24.0, 33.0, 45.0, 60.0, 80.0)
_DIRECTIONS = 24
# Margins of a label to points and to everything else; smaller where nothing is free.
_MARGINS = ((2.5, 1.5), (1.0, 0.3))
# The cost of a place is its distance plus a penalty, which has these weights: for places above or
# below a point, for places to its left, and for places behind the head of an arrow.
_SIDEWAYS, _LEFT, _BACKWARDS = 2.0, 0.5, 15.0
# Labels at the two smallest distances need no leader line; nor do others closer than _SHORT, if no
# other point is closer to their end than _NEAR.
_CLOSE, _SHORT, _NEAR = 6.01, 9.0, 14.0


class Place(NamedTuple):
    """Lower left corner (2,) of a label, and the ends (2, 2) of a leader line, if it needs one."""

    corner: FloatArray
    leader: FloatArray | None


@dataclass
class Crowd:
    """Obstacles of labels: the border of an area (4,), points (n, 2), segments (s, 4), labels.

    A box (4,) is left, bottom, right and top; a segment (4,) is x, y, x, y.
    """

    area: FloatArray
    points: FloatArray
    segments: FloatArray
    boxes: FloatArray = field(default_factory=lambda: np.empty((0, 4)))
    leaders: FloatArray = field(default_factory=lambda: np.empty((0, 4)))

    def put(
        self, at: FloatArray, size: FloatArray, outward: FloatArray | None = None
    ) -> Place | None:
        """Find the place of a label (width, height) near a point, and reserve it.

        Labels of arrows prefer the direction of the arrow, the unit vector ``outward`` (2,).
        """
        gaps, steps = _candidates()
        boxes = _boxes(at, gaps, steps, size)
        if outward is None:
            cost = gaps + _SIDEWAYS * np.abs(steps[:, 1]) - _LEFT * steps[:, 0]
        else:
            cost = gaps + _BACKWARDS * (1.0 - steps @ outward)
        order = np.argsort(cost, kind="stable")
        boxes, gaps = boxes[order], gaps[order]
        nearest = np.clip(at, boxes[:, :2], boxes[:, 2:])
        for point_margin, other_margin in _MARGINS:
            free = np.flatnonzero(self._free(boxes, point_margin, other_margin))
            free = free[~self._crossed(at, nearest[free])]
            if len(free):
                return self._take(at, boxes[free[0]], nearest[free[0]])
        return None

    def _free(
        self, boxes: FloatArray, point_margin: float, other_margin: float
    ) -> NDArray[np.bool_]:
        """Which boxes (c, 4) overlap nothing, and lie inside the area."""
        inside = (boxes[:, :2] >= self.area[:2]) & (boxes[:, 2:] <= self.area[2:])
        free: NDArray[np.bool_] = np.asarray(inside.all(axis=1))
        lines = np.concatenate([self.segments, self.leaders])
        points = np.concatenate([self.points, self.points], axis=1)
        for blocks, margin in ((points, point_margin), (self.boxes, other_margin)):
            left = np.flatnonzero(free)
            free[left] = ~_overlap(_grown(boxes[left], margin), blocks).any(axis=1)
        left = np.flatnonzero(free)
        free[left] = ~_cut(_grown(boxes[left], other_margin), lines).any(axis=1)
        return free

    def _crossed(self, at: FloatArray, ends: FloatArray) -> NDArray[np.bool_]:
        """Which leader lines, from a point to ends (c, 2), cross labels or other leader lines."""
        lines = np.concatenate([np.broadcast_to(at, ends.shape), ends], axis=1)
        crossed = _cut(self.boxes, lines).any(axis=0) | _crossing(lines, self.leaders).any(axis=1)
        return np.asarray(crossed)

    def _take(self, at: FloatArray, box: FloatArray, end: FloatArray) -> Place:
        self.boxes = np.concatenate([self.boxes, box[None]])
        gap = np.hypot(*(end - at))
        others = self.points[np.hypot(*(self.points - at).T) > 1.0]
        alone = not (np.hypot(*(others - end).T) < _NEAR).any()
        if gap < _CLOSE or (gap < _SHORT and alone):
            return Place(box[:2], None)
        self.leaders = np.concatenate([self.leaders, np.concatenate([at, end])[None]])
        return Place(box[:2], np.stack([at, end]))


def _candidates() -> tuple[FloatArray, FloatArray]:
    """Distances (c,) and directions (c, 2) of the places to try."""
    turns = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    gaps, turns = (one.ravel() for one in np.meshgrid(_GAPS, turns, indexing="ij"))
    return gaps, np.stack([np.cos(turns), np.sin(turns)], axis=1)


def _boxes(at: FloatArray, gaps: FloatArray, steps: FloatArray, size: FloatArray) -> FloatArray:
    """Boxes (c, 4) of a size, roughly at these distances from the point."""
    centres = at + gaps[:, None] * steps + 0.5 * size * np.clip(np.sqrt(2.0) * steps, -1.0, 1.0)
    return np.concatenate([centres - 0.5 * size, centres + 0.5 * size], axis=1)


def _grown(boxes: FloatArray, margin: float) -> FloatArray:
    return boxes + margin * np.array([-1.0, -1.0, 1.0, 1.0])


def _overlap(boxes: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which boxes (c, 4) and other boxes (m, 4) overlap; shape (c, m)."""
    one, other = boxes[:, None], others[None]
    apart = (one[..., :2] > other[..., 2:]) | (one[..., 2:] < other[..., :2])
    return np.asarray(~apart.any(axis=2))


def _cut(boxes: FloatArray, segments: FloatArray) -> NDArray[np.bool_]:
    """Which boxes (c, 4) are cut by which segments (s, 4); shape (c, s)."""
    start, along = segments[:, :2], segments[:, 2:] - segments[:, :2]
    ends = np.sort(segments.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    centres, half = 0.5 * (boxes[:, :2] + boxes[:, 2:]), 0.5 * (boxes[:, 2:] - boxes[:, :2])
    # A line cuts a box if its distance from the centre is at most the extent of half the box in the
    # direction at right angles to the line.
    to = centres[:, None] - start
    distance = np.abs(along[:, 0] * to[..., 1] - along[:, 1] * to[..., 0])
    reach = half @ np.abs(along[:, ::-1]).T
    cut: NDArray[np.bool_] = (distance <= reach) & _overlap(boxes, ends)
    return cut


def _crossing(lines: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which segments (c, 4) cross which others (m, 4); shape (c, m). Ends may touch."""
    one, other = lines[:, None], others[None]
    apart = np.zeros((len(lines), len(others)), dtype=bool)
    for a, b in ((one, other), (other, one)):
        along = a[..., 2:] - a[..., :2]
        first, second = (b[..., end] - a[..., :2] for end in (slice(0, 2), slice(2, 4)))
        sides = [along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0] for to in (first, second)]
        apart |= sides[0] * sides[1] >= 0
    return ~apart
