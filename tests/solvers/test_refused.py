"""Arguments that solvers refuse, and tables without variance."""

from __future__ import annotations

import numpy as np
import pytest

from engines import on_strict
from helpers import assert_orthonormal
from princomp import PCA, Moments
from princomp.engines.device.tables import rows_of
from princomp.errors import DataError, NotFiniteError
from princomp.solvers import Spectrum
from princomp.solvers.device import solve_on_device
from princomp.solvers.krylov import Images
from princomp.solvers.lanczos import lanczos
from princomp.solvers.scatter_search import search_scatter
from princomp.summaries.device_summaries import moments_on, triangle_on


def test_a_spectrum_refuses_invalid_variances_and_axes():
    two = np.array([2.0, 1.0])
    with pytest.raises(DataError, match="do not descend"):
        Spectrum(two[::-1], np.eye(2), 3.0, 1e-15)
    with pytest.raises(NotFiniteError, match="overflow float64"):
        Spectrum(np.array([np.inf, 1.0]), np.eye(2), 3.0, 1e-15)
    with pytest.raises(NotFiniteError, match="overflow float64"):
        Spectrum(two, np.eye(2), np.inf, 1e-15)
    known = {"total": 3.0, "roundoff": 1e-15}
    with pytest.raises(NotFiniteError, match="overflow float64"):
        Spectrum.measured(np.array([np.inf, 1.0]), np.eye(2), orthogonality=0.0, **known)
    with pytest.raises(DataError, match="orthonormal"):
        Spectrum.measured(two, np.eye(2), orthogonality=0.5, **known)
    assert Spectrum.measured(two, np.eye(2), orthogonality=0.0, **known).k == 2


def test_negative_variances_of_a_spectrum_count_as_zero():
    spectrum = Spectrum(np.array([2.0, 0.5, -1e-17, -3e-17]), np.eye(2, 4), 2.5, 1e-15)
    np.testing.assert_array_equal(spectrum.variances, [2.0, 0.5, 0.0, 0.0])


@pytest.mark.parametrize("place", range(3))
def test_a_spectrum_refuses_any_axis_whose_length_is_not_one(place):
    axes = np.eye(3)
    axes[place] *= 1 + 6e-6  # its square is 1.2e-5 too large
    with pytest.raises(DataError, match=r"VVᵀ is 1.2e-05 from the identity"):
        Spectrum(np.array([3.0, 2.0, 1.0]), axes, 6.0, 1e-15)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_search_refuses_products_that_are_not_finite(value):
    with pytest.raises(NotFiniteError, match="product with the rows") as caught:
        lanczos(lambda V: np.full(V.shape, value), 30, 2, tol=1e-9, rng=np.random.default_rng(0))
    assert "power of ten" in caught.value.hint


def test_products_that_contradict_the_trace_are_refused():
    values = np.geomspace(1, 0.01, 30)[:, None]
    options = {"tol": 1e-9, "trace": float(values.sum())}
    for factor in (0.0, 1e-3, 0.1):
        with pytest.raises(DataError, match="2 largest of 30"):
            lanczos(
                lambda V, f=factor: f * values * V, 30, 2, rng=np.random.default_rng(0), **options
            )
    pairs = lanczos(lambda V: values * V, 30, 2, rng=np.random.default_rng(0), **options)
    np.testing.assert_allclose(pairs.values, values[:2, 0], rtol=1e-9)


def test_a_search_to_a_rough_tolerance_does_not_contradict_the_trace():
    """Ten equal eigenvalues of thirty are a third of the trace, but each may be off by 5%."""
    rng = np.random.default_rng(0)
    pairs = lanczos(lambda V: 0.95 * V, 30, 10, tol=0.05, rng=rng, trace=30.0)
    np.testing.assert_allclose(pairs.values, 0.95, rtol=1e-12)


def test_more_eigenpairs_than_the_order_are_refused():
    with pytest.raises(ValueError, match="4 eigenpairs of an operator of order 3"):
        lanczos(lambda V: V, 3, 4, tol=1e-9, rng=np.random.default_rng(0), trace=3.0)


def test_images_of_no_rows_change_nothing():
    some, empty = Images(2.0, np.ones((3, 1))), Images(0.0, np.zeros((3, 1)))
    assert some.merge(empty) is some
    assert empty.merge(some) is some
    both = some.merge(some)
    assert both.rows == 4
    assert (both.image == 2).all()


def test_a_search_in_a_scatter_without_variance():
    rows = np.ones((9, 6))
    on_device = moments_on(rows_of(on_strict.to_device(rows)), drop=False, precise=True)[0]
    for found in (
        search_scatter(Moments.of(rows), 2),
        solve_on_device(on_device, 2, few=True, tol=0.0),
    ):
        assert not found.variances[:2].any()
        assert_orthonormal(found.axes)


@pytest.mark.parametrize("k", [None, 5])
def test_fewer_rows_than_columns_without_variance(k):
    on_device = triangle_on(rows_of(on_strict.to_device(np.ones((3, 6)))), drop=False)[0]
    found = solve_on_device(on_device, k, few=False, tol=0.0)
    assert not found.variances.any()
    assert found.residuals.shape == (found.k,)


@pytest.mark.parametrize("normalizer", ["auto", "QR", "LU", "none"])
@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
def test_randomized_passes_agree_for_every_normalizer(normalizer, shape, rng):
    n, p = shape
    X = rng.standard_normal((n, 3)) @ np.diag([9.0, 3.0, 1.0]) @ rng.standard_normal((3, p))
    options = {"iterated_power": 3, "power_iteration_normalizer": normalizer}
    found = PCA(3, svd_solver="randomized", random_state=np.random.default_rng(0), **options).fit(X)
    expected = PCA(3).fit(X)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-6)


def test_a_sketch_whose_products_overflow_is_refused():
    rows = np.random.default_rng(0).standard_normal((8, 20))
    rows[:, 0] = 4.5e153 * np.repeat([1.0, -1.0], 4)  # a sum of squares of 1.6e308
    assert PCA(2, svd_solver="full").fit(rows).explained_variance_[0] > 1e307
    with pytest.raises(NotFiniteError, match="sums of products of the columns overflow"):
        PCA(2, svd_solver="sketch").fit(rows)
    rows[:, 1] = rows[:, 0]  # the sum of all squares overflows
    with pytest.raises(NotFiniteError, match="sums of products of the columns overflow"):
        PCA(2, svd_solver="sketch").fit(rows)
