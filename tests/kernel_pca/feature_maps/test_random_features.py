"""Random features: errors that fall as 1/√D, the same map from the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import LAPLACIAN, POLY, RBF, kernel_matrix, missing_variance

from princomp.errors import ParameterError
from princomp.kernel_pca.feature_maps import Fourier, TensorSketch
from princomp.kernel_pca.functions import KernelFunction

SEEDS = range(12)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(2).standard_normal((120, 6))


def errors(kind, kernel, rows, width):
    """Errors of inner products of different rows, for each seed."""
    K = kernel_matrix(kernel, rows)
    off = ~np.eye(len(rows), dtype=bool)
    found = []
    for seed in SEEDS:
        images = kind.of(kernel, rows.shape[1], width, seed=seed).images(rows)
        found.append((images @ images.T - K)[off])
    return np.array(found)


@pytest.mark.parametrize("kernel", [RBF, LAPLACIAN], ids=lambda k: k.name)
@pytest.mark.parametrize("width", [64, 1024])
def test_fourier_errors_fall_with_the_root_of_the_width(kernel, width, rows):
    found = errors(Fourier, kernel, rows, width)
    # An inner product is the mean of D/2 cosines of variance (1 + k(2d))/2 − k(d)², at most 1/2.
    sigma = np.sqrt(0.5 / (width / 2))
    assert np.sqrt((found**2).mean()) <= sigma
    assert np.abs(found).max() <= 5.5 * sigma  # of 170,000 numbers that are not independent
    # The mean over seeds is the kernel.
    assert np.abs(found.mean()) <= 5 * sigma / np.sqrt(len(SEEDS))


def test_orthogonal_waves_err_less_than_independent_ones(rows):
    orthogonal = np.sqrt((errors(Fourier, RBF, rows, 240) ** 2).mean())
    K, off = kernel_matrix(RBF, rows), ~np.eye(len(rows), dtype=bool)
    independent = []
    for seed in SEEDS:
        waves = np.random.default_rng(seed).standard_normal((6, 120)) * np.sqrt(2 * RBF.gamma)
        images = np.hstack([np.cos(rows @ waves), np.sin(rows @ waves)]) / np.sqrt(120)
        independent.append((images @ images.T - K)[off])
    # Measured 0.73.
    assert orthogonal < 0.85 * np.sqrt((np.array(independent) ** 2).mean())


@pytest.mark.parametrize(("degree", "coef0"), [(2, 0.0), (2, 1.0), (3, 1.0), (4, 0.5)])
def test_the_error_of_a_sketch_is_within_its_variance(degree, coef0, rows):
    kernel = KernelFunction("poly", gamma=0.2, degree=degree, coef0=coef0)
    width = 512
    found = errors(TensorSketch, kernel, rows, width)
    size = kernel_matrix(kernel, rows).diagonal()
    off = ~np.eye(len(rows), dtype=bool)
    # Pham and Pagh 2013, as bounded by Avron, Nguyen and Woodruff 2014.
    sigma = np.sqrt((2 + 3**degree) / width * np.outer(size, size)[off])
    assert np.sqrt((found**2).mean()) <= np.sqrt((sigma**2).mean())
    assert (np.abs(found) <= 5 * sigma).all()
    assert np.abs(found.mean()) <= 5 * np.sqrt((sigma**2).mean() / len(SEEDS))


def test_a_wide_sketch_of_degree_1_is_exact():
    kernel = KernelFunction("poly", gamma=0.5, degree=1, coef0=2.0)
    rows = np.random.default_rng(0).standard_normal((20, 3))
    images = TensorSketch.of(kernel, 3, 4096, seed=1).images(rows)
    np.testing.assert_allclose(images @ images.T, kernel_matrix(kernel, rows), atol=1e-13)


MAPS = {
    "waves": Fourier.of(RBF, 6, 100),
    "waves of a Laplacian": Fourier.of(LAPLACIAN, 6, 100),
    "waves in float32": Fourier.of(RBF, 6, 100, dtype=np.float32),
    "a sketch": TensorSketch.of(POLY, 6, 100),
    "a sketch in float32": TensorSketch.of(POLY, 6, 100, dtype=np.float32),
}


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_images_do_not_depend_on_the_other_rows(map):
    rows = np.random.default_rng(4).standard_normal((400, 6)).astype(map.dtype)
    whole = map.images(rows)
    assert whole.dtype == map.dtype
    for step in (1, 2, 7, 50, 192, 193, 399):
        parts = [map.images(rows[i : i + step]) for i in range(0, 400, step)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_sparse_rows_have_the_same_images(map):
    rows = np.random.default_rng(5).standard_normal((300, 6)).astype(map.dtype)
    rows[rows < 0.5] = 0
    tolerance = 1e-5 if map.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(map.images(sp.csr_array(rows)), map.images(rows), atol=tolerance)


def test_images_of_waves_have_length_1(rows):
    map = Fourier.of(LAPLACIAN, 6, 101)
    assert map.width == 100
    np.testing.assert_allclose(missing_variance(map, rows), 0.0, atol=1e-13)


def test_laplacian_waves_in_float32_keep_all_digits(rows):
    # Their Cauchy distribution makes some a thousand times longer than others.
    single = rows.astype(np.float32)
    exact_ones = Fourier.of(LAPLACIAN, 6, 4000).images(single.astype(np.float64))
    found = Fourier.of(LAPLACIAN, 6, 4000, dtype=np.float32).images(single)
    assert np.abs(Fourier.of(LAPLACIAN, 6, 4000).waves).max() > 100
    np.testing.assert_allclose(found, exact_ones, atol=1e-7)


def test_seeds_and_sizes_distinguish_maps():
    for kind, kernel in ((Fourier, RBF), (TensorSketch, POLY)):
        map = kind.of(kernel, 6, 64, seed=3)
        assert map.same_as(kind.of(kernel, 6, 64, seed=3))
        for other in (kind.of(kernel, 6, 64, seed=4), kind.of(kernel, 6, 66, seed=3)):
            assert not map.same_as(other)


@pytest.mark.parametrize(
    ("kind", "kernel", "width", "name"),
    [
        (Fourier, POLY, 10, "kernel"),
        (Fourier, RBF, 1, "n_landmarks"),
        (TensorSketch, RBF, 10, "kernel"),
        (TensorSketch, KernelFunction("poly", gamma=1.0, degree=2.5), 10, "degree"),
        (TensorSketch, KernelFunction("poly", gamma=1.0, degree=0), 10, "degree"),
        (TensorSketch, KernelFunction("poly", gamma=1.0, coef0=-1.0), 10, "coef0"),
    ],
)
def test_unsupported_kernels_and_sizes_are_refused(kind, kernel, width, name):
    with pytest.raises(ParameterError) as caught:
        kind.of(kernel, 6, width)
    assert caught.value.place == {"parameter": name}
    assert caught.value.hint
