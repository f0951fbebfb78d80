"""The two methods that fill cells: properties of their steps, and tables with known cells."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from engines.on_partitions import partitions
from helpers import EPS, orthonormal, with_singular_values
from princomp import PCA, diagnostics
from princomp.core.missing import methods
from princomp.core.missing.filled import fill_table
from princomp.core.missing.methods import (
    fill_by_em,
    fill_by_nipals,
    fill_new_rows,
    fit_components,
    has_converged,
    shrinkage,
)
from princomp.core.request import Request
from princomp.errors import ColumnError, DataError, ParameterError

# Sums of n·p squares are off by some units of rounding of the whole.
ROUNDING = 1e-12


def low_rank(rng, n=60, p=8, k=2, noise=0.1):
    table, _ = with_singular_values(n, np.linspace(9, 5, k) * np.sqrt(n), rng, p=p)
    return table + noise * rng.standard_normal((n, p)) + 3.0


def with_missing_cells(table, share, rng):
    """Cells at random; every row and every column keeps two."""
    missing = rng.random(table.shape) < share
    missing[:, :2] &= rng.random((len(table), 2)) < 0.2
    missing[missing.all(axis=1), 0] = False
    missing[:3] = False
    return np.where(missing, np.nan, table), missing


def first_guess(X, missing, weights=None):
    share = np.where(missing, 0.0, 1.0 if weights is None else weights[:, None])
    mean = (share * np.where(missing, 0.0, X)).sum(axis=0) / share.sum(axis=0)
    return np.where(missing, mean, X), mean


def no_scaling(table):
    return np.ones(table.shape[1])


def fit_by_svd(table, k, weights=None, factors=None):
    """A row-weighted fit by the SVD of the centred rows."""
    w = np.ones(len(table)) if weights is None else weights
    mean = w @ table / w.sum()
    u, s, vt = np.linalg.svd((table - mean) * np.sqrt(w)[:, None], full_matrices=False)
    factors = np.ones(k) if factors is None else factors
    return (u[:, :k] * s[:k] * factors) @ vt[:k] / np.sqrt(w)[:, None] + mean, s**2


def penalty(sizes, noise):
    """A penalty whose proximal step takes a singular value d to d − noise/d (see missing.md)."""
    root = np.sqrt(sizes**2 + 4 * noise)
    return np.sum(
        sizes * root / 4 + noise * np.arcsinh(sizes / (2 * np.sqrt(noise))) - sizes**2 / 4
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.4))
def test_each_regularised_step_lowers_the_penalised_objective_of_its_noise(seed, share):
    rng = np.random.default_rng(seed)
    X, missing = with_missing_cells(low_rank(rng, noise=1.0), share, rng)
    table, _ = first_guess(X, missing)
    fit, all_rows, k = np.broadcast_to(table.mean(axis=0), table.shape), np.arange(len(X)), 2
    for _ in range(15):
        _, squares = fit_by_svd(table, 0)
        factors = shrinkage(squares, squares[k:].sum(), k, len(X), 8, centred=True)
        noise = (1 - factors[0]) * squares[0]

        def objective(fit, noise=noise):
            sizes = np.linalg.svd(fit - fit.mean(axis=0), compute_uv=False)[:k]
            return np.sum((X - fit)[~missing] ** 2) / 2 + penalty(sizes, noise)

        next_fit = fit_components(
            table, None, k, incomplete=all_rows, divisor_of=no_scaling, centred=True
        ).fit
        np.testing.assert_allclose(next_fit, fit_by_svd(table, k, factors=factors)[0], atol=1e-9)
        assert objective(next_fit) <= objective(fit) + 1e-9 * np.nansum(X**2)
        fit = next_fit
        table = np.where(missing, next_fit, X)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    share=st.floats(0.02, 0.5),
    weighted=st.booleans(),
)
def test_the_objective_of_nipals_never_rises(seed, k, share, weighted):
    rng = np.random.default_rng(seed)
    X, missing = with_missing_cells(low_rank(rng, noise=1.0), share, rng)
    weights = rng.random(len(X)) + 0.1 if weighted else None
    table, mean = first_guess(X, missing, weights)
    objectives = []
    result = fill_by_nipals(
        table, missing, weights, k, mean=mean, divisor=np.full(8, 2.0), monitor=objectives.append
    )
    assert np.diff(objectives).max(initial=0.0) <= ROUNDING * objectives[0]
    assert result.objective == pytest.approx(
        objectives[-1], rel=1e-10, abs=ROUNDING * objectives[0]
    )
    assert result.iterations == len(objectives)


@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range"])
@pytest.mark.parametrize("method", ["em", "nipals"])
def test_the_result_is_a_fixed_point(method, scale, rng):
    """Filled cells are those of the components of the filled table, shrunk."""
    X, missing = with_missing_cells(low_rank(rng), 0.15, rng)
    table, _, filled, _ = fill_table(X, None, Request(2, scale=scale, fill=method))
    assert (table[~missing] == X[~missing]).all()
    assert filled.converged
    assert (filled.cells, filled.rows) == (missing.sum(), missing.any(axis=1).sum())
    assert filled.share == missing.mean()
    if method == "nipals":
        return
    s = {
        None: np.ones(8),
        "unit": table.std(axis=0, ddof=1),
        "pareto": np.sqrt(table.std(axis=0, ddof=1)),
        "range": np.ptp(table, axis=0),
    }[scale]
    squares = fit_by_svd(table / s, 0)[1]
    factors = shrinkage(squares, squares[2:].sum(), 2, len(X), 8, centred=True)
    fit = fit_by_svd(table / s, 2, factors=factors)[0] * s
    np.testing.assert_allclose(fit[missing], table[missing], atol=1e-6)
    squared_error = np.sum(((X - fit)[~missing] / np.broadcast_to(s, X.shape)[~missing]) ** 2)
    assert filled.objective == pytest.approx(squared_error, rel=1e-6)


def test_nipals_divides_by_the_deviations_of_the_known_cells(rng):
    X, _ = with_missing_cells(low_rank(rng), 0.15, rng)
    X[2:, 5], X[3:, 6] = np.nan, np.nan
    parameters = {"scale": "unit", "fill": "nipals"}
    table, _, filled, _ = fill_table(X, None, Request(1, **parameters))
    parameters["scale"] = np.nanstd(X, axis=0, ddof=1)
    expected, _, other, _ = fill_table(X, None, Request(1, **parameters))
    np.testing.assert_allclose(table, expected, rtol=1e-9)
    assert filled.objective == pytest.approx(other.objective, rel=1e-9)


def test_a_column_whose_known_cells_weigh_less_than_one_row_is_filled(rng):
    X, _ = with_missing_cells(low_rank(rng), 0.15, rng)
    X[2:, 5] = np.nan
    weights = np.r_[0.3, 0.3, np.ones(len(X) - 2)]
    table, _, filled, _ = fill_table(X, weights, Request(1, scale="unit", fill="nipals"))
    assert filled.converged
    assert np.isfinite(table).all()


def test_rows_of_any_weight_count_as_rows():
    X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, np.nan], [4.0, np.nan]])
    with pytest.raises(DataError, match=r"two known cells of 4: column 1 \(1\)"):
        fill_table(X, np.full(4, 0.5), Request(1, fill="em"))
    X[1, 1] = 3.0
    assert fill_table(X, np.full(4, 0.5), Request(1, fill="em"))[2].cells == 2


def test_weighted_squares_may_reach_the_limit_but_not_exceed_it():
    """The largest value times the root of the sum of the weights is 1e150."""
    X = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, np.nan], [0.0, -0.5]]) * (1e150 / 2.0**67)
    weights, request = np.full(4, 2.0**132), Request(1, fill="nipals")
    assert fill_table(X, weights, request)[2].converged
    with pytest.raises(DataError, match="sums weighted squares, which overflow"):
        fill_table((1 + EPS) * X, weights, request)


def test_the_shrinkage_is_that_of_the_paper():
    """By hand: n = 6, p = 4, k = 1, singular values squared 20, 3, 2, 1."""
    squares = np.array([20.0, 3.0, 2.0, 1.0])
    noise = 6 * 4 / 4 * 6 / ((5 - 1) * (4 - 1))  # np/min(p, n−1) times RSS per degree of freedom
    factors = shrinkage(squares, 6.0, 1, 6, 4, centred=True)
    np.testing.assert_allclose(factors, 1 - noise / 20, rtol=1e-15)
    # It is bounded by the next singular value.
    np.testing.assert_allclose(
        shrinkage(np.array([20.0, 0.1, 0.01]), 60.0, 1, 6, 4, centred=True), 1 - 0.1 / 20
    )
    assert shrinkage(np.array([2.0, 0.0]), 0.0, 2, 6, 4, centred=True).tolist() == [1.0, 0.0]
    assert shrinkage(squares, 0.0, 4, 6, 4, centred=True).tolist() == [1.0] * 4
    assert len(shrinkage(squares, 6.0, 0, 6, 4, centred=True)) == 0
    # Nothing is known of the noise if there are fewer rows than components.
    assert shrinkage(squares, 6.0, 2, 1.5, 3, centred=False).tolist() == [1.0, 1.0]
    # One degree of freedom is enough, and the unit of the squares does not matter.
    for unit in (1.0, 2.0**-10):
        factors = shrinkage(unit * np.array([8.0, 4.0]), unit / 16, 2, 4, 3, centred=True)
        assert factors.tolist() == [1 - 2.0**-5, 1 - 2.0**-4]


def test_the_shrinkage_of_huge_weights():
    """Products of the sum of weights and of squares that contain it may overflow."""
    squares = np.array([8.0, 4.0, 2.0])
    expected = shrinkage(squares, 6.0, 1, 2.0**60, 3, centred=False)
    found = shrinkage(squares * 2.0**620, 6.0 * 2.0**620, 1, 2.0**410, 3, centred=False)
    assert found.tolist() == expected.tolist() == [1 - 3 / 8]


def test_the_objective_of_an_exact_fit_is_not_negative(rng):
    """It is a difference of equal sums, and rounding gives it either sign."""
    objectives = []
    for _ in range(20):
        X = np.outer(rng.standard_normal(12), rng.standard_normal(4))
        _, missing = with_missing_cells(X, 0.2, rng)
        found = fill_by_em(X, missing, None, 1, divisor_of=no_scaling, centred=False)
        objectives.append(found.objective / np.vdot(X, X))
    assert 0.0 <= min(objectives) <= max(objectives) <= ROUNDING


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_that_of_the_known_cells_and_the_change_that_of_the_others(
    weighted, rng, monkeypatch
):
    """Also before convergence, when the filled cells still have residuals."""
    monkeypatch.setattr(methods, "MAX_ITERATIONS", 1)
    X, missing = with_missing_cells(low_rank(rng), 0.2, rng)
    weights = rng.random(len(X)) + 0.5 if weighted else None
    table, _ = first_guess(X, missing, weights)
    sizes = fit_by_svd(table, 2, weights)[1]
    rows = len(X) if weights is None else weights.sum()
    factors = shrinkage(sizes, sizes[2:].sum(), 2, rows, 8, centred=True)
    mean, fit = np.average(table, 0, weights), fit_by_svd(table, 2, weights, factors)[0]
    residuals, change = np.where(missing, 0.0, table - fit), np.abs(fit - table)[missing].max()
    found = fill_by_em(table, missing, weights, 2, divisor_of=no_scaling, centred=True)
    expected = (np.ones(len(X)) if weights is None else weights) @ (residuals**2).sum(axis=1)
    assert found.objective == pytest.approx(expected, rel=1e-10)
    mean_square = np.average(((table - mean) ** 2).mean(axis=1), weights=weights)
    assert found.change == pytest.approx(change / np.sqrt(mean_square), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_more_step_changes_no_cell_by_more_than_the_tolerance(weighted, rng):
    """Relative to the root mean square of the table, whose cells converge slowly."""
    X, missing = with_missing_cells(low_rank(rng, n=200, p=40, noise=2.0), 0.4, rng)
    weights = rng.uniform(0.5, 2.0, 200) if weighted else None
    table, _ = first_guess(X, missing, weights)
    options = {"divisor_of": no_scaling, "centred": True}
    assert fill_by_em(table, missing, weights, 2, **options).iterations > 50
    step = fit_components(table, weights, 2, incomplete=np.arange(200), **options)
    mean_square = np.average(((table - step.mean) ** 2).mean(axis=1), weights=weights)
    changes = (step.fit - table)[missing]
    assert np.abs(changes).max() <= methods.TOLERANCE * np.sqrt(mean_square)


def test_rows_are_filled_in_parts_that_take_little_memory(rng):
    """Each row needs a k × k matrix of its own."""
    n, p = 6000, 40
    model = PCA(p - 1).fit(rng.standard_normal((300, p)))
    rows, _ = with_missing_cells(rng.standard_normal((n, p)), 0.3, rng)
    tracemalloc.start()
    try:
        filled = fill_new_rows(rows, model._result, "em")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(filled).all()
    assert peak < n * (p - 1) ** 2 * 8


@pytest.mark.parametrize("shape", [(60, 8), (12, 30)])
def test_filled_cells_have_the_unit_of_the_table(shape, rng):
    X, missing = with_missing_cells(low_rank(rng, *shape, k=1), 0.2, rng)
    table = fill_table(X, None, Request(1, fill="em"))[0]
    small = fill_table(2.0**-20 * X, None, Request(1, fill="em"))[0]
    np.testing.assert_allclose(2.0**20 * small[missing], table[missing], rtol=1e-12)


@pytest.mark.parametrize("method", ["em", "nipals"])
def test_the_units_of_scaled_columns_do_not_count(method, rng):
    X, _ = with_missing_cells(low_rank(rng), 0.2, rng)
    units, request = 2.0 ** np.arange(-12, 12, 3), Request(2, scale="unit", fill=method)
    table, _, filled, _ = fill_table(X, None, request)
    other, _, of_other, _ = fill_table(X * units, None, request)
    np.testing.assert_allclose(other / units, table, rtol=1e-12)
    assert of_other.iterations == filled.iterations


def test_a_cell_of_a_constant_column_does_not_change():
    X = np.c_[np.arange(6.0), np.full(6, 2.0)]
    X[3, 1] = np.nan
    table, _, filled, _ = fill_table(X, None, Request(1, fill="em"))
    assert (filled.iterations, filled.converged, filled.change) == (1, True, 0.0)
    assert (table[:, 1] == 2.0).all()


def test_slow_changes_that_would_add_up_have_not_converged():
    """At a rate of 0.9, nine times the last change is still to come."""
    assert has_converged(0.1 * methods.TOLERANCE, methods.TOLERANCE / 9)
    assert not has_converged(0.2 * methods.TOLERANCE, 2 * methods.TOLERANCE / 9)
    assert not has_converged(0.1 * methods.TOLERANCE, 0.1 * methods.TOLERANCE)
    assert not has_converged(0.1 * methods.TOLERANCE, 0.06 * methods.TOLERANCE)
    assert has_converged(methods.TOLERANCE, 1.0)


@pytest.mark.parametrize("shape", [(60, 8), (12, 30), (20, 20)])
@pytest.mark.parametrize("method", ["em", "nipals"])
def test_a_table_of_exact_rank_is_recovered(method, shape, rng):
    truth = low_rank(rng, *shape, k=1, noise=0.0)
    X, missing = with_missing_cells(truth, 0.1, rng)
    table, _, filled, _ = fill_table(X, None, Request(1, center=method == "em", fill=method))
    # The means of NIPALS are those of the known cells, so its table is not centred.
    if method == "nipals":
        low = np.outer(orthonormal(shape[0], 1, rng), orthonormal(shape[1], 1, rng)) * 50
        X = np.where(missing, np.nan, low)
        table, _, filled, _ = fill_table(X, None, Request(1, center=False, fill=method))
        truth = low
    assert filled.converged
    np.testing.assert_allclose(table, truth, atol=1e-5)


def test_the_ridge_reduces_the_error_of_filled_cells(rng):
    with_ridge = without = 0.0
    for _ in range(6):
        truth = low_rank(rng, 40, 8, 3, noise=2.5)
        X, missing = with_missing_cells(truth, 0.3, rng)
        table, _ = first_guess(X, missing)
        plain = table.copy()
        for _ in range(300):
            plain[missing] = fit_by_svd(plain, 3)[0][missing]
        fill_by_em(table, missing, None, 3, divisor_of=no_scaling, centred=True)
        with_ridge += np.sum((table - truth)[missing] ** 2)
        without += np.sum((plain - truth)[missing] ** 2)
    assert with_ridge < 0.9 * without


@pytest.mark.parametrize("method", ["em", "nipals"])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_integer_weights_equal_repeated_rows(method, scale, rng):
    X, missing = with_missing_cells(low_rank(rng, 30), 0.2, rng)
    weights = rng.integers(0, 4, len(X))
    table, _, filled, _ = fill_table(X, weights.astype(float), Request(2, scale=scale, fill=method))
    repeated, _, other, _ = fill_table(
        np.repeat(X, weights, axis=0), None, Request(2, scale=scale, fill=method)
    )
    used = weights > 0
    # NIPALS scales by the known cells, which are counted by weight.
    tol = 1e-6
    np.testing.assert_allclose(np.repeat(table, weights, axis=0), repeated, atol=tol)
    assert filled.cells == missing[used].sum()
    assert other.objective == pytest.approx(filled.objective, rel=1e-6)
    assert np.isfinite(table).all()


@pytest.mark.parametrize("method", ["em", "nipals"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("p", [3, 40])
def test_more_components_than_rows_with_weight(method, p, seed):
    rows = np.random.default_rng(seed).standard_normal((7, p))
    rows[0, 1] = rows[3, 2] = np.nan
    rows[6] = np.nan
    weights = np.array([3.0, 0, 4, 2, 0, 2, 1])
    used = [0, 2, 3, 5]
    model = PCA(min(6, p), missing=method).fit(rows, sample_weight=weights)
    fewer = PCA(min(4, p), missing=method).fit(rows[used], sample_weight=weights[used])
    m = fewer.n_components_
    bound = 1e-10 * fewer.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_[:m], fewer.explained_variance_, rtol=0, atol=bound
    )
    assert model.explained_variance_[m:].max(initial=0.0) <= bound


def test_zero_components_fill_with_means(rng):
    X, missing = with_missing_cells(low_rank(rng), 0.2, rng)
    for method in ("em", "nipals"):
        table, _, _, _ = fill_table(X, None, Request(0, fill=method))
        np.testing.assert_allclose(table[missing], first_guess(X, missing)[0][missing], atol=1e-7)
        assert (fill_table(X, None, Request(0, center=False, fill=method))[0][missing] == 0).all()


def test_a_table_that_needs_no_component_has_converged(rng):
    X, _ = with_missing_cells(low_rank(rng), 0.2, rng)
    filled = fill_table(X, None, Request(0, fill="nipals"))[2]
    assert (filled.iterations, filled.converged, filled.change) == (0, True, 0.0)


def test_a_table_without_any_spread_has_converged():
    table, missing = np.ones((6, 3)), np.zeros((6, 3), dtype=bool)
    missing[[0, 3], [1, 2]] = True
    found = fill_by_em(table, missing, None, 1, divisor_of=no_scaling, centred=True)
    assert (found.iterations, found.converged, found.change) == (1, True, 0.0)
    assert (table == 1.0).all()


@pytest.mark.parametrize(("method", "iterations"), [("em", 3), ("nipals", 6)])
def test_missing_convergence_is_reported(method, iterations, rng, monkeypatch):
    monkeypatch.setattr(methods, "MAX_ITERATIONS", 3)
    X, _ = with_missing_cells(low_rank(rng), 0.2, rng)
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="NOT CONVERGED"):
        _, _, filled, _ = fill_table(X, None, Request(2, fill=method))
    assert not filled.converged
    assert filled.iterations == iterations


def test_sparse_rows_without_missing_cells_stay_sparse(rng):
    rows = sp.random_array((20, 3), density=0.5, rng=rng, format="csr")
    found, _, filled, left_out = fill_table(rows, None, Request(1, fill="em"))
    assert found is rows
    assert (filled.cells, left_out) == (0, 0)


@pytest.mark.parametrize("method", ["em", "nipals"])
def test_rows_on_an_engine_are_not_filled(method):
    with pytest.raises(ParameterError, match="and these are on partitions") as caught:
        PCA(1, missing=method).fit(partitions([np.eye(3)]))
    assert caught.value.place == {"parameter": "missing"}


def test_the_advice_for_column_means_is_true():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [6.0, 5.0]])
    with pytest.raises(ParameterError, match="missing='mean' is not valid") as caught:
        PCA(1, missing="mean").fit(X)
    code = caught.value.hint.partition("; ")[2].removesuffix(" fills cells with the column means")
    np.testing.assert_allclose(eval(code, {"X": X, "PCA": PCA}), np.where(X != X, 4.0, X))


@pytest.mark.parametrize("method", ["em", "nipals"])
def test_absent_columns_can_be_left_empty(method):
    pd = pytest.importorskip("pandas")
    rows = np.random.default_rng(4).standard_normal((30, 4))
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    model, X = PCA(1, missing=method).fit(frame), frame[["a", "c"]]
    for call in (model.transform, model.impute, partial(diagnostics.distances, model, level=0.9)):
        with pytest.raises(ColumnError) as caught:
            call(X)
        code = caught.value.hint.partition("leave the absent ones empty: ")[2]
        assert len(call(eval(code, {"X": X, "model": model}))) == 30
    for refusing, other in ((PCA(1).fit(frame), X), (model, X.rename(columns={"c": "C"}))):
        with pytest.raises(ColumnError) as caught:
            refusing.transform(other)
        assert "reindex" not in caught.value.hint
