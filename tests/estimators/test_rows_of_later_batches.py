"""Scores, densities and reconstructions of rows in batches: joined in order, named by number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, KernelPCA
from princomp.errors import NotFiniteError

ROWS = np.random.default_rng(0).standard_normal((40, 4))
PLAIN = PCA(2).fit(ROWS)
KERNEL = KernelPCA(2, kernel="rbf", gamma=0.2).fit(ROWS)
INVERSE = KernelPCA(2, kernel="rbf", gamma=0.2, pre_image="ridge").fit(ROWS)
SCORES = PLAIN.transform(ROWS)

CALLS = {
    "scores": (PLAIN.transform, ROWS),
    "densities": (PLAIN.score_samples, ROWS),
    "reconstructions": (PLAIN.inverse_transform, SCORES),
    "scores of a kernel": (KERNEL.transform, ROWS),
    "pre-images": (INVERSE.inverse_transform, SCORES),
}


def batches(rows, *ends):
    return iter(np.split(rows, ends))


@pytest.mark.parametrize("ends", [(40,), (1,), (13, 20), (10, 20, 30)])
@pytest.mark.parametrize("name", CALLS)
def test_results_of_batches_are_those_of_all_rows(name, ends):
    call, rows = CALLS[name]
    parts = [part for part in np.split(rows, ends) if len(part)]
    np.testing.assert_allclose(call(iter(parts)), call(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["scores", "densities", "scores of a kernel"])
def test_the_row_of_a_later_batch_is_named_by_its_number_in_all(name, value):
    call, rows = CALLS[name]
    rows = rows.copy()
    rows[33, 1] = value
    with pytest.raises(NotFiniteError) as caught:
        call(batches(rows, 10, 20, 30))
    assert "row 33, column 1" in caught.value.message
    assert caught.value.place["row"] == 33


@pytest.mark.parametrize("name", ["reconstructions", "pre-images"])
def test_an_infinite_score_of_a_later_batch_is_named_by_its_number_in_all(name):
    call, rows = CALLS[name]
    rows = rows.copy()
    rows[33, 1] = np.inf
    with pytest.raises(NotFiniteError) as caught:
        call(batches(rows, 10, 20, 30))
    assert "row 33" in caught.value.message
    assert caught.value.place["row"] == 33


@pytest.mark.parametrize("in_all", [True, False])
def test_row_numbers_of_pandas_are_left_out_of_each_batch(in_all):
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    frame.insert(0, "Unnamed: 0", np.arange(40))

    def batches_of_frames():
        yield frame[:20]
        yield frame[20:] if in_all else frame[20:].drop(columns="Unnamed: 0")

    with pytest.warns(UserWarning, match="left out 'Unnamed: 0'"):
        model = PCA(2).fit(batches_of_frames)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.explained_variance_, PLAIN.explained_variance_, rtol=1e-12)
