"""Errors of KernelPCA models, and parameters tuned by them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import PCA as LinearPCA  # noqa: N811
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from princomp import KernelPCA, tune
from princomp.errors import (
    DataError,
    MemoryLimitError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.kernel_pca.median import median_gamma
from princomp.kernel_pca.search import SharedProducts

ROWS = np.random.default_rng(0).standard_normal((90, 4)) * [2, 1, 1, 0.5] + 3.0
NEW = np.random.default_rng(1).standard_normal((15, 4)) + 3.0


# ---- errors of a model ---------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 4])
def test_linear_kernel_errors_equal_those_of_pca(k):
    model = KernelPCA(k, pre_image="ridge").fit(ROWS)
    pca = LinearPCA(k).fit(ROWS)
    away = NEW - pca.inverse_transform(pca.transform(NEW))
    squares = (away**2).sum(axis=1)
    assert np.abs(model.reconstruction_error(NEW, per_row=True) - squares).max() < 1e-10
    assert abs(model.reconstruction_error(NEW) - squares.mean()) < 1e-10
    rms = np.sqrt((away**2).mean())
    assert abs(model.pre_image_error(NEW) - rms) < 1e-10
    per_row = np.sqrt((away**2).mean(axis=1))
    assert np.abs(model.pre_image_error(NEW, per_row=True) - per_row).max() < 1e-7
    assert model.score(NEW) == -model.pre_image_error(NEW)
    whole = ((NEW - ROWS.mean(axis=0)) ** 2).sum()
    assert abs(KernelPCA(k).fit(ROWS).score(NEW) - (1 - squares.sum() / whole)) < 1e-10


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine", "laplacian"])
def test_the_training_score_equals_the_accumulated_rate(kernel):
    model = KernelPCA(3, kernel=kernel, gamma=0.1).fit(ROWS)
    assert abs(model.score(ROWS) - model.accumulated_rate_[-1]) < 1e-9
    left = model.total_variance_ - model.explained_variance_.sum()
    assert abs(model.reconstruction_error(ROWS) - left * 89 / 90) < 1e-9 * model.total_variance_


def test_errors_of_approximations_include_the_omitted_variance():
    exact = KernelPCA(3, kernel="rbf", gamma=0.1).fit(ROWS)
    near = KernelPCA(3, kernel="rbf", gamma=0.1, approximation="nystrom", landmarks=ROWS)
    near.fit(ROWS)
    assert abs(near.score(NEW) - exact.score(NEW)) < 1e-7
    assert abs(near.reconstruction_error(NEW) - exact.reconstruction_error(NEW)) < 1e-7
    coarse = KernelPCA(3, kernel="rbf", gamma=0.1, approximation="nystrom", landmarks=ROWS[:4])
    assert coarse.fit(ROWS).reconstruction_error(ROWS) > exact.reconstruction_error(ROWS)


def test_precomputed_kernels_need_a_diagonal_for_errors():
    model = KernelPCA(3, kernel="rbf", gamma=0.1).fit(ROWS)
    squares = ((ROWS[:, None] - ROWS) ** 2).sum(axis=2), ((NEW[:, None] - ROWS) ** 2).sum(axis=2)
    given = KernelPCA(3, kernel="precomputed").fit(np.exp(-0.1 * squares[0]))
    new = np.exp(-0.1 * squares[1])
    found = given.reconstruction_error(new, diagonal=np.ones(15), per_row=True)
    assert np.abs(found - model.reconstruction_error(NEW, per_row=True)).max() < 1e-12
    for call in (given.reconstruction_error, given.score):
        with pytest.raises(NotAvailableError, match="its kernel with itself"):
            call(new)
    for count in (14, 16):
        with pytest.raises(ShapeError, match=f"diagonal has {count} entries"):
            given.reconstruction_error(new, diagonal=np.ones(count))
    with pytest.raises(ParameterError, match="precomputed"):
        model.reconstruction_error(NEW, diagonal=np.ones(15))


def test_missing_cells_do_not_count_in_errors():
    holed = NEW.copy()
    holed[2, 1] = np.nan
    whole = np.arange(15) != 2
    model = KernelPCA(2, kernel="rbf", gamma=0.1, missing="drop", pre_image="distance").fit(ROWS)
    assert abs(model.pre_image_error(holed) - model.pre_image_error(NEW[whole])) < 1e-12
    assert abs(model.reconstruction_error(holed) - model.reconstruction_error(NEW[whole])) < 1e-12
    per_row = model.pre_image_error(holed, per_row=True)
    assert np.isnan(per_row[2])
    assert np.isfinite(per_row[whole]).all()
    with pytest.raises(NotFiniteError, match="no row of X"):
        model.pre_image_error(holed[2:3])
    strict = KernelPCA(2, kernel="rbf", gamma=0.1).fit(ROWS)
    with pytest.raises(NotFiniteError):
        strict.reconstruction_error(holed)


def test_errors_accept_sparse_rows():
    model = KernelPCA(2, kernel="rbf", gamma=0.1).fit(ROWS)
    dense = model.reconstruction_error(NEW)
    assert abs(model.reconstruction_error(sp.csr_array(NEW)) - dense) < 1e-12
    with pytest.raises(ShapeError, match="3 features"):
        model.score(NEW[:, :3])


# ---- GridSearchCV --------------------------------------------------------------------------


@pytest.mark.parametrize("pre_image", [None, "ridge", "fixed_point", "distance"])
def test_grid_search_works_without_y(pre_image):
    model = KernelPCA(kernel="rbf", pre_image=pre_image, alpha=0.1)
    grid = {"gamma": [0.01, 0.3, "median"], "n_components": [2, 6]}
    found = GridSearchCV(model, grid, cv=3, error_score="raise").fit(ROWS)
    assert found.best_params_["n_components"] == 6
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    in_pipeline = make_pipeline(StandardScaler(), model)
    named = {f"kernelpca__{name}": values for name, values in grid.items()}
    found = GridSearchCV(in_pipeline, named, cv=3, error_score="raise").fit(ROWS)
    assert found.transform(NEW).shape == (15, 6)


def test_grid_search_tunes_for_a_following_classifier():
    X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
    model = make_pipeline(KernelPCA(4, kernel="rbf"), LogisticRegression())
    found = GridSearchCV(model, {"kernelpca__gamma": [1e-4, 2.0]}, cv=3).fit(X, y)
    assert found.best_params_ == {"kernelpca__gamma": 2.0}
    assert found.best_score_ > 0.95
    # The folds of a kernel matrix are cut out of its rows and of its columns.
    matrix = np.exp(-2.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    given = make_pipeline(KernelPCA(kernel="precomputed"), LogisticRegression())
    again = GridSearchCV(given, {"kernelpca__n_components": [4]}, cv=3).fit(matrix, y)
    assert abs(again.best_score_ - found.best_score_) < 1e-12


# ---- tune ----------------------------------------------------------------------------------


def errors_by_loop(model, grid, X, folds, measure):
    """Errors from one KernelPCA fit for each combination and fold."""
    lines = []
    for parameters in grid:
        one = clone(model).set_params(**parameters)
        lines.append([measure(clone(one).fit(X[a]), X[b]) for a, b in folds])
    return np.array(lines)


@pytest.mark.parametrize(
    ("kernel", "more"),
    [
        ("rbf", {"gamma": [0.02, 0.3]}),
        ("poly", {"gamma": [0.1], "degree": [1, 3], "coef0": [0.5]}),
        ("linear", {}),
        ("cosine", {}),
        ("laplacian", {"gamma": [0.1]}),
        ("chi2", {"gamma": [0.05]}),
    ],
)
@pytest.mark.parametrize("pre_image", ["ridge", "fixed_point", "distance"])
def test_errors_are_those_of_a_plain_loop(kernel, more, pre_image):
    rows = np.abs(ROWS)
    works = kernel in ("rbf", "poly", "linear")
    if (not works and pre_image != "ridge") or kernel == "chi2":
        by, measure = "reconstruction", lambda model, X: 1 - model.score(X)
        model = KernelPCA(kernel=kernel)
    else:
        by, measure = "pre_image", lambda model, X: model.pre_image_error(X)
        model = KernelPCA(kernel=kernel, pre_image=pre_image, alpha=0.5, n_neighbors=7)
    found = tune(rows, {"n_components": [1, 4], **more}, model=model, cv=3, by=by)
    folds = list(KFold(3, shuffle=True, random_state=0).split(rows))
    expected = errors_by_loop(model, found.parameters, rows, folds, measure)
    assert found.fold_errors.shape == (len(found.parameters), 3)
    # Iterations end within 1e-5 of the spread; all else is rounding, times a condition.
    bound = 1e-4 if pre_image == "fixed_point" and kernel != "linear" else 1e-8
    assert np.abs(found.fold_errors - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("pre_image", [None, "ridge"])
def test_kernels_without_pre_images_are_compared_by_reconstruction(pre_image):
    model, grid = KernelPCA(1, kernel="rbf", pre_image=pre_image), {"kernel": ["rbf", "chi2"]}
    with pytest.raises(ParameterError, match="does not work for kernel 'chi2'") as caught:
        tune(np.abs(ROWS), grid, model=model, cv=2)
    assert "leave pre_image out (in tune, use by='reconstruction')" in caught.value.hint
    tune(np.abs(ROWS), grid, model=KernelPCA(1), cv=2, by="reconstruction")


@pytest.mark.filterwarnings("ignore:n_components=200 is more than the 67 rows")
@pytest.mark.parametrize("k", [[0.5, 0.9], [2, 0.9], [None, 2], [3, 200]])
def test_n_components_may_be_fractions_or_none(k):
    model = KernelPCA(kernel="rbf", gamma=0.05)
    found = tune(ROWS, {"n_components": k}, model=model, cv=4, by="reconstruction")
    folds = list(KFold(4, shuffle=True, random_state=0).split(ROWS))
    grid = [{"n_components": each} for each in k]
    expected = errors_by_loop(model, grid, ROWS, folds, lambda model, X: 1 - model.score(X))
    assert np.abs(found.fold_errors - expected).max() < 1e-9


def test_gammas_may_be_the_median_and_its_multiples():
    found = tune(ROWS, {"gamma": ["median", "0.5 * median", "2e0×median", None, 0.25]}, cv=2)
    median = median_gamma(ROWS)
    gammas = [each["gamma"] for each in found.parameters]
    # 1 / p is a quarter: the same combination is taken once.
    assert gammas == pytest.approx([median, median / 2, median * 2, 0.25])


def test_irrelevant_parameters_make_no_combinations():
    grid = {"kernel": ["linear", "rbf"], "gamma": [0.1, 1.0], "degree": [2, 3], "alpha": [1, 2]}
    found = tune(ROWS, grid, model=KernelPCA(2, pre_image="ridge"), cv=2)
    assert len(found.parameters) == 5
    linear = [each for each in found.parameters if each["kernel"] == "linear"]
    assert linear == [{"kernel": "linear", "n_components": 2, "pre_image": "ridge"}]
    assert found.names == ("kernel", "n_components", "pre_image", "gamma", "alpha")
    several = tune(ROWS, [{"kernel": ["linear"]}, {"gamma": [0.1, 0.2]}], cv=2)
    assert [each["kernel"] for each in several.parameters] == ["linear", "rbf", "rbf"]


def test_the_best_model_is_fitted_to_all_rows():
    found = tune(ROWS, {"gamma": [0.01, 0.1, 10.0], "n_components": [2, 3]}, cv=3)
    assert found.errors[found.best_index] == found.errors.min() == found.best_error
    assert found.best == found.parameters[found.best_index]
    model = found.best_model
    assert model.n_samples_ == 90
    assert {name: getattr(model, name) for name in found.best} == found.best
    again = clone(model).fit(ROWS)
    assert np.array_equal(again.eigenvalues_, model.eigenvalues_)


def test_the_pre_image_method_can_be_tuned():
    grid = {"pre_image": ["ridge", "fixed_point", "distance"], "n_neighbors": [3, 9]}
    found = tune(ROWS, grid, model=KernelPCA(3, kernel="rbf", gamma=0.1), cv=2)
    assert len(found.parameters) == 5
    ridge = tune(ROWS, {}, model=KernelPCA(3, kernel="rbf", fit_inverse_transform=True), cv=2)
    assert ridge.best["pre_image"] == "ridge"


def test_a_kernel_matrix_can_be_tuned():
    matrix = np.exp(-0.1 * ((ROWS[:, None] - ROWS) ** 2).sum(axis=2))
    model, grid = KernelPCA(kernel="precomputed"), {"n_components": [1, 5]}
    found = tune(matrix, grid, model=model, cv=3, by="reconstruction")
    rows = tune(ROWS, grid, model=KernelPCA(kernel="rbf", gamma=0.1), cv=3, by="reconstruction")
    assert np.abs(found.fold_errors - rows.fold_errors).max() < 1e-12
    with pytest.raises(ParameterError, match="by='pre_image' compares rows"):
        tune(matrix, grid, model=model)
    with pytest.raises(ParameterError, match="X is either rows or a kernel"):
        tune(ROWS, {"kernel": ["precomputed", "rbf"]}, by="reconstruction")


def test_folds_may_be_given():
    folds = [(np.arange(60), np.arange(60, 90))]
    found = tune(ROWS, {"gamma": [0.1]}, cv=folds)
    assert found.fold_errors.shape == (1, 1)
    assert np.isnan(found.deviations[0])
    json.loads(found.to_json())
    expected = KernelPCA(kernel="rbf", gamma=0.1, pre_image="fixed_point").fit(ROWS[:60])
    assert abs(found.best_error - expected.pre_image_error(ROWS[60:])) < 1e-4
    split = ShuffleSplit(2, test_size=30, random_state=3)
    assert tune(ROWS, {"gamma": [0.1]}, cv=split).fold_errors.shape == (1, 2)


def test_large_tables_are_tuned_on_a_reported_sample():
    rows = np.random.default_rng(0).standard_normal((300, 3))
    limit = 56 * 120**2
    found = tune(rows, {"gamma": [0.1]}, model=KernelPCA(2, kernel="rbf"), memory_limit=limit)
    assert (found.rows, found.rows_given) == (120, 300)
    assert "120 of 300 rows, drawn at random" in str(found)
    assert found.best_model.n_samples_ == 300
    again = tune(rows, {"gamma": [0.1]}, model=KernelPCA(2, kernel="rbf"), memory_limit=limit)
    assert np.array_equal(found.fold_errors, again.fold_errors)
    other = tune(
        rows, {"gamma": [0.1]}, model=KernelPCA(2, kernel="rbf", memory_limit=limit), random_state=1
    )
    assert other.rows == 120
    assert not np.array_equal(found.fold_errors, other.fold_errors)
    with pytest.raises(MemoryLimitError, match="50 rows"):
        tune(rows, {"gamma": [0.1]}, memory_limit=10_000)
    with pytest.raises(ParameterError, match="cv lists row numbers"):
        tune(rows, {"gamma": [0.1]}, memory_limit=limit, cv=[(np.arange(9), np.arange(9, 12))])


def test_progress_counts_fits():
    events = []
    tune(ROWS, {"gamma": [0.1, 0.2], "n_components": [1, 2]}, cv=3, progress=events.append)
    assert (events[-1].step, events[-1].unit, events[-1].rows, events[-1].done) == (
        "tuning",
        "fits",
        12,
        True,
    )


def test_results_print_and_convert_to_tables():
    found = tune(ROWS, {"gamma": [0.1, 5.0], "kernel": ["linear", "rbf"]}, cv=2)
    lines = str(found).splitlines()
    assert lines[0].startswith("3 combinations, 2 folds of 90 rows: error of pre-images")
    assert lines[1].split()[:2] == ["kernel", "n_components"]
    assert len(lines) == 5
    errors = [float(line.split()[-2]) for line in lines[2:]]
    assert errors == sorted(errors)
    assert repr(found).startswith("<Tuned kernel=")
    assert found._repr_html_().count("<tr>") == 4
    document = json.loads(found.to_json())
    assert document["best"] == found.best
    assert document["combinations"][0]["error"] == found.errors[0]
    frame = found.to_frame()
    assert list(frame) == [*found.names, "error", "deviation"]
    assert np.isnan(np.asarray(frame["gamma"], dtype=float)).sum() == 1
    assert np.asarray(frame["error"]) == pytest.approx(found.errors)


def test_long_results_are_truncated_when_printed():
    found = tune(ROWS[:20], {"gamma": np.linspace(0.1, 1, 25)}, cv=2, by="reconstruction")
    assert str(found).splitlines()[-1] == "… and 5 more"


def test_a_kernel_may_be_a_function():
    def halves(x, y):
        return float(x @ y) / 2

    model = KernelPCA(2, kernel=halves)
    found = tune(ROWS[:30], {"n_components": [1, 2]}, model=model, cv=2, by="reconstruction")
    linear = KernelPCA(2)
    expected = tune(ROWS[:30], {"n_components": [1, 2]}, model=linear, cv=2, by="reconstruction")
    assert np.abs(found.errors - expected.errors).max() < 1e-9
    assert json.loads(found.to_json())["best"]["kernel"] == "halves"


def test_parameters_of_a_kernel_that_differ_in_one_of_many_entries_are_distinct():
    def weighted(x, y, weights):
        return float(weights[:4] @ (x * y) + weights[700])

    weights = np.ones((2, 1500))
    weights[1, 700] = 5.0
    grid = {"kernel": [weighted], "kernel_params": [{"weights": one} for one in weights]}
    found = tune(ROWS[:12], grid, cv=2, by="reconstruction")
    assert len(found.parameters) == 2


def test_sparse_rows_have_no_pre_images():
    rows = sp.random_array((60, 8), density=0.4, rng=0, format="csr")
    found = tune(rows, {"gamma": [0.1]}, cv=2, by="reconstruction")
    dense = tune(rows.toarray(), {"gamma": [0.1]}, cv=2, by="reconstruction")
    assert np.abs(found.errors - dense.errors).max() < 1e-10
    with pytest.raises(DataError, match="dense rows"):
        tune(rows, {"gamma": [0.1]}, cv=2)


@pytest.mark.parametrize(
    ("approximation", "grid", "match"),
    [
        ("features", {}, "pre_image='fixed_point' needs rows"),
        ("nystrom", {"n_components": [60]}, "n_components=60 is more than n_landmarks=50"),
    ],
)
def test_a_best_model_that_cannot_be_fitted_is_refused_at_once(approximation, grid, match):
    model = KernelPCA(2, kernel="rbf", approximation=approximation, n_landmarks=50)
    calls = []
    with pytest.raises(ParameterError, match=match):
        tune(ROWS, {"gamma": [0.1], **grid}, model=model, progress=calls.append)
    assert not calls


@pytest.mark.parametrize(
    ("grid", "options", "match"),
    [
        ({"gama": [1.0]}, {}, "grid names gama"),
        ({"missing": ["drop"]}, {}, "cannot be tuned"),
        ({"gamma": 1.0}, {}, "not a grid of parameters"),
        ({"gamma": ["mean"]}, {}, "gamma='mean'"),
        ({"gamma": [-1.0]}, {}, "gamma=-1.0"),
        ({"kernel": ["cosine"]}, {}, "fixed_point"),
        ({"degree": [2], "kernel": ["poly"], "pre_image": ["distance"]}, {}, "degree 2"),
        ({"gamma": [1.0]}, {"by": "score"}, "by='score'"),
        ({"gamma": [1.0]}, {"cv": 1}, "cv=1"),
        ({"gamma": [1.0]}, {"cv": 91}, "cv=91"),
        ([], {}, "it is empty"),
        ({1: [2]}, {}, "grid names 1"),
        ({"gamma": ["1.2.3 * median"]}, {}, r"gamma='1\.2\.3"),
        ({"gamma": [". * median"]}, {}, r"gamma='\. "),
        ({"gamma": [1.0]}, {"cv": []}, "cv="),
        ({"gamma": [1.0]}, {"cv": [(np.arange(20), [100])]}, "cv="),
        ({"gamma": [1.0]}, {"cv": [(np.arange(20), [])]}, "cv="),
        ({"gamma": [1.0]}, {"cv": [(np.arange(20), [21.0])]}, "cv="),
        ({"gamma": [1.0]}, {"cv": [([True] * 9, [False] * 9)]}, "cv="),
        ({"gamma": [1.0]}, {"cv": [(np.eye(3, dtype=int), [21])]}, "cv="),
        ({"gamma": [1.0]}, {"random_state": -1}, "random_state=-1"),
        ({"gamma": [1.0]}, {"random_state": 2**40}, "random_state=1099511627776"),
        ({"gamma": [1.0]}, {"model": LinearPCA()}, "model=PCA"),
        ({"gamma": [1e300], "kernel": ["poly"]}, {}, "not finite"),
    ],
)
def test_invalid_values_are_refused(grid, options, match):
    with pytest.raises(PrincompError, match=match):
        tune(ROWS, grid, **options)


def test_a_model_that_fills_cells_cannot_be_tuned_on_missing_ones():
    holes = ROWS.copy()
    holes[3, 1] = np.nan
    advice = "fill those of X, or leave their rows out with model=KernelPCA(…, missing='drop')"
    for model in (None, KernelPCA(missing="em")):
        with pytest.raises(NotFiniteError) as caught:
            tune(holes, {"n_components": [2]}, model=model)
        assert caught.value.hint == f"tune does not fill cells: {advice}"


def test_methods_of_pre_images_are_equal_for_the_linear_kernel():
    found = tune(ROWS, {"kernel": ["linear"], "pre_image": ["ridge", "distance"]}, cv=2)
    assert len(found.parameters) == 1
    assert found.best["pre_image"] == "ridge"


def test_rows_with_missing_cells_are_dropped_on_request():
    holed = ROWS.copy()
    holed[4, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 4, column 2"):
        tune(holed, {"gamma": [0.1]}, cv=2)
    model = KernelPCA(2, kernel="rbf", missing="drop")
    found = tune(holed, {"gamma": [0.1]}, model=model, cv=2)
    assert found.rows == 89


# ---- denoising of digits ---------------------------------------------------------------------


@pytest.mark.parametrize("noisy_fit", [False, True])
@pytest.mark.parametrize("k", [16, 32])
def test_digits_lose_more_noise_by_pre_images_than_by_pca(noisy_fit, k):
    # 1,000 digits to learn from and 300 others, pixels 0 to 16, noise of standard deviation 4;
    # γ by the median. Linear PCA is best with about 16 components; at 32 it keeps noise.
    X = load_digits().data
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    clean, noise = X[order[:1300]], 4.0 * rng.standard_normal((1300, 64))
    known = (clean + noise)[:1000] if noisy_fit else clean[:1000]
    noisy, clean = (clean + noise)[1000:], clean[1000:]

    def error(model):
        back = model.inverse_transform(model.transform(noisy))
        return np.sqrt(((back - clean) ** 2).mean())

    linear = error(LinearPCA(k).fit(known))
    for method in ("fixed_point", "distance"):
        model = KernelPCA(k, kernel="rbf", gamma="median", pre_image=method).fit(known)
        # 2.42 and 2.27 for 2.66 at k = 16, 2.18 and 2.06 for 2.94 at k = 32; less is gained by
        # what was learned from noisy digits.
        assert error(model) < (0.99 if noisy_fit else 0.92) * linear


def test_products_of_rows_are_computed_once_for_all_kernels_of_them(monkeypatch):
    computed = []
    original = SharedProducts._compute

    def compute(self, kind):
        computed.append(kind)
        return original(self, kind)

    monkeypatch.setattr(SharedProducts, "_compute", compute)
    grid = {"gamma": [0.1, 0.2, 0.4], "kernel": ["rbf", "poly"]}
    tune(make_circles(60, random_state=0)[0], grid, cv=2, model=KernelPCA(2))
    assert sorted(computed) == ["distances", "products"]


def test_a_median_gamma_is_ignored_by_kernels_without_gamma():
    rows = np.repeat([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]], [26, 2, 2], axis=0)
    found = tune(rows, {"kernel": ["linear"], "n_components": [1, 2]})
    assert found.best["n_components"] == 2
    with pytest.raises(ParameterError, match="gamma='mean' is not valid"):
        tune(rows, {"kernel": ["linear"], "gamma": ["mean"]})


@pytest.mark.parametrize("by", ["pre_image", "reconstruction"])
def test_more_components_than_a_fold_has_rows_warn(by, rng):
    X = rng.standard_normal((100, 5))
    grid = {"n_components": [5, 200]}
    with pytest.warns(UserWarning, match="n_components=200 is more than the 80 rows") as caught:
        found = tune(X, grid, by=by)
    assert "best_model has at most 100" in str(caught[0].message)
    assert found.best_model.n_components_ <= 100
