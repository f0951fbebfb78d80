"""Results for rows of extreme size: those of ordinary rows, multiplied by a power of two."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import orthonormal
from princomp import PCA, bootstrap, rotate
from princomp.diagnostics import (
    categories,
    distances,
    metadata,
    rows as row_table,
    supplementary_columns,
    variables,
)
from princomp.errors import NotFiniteError

# Variances up to 2^±980, where a float64 ends at 2^1024 and 2^-1022.
POWERS = (-490, -250, -22, 250, 490)
TIGHT = 1e-12


@pytest.fixture
def rows(rng):
    return rng.standard_normal((60, 6)) * [5.0, 3.0, 2.0, 1.0, 0.5, 0.2] + np.arange(6)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("kaiser", [True, False])
@pytest.mark.parametrize("method", ["varimax", "promax"])
def test_rotations_scale_with_the_rows(method, kaiser, power, rows):
    """The criteria use fourth powers of loadings, which overflow or underflow."""
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
    """Squares of variances overflow or underflow."""
    plain, found = (
        bootstrap(PCA(3, scale=scale).fit(X), X, n=20, random_state=0)
        for X in (rows, np.ldexp(rows, power))
    )
    unit = 0 if scale else power
    error = np.ldexp(found.variance_error, -2 * unit)
    np.testing.assert_allclose(error, plain.variance_error, rtol=1e-9)
    np.testing.assert_allclose(np.ldexp(found.loading_error, -unit), plain.loading_error, rtol=1e-9)


def test_shares_of_a_small_column(rng):
    """The square of its entry in an axis underflows, but its share does not."""
    X, _ = np.linalg.qr(np.c_[np.ones(50), rng.standard_normal((50, 2))])
    X = np.c_[X[:, 1], np.ldexp(X[:, 2] + 1e-7 * X[:, 1], -500)]
    table = variables(PCA().fit(X), form="wide", frame="listing")
    assert abs(table["axis_PC1"][1]) < 1e-156
    np.testing.assert_allclose(table["cos2_PC1"], table["correlation_PC1"] ** 2, rtol=1e-9)


def test_a_tiny_correlation_with_a_small_component(rng):
    """The product of its variance, about 2^-986, and of an entry of its axis underflows."""
    X = orthonormal(60, 2, rng, against_ones=True)
    X = np.c_[X[:, 0], np.ldexp(X[:, 1] + 2.0**-20 * X[:, 0], -40)]
    plain, found = (
        variables(PCA().fit(np.ldexp(X, power)), form="wide", frame="listing")["correlation_PC2"]
        for power in (0, -450)
    )
    assert 0 < abs(plain[0]) < 1e-20
    np.testing.assert_allclose(found, plain, rtol=TIGHT)


@pytest.mark.parametrize("power", POWERS)
def test_measures_of_rows_scale_with_the_rows(power, rows):
    """Squares of a row, which may be much smaller than the others, overflow or underflow."""
    mean = rows.mean(axis=0)
    few = mean + np.ldexp(rows[:6] - mean, -30)
    plain, found = (
        row_table(PCA(2).fit(np.ldexp(rows, by)), np.ldexp(few, by), frame="listing")
        for by in (0, power)
    )
    for name in ("cos2_PC1", "contribution_PC2"):
        np.testing.assert_allclose(found[name], plain[name], rtol=TIGHT)
    np.testing.assert_allclose(np.ldexp(found["distance"], -power), plain["distance"], rtol=TIGHT)


def test_distances_of_rows_far_out(rows):
    model = PCA(2).fit(np.ldexp(rows, 490))
    near, far = (
        distances(model, np.ldexp(rows[:5], power), frame="listing")["t2"] for power in (700, 800)
    )
    np.testing.assert_allclose(np.ldexp(near, 200), far, rtol=1e-9)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize(
    ("function", "name"),
    [(metadata, "r"), (supplementary_columns, "correlation"), (categories, "v_test")],
)
def test_associations_do_not_depend_on_the_unit_of_the_rows(function, name, power, rows):
    extra = np.array(list("abc"))[np.arange(60) % 3] if function is categories else rows[:, 0]
    plain, found = (
        function(PCA(3).fit(X), X, extra, frame="listing")[name]
        for X in (rows, np.ldexp(rows, power))
    )
    np.testing.assert_allclose(found, plain, rtol=1e-9)


@pytest.mark.parametrize("function", [metadata, supplementary_columns, categories])
def test_scores_whose_squares_overflow_are_refused(function, rows):
    """All correlations were zero."""
    extra = np.array(list("abc"))[np.arange(60) % 3] if function is categories else rows[:, 0]
    model = PCA(3).fit(np.ldexp(rows, 490))
    with pytest.raises(NotFiniteError, match="scores are too large"):
        function(model, np.ldexp(rows, 511), extra, frame="listing")


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("solver", ["covariance_eigh", "full", "krylov"])
def test_columns_far_below_the_rounding_error_of_others_keep_their_correlations(solver, center):
    rows = np.random.default_rng(0).standard_normal((50, 5))
    rows[:, 3:] += rows[:, :2]
    rows *= [3, 2, 1, 1e-18, 1e-18]
    model = PCA(2, svd_solver=solver, center=center).fit(rows)
    table = variables(model, form="wide", frame="listing")
    scores = model.transform(rows)
    if center:  # NaN otherwise
        found = np.stack([table["correlation_PC1"], table["correlation_PC2"]], axis=1)
        expected = np.corrcoef(rows.T, scores.T)[:5, 5:]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    found = np.stack([table["cos2_PC1"], table["cos2_PC2"]], axis=1)
    analysed = rows - model.mean_
    unit = analysed / np.linalg.norm(analysed, axis=0)
    cosines = unit.T @ (scores / np.linalg.norm(scores, axis=0))
    np.testing.assert_allclose(found, cosines**2, atol=1e-12)


def test_correlations_do_not_depend_on_the_size_of_weights(rows):
    model, column = PCA(2).fit(rows), {"a": rows[:, 0]}
    for function in (supplementary_columns, metadata):
        plain, weighted = (
            function(model, rows, column, np.full(60, weight), frame="listing")
            for weight in (1.0, 2.0**530)
        )
        name = "correlation" if function is supplementary_columns else "r"
        assert np.array_equal(weighted[name], plain[name])
