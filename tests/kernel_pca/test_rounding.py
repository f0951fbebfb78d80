"""Variances that are only rounding error are zero, whichever solver found them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from princomp import PCA, KernelPCA, load
from princomp.core import fitted_model
from princomp.errors import DataError, NotFiniteError
from princomp.kernel_pca.functions import KernelFunction

N, P = 500, 5
EPS = float(np.finfo(np.float64).eps)


def by_each_solver(k, X, weights=None, **options):
    solvers = ("dense", "arpack")
    models = [KernelPCA(k, eigen_solver=one, **options) for one in solvers]
    return [model.fit(X, sample_weight=weights) for model in models]


# γ at which entries of K, all but 1, are a few dozen units of rounding from it.
@pytest.mark.parametrize(("dtype", "gamma"), [(np.float64, 1e-14), (np.float32, 5e-6)])
@pytest.mark.parametrize("weight", [None, 0.1, 1e3])
def test_a_kernel_with_entries_near_one(dtype, gamma, weight, rng):
    """Its signal is that of the linear kernel times 2γ: one component per column, nothing else."""
    X = rng.standard_normal((N, P)).astype(dtype)
    weights = None if weight is None else np.full(N, weight)
    options = {"kernel": "rbf", "gamma": gamma}
    dense, searched = by_each_solver(20, X, weights, **options)
    assert [model.plan_.solver for model in (dense, searched)] == ["eigh", "lanczos"]
    for model in (dense, searched):
        assert (model.eigenvalues_[:P] > 0).all()
        assert (model.eigenvalues_[P:] == 0).all()
        assert np.array_equal(model.certificate_.below_resolution, np.arange(20) >= P)
        assert (model.transform(X)[:, P:] == 0).all()
    # Entries of 1 are rounded: ε √(Σw max w), and a few times that in products.
    count = np.ones(N) if weights is None else weights
    error = 20 * np.finfo(dtype).eps * np.sqrt(count.sum() * count.max())
    np.testing.assert_allclose(searched.eigenvalues_, dense.eigenvalues_, atol=error)
    if weight is None:
        linear = KernelPCA(P).fit(X.astype(np.float64)).eigenvalues_ * 2 * gamma
        np.testing.assert_allclose(dense.eigenvalues_[:P], linear, atol=error)
    assert KernelPCA(**options).fit(X, sample_weight=weights).n_components_ == P


@pytest.mark.filterwarnings("ignore:all eigenvalues are zero")  # as is tested
@pytest.mark.parametrize(("dtype", "gamma"), [(np.float64, 3e-17), (np.float32, 1e-9)])
def test_a_kernel_that_is_nothing_but_rounding(dtype, gamma, rng):
    X = rng.standard_normal((N, P)).astype(dtype)
    for model in by_each_solver(4, X, kernel="rbf", gamma=gamma):
        assert not model.eigenvalues_.any()
        assert model.certificate_.below_resolution.all()
        assert (model.certificate_.residuals == 0).all()
    with pytest.warns(UserWarning, match=r"explain 0\.0% of the variance"):
        models = by_each_solver(0.9, X, kernel="rbf", gamma=gamma)
    assert [model.n_components_ for model in models] == [0, 0]


def test_a_fraction_of_the_variance_excludes_rounding(rng):
    """The trace includes rounding error, so real components alone never exceed the fraction."""
    X = rng.standard_normal((N, P))
    for model in by_each_solver(1 - 1e-12, X, kernel="rbf", gamma=1e-14):
        assert model.n_components_ == P


def test_precomputed_kernels_have_no_rounding_components(rng):
    X = rng.standard_normal((N, P))
    K = pairwise_kernels(X, metric="rbf", gamma=1e-14)
    for model in by_each_solver(20, K, kernel="precomputed"):
        assert ((model.eigenvalues_ > 0) == (np.arange(20) < P)).all()


def test_a_loose_tolerance_zeroes_no_real_variance(rng):
    """Variances from a search that ends early may be too small, but not zero."""
    X = rng.standard_normal((N, P)) * np.logspace(0, -3, P)
    model = KernelPCA(P, eigen_solver="arpack", tol=1e-2).fit(X)
    assert (model.eigenvalues_ > 0).all()


def test_a_matrix_of_squared_distances_has_a_zero_diagonal(rng):
    """Squared distances, as for scaling: zero on the diagonal, and large elsewhere."""
    X = rng.standard_normal((N, 2)) + np.array([1e3, 0.0]) * (np.arange(N) % 2)[:, None]
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    for model in by_each_solver(6, -0.5 * D, kernel="precomputed"):
        assert ((model.eigenvalues_ > 0) == (np.arange(6) < 2)).all()
    with pytest.raises(DataError, match="look like distances"):
        KernelPCA(kernel="precomputed").fit(D)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_dense_columns_of_sparse_rows_are_shifted(kernel, rng):
    """Their large means would cause cancellation; the other columns stay sparse."""
    X = np.where(rng.random((N, 6)) < 0.2, rng.standard_normal((N, 6)), 0.0)
    X[:, :2] = np.round(rng.standard_normal((N, 2)) * 2**20) / 2**20
    near = X.copy()
    X[:, :2] += 2.0**30  # exactly
    options = {"kernel": kernel, "gamma": None if kernel == "linear" else 0.1}
    expected = KernelPCA(3, **options).fit(near)
    model = KernelPCA(3, **options).fit(sp.csr_array(X))
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-12)
    for rows in (X[:5], sp.csr_array(X[:5])):
        np.testing.assert_allclose(model.transform(rows), expected.transform(near[:5]), atol=1e-11)


@pytest.mark.filterwarnings("ignore:all eigenvalues are zero")  # as is tested
def test_rounding_of_equal_rows_is_not_variance():
    """Equal rows have equal errors, which add up to n times one of them, not √n times."""
    X = np.full((1500, 3), 1e10)
    X[::128] += 0.04
    options = {"kernel": "poly", "degree": 1, "coef0": 0, "gamma": 1}
    for solver in ("arpack", "dense"):
        model = KernelPCA(3, eigen_solver=solver, **options).fit(sp.csr_array(X))
        assert (model.explained_variance_ == 0).all()


@pytest.mark.parametrize(
    ("kind", "size"), [(np.float32, 1e-22), (np.float64, 1e-160), (np.float32, 1e-32)]
)
def test_values_that_underflow_are_refused(kind, size, rng):
    """Otherwise the variances would silently lose digits or become zero."""
    X = (size * rng.standard_normal((N, 3))).astype(kind)
    with pytest.raises(NotFiniteError, match=f"too small.*{np.dtype(kind)}"):
        KernelPCA(2).fit(X)
    with pytest.raises(NotFiniteError, match=f"too small.*{np.dtype(kind)}"):
        KernelPCA(2, approximation="nystrom", n_landmarks=9).fit(X)
    if size > 1e-30:  # products of smaller rows are all zero
        with pytest.raises(NotFiniteError, match="too small"):
            KernelPCA(2, kernel="precomputed").fit(X @ X.T)


@pytest.mark.parametrize("power", [-465, 496])
def test_kernel_values_are_not_squared(power, rng):
    X = rng.standard_normal((N, 3))
    model = KernelPCA(2, eigen_solver="dense").fit(np.ldexp(X, power))
    assert (model.certificate_.residuals < 1e-14).all()
    expected = KernelPCA(2, eigen_solver="arpack").fit(X)
    model = KernelPCA(2, eigen_solver="arpack").fit(np.ldexp(X, power))
    found = np.ldexp(model.explained_variance_, -2 * power)
    np.testing.assert_array_equal(found, expected.explained_variance_)
    assert (model.certificate_.residuals == expected.certificate_.residuals).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_arguments_of_distant_rows_lose_digits(kernel, rng):
    """Variances 1e-6 of the first are resolved among nearby rows, but not if one is far away."""
    X = 1e-3 * rng.standard_normal((100, 1)) + np.arange(100)[:, None] % 2
    model = KernelPCA(3, kernel=kernel).fit(X)
    assert not model.certificate_.below_resolution.any()
    X[0] = 1e14
    model = KernelPCA(4, kernel=kernel).fit(X)
    assert model.certificate_.below_resolution[-1]


def test_the_float32_total_variance_rounds_like_the_entries():
    """float32 powers have the same relative error everywhere, so the diagonal must have it too."""
    X = (23_500 + 50 * np.random.default_rng(0).standard_normal((750, 1))).astype(np.float32)
    gamma = 1.4935350225216154e-08
    model = KernelPCA(1, kernel="poly", degree=3, gamma=gamma, coef0=0).fit(X)
    wide = X.astype(np.longdouble)
    kernel = (gamma * (wide @ wide.T)) ** 3
    total = float(np.trace(kernel) - kernel.sum() / len(X)) / (len(X) - 1)
    entries = float(kernel.max()) / total
    assert abs(model.total_variance_ / total - 1) <= np.finfo(np.float32).eps * entries / 10


@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_roundoff_includes_products_amplified_by_the_kernel_slope(kernel, rng):
    """Five rows far from the origin and near each other: their variances lose digits."""
    X = 1e3 + rng.standard_normal((5, 500))
    gamma = 1.0 / (1e6 * 500)
    options = {"degree": 17.0, "coef0": 0.0} if kernel == "poly" else {"coef0": -1.0}
    model = KernelPCA(4, kernel=kernel, gamma=gamma, **options).fit(X)
    wide = X.astype(np.longdouble)
    values = np.longdouble(gamma) * (wide @ wide.T) + np.longdouble(options["coef0"])
    values = values**17 if kernel == "poly" else np.tanh(values)
    centred = values - values.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    error = abs(model.total_variance_ - float(np.trace(centred) / 4)) / model.total_variance_
    units = np.finfo(float).eps * np.abs(values).max() / model.total_variance_
    roundoff = fitted_model(model).result.spectrum.roundoff
    assert error <= roundoff
    assert roundoff >= float(17 * np.sqrt(500) * units) or kernel == "sigmoid"


@pytest.mark.filterwarnings("ignore:all eigenvalues are zero")  # as is tested
def test_variances_below_the_rounding_of_the_kernel_are_not_claimed_to_be_zero(rng):
    """All kernel values are 1 to the last bit, so no eigenvalue is known, not even the first."""
    X = 1e-9 * rng.standard_normal((30, 3))
    model = KernelPCA(0.42, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X)
    assert (model.n_components_, model.total_variance_) == (0, 0.0)
    assert fitted_model(model).result.spectrum.roundoff == 1.0


@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_errors_of_products_count_without_sign(kernel):
    """The products -1 to -0.25 and coef0 = 1 cancel in the kernel, but not in its error."""
    rows = np.array([[0.5, 0.0], [0.0, 1.0]])
    options = {"degree": 2.0} if kernel == "poly" else {}
    function = KernelFunction(kernel, gamma=-1.0, coef0=1.0, **options)
    largest = np.tanh(0.75) if kernel == "sigmoid" else 0.75
    error = 2 / largest if kernel == "sigmoid" else 2 * (2 / largest) ** 2
    expected = np.finfo(float).eps * np.sqrt(2) * error
    assert function.entry_error(rows, np.float64) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_landmarks_of_sparse_rows_far_from_the_origin(kernel, rng, tmp_path):
    """Columns that hold a value in every row are shifted, as those of dense rows are."""
    X = rng.standard_normal((60, 5))
    X[:, 3:] *= rng.random((60, 2)) < 0.3
    origin = np.array([1e12, 0, 0, 0, 0])
    far = X + origin
    near = far - origin
    options = {"kernel": kernel, "gamma": 0.2, "approximation": "nystrom"}
    model = KernelPCA(3, landmarks=sp.csr_array(far[:20]), **options).fit(sp.csr_array(far))
    expected = KernelPCA(3, landmarks=near[:20], **options).fit(near)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(
        model.transform(sp.csr_array(far)), expected.transform(near), atol=1e-9
    )
    model.save(tmp_path / "m.pca")
    again = load(tmp_path / "m.pca").transform(sp.csr_array(far))
    np.testing.assert_array_equal(again, model.transform(sp.csr_array(far)))


@pytest.mark.parametrize("power", [-1000, -520, 520, 1000])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_cosines_do_not_depend_on_the_size_of_the_rows(power, kind, rng):
    X = rng.standard_normal((20, 3))
    X[4] = 0
    expected = KernelPCA(2, kernel="cosine").fit(kind(X))
    sizes = np.ldexp(1.0, rng.integers(power - 20, power + 20, len(X)))[:, None]
    model = KernelPCA(2, kernel="cosine").fit(kind(X * sizes))
    np.testing.assert_array_equal(model.eigenvalues_, expected.eigenvalues_)
    np.testing.assert_array_equal(model.transform(kind(X * sizes)), expected.transform(kind(X)))


@pytest.mark.parametrize("power", [-40, 40])
@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_gamma_may_be_beyond_the_range_of_float32(power, approximation, rng):
    """γx underflows or overflows, and γxᵀy does not."""
    X = rng.standard_normal((30, 3)).astype(np.float32)
    options = {"kernel": "poly", "degree": 3, "coef0": 0, "approximation": approximation}
    found = []
    for size in (1.0, 4.0**power):
        if approximation:
            options["landmarks"] = size * X[:10]
        found.append(KernelPCA(2, gamma=0.25 / size**2, **options).fit(size * X))
    expected, model = found
    assert model.explained_variance_[0] > 0
    np.testing.assert_array_equal(model.explained_variance_, expected.explained_variance_)


def test_roundoff_covers_sums_of_nearly_parallel_sparse_rows():
    """A product of sparse rows adds one value after another, and its error grows with them."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** np.linspace(6, 0, 480)
    X = np.round(sizes * (1.0 + 1e-4 * rng.standard_normal((9, 1)) * rng.standard_normal(480)))
    model = KernelPCA(1, kernel="cosine").fit(sp.csr_array(X))
    spectrum = fitted_model(model).result.spectrum
    # Of unit vectors, differences lose half of the digits that products lose.
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = PCA(1, svd_solver="full").fit(unit).explained_variance_[0]
    error = abs(spectrum.variances[0] - expected)
    assert error <= spectrum.roundoff * expected
    assert spectrum.roundoff < 1.0


