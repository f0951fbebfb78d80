"""A finished fit: what is derived from its summary and spectrum, at the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition

from engines.on_partitions import Partitions
from princomp import PCA, RobustPCA
from princomp.core import blocks_of, fit_summary, fitted_model
from princomp.core.request import Request
from princomp.errors import NotAvailableError, NotFiniteError
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Moments


def result_of(model):
    return fitted_model(model).result


def test_a_variance_equal_to_the_resolution_is_noise():
    roundoff = 1e-10
    result = result_of(PCA.from_covariance(np.diag([1.0, roundoff]), mean=0, n_samples=50))
    spectrum = Spectrum(np.array([1.0, roundoff]), np.eye(2), 1.0 + roundoff, roundoff)
    result = replace(result, spectrum=spectrum)
    assert result.n_resolved == 1
    assert result.certificate.below_resolution.tolist() == [False, True]
    assert result.projection_parts(np.dtype(float), whiten=True)[2].tolist() == [[1, 0], [0, 0]]
    first = replace(result, k=1, spectrum=spectrum.first(1))
    assert first.noise_variance == roundoff
    np.testing.assert_array_equal(first.covariance(), np.diag([1.0, 0.0]))
    np.testing.assert_array_equal(first.precision(), np.diag([1.0, 0.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_has_two_parts_in_each_precision(dtype):
    """So a mean that float32 holds keeps the part below the last bit of float64."""
    mean, low = np.array([1.0, 1.0 + 2.0**-30, 0.1]), np.array([2.0**-60, 0.0, 0.0])
    result = result_of(PCA.from_covariance(np.eye(3), mean=mean, n_samples=9))
    result = replace(result, summary=replace(result.summary, mean_low=low))
    for parts in (result.projection_parts, result.reconstruction_parts):
        high, rest, _ = parts(np.dtype(dtype), whiten=False)
        assert high.dtype == rest.dtype == dtype
        np.testing.assert_array_equal(high, mean.astype(dtype))
        np.testing.assert_array_equal(rest, ((mean - mean.astype(dtype)) + low).astype(dtype))


def test_both_parts_of_the_mean_are_added_to_reconstructed_rows():
    result = result_of(PCA.from_covariance(np.diag([3.0, 2, 1]), mean=[1, 2, 3], n_samples=9))
    low = np.array([2.0**-60, 0.0, 0.0])
    moved = replace(result, summary=replace(result.summary, mean_low=low))
    # Half a unit in the last place of 1 is rounded down, and more than a half is rounded up.
    scores = np.array([[2.0**-53, 0.0, 0.0]])
    assert result.reconstruction(scores, whiten=False).tolist() == [[1, 2, 3]]
    assert moved.reconstruction(scores, whiten=False).tolist() == [[1 + 2.0**-52, 2, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_projected_on_axes_in_their_own_precision(dtype, rng):
    result = result_of(PCA(2).fit(rng.standard_normal((50, 3)).astype(dtype)))
    for precision in (np.float32, np.float64):
        matrix = result.projection_parts(np.dtype(precision), whiten=False)[2]
        assert matrix.dtype == precision
        np.testing.assert_array_equal(matrix, result.spectrum.axes.T.astype(precision))


def test_both_parts_of_the_mean_of_a_column_with_few_zeros_are_subtracted(rng):
    rows = np.column_stack([rng.standard_normal(50) + 100, rng.random((50, 2)) < 0.1])
    result = result_of(PCA(3).fit(sp.csr_array(rows)))
    low = np.array([0.25, 0.0, 0.0])
    moved = replace(result, summary=replace(result.summary, mean_low=low))
    expected = (rows - result.mean - low) @ result.components.T
    np.testing.assert_allclose(moved.scores(sp.csr_array(rows)), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved.scores(rows), expected, rtol=0, atol=1e-12)


def test_the_noise_variance_is_the_mean_of_the_variances_left_out():
    covariance = np.diag([8.0, 4.0, 2.0, 1.0])
    for k, noise in ((0, 15 / 4), (1, 7 / 3), (3, 1.0), (4, 0.0)):
        model = PCA.from_covariance(covariance, n_samples=50, n_components=k)
        assert result_of(model).noise_variance == pytest.approx(noise)
    # Three rows have two variances, and four directions.
    X = np.array([[2.0, 0, 0, 0], [-1, 3, 0, 0], [-1, -3, 0, 0]])
    assert result_of(PCA(1).fit(X)).noise_variance == pytest.approx(3.0 / 3)
    assert result_of(PCA(2).fit(X)).noise_variance == 0.0


def test_fits_without_rows_have_read_and_left_out_none(rng):
    X = rng.standard_normal((20, 3))
    models = {
        PCA(2).fit(X): (1, X.nbytes),
        PCA.from_summary(Moments.of(X), n_components=2): (0, 0),
        PCA.from_sklearn(decomposition.PCA(2).fit(X)): (0, 0),
    }
    for model, read in models.items():
        result = result_of(model)
        assert (result.certificate.passes, result.certificate.bytes_read) == read
        assert (model.n_dropped_, result.counted, result.has_weights) == (0, 3, False)
        assert model.transform(X).shape == (20, 2)


def test_sums_of_weights_that_differ_by_rounding_are_numbers_of_rows(rng):
    result = result_of(PCA(2).fit(rng.standard_normal((1000, 3))))
    for n, difference, weighted in ((1000, 5e-7, False), (1000, 2e-6, True), (10**9, 1.0, False)):
        summary = replace(result.summary, rows=n + difference)
        assert replace(result, n_samples=n, summary=summary).has_weights is weighted
    assert replace(result, weighted=True).has_weights
    assert not replace(result, n_samples=None).has_weights


def test_rows_are_checked_without_components(rng):
    X = rng.standard_normal((20, 3))
    model = PCA(0).fit(X)
    X[4, 1] = np.nan
    with pytest.raises(NotFiniteError, match="row 4, column 1"):
        model.transform(X)


def test_rows_of_scores_are_counted_from_0(rng):
    model = fitted_model(PCA(2).fit(rng.standard_normal((20, 3))))
    with pytest.raises(NotFiniteError, match="score 1 of row 0 is inf"):
        model.reconstruct(np.array([[1.0, np.inf]]))


def test_a_copy_for_scoring_gives_the_same_scores(rng):
    X = rng.standard_normal((60, 8))
    result = result_of(PCA(3, scale="unit", svd_solver="full").fit(X))
    small = result.for_scoring()
    assert small.spectrum.k == small.k == 3
    assert small.extremes is None
    assert small.summary.kind == "Columns"
    for whiten in (False, True):
        np.testing.assert_array_equal(
            small.scores(X, whiten=whiten), result.scores(X, whiten=whiten)
        )


def test_a_robust_model_is_not_copied_for_scoring(rng):
    model = fitted_model(RobustPCA(1).fit(rng.standard_normal((40, 3))))
    assert model.for_scoring() is model


def test_a_summary_of_columns_has_no_components(rng):
    columns = Columns.of(rng.standard_normal((9, 3)))
    with pytest.raises(NotAvailableError, match="says nothing of how they vary together"):
        fit_summary(columns, Request(2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.longdouble])
def test_scores_of_any_type_of_number_are_turned_into_rows(dtype, rng):
    model = PCA(2).fit(rng.standard_normal((20, 3)))
    scores = np.array([[1, 2], [-3, 4]], dtype)
    rows = model.inverse_transform(scores)
    assert rows.dtype == (np.float32 if dtype == np.float32 else np.float64)
    expected = model.inverse_transform(scores.astype(np.float64))
    np.testing.assert_allclose(rows, expected, rtol=1e-5 if dtype == np.float32 else 0)


class NoChunks(Partitions):
    def checked_chunks(self):
        return iter(())


def test_a_source_without_rows_has_one_empty_block():
    options = {"engine": "partitions", "rows": 0, "p": 3, "dtype": np.dtype(np.float32)}
    (block,) = blocks_of(NoChunks(**options, parts=[]))
    assert block.shape == (0, 3)
    assert block.dtype == np.float32
