"""Estimates of the residuals of a sketch, for rows with and without divisors."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, orthonormal, with_singular_values
from princomp.solvers import nystrom
from princomp.solvers.nystrom import sketch_width, solve_sketch
from princomp.solvers.scatter_search import trace_scale
from princomp.summaries import SketchOf

P, K = 80, 3
WIDTH = sketch_width(K, P) - nystrom.TEST_DIRECTIONS


def sketch_of(scaled, divisor=None):
    """A sketch of rows that are ``scaled`` after they were divided by ``divisor``."""
    if divisor is None:
        return SketchOf(sketch_width(K, P)).of(scaled)
    return SketchOf(sketch_width(K, P)).of(scaled * divisor).scaled(divisor)


@pytest.mark.parametrize("spread", [None, 1.0, 2.0])
@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_estimated_residuals_are_near_the_true_ones(spread, scale, rng):
    X = scale * rng.standard_normal((400, P)) * np.linspace(2, 1, P) @ orthonormal(P, P, rng)
    found = solve_sketch(sketch_of(X, spread and rng.uniform(1 / spread, spread, P)), K)
    errors = found.axes @ np.cov(X.T) - found.variances[:, None] * found.axes
    ratios = found.residuals * found.variances[0] / np.linalg.norm(errors, axis=1)
    # Ten directions show a length to a quarter, and divisors add as much.
    assert ((ratios > 0.4) & (ratios < 2.5)).all()
    np.testing.assert_allclose(found.total, np.trace(np.cov(X.T)), rtol=P * EPS)
    assert (found.roundoff, found.missed) == (P * EPS, None)


def test_residuals_are_the_mean_squares_of_the_images_of_directions_held_out(rng):
    sketch = sketch_of(rng.standard_normal((400, P)) * np.linspace(2, 1, P))
    found = solve_sketch(sketch, K)
    values = found.variances * 399
    errors = found.axes @ sketch.product - values[:, None] * (found.axes @ sketch.directions)
    expected = np.sqrt((errors[:, WIDTH:] ** 2).mean(axis=1)) / values[0]
    np.testing.assert_allclose(found.residuals, expected, rtol=1e-9)


def test_divisors_enlarge_a_residual_as_the_part_that_is_left_out():
    """It is diagonal for the first axis here, and of low rank for the second."""
    divisor, left_out = np.array([1.0, 0.5]), np.array([0.2, 0.8])
    axes = np.array([[0.6, 0.8], [1.0, 0.0]])
    image = left_out * axes[0]
    expected = [np.linalg.norm(divisor * image) / np.linalg.norm(image), np.sqrt(0.2 + 0.8 / 4)]
    np.testing.assert_allclose(nystrom._lengths(divisor, left_out, axes), expected, rtol=1e-14)


@pytest.mark.parametrize(("rank", "bounded"), [(WIDTH, True), (WIDTH + 1, False)])
def test_rounding_counts_if_the_sketch_leaves_nothing_out(rank, bounded, monkeypatch, rng):
    monkeypatch.setattr(nystrom, "_rounding", lambda *_: np.full(K, 100.0))
    sketch = sketch_of(rng.standard_normal((rank + 1, P)), rng.uniform(0.5, 2, P))
    assert sketch.rank_limit == rank
    assert (solve_sketch(sketch, K).residuals.min() > 10) == bounded


@pytest.mark.parametrize("wrong", [False, True])
def test_residuals_measure_excess_variance_and_cover_all_that_is_left_out(wrong, monkeypatch, rng):
    """The approximation has too much variance in one column, and too little in all others."""
    X = with_singular_values(400, np.r_[3.0, np.linspace(1.1, 0.9, P - 1)], rng)[0]
    sketch = sketch_of(X, rng.uniform(0.5, 2, P))
    scale = trace_scale(float(sketch.column_scatter.sum()))
    values, vectors = np.linalg.eigh(399 * np.cov(X.T) / scale)
    left_out = 1e-9 * np.r_[-1.0, np.ones(P - 1)]
    factor = np.diag(np.sqrt(sketch.column_scatter / scale - left_out))
    axes = vectors.T[[-2, -3, -1] if wrong else [-1, -2, -3]]
    monkeypatch.setattr(nystrom, "_nystrom", lambda *_: (values[::-1], axes, factor))
    found = solve_sketch(sketch, K).residuals * values[-1]
    if wrong:  # by far more than all that is left out
        assert ((found > 4 * P * 1e-9) & (found < 64 * P * 1e-9)).all()
    else:  # no more than rounding
        np.testing.assert_allclose(found, 1e-9, rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_variances_between_the_rank_of_a_sketch_and_its_limit_are_zero(seed):
    """These rows have a rank of two, and 31 rows have 30 at most: the others are rounding."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((31, 2)) @ rng.standard_normal((2, P))
    found = solve_sketch(SketchOf(sketch_width(32, P)).of(X), 32)
    expected = np.r_[np.linalg.eigvalsh(np.cov(X.T))[:-3:-1], np.zeros(30)]
    np.testing.assert_allclose(found.variances, expected, rtol=0, atol=P * EPS * expected[0])


def test_a_sketch_of_constant_rows_has_no_variance():
    found = solve_sketch(sketch_of(np.full((9, P), 3.0)), K)
    assert (found.k, found.total, found.variances.tolist()) == (K, 0.0, [0.0] * K)


def test_a_sketch_of_full_rank_needs_no_pseudo_inverse(monkeypatch, rng):
    monkeypatch.setattr(nystrom, "_pseudo_inverse_root", None)
    X = rng.standard_normal((200, P))
    variances = np.linalg.eigvalsh(np.cov(X.T))[::-1][:K]
    assert (solve_sketch(sketch_of(X), K).variances < variances).all()
