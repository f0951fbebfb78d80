"""Numerical accuracy: known spectra, large means, ties and extremes."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from helpers import (
    EPS,
    EPS32,
    assert_orthonormal,
    assert_sign_rule,
    centred,
    orthonormal,
    sine,
    truth,
    with_singular_values,
)
from princomp import PCA
from princomp.solvers import dense
from princomp.summaries import Moments

EXACT = ["auto", "full", "covariance_eigh", "row_gram", "lanczos"]
FULL_SPECTRUM = ["auto", "full", "covariance_eigh", "row_gram"]


def spectra(p):
    return {
        "even": np.linspace(1, EPS, p),
        "geometric": np.geomspace(1, EPS, p),
        "clustered at 1": np.r_[np.ones(p - 1), EPS],
        "clustered at eps": np.r_[1.0, np.full(p - 1, EPS)],
        "in three clusters": np.repeat([1.0, 1e-8, EPS], [p // 3, p // 3, p - 2 * (p // 3)]),
    }


@pytest.mark.parametrize("name", list(spectra(9)))
@pytest.mark.parametrize(("n", "p"), [(60, 12), (13, 12), (12, 30), (400, 60)])
def test_the_full_solver_meets_lapacks_ratios(name, n, p, rng):
    sigma = spectra(min(p, n - 1))[name]
    X, _ = with_singular_values(n, sigma, rng, p=p)
    rows = centred(X)
    model = PCA(svd_solver="full").fit(rows)
    V, s = model.components_, model.singular_values_
    scores = rows @ V.T
    size = np.linalg.norm(rows, 2)
    assert np.linalg.norm(rows - scores @ V, 2) / (size * max(n, p) * EPS) <= 30
    assert np.linalg.norm(np.eye(len(V)) - V @ V.T, 2) / (p * EPS) <= 30
    true = np.linalg.svd(rows, compute_uv=False)
    assert np.abs(s - true).max() <= 30 * p * EPS * true[0]
    assert_sign_rule(V)


@pytest.mark.parametrize("name", list(spectra(9)))
@pytest.mark.parametrize("solver", ["covariance_eigh", "row_gram"])
def test_covariance_solvers_flag_variances_below_resolution(name, solver, rng):
    n, p = (60, 12) if solver == "covariance_eigh" else (13, 30)
    X, _ = with_singular_values(n, spectra(12)[name], rng, p=p)
    true = truth(X)[0]
    model = PCA(12, svd_solver=solver).fit(X)
    off = np.abs(model.explained_variance_ - true[:12])
    assert off.max() <= 30 * p * EPS * true[0]
    noise = model.certificate_.below_resolution
    assert noise[off > 0.5 * true[:12]].all()
    assert not noise[true[:12] > 1e3 * p * EPS * true[0]].any()
    assert_orthonormal(model.components_)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", ["hilbert", "vandermonde"])
def test_ill_conditioned_tables_get_correct_singular_values_and_rank(name, center):
    if name == "hilbert":
        X = scipy.linalg.hilbert(12)
    else:
        X = np.vander(np.linspace(0, 1, 20), 10, increasing=True)
    n, p = X.shape
    with mpmath.workdps(60):
        exact = mpmath.matrix(X.tolist())
        if center:
            for j in range(p):
                mean = mpmath.fsum(exact[i, j] for i in range(n)) / n
                for i in range(n):
                    exact[i, j] -= mean
        sigma = np.array([float(s) for s in mpmath.svd_r(exact, compute_uv=False)])
    sigma = np.sort(sigma)[::-1]
    model = PCA(svd_solver="full", center=center).fit(X)
    assert np.abs(model.singular_values_ - sigma).max() <= 30 * p * EPS * sigma[0]
    noise = model.certificate_.below_resolution
    assert noise[sigma < 1e-2 * p * EPS * sigma[0]].all()
    assert not noise[sigma > 30 * p * EPS * sigma[0]].any()
    assert noise[-1] or not center  # the mean costs a rank


HADAMARD = scipy.linalg.hadamard(16)[:, 1:] * np.repeat([5.0, 3.0, 3.0, 1.0, 0.25], 3)


@pytest.mark.parametrize("solver", FULL_SPECTRUM)
def test_a_hadamard_design_with_scaled_columns(solver):
    model = PCA(15, svd_solver=solver).fit(HADAMARD)
    exact = np.repeat([25.0, 9.0, 1.0, 0.0625], [3, 6, 3, 3]) * 16 / 15
    if model.plan_.summary == "moments":
        # The scatter is a diagonal of integers: only the division by 15 rounds.
        np.testing.assert_allclose(model.explained_variance_, exact, rtol=EPS)
    else:
        # LAPACK errs by about p EPS σ₁ in a singular value, which is twice that in its square,
        # and by n EPS λ₁ in an eigenvalue of the n × n products of rows.
        bound = 2 * 15 * EPS * exact[0]
        np.testing.assert_allclose(model.explained_variance_, exact, rtol=0, atol=bound)
    at = 0
    for size in (3, 6, 3, 3):  # repeated variances are compared as subspaces
        plane = np.eye(15)[at : at + size]
        assert sine(model.components_[at : at + size], plane) <= 30 * 15 * EPS
        at += size
    pairs = {(i, i + 1) for i in range(14)} - {(2, 3), (8, 9), (11, 12)}
    assert set(model.certificate_.inseparable) == pairs


@pytest.mark.parametrize("solver", FULL_SPECTRUM)
def test_the_identity_has_equal_variances(solver):
    # LAPACK promises p units of the largest, times a small number.
    model = PCA(svd_solver=solver).fit(np.eye(6))
    np.testing.assert_allclose(model.explained_variance_[:5], 1 / 5, rtol=12 * EPS)
    assert model.explained_variance_[5] == 0
    assert sine(model.components_[5:], np.full((1, 6), 6**-0.5)) <= 30 * 6 * EPS
    assert_orthonormal(model.components_)
    plain = PCA(center=False, svd_solver=solver).fit(np.eye(6))
    np.testing.assert_allclose(plain.explained_variance_, 1 / 5, rtol=12 * EPS)
    assert plain.certificate_.inseparable == [(i, i + 1) for i in range(5)]
    assert (PCA.from_covariance(np.eye(6)).explained_variance_ == 1).all()


def test_equal_variances_that_are_both_left_out_are_not_reported():
    found = PCA.from_covariance(np.diag([9.0, 4, 1, 1]), n_components=2).certificate_
    assert found.inseparable == []
    found = PCA.from_covariance(np.diag([9.0, 4, 4, 1]), n_components=2).certificate_
    assert found.inseparable == [(1, 2)]


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize(
    ("m", "dtype"), [(m, np.float32) for m in (0, 1, 10, 1e3, 1e5)] + [(1e15, np.float64)]
)
def test_two_rows_differing_by_one_on_a_large_mean(m, dtype, solver):
    X = np.array([[m + 1, m], [m, m + 1]], dtype=dtype)
    model = PCA(1, svd_solver=solver).fit(X)
    unit = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(model.explained_variance_, [1.0], rtol=30 * unit)
    axis = np.array([[0.5**0.5, -(0.5**0.5)]])
    found = model.components_ * np.sign(model.components_[0, 0])
    np.testing.assert_allclose(found, axis, rtol=30 * unit)
    scores = model.transform(X) * np.sign(model.components_[0, 0])
    np.testing.assert_allclose(scores, axis.T, rtol=30 * unit)
    assert (model.mean_ == m + 0.5).all()


# ---- large means ------------------------------------------------------------------------


def test_a_million_rows_of_tiny_spread_on_a_large_mean():
    """Spark's old formula gives −0.0027 for a variance of 8e-11 (SPARK-26158)."""
    rng = np.random.default_rng(26158)
    X = np.column_stack([rng.normal(1e5, 9e-6, 10**6), rng.normal(2e5, 2e-6, 10**6)])
    model = PCA().fit(X)
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0], rtol=1e-10)
    np.testing.assert_allclose(model.var_, centred(X).var(axis=0, ddof=1), rtol=1e-10)
    assert (model.explained_variance_ > 0).all()


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "lanczos"])
def test_a_mean_of_two_to_the_thirty_changes_nothing(solver, rng):
    X = rng.integers(-(2**21), 2**21, (500, 6)) * np.array([1, 2, 1, 0.5, 0.25, 0.125])
    X = np.round(X) * 2.0**-20
    moved = X + 2.0**30
    assert (moved - 2.0**30 == X).all()
    near, far = PCA(5, svd_solver=solver).fit(X), PCA(5, svd_solver=solver).fit(moved)
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(far.components_, near.components_, rtol=0, atol=1e-12)
    scores = near.transform(X)
    np.testing.assert_allclose(far.transform(moved), scores, rtol=0, atol=1e-12)
    back = far.truncated(5).inverse_transform(scores)
    np.testing.assert_allclose(back - 2.0**30, near.inverse_transform(scores), atol=2.0**-22)


