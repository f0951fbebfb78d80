"""float32 rows whose kernel is nearly constant: centring must not cancel its digits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import KernelPCA, load

NEARLY_CONSTANT = [
    {"kernel": "cosine"},
    {"kernel": "poly"},
    {"kernel": "poly", "gamma": 1e-7},
    {"kernel": "sigmoid", "gamma": 1e-7},
    {"kernel": "chi2", "gamma": 1e-3},
]


@pytest.mark.parametrize("options", NEARLY_CONSTANT, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_digits_do_not_cancel(options, kind, tmp_path):
    X = np.random.default_rng(0).standard_normal((80, 5)) * [4, 3, 2, 1, 1] + 1e3
    rows = X.astype(np.float32)
    exact = KernelPCA(2, **options).fit(rows.astype(np.float64))
    model = KernelPCA(2, **options).fit(kind(rows))
    assert exact.eigenvalues_.all()
    # Results are rounded to float32; the kernel's entries have the error of float64.
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    scores, expected = model.transform(kind(rows)), exact.transform(rows.astype(np.float64))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert scores.dtype == model.eigenvectors_.dtype == model.eigenvalues_.dtype == np.float32
    model.save(tmp_path / "model.pca")
    np.testing.assert_array_equal(load(tmp_path / "model.pca").transform(kind(rows)), scores)


@pytest.mark.parametrize("options", NEARLY_CONSTANT, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_digits_do_not_cancel_in_images(options, kind, tmp_path):
    X = np.random.default_rng(0).standard_normal((80, 5)) * [4, 3, 2, 1, 1] + 1e3
    rows = X.astype(np.float32)
    options = {**options, "approximation": "nystrom", "landmarks": rows[:40]}
    exact = KernelPCA(2, **options).fit(rows.astype(np.float64))
    model = KernelPCA(2, **options).fit(kind(rows))
    # The images are about 1, and their variances from 1e-7 on: 1e-16 becomes 1e-9.
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    scores, expected = model.transform(kind(rows)), exact.transform(rows.astype(np.float64))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert scores.dtype == np.float32
    model.save(tmp_path / "model.pca")
    np.testing.assert_array_equal(load(tmp_path / "model.pca").transform(kind(rows)), scores)
    batches = KernelPCA(2, **options).partial_fit(kind(rows)[:50]).partial_fit(kind(rows)[50:])
    np.testing.assert_allclose(batches.eigenvalues_, model.eigenvalues_, rtol=1e-6)


def test_ordinary_rows_are_multiplied_in_float32():
    rows = np.random.default_rng(1).standard_normal((80, 5)).astype(np.float32)
    model = KernelPCA(2, kernel="cosine").fit(rows)
    assert model.__fitted_model__().result.points.dtype == np.float32


@pytest.mark.parametrize("options", [{"gamma": 1e-3}, {"kernel": "chi2", "gamma": 1e-3}], ids=str)
def test_more_landmarks_of_a_smooth_kernel_leave_out_less(options):
    rows = np.random.default_rng(0).uniform(0, 10, (400, 8)).astype(np.float32)
    options = {"kernel": "rbf", "approximation": "nystrom"} | options
    for count in (50, 100, 400, "auto"):
        wide = KernelPCA(3, **options, n_landmarks=count).fit(rows.astype(np.float64))
        model = KernelPCA(3, **options, n_landmarks=count).fit(rows)
        # Images in float32 leave out up to 1e-4 of the variance of the landmarks, and rows that are
        # no landmarks have up to ten times as much in the same directions.
        np.testing.assert_allclose(model.total_variance_, wide.total_variance_, rtol=1e-3)
        assert model.landmarks_.shape == wide.landmarks_.shape


def test_images_of_ordinary_rows_are_in_float32():
    rows = np.random.default_rng(1).standard_normal((300, 5)).astype(np.float32)
    model = KernelPCA(2, kernel="rbf", gamma="median", approximation="nystrom").fit(rows)
    assert model.landmarks_.dtype == np.float32
