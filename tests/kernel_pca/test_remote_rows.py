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
    assert "smaller one, such as gamma='median'" in str(caught[0].message)
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
