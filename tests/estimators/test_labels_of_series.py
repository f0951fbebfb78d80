"""Series of divisors, means and weights: their labels are compared with those of the table."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, KernelPCA, Moments, RobustPCA, plan
from princomp.errors import ColumnError, ParameterError


@pytest.fixture
def table(rng):
    return rng.standard_normal((60, 4)) + 3


LABELS = {
    "text": list("abcd"),
    "numbers": [0.25, 0.5, 1, 20],
    "pairs": pd.MultiIndex.from_product([["a", "b"], ["u", "v"]]),
}


@pytest.mark.parametrize("labels", LABELS)
def test_series_of_any_labels_are_compared_with_the_columns(labels, table):
    frame = pd.DataFrame(table, columns=LABELS[labels])
    scale, C = frame.std(), frame.cov()
    for name, actions in {
        "X": (
            lambda scale: PCA(scale=scale).fit(frame),
            lambda scale: PCA(scale=scale).partial_fit(frame),
            lambda scale: KernelPCA(scale=scale).fit(frame),
            lambda scale: RobustPCA(2, scale=scale).fit(frame),
            lambda scale: plan(frame, scale=scale),
        ),
        "C": (
            lambda scale: PCA.from_covariance(C, scale=scale),
            lambda mean: PCA.from_covariance(C, mean=mean),
        ),
    }.items():
        for action in actions:
            with pytest.raises(ColumnError, match="in another order") as caught:
                action(scale[::-1])
            assert f"[list({name}.columns)]" in caught.value.hint
            action(scale[::-1][list(frame.columns)])


def test_the_labels_of_scale_are_those_of_a_file_or_a_summary(table, tmp_path):
    frame, path = pd.DataFrame(table, columns=list("abcd")), tmp_path / "table.parquet"
    scale = frame.std()
    frame.assign(name="x").to_parquet(path)
    for action in (partial(plan, path), lambda scale: PCA(scale=scale).fit(path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the column of names is left out
            with pytest.raises(ColumnError, match="in another order") as caught:
                action(scale=scale[::-1])
            assert "give scale[['a', 'b', 'c', 'd']]" in caught.value.hint
            action(scale=scale[::-1][["a", "b", "c", "d"]])
    names = list(frame.columns)
    make = partial(PCA.from_summary, Moments.of(table), feature_names=names)
    with pytest.raises(ColumnError, match="in another order"):
        make(scale=scale[::-1])
    np.testing.assert_array_equal(make(scale=scale).scale_, scale)


@pytest.mark.parametrize("p", [10, 11])
def test_up_to_ten_names_are_listed_in_the_hint(p, rng):
    names = [f"x{j}" for j in range(p)]
    scale = pd.Series(np.arange(1.0, p + 1), names)
    with pytest.raises(ColumnError) as caught:
        PCA.from_summary(
            Moments.of(rng.standard_normal((30, p))), feature_names=names, scale=scale[::-1]
        )
    listed = f"give scale[{names}], or" if p == 10 else "give scale in the order of the columns, or"
    assert caught.value.hint.startswith(listed)


def test_weights_of_rows_with_repeated_labels_are_taken_in_the_order_of_the_rows(rng):
    half = pd.DataFrame(rng.standard_normal((20, 3)))
    rows, weights = pd.concat([half, -half]), pd.Series(np.arange(1.0, 41.0))
    with pytest.raises(ParameterError, match="repeated labels") as caught:
        PCA().fit(rows, sample_weight=weights)
    assert ".loc" not in caught.value.hint  # would give the weights of the first half twice
    found = PCA().fit(rows, sample_weight=weights.to_numpy())
    expected = PCA().fit(rows.to_numpy(), sample_weight=weights.to_numpy())
    np.testing.assert_array_equal(found.explained_variance_, expected.explained_variance_)
