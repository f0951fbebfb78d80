"""Invalid parameters and arguments: the errors say what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import KernelPCA, diagnostics, tune
from princomp.errors import (
    DataError,
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.kernel_pca.median import median_gamma

ROWS = np.random.default_rng(0).standard_normal((40, 3))


@pytest.mark.parametrize("value", [[1], "ab", 3])
def test_kernel_params_must_be_a_dict(value):
    with pytest.raises(ParameterError, match="kernel_params must be None or a dict"):
        KernelPCA(kernel_params=value).fit(ROWS)


@pytest.mark.parametrize("scores", [[["a", "b"]], [[1j, 2.0]], [[1.0, "b"]]], ids=str)
def test_scores_must_be_real_numbers(scores):
    model = KernelPCA(2, kernel="rbf", pre_image="ridge").fit(ROWS)
    with pytest.raises(NotNumericError):
        model.inverse_transform(np.array(scores))


@pytest.mark.parametrize("entry", ["a", 1j, [1, 2]])
def test_the_diagonal_must_be_numbers(entry):
    K = ROWS @ ROWS.T
    model = KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(ParameterError, match="diagonal must hold numbers"):
        model.reconstruction_error(K, diagonal=[1.0, entry])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 1e-20},
        {"kernel": "laplacian", "gamma": 0},
        {"kernel": "sigmoid", "gamma": 1.0, "coef0": 60.0},
    ],
    ids=str,
)
def test_a_kernel_that_is_the_same_for_all_rows_is_warned_of(options, k):
    with pytest.warns(UserWarning, match="all eigenvalues are zero: kernel .* is, up to rounding"):
        KernelPCA(k, **options).fit(ROWS)
    with pytest.warns(UserWarning, match="all eigenvalues are zero"):
        KernelPCA(k, **options).fit(sp.csr_array(ROWS))
    KernelPCA(k, **options).fit(np.ones((20, 3)))  # these rows are equal
    assert KernelPCA(2, **{**options, "gamma": "median", "coef0": 0}).fit(ROWS).eigenvalues_[1] > 0


def test_degree_zero_is_not_blamed_on_gamma():
    with pytest.warns(UserWarning, match="'poly' with degree 0 is, .* such as degree=2"):
        KernelPCA(2, kernel="poly", degree=0).fit(ROWS)


def test_the_score_of_a_kernel_matrix_suggests_tune():
    K = ROWS @ ROWS.T
    with pytest.raises(NotAvailableError) as caught:
        KernelPCA(2, kernel="precomputed").fit(K).score(K)
    assert "tune(K, grid, model=KernelPCA(kernel='precomputed'), by='recon" in caught.value.hint
    model = KernelPCA(kernel="precomputed")
    assert tune(K, {"n_components": [1, 2]}, model=model, by="reconstruction").best_error < 1


def test_diagnostics_of_a_kernel_model_name_its_errors():
    model = KernelPCA(2, kernel="rbf").fit(ROWS)
    with pytest.raises(NotAvailableError) as caught:
        diagnostics.outliers(model, ROWS)
    assert "model.reconstruction_error(X, per_row=True)" in caught.value.hint


@pytest.mark.parametrize("approximation", ["nystrom", "features"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_map_with_too_few_coordinates_is_named(approximation, method):
    model = KernelPCA(10, kernel="rbf", approximation=approximation, n_landmarks=6)
    with pytest.raises(ShapeError, match="n_components=10 is more than the 6 coordinates"):
        getattr(model, method)(ROWS)


def test_more_landmarks_are_suggested_only_if_there_are_more_distinct_rows():
    for count in ("auto", 10):
        model = KernelPCA(2, kernel="rbf", approximation="nystrom", n_landmarks=count)
        with pytest.raises(ShapeError, match="more than the 1 coordinate of the map") as caught:
            model.fit(np.ones((20, 3)))
        assert "or raise n_landmarks if there are more distinct rows" in caught.value.hint


@pytest.mark.parametrize("value", [np.ones(1), np.ones(3), None, "x", 1j], ids=repr)
def test_a_kernel_function_must_return_a_number(value):
    with pytest.raises(ParameterError, match="kernel must return a number for two rows, got"):
        KernelPCA(2, kernel=lambda x, y: value).fit(ROWS)
    model = KernelPCA(1, kernel=lambda x, y: np.array(x @ y)).fit(ROWS)
    assert model.explained_variance_[0] > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["distance", "ridge"])
def test_pre_images_that_overflow_are_refused_with_their_row(method):
    model = KernelPCA(2, kernel="poly", degree=3, pre_image=method).fit(ROWS)
    with pytest.raises(
        NotFiniteError, match="pre-image of the scores in row 1 overflows"
    ) as caught:
        model.inverse_transform([[1.0, 1.0], [1e200, 1e200]])
    assert caught.value.place == {"row": 1}


@pytest.mark.parametrize("pre_image", ["ridge", "distance"])
def test_the_row_of_a_score_in_a_later_batch_is_named(pre_image):
    model = KernelPCA(2, kernel="rbf", pre_image=pre_image).fit(ROWS)
    scores = np.tile(model.transform(ROWS), (5, 1))
    scores[-2, 1] = np.inf
    last = len(scores) - 2
    with pytest.raises(NotFiniteError, match=f"score 1 of row {last} is inf") as caught:
        model.inverse_transform(scores[i : i + 50] for i in range(0, len(scores), 50))
    assert caught.value.place["row"] == last


def test_the_median_gamma_takes_lists_and_names_a_missing_cell():
    assert median_gamma(ROWS.tolist()) == median_gamma(ROWS)
    with pytest.raises(NotFiniteError, match="NaN: the first at row 1, column 0"):
        median_gamma([[1.0, 2.0], [np.nan, 3.0]])
    with pytest.raises(ParameterError, match="rows must be an array in memory"):
        median_gamma(iter([ROWS]))


def test_a_kernel_of_zeros_is_not_called_indefinite():
    model = KernelPCA(2, kernel="poly", coef0=0, approximation="nystrom", n_landmarks=5)
    with pytest.raises(DataError, match="no positive eigenvalue"):
        model.fit(np.zeros((10, 3)))


def test_a_fractional_degree_of_negative_numbers_has_its_own_hint():
    with pytest.raises(NotFiniteError, match="a fractional degree needs a larger coef0"):
        KernelPCA(2, kernel="poly", degree=2.5, coef0=0).fit(ROWS)


@pytest.mark.parametrize("kernel", ["laplacian", "cosine"])
def test_a_pre_image_cannot_be_learned_without_components(kernel):
    model = KernelPCA(kernel=kernel, fit_inverse_transform=True)
    with pytest.raises(DataError, match="there are no scores to learn pre-images from"):
        model.fit(np.ones((10, 3)))


@pytest.mark.parametrize("rule", ["uniform", "leverage"])
def test_a_kernel_between_landmarks_that_overflows_is_refused(rule):
    model = KernelPCA(2, kernel="rbf", gamma=1.0, approximation="nystrom", landmarks=rule)
    with pytest.raises(NotFiniteError, match="kernel 'rbf' of landmark 0 is not finite"):
        model.set_params(n_landmarks=6).fit(1e200 * ROWS)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_the_diagonal_must_be_finite(entry):
    """NaN would leave the row out of the mean."""
    K = ROWS @ ROWS.T
    model = KernelPCA(2, kernel="precomputed").fit(K)
    diagonal = np.diag(K).copy()
    diagonal[3] = entry
    with pytest.raises(NotFiniteError, match=f"entry 3 of diagonal is {entry}"):
        model.reconstruction_error(K, diagonal=diagonal)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
@pytest.mark.parametrize("parameter", ["pre_image", "fit_inverse_transform"])
def test_kernels_of_nonnegative_rows_have_no_pre_images(kernel, parameter):
    """The learned map would apply the kernel to scores, of which some are negative."""
    value = "ridge" if parameter == "pre_image" else True
    model = KernelPCA(2, kernel=kernel, **{parameter: value})
    with pytest.raises(ParameterError, match=f"does not work for kernel '{kernel}'") as error:
        model.fit(-np.abs(ROWS))  # not refused for its negative values
    assert error.value.hint.startswith(f"leave {parameter} out")
    assert error.value.place == {"parameter": parameter}


def test_landmarks_of_different_lengths_are_refused():
    model = KernelPCA(1, approximation="nystrom", landmarks=[[1.0, 2.0], [3.0]])
    with pytest.raises(ShapeError, match="landmarks have rows of different lengths"):
        model.fit(ROWS)


@pytest.mark.parametrize("approximation", [None, "nystrom"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_scores_that_overflow_are_refused(approximation, missing):
    model = KernelPCA(2, kernel="poly", approximation=approximation, missing=missing)
    model.set_params(n_landmarks=6).fit(ROWS)
    new = ROWS.copy()
    new[7, 1] = 1e150
    for method in (model.transform, model.reconstruction_error, model.score):
        with pytest.raises(NotFiniteError, match="scores of row 7 overflow float64"):
            method(new)


def test_a_kernel_between_rows_of_different_folds_must_be_finite():
    def kernel(one, other):
        return np.nan if abs(one[0] - other[0]) > 3 else float(one @ other)

    model = KernelPCA(2, kernel=kernel)
    with pytest.raises(NotFiniteError, match="kernel 'callable' is not finite between all rows"):
        tune(ROWS, {"n_components": [1, 2]}, model=model, by="reconstruction", cv=2)


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")
@pytest.mark.parametrize("k", [None, 0.95, 15])
@pytest.mark.parametrize(
    "options", [{"coef0": -1.0}, {"coef0": 9.0, "degree": 0.5, "gamma": 1.0}], ids=str
)
def test_the_hint_on_a_polynomial_with_negative_eigenvalues_works(options, k):
    model = KernelPCA(k, kernel="poly", **options)
    with pytest.raises(DataError, match="negative eigenvalues") as caught:
        model.fit(ROWS[:16])
    assert "'poly' for a fractional degree or a negative coef0" in caught.value.hint
    count = int(re.search(r"or keep n_components=(\d+) or fewer", caught.value.hint)[1])
    assert model.set_params(n_components=count).fit(ROWS[:16]).n_components_ == count
