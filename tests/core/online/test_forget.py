"""forget: rows are removed, and the certificate includes the precision lost."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from online_cases import (
    PCAWithDtype,
    assert_close,
    assert_close_to_svd,
    assert_same_bits,
    bits,
    fit_in_batches,
    with_value,
)
from sklearn.exceptions import NotFittedError

import princomp
from helpers import EPS, sine, truth
from princomp import PCA, Moments
from princomp.errors import (
    NotAvailableError,
    NotFiniteError,
    ShapeError,
)
from princomp.summaries import SketchOf

# ---- forget -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_is_the_inverse_of_adding(solver, weighted, table, rng):
    weights = rng.integers(1, 4, 200) * 1.0 if weighted else None
    part_weights = (None, None) if weights is None else (weights[:70], weights[70:])
    for kind in (np.asarray, sp.csr_array):
        model = PCA(svd_solver=solver).fit(kind(table), sample_weight=weights)
        assert model.forget(kind(table[:70]), sample_weight=part_weights[0]) is model
        rest = PCAWithDtype(svd_solver=solver).fit(table[70:], sample_weight=part_weights[1])
        assert_close_to_svd(rest, table[70:], weights=part_weights[1])
        # The remainder has the rounding of all rows: about 200/130 of its own.
        assert_close(model, rest)
        assert model.n_samples_ == 130
        # And back again.
        model.partial_fit(kind(table[:70]), sample_weight=part_weights[0])
        assert_close(model, PCA(svd_solver=solver).fit(table, sample_weight=weights))


def test_the_remainder_has_the_rounding_of_all_rows(table):
    """The error is u times the larger scatter: large rows that are removed leave their rounding."""
    for factor in (1.0, 1e3, 1e6):
        model = PCA().fit(np.vstack([factor * table[:100], table[100:]]))
        model.forget(factor * table[:100])
        true = truth(table[100:])[0]
        # The trace of the scatter of all rows about their mean.
        earlier = truth(np.vstack([factor * table[:100], table[100:]]))[0].sum() * 199
        error = 16 * 205 * EPS * earlier / 99
        np.testing.assert_allclose(model.explained_variance_, true, rtol=0, atol=error)


def test_a_window_stays_accurate_over_thousands_of_steps(rng):
    """One row in and one row out, 3,000 times.

    A step rounds each entry of the scatter a few times (subtract, move to the mean; add, move),
    by eps/2 of √(Sᵢᵢ Sⱼⱼ) each. Roundings are unbiased, so m steps come to √m of one; 16 of
    them are allowed. A bias, which would come to m, would be 50 times that.
    """
    steps, window, p = 3000, 100, 4
    X = rng.standard_normal((steps + window, p)) * [3, 1, 0.5, 0.1] + [100, 0, -10, 1]
    model = PCA().partial_fit(X[:window])
    for at in range(steps):
        model.forget(X[at : at + 1]).partial_fit(X[at + window : at + window + 1])
        if at == 0:
            assert model.n_samples_ == window
    left = X[steps:]
    moved = left - left.mean(axis=0)
    true = moved.T @ moved
    size = np.sqrt(true.diagonal())
    allowed = 16 * (np.sqrt(steps) + window) * EPS
    assert (np.abs(model.summary_.scatter - true) <= allowed * np.outer(size, size)).all()
    np.testing.assert_allclose(model.mean_, left.mean(axis=0), rtol=0, atol=allowed * 100)
    variances, axes = truth(left)
    error = allowed * variances.sum()
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=0, atol=error)
    gaps = -np.diff(variances)
    assert sine(model.components_[:1], axes[:1]) <= error / gaps[0]
    assert model.n_samples_ == window
    assert model.summary_.count == window


@pytest.mark.parametrize("solver", ["auto", "sketch"])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_the_certificate_includes_the_error_of_forgetting(solver, scale):
    """Removed rows that are 10⁶ times larger leave rounding, which the certificate includes."""
    rng = np.random.default_rng(1)
    kept = rng.standard_normal((300, 5)) * [3, 2, 1, 0.5, 0.2]
    # Beyond 10⁵ the last column is lost in rounding, and scale='unit' refuses it as constant.
    for factor in (1.0, 1e3, 1e5 if scale else 1e6):
        for column in (slice(None), slice(1, 2)):
            removed = rng.standard_normal((1000, 5))
            removed[:, column] *= factor
            model = PCA(5, svd_solver=solver, scale=scale).partial_fit(np.vstack([kept, removed]))
            model.forget(removed)
            variances = truth(kept, divisor=kept.std(axis=0, ddof=1) if scale else None)[0]
            spectrum = model._result.spectrum
            error = np.abs(model.explained_variance_ - variances).max() / variances[0]
            # It counts units of the products; the sum of 1,300 of them loses √n at most, and a
            # sketch is divided by its core.
            assert error <= np.sqrt(1300) * spectrum.roundoff
            # And it claims no more than 40 + 2p units (`dense.py`) of the scatter before.
            growth = (np.vstack([kept, removed]).var(axis=0) / kept.var(axis=0)).max() * 1300 / 300
            assert spectrum.roundoff <= 50 * 2 * EPS * (1 + 2 * growth)
    # New rows dilute the loss.
    before = spectrum.roundoff
    assert model.partial_fit(kept)._result.spectrum.roundoff < before


def test_the_error_of_forgetting_is_saved(table, tmp_path):
    model = PCA().partial_fit(np.vstack([table, 1e4 * table])).forget(1e4 * table)
    model.save(tmp_path / "left.pca")
    loaded = princomp.load(tmp_path / "left.pca")
    assert_same_bits(loaded, model)
    assert loaded._result.spectrum.roundoff == model._result.spectrum.roundoff > 1e-8
    assert loaded.partial_fit(table[:9]).summary_.lost.tobytes() == model.summary_.lost.tobytes()


def test_rows_that_were_never_added_cannot_be_forgotten(table, rng):
    for model in (PCA().fit(table), PCA().partial_fit(table), PCA(missing="drop").fit(table)):
        before = bits(model)
        for rows, weights, match in (
            (np.vstack([table, table[:1]]), None, "cannot remove 201 rows from 200"),
            (table, 1.5, "cannot remove 300 rows"),
            (np.vstack([table, table[:1]]), 0.5, "cannot remove 201 rows from 200"),
            (table[:20] * [1, 1, 50, 1, 1], None, "spread further in column 2"),
        ):
            with pytest.raises(ShapeError, match=match):
                model.forget(rows, sample_weight=weights)
            assert bits(model) == before
        with pytest.raises(ShapeError, match="4 features"):
            model.forget(table[:, :4])
        assert bits(model) == before
    # An incomplete row that was never added.
    with pytest.raises(ShapeError, match="1 of the rows to remove have missing values, and 0"):
        model.forget(with_value(table, 4, np.nan)[:9])
    assert bits(model) == before
    with pytest.raises(NotFiniteError):
        PCA().fit(table).forget(with_value(table, 4, np.nan)[:9])


@pytest.mark.parametrize("solver", ["auto", "sketch"])
def test_as_many_rows_that_were_never_added_cannot_be_forgotten(table, solver):
    shifted, lowered = table.copy(), table.copy()
    shifted[:, 3] += 1e-4
    lowered[:, 3] -= 1e-4
    other = np.random.default_rng(99).standard_normal(table.shape)
    turned = table.copy()
    turned[0] *= 1 + 1e-6
    for rows in (shifted, lowered, other, turned):
        model = PCA(2, svd_solver=solver).partial_fit(table)
        before = bits(model)
        with pytest.raises(ShapeError, match=r"rows to remove (are not those|spread further)"):
            model.forget(rows)
        assert bits(model) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [0.0, 0.1, 1e6, 1e15, -1e6])
def test_all_rows_can_be_forgotten_in_any_order(dtype, mean):
    """Sums in another order differ by rounding; a constant column has no scatter but that."""
    rng = np.random.default_rng(17)
    rows = (mean + rng.standard_normal((3000, 6)) * 10.0 ** np.arange(-3, 3)).astype(dtype)
    rows[:, 2] = mean + 0.1
    model = PCA(2)
    for part in np.array_split(rows, 7):
        model.partial_fit(part)
    weighted = PCA(2).partial_fit(rows, sample_weight=np.arange(3000) % 7 / 3)
    order = rng.permutation(3000)
    assert not hasattr(model.forget(rows[order]), "mean_")
    assert not hasattr(weighted.forget(rows[order], sample_weight=order % 7 / 3), "mean_")


def test_dropped_rows_can_be_forgotten(table):
    X = with_value(with_value(table, 3, np.nan), 120, np.nan)
    model = PCA(missing="drop").partial_fit(X)
    assert (model.n_samples_, model.n_dropped_) == (198, 2)
    model.forget(X[:100])
    assert (model.n_samples_, model.n_dropped_) == (99, 1)
    assert_close(model, PCA(missing="drop").fit(X[100:]))


@pytest.mark.usefixtures("small_blocks")
def test_forgetting_all_rows_resets_the_model(table):
    model = fit_in_batches(PCA(), table, 9).forget(table)
    assert not hasattr(model, "mean_")
    assert model.n_features_in_ == 5
    assert_same_bits(fit_in_batches(model, table, 13), PCA().fit(table))
    # In other batches than they were added in.
    model = PCA().partial_fit(table)
    for start in (150, 0, 50, 100):
        model.forget(table[start : start + 50])
    with pytest.raises(NotAvailableError, match="got 0 so far"):
        _ = model.mean_
    assert_same_bits(model.partial_fit(table), PCA().fit(table))


@pytest.mark.parametrize("solver", ["covariance_eigh", "sketch"])
@pytest.mark.parametrize("size", [1.0, 1e12])
def test_all_rows_with_weights_can_be_forgotten_in_other_batches(solver, size, table):
    """Sums of weights round differently in other batches; the rows left must be exactly none."""
    for seed in range(20):
        weights = size * (np.random.default_rng(seed).random(200) + 1e-3)
        model = PCA(2, svd_solver=solver).partial_fit(table, sample_weight=weights)
        for part in np.split(np.random.default_rng(seed).permutation(200), [60, 190, 199]):
            model.forget(table[part], sample_weight=weights[part])
        assert model._fitted.summary.rows == model._fitted.summary.count == 0
        assert_same_bits(model.partial_fit(table), PCA(2, svd_solver=solver).partial_fit(table))


@pytest.mark.parametrize("solver", ["covariance_eigh", "sketch"])
def test_weights_can_be_forgotten_in_parts(solver, table):
    """As long as weight remains, so do rows; how many is not known from the weights."""
    threefold = PCA(2, svd_solver=solver).partial_fit(table, sample_weight=np.full(200, 3.0))
    for parts in ([table], [table[:120], table[120:]]):
        model = copy.copy(threefold)
        for weight in (2.0, 1.0):
            for part in parts:
                model.forget(part)
            expected = PCA(2, svd_solver=solver).fit(table, sample_weight=np.full(200, weight))
            assert_close(model, expected)
            assert model.n_samples_ == 200
        with pytest.raises(ShapeError, match="cannot remove 400 rows from 200"):
            model.forget(table, sample_weight=np.full(200, 2.0))
        model.forget(table)
        assert model._fitted.n_samples == model._fitted.summary.count == 0
    model = PCA(2, svd_solver=solver).partial_fit(table)
    assert model.forget(table, sample_weight=np.full(200, 0.5)).n_samples_ == 200
    expected = PCA(2, svd_solver=solver).fit(table, sample_weight=np.full(200, 0.5))
    assert_close(model, expected)
    # Rows may be given more often than they were added.
    model = PCA(2, svd_solver=solver).partial_fit(table, sample_weight=np.full(200, 1.5))
    assert model.forget(np.vstack([table, table]), sample_weight=0.5).n_samples_ == 200
    assert_close(model, expected)


def test_models_that_cannot_forget(table):
    for options, match in (
        ({"svd_solver": "full"}, "triangle"),
        ({"scale": "range"}, "smallest and largest"),
        ({"decay": 0.9}, "weight of an old row"),
    ):
        model = PCA(**options).partial_fit(table)
        before = bits(model)
        with pytest.raises(NotAvailableError, match=match) as caught:
            model.forget(table[:3])
        assert caught.value.hint
        assert bits(model) == before
    with pytest.raises(NotFittedError):
        PCA().forget(table)


def test_rows_can_be_forgotten_after_the_parameter_that_forbids_it_has_changed(table):
    for options in ({"svd_solver": "full"}, {"scale": "range"}):
        model = PCA(**options).partial_fit(table).set_params(svd_solver="auto", scale="unit")
        assert_close(model.forget(table[:50]), PCA(scale="unit").fit(table[50:]))
        # A fit without ranges can be merged then, too.
        other = PCA().partial_fit(table[:50])
        model = PCA(**options).partial_fit(table[50:]).set_params(svd_solver="auto", scale="unit")
        assert_close(model.merge(other), PCA(scale="unit").fit(table))
    model = PCA().partial_fit(table[:50]).set_params(scale="range")
    model.merge(PCA(scale="range").partial_fit(table[50:]))
    with pytest.raises(NotAvailableError, match="not kept by this fit"):
        _ = model.components_


def test_a_single_row_can_be_forgotten(table):
    model = PCA().partial_fit(table[:1]).forget(table[:1])
    assert_same_bits(model.partial_fit(table), PCA().fit(table))


def test_an_empty_model_cannot_forget(table):
    model = PCA().partial_fit(table).forget(table)
    with pytest.raises(ShapeError, match="cannot remove"):
        model.forget(table[:1])


def test_a_column_left_constant_can_be_saved(tmp_path):
    """Its scatter is exactly zero, not a negative rounding error, which is invalid in a file."""
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((50, 3))
        X[10:, 1] = 0.1
        model = PCA().partial_fit(X).forget(X[:10])
        assert model.var_[1] >= 0
        model.save(tmp_path / "left.pca")
        princomp.load(tmp_path / "left.pca")


def test_a_small_column_left_constant_has_no_scatter(rng):
    """Bounds of its products are products of two small numbers, which underflow."""
    rows = np.c_[np.zeros(30), np.ldexp(rng.standard_normal((30, 2)), -490)]
    removed = np.ldexp(rng.standard_normal((20, 3)), -475)
    left = Moments.of(np.r_[rows, removed]).remove(Moments.of(removed))
    assert left.column_scatter[0] == 0.0
    assert (left.column_scatter[1:] > 0).all()


@pytest.mark.parametrize(("solver", "values"), [("covariance_eigh", 100_000), ("sketch", 2)])
def test_the_errors_of_means_count_where_few_rows_remain(solver, values):
    """Rows that are sorted or equal round the means one way, and few rows far away magnify that."""
    rng = np.random.default_rng(5)
    kept = 100.0 + 1e-3 * rng.standard_normal((4, 2)) * [1, 0.3]
    removed = rng.standard_normal((values, 2))
    removed = np.sort(removed, axis=0) if values > 2 else removed.repeat([25_000, 75_000], axis=0)
    model = PCA(2, svd_solver=solver).partial_fit(np.vstack([removed, kept])).forget(removed)
    spectrum, variances = model._result.spectrum, truth(kept)[0]
    error = np.abs(model.explained_variance_ - variances).max()
    assert error <= spectrum.roundoff * spectrum.largest


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)])
@pytest.mark.parametrize("p", [5, 200, 800])
def test_columns_left_constant_after_much_larger_rows(kind, p, rng):
    """Squares of equal rows are added to a larger sum: all roundings go in the same direction."""
    large, equal = 1e8 * rng.standard_normal((58, p)), np.ones((1200, p))
    both, part = kind.of(np.vstack([large, equal]), precise=True), kind.of(large, precise=True)
    assert not both.remove(part).column_scatter.any()


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)])
def test_few_rows_keep_variances_above_their_rounding_errors(kind, rng):
    """Sums of 70 rows are off by at most 70 units, though a chunk has room for 256."""
    large, rows = rng.standard_normal((35, 2)), 1.8e-7 * rng.standard_normal((35, 2))
    both, part = kind.of(np.vstack([large, rows])), kind.of(large)
    exact = ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
    assert (exact > 70 * EPS * both.column_scatter).all()
    left = both.remove(part).column_scatter
    np.testing.assert_allclose(left, exact, rtol=0, atol=70 * EPS * both.column_scatter.max())
    assert left.all()


def test_the_error_after_removing_rows_includes_that_of_their_mean(rng):
    """Few rows are left, far from the others: the error of the mean has a hundred times the weight.

    The removed rows have the unit roundoff of a coarse format, and their mean is off by 0.9 units.
    """
    X, unit = rng.standard_normal((1000, 3)), 1e-6
    X[-10:] = 100 + 10 * X[-10:]
    part = Moments.of(X[:-10])
    error = 0.9 * unit * np.sqrt(part.column_scatter / part.rows)
    part = replace(part, mean=part.mean + error, unit=unit)
    left, exact = Moments.of(X).remove(part), Moments.of(X[-10:])
    errors = np.abs(left.column_scatter - exact.column_scatter)
    assert (errors > 100 * unit * part.column_scatter).all()
    assert (errors <= left.lost).all()


def test_the_certificate_includes_columns_that_are_taken_for_constant():
    """They vary less than the removed rows may be rounded, but together with another column."""
    taken = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        kept = rng.standard_normal((40, 3)) * [1e-5, 1.8e-8, 1.8e-8]
        removed = rng.standard_normal((40, 3))
        left = Moments.of(np.vstack([kept, removed])).remove(Moments.of(removed))
        centred = kept - kept.mean(axis=0)
        error = np.linalg.norm(left.scatter - centred.T @ centred, 2)
        assert error <= left.lost.sum()
        taken += not left.column_scatter.all()
    assert taken


@pytest.mark.parametrize("kind", [Moments, SketchOf(4)])
def test_errors_of_removed_rows_count_where_no_mean_moves(kind, rng):
    """Rows and their mirror images have the mean zero."""
    half, large = rng.standard_normal((20, 2)), 1e6 * rng.standard_normal((500, 2))
    kept, removed = np.vstack([half, -half]), np.vstack([large, -large])
    left = kind.of(np.vstack([kept, removed])).remove(kind.of(removed))
    errors = np.abs(left.column_scatter - (kept**2).sum(axis=0))
    assert errors.any()
    # It counts units of the products; a sum of n of them loses n / 2 units at most.
    assert (errors <= (len(kept) + len(removed)) / 2 * left.lost).all()
