"""Verdicts on components, from their angles, their neighbours and their variances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import chdtri

from princomp import PCA, bootstrap
from princomp.core import (
    Verdict,
    component_ranges,
    fitted_model,
    has_constant_columns,
    shown_certificate,
    sketch_note,
    stable_spaces,
    unequal_columns,
    unequal_variances,
    unit_scale,
    verdict_lines,
    verdicts,
)
from princomp.core.axis_angles import axis_angles, known_spectrum
from princomp.core.axis_verdicts import _stable_spaces
from princomp.core.certificate import inseparable_pairs
from princomp.solvers import Spectrum


def verdicts_of(model, angles=None):
    return verdicts(fitted_model(model).result, angles)


def of_variances(*variances, n=300):
    """A fit of n rows with these variances."""
    return PCA.from_covariance(np.diag(variances), n_samples=n)


def test_each_kind_of_verdict(rng):
    X = rng.standard_normal((200, 4)) * [9, 4, 2, 1]
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = verdicts_of(PCA(5).fit(X))
    assert [verdict.kind for verdict in found] == [*["solid"] * 4, "below resolution"]
    noise = verdicts_of(PCA(2).fit(rng.standard_normal((40, 3))))
    assert {verdict.kind for verdict in noise} == {"unstable"}
    cross = verdicts_of(PCA(2).fit(np.vstack([np.eye(3), -np.eye(3)])))
    assert [(verdict.kind, verdict.angle) for verdict in cross] == [("inseparable", 90.0)] * 2
    assert cross[1].partners == ("PC1", "PC3")
    alone = verdicts_of(PCA.from_covariance(np.diag([3.0, 1.0]), n_components=1))
    assert alone[0].kind == "untested"
    assert np.isnan(alone[0].angle)


def test_axes_of_a_sketch_with_large_residuals_are_inaccurate(rng):
    """The sketch has 22 of 400 directions of noise, so variances are much too small."""
    X = rng.standard_normal((300, 400))
    X[:, 0] *= 200
    model = PCA(3, svd_solver="sketch").fit(X)
    residuals, variances = model.certificate_.residuals, model.explained_variance_
    relative = residuals * variances[0] / variances
    assert relative[0] < 0.1 < relative[1:].min()
    assert residuals.max() < 0.01  # relative to the first variance
    found = verdicts_of(model, angles=[1.0, 2.0, 3.0])
    assert [one.kind for one in found] == ["solid", "inaccurate", "inaccurate"]
    assert np.isnan([one.angle for one in found[1:]]).all()
    assert not any(one.interpretable or one.bootstrapped or one.partners for one in found[1:])
    assert stable_spaces(found) == {}
    assert verdict_lines(found)[1].startswith("inaccurate: PC2 and PC3. The error of the fit")
    note = sketch_note(fitted_model(model).result)
    assert note.endswith(f"up to {relative.max():.1g} times the variance of their component")
    assert sketch_note(fitted_model(PCA(3).fit(X)).result) == ""


@pytest.mark.parametrize(("excess", "kind"), [(0.999, "solid"), (1.001, "inaccurate")])
def test_residuals_are_large_from_a_tenth_of_the_variance_on(excess, kind):
    fitted = fitted_model(of_variances(1000.0, 10.0, 1e-3)).result
    residuals = np.array([0.0, 0.1 * 10 / 1000 * excess, 0.0])
    fitted = replace(fitted, spectrum=replace(fitted.spectrum, residuals=residuals))
    assert verdicts(fitted)[0].kind == "solid"
    assert (verdicts(fitted)[1].kind == "inaccurate") == (kind == "inaccurate")


@pytest.mark.parametrize(
    ("variances", "residuals", "kinds"),
    [
        ((1, 0.29, 0.1), (0, 0, 0.02), ["solid", "inaccurate", "inaccurate"]),
        ((1, 0.31, 0.1), (0, 0, 0.02), ["solid", "solid", "inaccurate"]),
        ((1, 0.45, 0.29, 0.1), (0, 0, 0.02, 0.02), ["solid", *["inaccurate"] * 3]),
        ((1, 0.9, 0.3), (0.15, 0, 0), ["inaccurate", "inaccurate", "solid"]),
    ],
)
def test_axes_near_an_inaccurate_one_are_inaccurate(variances, residuals, kinds):
    """From gaps of ten residuals on, they are not; and the space of both is not determined."""
    fitted = fitted_model(of_variances(*map(float, variances))).result
    fitted = replace(fitted, spectrum=replace(fitted.spectrum, residuals=np.array(residuals)))
    found = verdicts(fitted)
    assert [one.kind for one in found] == kinds
    assert not any(one.partners for one in found)


def test_a_sketch_without_variance_has_no_residual_to_tell(rng):
    constant = PCA(2, svd_solver="sketch").fit(np.ones((30, 4)))
    assert sketch_note(fitted_model(constant).result) == ""
    assert {one.kind for one in verdicts_of(constant)} == {"below resolution"}


def test_axes_of_float32_rows_with_clear_gaps_are_not_inseparable(rng):
    sizes = np.r_[8, 7, 4, 2.5, 2.1, np.ones(121)]
    X = (rng.standard_normal((400, 126)) * sizes).astype(np.float32)
    model = PCA(5).fit(X)
    # The bound on the errors leaves fewer than four digits, and more than two.
    assert model.certificate_.inseparable[-1] == (4, 5)
    assert "inseparable" not in {verdict.kind for verdict in verdicts_of(model)}
    fitted = fitted_model(model).result
    assert shown_certificate(fitted.certificate, fitted.spectrum, fitted.k).inseparable == []


def test_axes_with_fewer_than_two_digits_are_called_inseparable():
    certificate = fitted_model(of_variances(2.0, 1.0)).result.certificate
    for gap, pairs in ((0.99e-8, [(0, 1)]), (1.01e-8, [])):
        spectrum = Spectrum(np.array([1.0, 1.0 - gap]), np.eye(2), 2.0, 1e-10)
        assert shown_certificate(certificate, spectrum, 2).inseparable == pairs


def test_bootstrap_angles_take_precedence(arrests):
    model = PCA(2, scale="unit").fit(arrests)
    found = verdicts_of(model, [10.0, 50.0])
    assert [(verdict.kind, verdict.angle, verdict.bootstrapped) for verdict in found] == [
        ("solid", 10.0, True),
        ("unstable", 50.0, True),
    ]


def test_the_approximation_agrees_with_a_bootstrap_of_normal_rows():
    """Both estimate one quantile; a bootstrap of 400 resamples is within a third of it here."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 6)) * np.sqrt([9, 4, 2, 1, 0.5, 0.2])
    model = PCA().fit(X)
    bootstrapped = bootstrap(model, X, n=400).angle_quantiles((0.95,))[0]
    np.testing.assert_allclose(axis_angles(fitted_model(model).result), bootstrapped, rtol=1 / 3)


