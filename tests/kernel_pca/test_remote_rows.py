"""Rows whose kernel with all points of the fit is zero: a warning says how many."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from princomp import KernelPCA

KINDS = {
    "exact": {},
    "nystrom": {"approximation": "nystrom", "n_landmarks": 20},
}
# k(x, y) is exp(−γ·100) and less, where the distance is 10 or more.
FAR = 20.0


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_from_all_points_are_counted(kind, kernel, dtype, rng):
    X = rng.random((60, 3)).astype(dtype)
    new = rng.random((50, 3)).astype(dtype)
    new[:7] += FAR * np.arange(1, 8, dtype=dtype)[:, None]
    model = KernelPCA(4, kernel=kernel, gamma=2.0, **kind).fit(X)
    points = "landmarks" if kind else "rows of the fit"
    with pytest.warns(UserWarning, match=f"7 of 50 rows with all {points} is zero") as caught:
        scores = model.transform(new)
    assert len(caught) == 1
    assert "which are near each other" in str(caught[0].message)
    assert "Give rows in the units and scale of the fit" in str(caught[0].message)
    np.testing.assert_allclose(scores[:7], scores[:1].repeat(7, axis=0), rtol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly", "cosine"])
def test_other_rows_cause_no_warning(kernel, rng):
    """Also of a row whose scores are those of a far one, for symmetry."""
    X = np.array([[-1.0, 0.5], [1.0, 0.5], [-1.0, -0.5], [1.0, -0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPCA(1, kernel=kernel, gamma=0.5).fit(X)
        model.transform(X)
        model.transform(np.zeros((1, 2)))
        model.transform(np.r_[np.zeros((1, 2)), rng.standard_normal((3, 2))])
        far = KernelPCA(1, kernel=kernel, gamma=0.5).fit(X + 1)
        far.reconstruction_error(X + FAR)  # tells which rows are far


def test_new_pictures_in_another_unit_do_not_blame_gamma(rng):
    pictures = rng.integers(0, 256, (60, 64))
    model = KernelPCA(4, kernel="rbf", gamma="median").fit(pictures / 255)
    with pytest.warns(
        UserWarning, match="10 of 10 rows .* in the units and scale of the fit"
    ) as caught:
        model.transform(pictures[:10])
    assert "gamma" not in str(caught[0].message)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_gamma_is_too_large_for_rows_that_are_all_apart(kind, rng):
    X = FAR * rng.standard_normal((60, 3))
    model = KernelPCA(2, kernel="rbf", gamma=0.01, **kind).fit(X)
    with pytest.warns(UserWarning, match="gamma 0.01 is too large for them"):
        model.transform(100 * X)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 501.0)], ids=["", "weights"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_fit_warns_if_the_kernel_of_nearly_all_pairs_is_zero(kernel, weights, dtype, rng):
    pictures = rng.integers(0, 256, (500, 64)).astype(dtype)
    pictures[1] = pictures[0]  # one copy
    model = KernelPCA(3, kernel=kernel)
    with pytest.warns(UserWarning, match=f"{kernel}.* is near zero for nearly all pairs") as caught:
        model.fit(pictures, sample_weight=weights)
    assert "gamma='median'" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(gamma="median").fit(pictures, sample_weight=weights)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("copies", [3, 30])
def test_groups_of_equal_rows_far_apart_cause_no_warning(kernel, copies, rng):
    X = np.repeat(1e3 * rng.standard_normal((100, 4)), copies, axis=0)
    assert KernelPCA(2, kernel=kernel, gamma=1.0).fit(X).eigenvalues_[0] > copies - 0.5
