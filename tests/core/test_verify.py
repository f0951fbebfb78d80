"""``PCA.verify``: residuals measured with the rows, not with what a fit kept of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS, EPS32
from princomp import PCA
from princomp.errors import NotAvailableError, NotFiniteError, ShapeError


def table(rng, dtype=np.float64):
    return (rng.standard_normal((1000, 30)) * np.linspace(3, 1, 30) + 100).astype(dtype)


@pytest.mark.parametrize("solver", ["auto", "full", "lanczos", "krylov"])
@pytest.mark.parametrize("scale", [None, "unit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_of_a_correct_fit_are_rounding(solver, scale, dtype, rng):
    X = table(rng, dtype)
    model = PCA(5, svd_solver=solver, scale=scale).fit(X)
    found = model.verify(X)
    assert found.against_rows
    assert not model.certificate_.against_rows
    assert model.certificate_.residuals.shape == found.residuals.shape == (5,)
    # The covariance route: p roundings; a search of float32 rows: 4 of its products.
    assert found.residuals.max() <= 30 * np.finfo(dtype).eps


def test_an_error_in_the_summary_is_detected(rng):
    X = table(rng)
    model = PCA(3).fit(X)
    fitted = model._fitted
    scatter = fitted.summary.scatter * np.linspace(1, 1.01, 30)[:, None]
    scatter = (scatter + scatter.T) / 2
    wrong = PCA.from_summary(replace(fitted.summary, scatter=scatter), n_components=3)
    assert wrong.certificate_.residuals.max() <= 30 * EPS
    assert wrong.verify(X).residuals.max() > 1e-4
    assert model.verify(X).residuals.max() <= 30 * EPS


def test_weighted_sparse_and_uncentred_rows(rng):
    S = sp.csr_array(sp.random(2000, 300, 0.02, random_state=0))
    weights = rng.integers(0, 4, 2000).astype(float)
    model = PCA(5).fit(S, sample_weight=weights)
    assert model.verify(S, weights).residuals.max() <= 300 * EPS
    X = table(rng)
    assert PCA(3, center=False).fit(X).verify(X).residuals.max() <= 30 * EPS


@pytest.mark.parametrize("factor", [1e-140, 1e140])
def test_very_small_and_large_numbers(factor, rng):
    X = (table(rng) - 100) * factor
    assert PCA(5).fit(X).verify(X).residuals.max() <= 30 * EPS


def test_large_constants_next_to_small_numbers_without_centring(rng):
    X = np.column_stack([np.full(20, 1e100), 1e-100 * rng.standard_normal((20, 2))])
    assert PCA(2, center=False).fit(X).verify(X).residuals.max() <= 30 * EPS


def test_files_and_batches(rng, tmp_path):
    X = table(rng, np.float32)
    np.save(tmp_path / "rows.npy", X)
    model = PCA(5).fit(tmp_path / "rows.npy")
    assert model.verify(tmp_path / "rows.npy").residuals.max() <= 30 * EPS32
    assert model.verify(lambda: iter(np.array_split(X, 7))).residuals.max() <= 30 * EPS32


def test_constant_columns_have_no_residual():
    X = np.full((20, 3), 7.0)
    assert PCA(2).fit(X).verify(X).residuals.tolist() == [0.0, 0.0]


def test_other_rows_are_refused(rng):
    X = table(rng)
    model = PCA(3).fit(X)
    with pytest.raises(ShapeError, match="not the rows of the fit: it stands for 1,000 rows"):
        model.verify(X[:-1])
    with pytest.raises(ShapeError, match="features"):
        model.verify(X[:, :-1])
    incomplete = X.copy()
    incomplete[17, 3] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 17, column 3"):
        model.verify(incomplete)


def test_the_sum_of_weights_may_differ_by_rounding(rng):
    X, weights = table(rng), rng.random(1000) + 1
    model = PCA(3).fit(X, sample_weight=weights)
    model.verify(X, weights * (1 + 5e-10))
    for factor in (1 + 2e-9, 1 - 2e-9):
        with pytest.raises(ShapeError, match="not the rows of the fit"):
            model.verify(X, weights * factor)


def test_fits_that_cannot_be_verified_say_why(rng):
    X = table(rng)
    model = PCA.from_covariance(np.cov(X.T), n_samples=1000)
    with pytest.raises(NotAvailableError, match="without a mean"):
        model.verify(X)
    model = PCA.from_covariance(np.cov(X.T), mean=X.mean(axis=0))
    with pytest.raises(NotAvailableError, match="residuals against rows need the number of rows"):
        model.verify(X)
    X[3, 4] = np.nan
    with pytest.raises(NotAvailableError, match="filled missing cells"):
        PCA(2, missing="em").fit(X).verify(X)


def test_rows_that_a_fit_left_out_are_left_out(rng):
    X = table(rng)
    X[3] = np.nan
    assert PCA(2, missing="em").fit(X).verify(X).residuals.max() <= 30 * EPS


def test_rows_that_can_be_read_once_are_not_read_for_the_place_of_nan(rng):
    X = table(rng)
    model = PCA(2).fit(X)
    X[3, 4] = np.nan
    with pytest.raises(NotFiniteError, match="NaN or infinity") as caught:
        model.verify(iter([X]))
    assert "model.verify(lambda: batches())" in caught.value.hint


def test_residuals_beyond_float64_are_null_in_json(rng):
    X = table(rng)
    with pytest.warns(UserWarning, match="probably not the rows of the fit"):
        found = PCA(2).fit(X).verify(X * 1e200)
    assert np.isinf(found.residuals).all()
    assert json.loads(found.to_json(), parse_constant=pytest.fail)["residuals"] == [None, None]


def test_rows_with_decay_need_their_weights(rng):
    X = table(rng)
    model = PCA(2, decay=0.9).partial_fit(X)
    with pytest.raises(ShapeError) as caught:
        model.verify(X)
    assert "sample_weight=decay**age" in caught.value.hint
    assert model.verify(X, 0.9 ** np.arange(999, -1, -1)).residuals.max() <= 30 * EPS


def test_show_verifies_with_a_file(princomp, model_file):
    from command_line import ARRESTS

    done = princomp("show", model_file, "--verify", ARRESTS)
    assert done.code == 0
    assert "measured with the rows" in done.out
    done = princomp("show", model_file, "--verify", ARRESTS, "--json")
    found = json.loads(done.out)["certificate"]
    assert found["against_rows"]
    assert max(found["residuals"]) <= 30 * EPS


@pytest.mark.filterwarnings("default:these are probably not the rows")
def test_show_notes_that_rows_are_not_those_of_the_fit(princomp, tmp_path, rng):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, table(rng))
    assert princomp("fit", "a.npy", "-m", "m.pca").code == 0
    done = princomp("show", "m.pca", "--verify", "b.npy")
    assert "note: these are probably not the rows of the fit" in done.err


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_rows_of_the_same_number_warn(dtype, rng):
    X = table(rng, dtype)
    model = PCA(3).fit(X)
    for other in (table(rng, dtype), 255 * X, X[:, ::-1]):
        with pytest.warns(UserWarning, match="probably not the rows of the fit") as caught:
            model.verify(other)
        assert len(caught) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["full", "randomized", "lanczos", "sketch"])
def test_the_rows_of_the_fit_do_not_warn(solver, rng):
    X = table(rng)
    PCA(3, svd_solver=solver).fit(X).verify(X)
