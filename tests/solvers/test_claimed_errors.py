"""The rounding errors and the passes that solvers claim."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from counted_rows import Counted

from engines import on_strict
from helpers import EPS, EPS32, orthonormal, with_singular_values
from princomp import PCA, Moments, Triangle
from princomp.core.context import prepared
from princomp.engines.device.tables import rows_of
from princomp.solvers import dense, nystrom, randomized, ritz, row_gram
from princomp.solvers.dense import solve_triangle
from princomp.solvers.device import solve_on_device
from princomp.solvers.lanczos import lanczos
from princomp.solvers.row_search import search_rows
from princomp.solvers.scatter_search import search_scatter
from princomp.solvers.share_search import search_share
from princomp.summaries import Columns, SketchOf
from princomp.summaries.centred_rows import centre_rows
from princomp.summaries.device_summaries import moments_on


def test_more_rows_than_one_sum_add_the_error_of_merging_only():
    p, full = 16, 2**18
    once, more = (dense.roundoff_of_images(p, EPS, rows) for rows in (full, 4 * full))
    assert more - once == pytest.approx(dense._MERGE_UNITS * 3 * full * p * EPS, rel=1e-9, abs=0)


def test_the_claims_cover_sums_whose_roundings_go_one_way_and_little_more():
    """Numbers of about 1 are added one by one, each a little less than half a rounding too large.

    This loses most, about 3/16 units per number, if the sum is 4/3 of a power of two.
    """
    count, total, terms = 2**14 * 4 // 3, 1.0, [1.0]
    for _ in range(count - 1):
        terms.append(1.0 + 0.499 * np.spacing(total + 1.0))
        total += terms[-1]
    error = math.fsum([*terms, -total]) / total
    # Images add up products of rows one by one, and blocks of 2²⁰ numbers are merged one by one.
    for claim in (dense.roundoff_of_images(1, EPS, count), dense.roundoff(1, EPS, count * 2**20)):
        assert error <= claim <= error + 80 * EPS


def test_products_in_float64_have_the_error_of_a_decomposition():
    expected = dense.roundoff(100, EPS, 1000)
    for total in (1.0, 100.0):  # one direction dominates, or none
        assert dense.roundoff_of_products(100, EPS, total, 1.0, 1000) == expected


def test_float32_products_claim_an_error_that_grows_with_the_trace():
    """It is at most c u tr S, or p u λ₁ if all variances are equal."""
    p = 100
    one, few, flat = (
        dense.roundoff_of_products(p, EPS32, total, 1.0, 1000) for total in (1.0, 10.0, float(p))
    )
    assert few >= one + 9 * EPS32
    assert flat >= p * EPS32


def test_a_scaled_scatter_of_which_nothing_is_known_claims_nothing(rng):
    """Infinite errors became NaN, and then small ones."""
    triangle = Triangle.of(rng.standard_normal((50, 6)))
    unknown = replace(triangle, lost=np.full(6, np.inf))
    scaled = prepared(unknown, np.linspace(1, 2, 6), True)
    assert np.isinf(scaled.lost).all()
    assert solve_triangle(scaled).roundoff >= 1


def test_a_scaled_scatter_includes_the_errors_of_its_divisors(rng):
    """One divisor is inexact: the products with all other columns have its error."""
    n, p, error = 40, 50, 1e-6
    exact = Moments.of(rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, p)))
    scatter, lost = exact.scatter.copy(), np.zeros(p)
    lost[3] = error * scatter[3, 3]
    scatter[3, 3] += lost[3]
    inexact = replace(exact, scatter=scatter, lost=lost)
    true, found = (
        prepared(one, np.sqrt(one.column_scatter / (n - 1)), centred=True)
        for one in (exact, inexact)
    )
    change = np.linalg.norm(found.scatter - true.scatter, 2)
    assert change > 2 * error * (n - 1)  # more than the error of the column alone
    assert change <= found.lost.sum() <= 8 * change


def test_a_search_in_a_scatter_measures_its_error_by_the_first_variance(rng):
    rows = rng.standard_normal((400, 30)) * 2.0 ** -np.arange(30)
    moments = Moments.of(rows.astype(np.float32))
    found = search_scatter(moments, 3)
    first, total = found.variances[0], np.trace(moments.scatter) / 399
    expected = dense.roundoff_of_products(30, moments.effective_unit, total, first, moments.count)
    assert found.roundoff == pytest.approx(expected, rel=1e-9, abs=0)


def test_residuals_of_a_search_in_a_scatter_include_the_rounding_of_products(rng):
    strong = 100 * rng.standard_normal((3, 1100))
    scatter = strong.T @ strong + np.eye(1100)
    moments = Moments(2000.0, 2000, np.zeros(1100), np.zeros(1100), scatter)
    for found in (search_scatter(moments, 2), search_share(moments, 0.5)):
        values = found.variances * 1999
        errors = scatter @ found.axes.T - found.axes.T * values
        assert (np.linalg.norm(errors, axis=0) / values[0] <= 4 * found.residuals).all()


def test_a_search_in_a_scatter_of_float32_rows_ends_well_below_their_rounding(rng):
    X = rng.standard_normal((2000, 300), dtype=np.float32) * np.linspace(2, 1, 300, dtype="f4")
    moments = Moments.of(X)
    assert moments.unit == EPS32
    assert search_scatter(moments, 3).residuals.max() <= EPS32 / 2


def test_residuals_measured_on_a_device_are_relative_to_the_first_variance(rng):
    rows = on_strict.to_device(rng.standard_normal((400, 60)))
    on_device = moments_on(rows_of(rows), drop=False, precise=True)[0]
    found = solve_on_device(on_device, 3, few=False, tol=0.0)
    scatter, values = on_device.to_host().scatter, found.variances[:3] * 399
    errors = scatter @ found.axes.T - found.axes.T * values
    assert (np.linalg.norm(errors, axis=0) / values[0] <= 8 * found.residuals).all()


def test_residuals_on_a_device_are_rounding_next_to_one_large_variance(rng):
    """The others are 1e-8 of it: residuals relative to them would be that much larger."""
    p = 30
    rows = rng.standard_normal((400, p)) * np.r_[1e4, np.ones(p - 1)]
    moments = moments_on(rows_of(on_strict.to_device(rows)), drop=False, precise=True)[0]
    found = solve_on_device(moments, 3, few=False, tol=0.0)
    # A decomposition and a product lose about p roundings each, relative to λ₁.
    assert found.residuals.max() <= 4 * p * EPS


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("between", [1e-2, 1e-8])
def test_axes_from_row_products_are_orthonormal_if_one_variance_is_much_smaller(size, between, rng):
    """The Gram matrix of the axes has the rounding errors of the largest variance."""
    sigma = size * np.sqrt([1.0, 2 * between, between, 1e-9])
    X = with_singular_values(20, sigma, rng, p=60)[0]
    columns, unit = Columns.of(X), 1e3 * EPS
    rows = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter / 19, None, None)
    vectors = np.linalg.svd(X)[0][:, :4] @ orthonormal(4, 4, rng)
    _, axes = ritz.rayleigh_ritz_of_rows(rows, vectors, unit)
    assert np.abs(axes @ axes.T - np.eye(4)).max() <= unit


@pytest.mark.parametrize("p", [400, 800])
@pytest.mark.parametrize(("share", "value"), [(0.02, 3.3), (0.1, 0.3)])
def test_the_claim_covers_equal_columns_of_biased_rounding(p, share, value, rng):
    """Products of float32 rows are summed over a chunk in float32; long ones lose more."""
    column = (rng.random((2048, 1)) < share).astype(np.float32) * np.float32(value)
    moments = Moments.of(np.repeat(column, p, axis=1))
    wide = column.astype(np.float64)
    square = float(((wide - wide.mean()) ** 2).sum())
    # The error of all entries is the same, so that its norm is p times that of one.
    error = np.abs(moments.scatter - square).max() / square
    unit, total = moments.effective_unit, np.trace(moments.scatter)
    assert error <= dense.roundoff_of_products(p, unit, total, total, moments.count)


@pytest.mark.parametrize(("rank", "drop"), [(103, 8), (112, 5), (112, 6), (112, 8)])
def test_a_search_of_all_pairs_stays_orthogonal_where_the_values_drop(rank, drop):
    """A block whose last images were 10⁻⁶ times as long once lost orthogonality."""
    size, decades = 200, 12
    values = np.concatenate(
        [
            10.0 ** -np.linspace(0, decades, rank),
            10.0 ** -np.linspace(decades + drop, 24, 200 - rank),
        ]
    )
    rng = np.random.default_rng(0)
    start = rng.standard_normal((size, 24))
    found = lanczos(
        lambda vectors: values[:, None] * vectors, size, size, tol=4.8e-7, rng=rng, start=start
    )
    np.testing.assert_allclose(found.values, values, rtol=0, atol=64 * EPS)
    # The vectors of a block may be off by as much as the tolerance.
    assert np.abs(found.vectors.T @ found.vectors - np.eye(size)).max() <= 1e-8


@pytest.mark.parametrize("seed", [139, 189, 293, 370, 387, 553, 1105])
def test_a_search_of_equal_rows_that_fills_the_whole_space_stays_orthogonal(seed):
    """Directions that images never reach: their last images were noise inside the space."""
    rng = np.random.default_rng(seed)
    width = int(rng.choice([4, 8, 16]))
    size = int(rng.integers(3, 9)) * width + int(rng.integers(1, width))
    k = int(rng.integers(1, min(size, 8)))
    equal = int(rng.integers(1, 6))
    rows = rng.standard_normal((size, 2 * size))
    rows[-equal:] = rows[0]
    products = rows @ rows.T
    products /= np.linalg.eigvalsh(products)[-1]
    products[-equal:] = products[0]  # to the bit
    start = products @ rng.standard_normal((size, width))
    found = lanczos(products.__matmul__, size, k, tol=1e-12, rng=rng, start=start, max_vectors=size)
    expected = np.linalg.eigvalsh(rows @ rows.T)[::-1]
    np.testing.assert_allclose(found.values, (expected / expected[0])[:k], rtol=0, atol=1e-12)
    assert np.abs(found.vectors.T @ found.vectors - np.eye(k)).max() <= 1e-12


def test_a_triangle_made_from_squares_claims_their_error_however_small(rng):
    """Next to much larger rows it is below EPS, but far above the errors of small variances."""
    triangle = Triangle.of(rng.standard_normal((50, 8)))
    plain = solve_triangle(triangle)
    lost = np.full(8, EPS / 2 * plain.largest * 49)
    found = solve_triangle(replace(triangle, lost=lost))
    assert (plain.squared, found.squared) == (False, True)
    assert found.roundoff >= EPS


def _residuals(model, rows):
    """Residuals (k,) of the axes of a model of standardised rows, computed in extended precision.

    They are relative to the first variance.
    """
    axes, variances = model.components_.astype(np.longdouble), model.explained_variance_
    errors = axes @ rows.T @ rows / (len(rows) - 1) - variances[:, None] * axes
    return np.linalg.norm(errors.astype(np.float64), axis=1) / variances[0]


@pytest.mark.parametrize("seed", [20, 28, 167, 193])
def test_a_scaled_sketch_of_fewer_rows_than_directions_includes_its_rounding(seed):
    """The rounding errors of large columns are in all rows of a sketch; scaling enlarges them."""
    rng = np.random.default_rng(seed)
    n, p = 12, 90
    rows = rng.standard_normal((n, n)) * 10.0 ** -np.arange(n) @ rng.standard_normal((n, p))
    rows *= 10.0 ** -rng.uniform(0, 8, p)
    model = PCA(9, svd_solver="sketch", scale="unit", center=False).partial_fit(rows)
    scaled = (rows / rows.std(axis=0, ddof=1)).astype(np.longdouble)
    claimed = model.certificate_.residuals
    assert (_residuals(model, scaled) <= 4 * claimed + 4 * p * EPS).all()
    assert claimed.max() <= 1e-3  # far above these errors, but below those of a rough sketch


@pytest.mark.parametrize("rows", [12, 200])
@pytest.mark.parametrize("power", [-100, 100])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_sketch_of_rows_times_a_power_of_two_claims_the_same(rows, power, scale, rng):
    X = rng.standard_normal((rows, 60)) * 2.0 ** -np.sqrt(np.arange(60)) + 1
    plain, other = (
        PCA(3, svd_solver="sketch", scale=scale).fit(table) for table in (X, np.ldexp(X, power))
    )
    expected = np.ldexp(plain.explained_variance_, 0 if scale else 2 * power)
    np.testing.assert_array_equal(other.explained_variance_, expected)
    np.testing.assert_array_equal(other.certificate_.residuals, plain.certificate_.residuals)


def test_a_sketch_with_unequal_divisors_claims_the_same_in_any_unit():
    """It leaves out rounding errors only, which the divisors enlarge."""
    n, p = 17, 300
    rows = 1 / (1 + np.arange(n)[:, None] + np.arange(p))  # a Hilbert matrix
    rows *= 10.0 ** -np.random.default_rng(0).permutation(np.linspace(0, 10, p))
    model = PCA(1, svd_solver="sketch", scale=rows.std(axis=0, ddof=1))
    small, plain, large = (
        model.fit(np.ldexp(rows, power)).certificate_.residuals[0] for power in (-100, 0, 100)
    )
    assert small == plain == large < 1e-9


@pytest.mark.parametrize("rows", [12, 200])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_sketch_of_two_very_unequal_directions_claims_rounding_of_the_larger(rows, scale, rng):
    """They are all there is. The smaller variance is about 1e-10 of the larger one."""
    p = 60
    X = rng.standard_normal((rows, 2)) * [1.0, 1e-5] @ rng.standard_normal((2, p))
    claimed = PCA(2, svd_solver="sketch", scale=scale).fit(X).certificate_.residuals
    assert claimed.max() <= 16 * p**2 * EPS


def test_a_scaled_sketch_of_columns_in_extremely_unequal_units_claims_finite_residuals(rng):
    """The squares of their ratios are out of range."""
    X = rng.standard_normal((12, 40)) * np.tile([2.0**300, 2.0**-300], 20)
    model = PCA(2, svd_solver="sketch", scale="unit").fit(X)
    wide = X.astype(np.longdouble)
    scaled = (wide - wide.mean(axis=0)) / wide.std(axis=0, ddof=1)
    claimed = model.certificate_.residuals
    assert np.isfinite(claimed).all()
    assert (_residuals(model, scaled) <= 4 * claimed + 4 * 40 * EPS).all()


@pytest.mark.parametrize("seed", [10, 15, 23, 26])
def test_variances_of_a_scaled_sketch_that_shows_few_columns_are_lower_bounds(seed):
    """Directions of rounding errors alone would add variance that is not there."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 30)) @ rng.standard_normal((30, 60))
    X[:, 4:] *= 2e-15
    found, full = (PCA(3, svd_solver=solver, scale="unit").fit(X) for solver in ("sketch", "full"))
    assert (found.explained_variance_ <= full.explained_variance_ * (1 + 1e-9)).all()


