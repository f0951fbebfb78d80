"""PCA(missing="em") and PCA(missing="nipals"): estimators that fill missing cells."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from helpers import assert_models_close
from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA, load, pca, plan, svd
from princomp.errors import (
    ConstantColumnError,
    DataError,
    MemoryLimitError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)

both_methods = pytest.mark.parametrize("method", ["em", "nipals"])


@pytest.fixture
def table(rng):
    return rng.standard_normal((80, 3)) @ rng.standard_normal((3, 7)) + 0.3 * rng.standard_normal(
        (80, 7)
    )


@pytest.fixture
def incomplete(table, rng):
    missing = rng.random(table.shape) < 0.15
    missing[:5] = False
    missing[missing.all(axis=1), 0] = False
    return np.where(missing, np.nan, table)


@both_methods
def test_scikit_learns_conventions(method):
    results = check_estimator(PCA(1, missing=method), on_fail=None, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}


@both_methods
@pytest.mark.parametrize("scale", [None, "unit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_complete_tables_have_the_plain_fit(method, scale, weighted, table, rng):
    weights = rng.integers(1, 4, len(table)) if weighted else None
    plain = PCA(3, scale=scale).fit(table, sample_weight=weights)
    model = PCA(3, scale=scale, missing=method).fit(table, sample_weight=weights)
    assert_models_close(plain, model, tol=1e-15)
    assert (model.transform(table) == plain.transform(table)).all()
    expected = dict(dict.fromkeys(model.imputed_.to_dict(), 0), method=method, converged=True)
    assert model.imputed_.to_dict() == expected
    assert "no cell is missing" in str(model.plan_)


def test_scores_are_those_of_the_completed_rows(incomplete):
    model = PCA(3, missing="em", scale="unit").fit(incomplete)
    whole = model.impute(incomplete)
    assert (whole[~np.isnan(incomplete)] == incomplete[~np.isnan(incomplete)]).all()
    fresh = PCA(3, scale="unit").fit(whole)
    # Cells come from the fixed point, which the iteration is within 1e-8 deviations of.
    np.testing.assert_allclose(fresh.explained_variance_, model.explained_variance_, atol=1e-6)
    np.testing.assert_allclose(model.transform(incomplete), fresh.transform(whole), atol=1e-6)
    np.testing.assert_allclose(model.fit_transform(incomplete), model.transform(incomplete), atol=0)
    assert model.inverse_transform(model.transform(incomplete)).shape == incomplete.shape


@both_methods
def test_sparse_rows_with_missing_cells_have_the_scores_of_dense_ones(method, incomplete):
    model = PCA(3, missing=method).fit(incomplete)
    expected = model.transform(incomplete)
    np.testing.assert_allclose(model.transform(sp.csr_array(incomplete)), expected, rtol=1e-12)


def test_em_fills_with_the_conditional_mean(incomplete, rng):
    """Of normal rows whose covariance has the shrunk components and equal noise."""
    model = PCA(2, missing="em").fit(incomplete)
    lam, n, p, k = model.explained_variance_, 80, 7, 2
    left = model.total_variance_ - lam.sum()
    noise = n * p / p * left / ((n - 1 - k) * (p - k))
    V = model.components_.T
    C = V @ np.diag(lam - noise) @ V.T + noise * np.eye(p)
    row = rng.standard_normal(7)
    known = np.array([True, False, True, True, False, False, True])
    conditional = C[np.ix_(~known, known)] @ np.linalg.solve(
        C[np.ix_(known, known)], (row - model.mean_)[known]
    )
    filled = model.impute(np.where(known, row, np.nan)[None])[0]
    np.testing.assert_allclose(filled[~known], conditional + model.mean_[~known], atol=1e-10)
    np.testing.assert_allclose(filled[known], row[known], atol=0)


def test_nipals_scores_are_least_squares(incomplete, rng):
    model = PCA(2, missing="nipals", scale="unit").fit(incomplete)
    row = rng.standard_normal(7)
    known = np.array([True, False, True, True, False, False, True])
    z = ((row - model.mean_) / model.scale_)[known]
    scores = np.linalg.lstsq(model.components_.T[known], z, rcond=None)[0]
    found = model.transform(np.where(known, row, np.nan)[None])[0]
    np.testing.assert_allclose(found, scores, atol=1e-12)
    # One cell leaves a line of scores: the shortest are taken.
    single = np.where(np.arange(7) == 0, row, np.nan)
    v = model.components_[:, 0]
    shortest = v * z[0] / (v @ v)
    np.testing.assert_allclose(model.transform(single[None])[0], shortest, atol=1e-12)


@both_methods
def test_a_row_without_any_cell_has_nan_scores(method, incomplete, table):
    model = PCA(2, missing=method).fit(incomplete)
    rows = np.vstack([table[:2], np.full((1, 7), np.nan)])
    scores = model.transform(rows)
    assert np.isnan(scores[2]).all()
    assert np.isfinite(scores[:2]).all()
    assert np.isnan(model.impute(rows)[2]).all()


@both_methods
def test_rows_without_weight_are_not_counted_as_left_out(method, incomplete):
    incomplete[[3, 8]] = np.nan
    weights = np.ones(len(incomplete))
    weights[8] = 0.0
    model = PCA(2, missing=method).fit(incomplete, sample_weight=weights)
    assert model.n_dropped_ == 1
    assert "1 row without any cell takes no part" in str(model.plan_)


@both_methods
def test_filled_cells_are_reported_and_saved(method, incomplete, tmp_path):
    model = PCA(2, missing=method).fit(incomplete)
    filled = model.imputed_
    assert filled.cells == np.isnan(incomplete).sum()
    assert filled.share == pytest.approx(np.isnan(incomplete).mean())
    assert filled.converged
    assert 0 <= filled.change <= 1e-8
    assert f"{filled.cells} cells" in str(model.plan_)
    assert str(filled) in json.loads(model.plan_.to_json())["reasons"]
    model.save(tmp_path / "m.pca")
    again = load(tmp_path / "m.pca")
    assert again.imputed_ == filled
    assert (again.transform(incomplete) == model.transform(incomplete)).all()
    assert again.truncated(1).imputed_ == filled
    assert PCA(2).fit(incomplete[:5]).imputed_ is None


@both_methods
def test_frames_files_and_lists_give_the_same_model(method, incomplete, tmp_path):
    model = PCA(2, missing=method).fit(incomplete)
    frame = pd.DataFrame(incomplete, columns=list("abcdefg"))
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for X in (frame, str(path), incomplete.tolist(), np.asfortranarray(incomplete)):
        other = clone(model).fit(X)
        assert_models_close(model, other, tol=1e-7)
        np.testing.assert_allclose(other.impute(X), model.impute(incomplete), atol=1e-6)
    single = clone(model).fit(incomplete.astype(np.float32))
    assert (
        single.components_.dtype == single.impute(incomplete.astype(np.float32)).dtype == np.float32
    )
    np.testing.assert_allclose(single.explained_variance_, model.explained_variance_, rtol=1e-4)


def test_the_input_is_not_modified(incomplete):
    before = incomplete.copy()
    model = PCA(2, missing="em").fit(incomplete)
    model.impute(incomplete)
    model.transform(incomplete)
    np.testing.assert_array_equal(incomplete, before)


def test_tall_and_wide_tables_are_filled(rng):
    for shape in ((300, 6), (20, 400)):
        truth = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
        missing = rng.random(shape) < 0.1
        missing[missing.all(axis=1), 0] = False
        X = np.where(missing, np.nan, truth)
        model = PCA(2, missing="em").fit(X)
        np.testing.assert_allclose(model.impute(X), truth, atol=1e-4)


# ---- refused arguments -------------------------------------------------------------------------


@both_methods
@pytest.mark.parametrize("k", [None, 0.9, "mle"])
def test_the_number_of_components_must_be_given(method, k, incomplete):
    with pytest.raises(ParameterError, match="whole number") as caught:
        PCA(k, missing=method).fit(incomplete)
    assert caught.value.place == {"parameter": "n_components"}


@both_methods
def test_rows_and_columns_with_too_few_cells_are_named(method, incomplete):
    frame = pd.DataFrame(incomplete, columns=list("abcdefg"))
    column = frame.copy()
    column.loc[1:, "c"] = np.nan
    with pytest.raises(DataError, match=r"two known cells of 80: column 'c' \(1\)"):
        PCA(2, missing=method).fit(column)
    column = frame.copy()
    column.loc[71:, "c"] = np.nan
    weights = np.where(np.arange(80) < 70, 0.0, 2.0)
    with pytest.raises(DataError, match=r"two known cells of 10: column 'c' \(1\)"):
        PCA(2, missing=method).fit(column, sample_weight=weights)
    row = frame.copy()
    row.loc[7] = np.nan
    without = PCA(2, missing=method).fit(row)
    assert (without.n_samples_, without.n_dropped_) == (79, 1)
    assert "1 row without any cell takes no part" in str(without.plan_)
    assert np.isnan(without.transform(row)[7]).all()
    weights = np.ones(80)
    weights[7] = 0  # such a row does not count
    rest = PCA(2, missing=method).fit(np.delete(incomplete, 7, axis=0))
    model = PCA(2, missing=method).fit(row.to_numpy(), sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, rest.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(without.explained_variance_, rest.explained_variance_, rtol=1e-12)


@both_methods
def test_all_columns_with_too_few_cells_are_named(method, rng):
    X = rng.standard_normal((20, 100))
    X[1:, 10:12] = np.nan
    with pytest.raises(DataError) as caught:
        PCA(2, missing=method).fit(X)
    assert caught.value.message.endswith("two known cells of 20: column 10 (1), column 11 (1)")
    X[:, 12:] = np.nan
    with pytest.raises(DataError, match="two known cells of 20: ") as caught:
        PCA(2, missing=method).fit(X)
    assert "column 12 (0), column 13 (0), column 14 (0) and 85 more" in caught.value.message
    assert "error.place['columns'] lists all" in caught.value.hint
    assert caught.value.place == {"columns": list(range(10, 100))}
    PCA(2, missing=method).fit(np.delete(X, caught.value.place["columns"], axis=1))


@both_methods
def test_a_column_whose_known_cells_are_equal_is_constant(method, incomplete):
    """The mean of 60 numbers 0.1 is another number."""
    incomplete[:, 1] = np.where(np.arange(80) < 60, 0.1, np.nan)
    with pytest.raises(ConstantColumnError, match="constant column: column 1"):
        PCA(2, missing=method, scale="unit").fit(incomplete)


@both_methods
@pytest.mark.parametrize("scale", [None, "unit", "range"])
def test_a_constant_column_stays_constant_where_cells_are_filled(method, scale, incomplete):
    """Scaling would magnify a rounding error of its filled cells to a component."""
    options = {"missing": method, "scale": scale, "constant": "zero"}
    others = PCA(2, **options).fit(np.delete(incomplete, 1, axis=1))
    incomplete[:, 1] = np.where(np.arange(80) % 5, 0.1, np.nan)
    model = PCA(2, **options).fit(incomplete)
    assert (model.impute(incomplete)[:, 1] == 0.1).all()
    assert model.var_[1] == 0
    assert (model.components_[:, 1] == 0).all()
    if method == "nipals":  # the shrinkage of "em" depends on the number of columns
        np.testing.assert_allclose(model.explained_variance_, others.explained_variance_)
    incomplete[:, 1] *= 0.0  # constant about the origin, too
    model = PCA(2, **options, center=False).fit(incomplete)
    assert model.var_[1] == 0


@both_methods
def test_a_constant_column_stays_constant_without_centring(method, incomplete):
    rows = incomplete + 2.0
    rows[:, 1] = 3.0
    expected = PCA(2, missing=method, scale="unit", center=False, constant="zero").fit(rows)
    rows[4, 1] = np.nan
    model = PCA(2, missing=method, scale="unit", center=False, constant="zero").fit(rows)
    assert_models_close(model, expected)
    assert model.scale_[1] == 1.0
    assert model.var_[1] == 0.0
    # Without scaling, it has a variance about the origin as any other.
    model = PCA(2, missing=method, center=False).fit(rows)
    assert abs(model.impute(rows)[4, 1] - 3.0) > 1e-4
    with pytest.raises(ConstantColumnError, match="constant column: column 1"):
        PCA(2, missing=method, scale="unit", center=False).fit(rows)


@both_methods
def test_weights_above_one_allow_more_components_than_rows(method, table):
    rows, weights = table[:3].copy(), np.full(3, 10.0)
    complete = PCA(5, missing=method).fit(rows, sample_weight=weights)
    assert_models_close(complete, PCA(5).fit(rows, sample_weight=weights))
    rows[0, 0] = np.nan
    assert PCA(5, missing=method).fit(rows, sample_weight=weights).n_components_ == 5
    # Before any cell is filled.
    said = "n_components=5 must be between 0 and min(n_samples, n_features)={} with "
    for weight, most in ((0.9, 3), (4 / 3, 4), (1.5, 4)):
        weights = np.full(3, weight)
        with pytest.raises(ShapeError) as caught:
            PCA(5, missing=method).fit(rows, sample_weight=weights)
        assert caught.value.message.startswith(said.format(most))
        assert caught.value.message.endswith(f"missing={method!r}")
        PCA(most, missing=method).fit(rows, sample_weight=weights)


@both_methods
def test_a_column_whose_squares_underflow_is_not_called_constant(method, incomplete):
    for column in (incomplete[:, 1], np.r_[[np.nan] * 2, np.resize([1.0, -1.0], 78)]):
        incomplete[:, 1] = column * 1e-170
        with pytest.raises(NotFiniteError, match="spread of column 1 is too small"):
            PCA(2, missing=method, scale="unit").fit(incomplete)


@pytest.mark.parametrize("missing", ["em", "nipals", "drop"])
@pytest.mark.filterwarnings("ignore:.* rows have missing values and were left out")
def test_infinity_is_named_in_rows_whose_missing_cells_are_accepted(missing, incomplete):
    model = PCA(2, missing=missing).fit(incomplete)
    rows = incomplete.copy()
    rows[5, 2], rows[6, 3] = np.nan, np.inf
    for given in (rows, sp.csr_array(rows)):
        with pytest.raises(NotFiniteError, match=r"contains infinity.*row 6, column 3") as caught:
            model.transform(given)
        assert "fill them" not in caught.value.hint


@both_methods
def test_infinity_is_named_in_any_part_of_a_table(method):
    rows, weights = np.ones((140_000, 8)), np.ones(140_000)
    rows[[10, 135_000], 2], weights[[10, 135_000]] = np.inf, 0.0
    rows[[138_000, 139_000], [3, 1]] = -np.inf, np.inf
    with pytest.raises(
        NotFiniteError, match=r"-infinity: the first at row 138,000, column 3"
    ) as caught:
        PCA(2, missing=method).fit(rows, sample_weight=weights)
    assert caught.value.place == {"row": 138_000, "column": 3}


@pytest.mark.parametrize("largest", [0.0, 1e-130, 1e130])
@both_methods
def test_values_whose_squares_keep_their_digits_are_filled(method, largest):
    rows = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, np.nan], [0.0, -0.5]]) * largest
    found = PCA(1, missing=method).fit(rows).impute(rows) / (largest or 1.0)
    assert np.abs(found).max() <= 1.0
    beyond = np.nextafter(largest, 0.0 if 0.0 < largest < 1.0 else np.inf)
    if largest:
        with pytest.raises(DataError, match="squares the values, and the largest is"):
            PCA(1, missing=method).fit(rows / largest * beyond)


@both_methods
def test_tables_that_cannot_be_filled_are_refused(method, incomplete, tmp_path):
    model = PCA(2, missing=method)
    infinite = incomplete.copy()
    infinite[6, 3] = np.inf
    with pytest.raises(NotFiniteError, match=r"infinity.*row 6, column 3"):
        model.fit(infinite)
    for power in (1e200, 1e-200):
        with pytest.raises(DataError, match="squares the values"):
            model.fit(incomplete * power)
    with pytest.raises(DataError, match="weighted squares, which overflow"):
        model.fit(incomplete * 1e110, sample_weight=np.full(80, 1e100))
    with pytest.raises(ParameterError, match="dense rows"):
        model.fit(sp.csr_array(incomplete))
    with pytest.raises(NotFiniteError, match="given to fit at once"):
        model.partial_fit(incomplete)
    with pytest.raises(ShapeError, match="between 0 and"):
        PCA(8, missing=method).fit(incomplete)
    with pytest.raises(ShapeError, match="weights"):
        model.fit(incomplete, sample_weight=np.ones(3))
    with pytest.raises(ShapeError, match=r"a sum of weights above 1, got 0\.8 over 80 rows"):
        PCA(2, missing=method, scale="unit").fit(incomplete, sample_weight=np.full(80, 0.01))
    with pytest.raises(ShapeError, match="a sum of weights above 1, got"):
        PCA(2, missing="drop").fit(incomplete, sample_weight=np.full(80, 0.01))
    np.save(tmp_path / "x.npy", incomplete)
    with pytest.raises(MemoryLimitError, match="all rows in memory"):
        PCA(2, missing=method, memory_limit=1000).fit(tmp_path / "x.npy")
    model.fit(incomplete)
    with pytest.raises(NotFiniteError):
        model.transform(infinite)
    with pytest.raises(NotFiniteError):
        model.impute(infinite)
    with pytest.raises(ParameterError, match="does not fill cells"):
        PCA(2).fit(incomplete[:5]).impute(incomplete)
    planned = plan(incomplete, 2, missing=method)
    assert planned.solver == "eigh"
    assert "filled first" in str(planned)
    assert planned.memory >= 4 * incomplete.nbytes


def test_a_frame_keeps_its_labels(incomplete):
    for labels in (range(7), [*"abcdefg"], pd.MultiIndex.from_product([["a"], range(7)])):
        frame = pd.DataFrame(incomplete, columns=labels)
        filled = PCA(2, missing="em").fit(frame).impute(frame)
        pd.testing.assert_index_equal(filled.columns, frame.columns)


def test_the_plan_remembers_the_filled_cells(incomplete, table):
    model = PCA(2, missing="em").fit(incomplete)
    note = str(model.imputed_)
    with pytest.warns(
        UserWarning, match="the other fit has .* filled cells, which will count as observed"
    ):
        merged = PCA(2).fit(table).merge(model)
    assert note in str(merged.plan_)
    with pytest.warns(
        UserWarning, match="this fit has .* filled cells, which will count as observed"
    ):
        model.partial_fit(table[:5])
    assert note in str(model.plan_)
    assert model.imputed_ is None


def test_the_error_without_a_method_names_the_methods(incomplete):
    with pytest.raises(NotFiniteError, match="missing='em' or missing='nipals'"):
        PCA(2).fit(incomplete)
    with pytest.raises(NotFiniteError, match="missing='em' or missing='nipals'"):
        PCA(2).fit(incomplete[:5]).transform(incomplete)


# ---- masked arrays ---------------------------------------------------------------------------


@pytest.fixture
def holes(rng):
    X = rng.standard_normal((30, 4))
    X[0, 0] = np.nan
    return X


@pytest.fixture
def masked(holes):
    return np.ma.masked_array(np.where(np.isnan(holes), -9999.0, holes), mask=np.isnan(holes))


@pytest.mark.parametrize("kind", [np.asarray, list], ids=["array", "list of rows"])
def test_masked_values_are_missing(kind, holes, masked):
    table = masked if kind is np.asarray else list(masked)
    dropped = PCA(2, missing="drop").fit(table)
    assert dropped.n_dropped_ == 1
    np.testing.assert_array_equal(dropped.transform(table), dropped.transform(holes))
    model, expected = PCA(2, missing="em").fit(table), PCA(2, missing="em").fit(holes)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.impute(table), expected.impute(holes))
    whole = holes[1:]
    for call in (
        pca,
        lambda X: svd(X, 2),
        PCA().fit,
        PCA().partial_fit,
        IncrementalPCA().fit,
        KernelPCA(2).fit,
        RobustPCA(2).fit,
        PCA().fit(whole).transform,
        KernelPCA(2).fit(whole).transform,
        RobustPCA(2).fit(whole).transform,
    ):
        with pytest.raises(NotFiniteError, match="NaN"):
            call(table)


def test_arrays_without_masked_values_are_plain_arrays(masked):
    whole = masked[1:].astype(np.float32)
    assert PCA(2).fit(whole).transform(whole).dtype == np.float32
    np.testing.assert_array_equal(pca(whole), pca(whole.data))
    counts = np.ma.masked_array(np.arange(12).reshape(6, 2), mask=False)
    np.testing.assert_array_equal(PCA().fit(counts).mean_, [5, 6])
    counts[0, 0] = np.ma.masked
    assert PCA(missing="drop").fit(counts).mean_[0] == 6
    counts[1, 1] = 2**53 + 1
    with pytest.raises(NotNumericError, match="column 1 row 1"):
        PCA(missing="drop").fit(counts)


def test_masked_scores_weights_and_parameters(masked, rng):
    X = rng.standard_normal((30, 4))
    for kind in (PCA(2), RobustPCA(2)):
        model = kind.fit(X)
        scores = np.ma.masked_array(model.transform(X), mask=False)
        scores[3, 0] = np.ma.masked
        rows = model.inverse_transform(scores)
        assert np.isnan(rows[3]).all()
        assert np.isfinite(np.delete(rows, 3, axis=0)).all()
    weights = np.ma.masked_array(np.ones(30), mask=np.arange(30) == 4)
    with pytest.raises(ParameterError, match=r"sample_weight\[4\] is nan"):
        PCA().fit(X, sample_weight=weights)
    with pytest.raises(ParameterError, match="scale"):
        PCA(scale=np.ma.masked_array(np.ones(4), mask=[1, 0, 0, 0])).fit(X)
    covariance = np.ma.cov(masked, rowvar=False)
    assert PCA.from_covariance(covariance).n_components_ == 4
    covariance[0, 1] = np.ma.masked
    with pytest.raises(NotFiniteError, match=r"C\[0, 1\]"):
        PCA.from_covariance(covariance)


def test_iterations_of_nipals_are_those_of_all_components(incomplete):
    one, two = (PCA(k, missing="nipals").fit(incomplete).imputed_.iterations for k in (1, 2))
    assert 0 < one < two
