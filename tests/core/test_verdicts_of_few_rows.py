"""Verdicts on components of tables with few rows, or nearly as many columns as rows."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA
from princomp.core import fitted_model, verdicts
from princomp.core.axis_angles import _LEVEL, _may_be_equal


def kinds_of(model, angles=None):
    return [one.kind for one in verdicts(fitted_model(model).result, angles)]


def of_variances(*variances, n):
    return PCA.from_covariance(np.diag(np.array(variances, dtype=float)), n_samples=n)


@pytest.mark.parametrize("shape", [(6, 5), (10, 5), (11, 10), (12, 24), (24, 24), (30, 24)])
def test_no_axis_of_noise_is_solid(shape):
    """In a sample, its smallest variance is close to zero. Expected: at most 2 of 40 tables."""
    tables = [np.random.default_rng(seed).standard_normal(shape) for seed in range(40)]
    solid = sum("solid" in kinds_of(PCA(svd_solver="full").fit(table)) for table in tables)
    assert solid <= 5


def test_the_last_axes_of_equal_variances_before_smaller_ones_are_not_solid():
    """40 tables of 30 rows with 20 equal variances and 5 smaller ones."""
    deviations, solid = np.r_[np.full(20, 10.0), np.ones(5)], 0
    for seed in range(40):
        table = np.random.default_rng(seed).standard_normal((30, 25)) * deviations
        solid += "solid" in kinds_of(PCA(20, svd_solver="full").fit(table))
    assert solid <= 5


def test_a_bootstrap_does_not_make_such_axes_solid():
    table = np.random.default_rng(1).normal(size=(8, 5))
    assert "solid" not in kinds_of(PCA().fit(table), [20.0] * 5)


def test_axes_of_few_rows_are_solid_if_their_variances_are_clearly_different():
    assert kinds_of(of_variances(100, 1, n=6)) == ["solid"] * 2
    assert kinds_of(of_variances(100, 1, n=3)) == ["unstable"] * 2
    assert kinds_of(of_variances(20, 1.2, 1.1, 1, 0.9, n=10)) == ["solid", *["unstable"] * 4]


def test_a_pair_of_few_rows_is_tested_whichever_axes_follow():
    """With a third variance that is far smaller, the three are not equal, and the pair may be."""
    assert kinds_of(of_variances(10, 1, 1e-4, n=5)) == ["unstable", "unstable", "solid"]
    assert kinds_of(of_variances(1e4, 10, 1, 1e-4, n=5)) == [
        *("solid", "unstable", "unstable", "solid")
    ]
    assert kinds_of(of_variances(100, 1, 1e-4, n=5)) == ["solid"] * 3


def test_axes_after_variances_that_may_all_be_equal_are_not_solid():
    assert kinds_of(of_variances(3, 1, 1e-4, n=4)) == ["unstable"] * 3


def test_directions_far_above_noise_are_solid_in_tables_of_many_columns():
    deviations = np.sqrt([300, 100, 30, *[1] * 200])
    table = np.random.default_rng(0).standard_normal((60, 203)) * deviations
    assert kinds_of(PCA(5, svd_solver="full").fit(table)) == [*["solid"] * 3, *["unstable"] * 2]


def test_the_last_of_as_many_axes_as_rows_less_one_is_not_solid():
    """It cannot be told from the directions in which so few rows do not vary."""
    rows = np.array([[1.0, 2.0, 9.0], [2.0, 1.0, 7.0], [9.0, 8.0, 1.0]])
    assert kinds_of(PCA(2, scale="unit").fit(rows)) == ["unstable"] * 2


def test_the_last_axis_of_few_distinct_rows_of_large_weight_is_solid():
    """400 rows in three directions: the other two are known to have no variance."""
    rows = np.array([[3.0, 1, 0, 0, 0], [3, -1, 0, 0, 0], [-3, 0, 0.3, 0, 0], [-3, 0, -0.3, 0, 0]])
    model = PCA(3, svd_solver="full").fit(rows, sample_weight=np.full(4, 100.0))
    assert kinds_of(model) == ["solid"] * 3


@pytest.mark.parametrize("freedom", [2.0, 5.0, 49.0, 1e8])
@pytest.mark.parametrize("rejected", [False, True])
def test_the_test_for_two_variances_is_exact(freedom, rejected):
    """Then 4λ₁λ₂/(λ₁ + λ₂)² to the power (n − 2)/2 is uniformly distributed."""
    level = (1 - _LEVEL) * (1 - 1e-3 if rejected else 1 + 1e-3)
    ratio = -np.expm1(np.log(level) * 2 / (freedom - 1))  # 1 − 4λ₁λ₂/(λ₁ + λ₂)²
    share = np.array([(1 + ratio) / 2])
    assert _may_be_equal(share, np.array([2.0]), np.array([freedom]))[0] != rejected
    # Many variances of two degrees of freedom: the share of two is that of the transposed rows.
    assert _may_be_equal(share, np.array([freedom]), np.array([2.0]))[0] != rejected


@pytest.mark.parametrize(("size", "freedom"), [(3, 3), (5, 5), (5, 20), (24, 8), (24, 29), (60, 2)])
def test_equal_variances_are_rejected_in_a_twelfth_of_samples(size, freedom, rng):
    """1,000 samples: 81 ± 3 standard deviations, and up to 2% for the approximate distribution."""
    shares = np.empty(1000)
    for i in range(len(shares)):
        rows = rng.standard_normal((freedom, size))
        variances = np.linalg.svd(rows, compute_uv=False) ** 2
        shares[i] = np.sum(variances**2) / np.sum(variances) ** 2
    full = np.ones(len(shares))
    rejected = np.sum(~_may_be_equal(shares, size * full, freedom * full))
    assert 55 <= rejected <= 127


@pytest.mark.parametrize(
    ("size", "freedom"), [(2.0, 1 + 1e-9), (2.0, 1.05), (2.0, 1.3), (3.0, 1.1), (9.0, 1.05)]
)
def test_little_more_than_one_degree_of_freedom_rejects_nothing(size, freedom):
    """There is no beta distribution with the mean and the variance of the share."""
    assert _may_be_equal(np.array([0.999]), np.array([size]), np.array([freedom]))[0]


@pytest.mark.parametrize("total", [1.5, 2.001, 2.3, 2.6, 3.0])
def test_rows_of_little_weight_have_no_solid_axis(total):
    """Weights are numbers of rows: three rows have too few degrees of freedom at any weight."""
    rows = np.array([[10.0, 0.3], [-10.0, 0.3], [0.0, -0.6]])
    model = PCA(2).fit(rows, sample_weight=np.full(3, total / 3))
    assert kinds_of(model) == ["unstable"] * 2


def test_without_centring_two_rows_have_two_degrees_of_freedom(rng):
    """The first axis is the direction of their mean."""
    rows = rng.standard_normal((2, 2)) + 1e4
    assert kinds_of(PCA(2, center=False).fit(rows)) == ["solid"] * 2
