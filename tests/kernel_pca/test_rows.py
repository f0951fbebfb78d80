"""Rows with missing cells and rows of weight zero."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import KernelPCA
from princomp.errors import NotFiniteError, ShapeError

ROWS = np.random.default_rng(0).standard_normal((40, 3)) * [3, 2, 1]
WEIGHTS = np.repeat([0.0, 1.0], 20)


def with_nan(*cells):
    rows = ROWS.copy()
    for cell in cells:
        rows[cell] = np.nan
    return rows


@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_dropping_every_row_is_refused(approximation):
    model = KernelPCA(2, missing="drop", approximation=approximation)
    with pytest.raises(ShapeError, match=r"0 of 5 rows are left|no row to choose"):
        model.fit(np.full((5, 3), np.nan))


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_only_infinities_in_rows_that_count_are_refused(kind):
    rows = with_nan((3, 1))
    whole = KernelPCA(2, missing="drop").fit(kind(rows))
    rows[3, 2] = np.inf  # in a row that is dropped
    model = KernelPCA(2, missing="drop").fit(kind(rows))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-12)
    rows[7, 0] = -np.inf
    with pytest.raises(NotFiniteError, match="-infinity: the first at row 7, column 0") as caught:
        KernelPCA(2, missing="drop").fit(kind(rows))
    assert "drop" not in caught.value.hint


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_cells_of_rows_of_weight_zero_may_be_missing(missing, kind):
    whole = KernelPCA(2).fit(ROWS, sample_weight=WEIGHTS)
    model = KernelPCA(2, missing=missing).fit(kind(with_nan((3, 1))), sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-12)
    assert model.n_dropped_ == 0
    K = with_nan(3) @ ROWS.T
    K[:, 3] = np.nan
    given = KernelPCA(2, kernel="precomputed").fit(K, sample_weight=WEIGHTS)
    np.testing.assert_allclose(given.eigenvalues_, whole.eigenvalues_, rtol=1e-12)


@pytest.mark.parametrize("approximation", [None, "nystrom"])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_the_place_of_a_missing_cell_counts_rows_of_weight_zero(kind, approximation):
    rows = kind(with_nan((3, 1), (25, 2)))
    with pytest.raises(NotFiniteError, match="the first at row 25, column 2; 2 NaN"):
        KernelPCA(2, approximation=approximation).fit(rows, sample_weight=WEIGHTS)
    K = ROWS @ ROWS.T
    K[3, 4] = K[25, 30] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 25, column 30; 1 NaN[\s\S]*compute the kernel"):
        KernelPCA(2, kernel="precomputed").fit(K, sample_weight=WEIGHTS)


def correlation(x, y):
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_row_without_known_cells_has_no_scores_with_any_kernel():
    """The kernel may be undefined for zeros, which replace cells that are missing."""
    rows = with_nan(4, (7, 0))
    scores = KernelPCA(2, kernel=correlation, missing="drop").fit_transform(rows)
    assert np.isnan(scores).any(axis=1).nonzero()[0].tolist() == [4, 7]


@pytest.mark.parametrize("missing", ["em", "nipals"])
@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_rows_without_any_known_cell_have_no_scores(missing, approximation):
    rows = with_nan(4, (7, 0))
    model = KernelPCA(2, kernel="rbf", gamma=0.1, missing=missing, approximation=approximation)
    scores = model.fit_transform(rows)
    assert np.isnan(scores).any(axis=1).nonzero()[0].tolist() == [4]
    assert (model.n_dropped_, model.n_samples_) == (1, 39)
    others = np.delete(rows, 4, axis=0)
    signs = np.sign(scores[0] * model.fit_transform(others)[0])
    np.testing.assert_allclose(
        np.delete(scores, 4, axis=0), signs * model.transform(others), atol=1e-6
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_fit_transform_scores_the_rows_of_an_iterator(weights):
    rows = with_nan((30, 1))
    model = KernelPCA(2, missing="drop")
    scores = model.fit_transform(iter([rows[:10], rows[10:]]), sample_weight=weights)
    np.testing.assert_array_equal(scores, model.fit_transform(rows, sample_weight=weights))


@pytest.mark.parametrize("approximation", [None, "nystrom"])
@pytest.mark.filterwarnings("ignore:the weights of .* rows sum to")
def test_the_divisor_is_the_sum_of_weights_minus_one(approximation):
    rows, weights = ROWS[:5], np.array([0.1, 0.2, 0.3, 0.4, 0.5])  # their sum is 1.5
    model = KernelPCA(2, approximation=approximation).fit(rows, sample_weight=weights)
    centred = rows - weights @ rows / 1.5
    values = np.linalg.eigvalsh((centred.T * weights) @ centred)[:0:-1]
    np.testing.assert_allclose(model.explained_variance_, values / 0.5, rtol=1e-12)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_fit_transform_has_the_scores_of_rows_of_small_weights(kernel, solver):
    rows, weights = ROWS if kernel == "rbf" else ROWS @ ROWS.T, np.ones(40)
    weights[:8] = 10.0 ** -np.arange(5, 101, 12)
    model = KernelPCA(2, kernel=kernel, eigen_solver=solver)
    scores = model.fit_transform(rows, sample_weight=weights)
    expected = model.transform(rows)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_sparse_rows_may_have_indices_of_64_bits(kernel, approximation):
    rows = sp.csr_array(np.where(ROWS > 0, ROWS, 0.0))
    model = KernelPCA(2, kernel=kernel, gamma=0.3, approximation=approximation)
    expected = model.fit(rows).transform(rows)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    np.testing.assert_array_equal(model.fit(rows).transform(rows), expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pre_image", ["ridge", "fixed_point", "distance"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_pre_image_of_a_row_without_scores_is_nan(kernel, pre_image, rng):
    X = rng.standard_normal((40, 3))
    X[4, 1] = np.nan
    options = {"kernel": kernel, "gamma": 0.1, "pre_image": pre_image, "missing": "drop"}
    model = KernelPCA(2, **options).fit(X)
    scores = model.transform(X)
    back = model.inverse_transform(scores)
    expected = model.inverse_transform(np.delete(scores, 4, axis=0))
    np.testing.assert_array_equal(np.delete(back, 4, axis=0), expected)
    assert np.isnan(back[4]).all()
    scores[4, 0] = 1.0  # a row with one score
    np.testing.assert_array_equal(model.inverse_transform(scores), back)
    unknown = model.inverse_transform(scores[4:5].astype(np.float32))
    assert unknown.shape == (1, 3)
    assert unknown.dtype == np.float32
    assert np.isnan(unknown).all()


@pytest.mark.parametrize("more", [{"n_landmarks": 10}, {"gamma": "median"}], ids=str)
@pytest.mark.parametrize("kind", ["partial_fit", "iterator", "function"])
def test_rows_of_weight_zero_are_no_landmarks(kind, more):
    rows = ROWS + np.where(WEIGHTS == 0, 1000.0, 0.0)[:, None]
    batches = [rows[:25], rows[25:]]
    model = KernelPCA(2, kernel="rbf", approximation="nystrom", **more)
    if kind == "partial_fit":
        model.partial_fit(rows, sample_weight=WEIGHTS)
    else:
        table = iter(batches) if kind == "iterator" else lambda: iter(batches)
        model.fit(table, sample_weight=WEIGHTS)
    assert model.landmarks_.max() < 500
    if "gamma" in more:
        expected = KernelPCA(kernel="rbf", **more).fit(rows[20:]).gamma_
        np.testing.assert_allclose(model.gamma_, expected, rtol=1e-12)


def test_scores_of_incomplete_sparse_rows_leave_these_as_they_are():
    model = KernelPCA(2, kernel="rbf", missing="em").fit(with_nan((3, 1)))
    rows = sp.csr_array(with_nan((3, 1))[:6])
    before = rows.data.copy()
    assert np.isnan(model.transform(rows)[3]).all()
    np.testing.assert_array_equal(rows.data, before)
