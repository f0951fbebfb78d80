"""Verdicts of fits that computed only the first variances, as searches do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from princomp import PCA
from princomp.core import fitted_model, stable_spaces, verdicts
from princomp.core.axis_angles import axis_angles, known_spectrum


def fit_of(*variances, n, k=None):
    """A fit of n rows with these variances, of which only the first k are computed."""
    covariance = np.diag(np.array(variances, dtype=float))
    fitted = fitted_model(PCA.from_covariance(covariance, n_samples=n)).result
    return fitted if k is None else with_first(fitted, k)


def with_first(fitted, k):
    spectrum = fitted.spectrum
    first = replace(spectrum, variances=spectrum.variances[:k], axes=spectrum.axes[:k])
    return replace(fitted, spectrum=first, k=k)


def test_variances_beyond_the_rank_are_zero_not_like_those_not_computed(rng):
    """Six rows vary in five directions: the three that were not computed have the mean of 3."""
    directions = np.linalg.qr(np.column_stack([np.ones(6), rng.standard_normal((6, 5))]))[0][:, 1:]
    found, equal = (
        fitted_model(PCA(svd_solver="full").fit(directions * np.sqrt(values) @ np.eye(5, 7))).result
        for values in ([900, 30, 1.5, 1, 0.5], [900, 30, 1, 1, 1])
    )
    found = with_first(found, 2)
    first = axis_angles(found)[0]
    assert first == pytest.approx(axis_angles(equal)[0], rel=1e-9)
    assert 0 < first < 45
    spectrum = known_spectrum(found)
    np.testing.assert_allclose(spectrum.others * 933, [900, 30, 1], rtol=1e-9)
    np.testing.assert_array_equal(spectrum.counts, [1, 1, 3])


def test_the_computed_variances_are_not_taken_for_all():
    """Those of PC3 and PC4 differ, by a test of two; as the last of all they might be equal."""
    judged = verdicts(fit_of(948, 26, 21, 5, 0.1, 0.1, n=23, k=4))
    assert [one.kind for one in judged] == ["solid", "unstable", "unstable", "untested"]
    assert list(stable_spaces(judged)) == ["PC2 and PC3"]


def test_no_space_ends_with_the_last_variance_that_was_computed():
    """The next one may be equal to it, regardless of the bootstrap of each axis."""
    full, first = fit_of(3, 2.9, 0.1, 0.1, n=300), fit_of(3, 2.9, 0.1, 0.1, n=300, k=2)
    assert list(stable_spaces(verdicts(full, [80.0] * 4))) == ["PC1 and PC2"]
    judged = verdicts(first, [80.0] * 2)
    assert [one.kind for one in judged] == ["unstable"] * 2
    assert stable_spaces(judged) == {}
