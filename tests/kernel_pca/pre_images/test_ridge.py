"""Pre-images by regression, and those of the linear kernel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA, KernelPCA as SklearnKernelPCA
from spaces import expansion_of

from princomp.errors import DataError, MemoryLimitError
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.pre_images.linear import Linear
from princomp.kernel_pca.pre_images.ridge import Ridge

ROWS = np.random.default_rng(0).standard_normal((60, 5)) * [3, 2, 1, 1, 0.5] + 1.0
NEW = np.random.default_rng(1).standard_normal((17, 5))
GB = 10**9


@pytest.mark.parametrize(("kernel", "gamma"), [("rbf", 0.1), ("poly", 0.05), ("cosine", 1.0)])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_results_match_scikit_learn(kernel, gamma, alpha):
    sklearn_model = SklearnKernelPCA(
        4, kernel=kernel, gamma=gamma, alpha=alpha, fit_inverse_transform=True
    )
    scores = sklearn_model.fit_transform(ROWS)
    shifted = KernelFunction(kernel, gamma).with_shift(ROWS.mean(axis=0))
    ridge = Ridge.learn(shifted, scores, ROWS, alpha, memory=GB)
    new = sklearn_model.transform(NEW)
    # The condition of K + αI is at most 60 · max k / α, and its solution has as many units.
    largest = np.abs(KernelFunction(kernel, gamma).diagonal(scores)).max()
    bound = 60 * max(largest, 1.0) / alpha * 60 * np.finfo(float).eps * np.abs(ROWS).max()
    assert np.abs(ridge.coefficients - sklearn_model.dual_coef_).max() <= bound / alpha
    assert (
        np.abs(ridge.rows(new) - sklearn_model.inverse_transform(new)).max() <= 10 * bound * largest
    )


def test_threads_and_tiles_change_nothing_but_rounding():
    rng = np.random.default_rng(2)
    rows, scores = rng.standard_normal((700, 3)), rng.standard_normal((700, 2))
    made = Ridge.learn(KernelFunction("rbf", 0.5), scores, rows, 0.1, memory=GB)
    whole = made.rows(scores)
    one = np.concatenate([made.rows(scores[i : i + 1]) for i in range(0, 700, 50)])
    assert np.abs(one - whole[::50]).max() < 1e-10
    values = np.exp(-0.5 * ((scores[:, None] - scores) ** 2).sum(axis=2))
    left = np.linalg.norm((values + 0.1 * np.eye(700)) @ made.coefficients - rows)
    assert left < 1e-10 * np.linalg.norm(rows)


def test_float32_is_kept():
    scores = NEW[:, :2].astype(np.float32)
    made = Ridge.learn(KernelFunction("rbf", 0.5), scores, NEW.astype(np.float32), 0.1, memory=GB)
    assert made.rows(scores).dtype == np.float32
    wide = Ridge.learn(KernelFunction("rbf", 0.5), NEW[:, :2], NEW, 0.1, memory=GB)
    assert np.abs(made.rows(scores) - wide.rows(NEW[:, :2])).max() < 1e-5
    linear = Linear.of(expansion_of(KernelFunction("linear"), ROWS, 2))
    assert linear.rows(scores).dtype == np.float32


def test_the_memory_limit_is_checked_before_learning():
    with pytest.raises(MemoryLimitError, match=r"33 kB, and the limit is 20 kB") as caught:
        Ridge.learn(KernelFunction("rbf", 1.0), ROWS[:, :2], np.ones((60, 9)), 1.0, memory=20_000)
    assert "fixed_point" in caught.value.hint


def test_matrices_that_are_not_positive_definite_are_refused():
    with pytest.raises(DataError, match="alpha=0 is not positive") as caught:
        Ridge.learn(KernelFunction("linear"), ROWS[:, :2], ROWS, 0.0, memory=GB)
    assert "raise alpha" in caught.value.hint


def test_kernels_undefined_between_scores_are_refused():
    with pytest.raises(DataError, match=r"cannot be evaluated between scores: .* is -") as caught:
        Ridge.learn(KernelFunction("chi2", 1.0), -np.abs(ROWS[:, :2]), ROWS, 1.0, memory=GB)
    assert str(caught.value).count("Hint:") == 1
    with pytest.raises(DataError, match="is not finite"):
        Ridge.learn(KernelFunction("poly", 1.0), ROWS[:, :2] * 1e150, ROWS, 1.0, memory=GB)


def test_sparse_rows_are_refused():
    with pytest.raises(DataError, match="dense rows"):
        Ridge.learn(KernelFunction("rbf", 1.0), ROWS[:, :2], sp.csr_array(ROWS), 1.0, memory=GB)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("k", [2, 5])
def test_the_linear_kernel_is_inverted_exactly(offset, k):
    rows = ROWS + offset
    space = expansion_of(KernelFunction("linear"), rows, k)
    back = Linear.of(space).rows(space.scores(rows))
    pca = PCA(k).fit(rows - offset)
    expected = pca.inverse_transform(pca.transform(rows - offset))
    assert np.abs(back - offset - expected).max() <= 1e-10 * max(1.0, offset)


def test_sparse_rows_of_the_linear_kernel():
    space = expansion_of(KernelFunction("linear"), sp.csr_array(ROWS), 5)
    assert np.abs(Linear.of(space).rows(space.scores(sp.csr_array(ROWS))) - ROWS).max() < 1e-10
