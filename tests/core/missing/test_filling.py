"""The two ways to fill cells: what each step promises, and what comes out where truth is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from helpers import orthonormal, with_singular_values
from princomp.core.missing import completed, em
from princomp.core.missing.em import fill_by_em, step
from princomp.core.missing.nipals import fill_by_nipals
from princomp.core.missing.ridge import shrinkage

# Sums of n·p squares are off by some units of rounding of the whole.
ROUNDING = 1e-12


def low_rank(rng, n=60, p=8, k=2, noise=0.1):
    table, _ = with_singular_values(n, np.linspace(9, 5, k) * np.sqrt(n), rng, p=p)
    return table + noise * rng.standard_normal((n, p)) + 3.0


def with_holes(table, share, rng):
    """Cells at random; every row and every column keeps two."""
    holes = rng.random(table.shape) < share
    holes[:, :2] &= rng.random((len(table), 2)) < 0.2
    holes[holes.all(axis=1), 0] = False
    holes[:3] = False
    return np.where(holes, np.nan, table), holes


def first_guess(X, holes, weights=None):
    share = np.where(holes, 0.0, 1.0 if weights is None else weights[:, None])
    mean = (share * np.where(holes, 0.0, X)).sum(axis=0) / share.sum(axis=0)
    return np.where(holes, mean, X), mean


def by_hand(table, k, weights=None, factors=None):
    """A row-weighted fit by the SVD of the centred rows."""
    w = np.ones(len(table)) if weights is None else weights
    mean = w @ table / w.sum()
    u, s, vt = np.linalg.svd((table - mean) * np.sqrt(w)[:, None], full_matrices=False)
    factors = np.ones(k) if factors is None else factors
    return (u[:, :k] * s[:k] * factors) @ vt[:k] / np.sqrt(w)[:, None] + mean, s**2


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(0, 3),
    share=st.floats(0.02, 0.5),
    weighted=st.booleans(),
    shape=st.sampled_from([(30, 6), (8, 15)]),
)
def test_the_objective_of_em_never_rises(seed, k, share, weighted, shape):
    rng = np.random.default_rng(seed)
    X, holes = with_holes(low_rank(rng, *shape, noise=1.0), share, rng)
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    table, _ = first_guess(X, holes, weights)
    message = []
    fill_by_em(
        table,
        holes,
        weights,
        k,
        divisor_of=lambda table: None,
        centred=True,
        ridge=0.0,
        monitor=message.append,
        most=200,
    )
    assert np.diff(message).max(initial=0.0) <= ROUNDING * max(message[0], np.nansum(table**2))


def penalty(sizes, noise):
    """Whose proximal step takes a singular value d to d − noise/d (see docs/howto/missing.md)."""
    root = np.sqrt(sizes**2 + 4 * noise)
    return np.sum(
        sizes * root / 4 + noise * np.arcsinh(sizes / (2 * np.sqrt(noise))) - sizes**2 / 4
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.4))
def test_each_regularised_step_lowers_the_penalised_objective_of_its_noise(seed, share):
    rng = np.random.default_rng(seed)
    X, holes = with_holes(low_rank(rng, noise=1.0), share, rng)
    table, _ = first_guess(X, holes)
    fit, every, k = np.broadcast_to(table.mean(axis=0), table.shape), np.arange(len(X)), 2
    for _ in range(15):
        _, squares = by_hand(table, 0)
        factors = shrinkage(squares, squares[k:].sum(), k, len(X), 8, centred=True)
        noise = (1 - factors[0]) * squares[0]

        def objective(fit, noise=noise):
            sizes = np.linalg.svd(fit - fit.mean(axis=0), compute_uv=False)[:k]
            return np.sum((X - fit)[~holes] ** 2) / 2 + penalty(sizes, noise)

        now = step(table, None, k, which=every, divisor_of=lambda table: None, centred=True).fit
        np.testing.assert_allclose(now, by_hand(table, k, factors=factors)[0], atol=1e-9)
        assert objective(now) <= objective(fit) + 1e-9 * np.nansum(X**2)
        fit = now
        table = np.where(holes, now, X)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    share=st.floats(0.02, 0.5),
    weighted=st.booleans(),
)
def test_the_objective_of_nipals_never_rises(seed, k, share, weighted):
    rng = np.random.default_rng(seed)
    X, holes = with_holes(low_rank(rng, noise=1.0), share, rng)
    weights = rng.random(len(X)) + 0.1 if weighted else None
    table, mean = first_guess(X, holes, weights)
    message = []
    ended = fill_by_nipals(
        table, holes, weights, k, mean=mean, divisor=np.full(8, 2.0), monitor=message.append
    )
    assert np.diff(message).max(initial=0.0) <= ROUNDING * message[0]
    assert ended.objective == pytest.approx(message[-1], rel=1e-10, abs=ROUNDING * message[0])


@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range"])
@pytest.mark.parametrize("method", ["em", "nipals"])
def test_what_ended_is_a_fixed_point(method, scale, rng):
    """Filled cells are those of the components of the filled table, shrunk."""
    X, holes = with_holes(low_rank(rng), 0.15, rng)
    table, _, filled, _ = completed(X, None, method, 2, scale=scale)
    assert (table[~holes] == X[~holes]).all()
    assert filled.converged
    assert (filled.cells, filled.rows) == (holes.sum(), holes.any(axis=1).sum())
    assert filled.share == holes.mean()
    if method == "nipals":
        return
    s = {
        None: np.ones(8),
        "unit": table.std(axis=0, ddof=1),
        "pareto": np.sqrt(table.std(axis=0, ddof=1)),
        "range": np.ptp(table, axis=0),
    }[scale]
    squares = by_hand(table / s, 0)[1]
    factors = shrinkage(squares, squares[2:].sum(), 2, len(X), 8, centred=True)
    fit = by_hand(table / s, 2, factors=factors)[0] * s
    np.testing.assert_allclose(fit[holes], table[holes], atol=1e-6)
    missed = np.sum(((X - fit)[~holes] / np.broadcast_to(s, X.shape)[~holes]) ** 2)
    assert filled.objective == pytest.approx(missed, rel=1e-6)


def test_the_shrinkage_is_that_of_the_paper():
    """By hand: n = 6, p = 4, k = 1, singular values squared 20, 3, 2, 1."""
    squares = np.array([20.0, 3.0, 2.0, 1.0])
    noise = 6 * 4 / 4 * 6 / ((5 - 1) * (4 - 1))  # np/min(p, n−1) times RSS per degree of freedom
    factors = shrinkage(squares, 6.0, 1, 6, 4, centred=True)
    np.testing.assert_allclose(factors, 1 - noise / 20, rtol=1e-15)
    # It is bounded by the next singular value.
    np.testing.assert_allclose(
        shrinkage(np.array([20.0, 0.1, 0.1]), 60.0, 1, 6, 4, centred=True), 1 - 0.1 / 20
    )
    assert shrinkage(np.array([2.0, 0.0]), 0.0, 2, 6, 4, centred=True).tolist() == [1.0, 0.0]
    assert shrinkage(squares, 0.0, 4, 6, 4, centred=True).tolist() == [1.0] * 4
    assert len(shrinkage(squares, 6.0, 0, 6, 4, centred=True)) == 0


@pytest.mark.parametrize("shape", [(60, 8), (12, 30)])
@pytest.mark.parametrize("method", ["em", "nipals"])
def test_a_table_of_exact_rank_is_recovered(method, shape, rng):
    truth = low_rank(rng, *shape, k=1, noise=0.0)
    X, holes = with_holes(truth, 0.1, rng)
    table, _, filled, _ = completed(X, None, method, 1, centred=method == "em")
    # The means of NIPALS are those of the cells that are there, so nothing is centred for it.
    if method == "nipals":
        truth1 = np.outer(orthonormal(shape[0], 1, rng), orthonormal(shape[1], 1, rng)) * 50
        X = np.where(holes, np.nan, truth1)
        table, _, filled, _ = completed(X, None, method, 1, centred=False)
        truth = truth1
    assert filled.converged
    np.testing.assert_allclose(table, truth, atol=1e-5)


def test_noise_is_filled_less_boldly_than_without_ridge(rng):
    errors = {0.0: 0.0, 1.0: 0.0}
    for _ in range(6):
        truth = low_rank(rng, 40, 8, 3, noise=2.5)
        X, holes = with_holes(truth, 0.3, rng)
        for ridge in errors:
            table, _ = first_guess(X, holes)
            fill_by_em(
                table,
                holes,
                None,
                3,
                divisor_of=lambda table: None,
                centred=True,
                ridge=ridge,
                most=300,
            )
            errors[ridge] += np.sum((table - truth)[holes] ** 2)
    assert errors[1.0] < 0.9 * errors[0.0]


@pytest.mark.parametrize("method", ["em", "nipals"])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_weight_is_the_row_so_many_times(method, scale, rng):
    X, holes = with_holes(low_rank(rng, 30), 0.2, rng)
    weights = rng.integers(0, 4, len(X))
    table, _, filled, _ = completed(X, weights.astype(float), method, 2, scale=scale)
    repeated, _, other, _ = completed(np.repeat(X, weights, axis=0), None, method, 2, scale=scale)
    used = weights > 0
    # NIPALS scales by the cells that are there, whose number is counted by weight.
    tol = 1e-6
    np.testing.assert_allclose(np.repeat(table, weights, axis=0), repeated, atol=tol)
    assert filled.cells == holes[used].sum()
    assert other.objective == pytest.approx(filled.objective, rel=1e-6)
    assert np.isfinite(table).all()


def test_no_components_fill_means(rng):
    X, holes = with_holes(low_rank(rng), 0.2, rng)
    for method in ("em", "nipals"):
        table, _, _, _ = completed(X, None, method, 0)
        np.testing.assert_allclose(table[holes], first_guess(X, holes)[0][holes], atol=1e-7)
        assert (completed(X, None, method, 0, centred=False)[0][holes] == 0).all()


def test_what_does_not_converge_says_so(rng, monkeypatch):
    from princomp.core.missing import table as filling

    monkeypatch.setattr(filling, "fill_by_em", partial(em.fill_by_em, most=3))
    X, _ = with_holes(low_rank(rng), 0.2, rng)
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="NOT CONVERGED"):
        _, _, filled, _ = completed(X, None, "em", 2)
    assert not filled.converged
    assert filled.iterations == 3
