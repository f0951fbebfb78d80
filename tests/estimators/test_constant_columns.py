"""Constant columns under scaling: refused by name, or given zero weight in every component."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from princomp import PCA, KernelPCA, RobustPCA, bootstrap, choose, load, read_table, report
from princomp.errors import ConstantColumnError, NotAvailableError, ParameterError
from princomp.rules import RULES

pd = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    return pd.DataFrame(rows, columns=["a", "b", "c"]).assign(same=7.5)


@pytest.mark.parametrize("scale", ["unit", "pareto", "range"])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "krylov", "row_gram"])
def test_a_constant_column_is_refused_or_has_zero_weight(frame, scale, solver):
    with pytest.raises(ConstantColumnError, match=r"(?s)same.*constant='drop'"):
        PCA(2, scale=scale, svd_solver=solver).fit(frame)
    model = PCA(2, scale=scale, svd_solver=solver, constant="zero").fit(frame)
    without = PCA(2, scale=scale, svd_solver=solver).fit(frame[["a", "b", "c"]])
    np.testing.assert_allclose(model.explained_variance_, without.explained_variance_, rtol=1e-12)
    assert not model.components_[:, 3].any()
    scores = without.transform(frame[["a", "b", "c"]])
    np.testing.assert_allclose(np.abs(model.transform(frame)), np.abs(scores), atol=1e-12)
    assert "constant column is in no component: same" in str(model.plan_)


def test_a_constant_column_has_divisor_1_in_an_array(frame):
    divisors = frame.std()
    with pytest.raises(ParameterError, match="got 0 for column 'same'") as caught:
        PCA(2, scale=divisors, constant="drop").fit(frame)
    assert caught.value.hint.startswith("give 1 for a constant column")
    model = PCA(2, scale=divisors.replace(0.0, 1.0), constant="drop").fit(frame)
    unit = PCA(2, scale="unit", constant="drop").fit(frame)
    np.testing.assert_allclose(model.explained_variance_, unit.explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("scale", ["unit", "pareto", "range"])
@pytest.mark.parametrize("k", [None, 0.8, "kaiser", "broken-stick", "parallel", "cv"])
def test_a_dropped_column_is_not_counted(frame, scale, k):
    dropped = PCA(k, scale=scale, constant="drop").fit(frame)
    without = PCA(k, scale=scale).fit(frame[["a", "b", "c"]])
    assert dropped.n_components_ == without.n_components_
    if isinstance(k, str):
        found, expected = dropped.decision_, without.decision_
        np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-10)
    assert not dropped.components_[:, 3].any()
    assert "constant column is dropped: same" in str(dropped.plan_)
    batches = PCA(k, scale=scale, constant="drop")
    if k != "cv":
        assert batches.partial_fit(frame).n_components_ == without.n_components_
    if k is None:
        np.testing.assert_allclose(dropped.inverse_transform(dropped.transform(frame)), frame)


@pytest.mark.parametrize("scale", ["unit", None, np.ones(3)])
@pytest.mark.parametrize("solver", ["auto", "arpack", "krylov", "full"])
def test_all_constant_columns_are_refused(solver, scale):
    with pytest.raises(ConstantColumnError, match="every column is constant"):
        PCA(scale=scale, constant="drop", svd_solver=solver).fit(np.full((5, 3), 2.0))


def test_minkas_rule_counts_only_the_remaining_columns(rng):
    rows = np.c_[rng.standard_normal((5, 5)), np.ones(5)]
    model = PCA("mle", scale="unit", constant="drop").fit(rows)
    assert model.n_components_ == PCA("mle", scale="unit").fit(rows[:, :5]).n_components_


def low_rank(columns, constant):
    """A table (100, columns) of three components and noise, and the same with zeros appended."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 3)) @ rng.normal(size=(3, columns))
    rows += 0.3 * rng.normal(size=rows.shape)
    return rows, np.c_[rows, np.zeros((100, constant))]


@pytest.mark.parametrize("columns", [10, 150], ids=["tall", "wide"])
@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize(
    "solver", ["auto", "full", "covariance_eigh", "arpack", "krylov", "lanczos"]
)
def test_without_scaling_by_spread_constant_columns_are_dropped(columns, divided, solver):
    rows, wide = low_rank(columns, 10)
    scale = np.linspace(1.0, 2.0, columns + 10) if divided else None
    expected = PCA(3, scale=scale[:columns] if divided else None, svd_solver="full").fit(rows)
    for table in (wide, sparse.csr_array(wide)):
        if solver == "full" and sparse.issparse(table):
            continue
        model = PCA(3, scale=scale, constant="drop", svd_solver=solver).fit(table)
        assert model.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-10)
        assert "constant columns are dropped" in str(model.plan_)