def test_the_angle_is_a_quantile_of_a_scaled_chi_square():
    """With the mean and the variance of the sum of squares."""
    variances, n = np.array([4.0, 2.0, 1.0]), 300
    correction = 4 * chdtri(2, 0.05) - chdtri(1, 0.05)
    expected = []
    for i, own in enumerate(variances):
        others = np.delete(variances, i)
        entries = 1 / ((n - 1) * (own - others) ** 2 / (own * others) - correction)
        mean, squares = entries.sum(), (entries**2).sum()
        quantile = squares / mean * chdtri(mean**2 / squares, 0.05)
        expected.append(np.degrees(np.arctan(np.sqrt(quantile))))
    found = axis_angles(fitted_model(of_variances(*variances, n=n)).result)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_angle_is_a_95_percent_limit_over_samples():
    """2,000 samples: the share within the limit of the true variances is 0.95 ± 0.03."""
    rng, variances, n = np.random.default_rng(7), np.array([4.0, 2.0, 1.0]), 300
    true = PCA.from_covariance(np.diag(variances), n_samples=n)
    limit = axis_angles(fitted_model(true).result)
    inside = np.zeros(3)
    for _ in range(2000):
        X = rng.standard_normal((n, 3)) * np.sqrt(variances)
        axes = np.linalg.eigh(np.cov(X.T))[1][:, ::-1]
        inside += np.degrees(np.arccos(np.abs(np.diag(axes)))) <= limit
    np.testing.assert_allclose(inside / 2000, 0.95, atol=0.03)