@pytest.mark.parametrize("solver", ["auto", "lanczos", "krylov"])
def test_squares_of_a_mean_may_overflow(solver, rng):
    X = rng.standard_normal((30, 6)) * 1e143 + 1e155
    dense, sparse = (PCA(2, svd_solver=solver).fit(rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), rtol=1e-10)


def drifting(m, seed, dtype):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((2000, 20)) * np.linspace(1, 0.1, 20) + m).astype(dtype)


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("dtype", "m", "allowed"),
    [(np.float64, m, 1e-9) for m in (0, 1e2, 1e4, 1e6, 1e8)]
    + [(np.float32, m, 1e-4) for m in (0, 1e2, 1e3, 1e4)],
)
def test_large_means_do_not_cost_variance_digits(dtype, m, allowed, seed, k):
    X = drifting(m, seed, dtype)
    true = truth(X)[0][:k]
    found = PCA(k).fit(X).explained_variance_
    assert np.abs(found / true - 1).max() <= allowed


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "lanczos", "randomized"])
def test_transform_centres_before_it_projects(solver):
    """scikit-learn's XVᵀ − μVᵀ is 5e-3 off in float32 at a mean of 1e4."""
    X = drifting(1e4, 0, np.float32)
    model = PCA(5, svd_solver=solver, random_state=0)
    scores = model.fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), scores)
    wanted = centred(X) @ model.components_.T.astype(float)
    assert np.abs(scores - wanted).max() <= 30 * 20 * EPS32 * np.abs(wanted).max()


