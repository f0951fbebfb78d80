"""Inputs that once gave a wrong answer with a clean certificate, reduced as far as was found.

Each function takes a folder for files and returns a Fit, which a test compares with its claims.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp
from kernel_oracle import Kernel
from kernel_route_cases import check_exact
from oracle import LONG
from robust_cases import check_robust, fit_with_steps
from runs import Fit

from princomp import PCA, KernelPCA
from princomp.errors import PrincompError


def _normal(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def _of_spectrum(n, sigma, p=None):
    """Rows (n, p) with mean zero and these singular values."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((n, len(sigma)))
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.standard_normal((p or len(sigma), len(sigma))))[0]
    return (left * sigma) @ right.T


def _must_not_be_refused(rows, call):
    """The Fit of a call that must not be refused."""
    try:
        model = call()
        _ = model.explained_variance_
    except PrincompError as error:
        return Fit(None, rows, None, f"{type(error).__name__}: {error}")
    return Fit(model, rows, None)


# ---- one model overwrites another -------------------------------------------------------


def rows_that_wait_after_another_model_went(folder):
    A, B = _normal(50, 4, 0), _normal(30, 4, 1)
    model = PCA(2).partial_fit(A).partial_fit(sp.csr_array(B))
    PCA(2).partial_fit(1e3 * _normal(30, 4, 2))
    return Fit(model, np.concatenate([A, B]), None)


# ---- copies of a repeated eigenvalue ----------------------------------------------------

_THREE_LEVELS = np.repeat([10.0, 7.0, 1.0], [40, 40, 560])
_CLOSE_LEVELS = np.sqrt(np.repeat([100.0, 99.0, 1.0], [40, 40, 560]))


def copies_in_a_kernel_matrix(folder):
    X = _of_spectrum(1200, _THREE_LEVELS)
    return Fit(KernelPCA(35, kernel="linear").fit(X), X, None)


def copies_by_row_gram(folder):
    X = _of_spectrum(700, _CLOSE_LEVELS, 1600)
    return Fit(PCA(45).fit(X), X, None)


def copies_by_lanczos(folder):
    X = _of_spectrum(700, _CLOSE_LEVELS, 1600)
    return Fit(PCA(45, svd_solver="lanczos").fit(X), X, None)


def copies_in_a_share_of_the_variance(folder):
    sigma = np.sqrt(np.repeat([100.0, 99.0, 1.0], [40, 40, 943]))
    X = _of_spectrum(1100, sigma)
    return Fit(PCA(0.3).fit(X), X, None)


def copies_much_smaller_than_the_first(folder):
    X = _of_spectrum(400, np.sqrt(np.repeat([1e10, 2.5, 1.4, 1.0, 0.025], [1, 23, 1, 15, 260])))
    return Fit(PCA(32, svd_solver="lanczos").fit(X), X, None)


# ---- the shift of a block ---------------------------------------------------------------


def _markers(noise, dtype):
    n = 2**19
    marker = np.zeros(n)
    marker[::8192] = 100 * np.pi
    other = 1.1 * marker + noise * marker.std() * _normal(n, 1)[:, 0]
    return np.c_[marker, other].astype(dtype)


def markers_with_the_period_of_the_sample_float32(folder):
    X = _markers(0.1, np.float32)
    return Fit(PCA().fit(X), X, None)


def markers_with_the_period_of_the_sample(folder):
    X = _markers(1e-6, np.float64)
    return Fit(PCA().fit(X), X, None)


def a_first_row_far_from_all_others(folder):
    X = _normal(2**15, 2) + 1e12
    X[0] *= 1e8
    return Fit(PCA(svd_solver="full").fit(X), X, None)


def a_first_row_far_from_all_others_on_a_device(folder):
    import torch

    X = _normal(2**20, 1) + 1e12
    X[0] *= 1e12
    return Fit(PCA(svd_solver="full").fit(torch.from_numpy(X)), X, None)


# ---- calls that must not depend on the rows --------------------------------------------


def fits_by_different_routes_are_merged(folder):
    Z = _normal(200, 40)
    return _must_not_be_refused(Z, lambda: PCA().fit(Z[:30]).merge(PCA().fit(Z[30:])))


