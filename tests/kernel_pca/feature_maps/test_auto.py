"""Automatic choice of the number of landmarks or features."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import POLY, RBF, kernel_matrix

from princomp.errors import MemoryLimitError
from princomp.kernel_pca.feature_maps import (
    Fourier,
    TensorSketch,
    sized_nystrom_map,
    sized_random_map,
)
from princomp.kernel_pca.feature_maps.sizing import kernel_error, missing_share
from princomp.kernel_pca.functions import KernelFunction

WIDE = KernelFunction("rbf", gamma=0.02)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(8).standard_normal((6000, 6))


def centred_trace(K):
    return np.trace(K) - K.sum() / len(K)


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "leverage"])
def test_landmarks_are_doubled_until_little_is_missing(rule, rows):
    found = sized_nystrom_map(rows, WIDE, 3, rule=rule, tolerance=0.01)
    assert found.within_tolerance
    assert found.note == ""
    assert [m for m, _ in found.trials] == [50 * 2**i for i in range(len(found.trials))]
    assert found.trials[-1] == (found.map.m, found.estimate)
    assert all(share > 0.01 for _, share in found.trials[:-1])
    # The estimate agrees with the true share of rows that it has not seen.
    K = kernel_matrix(WIDE, rows[:2000])
    images = found.map.images(rows[:2000])
    truth = 1 - centred_trace(images @ images.T) / centred_trace(K)
    assert truth == pytest.approx(found.estimate, rel=0.25)


def test_missing_shares_and_errors_match_their_definitions(rows):
    some = rows[:300]
    K = kernel_matrix(RBF, some)
    map = sized_nystrom_map(rows, RBF, 3, tolerance=0.5).map
    Z = map.images(some)
    share = 1 - centred_trace(Z @ Z.T) / centred_trace(K)
    assert missing_share(map, some) == pytest.approx(share, rel=1e-9)
    error = np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)
    assert kernel_error(map, some) == pytest.approx(error, rel=1e-9)
    for value in (0.0, 0.1, 1.0, 77.7):
        assert missing_share(map, np.full((5, 6), value)) == 0.0


def test_n_components_set_the_minimum_of_landmarks(rows):
    assert sized_nystrom_map(rows, WIDE, 40, tolerance=0.9).map.m == 160


def test_all_rows_become_landmarks_if_necessary(rows):
    narrow = KernelFunction("rbf", gamma=30.0)
    found = sized_nystrom_map(rows[:130], narrow, 3, tolerance=1e-9)
    assert [m for m, _ in found.trials] == [50, 100, 130]
    assert found.within_tolerance
    assert found.trials[1][1] > 0.5  # of rows that are no landmarks
    assert sized_nystrom_map(rows[:20], narrow, 3).map.m == 20


def test_the_memory_limit_stops_the_search_with_a_note(rows):
    found = sized_nystrom_map(rows, RBF, 3, tolerance=1e-6, limit=2_000_000)
    assert not found.within_tolerance
    assert 80 * found.map.m**2 < 2_000_000
    assert found.map.m > 100
    assert f"{found.map.m} landmarks" in found.note
    assert "more than the tolerance of 1e-06" in found.note
    with pytest.raises(MemoryLimitError, match="limit"):
        sized_nystrom_map(rows, RBF, 3, limit=1000)


def test_features_are_doubled_until_the_kernel_is_close(rows):
    found = sized_random_map(rows, RBF, 3, tolerance=0.1, seed=1)
    assert found.within_tolerance
    assert isinstance(found.map, Fourier)
    assert found.estimate <= 0.1
    assert kernel_error(found.map, rows[:1000]) == pytest.approx(found.estimate, rel=0.3)
    sketch = sized_random_map(rows, POLY, 3, tolerance=1e-9, limit=3_000_000)
    assert isinstance(sketch.map, TensorSketch)
    assert not sketch.within_tolerance
    assert "features" in sketch.note


def test_single_pass_rows_are_not_lost(rows):
    found = sized_nystrom_map(iter(np.array_split(rows, 9)), WIDE, 3, tolerance=0.05)
    left = np.concatenate([chunk.data for chunk in found.rows.chunks()])
    np.testing.assert_array_equal(left, rows)


def test_float32_rows_have_float32_images(rows):
    single = rows.astype(np.float32)
    assert sized_nystrom_map(single, WIDE, 3, tolerance=0.1).map.dtype == np.float32
    found = sized_random_map(single, WIDE, 3, tolerance=0.5, dtype=np.float32)
    assert found.map.images(single[:3]).dtype == np.float32
