"""Spectra of small scatters: every instruction set and NumPy, to the same bounds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, EPS32, truth
from princomp import PCA
from princomp.core.routes import small
from princomp.errors import NotFiniteError, ShapeError
from princomp.kernels import native
from princomp.kernels.eigen import MAX_SMALL_COLUMNS, moments_and_spectrum, spectrum

# Rotations and reflections of order p leave about √p units each; a few dozen are allowed.
UNITS = 64


def scatter_of(rng, p, kind):
    rows = rng.standard_normal((p + 3, p)) + 2
    if kind == "graded":
        rows *= 10.0 ** -np.linspace(0, 12, p)
    elif kind == "whole":
        rows = rows.round()
        rows[:2] = [[1], [-1]]  # no column is zero
    elif kind == "large":
        rows *= 1e150
    elif kind == "small":
        rows *= 1e-150
    elif kind == "few":
        rows[p // 2 + 1 :] = 0
    return rows.T @ rows


@pytest.mark.parametrize("table", ["plain", "graded", "whole", "large", "small", "few"])
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 9, 16, 17, MAX_SMALL_COLUMNS])
def test_variances_and_axes_are_right(kind, table, p, rng):
    scatter = scatter_of(rng, p, table)
    found = spectrum(scatter, 7.0, p)
    expected = np.linalg.eigvalsh(scatter)[::-1] / 7
    first = expected[0]
    np.testing.assert_allclose(found.variances, np.maximum(expected, 0), atol=UNITS * EPS * first)
    assert (np.diff(found.variances) <= 0).all()
    residuals = scatter / 7 / first @ found.axes.T - found.axes.T * (found.variances / first)
    assert np.linalg.norm(residuals, axis=0).max() <= UNITS * EPS
    assert found.orthogonality <= UNITS * EPS
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(p), atol=UNITS * EPS)
    assert found.total == pytest.approx(np.trace(scatter) / 7, rel=UNITS * EPS)


def test_the_first_of_the_largest_entries_is_positive(kind):
    found = spectrum(np.array([[2.0, -1], [-1, 2]]), 1.0, 2)
    np.testing.assert_allclose(found.axes, np.array([[1, -1], [1, 1]]) / np.sqrt(2), rtol=4 * EPS)
    assert not np.signbit(found.axes[found.axes == 0]).any()


def test_variances_beyond_the_rank_are_zero_and_none_is_negative(kind, rng):
    rows = rng.standard_normal((4, 9))
    scatter = rows.T @ rows
    found = spectrum(scatter, 3.0, 3)
    assert (found.variances[3:] == 0).all()
    assert (found.variances[:3] > 0).all()
    below = spectrum(np.diag([3.0, -1e-17, 1.0]), 1.0, 3)
    assert below.clipped == 1
    assert below.variances.tolist() == [3.0, 1.0, 0.0]


def test_scatters_of_low_rank_are_solved(kind, rng):
    """Eigenvalues that are rounding take many steps."""
    for factor in (0, 1e2, 1e4, 1e6):
        rows = rng.standard_normal((200, 5)) @ rng.standard_normal((5, MAX_SMALL_COLUMNS))
        rows += factor * rng.standard_normal((200, 1))
        scatter = rows.T @ rows
        found = spectrum(scatter, 1.0, MAX_SMALL_COLUMNS)
        assert found is not None
        expected = np.linalg.eigvalsh(scatter)[::-1]
        np.testing.assert_allclose(
            found.variances, expected, rtol=0, atol=MAX_SMALL_COLUMNS * EPS * expected[0]
        )


@pytest.mark.parametrize("small", [1e-74, 1e-77, 1e-80, 1e-81])
def test_columns_whose_squares_underflow_next_to_another(kind, small, rng):
    for _ in range(20):
        rows = rng.standard_normal((6, 4)) * [1, small, small, small]
        found = spectrum(rows.T @ rows, 1.0, 4)
        assert found is None or found.orthogonality <= UNITS * EPS  # None: left to LAPACK


@pytest.mark.parametrize("p", [3, 9, 20, MAX_SMALL_COLUMNS])
def test_columns_without_scatter_are_axes_themselves(kind, p, rng):
    varying = np.sort(rng.choice(p, p // 2, replace=False))
    constant = np.setdiff1d(np.arange(p), varying)
    scatter = np.zeros((p, p))
    scatter[np.ix_(varying, varying)] = scatter_of(rng, len(varying), "plain")
    found = spectrum(scatter, 1.0, p)
    alone = spectrum(scatter[np.ix_(varying, varying)], 1.0, p)
    assert np.array_equal(found.variances[: len(varying)], alone.variances)
    assert np.array_equal(found.axes[: len(varying), varying], alone.axes)
    assert not found.axes[: len(varying), constant].any()
    assert np.array_equal(found.axes[len(varying) :], np.eye(p)[constant])
    assert not found.variances[len(varying) :].any()
    assert found.orthogonality == alone.orthogonality
    assert found.total == pytest.approx(alone.total, rel=p * EPS)


def test_the_axes_of_a_zero_scatter_are_the_columns(kind):
    found = spectrum(np.zeros((3, 3)), 1.0, 3)
    assert not found.variances.any()
    assert np.array_equal(found.axes, np.eye(3))


@pytest.mark.skipif(
    not native.instruction_sets(),
    reason="no compiled kernels: apt-get install g++",
)
@pytest.mark.parametrize("p", [3, 8, 11])
def test_rows_that_are_not_finite_or_contiguous_are_not_solved(p, rng):
    rows = rng.standard_normal((20, p))
    for value in (np.nan, np.inf):
        broken = rows.copy()
        broken[-1, -1] = value
        assert moments_and_spectrum(broken) is None
    assert moments_and_spectrum(np.asfortranarray(rows)) is None
    assert moments_and_spectrum(rows[:, ::2]) is None


def fit_by_both_routes(X, k, monkeypatch):
    """Assert that the short and the general route give the same bits, and return that fit."""
    short = PCA(k).fit(X)
    monkeypatch.setattr(small, "fit", lambda data, request: None)
    general = PCA(k).fit(X)
    for name in ("mean_", "explained_variance_", "components_", "total_variance_", "var_"):
        assert np.array_equal(getattr(short, name), getattr(general, name)), name
    assert str(short.plan_) == str(general.plan_)
    assert str(short.certificate_) == str(general.certificate_)
    return short


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(6, 6), (100, 10), (127, 32), (2, 1), (4, 2), (9, 4), (500, 64)])
@pytest.mark.parametrize("k", [None, 1])
def test_the_short_route_has_the_bits_of_the_general_one(dtype, shape, k, rng, monkeypatch):
    X = (rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) + 100).astype(dtype)
    short = fit_by_both_routes(X, k, monkeypatch)
    variances = truth(X)[0]
    first = variances[0]
    unit = EPS if dtype == np.float64 else EPS32
    found = short.explained_variance_
    np.testing.assert_allclose(found, variances[: len(found)], atol=UNITS * unit * first)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("table", ["constant", "graded"])
@pytest.mark.parametrize("k", [None, 3])
def test_both_routes_agree_for_constant_and_graded_columns(dtype, table, k, rng, monkeypatch):
    X = rng.standard_normal((300, 40))
    if table == "constant":
        X[:, [0, 17, 39]] = 5.0
    else:
        X *= 10.0 ** -np.linspace(0, 9, 40)
    X = X.astype(dtype)
    short = fit_by_both_routes(X, k, monkeypatch)
    if table == "graded" and k is None:
        assert "instead" in str(short.plan_)  # a more accurate route was taken


def test_the_short_route_raises_the_same_errors(rng):
    X = rng.standard_normal((30, 4))
    with pytest.raises(ShapeError, match="n_components=5 must be between 0 and"):
        PCA(5).fit(X)
    with pytest.raises(ShapeError, match="a variance needs at least 2 rows"):
        PCA(1).fit(X[:1, :1])
    X[29, 3] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 29, column 3"):
        PCA(2).fit(X)
