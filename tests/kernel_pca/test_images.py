"""Approximations: feature-space images of rows, summed like ordinary rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import KernelPCA, load
from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, ShapeError


def rows_of(rng, n, p):
    return rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 2.0


def nystrom(k=3, **options):
    options = {"kernel": "rbf", "gamma": 0.02, "approximation": "nystrom", **options}
    return KernelPCA(k, **options)


def assert_same_scores(one, other, atol=1e-9):
    """Compare scores up to the sign of each component."""
    signs = np.sign((one * other).sum(axis=0))
    np.testing.assert_allclose(one, other * signs, atol=atol)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine", "linear"])
def test_all_rows_as_landmarks_are_exact(kernel, rng):
    X = rows_of(rng, 150, 5)
    options = {"kernel": kernel, "gamma": 0.05, "degree": 2}
    exact = KernelPCA(3, **options).fit(X)
    images = KernelPCA(3, **options, approximation="nystrom", landmarks=X).fit(X)
    np.testing.assert_allclose(images.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    size = np.abs(exact.transform(X)).max()
    assert_same_scores(images.transform(X), exact.transform(X), atol=1e-8 * size)


def test_few_landmarks_approximate_the_exact_model(rng):
    X, new = rows_of(rng, 3000, 4), rows_of(rng, 100, 4)
    exact, images = KernelPCA(3, kernel="rbf", gamma=0.02).fit(X), nystrom().fit(X)
    # The variance that is missing bounds the loss of each variance.
    lost = exact.explained_variance_ - images.explained_variance_
    allowed = 2 * images.approximation_error_ * exact.total_variance_
    assert images.approximation_error_ <= 0.01
    assert (np.abs(lost) <= allowed).all()
    signs = np.sign((exact.transform(new) * images.transform(new)).sum(axis=0))
    away = exact.transform(new) - images.transform(new) * signs
    assert np.sqrt((away**2).mean()) < 0.05 * exact.transform(new).std()


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "leverage"])
def test_landmarks_by_every_rule(rule, rng):
    X = rows_of(rng, 800, 4)
    model = nystrom(n_landmarks=60, landmarks=rule).fit(X)
    assert model.landmarks_.shape == (60, 4)
    exact = KernelPCA(3, kernel="rbf", gamma=0.02).fit(X)
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=0.05)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_random_features_approximate_the_exact_model(kernel, rng):
    X = rows_of(rng, 600, 4)
    options = {"kernel": kernel, "gamma": 0.02, "degree": 2}
    model = KernelPCA(2, **options, approximation="features", n_landmarks=2000).fit(X)
    exact = KernelPCA(2, **options).fit(X)
    # An error of some 1 / √D in the kernel.
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=0.15)
    assert model.landmarks_ is None
    assert model.transform(X).shape == (600, 2)


def test_batches_equal_one_fit(rng):
    X = rows_of(rng, 1000, 4)
    whole = nystrom(landmarks=X[:50]).fit(X)
    parts = nystrom(landmarks=X[:50])
    for start in range(0, 1000, 130):
        parts.partial_fit(X[start : start + 130])
    assert np.array_equal(parts.transform(X), whole.transform(X))
    first, second = (nystrom(landmarks=X[:50]).fit(part) for part in (X[:400], X[400:]))
    first.merge(second)
    assert_same_scores(first.transform(X), whole.transform(X))
    first.forget(X[400:])
    assert_same_scores(first.transform(X), nystrom(landmarks=X[:50]).fit(X[:400]).transform(X))
    assert second.n_samples_ == 600


def test_the_feature_map_comes_from_the_first_batch(rng):
    X = rows_of(rng, 600, 4)
    model = nystrom(n_landmarks=100).partial_fit(X[:200])
    known = model.landmarks_.copy()
    model.partial_fit(X[200:])
    assert np.array_equal(model.landmarks_, known)
    assert model.n_samples_ == 600
    with pytest.raises(ShapeError, match="fewer than n_landmarks=100"):
        nystrom(n_landmarks=100).partial_fit(X[:40])


def test_iterators_and_files_equal_the_array(rng, tmp_path):
    X = rows_of(rng, 6000, 4)
    np.save(tmp_path / "x.npy", X)
    array = nystrom(n_landmarks=60).fit(X)
    file = nystrom(n_landmarks=60).fit(tmp_path / "x.npy")
    assert np.array_equal(array.landmarks_, file.landmarks_)
    assert np.array_equal(array.transform(X), file.transform(tmp_path / "x.npy"))
    batches = (X[start : start + 900] for start in range(0, 6000, 900))
    stream = nystrom(landmarks=array.landmarks_).fit(batches)
    assert_same_scores(stream.transform(X), array.transform(X))


def test_sparse_rows_equal_dense_rows(rng):
    X = sp.random_array((900, 40), density=0.1, rng=rng, format="csr")
    thin = nystrom(gamma=0.3, n_landmarks=80).fit(X)
    full = nystrom(gamma=0.3, n_landmarks=80).fit(X.toarray())
    assert_same_scores(thin.transform(X), full.transform(X.toarray()), atol=1e-7)


def test_integer_weights_equal_repeated_rows(rng):
    X = rows_of(rng, 300, 4)
    weights = rng.integers(0, 3, 300)
    points = X[:40]
    once = nystrom(landmarks=points).fit(X, sample_weight=weights)
    every = nystrom(landmarks=points).fit(np.repeat(X, weights, axis=0))
    assert_same_scores(once.transform(X), every.transform(X))


def test_rows_with_missing_values_are_dropped(rng):
    X = rows_of(rng, 300, 4)
    holes = X.copy()
    holes[7, 1] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 7, column 1"):
        nystrom(n_landmarks=30).fit(holes)
    model = nystrom(n_landmarks=30, missing="drop").fit(holes)
    assert model.n_dropped_ == 1
    assert np.isnan(model.transform(holes)[7]).all()
    plain = nystrom(landmarks=model.landmarks_).fit(np.delete(X, 7, axis=0))
    assert_same_scores(model.transform(X), plain.transform(X))


def test_streaming_methods_need_an_approximation(rng):
    X = rows_of(rng, 50, 4)
    exact = KernelPCA(2).fit(X)
    for name in ("partial_fit", "forget", "merge"):
        assert not hasattr(exact, name)
        with pytest.raises(AttributeError) as caught:
            getattr(exact, name)
        assert isinstance(caught.value.__cause__, NotAvailableError)
    with pytest.raises(ParameterError, match="comm"):
        KernelPCA(2).fit(X, comm=object())
    with pytest.raises(NotAvailableError, match="eigenvectors"):
        nystrom(n_landmarks=20).fit(X).eigenvectors_  # noqa: B018
    with pytest.raises(ParameterError, match="different feature maps"):
        nystrom(landmarks=X[:20]).fit(X).merge(nystrom(landmarks=X[20:40]).fit(X))


def test_long_streams_need_little_memory(rng):
    """Twenty batches of 2,000 rows need no more than the sums of 300 coordinates."""
    import tracemalloc

    points = rows_of(rng, 300, 6)
    batch = rows_of(rng, 2000, 6)
    model = nystrom(landmarks=points).partial_fit(batch)
    tracemalloc.start()
    for _ in range(20):
        model.partial_fit(batch)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.n_samples_ == 42_000
    assert peak < 64e6


def test_a_batch_without_rows_adds_nothing(rng):
    X = rng.standard_normal((60, 3))
    model = KernelPCA(2, approximation="nystrom", n_landmarks=20).partial_fit(X)
    before = model.eigenvalues_.tobytes()
    for call in (model.partial_fit, model.forget):
        assert call(X[:0]) is model
    assert model.eigenvalues_.tobytes() == before
    # The map is made of the first rows, so these are needed.
    with pytest.raises(ValueError, match="0 sample"):
        KernelPCA(2, approximation="nystrom", n_landmarks=20).partial_fit(X[:0])


@pytest.mark.parametrize("sparse", [False, True])
def test_linear_images_far_from_the_origin_lose_no_variance(sparse, rng):
    X = rng.standard_normal((200, 5)) + 1e8
    rows = sp.csr_array(X) if sparse else X
    exact = KernelPCA(2, pre_image="ridge").fit(rows)
    images = KernelPCA(2, approximation="nystrom", pre_image="ridge").fit(rows)
    np.testing.assert_allclose(images.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    assert images.total_variance_ == pytest.approx(exact.total_variance_, rel=1e-7)
    found, expected = (each.inverse_transform(each.transform(X)) for each in (images, exact))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("options", [{"landmarks": "uniform"}, {"approximation": "features"}])
def test_components_without_variance_are_left_out_as_by_exact_fits(options, rng):
    X = np.repeat(rng.standard_normal((3, 4)), 5, axis=0)
    options = {"n_landmarks": 40, **options}
    assert nystrom(None, **options).fit(X).n_components_ == 2
    model = nystrom(3, remove_zero_eig=True, **options).fit(X)
    assert model.n_components_ == len(model.certificate_.below_resolution) == 2
    assert model.transform(X).shape == model.fit_transform(X).shape == (15, 2)
    assert nystrom(2.0 / 3, **options).partial_fit(np.tile(X, (4, 1))).n_components_ <= 2


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, 2),
        ({"gamma": "median", "scale": "unit"}, 4),
        ({"gamma": "median", "kernel": "cosine"}, 2),
        ({"landmarks": np.eye(4)}, 1),
        ({"approximation": "features", "n_landmarks": 40}, 1),
    ],
)
def test_passes_count_those_for_the_map(options, passes, rng):
    X, read = rng.standard_normal((300, 4)), []

    def batches():
        yield from np.array_split(X, 3)
        read.append(1)  # counts complete passes

    model = nystrom(2, **options).fit(batches)
    assert len(read) == model.plan_.passes == passes


@pytest.mark.filterwarnings("ignore:the kernel 'sigmoid' between the landmarks")
@pytest.mark.parametrize(
    ("kernel", "similar"), [("sigmoid", {}), ("cosine", {}), ("additive_chi2", {"kernel": "chi2"})]
)
def test_kernels_without_random_features_are_refused_with_those_that_have_them(
    kernel, similar, rng
):
    X, options = np.abs(rows_of(rng, 30, 3)), {"kernel": kernel, "gamma": 0.1}
    with pytest.raises(ParameterError, match="'rbf', 'laplacian' and 'poly', not") as caught:
        KernelPCA(2, approximation="features", **options).fit(X)
    advice = "".join(f" with kernel={name!r}" for name in similar.values())
    assert caught.value.hint == f"use approximation='nystrom'{advice}"
    KernelPCA(2, approximation="nystrom", **{**options, **similar}).fit(X)


def test_additive_chi2_has_no_landmarks(rng):
    with pytest.raises(ParameterError, match="additive_chi2"):
        nystrom(kernel="additive_chi2").fit(np.abs(rows_of(rng, 30, 3)))


def unlike_batches(sizes=(200, 1800)):
    X = np.random.default_rng(0).standard_normal((sum(sizes), 10)) * [5, 4, 3, 2, *[1] * 6]
    return np.split(X, np.cumsum(sizes)[:-1])


def share_left_out(model, X):
    """The share of the variance that the landmarks of a model leave out."""
    every = nystrom(None, kernel=model.kernel, landmarks=model.landmarks_).fit(X)
    return 1 - every.score(X)


@pytest.mark.filterwarnings("ignore:the .* landmarks, chosen from earlier rows")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_error_is_of_all_rows_that_were_added(kernel, tmp_path):
    few, many = unlike_batches()
    both = np.concatenate([few, many])
    model = nystrom(5, kernel=kernel).partial_fit(few)
    assert model.approximation_error_ < 1e-6
    model.partial_fit(many)
    share = share_left_out(model, both)
    assert share > 0.1
    # Both are differences from 1.
    assert model.approximation_error_ == pytest.approx(share, abs=1e-9)
    assert f"200 landmarks leave out {share:.2g} of the variance of all rows" in str(model.plan_)
    assert "an exact fit of" not in str(model.plan_)
    model.save(tmp_path / "model.pca")
    assert load(tmp_path / "model.pca").approximation_error_ == model.approximation_error_
    other = nystrom(5, kernel=kernel, landmarks=model.landmarks_).fit(many)
    merged = nystrom(5, kernel=kernel).fit(few).merge(other)
    assert merged.approximation_error_ == pytest.approx(share, abs=1e-9)
    weights = np.repeat([1.0, 2.0], 1000)
    weighted = nystrom(5, kernel=kernel, landmarks=model.landmarks_).partial_fit(both[:1])
    weighted.partial_fit(both[1:], sample_weight=weights[1:])
    expected = share_left_out(model, np.repeat(both, weights.astype(int), axis=0))
    assert weighted.approximation_error_ == pytest.approx(expected, abs=1e-9)
    assert model.forget(many).approximation_error_ < 1e-6


@pytest.mark.filterwarnings("ignore:the .* landmarks, chosen from earlier rows")
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "poly"},
        {"kernel": "cosine"},
        {"approximation": "features", "memory_limit": 10**8},
    ],
    ids=str,
)
def test_the_error_of_added_rows_is_not_known_for_other_kernels(options):
    few, many = unlike_batches()
    model = nystrom(5, **options).partial_fit(few)
    assert model.approximation_error_ >= 0
    model.partial_fit(many)
    assert np.isnan(model.approximation_error_)
    assert "their error for rows that were added is not known" in str(model.plan_)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_landmarks_that_leave_out_much_of_later_rows_warn(kernel):
    few, many = unlike_batches((30, 1800))
    model = nystrom(5, kernel=kernel).partial_fit(few)
    with pytest.warns(UserWarning, match=r"30 landmarks, .* leave out about \d\d% of the variance"):
        model.partial_fit(many)


@pytest.mark.filterwarnings("error")
def test_landmarks_of_like_rows_do_not_warn(rng):
    X = rows_of(rng, 4000, 4)
    model = nystrom().partial_fit(X[:2000]).partial_fit(X[2000:])
    assert model.approximation_error_ < 0.02
    near = X[0] + 1e-3 * rng.standard_normal((300, 4))  # rows that hardly differ
    model.partial_fit(near)
