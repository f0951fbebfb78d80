"""T² and Q: limits that depend on the model alone, contributions, and outliers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import decomposition

from princomp import PCA, read_table
from princomp.diagnostics import contributions, distances, limits, outliers
from princomp.diagnostics.limits_of_q import q_limit
from princomp.errors import NotAvailableError, ParameterError

# For sums of n or p numbers of order one, each accurate to a few units in the last place.
TIGHT = 1e-12


def test_limits_and_outliers_of_usarrests(arrests, unit, states):
    found = limits(unit)
    assert found.t2_new == pytest.approx(6.6447, abs=5e-5)
    assert found.t2_training == pytest.approx(5.7474, abs=5e-5)
    assert found.q == pytest.approx(1.625704, abs=5e-7)
    assert (found.q_method, found.reasons, found.components) == ("jackson-mudholkar", {}, 2)
    table = outliers(unit, arrests, ids=states, frame="listing")
    assert table["row"].tolist() == ["Alaska", "Rhode Island"]
    assert table["position"].tolist() == [1, 38]
    assert table["q"][0] == pytest.approx(4.266890, abs=5e-7)
    assert set(table["beyond"]) == {"Q"}
    assert table["t2_variables"].tolist() == ["", ""]
    # the limit of T² is lower for training rows, and Mississippi exceeds it
    training = outliers(unit, arrests, training=True, ids=states, frame="listing")
    assert training["row"].tolist() == ["Alaska", "Rhode Island", "Mississippi"]
    assert training["beyond"].tolist() == ["Q", "Q", "T2"]


def test_given_ids_replace_the_names_in_files(arrests, states, tmp_path):
    halves = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for file, rows in zip(halves, (slice(25), slice(25, None)), strict=True):
        frame = pd.DataFrame(arrests[rows], columns=list("abcd"))
        frame.insert(0, "state", states[rows])
        frame.to_csv(file, index=False)
    model = PCA(2, scale="unit").fit(read_table(halves, id_column="state"))
    assert outliers(model, halves, frame="listing")["row"].tolist() == ["Alaska", "Rhode Island"]
    numbers = np.arange(100, 150)
    assert outliers(model, halves, ids=numbers, frame="listing")["row"].tolist() == [101, 138]


@pytest.mark.parametrize("solver", ["covariance_eigh", "full", "row_gram", "lanczos"])
def test_limits_do_not_depend_on_the_route_where_all_variances_are_known(solver, arrests, unit):
    model = PCA(2, scale="unit", svd_solver=solver).fit(arrests)
    found, expected = limits(model), limits(unit)
    if found.q is None:
        assert "svd_solver='full' or 'covariance_eigh'" in found.reasons["q"]
    else:
        assert found.q == pytest.approx(expected.q, rel=1e-10)
    assert (found.q is None) == (solver == "lanczos")


def test_wide_rows_need_the_full_decomposition_for_q():
    rows = np.random.default_rng(3).standard_normal((20, 60))
    assert (
        limits(PCA(3, svd_solver="lanczos").fit(rows))
        .reasons["q"]
        .endswith("fit with svd_solver='full'")
    )
    assert limits(PCA(3, svd_solver="full").fit(rows)).q
    theirs = decomposition.PCA(3, svd_solver="full").fit(rows)
    assert "princomp.PCA and svd_solver='full'" in limits(PCA.from_sklearn(theirs)).reasons["q"]


def test_the_last_variance_follows_from_the_total(arrests):
    found = limits(PCA(3, scale="unit", svd_solver="row_gram").fit(arrests))
    expected = limits(PCA(3, scale="unit", svd_solver="full").fit(arrests))
    assert found.q == pytest.approx(expected.q, rel=1e-10)


def test_q_has_a_limit_with_a_truncated_solver_and_a_scatter(rng):
    X = rng.standard_normal((80, 12)) * np.linspace(3, 1, 12)
    few = PCA(2, svd_solver="covariance_eigh").fit(X)
    assert limits(few).q == pytest.approx(limits(PCA(svd_solver="full").fit(X).truncated(2)).q)


def test_limits_do_not_depend_on_new_rows(arrests, unit, rng):
    before = limits(unit)
    outliers(unit, arrests + rng.standard_normal(arrests.shape) * 100)
    assert limits(unit) == before


def test_limits_are_exceeded_as_often_as_their_level(rng):
    """In 400 tables of 40 normal rows, a share of 0.05 has a standard error near 0.002."""
    far = off = 0
    for _ in range(400):
        X = rng.standard_normal((40, 6)) * [4, 3, 1, 1, 1, 1]
        model = PCA(2).fit(X)
        found, table = limits(model), distances(model, X, frame="listing")
        far += int((table["t2"] > found.t2_training).sum())
        new = distances(model, rng.standard_normal((40, 6)) * [4, 3, 1, 1, 1, 1], frame="listing")
        off += int((new["t2"] > found.t2_new).sum())
    assert far / 16_000 == pytest.approx(0.05, abs=0.006)
    assert off / 16_000 == pytest.approx(0.05, abs=0.012)


def test_weights_count_as_rows(arrests):
    w = np.arange(50) % 3 + 1.0
    weighted = PCA(2, scale="unit").fit(arrests, sample_weight=w)
    repeated = PCA(2, scale="unit").fit(np.repeat(arrests, w.astype(int), axis=0))
    one, other = limits(weighted), limits(repeated)
    assert one.t2_training == pytest.approx(other.t2_training, rel=1e-10)
    assert one.q == pytest.approx(other.q, rel=1e-10)


# ---- degenerate models -----------------------------------------------------------------------


def test_the_limits_of_huge_weights_are_those_of_many_rows(arrests):
    """(n − 1)² overflows from about 1e154 on."""
    for weight in (1e12, 1e200, 1e300):
        found = limits(PCA(2, scale="unit").fit(arrests, sample_weight=np.full(50, weight)))
        chi2 = stats.chi2.ppf(0.95, 2)
        np.testing.assert_allclose([found.t2_new, found.t2_training], chi2, rtol=1e-9)


def test_one_component_and_one_variable(arrests):
    one = limits(PCA(1, scale="unit").fit(arrests))
    assert one.t2_new == pytest.approx((50**2 - 1) / (50 * 49) * stats.f.ppf(0.95, 1, 49))
    single = PCA(1).fit(arrests[:, :1])
    found = limits(single)
    assert found.q is None
    assert "k = p = 1" in found.reasons["q"]
    table = distances(single, arrests[:, :1], frame="listing")
    assert table["q"].tolist() == [0.0] * 50
    z = (arrests[:, 0] - arrests[:, 0].mean()) / arrests[:, 0].std(ddof=1)
    np.testing.assert_allclose(table["t2"], z**2, rtol=1e-10)


def test_q_has_no_limit_with_all_components(arrests):
    model = PCA(scale="unit").fit(arrests)
    found = limits(model)
    assert found.q is None
    assert found.t2_new is not None
    with pytest.warns(UserWarning, match=r"Q has no limit, .*k = p = 4"):
        table = outliers(model, arrests, frame="listing")
    assert np.isnan(table["q_limit"]).all()
    assert set(table["beyond"]) == {"T2"}
    assert not distances(model, arrests, frame="listing")["q"].any()
    assert not contributions(model, arrests, frame="listing")["q"].any()


@pytest.mark.parametrize("n", [3, 4])
def test_too_few_rows_have_no_limit_of_t2(n, rng):
    X = rng.standard_normal((n, 6))
    model = PCA(n - 1).fit(X)
    found = limits(model)
    assert (found.t2_new, found.t2_training, found.q) == (None, None, None)
    assert "too few" in found.reasons["t2"]
    with pytest.raises(NotAvailableError, match="neither T² nor Q has a limit") as caught:
        outliers(model, X)
    assert "too few" in str(caught.value)
    assert "do not vary outside" in str(caught.value)
    assert "keep fewer components" in caught.value.hint


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (PCA(2).fit(np.ones((10, 3))), "fit rows that vary"),
        (PCA(2, center=False).fit(np.eye(3)), "fit with center=True"),
        (PCA.from_covariance(np.diag([3.0, 2.0]), mean=[0.0, 0.0]), "give n_samples="),
    ],
    ids=["no variance", "uncentred", "unknown number of rows"],
)
def test_a_hint_for_missing_limits_follows_from_the_reasons(model, hint):
    with pytest.raises(NotAvailableError, match="neither T² nor Q has a limit") as caught:
        outliers(model, np.ones((2, model.n_features_in_)))
    assert caught.value.hint.startswith(hint)


def test_one_more_row_gives_a_limit_of_t2(rng):
    found = limits(PCA(2).fit(rng.standard_normal((4, 6))))
    assert found.t2_new is not None
    assert found.t2_training <= 9 / 4


def test_components_without_variance_count_in_q_not_t2(rng):
    X = rng.standard_normal((30, 2))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    model = PCA(3).fit(X)
    found = limits(model)
    assert found.components == 2
    assert "do not vary outside" in found.reasons["q"]
    table = distances(model, np.array([[0.0, 0.0, 1.0]]), frame="listing")
    # the normal of the plane is (1, −1, −1)/√3
    offset = (np.array([0.0, 0.0, 1.0]) - X.mean(axis=0)) @ [1, -1, -1] / np.sqrt(3)
    assert table["q"][0] == pytest.approx(offset**2, rel=1e-9)
    assert np.isfinite(table["t2"][0])


def test_constant_rows_have_no_limit():
    model = PCA(1).fit(np.ones((10, 3)))
    found = limits(model)
    assert found.reasons == {
        "t2": "all components have zero variance",
        "q": "the rows of the fit do not vary outside the components, up to its resolution",
    }
    table = distances(model, np.ones((10, 3)), frame="listing")
    assert table["t2"].tolist() == table["q"].tolist() == [0.0] * 10


def test_a_model_without_components_has_no_limit_of_t2(arrests):
    found = limits(PCA(0).fit(arrests))
    assert found.t2_new is None
    assert found.reasons == {"t2": "the model has no components"}
    assert found.q > 0


def test_unmet_assumptions_of_limits_are_reported(arrests):
    uncentred = limits(PCA(2, center=False).fit(arrests))
    assert "center=False" in uncentred.reasons["t2"]
    assert "center=False" in uncentred.reasons["q"]
    assert uncentred.t2_new is None
    assert uncentred.q is None
    unknown = PCA.from_covariance(np.cov(arrests.T), n_components=2)
    found = limits(unknown)
    assert "n_samples" in found.reasons["t2"]
    variances = PCA(4).fit(arrests).explained_variance_[2:]
    assert found.q_new == found.q == pytest.approx(q_limit(variances, 0.95)[0])


def test_distances_warn_of_limits_that_do_not_exist(arrests):
    model = PCA(2, center=False).fit(arrests)
    with pytest.warns(UserWarning, match="has no limit, so") as caught:
        table = distances(model, 1000 * arrests, level=0.99, frame="listing")
    messages = [str(warning.message) for warning in caught]
    assert np.isnan([table["t2_limit"], table["q_limit"]]).all()
    assert messages[0].startswith("T² has no limit, so t2_limit is NaN: the limits assume")
    assert messages[1].startswith("Q has no limit, so q_limit is NaN: the limits assume")


def test_weights_too_small_for_limits_are_not_called_few_rows(arrests):
    faded = limits(PCA(3, decay=0.75).partial_fit(arrests))
    why = (
        "the weights of the rows sum to 4 (with decay=0.75, at most 4), too little for 3 components"
    )
    assert faded.reasons["t2"].startswith(why)
    assert faded.reasons["q"] == faded.reasons["t2"]
    # The rows of a fit do not fade before others follow, so weights may sum to more.
    more = limits(PCA(3, decay=0.5).partial_fit(arrests, sample_weight=np.full(50, 1.75)))
    assert "sum to 3.5, too little" in more.reasons["t2"]
    assert limits(PCA(2, decay=0.75).partial_fit(arrests)).q_new > 0
    with pytest.warns(UserWarning, match="the weights of 50 rows sum to 4"):
        weighted = limits(PCA(3).fit(arrests, sample_weight=np.full(50, 0.08)))
    assert weighted.reasons["t2"].startswith("the weights of the rows sum to 4, too little for")


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, "0.95", True, float("nan")])
def test_levels_outside_0_and_1_are_refused(level, unit):
    with pytest.raises(ParameterError, match="level") as caught:
        limits(unit, level)
    assert caught.value.place == {"parameter": "level"}


# ---- contributions -------------------------------------------------------------------------


def test_contributions_sum_to_the_statistics(arrests, unit):
    both = distances(unit, arrests, frame="listing")
    long = contributions(unit, arrests, frame="listing")
    np.testing.assert_allclose(long["t2"].reshape(50, 4).sum(axis=1), both["t2"], rtol=TIGHT)
    q = np.abs(long["q"].reshape(50, 4)).sum(axis=1)
    np.testing.assert_allclose(q, both["q"], rtol=TIGHT)
    assert long["variable"][:4].tolist() == ["x0", "x1", "x2", "x3"]
    broad = contributions(unit, arrests, form="wide", frame="listing")
    np.testing.assert_array_equal(broad["q_x2"], long["q"][2::4])


def test_the_signs_of_q_are_those_of_the_residuals(arrests, unit):
    Z = (arrests - arrests.mean(axis=0)) / arrests.std(axis=0, ddof=1)
    residuals = Z - (Z @ unit.components_.T) @ unit.components_
    parts = contributions(unit, arrests, frame="listing")["q"].reshape(50, 4)
    np.testing.assert_allclose(parts, np.sign(residuals) * residuals**2, atol=TIGHT)


def test_a_row_moved_along_one_variable_names_it(arrests, unit):
    row = arrests.mean(axis=0)
    row[1] += 20 * arrests[:, 1].std()
    table = outliers(unit, row[None], top=1, frame="listing")
    assert table["beyond"].tolist() == ["T2, Q"]
    assert table["t2_variables"].tolist() == ["x1"]


def test_no_outliers_give_an_empty_table(arrests, unit):
    table = outliers(unit, arrests.mean(axis=0)[None], frame="listing")
    assert len(table) == 0
    assert table.columns[:2] == ["row", "position"]
    for kind in ("pandas", "polars", "pyarrow"):
        assert outliers(unit, arrests.mean(axis=0)[None], frame=kind).shape == (0, 9)


def test_rows_with_missing_values_are_skipped_and_counted(arrests):
    model = PCA(2, scale="unit", missing="drop").fit(arrests)
    with_nan = arrests.copy()
    with_nan[[1, 5], 0] = np.nan
    with pytest.warns(UserWarning, match="2 rows of X have missing values and are without T²"):
        table = distances(model, with_nan, frame="listing")
    assert np.isnan(table["t2"]).sum() == np.isnan(table["q"]).sum() == 2
    with pytest.warns(UserWarning, match="2 rows of X have missing values and are skipped"):
        table = outliers(model, with_nan, frame="listing")
    assert table["position"].tolist() == [38]


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "all", np.array([1, 2]), np.array([3])])
def test_invalid_values_of_top_are_refused(top, arrests, unit):
    with pytest.raises(ParameterError, match="top"):
        outliers(unit, arrests, top=top)


@pytest.mark.filterwarnings("ignore:Q has no limit")
def test_rows_with_missing_values_have_no_q_if_all_components_are_kept(arrests):
    model = PCA(4, missing="drop").fit(arrests)
    X = arrests.copy()
    X[3, 1] = np.nan
    with pytest.warns(UserWarning, match="1 row of X has missing values and is without T²"):
        table = distances(model, X, frame="listing")
    assert np.flatnonzero(np.isnan(table["t2"])).tolist() == [3]
    np.testing.assert_array_equal(table["q"], np.where(np.arange(50) == 3, np.nan, 0.0))
    assert np.isnan(contributions(model, X[3:4], form="wide", frame="listing")["q_x0"]).all()
    with pytest.warns(UserWarning, match="1 row of X has missing values and is skipped"):
        outliers(model, X, frame="listing")


def test_few_components_of_wide_rows_have_a_limit_of_q(rng):
    X = rng.standard_normal((300, 1200))
    few, full = PCA(3).fit(X), PCA(svd_solver="full").fit(X).truncated(3)
    assert few.plan_.solver == "row_gram"
    assert limits(few).q == pytest.approx(limits(full).q, rel=1e-10)