@pytest.mark.parametrize("precomputed", [True, False])
def test_strided_outliers_do_not_set_the_kernel_level(precomputed):
    """A level far from the entries costs digits of the total variance."""
    X = 1e-3 * np.random.default_rng(0).standard_normal((1600, 1))
    X[::100] = 60.0
    options = {"kernel": "poly", "gamma": 0.05, "degree": 1, "coef0": 1}
    wide = 0.05 * X.astype(np.longdouble) @ X.T + 1
    if precomputed:
        options, X = {"kernel": "precomputed"}, wide.astype(np.float64)
        wide = X.astype(np.longdouble)
    total = np.trace(wide - wide.mean(axis=0)) / 1599
    model = KernelPCA(1, **options).fit(X)
    assert abs(model.total_variance_ / total - 1) <= 8 * np.finfo(float).eps


def _first_variance(values):
    """The first variance of a kernel matrix (n, n) in extended precision, from a float64 vector."""
    n = len(values)
    values = values - values.mean(axis=0)
    values = (values - values.mean(axis=1)[:, None]) / (n - 1)
    vector = np.linalg.eigh(values.astype(float))[1][:, -1].astype(np.longdouble)
    return float(vector @ values @ vector / (vector @ vector))


def test_roundoff_covers_errors_shared_by_nearby_rows():
    """Rounded to a grid, they have the same squares, and errors that do not average out."""
    rng = np.random.default_rng(0)
    noise = np.round(np.ldexp(1e-4 * rng.standard_normal((600, 8)), 14))
    X, gamma = np.repeat([1.1, -1.1], 300)[:, None] + np.ldexp(noise, -14), 5.2e6
    model = KernelPCA(1, kernel="rbf", gamma=gamma).fit(X)
    wide = X.astype(np.longdouble)
    squares = sum((wide[:, j, None] - wide[:, j]) ** 2 for j in range(8))
    expected = _first_variance(np.exp(-gamma * squares))
    roundoff = fitted_model(model).result.spectrum.roundoff
    assert abs(model.explained_variance_[0] - expected) <= roundoff * expected < 1e-6 * expected


