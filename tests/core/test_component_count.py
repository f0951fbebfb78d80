"""``n_components`` compared with the rows: all, a number in range, a fraction of the variance."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from princomp import PCA
from princomp.core.context import ComponentCount, check_n_components, check_rows
from princomp.core.request import Request, max_components
from princomp.errors import ParameterError, ShapeError
from princomp.solvers import Spectrum
from princomp.summaries import Moments


def _summary(n, p):
    return Moments.of(np.random.default_rng(0).standard_normal((n, p)))


def _count_of_share(share):
    fit, summary = SimpleNamespace(request=Request(share)), _summary(10, 5)
    return ComponentCount(fit, summary, summary, None)


def test_none_keeps_all_components():
    assert check_n_components(None, _summary(10, 4), "auto") == 4
    assert check_n_components(None, _summary(3, 7), "auto") == 3
    assert check_n_components(None, _summary(10, 4), "arpack") == 3


def test_weights_count_as_rows():
    X, weights = np.random.default_rng(0).standard_normal((4, 9)), np.array([2.0, 2, 1.5, 1.9])
    assert max_components(Moments.of(X, weights), 0) == 7
    # The sum of ten times 2.4 is rounded to less than 24.
    rows = np.random.default_rng(0).standard_normal((10, 30))
    assert max_components(Moments.of(rows, np.full(10, 2.4)), 0) == 24
    # Weights below one: a common factor of all weights does not lower the limit.
    assert max_components(Moments.of(np.tile(X, (5, 1)), np.full(20, 0.1)), 0) == 9


@pytest.mark.parametrize(
    ("k", "solver", "lowest", "largest"),
    [(5, "auto", 0, 4), (-1, "full", 0, 4), (0, "arpack", 1, 3), (0, "randomized", 1, 4)],
)
def test_a_number_out_of_range_is_refused_with_the_range(k, solver, lowest, largest):
    route = "full" if solver == "auto" else solver
    message = f"n_components={k} must be between {lowest} and .* with svd_solver='{route}'"
    with pytest.raises(ShapeError, match=message) as caught:
        check_n_components(k, _summary(10, 4), solver)
    assert caught.value.hint == f"ask for {max(lowest, 1)} to {largest} components"


@pytest.mark.parametrize(
    ("total", "n", "message"),
    [
        (0.0, 0, r"there are 0 samples \(n_samples = 0\)"),
        (1.0, 1, r"there is 1 sample \(n_samples = 1\)"),
        (0.5, 2, "a sum of weights above 1, got 0.5 over 2 rows"),
    ],
)
def test_too_few_rows_for_a_variance_are_refused(total, n, message):
    with pytest.raises(ShapeError, match=message):
        check_rows(SimpleNamespace(rows=total, count=n), n)
    check_rows(SimpleNamespace(rows=2.0, count=2), n)


def test_a_summary_of_no_rows_is_refused():
    with pytest.raises(ShapeError, match="there are 0 samples"):
        PCA.from_summary(Moments.empty(3))


def test_a_hint_for_one_column_is_no_range():
    for p, valid in ((1, "1 component"), (2, "1 to 2 components")):
        with pytest.raises(ShapeError) as caught:
            check_n_components(3, _summary(10, p), "auto")
        assert caught.value.hint == f"ask for {valid}"


def test_counts_and_rules_that_a_solver_does_not_support_are_refused():
    with pytest.raises(ShapeError, match="strictly less than"):
        check_n_components(4, _summary(10, 4), "arpack")
    with pytest.raises(ParameterError, match="cannot be a string"):
        check_n_components("mle", _summary(10, 4), "randomized")
    with pytest.raises(ShapeError, match="3 rows of 7 columns"):
        check_n_components("mle", _summary(3, 7), "auto")


def test_a_fraction_is_undecided_until_enough_variances_are_known():
    spectrum = Spectrum(np.array([4.0, 2.0]), np.eye(2, 5), 8.0, 1e-15)
    assert _count_of_share(0.4)(spectrum, complete=False) == 1
    assert _count_of_share(0.9)(spectrum, complete=False) is None
    assert _count_of_share(0.9)(spectrum, complete=True) == 2
    assert _count_of_share(0.9).of_complete(spectrum) == 2


@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_a_search_ends_once_a_rule_has_decided(solver, rng):
    X = rng.standard_normal((300, 80)) * np.r_[[30.0, 20.0, 10.0], np.ones(77)]
    model = PCA("kaiser", svd_solver=solver).fit(X)
    assert model.n_components_ == 3
    assert len(model._result.spectrum.variances) < 80


def test_a_rule_that_keeps_as_many_components_as_were_found_needs_no_more(rng):
    """A search begins with 16 components."""
    strong = rng.standard_normal((100, 16)) @ np.linalg.qr(rng.standard_normal((30, 16)))[0].T
    rows = 20 * strong + rng.standard_normal((100, 30))
    model = PCA("permutation", svd_solver="lanczos", random_state=0).fit(rows)
    assert model.n_components_ == len(model._result.spectrum.variances) == 16
