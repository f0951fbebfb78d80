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

# Rough distances (c,) and directions (c, 2) from a point to its label, which are tried.
_DISTANCES = np.repeat((4.5, 6.0, 8.5, 12.0, 17.0, 24.0, 33.0, 45.0, 60.0, 80.0), 24)
_ANGLES = np.tile(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False), 10)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
# Margins of a label to points and to everything else; smaller where nothing is free.
_MARGINS = ((2.5, 1.5), (1.0, 0.3))
# The cost of a place is its distance plus a penalty, which has these weights: for places above or
# below a point, for places to its left, and for places behind the head of an arrow.
_VERTICAL_PENALTY, _LEFT_PENALTY, _BACKWARD_PENALTY = 2.0, 0.5, 15.0
# Labels at the two smallest distances need no leader line; nor do others closer than _SHORT_LEADER,
# if no other point is closer to their end than _OTHER_POINT_RADIUS.
_NO_LEADER_BELOW, _SHORT_LEADER, _OTHER_POINT_RADIUS = 6.01, 9.0, 14.0


class Placement(NamedTuple):
    """Lower left corner (2,) of a label, and the ends (2, 2) of a leader line, if it needs one."""

    corner: FloatArray
    leader: FloatArray | None


@dataclass
class LabelPlacer:
    """Obstacles of labels: the border of an area (4,), points (n, 2), segments (s, 4), labels.

    A box (4,) is left, bottom, right and top; a segment (4,) is x, y, x, y.
    """

    area: FloatArray
    points: FloatArray
    segments: FloatArray
    boxes: list[FloatArray] = field(default_factory=list)
    leaders: list[FloatArray] = field(default_factory=list)

    def place(
        self, point: FloatArray, size: FloatArray, outward: FloatArray | None = None
    ) -> Placement | None:
        """Find the place of a label (width, height) near a point, and reserve it.

        Labels of arrows prefer the direction of the arrow, the unit vector ``outward`` (2,).
        """
        shifts = 0.5 * size * np.clip(np.sqrt(2.0) * _DIRECTIONS, -1.0, 1.0)
        centres = point + _DISTANCES[:, None] * _DIRECTIONS + shifts
        boxes = np.concatenate([centres - 0.5 * size, centres + 0.5 * size], axis=1)
        x, y = _DIRECTIONS.T
        if outward is None:
            cost = _DISTANCES + _VERTICAL_PENALTY * np.abs(y) - _LEFT_PENALTY * x
        else:
            cost = _DISTANCES + _BACKWARD_PENALTY * (1.0 - _DIRECTIONS @ outward)
        boxes = boxes[np.argsort(cost, kind="stable")]
        nearest = np.clip(point, boxes[:, :2], boxes[:, 2:])
        for point_margin, other_margin in _MARGINS:
            free = np.flatnonzero(self._free_boxes(boxes, point_margin, other_margin))
            free = free[~self._leaders_cross(point, nearest[free])]
            if len(free):
                return self._reserve(point, boxes[free[0]], nearest[free[0]])
        return None

    def _free_boxes(
        self, boxes: FloatArray, point_margin: float, other_margin: float
    ) -> NDArray[np.bool_]:
        """Which boxes (c, 4) overlap nothing, and lie inside the area."""
        inside = (boxes[:, :2] >= self.area[:2]) & (boxes[:, 2:] <= self.area[2:])
        free: NDArray[np.bool_] = np.asarray(inside.all(axis=1))
        lines = np.concatenate([self.segments, _stacked(self.leaders)])
        points = np.concatenate([self.points, self.points], axis=1)
        labels = _stacked(self.boxes)
        for touch, obstacles, margin in (
            (_overlap, points, point_margin),
            (_overlap, labels, other_margin),
            (_cut_by, lines, other_margin),
        ):
            remaining = np.flatnonzero(free)
            expanded = boxes[remaining] + margin * np.array([-1.0, -1.0, 1.0, 1.0])
            free[remaining] = ~touch(expanded, obstacles).any(axis=1)
        return free

    def _leaders_cross(self, point: FloatArray, ends: FloatArray) -> NDArray[np.bool_]:
        """Which leader lines, from a point to ends (c, 2), cross labels or other leader lines."""
        lines = np.concatenate([np.broadcast_to(point, ends.shape), ends], axis=1)
        leaders = _crosses(lines, _stacked(self.leaders)).any(axis=1)
        return np.asarray(_cut_by(_stacked(self.boxes), lines).any(axis=0) | leaders)

    def _reserve(self, point: FloatArray, box: FloatArray, end: FloatArray) -> Placement:
        self.boxes.append(box)
        distance = np.hypot(*(end - point))
        others = self.points[np.hypot(*(self.points - point).T) > 1.0]
        no_other_near = not (np.hypot(*(others - end).T) < _OTHER_POINT_RADIUS).any()
        if distance < _NO_LEADER_BELOW or (distance < _SHORT_LEADER and no_other_near):
            return Placement(box[:2], None)
        self.leaders.append(np.concatenate([point, end]))
        return Placement(box[:2], np.stack([point, end]))


def _stacked(rows: list[FloatArray]) -> FloatArray:
    return np.reshape(np.array(rows), (-1, 4))


def _overlap(boxes: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which boxes (c, 4) and other boxes (m, 4) overlap; shape (c, m)."""
    left, bottom, right, top = boxes.T[:, :, None]
    apart = (left > others[:, 2]) | (bottom > others[:, 3])
    apart |= (right < others[:, 0]) | (top < others[:, 1])
    return ~apart


def _cut_by(boxes: FloatArray, segments: FloatArray) -> NDArray[np.bool_]:
    """Which boxes (c, 4) are cut by which segments (s, 4); shape (c, s)."""
    bounds = np.sort(segments.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    centres, half = 0.5 * (boxes[:, :2] + boxes[:, 2:]), 0.5 * (boxes[:, 2:] - boxes[:, :2])
    # A line cuts a box if its distance from the centre is at most the extent of half the box in the
    # direction at right angles to the line.
    distance = np.abs(_sides(segments[None], centres[:, None]))
    extent = half @ np.abs((segments[:, 2:] - segments[:, :2])[:, ::-1]).T
    return (distance <= extent) & _overlap(boxes, bounds)


def _crosses(lines: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which segments (c, 4) cross which others (m, 4); shape (c, m). Ends may touch."""
    a, b = lines[:, None], others[None]
    apart = _sides(a, b[..., :2]) * _sides(a, b[..., 2:]) >= 0
    return ~(apart | (_sides(b, a[..., :2]) * _sides(b, a[..., 2:]) >= 0))


def _sides(lines: FloatArray, points: FloatArray) -> FloatArray:
    """On which sides of lines (…, 4) points (…, 2) lie: distances times lengths, with signs."""
    directions, offsets = lines[..., 2:] - lines[..., :2], points - lines[..., :2]
    return directions[..., 0] * offsets[..., 1] - directions[..., 1] * offsets[..., 0]
