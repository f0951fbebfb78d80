"""The program in benchmarks/: its rows, its float64 truth, and what it calls an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

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
    assert all([case.name for case in cases.select_cases([name])] == [name] for name in names)
    assert len(cases.select_cases(["500000x100-*"])) == 4
    assert {case.task for case in cases.select_cases(["500000x100"])} == {
        "fit",
        "unit",
        "fit_transform",
    }


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
        if truth.gap >= accuracy.MIN_GAP:
            assert accuracy.angle(Vt[:k], truth) < bound / accuracy.MIN_GAP, case.name


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


def test_a_planted_angle_of_any_size_is_found_for_any_signs(truth):
    import accuracy

    assert truth.gap >= accuracy.MIN_GAP
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


@pytest.fixture
def guarded(monkeypatch, tmp_path):
    """Runs check.py on one case whose measurements are given; returns its exit status."""
    import check
    from cases import Case

    monkeypatch.setattr(check, "cores", lambda: 2)
    monkeypatch.setattr(check, "kind_of_processor", lambda: "this kind")
    monkeypatch.setattr(check.native, "instruction_set_in_use", lambda: "avx2")
    monkeypatch.setattr(check, "CASES", [Case(100, 10, 2, "f64"), Case(1_000, 50, 10)])
    path = tmp_path / "expected.json"

    def run(*options, measured):
        ratios = iter(measured)
        monkeypatch.setattr(
            check, "measure_ratio", lambda case, budget: check.Measurement(*next(ratios))
        )
        monkeypatch.setattr(sys, "argv", ["check.py", "--expected", str(path), *options])
        status = check.main()
        assert not list(ratios), "fewer measurements than expected"
        return status

    def expected():
        return json.loads(path.read_text())["processors"]

    run.expected = expected
    return run


STEADY = 0.02


def accepted(guarded, ratio=0.5):
    assert guarded("100x10", "--write", measured=[(ratio, STEADY)] * 3) == 0


def test_a_case_that_lost_more_than_15_percent_in_all_measurements_fails_and_is_named(
    guarded, capsys
):
    accepted(guarded)
    assert guarded("100x10", measured=[(0.57, STEADY)]) == 0
    assert guarded("100x10", measured=[(0.7, STEADY), (0.6, STEADY), (0.8, STEADY)]) == 1
    output = capsys.readouterr().out
    assert "LOST 100x10-f64-lowrank: 0.6 times" in output
    assert "expected 0.5 (+20%" in output
    assert "make bench-check WRITE=1 CASE=100x10-f64-lowrank" in output


def test_a_loss_that_the_next_measurement_does_not_show_is_none(guarded):
    accepted(guarded)
    assert guarded("100x10", measured=[(0.9, STEADY), (0.51, STEADY)]) == 0


def test_a_noisy_measurement_hides_no_loss(guarded, capsys):
    accepted(guarded)
    noisy, lost = (0.1, 0.9), (0.7, STEADY)
    assert guarded("100x10", measured=[noisy, lost, lost]) == 1
    assert "LOST" in capsys.readouterr().out
    assert guarded("100x10", measured=[noisy] * 3) == 1
    assert "Too noisy to tell: 100x10-f64-lowrank" in capsys.readouterr().out


def test_accepting_one_case_keeps_the_others_and_takes_the_middle_of_three(guarded):
    accepted(guarded)
    tries = [(0.9, STEADY), (0.2, STEADY), (0.3, STEADY)]
    assert guarded("1000x50", "--write", measured=tries) == 0
    assert guarded.expected()["this kind"]["ratios"] == {
        "100x10-f64-lowrank": 0.5,
        "1000x50-f32-lowrank": 0.3,
    }
    assert guarded("100x10", "--write", measured=[(0.1, 0.9)] * 3) == 1
    assert guarded.expected()["this kind"]["ratios"]["100x10-f64-lowrank"] == 0.5


def test_a_processor_of_which_nothing_is_expected_does_not_pass(guarded, capsys):
    assert guarded("100x10", measured=[(0.5, STEADY)]) == 1
    assert "No expected ratios on this kind for all cases" in capsys.readouterr().out


def test_where_there_is_avx512_the_cases_of_kernels_are_measured_with_avx2_too(
    guarded, monkeypatch
):
    import check
    from cases import Case

    accepted(guarded)
    calls = []

    def run(command, env, check):
        calls.append((command[2:], env["PRINCOMP_KERNEL"]))
        return SimpleNamespace(returncode=7)

    monkeypatch.setattr(check.subprocess, "run", run)
    monkeypatch.setattr(check.native, "instruction_set_in_use", lambda: "avx512")
    assert guarded("100x10", measured=[(0.5, STEADY)]) == 0
    assert not calls, "no kernel takes the time of this case"
    monkeypatch.setattr(check, "KERNEL_CASES", [Case(100, 10, 2, "f64")])
    assert guarded("100x10", measured=[(0.5, STEADY)]) == 7
    ((options, kernel),) = calls
    assert kernel == "avx2"
    assert options[-2:] == ["100x10", "--kernels"]


def test_what_the_guard_compares_with_finds_what_princomp_finds(monkeypatch, tmp_path):
    import yardsticks
    from cases import rows_of

    monkeypatch.chdir(tmp_path)
    assert len({case.name for case in yardsticks.CASES}) == 20
    for case in yardsticks.CASES:
        small, _ = rows(case)
        ours, bare = (call() for call in yardsticks.calls_of(small))
        if isinstance(ours, tuple):
            ours = ours.variances if ours.scores is None else ours.scores
        # Scores near zero have the errors of the largest.
        near = 1e-5 * float(np.abs(bare).max())
        assert np.abs(ours) == pytest.approx(np.abs(bare), rel=1e-4, abs=near), case.name
    square = next(case for case in yardsticks.CASES if case.n == case.p).reduced(300, 300)
    X = rows_of(square)
    assert yardsticks.by_passes(X, 10) == pytest.approx(yardsticks.by_scatter(X, 10), rel=1e-3)


def test_shares_of_the_bound_are_of_equal_results_and_are_drawn(tmp_path):
    import bound
    import picture
    import share
    import yardsticks

    X = np.random.default_rng(0).standard_normal((500, 7)) + 3
    mean, scatter = yardsticks.mean_and_scatter(X)
    calls = share.methods(X)
    ours = calls["princomp"]()
    assert ours.mean == pytest.approx(mean)
    assert ours.scatter == pytest.approx(scatter)
    assert calls["scikit-learn covariance_eigh"]().mean_ == pytest.approx(mean)
    on = bound.Machine("", 2, 1e10, {"float32": 2e11, "float64": 1e11})
    results = share.run(on, 0.0, widths=(8, 40), numbers=2**12)
    assert [(r["p"], r["floats"]) for r in results] == [
        (8, "f32"), (40, "f32"), (8, "f64"), (40, "f64"),
    ]  # fmt: skip
    for result in results:
        for found in result["methods"].values():
            assert found["share"] == pytest.approx(result["bound"]["seconds"] / found["median"])
    assert share.table(results).row_count == 4
    picture.draw_shares(results, tmp_path / "share.png")
    assert (tmp_path / "share.png").stat().st_size > 1_000