@pytest.mark.parametrize("scale", [None, "unit", "divisors"])
@pytest.mark.parametrize("k", [0, 2, 4])
def test_densities_and_covariances_of_dropped_columns_are_those_without_them(k, scale):
    X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 2.0, 3.0, 4.0]
    wide, others = np.insert(X, 2, 7.0, axis=1), [0, 1, 3, 4]
    divisors = np.linspace(1.0, 2.0, 5) if scale == "divisors" else scale
    model = PCA(k, scale=divisors, constant="drop").fit(wide)
    expected = PCA(k, scale=divisors[others] if scale == "divisors" else scale).fit(X)
    densities = expected.score_samples(X)
    np.testing.assert_allclose(model.score_samples(wide), densities, rtol=1e-11)
    np.testing.assert_allclose(model.score_samples(wide + np.eye(5)[2]), densities, rtol=1e-11)
    for name in ("get_covariance", "get_precision"):
        matrix = np.zeros((5, 5))
        matrix[np.ix_(others, others)] = getattr(expected, name)()
        np.testing.assert_allclose(getattr(model, name)(), matrix, rtol=1e-11, atol=1e-13)
    incomplete = np.where(np.eye(5)[2], np.nan, wide[:1])
    assert np.isnan(PCA(k, constant="drop", missing="drop").fit(wide).score_samples(incomplete))


def test_dropped_columns_do_not_count_in_streams_merges_files_and_covariances(tmp_path):
    rows, wide = low_rank(10, 10)
    expected = PCA(3).fit(rows).noise_variance_
    model = PCA(3, constant="drop")
    np.save(tmp_path / "rows.npy", wide)
    model.fit(wide).save(tmp_path / "model.pca")
    merged = clone(model).fit(wide[:50]).merge(clone(model).fit(wide[50:]))
    batches = clone(model).partial_fit(wide[:50]).partial_fit(wide[50:])
    covariance = PCA.from_covariance(np.cov(wide.T), n_samples=100, n_components=3, constant="drop")
    from_file = clone(model).fit(str(tmp_path / "rows.npy"))
    for found in (model, load(tmp_path / "model.pca"), merged, batches, covariance, from_file):
        assert found.noise_variance_ == pytest.approx(expected, rel=1e-10)
    assert clone(model).set_params(n_components=None).fit(wide).n_components_ == 10
    assert model.rescaled("unit").noise_variance_ == pytest.approx(
        PCA(3, scale="unit").fit(rows).noise_variance_, rel=1e-10
    )
    counted = clone(model).set_params(center=False).fit(wide)
    assert "constant columns are not dropped without centring" in str(counted.plan_)


@pytest.mark.parametrize("added", [10, 30])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_keeps_other_components_because_of_constant_columns_warns(rule, added):
    rows, wide = low_rank(10, added)
    expected = choose(rows, rule)[rule].k
    assert choose(wide, rule, constant="drop")[rule].k == expected
    if RULES[rule].needs == "rows":
        choose(wide, rule)  # does not warn
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = choose(wide, rule)[rule].k
    messages = [str(warning.message) for warning in caught]
    if found in (expected, None):
        assert not messages
        return
    words = (
        f"{added} constant columns counted: '{rule}' keeps {found} components, {expected} without"
    )
    assert messages[0].startswith(words)
    with pytest.warns(UserWarning, match=f"{words}. Set constant='drop'.*: x10, "):
        _ = PCA(rule).partial_fit(wide).components_


def test_a_rule_warns_if_a_single_column_varies(rng):
    rows = np.c_[rng.standard_normal(40), np.ones((40, 2))]
    with pytest.warns(UserWarning, match="2 constant columns counted: 'kaiser' keeps 1 comp.*, 0 "):
        PCA("kaiser").fit(rows)


@pytest.mark.filterwarnings("default")  # the command prints them
def test_choose_names_all_rules_that_count_constant_columns(princomp, tmp_path):
    _, wide = low_rank(10, 30)
    np.save(tmp_path / "rows.npy", wide)
    done = princomp("choose", "rows.npy", "--rules", "gcv,parallel,mle")
    assert (
        "note: 30 constant columns counted: 'gcv' keeps 10 components, 3 without; "
        "'parallel' keeps 0 components, 3 without; 'mle' keeps 10 components, 3 without. "
        "Set --constant drop, or leave the columns out (--exclude): x10, x11, x12, x13, x14 and "
        "25 more\n"
    ) in done.err
    done = princomp("choose", "rows.npy", "--rules", "gcv,mle", "--constant", "drop")
    assert "note: constant columns are dropped: x10" in done.err
    assert "counted" not in done.err


def test_without_centring_a_constant_column_counts(frame):
    model = PCA(scale="unit", constant="drop", center=False).fit(frame)
    assert model.n_components_ == 4
    assert model.components_[:, 3].any()
    assert "constant column is not divided: same" in str(model.plan_)