def test_the_rounding_of_a_scaled_sketch_is_bounded_in_every_direction(rng):
    """Also in that of the column with the largest divisor, whose own product shows it."""
    p = 30
    sketch = (
        SketchOf(60).of(rng.standard_normal((40, p))).scaled(rng.permutation(2.0 ** -np.arange(p)))
    )
    half = 1e-12 * rng.standard_normal((p, p))
    error = half + half.T
    sketch = replace(sketch, product=error @ sketch.directions)
    divisor = nystrom._unit_divisor(sketch)
    bounds = nystrom._rounding(sketch, divisor, 1.0, np.zeros((p, 1)), np.eye(p))
    # Ten directions show a length within a factor of two.
    assert (np.linalg.norm(error, axis=0) <= 2 * bounds).all()
    # The bound on each entry is the smaller one of its row and of its column.
    squares = sketch.product[:, -nystrom.TEST_DIRECTIONS :] ** 2
    entries = np.sqrt(squares.mean(axis=1))[:, None] / sketch.divisor
    expected = np.linalg.norm(np.minimum(entries, entries.T), axis=0)
    np.testing.assert_allclose(bounds, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", [66, 257, 124])
def test_a_scaled_sketch_of_many_rows_includes_its_rounding(seed):
    """Variances fall so quickly that the sketch leaves out rounding errors alone."""
    n, p = 60, 140
    rows = 1 / (1 + np.arange(n)[:, None] + np.arange(p))  # a Hilbert matrix
    rows *= 10.0 ** -np.random.default_rng(seed).uniform(0, 10, p)
    model = PCA(7, svd_solver="sketch", scale="unit").fit(rows)
    wide = rows.astype(np.longdouble)
    scaled = (wide - wide.mean(axis=0)) / wide.std(axis=0, ddof=1)
    claimed = model.certificate_.residuals
    assert (_residuals(model, scaled) <= 4 * claimed + 4 * p * EPS).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_float32_rows_are_summed_over_few_rows(order):
    """Products of the equal rows, added to a large sum, are all rounded in the same direction."""
    X = np.zeros((8192, 3), dtype=np.float32, order=order)
    X[::2048] = [[2000, 0, 0], [0, 2200, 2400], [2000, 0, 0], [0, 2200, 0]]
    model = PCA(2, svd_solver="arpack").fit(X)
    variances = np.linalg.eigvalsh(np.cov(X.astype(float).T))[:0:-1]
    # Half a unit for each of the 512 rows whose products are summed in float32.
    error = np.abs(model.explained_variance_ - variances).max()
    assert error <= 512 * EPS32 / 2 * variances[0]


def test_axes_beyond_the_rank_of_an_inexact_search_include_the_variance_not_found(rng):
    # Copies of a variance of 0.05 may be missed with this tolerance: rows vary along axes added.
    X = with_singular_values(100, np.sqrt(np.r_[1.0, np.full(94, 0.05)]), rng, p=130)[0]
    model = PCA(svd_solver="lanczos", tol=0.0092).fit(X)
    assert model.certificate_.missed == 1.0
    axes, covariance = model.components_, np.cov(X.T)
    images = axes @ covariance - model.explained_variance_[:, None] * axes
    residuals = np.linalg.norm(images, axis=1) / model.explained_variance_[0]
    claims = model.certificate_.residuals + model._result.spectrum.roundoff
    assert (residuals <= 2 * claims).all()


def equal_sparse_rows(size=5):
    """Equal products, added one by one in float32, lose far more digits than a search shows."""
    rng, n, p, values = np.random.default_rng(0), 100_000, 2100, np.array([0.9, 1.7, 0.37, 2.3])
    equal, count, others = np.sort(rng.permutation(n)[: n // 2]), len(values), 2000
    rows = np.r_[np.repeat(equal, count), rng.integers(0, n, others)]
    columns = np.r_[np.tile(np.arange(count), n // 2), rng.integers(count, p, others)]
    entries = np.r_[np.tile(values, n // 2), size * rng.standard_normal(others)]
    return sp.csr_array((entries, (rows, columns)), shape=(n, p)).astype(np.float32)


@pytest.mark.parametrize("wide", [False, True])
def test_equal_sparse_rows_in_float32_are_searched_to_the_tolerance(wide):
    """A search of wide rows, which have equal columns here, has vectors with an entry per row."""
    # A second variance below 1/1,000 of the first would be computed from scores.
    X = equal_sparse_rows(20).T.tocsr() if wide else equal_sparse_rows()
    n = X.shape[0]
    model = PCA(2, svd_solver="lanczos", tol=1e-6).fit(X)
    X, axes, variances = X.astype(float), model.components_.T, model.explained_variance_
    mean, axes = X.mean(axis=0), axes / np.linalg.norm(axes.astype(float), axis=0)
    scores = X @ axes - mean @ axes
    images = (X.T @ scores - np.outer(mean, scores.sum(axis=0))) / (n - 1)
    residuals = np.linalg.norm(images - axes * variances, axis=0) / variances[0]
    # The axes are rounded to float32.
    assert (residuals <= model.certificate_.residuals + EPS32).all()
    assert residuals.max() <= 64e-6


@pytest.mark.parametrize("shape", [(900, 400), (400, 900)])
@pytest.mark.parametrize("last", [10.0, 1e-2])
@pytest.mark.parametrize("tol", [0.0, 1e-6])
def test_the_passes_of_a_search_are_the_products_with_all_rows(shape, last, tol, rng):
    """In float32 if the tolerance allows it; small variances are computed from the scores."""
    n, p = shape
    X = rng.standard_normal((n, 6)) * np.geomspace(30, last, 6) @ rng.standard_normal((6, p))
    X = np.where(rng.random((n, 1)) < 0.3, X, 0.0).astype(np.float32)
    rows = Counted(sp.csr_array(X))
    _, passes = search_rows(rows, rows.columns, 6, tol=tol, rng=rng)
    assert passes == rows.count


@pytest.mark.parametrize("last", [10.0, 1e-2])
def test_the_passes_of_row_products_include_those_that_measure_residuals(last, rng):
    X = rng.standard_normal((40, 6)) * np.geomspace(30, last, 6) @ rng.standard_normal((6, 90))
    rows = Counted(sp.csr_array(X))
    _, passes = row_gram.solve_rows(rows, rows.columns, 6)
    assert passes == rows.count


@pytest.mark.parametrize("shape", [(90, 40), (40, 90)])
@pytest.mark.parametrize("powers", [0, 2])
def test_the_passes_of_power_iterations_are_the_products_with_all_rows(shape, powers, rng):
    rows = Counted(sp.csr_array(rng.standard_normal(shape)))
    _, passes = randomized.solve_rows(
        rows,
        rows.columns,
        3,
        n_oversamples=5,
        iterated_power=powers,
        power_iteration_normalizer="auto",
        random_state=0,
    )
    assert passes == rows.count


@pytest.mark.parametrize(("k", "powers"), [(3, 7), (4, 4), (30, 4)])
def test_scikit_learn_chooses_more_powers_for_fewer_than_a_tenth_of_all_components(k, powers, rng):
    X = rng.standard_normal((90, 40))
    chosen, given = (
        PCA(k, svd_solver="randomized", iterated_power=power, random_state=0).fit(X)
        for power in ("auto", powers)
    )
    assert chosen.plan_.passes == given.plan_.passes
    np.testing.assert_array_equal(chosen.components_, given.components_)


def test_a_search_that_is_repeated_in_float64_counts_the_passes_of_both(rng):
    rows = Counted(equal_sparse_rows())
    _, passes = search_rows(rows, rows.columns, 2, tol=1e-6, rng=rng)
    assert passes == rows.count
