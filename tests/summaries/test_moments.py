"""Moments, Columns and Triangles of rows that mislead their shift, against longdouble."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS
from princomp import PCA
from princomp.errors import NotFiniteError, NotNumericError, ParameterError, ShapeError
from princomp.kernels.gram import sampled_rows
from princomp.summaries import Columns, Moments, SketchOf, Triangle, check_frequencies, moments

# Equal numbers that are added one by one lose 3/16 of a unit each: 48 in a chunk of 256 rows, and
# less in the sums of those. Sparse rows are added up to 1,024 at a time by NumPy. All of this
# doubles where the mean lies as far from the shift as the rows from the mean.
DENSE_TOLERANCE, SPARSE_TOLERANCE = 2 * 64 * EPS, 2 * 2 * 192 * EPS


def periodic(m):
    """Markers in rows of each period that divides m, and columns of noise with them."""
    periods = [period for period in range(2, m) if m % period == 0]
    markers = np.zeros((m, len(periods)))
    for column, period in enumerate(periods):
        markers[::period, column] = 100 * np.pi
    return markers


def sampled(m):
    """Markers in the rows that the first shift is computed from."""
    markers = np.zeros((m, 3))
    markers[sampled_rows(m), 0] = 1e5
    markers[sampled_rows(m, 16), 1] = 1e5
    markers[sampled_rows(m, 256), 2] = 1e5
    return markers


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("markers", [periodic(2**12), periodic(3600), sampled(2**15)])
def test_marker_rows_mislead_no_summary(kind, sparse, markers):
    rng = np.random.default_rng(0)
    m, p = markers.shape
    X = np.c_[markers, markers + rng.standard_normal((m, p))]
    if sparse:  # of few enough entries, some columns full
        X = np.c_[markers, np.zeros((m, 9 * p)), X[:, p:] + 50]
    block = sp.csr_array(X) if sparse else X
    for weights in (None, rng.random(m) + 0.1):
        share = np.ones(m) if weights is None else weights
        centred = X.astype("g") - X[-1]
        centred -= share @ centred / share.sum()
        true = (share @ centred**2).astype(float)
        found = kind.of(block, weights)
        assert found.count == m
        tolerance = SPARSE_TOLERANCE if sparse else DENSE_TOLERANCE
        assert (np.abs(found.column_scatter - true) <= tolerance * true).all()


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_mean_keeps_digits_that_are_lost_in_the_distance_from_marker_rows(kind, sparse, rng):
    m = 2**17
    X = np.zeros((m, 12))
    X[:, 0] = rng.integers(1, 3, m)
    X[sampled_rows(m), 0] = X[sampled_rows(m, 16), 0] = 2.0**53
    mean = X[:, 0].astype("g").mean()
    found = kind.of(sp.csr_array(X) if sparse else X)
    assert abs(found.mean[0] - mean + found.mean_low[0]) <= 64 * EPS * mean


@pytest.mark.parametrize("p", [1, 12])
def test_light_rows_after_heavy_sparse_rows_count(p):
    """Only the first column stores a value in most of the weight."""
    n, heavy = 2**17, [1, 2, 7, 25]
    X, weights = np.zeros((n, p)), np.full(n, 1e-6)
    X[1::6, :2], weights[heavy] = 0.84, 1e6
    X[heavy[2:], 1:2] = 0.0
    exact, share = X.astype("g"), weights.astype("g")
    mean = share @ exact / share.sum()
    scatter = (exact - mean).T @ (share[:, None] * (exact - mean))
    spread = np.sqrt(scatter.diagonal())
    found = Moments.of(sp.csr_array(X), weights)
    # At most 256 stored values of light rows are added one by one to heavy ones, half a unit each.
    error = np.abs(found.mean - mean) * np.sqrt(share.sum())
    assert (error <= 2 * 128 * EPS * spread).all()
    assert (np.abs(found.scatter - scatter) <= 2 * 128 * EPS * np.outer(spread, spread)).all()


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle])
@pytest.mark.parametrize("weights", [None, np.ones(3)])
def test_rows_without_columns_are_refused(kind, weights):
    for block in (np.zeros((3, 0)), sp.csr_array((3, 0))):
        with pytest.raises(ShapeError, match=r"no columns.*\(3, 0\)"):
            kind.of(block, weights)


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle, SketchOf(3)])
def test_sparse_rows_of_any_format_are_summarised_as_rows(kind, rng):
    """The arrays of a square CSC matrix are those of its transpose in CSR."""
    X = np.where(rng.random((12, 12)) < 0.1, rng.random((12, 12)), 0.0)
    true = kind.of(sp.csr_array(X))
    for make in (sp.csc_array, sp.coo_array, sp.bsr_array, sp.lil_array, sp.dok_array):
        found = kind.of(make(X))
        np.testing.assert_array_equal(found.mean, true.mean)
        np.testing.assert_array_equal(found.column_scatter, true.column_scatter)


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle])
@pytest.mark.parametrize("p", [3, 1200])
def test_subclasses_of_arrays_are_summarised_as_arrays(kind, p, rng):
    X = rng.random((6, p))
    np.testing.assert_array_equal(kind.of(X.view(np.matrix)).mean, kind.of(X).mean)
    masked = np.ma.masked_array(X, np.zeros_like(X, dtype=bool))
    np.testing.assert_array_equal(kind.of(masked).mean, kind.of(X).mean)
    masked[2, 1] = np.ma.masked
    with pytest.raises(NotFiniteError) as caught:
        kind.of(masked)
    assert caught.value.place == {"row": 2, "column": 1}


def test_arguments_that_are_not_rows_or_summaries_are_refused(rng):
    X = rng.standard_normal((30, 4))
    summary, sketch = Moments.of(X), PCA(2, svd_solver="sketch").fit(X).summary_
    for wrong, error, message in (
        (lambda: summary.merge(None), ParameterError, "got NoneType"),
        (lambda: summary.remove(None), ParameterError, "NoneType cannot be removed"),
        (lambda: summary.remove(sketch), ParameterError, "Sketch cannot be removed"),
        (lambda: sketch.remove(summary), ParameterError, "Moments cannot be removed"),
        (lambda: sketch.remove(Columns.of(X)), ParameterError, "Columns cannot be removed"),
        (lambda: summary.remove(Triangle.of(X)), ParameterError, "Triangle cannot be removed"),
        (lambda: sketch.merge(Moments.of(X[:, :2])), ShapeError, "4 columns .* 2 columns"),
        (lambda: Moments.of(X[:, 0]), ShapeError, "not two-dimensional"),
        (lambda: Moments.of(X, np.ones(5)), ShapeError, "5 weights, and there are 30 rows"),
        (lambda: Moments.of(X, np.ones((30, 1))), ShapeError, r"shape \(30, 1\)"),
        (lambda: Moments.of(X, -np.ones(30)), ParameterError, r"sample_weight\[0\] is -1"),
        (lambda: Moments.of(X + 1j), NotNumericError, "complex128"),
        (lambda: Moments.of(X.astype(str)), NotNumericError, "not real numbers"),
    ):
        with pytest.raises(error, match=message):
            wrong()


def test_moments_of_a_covariance_have_full_rank_and_their_own_mean():
    mean = np.arange(3.0)
    found = Moments.of_covariance(np.diag([1.0, 2.0, 4.0]), mean, 11.0)
    assert (found.rows, found.count, found.rank_limit) == (11.0, 4, 3)
    np.testing.assert_array_equal(found.scatter, np.diag([10.0, 20.0, 40.0]))
    mean[:] = 9.0
    assert found.mean.tolist() == [0.0, 1.0, 2.0]
    assert not found.mean_low.any()


@pytest.mark.parametrize("columns", [[], [2], [0, 3]])
def test_the_products_that_are_set_to_zero_are_bounded_by_what_is_lost(columns, rng):
    """A row and a column for each of them, whose norms add up."""
    scatter, lost = rng.standard_normal((4, 4)), np.zeros(4)
    moments._lost_by_zeroing(lost, np.array(columns, dtype=int), scatter[columns])
    assert np.flatnonzero(lost).tolist() == columns
    np.testing.assert_allclose(lost.sum(), 2 * np.linalg.norm(scatter[columns]), rtol=8 * EPS)


@pytest.mark.parametrize("kind", [Moments, Columns, Triangle, SketchOf(3)])
def test_division_by_a_power_of_two_keeps_all_digits_of_the_mean(kind, rng):
    found = kind.of(2.0**52 + rng.integers(0, 2, (60, 4)))
    scaled = found.scaled(np.full(4, 8.0))
    assert found.mean_low.all()
    assert (8 * scaled.mean).tolist() == found.mean.tolist()
    assert (8 * scaled.mean_low).tolist() == found.mean_low.tolist()


def test_a_triangle_of_no_rows_has_a_factor_without_rows():
    assert Triangle.empty(3).factor.shape == (0, 3)


def test_a_wrong_weight_of_a_part_is_counted_from_the_first_row_of_the_table():
    with pytest.raises(ParameterError, match="one is -2") as caught:
        check_frequencies(np.array([1.0, 0.0, -2.0]), 100)
    assert caught.value.place == {"parameter": "sample_weight", "row": 102}
    for wrong in (-2.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match=rf"sample_weight\[2\] is {wrong:g}") as caught:
            check_frequencies(np.array([1.0, 0.0, wrong, -1.0]))
        assert caught.value.place == {"parameter": "sample_weight", "row": 2}
    check_frequencies(np.array([1.0, 0.0, 5e-324]))