def rows_are_forgotten_after_a_fit_that_was_not_squared(folder):
    Z = _normal(60, 40)
    return _must_not_be_refused(
        Z[30:], lambda: PCA().fit(Z[:30]).partial_fit(Z[30:]).forget(Z[:30])
    )


def a_batch_without_rows(folder):
    Z = _normal(50, 4)
    return _must_not_be_refused(Z, lambda: PCA().partial_fit(Z).partial_fit(Z[:0]))


def wide_fits_on_a_device_are_merged(folder):
    import torch

    Z = _normal(60, 40) * np.logspace(0, -2, 40)
    parts = torch.from_numpy(Z[:12]), torch.from_numpy(Z[12:])
    return _must_not_be_refused(Z, lambda: PCA(0.5).fit(parts[0]).merge(PCA(0.5).fit(parts[1])))


# ---- weights, removal, range, kinds of numbers ------------------------------------------


def sparse_rows_of_which_few_have_nearly_all_weight(folder):
    X = np.where(np.random.default_rng(1).random((400, 6)) < 0.1, _normal(400, 6) + 3, 0)
    weights = np.full(400, 1e-6)
    X[:4], weights[:4] = _normal(4, 6, 2) * 1e-4 + 3, 1e6
    return Fit(PCA(6).fit(sp.csr_array(X), sample_weight=weights), X, weights)


def large_rows_that_are_forgotten(folder):
    X, extra = _normal(1000, 5), 1e6 * _normal(1000, 5, 1)
    return Fit(PCA().partial_fit(extra).partial_fit(X).forget(extra), X, None)


def _refused_by_column(X, message="1e-154", power=160, **parameters):
    """The Fit of the rows times 10^power, after an error for the rows that names a column."""
    columns = [f"dose_{i}" for i in range(X.shape[1])]
    try:
        return Fit(PCA(**parameters).fit(pd.DataFrame(X, columns=columns)), X, None)
    except PrincompError as error:
        if not any(name in str(error) for name in columns) or message not in str(error):
            raise
    X = X * 10.0**power
    return Fit(PCA(**parameters).fit(X), X, None)


def squares_that_are_subnormal(folder):
    return _refused_by_column(_normal(100, 4) * 1e-161)


def spread_that_is_subnormal_is_no_constant(folder):
    return _refused_by_column(_normal(100, 4) * 1e-165, scale="unit")


def equal_rows_about_the_origin_whose_squares_are_subnormal(folder):
    """Their spread about the mean is zero."""
    return _refused_by_column(np.full((16, 1), 1e-159), center=False, svd_solver="full")


def _squares_that_overflow(solver):
    X = _normal(10, 3) * 2e154
    return _refused_by_column(X, "overflow", -154, scale="unit", svd_solver=solver)


def squares_that_overflow_by_row_gram(folder):
    return _squares_that_overflow("row_gram")


def squares_that_overflow_by_lanczos(folder):
    return _squares_that_overflow("lanczos")


def _subnormal_float32_rows(solver):
    X = (_normal(40, 3) * 1e-43).astype(np.float32)
    return Fit(PCA(scale="unit", svd_solver=solver).fit(X), X, None)


def float32_spreads_that_are_subnormal_by_row_gram(folder):
    return _subnormal_float32_rows("row_gram")


def float32_spreads_that_are_subnormal_by_lanczos(folder):
    return _subnormal_float32_rows("lanczos")


def float32_spreads_that_are_subnormal_by_krylov(folder):
    return _subnormal_float32_rows("krylov")


def float32_spreads_that_are_subnormal_in_a_sketch(folder):
    X = (_normal(40, 3) * 1e-43).astype(np.float32)
    return Fit(PCA(2, scale="unit", svd_solver="sketch").fit(X), X, None)


def boolean_rows_on_a_device(folder):
    import torch

    X = np.random.default_rng(0).random((2000, 1)) < 0.9
    return Fit(PCA().fit(torch.from_numpy(X)), X, None)


