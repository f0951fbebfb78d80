"""Block Krylov for rows that are read in blocks, against the SVD of the rows."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from krylov_cases import RESIDUAL, Rows, check, dense

from helpers import EPS, EPS32, assert_orthonormal, sine, truth, with_singular_values
from princomp import PCA
from princomp.errors import NotFiniteError
from princomp.solvers import ImagesOf
from princomp.summaries import Columns

# ---- against the SVD ----------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    ("n", "p", "k"),
    [
        (300, 80, 5),
        (80, 300, 5),
        (80, 300, 79),
        (80, 300, 80),
        (300, 80, 80),
        (50, 50, 50),
        (50, 50, 49),
        (40, 200, 1),
        (33, 32, 7),
        (3, 2, 2),
        (2, 30, 2),
        (2, 2, 1),
        (5, 1, 1),
    ],
)
def test_variances_of_a_decaying_spectrum_are_those_of_the_svd(n, p, k, center, small_blocks, rng):
    rank = min(n - 1, p)
    X = with_singular_values(n, 10 * 0.8 ** np.arange(rank), rng, p=p)[0]
    X += rng.standard_normal(p)
    model, axes = check(X, k, center=center)
    # The angle of a single axis is at most its residual over the gap to the next variance.
    if k == 5 and center:
        gap = 0.8**8 * (1 - 0.64)
        assert sine(model.components_, axes[:5]) < 5 * RESIDUAL / gap


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 9, 12])
def test_repeated_variances_are_all_found(k, small_blocks, rng):
    sigma = [5, 5, 5, 5, 2, 2, 2, 1, 1, 1, 0.5, 0.1]
    X = with_singular_values(300, sigma, rng, p=60)[0]
    model, axes = check(X, k)
    if k == 4:
        assert sine(model.components_, axes[:4]) < 100 * EPS


@pytest.mark.parametrize("copies", [20, 60])
def test_more_equal_variances_than_a_block_is_wide_are_found(copies, small_blocks, rng):
    sigma = np.concatenate([np.full(copies, 3.0), np.full(10, 1.0)])
    X = with_singular_values(400, sigma, rng, p=100)[0]
    check(X, 5)
    check(X, copies)
    check(X, copies + 5)


@pytest.mark.parametrize("k", [3, 4, 5, 10, 60])
def test_components_beyond_the_rank_have_zero_variance(k, small_blocks, rng):
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 60))
    model, _ = check(X, k)
    assert (model.explained_variance_[4:] <= 60 * EPS * model.explained_variance_[0]).all()
    again = PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.components_[4:], again.components_[4:], atol=1e-8)


def test_as_many_components_as_rows_end_in_a_zero_variance(small_blocks, rng):
    X = rng.standard_normal((10, 50))
    model, _ = check(X, 10)
    assert model.explained_variance_[9] == 0.0


def test_constant_columns_get_no_weight_and_constant_rows_no_variance(small_blocks, rng):
    X = with_singular_values(200, 2.0 ** -np.arange(12), rng, p=60)[0]
    X[:, ::3] = 7.0
    model, _ = check(X, 6)
    assert (model.components_[:, ::3] == 0).all()
    constant = PCA(3, svd_solver="krylov").fit(Rows(np.full((20, 7), 3.0)))
    assert (constant.explained_variance_ == 0).all()
    assert (constant.total_variance_, constant.plan_.passes) == (0.0, 1)
    assert_orthonormal(constant.components_)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_memory_layout_of_the_rows_changes_no_bit(dtype, small_blocks, rng):
    X = rng.standard_normal((150, 90)).astype(dtype)
    wide = np.zeros((150, 180), dtype)
    wide[:, ::2] = X
    plain, *others = (
        PCA(5, svd_solver="krylov").fit(rows) for rows in (X, np.asfortranarray(X), wide[:, ::2])
    )
    for other in others:
        assert other.explained_variance_.tobytes() == plain.explained_variance_.tobytes()
        assert other.components_.tobytes() == plain.components_.tobytes()


def test_one_column_that_varies_next_to_many_that_do_not(small_blocks, rng):
    X = np.zeros((50, 40))
    X[:, 39] = rng.standard_normal(50)
    model, _ = check(X, 3)
    assert np.abs(model.components_[0, 39]) == pytest.approx(1, abs=10 * EPS)


@pytest.mark.parametrize("scale", ["unit", "range", "pareto", "given"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_scaling_weights_and_centring_combine(center, weighted, scale, small_blocks, rng):
    X = with_singular_values(300, 0.7 ** np.arange(20), rng, p=40)[0] * np.linspace(1, 9, 40) + 3
    X += 1e-3 * rng.standard_normal(X.shape)
    weights = rng.integers(0, 4, 300).astype(float) if weighted else None
    given = np.linspace(0.5, 2, 40) if scale == "given" else scale
    model, _ = check(X, 6, weights=weights, scale=given, center=center)
    used = np.repeat(X, weights.astype(int), axis=0) if weighted else X
    spread = {
        "unit": used.std(axis=0, ddof=1),
        "range": np.ptp(used, axis=0),
        "pareto": np.sqrt(used.std(axis=0, ddof=1)),
        "given": given,
    }[scale]
    if center:
        np.testing.assert_allclose(model.scale_, spread, rtol=300 * EPS)


@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": "unit"}], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_stay_sparse_and_are_multiplied_in_float64(options, dtype, small_blocks, rng):
    X = sp.random_array((400, 90), density=0.1, rng=rng, format="csr", dtype=dtype)
    weights = np.arange(400) % 3.0
    for row_weights in (None, weights):
        check(X, 6, weights=row_weights, **options)


def test_a_sparse_column_with_a_large_mean_does_not_cancel(small_blocks, rng):
    X = np.hstack(
        [
            sp.random_array((400, 50), density=0.1, rng=rng).toarray(),
            1e6 + rng.standard_normal((400, 3)),
        ]
    )
    check(sp.csr_array(X), 5)


def test_a_matrix_is_read_from_an_h5ad_file(tmp_path, small_blocks, rng):
    X = sp.random_array((500, 120), density=0.05, rng=rng, format="csr", dtype=np.float32)
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = X.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
    model = PCA(5, svd_solver="krylov").fit(path)
    variances, _ = truth(dense(X))
    np.testing.assert_allclose(model.explained_variance_, variances[:5], rtol=1e-12)
    assert model.components_.dtype == np.float32
    assert model.plan_.problem.stored == X.nnz


@pytest.mark.parametrize("mean", [0.0, 1e3])
def test_float32_rows_keep_their_precision(mean, small_blocks, rng):
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0] + mean
    # Products of float32 round to a unit each, and errors of n or p of them add up.
    tol = 20 * EPS32
    model, _ = check(X.astype(np.float32), 6, tol=tol, residual=tol)
    assert model.components_.dtype == np.float32
    assert model.explained_variance_.dtype == np.float64


@pytest.mark.parametrize("power", [-140, -100, -60, -22, 22])
@pytest.mark.parametrize("constant", [0, 30])
def test_float32_rows_of_any_magnitude_keep_their_variances(constant, power, rng):
    """Squares of numbers below 2⁻⁷⁵ vanish in float32, though the numbers themselves do not."""
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0].astype(np.float32)
    X[:, :constant] = 0.0
    scaled = np.ldexp(X, power)
    model = PCA(4, svd_solver="krylov").fit(scaled)
    variances, _ = truth(scaled.astype(np.float64))
    assert variances[0] > 0
    np.testing.assert_allclose(model.explained_variance_, variances[:4], rtol=20 * EPS32)


def test_small_float32_rows_can_be_sketched(rng):
    X = with_singular_values(300, [4, 2, 1], rng, p=20)[0]
    scaled = np.ldexp(X.astype(np.float32), -100)
    model = PCA(2, svd_solver="sketch").fit(scaled)
    variances, _ = truth(scaled.astype(np.float64))
    np.testing.assert_allclose(model.explained_variance_, variances[:2], rtol=1e-3)


def test_incomplete_rows_are_left_out_of_every_pass(small_blocks, rng):
    X = rng.standard_normal((300, 40))
    expected = PCA(3, svd_solver="krylov").fit(np.delete(X, [7, 250], axis=0))
    X[7, 3] = X[250] = np.nan
    for given in (X, Rows(X)):
        model = PCA(3, svd_solver="krylov", missing="drop").fit(given)
        assert model.n_dropped_ == 2
        found = model.explained_variance_
        np.testing.assert_allclose(found, expected.explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("power", [70, 110])
def test_large_float32_rows_do_not_overflow(power, small_blocks, rng):
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0]
    scaled = np.ldexp(X.astype(np.float32), power)
    model = PCA(4, svd_solver="krylov").fit(scaled)
    variances, _ = truth(scaled.astype(np.float64))
    np.testing.assert_allclose(model.explained_variance_, variances[:4], rtol=20 * EPS32)


@pytest.mark.parametrize("power", [-400, -300, 300, 400])
def test_float64_rows_of_any_magnitude_keep_their_variances(power, small_blocks, rng):
    X = with_singular_values(200, 0.5 ** np.arange(10), rng, p=30)[0]
    scaled = np.ldexp(X, power)
    plain, model = (PCA(4, svd_solver="krylov").fit(rows) for rows in (X, scaled))
    np.testing.assert_allclose(
        np.ldexp(model.explained_variance_, -2 * power), plain.explained_variance_, rtol=1e-12
    )
    assert sine(model.components_, plain.components_) < RESIDUAL / 0.5**8


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_located(value, small_blocks, rng):
    X = rng.standard_normal((200, 20))
    X[150, 3] = value
    for given in (X, Rows(X), sp.csr_array(X), Rows(sp.csr_array(X))):
        with pytest.raises(NotFiniteError) as caught:
            PCA(2, svd_solver="krylov").fit(given)
        assert caught.value.place["row"] == 150
        assert caught.value.place["column"] == 3


def test_one_block_is_multiplied_in_float64_if_asked(rng):
    X = rng.standard_normal((1000, 5)).astype(np.float32)
    kind = ImagesOf(np.eye(5, 2), Columns.of(X), None)
    added = kind.add(kind.empty(5), X, precise=True)
    np.testing.assert_array_equal(kind.of(X, precise=True).image, added.image)
    assert (added.rows, kind.of(X, np.full(1000, 0.25)).rows) == (1000.0, 250.0)
    assert (kind.of(X).image != added.image).any()
    np.testing.assert_array_equal(kind.of(X).image, kind.add(kind.empty(5), X).image)