def test_means_of_float32_columns_do_not_drift():
    X = (np.random.default_rng(0).random((10**6, 2)) + 1000).astype(np.float32)
    model = PCA().fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0], rtol=1e-4)


def test_twenty_million_float32_ones_have_the_mean_one():
    model = PCA().fit(np.ones((20_000_000, 2), dtype=np.float32))
    assert (model.mean_ == 1).all()
    assert (model.explained_variance_ == 0).all()


@pytest.mark.parametrize("period", [2, 64, 2**13, 3 * 2**10])
@pytest.mark.parametrize(("noise", "dtype"), [(0.1, "f4"), (1e-6, "f8")])
def test_periodic_marker_rows_leave_both_variances_correct(period, noise, dtype):
    n = 2**19
    marker = np.zeros(n)
    marker[::period] = 100 * np.pi
    normal = np.random.default_rng(0).standard_normal(n)
    X = np.c_[marker, 1.1 * marker + noise * marker.std() * normal].astype(dtype)
    centred = X.astype(np.longdouble) - X.mean(axis=0, dtype=np.longdouble)
    (a, b), (_, c) = centred.T @ centred / (n - 1)
    first = (a + c + np.sqrt((a - c) ** 2 + 4 * b * b)) / 2
    centred[:, 1] -= 1.1 * centred[:, 0]  # the determinant stays, and its terms no longer cancel
    (a, b), (_, c) = centred.T @ centred / (n - 1)
    true = np.array([first, (a * c - b * b) / first], dtype=float)
    single = dtype == "f4"
    for model in (PCA(), PCA(svd_solver="covariance_eigh")):
        model.fit(X)
        # What solvers/dense.py allows: 40 units of float32 and two more, 64 of float64 and a block.
        allowed = 44 * EPS32 if single else 65 * EPS
        assert (np.abs(model.explained_variance_ - true) <= allowed * true[0]).all()
        if model.svd_solver == "auto":  # which continues with the triangle
            # The root of the first variance is 2.3 / noise times that of the second.
            rtol = 44 * EPS32 * (2.3 / noise) ** 2 if single else 130 * EPS * 2.3 / noise
            np.testing.assert_allclose(model.explained_variance_, true, rtol=rtol)


