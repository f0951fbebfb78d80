"""Results for rows of extreme size: those of ordinary rows, multiplied by a power of two."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, bootstrap, rotate

# Variances up to 2^±980, where a float64 ends at 2^1024 and 2^-1022.
POWERS = (-490, -250, -22, 250, 490)
TIGHT = 1e-12


@pytest.fixture
def rows(rng):
    return rng.standard_normal((60, 6)) * [5.0, 3.0, 2.0, 1.0, 0.5, 0.2] + np.arange(6)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("kaiser", [True, False])
@pytest.mark.parametrize("method", ["varimax", "promax"])
def test_rotations(method, kaiser, power, rows):
    """The criteria take fourth powers of loadings, which leave the range."""
    plain, found = (
        rotate(PCA(3).fit(X), method, kaiser=kaiser) for X in (rows, np.ldexp(rows, power))
    )
    np.testing.assert_allclose(found.matrix, plain.matrix, rtol=TIGHT)
    np.testing.assert_allclose(np.ldexp(found.loadings, -power), plain.loadings, rtol=TIGHT)
    np.testing.assert_allclose(np.ldexp(found.variances, -2 * power), plain.variances, rtol=TIGHT)
    assert (np.diff(found.variances) <= 0).all()


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("scale", [None, "unit"])
def test_errors_of_a_bootstrap(scale, power, rows):
    """Squares of variances leave the range."""
    plain, found = (
        bootstrap(PCA(3, scale=scale).fit(X), X, n=20, random_state=0)
        for X in (rows, np.ldexp(rows, power))
    )
    unit = 0 if scale else power
    error = np.ldexp(found.variance_error, -2 * unit)
    np.testing.assert_allclose(error, plain.variance_error, rtol=1e-9)
    np.testing.assert_allclose(np.ldexp(found.loading_error, -unit), plain.loading_error, rtol=1e-9)
