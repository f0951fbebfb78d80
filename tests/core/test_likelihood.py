"""The probabilistic model: its covariance, and densities of rows within and outside its span."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from princomp import PCA
from princomp.core import fitted_model

VARIANCES = np.array([9.0, 4.0, 2.0, 1.0])
SCALE = np.array([4.0, 0.5, 1.0, 2.0])


def result_of(model):
    return fitted_model(model).result


@pytest.mark.parametrize("scale", [None, SCALE])
@pytest.mark.parametrize(("k", "zeros"), [(4, 0), (2, 0), (0, 0), (3, 1), (2, 2)])
def test_densities_are_those_of_the_model_covariance(k, zeros, scale, rng):
    """Within the span of a singular model, of its pseudo-inverse and its non-zero eigenvalues."""
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    kept = 4 - zeros
    covariance = (rotation[:, :kept] * VARIANCES[:kept]) @ rotation[:, :kept].T
    mean = np.array([3.0, -2.0, 0.5, 10.0])
    result = result_of(
        PCA.from_covariance(covariance, mean=mean, n_samples=50, n_components=k, scale=scale)
    )
    divisors = np.ones(4) if scale is None else scale
    values, axes = np.linalg.eigh(covariance / np.outer(divisors, divisors))
    values, axes = values[::-1], axes[:, ::-1]
    noise = values[k:kept].mean() * (kept - k) / (4 - k) if k < kept else 0.0
    model = (axes[:, :k] * (values[:k] - noise)) @ axes[:, :k].T + noise * np.eye(4)
    model *= np.outer(divisors, divisors)
    np.testing.assert_allclose(result.covariance(), model, atol=1e-12)
    inverse = np.linalg.pinv(model, rcond=1e-12, hermitian=True)
    np.testing.assert_allclose(result.precision(), inverse, atol=1e-11)
    rows = mean + rng.standard_normal((5, kept)) @ rotation[:, :kept].T
    eigenvalues = np.linalg.eigvalsh(model)
    eigenvalues = eigenvalues[eigenvalues > 1e-12]
    expected = np.log(2 * np.pi * eigenvalues).sum()
    expected += np.einsum("ij,jk,ik->i", rows - mean, inverse, rows - mean)
    np.testing.assert_allclose(result.log_likelihood(rows), -expected / 2, rtol=1e-10)


def test_both_parts_of_the_mean_are_subtracted(rng):
    first, second = (
        result_of(PCA.from_covariance(np.diag(VARIANCES), mean=mean, n_samples=50))
        for mean in (np.full(4, 100.0), np.full(4, 101.0))
    )
    first = replace(first, summary=replace(first.summary, mean_low=np.ones(4)))
    rows = 100 + rng.standard_normal((5, 4))
    np.testing.assert_allclose(first.log_likelihood(rows), second.log_likelihood(rows), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_constant_columns_that_are_dropped_do_not_change_densities(k, rng):
    X = rng.standard_normal((30, 3))
    constant = np.column_stack([X, np.full(30, 7.0)])
    found = result_of(PCA(k, constant="drop").fit(constant)).log_likelihood(constant)
    expected = result_of(PCA(k).fit(X)).log_likelihood(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_row_is_in_the_span_up_to_ten_times_what_the_resolution_explains():
    result = result_of(PCA.from_covariance(np.diag([1.0, 0.5, 0, 0]), mean=0, n_samples=50))
    unresolved = 2 * result.spectrum.resolution  # of two directions
    for factor, inside in ((99.5, True), (100.5, False)):
        rows = np.array([[0.0, 0, np.sqrt(factor * unresolved), 0]])
        assert np.isfinite(result.log_likelihood(rows)).all() == inside


@pytest.mark.parametrize("scale", [None, [4.0, 1.0]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean", [0.0, 5e5, 1e6])
def test_a_row_is_in_the_span_up_to_ten_times_what_rounding_explains(mean, dtype, scale):
    """Rounding of the mean, and of a row far from it."""
    covariance = np.diag([1e-6, 0.0])
    result = result_of(PCA.from_covariance(covariance, mean=[mean, 0.0], n_samples=50, scale=scale))
    size = 1e6 / (1.0 if scale is None else 4.0)
    for factor, inside in ((99.5, True), (100.5, False)):
        distance = np.sqrt(2 * factor) * np.finfo(dtype).eps * size
        rows = np.array([[1e6, distance]], dtype)
        assert np.isfinite(result.log_likelihood(rows)).all() == inside
    outside = result.log_likelihood(np.array([[1e6, 100.0], [1e6, np.nan]], dtype))
    np.testing.assert_array_equal(outside, [-np.inf, np.nan])


def test_the_variance_of_columns_left_out_is_that_of_unresolved_components():
    turned = np.linalg.qr(np.array([[1.0, 0.5], [-0.5, 1.0]]))[0]
    covariance = np.eye(4)
    covariance[1:3, 1:3] = (turned * [0.3, 1e-17]) @ turned.T
    covariance[3, 3] = 3e-18
    result = result_of(PCA.from_covariance(covariance, mean=0, n_samples=50))
    assert result.n_resolved == 2
    np.testing.assert_array_equal(result.variances_left_out(2), 0.0)
    # The first three columns are explained, for the most part.
    np.testing.assert_allclose(result.variances_left_out(3), [0, 0, 0, 3e-18])
    # Rounding of removed rows may be all that varies.
    for error, left_out in ((2e-18, 3e-18), (4e-18, 0.0)):
        lost = np.full(4, 49 * error)
        removed = replace(result, summary=replace(result.summary, lost=lost))
        np.testing.assert_allclose(removed.variances_left_out(4), [0, 0, 0, left_out])
    lost = result.columns.column_scatter
    removed = replace(result, summary=replace(result.summary, lost=lost))
    np.testing.assert_array_equal(removed.variances_left_out(4), 0.0)


def test_a_column_that_is_explained_by_half_is_not_left_out():
    """The variance of the second column is 1e-18, of which the first component explains a share."""
    for share, left_out in ((0.4, 0.6e-18), (0.6, 0.0)):
        product = np.sqrt(share) * 1e-9
        covariance = [[1.0, product], [product, 1e-18]]
        result = result_of(PCA.from_covariance(covariance, mean=0, n_samples=50))
        np.testing.assert_allclose(result.variances_left_out(2), [0, left_out], rtol=1e-6)
