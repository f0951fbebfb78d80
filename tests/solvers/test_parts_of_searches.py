"""Parts of searches: blocks in the space, what may be missed, tolerances and small variances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from counted_rows import Counted

from helpers import EPS, EPS32, assert_orthonormal, orthonormal, truth, with_singular_values
from princomp.solvers import row_gram, row_search, search
from princomp.solvers.missed import miss_probability, relative_to_last
from princomp.solvers.row_search import search_rows, tolerance
from princomp.solvers.search import SearchSpace
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


def test_the_probability_to_miss_a_value_grows_with_the_start_block_and_the_error():
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


@pytest.mark.parametrize("shape", [(300, 80), (80, 300)])
def test_a_second_variance_much_smaller_than_the_first_is_computed_from_scores(shape, rng):
    """A product with the scatter would lose ten of its digits."""
    sigma = np.array([1.0, 1e-5])
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
        (50, 4, 1, 5),  # fewer than a tenth: those wanted, and the next
        (50, 5, 1, 50),
        (50, None, 1, 50),
        (600, 3, 100, 3),  # a search finds no more than those wanted
        (600, 3, 1, 4),  # a search was abandoned
    ],
)
def test_row_products_have_all_variances_unless_few_are_wanted(n, k, strong, count, rng):
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


@pytest.mark.parametrize("k", [0, 2])
def test_axes_without_variance_from_row_products_have_no_residuals(k):
    rows = Counted(np.ones((5, 9)))
    found, _ = row_gram.solve_rows(rows.rows, rows.columns, k)
    assert found.residuals.tolist() == [0.0] * k
    assert (found.total, found.variances.max()) == (0.0, 0.0)