def test_roundoff_covers_the_division_of_chi2_rows():
    rng = np.random.default_rng(0)
    X = np.round(5000 + 3 * rng.standard_normal((60, 2)))
    model = KernelPCA(1, kernel="chi2", gamma=1e3, scale="unit").fit(X)
    wide = (X / model.scale_.astype(np.longdouble)).T
    terms = sum((x[:, None] - x) ** 2 / (x[:, None] + x) for x in wide)
    expected = _first_variance(np.exp(-np.longdouble(1e3) * terms))
    roundoff = fitted_model(model).result.spectrum.roundoff
    assert abs(model.explained_variance_[0] - expected) <= roundoff * expected < 1e-9 * expected


@pytest.mark.parametrize(("dtype", "power"), [(np.float32, 80), (np.float64, 520)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_chi2_kernel_does_not_depend_on_the_unit_of_the_rows(sign, dtype, power, rng):
    """Squares of such rows underflow or overflow; multiplied by γ, the rows do not."""
    X = rng.exponential(size=(40, 3)).astype(dtype)
    scaled, gamma = np.ldexp(X, sign * power), float(np.ldexp(0.7, -sign * power))
    kernels = KernelFunction("chi2", gamma=0.7), KernelFunction("chi2", gamma=gamma)
    expected, values = (
        kernel.tile(kernel.sides(rows), kernel.sides(rows[:20]))
        for kernel, rows in zip(kernels, (X, scaled), strict=True)
    )
    np.testing.assert_array_equal(values, expected)
    terms = sum((x[:, None] - x[:20]) ** 2 / (x[:, None] + x[:20]) for x in X.T.astype(np.float64))
    np.testing.assert_allclose(values, np.exp(-0.7 * terms), rtol=40 * np.finfo(dtype).eps)
    options = {"kernel": "chi2", "approximation": "nystrom"}
    model = KernelPCA(2, gamma=0.7, landmarks=X[:20], **options).fit(X)
    model_scaled = KernelPCA(2, gamma=gamma, landmarks=scaled[:20], **options).fit(scaled)
    np.testing.assert_array_equal(model_scaled.transform(scaled), model.transform(X))


@pytest.mark.parametrize("power", [-900, -520, 300, 520])
def test_an_additive_chi2_kernel_is_proportional_to_the_rows(power, rng):
    X = rng.exponential(size=(40, 3))
    kernel = KernelFunction("additive_chi2")
    expected, values = (
        kernel.tile(kernel.sides(rows), kernel.sides(rows[:20])) for rows in (X, np.ldexp(X, power))
    )
    np.testing.assert_array_equal(values, np.ldexp(expected, power))
    plain, scaled = (
        KernelPCA(2, kernel="additive_chi2").fit(rows) for rows in (X, np.ldexp(X, power))
    )
    found = np.ldexp(scaled.eigenvalues_, -power)
    np.testing.assert_allclose(found, plain.eigenvalues_, rtol=40 * N * EPS)


def test_a_chi2_kernel_of_the_largest_numbers():
    X = np.array([[1.0], [1.5], [1.5]]) * 2.0**1023
    values = KernelFunction("chi2", gamma=1e300).sides(X)
    matrix = KernelFunction("chi2", gamma=1e300).tile(values, values)
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_large_weights_do_not_hide_an_underflowing_spread(rng):
    """Squares below 1e-308 have lost digits, also times a weight of 1e10."""
    X = np.ldexp(rng.standard_normal((40, 3)), -520)
    with pytest.raises(NotFiniteError, match="spread of column 0 is too small"):
        KernelPCA(1, scale="unit").fit(X, sample_weight=np.full(40, 1e10))


def test_the_rounding_of_an_argument_grows_with_the_number_of_columns(rng):
    """Columns with equal differences round the sum of their squares in one direction."""
    X = np.full((11, 600), 87000)
    X[5:] += 13848 + (rng.random((6, 600)) < 0.1)
    X[4, 0] += 1
    weights = np.full(11, 1e-6)
    weights[[2, 3, 4, 9]] = 1e6
    gamma = 4.4e-10
    model = KernelPCA(kernel="rbf", gamma=gamma).fit(X, sample_weight=weights)
    # Subtracting 1 from all entries does not change the centred kernel, and expm1 is exact.
    K = np.expm1(-gamma * ((X[:, None] - X) ** 2).sum(axis=2).astype(np.longdouble))
    means = (weights @ K) / weights.sum()
    centred = K - means - (means - weights @ means / weights.sum())[:, None]
    true = np.linalg.eigvalsh((centred * np.sqrt(np.outer(weights, weights))).astype(float))[::-1]
    roundoff = model.__fitted_model__().result.spectrum.roundoff
    assert abs(model.eigenvalues_[1] - true[1]) <= roundoff * true[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_a_search_in_a_precomputed_matrix_of_nearly_equal_entries(dtype, weight):
    """Sums of nearly equal entries are not rounded in one direction."""
    n, sign = 800, np.where(np.arange(800) < 400, 1.0, -1.0)
    small = 1e-4 if dtype == np.float32 else 1e-9
    weights = None if weight is None else np.full(n, weight)
    for level in (1.05, 1.4, 1.77):
        K = (level * (1 + small * np.outer(sign, sign)) + small * 0.01 * np.eye(n)).astype(dtype)
        model = KernelPCA(1, kernel="precomputed").fit(K, sample_weight=weights)
        assert model.plan_.solver == "lanczos"
        expected = reference_first(K.astype(np.longdouble))
        divisor = n - 1 if weight is None else n - 1 / weight
        error = abs(model.explained_variance_[0] * divisor / expected - 1)
        assert error <= 40 * np.finfo(dtype).eps


def test_a_degree_that_float32_cannot_hold(rng):
    X = (np.abs(rng.standard_normal((40, 3))) * 1e7).astype(np.float32)
    options = {"kernel": "poly", "degree": 2.1, "gamma": 1.0}
    model = KernelPCA(2, **options).fit(X)
    wide = KernelPCA(2, **options).fit(X.astype(np.float64))
    assert model.eigenvalues_ == pytest.approx(wide.eigenvalues_, rel=1e-6)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_a_first_variance_near_the_smallest_numbers(solver):
    """Errors of the large entries of light rows, relative to the spread of three heavy ones."""
    rng = np.random.default_rng(0)
    X, weights = 1e-152 * rng.standard_normal((40, 2)), np.full(40, 1e-6)
    X[1], X[2], weights[:3] = X[0] * 1.001, X[0] * [0.999, 1.002], 1e6
    model = KernelPCA(1, kernel="linear", eigen_solver=solver).fit(X, sample_weight=weights)
    wide, shares = X.astype(np.longdouble), weights / weights.sum()
    centred = wide - shares @ wide
    (a, b), (_, c) = (centred.T * weights) @ centred / (weights.sum() - 1)
    true = (a + c) / 2 + np.sqrt(((a - c) / 2) ** 2 + b**2)
    roundoff = fitted_model(model).result.spectrum.roundoff
    assert abs(model.explained_variance_[0] - true) <= roundoff * true
    assert roundoff < 1e-6


def reference_first(K):
    """The first eigenvalue of the centred matrix K."""
    means = K.mean(axis=0)
    return np.linalg.eigvalsh((K - means - means[:, None] + means.mean()).astype(float))[-1]


@pytest.mark.parametrize("approximation", [None, "nystrom", "features"])
@pytest.mark.parametrize("options", [{"gamma": 1e-8}, {"kernel": "poly", "coef0": 1e3}])
def test_float32_rows_have_the_scores_of_a_float64_fit(options, approximation, rng):
    """Kernel values that are nearly equal cancel, so float32 would keep nothing of their scores."""
    X = rng.standard_normal((60, 4))
    options = {"kernel": "rbf", "approximation": approximation, "n_landmarks": 60} | options
    model, rows = KernelPCA(3, **options).fit(X), X.astype(np.float32)
    scores, expected = model.transform(rows), model.transform(rows.astype(np.float64))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_learned_pre_images_of_float32_scores(rng):
    X = rng.standard_normal((200, 6)).astype(np.float32)
    model = KernelPCA(10, kernel="poly", pre_image="ridge", alpha=1e-6).fit(X)
    scores = model.transform(X)
    expected = model.inverse_transform(scores.astype(np.float64))
    np.testing.assert_allclose(model.inverse_transform(scores), expected, rtol=0, atol=1e-6)


def test_rates_of_a_kernel_that_rounding_may_make_indefinite_do_not_exceed_one():
    """tanh of large float32 numbers: negative eigenvalues as large as the errors of entries."""
    X = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    model = KernelPCA(kernel="sigmoid", gamma=1e4, coef0=0.0).fit(X)
    assert model.n_components_ < 40
    assert abs(model.explained_variance_ratio_.sum() - 1) <= 60 * np.finfo(float).eps


def test_the_total_variance_is_the_trace_not_the_sum_of_rounded_eigenvalues():
    """Eigenvalues are off by about ε times the entries, which are a million times larger here."""
    X = np.random.default_rng(29).integers(0, 3, (21, 4)).astype(float)

    def kernel(x, y):
        return np.exp(-1e-6 * ((x - y) ** 2).sum())

    model = KernelPCA(kernel=kernel).fit(X)
    K = np.array([[kernel(x, y) for y in X] for x in X], np.longdouble)
    trace = np.trace(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()) / 20
    assert abs(model.total_variance_ / trace - 1) <= 4 * 21 * np.finfo(float).eps


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_a_share_that_rounding_errors_hide_is_missed_with_a_warning(solver, rng):
    X = rng.standard_normal((60, 3)) * [4.0, 1.0, 1.0]
    K = X @ X.T + 1e15  # entries are rounded to 1/8; the second and third eigenvalue are about 60
    model = KernelPCA(0.99, kernel="precomputed", eigen_solver=solver)
    with pytest.warns(
        UserWarning, match="0.99 is not reached: the eigenvalues above rounding errors"
    ):
        model.fit(K)
    assert model.n_components_ < 3
    assert model.explained_variance_ratio_.sum() < 0.99