# ---- what a route can resolve -------------------------------------------------------------


def test_a_tiny_gap_is_inseparable_with_the_correct_plane(rng):
    variances = np.array([4.0, 1.0, 1.0 - 1e-12, 0.25, 0.1])
    X, axes = with_singular_values(300, np.sqrt(variances), rng, p=8)
    for solver in EXACT:
        model = PCA(4, svd_solver=solver).fit(X)
        assert (1, 2) in model.certificate_.inseparable
        assert (0, 1) not in model.certificate_.inseparable
        assert sine(model.components_[1:3], axes[1:3]) <= 1e-13
        assert sine(model.components_[:1], axes[:1]) <= 1e-13


def test_k_that_cuts_a_tie_is_reported_and_reproducible(rng):
    X, axes = with_singular_values(300, np.array([2.0, 1.0, 1.0, 0.5]), rng, p=8)
    for solver in EXACT:
        fits = [PCA(2, svd_solver=solver).fit(X) for _ in range(2)]
        assert fits[0].components_.tobytes() == fits[1].components_.tobytes()
        assert sine(fits[0].components_, axes[:3]) <= 1e-13
        if solver != "lanczos":  # which computes no variance beyond the second
            assert fits[0].certificate_.inseparable == [(1, 2)]
    assert sine(PCA(2).fit(X).truncated(3).components_, axes[:3]) <= 1e-13


def test_a_linearly_dependent_column_is_below_resolution(rng):
    X = rng.standard_normal((200, 9))
    X = np.column_stack([X, X.mean(axis=1)])
    for solver in FULL_SPECTRUM:
        model = PCA(10, svd_solver=solver).fit(X)
        assert model.certificate_.below_resolution.tolist() == [False] * 9 + [True]
        np.testing.assert_allclose(model.explained_variance_[:9], truth(X)[0][:9], rtol=1e-12)


@pytest.mark.parametrize("solver", EXACT)
def test_variances_of_constant_rows_are_below_resolution(solver):
    """The resolution is zero, too: nothing was rounded."""
    model = PCA(2, svd_solver=solver).fit(np.ones((5, 3)))
    assert model.certificate_.below_resolution.all()


def test_six_rows_have_at_most_five_components_with_variance(rng):
    X = rng.standard_normal((6, 10_000)) + 3
    gram, full = (PCA(svd_solver=s).fit(X) for s in ("row_gram", "full"))
    for model in (gram, full):
        assert (model.explained_variance_ > 0).tolist() == [True] * 5 + [False]
        assert_orthonormal(model.components_)
    np.testing.assert_allclose(gram.explained_variance_, full.explained_variance_, rtol=1e-12)
    assert sine(gram.components_[:5], full.components_[:5]) <= 1e-12
    X = X[:, :400]
    gram, scatter = (PCA(svd_solver=s).fit(X) for s in ("row_gram", "covariance_eigh"))
    np.testing.assert_allclose(gram.explained_variance_, scatter.explained_variance_, rtol=1e-12)
    assert sine(gram.components_[:5], scatter.components_[:5]) <= 1e-12