def test_a_stream_whose_column_is_constant_so_far_can_be_shown(frame):
    model = PCA(2, scale="unit").partial_fit(frame[:10])
    assert not hasattr(model, "components_")
    assert "PCA" in model._repr_html_()
    dir(model)
    with pytest.raises(NotAvailableError, match=r"10 rows so far[\s\S]*more rows[\s\S]*drop"):
        _ = model.components_
    frame["same"] = np.arange(40.0)
    assert model.partial_fit(frame[10:]).components_.shape == (2, 4)
    few = PCA("mle").partial_fit(frame[:3])
    assert not hasattr(few, "components_")


def test_bootstrap_allows_columns_constant_in_some_resamples(frame):
    rare = frame.assign(same=[1.0] + [0.0] * 39)
    model = PCA(2, scale="unit", constant="zero").fit(rare)
    assert np.isfinite(bootstrap(model, rare, n=50).variance_interval).all()


def test_missing_cells_of_other_columns_are_filled(frame):
    frame.iloc[3, 0] = np.nan
    model = PCA(2, scale="unit", constant="zero", missing="em").fit(frame)
    assert not model.components_[:, 3].any()


def test_dropped_columns_count_neither_for_filled_cells_nor_for_the_noise(rng):
    rows = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 10))
    rows += 0.8 * rng.standard_normal(rows.shape)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    wide = np.c_[np.full((40, 25), 2.0), rows, np.full((40, 25), 3.0)]
    wide[3, 7] = np.nan
    expected = PCA(3, scale="unit", missing="em").fit(rows)
    model = PCA(3, scale="unit", missing="em", constant="drop").fit(wide)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)
    filled, others = model.impute(wide), expected.impute(rows)
    np.testing.assert_allclose(filled[:, 25:35], others, rtol=1e-9)
    assert filled[3, 7] == 2.0
    assert model.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-9)
    precision = model.get_precision()[25:35, 25:35]
    np.testing.assert_allclose(precision, expected.get_precision(), rtol=1e-8)
    complete = ~np.isnan(rows).any(axis=1)
    densities = model.score_samples(wide[complete])
    np.testing.assert_allclose(densities, expected.score_samples(rows[complete]), rtol=1e-8)


def test_the_count_of_dropped_columns_is_saved(frame, tmp_path):
    model = PCA(1, scale="unit", constant="drop").fit(frame)
    model.save(tmp_path / "model.pca")
    assert load(tmp_path / "model.pca").noise_variance_ == model.noise_variance_
    without = PCA(1, scale="unit").fit(frame[["a", "b", "c"]])
    assert model.noise_variance_ == pytest.approx(without.noise_variance_, rel=1e-12)


def test_the_hint_names_the_parameter_where_there_is_one(frame):
    with pytest.raises(ConstantColumnError) as caught:
        PCA(scale="unit").fit(frame)
    assert "or set constant='drop'; scale can also be an array" in caught.value.hint
    for model in (KernelPCA(2, kernel="rbf", scale="unit"), RobustPCA(2, scale="mad")):
        with pytest.raises(ConstantColumnError) as caught:
            model.fit(frame)
        assert "constant=" not in caught.value.hint


def test_misspelled_values_get_suggestions():
    with pytest.raises(ParameterError, match="Did you mean 'zero'"):
        PCA(constant="zeros").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'parallel'"):
        PCA("paralel").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'covariance_eigh'"):
        PCA(svd_solver="covariance_eig").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'em'"):
        PCA(2, missing="EM").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'unit'"):
        PCA(2, scale="standard").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'rbf'"):
        KernelPCA(kernel="gaussian").fit(np.eye(3))
    with pytest.raises(ParameterError, match="Did you mean 'parallel'"):
        choose(np.eye(3), rules="paralell")
    with pytest.raises(ParameterError, match="Did you mean 'header'"):
        read_table("t.csv", heder=1)


def test_swapped_model_and_rows_are_explained():
    rows = np.random.default_rng(0).standard_normal((9, 3))
    with pytest.raises(ParameterError, match="the model comes first"):
        report(rows, PCA(1).fit(rows))


@pytest.mark.parametrize(
    ("count", "last", "columns"),
    [(1, "'c0'", "column"), (5, "'c4'", "columns"), (7, "'c4' and 2 more", "columns")],
)
def test_five_constant_columns_are_named(count, last, columns, frame):
    rows = frame[["a"]].assign(**{f"c{i}": 1.0 for i in range(count)})
    with pytest.raises(ConstantColumnError) as caught:
        PCA(1, scale="unit").fit(rows)
    assert caught.value.message.endswith(f"column {last}")
    assert caught.value.place == {"column": "c0"}
    assert caught.value.hint.startswith(f"leave the constant {columns} out")


@pytest.mark.parametrize(("count", "columns"), [(1, "the column out"), (2, "the columns out")])
def test_a_hint_says_how_to_leave_constant_columns_out(count, columns, rng):
    X = rng.standard_normal((40, 4))
    X[:, :count] = 1.0
    with pytest.raises(ConstantColumnError) as caught:
        RobustPCA(2, scale="mad").fit(X)
    assert f"leaves {columns}; of an array, numpy.delete(" in caught.value.hint
