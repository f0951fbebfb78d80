"""How many components: fractions and Minka's rule, from the variances alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition._pca import _assess_dimension, _infer_dimension

from princomp import PCA
from princomp.errors import DataError
from princomp.rules import Known, Minka, for_fraction
from princomp.rules.minka import log_evidence

HALVES = np.array([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize(
    ("fraction", "exceeding", "reaching"),
    [(0.3, 1, 1), (0.5, 2, 1), (0.6, 2, 2), (0.75, 3, 2), (0.875, 4, 3), (0.9, 4, 4)],
)
def test_a_fraction_is_exceeded_or_reached(fraction, exceeding, reaching):
    assert for_fraction(HALVES, fraction) == exceeding
    assert for_fraction(HALVES, fraction, reach=True) == reaching


def test_reaching_allows_for_rounding():
    rates = np.array([0.5, 0.2, 0.1, 0.2])  # 0.5 + 0.2 + 0.1 = 0.7999999999999999
    assert for_fraction(rates, 0.8, reach=True) == 3
    assert for_fraction(np.full(1000, 1e-3), 1.0, reach=True) == 1000


def test_rates_that_stay_below_give_none():
    assert for_fraction(HALVES[:2], 0.8) is None
    assert for_fraction(HALVES[:2], 0.75) is None
    assert for_fraction(HALVES[:2], 0.75, reach=True) == 2
    assert for_fraction(HALVES, 1.0) is None


def test_constant_data_have_no_fraction():
    for rates in (np.zeros(3), np.zeros(0)):
        with pytest.raises(DataError, match="every column is constant"):
            for_fraction(rates, 0.5)
    with pytest.raises(DataError, match="every column is constant"):
        PCA(0.5).fit(np.ones((5, 3)))


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "arpack", "lanczos", "randomized"])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.75, 0.99])
def test_a_fraction_is_the_same_with_every_solver(rng, solver, fraction):
    X = rng.standard_normal((90, 40)) * 0.8 ** np.arange(40)
    expected = PCA(fraction, svd_solver="full").fit(X)
    found = PCA(fraction, svd_solver=solver, random_state=0).fit(X)
    assert found.n_components_ == expected.n_components_
    assert found.accumulated_rate_[-1] > fraction
    assert (found.accumulated_rate_[:-1] <= fraction).all()


# ---- Minka's rule ------------------------------------------------------------------------

SPECTRA = {
    "three signals": np.r_[[9.0, 5, 2], np.linspace(0.11, 0.09, 7)],
    "even": np.linspace(2, 1, 12),
    "geometric": 0.5 ** np.arange(20),
    "nearly equal": 1 + 1e-6 * np.arange(8)[::-1],
    "small numbers": 1e-12 * np.array([5.0, 3, 1, 0.5]),
    "large numbers": 1e12 * np.array([5.0, 3, 1, 0.5]),
    "two": np.array([2.0, 1.0]),
    "a wide gap": np.array([1e6, 1.0, 0.5, 0.25]),
}


def _chosen(variances, rows):
    p, total = len(variances), float(variances.sum())
    return Minka().decide(Known(variances, total, p, rows, np.ones(p))).k


@pytest.mark.parametrize("rows", [20, 100, 10_000])
@pytest.mark.parametrize("name", SPECTRA)
def test_the_evidence_is_that_of_scikit_learn_up_to_a_constant(name, rows):
    variances = SPECTRA[name]
    found = log_evidence(variances, rows)
    expected = np.array([_assess_dimension(variances, k, rows) for k in range(1, len(variances))])
    np.testing.assert_allclose(
        found - found[0], expected - expected[0], rtol=1e-10, atol=1e-10 * np.abs(expected).max()
    )
    assert _chosen(variances, rows) == _infer_dimension(variances, rows)


def test_variances_that_are_rounding_are_never_kept():
    variances = np.array([4.0, 2.0, 1.0, 1e-17, 0.0, 0.0])
    assert _chosen(variances, 50) <= 3
    assert log_evidence(variances, 50)[3] == -np.inf
    assert _chosen(np.zeros(4), 50) == 1


def test_variances_below_the_resolution_of_the_fit_are_never_kept(rng):
    X = (rng.standard_normal((200, 3)) @ rng.standard_normal((3, 8))).astype(np.float32)
    model = PCA("mle", svd_solver="covariance_eigh").fit(X)
    assert model.n_components_ == 3
    assert not model.certificate_.below_resolution.any()


def test_equal_variances_give_no_evidence_either_way():
    variances = np.repeat([1.0, 0.2], 3)
    # By a sum over all pairs.
    expected = [1652.670777, 1851.51117031, 2415.27699786, 2441.18480969, 2452.2988811]
    np.testing.assert_allclose(log_evidence(variances, 1000), expected, rtol=1e-9)


def test_the_time_of_the_evidence_is_quadratic_in_the_columns(monkeypatch, rng):
    sizes = []
    log = np.log
    monkeypatch.setattr(np, "log", lambda x: sizes.append(np.size(x)) or log(x))
    log_evidence(np.sort(rng.chisquare(3, 200))[::-1], 1000)
    assert sum(sizes) < 3 * 200**2


def test_one_column_has_one_component():
    assert _chosen(np.array([3.0]), 10) == 1


def test_a_few_signals_in_noise_are_counted(rng):
    signals = rng.standard_normal((2000, 4)) @ (3 * rng.standard_normal((4, 15)))
    X = signals + 0.1 * rng.standard_normal((2000, 15))
    assert PCA("mle").fit(X).n_components_ == 4


def test_a_summary_without_the_last_variances_has_the_same_evidence():
    values = [5.0, 2.0, 1.0, 0.5, 0.0]
    known = Known(np.array(values), 8.5, 5, 5.0, np.ones(5))
    fewer = Known(np.array(values[:4]), 8.5, 5, 5.0, np.ones(5))
    assert Minka().decide(fewer) == Minka().decide(known)
