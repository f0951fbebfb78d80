"""Weights are frequencies: small sums are refused or cause a warning, because they divide."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from princomp import PCA, IncrementalPCA, KernelPCA
from princomp.errors import NotAvailableError, ShapeError

MODELS = {
    "PCA": PCA(2),
    "range": PCA(2, scale="range"),
    "lanczos": PCA(2, svd_solver="lanczos"),
    "drop": PCA(2, missing="drop"),
    "incremental": IncrementalPCA(2),
    "rbf": KernelPCA(2, kernel="rbf"),
    "nystrom": KernelPCA(2, kernel="rbf", approximation="nystrom", n_landmarks=20),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def float32_weights(n: int = 60) -> np.ndarray:
    """Weights divided by their sum in float32, whose sum in float64 is a bit more than 1."""
    for seed in range(100):
        weights = np.random.default_rng(seed).random(n).astype(np.float32)
        weights /= weights.sum()
        if 1 + 1e-8 < weights.sum(dtype=np.float64) < 1 + 1e-5:
            return weights
    raise AssertionError("no such weights")


def warnings_of(action) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(warning.message) for warning in caught]


@every_model
@pytest.mark.parametrize("n", [60, 1797])
def test_float32_weights_whose_sum_is_1_up_to_their_rounding_are_refused(model, n, rng):
    weights = float32_weights(n)
    with pytest.raises(ShapeError, match="a sum of weights above 1, got 1 over") as caught:
        model.fit(rng.standard_normal((n, 3)), sample_weight=weights)
    assert "give w * w.sum() / (w**2).sum()" in caught.value.hint


def test_batches_with_float32_weights_whose_sum_is_1_are_refused(rng):
    X, weights = rng.standard_normal((60, 3)), float32_weights()
    model = PCA(2).partial_fit(X[:30], sample_weight=weights[:30])
    model.partial_fit(X[30:], sample_weight=weights[30:])
    with pytest.raises(NotAvailableError, match="a sum of weights above 1, got 1 so far"):
        model.finalize()


@pytest.mark.parametrize(("n", "needed"), [(1, "at least 2 rows"), (2, "a sum of weights above 1")])
def test_batches_say_what_a_variance_needs(n, needed, rng):
    model = PCA().partial_fit(rng.standard_normal((n, 3)), sample_weight=np.full(n, 0.4))
    with pytest.raises(NotAvailableError, match=f"a variance needs {needed}, got"):
        model.finalize()


@every_model
def test_a_sum_of_weights_far_below_the_number_of_rows_causes_one_warning(model, rng):
    X, weights = rng.standard_normal((60, 3)), np.full(60, 0.04)
    weights[:10] = 0.0
    said = "the weights of 50 rows sum to 2, and variances"
    message = warnings_of(lambda: model.fit(X, sample_weight=weights))
    assert len(message) == 1
    assert message[0].startswith(said)
    assert "give w * w.sum() / (w**2).sum()" in message[0]


@pytest.mark.parametrize(
    ("n", "total", "said"),
    [(64, 10.75, True), (64, 11.0, False), (16, 7.0, True), (16, 8.0, False)],
)
def test_weights_that_sum_to_half_the_rows_or_to_11_cause_no_warning(n, total, said, rng):
    """Variances are then at most 11/10 of those for a large sum."""
    X, weights = rng.standard_normal((n, 3)), np.full(n, total / n)
    assert bool(warnings_of(lambda: PCA(2).fit(X, sample_weight=weights))) == said


def test_batches_with_small_weights_cause_a_warning(rng):
    model = PCA(2).partial_fit(rng.standard_normal((60, 3)), sample_weight=np.full(60, 0.05))
    with pytest.warns(UserWarning, match="the weights of 60 rows sum to 3, and variances"):
        model.finalize()


@every_model
def test_frequencies_and_weights_of_mean_1_cause_no_warning(model, rng):
    X, weights = rng.standard_normal((60, 3)), rng.random(60)
    weights[:40] = 0.0  # rows left out
    for given in (weights / weights[40:].mean(), np.ceil(weights), 0.6 * np.ceil(weights)):
        assert not warnings_of(lambda given=given: model.fit(X, sample_weight=given))


def test_faded_and_forgotten_rows_cause_no_warning(rng):
    X, weights = rng.standard_normal((60, 3)), np.full(60, 0.5)
    model = PCA(2).partial_fit(X, sample_weight=weights).forget(X[:55], sample_weight=weights[:55])
    assert not warnings_of(lambda: model.explained_variance_)
    model = PCA(2, decay=0.9).partial_fit(X)
    assert not warnings_of(lambda: model.explained_variance_)