@pytest.mark.parametrize(
    ("errors", "most_solid", "least_solid"),
    [(0, 0.08, 0), (2, 0.6, 0.2), (5, 1, 0.95)],
)
def test_an_axis_called_solid_is_within_its_angle(errors, most_solid, least_solid):
    """The variances of a pair differ by ``errors`` standard errors of their difference.

    At most 5% of all verdicts are "solid" with too small an angle, and at most 10% of those on
    axes that are often solid; 500 samples add up to three standard errors, 0.03 and 0.04.
    """
    n, samples, rng = 240, 500, np.random.default_rng(errors)
    half = errors / np.sqrt(n)
    ratio = (half + np.sqrt(half**2 + 1)) ** 2  # (ratio - 1) / (2 sqrt(ratio / n)) is ``errors``
    deviations = np.sqrt([ratio, 1.0, 0.1, 0.1])
    solid = wrong = 0
    for _ in range(samples):
        model = PCA(svd_solver="full").fit(rng.standard_normal((n, 4)) * deviations)
        first, turned = verdicts_of(model)[0], np.degrees(np.arccos(abs(model.components_[0, 0])))
        solid += first.kind == "solid"
        wrong += first.kind == "solid" and turned > first.angle
    assert least_solid <= solid / samples <= most_solid
    assert wrong / samples <= 0.05 + 0.03
    if least_solid > 0:
        assert wrong / solid <= 0.1 + 0.04


def test_a_bootstrap_does_not_make_equal_variances_solid():
    """Resamples repeat the gap of the sample; 100 samples of an equal pair, 8 ± 8 of them solid."""
    solid = 0
    for seed in range(100):
        X = np.random.default_rng(seed).standard_normal((100, 3)) * [1, 1, 0.2]
        model = PCA(svd_solver="full").fit(X)
        angles = bootstrap(model, X, n=40, random_state=seed).angle_quantiles((0.95,))[0]
        solid += verdicts_of(model, angles)[0].kind == "solid"
    assert solid <= 16


def of_relative_gap(gap):
    """A fit of 1,000,000 rows with variances λ₁ and 1, where λ₁ − 1 is ``gap`` √λ₁."""
    return of_variances((gap / 2 + np.sqrt(gap**2 / 4 + 1)) ** 2, 1.0, n=1_000_000)


def test_two_axes_turn_by_45_degrees_where_equal_variances_are_just_rejected():
    """The test compares 1/(4 v) with a quantile of χ², where v is the variance of an entry."""
    for factor, unstable in ((0.999, True), (1.001, False)):
        gap = np.sqrt(4 * chdtri(2, 0.05) * factor / 999_999)
        first, second = verdicts_of(of_relative_gap(gap))
        assert first.angle == pytest.approx(second.angle) == pytest.approx(45.0, abs=0.1)
        assert (first.angle > 45.0) is unstable


def test_the_axis_of_no_variance_is_arbitrary():
    found = verdicts_of(of_variances(2.0, 1.0, 0.0))[-1]
    assert (found.kind, found.angle) == ("below resolution", 90.0)
    assert not found.may_be_equal
    (constant,) = verdicts_of(PCA(1).fit(np.ones((5, 3))))
    assert constant.kind == "below resolution"


def test_an_approximation_just_below_90_degrees_does_not_override_a_bootstrap():
    quantiles = 4 * chdtri(2, 0.05) - chdtri(1, 0.05)
    closer = of_relative_gap(np.sqrt(quantiles * (1 - 1.5e-5) / 999_999))
    assert axis_angles(fitted_model(closer).result)[0] == 90.0
    model = of_relative_gap(np.sqrt(quantiles * (1 + 1.5e-5) / 999_999))
    assert 89.0 < axis_angles(fitted_model(model).result)[0] < 90.0
    assert [one.angle for one in verdicts_of(model, [20.0, 30.0])] == [20.0, 30.0]


def test_an_axis_that_turns_by_more_than_45_degrees_is_unstable(rng):
    model = PCA(1).fit(rng.standard_normal((200, 3)) * [9, 4, 1])
    kinds = [verdicts_of(model, [angle])[0].kind for angle in (45.0, 45.5)]
    assert kinds == ["solid", "unstable"]


def test_no_axis_is_solid_if_filling_did_not_converge(rng):
    X = rng.standard_normal((200, 6)) * [9, 4, 1, 1, 1, 1]
    fitted = fitted_model(PCA(3, missing="em").fit(X)).result
    assert [one.kind for one in verdicts(fitted)] == ["solid", "solid", "unstable"]
    stopped = replace(fitted, filled=replace(fitted.filled, converged=False))
    first, second, third = verdicts(stopped, [1.0, 2.0, 80.0])
    assert [first.kind, second.kind, third.kind] == ["untested", "untested", "unstable"]
    assert np.isnan(first.angle)


