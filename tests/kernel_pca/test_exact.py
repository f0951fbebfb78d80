"""The exact solution: compared with scikit-learn and linear PCA, and its own properties."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from scipy.spatial.distance import pdist
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from princomp import PCA, KernelPCA, tune
from princomp.errors import DataError, MemoryLimitError, NotFiniteError, ParameterError, ShapeError
from princomp.kernel_pca.median import median_gamma
from princomp.linalg import EPS

CHECKED = [
    KernelPCA(),
    KernelPCA(2),
    KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
    KernelPCA(2, kernel="rbf", approximation="nystrom", n_landmarks=10),
    KernelPCA(2, kernel="rbf", approximation="features", n_landmarks=10),
    KernelPCA(1, missing="em"),
]
KERNELS = ("rbf", "poly", "sigmoid", "cosine", "linear", "laplacian", "chi2")


@parametrize_with_checks(CHECKED)
def test_scikit_learns_conventions(estimator, check):
    check(estimator)


def reference(K, k):
    """The first k eigenpairs of HKH, and its trace."""
    n = len(K)
    H = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(H @ K @ H)
    return values[::-1][:k], vectors[:, ::-1][:, :k], float(np.trace(H @ K @ H))


def rows_of(rng, n, p):
    return rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 2.0


def test_a_scikit_learn_example_gives_the_same_numbers():
    """After a change of the import, code for scikit-learn gives equal numbers up to signs."""
    X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    options = {"kernel": "rbf", "gamma": 0.04, "fit_inverse_transform": True}
    model = KernelPCA(n_components=2, **options).fit(X)
    sklearn_model = sklearn.decomposition.KernelPCA(n_components=2, **options).fit(X)
    scores, expected = model.transform(X), sklearn_model.transform(X)
    # The 6 eigenvalues are at least 0.1 apart: a few times roundoff.
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-13)
    np.testing.assert_allclose(model.eigenvalues_, sklearn_model.eigenvalues_, rtol=1e-13)
    np.testing.assert_allclose(
        model.inverse_transform(scores), sklearn_model.inverse_transform(expected), atol=1e-13
    )


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [60, 700])
def test_every_kernel_matches_its_matrix(kernel, n, rng):
    """60 rows are solved by LAPACK, 700 by a search."""
    X = np.abs(rows_of(rng, n, 8))
    options = {"gamma": 0.02, "degree": 2, "coef0": 1.5}
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **options)
    values, vectors, trace = reference(K, 4)
    model = KernelPCA(4, kernel=kernel, **options).fit(X)
    assert model.plan_.solver == ("eigh" if n == 60 else "lanczos")
    # Entries of K are rounded before their mean is subtracted, in both computations.
    error = 50 * EPS * np.sqrt(n) * np.abs(K).max() * np.sqrt(n)
    np.testing.assert_allclose(model.eigenvalues_, values, atol=error)
    gaps = -np.diff(np.append(values, 0.0)).min()
    cosines = np.abs(np.einsum("ij,ij->j", model.eigenvectors_, vectors))
    assert (1 - cosines).max() <= (error / gaps) ** 2 + 1e-12
    # The matrix of "sigmoid" has negative eigenvalues beyond these.
    total = max(trace, values.sum()) / (n - 1)
    assert model.total_variance_ == pytest.approx(total, rel=1e-9)
    np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=error)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
@pytest.mark.parametrize("lowest", [-4.0, -7.0, -20.0])
def test_a_matrix_with_negative_eigenvalues_beyond_the_components(solver, lowest, rng):
    n = 40
    axes = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, 5))])[0][:, 1:]  # centred
    K = (axes * [3.0, 2.0, 1.0, 0.5, lowest]) @ axes.T
    model = KernelPCA(2, kernel="precomputed", eigen_solver=solver)
    with pytest.warns(
        UserWarning, match="not positive semi-definite: the eigenvalues that were not computed"
    ):
        model.fit((K + K.T) / 2)
    np.testing.assert_allclose(model.eigenvalues_, [3.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_, [0.6, 0.4], rtol=1e-12)
    with pytest.raises(DataError, match="negative eigenvalues") as caught:
        model.set_params(n_components=0.9).fit((K + K.T) / 2)
    assert "; or keep n_components=" in caught.value.hint


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_the_total_does_not_contain_negative_eigenvalues_that_are_set_to_zero(solver, rng):
    n = 12
    axes = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, n - 1))])[0][:, 1:]  # centred
    values = np.array([3.0, 2.0, *[-1e-8] * (n - 3)])
    values[-1] = -1e-3
    K = (axes * values) @ axes.T
    model = KernelPCA(5, kernel="precomputed", eigen_solver=solver)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model.fit((K + K.T) / 2)
    np.testing.assert_allclose(model.eigenvalues_, [3.0, 2.0, 0.0, 0.0, 0.0], rtol=1e-13)
    assert abs(model.explained_variance_ratio_.sum() - 1.0) <= 4 * EPS


@pytest.mark.parametrize("shape", [(120, 7), (30, 200), (900, 40)], ids=str)
@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_linear_kernel_equals_pca(shape, mean, rng):
    X = rows_of(rng, *shape) + mean
    k = min(5, min(shape) - 1)
    kernel, linear = KernelPCA(k).fit(X), PCA(k).fit(X)
    new = rows_of(rng, 20, shape[1]) + mean
    rates = kernel.explained_variance_ratio_
    np.testing.assert_allclose(rates, linear.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(kernel.explained_variance_, linear.explained_variance_, rtol=1e-10)
    # The sign rules of the two classes use different vectors.
    scores, expected = kernel.transform(new), linear.transform(new)
    signs = np.sign((scores * expected).sum(axis=0))
    np.testing.assert_allclose(scores, expected * signs, atol=1e-10 * np.abs(expected).max())


def test_the_linear_inverse_keeps_the_mean(rng):
    X = rows_of(rng, 50, 4) + 50
    model = KernelPCA(4, fit_inverse_transform=True).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)


@pytest.mark.parametrize("n", [80, 900])
def test_a_fraction_keeps_the_fewest_components_exceeding_it(n, rng):
    """0.3 is found by a search; 0.995 of 900 rows takes too many components for one."""
    X = rows_of(rng, n, 10)
    every = KernelPCA(kernel="rbf", gamma=0.004).fit(X).accumulated_rate_
    for share in (0.3, 0.6, 0.995):
        model = KernelPCA(share, kernel="rbf", gamma=0.004).fit(X)
        assert n == 80 or (model.plan_.solver == "eigh") == (share == 0.995)
        k = model.n_components_
        assert every[k - 1] > share
        assert k == 1 or every[k - 2] <= share


def test_a_fraction_works_with_fewer_rows_than_block_vectors(rng):
    X = rng.standard_normal((10, 3))
    model = KernelPCA(0.8, kernel="linear", eigen_solver="arpack").fit(X)
    pca = PCA(0.8).fit(X)
    assert model.n_components_ == pca.n_components_
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-13)


def test_integer_weights_equal_repeated_rows(rng):
    for n in (40, 700):
        X = rows_of(rng, n, 6)
        weights = rng.integers(0, 4, n)
        weighted = KernelPCA(3, kernel="rbf", gamma=0.03).fit(X, sample_weight=weights)
        repeated = KernelPCA(3, kernel="rbf", gamma=0.03).fit(np.repeat(X, weights, axis=0))
        np.testing.assert_allclose(
            weighted.explained_variance_, repeated.explained_variance_, rtol=1e-11
        )
        scores, expected = weighted.transform(X), repeated.transform(X)
        np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-9)
        again = KernelPCA(3, kernel="rbf", gamma=0.03).fit_transform(X, sample_weight=weights)
        np.testing.assert_allclose(again, scores, atol=1e-11)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_weights_of_any_size_are_accepted_if_they_give_a_variance(kernel, rng):
    X = rows_of(rng, 50, 4)
    X = X @ X.T if kernel == "precomputed" else X
    model = KernelPCA(2, kernel=kernel)
    expected = model.fit(X).explained_variance_ * 49 / 50
    for weight in (1e155, 1e200):
        model.fit(X, sample_weight=np.full(50, weight))
        np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-12)
    with pytest.raises(ShapeError, match=r"sum of weights above 1, got 0\.5 over 50 rows"):
        model.fit(X, sample_weight=np.full(50, 0.01))
    with pytest.raises(ShapeError, match=r"sum of weights above 1, got 1 over 50 rows"):
        model.fit(X, sample_weight=np.full(50, (1 + 1e-15) / 50))


def test_float32_is_kept_within_its_precision(rng):
    X = rows_of(rng, 600, 8).astype(np.float32)
    single = KernelPCA(3, kernel="rbf", gamma=0.03).fit(X)
    double = KernelPCA(3, kernel="rbf", gamma=0.03).fit(X.astype(np.float64))
    assert single.transform(X).dtype == single.eigenvalues_.dtype == np.float32
    assert single.eigenvectors_.dtype == np.float32
    # Entries of K are rounded: twice the root of n units, relative to λ₁ of order n / 10.
    bound = 100 * np.finfo(np.float32).eps
    np.testing.assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=bound)


def test_a_narrow_cluster_far_from_the_mean_keeps_its_distances(rng):
    """float32 rows near 1000: differences are taken in float64, about the mean."""
    X = (rng.standard_normal((200, 3)) * 0.5 + [1000, -1000, 500]).astype(np.float32)
    double = X.astype(np.float64)
    single = KernelPCA(2, kernel="rbf", gamma=1.0).fit(X)
    exact, _, _ = reference(pairwise_kernels(double - double.mean(0), metric="rbf", gamma=1.0), 2)
    np.testing.assert_allclose(single.eigenvalues_, exact, rtol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "sigmoid", "laplacian"])
def test_sparse_rows_give_the_dense_model(kernel, rng):
    X = sp.random_array((500, 30), density=0.1, rng=rng, format="csr")
    options = {"kernel": kernel, "gamma": 0.1}
    thin, full = KernelPCA(3, **options).fit(X), KernelPCA(3, **options).fit(X.toarray())
    np.testing.assert_allclose(thin.eigenvalues_, full.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(thin.transform(X), full.transform(X.toarray()), atol=1e-8)


def test_the_kernel_can_be_a_python_function(rng):
    X = rows_of(rng, 40, 4)

    def alike(a, b, power):
        return float(np.exp(-0.03 * ((a - b) ** 2).sum())) ** power

    model = KernelPCA(3, kernel=alike, kernel_params={"power": 2.0}).fit(X)
    named = KernelPCA(3, kernel="rbf", gamma=0.06).fit(X)
    np.testing.assert_allclose(model.transform(X), named.transform(X), atol=1e-12)


def test_uncached_tiles_give_the_same_model(rng):
    """With a limit of 3 MB, few of the 9 MB of half the matrix of 1,500 rows are cached."""
    X = rows_of(rng, 1500, 5)
    options = {"kernel": "rbf", "gamma": 0.05}
    kept, few, none = (
        KernelPCA(3, **options, memory_limit=limit).fit(X) for limit in (None, "16MB", "3MB")
    )
    assert "all of the tiles kept" in str(kept.plan_)
    assert " 0% of the tiles kept" in str(none.plan_)
    np.testing.assert_allclose(few.transform(X), kept.transform(X), atol=1e-12)
    np.testing.assert_allclose(none.transform(X), kept.transform(X), atol=1e-12)


def test_results_are_bitwise_equal_for_any_thread_count(rng):
    X = rows_of(rng, 900, 5)
    one, two = (
        KernelPCA(4, kernel="rbf", gamma=0.05, n_jobs=jobs).fit_transform(X) for jobs in (1, 2)
    )
    assert np.array_equal(one, two)


def test_scores_of_few_rows_do_not_depend_on_blas_threads(rng):
    X = rows_of(rng, 600, 40).astype(np.float32)
    model = KernelPCA(4, kernel="poly", n_landmarks=50, approximation="nystrom").fit(X)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(model.transform(X))
    assert np.array_equal(*found)


def test_gamma_median_is_ignored_by_kernels_without_gamma(rng):
    X = np.r_[np.ones((50, 2)), rng.standard_normal((3, 2))]  # the median distance is zero
    model = KernelPCA(1, kernel="linear", gamma="median").fit(X)
    expected = KernelPCA(1, kernel="linear").fit(X)
    np.testing.assert_array_equal(model.eigenvalues_, expected.eigenvalues_)


def test_gamma_median_uses_the_median_distance(rng):
    X = rows_of(rng, 300, 4)
    model = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    between = X[:, None, :] - X[None, :, :]
    distances = np.sqrt((between**2).sum(axis=2))[np.triu_indices(300, 1)]
    assert model.gamma_ == pytest.approx(1 / (2 * np.median(distances) ** 2), rel=1e-12)


@pytest.mark.parametrize("outlier", [1e5, 1e10, 1e15])
def test_the_median_distance_keeps_its_digits_next_to_a_far_row(outlier, rng):
    X = rng.standard_normal((80, 3))
    X[0] += outlier
    expected = 1 / (2 * np.median(pdist(X)) ** 2)
    assert median_gamma(X) == pytest.approx(expected, rel=1e-7)
    expected = 1 / np.median(pdist(X, "cityblock"))
    model = KernelPCA(2, kernel="laplacian", gamma="median").fit(X)
    assert model.gamma_ == pytest.approx(expected, rel=1e-7)


def distances_of_kernel(X, kernel):
    """What a kernel multiplies by γ, for all pairs of different rows."""
    x, y = X[:, None], X[None]
    terms = np.abs(x - y) if kernel == "laplacian" else (x - y) ** 2 / (x + y)
    return terms.sum(axis=2)[np.triu_indices(len(X), 1)]


@pytest.mark.parametrize("kernel", ["laplacian", "chi2"])
def test_the_median_gamma_is_that_of_the_distances_of_the_kernel(kernel, rng):
    X = rng.gamma(2.0, size=(80, 5))
    expected = 1 / np.median(distances_of_kernel(X, kernel))
    model = KernelPCA(2, kernel=kernel, gamma="median").fit(X)
    assert model.gamma_ == pytest.approx(expected, rel=1e-12)
    assert median_gamma(sp.csr_array(X), kernel=kernel) == pytest.approx(expected, rel=1e-12)
    scaled = KernelPCA(2, kernel=kernel, gamma="median", scale="unit").fit(X)
    by_unit = 1 / np.median(distances_of_kernel(X / X.std(axis=0, ddof=1), kernel))
    assert scaled.gamma_ == pytest.approx(by_unit, rel=1e-12)
    landmarks = KernelPCA(2, kernel=kernel, gamma="median", approximation="nystrom").fit(X)
    assert landmarks.gamma_ == pytest.approx(expected, rel=1e-12)
    found = tune(X, {"kernel": ["rbf", kernel], "gamma": ["3 * median"]}, by="reconstruction", cv=2)
    gammas = [each["gamma"] for each in found.parameters]
    assert gammas == pytest.approx([3 * median_gamma(X), 3 * expected], rel=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
@pytest.mark.parametrize("unit", [1 / 16, 1000])
def test_with_the_median_gamma_rates_do_not_depend_on_units(kernel, unit, rng):
    n, p = 90, 6
    X = rng.gamma(2.0, size=(n, p)) ** 2
    model, scaled = (KernelPCA(4, kernel=kernel, gamma="median").fit(X * s) for s in (1.0, unit))
    # Rounding of X s, of the median and of sums over p terms changes the exponents by some 2p + 4
    # units of the largest size of a row times γ, entries of the kernel by as much, and eigenvalues
    # by n times that.
    sizes = (X**2).sum(axis=1) if kernel == "rbf" else 2 * X.sum(axis=1)
    entry = (2 * p + 4) * np.finfo(float).eps * max(1.0, model.gamma_ * sizes.max())
    bound = 2 * n * entry / (model.total_variance_ * (n - 1))
    difference = scaled.explained_variance_ratio_ - model.explained_variance_ratio_
    assert np.abs(difference).max() <= bound
    assert 0.2 < model.explained_variance_ratio_.sum() < 0.95


def test_the_median_gamma_refuses_kernels_without_gamma_and_negative_rows(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ParameterError, match="kernel='cosine'"):
        median_gamma(X, kernel="cosine")
    with pytest.raises(DataError, match="kernel 'chi2' takes no negative values"):
        median_gamma(X, kernel="chi2")


def test_the_median_distance_of_huge_and_tiny_rows(rng):
    X = rng.standard_normal((80, 3))
    for power in (-520, -400, 400, 520):  # powers of two change no digit
        scaled = X * 2.0**power
        if abs(power) == 400:
            assert median_gamma(scaled) == median_gamma(X) * 2.0 ** (-2 * power)
            assert median_gamma(sp.csr_array(scaled)) == pytest.approx(
                median_gamma(scaled), rel=1e-12
            )
            continue
        with pytest.raises(NotFiniteError, match="median distance"):
            median_gamma(scaled)
        expected = median_gamma(X, kernel="laplacian") * 2.0**-power
        assert median_gamma(scaled, kernel="laplacian") == expected


def test_the_certificate_bounds_the_measured_residuals(rng):
    X = rows_of(rng, 800, 6)
    model = KernelPCA(5, kernel="rbf", gamma=0.02).fit(X)
    K = pairwise_kernels(X - X.mean(0), metric="rbf", gamma=0.02)
    H = np.eye(800) - 1 / 800
    vectors, values = model.eigenvectors_, model.eigenvalues_
    away = np.linalg.norm(H @ K @ H @ vectors - vectors * values, axis=0) / values[0]
    assert (away <= model.certificate_.residuals + 1e-13).all()
    assert model.certificate_.residuals.max() < 1e-13
    assert model.certificate_.orthogonality < 1e-13


def test_zero_variance_components_have_zero_scores():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]], 5, axis=0)
    model = KernelPCA(5, kernel="rbf").fit(X)
    assert (model.eigenvalues_[:2] > 0).all()
    assert (model.eigenvalues_[2:] == 0).all()
    assert (model.transform(X)[:, 2:] == 0).all()
    assert KernelPCA(5, kernel="rbf", remove_zero_eig=True).fit(X).n_components_ == 2
    assert KernelPCA(kernel="rbf").fit(X).n_components_ == 2


def test_a_fraction_of_constant_rows_has_no_components():
    for solver in ("dense", "arpack"):
        model = KernelPCA(0.5, kernel="rbf", eigen_solver=solver).fit(np.ones((20, 3)))
        assert model.n_components_ == 0


def test_rbf_separates_concentric_circles():
    """They are linearly separable in the feature space, but not in the input space."""
    X, label = make_circles(400, factor=0.3, noise=0.05, random_state=0)

    def accuracy(scores):
        columns = np.column_stack([scores, np.ones(400)])
        plane = np.linalg.lstsq(columns, 2.0 * label - 1, rcond=None)[0]
        return float(((columns @ plane > 0) == (label == 1)).mean())

    assert accuracy(X) < 0.7
    assert accuracy(KernelPCA(4, kernel="rbf", gamma=2).fit_transform(X)) == 1.0


@pytest.mark.parametrize("missing", ["drop", "em", "nipals"])
def test_rows_with_missing_cells_are_dropped_or_filled(missing, rng):
    X = rows_of(rng, 120, 5)
    holes = X.copy()
    holes[3, 2] = holes[50, 0] = np.nan
    model = KernelPCA(2, kernel="rbf", gamma=0.05, missing=missing).fit(holes)
    scores = model.transform(holes)
    if missing == "drop":
        kept = np.delete(X, [3, 50], axis=0)
        assert model.n_dropped_ == 2
        assert np.isnan(scores[[3, 50]]).all()
    else:
        kept = PCA(2, missing=missing).fit(holes).impute(holes)
        assert np.isfinite(scores).all()
    plain = KernelPCA(2, kernel="rbf", gamma=0.05).fit(kept)
    np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-12)
    assert KernelPCA(2, missing=missing).fit_transform(holes).shape == (120, 2)


def test_memory_limits_are_checked_before_computing(rng):
    X = rng.standard_normal((50_000, 2))
    with pytest.raises(MemoryLimitError, match="approximation='nystrom'"):
        KernelPCA(10, kernel="rbf", memory_limit="20MB").fit(X)
    with pytest.raises(MemoryLimitError, match="n_components=10"):
        KernelPCA(kernel="rbf", memory_limit="20MB").fit(X)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_negative_values_are_refused_where_a_kernel_takes_none(kernel):
    with pytest.raises(DataError, match=f"'{kernel}' takes no negative values, and one is -2"):
        KernelPCA(1, kernel=kernel).fit(np.array([[1.0, 2.0], [-2.0, 1.0], [3.0, 1.0]]))


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_chi2_takes_sparse_rows(kernel, rng):
    X = np.abs(rows_of(rng, 30, 4)) * (rng.random((30, 4)) < 0.5)
    dense, sparse = (KernelPCA(2, kernel=kernel).fit(rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(sparse.eigenvalues_, dense.eigenvalues_)
    np.testing.assert_array_equal(sparse.transform(sp.csr_array(X)), dense.transform(X))


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_read_only_rows_are_accepted(kernel, rng):
    X = np.abs(rows_of(rng, 30, 4))
    plain = KernelPCA(2, kernel=kernel, gamma=0.1).fit(X)
    X.flags.writeable = False
    np.testing.assert_array_equal(
        KernelPCA(2, kernel=kernel, gamma=0.1).fit(X).eigenvalues_, plain.eigenvalues_
    )


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
def test_x_fit_leaves_the_arrays_of_the_caller_writable(kind, rng):
    X = rows_of(rng, 30, 4)
    X = {"dense": X, "sparse": sp.csr_array(X), "precomputed": X @ X.T}[kind]
    kernel = kind if kind == "precomputed" else "rbf"
    found = KernelPCA(2, kernel=kernel, copy_X=False).fit(X).X_fit_
    data, own = (each.data if kind == "sparse" else each for each in (X, found))
    assert data.flags.writeable
    assert not own.flags.writeable
    assert (found != X).sum() == 0


def test_a_pickled_model_does_not_grow_with_its_use(rng):
    X = rng.standard_normal((200, 4))
    model = KernelPCA(2, kernel="rbf", pre_image="fixed_point").fit(X)
    fresh = len(pickle.dumps(model))
    scores = model.transform(X)
    assert len(pickle.dumps(model)) == fresh
    rows = model.inverse_transform(scores)
    stored = pickle.dumps(model)
    assert len(stored) < fresh + X.nbytes  # scores of the rows and their distances, 3 columns
    np.testing.assert_array_equal(pickle.loads(stored).transform(X), scores)
    np.testing.assert_array_equal(pickle.loads(stored).inverse_transform(scores), rows)


def test_changes_to_the_rows_do_not_reach_the_model(rng):
    X, new = rows_of(rng, 60, 4), rows_of(rng, 5, 4)
    for options in ({}, {"approximation": "nystrom", "landmarks": X[:20]}):
        training = X.copy()
        if options:
            options["landmarks"] = training[:20]
        model = KernelPCA(2, kernel="rbf", gamma=0.05, **options).fit(training)
        before = model.transform(new)
        training[:] = 0.0
        assert np.array_equal(model.transform(new), before)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_a_share_of_the_variance_may_be_a_numpy_number(solver):
    X = np.random.default_rng(3).standard_normal((60, 5))
    model = KernelPCA(np.float32(0.5), eigen_solver=solver).fit(X)
    assert model.n_components_ == KernelPCA(0.5, eigen_solver=solver).fit(X).n_components_ < 5