def integers_that_no_double_holds(folder):
    import torch

    X = 2**62 + np.random.default_rng(0).integers(0, 100, (50, 3)).astype(np.uint64)
    try:
        return Fit(PCA().fit(torch.from_numpy(X)), X, None)
    except PrincompError:  # a refusal is a valid outcome
        return Fit(PCA().fit(X - 2**62), X - 2**62, None)


# ---- found by the search ----------------------------------------------------------------


def weights_of_batches_on_a_device(folder):
    import torch

    X, weights = _normal(50, 3), np.linspace(1, 5, 50)
    model = PCA().partial_fit(torch.from_numpy(X), sample_weight=weights)
    return Fit(model, X, weights)


def weights_of_rows_that_are_forgotten_on_a_device(folder):
    import torch

    X, weights = _normal(50, 3), np.linspace(1, 5, 50)
    extra = torch.from_numpy(_normal(50, 3, 1))
    model = PCA().fit(np.r_[X, extra], sample_weight=np.r_[weights, weights])
    return Fit(model.forget(extra, sample_weight=weights), X, weights)


def scores_of_float32_rows_with_a_tiny_spread(folder):
    X = (_normal(100, 3) * 1e-39).astype(np.float32)
    return Fit(PCA(scale="unit").fit(X), X, None)


def a_wide_batch_on_a_device_then_an_array(folder):
    import torch

    X = _normal(40, 1024)
    model = PCA(2).partial_fit(torch.from_numpy(X[:20])).partial_fit(X[20:])
    return Fit(model, X, None)


def means_of_many_rows_that_are_multiplied(folder):
    X = np.where(np.random.default_rng(1).random((2**18, 1)) < 0.4, 1000 * _normal(2**18, 1), 0)
    return Fit(PCA(1, svd_solver="lanczos").fit(X), X, None)


def nearly_constant_sparse_rows_in_a_kernel(folder):
    X = np.tile(_normal(1, 12), (200, 1))
    X[5] += 0.01
    return Fit(KernelPCA(1, kernel="linear").fit(sp.csr_array(X)), X, None)


def components_that_are_rescaled_by_unequal_spreads(folder):
    X = np.where(np.random.default_rng(1).random((60, 50)) < 0.3, _normal(60, 50), 0)
    weights = np.full(60, 1e-6)
    weights[:4] = 1e6
    model = PCA(svd_solver="row_gram").fit(X, sample_weight=weights)
    return Fit(model.rescaled("unit"), X, weights)


def equal_squares_on_a_device(folder):
    import torch

    X = np.zeros((920_041, 1))
    X[::1024] = 688.76 * np.pi
    X = np.sort(X, axis=0)[::-1].copy()
    return Fit(PCA(svd_solver="full").fit(torch.from_numpy(X)), X, None)


def a_constant_column_when_larger_rows_are_forgotten(folder):
    """No digit is left, and only a bound of the first variance is known."""
    X, extra = 1.0 + 1e-9 * _normal(100, 1), 1e6 * _normal(100, 1, 1)
    return Fit(PCA().partial_fit(extra).partial_fit(X).forget(extra), X, None)


def _markers_in_one_place_of_a_vector():
    X = np.zeros((2**20, 1))
    X[::8] = 12.69 * np.pi
    return X


def equal_products_by_krylov(folder):
    X = _markers_in_one_place_of_a_vector()
    return Fit(PCA(1, svd_solver="krylov").fit(X), X, None)


def equal_products_of_sparse_rows_by_lanczos(folder):
    X = _markers_in_one_place_of_a_vector()
    return Fit(PCA(1, svd_solver="lanczos").fit(sp.csr_array(X)), X, None)


