"""Inputs that once gave a wrong answer with a clean certificate, each as small as it was found.

Each function takes a folder for files and returns a Fit, which a test compares with its claims.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
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


def _refused(rows, call):
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


# ---- what may be called must not depend on the rows -------------------------------------


def fits_by_different_routes_are_merged(folder):
    Z = _normal(200, 40)
    return _refused(Z, lambda: PCA().fit(Z[:30]).merge(PCA().fit(Z[30:])))


def rows_are_forgotten_after_a_fit_that_was_not_squared(folder):
    Z = _normal(60, 40)
    return _refused(Z[30:], lambda: PCA().fit(Z[:30]).partial_fit(Z[30:]).forget(Z[:30]))


def a_batch_without_rows(folder):
    Z = _normal(50, 4)
    return _refused(Z, lambda: PCA().partial_fit(Z).partial_fit(Z[:0]))


# ---- weights, removal, range, kinds of numbers ------------------------------------------


def sparse_rows_of_which_few_have_nearly_all_weight(folder):
    X = np.where(np.random.default_rng(1).random((400, 6)) < 0.1, _normal(400, 6) + 3, 0)
    weights = np.full(400, 1e-6)
    X[:4], weights[:4] = _normal(4, 6, 2) * 1e-4 + 3, 1e6
    return Fit(PCA(6).fit(sp.csr_array(X), sample_weight=weights), X, weights)


def large_rows_that_are_forgotten(folder):
    X, extra = _normal(1000, 5), 1e6 * _normal(1000, 5, 1)
    return Fit(PCA().partial_fit(extra).partial_fit(X).forget(extra), X, None)


def _refused_by_column(X, **parameters):
    """The Fit of such rows times 1e160, after an error for the rows that names a column."""
    columns = [f"dose_{i}" for i in range(X.shape[1])]
    try:
        return Fit(PCA(**parameters).fit(pd.DataFrame(X, columns=columns)), X, None)
    except PrincompError as error:
        if not any(name in str(error) for name in columns) or "1e-154" not in str(error):
            raise
    X = X * 1e160
    return Fit(PCA(**parameters).fit(X), X, None)


def squares_that_are_subnormal(folder):
    return _refused_by_column(_normal(100, 4) * 1e-161)


def spread_that_is_subnormal_is_no_constant(folder):
    return _refused_by_column(_normal(100, 4) * 1e-165, scale="unit")


def boolean_rows_on_a_device(folder):
    import torch

    X = np.random.default_rng(0).random((2000, 1)) < 0.9
    return Fit(PCA().fit(torch.from_numpy(X)), X, None)


def integers_that_no_double_holds(folder):
    import torch

    X = 2**62 + np.random.default_rng(0).integers(0, 100, (50, 3)).astype(np.uint64)
    try:
        return Fit(PCA().fit(torch.from_numpy(X)), X, None)
    except PrincompError:  # a refusal is right
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


def float32_rows_near_the_largest_number(folder):
    X = (2e37 * np.sign(_normal(300, 4))).astype(np.float32)
    return Fit(PCA(2, svd_solver="lanczos").fit(X), X, None)


KNOWN = [
    one
    for name, one in list(globals().items())
    if callable(one) and getattr(one, "__module__", "") == __name__ and not name.startswith("_")
]
