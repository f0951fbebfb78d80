"""Reconstruction error from variances and from rows; Bartlett and KMO from the summary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from princomp import PCA, diagnostics as d
from princomp.diagnostics import bartlett, kmo, reconstruction_error
from princomp.errors import (
    ConstantColumnError,
    DataError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)


@given(st.integers(0, 2**31), st.sampled_from([None, "unit", "pareto"]), st.booleans())
@settings(max_examples=25)
def test_the_variances_know_the_error_of_the_training_rows(seed, scale, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 5)) * [4, 2, 1, 1, 0.5] + 10
    w = rng.integers(1, 4, 25) if weighted else None
    model = PCA(3, scale=scale).fit(X, sample_weight=w)
    known = reconstruction_error(model, frame="listing")
    found = reconstruction_error(model, X, w, frame="listing")
    for name in known.columns:
        np.testing.assert_allclose(known[name], found[name], rtol=1e-9, err_msg=name)
    assert known["share"][0] == 1


def test_the_error_of_new_rows_is_that_of_their_reconstructions(arrests, unit, rng):
    X = arrests + rng.standard_normal(arrests.shape)
    table = reconstruction_error(unit, X, frame="listing")
    for q in range(1, 3):
        few = unit.truncated(q)
        residuals = (X - few.inverse_transform(few.transform(X))) / unit.scale_
        assert table["squared_error"][q] == pytest.approx(
            (residuals**2).sum(axis=1).mean(), rel=1e-10
        )
        assert table["rmse"][q] == pytest.approx(np.sqrt((residuals**2).mean()), rel=1e-10)


def test_the_error_of_rows_of_a_weighted_fit_warns_without_weights(arrests):
    w = np.arange(50) % 3 + 1.0
    model = PCA(2).fit(arrests, sample_weight=w)
    with pytest.warns(UserWarning, match="none are given: the errors are those of rows of"):
        reconstruction_error(model, arrests)
    given = reconstruction_error(model, arrests, w, frame="listing")  # warnings are errors here
    known = reconstruction_error(model, frame="listing")
    np.testing.assert_allclose(given["squared_error"], known["squared_error"], rtol=1e-10)


def test_all_components_have_no_error(arrests):
    model = PCA().fit(arrests)
    for X in (None, arrests):
        assert reconstruction_error(model, X, frame="listing")["squared_error"][-1] == 0


def test_small_errors_do_not_suffer_from_cancellation(rng):
    """The fourth singular value is 1e-10 of the first, and its square 1e-20."""
    q = np.linalg.qr(rng.standard_normal((100, 4)))[0]
    X = q * [1.0, 1e-3, 1e-6, 1e-10]
    X -= X.mean(axis=0)
    model = PCA(3, svd_solver="full").fit(X)
    residuals = X - (X @ model.components_.T) @ model.components_
    table = reconstruction_error(model, X, frame="listing")
    assert table["squared_error"][3] == pytest.approx((residuals**2).sum() / 100, rel=1e-5)


def test_invalid_arguments_are_refused(arrests, unit):
    with pytest.raises(ParameterError, match="sample_weight was given without X"):
        reconstruction_error(unit, sample_weight=np.ones(50))
    with pytest.raises(NotFiniteError, match="no row of X"):
        reconstruction_error(unit, arrests, np.zeros(50))
    unknown = PCA.from_covariance(np.cov(arrests.T), mean=arrests.mean(axis=0))
    with pytest.raises(NotAvailableError, match="number of rows"):
        reconstruction_error(unknown)
    assert len(reconstruction_error(unknown, arrests)) == 5


def test_rows_with_missing_cells_are_left_out(arrests):
    model = PCA(2, missing="drop").fit(arrests)
    with_nan = np.vstack([arrests, [[np.nan, 1, 2, 3]]])
    one, other = (
        reconstruction_error(model, X, frame="listing")["squared_error"]
        for X in (arrests, with_nan)
    )
    np.testing.assert_allclose(one, other, rtol=1e-13)


# ---- Bartlett and KMO ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["covariance_eigh", "full"])
@pytest.mark.parametrize("scale", [None, "unit", "pareto"])
def test_bartlett_and_kmo_of_usarrests(solver, scale, arrests):
    model = PCA(2, scale=scale, svd_solver=solver).fit(arrests)
    found = bartlett(model)
    assert found.statistic == pytest.approx(88.2881, abs=5e-5)
    assert found.df == 6
    assert found.p_value < 1e-15
    measure = kmo(model, frame="listing")
    assert measure.overall == pytest.approx(0.653815, abs=5e-7)
    assert measure.variables["variable"].tolist() == ["x0", "x1", "x2", "x3"]


def test_bartlett_of_a_stream(arrests):
    model = PCA(2)
    for i in range(0, 50, 10):
        model.partial_fit(arrests[i : i + 10])
    assert bartlett(model).statistic == pytest.approx(88.2881, abs=5e-5)


def test_uncorrelated_columns_are_not_rejected():
    X = np.array([[a, b, c] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)])
    found = bartlett(PCA(2).fit(X))
    assert found.statistic == pytest.approx(0, abs=1e-12)
    assert found.p_value == pytest.approx(1)
    assert np.isnan(kmo(PCA(2).fit(X)).overall)


def test_bartlett_and_kmo_of_filled_tables_warn(rng):
    """Columns of noise seem correlated, because filled cells agree with the components."""
    X = rng.standard_normal((200, 10))
    complete = PCA(2, missing="em").fit(X)
    assert bartlett(complete).p_value > 0.05  # warnings are errors here
    X[rng.random(X.shape) < 0.3] = np.nan
    model = PCA(2, missing="em").fit(X)
    with pytest.warns(UserWarning, match=r"were filled, and .* Bartlett's test rejects too often"):
        assert bartlett(model).p_value < 1e-3
    with pytest.warns(
        UserWarning, match=r"\d cells \(\d+\.\d+%\) of the fit were filled.* too large"
    ):
        kmo(model)


def test_bartlett_and_kmo_of_singular_correlations(arrests):
    X = np.column_stack([arrests, arrests[:, 0] + arrests[:, 1]])
    model = PCA(2).fit(X)
    assert (bartlett(model).statistic, bartlett(model).p_value) == (np.inf, 0.0)
    with pytest.raises(DataError, match=r"singular.*'x4'"):
        kmo(model)
    X = np.random.default_rng(0).standard_normal((30, 8))
    with pytest.raises(DataError, match=r"dependent: '\w+'(, '\w+'){4} and 4 more"):
        kmo(PCA().fit(np.column_stack([X, X.sum(axis=1)])))
    with pytest.raises(ConstantColumnError, match=r"correlations: 'x8'(, 'x\d+'){4} and 2 more\n"):
        kmo(PCA().fit(np.column_stack([X, np.ones((30, 7))])))


def test_models_without_correlations_are_refused(arrests):
    with pytest.raises(ShapeError, match="one column"):
        bartlett(PCA(1).fit(arrests[:, :1]))
    X = arrests.copy()
    X[:, 2] = 3.0
    for test in (bartlett, kmo):
        with pytest.raises(ConstantColumnError, match="'x2'"):
            test(PCA(2).fit(X))
        with pytest.raises(NotAvailableError, match="which this fit did not keep") as caught:
            test(PCA(2, svd_solver="arpack").fit(arrests))
        assert "covariance_eigh" in caught.value.hint
    for n in (3, 4):
        with pytest.raises(ShapeError, match=rf"{n} rows are too few .* 4 columns") as caught:
            bartlett(PCA(2).fit(arrests[:n]))
        assert caught.value.hint == "the test needs at least 5 rows"
    bartlett(PCA(2).fit(arrests[:5]))
    with pytest.raises(ShapeError, match="4 rows are too few"):  # 400 by their weights
        bartlett(PCA(2).fit(arrests[:4], sample_weight=np.full(4, 100)))
    faded = PCA(2, decay=0.5).partial_fit(arrests)  # the weights sum to 2
    with pytest.raises(ShapeError, match=r"2 rows are too few .* 4 columns") as caught:
        bartlett(faded)
    assert caught.value.hint.endswith("with decay, the number of rows is the sum of their weights")
    with pytest.raises(NotAvailableError, match="number of rows"):
        bartlett(PCA.from_covariance(np.cov(arrests.T)))
    assert kmo(PCA.from_covariance(np.cov(arrests.T))).overall == pytest.approx(0.653815, abs=5e-7)


def test_columns_that_lost_their_digits_have_no_correlations(rng):
    """A removed value of 1e10 leaves no digits of a column with deviation 1."""
    X = rng.standard_normal((200, 3)) * [1e6, 1, 1]
    glitch = X[:5] + 1e10 * rng.standard_normal((5, 1)) * [0, 1, 0]
    model = PCA(3).partial_fit(X).partial_fit(glitch).forget(glitch)
    for test in (bartlett, kmo):
        with pytest.raises(NotAvailableError, match="'x1'"):
            test(model)
    for center in (True, False):
        model = PCA(1, center=center).partial_fit(X).partial_fit(glitch).forget(glitch)
        table = d.variables(model, frame="listing")
        expected = d.variables(PCA(1, center=center).fit(X), frame="listing")
        for name in ("correlation", "cos2"):
            assert np.isnan(table[name]).tolist() == [False, True, False]
            np.testing.assert_allclose(table[name][::2], expected[name][::2], rtol=1e-6)
    small = X[:5] + 1e3 * rng.standard_normal((5, 1)) * [0, 1, 0]
    model = PCA(3).partial_fit(X).partial_fit(small).forget(small)
    assert kmo(model).overall == pytest.approx(kmo(PCA(3).fit(X)).overall, rel=1e-6)


def test_rows_that_are_not_needed_are_ignored_with_a_warning(arrests):
    model = PCA(2, scale="unit").fit(arrests)
    for function in (d.bartlett, d.kmo, d.limits, d.variables):
        with pytest.warns(UserWarning, match="needs the model alone: the rows are ignored"):
            found = function(model, arrests)
        assert str(found) == str(function(model))
    with pytest.warns(UserWarning, match="ignored"):
        assert d.limits(model, arrests, 0.9) == d.limits(model, 0.9)
    assert d.limits(model, 0.9, X=None) == d.limits(model, 0.9)
