"""Scaled columns: the model of scaled rows, with points and pre-images in the units of the data."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import PCA, KernelPCA, load, tune
from princomp.errors import ConstantColumnError, ParameterError, ShapeError
from princomp.kernel_pca.median import median_gamma

N, P = 240, 4
NEW = 30
KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.2},
    "poly": {"gamma": 0.5, "degree": 3},
    "sigmoid": {"gamma": 1e-4},
    "cosine": {},
    "laplacian": {"gamma": 0.2},
}
NYSTROM = {"kernel": "rbf", "gamma": 0.2, "n_components": 3, "approximation": "nystrom"}


@pytest.fixture(name="X", scope="module")
def _rows():
    rng = np.random.default_rng(21)
    turn = np.linalg.qr(rng.standard_normal((P, P)))[0]
    return (rng.standard_normal((N, P)) * [3, 2, 1, 0.5]) @ turn * [1e3, 1, 1e-2, 40] + 2


def assert_scores_close(found, expected, bound=1e-9):
    """Compare scores up to sign; rounding of the division is amplified by 1/gap of a variance."""
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=0, atol=bound * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")
@pytest.mark.filterwarnings("ignore:.* rows have a projection that is longer than their image")
@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("scale", ["unit", "pareto", "range", "array"])
def test_an_exact_fit_equals_one_of_scaled_rows(name, scale, X):
    scale = np.array([1000.0, 1.0, 0.01, 50.0]) if scale == "array" else scale
    divisors = PCA(scale=scale).fit(X).scale_
    # Between scores, a cubic polynomial kernel is unsuitable for learning pre-images.
    learns = name != "poly"
    given = {"kernel": name, **KERNELS[name], "n_components": 3, "fit_inverse_transform": learns}
    model = KernelPCA(**given, scale=scale).fit(X)
    plain = KernelPCA(**given).fit(X / divisors)
    np.testing.assert_allclose(model.scale_, divisors, rtol=1e-13)
    np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    assert_scores_close(model.transform(X[:NEW]), plain.transform(X[:NEW] / divisors))
    np.testing.assert_allclose(
        model.reconstruction_error(X, per_row=True),
        plain.reconstruction_error(X / divisors, per_row=True),
        atol=1e-9 * plain.total_variance_,
    )
    np.testing.assert_array_equal(model.X_fit_, X)
    if not learns:
        return
    back = model.inverse_transform(model.transform(X[:NEW]))
    known = plain.inverse_transform(plain.transform(X[:NEW] / divisors))
    # The ridge regression amplifies what scores lose, by 1/alpha of the kernel between them.
    np.testing.assert_allclose(back / divisors, known, atol=1e-6 * np.abs(known).max())
    error = np.sqrt(((X[:NEW] - back) ** 2).mean())
    assert model.pre_image_error(X[:NEW]) == pytest.approx(error)


@pytest.mark.parametrize("method", ["fixed_point", "distance"])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_pre_images_are_in_the_units_of_the_data(method, name, approximation, X):
    divisors = X.std(axis=0, ddof=1)
    given = {"kernel": name, **KERNELS[name], "n_components": 4, "pre_image": method}
    points = {}
    if approximation:
        points = {"approximation": approximation, "landmarks": X[::4]}
    model = KernelPCA(**given, **points, scale="unit").fit(X)
    if approximation:
        points["landmarks"] = X[::4] / divisors
    plain = KernelPCA(**given, **points).fit(X / divisors)
    scores = plain.transform(X[:NEW] / divisors)
    assert_scores_close(model.transform(X[:NEW]), scores, 1e-6)
    # The iteration stops at its tolerance, so only some digits of each row agree.
    found = model.inverse_transform(model.transform(X[:NEW])) / divisors
    np.testing.assert_allclose(found, plain.inverse_transform(scores), atol=1e-4)


@pytest.mark.parametrize(
    "given",
    [
        {"n_landmarks": 50},
        {"n_landmarks": 50, "landmarks": "leverage"},
        {"n_landmarks": 50, "landmarks": "kmeans"},
        {"n_landmarks": 200, "approximation": "features"},
        {"n_landmarks": 200, "approximation": "features", "kernel": "laplacian"},
        {"n_landmarks": 200, "approximation": "features", "kernel": "poly", "degree": 2},
    ],
    ids=lambda given: "-".join(map(str, given.values())),
)
@pytest.mark.parametrize("sparse", [False, True])
def test_an_approximation_equals_one_of_scaled_rows(given, sparse, X):
    if sparse and given.get("landmarks") == "kmeans":
        pytest.skip("k-means takes dense rows")
    divisors = X.std(axis=0, ddof=1)
    given = {**NYSTROM, **given}
    model = KernelPCA(**given, scale="unit").fit(sp.csr_array(X) if sparse else X)
    if given["approximation"] == "nystrom":
        landmarks = model.landmarks_.toarray() if sparse else model.landmarks_
        if given.get("landmarks") != "kmeans":  # whose landmarks are not rows
            assert {tuple(row) for row in landmarks} <= {tuple(row) for row in X}
        given["landmarks"] = landmarks / divisors
    plain = KernelPCA(**given).fit(X / divisors)
    np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    # Weights of landmarks are divided by roots of eigenvalues down to n eps.
    assert_scores_close(model.transform(X[:NEW]), plain.transform(X[:NEW] / divisors), 1e-6)


def test_gamma_median_uses_scaled_rows(X):
    model = KernelPCA(2, kernel="rbf", gamma="median", scale="unit").fit(X)
    assert model.gamma_ == pytest.approx(median_gamma(X / X.std(axis=0, ddof=1)), rel=1e-12)


@pytest.mark.parametrize("approximation", [None, "nystrom"])
def test_the_scale_respects_weights_and_dropped_rows(approximation, X):
    weights = np.arange(N) % 3
    repeated = np.repeat(X, weights, axis=0)
    holes = np.concatenate([X, [[np.nan, 1, 2, 3]]])
    given = {"kernel": "rbf", "approximation": approximation, "scale": "unit"}
    if approximation:
        given["landmarks"] = X[::5]
    model = KernelPCA(2, **given).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.scale_, repeated.std(axis=0, ddof=1), rtol=1e-12)
    model = KernelPCA(2, **given, missing="drop").fit(holes)
    np.testing.assert_allclose(model.scale_, X.std(axis=0, ddof=1), rtol=1e-12)
    filled = KernelPCA(2, **given, missing="em").fit(holes)
    assert np.isfinite(filled.transform(holes)).all()


@pytest.mark.parametrize(
    "form",
    ["npy", "callable", pytest.param("dask", marks=pytest.mark.engines), "device"],
)
def test_rows_of_any_origin_give_the_same_model(form, X, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "engines")
    given = {**NYSTROM, "n_landmarks": 40, "scale": "unit"}
    local = KernelPCA(**given).fit(X)
    parts, back = [X[:100], X[100:]], np.asarray
    if form == "npy":
        np.save(tmp_path / "rows.npy", X)
        rows = tmp_path / "rows.npy"
    elif form == "callable":
        rows = lambda: iter(parts)  # noqa: E731
    else:
        engine = importlib.import_module("on_dask" if form == "dask" else "on_strict")
        if engine.missing():
            pytest.skip(engine.missing())
        rows = engine.chunked(parts) if form == "dask" else engine.table(parts)
        back = (lambda scores: scores.compute()) if form == "dask" else engine.to_host
    if form == "device":
        given["landmarks"] = local.landmarks_
    model = KernelPCA(**given).fit(rows)
    np.testing.assert_array_equal(model.landmarks_, local.landmarks_)
    np.testing.assert_allclose(model.scale_, local.scale_, rtol=1e-13)
    np.testing.assert_allclose(model.eigenvalues_, local.eigenvalues_, rtol=1e-8)
    assert_scores_close(back(model.transform(rows)), local.transform(X), 1e-6)


def test_single_pass_rows_need_given_divisors(X):
    given = {**NYSTROM, "n_landmarks": 30}
    with pytest.raises(ParameterError, match="only once") as caught:
        KernelPCA(**given, scale="unit").fit(iter([X]))
    assert caught.value.place == {"parameter": "scale"}
    divisors = X.std(axis=0, ddof=1)
    model = KernelPCA(**given, scale=divisors).fit(iter([X]))
    np.testing.assert_array_equal(model.scale_, divisors)
    exact = KernelPCA(2, kernel="rbf", scale="unit").fit(iter([X]))
    np.testing.assert_allclose(exact.scale_, divisors, rtol=1e-13)


def test_updates_and_merges_keep_the_first_divisors(X):
    first = KernelPCA(**NYSTROM, n_landmarks=40, scale="unit").partial_fit(X[:100])
    divisors = first.scale_
    np.testing.assert_allclose(divisors, X[:100].std(axis=0, ddof=1), rtol=1e-13)
    same = {"landmarks": first.landmarks_, "scale": divisors}
    whole = KernelPCA(**NYSTROM, **same).fit(X)
    first.partial_fit(X[100:])
    np.testing.assert_array_equal(first.scale_, divisors)
    np.testing.assert_allclose(first.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    halves = [KernelPCA(**NYSTROM, **same).fit(part) for part in (X[:100], X[100:])]
    merged = halves[0].merge(halves[1])
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    other = KernelPCA(**NYSTROM, landmarks=first.landmarks_, scale=2 * divisors).fit(X)
    with pytest.raises(ParameterError, match="different feature maps") as caught:
        merged.merge(other)
    assert "scale=model.scale_" in caught.value.hint
    KernelPCA(**NYSTROM, **{**same, "scale": merged.scale_}).fit(X).merge(merged)


@pytest.mark.parametrize("scale", ["unit", "array"])
@pytest.mark.parametrize(
    "given",
    [
        {"fit_inverse_transform": True},
        {"pre_image": "fixed_point"},
        {"approximation": "nystrom", "n_landmarks": 40, "pre_image": "ridge"},
        {"approximation": "features", "n_landmarks": 60},
    ],
    ids=["ridge", "fixed point", "nystrom", "features"],
)
def test_a_saved_model_is_loaded_unchanged(given, scale, X, tmp_path):
    scale = np.array([1000.0, 1.0, 0.01, 50.0]) if scale == "array" else scale
    model = KernelPCA(2, kernel="rbf", scale=scale, **given).fit(X)
    inverts = given.get("approximation") != "features"
    scores = model.transform(X[:3])
    rows = model.inverse_transform(scores) if inverts else None
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.scale_, model.scale_)
    np.testing.assert_array_equal(back.scale, model.scale)
    np.testing.assert_array_equal(back.transform(X[:3]), scores)
    if inverts:
        np.testing.assert_array_equal(back.inverse_transform(scores), rows)
    np.testing.assert_array_equal(back.fit(X).transform(X), model.fit(X).transform(X))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"fit_inverse_transform": True},
        {"approximation": "nystrom", "n_landmarks": 40, "pre_image": "ridge"},
    ],
    ids=["exact", "ridge", "nystrom"],
)
@pytest.mark.parametrize(("scale", "changed"), [(None, "unit"), (None, 2.0), ("unit", None)])
@pytest.mark.filterwarnings("ignore:the kernel of 3 of 3 rows with all landmarks")
@pytest.mark.filterwarnings("ignore:the kernel .* is near zero for nearly all pairs")
def test_a_scale_changed_after_the_fit_does_not_change_the_saved_fit(
    scale, changed, given, X, tmp_path
):
    """As in a PCA, the parameter is that of the next fit."""
    changed = np.full(4, changed) if isinstance(changed, float) else changed
    for model in (KernelPCA(2, kernel="rbf", scale=scale, **given), PCA(2, scale=scale)):
        model.fit(X)
        scores, divisors = model.transform(X[:3]), model.scale_
        model.set_params(scale=changed).save(tmp_path / "model")
        back = load(tmp_path / "model")
        np.testing.assert_array_equal(back.scale_, divisors)
        np.testing.assert_array_equal(back.transform(X[:3]), scores)
        assert back.scale == (changed if isinstance(changed, str) else None)


def test_invalid_scales_are_refused(X):
    with pytest.raises(ParameterError, match="scale='mad'"):
        KernelPCA(scale="mad").fit(X)
    with pytest.raises(ShapeError, match="4 columns"):
        KernelPCA(scale=[1.0, 2.0]).fit(X)
    with pytest.raises(ParameterError, match="positive"):
        KernelPCA(scale=[1.0, 2.0, 0.0, 1.0]).fit(X)
    with pytest.raises(ConstantColumnError, match="column 1") as caught:
        KernelPCA(scale="unit").fit(np.where([False, True, False, False], 7.0, X))
    assert "numpy.delete(X, […], axis=1)" in caught.value.hint
    with pytest.raises(ParameterError, match="precomputed"):
        KernelPCA(kernel="precomputed", scale="unit").fit(X @ X.T)
    with pytest.raises(ParameterError, match="the model has scale") as caught:
        tune(X, {"gamma": [0.1, 1.0]}, model=KernelPCA(kernel="rbf", scale="unit"))
    assert "X / PCA(scale=model.scale).fit(X).scale_, and a model without" in caught.value.hint


def test_tuning_scaled_rows_as_the_hint_says_finds_the_gamma_of_the_scaled_model(X):
    found = tune(X / PCA(scale="unit").fit(X).scale_, {"gamma": ["median"]}, cv=2)
    model = KernelPCA(kernel="rbf", gamma="median", scale="unit").fit(X)
    assert found.best["gamma"] == pytest.approx(model.gamma_, rel=1e-12)
