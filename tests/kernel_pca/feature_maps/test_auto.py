"""How many landmarks or features it takes."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import POLY, RBF, exact

from princomp.errors import MemoryLimitError
from princomp.kernel_pca.feature_maps import (
    Fourier,
    TensorSketch,
    enough_features,
    enough_landmarks,
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
    found = enough_landmarks(rows, WIDE, 3, rule=rule, tolerance=0.01)
    assert found.met
    assert found.note == ""
    assert [m for m, _ in found.tried] == [50 * 2**i for i in range(len(found.tried))]
    assert found.tried[-1] == (found.map.m, found.estimate)
    assert all(share > 0.01 for _, share in found.tried[:-1])
    # The estimate foretells the truth, on rows that it has not seen.
    K = exact(WIDE, rows[:2000])
    images = found.map.images(rows[:2000])
    truth = 1 - centred_trace(images @ images.T) / centred_trace(K)
    assert truth == pytest.approx(found.estimate, rel=0.25)


def test_shares_and_errors_are_those_of_their_definitions(rows):
    some = rows[:300]
    K = exact(RBF, some)
    map = enough_landmarks(rows, RBF, 3, tolerance=0.5).map
    Z = map.images(some)
    share = 1 - centred_trace(Z @ Z.T) / centred_trace(K)
    assert missing_share(map, some) == pytest.approx(share, rel=1e-9)
    error = np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)
    assert kernel_error(map, some) == pytest.approx(error, rel=1e-9)
    for value in (0.0, 0.1, 1.0, 77.7):
        assert missing_share(map, np.full((5, 6), value)) == 0.0


def test_components_set_the_least(rows):
    assert enough_landmarks(rows, WIDE, 40, tolerance=0.9).map.m == 160


def test_all_rows_are_landmarks_where_that_is_what_it_takes(rows):
    narrow = KernelFunction("rbf", gamma=30.0)
    found = enough_landmarks(rows[:130], narrow, 3, tolerance=1e-9)
    assert [m for m, _ in found.tried] == [50, 100, 130]
    assert found.met
    assert found.tried[1][1] > 0.5  # of rows that are no landmarks
    assert enough_landmarks(rows[:20], narrow, 3).map.m == 20


def test_memory_ends_it_and_it_says_so(rows):
    found = enough_landmarks(rows, RBF, 3, tolerance=1e-6, limit=2_000_000)
    assert not found.met
    assert 80 * found.map.m**2 < 2_000_000
    assert found.map.m > 100
    assert f"{found.map.m} landmarks" in found.note
    assert "more than the tolerance of 1e-06" in found.note
    with pytest.raises(MemoryLimitError, match="limit"):
        enough_landmarks(rows, RBF, 3, limit=1000)


def test_features_are_doubled_until_the_kernel_is_near(rows):
    found = enough_features(rows, RBF, 3, tolerance=0.1, seed=1)
    assert found.met
    assert isinstance(found.map, Fourier)
    assert found.estimate <= 0.1
    assert kernel_error(found.map, rows[:1000]) == pytest.approx(found.estimate, rel=0.3)
    sketch = enough_features(rows, POLY, 3, tolerance=1e-9, limit=3_000_000)
    assert isinstance(sketch.map, TensorSketch)
    assert not sketch.met
    assert "features" in sketch.note


def test_rows_that_come_once_are_not_lost(rows):
    found = enough_landmarks(iter(np.array_split(rows, 9)), WIDE, 3, tolerance=0.05)
    left = np.concatenate([chunk.data for chunk in found.rows.chunks()])
    np.testing.assert_array_equal(left, rows)


def test_float32_rows_have_float32_images(rows):
    single = rows.astype(np.float32)
    assert enough_landmarks(single, WIDE, 3, tolerance=0.1).map.dtype == np.float32
    found = enough_features(single, WIDE, 3, tolerance=0.5, dtype=np.float32)
    assert found.map.images(single[:3]).dtype == np.float32
