"""A share of the variance by a search whose space grows."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, sine
from princomp import PCA
from princomp.solvers.growing import solve_share
from princomp.summaries import Moments


def rows_of(n, p, rank, rng, dtype=np.float64):
    """Some directions that stand out of noise."""
    strong = rng.standard_normal((n, rank)) * np.linspace(20, 8, rank)
    axes = np.linalg.qr(rng.standard_normal((p, rank)))[0].T
    return (strong @ axes + rng.standard_normal((n, p)) + 3).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_finds_what_all_pairs_say(dtype, rng):
    X = rows_of(3000, 1200, 30, rng, dtype)
    found, every = PCA(0.7).fit(X), PCA(0.7, svd_solver="covariance_eigh").fit(X)
    assert found.plan_.solver == "lanczos"
    assert "of 1,200 components" in str(found.plan_)
    assert found.n_components_ == every.n_components_
    # Both are of one scatter, so that only rounding of the solvers is between them.
    bound = 10 * found._state.spectrum.roundoff * every.explained_variance_[0]
    np.testing.assert_allclose(found.explained_variance_, every.explained_variance_, atol=bound)
    gap = every._state.spectrum.variances[found.n_components_ - 1 : found.n_components_ + 1]
    away = sine(found.components_.astype(float), every.components_.astype(float))
    assert away <= 10 * np.finfo(dtype).eps * every.explained_variance_[0] / -np.diff(gap)[0] * 34
    assert found.certificate_.residuals.max() <= 4 * EPS
    total = every.total_variance_
    assert found.total_variance_ == pytest.approx(total, rel=1e-14)
    assert found.noise_variance_ == pytest.approx(every.noise_variance_, rel=1e-9)


def test_too_many_components_are_left_to_lapack(rng):
    X = rng.standard_normal((1500, 1000))
    assert solve_share(Moments.of(X), 0.9) is None
    model = PCA(0.9).fit(X)
    assert model.plan_.solver == "eigh"
    assert model.n_components_ > 200


def test_a_share_in_reach_that_takes_too_large_a_space(rng):
    """The Ritz values promise it, and the space is full before they keep it."""
    X = rng.standard_normal((1500, 1000)) * np.linspace(2, 1, 1000)
    moments = Moments.of(X)
    values = np.linalg.eigvalsh(moments.scatter)[::-1]
    share = float(values[:120].sum() / values.sum())
    assert solve_share(moments, share) is None


@pytest.mark.parametrize("power", [-300, 0, 300])
def test_numbers_of_any_size(power, rng):
    X = rows_of(1500, 1000, 5, rng)
    plain = solve_share(Moments.of(X), 0.3)
    scaled = solve_share(Moments.of(np.ldexp(X, power)), 0.3)
    np.testing.assert_array_equal(np.ldexp(plain.variances, 2 * power), scaled.variances)
    np.testing.assert_array_equal(plain.axes, scaled.axes)


def test_no_variance_at_all():
    assert solve_share(Moments.of(np.ones((1200, 1000))), 0.5) is None
