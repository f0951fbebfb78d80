"""Errors against what certificates claim: known cases, and half a minute of the search."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mpmath
import search
import tables
from claims import FACTOR, findings_of, worst_of
from kernel_oracle import Kernel, kernel_truth
from kinds import KINDS
from known import KNOWN
from oracle import LONG, LONG_EPS, truth, truths
from recipes import SMALL as SMALL_SEQUENCES
from threadpoolctl import threadpool_limits

from princomp.core.missing import methods
from princomp.diagnostics.row_limits import Projector
from princomp.kernel_pca.feature_space.matrix import Centring

extended = pytest.mark.skipif(LONG_EPS > 1e-18, reason="longdouble is no more than a double here")
# Number of cases of the search in a run of all tests, and of its parts: about half a minute.
CASES, PARTS, FIRST = 300, 6, 0
# Number of small problems: some seconds.
SMALL = 700
# Sources of rows that need a library of ``make test-engines``.
ON_ENGINES = {"dask", "torch"}


def _marked(case):
    """A known case, with a mark if it imports torch."""
    marks = [pytest.mark.engines] if "torch" in case.__code__.co_names else []
    return pytest.param(case, id=case.__name__, marks=marks)


@pytest.fixture(autouse=True)
def _one_blas_thread():
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overflow: its results are checked
        yield


def mirror(p, rng):
    """An orthogonal matrix of dyadic numbers: a reflection along ±1s, 4 or 16 of them."""
    count = 16 if p >= 16 else 4
    along = np.zeros(p)
    along[rng.permutation(p)[:count]] = rng.choice([-1.0, 1.0], count)
    return np.eye(p) - 2 * np.outer(along, along) / count


@pytest.mark.parametrize(("n", "p", "far"), [(40, 12, 0.0), (12, 40, 0.0), (40, 12, 2.0**30)])
@extended
def test_the_oracle_finds_spectra_that_are_exact_in_doubles(n, p, far):
    """Also by LAPACK, which is used for larger tables."""
    rng = np.random.default_rng(0)
    sigma = np.array([64.0, 64, 64, 24, 3, 2**-12])
    half = np.zeros((n // 2, p))
    np.fill_diagonal(half[: len(sigma), : len(sigma)], sigma)
    half = mirror(n // 2, rng) @ half @ mirror(p, rng)
    found = truth(np.concatenate([half, -half]) + far)
    exact = np.zeros(min(n, p), LONG)
    exact[: len(sigma)] = LONG(2) * sigma**2 / (n - 1)
    error = np.sqrt(found.variances) - np.sqrt(exact)
    assert np.abs(error).max() <= found.slack * np.sqrt(exact[0])
    error = np.abs((found.near - far) + found.offset)
    assert error.max() <= n * LONG_EPS * 2 * sigma[0]  # as a sum of n shares of the rows rounds
    error = found.image(found.axes) - found.variances[:, None] * found.axes if n > p else 0.0
    assert np.abs(error).max() <= 2 * found.slack * exact[0]


@pytest.mark.parametrize("value", [2.4557764e37, 1e8 + 0.1])
def test_the_oracle_finds_constant_columns_with_any_weights(value):
    rows, weights = np.full((30_000, 2), value), np.full(30_000, 1e-6)
    weights[[17, 11_000]] = 1e6
    found = truth(rows, weights)
    assert (found.near == value).all()
    assert not found.offset.any()
    assert not found.variances.any()


@extended
def test_the_oracle_solves_many_tables_as_it_solves_one():
    rng = np.random.default_rng(0)
    shapes = [(6, 3), (3, 6), (6, 3), (2, 4)]
    cases = [(rng.standard_normal(shape), None, None, shape[0] > 2) for shape in shapes]
    with np.errstate(all="ignore"):
        for case, found in zip(cases, truths(cases), strict=True):
            alone = truth(*case[:2], scale=case[2], center=case[3])
            assert (found.variances == alone.variances).all()


@pytest.mark.parametrize("name", ["poly", "rbf", "laplacian", "cosine", "chi2"])
@extended
def test_the_oracle_agrees_with_mpmath_on_kernels(name):
    rows = np.abs(np.random.default_rng(0).standard_normal((5, 3)))
    found = kernel_truth(Kernel(name, 0.3, 2, 1), rows.astype(LONG), None, np.float64)
    with mpmath.workdps(30):
        X = [[mpmath.mpf(x) for x in row] for row in rows.tolist()]
        K = mpmath.matrix([[_kernel(name, x, y) for y in X] for x in X])
        H = mpmath.eye(5) - mpmath.ones(5) / 5
        values = sorted(mpmath.eigsy(H * K * H, eigvals_only=True), reverse=True)
        pairs = zip(found.variances, values, strict=True)
        errors = [abs(mpmath.mpf(str(variance)) - value / 4) for variance, value in pairs]
    assert max(errors) < 1e-17


def _kernel(name, x, y):
    gamma, pairs = mpmath.mpf(0.3), list(zip(x, y, strict=True))
    if name == "poly":
        return (gamma * mpmath.fdot(x, y) + 1) ** 2
    if name == "cosine":
        return mpmath.fdot(x, y) / mpmath.sqrt(mpmath.fdot(x, x) * mpmath.fdot(y, y))
    distance = {
        "rbf": lambda a, b: (a - b) ** 2,
        "laplacian": lambda a, b: abs(a - b),
        "chi2": lambda a, b: (a - b) ** 2 / (a + b),
    }[name]
    return mpmath.exp(-gamma * mpmath.fsum(distance(a, b) for a, b in pairs))


def test_a_process_that_crashes_is_a_counterexample():
    _, wrong = search.run_search([-1], 0.0, report=lambda *_, **__: None)
    (outcomes,) = wrong.values()
    assert "exit code 1" in outcomes[0].worst.check


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timers of processor time")
def test_a_case_that_hangs_is_a_counterexample():
    _, wrong = search.run_search([0], 0.0, limit=0.01, report=lambda *_, **__: None)
    (outcomes,) = wrong.values()
    assert "no answer after 0.01 seconds of the processor" in outcomes[0].worst.check


def test_tables_with_more_constant_columns_than_constants():
    recipe = {**search.recipe_of(0), "n": 67, "p": 6, "constant": 4, "power": 0, "dtype": "float64"}
    rows, _ = tables.rows_of({**recipe, "first": 0})
    assert (rows[:, :4] == rows[0, :4]).all()


@pytest.mark.parametrize("case", [_marked(case) for case in KNOWN])
@extended
def test_known_cases_have_no_error_beyond_their_claims(case, tmp_path):
    worst = worst_of(findings_of(case(tmp_path)))
    assert worst.ratio <= FACTOR, f"{worst.ratio:.3g} × the claim: {worst.check}, {worst.detail}"


def _t2_a_little_off(monkeypatch):
    original = Projector.t2_and_q
    monkeypatch.setattr(
        Projector,
        "t2_and_q",
        lambda self, rows: (original(self, rows)[0] * (1 + 1e-6), original(self, rows)[1]),
    )


def _em_that_ends_after_a_step(monkeypatch):
    monkeypatch.setattr(methods, "has_converged", lambda change, last_change: True)


def _kernel_rows_that_are_not_centred(monkeypatch):
    monkeypatch.setattr(Centring, "after_product", lambda self, images: images)


FAULTS = {
    _t2_a_little_off: ("diagnosed", "auto", "T²"),
    _em_that_ends_after_a_step: ("missing", "auto", "a step of EM"),
    _kernel_rows_that_are_not_centred: ("any kernel", "lanczos", "variance"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@extended
def test_the_search_finds_planted_faults(fault, monkeypatch):
    sequence, solver, check = FAULTS[fault]
    found = {}
    for planted in (False, True):
        if planted:
            fault(monkeypatch)
        for seed in range(12):
            recipe = {**search.recipe_of(f"s{seed}"), "sequence": sequence, "method": "em", "k": 1}
            recipe |= {"n": 8, "p": 4, "solver": solver, "dtype": "float64", "weights": "none"}
            recipe |= {"power": 0, "kernel": "rbf", "constant": 0}
            findings = search.run_case(recipe).findings
            found.setdefault(planted, set()).update(
                one.check for one in findings if one.ratio > FACTOR
            )
    assert not found[False]
    assert check in found[True]


@extended
def test_small_problems_have_no_error_beyond_their_claims():
    seen, wrong = search.run_small_search(0, SMALL, report=lambda *_, **__: None)
    assert not wrong, "\n".join(str(outcomes[0]) for outcomes in wrong.values())
    tried = {value for what, value in seen if what == "sequence"}
    assert tried == set(SMALL_SEQUENCES)


def _outcomes(names, *, engines):
    """Outcomes of the cases whose rows are on an engine, or of the others."""
    recipes = {name: search.recipe_of(name) for name in names}
    return [
        search.run_case(recipe, str(name))
        for name, recipe in recipes.items()
        if (recipe["source"] in ON_ENGINES) == engines
    ]


@pytest.mark.parametrize("part", range(PARTS))
@extended
def test_no_error_is_ten_times_what_is_claimed(part):
    _check(_outcomes(range(FIRST + part, FIRST + CASES, PARTS), engines=False))


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.engines] * (kind == "engine")) for kind in KINDS],
)
@extended
def test_no_error_in_cases_of_a_kind_is_ten_times_what_is_claimed(kind):
    outcomes = _outcomes([f"{kind}:{seed}" for seed in range(8)], engines=False)
    wrong = [str(outcome) for outcome in outcomes if outcome.wrong]
    assert not wrong, "\n".join(wrong)
    assert not all(outcome.refused for outcome in outcomes)


# Test directions of a sketch that show few columns, for one axis far less than for the others.
FEW_COLUMNS_SHOWN = {
    "n": 229,
    "p": 100,
    "seed": 853689883,
    "pattern": "spikes",
    "decades": 10.99,
    "period": 74,
    "height": 83.349,
    "noise": 0.003684763755910862,
    "multiplicity": 44,
    "levels": 0,
    "ratio": 0.013217009235964928,
    "mean": 0,
    "power": -36,
    "column_decades": 0,
    "first": 0,
    "constant": 0,
    "density": 0,
    "order": "as made",
    "dtype": "float64",
    "weights": "none",
    "solver": "sketch",
    "k": 10,
    "scale": "unit",
    "center": True,
    "source": "array",
    "sequence": "merge",
    "cuts": 2,
    "extra": 5.014734640713865,
    "others": False,
}


# Rounding errors of a sketch, nearly all of them in one entry of a row.
ROUNDING_IN_ONE_ENTRY = {
    "n": 244,
    "p": 42,
    "seed": 2035223866,
    "pattern": "clusters",
    "decades": 3.09,
    "period": 2068,
    "height": 1.009689957173367,
    "noise": 1.674e-07,
    "multiplicity": 1,
    "levels": 1,
    "ratio": 0.6928656564952553,
    "mean": 106040871.66868584,
    "power": 0,
    "column_decades": 5.69,
    "first": 0,
    "constant": 0,
    "density": 0.221,
    "order": "as made",
    "dtype": "float64",
    "weights": "counts",
    "solver": "sketch",
    "k": 15,
    "scale": "pareto",
    "center": True,
    "source": "iterator",
    "sequence": "fit",
    "cuts": 4,
    "extra": 2.4381410683318854,
    "others": True,
}


@extended
@pytest.mark.parametrize("recipe", [FEW_COLUMNS_SHOWN, ROUNDING_IN_ONE_ENTRY])
def test_no_residual_of_a_scaled_sketch_is_far_too_small(recipe):
    outcome = search.run_case(search.recipe_of(0) | recipe)
    assert not outcome.wrong, str(outcome)


@pytest.mark.engines
@extended
def test_no_error_on_an_engine_is_ten_times_what_is_claimed():
    _check(_outcomes(range(FIRST, FIRST + CASES), engines=True))


def _check(outcomes):
    wrong = [str(outcome) for outcome in outcomes if outcome.wrong]
    assert not wrong, "\n".join(wrong)
    # Most cases must be compared: a search whose calls are all refused would find nothing.
    assert sum(not outcome.refused for outcome in outcomes) > 0.6 * len(outcomes)


@pytest.mark.soak
@extended
def test_half_an_hour_of_the_search_finds_nothing():
    assert search.main(["--minutes", "30"]) == 0
