"""Rules for the number of components: known answers, and direct implementations."""

from __future__ import annotations

import numpy as np
import pytest
from known_tables import known_of, of_variances, ranked
from scipy.integrate import quad

from princomp import choose
from princomp.rules import (
    CV,
    RULES,
    BiCV,
    Elbow,
    GavishDonoho,
    Kaiser,
    MarchenkoPastur,
    Parallel,
    Permutation,
    apply_rule,
)
from princomp.rules.marchenko_pastur import law_median, optimal_median_factor, optimal_threshold
from princomp.rules.parallel import _normal_variances
from princomp.rules.scree import broken_stick

# ---- known answers -----------------------------------------------------------------------


def test_broken_stick_of_four():
    np.testing.assert_allclose(broken_stick(4), [0.5208, 0.2708, 0.1458, 0.0625], atol=5e-5)
    assert broken_stick(7).sum() == pytest.approx(1, rel=1e-14)


def test_gcv_of_the_arrests(arrests):
    errors = RULES["gcv"]().decide(known_of(arrests, "unit"))
    np.testing.assert_allclose(errors.statistic[1:], [0.71825, 0.58782, 0.80322], atol=5e-6)
    assert errors.k == 2


def test_gcv_is_the_mean_of_corrected_squares(rng):
    X = rng.standard_normal((15, 6))
    centred = X - X.mean(axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    errors = RULES["gcv"]().decide(known_of(X)).statistic
    for q, error in enumerate(errors):
        residuals = centred - (u[:, :q] * s[:q]) @ vt[:q]
        free = (15 - 1) * 6 - q * (15 + 6 - q - 1)
        assert error == pytest.approx(np.mean((15 * 6 * residuals / free) ** 2), rel=1e-11)


def test_psi_and_phi_of_the_arrests(arrests):
    details = Permutation().decide(known_of(arrests, "unit")).details
    assert details["psi"] == pytest.approx(3.28845, abs=5e-6)
    assert details["phi"] == pytest.approx(0.523486, abs=5e-7)
    assert details["psi_p"] == 0.01


def test_constant_columns_have_no_part_in_psi_and_phi(arrests):
    constant = np.c_[arrests, np.ones(50), np.full(50, 0.1)]
    options = {"rules": ["permutation"], "scale": "unit"}
    found = choose(constant, constant="zero", **options)["permutation"].details
    expected = choose(arrests, **options)["permutation"].details
    assert found == pytest.approx(expected, rel=1e-12)


def test_permuted_tables_without_variance_are_no_evidence():
    # The first component lies in the first row, where most permutations put the only other cell.
    X = np.zeros((4, 5))
    X[0, :4], X[1, 4] = 4.0, 2.0
    for seed in range(6):
        assert choose(X, "permutation", center=False, random_state=seed).k == {"permutation": 1}


@pytest.mark.parametrize("seed", [21, 29])
def test_a_permutation_test_that_stops_early_is_not_significant(seed):
    # Two of 40 or 47 tables exceed this one: a share below 0.05, but (2 + 1) / (50 + 1) is above.
    X = np.random.default_rng(seed).standard_normal((20, 4))
    found = choose(X, [Permutation(draws=50)], random_state=seed)["permutation"]
    assert found.k == 0
    assert found.statistic[0] > 0.05


def test_the_last_component_is_not_tested(rng):
    t = rng.standard_normal((60, 1))
    found = Permutation().decide(known_of(t + 0.3 * rng.standard_normal((60, 2))))
    assert found.k == 1
    assert found.reason.endswith("component 2, the last, has nothing to be compared with")
    exact = Permutation().decide(known_of(t * [1.0, 2.0]))
    assert exact.reason.endswith("no variance is left after it")


def test_thresholds_of_gavish_and_donoho():
    assert optimal_threshold(1.0) == pytest.approx(4 / np.sqrt(3), rel=1e-15)
    assert optimal_median_factor(1.0) == pytest.approx(2.8584, abs=5e-5)
    assert optimal_median_factor(0.5) == pytest.approx(2.1712, abs=5e-5)


@pytest.mark.parametrize("beta", [1e-9, 1e-6, 0.01, 0.3, 0.9999, 1.0])
def test_the_median_halves_the_law_of_marchenko_and_pastur(beta):
    low, high = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2
    middle = law_median(beta)
    assert low < middle < high

    def density(angle):  # x = 1 + β + 2√β cos φ removes the roots at both ends
        x = 1 + beta + 2 * np.sqrt(beta) * np.cos(angle)
        return 2 / np.pi * np.sin(angle) ** 2 / x

    start = np.arccos(np.clip((middle - 1 - beta) / (2 * np.sqrt(beta)), -1, 1))
    mass = quad(density, 0, start, epsabs=1e-13)[0]
    # Below 1e-7 the law is taken as symmetric: its median is off by β in a width of 4√β.
    assert mass == pytest.approx(0.5, abs=1e-9 if beta >= 1e-7 else 1e-4)


def test_kaiser_elbow_and_stick_of_small_spectra():
    assert Kaiser().decide(of_variances([3, 1, 0.5, 0.5])).k == 1
    assert Kaiser().decide(of_variances([1, 1, 1])).k == 0
    assert Elbow().decide(of_variances([9, 8, 7, 1, 0.9, 0.8])).k == 3
    flat = Elbow().decide(of_variances([1, 1, 1]))
    assert flat.k == 0
    assert "all variances are equal" in flat.reason
    for values in ([3, 2, 1], [5, 4.9, 1], [2, 1]):
        straight = Elbow().decide(of_variances(values))
        assert straight.k is None
        assert straight.reason.startswith("does not apply: ")
    assert RULES["broken-stick"]().decide(of_variances([0.7, 0.2, 0.05, 0.05])).k == 1


def test_reasons_tell_leading_values_from_later_ones_above_their_thresholds():
    stick = RULES["broken-stick"]()
    none = stick.decide(of_variances([0.4, 0.38, 0.12, 0.1]))  # 0.38 exceeds its piece, 0.27
    assert none.k == 0
    assert none.reason == "the first rate does not exceed the pieces of a stick broken at random"
    one = stick.decide(of_variances([0.53, 0.2, 0.17, 0.1]))  # so does 0.17
    assert one.reason == "1 leading rate exceeds the pieces of a stick broken at random"
    assert Kaiser().decide(of_variances([3, 1, 1, 1])).reason == "1 variance exceeds the mean, 1.5"


# ---- direct implementations ------------------------------------------------------------


def test_cross_validation_leaves_out_the_entry_that_it_predicts(rng):
    X = ranked(5, n=12, p=5, rank=2)
    seed, folds = 3, 4
    found = CV(folds).decide(known_of(X, seed=seed)).statistic
    order, expected = np.random.default_rng(seed).permutation(12), np.zeros(len(found))
    for fold in range(folds):
        test = order[fold::folds]
        train = np.delete(X, test, axis=0)
        mean = train.mean(axis=0)
        axes = np.linalg.svd(train - mean)[2]
        for row in X[test] - mean:
            for k in range(len(found)):
                for j in range(5):
                    others = np.delete(np.arange(5), j)
                    score = np.linalg.lstsq(axes[:k, others].T, row[others], rcond=None)[0]
                    expected[k] += (row[j] - score @ axes[:k, j]) ** 2
    np.testing.assert_allclose(found, expected / X.size, rtol=1e-9)


def test_bi_cross_validation_is_that_of_its_formula(rng):
    X = ranked(6, n=10, p=6, rank=2)
    seed = 4
    found = BiCV(2, 1).decide(known_of(X, seed=seed)).statistic
    draw = np.random.default_rng(seed)
    by_row, by_column = draw.permutation(10), draw.permutation(6)
    expected = np.zeros(len(found))
    for i in range(2):
        for j in range(2):
            rows, columns = by_row[i::2], by_column[j::2]
            Y = X - np.delete(X, rows, axis=0).mean(axis=0)
            a, b = Y[np.ix_(rows, columns)], np.delete(Y[rows], columns, axis=1)
            rest = np.delete(Y, rows, axis=0)
            c, d = rest[:, columns], np.delete(rest, columns, axis=1)
            u, s, vt = np.linalg.svd(d, full_matrices=False)
            for k in range(len(found)):
                inverse = (vt[:k].T / s[:k]) @ u[:, :k].T
                expected[k] += np.sum((a - b @ inverse @ c) ** 2)
    np.testing.assert_allclose(found, expected / X.size, rtol=1e-9)


@pytest.mark.parametrize("shape", [(40, 6), (8, 20)])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_normal_tables_are_drawn_as_if_row_by_row(shape, scale):
    n, p = shape
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape) * np.linspace(1, 3, p)
    drawn = Parallel(draws=400)._null_variances(known_of(X, scale))
    deviations = np.ones(p) if scale else X.std(axis=0, ddof=1)
    direct = []
    for _ in range(400):
        Z = rng.standard_normal(shape) * deviations
        Z -= Z.mean(axis=0)
        if scale:
            Z /= Z.std(axis=0, ddof=1)
        direct.append(np.linalg.svd(Z, compute_uv=False)[: drawn.shape[1]] ** 2 / (n - 1))
    direct = np.array(direct)
    # Means of 400 draws each: four standard errors of their difference.
    error = np.sqrt((drawn.var(axis=0) + direct.var(axis=0)) / 400)
    assert (np.abs(drawn.mean(axis=0) - direct.mean(axis=0)) < 4 * error + 1e-12).all()
    np.testing.assert_allclose(drawn.std(axis=0)[0], direct.std(axis=0)[0], rtol=0.25)


