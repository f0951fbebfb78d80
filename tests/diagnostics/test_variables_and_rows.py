"""Axes, loadings and correlations; sums of cos² and contributions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn import decomposition
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from princomp import PCA, RobustPCA, bootstrap, report, rotate
from princomp.diagnostics import Listing, rows, variables
from princomp.errors import (
    ColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)

# For sums of n or p numbers of order one, each accurate to a few units in the last place.
TIGHT = 1e-12


def wide(model, **options):
    return variables(model, form="wide", frame="listing", **options)


def stack(table, measure, k):
    return np.column_stack([table[f"{measure}_PC{a}"] for a in range(1, k + 1)])


@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range"])
@pytest.mark.parametrize("solver", ["covariance_eigh", "full", "row_gram"])
def test_correlations_are_those_of_columns_and_scores_under_every_scale(scale, solver, arrests):
    model = PCA(4, scale=scale, svd_solver=solver).fit(arrests)
    table = wide(model)
    t = model.transform(arrests)
    r = np.corrcoef(arrests.T, t.T)[:4, 4:]
    np.testing.assert_allclose(stack(table, "correlation", 4), r, atol=1e-10)
    np.testing.assert_allclose(stack(table, "loading", 4), model.loadings_, atol=TIGHT)
    np.testing.assert_allclose(stack(table, "axis", 4), model.components_.T, atol=TIGHT)
    cos2 = stack(table, "cos2", 4)
    np.testing.assert_allclose(cos2, r**2, atol=1e-10)
    np.testing.assert_allclose(cos2.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(stack(table, "contribution", 4).sum(axis=0), 100, rtol=TIGHT)
    same = np.allclose(stack(table, "loading", 4), stack(table, "correlation", 4), atol=1e-6)
    assert same == (scale == "unit")


def test_correlations_and_cos2_without_centring(arrests):
    model = PCA(4, center=False).fit(arrests)
    table = wide(model)
    r = np.corrcoef(arrests.T, (arrests @ model.components_.T).T)[:4, 4:]
    np.testing.assert_allclose(stack(table, "correlation", 4), r, atol=1e-10)
    np.testing.assert_allclose(stack(table, "cos2", 4).sum(axis=1), 1.0, atol=TIGHT)


@pytest.mark.parametrize("scale", [None, "unit"])
@pytest.mark.parametrize("solver", ["covariance_eigh", "full"])
@pytest.mark.parametrize("far", [1e4, 1e7, 1e8])
def test_correlations_without_centring_far_from_the_origin(far, solver, scale, rng):
    X = rng.standard_normal((40, 5)) + far * rng.standard_normal(5)
    model = PCA(3, center=False, svd_solver=solver, scale=scale).fit(X)
    found = stack(wide(model), "correlation", 3)
    about_means = X - X.mean(axis=0)
    scores = (about_means / (1 if scale is None else model.scale_)) @ model.components_.T
    expected = np.corrcoef(about_means.T, scores.T)[:5, 5:]
    known = ~np.isnan(found)
    assert known[:, 0].all()
    np.testing.assert_allclose(found[known], expected[known], atol=1e-9)


@pytest.mark.parametrize("far", [10, 1e3, 1e5, 1e6, 1e7, 1e8])
def test_correlations_without_covariance_have_two_digits_or_are_nan(far, rng):
    X = rng.standard_normal((40, 5)) + far * rng.standard_normal(5)
    model = PCA(3, center=False, svd_solver="lanczos").fit(X)
    found = stack(wide(model), "correlation", 3)
    about_means = X - X.mean(axis=0)
    expected = np.corrcoef(about_means.T, (about_means @ model.components_.T).T)[:5, 5:]
    known = ~np.isnan(found)
    assert known.all() if far <= 1e3 else not known.all() or far < 1e6
    np.testing.assert_allclose(found[known], expected[known], atol=0.01)


def test_a_constant_column_has_no_correlation_and_contributes_nothing(rng):
    X = rng.standard_normal((20, 3))
    X[:, 1] = 7.0
    table = wide(PCA(2).fit(X))
    assert np.isnan(table["correlation_PC1"]).tolist() == [False, True, False]
    assert np.isnan(table["cos2_PC2"]).tolist() == [False, True, False]
    assert table["contribution_PC1"][1] == 0.0


def test_a_component_without_variance_has_no_correlation(rng):
    X = rng.standard_normal((20, 2))
    model = PCA(3).fit(np.column_stack([X, X.sum(axis=1)]))
    table = wide(model)
    assert np.isnan(table["correlation_PC3"]).all()
    assert not np.isnan(stack(table, "correlation", 2)).any()
    assert np.abs(table["cos2_PC3"]).max() < 1e-14


def test_one_variable():
    model = PCA(1).fit([[1.0], [3.0], [8.0]])
    table = variables(model, frame="listing")
    assert table["variable"].tolist() == ["x0"]
    assert [table[name][0] for name in ("axis", "correlation", "cos2")] == [1, 1, 1]
    assert table["contribution"][0] == 100


def test_long_and_wide_hold_the_same(unit):
    long, broad = variables(unit, frame="listing"), wide(unit)
    assert long["component"].tolist() == ["PC1", "PC2"] * 4
    assert long["variable"].tolist() == list(np.repeat(["x0", "x1", "x2", "x3"], 2))
    np.testing.assert_array_equal(long["cos2"][1::2], broad["cos2_PC2"])


def test_components_are_chosen_by_number_or_name_in_the_order_asked_for(unit):
    names = wide(unit, components=[2, "PC1"]).columns
    assert names[1:3] == ["axis_PC2", "axis_PC1"]
    assert wide(unit, components="PC2").columns == wide(unit, components=np.int64(2)).columns


@pytest.mark.parametrize("wrong", [0, 3, "PC3", "x", -1, True, 1.0, [1, 1], ["PC1", 1]])
def test_an_unknown_component_is_named(unit, wrong):
    with pytest.raises(ParameterError, match="component") as caught:
        variables(unit, components=wrong)
    assert caught.value.place == {"parameter": "components"}
    assert caught.value.hint


@pytest.mark.parametrize(
    ("options", "word"), [({"form": "tall"}, "tall"), ({"frame": "excel"}, "excel")]
)
def test_other_invalid_values_are_named(unit, options, word):
    with pytest.raises(ParameterError, match=word) as caught:
        variables(unit, **options)
    assert caught.value.place == {"parameter": next(iter(options))}


def test_invalid_models_are_refused(arrests):
    from sklearn import decomposition
    from sklearn.exceptions import NotFittedError

    with pytest.raises(ParameterError, match=r"got scikit-learn's PCA"):
        variables(decomposition.PCA(2).fit(arrests))
    with pytest.raises(NotFittedError):
        variables(PCA(2))
    with pytest.raises(ShapeError, match="no components"):
        variables(PCA(0).fit(arrests))


# ---- rows ----------------------------------------------------------------------------------


def test_the_table_of_rows_of_usarrests(arrests, unit):
    table = rows(unit, arrests, frame="listing")
    t = unit.transform(arrests)
    Z = (arrests - arrests.mean(axis=0)) / arrests.std(axis=0, ddof=1)
    np.testing.assert_allclose(stack(table, "score", 2), t, atol=TIGHT)
    np.testing.assert_allclose(table["distance"], np.linalg.norm(Z, axis=1), rtol=TIGHT)
    cos2 = t**2 / (Z**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(stack(table, "cos2", 2), cos2, atol=TIGHT)
    np.testing.assert_allclose(stack(table, "contribution", 2).sum(axis=0), 100, rtol=TIGHT)


@given(st.integers(0, 2**31), st.sampled_from([None, "unit"]), st.booleans())
@settings(max_examples=25)
def test_weights_are_frequencies_and_each_component_sums_to_100(seed, scale, center):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * [3, 2, 1, 0.5] + 5
    w = rng.integers(0, 4, 30).astype(float)
    w[:6] = 1
    model = PCA(4, scale=scale, center=center).fit(X, sample_weight=w)
    table = rows(model, X, w, frame="listing")
    np.testing.assert_allclose(stack(table, "contribution", 4).sum(axis=0), 100, rtol=1e-9)
    np.testing.assert_allclose(stack(table, "cos2", 4).sum(axis=1), 1, rtol=1e-9)


def test_rows_of_a_weighted_fit_warn_without_weights(arrests):
    w = np.repeat([1.0, 2.0], 25)
    model = PCA(2).fit(arrests, sample_weight=w)
    with pytest.warns(UserWarning, match="the fit used weights, and none are given"):
        rows(model, arrests)
    rows(model, arrests, w)  # warnings are errors here
    rows(model, arrests, supplementary=True)
    report(model, arrests, bootstrap=0)


def test_scores_are_never_whitened(arrests):
    plain, white = (PCA(2, scale="unit", whiten=on).fit(arrests) for on in (False, True))
    one, other = (rows(model, arrests, frame="listing") for model in (plain, white))
    np.testing.assert_array_equal(one["score_PC1"], other["score_PC1"])


def test_supplementary_rows_have_no_contribution(arrests, unit):
    table = rows(unit, arrests[:3], supplementary=True, form="long", frame="listing")
    assert table.columns == ["row", "component", "score", "cos2", "distance"]
    assert len(table) == 6
    with pytest.raises(ParameterError, match="sample_weight"):
        rows(unit, arrests[:3], [1, 1, 1], supplementary=True)


def test_a_row_at_the_centre_has_no_cos2(rng):
    X = np.array([[-1.0, 1.0], [1.0, -1.0], [0.0, 0.0], [2.0, 2.0], [-2.0, -2.0]])
    table = rows(PCA(1).fit(X), X, frame="listing")
    assert np.isnan(table["cos2_PC1"]).tolist() == [False, False, True, False, False]


def test_sparse_rows_files_and_batches_give_the_same(tmp_path, rng):
    X = rng.standard_normal((300, 5)) * (rng.random((300, 5)) < 0.4)
    model = PCA(2).fit(X)
    expected = rows(model, X, frame="listing")
    np.save(tmp_path / "x.npy", X)
    others = [
        sp.csr_array(X),
        tmp_path / "x.npy",
        lambda: (X[i : i + 7] for i in range(0, 300, 7)),
        iter([X[:100], X[100:]]),
        X.tolist(),
    ]
    for other in others:
        table = rows(model, other, frame="listing")
        for name in table.columns:
            np.testing.assert_allclose(table[name], expected[name], atol=TIGHT, err_msg=name)
    names = [f"row {i}" for i in range(300)]
    table = rows(model, iter([X[:100], X[100:]]), ids=names, frame="listing")
    assert table["row"].tolist() == names


def test_many_blocks_join_in_order(rng):
    X = rng.standard_normal((70_000, 4)).astype(np.float32) + 100
    model = PCA(2).fit(X)
    table = rows(model, X, frame="listing")
    assert table["row"].tolist() == list(range(len(X)))
    names = [f"row {i}" for i in range(len(X))]
    assert rows(model, X, ids=names, frame="listing")["row"].tolist() == names
    np.testing.assert_allclose(stack(table, "score", 2), model.transform(X), atol=2e-5)


def test_large_means_lose_no_precision(rng):
    X = rng.integers(0, 2**20, (60, 4)) * 2.0**-20
    near, far = (rows(PCA(2).fit(Y), Y, frame="listing") for Y in (X, X + 2.0**30))
    for name in near.columns:
        np.testing.assert_allclose(far[name], near[name], atol=1e-11, err_msg=name)


def test_mismatched_arguments_are_refused(arrests, unit):
    with pytest.raises(ShapeError, match="3 features"):
        rows(unit, arrests[:, :3])
    with pytest.raises(ShapeError, match="sample_weight has shape"):
        rows(unit, arrests, [1.0, 2.0])
    with pytest.raises(ParameterError, match=r"sample_weight\[0\] is -1"):
        rows(unit, arrests, -np.ones(50))
    with pytest.raises(ShapeError, match="there are 50 rows"):
        rows(unit, iter([arrests]), np.ones(51))
    with pytest.raises(ShapeError, match="there are more rows"):
        rows(unit, iter([arrests]), np.ones(49))
    with pytest.raises(ShapeError, match="2 ids were given for 50 rows"):
        rows(unit, arrests, ids=["a", "b"])
    with pytest.raises(ShapeError, match="2 ids were given for 50 rows"):
        rows(unit, iter([arrests]), ids=["a", "b"])
    with pytest.raises(ColumnError, match="no column 'State'"):
        rows(unit, arrests, ids="State")
    assert isinstance(rows(unit, arrests, frame="listing"), Listing)


def test_missing_values_are_refused_with_their_place_or_stay_in_their_row(arrests, unit):
    with_nan = arrests.copy()
    with_nan[7, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 7, column 2"):
        rows(unit, with_nan)
    table = rows(PCA(2, missing="drop").fit(with_nan), with_nan, frame="listing")
    assert np.flatnonzero(np.isnan(table["score_PC1"])).tolist() == [7]


def test_a_covariance_without_a_number_of_rows_is_refused(arrests):
    C, mean = np.cov(arrests.T), arrests.mean(axis=0)
    model = PCA.from_covariance(C, mean=mean)
    with pytest.raises(NotAvailableError, match="number of rows"):
        rows(model, arrests)
    assert len(rows(model, arrests, supplementary=True)) == 50
    with pytest.raises(NotAvailableError, match="without a mean"):
        rows(PCA.from_covariance(C, n_samples=50), arrests)


def test_a_pca_of_scikit_learn_is_refused_with_a_conversion(rng):
    X = rng.standard_normal((20, 4))
    for sklearn_model in (decomposition.PCA(2), decomposition.IncrementalPCA(2)):
        sklearn_model.fit(X)
        name = f"a fitted princomp.PCA is needed, got scikit-learn's {type(sklearn_model).__name__}"
        for function, arguments, hint in (
            (variables, (sklearn_model,), "PCA.from_sklearn(model)"),
            (rotate, (sklearn_model,), "rotate(PCA.from_sklearn(model))"),
            (bootstrap, (sklearn_model, X), "bootstrap(X, n_components=2)"),
        ):
            with pytest.raises(ParameterError, match=name) as caught:
                function(*arguments)
            assert hint in caught.value.hint
    with pytest.raises(ParameterError, match="is needed, got scikit-learn's TruncatedSVD"):
        variables(decomposition.TruncatedSVD(2).fit(X))


def test_other_models_are_refused_with_what_they_offer(rng):
    X = rng.standard_normal((20, 4))
    for model, hint in (
        (RobustPCA(2), "PCA(model.n_components_, scale=model.scale_).fit(X[~model.outliers_])"),
        (make_pipeline(StandardScaler(), PCA(2)), "pipeline[:-1].transform(X)"),
    ):
        with pytest.raises(ParameterError) as caught:
            variables(model.fit(X))
        assert hint in caught.value.hint
    with pytest.raises(ParameterError) as caught:
        PCA.from_sklearn(make_pipeline(decomposition.PCA(2)).fit(X))
    assert "pipeline[-1]" in caught.value.hint


@pytest.mark.parametrize("scale", [None, "mad"])
def test_the_hint_for_a_robust_model_can_be_run(rng, scale):
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    model = RobustPCA(2, scale=scale).fit(X)
    with pytest.raises(ParameterError) as caught:
        variables(model)
    code = caught.value.hint.rpartition(": ")[2]
    fitted = eval(code, {"PCA": PCA, "model": model, "X": X})
    assert fitted.n_samples_ == 60 - model.outliers_.sum()
    assert len(variables(fitted)) == 8
