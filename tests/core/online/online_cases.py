"""Rows, models and checks that the tests in this folder share."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import princomp
from helpers import EPS, assert_orthonormal, sine, truth
from princomp import PCA
from princomp.summaries import SketchOf
from princomp.summaries.centred import Centred

# Options of models that keep a summary of all rows.
OPTIONS = {
    "plain": {},
    "uncentred": {"center": False},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "two": {"n_components": 2},
    "half": {"n_components": 0.5},
}

EXACT = ("auto", "covariance_eigh", "full")


def batches(X, size, weights=None):
    """The rows in batches, and their weights."""
    for start in range(0, X.shape[0], size):
        stop = start + size
        yield X[start:stop], None if weights is None else weights[start:stop]


def fit_in_batches(model, X, size, weights=None):
    for rows, batch_weights in batches(X, size, weights):
        assert model.partial_fit(rows, sample_weight=batch_weights) is model
    return model


def bits(model):
    """The attributes of a model and the fields of its summary, by name."""
    contents = {
        name: getattr(model, name)
        for name in (
            "components_",
            "explained_variance_",
            "explained_variance_ratio_",
            "singular_values_",
            "mean_",
            "var_",
            "scale_",
            "total_variance_",
            "noise_variance_",
            "n_samples_",
            "n_dropped_",
        )
    }
    summary = model.summary_
    contents["kind"] = type(summary).__name__
    for field in fields(summary):
        contents[f"summary.{field.name}"] = getattr(summary, field.name)
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else repr(value)
        for name, value in contents.items()
    }


def assert_same_bits(one, other):
    left, right = bits(one), bits(other)
    assert [name for name in left if left[name] != right[name]] == []


def assert_close_to_svd(model, X, *, weights=None, divisor=None, slack=1.0):
    """Compare with the SVD of the centred rows, to the rounding of sums of n rows of p columns.

    An entry of a scatter is off by a few (n + p)·eps of √(Sᵢᵢ Sⱼⱼ): all together by that
    multiple of its trace, and so is each variance (Weyl); an axis by that over its gap.
    """
    variances, axes = truth(X, weights=weights, divisor=divisor, center=model.center)
    k = model.n_components_
    total_weight = len(X) if weights is None else weights.sum()
    assert model.summary_.rows == pytest.approx(total_weight, rel=slack * len(X) * EPS)
    error = slack * 8 * sum(X.shape) * EPS * variances.sum()
    np.testing.assert_allclose(model.explained_variance_, variances[:k], rtol=0, atol=error)
    np.testing.assert_allclose(model.total_variance_, variances.sum(), rtol=0, atol=error)
    assert_orthonormal(model.components_, tol=8 * X.shape[1] * np.finfo(model.dtype).eps)
    for i in range(k):
        others = np.delete(variances, i)
        gap = np.abs(others - variances[i]).min(initial=np.inf)
        angle = sine(model.components_[i : i + 1].astype(float), axes[i : i + 1])
        assert angle <= error / gap + 8 * X.shape[1] * np.finfo(model.dtype).eps
    if model.center:
        mean = np.average(X, axis=0, weights=weights)
        size = np.abs(X).max()
        assert np.abs(model.mean_ - mean).max() <= slack * 4 * len(X) * EPS * size


class PCAWithDtype(PCA):
    """PCA with the dtype of its axes as an attribute."""

    @property
    def dtype(self):
        return self.components_.dtype


def _eight_rows(columns, **_):
    return 8


def use_small_blocks(patch, blocks_at_once=2):
    for kind in (Centred, SketchOf):
        patch.setattr(kind, "block_rows", staticmethod(_eight_rows))
    patch.setattr(princomp.core.stream, "BLOCKS_AT_ONCE", blocks_at_once)


def assert_close(model, whole):
    """Assert that two models of the same rows agree to rounding, relative to the trace."""
    error = 16 * (whole.n_samples_ + whole.n_features_in_) * EPS
    total = whole.total_variance_
    for name in ("explained_variance_", "noise_variance_", "total_variance_"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(whole, name), rtol=0, atol=error * total, err_msg=name
        )
    for name in ("mean_", "var_", "scale_"):
        if getattr(whole, name) is not None:
            np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=error)
    # The tables here have gaps of a hundredth of the trace and more.
    np.testing.assert_allclose(model.components_, whole.components_, rtol=0, atol=1e3 * error)


def with_value(X, row, value):
    X = X.copy()
    X[row, 1] = value
    return X


def wide(n, p, spectrum, seed=11):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.sqrt(spectrum) + 3
