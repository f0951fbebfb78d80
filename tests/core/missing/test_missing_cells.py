"""PCA(missing="em") and PCA(missing="nipals"): the estimator around the filling."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from helpers import assert_alike
from princomp import PCA, load, plan
from princomp.errors import (
    ConstantColumnError,
    DataError,
    MemoryLimitError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)

BOTH = pytest.mark.parametrize("method", ["em", "nipals"])


@pytest.fixture
def table(rng):
    return rng.standard_normal((80, 3)) @ rng.standard_normal((3, 7)) + 0.3 * rng.standard_normal(
        (80, 7)
    )


@pytest.fixture
def holed(table, rng):
    holes = rng.random(table.shape) < 0.15
    holes[:5] = False
    holes[holes.all(axis=1), 0] = False
    return np.where(holes, np.nan, table)


@BOTH
def test_scikit_learns_conventions(method):
    results = check_estimator(PCA(1, missing=method), on_fail=None, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}


@BOTH
@pytest.mark.parametrize("scale", [None, "unit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_where_nothing_is_missing_all_are_the_plain_fit(method, scale, weighted, table, rng):
    weights = rng.integers(1, 4, len(table)) if weighted else None
    plain = PCA(3, scale=scale).fit(table, sample_weight=weights)
    model = PCA(3, scale=scale, missing=method).fit(table, sample_weight=weights)
    assert_alike(plain, model, tol=1e-15)
    assert (model.transform(table) == plain.transform(table)).all()
    assert model.imputed_.cells == 0
    assert model.imputed_.converged
    assert "no cell is missing" in str(model.plan_)


def test_scores_are_those_of_the_completed_rows(holed):
    model = PCA(3, missing="em", scale="unit").fit(holed)
    whole = model.impute(holed)
    assert (whole[~np.isnan(holed)] == holed[~np.isnan(holed)]).all()
    fresh = PCA(3, scale="unit").fit(whole)
    # Cells come from the fixed point, which the iteration is within 1e-8 deviations of.
    np.testing.assert_allclose(fresh.explained_variance_, model.explained_variance_, atol=1e-6)
    np.testing.assert_allclose(model.transform(holed), fresh.transform(whole), atol=1e-6)
    np.testing.assert_allclose(model.fit_transform(holed), model.transform(holed), atol=0)
    assert model.inverse_transform(model.transform(holed)).shape == holed.shape


def test_em_fills_with_the_conditional_mean(holed, rng):
    """Of the normal rows whose covariance has the shrunk components and even noise."""
    model = PCA(2, missing="em").fit(holed)
    lam, n, p, k = model.explained_variance_, 80, 7, 2
    left = model.total_variance_ - lam.sum()
    noise = n * p / p * left / ((n - 1 - k) * (p - k))
    V = model.components_.T
    C = V @ np.diag(lam - noise) @ V.T + noise * np.eye(p)
    row = rng.standard_normal(7)
    there = np.array([True, False, True, True, False, False, True])
    known = C[np.ix_(~there, there)] @ np.linalg.solve(
        C[np.ix_(there, there)], (row - model.mean_)[there]
    )
    filled = model.impute(np.where(there, row, np.nan)[None])[0]
    np.testing.assert_allclose(filled[~there], known + model.mean_[~there], atol=1e-10)
    np.testing.assert_allclose(filled[there], row[there], atol=0)


def test_nipals_scores_are_least_squares(holed, rng):
    model = PCA(2, missing="nipals", scale="unit").fit(holed)
    row = rng.standard_normal(7)
    there = np.array([True, False, True, True, False, False, True])
    z = ((row - model.mean_) / model.scale_)[there]
    scores = np.linalg.lstsq(model.components_.T[there], z, rcond=None)[0]
    found = model.transform(np.where(there, row, np.nan)[None])[0]
    np.testing.assert_allclose(found, scores, atol=1e-12)
    # One cell tells a line only: the shortest scores on it.
    one = np.where(np.arange(7) == 0, row, np.nan)
    v = model.components_[:, 0]
    shortest = v * z[0] / (v @ v)
    np.testing.assert_allclose(model.transform(one[None])[0], shortest, atol=1e-12)


@BOTH
def test_a_row_without_any_cell_has_empty_scores(method, holed, table):
    model = PCA(2, missing=method).fit(holed)
    rows = np.vstack([table[:2], np.full((1, 7), np.nan)])
    scores = model.transform(rows)
    assert np.isnan(scores[2]).all()
    assert np.isfinite(scores[:2]).all()
    assert np.isnan(model.impute(rows)[2]).all()


@BOTH
def test_what_was_filled_is_reported_and_saved(method, holed, tmp_path):
    model = PCA(2, missing=method).fit(holed)
    filled = model.imputed_
    assert filled.cells == np.isnan(holed).sum()
    assert filled.share == pytest.approx(np.isnan(holed).mean())
    assert filled.converged
    assert 0 <= filled.change <= 1e-8
    assert f"{filled.cells} cells" in str(model.plan_)
    assert str(filled) in json.loads(model.plan_.to_json())["reasons"]
    model.save(tmp_path / "m.pca")
    again = load(tmp_path / "m.pca")
    assert again.imputed_ == filled
    assert (again.transform(holed) == model.transform(holed)).all()
    assert again.truncated(1).imputed_ == filled
    assert PCA(2).fit(holed[:5]).imputed_ is None


@BOTH
def test_kinds_of_input(method, holed, tmp_path):
    model = PCA(2, missing=method).fit(holed)
    frame = pd.DataFrame(holed, columns=list("abcdefg"))
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for X in (frame, str(path), holed.tolist(), np.asfortranarray(holed)):
        other = clone(model).fit(X)
        assert_alike(model, other, tol=1e-7)
        np.testing.assert_allclose(other.impute(X), model.impute(holed), atol=1e-6)
    single = clone(model).fit(holed.astype(np.float32))
    assert single.components_.dtype == single.impute(holed.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.explained_variance_, model.explained_variance_, rtol=1e-4)


def test_the_input_is_left_as_it_was(holed):
    before = holed.copy()
    model = PCA(2, missing="em").fit(holed)
    model.impute(holed)
    model.transform(holed)
    np.testing.assert_array_equal(holed, before)


def test_several_thousand_rows_wide_and_tall(rng):
    for shape in ((3000, 6), (20, 400)):
        truth = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
        holes = rng.random(shape) < 0.1
        holes[holes.all(axis=1), 0] = False
        X = np.where(holes, np.nan, truth)
        model = PCA(2, missing="em").fit(X)
        np.testing.assert_allclose(model.impute(X), truth, atol=1e-4)


# ---- what is refused ---------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("k", [None, 0.9, "mle"])
def test_the_number_of_components_must_be_said(method, k, holed):
    with pytest.raises(ParameterError, match="whole number") as caught:
        PCA(k, missing=method).fit(holed)
    assert caught.value.place == {"parameter": "n_components"}


@BOTH
def test_rows_and_columns_with_too_few_cells_are_named(method, holed):
    frame = pd.DataFrame(holed, columns=list("abcdefg"))
    column = frame.copy()
    column.loc[1:, "c"] = np.nan
    with pytest.raises(DataError, match="column 'c' holds 1 of 80 cells"):
        PCA(2, missing=method).fit(column)
    row = frame.copy()
    row.loc[7] = np.nan
    without = PCA(2, missing=method).fit(row)
    assert (without.n_samples_, without.n_dropped_) == (79, 1)
    assert "1 row without any cell takes no part" in str(without.plan_)
    assert np.isnan(without.transform(row)[7]).all()
    weights = np.ones(80)
    weights[7] = 0  # such a row is not there
    rest = PCA(2, missing=method).fit(np.delete(holed, 7, axis=0))
    model = PCA(2, missing=method).fit(row.to_numpy(), sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, rest.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(without.explained_variance_, rest.explained_variance_, rtol=1e-12)


@BOTH
def test_a_column_whose_known_cells_are_equal_is_constant(method, holed):
    """The mean of 60 numbers 0.1 is another number."""
    holed[:, 1] = np.where(np.arange(80) < 60, 0.1, np.nan)
    with pytest.raises(ConstantColumnError, match="constant column: column 1"):
        PCA(2, missing=method, scale="unit").fit(holed)


@BOTH
def test_what_cannot_be_filled_is_refused(method, holed, tmp_path):
    model = PCA(2, missing=method)
    endless = holed.copy()
    endless[6, 3] = np.inf
    with pytest.raises(NotFiniteError, match=r"infinity.*row 6, column 3"):
        model.fit(endless)
    for power in (1e200, 1e-200):
        with pytest.raises(DataError, match="squares the values"):
            model.fit(holed * power)
    with pytest.raises(ParameterError, match="dense rows"):
        model.fit(sp.csr_array(holed))
    with pytest.raises(NotFiniteError, match="given to fit at once"):
        model.partial_fit(holed)
    with pytest.raises(ShapeError, match="between 0 and"):
        PCA(8, missing=method).fit(holed)
    with pytest.raises(ShapeError, match="weights"):
        model.fit(holed, sample_weight=np.ones(3))
    with pytest.raises(ShapeError, match=r"a sum of weights above 1, got 0\.8 over 80 rows"):
        PCA(2, missing=method, scale="unit").fit(holed, sample_weight=np.full(80, 0.01))
    with pytest.raises(ShapeError, match="a sum of weights above 1, got"):
        PCA(2, missing="drop").fit(holed, sample_weight=np.full(80, 0.01))
    np.save(tmp_path / "x.npy", holed)
    with pytest.raises(MemoryLimitError, match="all rows in memory"):
        PCA(2, missing=method, memory_limit=1000).fit(tmp_path / "x.npy")
    model.fit(holed)
    with pytest.raises(NotFiniteError):
        model.transform(endless)
    with pytest.raises(NotFiniteError):
        model.impute(endless)
    with pytest.raises(ParameterError, match="does not fill cells"):
        PCA(2).fit(holed[:5]).impute(holed)
    planned = plan(holed, 2, missing=method)
    assert planned.solver == "eigh"
    assert "filled first" in str(planned)
    assert planned.memory >= 4 * holed.nbytes


def test_the_error_without_a_method_says_which_there_are(holed):
    with pytest.raises(NotFiniteError, match="missing='em' or missing='nipals'"):
        PCA(2).fit(holed)
    with pytest.raises(NotFiniteError, match="missing='em' or missing='nipals'"):
        PCA(2).fit(holed[:5]).transform(holed)
