"""Parts of searches: blocks in the space, what may be missed, tolerances and small variances."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
from counted_rows import Counted

from helpers import EPS, EPS32, assert_orthonormal, orthonormal, truth, with_singular_values
from princomp import PCA, Moments
from princomp.solvers import ritz, row_gram, row_search, scatter_search, search
from princomp.solvers.lanczos import lanczos
from princomp.solvers.missed import miss_probability, relative_to_last
from princomp.solvers.row_search import search_rows, tolerance
from princomp.solvers.scatter_search import search_scatter
from princomp.solvers.search import Pairs, SearchSpace
from princomp.solvers.share_search import search_rows_share


@pytest.mark.parametrize("width", [1, 4])
def test_a_block_inside_the_space_is_replaced_by_random_vectors_outside(width, rng):
    """What the first pass of Gram-Schmidt leaves of it is rounding, most of it inside again."""
    space = SearchSpace(lambda vectors: vectors, orthonormal(60, 50, rng).T, 60, tol=EPS)
    space.grow()
    block = space._orthogonal_block(orthonormal(50, width, rng).T @ space.vectors, rng)
    assert block.shape == (width, 60)
    assert_orthonormal(np.vstack([space.vectors, block]), tol=60 * EPS)


def test_an_image_of_zero_is_replaced_by_random_vectors(rng):
    space = SearchSpace(np.zeros_like, orthonormal(60, 4, rng).T, 60, tol=EPS)
    for _ in range(3):
        space.grow()
        space.extend(4, rng)
    assert_orthonormal(space.vectors, tol=60 * EPS)
    assert space.overlap == 0.0


def test_the_probability_of_missing_a_value_grows_with_the_start_block_and_the_error():
    assert miss_probability(100, 4, 1e-3) == pytest.approx(1e-3 * 20)
    assert miss_probability(10**6, 10**6, 1e-3) == 1.0
    values = np.array([8.0, 2.0, 1e-4])
    # The last value that exceeds the error counts, or the first one if none does.
    assert relative_to_last(values, 1e-6) == pytest.approx(8e-2)
    assert relative_to_last(values, 1e-3) == pytest.approx(4e-3)
    assert relative_to_last(values, 2.0) == 2.0
    assert relative_to_last(np.zeros(2), 1e-3) == 0.0


def test_a_tolerance_of_the_coarse_precision_allows_its_products(rng):
    rows = Counted(sp.random_array((50, 20), density=0.5, rng=rng, format="csr", dtype="f4"))
    assert (rows.dtype, rows.lowest_dtype) == (np.float64, np.float32)
    assert tolerance(rows, EPS32) == 4 * EPS32
    assert tolerance(rows, 0.99 * EPS32) == 0.99 * EPS32
    assert tolerance(rows, 0.0) == 4 * EPS


def test_a_search_of_constant_rows_takes_no_pass(rng):
    rows = Counted(np.ones((9, 5)))
    found, passes = search_rows(rows.rows, rows.columns, 2, tol=0.0, rng=rng)
    assert (found.total, passes) == (0.0, 0)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("shape", [(300, 80), (80, 300)])
def test_a_second_variance_much_smaller_than_the_first_is_computed_from_scores(shape, size, rng):
    """A product with the scatter would lose ten of its digits."""
    sigma = size * np.array([1.0, 1e-5])
    rows = Counted(with_singular_values(shape[0], sigma, rng, p=shape[1])[0])
    found, _ = search_rows(rows.rows, rows.columns, 2, tol=0.0, rng=rng)
    np.testing.assert_allclose(found.variances * (shape[0] - 1), sigma**2, rtol=1e-9)


@pytest.mark.parametrize("shape", [(900, 400), (400, 900)])
def test_a_search_in_float32_is_not_repeated_if_it_was_exact_enough(shape, monkeypatch, rng):
    n, p = shape
    X = rng.standard_normal((n, 6)) * np.geomspace(30, 10, 6) @ rng.standard_normal((6, p))
    rows = Counted(sp.csr_array(np.where(rng.random((n, 1)) < 0.3, X, 0.0).astype(np.float32)))
    monkeypatch.setattr(row_search, "search_rows", None)
    found, _ = search_rows(rows, rows.columns, 6, tol=1e-6, rng=rng)
    assert found.residuals.max() <= 64e-6


@pytest.mark.parametrize("power", [-100, 0, 100])
@pytest.mark.parametrize("share", [0.9, 1 - 1e-7])
def test_a_search_for_a_share_of_rows_of_any_magnitude_counts_its_passes(share, power, rng):
    """The smallest variance of the larger share is 1e-6 of the first: it is found by scores."""
    sigma = np.r_[np.geomspace(1, 0.1, 5), 1e-3, np.full(200, 1e-8)]
    X = np.ldexp(with_singular_values(400, sigma, rng, p=300)[0], power)
    rows = Counted(sp.csr_array(X))
    found, passes = search_rows_share(rows, rows.columns, share, tol=0.0)
    k = int(np.searchsorted(np.cumsum(sigma**2), share * (sigma**2).sum())) + 1
    assert k == (2 if share < 1 - 1e-6 else 6)
    expected = np.ldexp(sigma[:k] ** 2 / 399, 2 * power)
    np.testing.assert_allclose(found.variances, expected, rtol=1e-9)
    assert passes == rows.count


def test_a_rule_sees_a_space_that_it_may_restart(rng):
    """The basis of kept pairs stays orthonormal, and their values are those of the operator."""
    operator = np.diag(np.arange(1.0, 41))
    space = search.SearchSpace(operator.__matmul__, orthonormal(40, 5, rng).T, 20, tol=EPS)
    for _ in range(3):
        space.grow()
        space.extend(5, rng)
    values, coordinates = space.pairs(4)
    space.restart(values, coordinates, random=True)
    assert (space.stop, space.is_full(16), space.is_full(17)) == (4, False, True)
    space.extend(5, rng)
    space.grow()
    projected = space.vectors @ operator @ space.vectors.T
    np.testing.assert_allclose(np.linalg.eigvalsh(projected)[::-1][:2], space.pairs(2)[0][:2])


@pytest.mark.parametrize(
    ("n", "k", "strong", "count"),
    [
        (50, 4, 1, 50),
        (50, None, 1, 50),
        (600, 3, 100, 3),  # a search finds no more than those wanted
        (600, 3, 1, 600),  # a search was abandoned
    ],
)
def test_row_products_have_all_variances_unless_a_search_finds_few(n, k, strong, count, rng):
    X = rng.standard_normal((n, n + 50))
    X[:, :3] *= [3 * strong, 2 * strong, strong]
    rows = Counted(X)
    found, _ = row_gram.solve_rows(rows.rows, rows.columns, k)
    expected = truth(X)[0]
    assert (len(found.variances), found.k) == (count, k or n)
    np.testing.assert_allclose(found.variances, expected[:count], atol=n * EPS * expected[0])
    np.testing.assert_allclose(found.total, expected.sum(), rtol=n * EPS)
    assert found.roundoff == max(n, 64) * EPS
    assert found.missed == 0.0


def test_row_products_have_all_variances_if_many_components_are_wanted(rng):
    """A search would find the 70 strong ones quickly, but no others."""
    sigma = np.r_[np.geomspace(1e3, 10, 70), np.full(100, 1e-3)]
    rows = Counted(with_singular_values(600, sigma, rng, p=900)[0])
    found, _ = row_gram.solve_rows(rows.rows, rows.columns, 70)
    assert (len(found.variances), found.k) == (600, 70)


@pytest.mark.parametrize("k", [0, 2])
def test_axes_without_variance_from_row_products_have_no_residuals(k):
    rows = Counted(np.ones((5, 9)))
    found, _ = row_gram.solve_rows(rows.rows, rows.columns, k)
    assert found.residuals.tolist() == [0.0] * k
    assert (found.total, found.variances.max()) == (0.0, 0.0)


def test_residuals_of_row_products_are_enlarged_for_small_values():
    """They are divided by the singular value, like the rounding errors of the axes."""
    values, none = np.array([4.0, 1.0]), np.zeros(2)
    np.testing.assert_allclose(ritz.bound_of_rows(none + 1e-3, values, 0.0), [2.5e-4, 5e-4])
    np.testing.assert_allclose(ritz.bound_of_rows(none, values, 1e-9), [4e-9, 8e-9])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_residuals_are_relative_to_the_first_value(size, rng):
    values, k = size**2 * np.array([4.0, 1.0]), 2
    pairs = Pairs(values, np.eye(9, k), 1e-3 * values, 1, converged=True)
    np.testing.assert_allclose(ritz.relative_residuals(pairs, EPS), [1e-3, 2.5e-4])
    X, axes = size * rng.standard_normal((30, 9)), orthonormal(9, k, rng).T
    A = X - X.mean(axis=0)
    for last in (values[1], 0.0):  # zeros are wrong for these axes, too
        values[1] = last
        errors = axes @ A.T @ A - axes * values[:, None]
        found = ritz.residuals_of(Counted(X).rows, axes, values)
        np.testing.assert_allclose(found, np.linalg.norm(errors, axis=1) / values[0], rtol=1e-10)


def test_a_search_in_a_scatter_is_abandoned_only_on_request(rng):
    noise = Moments.of(rng.standard_normal((1000, 300)))
    assert search_scatter(noise, 3, patient=False) is None
    assert search_scatter(noise, 3).residuals.max() <= 8 * EPS


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize(("decay", "is_searched"), [(0.0, False), (0.25, True)])
def test_no_search_is_tried_in_the_scatter_of_noise(decay, is_searched, unit, rng, monkeypatch):
    products = Mock(wraps=scatter_search.products_with)
    monkeypatch.setattr(scatter_search, "products_with", products)
    X = unit * rng.standard_normal((4000, 300)) * np.arange(1, 301) ** (-decay / 2)
    search_scatter(Moments.of(X), 3, patient=False)
    assert products.called is is_searched


def diagonal(values):
    """An operator with these eigenvalues."""
    return lambda block: values[:, None] * block


@pytest.mark.parametrize("power", [-60, 0, 60])
def test_residuals_of_pairs_are_those_of_the_operator_in_any_unit(power):
    values = np.ldexp(np.geomspace(1, 1e-3, 300), power)
    rng = np.random.default_rng(0)
    pairs = lanczos(diagonal(values), 300, 5, tol=1e-3, rng=rng)
    errors = diagonal(values)(pairs.vectors) - pairs.vectors * pairs.values
    np.testing.assert_allclose(pairs.residuals, np.linalg.norm(errors, axis=0), rtol=1e-6)
    assert 1e-6 * values[0] < pairs.residuals.max() <= 1e-3 * values[0]


def test_one_large_value_is_found_quickly_next_to_tiny_ones():
    """Residuals are relative to it: relative to the others, they would never be small enough."""
    values = np.r_[1.0, np.linspace(2e-9, 1e-9, 299)]
    rng = np.random.default_rng(0)
    pairs = lanczos(diagonal(values), 300, 1, tol=1e-12, rng=rng)
    assert pairs.products <= 4
    assert pairs.residuals.max() <= 1e-12


def test_no_copies_are_searched_for_if_the_others_are_smaller_together():
    """Nine equal values may hide a tenth, unless the sum of all is known."""
    values = np.r_[np.full(9, 2.0), 1.0, np.full(190, 1e-3)]
    without, known = (
        lanczos(diagonal(values), 200, 10, tol=1e-12, rng=np.random.default_rng(0), trace=trace)
        for trace in (None, values.sum())
    )
    np.testing.assert_allclose(known.values, values[:10], rtol=1e-12)
    assert known.products < without.products
    assert (known.missed, without.missed > 0.0) == (0.0, True)


@pytest.mark.parametrize("shape", [(300, 80), (80, 300)])
def test_pairs_of_a_search_in_float64_need_no_more_than_the_axes(shape, rng):
    """Their residuals are known. Vectors with an entry per row are mapped to axes in one pass."""
    X = rng.standard_normal(shape) * 2.0 ** (-np.arange(shape[1]) / 40)
    rows, on_rows = Counted(X), shape[1] > shape[0]
    images = rows.rows.row_images if on_rows else rows.rows.images
    pairs = lanczos(images, min(shape), 3, tol=1e-12, rng=rng)
    found, passes = row_search.spectrum_of_pairs(rows, rows.columns, pairs, on_rows=on_rows)
    assert passes == rows.count == on_rows
    expected = truth(X)[0]
    np.testing.assert_allclose(found.variances, expected[:3], rtol=1e-12)
    np.testing.assert_allclose(found.total, expected.sum(), rtol=1e-12)


def test_a_block_is_followed_by_its_images(rng):
    operator = np.diag(np.arange(1.0, 41))
    start = orthonormal(40, 5, rng).T
    space = SearchSpace(operator.__matmul__, start, 20, tol=EPS)
    for _ in range(2):
        space.grow()
        space.extend(5, rng)
    image = operator @ start.T
    outside = image - space.vectors.T @ (space.vectors @ image)
    assert np.abs(outside).max() <= 40 * EPS * 40


def test_blocks_with_even_images_overlap_by_rounding_only(rng):
    operator = np.diag(np.arange(1.0, 41))
    space = SearchSpace(operator.__matmul__, orthonormal(40, 5, rng).T, 20, tol=1e-4)
    for _ in range(3):
        space.grow()
        space.extend(5, rng)
    assert space.overlap == 0.0
    assert_orthonormal(space.vectors)


def test_a_search_that_restarts_goes_on_from_its_last_images(rng):
    """A restart with random vectors would forget where the other eigenvectors are."""
    operator = np.diag(np.arange(1.0, 41))
    space = SearchSpace(operator.__matmul__, orthonormal(40, 5, rng).T, 20, tol=EPS)
    for _ in range(3):
        space.grow()
        space.extend(5, rng)
    values, coordinates = space.pairs(4)
    vectors = coordinates @ space.vectors
    errors = vectors @ operator - values[:, None] * vectors
    space.restart(values, coordinates)
    space.extend(5, rng)
    space.grow()
    outside = errors.T - space.vectors.T @ (space.vectors @ errors.T)
    assert np.abs(outside).max() <= 40 * EPS * 40


@pytest.mark.parametrize("n", [1200, 700])
def test_searches_do_not_start_from_random_numbers_that_tables_are_made_of(n):
    """A search that starts from axes of the table itself cannot find others."""
    p, rng = 1000, np.random.default_rng(1)
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((p, 16)))[0]
    other = rng.standard_normal(p)
    for _ in range(3):
        other -= axes @ (axes.T @ other)
        other /= np.linalg.norm(other)
    scores = rng.standard_normal((n, 17))
    scores = np.linalg.qr(scores - scores.mean(axis=0))[0]
    X = (scores * np.r_[3.5, np.linspace(3, 2, 16)]) @ np.column_stack([other, axes]).T
    for solver in ("auto", "lanczos"):
        found = PCA(5, svd_solver=solver).fit(X).singular_values_
        np.testing.assert_allclose(found[:2], [3.5, 3.0], rtol=1e-10)
