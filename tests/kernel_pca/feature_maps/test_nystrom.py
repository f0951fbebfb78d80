"""Nyström's map: exact with all rows, one-sided with fewer, bitwise equal for any batching."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from kernel_cases import (
    CHI2,
    COSINE,
    CUSTOM,
    LAPLACIAN,
    LINEAR,
    POLY,
    RBF,
    kernel_matrix,
    missing_variance,
)

from helpers import EPS, EPS32
from princomp.errors import DataError, NotFiniteError
from princomp.kernel_pca.feature_maps import Nystrom
from princomp.kernel_pca.feature_maps.preparation import missing_share
from princomp.kernel_pca.functions import KernelFunction


@pytest.fixture(scope="module")
def rows():
    return np.abs(np.random.default_rng(1).standard_normal((240, 5)))


@pytest.mark.parametrize(
    "kernel", [LINEAR, RBF, LAPLACIAN, POLY, COSINE, CHI2, CUSTOM], ids=lambda k: k.name
)
def test_all_rows_as_landmarks_reproduce_the_kernel(kernel, rows):
    rows = rows[:60] if kernel.call else rows
    map = Nystrom.of(kernel, rows)
    K = kernel_matrix(map.kernel, rows)  # a linear kernel is about the mean of the landmarks
    images = map.images(rows)
    # What is left out is at most m ε λ₁, and rounding is of the same order.
    bound = 10 * len(rows) * EPS * np.linalg.norm(K, 2)
    assert bound < 1e-10 * np.linalg.norm(K, 2)
    assert np.linalg.norm(images @ images.T - K, 2) <= bound


def test_float32_is_kept_and_small_eigenvalues_are_not_enlarged(rows):
    kernel = KernelFunction("rbf", gamma=0.01)  # eigenvalues fall below any precision
    K = kernel_matrix(kernel, rows)
    map = Nystrom.of(kernel, rows.astype(np.float32))
    images = map.images(rows.astype(np.float32))
    assert map.dtype == images.dtype == np.float32
    largest = np.linalg.norm(K, 2)
    assert map.width < Nystrom.of(kernel, rows).width < len(rows)
    error = np.linalg.norm(images.astype(np.float64) @ images.T.astype(np.float64) - K, 2)
    assert error <= 4 * len(rows) * EPS32 * largest
    # Small eigenvalues, if kept, would be noise.
    assert Nystrom.of(kernel, rows).images(rows).dtype == np.float64


def test_missing_variance_is_the_diagonal_of_what_is_missing(rows):
    K = kernel_matrix(RBF, rows)
    map = Nystrom.of(RBF, rows[:20])
    missing = missing_variance(map, rows)
    images = map.images(rows)
    np.testing.assert_allclose(missing, np.diag(K - images @ images.T), atol=1e-13)
    assert missing.min() >= -100 * EPS
    np.testing.assert_allclose(missing[:20], 0.0, atol=20 * len(missing) * EPS)
    assert missing[20:].max() > 0.05
    # Images are a projection: of K − ZZᵀ no eigenvalue is negative.
    assert np.linalg.eigvalsh(K - images @ images.T).min() >= -1e-12


def test_repeated_landmarks_are_harmless(rows):
    once = Nystrom.of(RBF, rows[:30]).images(rows)
    again = Nystrom.of(RBF, np.concatenate([rows[:30], rows[:30], rows[:5]])).images(rows)
    assert again.shape[1] <= 30
    np.testing.assert_allclose(again @ again.T, once @ once.T, atol=1e-10)


@settings(max_examples=40)
@given(
    kernel=st.sampled_from([LINEAR, RBF, LAPLACIAN, POLY, COSINE]),
    p=st.sampled_from([1, 3, 20]),
    m=st.sampled_from([1, 40, 600]),
    dtypes=st.sampled_from(["f4 f4", "f8 f8", "f4 f8", "f8 f4"]),
    cuts=st.lists(st.integers(0, 500), max_size=6),
)
def test_images_do_not_depend_on_the_other_rows(kernel, p, m, dtypes, cuts):
    rng = np.random.default_rng(p * m)
    of_rows, of_points = dtypes.split()
    rows = rng.standard_normal((500, p)).astype(of_rows)
    map = Nystrom.of(kernel, rng.standard_normal((m, p)).astype(of_points))
    whole = map.images(rows)
    parts = [map.images(part) for part in np.split(rows, sorted(cuts))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(map.images(rows[::-1])[::-1], whole)
    np.testing.assert_array_equal(map.images(np.asfortranarray(rows)), whole)
    one = np.repeat(rows[77:78], 200, axis=0)
    np.testing.assert_array_equal(map.images(one), np.repeat(whole[77:78], 200, axis=0))


@pytest.mark.parametrize("p", [8_192, 9_000])
def test_a_long_row_alone_has_the_same_image(p):
    rows = np.random.default_rng(p).standard_normal((3, p))
    map = Nystrom.of(KernelFunction("rbf", gamma=1e-4), rows[:2])
    np.testing.assert_array_equal(map.images(rows[2:]), map.images(rows)[2:])


def test_sparse_rows_and_landmarks_match_dense_ones(rows):
    table = np.where(rows > 1.0, rows, 0.0)
    expected = Nystrom.of(RBF, table[:40])
    images = expected.images(table)
    np.testing.assert_allclose(expected.images(sp.csr_array(table)), images, atol=1e-13)
    both = Nystrom.of(RBF, sp.csr_array(table[:40]))
    found = both.images(sp.csr_array(table))
    np.testing.assert_allclose(found @ found.T, images @ images.T, atol=1e-10)
    np.testing.assert_allclose(both.images(table), found, atol=1e-9)


@pytest.mark.parametrize("kernel", [LINEAR, RBF], ids=lambda k: k.name)
def test_a_shift_is_the_same_for_dense_and_sparse(kernel, rows):
    table = np.where(rows > 1.0, rows, 0.0)
    moved = kernel.with_shift(np.arange(5.0))
    K = kernel_matrix(moved, table)
    for points in (table, sp.csr_array(table)):
        map = Nystrom.of(moved, points)
        for some in (table, sp.csr_array(table)):
            images = map.images(some)
            np.testing.assert_allclose(images @ images.T, K, atol=1e-10)
            np.testing.assert_allclose(missing_variance(map, some), 0.0, atol=1e-10)


def test_a_large_mean_costs_no_digits(rows):
    near = Nystrom.of(RBF, rows[:50]).images(rows)
    far = Nystrom.of(RBF, rows[:50] + 2.0**24).images(rows + 2.0**24)
    # The rows themselves have lost 24 bits there.
    np.testing.assert_allclose(far @ far.T, near @ near.T, atol=2e-6)


def test_images_are_written_to_the_given_output(rows):
    map = Nystrom.of(RBF, rows[:30])
    room = np.full((len(rows), map.width + 1), 7.0)
    out = room[:, :-1]
    assert map.images(rows, out) is out
    np.testing.assert_array_equal(out, map.images(rows))
    assert (room[:, -1] == 7.0).all()
    assert map.images(rows[:0]).shape == (0, map.width)


def test_maps_are_distinguished(rows):
    map = Nystrom.of(RBF, rows[:30])
    again = pickle.loads(pickle.dumps(map))
    assert map.same_as(again)
    np.testing.assert_array_equal(again.images(rows), map.images(rows))
    for other in (
        Nystrom.of(RBF, rows[:31]),
        Nystrom.of(KernelFunction("rbf", gamma=0.2), rows[:30]),
        Nystrom.of(RBF, rows[:30], np.float32),
        Nystrom.of(LAPLACIAN, rows[:30]),
    ):
        assert not map.same_as(other)
    # Two Python functions may differ on other rows.
    own, copied = (
        Nystrom.of(KernelFunction("callable", call=lambda a, b: float(a @ b)), rows[:9])
        for _ in range(2)
    )
    assert own.same_as(own)
    np.testing.assert_array_equal(own.weights, copied.weights)
    assert not own.same_as(copied)


def test_invalid_kernels_and_landmarks_are_refused(rows):
    with pytest.raises(NotFiniteError, match="landmark 0"):
        Nystrom.of(KernelFunction("poly", gamma=1.0, degree=400), rows[:9] * 1e9)
    with pytest.raises(DataError, match="no positive eigenvalue"):
        Nystrom.of(KernelFunction("callable", call=lambda a, b: -float(a @ b)), rows[:9])


def test_a_kernel_with_negative_eigenvalues_is_reported(rows):
    sigmoid = KernelFunction("sigmoid", gamma=1.0, coef0=-1.0)
    with pytest.warns(UserWarning, match="'sigmoid' between the landmarks is not positive"):
        map = Nystrom.of(sigmoid, rows - rows.mean(axis=0))
    # The images have more variance than there is.
    assert missing_share(map, rows - rows.mean(axis=0)) > 0.1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_equal_landmarks_of_the_linear_kernel_span_their_direction(form, rows):
    map = Nystrom.of(LINEAR, form(np.repeat(rows[:1], 3, axis=0)))
    lengths = np.abs(rows @ rows[0]) / np.linalg.norm(rows[0])
    np.testing.assert_allclose(np.abs(map.images(rows)[:, 0]), lengths, rtol=1e-13)
