"""Automatic choice of the number of landmarks or features."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import POLY, RBF, kernel_matrix, points_of
from sklearn.base import clone

from princomp import KernelPCA
from princomp.core import open_rows
from princomp.errors import MemoryLimitError, ParameterError
from princomp.kernel_pca.feature_maps import Fourier, Nystrom, TensorSketch
from princomp.kernel_pca.feature_maps.preparation import (
    kernel_error,
    missing_share,
    sized_nystrom_map,
    sized_random_map,
)
from princomp.kernel_pca.feature_maps.row_samples import sample_rows
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.parameters import KernelParameters

WIDE = KernelFunction("rbf", gamma=0.02)


def settings(k=3, *, tolerance=0.01, memory_limit=4 * 10**9, **options):
    model = KernelPCA(k, approximation_tol=tolerance, memory_limit=memory_limit, **options)
    return KernelParameters.of(model).seeded()


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(8).standard_normal((6000, 6))


def centred_trace(K):
    return np.trace(K) - K.sum() / len(K)


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "leverage"])
def test_landmarks_are_doubled_until_little_is_missing(rule, rows):
    found = sized_nystrom_map(rows, WIDE, settings(landmarks=rule))
    m = found.map.m
    assert m in [50 * 2**i for i in range(1, 7)]
    assert found.error <= 0.01
    assert found.notes == (f"{m:,} landmarks leave out {found.error:.2g} of the variance",)
    # Half as many, chosen from the same sample, leave out too much of the rows held out of it.
    sample, _ = sample_rows(rows, 4096 + 1000)
    half = Nystrom.of(WIDE, points_of(sample[:4096], m // 2, WIDE, rule=rule))
    assert missing_share(half, sample[4096:]) > 0.01
    # The estimate agrees with the true share of rows that it has not seen.
    K = kernel_matrix(WIDE, rows[:2000])
    images = found.map.images(rows[:2000])
    truth = 1 - centred_trace(images @ images.T) / centred_trace(K)
    assert truth == pytest.approx(found.error, rel=0.25)


def test_notes_say_where_an_exact_fit_is_faster(rows):
    narrow, faster = KernelFunction("rbf", gamma=1.0), "an exact fit of 900 rows"
    assert faster in sized_nystrom_map(rows[:900], narrow, settings()).notes[-1]
    for options in ({"k": None}, {"tolerance": 0.99}):  # all pairs, or few landmarks
        notes = sized_nystrom_map(rows[:900], narrow, settings(**options)).notes
        assert not any(faster in note for note in notes)


def test_missing_shares_and_errors_match_their_definitions(rows):
    some = rows[:300]
    K = kernel_matrix(RBF, some)
    map = sized_nystrom_map(rows, RBF, settings(tolerance=0.5)).map
    Z = map.images(some)
    share = 1 - centred_trace(Z @ Z.T) / centred_trace(K)
    assert missing_share(map, some) == pytest.approx(share, rel=1e-9)
    error = np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)
    assert kernel_error(map, some) == pytest.approx(error, rel=1e-9)
    for value in (0.0, 0.1, 1.0, 77.7):
        assert np.isnan(missing_share(map, np.full((5, 6), value)))  # there is no variance


def test_n_components_set_the_minimum_of_landmarks(rows):
    assert sized_nystrom_map(rows, WIDE, settings(40, tolerance=0.9)).map.m == 160


def test_all_rows_become_landmarks_if_necessary(rows):
    narrow = KernelFunction("rbf", gamma=30.0)
    found = sized_nystrom_map(rows[:130], narrow, settings(tolerance=1e-9))
    assert found.map.m == 130
    assert found.error <= 1e-9
    assert missing_share(Nystrom.of(narrow, rows[:100]), rows[100:130]) > 0.5
    assert sized_nystrom_map(rows[:20], narrow, settings()).map.m == 20


@pytest.mark.parametrize("n", [51, 101])
def test_no_error_is_estimated_from_one_row(n, rows):
    found = sized_nystrom_map(rows[:n], KernelFunction("rbf", gamma=30.0), settings())
    assert found.map.m == n


def test_an_error_within_rounding_is_not_known(rows):
    far = KernelFunction("poly", gamma=1.0, degree=2.0)
    found = sized_nystrom_map(rows[:300] + 1e7, far, settings())
    assert np.isnan(found.error)
    assert "too close to rounding" in found.notes[0]
    assert sized_nystrom_map(rows[:40] + 1e7, far, settings()).error == 0.0  # all are landmarks


@pytest.mark.parametrize("approximation", ["nystrom", "features"])
def test_a_map_does_not_grow_beyond_the_memory_of_the_fit(approximation, rng):
    X = rng.standard_normal((2000, 50))
    options = {"kernel": "rbf", "gamma": 0.1, "approximation": approximation}
    model = KernelPCA(2, **options, memory_limit="60MB").fit(X)
    assert model.approximation_error_ > 0.01
    assert model.plan_.memory <= 60e6


def test_rows_that_are_read_ahead_to_sample_from_count_for_the_memory_limit(rng):
    # 10 rows are read for each row of the sample, since an iterator cannot be read again.
    batches = (rng.standard_normal((500, 1000)) for _ in range(30))
    model = KernelPCA(2, kernel="rbf", approximation="nystrom", memory_limit="48MB")
    with pytest.raises(MemoryLimitError, match="50 landmarks or features need"):
        model.fit(batches)


def test_the_memory_limit_stops_the_search_with_a_note(rows):
    found = sized_nystrom_map(rows, RBF, settings(tolerance=1e-6, memory_limit=60_000_000))
    assert found.error > 1e-6
    assert 80 * found.map.m**2 < 60_000_000
    assert found.map.m > 100
    assert f"{found.map.m} landmarks" in found.notes[0]
    assert "more than the tolerance of 1e-06" in found.notes[1]
    with pytest.raises(MemoryLimitError, match="limit"):
        sized_nystrom_map(rows, RBF, settings(memory_limit=1000))


def test_features_are_doubled_until_the_kernel_is_close(rows):
    found = sized_random_map(rows, RBF, settings(tolerance=0.1, random_state=1))
    assert isinstance(found.map, Fourier)
    assert found.error <= 0.1
    assert len(found.notes) == 1
    assert kernel_error(found.map, rows[:1000]) == pytest.approx(found.error, rel=0.3)
    sketch = sized_random_map(rows, POLY, settings(tolerance=1e-9, memory_limit=3_000_000))
    assert isinstance(sketch.map, TensorSketch)
    assert sketch.error > 1e-9
    assert "features" in sketch.notes[0]
    assert "more than the tolerance of 1e-09" in sketch.notes[1]


def test_single_pass_rows_are_not_lost(rows):
    batches = open_rows(iter(np.array_split(rows, 9)))[0]
    found = sized_nystrom_map(batches, WIDE, settings(tolerance=0.05))
    left = np.concatenate([chunk.data for chunk in found.rows.chunks()])
    np.testing.assert_array_equal(left, rows)


def test_float32_rows_have_float32_images(rows):
    single = rows.astype(np.float32)
    assert sized_nystrom_map(single, WIDE, settings(tolerance=0.1)).map.dtype == np.float32
    found = sized_random_map(single, WIDE, settings(tolerance=0.5))
    assert found.map.images(single[:3]).dtype == np.float32


@pytest.mark.parametrize("approximation", ["nystrom", "features"])
def test_the_number_of_landmarks_may_be_a_numpy_integer(approximation, rows):
    options = {"kernel": "rbf", "gamma": 0.02, "approximation": approximation, "random_state": 0}
    expected = KernelPCA(3, n_landmarks=50, **options).fit(rows[:300])
    found = KernelPCA(3, n_landmarks=np.int64(50), **options).fit(rows[:300])
    np.testing.assert_array_equal(found.eigenvalues_, expected.eigenvalues_)


@pytest.mark.parametrize("count", ["auto", 10])
def test_unknown_rules_for_landmarks_are_refused(count, rows):
    model = KernelPCA(3, approximation="nystrom", landmarks="random", n_landmarks=count)
    with pytest.raises(ParameterError, match="landmarks='random' is not valid"):
        model.fit(rows[:300])


def test_the_error_of_features_of_rows_far_from_the_origin(rng):
    """Products of such rows cancel, and values of the kernel from them would be wrong."""
    rows = rng.standard_normal((300, 4)).round(3)
    model = KernelPCA(2, kernel="rbf", gamma=0.25, approximation="features", approximation_tol=0.2)
    far, near = clone(model).fit(rows + 1e8), clone(model).fit(rows)
    assert far.approximation_error_ == pytest.approx(near.approximation_error_, rel=1e-3)
    assert far.plan_.reasons[0].split()[0] == near.plan_.reasons[0].split()[0] == "100"
