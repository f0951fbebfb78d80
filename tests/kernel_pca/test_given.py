"""Precomputed kernel matrices: equal to named kernels, also with rows of zero weight."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.metrics.pairwise import cosine_similarity, pairwise_distances, pairwise_kernels

from princomp import KernelPCA
from princomp.core import fitted_model
from princomp.errors import DataError, ParameterError, ShapeError


def rows_of(rng, n, p):
    return rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 2.0


def test_a_precomputed_kernel_equals_the_named_kernel(rng):
    X, new = rows_of(rng, 500, 5), rows_of(rng, 20, 5)
    named = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    given = KernelPCA(3, kernel="precomputed")
    K = pairwise_kernels(X, metric="rbf", gamma=0.05)
    before = K.copy()
    np.testing.assert_allclose(given.fit_transform(K), named.transform(X), atol=1e-11)
    across = pairwise_kernels(new, X, metric="rbf", gamma=0.05)
    np.testing.assert_allclose(given.transform(across), named.transform(new), atol=1e-11)
    assert np.array_equal(K, before)
    weights = rng.integers(1, 3, 500)
    heavy = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X, sample_weight=weights)
    given.fit(K, sample_weight=weights)
    np.testing.assert_allclose(given.eigenvalues_, heavy.eigenvalues_, rtol=1e-11)


def test_zero_weights_in_a_precomputed_kernel(rng):
    X = rows_of(rng, 60, 4)
    K = pairwise_kernels(X, metric="rbf", gamma=0.05)
    weights = rng.integers(0, 3, 60)
    named = KernelPCA(2, kernel="rbf", gamma=0.05).fit(X, sample_weight=weights)
    given = KernelPCA(2, kernel="precomputed")
    scores = given.fit_transform(K, sample_weight=weights)
    np.testing.assert_allclose(np.abs(scores), np.abs(named.transform(X)), atol=1e-12)
    with pytest.raises(ShapeError, match="zero"):
        given.fit(K, sample_weight=np.zeros(60))


def test_rows_of_zero_weight_equal_dropped_rows(rng):
    """A precomputed matrix keeps all its columns, so new rows must have them too."""
    K = pairwise_kernels(rows_of(rng, 60, 4), metric="rbf", gamma=0.05)
    weights = rng.integers(0, 3, 60)
    kept = weights > 0
    all_rows = KernelPCA(3, kernel="precomputed").fit(K, sample_weight=weights)
    few = KernelPCA(3, kernel="precomputed").fit(K[np.ix_(kept, kept)], sample_weight=weights[kept])
    assert all_rows.n_samples_ == few.n_samples_ == kept.sum()
    assert all_rows.n_features_in_ == 60
    for name in ("eigenvalues_", "total_variance_", "explained_variance_ratio_"):
        np.testing.assert_array_equal(getattr(all_rows, name), getattr(few, name))
    assert np.array_equal(all_rows.eigenvectors_[kept], few.eigenvectors_)
    assert not all_rows.eigenvectors_[~kept].any()
    np.testing.assert_allclose(all_rows.transform(K), few.transform(K[:, kept]), atol=1e-13)
    own = np.ones(60)
    np.testing.assert_allclose(
        all_rows.reconstruction_error(K, diagonal=own),
        few.reconstruction_error(K[:, kept], diagonal=own),
        atol=1e-13,
    )
    # The fit has no scores for rows of zero weight.
    with np.errstate(all="raise"):
        own = all_rows._fitted.training_scores
    np.testing.assert_allclose(own[kept], few.transform(K[np.ix_(kept, kept)]), atol=1e-13)
    assert np.isnan(own[~kept]).all()


def test_gamma_median_is_refused_for_precomputed_kernels(rng):
    with pytest.raises(ParameterError, match="gamma='median'"):
        KernelPCA(2, kernel="precomputed", gamma="median").fit(np.eye(5))


def test_gamma_is_the_given_value_or_one_over_n(rng):
    K = np.cov(rng.standard_normal((8, 20)))
    assert KernelPCA(2, kernel="precomputed").fit(K).gamma_ == 1 / 8
    assert KernelPCA(2, kernel="precomputed", gamma=0.5).fit(K).gamma_ == 0.5


@pytest.mark.parametrize("kernel", ["linear", "cosine", lambda x, y: float(x @ y)])
@pytest.mark.parametrize("gamma", [None, 0.5])
def test_kernels_without_gamma_have_the_attribute_of_scikit_learn(kernel, gamma, rng):
    rows = rng.standard_normal((8, 4))
    theirs = decomposition.KernelPCA(2, kernel=kernel, gamma=gamma).fit(rows)
    assert KernelPCA(2, kernel=kernel, gamma=gamma).fit(rows).gamma_ == theirs.gamma_


def test_kernels_of_new_rows_may_be_sparse(rng):
    K = sp.csr_array(np.diag(np.arange(1.0, 9.0)) + 0.5)
    model = KernelPCA(2, kernel="precomputed").fit(K)
    new = rng.standard_normal((3, 8))
    assert np.array_equal(model.transform(sp.csr_array(new)), model.transform(new))
    with pytest.raises(ShapeError, match="7"):
        model.transform(new[:, :7])


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_learned_pre_images_count_rows_by_weight(kernel, rng):
    X, weights = rng.standard_normal((30, 3)), rng.integers(0, 4, 30)
    options = {"kernel": kernel, "gamma": 0.2, "pre_image": "ridge"}
    weighted = KernelPCA(3, **options).fit(X, sample_weight=weights)
    repeated = KernelPCA(3, **options).fit(np.repeat(X, weights, axis=0))
    expected = repeated.inverse_transform(repeated.transform(X))
    back = weighted.inverse_transform(weighted.transform(X))
    assert back == pytest.approx(expected, abs=1e-10)


def test_alpha_may_change_after_the_fit(rng):
    X = rng.standard_normal((30, 3))
    model = KernelPCA(3, kernel="rbf", pre_image="ridge").fit(X)
    fresh = KernelPCA(3, kernel="rbf", pre_image="ridge", alpha=0.01).fit(X)
    assert model.pre_image_error(X) > fresh.pre_image_error(X)
    model.set_params(alpha=0.01)
    assert model.pre_image_error(X) == fresh.pre_image_error(X)
    assert np.array_equal(model.dual_coef_, fresh.dual_coef_)


@pytest.mark.parametrize("n", [60, 500])
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_the_certificate_counts_what_a_matrix_lacks_of_symmetry(n, solver, rng):
    X, noise = rng.standard_normal((n, 5)), rng.standard_normal((n, n))
    symmetric = KernelPCA(3, kernel="precomputed").fit(X @ X.T)
    K = X @ X.T + 1e-6 * np.triu(noise, 1)
    model = KernelPCA(3, kernel="precomputed", eigen_solver=solver).fit(K)
    error = np.abs(model.eigenvalues_ - symmetric.eigenvalues_).max()
    assert error <= fitted_model(model).result.spectrum.roundoff * model.eigenvalues_[0]
    with pytest.warns(UserWarning, match="not symmetric"):
        KernelPCA(3, kernel="precomputed", eigen_solver=solver).fit(K + np.triu(noise, 1))
    # What rows of weight zero hold is ignored.
    K[0] += 1.0
    KernelPCA(3, kernel="precomputed").fit(K, sample_weight=np.arange(n) > 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("n", [400, 401])
@pytest.mark.parametrize("k", [2, 0.9, None])
def test_distances_are_refused(metric, n, k, rng):
    """400 rows are solved by LAPACK, 401 by a search, which would not end."""
    D = pairwise_distances(rng.standard_normal((n, 8)), metric=metric)
    with pytest.raises(DataError, match=r"distances, not a kernel.*sum to -\d") as caught:
        KernelPCA(k, kernel="precomputed").fit(D)
    assert "-D**2 / 2" in caught.value.hint
    KernelPCA(2, kernel="precomputed").fit(1 - D if metric == "cosine" else -(D**2) / 2)


@pytest.mark.parametrize("n", [400, 401])
def test_a_matrix_without_a_positive_eigenvalue(n, rng):
    K = -cosine_similarity(rng.standard_normal((n, 8)))
    with pytest.warns(UserWarning, match="not positive semi-definite") as caught:
        model = KernelPCA(2, kernel="precomputed").fit(K)
    assert len(caught) == 1
    assert not model.eigenvalues_.any()


@pytest.mark.parametrize("n", [60, 420])
def test_similarities_with_a_diagonal_of_zeros_cause_a_warning_only(n, rng):
    """Such as the adjacency matrix of a graph, some of whose eigenvalues are positive."""
    links = rng.random((n, n)) < 0.1
    adjacency = np.triu(links, 1) + np.triu(links, 1).T.astype(float)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = KernelPCA(2, kernel="precomputed").fit(adjacency)
    centred = adjacency - adjacency.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    expected = np.linalg.eigvalsh(centred)[:-3:-1]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)


@pytest.mark.parametrize("trace", [24.3, 0.5])
@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")
def test_negative_eigenvalues_do_not_hide_copies_of_the_largest(trace):
    """The trace bounds an eigenvalue only if none is negative."""
    n, rng = 800, np.random.default_rng(5)
    vectors = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))]))[0][:, 1:]
    negative = -(40 + 27 - trace) / (n - 71)
    values = np.r_[np.ones(40), np.full(30, 0.9), np.full(n - 71, negative)]
    K = (vectors * values) @ vectors.T
    model = KernelPCA(25, kernel="precomputed").fit((K + K.T) / 2)
    np.testing.assert_allclose(model.eigenvalues_, 1.0, rtol=1e-12)
    assert 0.0 < model.certificate_.missed < 1e-9
