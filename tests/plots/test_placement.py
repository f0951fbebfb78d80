"""Placement of labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from princomp.plots.placement import LabelPlacer

SIZE = np.array([40.0, 9.0])


def placer(points=(), segments=()):
    return LabelPlacer(
        np.array([0.0, 0.0, 300.0, 200.0]),
        np.reshape(np.asarray(points, dtype=float), (-1, 2)),
        np.reshape(np.asarray(segments, dtype=float), (-1, 4)),
    )


def overlap(one, other):
    return bool(((one[:2] < other[2:]) & (one[2:] > other[:2])).all())


def cuts(segment, box, steps=2000):
    """Whether a segment crosses a box, tested at many points of it."""
    at = np.linspace(segment[:2], segment[2:], steps)
    return bool(((at > box[:2]) & (at < box[2:])).all(axis=1).any())


def test_a_label_alone_lies_to_the_right_of_its_point():
    place = placer().place(np.array([100.0, 100.0]), SIZE)
    np.testing.assert_allclose(place.corner, [104.5, 95.5])
    assert place.leader is None


def test_the_label_of_an_arrow_lies_in_its_direction():
    at = np.array([100.0, 100.0])
    for outward in ((-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.0)):
        place = placer().place(at, SIZE, np.array(outward))
        assert (place.corner + SIZE / 2 - at) @ outward > 8.0


def test_points_at_one_place_all_have_labels():
    at = np.array([150.0, 100.0])
    full = placer([at] * 8)
    assert all(full.place(at, SIZE) for _ in range(8))


@pytest.mark.parametrize("seed", range(8))
def test_labels_overlap_nothing(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, [300, 200], (60, 2))
    segments = rng.uniform(0, [300, 200, 300, 200], (5, 4))
    full = placer(points, segments)
    placed = [full.place(at, SIZE) for at in points]
    boxes = [np.concatenate([one.corner, one.corner + SIZE]) for one in placed if one]
    leaders = [one.leader.ravel() for one in placed if one and one.leader is not None]
    assert 15 < len(boxes) < 60  # there is not enough room for all
    for box in boxes:
        assert (box >= 0).all()
        assert (box[2:] <= [300, 200]).all()
        assert not any(overlap(box, np.tile(point, 2)) for point in points)
        assert not any(cuts(line, box) for line in segments)
        inner = box + np.array([1e-6, 1e-6, -1e-6, -1e-6])
        assert not any(cuts(line, inner) for line in leaders)
    assert not any(overlap(one, other) for one, other in combinations(boxes, 2))


def test_leader_lines_belong_to_labels_that_are_far_away_or_near_another_point():
    at = np.array([100.0, 100.0])
    ring = at + 12 * np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 2 * np.pi, 40)])
    place = placer([at, *ring]).place(at, SIZE)
    np.testing.assert_array_equal(place.leader[0], at)
    nearest = np.clip(at, place.corner, place.corner + SIZE)
    np.testing.assert_allclose(place.leader[1], nearest)
    assert np.hypot(*(nearest - at)) > 9


def test_a_full_figure_has_no_place():
    grid = np.stack(np.meshgrid(np.arange(0, 300, 5), np.arange(0, 200, 5)), axis=-1)
    full = placer(grid.reshape(-1, 2))
    assert full.place(np.array([150.0, 100.0]), SIZE) is None
    assert replace(full, points=np.empty((0, 2))).place(np.array([150.0, 100.0]), SIZE) is not None