def test_angles_without_all_variances(rng):
    X = rng.standard_normal((400, 200)) * np.r_[20.0, 10.0, np.ones(198)]
    full = axis_angles(fitted_model(PCA(2).fit(X)).result)
    few = fitted_model(PCA(2, svd_solver="arpack").fit(X)).result
    assert len(few.spectrum.variances) == 2
    found = axis_angles(few)
    assert found[0] == pytest.approx(full[0], rel=0.01)
    assert np.isnan(found[1])


def test_variances_that_were_not_computed_count_as_their_mean():
    found, equal = (
        fitted_model(of_variances(9.0, 4.0, *others)).result
        for others in ((1.5, 0.9, 0.6), (1.0, 1.0, 1.0))
    )
    spectrum = found.spectrum
    truncated = replace(spectrum, variances=spectrum.variances[:2], axes=spectrum.axes[:2])
    first, second = axis_angles(replace(found, spectrum=truncated, k=2))
    assert first == pytest.approx(axis_angles(equal)[0], rel=1e-12)
    assert np.isnan(second)
    # Rounding may make the total less than its parts.
    variances, total = np.array([1.0, 1e-20]), np.nextafter(1.0, 0.0)
    truncated = replace(truncated, variances=variances, total=total)
    assert axis_angles(replace(found, spectrum=truncated, k=2))[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("scale", [None, "unit"])
def test_two_rows_say_nothing_about_their_axis(scale):
    judged = verdicts_of(PCA(1, scale=scale).fit([[1.0, 2.0, 3.0], [2.0, 5.0, 1.0]]))
    assert [one.kind for one in judged] == ["untested"]
    (only,) = verdicts_of(PCA(1).fit([[1.0], [2.0]]))  # there is no other direction
    assert (only.kind, only.angle) == ("solid", 0.0)


@pytest.mark.parametrize("size", [1e-60, 1e-90, 1e-110])
def test_variances_far_below_the_first_one_are_below_resolution(rng, size):
    X = rng.standard_normal((40, 3)) * [1.0, size, 1e-3 * size]
    kinds = [one.kind for one in verdicts_of(PCA(svd_solver="full").fit(X))]
    assert kinds == ["solid", "below resolution", "below resolution"]


def test_columns_of_any_size_are_compared():
    assert unequal_variances(np.array([1e306, 2e306]), None) is None
    found = unequal_variances(np.array([1e-300, 1e300]), None)
    assert found is not None
    assert "differ more than 1e+308-fold and column 1" in found


def test_the_plane_of_two_similar_variances_is_stable():
    """Population 9, 8.4 and six of 1: the axes are arbitrary, and the plane is found in 95%."""
    said = wrong = 0
    for seed in range(100):
        X = np.random.default_rng(seed).standard_normal((100, 8)) * [3, 2.9, 1, 1, 1, 1, 1, 1]
        model = PCA(5).fit(X)
        spaces = stable_spaces(verdicts_of(model))
        if "PC1 and PC2" in spaces:
            cosine = np.linalg.svd(model.components_[:2, :2], compute_uv=False).min()
            said += 1
            wrong += np.degrees(np.arccos(cosine)) > spaces["PC1 and PC2"]
    assert said >= 80
    assert wrong / said <= 0.05 + 0.04


@pytest.mark.parametrize(
    ("variances", "spaces"),
    [
        ([3.0, 2.9, 0.1], ["PC1 and PC2"]),
        ([3.0, 0.1, 0.09], []),  # the last two are what the first leaves
        ([3.0, 2.9, 1.0, 0.97, 0.1], ["PC1 and PC2", "PC3 and PC4"]),
        ([9.0, 3.0, 2.9, 0.1], ["PC2 and PC3"]),
        ([*np.linspace(3, 2.9, 5), 0.1], ["PC1 to PC5"]),
        ([*np.linspace(3, 2.9, 6), 0.1], []),  # no figure shows six axes
    ],
)
def test_a_stable_space_has_two_to_five_axes_and_not_the_last_direction(variances, spaces):
    judged = verdicts_of(of_variances(*variances))
    assert list(stable_spaces(judged)) == spaces
    assert all(angle < 45 for angle in stable_spaces(judged).values())


def test_a_space_has_two_axes_even_if_one_has_a_small_angle():
    spectrum = known_spectrum(fitted_model(of_variances(9.0, 4.0, 1.0, 0.1)).result)
    assert spectrum.angle(0, 1) < 45
    assert not list(_stable_spaces(spectrum, [True, False, False, False]))


@pytest.mark.parametrize(("n", "p"), [(100, 10), (500, 10), (50, 4)])
def test_noise_has_no_stable_space(n, p):
    """At a level of 5%; a space of all directions cannot turn, and is not one."""
    found = 0
    for seed in range(100):
        X = np.random.default_rng(seed).standard_normal((n, p))
        found += bool(stable_spaces(verdicts_of(PCA(svd_solver="full").fit(X))))
    assert found <= 5 + 4


def test_many_unstable_axes_are_judged_without_trying_all_their_spaces(rng):
    """Trying all spaces of k axes takes k⁵ steps: a minute for 500 axes."""
    noise = verdicts_of(PCA(svd_solver="full").fit(rng.standard_normal((1000, 500))))
    assert {one.kind for one in noise} == {"unstable"}
    assert max(len(one.space) for one in noise) <= 5


def test_a_stable_plane_is_described(rng):
    X = rng.standard_normal((300, 8)) * [3, 2.95, 1, 1, 1, 1, 1, 1]
    (line,) = verdict_lines(verdicts_of(PCA(3).fit(X)))
    assert "Do not interpret such an axis on its own; the space of PC1 and PC2 is stable" in line


def test_one_line_per_kind_for_any_number_of_components(rng):
    lines = verdict_lines(verdicts_of(PCA().fit(rng.standard_normal((60, 30)))))
    assert len(lines) <= 5
    assert lines[-1].startswith("unstable: PC")
    assert component_ranges(["PC1", "PC3", "PC4", "PC5", "PC9", "PC10"]) == (
        "PC1, PC3 to PC5, PC9 and PC10"
    )


def test_angles_of_variances_that_may_be_equal_are_not_those_of_a_bootstrap():
    X = np.random.default_rng(1).standard_normal((400, 5)) * np.sqrt([4, 2.1, 1.7, 0.6, 0.5])
    model = PCA(3).fit(X)
    angles = bootstrap(model, X, n=100).angle_quantiles((0.95,))[0]
    assert angles.max() < 60
    first, *pair = found = verdicts_of(model, angles)
    assert (first.bootstrapped, first.may_be_equal) == (True, False)
    for one in pair:
        assert (one.angle, one.bootstrapped, one.may_be_equal) == (90.0, False, True)
    line = verdict_lines(found)[-1]
    assert "PC2 and PC3 (axes may have any direction, because their variances may be equal" in line
    assert "population" not in line
    turning = Verdict("PC4", "unstable", 60.0, bootstrapped=True)
    mixed = "within 60° of those of the population, if rows are independent; those of PC2 and PC3 "
    assert f"{mixed}may have any" in verdict_lines([*pair, turning])[0]
    assert "because its variance may be equal to another" in verdict_lines(pair[:1])[0]


def test_axes_that_may_turn_by_any_angle_are_described_in_words():
    free = Verdict("PC2", "unstable", 90.0, bootstrapped=True)
    near = Verdict("PC1", "unstable", 89.4, bootstrapped=True)
    normal = Verdict("PC1", "unstable", 89.4)
    assert (normal.bootstrapped, normal.may_be_equal) == (False, False)
    any_direction = "(axes may have any direction in another sample of independent rows)"
    assert any_direction in verdict_lines([near, free])[0]
    where = "of that of the population, if rows are independent)"
    assert f"(axis within 89° {where}" in verdict_lines([near])[0]


@pytest.mark.parametrize(
    ("variances", "said"),
    [
        ([1, 1e4, 1, 1], True),
        ([1, 1e4, 1e4, 1, 1, 1], True),  # two incomes in a table of marks
        (np.r_[1e-3, np.full(99, 10.0)], False),  # a column that hardly varies
        (np.r_[np.ones(90), np.full(10, 1e4)], True),
        (np.geomspace(1, 1e4, 100), True),
        ([1, 1000], False),
        ([1, 1000.5], True),
        ([1, 1, 1, 1 - 2**-10, 2**-10], False),  # two have just half of the total
        ([1, 1, 1, 1 - 2**-9, 2**-10], True),
        ([0, 0], False),
        (np.linspace(1e-3, 10, 100), False),
    ],
)
def test_few_columns_decide_if_they_have_most_of_the_variance(variances, said):
    assert (unequal_variances(np.array(variances), None) is not None) is said


def test_one_of_three_columns_with_names_may_dominate():
    names = ["a", "b", "c"]
    found = unequal_variances(np.array([1.0, 39.0, 1.0]), names)
    assert found == "variance of 'b' is 95% of the total"
    assert unequal_variances(np.array([1.0, 37.9, 1.0]), names) is None
    assert unequal_variances(np.array([1.0, 39.0, 1.0]), None) is None
    assert unequal_variances(np.array([1.0, 39.0]), names[:2]) is None


@pytest.mark.parametrize(
    ("ratio", "times"), [(999_999_999.0, "999,999,999"), (1e9, "1e+09"), (1234.0, "1,234")]
)
def test_large_ratios_of_variances_are_rounded(ratio, times):
    found = unequal_variances(np.array([1.0, ratio]), ["a", "b"])
    assert found == f"variances of the columns differ {times}-fold and 'b' has the largest"


def test_unit_scale_is_advised_where_it_is_possible():
    X = np.column_stack([np.arange(9.0) ** 2, 1e3 * np.arange(9), np.arange(9.0) % 2])
    fitted = fitted_model(PCA(2).fit(X)).result
    assert "column 1 has the largest" in unequal_columns(fitted, None)
    assert (has_constant_columns(fitted), unit_scale(fitted)) == (False, "scale='unit'")
    for options in ({"scale": "unit"}, {"center": False}):
        assert unequal_columns(fitted_model(PCA(2, **options).fit(X)).result, None) is None
    X[:, 2] = 5.0
    fitted = fitted_model(PCA(2).fit(X)).result
    assert has_constant_columns(fitted)
    assert unit_scale(fitted) == "scale='unit' with constant='drop'"


def test_a_space_next_to_variances_that_were_not_computed_is_not_called_stable():
    """Their mean says nothing about the largest of them."""
    variances = np.r_[30, 3, 2.9, 2.85, np.full(16, 0.05)]
    X = np.random.default_rng(0).standard_normal((300, 20)) * np.sqrt(variances)
    for solver in ("lanczos", "full"):
        judged = verdicts(fitted_model(PCA(3, svd_solver=solver).fit(X)).result)
        assert not any(one.space for one in judged)


@pytest.mark.parametrize(("squared", "units"), [(True, 1.0), (False, 2.0)])
def test_a_gap_is_compared_with_the_error_of_squared_singular_values(squared, units):
    """An error u in a singular value is one of 2u in its square."""
    roundoff, digits = 1e-10, 2
    for factor, close in ((0.9, [(0, 1)]), (1.1, [])):
        gap = factor * units * roundoff * 10.0**digits
        spectrum = Spectrum(np.array([1.0, 1.0 - gap]), np.eye(2), 2.0, roundoff, squared)
        assert inseparable_pairs(spectrum, 2, np.zeros(2), digits) == close


def test_the_last_angle_is_known_after_a_search_that_was_given_up(rng):
    """All variances were computed then."""
    X = rng.standard_normal((800, 900))
    assert np.isfinite(axis_angles(fitted_model(PCA(5, svd_solver="row_gram").fit(X)).result)).all()


def test_no_space_is_called_stable_if_a_bootstrap_shows_that_rows_are_not_normal():
    # PC2 and PC3 span a stable plane if rows are normal; with outliers, even PC1 may turn.
    design = np.linalg.qr(np.random.default_rng(0).standard_normal((100, 5)))[0]
    fitted = fitted_model(PCA(3).fit(design * [9.0, 5.0, 4.99, 0.1, 0.05])).result
    assert stable_spaces(verdicts(fitted))
    assert stable_spaces(verdicts(fitted, [5.0, 80.0, 80.0]))
    assert stable_spaces(verdicts(fitted, [45.0, 80.0, 80.0]))  # just not unstable
    assert not stable_spaces(verdicts(fitted, [80.0, 80.0, 80.0]))


def test_components_of_rounding_errors_do_not_hide_a_stable_space():
    fitted = fitted_model(PCA().fit(_with_a_copied_column())).result
    assert "PC2 and PC3" in stable_spaces(verdicts(fitted, [5.0, 80.0, 80.0, 5.0, 5.0, 90.0]))


def test_an_axis_without_variance_may_have_any_direction():
    judged = verdicts(fitted_model(PCA().fit(np.diag([3.0, 2.0, 0.0, 0.0])[:, :3])).result)
    assert (judged[-1].kind, judged[-1].angle) == ("below resolution", 90.0)


def _with_a_copied_column():
    design = np.linalg.qr(np.random.default_rng(0).standard_normal((100, 5)))[0]
    rows = design * [9.0, 5.0, 4.99, 0.1, 0.05]
    return np.column_stack([rows, rows[:, 0]])