@pytest.mark.parametrize("shape", [(6, 3), (5, 8)])
@pytest.mark.parametrize("facts", [{"centred": False}, {"rows": 3.9, "count": 6}])
def test_normal_tables_have_the_total_variance_of_the_table(shape, facts, rng):
    known = known_of(rng.standard_normal(shape), **facts)
    totals = [_normal_variances(known, rng).sum() for _ in range(2000)]
    assert np.mean(totals) == pytest.approx(known.total, rel=0.04)


def test_permuted_tables_keep_the_values_of_the_columns():
    X = ranked(2)
    found = Parallel(null="permuted").decide(known_of(X))
    assert found.k == 3
    assert "permuted" in found.reason
    assert "99.5% quantile" in Parallel(quantile=0.995).decide(known_of(X)).reason
    assert found.threshold[0] > X.var(axis=0, ddof=1).mean()


@pytest.mark.parametrize("rule", [GavishDonoho(0.5), MarchenkoPastur(0.5)])
def test_noise_whose_square_overflows_leaves_nothing(rule):
    assert apply_rule(type(rule)(noise=1e200), known_of(ranked(3))).k == 0


@pytest.mark.parametrize("rule", [GavishDonoho(0.5), MarchenkoPastur(0.5)])
def test_noise_that_is_known_is_used(rule):
    X = ranked(3)
    found = rule.decide(known_of(X))
    free = apply_rule(type(rule)(), known_of(X))
    assert found.k == free.k == 3
    assert found.threshold == pytest.approx(free.threshold, rel=0.1)
    n, p = 119, 20
    if rule.name == "gavish-donoho":
        assert found.threshold == pytest.approx(optimal_threshold(p / n) * np.sqrt(n) * 0.5)
    else:
        assert found.threshold == pytest.approx(0.25 * (1 + np.sqrt(p / n)) ** 2)
