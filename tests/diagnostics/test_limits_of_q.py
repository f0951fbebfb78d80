"""Limits of Q: shares of rows beyond them, estimates from a sample, and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from princomp import PCA
from princomp.diagnostics import distances, limits
from princomp.diagnostics.limits_of_q import (
    noise_of_components,
    population_thetas,
    q_limit,
    residual_variances,
)
from princomp.diagnostics.models import fitted_of

# For sums of n or p numbers of order one, each accurate to a few units in the last place.
TIGHT = 1e-12

# ---- shares of rows ------------------------------------------------------------------------


def strong(p, k):
    """Standard deviations of k strong components and p − k of noise."""
    return np.r_[np.sqrt(p * np.linspace(1.5, 0.5, k)), np.ones(p - k)]


def shares_beyond(n, k, deviations, scale=None, fits=10):
    """Mean shares of training and of 400 new rows beyond the 95% limits of Q, for some fits."""
    rng, shares = np.random.default_rng(3), []
    for _ in range(fits):
        X, new = (rng.standard_normal((rows, len(deviations))) * deviations for rows in (n, 400))
        model = PCA(k, scale=scale, svd_solver="full").fit(X)
        for rows in (X, new):
            table = distances(model, rows, level=0.95, training=rows is X, frame="listing")
            shares.append((table["q"] > table["q_limit"]).mean())
    return np.reshape(shares, (fits, 2)).mean(axis=0)


@pytest.mark.parametrize(
    ("n", "p", "k"),
    [
        (30, 30, 3),
        (60, 30, 3),
        (60, 30, 10),
        (1000, 50, 20),
        (120, 400, 14),
        (40, 900, 5),
        (100, 2000, 10),
    ],
)
def test_new_rows_are_beyond_the_limit_of_q_as_often_as_its_level(n, p, k):
    """A share of 0.05 of 4,000 rows has a standard error of 0.003, and 0.007 as fits differ."""
    of_fit, new = shares_beyond(n, k, strong(p, k))
    assert 0.025 <= new <= 0.08
    assert of_fit <= 0.06


@pytest.mark.parametrize(
    ("n", "k", "variances", "lowest"),
    [
        (200, 10, np.ones(20), 0.03),
        (60, 10, np.ones(30), 0.03),
        (50, 2, np.ones(500), 0.02),
        (100, 5, np.ones(2000), 0.01),
        (60, 10, 1 / np.arange(1.0, 31), 0.03),
        (100, 5, 1 / np.arange(1.0, 2001), 0.03),
        (100, 5, np.arange(1.0, 2001) ** -0.5, 0.02),
        (50, 2, np.arange(1.0, 501) ** -2.0, 0.03),
    ],
)
def test_components_of_noise_hardly_change_the_share_beyond_the_limit(n, k, variances, lowest):
    """If components were taken as strong, 0 to 18% of these new rows would be beyond the limit."""
    of_fit, new = shares_beyond(n, k, np.sqrt(variances))
    assert lowest <= new <= 0.1
    assert of_fit <= 0.065


def test_new_rows_of_another_population_are_beyond_the_limit_of_many_columns():
    """The mean of Q of the other rows is 180 larger: 1.8 standard deviations."""
    rng = np.random.default_rng(4)
    X, new = (rng.standard_normal((rows, 5000)) * strong(5000, 1) for rows in (100, 1000))
    model = PCA(1, svd_solver="full").fit(X)
    shares = []
    for rows in (new, new + 0.6 * (np.arange(5000) >= 4500)):
        q = distances(model, rows, frame="listing")["q"]
        shares.append((q > limits(model).q_new).mean())
    assert shares[0] < 0.08
    assert shares[1] > 0.3


@pytest.mark.parametrize(("n", "p", "k"), [(60, 600, 3), (60, 40, 3), (20, 10, 2)])
def test_columns_of_new_rows_divided_by_deviations_of_the_fit_vary_more(n, p, k):
    """By (n − 1)/(n − 3). Without this factor, 14% of the new rows of 600 columns are beyond."""
    of_fit, new = shares_beyond(n, k, np.ones(p), scale="unit", fits=20)
    assert 0.03 <= new <= 0.07
    assert of_fit <= 0.06


def test_rows_with_filled_cells_of_wide_tables():
    rng, shares = np.random.default_rng(5), []
    for _ in range(10):
        mixing = np.linalg.qr(rng.standard_normal((150, 150)))[0]
        X, new = ((rng.standard_normal((m, 150)) * strong(150, 2)) @ mixing for m in (50, 300))
        new[:, :20] = np.nan
        model = PCA(2, missing="em", svd_solver="full").fit(X)
        table = distances(model, new, level=0.95, frame="listing")
        shares.append((table["q"] > table["q_limit"]).mean())
    assert 0.03 <= np.mean(shares) <= 0.08


# ---- estimates from a sample -----------------------------------------------------------------


@pytest.mark.parametrize(
    "variances", [np.linspace(5, 0.1, 60), np.linspace(3, 1, 200), 1 / np.arange(1.0, 90)]
)
def test_sums_of_squares_and_cubes_of_shares_are_those_of_the_population(variances):
    """Within 4 standard errors; those of the samples are larger by more than ten of them."""
    rng, found, sums = np.random.default_rng(6), [], []
    for _ in range(300):
        X = rng.standard_normal((41, len(variances))) * np.sqrt(variances)
        fitted = fitted_of(PCA(0, svd_solver="full").fit(X))
        shares = residual_variances(fitted, 0) / fitted.spectrum.total
        sums.append([(shares**2).sum(), (shares**3).sum()])
        found.append(population_thetas(fitted, 0, *sums[-1]))
    shares = variances / variances.sum()
    expected = np.array([(shares**2).sum(), (shares**3).sum()])
    errors = np.std(found, axis=0) / np.sqrt(300)
    assert (np.abs(np.mean(found, axis=0) - expected) < 4 * errors).all()
    assert (np.mean(sums, axis=0) - expected > 10 * errors).all()


def test_a_single_variance_outside_the_components_stays_as_it_is(arrests):
    model = PCA(3).fit(arrests)
    fitted = fitted_of(model)
    assert population_thetas(fitted, 3, 1.0, 1.0) == pytest.approx((1.0, 1.0), rel=TIGHT)


def test_impossible_estimates_are_replaced_by_the_nearest_possible_ones():
    """Equal variances of a sample: those of the population cannot be more equal."""
    X = np.vstack([np.eye(20), -np.eye(20)])
    fitted = fitted_of(PCA(0, svd_solver="full").fit(X))
    assert population_thetas(fitted, 0, 1 / 20, 1 / 400) == pytest.approx((1 / 20, 1 / 400))


def test_too_few_rows_for_estimates_have_limits_from_the_variances_themselves(arrests):
    model = PCA(2).fit(arrests[:5])
    assert limits(model).q_training == q_limit(fitted_of(model).spectrum.variances[2:], 0.95)[0]


def test_strong_components_take_and_miss_the_same_noise():
    absorbed, unexplained = noise_of_components(np.array([1e20, 1e8]), np.full(10, 3.0), 15.0)
    np.testing.assert_allclose(absorbed, 2.0, rtol=1e-7)
    np.testing.assert_allclose(unexplained, 2.0, rtol=1e-7)


def test_a_component_whose_variance_equals_one_of_the_residual_is_all_noise():
    absorbed, unexplained = noise_of_components(np.array([3.0]), np.array([3.0, 1.0]), 15.0)
    assert (absorbed.tolist(), unexplained.tolist()) == ([3.0], [0.0])


def test_limits_of_many_rows_are_those_of_the_variances_themselves(rng):
    """The limits of new and training rows differ by the leverage of k + 1 of n."""
    X = rng.standard_normal((2000, 6)) * [30, 20, 1, 1, 1, 0.5]
    model = PCA(2).fit(X)
    found = limits(model)
    variances = fitted_of(model).spectrum.variances[2:]
    assert found.q_training == pytest.approx(q_limit(variances, 0.95)[0], rel=1e-3)
    assert found.q_new == pytest.approx(
        found.q_training * (1999 / 1997) ** 2 * 2001 / 2000, rel=1e-4
    )


# ---- quantiles -------------------------------------------------------------------------------


def test_equal_variances_give_nearly_a_chi_square():
    value, method = q_limit(np.full(40, 2.5), 0.95)
    assert method == "jackson-mudholkar"
    assert value == pytest.approx(2.5 * stats.chi2.ppf(0.95, 40), rel=2e-3)


def test_the_limit_scales_with_the_variances_however_large_or_small():
    tail = np.array([3.0, 1.0, 0.2])
    value, _ = q_limit(tail, 0.99)
    for power in (-900, 900):
        factor = 2.0**power
        assert q_limit(tail * factor, 0.99)[0] == pytest.approx(value * factor, rel=1e-12)


@pytest.mark.parametrize("tail", [np.r_[3.0, np.full(400, 0.01)], np.r_[0.3, np.full(700, 0.001)]])
def test_one_large_variance_and_many_small_ones(tail, rng):
    """The power of Jackson and Mudholkar is negative; their limit was up to 50 times too large."""
    small = tail[1] * rng.chisquare(len(tail) - 1, 400_000)
    q = tail[0] * rng.chisquare(1, 400_000) + small
    for level in (0.95, 0.99, 0.999):
        value, method = q_limit(tail, level)
        assert method == "pearson"
        assert value == pytest.approx(np.quantile(q, level), rel=0.05)


def test_the_limit_of_q_is_continuous_where_its_power_is_nearly_zero():
    # With this first variance and 20 ones, the power h of the transformation is 0.
    nearby = [q_limit(np.r_[3.7912908264717755 * (1 - d), np.ones(20)], 0.95) for d in (1e-4, 1e-5)]
    step = nearby[1][0] - nearby[0][0]
    for d in (1e-8, 1e-10, 1e-12, 1e-13):
        limit, method = q_limit(np.r_[3.7912908264717755 * (1 - d), np.ones(20)], 0.95)
        assert method == "jackson-mudholkar"
        assert limit == pytest.approx(nearby[1][0] + step / 9, rel=1e-7)
