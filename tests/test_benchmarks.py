"""The program in benchmarks/: its rows, its float64 truth, and what it calls an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

HERE = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(not HERE.exists(), reason="an archive without benchmarks/")


@pytest.fixture(scope="module", autouse=True)
def on_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


def every():
    import cases

    return cases.all_cases()


def rows(case):
    """A small one of its kind, and its rows."""
    import cases

    # Wide stays wide.
    small = case.reduced(*((40, 300) if case.n < case.p else (400, 30)))
    return small, cases.rows_of(small)


def test_every_case_makes_rows_of_its_shape_and_precision():
    for case in every():
        small, X = rows(case)
        assert X.shape == (small.n, small.p), case.name
        assert X.dtype == case.dtype, case.name
        assert sp.issparse(X) == bool(case.density), case.name
        assert np.isfinite(X.data if case.density else X).all(), case.name


def test_a_case_makes_the_same_rows_each_time():
    for case in every()[::7]:
        first, again = rows(case)[1], rows(case)[1]
        assert abs(first - again).max() == 0, case.name


def test_no_two_cases_have_one_name_and_a_name_finds_its_case_alone():
    import cases

    names = [case.name for case in every()]
    assert len(set(names)) == len(names)
    assert all([case.name for case in cases.chosen([name])] == [name] for name in names)
    assert len(cases.chosen(["500000x100-*"])) == 4
    assert {case.task for case in cases.chosen(["500000x100"])} == {"fit", "unit", "fit_transform"}


def centred_svd(case, X):
    X = X.toarray() if case.density else X
    X = X - X.mean(axis=0, dtype=np.float64)
    if case.task == "unit":
        X = X / X.std(axis=0, ddof=1)
    return np.linalg.svd(X, full_matrices=False)


def test_the_truth_is_that_of_an_svd_of_the_rows():
    import accuracy

    for case in every():
        small, X = rows(case)
        _, s, Vt = centred_svd(small, X)
        truth = accuracy.solve(small, X)
        k = len(truth.axes)
        # A Gram's eigenvalues carry n·eps of the largest, which is under 1,000 times the last.
        bound = 1_000 * len(X.data) * np.finfo(float).eps
        assert truth.variances[:k] == pytest.approx(s[:k] ** 2 / (small.n - 1), rel=bound), case
        if truth.gap >= accuracy.GAP:
            assert accuracy.angle(Vt[:k], truth) < bound / accuracy.GAP, case.name


def test_a_share_of_the_variance_keeps_the_fewest_components_that_exceed_it():
    import accuracy

    case, X = rows(next(case for case in every() if case.task == "fraction"))
    rates = (variances := centred_svd(case, X)[1] ** 2).cumsum() / variances.sum()
    k = len(accuracy.solve(case, X).axes)
    assert rates[k - 1] > 0.9 >= rates[k - 2]


@pytest.fixture
def truth():
    import accuracy

    case, X = rows(next(case for case in every() if case.task == "transform"))
    return accuracy.solve(case, X)


def test_a_planted_error_of_a_variance_is_found(truth):
    import accuracy

    found = truth.variances[: len(truth.axes)].copy()
    assert accuracy.variance_error(found, truth) == 0
    found[1] *= 1 + 1e-5
    assert accuracy.variance_error(found, truth) == pytest.approx(1e-5, rel=1e-9)
    found[1] = np.nan
    assert accuracy.variance_error(found, truth) == np.inf
    assert accuracy.variance_error(found[:-1], truth) == np.inf


def test_a_planted_angle_is_found_whatever_the_signs_and_however_small(truth):
    import accuracy

    assert truth.gap >= accuracy.GAP
    outside = np.linalg.svd(truth.axes)[2][-1]
    for planted in (1e-12, 1e-6, 0.3):
        axes = -truth.axes
        axes[0] = axes[0] * np.cos(planted) + outside * np.sin(planted)
        # Orthonormality is good to a few p·eps, here 30 of them.
        assert accuracy.angle(axes, truth) == pytest.approx(planted, rel=1e-9, abs=3e-14)


def test_a_planted_error_of_a_score_is_found_in_deviations(truth):
    import accuracy

    scores = truth.scores * np.where(np.arange(len(truth.axes)) % 2, 1, -1)
    assert accuracy.score_error(scores, truth) == 0
    scores[5, 0] += np.copysign(1e-4 * np.sqrt(truth.variances[0]), scores[5, 0])
    assert accuracy.score_error(scores, truth) == pytest.approx(1e-4, rel=1e-9)


def test_the_bound_is_the_larger_of_reading_and_arithmetic():
    import bound

    case = next(case for case in every() if case.name == "500000x100-f32-lowrank")
    rates = {"float32": 2e11, "float64": 1e11}
    slow_memory = bound.bound(case, case.n * case.p, bound.Machine("", 2, 1e8, rates))
    assert slow_memory["seconds"] == pytest.approx(4 * 5e7 / 1e8)
    fast_memory = bound.bound(case, case.n * case.p, bound.Machine("", 2, 1e12, rates))
    assert fast_memory["seconds"] == pytest.approx(5e5 * 100 * 101 / 2e11)
