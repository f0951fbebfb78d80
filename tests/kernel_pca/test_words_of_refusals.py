"""Refusals of KernelPCA and tune: the parameter, its value and what to do next."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, KernelPCA, tune
from princomp.errors import DataError, NotAvailableError, ParameterError

ROWS = np.random.default_rng(0).standard_normal((40, 4))


@pytest.mark.parametrize(
    ("options", "name", "shown"),
    [
        ({"approximation": "nystrom"}, "approximation", "approximation='nystrom'"),
        ({"pre_image": "ridge"}, "pre_image", "pre_image='ridge'"),
        ({"scale": "unit"}, "scale", "scale='unit'"),
        ({"scale": np.ones(4)}, "scale", "scale"),
        ({"missing": "drop"}, "missing", "missing='drop'"),
        ({"missing": "em"}, "missing", "missing='em'"),
    ],
)
def test_what_needs_rows_is_refused_for_a_kernel_matrix(options, name, shown):
    with pytest.raises(ParameterError) as caught:
        KernelPCA(2, kernel="precomputed", **options).fit(ROWS @ ROWS.T)
    assert caught.value.message == f"{shown} needs rows, and the kernel is precomputed"
    assert caught.value.place == {"parameter": name}
    assert caught.value.hint.startswith(f"leave {name} out (scale and fill rows before you compute")


def test_a_kernel_matrix_with_the_defaults_is_fitted():
    KernelPCA(2, kernel="precomputed", missing="error").fit(ROWS @ ROWS.T)


@pytest.mark.parametrize(
    "gamma",
    ["medium", "0.5 median", "median*2", "*median", "x*median", "median*median", "2**median"],
)
def test_other_words_than_multiples_of_the_median_are_refused(gamma):
    with pytest.raises(ParameterError) as caught:
        tune(ROWS, {"gamma": [gamma]}, cv=2)
    assert caught.value.message == f"gamma={gamma!r} is not valid"
    assert caught.value.hint == (
        "gamma must be a number, None, 'median', or a multiple such as '0.5 * median'"
    )


@pytest.mark.parametrize("gamma", ["nan * median", "inf×median", "-0.5*median"])
def test_multiples_that_are_no_gamma_are_refused(gamma):
    with pytest.raises(ParameterError, match=r"gamma=(nan|inf|-0\.\d+) is not valid"):
        tune(ROWS, {"gamma": [gamma]}, cv=2)


@pytest.mark.parametrize("scale", ["unit", "pareto", np.array([1.0, 2.0, 3.0, 4.0])])
def test_a_scale_is_for_the_rows_of_tune(scale):
    """The rows that the hint names can be tuned."""
    model = KernelPCA(2, scale=scale)
    with pytest.raises(ParameterError) as caught:
        tune(ROWS, {"gamma": [0.1]}, model=model, cv=2)
    code = "X / PCA(scale=model.scale).fit(X).scale_"
    assert caught.value.hint == f"pass the scaled rows, {code}, and a model without scale"
    scaled = eval(code, {"X": ROWS, "PCA": PCA, "model": model})
    tune(scaled, {"gamma": [0.1]}, cv=2)


def test_cells_are_not_filled_by_tune():
    X = ROWS.copy()
    X[3, 1] = np.nan
    for missing in ("error", "em"):
        with pytest.raises(DataError) as caught:
            tune(X, {"gamma": [0.1]}, model=KernelPCA(2, missing=missing), cv=2)
        assert caught.value.hint.startswith("tune does not fill cells: fill those of X, or leave")


@pytest.mark.parametrize(
    "change", [{"coef0": 2.0}, {"degree": 3}, {"gamma": 0.5}, {"random_state": 1}]
)
def test_sketches_of_another_kernel_or_seed_are_not_merged(change):
    options = {"coef0": 1.0, "degree": 2, "gamma": 0.25, "random_state": 0}
    first, same, other = (
        KernelPCA(2, kernel="poly", approximation="features", n_landmarks=32, **each).fit(rows)
        for each, rows in ((options, ROWS), (options, ROWS[:30]), (options | change, ROWS[:30]))
    )
    first.merge(same)
    with pytest.raises(ParameterError, match="different feature maps") as caught:
        first.merge(other)
    for words in ("gamma", "scale=model.scale_", "landmarks=model.landmarks_", "random_state"):
        assert words in caught.value.hint


def test_sums_are_needed_to_add_rows():
    exact = KernelPCA(2, kernel="rbf", gamma=0.2).fit(ROWS)
    options = {"kernel": "rbf", "gamma": 0.2, "approximation": "nystrom", "n_landmarks": 10}
    sums, as_sums = KernelPCA(2, **options).fit(ROWS), exact.set_params(approximation="nystrom")
    for call in (
        lambda: sums.merge(exact),
        lambda: as_sums.merge(sums),
        lambda: as_sums.partial_fit(ROWS),
        lambda: as_sums.forget(ROWS[:5]),
    ):
        with pytest.raises(NotAvailableError) as caught:
            call()
        assert caught.value.message == (
            "this method needs sums of rows, and an exact kernel PCA keeps the rows themselves"
        )
        assert "approximation='nystrom' or 'features'" in caught.value.hint


def test_the_plan_says_how_many_components_are_many():
    rows = np.random.default_rng(1).standard_normal((700, 3))
    plan = KernelPCA(500, kernel="rbf", gamma=1.0).fit(rows).plan_
    assert "500 of 700 components are many" in " ".join(plan.reasons)
