"""Helpers of many tests: matrices with a known spectrum, a reference PCA, angles."""

from __future__ import annotations

import sys

import numpy as np

from princomp.io.readers.columns import Selection
from princomp.io.readers.files import open_source
from princomp.io.readers.materialize import read_if_small

EPS = float(np.finfo(np.float64).eps)
EPS32 = float(np.finfo(np.float32).eps)
# Modules that cannot be imported without the library of their engine.
ENGINE_MODULES = ("princomp.engines.dask.", "princomp.engines.spark.")


def orthonormal(n, p, rng, *, against_ones=False):
    """An n × p matrix with orthonormal columns, on request each with sum zero."""
    matrix = rng.standard_normal((n, p))
    if against_ones:
        matrix -= matrix.mean(axis=0)
    q = np.linalg.qr(matrix)[0]
    return q - q.mean(axis=0) if against_ones else q


def with_singular_values(n, sigma, rng, *, p=None):
    """Rows (n, p) of mean zero whose centred singular values are ``sigma``, and their axes."""
    p = p or len(sigma)
    axes = orthonormal(p, len(sigma), rng).T
    left = orthonormal(n, len(sigma), rng, against_ones=True)
    return (left * sigma) @ axes, axes


def centred(X, weights=None):
    """Rows minus their mean in extended precision, times the square roots of their weights."""
    wide = np.asarray(X, dtype=np.longdouble)
    wide = wide - wide[0]
    if weights is None:
        wide = wide - wide.mean(axis=0)
        return wide.astype(np.float64)
    w = np.asarray(weights, dtype=np.longdouble)
    wide = wide - (w @ wide) / w.sum()
    return (wide * np.sqrt(w)[:, None]).astype(np.float64)


def truth(X, *, weights=None, divisor=None, center=True):
    """Reference PCA: variances and axes from the float64 SVD of the centred, scaled rows."""
    rows = np.asarray(X, dtype=np.float64)
    n = len(rows) if weights is None else float(np.sum(weights))
    if center:
        rows = centred(rows, weights)
    elif weights is not None:
        rows = rows * np.sqrt(weights)[:, None]
    if divisor is not None:
        rows = rows / divisor
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    return s**2 / (n - 1), vt


def variances_along(X, axes):
    """Variances of the rows along ``axes``, in extended precision.

    Near an eigenvector their error is the square of its distance, so they are accurate to the last
    bit, where `truth` has an error of about 30 eps, that of LAPACK's SVD.
    """
    rows = centred(X).astype(np.longdouble)
    images = rows @ np.asarray(axes, dtype=rows.dtype).T
    return ((images**2).sum(axis=0) / (len(rows) - 1)).astype(np.float64)


def sine(axes, others):
    """Sine of the largest angle from the span of ``axes`` to that of ``others`` (both rows)."""
    if not len(axes):
        return 0.0
    off = axes - (axes @ others.T) @ others
    return float(np.linalg.norm(off, 2))


def aligned(axes, others):
    """``others`` with each row's sign chosen to match that of ``axes``."""
    signs = np.where(np.einsum("ij,ij->i", axes, others) < 0, -1.0, 1.0)
    return others * signs[:, None]


def assert_orthonormal(axes, tol=None):
    p = axes.shape[1]
    tol = 30 * p * EPS if tol is None else tol
    assert np.abs(axes @ axes.T - np.eye(len(axes))).max(initial=0.0) <= tol


def assert_sign_rule(axes):
    for row in axes:
        assert row[np.abs(row).argmax()] > 0


def assert_models_close(one, other, tol=1e-12):
    """Assert that two models of the same rows agree within a tolerance."""
    assert one.n_components_ == other.n_components_
    size = max(one.total_variance_, 1e-300)
    for name in ("explained_variance_", "explained_variance_ratio_", "mean_", "var_"):
        a, b = getattr(one, name), getattr(other, name)
        scale = np.abs(a).max(initial=0.0) or 1.0
        np.testing.assert_allclose(b, a, rtol=0, atol=tol * scale, err_msg=name)
    np.testing.assert_allclose(other.total_variance_, size, rtol=tol)
    axes = one.components_
    np.testing.assert_allclose(other.components_, axes, rtol=0, atol=100 * tol)
    np.testing.assert_allclose(other.noise_variance_, one.noise_variance_, atol=tol * size)
    if one.scale_ is None:
        assert other.scale_ is None
    else:
        np.testing.assert_allclose(other.scale_, one.scale_, rtol=tol)


def read_whole(path, **options):
    """Read a file of any size into memory, as a TableSource."""
    return read_if_small(open_source(path, Selection(**options)), sys.maxsize)
