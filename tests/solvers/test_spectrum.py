"""Spectra: what they accept, and axes in place of those that are noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers import EPS, assert_orthonormal, orthonormal
from princomp.errors import DataError, NotFiniteError
from princomp.solvers import Spectrum, completed
from princomp.solvers.ritz import spectrum_of
from princomp.solvers.search import Pairs
from princomp.solvers.spectrum import _probe_error
from princomp.summaries import Columns

LARGEST = float(np.finfo(np.float64).max)
KNOWN = {"total": LARGEST, "roundoff": EPS}


def test_the_largest_number_is_a_variance_and_infinity_is_not():
    one = np.eye(1, 3)
    for found in (
        Spectrum(np.array([LARGEST]), one, **KNOWN),
        Spectrum.measured(np.array([LARGEST]), one, orthogonality=0.0, **KNOWN),
    ):
        assert found.largest == found.total == LARGEST
    with pytest.raises(NotFiniteError, match="overflow float64"):
        Spectrum.measured(np.ones(1), one, math.inf, EPS, orthogonality=0.0)


def test_many_small_products_of_axes_are_allowed_and_large_ones_are_not():
    """One test adds up the products of an axis with all others, which are 20 here."""
    for product, allowed in ((4e-6, True), (2e-5, False)):
        gram = np.full((20, 20), product) + (1 - product) * np.eye(20)
        axes = np.linalg.cholesky(gram)
        if allowed:
            assert Spectrum(np.ones(20), axes, 20.0, EPS).orthogonality <= 1e-5
        else:
            with pytest.raises(DataError, match="not orthonormal"):
                Spectrum(np.ones(20), axes, 20.0, EPS)


@pytest.mark.parametrize("place", range(9))
def test_the_quick_test_of_axes_sees_the_length_of_each(place):
    """It multiplies VVᵀ − I by numbers from 1 to 2; the first is 1, and the ninth nearly 2."""
    axes = np.eye(9, 10)
    axes[place] *= 1 + 1e-6
    assert 1.99e-6 < _probe_error(axes) < 3.95e-6


def test_spectra_without_variance_or_axes_have_rates_and_errors_of_zero():
    for variances in (np.zeros(2), np.empty(0)):
        found = Spectrum(variances, np.empty((0, 3)), 0.0, EPS)
        assert (found.largest, found.orthogonality, found.missed, found.k) == (0.0, 0.0, 0.0, 0)
        assert found.rates.tolist() == variances.tolist()
    assert Spectrum(np.array([0.25]), np.eye(1), 0.5, EPS).rates.tolist() == [0.5]


def test_solvers_that_square_rows_resolve_half_as_many_digits():
    """They are the usual ones."""
    known = (np.array([4.0, 1.0]), np.eye(2), 5.0, 2.0**-20)
    assert Spectrum(*known).resolution == 2.0**-18
    assert Spectrum(*known, squared=False).resolution == 2.0**-38


@pytest.mark.parametrize("overwrite", [False, True])
def test_no_entry_of_an_axis_is_minus_zero(overwrite):
    axes = np.array([[-1.0, 0.0, -0.0], [0.0, 1.0, -0.0]])
    found = Spectrum(np.ones(2), axes, 2.0, EPS, overwrite=overwrite)
    assert found.axes.tolist() == np.eye(2, 3).tolist()
    assert not np.signbit(found.axes).any()
    assert np.shares_memory(found.axes, axes) == overwrite


@pytest.mark.parametrize(
    ("missed", "bound"), [(0.0, math.hypot(1e-14, 3e-9, 4e-9)), (1e-3, 1 / 2), (None, 1 / 2)]
)
def test_axes_that_replace_noise_get_a_bound_as_residual(missed, bound):
    residuals = np.array([3e-9, 4e-9, 1.0])
    spectrum = Spectrum(
        np.array([0.2, 0.1, 0.0]), np.eye(3, 5), 0.4, 1e-14, residuals=residuals, missed=missed
    )
    found = completed(spectrum, 4)
    np.testing.assert_allclose(found.residuals, [3e-9, 4e-9, bound, bound], rtol=1e-12)
    assert found.variances.tolist() == [0.2, 0.1, 0.0, 0.0]
    assert completed(spectrum, 2).residuals.tolist() == [3e-9, 4e-9]


@pytest.mark.parametrize("p", [4, 400])
def test_the_last_axis_is_orthogonal_to_the_others_up_to_rounding(p, rng):
    axes = orthonormal(p, p - 1, rng).T
    found = completed(Spectrum(np.ones(p - 1), axes, p - 1.0, EPS), p)
    np.testing.assert_allclose(np.abs(found.axes[:-1]), np.abs(axes))
    assert np.abs(found.axes[:-1] @ found.axes[-1]).max() <= 4 * EPS
    assert_orthonormal(found.axes)
    assert found.variances[-1] == 0.0


def test_the_first_unit_vectors_that_are_not_nearly_in_the_span_complete_a_basis():
    axes = np.array([[0.8, 0.6, 0.0, 0.0]])  # the first unit vector keeps 0.36 of its square
    found = completed(Spectrum(np.ones(1), axes, 1.0, EPS), 3).axes
    np.testing.assert_allclose(found, [axes[0], [-0.6, 0.8, 0, 0], [0, 0, 1, 0]], atol=EPS)


def test_a_unit_vector_that_keeps_half_as_much_as_the_best_one_is_taken():
    """The first four keep exactly half of their square, and the last one all of it."""
    axes = np.array([[1.0, 1, 1, 1, 0], [1, -1, 1, -1, 0]]) / 2
    found = completed(Spectrum(np.ones(2), axes, 2.0, EPS), 3).axes
    np.testing.assert_allclose(found[2], np.array([1, 0, -1, 0, 0]) / np.sqrt(2), atol=EPS)


def test_negative_eigenvalues_within_the_rank_count_as_zero():
    """A search in exact arithmetic finds none, but rounding may leave some."""
    columns = Columns(3.0, 3, np.zeros(4), np.zeros(4), np.ones(4))
    assert columns.rank_limit == 2
    values = np.array([4.0, -1e-17, -2e-17])
    pairs = Pairs(values, np.eye(4, 3), np.zeros(3), 1, converged=True)
    found = spectrum_of(pairs, columns, 2.0, EPS, axes=np.eye(3, 4), scale=8.0)
    assert found.variances.tolist() == [16.0, 0.0, 0.0]
    assert found.residuals.tolist() == [4 * EPS] * 3
