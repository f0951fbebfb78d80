"""Certificates: residuals, pairs that cannot be separated, and words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from princomp import PCA, load
from princomp.core.certificate import Certificate, certify, inseparable_pairs
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Moments

CERTIFICATE = Certificate(
    residuals=np.array([2e-15, np.nan, 1e-15]),
    orthogonality=3e-16,
    below_resolution=np.array([False, True, True]),
    inseparable=[(0, 1), (2, 3)],
    missed=1e-3,
    passes=2,
    bytes_read=12_000,
)
# All residuals and variances are exact, and rounding is 1e-10 of the first one.
SPECTRUM = Spectrum(np.array([4.0, 2.0, 1.0]), np.eye(3), 7.0, 1e-10)


def spectrum_of(*variances, squared=True):
    axes = np.eye(len(variances))
    return Spectrum(np.array(variances), axes, float(sum(variances)), 1e-10, squared)


def test_a_certificate_in_words():
    assert str(CERTIFICATE).splitlines() == [
        "Certificate",
        "  largest residual      2.0e-15",
        "  loss of orthogonality 3.0e-16",
        "  below resolution      component 2, 3",
        "  inseparable           1 and 2, 3 and 4",
        "  missed a larger one   probability at most 1.0e-03",
        "  passes                2",
        "  bytes read            12,000",
    ]
    none = replace(
        CERTIFICATE,
        residuals=np.full(1, np.nan),
        below_resolution=np.zeros(3, bool),
        inseparable=[(i, i + 1) for i in range(9)],
        against_rows=True,
    )
    lines = str(none).splitlines()
    assert lines[1].endswith("  not measured, measured with the rows")
    assert lines[3].endswith("resolution      none")
    assert lines[4].endswith("7 and 8, 8 and 9 and 1 more")
    eight = replace(none, inseparable=none.inseparable[:8])
    assert str(eight).splitlines()[4].endswith("7 and 8, 8 and 9")


@pytest.mark.parametrize(
    ("missed", "words"),
    [
        (None, "not known"),
        (1.0, "not known"),
        (0.25, "probability at most 2.5e-01"),
        (0.0, "no"),
    ],
)
def test_whether_a_component_was_missed(missed, words):
    assert replace(CERTIFICATE, missed=missed).missed_in_words == words


def test_a_certificate_as_json():
    found = json.loads(CERTIFICATE.to_json())
    assert found == {
        "residuals": [2e-15, None, 1e-15],
        "orthogonality": 3e-16,
        "below_resolution": [False, True, True],
        "inseparable": [[0, 1], [2, 3]],
        "missed": 1e-3,
        "passes": 2,
        "bytes_read": 12_000,
        "against_rows": False,
    }


def test_residuals_are_relative_to_the_first_variance(rng):
    moments = Moments.of(rng.standard_normal((50, 3)))
    covariance = moments.scatter / 49
    found = certify(SPECTRUM, moments, 2, passes=None, bytes_read=5)
    expected = np.linalg.norm(covariance[:2] - np.diag([4.0, 2, 1])[:2], axis=1) / 4
    np.testing.assert_allclose(found.residuals, expected, rtol=1e-12)
    assert (found.passes, found.bytes_read, found.missed) == (0, 5, 0.0)
    assert found.below_resolution.tolist() == [False, False]


def test_residuals_that_cannot_be_measured_are_not_numbers():
    columns = Columns.of(np.eye(3))
    for summary in (None, columns):
        found = certify(SPECTRUM, summary, 2, passes=1, bytes_read=0)
        np.testing.assert_array_equal(found.residuals, np.full(2, np.nan))
    measured = replace(SPECTRUM, residuals=np.array([1e-3, 2e-3, 3e-3]))
    found = certify(measured, None, 2, passes=1, bytes_read=0)
    assert found.residuals.tolist() == [1e-3, 2e-3]
    found = PCA(2).fit(np.full((5, 3), 7.0)).certificate_
    assert found.residuals.tolist() == [0, 0]
    assert found.below_resolution.tolist() == [True, True]


@pytest.mark.parametrize(
    ("variances", "k", "pairs"),
    [
        ([1.0, 1.0], 1, [(0, 1)]),  # the second is not kept
        ([1.0], 1, []),
        ([0.0, 0.0, 0.0], 2, [(0, 1), (1, 2)]),
        ([0.0, 0.0, 0.0], 3, [(0, 1), (1, 2)]),
        ([2.0, 1.0, 1.0, 1.0], 2, [(1, 2)]),
    ],
)
def test_equal_neighbours_are_inseparable(variances, k, pairs):
    assert inseparable_pairs(spectrum_of(*variances), k, np.zeros(k), 2) == pairs


def test_neighbours_whose_gap_is_as_large_as_the_error_are_separable():
    spectrum = Spectrum(np.array([1.0, 0.75]), np.eye(2), 1.75, roundoff=0.25)
    assert inseparable_pairs(spectrum, 2, np.zeros(2), 0) == []
    assert inseparable_pairs(spectrum, 2, np.array([0.0, 0.26]), 0) == [(0, 1)]


def test_a_certificate_calls_axes_with_fewer_than_four_digits_inseparable():
    for gap, pairs in ((0.99e-6, [(0, 1)]), (1.01e-6, [])):
        found = certify(spectrum_of(1.0, 1.0 - gap), None, 2, passes=1, bytes_read=0)
        assert found.inseparable == pairs


@pytest.mark.parametrize(
    ("residuals", "pairs"),
    [
        ([0.0, 0.0, 0.0], []),
        ([1e-3, 0.0, 0.0], [(0, 1)]),
        ([0.0, 1e-3, 0.0], [(0, 1), (1, 2)]),
        ([0.0, 0.0, 1e-3], [(1, 2)]),
        ([np.nan, 0.0, 1e-3], [(1, 2)]),
    ],
)
def test_residuals_make_both_neighbours_inseparable(residuals, pairs):
    """They turn axes by up to residual / gap, and three digits are asked for."""
    assert inseparable_pairs(SPECTRUM, 3, np.array(residuals), 3) == pairs
    # Without the residual of the component that is not kept:
    assert inseparable_pairs(SPECTRUM, 2, np.array(residuals[:2]), 3) == (
        pairs if residuals[2] == 0 else []
    )


@pytest.mark.parametrize(
    ("squared", "share", "error"),
    [(True, 1e-2, 1e-10), (False, 1e-2, 2e-11), (False, 9e-20, 7e-20)],
)
def test_the_error_of_a_variance_depends_on_the_solver(squared, share, error):
    """An error u in a singular value σ, relative to σ₁, is one of 2uσ + u² in its square."""
    for factor, pairs in ((0.9, [(1, 2)]), (1.1, [])):
        spectrum = spectrum_of(1.0, share, share - factor * error, squared=squared)
        assert inseparable_pairs(spectrum, 3, np.zeros(3), 0) == pairs


@pytest.mark.parametrize("solver", ["auto", "full", "lanczos"])
def test_residuals_are_read_only(solver, rng, tmp_path):
    model = PCA(2, svd_solver=solver).fit(rng.standard_normal((30, 4)))
    model.save(tmp_path / "m.pca")
    for one in (model, load(tmp_path / "m.pca")):
        with pytest.raises(ValueError, match="read-only"):
            one.certificate_.residuals[0] = 0.0
