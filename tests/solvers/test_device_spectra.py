"""Spectra that are computed on a device: their residuals, and tables without variance."""

from __future__ import annotations

import numpy as np
import pytest

from engines import on_strict
from helpers import EPS, assert_orthonormal, with_singular_values
from princomp import Moments, Triangle
from princomp.engines.device.tables import rows_of
from princomp.solvers.dense import solve_moments, solve_triangle
from princomp.solvers.device import solve_on_device
from princomp.summaries.device_summaries import moments_on, triangle_on


def summary_of(rows, kind):
    """The summary of rows on a device."""
    rows = rows_of(on_strict.to_device(rows))
    if kind == "triangle":
        return triangle_on(rows, drop=False)[0]
    return moments_on(rows, drop=False, precise=True)[0]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["moments", "triangle"])
def test_inexact_axes_of_a_device_show_in_the_residuals(kind, size, monkeypatch, rng):
    """The first two axes are turned by a known angle, as if a decomposition had failed."""
    sigma, angle = size * np.array([1.0, 0.6, 0.2]), 1e-3
    summary = summary_of(with_singular_values(50, sigma, rng)[0], kind)
    xp, turn = summary.space.xp, np.eye(3)
    turn[:2, :2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    turn = on_strict.to_device(turn)
    eigh, svd = xp.linalg.eigh, xp.linalg.svd

    def turned_eigh(matrix):
        values, vectors = eigh(matrix)
        return values, xp.matmul(vectors, xp.flip(turn))

    def turned_svd(factor, **options):
        u, s, vt = svd(factor, **options)
        return u, s, xp.matmul(turn, vt)

    monkeypatch.setattr(xp.linalg, "eigh", turned_eigh)
    monkeypatch.setattr(xp.linalg, "svd", turned_svd)
    found = solve_on_device(summary, 3, few=False, tol=0.0)
    expected = np.sin(angle) * (1 - 0.36) * np.array([1.0, 1.0, 0.0])
    np.testing.assert_allclose(found.residuals, expected, rtol=1e-9, atol=16 * EPS)


@pytest.mark.parametrize(("k", "count"), [(None, 4), (2, 2), (lambda spectrum: 3, 3)])
@pytest.mark.parametrize("kind", ["moments", "triangle"])
def test_as_many_axes_as_wanted_without_variance(kind, k, count):
    found = solve_on_device(summary_of(np.ones((9, 4)), kind), k, few=False, tol=0.0)
    assert (found.k, found.total, found.residuals.tolist()) == (count, 0.0, [0.0] * count)
    assert not found.variances.any()
    assert_orthonormal(found.axes)


@pytest.mark.parametrize("k", [None, 2, 9, lambda spectrum: spectrum.variances.size // 5])
@pytest.mark.parametrize("rows", [4, 60])
@pytest.mark.parametrize("constant", [0, 3])
def test_the_spectrum_of_a_device_is_that_of_the_host(constant, rows, k, rng):
    """Also with few rows, whose scatter has eigenvalues of either sign beyond its rank."""
    X = rng.standard_normal((rows, 10))
    X[:, :constant] = 7.0
    found = solve_on_device(summary_of(X, "moments"), k, few=False, tol=0.0)
    host = solve_moments(Moments.of(X), k)
    rank = min(rows - 1, 10 - constant)
    assert found.k == min(host.k, 10 - constant)
    assert not found.variances[rank:].any()
    np.testing.assert_allclose(found.variances, host.variances, atol=30 * EPS * host.largest)
    np.testing.assert_allclose(found.total, host.total, rtol=30 * EPS)
    known = min(rank, found.k)
    np.testing.assert_allclose(found.axes[:known], host.axes[:known], atol=1e-11)
    assert not found.axes[:, :constant].any()
    assert found.roundoff == host.roundoff
    assert found.residuals.max() <= 30 * EPS


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_a_search_on_a_device_claims_what_the_host_does(size, rng):
    X = size * rng.standard_normal((200, 40)) * np.linspace(2, 1, 40)
    found = solve_on_device(summary_of(X, "moments"), 3, few=True, tol=0.0)
    host = solve_moments(Moments.of(X), 3)
    assert len(found.variances) == 3
    np.testing.assert_allclose(found.variances, host.variances[:3], rtol=100 * EPS)
    np.testing.assert_allclose(found.axes, host.axes, atol=1e-12)
    np.testing.assert_allclose(found.total, host.total, rtol=40 * EPS)
    assert found.roundoff == host.roundoff
    assert found.residuals.max() <= 8 * EPS
    assert found.missed == 0.0  # the space was searched completely


@pytest.mark.parametrize("k", [None, 2, 9, lambda spectrum: spectrum.variances.size // 2])
@pytest.mark.parametrize("rows", [12, 60])
def test_the_triangle_of_a_device_has_the_spectrum_of_the_host(rows, k, rng):
    X = rng.standard_normal((rows, 10))
    found = solve_on_device(summary_of(X, "triangle"), k, few=False, tol=0.0)
    host = solve_triangle(Triangle.of(X), k)
    np.testing.assert_allclose(found.variances, host.variances, atol=30 * EPS * host.largest)
    np.testing.assert_allclose(found.total, host.total, rtol=30 * EPS)
    assert (found.k, found.roundoff, found.squared) == (host.k, host.roundoff, host.squared)
    np.testing.assert_allclose(found.axes[:2], host.axes[:2], atol=1e-12)
    assert found.residuals.max() <= 30 * EPS


@pytest.mark.parametrize("k", [None, 2, 9])
def test_the_triangle_of_few_rows_on_a_device_has_few_axes(k, rng):
    X = rng.standard_normal((4, 10))
    found = solve_on_device(summary_of(X, "triangle"), k, few=False, tol=0.0)
    host = solve_triangle(Triangle.of(X))
    np.testing.assert_allclose(found.variances[:4], host.variances, atol=30 * EPS * host.largest)
    assert found.k == min(k or 9, len(found.variances)) <= 5
    assert not found.variances[4:].any()
    assert_orthonormal(found.axes)
    assert found.residuals.max() <= 30 * EPS