def test_float32_spectra_over_six_decades_keep_their_digits(rng):
    """scikit-learn's default is 50% off at 1e-4 of the first singular value."""
    X = with_singular_values(2000, np.logspace(0, -6, 25), rng)[0].astype(np.float32)
    true = truth(X)[0]
    off = np.abs(PCA().fit(X).explained_variance_ - true)
    assert (off <= 30 * 25 * EPS * true[0]).all()
    assert off[np.sqrt(true / true[0]) > 0.9e-4].max() <= 1e-5 * true[0] * 1e-8


def test_auto_keeps_the_digits_that_squaring_would_lose(rng):
    sigma = np.geomspace(1, 1e-11, 12)
    X = with_singular_values(500, sigma, rng)[0]
    true = np.linalg.svd(centred(X), compute_uv=False)
    np.testing.assert_allclose(PCA().fit(X).singular_values_, true, rtol=1e-3)
    noise = PCA(svd_solver="covariance_eigh").fit(X).certificate_.below_resolution
    assert noise[sigma < 1e-8].all()


def test_one_component_of_noise_is_found_under_auto():
    """scikit-learn's default switches to randomized here and reaches a cosine of .75 to .87."""
    X = np.random.default_rng(0).standard_normal((700, 600))
    axis = truth(X)[1][0]
    assert abs(PCA(1).fit(X).components_[0] @ axis) >= 1 - 1e-9


# ---- approximate solvers --------------------------------------------------------------


def test_randomized_reports_the_residual_of_a_flat_spectrum(rng):
    X = orthonormal(400, 120, rng, against_ones=True) * np.linspace(1, 0.97, 120)
    model = PCA(5, svd_solver="randomized", iterated_power=0, random_state=0).fit(X)
    rows, V = centred(X), model.components_
    true = np.linalg.norm(rows.T @ (rows @ V.T) / 399 - V.T * model.explained_variance_, axis=0)
    true /= model.explained_variance_[0]
    np.testing.assert_allclose(model.certificate_.residuals, true, rtol=1e-6)
    assert model.certificate_.residuals.max() > 1e-3
    assert PCA(5).fit(X).certificate_.residuals.max() < 1e-12


@pytest.mark.parametrize("seed", range(24))
def test_float32_products_stay_within_the_reported_bound(seed):
    """Also where rounding errors do not cancel: columns of two or three values, repeated rows."""
    rng = np.random.default_rng([31, seed])
    n, p = int(rng.choice([300, 3000])), int(rng.choice([3, 8, 20, 60, 200]))
    X = (
        lambda: np.outer(rng.integers(0, 3, n), rng.standard_normal(p)),
        lambda: rng.integers(0, 2, (n, p)) * np.logspace(0, -3, p),
        lambda: (rng.random((n, p)) < 0.02) * 1.0,
        lambda: np.repeat(rng.standard_normal((2, p)) * 100, n // 2, axis=0) + 1e4,
        lambda: rng.standard_normal((n, p)) + 5 * rng.standard_normal((n, 3)) @ np.ones((3, p)),
        lambda: rng.standard_normal((n, p)) + 3,
    )[seed % 6]().astype(np.float32)
    single, double = Moments.of(X), Moments.of(X.astype(np.float64))
    values = np.linalg.eigvalsh(double.scatter)
    away = np.linalg.norm(single.scatter - double.scatter, 2) / values[-1]
    spectrum = dense.solve_moments(single)
    assert away <= spectrum.roundoff
    # Where few directions dominate, the promised bound is below p units.
    few = values.sum() < 4 * values[-1]
    assert not few or spectrum.roundoff <= 48 * EPS32 * 1.001