def _drift(n, p):
    """Rows far from the origin, with weights over 20 decades and quickly falling variances."""
    rng = np.random.default_rng(0)
    X = np.cumsum(1e-3 * rng.standard_normal((n, p)), axis=0)
    X[n // 2 :] += 14.0
    return X + 36800.0 * rng.integers(1, 4, p), 10.0 ** rng.uniform(-10, 10, n)


def axes_as_good_as_the_tolerance_of_krylov(folder):
    X, weights = _drift(77, 51)
    return Fit(PCA(6, svd_solver="krylov").fit(X, sample_weight=weights), X, weights)


def rows_of_nearly_all_weight_come_late(folder):
    X = np.concatenate([4922.62 + _normal(200, 1), 0.1 * _normal(20, 1, 1)])
    weights = np.repeat([1.0, 1e12], [200, 20])
    model = PCA().fit(X[:200]).partial_fit(X[200:], sample_weight=weights[200:])
    return Fit(model, X, weights)


def sparse_rows_far_from_the_origin_in_a_kernel(folder):
    X = np.full((1500, 3), 1e10)
    X[::128] += 0.4
    return Fit(KernelPCA(2, kernel="linear", eigen_solver="arpack").fit(sp.csr_array(X)), X, None)


def float32_rows_near_the_largest_number(folder):
    X = (2e37 * np.sign(_normal(300, 4))).astype(np.float32)
    return Fit(PCA(2, svd_solver="lanczos").fit(X), X, None)


def small_columns_when_larger_rows_are_forgotten(folder):
    """Far more digits of their squares are left than a sum of p products might have lost."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((22, 1600)) < 0.35, 2.0 * rng.standard_normal((22, 1600)), 0)
    extra = 4e5 * rng.standard_normal((5, 1600))
    return Fit(PCA(5).partial_fit(extra).partial_fit(X).forget(extra), X, None)


def equal_products_in_a_triangle(folder):
    X = np.zeros((50_000, 3))
    X[0] = 3.3, 4.29, 5.61
    return Fit(PCA(svd_solver="full").fit(X), X, None)


def residuals_of_a_sketch_with_small_divisors(folder):
    """The directions of a scaled sketch are as much shorter as the columns were larger."""
    X = 1e-3 * _of_spectrum(300, 10.0 ** -(np.arange(150) / 10), 200)
    return Fit(PCA(5, svd_solver="sketch", scale="unit").fit(X), X, None)


def a_few_wide_sparse_rows_are_merged(folder):
    """A share is one component of the first rows: fewer than rows can be added to."""
    X = np.outer(_normal(23, 1), _normal(1, 11, 1))
    models = [PCA(0.33).fit(sp.csr_array(part)) for part in (X[:8], X[8:])]
    return _must_not_be_refused(X, lambda: models[0].merge(models[1]))


def components_about_the_origin_that_are_rescaled(folder):
    X = 1000.0 + 0.01 * _normal(100, 4)
    model = PCA(center=False, svd_solver="lanczos").fit(X)
    return Fit(model.rescaled("unit"), X, None)


def divisors_after_larger_rows_were_forgotten(folder):
    X, extra = 1000.0 + 0.01 * _normal(100, 4), 1e4 * _normal(100, 4, 1)
    model = PCA(center=False, scale="unit").partial_fit(extra).partial_fit(X)
    return Fit(model.forget(extra), X, None)


def unequal_divisors_after_larger_rows_were_forgotten(folder):
    """The error of a small divisor is multiplied by the scatter with a large column."""
    X, extra = _normal(100, 1) * [1e3, 1e-4], 1e3 * _normal(100, 2, 1)
    return Fit(PCA(scale="pareto").partial_fit(extra).partial_fit(X).forget(extra), X, None)


def a_divisor_of_one_light_row_after_larger_rows_were_forgotten(folder):
    X, extra = np.c_[_normal(100, 1), 1e3 * np.eye(100, 1)], 0.1 * _normal(100, 2, 1)
    weights = np.r_[1e-19, np.ones(99)]
    model = PCA(scale="pareto").partial_fit(extra).partial_fit(X, sample_weight=weights)
    return Fit(model.forget(extra), X, weights)


def constant_rows_in_a_kernel(folder):
    """Their sum, divided by their number, is not what each of them is."""
    X = np.tile((1e8 + 0.1) * np.array([1.0, 1e-7]), (1500, 1))
    return Fit(KernelPCA(2, kernel="linear", eigen_solver="arpack").fit(X), X, None)


def constant_sparse_rows_in_a_kernel(folder):
    X = np.tile((1e8 + 0.1) * np.array([1.0, 1e-7]), (1500, 1))
    return Fit(KernelPCA(2, kernel="linear", eigen_solver="arpack").fit(sp.csr_array(X)), X, None)


def a_sketch_with_very_unequal_divisors(folder):
    X = _normal(23, 2) * [1.0, 1e-12]
    return Fit(PCA(2, svd_solver="sketch", scale="unit").fit(X), X, None)


def rounding_of_a_sketch_whose_divisors_are_of_one_row(folder):
    """An axis of columns with large divisors is off by rounding of the others."""
    X = _normal(246, 16)
    X[0, ::4] += 1e7
    return Fit(PCA(16, svd_solver="sketch", scale="range").fit(X), X, None)


def directions_of_a_sketch_that_depend_on_each_other(folder):
    """With divisors of 18 decades, a sketch finds some of the components."""
    X = _normal(60, 5) * [1.0, 1.0, 1e-18, 1e-18, 1e-36]
    return Fit(PCA(3, svd_solver="sketch", scale="unit").fit(X), X, None)


def components_of_very_unequal_columns_that_are_rescaled(folder):
    X = _normal(122, 4) * [1.0, 1e10, 2e10, 1.0]
    model = PCA(svd_solver="row_gram").fit(X)
    return Fit(model.rescaled(None), X, None)


def components_about_a_far_origin_that_are_rescaled(folder):
    """Their error is that of the product about the origin, also where the spread is less."""
    X = 0.1 * _normal(1000, 10) + 1e12 * (1 + np.arange(10) % 3)
    model = PCA(center=False, svd_solver="row_gram").fit(X)
    return Fit(model.rescaled(None), X, None)


def equal_products_in_a_kernel_matrix(folder):
    X = np.where(np.random.default_rng(3).random((1500, 1)) < 0.02, 3.3, 0.0)
    return Fit(KernelPCA(2, kernel="linear", eigen_solver="arpack").fit(X), X, None)


def equal_rows_far_from_the_origin_in_a_polynomial_kernel(folder):
    """Errors of equal entries add up. The image of one row is ``distance`` away from the other."""
    one, other, n = 1000.375, 1001.625, 1500
    second = np.arange(n) % 3 == 0
    X = np.where(second, other, one)[:, None]
    a, b, c = (
        (Fraction(0.1) * Fraction(x) * Fraction(y) + 1) ** 3
        for x, y in ((one, one), (one, other), (other, other))
    )
    square = a - 2 * b + c
    distance = np.sqrt(LONG(square.numerator) / LONG(square.denominator))
    model = KernelPCA(2, kernel="poly", gamma=0.1, degree=3, coef0=1, eigen_solver="arpack").fit(X)
    return Fit(model, np.where(second, distance, LONG(0))[:, None], None)


def _far_from_most(name, solver):
    """Arguments of near rows are differences of larger numbers, as far as their mean is away."""
    X = _normal(600, 3)
    X[0] += 1e6
    model = KernelPCA(3, kernel=name, gamma=0.1, eigen_solver=solver).fit(X)
    kernel = Kernel(name, 0.1, 1, 0)
    return Fit(model, X, None, check=lambda: check_exact(model, kernel, X, X, None))


def a_row_far_from_the_others_in_a_gaussian_kernel(folder):
    return _far_from_most("rbf", "dense")


def a_row_far_from_the_others_in_a_gaussian_kernel_by_lanczos(folder):
    return _far_from_most("rbf", "arpack")


def robust_divisors_of_columns_far_from_the_origin(folder):
    X = 1e9 + 1e-3 * _normal(40, 5)
    options = {"n_components": 2, "scale": "mad", "support": 1.0}
    model, steps = fit_with_steps(X, options)
    order = np.arange(40)[::-1]
    return Fit(model, X, None, check=lambda: check_robust(model, X, options, steps, 3, order))


KNOWN = [
    one
    for name, one in list(globals().items())
    if callable(one) and getattr(one, "__module__", "") == __name__ and not name.startswith("_")
]
